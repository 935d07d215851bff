//! Checkpoints by somebody who is woken for them: now, or any number of steps later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use parking_lot::Mutex;

use super::{Checked, Flow, Handle, World};
use crate::dice::Dice;

/// Whether a checkpoint is due that nobody has made yet.
pub(super) type Due = Arc<AtomicBool>;

impl World {
    /// Has the commits of some stores wake somebody. One thread plays both: who holds a checkpoint open must not wait for who is
    /// woken, so such steps are not for these stores.
    pub(super) fn perhaps_wakes(&mut self, handle: &Handle) -> Option<Due> {
        let dice = self.dice.chance(40).then(|| self.dice.fork());
        dice.map(|dice| Self::wakes(dice, handle))
    }

    fn wakes(dice: Dice, handle: &Handle) -> Due {
        let due = Due::default();
        let (is_due, dice) = (Arc::clone(&due), Mutex::new(dice));
        let store = Arc::downgrade(&handle.store);
        let wake = move || {
            is_due.store(true, SeqCst);
            // At once, for a commit that waits for it, or that it races with.
            if dice.lock().chance(30)
                && let Some(store) = store.upgrade()
            {
                // What it fails with is nobody's: the commit is in the log.
                let _ = store.checkpoint_if_long();
            }
        };
        handle.store.wake_for_checkpoints(Some(Arc::new(wake)));
        due
    }

    /// Makes the checkpoint that is due, if one is.
    pub(super) fn due_checkpoint(
        &mut self,
        handle: &mut Handle,
        due: Option<&Due>,
    ) -> Checked<Flow> {
        if !due.is_some_and(|due| due.swap(false, SeqCst)) {
            return Ok(Flow::GoesOn);
        }
        let faults = self.disk.stats().faults;
        match handle.store.checkpoint_if_long() {
            Ok(made) => {
                self.report.woken_checkpoints += u64::from(made);
                Ok(Flow::GoesOn)
            }
            Err(error) => self.failed(handle, faults, None, &error),
        }
    }
}
