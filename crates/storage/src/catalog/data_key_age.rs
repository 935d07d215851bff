//! How old the data key of a database may become, and what is said of one that is older.
//!
//! What must hold: the age is in the key ring, so that it goes with the file, whoever opens it, and over changes of the key. It decides
//! nothing but what is said. A key of which nobody wrote down when it was made counts as due.

use super::store::Store;
use crate::clock;
use crate::error::{ErrorKind, Result};
use crate::interrupt::wait_for;
use crate::store::Notice;

const SECONDS_A_DAY: i64 = 24 * 60 * 60;

impl Store {
    /// Has it said when the data key is older than so many days; 0: never. A file without a key ring gets one, and is of format version 2
    /// from then on.
    ///
    /// # Errors
    /// `NotEncrypted`, `ReadOnly`, `Full` and `Io`: nothing was done, or, where nothing more can be written after that, it is not known
    /// whether it was.
    pub fn set_data_key_age_days(&self, days: u32) -> Result<()> {
        self.blocks.writable()?;
        let _alone = wait_for(&self.checkpointing)?;
        let _log = wait_for(&self.log)?;
        let state = wait_for(&self.commit)?;
        let oldest = self.oldest_in_use(state.stored.generation);
        self.blocks.set_key_age_days(oldest, days)?;
        match self.blocks.overwrite_reserved() {
            // It is set; whoever opens the file tries that again.
            Err(error) if error.kind() == ErrorKind::Full => Ok(()),
            overwritten => overwritten,
        }
    }

    /// The age in days from which on the data key is due; `None`: it never is.
    pub fn data_key_age_days(&self) -> Option<u32> {
        self.blocks.key_age_days()
    }

    /// Whether the data key of new blocks is due by the system's clock.
    pub fn is_data_key_due(&self) -> bool {
        self.data_key_due(clock::unix_seconds()).is_some()
    }

    /// What there is to say of the data keys: that one is due, and that a change of it has not ended.
    pub fn key_notices(&self) -> Vec<Notice> {
        let key_ids = self.blocks.key_ids();
        let unfinished = match key_ids.as_slice() {
            [key_id, _, ..] => Some(Notice::DataKeyChangeUnfinished { key_id: *key_id }),
            _ => None,
        };
        let due = self.data_key_due(clock::unix_seconds());
        unfinished.into_iter().chain(due).collect()
    }

    fn data_key_due(&self, now: i64) -> Option<Notice> {
        let due_days = self.data_key_age_days()?;
        let newest = self.blocks.data_keys().pop()?;
        let age_days = newest.made.map(|made| {
            let days = now.saturating_sub(made) / SECONDS_A_DAY;
            u32::try_from(days.max(0)).unwrap_or(u32::MAX)
        });
        let is_due = age_days.is_none_or(|days| days >= due_days);
        is_due.then_some(Notice::DataKeyDue {
            key_id: newest.id,
            age_days,
            due_days,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hushdb_keys::providers::KeyText;

    use super::*;
    use crate::catalog::RekeyState;
    use crate::file::MemFile;
    use crate::store::StoreOptions;

    fn made(key: Option<&KeyText>) -> Arc<Store> {
        let key = key.map(|key| key as &dyn hushdb_keys::KeyProvider);
        Store::create(Arc::new(MemFile::default()), key, &StoreOptions::default()).unwrap()
    }

    #[test]
    fn a_key_is_due_from_its_age_on_and_one_of_an_unknown_time_at_once() {
        let key = KeyText::new(format!("hex:{:064x}", 5));
        let store = made(Some(&key));
        let now = clock::unix_seconds();
        assert_eq!(store.data_key_due(now), None);
        store.set_data_key_age_days(30).unwrap();
        let due = |key_id, age_days| Notice::DataKeyDue {
            key_id,
            age_days,
            due_days: 30,
        };
        assert_eq!(store.data_key_due(now), Some(due(1, None)));
        assert_eq!(store.key_notices(), [due(1, None)]);
        assert!(store.is_data_key_due());
        store.rotate_data_key().unwrap();
        let unfinished = Notice::DataKeyChangeUnfinished { key_id: 1 };
        assert_eq!(store.key_notices(), [unfinished]);
        while store.rekey_step().unwrap() != RekeyState::Done {}
        assert_eq!(store.key_notices(), []);
        let made = store.blocks.data_keys()[0].made.unwrap();
        assert!(made >= now);
        for (days, is_due) in [(0, false), (29, false), (30, true), (400, true)] {
            let expected = is_due.then(|| due(2, Some(days)));
            let seconds = i64::from(days) * SECONDS_A_DAY;
            assert_eq!(store.data_key_due(made + seconds), expected, "{days}");
            assert_eq!(store.data_key_due(made + seconds + 3600), expected);
        }
        // A clock that was put back, and one that is of no time.
        for now in [made - 1, 0, i64::MIN] {
            assert_eq!(store.data_key_due(now), None);
        }
        assert_eq!(store.data_key_due(i64::MAX), Some(due(2, Some(u32::MAX))));
        store.set_data_key_age_days(0).unwrap();
        assert_eq!(
            (store.data_key_age_days(), store.data_key_due(i64::MAX)),
            (None, None)
        );
    }

    #[test]
    fn a_plain_database_has_no_data_key_to_be_due() {
        let store = made(None);
        let error = store.set_data_key_age_days(30).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotEncrypted);
        assert_eq!(store.key_notices(), []);
    }
}
