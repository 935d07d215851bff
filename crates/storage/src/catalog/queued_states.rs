//! States that are committed and not durable yet: locks go when a commit is queued, and who has them next looks at what it left.
//!
//! ```text
//! commit: rebase, queue, show the state -> let locks go -> log, sync, publish -> answer
//! others:                                  lock -> look -> ...  -> the ticket that was looked at is durable -> answer
//! ```
//!
//! What must hold: who takes no locks sees what is durable. Who does remembers the newest ticket that it looked at; nobody is told
//! how its transaction ended before that is durable, and if it was given up, the transaction fails, whatever it did. What is shown is
//! never older than what is published, and its blocks are kept as those of what is published.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::ArrayRef;
use parking_lot::RwLock;

use super::catalog_version::CatalogVersion;
use super::commit::CommitState;
use super::lock_owner::LockOwner;
use super::store::Store;
use super::transaction::Transaction;
use crate::error::Result;
use crate::index::Index;
use crate::locks::{LockKey, LockMode};
use crate::numbers::{RowId, TableId};
use crate::table::TableVersion;

/// Rows that a transaction changes once more to go on from others' states, before it has others wait.
const MOST_AGAIN: u64 = 1_000_000;

/// The newest state, for those who hold locks.
pub(super) struct QueuedStates {
    pub(super) newest: RwLock<Shown>,
    is_early: AtomicBool,
}

/// A state, and the ticket with which it becomes durable; 0: it is.
pub(super) struct Shown {
    state: Arc<CatalogVersion>,
    ticket: u64,
}

impl QueuedStates {
    pub(super) fn new(state: &Arc<CatalogVersion>) -> Self {
        let state = Arc::clone(state);
        Self {
            newest: RwLock::new(Shown { state, ticket: 0 }),
            is_early: AtomicBool::new(true),
        }
    }
}

impl Store {
    /// Whether commits let go of their locks when they are queued, which they do unless told otherwise, or when they are durable.
    /// Switched off beside transactions, it may cost one of them a conflict.
    pub fn set_early_release(&self, on: bool) {
        self.queued.is_early.store(on, Ordering::Release);
    }

    /// Whether commits do.
    pub fn releases_early(&self) -> bool {
        self.queued.is_early.load(Ordering::Acquire)
    }

    /// Makes a state the newest; called with the lock of `state`, before it is published.
    pub(super) fn show(&self, state: &mut CommitState, newest: Arc<CatalogVersion>) {
        // Before anybody can look at it: its blocks are not reused while it is read.
        self.keep(&newest);
        let ticket = match state.queue.is_empty() {
            true => 0,
            false => state.tickets,
        };
        let shown = Shown {
            state: Arc::clone(&newest),
            ticket,
        };
        let before = std::mem::replace(&mut *self.queued.newest.write(), shown);
        state.newest = newest;
        // While nobody who looks waits for it.
        drop(before);
    }

    /// The newest state, for who holds locks: also what is not durable yet, where those who left it have let go of theirs.
    ///
    /// # Errors
    /// As [`Store::still_counts`].
    pub fn look(&self, owner: &LockOwner) -> Result<Arc<CatalogVersion>> {
        if !self.releases_early() && owner.looked_at() == 0 {
            return Ok(self.snapshot());
        }
        let (state, ticket) = {
            let newest = self.queued.newest.read();
            (Arc::clone(&newest.state), newest.ticket)
        };
        // Asked after it was read: tickets are given up before another state is shown in the place of theirs.
        let is_durable = self.queue.look(owner.looked_at(), ticket)?;
        if !is_durable {
            owner.has_looked_at(ticket);
        }
        Ok(state)
    }

    /// What a statement of a transaction begins with: what is durable, but never less than the transaction has looked at.
    ///
    /// # Errors
    /// As [`Store::still_counts`].
    pub fn snapshot_for(&self, owner: &LockOwner) -> Result<Arc<CatalogVersion>> {
        match self.queue.look(owner.looked_at(), owner.looked_at())? {
            true => Ok(self.snapshot()),
            false => self.look(owner),
        }
    }

    /// Whether all that a transaction has looked at is, or may become, durable.
    ///
    /// # Errors
    /// `Conflict` if some of it was given up, since there was no room for it: roll back.
    pub fn still_counts(&self, owner: &LockOwner) -> Result<()> {
        let looked_at = owner.looked_at();
        self.queue.look(looked_at, looked_at).map(drop)
    }

    /// Returns once all that a transaction has looked at is durable: before anybody is told how it ended. Its locks should be gone.
    ///
    /// # Errors
    /// As [`Store::still_counts`]; what the disk says where the log can not be written.
    pub fn until_durable(&self, owner: &LockOwner) -> Result<()> {
        let ticket = owner.looked_at();
        if ticket == 0 {
            return Ok(());
        }
        self.write_log(ticket).map(drop).or_else(|error| {
            self.still_counts(owner)?;
            Err(error)
        })
    }

    /// Locks a table for whatever is done with it, waiting for it if that is wanted. What is looked at next has all that those who had
    /// it locked before have committed.
    ///
    /// # Errors
    /// `LockTimeout`, also where the lock is not free and nobody is to wait; `Deadlock`, `TooManyLocks`, `Interrupted`; as
    /// [`Store::still_counts`].
    pub fn lock_table(
        &self,
        owner: &LockOwner,
        table_id: TableId,
        mode: LockMode,
        waits: bool,
    ) -> Result<()> {
        owner.lock_table(table_id, mode, waits)?;
        self.look(owner).map(drop)
    }
}

impl Transaction {
    /// The newest state that it may look at.
    pub(super) fn newest(&self) -> Result<Arc<CatalogVersion>> {
        match &self.locks {
            Some(owner) => self.store.look(owner),
            None => Ok(self.store.snapshot()),
        }
    }

    /// As [`Transaction::advance`], to the newest state that it may look at. Who has changed very many rows again so, since others
    /// changed the same tables, takes these as a whole: each statement would cost as much as all before it.
    ///
    /// # Errors
    /// As [`Transaction::advance`], [`Store::still_counts`] and `LockOwner::lock`.
    pub fn advance_to_newest(&mut self) -> Result<()> {
        if let Some(owner) = self
            .locks
            .as_ref()
            .filter(|_| self.changed_again > MOST_AGAIN)
        {
            for (id, _) in self.changed_rows() {
                owner.lock(LockKey::Table(id), LockMode::All)?;
            }
        }
        let newest = self.newest()?;
        self.advance(newest)
    }

    /// Whether a key of which this transaction sees `rows` names the same rows of a table in the newest state as in the one that it goes
    /// on from, and nothing was defined since: what is done about them needs no other state.
    ///
    /// # Errors
    /// As [`Store::look`] and [`TableVersion::find`].
    pub fn is_newest_of(
        &self,
        id: TableId,
        (index, key): (&Index, &[ArrayRef]),
        rows: &[u64],
    ) -> Result<bool> {
        if let [row] = rows
            && index.kind().is_unique()
            && RowId::new(*row) >= self.first_own_row(id)
        {
            // It has changed that row, and has it locked.
            return Ok(true);
        }
        let newest = self.newest()?;
        if Arc::ptr_eq(&newest, &self.base) {
            return Ok(true);
        }
        if newest.definitions != self.base.definitions {
            return Ok(false);
        }
        let (now, base) = match (newest.table_by_id(id), self.base.table_by_id(id)) {
            (Some(now), Some(base)) => (now, base),
            // Of a table that this transaction has made nobody else knows.
            (now, base) => return Ok(now.is_none() && base.is_none()),
        };
        if !now.is_defined_as(base) {
            return Ok(false);
        }
        if now.changes == base.changes {
            return Ok(true);
        }
        let of = |table: &TableVersion| {
            let mut indexes = table.indexes().iter();
            let same = indexes.find(|other| Arc::ptr_eq(&other.info, &index.info));
            same.map(|index| table.find(index, key, 0)).transpose()
        };
        let rows = of(now)?;
        Ok(rows.is_some() && rows == of(base)?)
    }

    /// Lets go of its locks, where that is done before a commit is durable.
    pub(super) fn release_early(&self) {
        if let Some(owner) = self.locks.as_ref().filter(|_| self.store.releases_early()) {
            owner.let_go();
            owner.take_turn();
        }
    }

    /// Returns once what it has looked at is durable.
    pub(super) fn until_durable(&self) -> Result<()> {
        let Some(owner) = &self.locks else {
            return Ok(());
        };
        owner.let_go();
        self.store.until_durable(owner)
    }
}
