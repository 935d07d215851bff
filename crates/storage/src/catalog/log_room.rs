//! How long logs may be between checkpoints: longer than asked for where a checkpoint would write more than it moves.
//!
//! A checkpoint writes every index leaf anew in which a key changed, so after random updates of a large table nearly all of them, however
//! short the log is. The longer the log, the fewer times that happens; but its rows are in memory, and opening replays it.
//!
//! What must hold: a log that may grow does so while all of them together have room, and up to [`MOST_BYTES`]; without room each is as
//! long as asked for. What a log has of the room it gives back when it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A log is worth a checkpoint when it has so many times the bytes that the checkpoint writes.
const WORTH: u64 = 2;
/// No log grows beyond this, whatever a checkpoint writes: opening replays it in seconds.
const MOST_BYTES: u64 = 256 << 20;

/// Bytes for the logs of a process, which all of its stores share.
#[derive(Debug, Default)]
pub struct LogRoom {
    most: AtomicU64,
    used: AtomicU64,
}

impl LogRoom {
    /// Sets how many bytes logs may have together and still grow.
    pub fn set_most(&self, bytes: u64) {
        self.most.store(bytes, Ordering::Relaxed);
    }

    /// Bytes that logs have.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn is_full(&self) -> bool {
        self.used() >= self.most.load(Ordering::Relaxed)
    }
}

/// How far one log may grow.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// `None`: it does not.
    room: Option<Arc<LogRoom>>,
    /// Bytes of it that are counted there.
    counted: u64,
    /// Bytes that the last checkpoint wrote, or that the next one is thought to write.
    cost: Option<u64>,
}

impl Growth {
    /// From now on the log grows as there is room.
    pub(super) fn within(&mut self, room: Option<Arc<LogRoom>>) {
        let counted = self.counted;
        self.count(0);
        self.room = room;
        self.count(counted);
    }

    /// The log has so many bytes now.
    pub(super) fn count(&mut self, bytes: u64) {
        if let Some(room) = &self.room {
            room.used.fetch_add(bytes, Ordering::Relaxed);
            room.used.fetch_sub(self.counted, Ordering::Relaxed);
        }
        self.counted = bytes;
    }

    /// A checkpoint has written so many bytes.
    pub(super) fn has_cost(&mut self, bytes: u64) {
        self.cost = Some(bytes);
    }

    /// Whether the log may grow, and nobody knows yet what a checkpoint writes.
    pub(super) fn is_unknown(&self) -> bool {
        self.room.is_some() && self.cost.is_none()
    }

    /// Whether a log of `len` bytes, of which a checkpoint is asked for, is to grow instead.
    pub(super) fn goes_on(&self, len: u64) -> bool {
        len < self.worth() && self.room.as_ref().is_some_and(|room| !room.is_full())
    }

    /// Bytes to which the log grows if there is room.
    pub(super) fn worth(&self) -> u64 {
        let worth = self.cost.unwrap_or_default().saturating_mul(WORTH);
        self.room.as_ref().map_or(0, |_| worth.min(MOST_BYTES))
    }
}

impl Drop for Growth {
    fn drop(&mut self) {
        self.count(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_grows_to_what_a_checkpoint_is_worth_while_there_is_room() {
        let room = Arc::new(LogRoom::default());
        room.set_most(1000);
        let mut growth = Growth::default();
        growth.has_cost(100);
        assert!(!growth.goes_on(10), "it has no room");
        growth.within(Some(Arc::clone(&room)));
        assert!(growth.goes_on(199) && !growth.goes_on(200));
        growth.has_cost(u64::MAX);
        assert!(growth.goes_on(MOST_BYTES - 1) && !growth.goes_on(MOST_BYTES));

        let mut other = Growth::default();
        other.count(900);
        other.within(Some(Arc::clone(&room)));
        growth.count(60);
        growth.count(99);
        assert!(growth.goes_on(99), "{room:?}");
        growth.count(100);
        assert!(!growth.goes_on(100), "{room:?}");
        drop(other);
        assert_eq!((growth.goes_on(100), room.used()), (true, 100));
        growth.within(None);
        assert_eq!((growth.goes_on(100), room.used()), (false, 0));
    }
}
