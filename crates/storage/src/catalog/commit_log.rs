//! The log of one store: which of its records are durable, and when one begins and ends.
//!
//! ```text
//! superblock: log closed --first small commit--> log n+1 begun, superblock names it --flip--> closed, log removed
//! ```
//!
//! Holds: a log is named by the superblock before anything in it is acknowledged; a superblock that closes a log has all
//! that the log says; nothing is appended to a log that was found.

use std::sync::Arc;

use super::catalog_version::CatalogVersion;
use super::change_record;
use crate::error::Result;
use crate::file::StorageFiles;
use crate::log::{LogWriter, Synchronous};
use crate::store::{BlockStore, WalState};

/// What a log's name ends with.
pub(super) const LOG_NAME: &str = ".wal";

/// The log that commits are written to.
pub(super) struct CommitLog {
    /// `None`: there is no log; every commit moves the root, or nothing outlives the process.
    files: Option<Arc<dyn StorageFiles>>,
    writer: Option<LogWriter>,
    pub(super) synchronous: Synchronous,
    /// Bytes after which a checkpoint is made.
    pub(super) autocheckpoint_bytes: u64,
}

/// Bytes of a log after which a commit makes a checkpoint, unless another number is set; DuckDB's.
pub const DEFAULT_AUTOCHECKPOINT_BYTES: u64 = 16 << 20;

impl CommitLog {
    pub(super) fn new(files: Option<Arc<dyn StorageFiles>>) -> Self {
        Self {
            files,
            writer: None,
            synchronous: Synchronous::default(),
            autocheckpoint_bytes: DEFAULT_AUTOCHECKPOINT_BYTES,
        }
    }

    /// Whether there is a log with something in it.
    pub(super) fn is_open(&self) -> bool {
        self.writer.is_some()
    }

    /// Bytes of the log; 0 where none is open.
    pub(super) fn position(&self) -> u64 {
        self.writer.as_ref().map_or(0, LogWriter::position)
    }

    /// Position and tag of the last record, for an anchor.
    pub(super) fn last(&self) -> Option<(u64, [u8; 16])> {
        let writer = self.writer.as_ref()?;
        Some((writer.position(), *writer.last_tag()))
    }

    /// Writes transactions that were committed together as one record, and returns when it is durable. `stored` is the
    /// state that the root has.
    ///
    /// # Errors
    /// Full, Io: what is on disk is not known.
    pub(super) fn write(
        &mut self,
        blocks: &BlockStore,
        transactions: &[Vec<u8>],
        stored: &CatalogVersion,
        oldest: u64,
    ) -> Result<()> {
        let payload = change_record::payload(transactions);
        if self.writer.is_none() {
            self.begin(blocks, stored, oldest)?;
        }
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        writer.set_synchronous(self.synchronous);
        writer.append(&payload)?;
        if self.synchronous == Synchronous::Full {
            writer.sync()?;
        }
        Ok(())
    }

    /// Begins a log and has the superblock name it.
    fn begin(&mut self, blocks: &BlockStore, stored: &CatalogVersion, oldest: u64) -> Result<()> {
        let Some(files) = &self.files else {
            return Ok(());
        };
        let basis = blocks.next_log();
        // One that was left behind; opening has made sure that it says nothing new.
        files.remove(LOG_NAME)?;
        let file = files.create(LOG_NAME)?;
        let writer = LogWriter::create(file, &blocks.log_owner(), basis, self.synchronous)?;
        files.sync()?;
        let named = WalState {
            is_open: true,
            sequence: basis.sequence,
            salt: *writer.header().salt(),
            chain_tag: basis.chain_tag,
        };
        blocks.commit_with_log(stored.block, oldest, named)?;
        self.writer = Some(writer);
        Ok(())
    }

    /// The superblock has all that the log says and names none: removes it.
    pub(super) fn end(&mut self) {
        self.writer = None;
        if let Some(files) = &self.files {
            // A log that stays behind is told by its sequence and removed at the next opening.
            let _ = files.remove(LOG_NAME).and_then(|()| files.sync());
        }
    }
}
