//! `Role`: what a block holds. It is part of what a block's tag covers, so a block cannot be passed off as another kind.

use std::fmt;

/// What a block holds (FORMAT.md, "Block envelope"). The numbers are on disk; 0 is none, so that zeros are no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Role {
    /// The root of the file.
    Superblock = 1,
    /// Catalog and row-group directories.
    Metadata = 2,
    /// A column segment.
    ColumnData = 3,
    /// A page of an index.
    Index = 4,
    /// Extents that are free.
    FreeList = 5,
    /// Wrapped data keys.
    KeyRing = 6,
    /// Statistics of a table.
    Statistics = 7,
    /// Operator state in a spill file.
    Spill = 8,
    /// A value too large for its segment.
    Overflow = 9,
    /// A part of a backup.
    Backup = 10,
}

impl Role {
    /// All roles in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Superblock,
        Self::Metadata,
        Self::ColumnData,
        Self::Index,
        Self::FreeList,
        Self::KeyRing,
        Self::Statistics,
        Self::Spill,
        Self::Overflow,
        Self::Backup,
    ];

    /// Whether the block holds values of rows, which suite 2 seals in its own way. What names other blocks of a table, and
    /// everything above, is sealed as in suite 1.
    pub(crate) fn holds_values(self) -> bool {
        matches!(
            self,
            Self::ColumnData | Self::Index | Self::Statistics | Self::Overflow
        )
    }

    /// The number on disk.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The role with that number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.number() == number)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Superblock => "superblock",
            Self::Metadata => "metadata",
            Self::ColumnData => "column data",
            Self::Index => "index",
            Self::FreeList => "free list",
            Self::KeyRing => "key ring",
            Self::Statistics => "statistics",
            Self::Spill => "spill",
            Self::Overflow => "overflow",
            Self::Backup => "backup",
        })
    }
}
