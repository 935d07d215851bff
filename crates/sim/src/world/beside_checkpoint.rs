//! Checkpoints in steps, with commits and key changes between the steps.

use std::sync::Arc;

use super::{Checked, Flow, Handle, World};
use crate::changes;

impl World {
    pub(super) fn checkpoint(&mut self, handle: &mut Handle) -> Checked<Flow> {
        let faults = self.disk.stats().faults;
        match handle.store.checkpoint() {
            Ok(()) => Ok(Flow::GoesOn),
            Err(error) => self.failed(handle, faults, None, &error),
        }
    }

    /// Makes a checkpoint, or gives one up on the way.
    pub(super) fn commits_beside_checkpoint(&mut self, handle: &mut Handle) -> Checked<Flow> {
        // So that there is a log to be cut.
        if self.small_commit(handle)? == Flow::Over {
            return Ok(Flow::Over);
        }
        let store = Arc::clone(&handle.store);
        let faults = self.disk.stats().faults;
        let mut checkpoint = match store.begin_checkpoint() {
            Ok(Some(checkpoint)) => checkpoint,
            Ok(None) => return Ok(Flow::GoesOn),
            Err(error) => return self.failed(handle, faults, None, &error),
        };
        if self.commits_beside(handle)? == Flow::Over {
            return Ok(Flow::Over);
        }
        if self.dice.chance(10) {
            return Ok(Flow::GoesOn);
        }
        let faults = self.disk.stats().faults;
        if let Err(error) = checkpoint.store() {
            drop(checkpoint);
            return self.failed(handle, faults, None, &error);
        }
        if self.commits_beside(handle)? == Flow::Over {
            return Ok(Flow::Over);
        }
        if self.dice.chance(10) {
            return Ok(Flow::GoesOn);
        }
        let faults = self.disk.stats().faults;
        match checkpoint.finish() {
            Ok(()) => Ok(Flow::GoesOn),
            Err(error) => self.failed(handle, faults, None, &error),
        }
    }

    pub(super) fn commits_beside(&mut self, handle: &mut Handle) -> Checked<Flow> {
        for _ in 0..self.dice.below(4) {
            let flow = match self.dice.below(10) {
                0 => self.change_keys(handle)?,
                1 => self.compare(handle)?,
                _ => {
                    self.report.beside_checkpoints += 1;
                    self.small_commit(handle)?
                }
            };
            if flow == Flow::Over || self.disk.is_down() {
                return Ok(Flow::Over);
            }
        }
        Ok(Flow::GoesOn)
    }

    fn small_commit(&mut self, handle: &mut Handle) -> Checked<Flow> {
        let mut after = self.state()?.clone();
        let faults = self.disk.stats().faults;
        let mut txn = match handle.store.begin() {
            Ok(txn) => txn,
            Err(error) => return self.failed(handle, faults, None, &error),
        };
        for _ in 0..self.dice.between(1, 3) {
            if let Err(error) = changes::small_change(&mut txn, &mut after.model, &mut self.dice) {
                drop(txn);
                return self.failed(handle, faults, None, &error);
            }
        }
        match txn.commit() {
            Ok(_) => {
                self.acknowledged = Some(after);
                self.report.commits += 1;
                Ok(Flow::GoesOn)
            }
            Err(error) => self.failed(handle, faults, Some(after), &error),
        }
    }
}
