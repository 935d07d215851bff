//! `Opening`: from the bytes of a file to its one header and its one superblock.
//!
//! ```text
//! header copies A, B --key--> a header and keys --> superblock slots 0, 1 --> newest superblock
//!        ^                                                                        |
//!        +---- only the header whose sequence and MAC it names is accepted <------+
//! ```
//!
//! What must hold: no superblock is accepted without the header that it names, so a header with a removed password cannot
//! be put back over a newer body. One damaged or older copy of two does not keep the file from opening; it is reported,
//! and repaired by a handle that may write. A copy that a later release wrote is refused, and never written over.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::{Header, KeyAttempt, KeyProvider, Suite, UnverifiedHeader};

use super::file_map::{HEADER_OFFSETS, SUPERBLOCK_OFFSETS, SUPERBLOCK_SECTOR};
use super::key_ring::{OpenedRing, read_ring};
use super::shared_keys::{Keys, SharedKeys};
use super::{HeaderCopies, Notice, StoreOptions, superblock::Superblock};
use crate::block::{BlockKeys, Protection, SECTOR_BYTES, SealedFile};
use crate::error::{Error, Result};
use crate::file::StorageFile;
use crate::numbers::Generation;

type Page = Box<[u8; SECTOR_BYTES]>;
/// A page and the offset that it belongs to.
type Repair = (u64, Page);

/// A superblock with the bytes that it has on disk.
#[derive(Clone, Debug)]
pub(super) struct SealedRoot {
    pub(super) superblock: Superblock,
    pub(super) tag: [u8; 16],
    pub(super) page: Page,
}

/// A file whose header and superblock hold.
pub(super) struct Opening {
    pub(super) header: Header,
    pub(super) keys: Arc<SharedKeys>,
    pub(super) ring: Option<OpenedRing>,
    pub(super) sealed: SealedFile,
    pub(super) root: SealedRoot,
    pub(super) notices: Vec<Notice>,
    /// What must be written, and where, to have both copies of everything again: in this order, each with a sync.
    pub(super) repairs: Vec<Repair>,
}

impl Opening {
    pub(super) fn of(
        file: &Arc<dyn StorageFile>,
        key: Option<&dyn KeyProvider>,
        options: &StoreOptions,
    ) -> Result<Self> {
        let copies = HeaderCopies::read(file.as_ref())?;
        let candidates = copies.candidates();
        if candidates.is_empty() {
            return Err(copies.refusal());
        }
        copies.refuse_newer()?;
        let mut attempt = key.map(|key| KeyAttempt::new(key, options.kdf_budget));
        let mut refusals = Vec::new();
        for (copy, candidate) in candidates {
            match Self::with_header(file, candidate, attempt.as_mut(), options) {
                Ok(mut this) => {
                    this.compare_copies(&copies, copy);
                    this.check_length(copies.file_bytes)?;
                    return Ok(this);
                }
                Err(error) => refusals.push((candidate.sequence(), error)),
            }
        }
        Err(most_telling(refusals))
    }

    /// Opens with one copy of the header, if the superblock names it.
    fn with_header(
        file: &Arc<dyn StorageFile>,
        candidate: &UnverifiedHeader,
        attempt: Option<&mut KeyAttempt<'_>>,
        options: &StoreOptions,
    ) -> Result<Self> {
        options.freshness.check_key(candidate.commitment())?;
        let (header, keys) = match attempt {
            Some(attempt) => {
                let (header, keys) = candidate.unlock(&options.crypto, attempt)?;
                (header, Some(keys))
            }
            None => (candidate.open_plain()?, None),
        };
        let keys = SharedKeys::new(keys);
        let sealed = sealed_file(Arc::clone(file), options.crypto, &header, &keys)?;
        let previous = header.previous_suite();
        if let Some((key_id, suite)) = previous {
            sealed.set_suite(key_id, suite);
        }
        let previous = previous.map(|(key_id, _)| key_id);
        let (root, mut notices, repairs) = read_slots(&sealed, previous)?;
        let named = &root.superblock;
        if (named.header_sequence, named.header_mac) != (header.sequence(), header.mac()) {
            return Err(Error::HeaderReplaced {
                expected: named.header_sequence,
                found: header.sequence(),
            });
        }
        let bears_none = options.read_only && options.bears_lost_ring;
        let ring = match read_ring(&sealed, &root.superblock, &keys, &options.crypto) {
            Err(error) if bears_none && !matches!(error, Error::Io(_)) => {
                notices.push(Notice::KeyRingLost);
                None
            }
            ring => ring?,
        };
        let damaged = ring.iter().filter_map(|ring| ring.damaged);
        notices.extend(damaged.map(|copy| Notice::KeyRingCopyDamaged { copy }));
        Ok(Self {
            header,
            keys,
            ring,
            sealed,
            root,
            notices,
            repairs,
        })
    }

    fn compare_copies(&mut self, copies: &HeaderCopies, accepted: usize) {
        let other = 1 - accepted;
        let (page, other_page) = (&copies.pages[accepted], &copies.pages[other]);
        if page == other_page {
            return;
        }
        let sequence = copies.copies[other]
            .as_ref()
            .map(UnverifiedHeader::sequence);
        self.notices.push(match sequence {
            Ok(sequence) if sequence < self.header.sequence() => {
                Notice::HeaderCopyOlder { copy: other }
            }
            Ok(sequence) if sequence > self.header.sequence() => {
                Notice::HeaderCopyUnfinished { copy: other }
            }
            _ => Notice::HeaderCopyDamaged { copy: other },
        });
        self.repairs.push((HEADER_OFFSETS[other], page.clone()));
    }

    fn check_length(&self, found_bytes: u64) -> Result<()> {
        let total = self.root.superblock.total_sectors;
        match total.checked_mul(SECTOR_BYTES as u64) {
            Some(expected_bytes) if expected_bytes <= found_bytes => Ok(()),
            expected_bytes => Err(Error::Truncated {
                expected_bytes: expected_bytes.unwrap_or(u64::MAX),
                found_bytes,
            }),
        }
    }
}

/// The sealed file that goes with a header.
pub(super) fn sealed_file(
    file: Arc<dyn StorageFile>,
    crypto: CryptoProvider,
    header: &Header,
    shared: &Arc<SharedKeys>,
) -> Result<SealedFile> {
    let keys = Arc::clone(shared) as Arc<dyn BlockKeys>;
    let protection = match (header.suite(), shared.now()) {
        (Suite::Plain, _) => Protection::PlainYet { keys },
        (suite, Keys::There(own)) => {
            let key_id = own.system_key_id();
            match suite {
                Suite::Ctr => Protection::Ctr { keys, key_id },
                _ => Protection::Gcm { keys, key_id },
            }
        }
        _ => return Err(Error::KeyRequired),
    };
    Ok(SealedFile::new(
        file,
        crypto,
        *header.database_id().as_bytes(),
        protection,
    ))
}

/// Reads both superblock slots: the newest that opens, and what is wrong with the other. One that is sealed under the
/// previous data key is older, and never the newest: whoever has that key could have made it.
fn read_slots(
    sealed: &SealedFile,
    previous: Option<u32>,
) -> Result<(SealedRoot, Vec<Notice>, Vec<Repair>)> {
    let slots = [0, 1].map(|slot| read_slot(sealed, sealed.key_id(), slot));
    // What a later release wrote is not this one's to pass over, let alone to write over.
    for slot in &slots {
        if let Err(Error::Unsupported(what)) = slot {
            return Err(Error::Unsupported(what.clone()));
        }
    }
    let newest = match &slots {
        [Ok(a), Ok(b)]
            if a.superblock.generation == b.superblock.generation && a.page != b.page =>
        {
            return Err(Error::SuperblockForked {
                generation: a.superblock.generation,
            });
        }
        [Ok(a), Ok(b)] if b.superblock.generation > a.superblock.generation => b,
        [Ok(a), _] => a,
        [_, Ok(b)] => b,
        [Err(_), Err(_)] => {
            let [a, b] = slots.map(|slot| slot.err().unwrap_or(Error::SuperblockDamaged));
            return Err(no_slot(a, b));
        }
    };
    let (mut notices, mut repairs) = (Vec::new(), Vec::new());
    for (slot, found) in slots.iter().enumerate() {
        match found {
            Ok(root) if root.page == newest.page => continue,
            Ok(root) => notices.push(Notice::SuperblockSlotOlder {
                slot,
                found: root.superblock.generation,
                newest: newest.superblock.generation,
            }),
            Err(Error::Io(error)) => return Err(std::io::Error::from(error.kind()).into()),
            Err(_) => {
                let newest = newest.superblock.generation;
                notices.push(other_slot(sealed, previous, slot, newest));
            }
        }
        // The newest one first, over itself: where its own sync failed, the system may show what the disk does not have,
        // and the other slot may be all that is durable.
        repairs.push((SUPERBLOCK_OFFSETS[1 - slot], newest.page.clone()));
        repairs.push((SUPERBLOCK_OFFSETS[slot], newest.page.clone()));
    }
    Ok((newest.clone(), notices, repairs))
}

/// What a slot is that does not open under the newest data key.
fn other_slot(
    sealed: &SealedFile,
    previous: Option<u32>,
    slot: usize,
    newest: Generation,
) -> Notice {
    let before = previous.and_then(|key_id| read_slot(sealed, key_id, slot).ok());
    let before = before.map(|root| root.superblock.generation);
    if let Some(found) = before.filter(|found| *found < newest) {
        return Notice::SuperblockSlotOlder {
            slot,
            found,
            newest,
        };
    }
    let mut page = [0; SECTOR_BYTES];
    let read = sealed
        .file()
        .read_exact_at(SUPERBLOCK_OFFSETS[slot], &mut page);
    let is_plain = sealed.key_id() != 0
        && read.is_ok()
        && sealed.is_plain_superblock(SUPERBLOCK_SECTOR, &mut page);
    match is_plain {
        true => Notice::SuperblockSlotPlain { slot },
        false => Notice::SuperblockSlotDamaged { slot },
    }
}

fn read_slot(sealed: &SealedFile, key_id: u32, slot: usize) -> Result<SealedRoot> {
    let mut page = Box::new([0; SECTOR_BYTES]);
    sealed
        .file()
        .read_exact_at(SUPERBLOCK_OFFSETS[slot], page.as_mut_slice())?;
    let mut opened = page.clone();
    let (block_ref, payload) = sealed.open_superblock(key_id, SUPERBLOCK_SECTOR, &mut opened)?;
    let superblock = Superblock::from_payload(payload)?;
    if superblock.generation != block_ref.birth() {
        return Err(Error::SuperblockDamaged);
    }
    Ok(SealedRoot {
        superblock,
        tag: block_ref.tag,
        page,
    })
}

/// Neither slot opens. An edit is worse news than damage, and a superblock of a later release is no damage.
fn no_slot(a: Error, b: Error) -> Error {
    match (a, b) {
        (error @ (Error::Io(_) | Error::Unsupported(_)), _)
        | (_, error @ (Error::Io(_) | Error::Unsupported(_))) => error,
        (Error::BlockEdited(_) | Error::BlockReplaced(_), _)
        | (_, Error::BlockEdited(_) | Error::BlockReplaced(_)) => Error::SuperblockEdited,
        _ => Error::SuperblockDamaged,
    }
}

/// No copy of the header opened the file. The copy that the superblock names has the last word; then what an edit did,
/// then what is wrong with the key.
fn most_telling(refusals: Vec<(u64, Error)>) -> Error {
    let named = refusals.iter().find_map(|(_, error)| match error {
        Error::HeaderReplaced { expected, .. } => Some(*expected),
        _ => None,
    });
    let rank = |(sequence, error): &(u64, Error)| match error {
        _ if named == Some(*sequence) => 9,
        Error::HeaderReplaced { .. } | Error::NotExpectedKey => 8,
        Error::HeaderEdited | Error::AbsurdKdf { .. } => 7,
        Error::KeyRequired => 6,
        // Not every slot was heard of, so whether the key is a wrong one is not known.
        Error::KeyUnusable(_) => 6,
        Error::WrongKey => 5,
        Error::NotEncrypted => 4,
        _ => 3,
    };
    refusals
        .into_iter()
        .max_by_key(rank)
        .map_or(Error::NotADatabase, |(_, error)| error)
}
