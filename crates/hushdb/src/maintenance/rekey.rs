//! Sealing a file anew under another data key, and where that is asked for under another master key.

use super::DatabaseFile;
use hushdb_keys::SlotPlan;
use hushdb_sql::{Error, Result};
use hushdb_storage::{RekeyProgress, RekeyState, Share};
use std::time::Duration;

/// How long it waits for whoever still reads what was before.
const PAUSE: Duration = Duration::from_millis(20);

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealingPhase {
    /// Blocks are sealed anew.
    Moving,
    /// Whoever still reads what was before is waited for.
    Waiting,
    /// What is free is overwritten.
    Overwriting,
}

/// How far sealing a file anew has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealingProgress {
    /// What is under way.
    pub phase: SealingPhase,
    /// Bytes of it that are done.
    pub done_bytes: u64,
    /// Bytes of it in all.
    pub all_bytes: u64,
}

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
    /// Seals everything anew under another data key; the master key and the key slots stay. `progress` is told how far it
    /// has come. Whatever interrupts it, the next call goes on, of whoever opens the file.
    ///
    /// # Errors
    /// `NotEncrypted`, `Full`, `Io`, and of a block that is damaged.
    pub fn rotate_data_key(
        &self,
        progress: &mut dyn FnMut(SealingProgress),
    ) -> Result<DataKeyChange> {
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
        progress: &mut dyn FnMut(SealingProgress),
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
        let bytes = self.seal_anew(progress).map_err(|error| {
            let text = format!(
                "{}. The new keys open the file already: ROTATE DATA KEY goes on with what is under the old ones",
                error.message()
            );
            Error::new(error.kind(), text)
        })?;
        Ok(MasterKeyChange { commitment, bytes })
    }

    /// Goes on until nothing is under an older data key. Gives the bytes that were sealed anew since the file was opened.
    fn seal_anew(&self, progress: &mut dyn FnMut(SealingProgress)) -> Result<u64> {
        let store = self.store();
        loop {
            match store.rekey_step_told(&mut |now| progress(told(now)))? {
                RekeyState::Done => break,
                RekeyState::Draining | RekeyState::Paused => std::thread::sleep(PAUSE),
                RekeyState::Running => {}
            }
        }
        Ok(store.rekey_progress().map_or(0, |progress| progress.bytes))
    }
}

fn told(now: &RekeyProgress) -> SealingProgress {
    let in_all = now.in_all.map_or(now.bytes, |all| all.bytes);
    let moved = Share {
        done: now.bytes,
        all: in_all,
    };
    let (phase, share) = match (now.scrubbing, now.state) {
        (Some(share), _) => (SealingPhase::Overwriting, share),
        (None, RekeyState::Draining) => (SealingPhase::Waiting, moved),
        (None, _) => (SealingPhase::Moving, moved),
    };
    SealingProgress {
        phase,
        done_bytes: share.done,
        all_bytes: share.all,
    }
}
