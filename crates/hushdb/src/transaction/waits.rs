//! `Isolation`, and `Waits`: how the statements of a transaction wait for others, and the locks that they hold.
//!
//! What must hold: locks stay until the transaction has ended, and is durable if it committed.

use hushdb_storage::{LockOwner, OnLongWait, Patience, Store};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
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
    /// Of each database that is written to.
    owners: Mutex<Vec<Arc<LockOwner>>>,
}

impl Waits {
    /// None: nobody waits. `timeout` is for each lock; zero is none.
    pub(crate) fn new(
        isolation: Isolation,
        timeout: Duration,
        on_long_wait: Option<OnLongWait>,
    ) -> Option<Arc<Self>> {
        (isolation != Isolation::Snapshot).then(|| {
            Arc::new(Self {
                isolation,
                patience: Mutex::new(patience(timeout)),
                on_long_wait,
                owners: Mutex::default(),
            })
        })
    }

    /// The longest wait for each lock from now on; zero is none.
    pub(crate) fn set_timeout(&self, timeout: Duration) {
        let patience = patience(timeout);
        if std::mem::replace(&mut *self.patience.lock(), patience) != patience {
            let owners = self.owners.lock();
            owners.iter().for_each(|owner| owner.set_patience(patience));
        }
    }

    /// What holds the locks of a database.
    pub(crate) fn owner(&self, store: &Store) -> Arc<LockOwner> {
        let mut owners = self.owners.lock();
        if let Some(owner) = owners.iter().find(|owner| store.is_of(owner)) {
            return Arc::clone(owner);
        }
        let owner = store.lock_owner(*self.patience.lock());
        if let Some(report) = &self.on_long_wait {
            owner.report_long_waits(Arc::clone(report));
        }
        if let Some(first) = owners.first() {
            owner.join(first);
        }
        owners.push(Arc::clone(&owner));
        owner
    }

    /// Lets go of all locks.
    pub(super) fn let_go(&self) {
        self.owners.lock().clear();
    }
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
