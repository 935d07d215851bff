//! What can go wrong below SQL, in few kinds that each tell the caller what to do.
//!
//! What must hold: no text of an error carries a key, a passphrase or a stored value. A finding names the place
//! (role and sector), never the content.

mod log_error;

use std::fmt;
use std::io;

use hushdb_keys::{HeaderError, KeyError};

use crate::index_kind::IndexKind;
use crate::numbers::{Generation, Lsn};
use crate::role::Role;

pub use log_error::LogError;

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller should do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Ask for another key.
    WrongKey,
    /// Ask for a key: the file is encrypted.
    KeyRequired,
    /// Ask whoever keeps the key: its place refuses it, or does not accept who asks.
    KeyRefused,
    /// Ask again later: the place of the key is not available.
    KeyUnavailable,
    /// Open without a key, or look for the encrypted file: this one is plain.
    NotEncrypted,
    /// Do not trust the file: somebody changed it, moved a part of it or put an older part back.
    Tampered,
    /// Restore from a backup: the file is damaged.
    Corrupted,
    /// Nothing: somebody asked for this.
    Interrupted,
    /// Run the transaction again.
    Conflict,
    /// Give a row another key, or change the row that has it.
    Constraint,
    /// Wait for, or end, whoever holds the file or the lock.
    Busy,
    /// Do less at once, or give more memory.
    OutOfMemory,
    /// Make room on the disk.
    Full,
    /// Correct the call.
    InvalidInput,
    /// Use a release or a build that knows this.
    Unsupported,
    /// Look at the operating system's message.
    Io,
}

/// A place in the database file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// What should stand there.
    pub role: Role,
    /// First sector (of 4096 bytes) of the block.
    pub sector: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} block at sector {}", self.role, self.sector)
    }
}

/// Why storage refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No key slot of the file opens with the key that was given.
    #[error("wrong key: no key slot of this file opens with it")]
    WrongKey,
    /// The file is encrypted and no key was given.
    #[error("this file is encrypted: give its key")]
    KeyRequired,
    /// A key was given for a plain file.
    #[error("this file is not encrypted, but a key was given")]
    NotEncrypted,
    /// The text of a key could not be read as one, or its source gave none.
    #[error(transparent)]
    KeyUnusable(KeyError),
    /// The key slots ask for more stretching than the caller allowed.
    #[error(transparent)]
    KdfBudgetSpent(HeaderError),
    /// A change of key slots that cannot be.
    #[error(transparent)]
    KeySlots(HeaderError),

    /// The file does not begin as a HushDB file does.
    #[error("not a HushDB file")]
    NotADatabase,
    /// A later release wrote the file.
    #[error("the file has format version {version}, newer than this release knows")]
    NewerFormat {
        /// The version that the file names.
        version: u16,
    },
    /// The file is shorter than its superblock says.
    #[error("the file was cut off: it has {found_bytes} bytes of {expected_bytes}")]
    Truncated {
        /// Bytes that must be there.
        expected_bytes: u64,
        /// Bytes that are.
        found_bytes: u64,
    },

    /// The file header does not hold under its authentication code, though the key is right.
    #[error("the file header was changed: its authentication code does not hold")]
    HeaderEdited,
    /// A key slot asks for more work or memory than any honest one does.
    #[error(
        "key slot {slot} asks for absurd key-derivation parameters: the file header was edited"
    )]
    AbsurdKdf {
        /// The slot's index.
        slot: usize,
    },
    /// The file header is intact, but not the one that the superblock names.
    #[error(
        "an older file header was put back: it has sequence {found}, the superblock names {expected}"
    )]
    HeaderReplaced {
        /// The sequence that the superblock names.
        expected: u64,
        /// The sequence of the copy that opened.
        found: u64,
    },
    /// The header commits to another master key than the caller expects.
    #[error(
        "this is not the expected key: the file's commitment is another one, so it is another file, or was given new keys"
    )]
    NotExpectedKey,
    /// The superblock is not the one that the caller expects.
    #[error("this is not the expected state of the database: its root digest is another one")]
    NotExpectedRoot,
    /// The superblock is the expected one and names a log, which it leaves free to grow and to be cut.
    #[error(
        "a root digest names one content, and this database has a log, whose end it does not pin: close the database (or run \
         CHECKPOINT) and take the digest then, or insist on an anchor"
    )]
    ExpectedRootHasLog,
    /// The anchor that the caller gave is another database's.
    #[error("the anchor belongs to another database")]
    AnchorOfOther,
    /// The database is older than the anchor that the caller gave.
    #[error(
        "the database file was rolled back: it has generation {found}, the anchor has generation {expected}"
    )]
    RolledBack {
        /// The anchor's generation.
        expected: Generation,
        /// The file's.
        found: Generation,
    },
    /// The superblock of the anchor did not lead to the newest one.
    #[error(
        "the database was rolled back and written to since: its generation {generation} is not the one that the anchor was taken \
         of, and what was committed there is missing"
    )]
    OtherHistory {
        /// The anchor's generation.
        generation: Generation,
    },
    /// The log ends before the anchor that the caller gave, or is another one.
    #[error(
        "the end of the log was cut off: it does not reach the anchor, which was at {expected} of log bytes; what was \
         committed up to there is missing"
    )]
    LogCut {
        /// Where the log ended when the anchor was taken.
        expected: Lsn,
    },
    /// Both superblock slots hold an authentic superblock of one generation, and they differ.
    #[error(
        "the superblock slots come from two histories of this database (generation {generation})"
    )]
    SuperblockForked {
        /// The generation that both claim.
        generation: Generation,
    },
    /// Neither superblock slot opens, and at least one is not merely damaged.
    #[error("the superblock was changed: neither of its two slots opens")]
    SuperblockEdited,
    /// An intact block stands where its parent names another one.
    #[error("{0} was replaced: another or an older block stands there")]
    BlockReplaced(Place),
    /// The content of a block does not hold under its tag.
    #[error("{0} was changed: its authentication tag does not hold")]
    BlockEdited(Place),

    /// Neither copy of the key ring opens, for this reason.
    #[error("neither copy of the key ring opens: {0}; hush salvage copies what opens without it")]
    KeyRingLost(Box<Error>),

    /// Neither copy of the file header is whole.
    #[error("the file header is damaged in both copies ({0} does not hold)")]
    HeaderDamaged(&'static str),
    /// Neither superblock slot is whole.
    #[error("the superblock is damaged in both slots")]
    SuperblockDamaged,
    /// A block's envelope (or in a plain database: its content) fails its checksum.
    #[error("{0} is damaged")]
    BlockDamaged(Place),
    /// What a block or ref says is impossible: a length, count, number or order.
    #[error("{place} is malformed: {what}")]
    Malformed {
        /// Where it was read.
        place: Place,
        /// Which rule it breaks.
        what: &'static str,
    },

    /// The log beside the database file is refused.
    #[error(transparent)]
    Log(#[from] LogError),

    /// The work was asked to stop.
    #[error("the statement was cancelled")]
    Interrupted,
    /// Another transaction changed the same thing first.
    #[error("conflict: {0}")]
    Conflict(String),
    /// Another transaction, which was waited for, changed what a statement was to change: the statement is to look again.
    #[error("conflict: another transaction changed the same row")]
    Overtaken,
    /// Those that were waited for wait for this transaction.
    #[error("conflict: a deadlock, since transactions that this one waits for wait for it")]
    Deadlock,
    /// Another transaction held a lock for longer than this one would wait.
    #[error(
        "another transaction holds a lock that this statement needs: try again later, raise lock_timeout, or leave out NOWAIT"
    )]
    LockTimeout,
    /// There is no memory for the locks of rows.
    #[error(
        "a transaction that locks more rows than there is memory for: change fewer rows at once, or raise memory_limit"
    )]
    TooManyLocks,
    /// A row would have the key that another row has.
    #[error("duplicate key: another row has the same key in {} \"{index}\"", name_of(*kind))]
    Duplicate {
        /// The index that allows each key once.
        index: String,
        /// What it is.
        kind: IndexKind,
    },
    /// A row names another that is not there.
    #[error("Violates foreign key constraint because a key {}", of_foreign_key(*is_missing))]
    ForeignKey {
        /// Whether the row that names it is new; else the one that it names went.
        is_missing: bool,
    },
    /// Another process has the file open.
    #[error("the file is in use by {}", holder(*pid))]
    Busy {
        /// The process, where the operating system tells.
        pid: Option<u32>,
    },
    /// This process has the file open already.
    #[error("the file is already attached in this process")]
    AlreadyAttached,
    /// No room on the disk, in the quota or under the file-size limit.
    #[error("no room to write: {0}")]
    Full(#[source] io::Error),
    /// The store was opened read-only.
    #[error("the database is open read-only")]
    ReadOnly,
    /// An earlier write or sync failed, so what is on disk is not known: nothing more is written.
    #[error("an earlier write to the file failed: it is read-only until it is opened again")]
    WriteFailedEarlier,
    /// The call makes no sense.
    #[error("{0}")]
    InvalidInput(String),
    /// This release or build cannot do it.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The cipher or the random source refused.
    #[error("the crypto provider failed: {0}")]
    Crypto(&'static str),
    /// The operating system refused.
    #[error("{0}")]
    Io(#[source] io::Error),
}

impl Error {
    /// What the caller should do.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::WrongKey => ErrorKind::WrongKey,
            Self::KeyRequired => ErrorKind::KeyRequired,
            Self::NotEncrypted => ErrorKind::NotEncrypted,
            Self::KeyUnusable(
                KeyError::Refused { .. }
                | KeyError::CredentialsRefused { .. }
                | KeyError::TooManyRequests { .. },
            ) => ErrorKind::KeyRefused,
            Self::KeySlots(HeaderError::KeyWithdrawn) => ErrorKind::KeyRefused,
            Self::KeyUnusable(KeyError::Unavailable { .. }) => ErrorKind::KeyUnavailable,
            Self::HeaderEdited
            | Self::AbsurdKdf { .. }
            | Self::HeaderReplaced { .. }
            | Self::SuperblockForked { .. }
            | Self::NotExpectedKey
            | Self::NotExpectedRoot
            | Self::RolledBack { .. }
            | Self::OtherHistory { .. }
            | Self::LogCut { .. }
            | Self::SuperblockEdited
            | Self::BlockReplaced(_)
            | Self::BlockEdited(_) => ErrorKind::Tampered,
            Self::Truncated { .. }
            | Self::HeaderDamaged(_)
            | Self::SuperblockDamaged
            | Self::BlockDamaged(_)
            | Self::Malformed { .. } => ErrorKind::Corrupted,
            Self::Log(error) => error.kind(),
            Self::KeyRingLost(error) => error.kind(),
            Self::Interrupted => ErrorKind::Interrupted,
            Self::Conflict(_) | Self::Overtaken | Self::Deadlock => ErrorKind::Conflict,
            Self::TooManyLocks => ErrorKind::OutOfMemory,
            Self::Duplicate { .. } | Self::ForeignKey { .. } => ErrorKind::Constraint,
            Self::Busy { .. } | Self::AlreadyAttached | Self::LockTimeout => ErrorKind::Busy,
            Self::Full(_) => ErrorKind::Full,
            Self::KeyUnusable(_)
            | Self::KdfBudgetSpent(_)
            | Self::AnchorOfOther
            | Self::ExpectedRootHasLog
            | Self::KeySlots(_)
            | Self::NotADatabase
            | Self::ReadOnly
            | Self::InvalidInput(_) => ErrorKind::InvalidInput,
            Self::NewerFormat { .. } | Self::Unsupported(_) => ErrorKind::Unsupported,
            Self::WriteFailedEarlier | Self::Crypto(_) | Self::Io(_) => ErrorKind::Io,
        }
    }

    /// A rule of the format that authentic (or plain) bytes break.
    pub(crate) fn malformed(role: Role, sector: u64, what: &'static str) -> Self {
        Self::Malformed {
            place: Place { role, sector },
            what,
        }
    }
}

impl From<HeaderError> for Error {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::NotADatabase => Self::NotADatabase,
            HeaderError::NewerFormat { found } => Self::NewerFormat { version: found },
            HeaderError::UnsupportedSuite { .. } | HeaderError::NewerRing { .. } => {
                Self::Unsupported(error.to_string())
            }
            HeaderError::Corrupted { what } => Self::HeaderDamaged(what),
            HeaderError::Tampered { .. } | HeaderError::UnknownKeyId { .. } => Self::HeaderEdited,
            HeaderError::AbsurdKdf { slot } => Self::AbsurdKdf { slot },
            HeaderError::WrongKey => Self::WrongKey,
            HeaderError::KeyRequired => Self::KeyRequired,
            HeaderError::NotEncrypted => Self::NotEncrypted,
            HeaderError::KdfBudgetSpent => Self::KdfBudgetSpent(error),
            HeaderError::Key(error) => Self::KeyUnusable(error),
            HeaderError::Random(_) => Self::Crypto("there are no random bytes"),
            HeaderError::Stretch(_) => Self::Crypto("the passphrase could not be stretched"),
            HeaderError::Forked => Self::Crypto(
                "the process was forked after the database was opened: open it again in the child",
            ),
            _ => Self::KeySlots(error),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full(error),
            kind @ io::ErrorKind::ReadOnlyFilesystem => {
                let what = "Read-only file system; a database on it can be attached READ_ONLY (--read-only)";
                Self::Io(io::Error::new(kind, what))
            }
            _ => Self::Io(error),
        }
    }
}

fn of_foreign_key(is_missing: bool) -> &'static str {
    match is_missing {
        true => "does not exist in the referenced table",
        false => "is still referenced by a foreign key in a different table",
    }
}

fn name_of(kind: IndexKind) -> &'static str {
    match kind {
        IndexKind::Primary => "primary key",
        IndexKind::Unique | IndexKind::Plain => "unique index",
    }
}

fn holder(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}
