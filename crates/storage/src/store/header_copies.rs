//! `HeaderCopies`: both copies of the file header as they stand in the file, before any key.

use hushdb_keys::{HeaderError, UnverifiedHeader};

use super::file_map::{FIXED_BYTES, HEADER_LEN, HEADER_OFFSETS};
use crate::error::{Error, Result};
use crate::file::StorageFile;

/// What can be known of a file without its key.
#[derive(Debug)]
pub struct HeaderCopies {
    pub(crate) pages: [Box<[u8; HEADER_LEN]>; 2],
    /// Copies A and B. Nothing in them is verified.
    pub copies: [Result<UnverifiedHeader, HeaderError>; 2],
    /// Bytes of the whole file.
    pub file_bytes: u64,
}

impl HeaderCopies {
    /// Reads both copies.
    ///
    /// # Errors
    /// `NotADatabase` and `Truncated` for a file that is too short for the fixed parts.
    pub fn read(file: &dyn StorageFile) -> Result<Self> {
        let file_bytes = file.len()?;
        if file_bytes < FIXED_BYTES {
            return Err(short_file(file, file_bytes)?);
        }
        let mut pages = [Box::new([0; HEADER_LEN]), Box::new([0; HEADER_LEN])];
        for (page, offset) in pages.iter_mut().zip(HEADER_OFFSETS) {
            file.read_exact_at(offset, page.as_mut_slice())?;
        }
        let copies = [
            UnverifiedHeader::parse(&pages[0]),
            UnverifiedHeader::parse(&pages[1]),
        ];
        Ok(Self {
            pages,
            copies,
            file_bytes,
        })
    }

    /// The copies that could be read, the one that claims to be newer first, equal ones once.
    pub(crate) fn candidates(&self) -> Vec<(usize, &UnverifiedHeader)> {
        let same = self.pages[0] == self.pages[1];
        let copies = self
            .copies
            .iter()
            .enumerate()
            .take(if same { 1 } else { 2 });
        let mut readable: Vec<_> = copies
            .filter_map(|(at, copy)| Some((at, copy.as_ref().ok()?)))
            .collect();
        readable.sort_by_key(|(_, header)| std::cmp::Reverse(header.sequence()));
        readable
    }

    /// Refuses a file of which a later release has written a copy.
    pub(crate) fn refuse_newer(&self) -> Result<()> {
        let errors = self.copies.iter().filter_map(|copy| copy.as_ref().err());
        let mut newer = errors.filter(|error| matches!(error, HeaderError::NewerFormat { .. }));
        newer
            .next()
            .map_or(Ok(()), |error| Err(error.clone().into()))
    }

    /// Why neither copy could be read: the reason that tells the most.
    pub(crate) fn refusal(&self) -> Error {
        let telling = |error: &HeaderError| match error {
            HeaderError::NotADatabase => 0,
            HeaderError::Corrupted { .. } => 1,
            _ => 2,
        };
        let errors = self.copies.iter().filter_map(|copy| copy.as_ref().err());
        errors
            .max_by_key(|error| telling(error))
            .map_or(Error::NotADatabase, |error| error.clone().into())
    }
}

/// A file that is too short for the fixed parts was cut off if it begins like one of ours.
fn short_file(file: &dyn StorageFile, found_bytes: u64) -> Result<Error> {
    let mut page = [0; HEADER_LEN];
    let beginning = (found_bytes as usize).min(HEADER_LEN);
    file.read_exact_at(0, &mut page[..beginning])?;
    Ok(match UnverifiedHeader::parse(&page) {
        Err(HeaderError::NotADatabase) => Error::NotADatabase,
        _ => Error::Truncated {
            expected_bytes: FIXED_BYTES,
            found_bytes,
        },
    })
}
