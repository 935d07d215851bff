//! Committing: one after the other onto the newest state, conflicts first.
//!
//! Holds: the newest state is published only when it is durable; a commit that fails leaves nothing. A transaction that
//! defines things or loads rows in bulk moves the root of the file.

use std::sync::Arc;

use super::catalog_version::CatalogVersion;
use super::fresh_blocks::FreshBlocks;
use super::store::Store;
use super::transaction::Transaction;
use crate::error::{Error, Result};

/// Rows that a database without a log keeps in memory before it compresses them.
const MAX_UNSTORED_ROWS: u64 = 65_536;

/// The state that commits build on.
pub(super) struct CommitState {
    /// With every commit so far, also those that are not durable yet.
    pub(super) newest: Arc<CatalogVersion>,
    /// What the root of the file has.
    pub(super) stored: Arc<CatalogVersion>,
    /// Rows in memory since then, about.
    pub(super) unstored_rows: u64,
}

impl Transaction {
    /// Makes the changes durable and visible, all at once, and returns the new state.
    ///
    /// # Errors
    /// Conflict if another transaction, committed since this one began, changed the same rows or definitions. Full and
    /// Io of the file, InvalidInput after a change that failed half-way: nothing was committed.
    pub fn commit(mut self) -> Result<Arc<CatalogVersion>> {
        if self.changes.broken {
            return Err(Error::InvalidInput(
                "a change in this transaction failed: roll it back".into(),
            ));
        }
        if !self.is_changed() {
            return Ok(self.store.snapshot());
        }
        let store = Arc::clone(&self.store);
        let mut state = store.commit.lock();
        let (version, changes) = self.rebase(&state.newest)?;
        let added = changes.iter().flat_map(|change| &change.added);
        let added: u64 = added.map(|group| u64::from(group.rows)).sum();
        if store.is_volatile
            && !self.needs_flip()
            && state.unstored_rows + added < MAX_UNSTORED_ROWS
        {
            state.unstored_rows += added;
            state.newest = store.publish(version);
            return Ok(Arc::clone(&state.newest));
        }
        store.flip(&mut state, version, &mut self.fresh)
    }
}

impl Store {
    /// Stores a state and publishes it.
    fn flip(
        &self,
        state: &mut CommitState,
        version: CatalogVersion,
        fresh: &mut FreshBlocks,
    ) -> Result<Arc<CatalogVersion>> {
        let stored = self.store_version(version, &state.stored, fresh)?;
        let stored = self.publish(stored);
        state.newest = Arc::clone(&stored);
        state.stored = Arc::clone(&stored);
        state.unstored_rows = 0;
        Ok(stored)
    }
}
