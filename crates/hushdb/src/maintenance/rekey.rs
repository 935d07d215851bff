//! Sealing a file anew under another data key, and where that is asked for under another master key.

use super::DatabaseFile;
use hushdb_keys::SlotPlan;
use hushdb_sql::{Error, Result};
use hushdb_storage::{RekeyState, SECTOR_BYTES};
use std::time::Duration;

/// How long it waits for whoever still reads what was before.
const PAUSE: Duration = Duration::from_millis(20);

/// What was done.
#[derive(Clone, Copy, Debug)]
pub struct DataKeyChange {
    /// Whether it began; else it went on with what was left unfinished.
    pub began: bool,
    /// Bytes that were sealed anew.
    pub bytes: u64,
}

/// A new master key.
#[derive(Clone, Debug)]
pub struct MasterKeyChange {
    /// Its commitment, for `EXPECTED_KEY`.
    pub commitment: [u8; 32],
    /// Bytes that were sealed anew.
    pub bytes: u64,
}

impl DatabaseFile {
    /// Seals everything anew under another data key; the master key and the key slots stay. `progress` is told how much of it is
    /// done, from 0 to 1. Whatever interrupts it, the next call goes on, of whoever opens the file.
    ///
    /// # Errors
    /// `NotEncrypted`, `Full`, `Io`, and of a block that is damaged.
    pub fn rotate_data_key(&self, progress: &mut dyn FnMut(f64)) -> Result<DataKeyChange> {
        let began = self.store().rotate_data_key()?;
        let bytes = self.seal_anew(progress)?;
        Ok(DataKeyChange { began, bytes })
    }

    /// The same under another master key, too, which the slots of the plan open. Once it is done, no other key and no older header
    /// opens anything of the file. A change of the data key that was not finished is finished before.
    ///
    /// # Errors
    /// As [`Self::rotate_data_key`]; `InvalidInput` for a plan that leaves a slot out, `WrongKey` for a key that does not open its slot,
    /// and what the places of keys refuse.
    pub fn rekey(
        &self,
        plan: &[SlotPlan<'_>],
        progress: &mut dyn FnMut(f64),
    ) -> Result<MasterKeyChange> {
        let store = self.store();
        let progress_now = store.rekey_progress();
        if progress_now.is_some_and(|now| now.state != RekeyState::Done) {
            self.seal_anew(progress)?;
        }
        let new = store.blocks().prepare_new_master(plan)?;
        let commitment = *new.commitment();
        if !store.rekey(new)? {
            return Err(Error::invalid("the data key is being changed: try again"));
        }
        let bytes = self.seal_anew(progress)?;
        Ok(MasterKeyChange { commitment, bytes })
    }

    /// Goes on until nothing is under an older data key. Gives the bytes that were sealed anew since the file was opened.
    fn seal_anew(&self, progress: &mut dyn FnMut(f64)) -> Result<u64> {
        let store = self.store();
        let info = store.info();
        let used = info
            .total_sectors
            .saturating_sub(info.free_sectors.unwrap_or_default());
        let used_bytes = (used * SECTOR_BYTES as u64).max(1);
        let done = || store.rekey_progress().map_or(0, |progress| progress.bytes);
        loop {
            match store.rekey_step()? {
                RekeyState::Done => break,
                RekeyState::Draining | RekeyState::Paused => std::thread::sleep(PAUSE),
                RekeyState::Running => {}
            }
            progress((done() as f64 / used_bytes as f64).min(1.0));
        }
        Ok(done())
    }
}
