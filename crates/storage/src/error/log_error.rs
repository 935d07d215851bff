//! `LogError`: why a log was refused. What a crash can leave behind is none of these.

use super::ErrorKind;
use crate::numbers::{Generation, Lsn};

/// Why a log is not replayed, or not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The database file names a log, and there is none.
    #[error(
        "the log of this database is missing (sequence {sequence}), and has transactions that the file has not: put it back beside the file"
    )]
    Missing {
        /// The log that the superblock names.
        sequence: u64,
    },
    /// The file ends within the log's header.
    #[error(
        "the log was cut off: it has {found_bytes} bytes, not even its header; put the whole log back"
    )]
    Truncated {
        /// Bytes that are there.
        found_bytes: u64,
    },
    /// The header breaks a rule of the format.
    #[error("the log's header is damaged ({0}): put a good copy of the log back")]
    HeaderDamaged(&'static str),
    /// A later release wrote the log.
    #[error("the log has format version {version}, newer than this release knows: use a newer one")]
    NewerFormat {
        /// The version that the log names.
        version: u8,
    },
    /// The log is plain and its database file is encrypted.
    #[error(
        "the log is not encrypted, but its database file is: it is not this file's log, remove it and put the right one back"
    )]
    PlainBesideEncrypted,
    /// The log is encrypted and its database file is plain.
    #[error(
        "the log is encrypted, but its database file is not: it is not this file's log, put the right one back"
    )]
    EncryptedBesidePlain,
    /// The log names another database.
    #[error("the log belongs to another database: put this database's own log back")]
    OtherDatabase,
    /// The header does not hold under its authentication code.
    #[error("the log's header was changed: its authentication code does not hold")]
    HeaderEdited,
    /// An authentic log of this database, but another one.
    #[error(
        "another log of this database was put here: it has sequence {found}, sequence {expected} belongs here"
    )]
    OtherSequence {
        /// The sequence that belongs here.
        expected: u64,
        /// The sequence that the log has.
        found: u64,
    },
    /// An authentic log of this database and sequence, on another state.
    #[error(
        "the log builds on generation {found} of the database, the file calls for generation {expected}: file and log are not of one time"
    )]
    OtherGeneration {
        /// The generation that the file calls for.
        expected: Generation,
        /// The generation that the log builds on.
        found: Generation,
    },
    /// An authentic log of this database, sequence and generation, out of another history.
    #[error(
        "the log continues another history of this database: its chain tag or salt is not the one that belongs here"
    )]
    OtherHistory,

    /// The log ends in damage, though another one goes on behind its end.
    #[error(
        "the log is damaged at LSN {lsn}, though log {next} goes on behind what stood there: restore a backup, or salvage"
    )]
    EndDamaged {
        /// Where the replay ended.
        lsn: Lsn,
        /// Sequence of the log that goes on.
        next: u64,
    },
    /// The next log goes on behind another record than the last one of this log.
    #[error(
        "log {next} does not continue the log before it, which ends at LSN {lsn}: records were cut off there, or log {next} is of another history"
    )]
    NextDoesNotFollow {
        /// Where the log before ends.
        lsn: Lsn,
        /// Sequence of the next log.
        next: u64,
    },

    /// A record is damaged that was durable when a later one was written.
    #[error(
        "the log is damaged at LSN {lsn}, though everything below LSN {durable_lsn} had reached the disk: restore a backup, or salvage"
    )]
    RecordDamaged {
        /// Where the record begins.
        lsn: Lsn,
        /// Below this a later record says that all was durable.
        durable_lsn: Lsn,
    },
    /// A record that was durable when a later one was written does not hold under its tag.
    #[error(
        "the log record at LSN {lsn} was changed, or comes from another log: its tag does not hold, though everything below LSN {durable_lsn} had reached the disk"
    )]
    RecordEdited {
        /// Where the record begins.
        lsn: Lsn,
        /// Below this a later record says that all was durable.
        durable_lsn: Lsn,
    },
    /// A record from further on stands here: what was between was taken out, or records were exchanged.
    #[error("log records were dropped or reordered: at LSN {lsn} stands the record of LSN {found}")]
    RecordsDropped {
        /// Where it stands.
        lsn: Lsn,
        /// Where it belongs.
        found: Lsn,
    },
    /// A record from further up stands here.
    #[error("a log record was repeated: at LSN {lsn} stands the record of LSN {found}")]
    RecordRepeated {
        /// Where it stands.
        lsn: Lsn,
        /// Where it belongs.
        found: Lsn,
    },
    /// What an intact record says is impossible.
    #[error("the log record at LSN {lsn} is malformed: {what}")]
    Malformed {
        /// Where the record begins.
        lsn: Lsn,
        /// Which rule it breaks.
        what: &'static str,
    },

    /// The payload of a record is too large.
    #[error("a log record holds at most {max_bytes} bytes: write large data as blocks")]
    TooLarge {
        /// The limit.
        max_bytes: usize,
    },
    /// The log's key has sealed as many records as it may, or another process began the log.
    #[error("this log takes no more records: make a checkpoint, which begins a new one")]
    Exhausted,
}

impl LogError {
    /// What the caller should do.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Missing { .. }
            | Self::Truncated { .. }
            | Self::HeaderDamaged(_)
            | Self::EndDamaged { .. }
            | Self::RecordDamaged { .. }
            | Self::Malformed { .. } => ErrorKind::Corrupted,
            Self::NewerFormat { .. } => ErrorKind::Unsupported,
            Self::PlainBesideEncrypted
            | Self::EncryptedBesidePlain
            | Self::OtherDatabase
            | Self::HeaderEdited
            | Self::OtherSequence { .. }
            | Self::OtherGeneration { .. }
            | Self::OtherHistory
            | Self::NextDoesNotFollow { .. }
            | Self::RecordEdited { .. }
            | Self::RecordsDropped { .. }
            | Self::RecordRepeated { .. } => ErrorKind::Tampered,
            Self::TooLarge { .. } | Self::Exhausted => ErrorKind::InvalidInput,
        }
    }
}
