//! Sealing a file anew under another data key.

use super::DatabaseFile;
use hushdb_sql::Result;
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

impl DatabaseFile {
    /// Seals everything anew under another data key; the master key and the key slots stay. `progress` is told how much of it is
    /// done, from 0 to 1. Whatever interrupts it, the next call goes on, of whoever opens the file.
    ///
    /// # Errors
    /// `NotEncrypted`, `Full`, `Io`, and of a block that is damaged.
    pub fn rotate_data_key(&self, progress: &mut dyn FnMut(f64)) -> Result<DataKeyChange> {
        let store = self.store();
        let began = store.rotate_data_key()?;
        let info = store.info();
        let used = info
            .total_sectors
            .saturating_sub(info.free_sectors.unwrap_or_default());
        let used_bytes = (used * SECTOR_BYTES as u64).max(1);
        let done = || store.rekey_progress().map_or(0, |progress| progress.bytes);
        loop {
            match store.rekey_step()? {
                RekeyState::Done => break,
                RekeyState::Draining => std::thread::sleep(PAUSE),
                RekeyState::Running => {}
            }
            progress((done() as f64 / used_bytes as f64).min(1.0));
        }
        Ok(DataKeyChange {
            began,
            bytes: done(),
        })
    }
}
