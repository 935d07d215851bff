//! `Generation`: which superblock of a database, counted from 1.
//!
//! What must hold: a generation is never taken for a place or a number of sectors; what is freed waits for one, so a mistake here
//! overwrites what a reader needs.

use std::fmt;

/// The number of a superblock; each commit that moves the root makes the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Generation(u64);

impl Generation {
    pub(crate) const fn new(number: u64) -> Self {
        Self(number)
    }

    pub(crate) const fn number(self) -> u64 {
        self.0
    }

    /// The one that is being prepared while this is the newest.
    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
