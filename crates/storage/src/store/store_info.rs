//! `StoreInfo`: what an open file says about itself, without a secret.

use crate::numbers::Generation;
use hushdb_keys::{DatabaseId, Suite};

/// Facts about an open file.
#[derive(Clone, Debug)]
pub struct StoreInfo {
    /// The database's name for life.
    pub database_id: DatabaseId,
    /// How blocks are sealed.
    pub suite: Suite,
    /// Opened without the right to write.
    pub read_only: bool,
    /// Generation of the newest superblock.
    pub generation: Generation,
    /// SHA-256 over that superblock as it stands on disk (FORMAT.md, "Root digest").
    pub root_digest: [u8; 32],
    /// The opening for writing that wrote that superblock; zeros where a release did that kept no history.
    pub run: [u8; 16],
    /// Sectors of 4096 bytes that the superblock speaks for.
    pub total_sectors: u64,
    /// Sectors of these that are free. Not known when opened read-only.
    pub free_sectors: Option<u64>,
    /// Sectors that wait for readers of older generations.
    pub retired_sectors: u64,
    /// Bytes of the file, which may be more than the sectors.
    pub file_bytes: u64,
    /// Sequence of the file header.
    pub header_sequence: u64,
    /// Blocks sealed in the life of the file, as of now.
    pub seals: u64,
}
