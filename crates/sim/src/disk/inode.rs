//! `Inode`: one file's bytes, as programs see them (`cache`) and as they would be found after a power cut (`durable`).
//!
//! What must hold:
//! - A read sees every write before it.
//! - What was written before a successful sync is durable, with the length.
//! - Of what was written since, any selection of pieces may be durable, applied in order; a length may lag behind.
//! - After a failed sync nothing is left to be synced: a selection has become durable, the rest never will.

use crate::dice::Dice;

/// The unit in which room on the disk is counted.
pub(super) const ALLOCATION_BYTES: u64 = 4096;

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Length(usize),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Inode {
    cache: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
    /// Which allocation units of `cache` take room.
    allocated: Vec<bool>,
}

/// Which pieces of what was not synced survive.
#[derive(Clone, Copy)]
enum Survival {
    Nothing,
    Everything,
    /// The first changes.
    Prefix(usize),
    /// The last changes.
    Suffix(usize),
    /// All but one change.
    AllBut(usize),
    /// One change alone.
    Only(usize),
    /// Each change whole, or not at all.
    Changes,
    /// Each piece by itself.
    Pieces,
}

impl Inode {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.cache
    }

    pub(super) fn allocated_units(&self) -> u64 {
        self.allocated.iter().filter(|unit| **unit).count() as u64
    }

    /// Units that a write would take in addition.
    pub(super) fn units_missing(&self, offset: u64, len: u64) -> u64 {
        let units = offset / ALLOCATION_BYTES..(offset + len).div_ceil(ALLOCATION_BYTES);
        let missing = |unit: &u64| !self.allocated.get(*unit as usize).copied().unwrap_or(false);
        units.filter(missing).count() as u64
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let offset = offset as usize;
        let change = Change::Write {
            offset,
            bytes: bytes.to_vec(),
        };
        change.apply(&mut self.cache, |_| true, usize::MAX);
        self.pending.push(change);
        let units = offset / ALLOCATION_BYTES as usize
            ..(offset + bytes.len()).div_ceil(ALLOCATION_BYTES as usize);
        if self.allocated.len() < units.end {
            self.allocated.resize(units.end, false);
        }
        self.allocated[units].fill(true);
    }

    pub(super) fn set_len(&mut self, len: u64) {
        // Also when nothing changes for readers: the durable length may be another one.
        self.cache.resize(len as usize, 0);
        self.pending.push(Change::Length(len as usize));
        let units = len.div_ceil(ALLOCATION_BYTES) as usize;
        self.allocated.truncate(units);
    }

    pub(super) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.durable, |_| true, usize::MAX);
        }
    }

    /// A sync that fails: what was pending is given up.
    pub(super) fn lose(&mut self, dice: &mut Dice, piece_bytes: usize) {
        self.settle(dice, piece_bytes);
        if dice.chance(30) {
            // The clean-looking pages were evicted and are read again from the disk.
            let len = self.cache.len();
            self.cache.clone_from(&self.durable);
            self.cache.resize(len, 0);
        }
    }

    /// A crash: what programs saw is gone, what is durable is what there is.
    pub(super) fn crash(&mut self, dice: &mut Dice, piece_bytes: usize) {
        self.settle(dice, piece_bytes);
        self.cache.clone_from(&self.durable);
        let units = self.cache.len().div_ceil(ALLOCATION_BYTES as usize);
        self.allocated.clear();
        self.allocated.resize(units, true);
    }

    /// Makes a selection of what is pending durable and forgets the rest.
    fn settle(&mut self, dice: &mut Dice, piece_bytes: usize) {
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return;
        }
        let at = dice.index(pending.len());
        let survival = match dice.below(10) {
            0 => Survival::Nothing,
            1 => Survival::Everything,
            2 => Survival::Prefix(at),
            3 => Survival::Suffix(at),
            4 => Survival::AllBut(at),
            5 => Survival::Only(at),
            6 | 7 => Survival::Changes,
            _ => Survival::Pieces,
        };
        let mut lengths = vec![self.durable.len()];
        for (number, change) in pending.iter().enumerate() {
            let whole = match survival {
                Survival::Nothing => false,
                Survival::Everything => true,
                Survival::Prefix(end) => number < end,
                Survival::Suffix(start) => number >= start,
                Survival::AllBut(one) => number != one,
                Survival::Only(one) => number == one,
                Survival::Changes => dice.chance(50),
                Survival::Pieces => {
                    let percent = *dice.pick(&[10, 50, 90]);
                    change.apply(&mut self.durable, |_| dice.chance(percent), piece_bytes);
                    lengths.push(self.durable.len());
                    continue;
                }
            };
            if whole {
                change.apply(&mut self.durable, |_| true, usize::MAX);
                lengths.push(self.durable.len());
            }
        }
        // The length is written apart from the data and may be an earlier one.
        let earlier = *dice.pick(&lengths);
        if dice.chance(25) && earlier < self.durable.len() {
            self.durable.truncate(earlier);
        }
    }
}

impl Change {
    /// Applies those pieces that `keeps` wants, aligned to `piece_bytes` in the file.
    fn apply(&self, file: &mut Vec<u8>, mut keeps: impl FnMut(usize) -> bool, piece_bytes: usize) {
        match self {
            Self::Length(len) if keeps(0) => file.resize(*len, 0),
            Self::Length(_) => {}
            Self::Write { offset, bytes } => {
                let mut from = 0;
                while from < bytes.len() {
                    let left_in_piece = piece_bytes - (offset + from) % piece_bytes;
                    let to = bytes.len().min(from.saturating_add(left_in_piece));
                    if keeps(offset + from) {
                        if file.len() < offset + to {
                            file.resize(offset + to, 0);
                        }
                        file[offset + from..offset + to].copy_from_slice(&bytes[from..to]);
                    }
                    from = to;
                }
            }
        }
    }
}
