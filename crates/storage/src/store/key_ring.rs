//! The key ring in the file: two copies, which the superblock names, and the steps by which another takes its place.
//!
//! What must hold:
//! - Order: both copies of the ring and a free list, sealed under the system's data key of the header that is to come, sync; then
//!   as any change of the file header (`committing.rs`), which that superblock names. So what interrupts it leaves the header
//!   before with all that it needs, or the one that comes.
//! - A ring is read only under the system's data key. What an older key opens decides nothing.
//! - The places of a replaced ring are neither free nor named until the ring after the next: a writer overwrites them once the
//!   superblock that replaced it is durable in both slots, or when it opens the file. Nothing else is ever overwritten so.
//!
//! Refuses copies that differ, and places that cannot be.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use hushdb_crypto::CryptoProvider;
use hushdb_keys::{
    DataKeyInfo, DatabaseKeys, FirstKeys, Header, HeaderError, KeyProvider, KeyRing, NewMaster,
    ReservedSectors, SlotOptions, SlotPlan, Suite,
};

use super::block_store::{BlockStore, Root};
use super::extents::Extent;
use super::file_map::{FIRST_SECTOR, HEADER_OFFSETS};
use super::notice::Notice;
use super::shared_keys::{Keys, SharedKeys};
use super::space::extent_of;
use super::superblock::Superblock;
use crate::block::{BlockBuf, BlockRef, Role, SECTOR_BYTES, SealedFile, Sector, is_block_of};
use crate::clock;
use crate::error::{Error, Place, Result};
use crate::numbers::Generation;
use crate::tree::blocks_of;

/// What is prepared before a superblock names a ring.
type Prepared = (NextKeys, Superblock, Vec<BlockRef>, Vec<Extent>);

/// A key ring as opening found it.
pub(super) struct OpenedRing {
    pub(super) ring: KeyRing,
    /// The copy that does not open.
    pub(super) damaged: Option<usize>,
}

/// A header, the keys behind it and the ring that goes with both.
pub(super) struct NextKeys {
    header: Header,
    keys: DatabaseKeys,
    ring: KeyRing,
}

/// Reads the ring that a superblock names, and gives its keys to the others.
pub(super) fn read_ring(
    sealed: &SealedFile,
    superblock: &Superblock,
    shared: &SharedKeys,
    crypto: &CryptoProvider,
) -> Result<Option<OpenedRing>> {
    let keys = match shared.now() {
        Keys::None => None,
        _ => Some(shared.get()?),
    };
    let previous = keys.as_ref().and_then(|keys| keys.previous_key_id());
    let Some(refs) = &superblock.key_ring else {
        // Whoever has that key could have left the ring out.
        return match previous {
            None => Ok(None),
            Some(_) => Err(Error::malformed(
                Role::KeyRing,
                0,
                "there is none, though the header has an earlier data key",
            )),
        };
    };
    let malformed = |what| Error::malformed(Role::KeyRing, refs[0].sector, what);
    let keys = keys.ok_or_else(|| malformed("a plain database has no key ring"))?;
    let total = superblock.total_sectors;
    let (first, second) = match refs.map(|r| read_copy(sealed, &r, total)) {
        [Err(Error::Io(error)), _] | [_, Err(Error::Io(error))] => return Err(error.into()),
        [Err(error), Err(_)] => return Err(Error::KeyRingLost(Box::new(error))),
        [first, second] => (first.ok(), second.ok()),
    };
    let damaged = match (&first, &second) {
        (Some(first), Some(second)) if first != second => {
            return Err(malformed("its two copies differ"));
        }
        (None, _) => Some(0),
        (_, None) => Some(1),
        _ => None,
    };
    let ring = KeyRing::from_bytes(&first.or(second).unwrap_or_default())?;
    let mut places: Vec<ReservedSectors> = ring.reserved.clone();
    places.extend(
        refs.iter()
            .filter_map(|r| Some((r.sector, r.sectors()?.into()))),
    );
    places.sort_unstable();
    let (mut from, total) = (FIRST_SECTOR, Sector::new(total));
    for (sector, sectors) in places {
        let sector = Sector::new(sector);
        let end = sector.checked_add(sectors).filter(|end| *end <= total);
        match end {
            Some(end) if sector >= from && sectors > 0 => from = end,
            _ => return Err(malformed("it reserves sectors that it cannot have")),
        }
    }
    shared.set(Keys::There(Arc::new(keys.with_ring(crypto, &ring)?)));
    for key in ring.retired() {
        sealed.set_suite(key.id, key.suite);
    }
    Ok(Some(OpenedRing { ring, damaged }))
}

fn read_copy(sealed: &SealedFile, r: &BlockRef, total_sectors: u64) -> Result<Bytes> {
    if r.key_id != sealed.key_id() || r.place() < FIRST_SECTOR {
        return Err(Error::BlockReplaced(Place {
            role: Role::KeyRing,
            sector: r.sector,
        }));
    }
    sealed.read(Role::KeyRing, r, total_sectors)
}

impl BlockStore {
    /// Has another data key seal what is written from now on, of another suite if one is given; the one before is kept in the key ring. `false`: blocks are under an
    /// older key still, from the last time, and nothing was done.
    ///
    /// # Errors
    /// `NotEncrypted`, `Full` and `Io`: nothing was done, or, where the handle writes no more, what is on disk is not known;
    /// both the keys before and the new ones open it.
    pub(crate) fn begin_rotation(
        &self,
        oldest: Generation,
        now: i64,
        suite: Option<Suite>,
    ) -> Result<bool> {
        self.change_ring(oldest, |keys, header, ring| {
            if ring.is_some_and(KeyRing::has_retired) {
                return Ok(None);
            }
            let mut header = header.clone();
            let suite = suite.unwrap_or(header.suite());
            let next = header.rotate_data_key(&self.crypto, keys, ring, suite, now)?;
            let (keys, ring) = next;
            Ok(Some(NextKeys { header, keys, ring }))
        })
    }

    /// As [`BlockStore::begin_rotation`], with a new master key and ring key. `false`: blocks are under an older key still, and nothing
    /// was done.
    ///
    /// # Errors
    /// As [`BlockStore::begin_rotation`], and where key slots were changed since `new` was prepared.
    pub(crate) fn begin_rekey(&self, oldest: Generation, now: i64, new: NewMaster) -> Result<bool> {
        self.change_ring(oldest, |keys, header, ring| {
            if ring.is_some_and(KeyRing::has_retired) {
                return Ok(None);
            }
            let mut header = header.clone();
            let next = header.rekey(&self.crypto, keys, ring, new, now)?;
            let (keys, ring) = next;
            Ok(Some(NextKeys { header, keys, ring }))
        })
    }

    /// Draws a master key and wraps it for the key slots of a plan, which takes as long as asking for their keys and stretching them.
    ///
    /// # Errors
    /// `NotEncrypted`, and what [`Header::prepare_new_master`] refuses.
    pub fn prepare_new_master(&self, plan: &[SlotPlan<'_>]) -> Result<NewMaster> {
        let (keys, header) = (self.keys.get()?, self.header());
        Ok(header.prepare_new_master(&self.crypto, &keys, plan)?)
    }

    /// Draws all keys of a plain file that is to be encrypted, in a slot for that key, which takes as long as asking for the key and
    /// stretching it.
    ///
    /// # Errors
    /// Where it is encrypted already, and what [`Header::prepare_encryption`] refuses.
    pub fn prepare_encryption(
        &self,
        suite: Suite,
        key: &dyn KeyProvider,
        slot: &SlotOptions,
    ) -> Result<FirstKeys> {
        let now = clock::unix_seconds();
        let header = self.header();
        Ok(header.prepare_encryption(&self.crypto, suite, key, slot, now)?)
    }

    /// Has a plain file be an encrypted one, whose blocks are read as they are until they are sealed. It names no log.
    ///
    /// # Errors
    /// Where it was encrypted since `first` was prepared; `Full` and `Io`: nothing was done, or, where the handle writes no more, what is on
    /// disk is not known: it opens with the key or without one.
    pub(crate) fn begin_encryption(&self, oldest: Generation, first: FirstKeys) -> Result<()> {
        self.space()?;
        let _flip = self.flip.lock();
        let header = self.header.lock().clone();
        let is_next = header.sequence().checked_add(1) == Some(first.header.sequence());
        if header.suite().is_encrypted() || !is_next || self.log_state().is_open {
            return Err(HeaderError::SlotsChanged.into());
        }
        let FirstKeys { header, keys, ring } = first;
        self.install(oldest, NextKeys { header, keys, ring })
    }

    /// Forgets all data keys but the system's. Nothing in the file may be under another.
    ///
    /// # Errors
    /// As [`BlockStore::begin_rotation`].
    pub(crate) fn end_rotation(&self, oldest: Generation) -> Result<()> {
        let ended = self.change_ring(oldest, |keys, header, ring| {
            let Some(ring) = ring.filter(|ring| ring.has_retired()) else {
                return Ok(None);
            };
            let mut header = header.clone();
            let (keys, ring) = header.forget_retired_keys(&self.crypto, keys, ring)?;
            Ok(Some(NextKeys { header, keys, ring }))
        });
        ended.map(|_| self.sealed.forget_other_keys())
    }

    /// Has the ring say at which age in days the data key is to be changed; 0: never. Makes a ring where there is none.
    ///
    /// # Errors
    /// As [`BlockStore::begin_rotation`].
    pub(crate) fn set_key_age_days(&self, oldest: Generation, days: u32) -> Result<()> {
        self.change_ring(oldest, |keys, header, ring| {
            let mut header = header.clone();
            let ring = header.set_key_age_days(&self.crypto, keys, ring, days)?;
            let keys = DatabaseKeys::clone(keys);
            Ok(Some(NextKeys { header, keys, ring }))
        })?;
        self.ring_is_damaged.store(false, Ordering::Release);
        Ok(())
    }

    /// The age in days at which the data key is to be changed; `None`: never.
    pub(crate) fn key_age_days(&self) -> Option<u32> {
        self.ring.lock().as_ref()?.key_age_days()
    }

    /// Writes the ring anew if one of its copies was damaged when the file was opened.
    ///
    /// # Errors
    /// As [`BlockStore::begin_rotation`].
    pub(crate) fn mend_ring(&self, oldest: Generation) -> Result<()> {
        if !self.ring_is_damaged.load(Ordering::Acquire) {
            return Ok(());
        }
        self.change_ring(oldest, |keys, header, ring| {
            Ok(ring.map(|ring| NextKeys {
                header: header.clone(),
                keys: DatabaseKeys::clone(keys),
                ring: ring.clone(),
            }))
        })?;
        self.ring_is_damaged.store(false, Ordering::Release);
        Ok(())
    }

    /// The copy of the ring that opening found damaged, as long as it was not written anew.
    pub(crate) fn damaged_ring_copy(&self) -> Option<usize> {
        let is_damaged = self.ring_is_damaged.load(Ordering::Acquire);
        let told = self.notices().iter().find_map(|notice| match notice {
            Notice::KeyRingCopyDamaged { copy } => Some(*copy),
            _ => None,
        });
        told.filter(|_| is_damaged)
    }

    /// The data key that new blocks are sealed under; 0 in a plain database.
    pub(crate) fn sealing_key_id(&self) -> u32 {
        self.sealed.key_id()
    }

    /// Whether the blocks that are the file's own, and the root of the catalog, are under that data key.
    ///
    /// # Errors
    /// When a block of the history does not open or does not parse.
    pub(crate) fn own_is_under(&self, key_id: u32) -> Result<bool> {
        let root = self.root();
        let superblock = &root.sealed.superblock;
        let mut own: Vec<BlockRef> = root.free_list_blocks.clone();
        own.extend(superblock.catalog);
        if let Some(tree) = &superblock.history.tree {
            own.extend(blocks_of(self, tree)?);
        }
        Ok(own.iter().all(|block| block.key_id == key_id))
    }

    /// Has the next commit write the blocks of the history anew, too, if there are any.
    pub(crate) fn moves_own_blocks(&self) {
        let has_tree = self.history().tree.is_some();
        self.moves_history.store(has_tree, Ordering::Release);
    }

    /// The data keys that blocks may still be under, the one of new blocks last. Empty in a plain database.
    pub(crate) fn key_ids(&self) -> Vec<u32> {
        let system = self.sealed.key_id();
        let ring = self.ring.lock();
        let retired = ring.iter().flat_map(|ring| ring.retired_ids());
        let all = retired.chain(Some(system).filter(|id| *id != 0));
        all.collect()
    }

    /// What is known of those data keys. Empty in a plain database.
    pub fn data_keys(&self) -> Vec<DataKeyInfo> {
        let id = self.sealed.key_id();
        let suite = self.header.lock().suite();
        let ring = self.ring.lock();
        let mut all: Vec<DataKeyInfo> = ring.iter().flat_map(KeyRing::retired).collect();
        let newest = (id != 0).then(|| DataKeyInfo {
            id,
            suite,
            made: ring.as_ref().and_then(KeyRing::key_made),
            ended: None,
        });
        all.extend(newest);
        all
    }

    /// What the key ring keeps from being used: places of the one before it.
    pub fn reserved_sectors(&self) -> Vec<ReservedSectors> {
        let ring = self.ring.lock();
        ring.iter().flat_map(|ring| ring.reserved.clone()).collect()
    }

    /// Both copies of the key ring, if there is one.
    pub fn key_ring_refs(&self) -> Vec<BlockRef> {
        self.root()
            .sealed
            .superblock
            .key_ring
            .into_iter()
            .flatten()
            .collect()
    }

    /// Makes `next` the header, keys and ring of the file. `false`: there is no next, and nothing was done. Nobody else may be
    /// preparing a commit.
    fn change_ring(
        &self,
        oldest: Generation,
        next: impl FnOnce(&Arc<DatabaseKeys>, &Header, Option<&KeyRing>) -> Result<Option<NextKeys>>,
    ) -> Result<bool> {
        self.space()?;
        let _flip = self.flip.lock();
        let before = self.keys.get()?;
        let header = self.header.lock().clone();
        let ring_before = self.ring.lock().clone();
        match next(&before, &header, ring_before.as_ref())? {
            Some(next) => self.install(oldest, next).map(|()| true),
            None => Ok(false),
        }
    }

    /// Makes these the header, keys and ring of the file, by who holds the flip.
    fn install(&self, oldest: Generation, next: NextKeys) -> Result<()> {
        let (root, before) = (self.root(), self.keys.now());
        let key_id = next.keys.system_key_id();
        // Nobody seals under the new key yet, or looks for a block under it.
        if key_id != self.sealed.key_id() {
            self.sealed.set_suite(key_id, next.header.suite());
        }
        self.keys.set(Keys::There(Arc::new(next.keys.clone())));
        let prepared = self.prepare_ring(&root, next);
        let (next, superblock, free_list_blocks, freed) = prepared.inspect_err(|_| {
            self.rollback();
            self.keys.set(before);
            if key_id != self.sealed.key_id() {
                // The next try draws another key, which has the same number.
                self.sealed.forget_key(key_id);
            }
        })?;
        let sealed = self.flip_with_header(&root, superblock, &next.header, key_id)?;
        let generation = sealed.superblock.generation;
        let seals_before = root.seals_before;
        *self.root.write() = Arc::new(Root {
            sealed,
            free_list_blocks,
            seals_before,
        });
        {
            // Under this lock a block gets its place and its key.
            let mut space = self.space()?.lock();
            self.sealed.set_key_id(key_id);
            space.committed(generation, &freed, oldest)?;
            self.end
                .store(space.extents().end().number(), Ordering::Release);
        }
        let page = next.header.to_page();
        let last = 1 - (next.header.sequence() & 1) as usize;
        *self.header.lock() = next.header;
        *self.ring.lock() = Some(next.ring);
        self.write_fixed(HEADER_OFFSETS[last], page.as_slice())
    }

    /// Writes ring and free list, and makes them durable. Gives the superblock that names them and what is freed with it.
    fn prepare_ring(&self, root: &Root, mut next: NextKeys) -> Result<Prepared> {
        let key_id = next.keys.system_key_id();
        let before = &root.sealed.superblock;
        let mut history = self.history_behind(root)?;
        self.store_history(&mut history)?;
        let mut freed: Vec<Extent> = root.free_list_blocks.iter().filter_map(extent_of).collect();
        let over = next.ring.reserved.iter();
        freed.extend(over.map(|(sector, sectors)| Extent::new(Sector::new(*sector), *sectors)));
        let replaced = before.key_ring.iter().flatten().filter_map(extent_of);
        next.ring.reserved = replaced.map(|e| (e.sector.number(), e.sectors)).collect();
        let bytes = next.ring.to_bytes();
        let write = || {
            let mut buf = BlockBuf::with_capacity(bytes.len());
            buf.extend_from_slice(&bytes);
            self.write_under(key_id, Role::KeyRing, buf)
        };
        let copies = [write()?, write()?];
        let (free_list_blocks, total_sectors) = self.write_free_list(key_id, &freed)?;
        let log_key = match before.wal.key_id {
            0 if before.wal.is_open => self.sealed.key_id(),
            key_id => key_id,
        };
        let mut superblock = Superblock {
            generation: before.generation.next(),
            total_sectors,
            free_list: free_list_blocks.first().copied(),
            key_ring: Some(copies),
            header_sequence: next.header.sequence(),
            header_mac: next.header.mac(),
            history,
            ..before.clone()
        };
        superblock.wal.key_id = log_key;
        self.sync()?;
        Ok((next, superblock, free_list_blocks, freed))
    }

    /// Overwrites the places of the replaced ring, as far as they are not zeros already. Only the superblock that does not name
    /// them may be on disk.
    ///
    /// # Errors
    /// Io: they are overwritten when the file is opened again.
    pub(crate) fn overwrite_reserved(&self) -> Result<()> {
        let file = self.sealed.file();
        let mut wrote = false;
        for (sector, sectors) in self.reserved_sectors() {
            let Some(len) = usize::try_from(sectors).ok().filter(|len| *len <= 16) else {
                continue;
            };
            let (sector, len) = (Sector::new(sector), len * SECTOR_BYTES);
            let Some(offset) = sector.offset() else {
                continue;
            };
            let mut bytes = vec![0; len];
            file.read_exact_at(offset, &mut bytes)?;
            // Whatever a ring says: what is overwritten was a ring, wholly or in what an interruption left of it.
            let was_ring = bytes.starts_with(&[0; 4]) || is_block_of(&bytes, Role::KeyRing, sector);
            if was_ring && bytes.iter().any(|byte| *byte != 0) {
                file.write_all_at(offset, &vec![0; len])?;
                wrote = true;
            }
        }
        match wrote {
            true => self.sync(),
            false => Ok(()),
        }
    }
}
