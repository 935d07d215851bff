//! `LogWriter`: the one who appends to a log.
//!
//! What must hold:
//! - A log is begun in an empty file and continued only by whoever began it: nothing is ever appended behind what was found.
//! - With [`Synchronous::Full`] a record is written only after everything before it is durable.
//! - After a failed write or sync nothing more is written: what is on disk is not known. Only a write that found no room is
//!   taken back: the file ends again where the record began, and the next record, under a nonce of its own, stands there.
//! - A log's key seals fewer than 2^28 records, counted before sealing, and none in a child process after a fork.
//!
//! It takes `&mut self` and no lock: whoever owns it keeps others from waiting on anything but itself.

use std::sync::Arc;

use super::log_header::LOG_HEADER_BYTES;
use super::log_seal::LogSeal;
use super::record_head::{
    LENGTH_BYTES, MAX_LOG_PAYLOAD_BYTES, RECORD_HEAD_BYTES, RecordHead, record_len_for,
};
use super::{LogBasis, LogError, LogHeader, LogOwner, TAG_BYTES};
use crate::error::{Error, Result};
use crate::file::StorageFile;
use crate::numbers::Lsn;

/// Zeros that are written ahead of the records. Overwriting them costs a sync that has no new length and no new place to make
/// durable: measured on ext4, half as many syncs again in the same time.
const EXTENT_BYTES: usize = 1 << 20;
/// Records after which a log takes no more (SP 800-38D allows 2^32 seals with random nonces).
const MAX_RECORDS: u64 = 1 << 28;
/// A buffer that a large record left behind is given back.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// When records are made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// A record is written only after the one before it is durable.
    #[default]
    Full,
    /// Records become durable when the caller syncs, or the operating system likes.
    Off,
}

/// A log that grows.
pub struct LogWriter {
    file: Arc<dyn StorageFile>,
    seal: LogSeal,
    header: LogHeader,
    synchronous: Synchronous,
    position: Lsn,
    durable_lsn: Lsn,
    last_tag: [u8; TAG_BYTES],
    records: u64,
    process: u32,
    /// Up to here the file has zeros or records.
    extended_to: Lsn,
    extends: bool,
    failed: bool,
    buffer: Vec<u8>,
}

impl LogWriter {
    /// Begins a log in an empty file; it and its name are durable on return.
    ///
    /// # Errors
    /// `InvalidInput` for a file that is not empty, `Full`, `Io`, `Crypto`. The file is then of no use.
    pub fn create(
        file: Arc<dyn StorageFile>,
        owner: &LogOwner,
        basis: LogBasis,
        synchronous: Synchronous,
    ) -> Result<Self> {
        if !file.is_empty()? {
            return Err(Error::InvalidInput("a log begins in an empty file".into()));
        }
        let (header, seal) = LogHeader::create(owner, basis)?;
        file.write_all_at(0, &header.to_bytes(owner))?;
        let position = Lsn::new(LOG_HEADER_BYTES as u64);
        let mut this = Self {
            file,
            seal,
            header,
            synchronous,
            position,
            durable_lsn: position,
            last_tag: header.mac,
            records: 0,
            process: std::process::id(),
            extended_to: Lsn::NONE,
            extends: true,
            failed: false,
            buffer: Vec::new(),
        };
        this.extend(position)?;
        this.file.sync()?;
        this.file.sync_directory()?;
        Ok(this)
    }

    /// Seals `payload` as one record and writes it. Returns its LSN; it is durable once [`LogWriter::durable_lsn`] is
    /// larger than that.
    ///
    /// # Errors
    /// [`LogError::TooLarge`] and [`LogError::Exhausted`], with nothing written; `Full`, with nothing left of the record,
    /// unless [`LogWriter::has_failed`]; `Io`; `WriteFailedEarlier` after a failure.
    pub fn append(&mut self, payload: &[u8]) -> Result<Lsn> {
        self.refuse_after_failure()?;
        let len = record_len_for(payload.len()).ok_or(LogError::TooLarge {
            max_bytes: MAX_LOG_PAYLOAD_BYTES,
        })?;
        if self.synchronous == Synchronous::Full {
            self.sync()?;
        }
        if self.records >= MAX_RECORDS || self.process != std::process::id() {
            return Err(LogError::Exhausted.into());
        }
        self.records += 1;
        let lsn = self.position;
        let tag = self.seal_record(payload, len)?;
        if let Err(error) = self.file.write_all_at(lsn.number(), &self.buffer) {
            // Without its end the record is none, also if a crash keeps the file from being cut.
            let is_undone = is_full(&error) && self.file.set_len(lsn.number()).is_ok();
            self.extended_to = lsn;
            self.failed |= !is_undone;
            return Err(error.into());
        }
        let extended = self.extend(lsn + len as u64);
        self.noting_failure(extended)?;
        self.position += len as u64;
        self.last_tag = tag;
        if self.buffer.capacity() > KEPT_BUFFER_BYTES {
            self.buffer = Vec::new();
        }
        Ok(lsn)
    }

    /// Returns once every record is durable. Does nothing where they are.
    ///
    /// # Errors
    /// `Io`, `Full`; it is then not known which records are durable, and the log takes no more: `WriteFailedEarlier`.
    pub fn sync(&mut self) -> Result<()> {
        self.refuse_after_failure()?;
        if self.durable_lsn < self.position {
            let synced = self.file.sync();
            self.noting_failure(synced)?;
            self.durable_lsn = self.position;
        }
        Ok(())
    }

    /// The log's header: what a superblock keeps of it.
    pub fn header(&self) -> &LogHeader {
        &self.header
    }

    /// Where the next record begins: the log's length without the zeros ahead of it.
    pub fn position(&self) -> Lsn {
        self.position
    }

    /// Everything below this is durable.
    pub fn durable_lsn(&self) -> Lsn {
        self.durable_lsn
    }

    /// Tag of the last record, or the header's MAC where there is none: what the next log's chain tag is.
    pub fn last_tag(&self) -> &[u8; TAG_BYTES] {
        &self.last_tag
    }

    /// Records sealed so far, failed attempts included.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Whether a write or sync failed, so that the log takes no more.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Takes effect with the next record.
    pub fn set_synchronous(&mut self, synchronous: Synchronous) {
        self.synchronous = synchronous;
    }

    /// Builds the record in the buffer; what was plaintext there is ciphertext afterwards.
    fn seal_record(&mut self, payload: &[u8], len: usize) -> Result<[u8; TAG_BYTES]> {
        let tag_at = len - TAG_BYTES;
        let head = RecordHead {
            body_len: (tag_at - RECORD_HEAD_BYTES) as u32,
            flags: 0,
            reserved: [0; 3],
            lsn: self.position,
            durable_lsn: self.durable_lsn,
        };
        let buffer = &mut self.buffer;
        buffer.clear();
        buffer.reserve_exact(len);
        buffer.resize(RECORD_HEAD_BYTES, 0);
        buffer.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        buffer.extend_from_slice(payload);
        buffer.resize(len, 0);
        debug_assert!(RECORD_HEAD_BYTES + LENGTH_BYTES + payload.len() <= tag_at);
        let body = &mut buffer[RECORD_HEAD_BYTES..tag_at];
        let sealed = self.seal.seal(&self.last_tag, &head.to_bytes(), body);
        let Ok((nonce, tag)) = sealed else {
            buffer.fill(0);
            return sealed.map(|(_, tag)| tag);
        };
        head.write(buffer, &nonce, &tag);
        Ok(tag)
    }

    /// Puts zeros ahead of `end`, where a record ended beyond the last ones. Large records go without.
    fn extend(&mut self, end: Lsn) -> std::io::Result<()> {
        if end <= self.extended_to {
            return Ok(());
        }
        let large = end - self.extended_to > EXTENT_BYTES as u64;
        self.extended_to = end;
        if !self.extends || large {
            return Ok(());
        }
        match self.file.write_all_at(end.number(), &vec![0; EXTENT_BYTES]) {
            Ok(()) => self.extended_to += EXTENT_BYTES as u64,
            // The record itself found room, and the next one may.
            Err(error) if is_full(&error) => {
                self.extends = false;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn refuse_after_failure(&self) -> Result<()> {
        match self.failed {
            true => Err(Error::WriteFailedEarlier),
            false => Ok(()),
        }
    }

    fn noting_failure<T>(&mut self, result: std::io::Result<T>) -> Result<T> {
        self.failed |= result.is_err();
        Ok(result?)
    }
}

impl std::fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogWriter")
            .field("header", &self.header)
            .field("position", &self.position)
            .field("durable_lsn", &self.durable_lsn)
            .field("failed", &self.failed)
            .finish()
    }
}

fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
