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
