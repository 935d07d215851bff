//! `BlockRef`: what a parent keeps of a child. It pins the child: place, length, age and tag.

use super::Sector;
use super::envelope::{ENVELOPE_OVERHEAD_BYTES, MAX_PAYLOAD_BYTES, SECTOR_BYTES};
use crate::numbers::Generation;

/// Where a block is and which one it must be (FORMAT.md, "Block ref").
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockRef {
    /// First sector, of 4096 bytes, counted from the start of the file.
    pub sector: u64,
    /// Bytes of payload; the rest of the block is padding.
    pub payload_len: u32,
    /// The data key that seals it; 0 in a plain database.
    pub key_id: u32,
    /// Generation of the superblock that was being prepared when it was written.
    pub birth_generation: u64,
    /// Authentication tag; in a plain database a checksum.
    pub tag: [u8; 16],
}

impl BlockRef {
    /// Length on disk.
    pub const BYTES: usize = 40;

    /// As it stands in a parent.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0..8].copy_from_slice(&self.sector.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.payload_len.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.key_id.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.birth_generation.to_le_bytes());
        bytes[24..40].copy_from_slice(&self.tag);
        bytes
    }

    /// Reads what `to_bytes` wrote. Any bytes make a ref: whether it makes sense is judged where it is followed.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let (sector, rest) = split::<8>(bytes);
        let (payload_len, rest) = split::<4>(rest);
        let (key_id, rest) = split::<4>(rest);
        let (birth_generation, rest) = split::<8>(rest);
        let (tag, _) = split::<16>(rest);
        Self {
            sector: u64::from_le_bytes(sector),
            payload_len: u32::from_le_bytes(payload_len),
            key_id: u32::from_le_bytes(key_id),
            birth_generation: u64::from_le_bytes(birth_generation),
            tag,
        }
    }

    /// A ref or none; none is 40 zero bytes.
    pub fn option_to_bytes(this: Option<&Self>) -> [u8; Self::BYTES] {
        this.map_or([0; Self::BYTES], Self::to_bytes)
    }

    /// Reads what `option_to_bytes` wrote.
    pub fn option_from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        (bytes != &[0; Self::BYTES]).then(|| Self::from_bytes(bytes))
    }

    /// Where it begins.
    pub(crate) fn place(&self) -> Sector {
        Sector::new(self.sector)
    }

    /// The superblock that was being prepared when it was written.
    pub(crate) fn birth(&self) -> Generation {
        Generation::new(self.birth_generation)
    }

    /// Sectors of the block, which follow from its payload; `None` for a length that no block has.
    pub fn sectors(&self) -> Option<u32> {
        let payload = self.payload_len as usize;
        (payload <= MAX_PAYLOAD_BYTES)
            .then(|| (payload + ENVELOPE_OVERHEAD_BYTES).div_ceil(SECTOR_BYTES) as u32)
    }
}

impl std::fmt::Debug for BlockRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "BlockRef(sector {}, {} bytes, key {}, generation {})",
            self.sector, self.payload_len, self.key_id, self.birth_generation
        )
    }
}

fn split<const N: usize>(bytes: &[u8]) -> ([u8; N], &[u8]) {
    // The callers' lengths are constants that add up, so the fallback is never taken.
    bytes
        .split_first_chunk::<N>()
        .map_or(([0; N], &[]), |(head, rest)| (*head, rest))
}
