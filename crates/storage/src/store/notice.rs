//! `Notice`: what opening a file found and could bear, for a person to read.

use std::fmt;

use crate::numbers::{Generation, Lsn};

/// A finding that did not keep the file from opening. Unless the file was opened read-only, it has been put right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A copy of the file header is damaged or was changed.
    HeaderCopyDamaged {
        /// 0 for copy A, 1 for copy B.
        copy: usize,
    },
    /// A copy of the file header is older than the one that the superblock names: a slot change that was interrupted, or an
    /// old copy put back.
    HeaderCopyOlder {
        /// 0 for copy A, 1 for copy B.
        copy: usize,
    },
    /// A copy of the file header is newer than the one that the superblock names: a slot change that was interrupted.
    HeaderCopyUnfinished {
        /// 0 for copy A, 1 for copy B.
        copy: usize,
    },
    /// A copy of the key ring is damaged or was changed.
    KeyRingCopyDamaged {
        /// 0 or 1.
        copy: usize,
    },
    /// Neither copy of the key ring holds: blocks under data keys that only the ring had do not open.
    KeyRingLost,
    /// A superblock slot is damaged or was changed.
    SuperblockSlotDamaged {
        /// 0 or 1.
        slot: usize,
    },
    /// A superblock slot holds an older superblock: a commit that was interrupted, or an old copy put back.
    SuperblockSlotOlder {
        /// 0 or 1.
        slot: usize,
        /// The generation that it holds.
        found: Generation,
        /// The newest generation.
        newest: Generation,
    },
    /// A superblock slot of an encrypted file holds a plain superblock of the same database: SET ENCRYPTION ON that was interrupted, or an
    /// old copy put back.
    SuperblockSlotPlain {
        /// 0 or 1.
        slot: usize,
    },
    /// The database was not closed: transactions were taken from its log.
    LogReplayed {
        /// How many.
        transactions: u64,
    },
    /// The anchor that was insisted on is of a release that kept no history.
    AnchorWithoutHistory {
        /// The anchor's generation.
        generation: Generation,
    },
    /// A change of the data key was begun and has not ended: older ones open a part of the file still.
    DataKeyChangeUnfinished {
        /// The oldest of them.
        key_id: u32,
    },
    /// The data key has reached the age at which it is to be changed.
    DataKeyDue {
        /// The one of new blocks.
        key_id: u32,
        /// Whole days since it was made; `None` where nobody wrote down when that was.
        age_days: Option<u32>,
        /// The age at which it is to be changed.
        due_days: u32,
    },
    /// The log ends in what is no whole record: a write that a crash interrupted, or an acknowledged one that was changed.
    LogTornTail {
        /// Where it begins in the log.
        lsn: Lsn,
        /// How long it is.
        bytes: u64,
    },
}

/// What has the data key changed.
const CHANGE: &str = "ALTER DATABASE ... ROTATE DATA KEY, or hush rekey --data,";

impl Notice {
    /// Whether a part of the file is not as a writer left it, rather than as whoever could not close it.
    pub fn is_damage(&self) -> bool {
        !matches!(
            self,
            Self::LogReplayed { .. }
                | Self::AnchorWithoutHistory { .. }
                | Self::DataKeyChangeUnfinished { .. }
                | Self::DataKeyDue { .. }
        )
    }

    fn of_keys(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::DataKeyChangeUnfinished { key_id: 0 } => write!(
                f,
                "the database was plain, and a part of the file still is: {CHANGE} goes on with sealing it"
            ),
            Self::DataKeyChangeUnfinished { key_id } => write!(
                f,
                "a change of the data key has not ended, and data key {key_id} opens a part of the file still: {CHANGE} goes on"
            ),
            Self::DataKeyDue {
                key_id,
                age_days: Some(days),
                due_days,
            } => write!(
                f,
                "data key {key_id} is {days} days old, and rekey_after is {due_days} days: {CHANGE} makes another"
            ),
            Self::DataKeyDue {
                key_id,
                age_days: None,
                due_days,
            } => write!(
                f,
                "nobody wrote down when data key {key_id} was made, and rekey_after is {due_days} days: {CHANGE} makes another"
            ),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let copy_name = |copy: usize| if copy == 0 { 'A' } else { 'B' };
        match *self {
            Self::HeaderCopyDamaged { copy } => {
                write!(
                    f,
                    "file header copy {} is damaged or was changed; the other one holds",
                    copy_name(copy)
                )
            }
            Self::HeaderCopyOlder { copy } => write!(
                f,
                "file header copy {} is older than the superblock says: an interrupted key change, or an old copy put back",
                copy_name(copy)
            ),
            Self::HeaderCopyUnfinished { copy } => {
                write!(
                    f,
                    "file header copy {} is from a key change that was interrupted",
                    copy_name(copy)
                )
            }
            Self::KeyRingCopyDamaged { copy } => write!(
                f,
                "copy {copy} of the key ring is damaged or was changed; the other one holds"
            ),
            Self::KeyRingLost => write!(
                f,
                "the key ring does not open, or is not this header's: what is under data keys that only the ring had is lost"
            ),
            Self::SuperblockSlotDamaged { slot } => {
                write!(
                    f,
                    "superblock slot {slot} is damaged or was changed; the other one holds"
                )
            }
            Self::SuperblockSlotOlder {
                slot,
                found,
                newest,
            } => write!(
                f,
                "superblock slot {slot} holds generation {found} where {newest} is the newest: an interrupted commit, or an \
                 old copy put back"
            ),
            Self::SuperblockSlotPlain { slot } => write!(
                f,
                "superblock slot {slot} is from before the database was encrypted: an interrupted SET ENCRYPTION ON, or an old copy \
                 put back; nothing was read from it"
            ),
            Self::AnchorWithoutHistory { generation } => write!(
                f,
                "the anchor is from before the file kept a history: it shows that the file is not older than generation \
                 {generation}, but not that nothing was taken from it before it was written to; take a new one"
            ),
            Self::DataKeyChangeUnfinished { .. } | Self::DataKeyDue { .. } => self.of_keys(f),
            Self::LogReplayed { transactions } => write!(
                f,
                "the database was not closed: {transactions} transactions were taken from its log; if more were cut off its \
                 end, by a crash or by a change, only an anchor shows it"
            ),
            Self::LogTornTail { lsn, bytes } => write!(
                f,
                "the log ends at LSN {lsn} in {bytes} bytes that are no whole record, by a crash or by a change; they were left \
                 out, and what stood there may have been acknowledged: only an anchor shows it"
            ),
        }
    }
}
