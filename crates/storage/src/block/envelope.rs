//! `Envelope`: the 64 bytes before a block's ciphertext, and the arithmetic of blocks (FORMAT.md, "Block envelope").
//!
//! What must hold: every byte of 0..48 is covered by the tag, through the associated data; the nonce is by what a nonce
//! is. The checksum covers the envelope and the tag, so that after a failure an intact block that does not belong here
//! can be told from a damaged envelope; nothing is ever decided in a block's favour by it.

use super::{BlockRef, Role, Sector};
use crate::numbers::Generation;

/// Bytes of a sector: blocks begin and end on sector boundaries.
pub const SECTOR_BYTES: usize = 4096;
/// The largest block.
pub const MAX_BLOCK_BYTES: usize = 64 << 20;
/// The largest payload of a block.
pub const MAX_PAYLOAD_BYTES: usize = MAX_BLOCK_BYTES - ENVELOPE_OVERHEAD_BYTES;

pub(crate) const ENVELOPE_HEAD_BYTES: usize = 64;
pub(crate) const TAG_BYTES: usize = 16;
pub(crate) const ENVELOPE_OVERHEAD_BYTES: usize = ENVELOPE_HEAD_BYTES + TAG_BYTES;

const MAGIC: [u8; 4] = *b"HUSB";
const VERSION: u8 = 1;
const BOUND_BYTES: usize = 48;
const AAD_LABEL: [u8; 8] = *b"HUSHBLK1";
const AAD_BYTES: usize = AAD_LABEL.len() + 16 + BOUND_BYTES;

const _: () = assert!(BOUND_BYTES + 12 + 4 == ENVELOPE_HEAD_BYTES);
const _: () = assert!(MAX_BLOCK_BYTES.is_multiple_of(SECTOR_BYTES));

/// What a block says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    pub(crate) suite: u8,
    pub(crate) role: Role,
    pub(crate) key_id: u32,
    pub(crate) sectors: u32,
    pub(crate) sector: Sector,
    pub(crate) birth: Generation,
    pub(crate) epoch_salt: [u8; 16],
}

impl Envelope {
    fn to_bytes(self) -> [u8; BOUND_BYTES] {
        let mut bytes = [0; BOUND_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[5] = self.suite;
        bytes[6] = self.role.number();
        bytes[8..12].copy_from_slice(&self.key_id.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.sectors.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sector.number().to_le_bytes());
        bytes[24..32].copy_from_slice(&self.birth.number().to_le_bytes());
        bytes[32..48].copy_from_slice(&self.epoch_salt);
        bytes
    }

    /// What the tag covers beside the ciphertext.
    pub(crate) fn aad(self, database_id: &[u8; 16]) -> [u8; AAD_BYTES] {
        let mut aad = [0; AAD_BYTES];
        aad[0..8].copy_from_slice(&AAD_LABEL);
        aad[8..24].copy_from_slice(database_id);
        aad[24..].copy_from_slice(&self.to_bytes());
        aad
    }

    /// Puts envelope and tag around the ciphertext in `block`, which is whole sectors.
    pub(crate) fn write(self, block: &mut [u8], nonce: &[u8; 12], tag: &[u8; TAG_BYTES]) {
        let tag_at = block.len() - TAG_BYTES;
        block[0..48].copy_from_slice(&self.to_bytes());
        block[48..60].copy_from_slice(nonce);
        block[tag_at..].copy_from_slice(tag);
        let crc = crc32c::crc32c_append(crc32c::crc32c(&block[..60]), tag);
        block[60..64].copy_from_slice(&crc.to_le_bytes());
    }
}

/// A block as it was read: whole sectors, its parts by name.
pub(crate) struct RawBlock<'a> {
    head: &'a [u8; ENVELOPE_HEAD_BYTES],
    pub(crate) body: &'a mut [u8],
    pub(crate) tag: [u8; TAG_BYTES],
}

impl<'a> RawBlock<'a> {
    /// `None` for fewer bytes than an envelope has.
    pub(crate) fn split(block: &'a mut [u8]) -> Option<Self> {
        let (head, rest) = block.split_first_chunk_mut::<ENVELOPE_HEAD_BYTES>()?;
        let (body, tag) = rest.split_last_chunk_mut::<TAG_BYTES>()?;
        Some(Self {
            head,
            body,
            tag: *tag,
        })
    }

    pub(crate) fn nonce(&self) -> [u8; 12] {
        self.array::<12>(48)
    }

    pub(crate) fn epoch_salt(&self) -> [u8; 16] {
        self.array::<16>(32)
    }

    pub(crate) fn birth(&self) -> Generation {
        Generation::new(u64::from_le_bytes(self.array::<8>(24)))
    }

    /// True if this is, by its own words, exactly the block that `expected` describes.
    pub(crate) fn says(&self, expected: &Envelope) -> bool {
        self.head[..BOUND_BYTES] == expected.to_bytes()
    }

    /// True if envelope and tag are as they were written, whatever block they belong to.
    pub(crate) fn is_intact(&self) -> bool {
        let crc = crc32c::crc32c_append(crc32c::crc32c(&self.head[..60]), &self.tag);
        self.head[0..4] == MAGIC && self.array::<4>(60) == crc.to_le_bytes()
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.head[at..at + N]);
        bytes
    }
}

/// Whether sectors begin as a block of that role at that place does. Says nothing about whether it opens.
pub(crate) fn is_block_of(bytes: &[u8], role: Role, sector: Sector) -> bool {
    bytes.starts_with(&MAGIC)
        && bytes.get(6) == Some(&role.number())
        && bytes.get(16..24) == Some(&sector.number().to_le_bytes())
}

impl Envelope {
    /// The envelope that the block behind `r` must have. Its epoch salt is free, and taken from the block.
    pub(crate) fn expected(
        suite: u8,
        role: Role,
        r: &BlockRef,
        sectors: u32,
        epoch_salt: [u8; 16],
    ) -> Self {
        Self {
            suite,
            role,
            key_id: r.key_id,
            sectors,
            sector: r.place(),
            birth: r.birth(),
            epoch_salt,
        }
    }
}
