//! `Pace`: how writing much goes on beside commits.
//!
//! What must hold: while others commit, their syncs wait for one piece of it at most, and have most of the time for themselves; while
//! nobody does, nothing is held up.

use std::time::{Duration, Instant};

use super::store::Store;
use crate::clock;
use crate::error::Result;
use crate::interrupt::check_interrupt;

/// Bytes after which it looks whether somebody commits.
const PIECE_BYTES: u64 = 1 << 20;
/// The share of its own time for which it rests then.
const REST: u32 = 2;

/// Bytes that were written, and since when.
pub(super) struct Pace<'a> {
    store: &'a Store,
    commits: u64,
    bytes: u64,
    began: Instant,
}

impl<'a> Pace<'a> {
    pub(super) fn of(store: &'a Store) -> Self {
        Self {
            store,
            commits: store.queued_commits(),
            bytes: 0,
            began: clock::now(),
        }
    }

    pub(super) fn store(&self) -> &'a Store {
        self.store
    }

    /// So many bytes more were written.
    ///
    /// # Errors
    /// Those of a sync, and `Interrupted`.
    pub(super) fn took(&mut self, bytes: u64) -> Result<()> {
        self.bytes += bytes;
        if self.bytes < PIECE_BYTES {
            return Ok(());
        }
        let commits = self.store.queued_commits();
        if commits != self.commits {
            self.store.blocks.sync_ahead()?;
            let busy = self.began.elapsed();
            wait_until(self.began, busy + busy * REST)?;
        }
        self.commits = self.store.queued_commits();
        self.bytes = 0;
        self.began = clock::now();
        Ok(())
    }
}

/// Waits until so much time has gone by.
///
/// # Errors
/// `Interrupted`.
pub(super) fn wait_until(began: Instant, due: Duration) -> Result<()> {
    while let Some(left) = due
        .checked_sub(began.elapsed())
        .filter(|left| !left.is_zero())
    {
        check_interrupt()?;
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
    Ok(())
}
