//! Committing: one transaction after the other onto the newest state; conflicts are looked for first.
//!
//! ```text
//! small:  rebase, queue ----> whichever gets the log first writes the whole queue as one record, syncs, publishes
//! large:  rebase, store ----> the root moves; the queue goes with it
//! ```
//!
//! What must hold: the newest state is published only when it is durable; a commit that fails leaves nothing. A transaction that defines
//! things or loads rows in bulk moves the root of the file. An interrupt ends a wait for others and the storing of a state; a
//! commit that is queued, or whose root moves, goes on to its end and is durable.
//!
//! Locks, in the order in which they are taken; whoever takes one may hold those before it and none of those after it:
//!
//! 0. `rekeying`: held by the one thread that seals blocks anew (`rekey.rs`), also while it rests; nobody else waits for it.
//! 1. `checkpointing`: held by whatever prepares a root: a checkpoint from its cut to its end (`checkpoint_steps.rs`), a commit that
//!    moves the root, closing. No lock but `rekeying` is held while it is waited for, so small commits go on beside a checkpoint.
//! 2. the lead of `queue`: held by the one thread that writes the log for all that wait. Given up before a checkpoint is made.
//! 3. `log`: held while a record is written, the root moves, or the log's end is read. Versions that are logged or stored are
//!    published under it. While a record is sealed and synced only this and the lead are held. A checkpoint, and a change of the keys,
//!    move the root without it where the log that commits are in goes on whichever of the two roots a crash leaves.
//! 4. `commit`: held while a transaction is rebased and queued, or another state takes the place of the newest.
//!
//! Below them are the short ones: what is published, what is read, space, and the flip of the superblock, which slot
//! changes take alone.

use std::sync::Arc;

use super::catalog_version::CatalogVersion;
use super::change_record;
use super::commit_log::{CommitLog, Queued};
use super::fresh_blocks::FreshBlocks;
use super::rebase::TableChange;
use super::reseal::Reseal;
use super::sequence::SequencePoint;
use super::store::Store;
use super::transaction::Transaction;
use crate::error::{Error, Result};
use crate::index::Index;
use crate::interrupt::wait_for;
use crate::numbers::TableId;
use crate::row_group::RowGroup;

/// Rows that a database without a log keeps in memory before it compresses them, and their bytes.
const MAX_UNSTORED_ROWS: u64 = 65_536;
const MAX_UNSTORED_BYTES: usize = 16 << 20;
/// A transaction that takes more bytes than this in the log moves the root instead.
const MAX_LOGGED_BYTES: usize = 8 << 20;
/// What is queued is written out at the latest when it has this many bytes, since it becomes one record.
const MAX_QUEUED_BYTES: usize = 16 << 20;

/// The state that commits build on.
pub(super) struct CommitState {
    /// With every commit so far, also those that are not durable yet.
    pub(super) newest: Arc<CatalogVersion>,
    /// What the root of the file has.
    pub(super) stored: Arc<CatalogVersion>,
    /// Rows in memory since then, about; counted where nothing is logged.
    unstored_rows: u64,
    unstored_bytes: usize,
    /// Transactions that wait to be logged, and their bytes.
    pub(super) queue: Vec<Queued>,
    queued_bytes: usize,
    /// The last ticket given to one that waits.
    pub(super) tickets: u64,
}

impl CommitState {
    pub(super) fn new(stored: &Arc<CatalogVersion>, newest: &Arc<CatalogVersion>) -> Self {
        Self {
            newest: Arc::clone(newest),
            stored: Arc::clone(stored),
            unstored_rows: 0,
            unstored_bytes: 0,
            queue: Vec::new(),
            queued_bytes: 0,
            tickets: 0,
        }
    }
}

impl Transaction {
    /// Makes the changes durable and visible, all at once, and returns a state that has them.
    ///
    /// # Errors
    /// Conflict if another transaction, committed since this one began, changed the same rows or definitions. Full and
    /// Io of the file, InvalidInput after a change that failed half-way: nothing was committed, or, where the log or the
    /// root could not be written for another reason than room, the store writes nothing more and shows what was committed
    /// before.
    pub fn commit(mut self) -> Result<Arc<CatalogVersion>> {
        if self.changes.broken {
            return Err(Error::InvalidInput(
                "a change in this transaction failed: roll it back".into(),
            ));
        }
        if !self.is_changed() {
            self.until_durable()?;
            return Ok(self.store.snapshot());
        }
        let store = Arc::clone(&self.store);
        store.blocks.writable()?;
        store.wait_for_checkpointer()?;
        if !self.needs_flip()
            && let Some(version) = store.commit_small(&self)?
        {
            return Ok(version);
        }
        let _alone = wait_for(&store.checkpointing)?;
        let mut log = wait_for(&store.log)?;
        let mut state = wait_for(&store.commit)?;
        let (version, _) = self.rebase_on(&state)?;
        store.flip(&mut log, &mut state, version, &mut self.fresh)
    }
}

impl Transaction {
    /// As `rebase`, by who holds the lock of the newest state.
    fn rebase_on(&self, state: &CommitState) -> Result<(CatalogVersion, Vec<TableChange>)> {
        if let Some(owner) = &self.locks {
            self.store.still_counts(owner)?;
        }
        self.rebase(&state.newest).inspect_err(|_| {
            // What it fails by may not be durable yet, and is told.
            let _ = self.newest();
        })
    }
}

impl Store {
    /// Commits without moving the root; `None` where that cannot be.
    fn commit_small(&self, transaction: &Transaction) -> Result<Option<Arc<CatalogVersion>>> {
        let ticket = {
            let mut state = wait_for(&self.commit)?;
            let (version, changes) = transaction.rebase_on(&state)?;
            if self.is_volatile {
                let rows = rows_of(&changes);
                let bytes = bytes_of(&changes);
                let large = bytes > MAX_LOGGED_BYTES
                    || state.unstored_bytes.saturating_add(bytes) > MAX_UNSTORED_BYTES;
                if large || state.unstored_rows + rows > MAX_UNSTORED_ROWS {
                    return Ok(None);
                }
                state.unstored_rows += rows;
                state.unstored_bytes += bytes;
                let version = Arc::new(version);
                self.show(&mut state, Arc::clone(&version));
                return Ok(Some(self.publish_shared(version)));
            }
            if !self.is_logged {
                return Ok(None);
            }
            let entry = change_record::encode(&changes, &version)?;
            if entry.len() > MAX_LOGGED_BYTES || state.queued_bytes + entry.len() > MAX_QUEUED_BYTES
            {
                return Ok(None);
            }
            state.queued_bytes += entry.len();
            state.queue.push(Queued { entry, changes });
            state.tickets += 1;
            self.show(&mut state, Arc::new(version));
            state.tickets
        };
        transaction.release_early();
        self.write_log(ticket).map(Some)
    }

    /// Makes durable how far a sequence gives out numbers, apart from any transaction.
    ///
    /// # Errors
    /// `ReadOnly`, Conflict when the sequence is gone; Full and Io of the file.
    pub(super) fn log_sequence(&self, id: TableId, point: SequencePoint) -> Result<()> {
        self.blocks.writable()?;
        if self.is_volatile {
            return Ok(());
        }
        self.wait_for_checkpointer()?;
        if !self.is_logged {
            return self.flip_alone();
        }
        let ticket = {
            let mut state = wait_for(&self.commit)?;
            if state.newest.sequences().all(|known| known.id != id) {
                return Err(Error::Conflict(
                    "another transaction dropped the sequence".into(),
                ));
            }
            let entry = change_record::encode_sequence(id, point);
            // The state stays as it is: how far the sequence is, all of them share.
            state.queued_bytes += entry.len();
            state.queue.push(Queued {
                entry,
                changes: vec![],
            });
            state.tickets += 1;
            state.tickets
        };
        self.write_log(ticket).map(|_| ())
    }

    /// Returns once the ticket is durable: writes what is queued, unless somebody did so while this one waited.
    pub(super) fn write_log(&self, ticket: u64) -> Result<Arc<CatalogVersion>> {
        let Some(lead) = self.queue.wait(ticket)? else {
            return Ok(self.snapshot());
        };
        let mut log = self.log.lock();
        // Whoever led before failed: this commit was part of that, or came after.
        self.blocks.writable()?;
        let (queue, tickets, newest, stored) = {
            let mut state = self.commit.lock();
            state.queued_bytes = 0;
            let queue = std::mem::take(&mut state.queue);
            (
                queue,
                state.tickets,
                Arc::clone(&state.newest),
                Arc::clone(&state.stored),
            )
        };
        if queue.is_empty() {
            // A flip took along what was queued.
            return Ok(self.snapshot());
        }
        let oldest = self.oldest_in_use(stored.generation);
        if let Err(error) = log.write(&self.blocks, queue, &stored, oldest) {
            self.give_up(&log, &error);
            return Err(error);
        }
        let version = Arc::clone(&newest);
        let before = self.publish(newest);
        let done = self.queue.durable(tickets);
        if log.growth.is_unknown() && log.is_as_long_as_asked() {
            log.growth.has_cost(cost_of(&version));
        }
        let is_long = log.is_long();
        if is_long {
            self.checkpointer.look_at(&log);
        }
        drop(log);
        drop(lead);
        // Whoever leads next need not wait for what others are told, nor for what is taken apart.
        drop((done, before));
        if is_long {
            self.checkpoint_is_due();
        }
        Ok(version)
    }

    /// How many commits were queued so far.
    pub(super) fn queued_commits(&self) -> u64 {
        self.commit.lock().tickets
    }

    /// What was queued could not be logged, nor what was queued behind it, which builds on it.
    fn give_up(&self, log: &CommitLog, error: &Error) {
        let is_nothing_written = matches!(error, Error::Full(_) | Error::Log(_));
        if !is_nothing_written || !log.is_sound() {
            // What reached the disk is not known.
            self.blocks.stop_writing();
            return;
        }
        let mut state = self.commit.lock();
        // First: who has looked at what is taken back here finds that out, and not the same row ids with other rows.
        self.queue.failed(state.tickets);
        state.queue.clear();
        state.queued_bytes = 0;
        let published = self.snapshot();
        self.show(&mut state, published);
    }

    /// Moves what opening replayed into the file and removes the logs that it was in.
    ///
    /// # Errors
    /// As [`Store::checkpoint`].
    pub(super) fn close_log(&self) -> Result<()> {
        let _alone = self.checkpointing.lock();
        let mut log = self.log.lock();
        let mut state = self.commit.lock();
        if self.blocks.log_state().is_open {
            self.flip_newest(&mut log, &mut state)?;
        }
        log.end();
        Ok(())
    }

    /// As [`Store::flip_newest`], by who holds no lock.
    ///
    /// # Errors
    /// As [`Store::checkpoint`].
    pub(super) fn flip_alone(&self) -> Result<()> {
        let _alone = wait_for(&self.checkpointing)?;
        let mut log = wait_for(&self.log)?;
        let mut state = wait_for(&self.commit)?;
        self.flip_newest(&mut log, &mut state)
    }

    /// Stores what is committed, and nothing else.
    pub(super) fn flip_newest(&self, log: &mut CommitLog, state: &mut CommitState) -> Result<()> {
        self.flip_resealed(log, state, None)
    }

    /// As [`Store::flip_newest`], with blocks that were sealed anew in the places of others.
    pub(super) fn flip_resealed(
        &self,
        log: &mut CommitLog,
        state: &mut CommitState,
        reseal: Option<Reseal>,
    ) -> Result<()> {
        let mut version = CatalogVersion::clone(&state.newest);
        let mut fresh = FreshBlocks::new(&self.blocks);
        if let Some(reseal) = reseal {
            reseal.apply(self, &mut version, &mut fresh)?;
        }
        self.flip(log, state, version, &mut fresh).map(|_| ())
    }

    /// Stores a state, which has everything that is queued, and publishes it.
    fn flip(
        &self,
        log: &mut CommitLog,
        state: &mut CommitState,
        version: CatalogVersion,
        fresh: &mut FreshBlocks,
    ) -> Result<Arc<CatalogVersion>> {
        let closed = log.closed(self.blocks.log_state());
        let mut stored = self.store_version(version, &state.stored, fresh, &self.threads)?;
        self.move_root(&mut stored, &state.stored, fresh, closed)?;
        let stored = Arc::new(stored.catalog);
        state.stored = Arc::clone(&stored);
        state.unstored_rows = 0;
        state.unstored_bytes = 0;
        state.queue.clear();
        state.queued_bytes = 0;
        self.show(state, Arc::clone(&stored));
        let stored = self.publish_shared(stored);
        drop(self.queue.durable(state.tickets));
        if log.is_open() {
            log.end();
            self.checkpointer.look_at(log);
        }
        Ok(stored)
    }
}

/// About how many bytes of index blocks a checkpoint of a state writes.
fn cost_of(version: &CatalogVersion) -> u64 {
    let indexes = version.tables().flat_map(|table| table.indexes());
    indexes.map(Index::bytes_to_store).sum()
}

fn bytes_of(changes: &[TableChange]) -> usize {
    let groups = changes.iter().flat_map(|change| &change.added);
    groups.map(RowGroup::memory_bytes).sum()
}

fn rows_of(changes: &[TableChange]) -> u64 {
    let groups = changes.iter().flat_map(|change| &change.added);
    groups.map(|group| u64::from(group.rows)).sum()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::store::StoreOptions;

    #[test]
    fn tickets_are_given_up_before_an_older_state_is_shown() {
        let store = Store::open_in_memory(&StoreOptions::default()).unwrap();
        store.commit.lock().tickets = 5;
        assert!(!store.queue.look(5, 5).unwrap());
        std::thread::scope(|scope| {
            // While somebody looks at what is to be taken back, nothing else can be shown.
            let looking = store.queued.newest.read();
            scope.spawn(|| {
                let full = Error::Full(std::io::ErrorKind::StorageFull.into());
                store.give_up(&store.log.lock(), &full);
            });
            let began = Instant::now();
            while store.queue.look(5, 5).is_ok() && began.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(1));
            }
            let found_out = store.queue.look(5, 5).is_err();
            drop(looking);
            assert!(found_out, "the state goes before its tickets do");
        });
        assert!(store.queue.look(5, 6).is_err());
    }
}
