//! `BlockStore`: one open database file. Blocks are written into free space; a commit makes a new root of the file name
//! them; until then nothing that was durable is touched.
//!
//! What must hold:
//! - Blocks are written only where the newest superblock has nothing, and where no reader of an older one looks.
//! - Committing keeps to the order of steps in `committing.rs`.
//! - No lock is held while a block is sealed, opened, read or written.
//!
//! Refuses to write when opened read-only.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use hushdb_crypto::CryptoProvider;
use hushdb_keys::{Header, KeyProvider, KeyRing, SlotOptions};
use parking_lot::{Mutex, RwLock};

use super::committing::seal_root;
use super::extents::Extent;
use super::file_map::{FIRST_SECTOR, FIXED_BYTES, HEADER_OFFSETS, SUPERBLOCK_OFFSETS};
use super::history::{History, RunId};
use super::opening::{Opening, SealedRoot, sealed_file};
use super::shared_keys::SharedKeys;
use super::space::{Space, extent_of};
use super::superblock::{Superblock, WalState};
use super::{Anchor, Freshness, Notice, StoreInfo, StoreOptions, free_list};
use crate::block::{
    BlockBuf, BlockRef, BufferPool, PoolKey, Role, SECTOR_BYTES, SealedFile, Sector,
};
use crate::error::{Error, Result};
use crate::file::StorageFile;
use crate::log::{LogBasis, LogKeySource, LogOwner};
use crate::numbers::{Generation, Lsn};

const ROOT_LABEL: &[u8] = b"HUSHROOT";

/// One open database file. May be used from many threads; one of them commits at a time.
pub struct BlockStore {
    pub(super) crypto: CryptoProvider,
    pub(super) keys: Arc<SharedKeys>,
    pub(super) ring: Mutex<Option<KeyRing>>,
    /// Whether one of the ring's copies did not open.
    pub(super) ring_is_damaged: AtomicBool,
    pub(super) header: Mutex<Header>,
    pub(super) sealed: SealedFile,
    pool: Arc<BufferPool>,
    pool_id: u64,
    /// What the newest superblock says.
    pub(super) root: RwLock<Arc<Root>>,
    /// `None` when read-only.
    space: Option<Mutex<Space>>,
    /// The first sector behind every block that may be read, which is `space`'s, for readers who take no lock.
    pub(super) end: AtomicU64,
    /// One flip at a time.
    pub(super) flip: Mutex<()>,
    pub(super) write_failed: AtomicBool,
    /// Blocks that got a place and were not written to it.
    pub(super) unwritten: AtomicU64,
    /// Who opened it: a child that was forked must not write, since the lock and the books are its parent's.
    process: u32,
    /// Names this opening in the superblocks that it writes; zeros when read-only.
    pub(super) run: RunId,
    /// Sequence of the last log that was found when the file was opened, and where its replay ended.
    pub(super) found_log: Mutex<Option<(u64, Lsn)>>,
    /// Whether the next commit is to write the blocks of the history anew, wherever there is room.
    pub(super) moves_history: AtomicBool,
    notices: Vec<Notice>,
}

/// What is known of the newest superblock.
pub(super) struct Root {
    pub(super) sealed: SealedRoot,
    pub(super) free_list_blocks: Vec<BlockRef>,
    /// Seals in the life of the file before it was opened.
    pub(super) seals_before: u64,
}

impl BlockStore {
    /// Makes a database in an empty file: encrypted when there is a key.
    ///
    /// # Errors
    /// `InvalidInput` for a file with something in it, and what the key, the cipher or the file refuse.
    pub fn create(
        file: Arc<dyn StorageFile>,
        key: Option<&dyn KeyProvider>,
        options: &StoreOptions,
    ) -> Result<Self> {
        Self::create_with(file, key, &SlotOptions::default(), options)
    }

    /// As [`BlockStore::create`], with a label and stretching parameters for the first key slot.
    fn create_with(
        file: Arc<dyn StorageFile>,
        key: Option<&dyn KeyProvider>,
        slot: &SlotOptions,
        options: &StoreOptions,
    ) -> Result<Self> {
        if options.read_only {
            return Err(Error::ReadOnly);
        }
        if !file.is_empty()? {
            return Err(Error::InvalidInput(
                "a database is made in an empty file".into(),
            ));
        }
        let (header, keys) = match key {
            Some(key) => {
                let (header, keys) = Header::create(&options.crypto, options.suite, key, slot)?;
                (header, Some(keys))
            }
            None => (Header::create_plain(&options.crypto)?, None),
        };
        let keys = SharedKeys::new(keys);
        let sealed = sealed_file(Arc::clone(&file), options.crypto, &header, &keys)?;
        let run = new_run(&options.crypto)?;
        let superblock = Superblock {
            generation: Generation::new(1),
            total_sectors: FIRST_SECTOR.number(),
            catalog: None,
            free_list: None,
            key_ring: None,
            header_sequence: header.sequence(),
            header_mac: header.mac(),
            wal: WalState::default(),
            seals: 1,
            previous_tag: [0; 16],
            history: History {
                run,
                ..History::default()
            },
        };
        let root = seal_root(&sealed, sealed.key_id(), superblock)?;
        file.set_len(FIXED_BYTES)?;
        for offset in SUPERBLOCK_OFFSETS {
            file.write_all_at(offset, root.page.as_slice())?;
        }
        let page = header.to_page();
        file.write_all_at(HEADER_OFFSETS[1], page.as_slice())?;
        file.sync()?;
        // Last: a file whose making was interrupted is no database, rather than a damaged one.
        file.write_all_at(HEADER_OFFSETS[0], page.as_slice())?;
        file.sync()?;
        file.sync_directory()?;
        let opening = Opening {
            header,
            keys,
            ring: None,
            sealed,
            root,
            notices: Vec::new(),
            repairs: Vec::new(),
        };
        Self::from_opening(opening, options, run)
    }

    /// Opens a database. Unless read-only, damage to one of two copies is put right; [`BlockStore::notices`] tells.
    ///
    /// # Errors
    /// Everything that [`Error`] has under wrong keys, tampering and damage, each by its name.
    pub fn open(
        file: Arc<dyn StorageFile>,
        key: Option<&dyn KeyProvider>,
        options: &StoreOptions,
    ) -> Result<Self> {
        let mut opening = Opening::of(&file, key, options)?;
        let repairs = match options.read_only {
            true => Vec::new(),
            false => std::mem::take(&mut opening.repairs),
        };
        let run = match options.read_only {
            true => RunId::default(),
            false => new_run(&options.crypto)?,
        };
        let mut this = Self::from_opening(opening, options, run)?;
        this.holds(&options.freshness)?;
        let generation = this.generation();
        let weak = |anchor: &&Anchor| !anchor.has_run() && anchor.generation < generation;
        if let Some(anchor) = options.freshness.min_anchor.as_ref().filter(weak) {
            let generation = anchor.generation;
            this.notices
                .push(Notice::AnchorWithoutHistory { generation });
        }
        for (offset, page) in &repairs {
            file.write_all_at(*offset, page.as_slice())?;
            file.sync()?;
        }
        if !options.read_only {
            this.overwrite_reserved()?;
        }
        Ok(this)
    }

    fn from_opening(opening: Opening, options: &StoreOptions, run: RunId) -> Result<Self> {
        let Opening {
            header,
            keys,
            ring,
            sealed,
            root,
            notices,
            ..
        } = opening;
        let sealed = sealed.wiping(options.pool.wipes());
        let total = root.superblock.total_sectors;
        let (mut space, mut free_list_blocks) = (None, Vec::new());
        if !options.read_only {
            let read = |r: &BlockRef| sealed.read(Role::FreeList, r, total);
            let (free, blocks) = free_list::read_chain(root.superblock.free_list, total, read)?;
            space = Some(Mutex::new(Space::new(total, &free)?));
            free_list_blocks = blocks;
        }
        let ring_is_damaged = ring.as_ref().is_some_and(|ring| ring.damaged.is_some());
        let seals_before = root.superblock.seals - sealed.seals().min(root.superblock.seals);
        Ok(Self {
            crypto: options.crypto,
            keys,
            ring: Mutex::new(ring.map(|ring| ring.ring)),
            ring_is_damaged: AtomicBool::new(ring_is_damaged),
            header: Mutex::new(header),
            sealed,
            pool: Arc::clone(&options.pool),
            pool_id: options.pool.register_store(),
            root: RwLock::new(Arc::new(Root {
                sealed: root,
                free_list_blocks,
                seals_before,
            })),
            space,
            end: AtomicU64::new(total),
            flip: Mutex::new(()),
            write_failed: AtomicBool::new(false),
            unwritten: AtomicU64::new(0),
            process: std::process::id(),
            run,
            found_log: Mutex::default(),
            moves_history: AtomicBool::new(false),
            notices,
        })
    }

    /// A buffer for a payload of about that many bytes.
    pub fn block_buffer(payload_len_hint: usize) -> BlockBuf {
        BlockBuf::with_capacity(payload_len_hint)
    }

    /// Finds room, seals and writes. The block is durable and named only with the next commit.
    ///
    /// # Errors
    /// `ReadOnly`, `Full`, `InvalidInput` for a payload over the limit, `Io`.
    pub fn write(&self, role: Role, buf: BlockBuf) -> Result<BlockRef> {
        self.write_for(role, buf, false)
    }

    /// As [`BlockStore::write`], for a transaction that others may commit before: the block stays apart until it is
    /// adopted or freed.
    pub(crate) fn write_aside(&self, role: Role, buf: BlockBuf) -> Result<BlockRef> {
        self.write_for(role, buf, true)
    }

    /// A block that was written aside is part of the next commit.
    pub(crate) fn adopt(&self, r: &BlockRef) {
        if let (Some(space), Some(extent)) = (&self.space, extent_of(r)) {
            space.lock().adopt(extent);
        }
    }

    fn write_for(&self, role: Role, buf: BlockBuf, aside: bool) -> Result<BlockRef> {
        let (_, sectors) = buf.measure()?;
        let (sector, key_id) = {
            let mut space = self.space()?.lock();
            let sector = space.allocate(self.sealed.file().as_ref(), sectors)?;
            let key_id = self.sealed.key_id();
            if aside {
                space.set_aside(Extent::new(sector, u64::from(sectors)), key_id);
            }
            self.end
                .store(space.extents().end().number(), Ordering::Release);
            (sector, key_id)
        };
        self.written_or_free(key_id, role, sector, sectors, buf)
    }

    /// As [`BlockStore::write`], under a data key that need not be the one of new blocks.
    pub(super) fn write_under(&self, key_id: u32, role: Role, buf: BlockBuf) -> Result<BlockRef> {
        let (_, sectors) = buf.measure()?;
        let sector = {
            let mut space = self.space()?.lock();
            let sector = space.allocate(self.sealed.file().as_ref(), sectors)?;
            self.end
                .store(space.extents().end().number(), Ordering::Release);
            sector
        };
        self.written_or_free(key_id, role, sector, sectors, buf)
    }

    fn written_or_free(
        &self,
        key_id: u32,
        role: Role,
        sector: Sector,
        sectors: u32,
        buf: BlockBuf,
    ) -> Result<BlockRef> {
        let written = self.write_at(key_id, role, sector, buf);
        written.inspect_err(|_| {
            self.unwritten.fetch_add(1, Ordering::AcqRel);
            self.give_back(Extent::new(sector, u64::from(sectors)));
        })
    }

    /// Seals the payload of a block anew, under the data key of new blocks, and writes it for a later commit to name.
    ///
    /// # Errors
    /// As [`BlockStore::read`] and [`BlockStore::write`].
    pub(crate) fn reseal_aside(&self, role: Role, r: &BlockRef) -> Result<BlockRef> {
        let key = |block| PoolKey {
            store: self.pool_id,
            role,
            block,
        };
        let pooled = self.pool.get(&key(*r));
        let payload = match &pooled {
            Some(payload) => payload.clone(),
            None => self.read_from_disk(role, r)?,
        };
        let mut buf = BlockBuf::with_capacity(payload.len());
        buf.extend_from_slice(&payload);
        let sealed = self.write_aside(role, buf)?;
        if let Some(payload) = pooled {
            let held_bytes = sealed.sectors().unwrap_or_default() as usize * SECTOR_BYTES;
            self.pool.put(key(sealed), payload, held_bytes);
        }
        Ok(sealed)
    }

    /// The payload of a block, through the pool.
    ///
    /// # Errors
    /// As [`SealedFile::read`].
    pub fn read(&self, role: Role, r: &BlockRef) -> Result<Bytes> {
        let key = PoolKey {
            store: self.pool_id,
            role,
            block: *r,
        };
        if let Some(payload) = self.pool.get(&key) {
            return Ok(payload);
        }
        let payload = self.read_from_disk(role, r)?;
        let held_bytes = r.sectors().unwrap_or_default() as usize * SECTOR_BYTES;
        self.pool.put(key, payload.clone(), held_bytes);
        Ok(payload)
    }

    /// What `make` makes of a block's payload. It is kept with the block in the pool, so it is small beside it.
    ///
    /// # Errors
    /// As [`BlockStore::read`], and those of `make`.
    pub(crate) fn read_as<T: Any + Send + Sync>(
        &self,
        role: Role,
        r: &BlockRef,
        make: impl FnOnce(&Bytes) -> Result<T>,
    ) -> Result<Arc<T>> {
        let key = PoolKey {
            store: self.pool_id,
            role,
            block: *r,
        };
        let made = self.pool.made_of(&key);
        if let Some(made) = made.and_then(|made| made.downcast().ok()) {
            return Ok(made);
        }
        let made = Arc::new(make(&self.read(role, r)?)?);
        self.pool.keep(&key, made.clone());
        Ok(made)
    }

    /// The payload of a block as the disk has it now, past the pool.
    ///
    /// # Errors
    /// As [`SealedFile::read`].
    pub fn read_from_disk(&self, role: Role, r: &BlockRef) -> Result<Bytes> {
        if r.place() < FIRST_SECTOR {
            return Err(Error::malformed(
                role,
                r.sector,
                "it lies in the fixed part of the file",
            ));
        }
        self.sealed.read(role, r, self.end.load(Ordering::Acquire))
    }

    /// The state that is being prepared needs this block no more. One that was written since the last commit is free at
    /// once; others after the commit, when no reader needs them.
    pub fn free(&self, r: &BlockRef) {
        if let Some(extent) = extent_of(r) {
            self.give_back(extent);
        }
    }

    /// Gives back what was written since the last commit, and forgets what was freed since.
    pub fn rollback(&self) {
        if let Some(space) = &self.space
            && space.lock().rollback().is_err()
        {
            self.write_failed.store(true, Ordering::Release);
        }
    }

    /// Lets freed extents be used again that only readers of generations before `oldest_snapshot` needed.
    pub fn release(&self, oldest_snapshot: Generation) -> Result<()> {
        self.space()?.lock().release(oldest_snapshot)
    }

    /// From now on, whether blocks are written as near to the front of the file as they fit.
    pub(crate) fn fill_front(&self, on: bool) {
        if let Some(space) = &self.space {
            space.lock().fill_front(on);
        }
    }

    /// Whether the newest superblock counts sectors at the end that are free.
    pub(crate) fn has_free_tail(&self) -> bool {
        let total = self.root().sealed.superblock.total_sectors;
        let space = self.space.as_ref();
        space.is_some_and(|space| space.lock().extents().end() < Sector::new(total))
    }

    /// Ends the file behind the last sector that the newest superblock counts or that was allocated since. Nobody may
    /// commit meanwhile.
    ///
    /// # Errors
    /// Io; the file is then longer than it need be.
    pub(crate) fn cut_tail(&self) -> Result<()> {
        let total = self.root().sealed.superblock.total_sectors;
        let file = self.sealed.file();
        self.space()?.lock().cut_tail(file.as_ref(), total)
    }

    /// The verified file header.
    pub fn header(&self) -> Header {
        self.header.lock().clone()
    }

    /// The database that logs beside the file belong to.
    pub(crate) fn log_owner(&self) -> LogOwner {
        let header = self.header.lock();
        let id = *header.database_id().as_bytes();
        match self.sealed.key_id() {
            0 => LogOwner::plain(self.crypto, id),
            key_id => {
                let keys = Arc::clone(&self.keys) as Arc<dyn LogKeySource>;
                LogOwner::encrypted(self.crypto, id, keys, key_id)
            }
        }
    }

    /// The log that the newest superblock names, or where the next one goes on.
    pub(crate) fn log_state(&self) -> WalState {
        self.root().sealed.superblock.wal
    }

    /// What a log that builds on the newest superblock stands on.
    pub(crate) fn next_log(&self) -> LogBasis {
        let root = self.root();
        LogBasis {
            sequence: root.sealed.superblock.wal.sequence + 1,
            base_generation: root.sealed.superblock.generation,
            chain_tag: root.sealed.tag,
        }
    }

    /// Nothing more may be written: what is on disk is not known.
    pub(crate) fn stop_writing(&self) {
        self.write_failed.store(true, Ordering::Release);
    }

    /// Gives up all keys and opened blocks: from now on nothing of the file is read or written.
    pub(crate) fn withdraw_keys(&self) {
        self.stop_writing();
        self.keys.withdraw();
        self.sealed.forget_all_keys();
        self.pool.remove_store(self.pool_id);
    }

    /// The root of what was committed last; `None` in a new database.
    pub fn catalog_ref(&self) -> Option<BlockRef> {
        self.root().sealed.superblock.catalog
    }

    /// Blocks of the free list of what was committed last. Empty when opened read-only.
    pub fn free_list_refs(&self) -> Vec<BlockRef> {
        self.root().free_list_blocks.clone()
    }

    /// What is free once nobody reads an older generation, as (first sector, sectors), in order. Empty when read-only.
    ///
    /// # Errors
    /// `Malformed` when a block was freed twice.
    pub fn free_extents(&self) -> Result<Vec<(u64, u64)>> {
        match &self.space {
            Some(space) => {
                let total = self.root().sealed.superblock.total_sectors;
                space.lock().free_extents(total)
            }
            None => Ok(Vec::new()),
        }
    }

    /// Reads the free list from the file, as who opens it to write does: extents as (first sector, sectors), in order.
    /// `on_block` is called with each of its blocks before that is opened.
    pub(crate) fn read_free_list(
        &self,
        on_block: &mut dyn FnMut(&BlockRef),
    ) -> Result<Vec<(u64, u64)>> {
        let root = self.root();
        let Superblock {
            free_list,
            total_sectors,
            ..
        } = root.sealed.superblock;
        let read = |block: &BlockRef| {
            on_block(block);
            self.read_from_disk(Role::FreeList, block)
        };
        let (extents, _) = free_list::read_chain(free_list, total_sectors, read)?;
        let places = extents.iter().map(|e| (e.sector.number(), e.sectors));
        Ok(places.collect())
    }

    /// Generation of the newest superblock.
    pub fn generation(&self) -> Generation {
        self.root().sealed.superblock.generation
    }

    /// SHA-256 over "HUSHROOT", the database id and the newest superblock as it stands on disk.
    pub fn root_digest(&self) -> [u8; 32] {
        let id = *self.header.lock().database_id();
        root_digest(&self.crypto, id.as_bytes(), &self.root().sealed)
    }

    /// Holds the newest superblock against what a caller insists on.
    ///
    /// # Errors
    /// What [`Freshness`] is there to find, but for what the log says.
    pub(crate) fn holds(&self, freshness: &Freshness) -> Result<()> {
        let (id, commitment) = {
            let header = self.header.lock();
            (*header.database_id(), header.commitment())
        };
        freshness.check_key(commitment)?;
        let root = self.root();
        let superblock = &root.sealed.superblock;
        freshness.check_root(
            id.as_bytes(),
            superblock.generation,
            &root_digest(&self.crypto, id.as_bytes(), &root.sealed),
            superblock.wal.is_open,
        )?;
        match &freshness.min_anchor {
            Some(anchor) if anchor.generation < superblock.generation => {
                superblock.history.holds(self, anchor)
            }
            _ => Ok(()),
        }
    }

    /// Facts about the file.
    pub fn info(&self) -> StoreInfo {
        let (root, header) = (self.root(), self.header());
        let superblock = &root.sealed.superblock;
        let space = self.space.as_ref().map(|space| {
            let space = space.lock();
            (
                space.extents().free_sectors(),
                space.extents().retired_sectors(),
            )
        });
        StoreInfo {
            database_id: *header.database_id(),
            suite: header.suite(),
            read_only: self.read_only(),
            generation: superblock.generation,
            // Of the same root as the generation, whatever is committed meanwhile.
            root_digest: root_digest(&self.crypto, header.database_id().as_bytes(), &root.sealed),
            run: superblock.history.run,
            total_sectors: superblock.total_sectors,
            free_sectors: space.map(|(free, _)| free),
            retired_sectors: space.map_or(0, |(_, retired)| retired),
            file_bytes: self.sealed.file().len().unwrap_or_default(),
            header_sequence: header.sequence(),
            seals: root.seals_before + self.sealed.seals(),
        }
    }

    /// What opening found and could bear.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The pool that opened blocks are kept in.
    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    /// The cryptographic parts.
    pub fn crypto(&self) -> &CryptoProvider {
        &self.crypto
    }

    /// True if nothing may be written: opened so, or after a write failed.
    pub fn read_only(&self) -> bool {
        self.space().is_err()
    }

    /// Whether anything may be written.
    ///
    /// # Errors
    /// `ReadOnly`, `WriteFailedEarlier`.
    pub fn writable(&self) -> Result<()> {
        self.space().map(|_| ())
    }

    pub(super) fn space(&self) -> Result<&Mutex<Space>> {
        if self.write_failed.load(Ordering::Acquire) {
            return Err(Error::WriteFailedEarlier);
        }
        let here = self.process == std::process::id();
        let space = self.space.as_ref().filter(|_| here);
        space.ok_or(Error::ReadOnly)
    }

    pub(super) fn root(&self) -> Arc<Root> {
        Arc::clone(&self.root.read())
    }

    pub(super) fn write_at(
        &self,
        key_id: u32,
        role: Role,
        sector: Sector,
        buf: BlockBuf,
    ) -> Result<BlockRef> {
        let birth = self.generation().next();
        let block = self.sealed.seal_under(key_id, role, sector, birth, buf)?;
        self.sealed.write(&block)?;
        let r = block.block_ref;
        let written = r.sector..r.sector + u64::from(r.sectors().unwrap_or_default());
        self.pool.remove_overwritten(self.pool_id, written);
        Ok(r)
    }

    pub(super) fn give_back(&self, extent: Extent) {
        if let Some(space) = &self.space
            && space.lock().drop_extent(extent).is_err()
        {
            // An extent that is free already was freed again: the books are wrong, so no more is written by them.
            self.write_failed.store(true, Ordering::Release);
        }
    }
}

/// A name that no other run has.
fn new_run(crypto: &CryptoProvider) -> Result<RunId> {
    let mut run = RunId::default();
    let random = crypto.random(&mut run);
    random.map_err(|_| Error::Crypto("there are no random bytes"))?;
    Ok(run)
}

fn root_digest(crypto: &CryptoProvider, database_id: &[u8; 16], root: &SealedRoot) -> [u8; 32] {
    crypto.sha256(&[ROOT_LABEL, database_id, root.page.as_slice()])
}

impl Drop for BlockStore {
    fn drop(&mut self) {
        self.pool.remove_store(self.pool_id);
        // A file that was only looked at stays as it is, whatever lies behind its end.
        if self.space().is_ok() && self.sealed.seals() > 0 {
            // What the file grew by and nobody used. A longer file is legal, so that it may fail.
            let file = self.sealed.file();
            let total_bytes = self.root().sealed.superblock.total_sectors * SECTOR_BYTES as u64;
            if file.len().is_ok_and(|len| len > total_bytes) {
                let _ = file.set_len(total_bytes);
            }
        }
    }
}

impl std::fmt::Debug for BlockStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockStore")
            .field("sealed", &self.sealed)
            .field("generation", &self.generation())
            .finish()
    }
}
