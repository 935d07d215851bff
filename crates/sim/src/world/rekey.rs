//! Sealing the database anew under another data key, in small steps, with commits, key changes, snapshots and crashes between.
//!
//! What must hold: the same keys open the file after every crash; once it is said to be done, nothing in the file or beside it
//! opens under the data key before.

use std::sync::Arc;

use hushdb_keys::Suite;
use hushdb_storage::{RekeyState, StorageFile};

use super::{Checked, Flow, Handle, NAME, World, key_text};
use crate::old_key::OldKey;

impl World {
    /// Begins it, or goes on, for some steps.
    pub(super) fn rekey(&mut self, handle: &mut Handle) -> Checked<Flow> {
        if !self.encrypted {
            return Ok(Flow::GoesOn);
        }
        if self.dice.chance(40) && self.begin_rekey(handle)? == Flow::Over {
            return Ok(Flow::Over);
        }
        for _ in 0..self.dice.between(1, 6) {
            if self.rekey_step(handle)? == Flow::Over || self.commits_beside(handle)? == Flow::Over
            {
                return Ok(Flow::Over);
            }
        }
        Ok(Flow::GoesOn)
    }

    fn begin_rekey(&mut self, handle: &mut Handle) -> Checked<Flow> {
        let old = self.keys_of_header(handle)?;
        let faults = self.disk.stats().faults;
        let cipher = *self.dice.pick(&[None, Some(Suite::Gcm), Some(Suite::Ctr)]);
        let began = match cipher {
            None => handle.store.rotate_data_key(),
            Some(suite) => handle.store.change_cipher(suite),
        };
        match began {
            Ok(began) => {
                if began {
                    self.report.rekeys += 1;
                    self.old_keys.push(old);
                }
                Ok(Flow::GoesOn)
            }
            Err(error) => {
                // It may have begun all the same.
                self.old_keys.push(old);
                self.failed(handle, faults, None, &error)
            }
        }
    }

    /// One step of what was begun, by this opening or an earlier one.
    pub(super) fn rekey_step(&mut self, handle: &mut Handle) -> Checked<Flow> {
        let faults = self.disk.stats().faults;
        let running = handle.store.rekey_progress();
        let running = running.is_some_and(|progress| progress.state != RekeyState::Done);
        let at_most = *self.dice.pick(&[1, 8 << 10, 64 << 10, 32 << 20]);
        match handle.store.rekey_step_of(at_most) {
            Ok(RekeyState::Done) if running => {
                self.report.rekeys_ended += 1;
                self.nothing_opens_under_old_keys(handle)
            }
            Ok(_) => Ok(Flow::GoesOn),
            Err(error) => self.failed(handle, faults, None, &error),
        }
    }

    /// The data key of the header as it is.
    fn keys_of_header(&mut self, handle: &Handle) -> Checked<OldKey> {
        let key = key_text(self.known_key());
        OldKey::of(&handle.store, &key)
            .map_err(|error| format!("the header of an open file: {error}"))
    }

    /// Tries every sector of the file, and the logs beside it.
    fn nothing_opens_under_old_keys(&mut self, handle: &mut Handle) -> Checked<Flow> {
        let current = self.keys_of_header(handle)?.key_id();
        let faults = self.disk.stats().faults;
        let old: Vec<OldKey> = std::mem::take(&mut self.old_keys);
        let file = Arc::clone(&handle.file) as Arc<dyn StorageFile>;
        for old in old.iter().filter(|old| old.key_id() != current) {
            match old.opens_in(&file) {
                Ok(None) => {}
                Ok(Some(sector)) => {
                    return Err(format!(
                        "a block at sector {sector} opens under data key {}, which is given up",
                        old.key_id()
                    ));
                }
                Err(_) if self.excused(faults) => {}
                Err(error) => return Err(format!("the file is not readable: {error}")),
            }
        }
        for name in [".wal", ".wal.next"] {
            let Ok(log) = self.disk.open(&format!("{NAME}{name}"), true) else {
                continue;
            };
            let mut head = [0; 128];
            if log.read_exact_at(0, &mut head).is_err() {
                continue;
            }
            let key_id = u32::from_le_bytes([head[56], head[57], head[58], head[59]]);
            if key_id != current {
                return Err(format!(
                    "a log is under data key {key_id}, which is given up"
                ));
            }
        }
        Ok(Flow::GoesOn)
    }
}
