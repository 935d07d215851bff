//! `Isolation`, and `Waits`: how the statements of a transaction wait for others, and the locks that they hold.
//!
//! What must hold: locks stay until the transaction has ended, and will be durable if anything that builds on it is. Nobody is told how it
//! ended, nor of an error that ends it, before all that it looked at is durable.

use super::advisory::{AdvisoryLock, AdvisoryLocks, ForWhom, Until};
use hushdb_query::plan::Snapshot;
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::{LockOwner, OnLongWait, Patience, Store};
use parking_lot::Mutex;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// What the transactions of a connection see of others, and what they do when they meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// One state, from the transaction's first statement on. Nobody waits: of two that change a row, the second's COMMIT fails
    /// with 40001.
    #[default]
    Snapshot,
    /// Each statement sees what was committed before it began. Who changes a row that another transaction is changing waits for it
    /// and then looks again. PostgreSQL's READ COMMITTED, but that a statement which has waited is done again as a whole.
    ReadCommitted,
    /// One state, as `Snapshot`; who changes a row that another transaction is changing waits for it, and fails with 40001 then if
    /// that has changed it. PostgreSQL's REPEATABLE READ.
    RepeatableRead,
}

impl Isolation {
    /// The level that SQL calls so, in any case of letters; READ UNCOMMITTED is READ COMMITTED, as in PostgreSQL.
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "snapshot" => Self::Snapshot,
            "read committed" | "read uncommitted" => Self::ReadCommitted,
            "repeatable read" => Self::RepeatableRead,
            _ => return None,
        })
    }

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
        }
    }
}

/// How the statements of one transaction wait, or those of a connection that stand alone.
pub(crate) struct Waits {
    pub(crate) isolation: Isolation,
    patience: Mutex<Patience>,
    /// Hears of long waits, if anybody is to.
    on_long_wait: Option<OnLongWait>,
    /// Of each database that is written to, or of which something is locked.
    owners: Mutex<Vec<Owner>>,
    /// What its session has locked beside.
    advisory: Arc<AdvisoryLocks>,
    /// The transaction has ended.
    is_over: AtomicBool,
}

/// What holds the locks of a database, which may be detached meanwhile.
type Owner = (Weak<Store>, Arc<LockOwner>);

impl Waits {
    /// None: nobody waits. `timeout` is for each lock; zero is none.
    pub(crate) fn new(
        isolation: Isolation,
        timeout: Duration,
        on_long_wait: Option<OnLongWait>,
        advisory: &Arc<AdvisoryLocks>,
    ) -> Option<Arc<Self>> {
        (isolation != Isolation::Snapshot).then(|| {
            Arc::new(Self {
                isolation,
                patience: Mutex::new(patience(timeout)),
                on_long_wait,
                owners: Mutex::default(),
                advisory: Arc::clone(advisory),
                is_over: AtomicBool::new(false),
            })
        })
    }

    /// Takes an advisory lock for a session; see [`AdvisoryLocks::take`].
    ///
    /// # Errors
    /// As there.
    pub(crate) fn take_advisory(
        &self,
        store: &Arc<Store>,
        session: u32,
        lock: AdvisoryLock,
        until: Until,
        may_wait: bool,
    ) -> Result<bool> {
        let whom = ForWhom {
            store,
            session,
            patience: *self.patience.lock(),
            on_long_wait: self.on_long_wait.as_ref(),
            first: self.owners.lock().first().map(|(_, o)| Arc::clone(o)),
            is_over: &|| self.is_over.load(Ordering::Acquire),
        };
        self.advisory.take(&whom, lock, until, may_wait)
    }

    /// The longest wait for each lock from now on; zero is none.
    pub(crate) fn set_timeout(&self, timeout: Duration) {
        let patience = patience(timeout);
        if std::mem::replace(&mut *self.patience.lock(), patience) != patience {
            let owners = self.owners.lock();
            owners
                .iter()
                .for_each(|(_, owner)| owner.set_patience(patience));
        }
    }

    /// What holds the locks of a database.
    pub(crate) fn owner(&self, store: &Arc<Store>) -> Arc<LockOwner> {
        let mut owners = self.owners.lock();
        if let Some((_, owner)) = owners.iter().find(|(_, owner)| store.is_of(owner)) {
            return Arc::clone(owner);
        }
        let owner = store.lock_owner(*self.patience.lock());
        if let Some(report) = &self.on_long_wait {
            owner.report_long_waits(Arc::clone(report));
        }
        match owners.first() {
            Some((_, first)) => owner.join(first),
            None => self.advisory.join(&owner),
        }
        owners.push((Arc::downgrade(store), Arc::clone(&owner)));
        owner
    }

    /// Lets go of all locks.
    pub(super) fn let_go(&self) {
        let owners = self.owners.lock();
        owners.iter().for_each(|(_, owner)| owner.let_go());
    }

    /// Owners with their databases, without those that are gone.
    fn open(&self) -> Vec<(Arc<Store>, Arc<LockOwner>)> {
        let owners = self.owners.lock();
        let open = owners.iter();
        open.filter_map(|(store, owner)| Some((store.upgrade()?, Arc::clone(owner))))
            .collect()
    }

    /// Whether all that was looked at may become durable.
    ///
    /// # Errors
    /// `Conflict` if some of it was given up: the transaction can not go on.
    pub(crate) fn still_count(&self) -> Result<()> {
        let owners = self.owners.lock();
        for (store, owner) in owners.iter() {
            if let Some(store) = store.upgrade() {
                store.still_counts(owner)?;
            }
        }
        Ok(())
    }

    /// Has a statement see no less than what was looked at before.
    ///
    /// # Errors
    /// As [`Waits::still_count`].
    pub(crate) fn catch_up(&self, snapshot: &mut Snapshot) -> Result<()> {
        let owners = self.owners.lock();
        for (store, owner) in owners.iter() {
            let mut seen = snapshot.databases.values_mut();
            if let Some(seen) = seen.find(|seen| std::ptr::eq(&*seen.store, store.as_ptr())) {
                seen.version = seen.store.snapshot_for(owner)?;
            }
        }
        Ok(())
    }

    /// Returns once what was looked at is durable, in all databases but one.
    ///
    /// # Errors
    /// As [`Waits::still_count`]; what the disk says where a log can not be written.
    pub(super) fn until_durable_but(&self, one: Option<&Arc<Store>>) -> Result<()> {
        for (store, owner) in self.open() {
            if !one.is_some_and(|one| Arc::ptr_eq(one, &store)) {
                store.until_durable(&owner)?;
            }
        }
        Ok(())
    }

    /// Lets go of all locks; gives what came of the work, as [`Waits::told`].
    pub(crate) fn answered<T>(&self, done: Result<T>) -> Result<T> {
        self.let_go();
        let told = self.told(done);
        // Whoever has waited for these looks at what is durable, and at nothing else.
        self.end();
        told
    }

    /// The transaction has ended, and what it did is durable, or will never be.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.advisory.end_transaction();
    }

    /// How many advisory locks the transaction has taken.
    pub(super) fn advisory_locks(&self) -> usize {
        self.advisory.count()
    }

    /// It is rolled back to where it had taken so many advisory locks.
    pub(super) fn undo_advisory_locks(&self, count: usize) {
        self.advisory.undo_to(count);
    }

    /// Gives what came of the work once what it looked at is durable, or that it is not.
    pub(crate) fn told<T>(&self, done: Result<T>) -> Result<T> {
        match (done, self.until_durable_but(None)) {
            (done, Ok(())) => done,
            (Ok(_), Err(error)) => Err(error),
            // What it failed by is not so.
            (Err(_), Err(error)) if error.kind() == ErrorKind::Conflict => Err(error),
            (done, Err(_)) => done,
        }
    }
}

/// What to say where nothing waits.
pub(crate) fn takes_no_locks(what: &str) -> Error {
    Error::unsupported(format!(
        "{what} under snapshot isolation, which takes no locks, is not there; SET default_transaction_isolation = 'read \
         committed', or BEGIN ISOLATION LEVEL READ COMMITTED"
    ))
}

fn patience(timeout: Duration) -> Patience {
    match timeout.is_zero() {
        true => Patience::Endless,
        false => Patience::Until(timeout),
    }
}

impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Waits({})", self.isolation.name())
    }
}
