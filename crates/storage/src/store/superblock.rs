//! `Superblock`: the root of a database file (FORMAT.md, "Superblock").
//!
//! It names everything that is reachable, by refs that carry tags, and the one file header that goes with it. Refuses
//! another version and reserved bytes that are not zero.

use crate::block::{BlockRef, Role};
use crate::error::{Error, Result};

use super::file_map::{FIRST_SECTOR, SUPERBLOCK_SECTOR};

const VERSION: u32 = 1;
const USED_BYTES: usize = 256;

/// State of the log that belongs to a superblock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WalState {
    pub(crate) is_open: bool,
    pub(crate) sequence: u64,
    pub(crate) salt: [u8; 16],
    pub(crate) chain_tag: [u8; 16],
}

/// The root of a database file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) generation: u64,
    pub(crate) total_sectors: u64,
    pub(crate) catalog: Option<BlockRef>,
    pub(crate) free_list: Option<BlockRef>,
    pub(crate) key_ring: Option<BlockRef>,
    pub(crate) header_sequence: u64,
    pub(crate) header_mac: [u8; 32],
    pub(crate) wal: WalState,
    pub(crate) seals: u64,
    pub(crate) previous_tag: [u8; 16],
}

impl Superblock {
    pub(crate) fn to_payload(&self) -> [u8; USED_BYTES] {
        let mut bytes = [0; USED_BYTES];
        bytes[0..4].copy_from_slice(&VERSION.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.generation.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.total_sectors.to_le_bytes());
        bytes[24..64].copy_from_slice(&BlockRef::option_to_bytes(self.catalog.as_ref()));
        bytes[64..104].copy_from_slice(&BlockRef::option_to_bytes(self.free_list.as_ref()));
        bytes[104..144].copy_from_slice(&BlockRef::option_to_bytes(self.key_ring.as_ref()));
        bytes[144..152].copy_from_slice(&self.header_sequence.to_le_bytes());
        bytes[152..184].copy_from_slice(&self.header_mac);
        bytes[184] = u8::from(self.wal.is_open);
        bytes[192..200].copy_from_slice(&self.wal.sequence.to_le_bytes());
        bytes[200..216].copy_from_slice(&self.wal.salt);
        bytes[216..232].copy_from_slice(&self.wal.chain_tag);
        bytes[232..240].copy_from_slice(&self.seals.to_le_bytes());
        bytes[240..256].copy_from_slice(&self.previous_tag);
        bytes
    }

    /// Reads an opened superblock, padding included.
    pub(crate) fn from_payload(payload: &[u8]) -> Result<Self> {
        let malformed = |what| Error::malformed(Role::Superblock, SUPERBLOCK_SECTOR, what);
        let (bytes, rest) = payload
            .split_first_chunk::<USED_BYTES>()
            .ok_or_else(|| malformed("it is too short"))?;
        let version = u32::from_le_bytes(array(bytes, 0));
        if version != VERSION {
            return Err(Error::Unsupported(format!("superblock version {version}")));
        }
        let reserved = [&bytes[4..8], &bytes[185..192], rest];
        if reserved.concat().iter().any(|&byte| byte != 0) {
            return Err(malformed("a reserved byte is not zero"));
        }
        let is_open = match bytes[184] {
            0 => false,
            1 => true,
            _ => return Err(malformed("its log state is unknown")),
        };
        let this = Self {
            generation: u64::from_le_bytes(array(bytes, 8)),
            total_sectors: u64::from_le_bytes(array(bytes, 16)),
            catalog: BlockRef::option_from_bytes(&array(bytes, 24)),
            free_list: BlockRef::option_from_bytes(&array(bytes, 64)),
            key_ring: BlockRef::option_from_bytes(&array(bytes, 104)),
            header_sequence: u64::from_le_bytes(array(bytes, 144)),
            header_mac: array(bytes, 152),
            wal: WalState {
                is_open,
                sequence: u64::from_le_bytes(array(bytes, 192)),
                salt: array(bytes, 200),
                chain_tag: array(bytes, 216),
            },
            seals: u64::from_le_bytes(array(bytes, 232)),
            previous_tag: array(bytes, 240),
        };
        match this.total_sectors {
            ..FIRST_SECTOR => Err(malformed("its file has no room for its own fixed parts")),
            _ => Ok(this),
        }
    }
}

fn array<const N: usize>(bytes: &[u8; USED_BYTES], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Superblock {
        let block = BlockRef {
            sector: 16,
            payload_len: 5,
            key_id: 1,
            birth_generation: 3,
            tag: [7; 16],
        };
        Superblock {
            generation: 3,
            total_sectors: 40,
            catalog: Some(block),
            free_list: None,
            key_ring: Some(BlockRef {
                sector: 17,
                ..block
            }),
            header_sequence: 2,
            header_mac: [9; 32],
            wal: WalState {
                is_open: true,
                sequence: 4,
                salt: [1; 16],
                chain_tag: [2; 16],
            },
            seals: 77,
            previous_tag: [3; 16],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut payload = example().to_payload().to_vec();
        payload.resize(4016, 0);
        assert_eq!(Superblock::from_payload(&payload).unwrap(), example());
    }

    #[test]
    fn reserved_bytes_must_be_zero() {
        for at in [4, 7, 185, 191, 256, 4015] {
            let mut payload = example().to_payload().to_vec();
            payload.resize(4016, 0);
            payload[at] = 1;
            assert!(
                matches!(
                    Superblock::from_payload(&payload),
                    Err(Error::Malformed { .. })
                ),
                "{at}"
            );
        }
    }

    #[test]
    fn short_and_unknown_are_refused() {
        assert!(Superblock::from_payload(&[0; 255]).is_err());
        let mut payload = example().to_payload();
        payload[0] = 2;
        assert!(matches!(
            Superblock::from_payload(&payload),
            Err(Error::Unsupported(_))
        ));
    }
}
