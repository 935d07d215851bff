//! `hush rotate`: another random key for a database, or another root for the keyring.
//!
//! What must hold: at every step one of the keys that the catalog has opens the file. The new key is kept beside the old one before the
//! file knows it; the old one goes when the new one has opened the file. A keyring's root changes with all that it wraps, in one commit.

use super::catalog::KEYRING_ROOT;
use super::keyring;
use super::{Instance, PATIENCE, Refused, State, busy, failed};
use crate::failure::{FailureKind, Result, ServeError};
use hushdb::keys::{KeyProvider, SecretKey, SlotOptions, SlotPlan};
use hushdb::maintenance::{DatabaseFile, FileHeader, KeySlot};
use hushdb::{Connection, Freshness, KeySource};
use std::path::Path;
use std::sync::Arc;

/// A secret of the catalog, by its prefix: a wrapped key that a database is to get.
const NEXT: &str = "next key ";

/// Gives a database of an instance another random key, under which all of it is sealed anew; or the instance's keyring another root. Gives
/// the bytes that were sealed anew.
///
/// # Errors
/// `Busy` while a server has the instance, `Usage` for a database that is not there or has key slots beside the instance's, and what reading and
/// writing give. What was interrupted is put right by whoever opens the instance next.
pub fn rotate(directory: &Path, key: KeySource, database: Option<&str>) -> Result<u64> {
    let mut instance = Instance::open_on_host(directory, key)?;
    let bytes = match database {
        Some(name) => instance.rotate_database(name)?,
        None => {
            instance.rotate_keyring()?;
            0
        }
    };
    instance.catalog.checkpoint()?;
    Ok(bytes)
}

fn provider(key: &SecretKey) -> Arc<dyn KeyProvider> {
    KeySource::Text(keyring::key_text(key)).provider()
}

impl Instance {
    pub(super) fn rotate_database(&self, name: &str) -> Result<u64> {
        let row = self.online(name);
        let row = row.map_err(|(_, message)| ServeError::new(FailureKind::Usage, message))?;
        let files = self.files.of(&row.id)?;
        let header = FileHeader::read_in(&*files).map_err(|error| {
            let error = ServeError::from(error);
            let text = format!(
                "the file of database \"{name}\" cannot be read, and keeps its key: put {} back from a backup: {error}",
                self.files.database(&row.id).display()
            );
            ServeError::new(error.kind(), text)
        })?;
        let slots = header.slots;
        self.with_next_key(&row.id, &slots, |plan| {
            let old = provider(&self.keyring.unwrap(&self.catalog, &row.id)?);
            let opened = DatabaseFile::open_for_keys_in(files, &*old, Freshness::default())?;
            let change = opened.rekey(plan, &mut |_| {})?;
            drop(opened);
            self.settle(&row.id)?;
            Ok(change.bytes)
        })
    }

    /// ALTER DATABASE name ROTATE KEY, by a session, while others read and write: another random key and another master key. Done so
    /// far, the file opens under no other; what is there is to be sealed anew.
    pub(crate) fn rotate_key(
        &self,
        name: &str,
        session: &Connection,
    ) -> std::result::Result<(), Refused> {
        let _steps = self.steps.try_lock_for(PATIENCE).ok_or_else(busy)?;
        let row = self.online(name)?;
        let slots = session.key_slots(name).map_err(failed)?;
        let changed = self.with_next_key(&row.id, &slots, |plan| {
            session.begin_rekey(name, Some(plan))?;
            self.take_next_key(&row.id)
        });
        changed.map_err(failed)
    }

    /// Keeps another key beside the one that a database has, and has a change of the file's key slot made with it.
    fn with_next_key<T>(
        &self,
        id: &str,
        slots: &[KeySlot],
        change: impl FnOnce(&[SlotPlan<'_>]) -> Result<T>,
    ) -> Result<T> {
        // The key that is kept may be the only one that opens the file.
        self.none_is_left(id)?;
        let [slot] = slots else {
            return Err(ServeError::new(
                FailureKind::Usage,
                "the database has key slots beside the instance's, whose keys a new master key would have to be given: remove them first",
            ));
        };
        let new = self.keyring.new_key()?;
        let wrapped = self.keyring.wrap(id, &new);
        self.catalog.keep_secret(&format!("{NEXT}{id}"), &wrapped)?;
        let options = SlotOptions {
            label: slot.label.clone(),
            ..SlotOptions::default()
        };
        let (slot, key) = (slot.number, provider(&new));
        let key = &*key;
        change(&[SlotPlan::Drop { slot }, SlotPlan::Add { key, options }])
    }

    pub(super) fn rotate_keyring(&mut self) -> Result<()> {
        let root = self.keyring.new_key()?;
        let next = self.keyring.with_root(root.duplicate());
        let mut wrapped = vec![];
        for row in self.catalog.databases()? {
            self.none_is_left(&row.id)?;
            let key = self.keyring.unwrap(&self.catalog, &row.id)?;
            wrapped.push((row.id.clone(), next.wrap(&row.id, &key).to_vec()));
        }
        self.catalog
            .change_root(KEYRING_ROOT, root.expose(), &wrapped)?;
        self.keyring = next;
        Ok(())
    }

    /// Refuses where a rotation was interrupted, and opening the instance could not find out which key opens the file.
    fn none_is_left(&self, id: &str) -> Result<()> {
        match self.catalog.secret_if_any(&format!("{NEXT}{id}"))? {
            None => Ok(()),
            Some(_) => Err(ServeError::other(
                "the rotation of a database's key has not ended, and its file cannot be read: see to that first",
            )),
        }
    }

    /// Puts right what a crash within a rotation left.
    pub(super) fn settle_rotations(&self) -> Result<()> {
        let rows = self.catalog.databases()?.into_iter();
        rows.filter(|row| row.state == State::Online)
            .try_for_each(|row| self.settle(&row.id))
    }

    /// The next key of a database becomes its key.
    fn take_next_key(&self, id: &str) -> Result<()> {
        let name = format!("{NEXT}{id}");
        self.catalog
            .put_key(id, &self.catalog.secret(&name)?, &name)
    }

    /// The next key of a database becomes its key if the file opens with it, and is forgotten if it does not.
    fn settle(&self, id: &str) -> Result<()> {
        let name = format!("{NEXT}{id}");
        let Some(wrapped) = self.catalog.secret_if_any(&name)? else {
            return Ok(());
        };
        let next = self.keyring.unwrap_bytes(id, &wrapped)?;
        match self.opens(id, &next) {
            Ok(()) => self.catalog.put_key(id, &wrapped, &name),
            Err(error) if error.kind() == FailureKind::WrongKey => {
                self.catalog.forget_secret(&name)
            }
            // Which of them opens it is found when it can be read again.
            Err(_) => Ok(()),
        }
    }

    /// Opens a database's file with a key, and closes it.
    fn opens(&self, id: &str, key: &SecretKey) -> Result<()> {
        let (files, key) = (self.files.of(id)?, provider(key));
        DatabaseFile::open_read_only_in(files, Some(&*key), Freshness::default())?;
        Ok(())
    }
}
