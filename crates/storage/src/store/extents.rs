//! `Extents`: which sectors are free, and when freed ones may be used again.
//!
//! ```text
//!            allocate            commit G                     release(oldest >= G)
//!   free ----------> fresh ----------------> in use
//!    ^         set aside | ^ adopt             | free: dropped --commit G--> retired at G
//!    |                   v |                   |
//!    |                 pending                 |
//!    +--------rollback/free--------------------+------------------------------------------+
//! ```
//!
//! What must hold:
//! - A sector is in at most one of free, fresh, pending, dropped and retired, and those lie before `end`.
//! - What is pending belongs to a transaction that has not committed: a commit of another one lists it as free, since a
//!   crash would leave nobody who needs it.
//! - A sector that superblock G-1 needs is not handed out before superblock G is durable in both slots and no reader of
//!   an older generation than G is left.
//!
//! Refuses to take back what is free already, or what lies beyond the end.

use std::collections::{BTreeMap, BTreeSet};

use crate::block::Sector;
use crate::numbers::Generation;

/// A run of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Extent {
    pub(crate) sector: Sector,
    pub(crate) sectors: u64,
}

impl Extent {
    pub(crate) fn new(sector: Sector, sectors: u64) -> Self {
        Self { sector, sectors }
    }

    /// The first sector behind it; `None` past the end of numbers.
    pub(crate) fn end(self) -> Option<Sector> {
        self.sector.checked_add(self.sectors)
    }
}

/// The sectors of one file.
#[derive(Debug)]
pub(crate) struct Extents {
    first: Sector,
    end: Sector,
    free: FreeSpace,
    fresh: BTreeMap<Sector, u64>,
    pending: BTreeMap<Sector, u64>,
    dropped: Vec<Extent>,
    retired: Vec<(Generation, Extent)>,
    /// What is allocated is to stand as near to the front as it fits, rather than where it fits best.
    fills_front: bool,
}

/// Free extents by place and by size, coalesced.
#[derive(Debug, Default, Clone)]
struct FreeSpace {
    by_sector: BTreeMap<Sector, u64>,
    by_size: BTreeSet<(u64, Sector)>,
}

/// An extent was given back that was not in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotInUse;

impl Extents {
    /// A file whose blocks lie in `first..end`, of which `free` is free.
    pub(crate) fn new(first: Sector, end: Sector, free: &[Extent]) -> Result<Self, NotInUse> {
        let mut this = Self {
            first,
            end,
            free: FreeSpace::default(),
            fresh: BTreeMap::new(),
            pending: BTreeMap::new(),
            dropped: Vec::new(),
            retired: Vec::new(),
            fills_front: false,
        };
        for &extent in free {
            this.give_back(extent)?;
        }
        Ok(this)
    }

    /// The first sector behind everything that is in use or remembered.
    pub(crate) fn end(&self) -> Sector {
        self.end
    }

    /// Free sectors before the end.
    pub(crate) fn free_sectors(&self) -> u64 {
        self.free.by_sector.values().sum()
    }

    /// Sectors that wait for readers of older generations.
    pub(crate) fn retired_sectors(&self) -> u64 {
        self.retired.iter().map(|(_, extent)| extent.sectors).sum()
    }

    /// From now on, whether the front of the file is filled first, however the rest is cut up.
    pub(crate) fn fill_front(&mut self, on: bool) {
        self.fills_front = on;
    }

    /// The smallest free extent that is large enough, else the end of the file. `None` when sector numbers run out.
    pub(crate) fn allocate(&mut self, sectors: u64) -> Option<Sector> {
        let taken = match self.fills_front {
            true => self.free.take_first(sectors),
            false => self.free.take(sectors),
        };
        let sector = match taken {
            Some(sector) => sector,
            None => {
                let tail = self.free.take_tail(self.end).unwrap_or(self.end);
                self.end = self.end.max(tail.checked_add(sectors)?);
                tail
            }
        };
        self.fresh.insert(sector, sectors);
        Some(sector)
    }

    /// The end of the file, whatever is free before it.
    pub(crate) fn allocate_at_end(&mut self, sectors: u64) -> Option<Sector> {
        let sector = self.end;
        self.end = sector.checked_add(sectors)?;
        self.fresh.insert(sector, sectors);
        Some(sector)
    }

    /// Sets aside the front of the first free extent at or behind `from`, at most so many sectors of it.
    pub(crate) fn take_free(&mut self, from: Sector, at_most: u64) -> Option<Extent> {
        let extent = self.free.take_behind(from, at_most)?;
        self.pending.insert(extent.sector, extent.sectors);
        Some(extent)
    }

    /// What was allocated is for a later commit than the next one.
    pub(crate) fn set_aside(&mut self, extent: Extent) {
        if self.fresh.remove(&extent.sector).is_some() {
            self.pending.insert(extent.sector, extent.sectors);
        }
    }

    /// What was set aside is part of the next commit.
    pub(crate) fn adopt(&mut self, extent: Extent) {
        if self.pending.remove(&extent.sector).is_some() {
            self.fresh.insert(extent.sector, extent.sectors);
        }
    }

    /// An extent is needed no more by the state that is being prepared. One that no commit has named is free at once.
    pub(crate) fn drop_extent(&mut self, extent: Extent) -> Result<(), NotInUse> {
        let unnamed = [&mut self.fresh, &mut self.pending].into_iter().any(|set| {
            set.get(&extent.sector) == Some(&extent.sectors) && set.remove(&extent.sector).is_some()
        });
        if unnamed {
            return self.give_back(extent);
        }
        self.dropped.push(extent);
        Ok(())
    }

    /// How many extents [`Extents::after_commit`] may list at most, once `more` have been dropped.
    pub(crate) fn listed_at_most(&self, more: usize) -> usize {
        self.free.by_sector.len()
            + self.pending.len()
            + self.dropped.len()
            + self.retired.len()
            + more
    }

    /// What is free once the state that is being prepared is the only one: in order, coalesced.
    pub(crate) fn after_commit(&self, and_also: &[Extent]) -> Result<Vec<Extent>, NotInUse> {
        let mut free = self.free.clone();
        let retired = self.retired.iter().map(|(_, extent)| extent);
        for &extent in self.dropped.iter().chain(retired).chain(and_also) {
            free.insert(extent)?;
        }
        for (&sector, &sectors) in &self.pending {
            free.insert(Extent { sector, sectors })?;
        }
        Ok(free
            .by_sector
            .iter()
            .map(|(&sector, &sectors)| Extent { sector, sectors })
            .collect())
    }

    /// Superblock `generation`, which does not name what was dropped, is durable in both slots.
    pub(crate) fn committed(&mut self, generation: Generation, and_also: &[Extent]) {
        self.fresh.clear();
        let dropped = self.dropped.drain(..).chain(and_also.iter().copied());
        self.retired
            .extend(dropped.map(|extent| (generation, extent)));
    }

    /// Frees what no reader of generation `oldest` or later can need.
    pub(crate) fn release(&mut self, oldest: Generation) -> Result<(), NotInUse> {
        let (over, waiting) = std::mem::take(&mut self.retired)
            .into_iter()
            .partition::<Vec<_>, _>(|(generation, _)| *generation <= oldest);
        self.retired = waiting;
        for (_, extent) in over {
            self.give_back(extent)?;
        }
        self.draw_back();
        Ok(())
    }

    /// Moves the end back over free sectors before it.
    pub(crate) fn draw_back(&mut self) {
        if let Some(tail) = self.free.take_tail(self.end) {
            self.end = tail;
        }
    }

    /// Forgets everything since the last commit, but for what was set aside.
    pub(crate) fn rollback(&mut self) -> Result<(), NotInUse> {
        self.dropped.clear();
        for (sector, sectors) in std::mem::take(&mut self.fresh) {
            self.give_back(Extent { sector, sectors })?;
        }
        Ok(())
    }

    fn give_back(&mut self, extent: Extent) -> Result<(), NotInUse> {
        match extent.end() {
            Some(end) if extent.sector >= self.first && end <= self.end => self.free.insert(extent),
            _ => Err(NotInUse),
        }
    }
}

impl FreeSpace {
    fn insert(&mut self, extent: Extent) -> Result<(), NotInUse> {
        let Extent {
            mut sector,
            mut sectors,
        } = extent;
        let end = extent.end().ok_or(NotInUse)?;
        if sectors == 0 {
            return Err(NotInUse);
        }
        if let Some((&before, &len)) = self.by_sector.range(..end).next_back() {
            match before + len {
                reach if reach > sector => return Err(NotInUse),
                reach if reach == sector => {
                    self.remove(before, len);
                    sector = before;
                    sectors += len;
                }
                _ => {}
            }
        }
        if let Some(&len) = self.by_sector.get(&end) {
            self.remove(end, len);
            sectors += len;
        }
        self.by_sector.insert(sector, sectors);
        self.by_size.insert((sectors, sector));
        Ok(())
    }

    /// Takes the front of the smallest extent that is large enough.
    fn take(&mut self, sectors: u64) -> Option<Sector> {
        let &(len, sector) = self.by_size.range((sectors, Sector::default())..).next()?;
        self.take_from(sector, len, sectors)
    }

    /// Takes the front of the first extent that is large enough.
    fn take_first(&mut self, sectors: u64) -> Option<Sector> {
        let fits = |(_, len): &(&Sector, &u64)| **len >= sectors;
        let (&sector, &len) = self.by_sector.iter().find(fits)?;
        self.take_from(sector, len, sectors)
    }

    /// Takes at most so many sectors of the first extent that reaches behind `from`, from there on.
    fn take_behind(&mut self, from: Sector, at_most: u64) -> Option<Extent> {
        let over = |(sector, len): (&Sector, &u64)| (*sector, *len);
        let before = self.by_sector.range(..from).next_back().map(over);
        let reaching = before.filter(|(sector, len)| *sector + *len > from);
        let (sector, len) = reaching.or_else(|| self.by_sector.range(from..).next().map(over))?;
        let first = sector.max(from);
        let sectors = (sector + len - first).min(at_most);
        let rest = first + sectors;
        self.remove(sector, len);
        for (at, end) in [(sector, first), (rest, sector + len)] {
            if end > at {
                self.by_sector.insert(at, end - at);
                self.by_size.insert((end - at, at));
            }
        }
        Some(Extent {
            sector: first,
            sectors,
        })
    }

    fn take_from(&mut self, sector: Sector, len: u64, sectors: u64) -> Option<Sector> {
        self.remove(sector, len);
        if len > sectors {
            self.by_sector.insert(sector + sectors, len - sectors);
            self.by_size.insert((len - sectors, sector + sectors));
        }
        Some(sector)
    }

    /// Takes the extent that reaches `end`, if there is one, and says where it began.
    fn take_tail(&mut self, end: Sector) -> Option<Sector> {
        let (&sector, &len) = self.by_sector.last_key_value()?;
        (sector + len == end).then(|| {
            self.remove(sector, len);
            sector
        })
    }

    fn remove(&mut self, sector: Sector, len: u64) {
        self.by_sector.remove(&sector);
        self.by_size.remove(&(len, sector));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sector: u64) -> Sector {
        Sector::new(sector)
    }

    fn extent(sector: u64, sectors: u64) -> Extent {
        Extent::new(at(sector), sectors)
    }

    fn empty() -> Extents {
        Extents::new(at(16), at(16), &[]).unwrap()
    }

    #[test]
    fn freed_extents_wait_for_the_flip_and_for_readers() {
        let mut extents = empty();
        assert_eq!(extents.allocate(4), Some(at(16)));
        assert_eq!(extents.allocate(1), Some(at(20)));
        extents.committed(Generation::new(1), &[]);
        extents.drop_extent(extent(16, 4)).unwrap();
        assert_eq!(
            extents.allocate(4),
            Some(at(21)),
            "generation 1 still needs it"
        );
        assert_eq!(extents.after_commit(&[]).unwrap(), [extent(16, 4)]);
        extents.committed(Generation::new(2), &[]);
        extents.release(Generation::new(1)).unwrap();
        assert_eq!(
            extents.allocate(4),
            Some(at(25)),
            "a reader of generation 1 still needs it"
        );
        extents.release(Generation::new(2)).unwrap();
        assert_eq!(extents.allocate(4), Some(at(16)));
    }

    #[test]
    fn rollback_gives_back_what_was_allocated_and_keeps_what_was_dropped() {
        let mut extents = empty();
        extents.allocate(4);
        extents.committed(Generation::new(1), &[]);
        extents.drop_extent(extent(16, 4)).unwrap();
        extents.allocate(8);
        extents.rollback().unwrap();
        assert_eq!(extents.allocate(8), Some(at(20)));
        extents.committed(Generation::new(2), &[]);
        extents.release(Generation::new(u64::MAX)).unwrap();
        assert_eq!(extents.allocate(1), Some(at(28)), "16..20 is in use again");
    }

    #[test]
    fn the_best_fit_is_taken_and_neighbours_grow_together() {
        let free = [extent(20, 10), extent(40, 3)];
        let mut extents = Extents::new(at(16), at(50), &free).unwrap();
        assert_eq!(extents.allocate(3), Some(at(40)));
        assert_eq!(extents.allocate(3), Some(at(20)));
        extents.drop_extent(extent(20, 3)).unwrap();
        assert_eq!(extents.allocate(10), Some(at(20)));
    }

    #[test]
    fn the_first_fit_is_taken_where_the_front_is_to_be_filled() {
        let free = [extent(18, 2), extent(24, 10), extent(40, 3)];
        let mut extents = Extents::new(at(16), at(50), &free).unwrap();
        extents.fill_front(true);
        assert_eq!(extents.allocate(3), Some(at(24)));
        assert_eq!(extents.allocate(2), Some(at(18)));
        extents.fill_front(false);
        assert_eq!(extents.allocate(3), Some(at(40)));
    }

    #[test]
    fn the_end_moves_back_over_free_sectors_and_forward_from_a_free_tail() {
        let mut extents = Extents::new(at(16), at(50), &[extent(45, 5)]).unwrap();
        assert_eq!(extents.allocate(8), Some(at(45)));
        assert_eq!(extents.end(), at(53));
        extents.rollback().unwrap();
        extents.release(Generation::new(u64::MAX)).unwrap();
        assert_eq!(extents.end(), at(45));
    }

    #[test]
    fn free_sectors_are_taken_in_order_and_listed_as_free_all_the_same() {
        let free = [extent(18, 5), extent(30, 2)];
        let mut extents = Extents::new(at(16), at(50), &free).unwrap();
        let mut from = at(19);
        let mut taken = Vec::new();
        while let Some(extent) = extents.take_free(from, 3) {
            from = extent.end().unwrap();
            taken.push(extent);
        }
        assert_eq!(taken, [extent(19, 3), extent(22, 1), extent(30, 2)]);
        assert_eq!(extents.after_commit(&[]).unwrap(), free);
        assert_eq!(extents.allocate(2), Some(at(50)));
        for extent in taken {
            extents.drop_extent(extent).unwrap();
        }
        assert_eq!(extents.allocate(5), Some(at(18)));
    }

    #[test]
    fn what_is_free_already_or_outside_is_refused() {
        for wrong in [
            extent(20, 1),
            extent(18, 3),
            extent(29, 2),
            extent(15, 1),
            extent(49, 2),
        ] {
            let free = [extent(20, 10), wrong];
            assert!(Extents::new(at(16), at(50), &free).is_err(), "{wrong:?}");
        }
        assert!(Extents::new(at(16), at(50), &[extent(u64::MAX, 2)]).is_err());
        assert!(Extents::new(at(16), at(50), &[extent(20, 0)]).is_err());
    }
}
