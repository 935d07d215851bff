//! `Space`: the extents of a file together with how far the file itself reaches. The file grows in steps.

use std::collections::BTreeMap;

use super::extents::{Extent, Extents, NotInUse};
use super::file_map::FIRST_SECTOR;
use super::free_list::{self, EXTENTS_PER_BLOCK};
use crate::block::{BlockBuf, BlockRef, Role, SECTOR_BYTES, Sector};
use crate::error::{Error, Result};
use crate::file::StorageFile;
use crate::numbers::Generation;

/// Where a file must end: its bytes are still a signed 64-bit offset.
const END_OF_FILES: Sector = Sector::new(i64::MAX as u64 / SECTOR_BYTES as u64);
/// The file grows by an eighth, but by no less and no more than this many sectors (64 KiB, 64 MiB).
const GROWTH_SECTORS: std::ops::RangeInclusive<u64> = 16..=16_384;

/// Sectors of a file that is open for writing.
#[derive(Debug)]
pub(super) struct Space {
    extents: Extents,
    /// Where the file ends.
    file_end: Sector,
    /// The data key of each block that was set aside, by its first sector.
    keys_aside: BTreeMap<Sector, u32>,
}

/// Room for a free list: a place and a number of extents for each block of its chain, and what it has to say.
pub(super) struct FreeListPlan {
    pub(super) blocks: Vec<(Sector, Vec<Extent>, usize)>,
    /// The first sector behind everything that the list and the state it goes with name or leave free.
    pub(super) end: Sector,
}

impl Space {
    /// A file of `total_sectors` whose free extents are known.
    pub(super) fn new(total_sectors: u64, free: &[Extent]) -> Result<Self> {
        let extents = Extents::new(FIRST_SECTOR, Sector::new(total_sectors), free);
        let extents = extents.map_err(freed_twice)?;
        Ok(Self {
            extents,
            file_end: Sector::new(total_sectors),
            keys_aside: BTreeMap::new(),
        })
    }

    pub(super) fn extents(&self) -> &Extents {
        &self.extents
    }

    /// Room for a block, inside of the file.
    pub(super) fn allocate(&mut self, file: &dyn StorageFile, sectors: u32) -> Result<Sector> {
        let sector = self.extents.allocate(u64::from(sectors));
        self.reach(file, sector, u64::from(sectors))
    }

    /// Lets the file grow as far as what was allocated; gives it back when it does not.
    fn reach(
        &mut self,
        file: &dyn StorageFile,
        sector: Option<Sector>,
        sectors: u64,
    ) -> Result<Sector> {
        let sector = sector.ok_or_else(file_too_large)?;
        let end = self.extents.end();
        if end > self.file_end {
            let step = (end.number() / 8).clamp(*GROWTH_SECTORS.start(), *GROWTH_SECTORS.end());
            let grown = match end + step {
                grown if grown <= END_OF_FILES => Ok(grown),
                _ => Err(file_too_large()),
            };
            let grown = grown.and_then(|grown| {
                let bytes = grown.offset().ok_or_else(file_too_large)?;
                Ok(file.set_len(bytes).map(|()| grown)?)
            });
            match grown {
                Ok(grown) => self.file_end = grown,
                Err(error) => {
                    self.drop_extent(Extent::new(sector, sectors))?;
                    self.extents.draw_back();
                    return Err(error);
                }
            }
        }
        Ok(sector)
    }

    /// Cuts off what lies behind both `total_sectors` and everything that was allocated.
    pub(super) fn cut_tail(&mut self, file: &dyn StorageFile, total_sectors: u64) -> Result<()> {
        let end = self.extents.end().max(Sector::new(total_sectors));
        let bytes = end.offset().ok_or_else(file_too_large)?;
        if file.len()? > bytes {
            file.set_len(bytes)?;
        }
        self.file_end = self.file_end.min(end);
        Ok(())
    }

    pub(super) fn fill_front(&mut self, on: bool) {
        self.extents.fill_front(on);
    }

    /// What was allocated is for a later commit than the next one, and sealed under that data key.
    pub(super) fn set_aside(&mut self, extent: Extent, key_id: u32) {
        self.keys_aside.insert(extent.sector, key_id);
        self.extents.set_aside(extent);
    }

    pub(super) fn adopt(&mut self, extent: Extent) {
        self.keys_aside.remove(&extent.sector);
        self.extents.adopt(extent);
    }

    /// Whether everything that was set aside is sealed under that data key.
    pub(super) fn is_aside_under(&self, key_id: u32) -> bool {
        self.keys_aside.values().all(|aside| *aside == key_id)
    }

    /// Sets aside free sectors at or behind `from`, before or at the end of the file, to be overwritten: at most so many.
    /// `None`: there are no more.
    pub(super) fn take_unused(
        &mut self,
        file: &dyn StorageFile,
        from: Sector,
        at_most: u64,
    ) -> Result<Option<Extent>> {
        if let Some(extent) = self.extents.take_free(from, at_most) {
            return Ok(Some(extent));
        }
        let end = self.extents.end();
        let behind = file
            .len()?
            .div_ceil(SECTOR_BYTES as u64)
            .saturating_sub(end.number());
        let sectors = behind.min(at_most);
        if sectors == 0 || end < from {
            return Ok(None);
        }
        let sector = self.extents.allocate_at_end(sectors);
        let extent = Extent::new(sector.ok_or_else(file_too_large)?, sectors);
        self.extents.set_aside(extent);
        Ok(Some(extent))
    }

    pub(super) fn drop_extent(&mut self, extent: Extent) -> Result<()> {
        self.keys_aside.remove(&extent.sector);
        self.extents.drop_extent(extent).map_err(freed_twice)
    }

    /// Allocates the next free list and says what goes into it; `old` are the blocks of the one that it replaces.
    pub(super) fn plan_free_list(
        &mut self,
        file: &dyn StorageFile,
        old: &[Extent],
    ) -> Result<FreeListPlan> {
        let mut left = self.extents.listed_at_most(old.len());
        let mut rooms: Vec<(Sector, usize, u32)> = Vec::new();
        while left > 0 {
            let room = left.min(EXTENTS_PER_BLOCK);
            let sectors = BlockBuf::sectors_for(free_list::payload_len(room));
            rooms.push((self.allocate(file, sectors)?, room, sectors));
            left -= room;
        }
        let mut listed = self.extents.after_commit(old).map_err(freed_twice)?;
        let (mut needed, mut held) = (0, 0);
        while needed < rooms.len() && held < listed.len() {
            held += rooms[needed].1;
            needed += 1;
        }
        let unneeded = rooms.split_off(needed);
        if !unneeded.is_empty() {
            // The places of the list took up what it was to name. What is given back must be listed too, if need be in a
            // block at the end of the file, which takes nothing that is free.
            for (sector, _, sectors) in unneeded {
                self.drop_extent(Extent::new(sector, u64::from(sectors)))?;
            }
            listed = self.extents.after_commit(old).map_err(freed_twice)?;
            let mut left = listed.len().saturating_sub(held);
            while left > 0 {
                let room = left.min(EXTENTS_PER_BLOCK);
                let sectors = BlockBuf::sectors_for(free_list::payload_len(room));
                let sector = self.extents.allocate_at_end(u64::from(sectors));
                rooms.push((self.reach(file, sector, u64::from(sectors))?, room, sectors));
                left -= room;
            }
        }
        let mut listed = listed.as_slice();
        let mut blocks = Vec::new();
        for (sector, room, _) in rooms {
            let (these, rest) = listed.split_at(room.min(listed.len()));
            listed = rest;
            blocks.push((sector, these.to_vec(), room));
        }
        Ok(FreeListPlan {
            blocks,
            end: self.extents.end(),
        })
    }

    /// What is free of a file of `total_sectors` once nobody reads an older generation, as (first sector, sectors).
    pub(super) fn free_extents(&self, total_sectors: u64) -> Result<Vec<(u64, u64)>> {
        let extents = self.extents.after_commit(&[]).map_err(freed_twice)?;
        let (end, total) = (self.extents.end(), Sector::new(total_sectors));
        // The end has moved back over free sectors since the superblock was written.
        let behind = (end < total).then(|| Extent::new(end, total - end));
        let all = extents.into_iter().chain(behind);
        Ok(all
            .map(|extent| (extent.sector.number(), extent.sectors))
            .collect())
    }

    /// Superblock `generation` is durable in both slots; nobody reads a generation before `oldest`.
    pub(super) fn committed(
        &mut self,
        generation: Generation,
        old_list: &[Extent],
        oldest: Generation,
    ) -> Result<()> {
        self.extents.committed(generation, old_list);
        self.release(oldest)
    }

    pub(super) fn release(&mut self, oldest: Generation) -> Result<()> {
        self.extents.release(oldest).map_err(freed_twice)
    }

    pub(super) fn rollback(&mut self) -> Result<()> {
        self.extents.rollback().map_err(freed_twice)
    }
}

/// The sectors of a block; `None` for a ref that no block has.
pub(super) fn extent_of(r: &BlockRef) -> Option<Extent> {
    Some(Extent::new(r.place(), u64::from(r.sectors()?)))
}

fn freed_twice(_: NotInUse) -> Error {
    Error::malformed(Role::FreeList, 0, "a block was freed that is free already")
}

fn file_too_large() -> Error {
    Error::Full(std::io::ErrorKind::FileTooLarge.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::MemFile;

    #[test]
    fn a_free_list_that_would_take_the_last_free_sector_leaves_none_unnamed() {
        for free in [1, 2] {
            let free = Extent::new(Sector::new(17), free);
            let mut space = Space::new(20, &[free]).unwrap();
            let plan = space.plan_free_list(&MemFile::new(), &[]).unwrap();
            let listed: Vec<Extent> = plan
                .blocks
                .iter()
                .flat_map(|(_, extents, _)| extents.clone())
                .collect();
            assert_eq!(listed, space.extents().after_commit(&[]).unwrap());
            assert!(
                plan.blocks
                    .iter()
                    .all(|(_, extents, _)| !extents.is_empty())
            );
        }
    }
}
