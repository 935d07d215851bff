//! `Superblock`: the root of a database file (FORMAT.md, "Superblock").
//!
//! It names everything that is reachable, by refs that carry tags, and the one file header that goes with it, and vouches for the
//! runs that led to it. Refuses another version and reserved bytes that are not zero.

use crate::block::{BlockRef, Role, Sector};
use crate::error::{Error, Result};
use crate::numbers::Generation;

use super::file_map::{FIRST_SECTOR, SUPERBLOCK_SECTOR};
use super::history::History;

const VERSION: u32 = 2;
/// What a file has that has a key ring.
const WITH_RING: u32 = 3;
/// It kept no history, and is not written any more.
const WITHOUT_HISTORY: u32 = 1;
/// Bytes before the history.
const FIXED_BYTES: usize = 256;
/// Where the history ends that leaves room for what only version 3 has, counted from where it begins.
const SHORT_HISTORY_BYTES: usize = 3680;
/// The entries of it that have room there.
const RECENT_WITH_RING: usize = 90;
/// The ref of the other copy of the key ring, counted from there, too: the last bytes of the sector's payload.
const RING_COPY_AT: usize = 3720;

/// State of the log that belongs to a superblock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WalState {
    pub(crate) is_open: bool,
    pub(crate) sequence: u64,
    /// The data key that the open log is sealed under; 0: the only one that there is, or no log is open.
    pub(crate) key_id: u32,
    pub(crate) salt: [u8; 16],
    pub(crate) chain_tag: [u8; 16],
}

/// The root of a database file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) generation: Generation,
    pub(crate) total_sectors: u64,
    pub(crate) catalog: Option<BlockRef>,
    pub(crate) free_list: Option<BlockRef>,
    /// Both copies of the key ring.
    pub(crate) key_ring: Option<[BlockRef; 2]>,
    pub(crate) header_sequence: u64,
    pub(crate) header_mac: [u8; 32],
    pub(crate) wal: WalState,
    pub(crate) seals: u64,
    pub(crate) previous_tag: [u8; 16],
    pub(crate) history: History,
}

impl Superblock {
    /// Whether what it keeps of earlier runs has room in it.
    pub(crate) fn has_room(&self) -> bool {
        self.key_ring.is_none() || self.history.recent.len() <= RECENT_WITH_RING
    }

    pub(crate) fn to_payload(&self) -> Vec<u8> {
        let mut bytes = vec![0; FIXED_BYTES];
        let version = match self.key_ring {
            Some(_) => WITH_RING,
            None => VERSION,
        };
        bytes[0..4].copy_from_slice(&version.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.generation.number().to_le_bytes());
        bytes[16..24].copy_from_slice(&self.total_sectors.to_le_bytes());
        bytes[24..64].copy_from_slice(&BlockRef::option_to_bytes(self.catalog.as_ref()));
        bytes[64..104].copy_from_slice(&BlockRef::option_to_bytes(self.free_list.as_ref()));
        bytes[104..144].copy_from_slice(&BlockRef::option_to_bytes(
            self.key_ring.map(|[first, _]| first).as_ref(),
        ));
        bytes[144..152].copy_from_slice(&self.header_sequence.to_le_bytes());
        bytes[152..184].copy_from_slice(&self.header_mac);
        bytes[184] = u8::from(self.wal.is_open);
        bytes[192..200].copy_from_slice(&self.wal.sequence.to_le_bytes());
        bytes[200..216].copy_from_slice(&self.wal.salt);
        bytes[216..232].copy_from_slice(&self.wal.chain_tag);
        bytes[232..240].copy_from_slice(&self.seals.to_le_bytes());
        bytes[240..256].copy_from_slice(&self.previous_tag);
        bytes.extend_from_slice(&self.history.to_bytes());
        if let Some([_, copy]) = self.key_ring {
            bytes[188..192].copy_from_slice(&self.wal.key_id.to_le_bytes());
            bytes.resize(FIXED_BYTES + RING_COPY_AT, 0);
            bytes.extend_from_slice(&copy.to_bytes());
        }
        bytes
    }

    /// Reads an opened superblock, padding included.
    pub(crate) fn from_payload(payload: &[u8]) -> Result<Self> {
        let malformed = |what| Error::malformed(Role::Superblock, SUPERBLOCK_SECTOR.number(), what);
        let (bytes, rest) = payload
            .split_first_chunk::<FIXED_BYTES>()
            .ok_or_else(|| malformed("it is too short"))?;
        let version = u32::from_le_bytes(array(bytes, 0));
        let (history, kept): (&[u8], &[u8]) = match version {
            VERSION => (rest, &[]),
            WITH_RING => (
                rest.get(..SHORT_HISTORY_BYTES).unwrap_or_default(),
                rest.get(SHORT_HISTORY_BYTES..RING_COPY_AT)
                    .unwrap_or_default(),
            ),
            WITHOUT_HISTORY => (&[], rest),
            _ => return Err(Error::Unsupported(format!("superblock version {version}"))),
        };
        let reserved = [&bytes[4..8], &bytes[185..188], kept];
        if reserved.concat().iter().any(|&byte| byte != 0) {
            return Err(malformed("a reserved byte is not zero"));
        }
        let is_open = match bytes[184] {
            0 => false,
            1 => true,
            _ => return Err(malformed("its log state is unknown")),
        };
        let generation = Generation::new(u64::from_le_bytes(array(bytes, 8)));
        let log_sequence = u64::from_le_bytes(array(bytes, 192));
        let history = match version {
            WITHOUT_HISTORY => History::default(),
            _ => History::from_bytes(history, generation, log_sequence).map_err(malformed)?,
        };
        let ring = BlockRef::option_from_bytes(&array(bytes, 104));
        let copy = match version {
            WITH_RING => rest.get(RING_COPY_AT..).and_then(<[u8]>::first_chunk),
            _ => None,
        };
        let key_ring = match (ring, copy.and_then(BlockRef::option_from_bytes)) {
            (None, None) if version != WITH_RING => None,
            (Some(ring), Some(copy)) => Some([ring, copy]),
            _ => return Err(malformed("it does not name both copies of a key ring")),
        };
        let key_id = u32::from_le_bytes(array(bytes, 188));
        if key_id != 0 && (!is_open || version != WITH_RING) {
            return Err(malformed("it names the key of a log and no log"));
        }
        let this = Self {
            generation,
            total_sectors: u64::from_le_bytes(array(bytes, 16)),
            catalog: BlockRef::option_from_bytes(&array(bytes, 24)),
            free_list: BlockRef::option_from_bytes(&array(bytes, 64)),
            key_ring,
            header_sequence: u64::from_le_bytes(array(bytes, 144)),
            header_mac: array(bytes, 152),
            wal: WalState {
                is_open,
                sequence: log_sequence,
                key_id,
                salt: array(bytes, 200),
                chain_tag: array(bytes, 216),
            },
            seals: u64::from_le_bytes(array(bytes, 232)),
            previous_tag: array(bytes, 240),
            history,
        };
        match Sector::new(this.total_sectors) {
            end if end >= FIRST_SECTOR => Ok(this),
            _ => Err(malformed("its file has no room for its own fixed parts")),
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
    use crate::numbers::Lsn;
    use crate::store::PastRun;
    use crate::tree::Tree;

    const BYTES: usize = 4016;

    fn past(last_generation: u64, log_sequence: u64) -> PastRun {
        PastRun {
            last_generation: Generation::new(last_generation),
            run: [last_generation as u8; 16],
            log_sequence,
            log_end: Lsn::new(128 * log_sequence),
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
            generation: Generation::new(30),
            total_sectors: 40,
            catalog: Some(block),
            free_list: None,
            key_ring: None,
            header_sequence: 2,
            header_mac: [9; 32],
            wal: WalState {
                is_open: true,
                sequence: 4,
                key_id: 0,
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
        superblock.generation = Generation::new(200);
        superblock.history.recent = (1..=92).map(|at| past(at, 1)).collect();
        assert_eq!(
            Superblock::from_payload(&payload(&superblock)).unwrap(),
            superblock
        );
    }

    fn with_ring() -> Superblock {
        let mut superblock = example();
        let block = superblock.catalog.unwrap();
        superblock.key_ring = Some([17, 18].map(|sector| BlockRef { sector, ..block }));
        superblock.wal.key_id = 3;
        superblock
    }

    #[test]
    fn a_superblock_with_a_key_ring_is_of_the_next_version() {
        let mut superblock = with_ring();
        superblock.generation = Generation::new(200);
        superblock.history.recent = (1..=90).map(|at| past(at, 1)).collect();
        for recent in [90, 0] {
            superblock.history.recent.truncate(recent);
            let bytes = payload(&superblock);
            assert_eq!(bytes[0], 3);
            assert_eq!(Superblock::from_payload(&bytes).unwrap(), superblock);
        }
    }

    #[test]
    fn half_a_key_ring_and_the_key_of_no_log_are_refused() {
        let refused = |bytes: &[u8]| {
            let read = Superblock::from_payload(bytes);
            assert!(matches!(read, Err(Error::Malformed { .. })));
        };
        let bytes = payload(&with_ring());
        for at in [104, BYTES - 40] {
            let mut bytes = bytes.clone();
            bytes[at..at + 40].fill(0);
            refused(&bytes);
        }
        let mut older = bytes.clone();
        older[0] = 2;
        refused(&older);
        let mut reserved = bytes.clone();
        reserved[BYTES - 41] = 1;
        refused(&reserved);
        let mut closed = bytes;
        closed[184] = 0;
        refused(&closed);
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
            |history| history.recent[2].last_generation = Generation::new(30),
            |history| history.recent[1].last_generation = Generation::new(7),
            |history| history.recent[0].last_generation = Generation::default(),
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
        bytes[0] = 4;
        assert!(matches!(
            Superblock::from_payload(&bytes),
            Err(Error::Unsupported(_))
        ));
    }
}
