//! Where the fixed parts of a database file stand (FORMAT.md, "File map"). The copies of a thing are 16 KiB apart, so
//! that they do not share a page of flash.

pub(crate) use hushdb_keys::{HEADER_LEN, HEADER_OFFSETS};

use crate::block::{SECTOR_BYTES, Sector};

/// Byte offsets of the two superblock slots.
pub(crate) const SUPERBLOCK_OFFSETS: [u64; 2] = [32_768, 49_152];
/// The sector that a superblock's envelope names, whichever slot it stands in: both slots hold the same bytes.
pub(crate) const SUPERBLOCK_SECTOR: Sector = Sector::new(8);
/// The first sector that blocks may take.
pub(crate) const FIRST_SECTOR: Sector = Sector::new(16);
/// Bytes before it.
pub(crate) const FIXED_BYTES: u64 = FIRST_SECTOR.number() * SECTOR_BYTES as u64;

const _: () = assert!(SUPERBLOCK_OFFSETS[0] == SUPERBLOCK_SECTOR.number() * SECTOR_BYTES as u64);
