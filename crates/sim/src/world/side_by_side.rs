//! Transactions that are open at once, and what must come of both: at their commits, and when one goes on from what the other left.

use hushdb_storage::{Error, Transaction};

use super::{Checked, Flow, Handle, State, World};
use crate::changes;

impl World {
    /// Commits a transaction after another one that began later and added rows to one of its tables.
    pub(super) fn side_by_side(
        &mut self,
        handle: &mut Handle,
        mut first: Transaction,
        after: State,
    ) -> Checked<Flow> {
        let mut both = self.state()?.clone();
        let faults = self.disk.stats().faults;
        let second = changes::rows_beside(&handle.store, &mut both.model, &mut self.dice);
        let second = match second {
            Ok(Some(second)) => second,
            Ok(None) => return Ok(Flow::GoesOn),
            Err(error) => return self.failed(handle, faults, None, &error),
        };
        if let Err(error) = second.commit() {
            return self.failed(handle, faults, Some(both), &error);
        }
        let before = self.acknowledged.replace(both.clone());
        self.report.commits += 1;
        let faults = self.disk.stats().faults;
        // The first transaction then commits on tables that are stored otherwise than it knows them.
        if self.dice.chance(40)
            && let Err(error) = handle.store.checkpoint()
        {
            return self.failed(handle, faults, None, &error);
        }
        if self.dice.chance(30) && self.rekey_step(handle)? == Flow::Over {
            return Ok(Flow::Over);
        }
        let faults = self.disk.stats().faults;
        let merged = before.and_then(|before| both.model.with_changes(&before.model, &after.model));
        let mut merged = merged.map(|model| State {
            model,
            keys: both.keys,
        });
        if self.dice.chance(60) {
            let faults = self.disk.stats().faults;
            if let Err(error) = self.goes_on(handle, &mut first, &mut merged) {
                return match error {
                    Error::Conflict(_) if merged.is_none() => {
                        self.report.conflicts += 1;
                        self.compare(handle)
                    }
                    Error::Conflict(what) if what.contains("redefines") => self.compare(handle),
                    error => self.failed(handle, faults, None, &error),
                };
            }
        }
        match (first.commit(), merged) {
            (Ok(_), Some(merged)) => {
                self.acknowledged = Some(merged);
                self.report.commits += 1;
                self.compare(handle)
            }
            (Ok(_), None) => Err("two transactions that redefine one table both commit".to_owned()),
            (Err(Error::Conflict(_)), None) => {
                self.report.conflicts += 1;
                self.compare(handle)
            }
            // A redefinition that leaves things as they were, such as a rename and back, is one all the same.
            (Err(Error::Conflict(what)), Some(_)) if what.contains("redefines") => {
                self.compare(handle)
            }
            (Err(Error::Conflict(what)), Some(_)) => Err(format!(
                "transactions that do not conflict are refused: {what}"
            )),
            (Err(error), merged) => self.failed(handle, faults, merged, &error),
        }
    }

    /// A transaction goes on from the newest state, changes more there, and perhaps goes back to before it did.
    fn goes_on(
        &mut self,
        handle: &Handle,
        first: &mut Transaction,
        merged: &mut Option<State>,
    ) -> Result<(), Error> {
        let before = (first.savepoint(), merged.clone());
        for _ in 0..self.dice.between(1, 2) {
            first.advance(handle.store.snapshot())?;
            if let Some(state) = merged {
                changes::change(first, &mut state.model, &mut self.dice)?;
            }
        }
        if self.dice.chance(30) {
            first.rollback_to(&before.0);
            *merged = before.1;
        }
        Ok(())
    }
}
