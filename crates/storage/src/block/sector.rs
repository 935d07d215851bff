//! `Sector`: a place in a database file, in sectors from its start.
//!
//! What must hold: a place is never taken for a number of sectors or for a generation: numbers are added to places, and lie
//! between two of them, by these functions alone.

use std::fmt;
use std::ops::{Add, Sub};

use super::SECTOR_BYTES;

/// A sector of 4096 bytes, by its place in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Sector(u64);

impl Sector {
    /// The sector behind that many others.
    pub(crate) const fn new(number: u64) -> Self {
        Self(number)
    }

    /// How many sectors stand before it.
    pub(crate) const fn number(self) -> u64 {
        self.0
    }

    /// Its first byte, counted from the start of the file; `None` past the end of numbers.
    pub(crate) const fn offset(self) -> Option<u64> {
        self.0.checked_mul(SECTOR_BYTES as u64)
    }

    /// The sector that many further on; `None` past the end of numbers.
    pub(crate) fn checked_add(self, sectors: u64) -> Option<Self> {
        self.0.checked_add(sectors).map(Self)
    }
}

impl Add<u64> for Sector {
    type Output = Self;

    fn add(self, sectors: u64) -> Self {
        Self(self.0 + sectors)
    }
}

/// How many sectors lie between two places.
impl Sub for Sector {
    type Output = u64;

    fn sub(self, earlier: Self) -> u64 {
        self.0 - earlier.0
    }
}

impl fmt::Display for Sector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
