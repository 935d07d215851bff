//! `Pace`: how writing much goes on beside commits and queries.
//!
//! What must hold: while others commit, their syncs wait for one piece of it at most, and have most of the time for themselves; while
//! others read, they have most of a processor; while nobody does either, nothing is held up. Whoever rests here holds no lock that a commit, a
//! definition or a checkpoint waits for.

use std::time::{Duration, Instant};

use super::store::Store;
use crate::clock;
use crate::error::Result;
use crate::interrupt::check_interrupt;

/// Bytes after which it looks whether somebody commits: a sync of so few takes about as long as that of a commit.
const PIECE_BYTES: u64 = 256 << 10;
/// The share of its own time for which it rests then.
const REST: u32 = 8;
/// The same where others only read: they wait for no sync, but for a processor and for memory.
const REST_BESIDE_READS: u32 = 3;
/// Blocks that others ask for within [`WINDOW`] where somebody reads. What is asked for on the way from block to block is less.
const READS: u64 = 8;
/// Between two looks whether others read.
const WINDOW: Duration = Duration::from_millis(10);

/// Bytes that were written, and since when.
pub(super) struct Pace<'a> {
    store: &'a Store,
    commits: u64,
    bytes: u64,
    began: Instant,
    others: Others,
    rests: bool,
}

/// Who else asks for blocks.
struct Others {
    since: Instant,
    /// Blocks that were asked for by then, but for our own.
    asked_for: u64,
    own: u64,
    read: bool,
}

impl<'a> Pace<'a> {
    pub(super) fn of(store: &'a Store) -> Self {
        Self {
            store,
            commits: store.queued_commits(),
            bytes: 0,
            began: clock::now(),
            others: Others {
                since: clock::now(),
                asked_for: store.blocks.pool().asked_for(),
                own: 0,
                read: false,
            },
            rests: true,
        }
    }

    /// For who holds what others wait for: as fast as it goes.
    pub(super) fn without_rests(store: &'a Store) -> Self {
        Self {
            rests: false,
            ..Self::of(store)
        }
    }

    pub(super) fn store(&self) -> &'a Store {
        self.store
    }

    /// It asked for a block itself.
    pub(super) fn asked_for_one(&mut self) {
        self.others.own += 1;
    }

    /// So many bytes more were written.
    ///
    /// # Errors
    /// Those of a sync, and `Interrupted`.
    pub(super) fn took(&mut self, bytes: u64) -> Result<()> {
        self.bytes += bytes;
        if self.bytes < PIECE_BYTES || !self.rests {
            return Ok(());
        }
        let rest = if self.store.queued_commits() != self.commits {
            self.store.blocks.sync_ahead()?;
            REST
        } else if self.others.read(self.store) {
            REST_BESIDE_READS
        } else {
            0
        };
        let busy = self.began.elapsed();
        wait_until(self.began, busy + busy * rest)?;
        self.commits = self.store.queued_commits();
        self.bytes = 0;
        self.began = clock::now();
        Ok(())
    }
}

impl Others {
    /// Whether others have read lately.
    fn read(&mut self, store: &Store) -> bool {
        if self.since.elapsed() >= WINDOW {
            let asked_for = store.blocks.pool().asked_for();
            let by_others = asked_for.saturating_sub(self.asked_for + self.own);
            *self = Self {
                since: clock::now(),
                asked_for,
                own: 0,
                read: by_others > READS,
            };
        }
        self.read
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
