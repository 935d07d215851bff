//! `LogReader`: replays a log, record after record, and says how it ended.
//!
//! What must hold:
//! - A payload is handed out only after its record opened in its place in its log.
//! - What a crash can leave behind ends the replay quietly: nothing, or a torn tail, which is reported. A crash cannot harm
//!   what a later record says was durable, nor move records: that is an error.
//! - Nothing is written, and no memory taken for a length that the file has no room for.
//!
//! So cutting or spoiling the last records, behind which nothing says that they were durable, looks like a crash.

use std::sync::Arc;

use super::log_header::LOG_HEADER_BYTES;
use super::log_seal::LogSeal;
use super::log_window::LogWindow;
use super::record_head::{
    BOUND_BYTES, RECORD_ALIGNMENT, RECORD_HEAD_BYTES, RecordHead, payload_of,
};
use super::{LogBasis, LogError, LogHeader, LogOwner, TAG_BYTES, UnverifiedLogHeader};
use crate::error::{Error, Result};
use crate::file::StorageFile;
use crate::numbers::Lsn;

/// A log that is being replayed.
pub struct LogReader {
    window: LogWindow,
    seal: LogSeal,
    header: LogHeader,
    position: Lsn,
    durable_lsn: Lsn,
    last_tag: [u8; TAG_BYTES],
    records: u64,
    end: Option<LogEnd>,
    refused: Option<LogError>,
}

/// A record that opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRecord<'a> {
    /// Where it begins.
    pub lsn: Lsn,
    /// Everything below this was durable when the record was sealed.
    pub durable_lsn: Lsn,
    /// What was appended.
    pub payload: &'a [u8],
    /// Position behind it, and its tag.
    pub reached: (Lsn, [u8; TAG_BYTES]),
}

/// How a log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEnd {
    /// Where the first record that is not there would begin.
    pub lsn: Lsn,
    /// Tag of the last record, or the header's MAC where there is none: what a next log's chain tag is.
    pub last_tag: [u8; TAG_BYTES],
    /// Records that were replayed.
    pub records: u64,
    /// Bytes of a torn tail behind `lsn`, to the last that is not zero; 0 for a clean end.
    pub torn_bytes: u64,
}

impl LogReader {
    /// Opens a log of `owner` that stands on `basis`; where the superblock names the log, `salt` is known too.
    ///
    /// # Errors
    /// [`LogError`] for a header that is damaged, was edited, or is another log's; `Io`.
    pub fn open(
        file: Arc<dyn StorageFile>,
        owner: &LogOwner,
        basis: &LogBasis,
        salt: Option<&[u8; 16]>,
    ) -> Result<Self> {
        let mut window = LogWindow::new(file)?;
        let unverified = UnverifiedLogHeader::parse(window.at(Lsn::NONE, LOG_HEADER_BYTES)?)?;
        let (header, seal) = unverified.verified(owner)?;
        header.expect(basis, salt)?;
        let position = Lsn::new(LOG_HEADER_BYTES as u64);
        Ok(Self {
            window,
            seal,
            position,
            durable_lsn: position,
            last_tag: header.mac,
            header,
            records: 0,
            end: None,
            refused: None,
        })
    }

    /// The log's header.
    pub fn header(&self) -> &LogHeader {
        &self.header
    }

    /// The next record; `None` at the end of the log, which [`LogReader::end`] then describes.
    ///
    /// # Errors
    /// [`LogError`] for damage to what was durable, for records that were changed, dropped, exchanged or repeated, for
    /// intact records that say what cannot be; `Io`. Asking again gives the same error.
    pub fn next_record(&mut self) -> Result<Option<LogRecord<'_>>> {
        if let Some(error) = self.refused {
            return Err(error.into());
        }
        let (lsn, len) = match self.advance() {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(None),
            Err(error) => {
                if let Error::Log(refused) = error {
                    self.refused = Some(refused);
                }
                return Err(error);
            }
        };
        Ok(Some(LogRecord {
            lsn,
            durable_lsn: self.durable_lsn,
            payload: payload_of(body_of(self.window.at(lsn, len)?))
                .map_err(|what| LogError::Malformed { lsn, what })?,
            reached: (self.position, self.last_tag),
        }))
    }

    /// Position behind the last record that was given, and its tag (the header's MAC before the first).
    pub fn reached(&self) -> (Lsn, [u8; TAG_BYTES]) {
        (self.position, self.last_tag)
    }

    /// Replays what is left, and says how the log ended.
    ///
    /// # Errors
    /// As [`LogReader::next_record`], and what `apply` says.
    pub fn replay(mut self, mut apply: impl FnMut(LogRecord<'_>) -> Result<()>) -> Result<LogEnd> {
        loop {
            match self.next_record()? {
                Some(record) => apply(record)?,
                None => return Ok(self.end_so_far(0)),
            }
        }
    }

    /// Bytes of the file behind the position.
    pub(super) fn bytes_left(&self) -> u64 {
        self.window.end() - self.position
    }

    /// How the log ended; `None` before its end was reached.
    pub fn end(&self) -> Option<&LogEnd> {
        self.end.as_ref()
    }

    /// Opens the record at the position and steps behind it; gives its place and its bytes.
    fn advance(&mut self) -> Result<Option<(Lsn, usize)>> {
        if self.end.is_some() {
            return Ok(None);
        }
        let lsn = self.position;
        let head = RecordHead::from_bytes(self.window.at(lsn, RECORD_HEAD_BYTES)?);
        let Some((head, nonce)) = head else {
            self.stop(lsn, None)?;
            return Ok(None);
        };
        let len = self.plausible(&head)?;
        if len as u64 > self.window.end() - lsn || !self.opens(&nonce, len)? {
            self.stop(lsn, Some(len))?;
            return Ok(None);
        }
        let malformed = |what| LogError::Malformed { lsn, what };
        if head.flags != 0 {
            return Err(malformed("its flags are unknown").into());
        }
        if head.durable_lsn < self.durable_lsn {
            return Err(malformed("its durable LSN goes back").into());
        }
        let record = self.window.at(lsn, len)?;
        payload_of(body_of(record)).map_err(malformed)?;
        if let Some(tag) = record.last_chunk::<TAG_BYTES>() {
            self.last_tag = *tag;
        }
        self.position += len as u64;
        self.durable_lsn = head.durable_lsn;
        self.records += 1;
        Ok(Some((lsn, len)))
    }

    /// Bytes of the record, if an intact head can be one that was written here.
    fn plausible(&self, head: &RecordHead) -> Result<usize, LogError> {
        let (lsn, found) = (self.position, head.lsn);
        if found > lsn {
            return Err(LogError::RecordsDropped { lsn, found });
        }
        if found < lsn {
            return Err(LogError::RecordRepeated { lsn, found });
        }
        let malformed = |what| LogError::Malformed { lsn, what };
        if head.reserved != [0; 3] {
            return Err(malformed("a reserved byte is not zero"));
        }
        if head.durable_lsn > lsn {
            return Err(malformed("its durable LSN lies ahead"));
        }
        head.record_len()
            .ok_or(malformed("no record can have its length"))
    }

    fn opens(&mut self, nonce: &[u8; 12], len: usize) -> Result<bool> {
        let record = self.window.at(self.position, len)?;
        let Some((rest, tag)) = record.split_last_chunk_mut::<TAG_BYTES>() else {
            return Ok(false);
        };
        let Some((bound, body)) = rest.split_first_chunk_mut::<RECORD_HEAD_BYTES>() else {
            return Ok(false);
        };
        let bound: [u8; BOUND_BYTES] = std::array::from_fn(|i| bound[i]);
        let opened = self.seal.open(&self.last_tag, &bound, nonce, body, tag);
        if !opened {
            self.window.forget();
        }
        Ok(opened)
    }

    /// Nothing opens at `lsn`: ends the replay if a crash can have done that. `intact` is the length of a record whose head
    /// is there.
    fn stop(&mut self, lsn: Lsn, intact: Option<usize>) -> Result<()> {
        // An editor can stretch a record over those behind it, so heads are looked for within it, too. In a plain log the
        // payload could hold something that looks like a head, and an intact head's length is not an edited one.
        let skip = match intact {
            Some(len) if !self.seal.is_encrypted() => len as u64,
            _ => RECORD_ALIGNMENT as u64,
        };
        let mut torn_bytes = 0;
        let mut at = lsn;
        while at < self.window.end() {
            let line = self.window.at(at, RECORD_ALIGNMENT)?;
            if let Some(last) = line.iter().rposition(|&byte| byte != 0) {
                torn_bytes = at - lsn + last as u64 + 1;
                let head = RecordHead::from_bytes(line).filter(|_| at - lsn >= skip);
                if let Some((head, _)) = head.filter(|(head, _)| head.proves_durable(at, lsn)) {
                    let durable_lsn = head.durable_lsn;
                    return Err(match intact.is_some() && self.seal.is_encrypted() {
                        true => LogError::RecordEdited { lsn, durable_lsn },
                        false => LogError::RecordDamaged { lsn, durable_lsn },
                    }
                    .into());
                }
            }
            at += RECORD_ALIGNMENT as u64;
        }
        self.end = Some(self.end_so_far(torn_bytes));
        Ok(())
    }

    /// How it ended, or would if it ended at the position.
    pub(super) fn end_so_far(&self, torn_bytes: u64) -> LogEnd {
        self.end.unwrap_or(LogEnd {
            lsn: self.position,
            last_tag: self.last_tag,
            records: self.records,
            torn_bytes,
        })
    }
}

impl std::fmt::Debug for LogReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogReader")
            .field("header", &self.header)
            .field("position", &self.position)
            .finish()
    }
}

/// What lies between a record's head and its tag.
fn body_of(record: &[u8]) -> &[u8] {
    let end = record.len().saturating_sub(TAG_BYTES);
    record.get(RECORD_HEAD_BYTES..end).unwrap_or_default()
}
