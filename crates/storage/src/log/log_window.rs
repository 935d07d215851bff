//! `LogWindow`: the stretch of a log that a reader has in memory.
//!
//! What must hold: nothing is read, and no memory taken, beyond the end that the file had when it was opened. A window
//! holds a mebibyte, or one record where that is larger.

use std::sync::Arc;

use super::record_head::MAX_LOG_RECORD_BYTES;
use crate::error::Result;
use crate::file::StorageFile;

const WINDOW_BYTES: u64 = 1 << 20;

/// A stretch of a file in memory.
pub(super) struct LogWindow {
    file: Arc<dyn StorageFile>,
    file_len: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl LogWindow {
    pub(super) fn new(file: Arc<dyn StorageFile>) -> Result<Self> {
        let file_len = file.len()?;
        Ok(Self {
            file,
            file_len,
            start: 0,
            bytes: Vec::new(),
        })
    }

    /// Length of the file when it was opened.
    pub(super) fn file_len(&self) -> u64 {
        self.file_len
    }

    /// The `len` bytes at `at`, or as many of them as the file has.
    pub(super) fn at(&mut self, at: u64, len: usize) -> Result<&mut [u8]> {
        let end = at
            .saturating_add(len.min(MAX_LOG_RECORD_BYTES) as u64)
            .min(self.file_len)
            .max(at);
        if at < self.start || end > self.start + self.bytes.len() as u64 {
            self.bytes.clear();
            self.start = at;
            let wanted = (end - at).max(WINDOW_BYTES.min(self.file_len.saturating_sub(at)));
            self.file
                .append_exact_at(at, wanted as usize, &mut self.bytes)?;
        }
        let from = (at - self.start) as usize;
        Ok(&mut self.bytes[from..from + (end - at) as usize])
    }

    /// Drops what is in memory: it was changed there.
    pub(super) fn forget(&mut self) {
        self.bytes.clear();
    }
}
