//! A checkpoint in steps, beside which commits go on.
//!
//! ```text
//! cut      a moment   the newest durable state V is what is stored; the next record begins the log after the open one
//! store    no lock    V's tables are compressed, sealed and written
//! move     no lock    the root moves to V, naming the next log
//! finish   a moment   what was committed since is made again on V as it is stored, and that is what commits build on
//! ```
//!
//! What must hold: one checkpoint at a time, and no other root is prepared meanwhile; whatever step fails or is never reached, all that is
//! committed is in the logs, and in memory as it was. The root moves beside commits where they are in the next log, which is chained to
//! the one that the root before names, and is the one that this root names: either way it has them. Where nothing was committed since the
//! cut, nothing is logged, or a checkpoint that failed has left two logs, commits wait until the root has moved.

use std::sync::Arc;

use parking_lot::MutexGuard;

use super::catalog_version::CatalogVersion;
use super::checkpoint::StoredVersion;
use super::commit::CommitState;
use super::commit_log::CommitLog;
use super::fresh_blocks::FreshBlocks;
use super::rebase::{counted, made_again};
use super::reseal::Reseal;
use super::store::Store;
use crate::error::Result;
use crate::interrupt::{Interrupt, wait_for};
use crate::lent_threads::LentThreads;

/// So many changes are made again while commits wait; more are made before that.
const FEW_CHANGES: usize = 32;
/// Times that changes are made again before commits wait, however many come meanwhile.
const ROUNDS: usize = 8;

/// A checkpoint that was begun. Dropped before it is finished, it leaves things as they were.
///
/// Until then a commit that moves the root waits: the thread that holds this must not make one.
pub struct Checkpoint<'a> {
    store: &'a Store,
    /// What is to be stored.
    cut: Arc<CatalogVersion>,
    /// What the root has.
    before: Arc<CatalogVersion>,
    fresh: FreshBlocks,
    /// Blocks that were sealed anew, to be named in the place of others.
    reseal: Option<Reseal>,
    stored: Option<StoredVersion>,
    /// The last to go: until then no other root is prepared.
    _alone: MutexGuard<'a, ()>,
}

impl Store {
    /// Moves everything that is committed into the root of the file. Commits go on meanwhile; if there are none, the log
    /// ends.
    ///
    /// # Errors
    /// `ReadOnly`, `Full`, `Io`; nothing that was committed is lost.
    pub fn checkpoint(&self) -> Result<()> {
        match self.begin_checkpoint()? {
            Some(checkpoint) => checkpoint.finish(),
            None => Ok(()),
        }
    }

    /// Begins a checkpoint; waits for one that is running. `None` if it is done already: when there was nothing to store, or
    /// it had to be done at once.
    ///
    /// # Errors
    /// As [`Store::checkpoint`].
    pub fn begin_checkpoint(&self) -> Result<Option<Checkpoint<'_>>> {
        self.blocks.writable()?;
        self.cut(wait_for(&self.checkpointing)?, None)
    }

    /// As [`Store::begin_checkpoint`], by who is alone. What was sealed anew is named by the state that is stored.
    pub(super) fn cut<'a>(
        &'a self,
        alone: MutexGuard<'a, ()>,
        reseal: Option<Reseal>,
    ) -> Result<Option<Checkpoint<'a>>> {
        let mut log = self.log.lock();
        let mut state = self.commit.lock();
        let is_stored = state.newest.tables().all(|table| table.block.is_some());
        if !log.is_open() && is_stored && reseal.is_none() {
            return Ok(None);
        }
        self.cut_locked(alone, &mut log, &mut state, reseal)
    }

    /// As [`Store::cut`], also where everything is stored: the root's own blocks are written anew.
    pub(super) fn cut_even_if_stored<'a>(
        &'a self,
        alone: MutexGuard<'a, ()>,
    ) -> Result<Option<Checkpoint<'a>>> {
        let mut log = self.log.lock();
        let mut state = self.commit.lock();
        self.cut_locked(alone, &mut log, &mut state, None)
    }

    fn cut_locked<'a>(
        &'a self,
        alone: MutexGuard<'a, ()>,
        log: &mut CommitLog,
        state: &mut CommitState,
        reseal: Option<Reseal>,
    ) -> Result<Option<Checkpoint<'a>>> {
        if !log.is_open() || log.is_next() {
            self.flip_resealed(log, state, reseal)?;
            return Ok(None);
        }
        log.cut()?;
        Ok(Some(Checkpoint {
            store: self,
            // What is queued is not in the log yet, and will be behind the cut.
            cut: self.snapshot(),
            before: Arc::clone(&state.stored),
            fresh: FreshBlocks::new(&self.blocks),
            reseal,
            stored: None,
            _alone: alone,
        }))
    }
}

impl Checkpoint<'_> {
    /// Writes the state of the cut. Done by [`Checkpoint::finish`] if it was not before.
    ///
    /// # Errors
    /// `Full`, `Io`, and whatever reading the tables' directories reports.
    pub fn store(&mut self) -> Result<()> {
        if self.stored.is_none() {
            let mut version = CatalogVersion::clone(&self.cut);
            if let Some(reseal) = self.reseal.take() {
                reseal.apply(self.store, &mut version, &mut self.fresh)?;
            }
            let (before, fresh) = (&self.before, &mut self.fresh);
            // Commits have the other threads.
            let alone = LentThreads::default();
            let stored = self.store.store_version(version, before, fresh, &alone)?;
            self.store.blocks.sync_ahead()?;
            self.stored = Some(stored);
        }
        Ok(())
    }

    /// Makes it the root of the file, with what was committed since in the log behind it.
    ///
    /// # Errors
    /// As [`Store::checkpoint`].
    pub fn finish(mut self) -> Result<()> {
        self.store()?;
        let Some(mut stored) = self.stored.take() else {
            return Ok(());
        };
        let store = self.store;
        let cost = stored.bytes_written();
        let mut version = stored.catalog.clone();
        self.catch_up(&mut version)?;
        let named = {
            let log = store.log.lock();
            log.is_next()
                .then(|| log.state_after_cut(store.blocks.log_state()))
        };
        if let Some(named) = named {
            store.move_root(&mut stored, &self.before, &mut self.fresh, named)?;
            // The root has moved: from here on there is no way back, and no interrupt.
            let finished = Arc::<Interrupt>::default().watch(|| {
                self.catch_up(&mut version)?;
                let mut log = store.log.lock();
                log.growth.has_cost(cost);
                let mut state = store.commit.lock();
                store.go_on_from(&mut log, &mut state, version, stored.catalog)
            });
            finished.inspect_err(|_| store.blocks.stop_writing())?;
        } else {
            let mut log = store.log.lock();
            let mut state = store.commit.lock();
            let named = log.state_after_cut(store.blocks.log_state());
            made_again(&mut version, &log.take_since_cut())?;
            store.move_root(&mut stored, &self.before, &mut self.fresh, named)?;
            log.growth.has_cost(cost);
            store.go_on_from(&mut log, &mut state, version, stored.catalog)?;
        }
        store.name_log();
        Ok(())
    }

    /// Makes what was committed since the cut again, until little is left of it.
    fn catch_up(&self, version: &mut CatalogVersion) -> Result<()> {
        for _ in 0..ROUNDS {
            let changes = self.store.log.lock().take_since_cut();
            made_again(version, &changes)?;
            if changes.len() <= FEW_CHANGES {
                break;
            }
        }
        Ok(())
    }
}

impl Store {
    /// Has commits build on a state that the root has been moved to. `version` is that state with what was committed since, but for what the
    /// log still says of it.
    fn go_on_from(
        &self,
        log: &mut CommitLog,
        state: &mut CommitState,
        mut version: CatalogVersion,
        stored: CatalogVersion,
    ) -> Result<()> {
        made_again(&mut version, &log.take_since_cut())?;
        counted(&mut version, &self.snapshot());
        let generation = stored.generation;
        version.generation = generation;
        let mut newest = (!state.queue.is_empty()).then(|| version.clone());
        if let Some(newest) = &mut newest {
            for queued in &state.queue {
                made_again(newest, &queued.changes)?;
            }
            counted(newest, &state.newest);
        }
        let version = Arc::new(version);
        state.stored = Arc::new(stored);
        let newest = newest.map_or_else(|| Arc::clone(&version), Arc::new);
        self.show(state, newest);
        self.publish_shared(version);
        log.end_at_cut();
        self.checkpointer.look_at(log);
        Ok(())
    }

    /// Puts the log that the root names in the place of the one before it, by who is alone in preparing roots. Commits go on in it, under
    /// whichever name. What fails is done by the next cut; until then the log is found under the other name.
    fn name_log(&self) {
        let Some(old) = self.log.lock().old_log() else {
            return;
        };
        let named = old.overwrite().and_then(|()| {
            self.log.lock().rename()?;
            old.sync_names()
        });
        if named.is_ok() {
            self.log.lock().is_named();
        }
    }
}

impl std::fmt::Debug for Checkpoint<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Checkpoint on generation {}", self.before.generation)
    }
}

impl Drop for Checkpoint<'_> {
    fn drop(&mut self) {
        // Nothing is left to forget where it was finished.
        self.store.log.lock().forget_cut();
    }
}
