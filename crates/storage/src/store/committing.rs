//! Committing: the steps by which a new root takes the place of the old one.
//!
//! What must hold:
//! - Order of a commit: blocks, sync; superblock into slot (generation & 1), sync; the same bytes into the other slot,
//!   sync. Only then may extents be used again that the superblock before it needed.
//! - Order of a change of the file header: standby copy, sync; a superblock that names it; the other copy, sync.
//! - After a write or sync of any of these failed, what is on disk is not known: this handle writes nothing more.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::{DatabaseKeys, Header, HeaderError};

use super::block_store::{BlockStore, Root};
use super::extents::Extent;
use super::file_map::{HEADER_OFFSETS, SUPERBLOCK_OFFSETS, SUPERBLOCK_SECTOR};
use super::free_list;
use super::opening::SealedRoot;
use super::space::{FreeListPlan, extent_of};
use super::superblock::{Superblock, WalState};
use crate::block::{BlockBuf, BlockRef, Role, SECTOR_BYTES, SealedFile};
use crate::error::{Error, Result};
use crate::numbers::Generation;

impl BlockStore {
    /// Makes what was written since the last commit durable, with `catalog` as its root. Extents freed by this and
    /// earlier commits are used again once nobody reads a generation before `oldest_snapshot`: pass the
    /// oldest generation that a reader has or may still take, which is the current one unless older ones are held.
    /// Returns the new generation.
    ///
    /// # Errors
    /// Before the superblock is written: the commit did not happen, and [`BlockStore::rollback`] gives back its blocks.
    /// After that the handle turns read-only, and opening again tells which of the two states is there.
    pub fn commit(&self, catalog: BlockRef, oldest_snapshot: Generation) -> Result<Generation> {
        let log = self.log_state();
        self.commit_with_log(Some(catalog), oldest_snapshot, log)
    }

    /// As [`BlockStore::commit`], with another log to replay on this state.
    pub(crate) fn commit_with_log(
        &self,
        catalog: Option<BlockRef>,
        oldest: Generation,
        log: WalState,
    ) -> Result<Generation> {
        let space = self.space()?;
        let _flip = self.flip.lock();
        let root = self.root();
        let mut history = self.history_behind(&root)?;
        self.store_history(&mut history)?;
        let old_list: Vec<Extent> = root.free_list_blocks.iter().filter_map(extent_of).collect();
        let key_id = self.sealed.key_id();
        let (free_list_blocks, total_sectors) = self.write_free_list(key_id, &old_list)?;
        let before = &root.sealed.superblock;
        let superblock = Superblock {
            generation: before.generation.next(),
            // Not the end as it is by now: what others allocated meanwhile is on no list.
            total_sectors,
            catalog,
            free_list: free_list_blocks.first().copied(),
            wal: log,
            history,
            ..before.clone()
        };
        let flipped = self
            .sync()
            .and_then(|()| self.flip(&root, superblock, key_id));
        let sealed =
            flipped.inspect_err(|_| free_list_blocks.iter().for_each(|block| self.free(block)))?;
        let generation = sealed.superblock.generation;
        *self.root.write() = Arc::new(Root {
            sealed,
            free_list_blocks,
            seals_before: root.seals_before,
        });
        let mut space = space.lock();
        space.committed(generation, &old_list, oldest)?;
        self.end
            .store(space.extents().end().number(), Ordering::Release);
        Ok(generation)
    }

    /// Writes a header and the superblock that names it, sealed under the data key of that header. What is left to do is the
    /// header's other copy.
    pub(super) fn flip_with_header(
        &self,
        root: &Root,
        superblock: Superblock,
        header: &Header,
        key_id: u32,
    ) -> Result<SealedRoot> {
        let standby = (header.sequence() & 1) as usize;
        self.write_fixed(HEADER_OFFSETS[standby], header.to_page().as_slice())?;
        self.flip(root, superblock, key_id)
    }

    /// Changes the key slots, in an order in which every interruption leaves a header that the superblock names. No
    /// block is rewritten.
    ///
    /// # Errors
    /// What `change` refuses, and as [`BlockStore::commit`].
    pub fn change_header<T>(
        &self,
        change: impl FnOnce(&mut Header, &CryptoProvider, &DatabaseKeys) -> Result<T, HeaderError>,
    ) -> Result<T> {
        self.space()?;
        let _flip = self.flip.lock();
        let keys = self.keys.get()?;
        let mut header = self.header.lock().clone();
        let before = header.sequence();
        let result = change(&mut header, &self.crypto, &keys)?;
        if header.sequence() == before {
            return Ok(result);
        }
        let root = self.root();
        let history = self.history_behind(&root)?;
        let superblock = Superblock {
            generation: root.sealed.superblock.generation.next(),
            header_sequence: header.sequence(),
            header_mac: header.mac(),
            history,
            ..root.sealed.superblock.clone()
        };
        if !superblock.has_room() {
            return Err(no_room_for_history());
        }
        let key_id = self.sealed.key_id();
        let sealed = self.flip_with_header(&root, superblock, &header, key_id)?;
        let (free_list_blocks, seals_before) = (root.free_list_blocks.clone(), root.seals_before);
        *self.root.write() = Arc::new(Root {
            sealed,
            free_list_blocks,
            seals_before,
        });
        let (page, last) = (header.to_page(), 1 - (header.sequence() & 1) as usize);
        *self.header.lock() = header;
        self.write_fixed(HEADER_OFFSETS[last], page.as_slice())?;
        Ok(result)
    }

    /// Writes the free list that goes with the commit at hand, and says where the file ends by it; back to front, since each block names the next.
    pub(super) fn write_free_list(
        &self,
        key_id: u32,
        old: &[Extent],
    ) -> Result<(Vec<BlockRef>, u64)> {
        let FreeListPlan { mut blocks, end } = self
            .space()?
            .lock()
            .plan_free_list(self.sealed.file().as_ref(), old)?;
        let mut written: Vec<BlockRef> = Vec::new();
        while let Some((sector, extents, room)) = blocks.pop() {
            let buf = free_list::encode(&extents, room, written.last());
            match self.write_at(key_id, Role::FreeList, sector, buf) {
                Ok(block) => written.push(block),
                Err(error) => {
                    self.unwritten.fetch_add(1, Ordering::AcqRel);
                    blocks.push((sector, extents, room));
                    let unwritten = blocks.iter().map(|(sector, _, room)| {
                        let sectors = BlockBuf::sectors_for(free_list::payload_len(*room));
                        Extent::new(*sector, u64::from(sectors))
                    });
                    unwritten
                        .chain(written.iter().filter_map(extent_of))
                        .for_each(|extent| self.give_back(extent));
                    return Err(error);
                }
            }
        }
        written.reverse();
        Ok((written, end.number()))
    }

    /// Seals `superblock` as the successor of `root` and writes it into both slots.
    fn flip(&self, root: &Root, superblock: Superblock, key_id: u32) -> Result<SealedRoot> {
        if !superblock.has_room() {
            return Err(no_room_for_history());
        }
        let seals = root.seals_before + self.sealed.seals() + 1;
        let sealed = seal_root(
            &self.sealed,
            key_id,
            Superblock {
                seals,
                previous_tag: root.sealed.tag,
                ..superblock
            },
        )?;
        let first = (sealed.superblock.generation.number() & 1) as usize;
        for slot in [first, 1 - first] {
            self.write_fixed(SUPERBLOCK_OFFSETS[slot], sealed.page.as_slice())?;
        }
        Ok(sealed)
    }

    /// Writes one of the fixed parts and waits until it is durable.
    pub(super) fn write_fixed(&self, offset: u64, page: &[u8]) -> Result<()> {
        let written = self.sealed.file().write_all_at(offset, page);
        written.inspect_err(|_| self.write_failed.store(true, Ordering::Release))?;
        self.sync()
    }

    /// Makes durable what was written, ahead of a commit that is to have less to wait for.
    ///
    /// # Errors
    /// Io: what is on disk is not known, and nothing more is written.
    pub(crate) fn sync_ahead(&self) -> Result<()> {
        self.space()?;
        self.sync()
    }

    pub(super) fn sync(&self) -> Result<()> {
        let synced = self.sealed.file().sync();
        Ok(synced.inspect_err(|_| self.write_failed.store(true, Ordering::Release))?)
    }
}

fn no_room_for_history() -> Error {
    Error::Unsupported(
        "so many changes of key slots in a row, each by another opening: write something in between".into(),
    )
}

/// Seals a superblock.
pub(super) fn seal_root(
    sealed: &SealedFile,
    key_id: u32,
    superblock: Superblock,
) -> Result<SealedRoot> {
    let mut buf = BlockBuf::with_capacity(SECTOR_BYTES);
    buf.extend_from_slice(&superblock.to_payload());
    let block = sealed.seal_under(
        key_id,
        Role::Superblock,
        SUPERBLOCK_SECTOR,
        superblock.generation,
        buf,
    )?;
    let page = block.bytes.into_boxed_slice().try_into();
    let page = page.map_err(|_| Error::InvalidInput("a superblock is one sector".into()))?;
    Ok(SealedRoot {
        superblock,
        tag: block.block_ref.tag,
        page,
    })
}
