//! `OpenTransaction`: what a connection keeps between BEGIN and COMMIT.
//!
//! What must hold: every database is seen as it was when the transaction, or under READ COMMITTED its statement, first looked at any,
//! with its own changes; one database at most is written to, beside the connection's own; after an error that aborts it, nothing is read or written until it is rolled back.
//! Dropped, it rolls back.

use super::begin::writable;
use super::waits::{Isolation, Waits};
use crate::numbers::next_transaction;
use hushdb_query::plan::{DatabaseSnapshot, Snapshot};
use hushdb_sql::{Error, Result, sqlstate};
use hushdb_storage::clock;
use hushdb_storage::{Savepoint, Transaction, same_name};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A savepoint: its name, and both states; without one where nothing was written.
struct Mark {
    name: String,
    write: Option<Savepoint>,
    own: Option<Savepoint>,
    /// Advisory locks that it had taken.
    locks: usize,
}

/// A transaction over several statements.
pub(crate) struct OpenTransaction {
    read_only: bool,
    /// No other transaction of the process has it.
    pub(crate) number: u64,
    /// When it began, in microseconds since 1970-01-01 00:00:00 UTC.
    began: i64,
    /// The databases as they were when they were first seen.
    seen: BTreeMap<String, DatabaseSnapshot>,
    /// The database that it writes to, by name, and its changes.
    write: Option<(String, Transaction)>,
    /// Changes of what is the connection's own.
    own: Option<Transaction>,
    /// In the order they were set.
    savepoints: Vec<Mark>,
    /// How its statements wait, and the locks that they hold; the last to go.
    waits: Option<Arc<Waits>>,
    /// Results that are still being read set it too.
    aborted: Arc<AtomicBool>,
}

impl OpenTransaction {
    pub(crate) fn new(read_only: bool, waits: Option<Arc<Waits>>) -> Self {
        Self {
            read_only,
            number: next_transaction(),
            began: clock::unix_micros(),
            seen: BTreeMap::new(),
            write: None,
            own: None,
            savepoints: vec![],
            waits,
            aborted: Arc::default(),
        }
    }

    /// How its statements wait; `None`: they do not.
    pub(crate) fn waits(&self) -> Option<&Arc<Waits>> {
        self.waits.as_ref()
    }

    /// A statement begins: under READ COMMITTED it sees what is committed now. With `keep` what the transaction has changed, and what
    /// it knew when it did, stays as it is.
    ///
    /// # Errors
    /// `Conflict` when others, who do not wait, have changed what this transaction changed.
    pub(crate) fn renew(&mut self, keep: bool) -> Result<()> {
        let isolation = self.waits.as_ref().map(|waits| waits.isolation);
        if isolation != Some(Isolation::ReadCommitted) {
            return Ok(());
        }
        self.seen.clear();
        match &mut self.write {
            Some((_, write)) if write.is_changed() => {
                if !keep {
                    write.advance_to_newest()?;
                }
            }
            // Begun anew on what the statement sees.
            write => {
                if write.take().is_some() {
                    self.forget_states();
                }
            }
        }
        Ok(())
    }

    /// An error has aborted the transaction: others need not wait until it is rolled back, unless it can go back to a savepoint.
    pub(crate) fn abandon(&mut self) {
        if let Some(waits) = self.waits.as_ref().filter(|_| self.savepoints.is_empty()) {
            self.write = None;
            self.own = None;
            waits.let_go();
            waits.end();
        }
    }

    /// Set once an error has aborted the transaction.
    pub(crate) fn aborted(&self) -> &Arc<AtomicBool> {
        &self.aborted
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Acquire)
    }

    /// The database that has uncommitted changes, if any.
    pub(crate) fn changed_database(&self) -> Option<&str> {
        match &self.write {
            Some((name, write)) if write.is_changed() => Some(name),
            _ => None,
        }
    }

    /// Whether it has changed anything.
    pub(crate) fn has_changes(&self) -> bool {
        let own = self.own.as_ref().is_some_and(Transaction::is_changed);
        own || self.changed_database().is_some()
    }

    /// Turns the newest state of all databases into the one that this transaction sees, from now on too.
    pub(crate) fn view(&mut self, newest: Snapshot) -> Snapshot {
        for (name, database) in &newest.databases {
            let seen = self
                .seen
                .entry(name.clone())
                .or_insert_with(|| database.clone());
            // A database that was detached and attached anew is another one.
            if !Arc::ptr_eq(&seen.store, &database.store) {
                *seen = database.clone();
            }
        }
        self.glance(newest)
    }

    /// The same without keeping databases as they are now that it has not looked at.
    pub(crate) fn glance(&self, mut newest: Snapshot) -> Snapshot {
        newest.now = self.began;
        for (name, database) in &mut newest.databases {
            let seen = self.seen.get(name);
            if let Some(seen) = seen.filter(|seen| Arc::ptr_eq(&seen.store, &database.store)) {
                *database = seen.clone();
            }
            let write = match database.is_temporary {
                true => self.own.as_ref(),
                false => self
                    .write
                    .as_ref()
                    .filter(|(written, _)| written == name)
                    .map(|(_, w)| w),
            };
            let is_its = |write: &&Transaction| Arc::ptr_eq(write.store(), &database.store);
            if let Some(write) = write.filter(is_its).filter(|write| write.is_changed()) {
                database.version = write.state();
            }
        }
        newest
    }

    /// Holds a database no longer, so that its file is closed when it is detached.
    pub(crate) fn let_go(&mut self, database: &str) -> Result<()> {
        if self.changed_database() == Some(database) {
            return Err(Error::transaction(format!(
                "Cannot detach database \"{database}\": the current transaction has changed it; COMMIT or ROLLBACK first"
            )));
        }
        if let Some(waits) = &self.waits {
            // While there is a log that says what of it stays.
            waits.until_durable_but(None)?;
        }
        self.seen.remove(database);
        if self.write.take_if(|(name, _)| name == database).is_some() {
            self.forget_states();
        }
        Ok(())
    }

    /// States of a storage transaction that is gone, having changed nothing, say nothing about the next one.
    fn forget_states(&mut self) {
        self.savepoints
            .iter_mut()
            .for_each(|mark| mark.write = None);
    }

    /// The storage transaction of a database; begun on the state that was seen if there is none yet.
    pub(super) fn write_to(
        &mut self,
        database: &str,
        snapshot: &Snapshot,
    ) -> Result<&mut Transaction> {
        let seen = snapshot.database(database)?;
        if seen.is_temporary {
            return self.write_to_own(seen);
        }
        if self.read_only {
            return Err(Error::transaction(format!(
                "Cannot write to database \"{database}\" - transaction is launched in read-only mode"
            )).with_sqlstate(sqlstate::READ_ONLY_TRANSACTION));
        }
        if let Some(changed) = self.changed_database().filter(|name| *name != database) {
            return Err(Error::transaction(format!(
                "Attempting to write to database \"{database}\" in a transaction that has already modified database \
                 \"{changed}\" - a single transaction can only write to a single attached database."
            )));
        }
        let stays = self.write.take().filter(|(name, write)| {
            name == database && (write.is_changed() || Arc::ptr_eq(write.store(), &seen.store))
        });
        let write = match stays {
            Some(write) => write,
            None => {
                self.forget_states();
                let waits = self.waits.as_deref();
                (database.to_string(), writable(seen, waits)?)
            }
        };
        Ok(&mut self.write.insert(write).1)
    }

    /// The same for what is the connection's own, which one that only reads may change, too.
    fn write_to_own(&mut self, seen: &DatabaseSnapshot) -> Result<&mut Transaction> {
        let is_its = |own: &Transaction| Arc::ptr_eq(own.store(), &seen.store);
        let own = match self.own.take().filter(is_its) {
            Some(own) => own,
            None => {
                self.savepoints.iter_mut().for_each(|mark| mark.own = None);
                writable(seen, None)?
            }
        };
        Ok(self.own.insert(own))
    }

    /// The storage transaction of a database that there is, or of what is the connection's own.
    pub(crate) fn writing(&mut self, own: bool) -> Option<&mut Transaction> {
        match own {
            true => self.own.as_mut(),
            false => self.write.as_mut().map(|(_, write)| write),
        }
    }

    pub(crate) fn set_savepoint(&mut self, name: String) {
        let write = self.write.as_ref().map(|(_, write)| write.savepoint());
        let own = self.own.as_ref().map(Transaction::savepoint);
        let locks = self
            .waits
            .as_ref()
            .map_or(0, |waits| waits.advisory_locks());
        self.savepoints.push(Mark {
            name,
            write,
            own,
            locks,
        });
    }

    fn find(&self, name: &str) -> Result<usize> {
        let found = self
            .savepoints
            .iter()
            .rposition(|mark| same_name(&mark.name, name));
        found.ok_or_else(|| {
            Error::transaction(format!("savepoint \"{name}\" does not exist"))
                .with_sqlstate(sqlstate::UNKNOWN_SAVEPOINT)
        })
    }

    /// Forgets a savepoint and those after it; what was done since stays.
    pub(crate) fn release(&mut self, name: &str) -> Result<()> {
        let at = self.find(name)?;
        self.savepoints.truncate(at);
        Ok(())
    }

    /// Undoes everything since a savepoint, which stays. Heals a transaction that was aborted since.
    pub(crate) fn rollback_to(&mut self, name: &str) -> Result<()> {
        self.undo_to(name)?;
        // Results that are still being read belong to what was undone.
        self.aborted = Arc::default();
        Ok(())
    }

    /// The same for a part of a statement, whose error may still abort the transaction.
    pub(crate) fn undo_to(&mut self, name: &str) -> Result<()> {
        let at = self.find(name)?;
        self.savepoints.truncate(at + 1);
        let mark = self.savepoints.last();
        match (&mut self.write, mark.and_then(|mark| mark.write.as_ref())) {
            (Some((_, write)), Some(state)) => write.rollback_to(state),
            (write, _) => *write = None,
        }
        match (&mut self.own, mark.and_then(|mark| mark.own.as_ref())) {
            (Some(own), Some(state)) => own.rollback_to(state),
            (own, _) => *own = None,
        }
        if let (Some(waits), Some(mark)) = (&self.waits, mark) {
            waits.undo_advisory_locks(mark.locks);
        }
        Ok(())
    }

    /// Makes the changes durable and visible to others. What is the connection's own comes last: nobody else can be in its way, so
    /// that all it can lack is room.
    pub(crate) fn commit(self) -> Result<()> {
        let waits = self.waits.clone();
        let done = self.commit_keeping_locks();
        match &waits {
            Some(waits) => waits.answered(done),
            None => done,
        }
    }

    /// The same for whoever answers by itself, or tries again.
    pub(crate) fn commit_keeping_locks(self) -> Result<()> {
        if self.is_aborted() {
            return Err(Error::transaction(
                "Failed to commit: an error has aborted the transaction, and it has been rolled back",
            ));
        }
        let Self {
            write, own, waits, ..
        } = self;
        if let Some((_, write)) = write {
            if let Some(waits) = waits.as_ref().filter(|_| write.is_changed()) {
                // A crash must not leave here what was made of something that it takes back there.
                waits.until_durable_but(Some(write.store()))?;
            }
            write.commit()?;
        }
        own.map_or(Ok(()), |own| Ok(own.commit().map(drop)?))
    }

    /// Undoes everything.
    ///
    /// # Errors
    /// `Conflict` when what the transaction has seen is not durable and never will be.
    pub(crate) fn rollback(self) -> Result<()> {
        let Self {
            write, own, waits, ..
        } = self;
        drop((write, own));
        waits.map_or(Ok(()), |waits| waits.answered(Ok(())))
    }
}
