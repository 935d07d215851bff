//! `Superblock`: the root of a database file (FORMAT.md, "Superblock").
//!
//! It names everything that is reachable, by refs that carry tags, and the one file header that goes with it, and vouches for the
//! runs that led to it. Refuses another version and reserved bytes that are not zero.

use crate::block::{BlockRef, Role};
use crate::error::{Error, Result};

use super::file_map::{FIRST_SECTOR, SUPERBLOCK_SECTOR};
use super::history::History;

const VERSION: u32 = 2;
/// It kept no history, and is not written any more.
const WITHOUT_HISTORY: u32 = 1;
/// Bytes before the history.
const FIXED_BYTES: usize = 256;

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
    pub(crate) history: History,
}

impl Superblock {
    pub(crate) fn to_payload(&self) -> Vec<u8> {
        let mut bytes = vec![0; FIXED_BYTES];
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
        bytes.extend_from_slice(&self.history.to_bytes());
        bytes
    }

    /// Reads an opened superblock, padding included.
    pub(crate) fn from_payload(payload: &[u8]) -> Result<Self> {
        let malformed = |what| Error::malformed(Role::Superblock, SUPERBLOCK_SECTOR, what);
        let (bytes, rest) = payload
            .split_first_chunk::<FIXED_BYTES>()
            .ok_or_else(|| malformed("it is too short"))?;
        let version = u32::from_le_bytes(array(bytes, 0));
        let kept: &[u8] = match version {
            VERSION => &[],
            WITHOUT_HISTORY => rest,
            _ => return Err(Error::Unsupported(format!("superblock version {version}"))),
        };
        let reserved = [&bytes[4..8], &bytes[185..192], kept];
        if reserved.concat().iter().any(|&byte| byte != 0) {
            return Err(malformed("a reserved byte is not zero"));
        }
        let is_open = match bytes[184] {
            0 => false,
            1 => true,
            _ => return Err(malformed("its log state is unknown")),
        };
        let generation = u64::from_le_bytes(array(bytes, 8));
        let log_sequence = u64::from_le_bytes(array(bytes, 192));
        let history = match version {
            WITHOUT_HISTORY => History::default(),
            _ => History::from_bytes(rest, generation, log_sequence).map_err(malformed)?,
        };
        let this = Self {
            generation,
            total_sectors: u64::from_le_bytes(array(bytes, 16)),
            catalog: BlockRef::option_from_bytes(&array(bytes, 24)),
            free_list: BlockRef::option_from_bytes(&array(bytes, 64)),
            key_ring: BlockRef::option_from_bytes(&array(bytes, 104)),
            header_sequence: u64::from_le_bytes(array(bytes, 144)),
            header_mac: array(bytes, 152),
            wal: WalState {
                is_open,
                sequence: log_sequence,
                salt: array(bytes, 200),
                chain_tag: array(bytes, 216),
            },
            seals: u64::from_le_bytes(array(bytes, 232)),
            previous_tag: array(bytes, 240),
            history,
        };
        match this.total_sectors {
            ..FIRST_SECTOR => Err(malformed("its file has no room for its own fixed parts")),
            _ => Ok(this),
        }
    }
}

fn array<const N: usize>(bytes: &[u8; FIXED_BYTES], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Tree;
    use crate::store::PastRun;

    const BYTES: usize = 4016;

    fn past(last_generation: u64, log_sequence: u64) -> PastRun {
        PastRun {
            last_generation,
            run: [last_generation as u8; 16],
            log_sequence,
            log_end: 128 * log_sequence,
        }
    }

    fn example() -> Superblock {
        let block = BlockRef {
            sector: 16,
            payload_len: 5,
            key_id: 1,
            birth_generation: 3,
            tag: [7; 16],
        };
        Superblock {
            generation: 30,
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
            history: History {
                run: [5; 16],
                tree: Some(Tree {
                    root: block,
                    entries: 64,
                }),
                recent: vec![past(7, 1), past(9, 1), past(29, 4)],
            },
        }
    }

    fn payload(superblock: &Superblock) -> Vec<u8> {
        let mut payload = superblock.to_payload();
        assert!(payload.len() <= BYTES);
        payload.resize(BYTES, 0);
        payload
    }

    #[test]
    fn what_is_written_is_read() {
        let mut superblock = example();
        assert_eq!(
            Superblock::from_payload(&payload(&superblock)).unwrap(),
            superblock
        );
        superblock.history.tree = None;
        superblock.history.recent[0].run = [0; 16];
        assert_eq!(
            Superblock::from_payload(&payload(&superblock)).unwrap(),
            superblock
        );
        superblock.generation = 200;
        superblock.history.recent = (1..=92).map(|at| past(at, 1)).collect();
        assert_eq!(
            Superblock::from_payload(&payload(&superblock)).unwrap(),
            superblock
        );
    }

    #[test]
    fn a_superblock_of_a_release_without_a_history_is_read() {
        let mut bytes = payload(&example());
        bytes[0] = 1;
        assert!(Superblock::from_payload(&bytes).is_err());
        bytes[FIXED_BYTES..].fill(0);
        let read = Superblock::from_payload(&bytes).unwrap();
        assert_eq!(read.history, History::default());
        bytes[BYTES - 1] = 1;
        assert!(Superblock::from_payload(&bytes).is_err());
    }

    #[test]
    fn reserved_bytes_must_be_zero() {
        for at in [4, 7, 185, 191, 324, 327, 328 + 3 * 40, BYTES - 1] {
            let mut bytes = payload(&example());
            bytes[at] = 1;
            assert!(
                matches!(
                    Superblock::from_payload(&bytes),
                    Err(Error::Malformed { .. })
                ),
                "{at}"
            );
        }
    }

    #[test]
    fn an_impossible_history_is_refused() {
        type Edit = fn(&mut History);
        let edits: [Edit; 10] = [
            |history| history.run = [0; 16],
            // Nothing before it that would give it away.
            |history| *history = History::default(),
            |history| history.recent[0].run = [0; 16],
            |history| history.recent.swap(0, 1),
            |history| history.recent[2].last_generation = 30,
            |history| history.recent[1].last_generation = 7,
            |history| history.recent[0].last_generation = 0,
            |history| history.recent[1].run = [0; 16],
            |history| history.recent[2].log_sequence = 5,
            |history| history.recent[1].log_sequence = 0,
        ];
        for (at, edit) in edits.into_iter().enumerate() {
            let mut superblock = example();
            edit(&mut superblock.history);
            let read = Superblock::from_payload(&payload(&superblock));
            assert!(matches!(read, Err(Error::Malformed { .. })), "{at}");
        }
        for (at, byte) in [(312, 0), (320, 93), (323, 0xff), (320, 4)] {
            let mut bytes = payload(&example());
            bytes[at] = byte;
            assert!(Superblock::from_payload(&bytes).is_err(), "{at}");
        }
    }

    #[test]
    fn short_and_unknown_are_refused() {
        assert!(Superblock::from_payload(&[0; 255]).is_err());
        let mut bytes = payload(&example());
        assert!(Superblock::from_payload(&bytes[..300]).is_err());
        bytes[0] = 3;
        assert!(matches!(
            Superblock::from_payload(&bytes),
            Err(Error::Unsupported(_))
        ));
    }
}
