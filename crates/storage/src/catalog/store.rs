//! A database file with its catalog: snapshots for readers, transactions for writers.
//!
//! What must hold: a snapshot stays readable as long as its `Arc` lives, whatever is committed meanwhile; a row group is written
//! before anything names it; nothing here starts a thread.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{Array, ArrayRef, BooleanArray, new_empty_array, new_null_array};
use arrow_buffer::BooleanBuffer;
use hushdb_encoding::{CodecError, MAX_ROW_GROUP_ROWS, VortexCodec};
use hushdb_keys::{KdfBudget, KeyAttempt, KeyProvider, UnverifiedHeader};
use parking_lot::{Mutex, RwLock};

use super::catalog_version::CatalogVersion;
use super::checkpointer::Checkpointer;
use super::commit::CommitState;
use super::commit_log::CommitLog;
use super::commit_queue::CommitQueue;
use super::fresh_blocks::FreshBlocks;
use super::live_versions::LiveVersions;
use super::lock_owner::LockOwner;
use super::log_room::LogRoom;
use super::pending_row_group::PendingRowGroup;
use super::queued_states::QueuedStates;
use super::recovery::{Recovered, recover};
use super::rekey::RekeyWork;
use super::transaction::Transaction;
use crate::block::{BlockBuf, BlockRef, MAX_PAYLOAD_BYTES, Role};
use crate::error::{Error, ErrorKind, Result};
use crate::file::{LOG_NAME, MemFile, NEXT_LOG_NAME, OsFiles, StorageFile, StorageFiles};
use crate::interrupt::check_interrupt;
use crate::lent_threads::LentThreads;
use crate::locks::{LockTable, LockView, Patience};
use crate::log::{LogPosition, Synchronous};
use crate::numbers::{Generation, Lsn, RowId};
use crate::row_group::{Column, DistinctSketch, GatheredRows, RowGroup, Segment, Statistics};
use crate::shared::Shared;
use crate::spill::{NobodysKey, SpillSpace};
use crate::store::{Anchor, BlockStore, Freshness, Notice, StoreInfo, StoreOptions};

/// One open database.
pub struct Store {
    pub(crate) blocks: Arc<BlockStore>,
    pub(crate) codec: VortexCodec,
    /// Held by the one thread that seals blocks anew. This lock and the next three are taken in this order: see `commit.rs`.
    pub(super) rekeying: Mutex<()>,
    pub(super) checkpointing: Mutex<()>,
    pub(super) log: Mutex<CommitLog>,
    pub(super) commit: Mutex<CommitState>,
    pub(super) queue: CommitQueue,
    pub(super) queued: QueuedStates,
    pub(super) checkpointer: Checkpointer,
    locks: Arc<LockTable>,
    /// Nothing outlives the process: commits are not written one by one.
    pub(super) is_volatile: bool,
    /// Small commits go to a log beside the file.
    pub(super) is_logged: bool,
    checkpoint_on_close: AtomicBool,
    notices: Vec<Notice>,
    /// How far opening replayed the log, while the log stays: for a handle that may only read.
    replayed_to: Option<LogPosition>,
    current: RwLock<Arc<CatalogVersion>>,
    live: Mutex<LiveVersions>,
    row_group_rows: usize,
    pub(super) threads: LentThreads,
    /// How far the store has come in being sealed anew under another data key.
    pub(super) rekey: Mutex<RekeyWork>,
}

impl Store {
    /// Makes a new database in an empty file: encrypted with a key, plain without.
    ///
    /// # Errors
    /// As [`BlockStore::create`].
    pub fn create(
        file: Arc<dyn StorageFile>,
        key: Option<&dyn KeyProvider>,
        options: &StoreOptions,
    ) -> Result<Arc<Self>> {
        Self::over(
            BlockStore::create(file, key, options)?,
            options,
            false,
            None,
        )
    }

    /// Opens a database.
    ///
    /// # Errors
    /// As [`BlockStore::open`], and when the catalog does not open or does not parse.
    pub fn open(
        file: Arc<dyn StorageFile>,
        key: Option<&dyn KeyProvider>,
        options: &StoreOptions,
    ) -> Result<Arc<Self>> {
        Self::over(BlockStore::open(file, key, options)?, options, false, None)
    }

    /// Makes a new database at `path`, where no file may be but an empty one, and which may not be where another database has its
    /// log. When that fails, no new file is left behind: an
    /// empty one would be refused as no database at the next try.
    ///
    /// # Errors
    /// As [`Store::create`], and of the operating system.
    pub fn create_path(
        path: &Path,
        key: Option<&dyn KeyProvider>,
        options: &StoreOptions,
    ) -> Result<Arc<Self>> {
        let files = Arc::new(OsFiles::beside(path)?);
        files.refuse_log_name()?;
        let is_new = !files.is_there()?;
        let file = files.create("")?;
        // This handle, and so the lock, is held until the file is gone.
        let held = Arc::clone(&file);
        let made = Self::create_over(file, files.clone(), key, options);
        if made.is_err() && is_new {
            // What made it fail is what the caller must hear of.
            let _ = files.remove("");
        }
        drop(held);
        made
    }

    /// Opens the database at `path`.
    ///
    /// # Errors
    /// As [`Store::open`], and of the operating system.
    pub fn open_path(
        path: &Path,
        key: Option<&dyn KeyProvider>,
        options: &StoreOptions,
    ) -> Result<Arc<Self>> {
        Self::open_in(Arc::new(OsFiles::beside(path)?), key, options)
    }

    /// Makes a new database with its log beside it; `files` has neither.
    ///
    /// # Errors
    /// As [`Store::create`].
    pub fn create_in(
        files: Arc<dyn StorageFiles>,
        key: Option<&dyn KeyProvider>,
        options: &StoreOptions,
    ) -> Result<Arc<Self>> {
        let file = files.create("")?;
        Self::create_over(file, files, key, options)
    }

    /// Opens a database and replays its log.
    ///
    /// # Errors
    /// As [`Store::open`], and everything that [`crate::LogError`] has.
    pub fn open_in(
        files: Arc<dyn StorageFiles>,
        key: Option<&dyn KeyProvider>,
        options: &StoreOptions,
    ) -> Result<Arc<Self>> {
        let file = files.open("", options.read_only)?;
        let file = file.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))?;
        let blocks = BlockStore::open(file, key, options)?;
        Self::over(blocks, options, false, Some(files))
    }

    fn create_over(
        file: Arc<dyn StorageFile>,
        files: Arc<dyn StorageFiles>,
        key: Option<&dyn KeyProvider>,
        options: &StoreOptions,
    ) -> Result<Arc<Self>> {
        let is_there = |name| Ok::<_, Error>(files.open(name, true)?.is_some());
        if is_there(LOG_NAME)? || is_there(NEXT_LOG_NAME)? {
            return Err(Error::InvalidInput(
                "the log of another database stands beside the new file: move it away first".into(),
            ));
        }
        let blocks = BlockStore::create(file, key, options)?;
        Self::over(blocks, options, false, Some(files))
    }

    /// A database that lives in memory only, plain.
    ///
    /// # Errors
    /// As [`Store::create`].
    pub fn open_in_memory(options: &StoreOptions) -> Result<Arc<Self>> {
        let blocks = BlockStore::create(Arc::new(MemFile::default()), None, options)?;
        Self::over(blocks, options, true, None)
    }

    /// A database of one connection: sealed under a key that nobody keeps, in a file without a name.
    ///
    /// # Errors
    /// As [`Store::create`], and of the operating system.
    pub fn create_temporary(space: &Arc<SpillSpace>, options: &StoreOptions) -> Result<Arc<Self>> {
        let key = NobodysKey::random(&options.crypto)?;
        let file = Arc::new(space.database_file()?);
        let blocks = BlockStore::create(file, Some(&key), options)?;
        Self::over(blocks, options, true, None)
    }

    fn over(
        blocks: BlockStore,
        options: &StoreOptions,
        is_volatile: bool,
        files: Option<Arc<dyn StorageFiles>>,
    ) -> Result<Arc<Self>> {
        let blocks = Arc::new(blocks);
        let generation = blocks.generation();
        let stored = match blocks.catalog_ref() {
            Some(root) => CatalogVersion::load(&blocks, root, generation)?,
            None => CatalogVersion::empty(generation),
        };
        let recovered = match &files {
            Some(files) => {
                let (freshness, threads) = (&options.freshness, options.threads);
                recover(files.as_ref(), &blocks, &stored, freshness, threads)?
            }
            None if blocks.log_state().is_open => {
                return Err(Error::InvalidInput(
                    "this database has a log: open it by its path, with its log beside it".into(),
                ));
            }
            None => Recovered::default(),
        };
        if let Some(last) = recovered.last {
            blocks.log_was_found(last.sequence, last.end);
        }
        let leftover = recovered.leftover;
        let this = Self::assembled(blocks, options, is_volatile, files, stored, recovered);
        if options.read_only {
            return Ok(this);
        }
        this.log.lock().overwrites = this.blocks.key_ids().len() > 1;
        if leftover {
            this.close_log()?;
        }
        if this.blocks.history_is_full() {
            this.flip_alone()?;
        }
        match this.mend_key_ring() {
            // The copy that holds does until there is room.
            Err(error) if error.kind() == ErrorKind::Full => {}
            mended => mended?,
        }
        Ok(this)
    }

    /// Over what was read and replayed.
    pub(super) fn assembled(
        blocks: Arc<BlockStore>,
        options: &StoreOptions,
        is_volatile: bool,
        files: Option<Arc<dyn StorageFiles>>,
        stored: CatalogVersion,
        recovered: Recovered,
    ) -> Arc<Self> {
        let stored = Arc::new(stored);
        let newest = recovered
            .replayed
            .map_or_else(|| Arc::clone(&stored), Arc::new);
        let mut live = LiveVersions::default();
        live.add(&stored);
        live.add(&newest);
        Arc::new(Self {
            blocks,
            codec: VortexCodec::new(),
            is_logged: files.is_some(),
            rekeying: Mutex::new(()),
            checkpointing: Mutex::new(()),
            log: Mutex::new(CommitLog::new(files, recovered.last_sequence)),
            commit: Mutex::new(CommitState::new(&stored, &newest)),
            queue: CommitQueue::default(),
            queued: QueuedStates::new(&newest),
            checkpointer: Checkpointer::default(),
            locks: Arc::default(),
            is_volatile,
            checkpoint_on_close: AtomicBool::new(true),
            notices: recovered.notices,
            replayed_to: recovered.last.filter(|_| options.read_only),
            current: RwLock::new(newest),
            live: Mutex::new(live),
            row_group_rows: options.row_group_rows.clamp(1, MAX_ROW_GROUP_ROWS as usize),
            threads: options.threads,
            rekey: Mutex::default(),
        })
    }

    /// The newest committed state. Keep it as long as anything of it is read.
    pub fn snapshot(&self) -> Arc<CatalogVersion> {
        Arc::clone(&self.current.read())
    }

    /// Begins a write transaction on the newest committed state.
    ///
    /// # Errors
    /// [`Error::ReadOnly`] on a store that was opened read-only, [`Error::WriteFailedEarlier`] after a failed commit.
    pub fn begin(self: &Arc<Self>) -> Result<Transaction> {
        self.begin_on(self.snapshot())
    }

    /// Begins a write transaction on a snapshot of this store, which need not be the newest: what was committed since is
    /// not seen, and conflicts with it show at the commit.
    ///
    /// # Errors
    /// As [`Store::begin`].
    pub fn begin_on(self: &Arc<Self>, snapshot: Arc<CatalogVersion>) -> Result<Transaction> {
        self.blocks.writable()?;
        Ok(Transaction::new(self, snapshot))
    }

    /// What holds the locks of a transaction of this store, and waits for each as long as `patience` says.
    pub fn lock_owner(&self, patience: Patience) -> Arc<LockOwner> {
        let pool = self.blocks.pool();
        Arc::new(LockOwner::new(&self.locks, pool, patience))
    }

    /// The locks that somebody holds or waits for.
    pub fn locks(&self) -> Vec<LockView> {
        self.locks.view()
    }

    /// Whether an owner's locks are this store's.
    pub fn is_of(&self, owner: &LockOwner) -> bool {
        owner.is_of(&self.locks)
    }

    /// Compresses, seals and writes one row group; many threads may do so at once. `arrays` are in the order of
    /// `columns`, of their Arrow types and of one length.
    ///
    /// # Errors
    /// InvalidInput if the arrays do not fit the columns, Unsupported if a column's data does not fit a block, Full and
    /// Io of the file.
    pub fn write_row_group(
        &self,
        columns: &[Column],
        arrays: &[ArrayRef],
    ) -> Result<PendingRowGroup> {
        let rows = arrays.first().map_or(0, |array| array.len());
        self.write_columns(columns, rows, arrays.iter().map(|array| Ok(array.clone())))
    }

    /// As [`Store::write_row_group`], for rows that were gathered: each column is let go as soon as it is written.
    ///
    /// # Errors
    /// As [`Store::write_row_group`].
    pub fn write_gathered(
        &self,
        columns: &[Column],
        rows: GatheredRows,
    ) -> Result<PendingRowGroup> {
        self.write_columns(columns, rows.rows(), rows.into_columns())
    }

    fn write_columns(
        &self,
        columns: &[Column],
        rows: usize,
        arrays: impl Iterator<Item = Result<ArrayRef>>,
    ) -> Result<PendingRowGroup> {
        let unfit =
            || Error::InvalidInput("the arrays do not make a row group of the table".into());
        if !(1..=MAX_ROW_GROUP_ROWS as usize).contains(&rows) {
            return Err(unfit());
        }
        let mut group = RowGroup {
            first_row_id: RowId::default(),
            rows: u32::try_from(rows).unwrap_or(MAX_ROW_GROUP_ROWS),
            segments: Shared::default(),
            memory: None,
            deletes: None,
            deletes_block: None,
            sketches: None,
            keys: None,
        };
        let mut fresh = FreshBlocks::new(&self.blocks);
        let mut segments = Vec::with_capacity(columns.len());
        let mut sketches = Vec::with_capacity(columns.len());
        let mut left = columns.iter();
        for array in arrays {
            let (array, column) = (array?, left.next().ok_or_else(unfit)?);
            if array.len() != rows || array.data_type() != &column.ty.arrow() {
                return Err(unfit());
            }
            if let Some((segment, sketch)) = self.write_segment(column, &array, &mut fresh)? {
                segments.push(segment);
                sketches.push((column.id, sketch));
            }
        }
        if left.next().is_some() {
            return Err(unfit());
        }
        segments.sort_by_key(|segment| segment.column_id);
        group.segments = segments.into();
        if !sketches.is_empty() {
            let bytes = DistinctSketch::write_all(&sketches);
            group.sketches = Some(self.write_aside(Role::Statistics, &bytes, &mut fresh)?);
        }
        Ok(PendingRowGroup::new(group, columns, fresh))
    }

    /// Writes one column's slice; nothing is written for one that is all NULL.
    pub(crate) fn write_segment(
        &self,
        column: &Column,
        array: &ArrayRef,
        fresh: &mut FreshBlocks,
    ) -> Result<Option<(Segment, DistinctSketch)>> {
        if array.null_count() == array.len() {
            return Ok(None);
        }
        check_interrupt()?;
        let encoded = self
            .codec
            .encode(&column.ty, array)
            .map_err(|error| match error {
                CodecError::TooLarge => too_large(),
                CodecError::WrongType | CodecError::Malformed => {
                    Error::InvalidInput("the array is not of the column's type".into())
                }
            })?;
        // Trying encodings took megabytes, and let them go.
        self.blocks.pool().look();
        if encoded.len() > MAX_PAYLOAD_BYTES {
            return Err(too_large());
        }
        let mut buf = BlockBuf::with_capacity(encoded.len());
        for piece in encoded.pieces() {
            buf.extend_from_slice(piece);
        }
        let block = self.blocks.write_aside(Role::ColumnData, buf)?;
        fresh.insert(block);
        let statistics = Statistics::of(&column.ty, array);
        let segment = Segment {
            column_id: column.id,
            block,
            null_count: u64::from(statistics.null_count),
            min: statistics.min,
            max: statistics.max,
            exact: statistics.exact,
            raw_bytes: statistics.raw_bytes,
        };
        Ok(Some((segment, statistics.distinct)))
    }

    /// Writes a block that no commit names yet.
    pub(crate) fn write_aside(
        &self,
        role: Role,
        bytes: &[u8],
        fresh: &mut FreshBlocks,
    ) -> Result<BlockRef> {
        if bytes.len() > MAX_PAYLOAD_BYTES {
            return Err(Error::Unsupported("a catalog this large".into()));
        }
        check_interrupt()?;
        let mut buf = BlockBuf::with_capacity(bytes.len());
        buf.extend_from_slice(bytes);
        let block = self.blocks.write_aside(role, buf)?;
        fresh.insert(block);
        Ok(block)
    }

    /// The rows of a column that `mask` selects (all without one), deleted rows included. The mask has one bit for each
    /// row of the row group. A column without a segment is NULL in every row.
    ///
    /// # Errors
    /// Tampered or Corrupted if the segment does not open or does not decode to the column's type and row count;
    /// InvalidInput if the mask has another length.
    pub fn read_column(
        &self,
        group: &RowGroup,
        column: &Column,
        mask: Option<&BooleanBuffer>,
    ) -> Result<ArrayRef> {
        check_interrupt()?;
        let rows = group.rows as usize;
        if mask.is_some_and(|mask| mask.len() != rows) {
            return Err(Error::InvalidInput(
                "the mask does not have the row group's length".into(),
            ));
        }
        let selected = mask.map_or(rows, BooleanBuffer::count_set_bits);
        if selected == 0 {
            return Ok(new_empty_array(&column.ty.arrow()));
        }
        if let Some(values) = group.memory_values(column.id) {
            return match mask {
                None => Ok(Arc::clone(values)),
                Some(mask) => {
                    let mask = BooleanArray::new(mask.clone(), None);
                    let kept = arrow_select::filter::filter(values.as_ref(), &mask);
                    kept.map_err(|_| Error::InvalidInput("rows could not be filtered".into()))
                }
            };
        }
        let Some(segment) = group.segment(column.id) else {
            return Ok(new_null_array(&column.ty.arrow(), selected));
        };
        let malformed = |what| Error::malformed(Role::ColumnData, segment.block.sector, what);
        let bytes = self.blocks.read(Role::ColumnData, &segment.block)?;
        let array = self.codec.decode(&column.ty, group.rows, &bytes, mask);
        let array = array.map_err(|_| malformed("column segment"))?;
        self.blocks.pool().look();
        if selected == rows && array.null_count() as u64 != segment.null_count {
            return Err(malformed("null count of a column segment"));
        }
        Ok(array)
    }

    /// How far the database has come, in what is durable: with [`Synchronous::Off`] the log is synced first.
    ///
    /// # Errors
    /// WriteFailedEarlier and Io where the log cannot be made durable.
    pub fn anchor(&self) -> Result<Anchor> {
        let mut log = self.log.lock();
        let last = log.durable_end()?.or(self.replayed_to);
        let info = self.blocks.info();
        let last = last.unwrap_or_else(|| LogPosition {
            sequence: self.blocks.log_state().sequence,
            end: Lsn::NONE,
            tag: [0; 16],
        });
        Ok(Anchor {
            database_id: *info.database_id.as_bytes(),
            generation: info.generation,
            root_digest: info.root_digest,
            run: info.run,
            log_sequence: last.sequence,
            log_end: last.end,
            log_tag: last.tag,
        })
    }

    /// Holds the open database against what a caller insists on, as opening does.
    ///
    /// # Errors
    /// What [`Freshness`] is there to find.
    pub fn holds(&self, freshness: &Freshness) -> Result<()> {
        let log = self.log.lock();
        self.blocks.holds(freshness)?;
        match log.last().or(self.replayed_to) {
            Some(last) => freshness.check_open_log(last.sequence, last.end),
            None => freshness.check_last_log(self.blocks.log_state().sequence),
        }
    }

    /// Whether a key opens this database.
    ///
    /// # Errors
    /// `NotEncrypted`, `WrongKey`, and what the provider refuses.
    pub fn opens_with(&self, key: &dyn KeyProvider) -> Result<()> {
        let page = self.blocks.header().to_page();
        let header = UnverifiedHeader::parse(&page)?;
        let mut attempt = KeyAttempt::new(key, KdfBudget::default());
        header.unlock(self.blocks.crypto(), &mut attempt)?;
        Ok(())
    }

    /// Whether closing moves what is in the log into the file. It does unless told otherwise; recovery does it else.
    pub fn set_checkpoint_on_close(&self, on: bool) {
        self.checkpoint_on_close.store(on, Ordering::Relaxed);
    }

    /// Moves what is in the log into the file now, where closing is to, and not when the last who has the store lets it go.
    pub fn close(&self) {
        let wanted = self.checkpoint_on_close.swap(false, Ordering::Relaxed);
        if wanted && !self.is_volatile && self.log.lock().is_open() {
            // What does not get into the file stays in the log.
            let _ = self.checkpoint();
        }
    }

    /// Whether closing does.
    pub fn makes_checkpoint_on_close(&self) -> bool {
        self.checkpoint_on_close.load(Ordering::Relaxed)
    }

    /// Bytes of the log after which a commit makes a checkpoint, or has it made.
    pub fn set_autocheckpoint_bytes(&self, bytes: u64) {
        let mut log = self.log.lock();
        log.autocheckpoint_bytes = bytes;
        self.checkpointer.look_at(&log);
    }

    /// Bytes of the log for whose rows there is memory: where it is longer, commits wait for a checkpoint that is due.
    pub fn set_most_log_bytes(&self, bytes: u64) {
        let mut log = self.log.lock();
        log.most_bytes = bytes;
        self.checkpointer.look_at(&log);
    }

    /// Has the log grow beyond that, as far as `room` says, where a checkpoint would write more than it moves; without a room it does not.
    pub fn let_log_grow(&self, room: Option<&Arc<LogRoom>>) {
        let mut log = self.log.lock();
        log.growth.within(room.map(Arc::clone));
        self.checkpointer.look_at(&log);
    }

    /// When commits are made durable.
    pub fn set_synchronous(&self, synchronous: Synchronous) {
        self.log.lock().synchronous = synchronous;
    }

    /// Rows after which a row group of this store ends.
    pub fn row_group_rows(&self) -> usize {
        self.row_group_rows
    }

    /// Bytes of the log that no checkpoint has taken.
    pub fn log_bytes(&self) -> u64 {
        self.log.lock().len()
    }

    /// Gives up the keys of the file while it is open: what is durable stays so, and whoever reads it on, or commits, gets
    /// `KeyRefused`. Rows that are in memory stay there as long as somebody has a snapshot.
    pub fn withdraw_keys(&self) {
        let mut log = self.log.lock();
        log.let_go();
        self.blocks.withdraw_keys();
        self.checkpointer.look_at(&log);
    }

    /// What is known about the file.
    pub fn info(&self) -> StoreInfo {
        self.blocks.info()
    }

    /// What opening found and could bear, for a person to read.
    pub fn notices(&self) -> Vec<Notice> {
        let all = self.blocks.notices().iter().chain(&self.notices);
        all.copied().collect()
    }

    /// Digest of the superblock, which pins every block of the file (FORMAT.md, "Root digest").
    pub fn root_digest(&self) -> [u8; 32] {
        self.blocks.root_digest()
    }

    /// The file below: blocks and their buffer pool.
    pub fn blocks(&self) -> &Arc<BlockStore> {
        &self.blocks
    }

    /// The oldest generation that a reader may need once `newest` is published.
    pub(super) fn oldest_in_use(&self, newest: Generation) -> Generation {
        self.live.lock().oldest(newest)
    }

    /// Makes a committed version the one that all see.
    pub(super) fn publish_shared(&self, version: Arc<CatalogVersion>) -> Arc<CatalogVersion> {
        drop(self.publish(Arc::clone(&version)));
        version
    }

    /// The same; gives the one before, which may be much to take apart.
    pub(super) fn publish(&self, version: Arc<CatalogVersion>) -> Arc<CatalogVersion> {
        self.keep(&version);
        std::mem::replace(&mut *self.current.write(), version)
    }

    /// Keeps the blocks of a version from being reused while somebody has it.
    pub(super) fn keep(&self, version: &Arc<CatalogVersion>) {
        self.live.lock().add(version);
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("blocks", &self.blocks)
            .finish_non_exhaustive()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}

fn too_large() -> Error {
    Error::Unsupported("a value so large that its row group does not fit a block of 64 MiB".into())
}
