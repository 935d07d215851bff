//! Who makes the checkpoints that a long log asks for: the commit that found it long, once it is durable, or somebody who is woken.
//!
//! What must hold: while somebody is woken, no commit makes a checkpoint before it answers. Commits wait for who was woken only
//! where the log has become [`TIMES`] as long as it should be, or longer than there is memory for its rows, and never once nobody is
//! woken any more, nor for a checkpoint that failed: they go on until the log is so much longer again. Whatever makes the log
//! shorter, or lets it be longer, has them look again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::commit_log::CommitLog;
use super::store::Store;
use crate::error::{Error, Result};
use crate::interrupt::check_interrupt;

/// Commits wait when the log is this many times as long as one that asks for a checkpoint.
const TIMES: u64 = 4;
/// Between two looks at what ends a wait.
const PAUSE: Duration = Duration::from_millis(10);

/// What wakes who makes checkpoints.
type Wake = Arc<dyn Fn() + Send + Sync>;

/// Who is woken, and the commits that wait for it.
#[derive(Default)]
pub(super) struct Checkpointer {
    wake: Mutex<Option<Wake>>,
    /// The log is so long that commits wait.
    is_behind: AtomicBool,
    eased: Condvar,
    gate: Mutex<()>,
}

impl Checkpointer {
    /// The log is as long as it is now.
    pub(super) fn look_at(&self, log: &CommitLog) {
        let is_behind = log.is_longer_than(TIMES) && self.wake.lock().is_some();
        if self.is_behind.swap(is_behind, Ordering::AcqRel) && !is_behind {
            let _gate = self.gate.lock();
            self.eased.notify_all();
        }
    }
}

impl Store {
    /// From now on a commit that finds the log long calls `wake` instead of making a checkpoint; who is woken calls
    /// [`Store::checkpoint_if_long`] soon, on another thread. Without one, commits make checkpoints again.
    pub fn wake_for_checkpoints(&self, wake: Option<Wake>) {
        *self.checkpointer.wake.lock() = wake;
        self.checkpointer.look_at(&self.log.lock());
    }

    /// Makes a checkpoint if the log is long and none is being made; gives whether it made one.
    ///
    /// # Errors
    /// As [`Store::checkpoint`]: all that was committed is in the log. It is put off until the log is longer by as much again, but for
    /// `Interrupted`.
    pub fn checkpoint_if_long(&self) -> Result<bool> {
        let Some(alone) = self.checkpointing.try_lock() else {
            return Ok(false);
        };
        let log = self.log.lock();
        if !log.is_long() {
            // It may have ended, or may be longer than it might be: whoever waits for this goes on.
            self.checkpointer.look_at(&log);
            return Ok(false);
        }
        drop(log);
        let made = match self.cut(alone, None) {
            Ok(Some(checkpoint)) => checkpoint.finish(),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        let mut log = self.log.lock();
        if made
            .as_ref()
            .is_err_and(|error| !matches!(error, Error::Interrupted))
        {
            log.put_off();
        }
        self.checkpointer.look_at(&log);
        made.map(|()| true)
    }

    /// The log is long: has a checkpoint made, by who is woken for it or here.
    pub(super) fn checkpoint_is_due(&self) {
        let wake = self.checkpointer.wake.lock().clone();
        match wake {
            Some(wake) => wake(),
            // The commit that brought it about is durable. A later one tries again.
            None => drop(self.checkpoint_if_long()),
        }
    }

    /// Waits while the log is far too long and somebody is at work on it. Called by who holds no lock of a commit.
    ///
    /// # Errors
    /// As [`check_interrupt`].
    pub(super) fn wait_for_checkpointer(&self) -> Result<()> {
        let checkpointer = &self.checkpointer;
        while checkpointer.is_behind.load(Ordering::Acquire) {
            check_interrupt()?;
            // Again each time: whoever was woken may have found that another made one, which left the log long.
            let Some(wake) = checkpointer.wake.lock().clone() else {
                return Ok(());
            };
            wake();
            let mut gate = checkpointer.gate.lock();
            if checkpointer.is_behind.load(Ordering::Acquire) {
                checkpointer.eased.wait_for(&mut gate, PAUSE);
            }
        }
        Ok(())
    }
}
