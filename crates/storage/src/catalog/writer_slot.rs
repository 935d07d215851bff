//! The place of the one writer. Unlike a mutex guard, its ticket may move between threads.
//!
//! Holds: at most one ticket is out.

use parking_lot::{Condvar, Mutex};

/// Gives out one ticket at a time.
#[derive(Default)]
pub(crate) struct WriterSlot {
    taken: Mutex<bool>,
    freed: Condvar,
}

/// Held by the writer; dropping it lets the next one in.
pub(crate) struct WriterTicket<'a> {
    slot: &'a WriterSlot,
}

impl WriterSlot {
    /// Waits until no ticket is out.
    pub(crate) fn take(&self) -> WriterTicket<'_> {
        let mut taken = self.taken.lock();
        while *taken {
            self.freed.wait(&mut taken);
        }
        *taken = true;
        WriterTicket { slot: self }
    }
}

impl Drop for WriterTicket<'_> {
    fn drop(&mut self) {
        *self.slot.taken.lock() = false;
        self.slot.freed.notify_one();
    }
}
