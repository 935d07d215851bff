//! `LogWindow`: the stretch of a log that a reader has in memory.
//!
//! What must hold: nothing is read, and no memory taken, beyond the end that the file had when it was opened. A window
//! holds a mebibyte, or one record where that is larger.

use std::sync::Arc;

use super::record_head::MAX_LOG_RECORD_BYTES;
use crate::error::Result;
use crate::file::StorageFile;
use crate::numbers::Lsn;

const WINDOW_BYTES: u64 = 1 << 20;

/// A stretch of a file in memory.
pub(super) struct LogWindow {
    file: Arc<dyn StorageFile>,
    end: Lsn,
    start: Lsn,
    bytes: Vec<u8>,
}

impl LogWindow {
    pub(super) fn new(file: Arc<dyn StorageFile>) -> Result<Self> {
        let end = Lsn::new(file.len()?);
        Ok(Self {
            file,
            end,
            start: Lsn::NONE,
            bytes: Vec::new(),
        })
    }

    /// Where the file ended when it was opened.
    pub(super) fn end(&self) -> Lsn {
        self.end
    }

    /// The `len` bytes at `at`, or as many of them as the file has.
    pub(super) fn at(&mut self, at: Lsn, len: usize) -> Result<&mut [u8]> {
        let left = self.end.number().saturating_sub(at.number());
        let len = left.min(len.min(MAX_LOG_RECORD_BYTES) as u64);
        let end = at + len;
        if at < self.start || end > self.start + self.bytes.len() as u64 {
            self.bytes.clear();
            self.start = at;
            let wanted = len.max(WINDOW_BYTES.min(left));
            self.file
                .append_exact_at(at.number(), wanted as usize, &mut self.bytes)?;
        }
        let from = (at - self.start) as usize;
        Ok(&mut self.bytes[from..from + len as usize])
    }

    /// Drops what is in memory: it was changed there.
    pub(super) fn forget(&mut self) {
        self.bytes.clear();
    }
}
