//! `Write`: the one way in which a statement changes a database.
//!
//! What must hold: the changes are made to the state that the statement was planned against. Kept by `commit`: for good
//! if the statement stands alone, else until the end of its transaction. Dropped without, nothing of the statement stays.

use super::begin::writable;
use super::open_transaction::OpenTransaction;
use super::waits::Waits;
use hushdb_query::plan::Snapshot;
use hushdb_sql::{Error, Result};
use hushdb_storage::{Savepoint, Transaction};
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use std::ops::{Deref, DerefMut};

/// A statement's hold on a storage transaction, to which it derefs.
pub(crate) struct Write<'a> {
    inner: Inner<'a>,
    /// Whether foreign keys are to hold when it ends, and not when the statement does that it is a part of.
    looks_up_keys: bool,
}

enum Inner<'a> {
    /// The statement stands alone.
    Own(Transaction),
    /// The statement is part of the connection's transaction.
    Part(Part<'a>),
}

struct Part<'a> {
    transaction: MappedMutexGuard<'a, Transaction>,
    /// The state before the statement; taken out when its changes are to stay.
    undo: Option<Savepoint>,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        if let Some(undo) = self.undo.take() {
            self.transaction.rollback_to(&undo);
        }
    }
}

impl<'a> Write<'a> {
    /// Begins to change a database in the state of the statement's snapshot. `waits` is for a statement that stands alone.
    pub(crate) fn begin(
        current: &'a Mutex<Option<OpenTransaction>>,
        snapshot: &Snapshot,
        database: &str,
        waits: Option<&Waits>,
    ) -> Result<Self> {
        let mut open = current.lock();
        let inner = match open.as_mut() {
            None => Inner::Own(writable(snapshot.database(database)?, waits)?),
            Some(transaction) => {
                let own = snapshot.database(database)?.is_temporary;
                let undo = Some(transaction.write_to(database, snapshot)?.savepoint());
                let transaction = MutexGuard::try_map(open, |open| {
                    open.as_mut().and_then(|open| open.writing(own))
                });
                let transaction =
                    transaction.map_err(|_| Error::internal("the transaction has no changes"))?;
                Inner::Part(Part { transaction, undo })
            }
        };
        Ok(Self {
            inner,
            looks_up_keys: true,
        })
    }

    /// Whether foreign keys are to hold when it ends.
    pub(crate) fn looks_up_keys(mut self, looks_up: bool) -> Self {
        self.looks_up_keys = looks_up;
        self
    }

    /// Keeps the statement's changes, once those who have its rows locked are done.
    ///
    /// # Errors
    /// That of the commit for a statement that stands alone; of what waits, `Conflict` with the storage's `Overtaken` when the
    /// statement is to be done again.
    pub(crate) fn commit(mut self) -> Result<()> {
        if self.looks_up_keys {
            self.verify_foreign_keys()?;
        }
        match self.inner {
            Inner::Own(transaction) => {
                transaction.settle(None)?;
                transaction.commit()?;
            }
            Inner::Part(mut part) => {
                part.transaction.settle(part.undo.as_ref())?;
                part.undo = None;
            }
        }
        Ok(())
    }
}

impl Deref for Write<'_> {
    type Target = Transaction;

    fn deref(&self) -> &Transaction {
        match &self.inner {
            Inner::Own(transaction) => transaction,
            Inner::Part(part) => &part.transaction,
        }
    }
}

impl DerefMut for Write<'_> {
    fn deref_mut(&mut self) -> &mut Transaction {
        match &mut self.inner {
            Inner::Own(transaction) => transaction,
            Inner::Part(part) => &mut part.transaction,
        }
    }
}
