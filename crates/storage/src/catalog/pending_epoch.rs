//! Guards the space of row groups that are written but not appended.
//!
//! A commit that fails takes everything back that was allocated since the last one, pending row groups of any thread
//! included. Those must then neither be appended nor give back their space a second time.
//!
//! Holds: a pending row group is from the current epoch exactly if its blocks are still allocated.

use parking_lot::RwLock;

/// Number of times that pending space was taken back.
#[derive(Default)]
pub(crate) struct PendingEpoch {
    epoch: RwLock<u64>,
}

impl PendingEpoch {
    /// Runs `write`, which allocates, and returns the epoch that the blocks belong to.
    pub(crate) fn allocate<T>(&self, write: impl FnOnce() -> T) -> (u64, T) {
        let epoch = self.epoch.read();
        (*epoch, write())
    }

    /// Whether blocks of `epoch` are still allocated.
    pub(crate) fn is_current(&self, epoch: u64) -> bool {
        *self.epoch.read() == epoch
    }

    /// Runs `free` if blocks of `epoch` are still allocated.
    pub(crate) fn free_if_current(&self, epoch: u64, free: impl FnOnce()) {
        let current = self.epoch.read();
        if *current == epoch {
            free();
        }
    }

    /// Runs `rollback`, after which no pending row group has its blocks any more.
    pub(crate) fn end(&self, rollback: impl FnOnce()) {
        let mut epoch = self.epoch.write();
        rollback();
        *epoch += 1;
    }
}
