//! `AdvisoryLocks`: what a session has locked by numbers that its clients have agreed on (`pg_advisory_lock` and its kin).
//!
//! What must hold: what a session holds never keeps it from a lock. What its transaction has locked is let go once that has ended and
//! all that it did is durable; what it has locked itself once that was let go as often as it was taken, or it ends.

use hushdb_sql::Result;
use hushdb_storage::{AdvisoryKey, LockOwner, OnLongWait, Patience, Store};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// What is locked, and whether others may share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AdvisoryLock {
    pub(crate) key: AdvisoryKey,
    pub(crate) shared: bool,
}

/// How long a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// It is let go as often as it was taken, or the session ends.
    LetGo,
    /// The transaction ends.
    TransactionEnds,
}

/// The locks of one session, in all databases.
#[derive(Debug, Default)]
pub(crate) struct AdvisoryLocks {
    held: Mutex<Held>,
    /// Held by who takes one or lets go of one: an owner waits for one lock at a time. Whoever looks at what is held does not wait for that.
    turn: Mutex<()>,
}

#[derive(Debug, Default)]
struct Held {
    /// Of each database that something was locked in.
    stores: Vec<OfStore>,
    /// What the transaction has locked, in that order: the database's place, and the lock.
    by_transaction: Vec<(usize, AdvisoryLock)>,
}

#[derive(Debug)]
struct OfStore {
    store: Weak<Store>,
    owner: Arc<LockOwner>,
    taken: HashMap<AdvisoryLock, Taken>,
}

/// Who has taken a lock that is held.
#[derive(Debug, Default)]
struct Taken {
    by_session: u64,
    by_transaction: bool,
}

/// For whom something is locked: in which database, by which session of its server, and how its transaction waits.
pub(super) struct ForWhom<'a> {
    pub(super) store: &'a Arc<Store>,
    pub(super) session: u32,
    pub(super) patience: Patience,
    pub(super) on_long_wait: Option<&'a OnLongWait>,
    /// What holds other locks of the transaction, if anything does.
    pub(super) first: Option<Arc<LockOwner>>,
    /// Whether the transaction has ended: rows of its statements may still be read.
    pub(super) is_over: &'a dyn Fn() -> bool,
}

impl OfStore {
    fn is_of(&self, store: &Arc<Store>) -> bool {
        std::ptr::eq(self.store.as_ptr(), &**store)
    }

    /// Lets go of as much of a lock as nobody has taken any more.
    fn settle(&mut self, lock: AdvisoryLock) {
        let is_free = |taken: &Taken| taken.by_session == 0 && !taken.by_transaction;
        if !self.taken.get(&lock).is_some_and(is_free) {
            return;
        }
        self.taken.remove(&lock);
        let shared = !lock.shared;
        let other = AdvisoryLock { shared, ..lock };
        match self.taken.contains_key(&other) {
            true if lock.shared => (),
            still_shared => self.owner.let_go_of_advisory(lock.key, still_shared),
        }
    }
}

impl Held {
    /// What holds the locks of a database, and its place.
    fn owner_of(&mut self, store: &Arc<Store>, session: u32) -> (usize, Arc<LockOwner>) {
        let mut stores = self.stores.iter().enumerate();
        if let Some((at, of)) = stores.find(|(_, of)| of.is_of(store)) {
            return (at, Arc::clone(&of.owner));
        }
        let owner = store.lock_owner(Patience::Endless);
        owner.is_of_session(session);
        self.stores.push(OfStore {
            store: Arc::downgrade(store),
            owner: Arc::clone(&owner),
            taken: HashMap::new(),
        });
        (self.stores.len() - 1, owner)
    }

    /// Lets go of what the transaction has locked beyond so many.
    fn undo_to(&mut self, length: usize) {
        while self.by_transaction.len() > length
            && let Some((at, lock)) = self.by_transaction.pop()
        {
            if let Some(of) = self.stores.get_mut(at) {
                if let Some(taken) = of.taken.get_mut(&lock) {
                    taken.by_transaction = false;
                }
                of.settle(lock);
            }
        }
    }
}

impl AdvisoryLocks {
    /// Takes a lock; gives whether it is held: false only where it is not free and `may_wait` is not said.
    ///
    /// # Errors
    /// `LockTimeout`, `Deadlock`, `TooManyLocks` and `Interrupted` of the storage.
    pub(super) fn take(
        &self,
        whom: &ForWhom<'_>,
        lock: AdvisoryLock,
        until: Until,
        may_wait: bool,
    ) -> Result<bool> {
        let _turn = self.turn.lock();
        let (at, owner) = self.held.lock().owner_of(whom.store, whom.session);
        owner.set_patience(whom.patience);
        if let Some(report) = whom.on_long_wait {
            owner.report_long_waits(Arc::clone(report));
        }
        if let Some(first) = &whom.first {
            owner.join(first);
        }
        if !owner.lock_advisory(lock.key, lock.shared, may_wait)? {
            return Ok(false);
        }
        let mut held = self.held.lock();
        let Held {
            stores,
            by_transaction,
        } = &mut *held;
        let Some(of) = stores.get_mut(at) else {
            return Ok(false);
        };
        let taken = of.taken.entry(lock).or_default();
        match until {
            Until::LetGo => taken.by_session += 1,
            Until::TransactionEnds => {
                if !std::mem::replace(&mut taken.by_transaction, true) {
                    by_transaction.push((at, lock));
                }
            }
        }
        // Nobody else would let go.
        if (whom.is_over)() {
            held.undo_to(0);
        }
        Ok(true)
    }

    /// Lets go of a lock once; gives whether the session had taken it.
    pub(crate) fn let_go(&self, store: &Arc<Store>, lock: AdvisoryLock) -> bool {
        let _turn = self.turn.lock();
        let mut held = self.held.lock();
        let Some(of) = held.stores.iter_mut().find(|of| of.is_of(store)) else {
            return false;
        };
        let taken = of.taken.get_mut(&lock);
        let Some(taken) = taken.filter(|taken| taken.by_session > 0) else {
            return false;
        };
        taken.by_session -= 1;
        of.settle(lock);
        true
    }

    /// Lets go of all that the session has taken, but for what its transaction has.
    pub(crate) fn let_go_of_all(&self) {
        let _turn = self.turn.lock();
        for of in &mut self.held.lock().stores {
            let locks: Vec<AdvisoryLock> = of.taken.keys().copied().collect();
            for lock in locks {
                if let Some(taken) = of.taken.get_mut(&lock) {
                    taken.by_session = 0;
                }
                of.settle(lock);
            }
        }
    }

    /// How many the transaction has taken, which a savepoint remembers.
    pub(super) fn count(&self) -> usize {
        self.held.lock().by_transaction.len()
    }

    /// The transaction is rolled back to where it had taken so many.
    pub(super) fn undo_to(&self, count: usize) {
        let _turn = self.turn.lock();
        self.held.lock().undo_to(count);
    }

    /// The transaction has ended.
    pub(super) fn end_transaction(&self) {
        if self.count() > 0 {
            self.undo_to(0);
        }
        let held = self.held.lock();
        held.stores.iter().for_each(|of| of.owner.part());
    }

    /// What holds something is of the transaction that this holds locks for.
    pub(super) fn join(&self, first: &LockOwner) {
        let held = self.held.lock();
        let holding = held.stores.iter().filter(|of| !of.taken.is_empty());
        holding.for_each(|of| of.owner.join(first));
    }
}
