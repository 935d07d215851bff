//! Numbers that mix with no other number: each has a type of its own, which costs nothing.
//!
//! What must hold: what is computed with one of them makes sense for what it numbers; everything else goes through `new` and
//! `number`, where bytes are read or written.

use std::ops::{Add, AddAssign, Sub};

/// Declares a type around a number, with `new`, `number` and Display.
macro_rules! number_type {
    ($(#[$about:meta])* $visible:vis struct $name:ident($number:ty);) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        $visible struct $name($number);

        impl $name {
            /// The one with this number.
            $visible const fn new(number: $number) -> Self {
                Self(number)
            }

            /// Its number.
            $visible const fn number(self) -> $number {
                self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_type! {
    /// The number of a superblock, counted from 1: each commit that moves the root makes the next one. What is freed waits for one.
    pub struct Generation(u64);
}

impl Generation {
    /// The one that is being prepared while this is the newest.
    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

number_type! {
    /// A log sequence number: a place in a log, in bytes from its start.
    pub struct Lsn(u64);
}

impl Lsn {
    /// Where no log is open.
    pub const NONE: Self = Self(0);
}

impl Add<u64> for Lsn {
    type Output = Self;

    fn add(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

impl AddAssign<u64> for Lsn {
    fn add_assign(&mut self, bytes: u64) {
        self.0 += bytes;
    }
}

/// How many bytes lie between two places.
impl Sub for Lsn {
    type Output = u64;

    fn sub(self, earlier: Self) -> u64 {
        self.0 - earlier.0
    }
}

number_type! {
    /// A table of a database, for all its life: no other gets its number.
    pub struct TableId(u64);
}

impl TableId {
    /// The one that is given next.
    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

number_type! {
    /// A column of a table, for all its life: no other column of the table gets its number.
    pub struct ColumnId(u32);
}

impl ColumnId {
    /// The one that is given next; `None` past the end of numbers.
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }
}

number_type! {
    /// A row of a table, for all its life: rows that are added get the next ones, and no row the one of another.
    pub struct RowId(u64);
}

impl RowId {
    /// The one that many rows further on; `None` past the end of numbers.
    pub(crate) fn checked_add(self, rows: u64) -> Option<Self> {
        self.0.checked_add(rows).map(Self)
    }

    /// The one that many rows further on, or the last that there is.
    pub(crate) const fn saturating_add(self, rows: u64) -> Self {
        Self(self.0.saturating_add(rows))
    }

    /// How many rows it is behind another; `None` if it is before that.
    pub(crate) const fn checked_sub(self, earlier: Self) -> Option<u64> {
        self.0.checked_sub(earlier.0)
    }

    /// How many rows it is behind another; 0 if it is before that.
    pub(crate) const fn saturating_sub(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for RowId {
    type Output = Self;

    fn add(self, rows: u64) -> Self {
        Self(self.0 + rows)
    }
}

/// How many rows lie between two.
impl Sub for RowId {
    type Output = u64;

    fn sub(self, earlier: Self) -> u64 {
        self.0 - earlier.0
    }
}
