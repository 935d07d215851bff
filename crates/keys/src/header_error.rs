//! Why a header is refused or cannot be changed. One variant a situation; each text says what to do.

use hushdb_crypto::{RandomError, StretchError};

use crate::KeyError;

/// A header that is refused, or a key-slot operation that is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The file does not begin like a HushDB file.
    #[error("not a HushDB database: check the path")]
    NotADatabase,
    /// The file was written in a later format.
    #[error("format version {found} is newer than this program reads: update the program")]
    NewerFormat {
        /// The version in the file.
        found: u16,
    },
    /// The file names a cipher suite that this format version does not have.
    #[error(
        "unknown cipher suite {found}: update the program, or restore the file if it was edited"
    )]
    UnsupportedSuite {
        /// The number in the file.
        found: u8,
    },
    /// The checksum does not hold: bit rot or a torn write.
    #[error("{what} is damaged: use the other copy or a backup")]
    Corrupted {
        /// What is damaged.
        what: &'static str,
    },
    /// The bytes are whole but not as they were written: someone edited them.
    #[error(
        "{what} was changed by someone without the key: do not trust this file, restore a backup"
    )]
    Tampered {
        /// What was changed.
        what: &'static str,
    },
    /// A slot asks for more work or memory than any honest slot does.
    #[error(
        "key slot {slot} asks for absurd key-derivation parameters: the header was edited, restore a backup"
    )]
    AbsurdKdf {
        /// The slot's index.
        slot: usize,
    },
    /// No slot opens with this key.
    #[error("wrong key: no key slot opens with it")]
    WrongKey,
    /// The database is encrypted and no key was given.
    #[error("the database is encrypted: give its key")]
    KeyRequired,
    /// A key was given for a plaintext database.
    #[error(
        "the database is not encrypted but a key was given: open it without a key only if that is expected"
    )]
    NotEncrypted,
    /// The slots ask for more work than the caller allowed; no slot tried so far opened.
    #[error(
        "the key slots ask for more work than the key-derivation budget allows: raise the budget if the file is yours"
    )]
    KdfBudgetSpent,
    /// All key slots are in use.
    #[error("all key slots are in use: remove or change one")]
    SlotsFull,
    /// The last key slot would be removed.
    #[error("the last key slot cannot be removed: add another first")]
    LastSlot,
    /// There is no slot with this index, or it is empty.
    #[error("there is no key slot {slot}: list the slots")]
    NoSuchSlot {
        /// The index that was asked for.
        slot: usize,
    },
    /// A new master key was asked for, and not said what becomes of a slot.
    #[error(
        "key slot {slot} would be lost: give its key to keep it, or say that it is to be dropped"
    )]
    SlotNotNamed {
        /// The slot's index.
        slot: usize,
    },
    /// A slot was both kept and dropped, or one of them twice.
    #[error("key slot {slot} is named twice: keep it or drop it")]
    SlotNamedTwice {
        /// The slot's index.
        slot: usize,
    },
    /// Key slots were changed after a new master key was wrapped for them.
    #[error("the key slots were changed meanwhile: try again")]
    SlotsChanged,
    /// The label does not fit or has control or format characters.
    #[error("a slot's label is at most {limit} bytes without control or format characters: change it", limit = crate::MAX_LABEL_LEN)]
    InvalidLabel,
    /// The ciphertexts of key services do not fit.
    #[error("no room in the header for another wrapped key: remove a slot of a key service")]
    BlobAreaFull,
    /// Parameters of a new slot are below the floor.
    #[error(
        "key-derivation parameters are below the floor for new slots: use the defaults or more"
    )]
    WeakKdf,
    /// Parameters of a new slot are beyond what any reader accepts.
    #[error("key-derivation parameters are beyond what a reader accepts: use less")]
    ExcessiveKdf,
    /// A slot operation on a plaintext database, or keys of another database.
    #[error("these keys do not belong to this header: open the database again")]
    ForeignKeys,
    /// A block names a data key that the header does not hold.
    #[error("data key {key_id} is unknown: the file is damaged or was changed")]
    UnknownKeyId {
        /// The key id in the block or ref.
        key_id: u32,
    },
    /// The number of data keys that a database can have in its life was reached.
    #[error("this database has no number left for another data key: copy it into a new one")]
    KeyIdsSpent,
    /// A key ring has what a later release writes.
    #[error("the key ring has {what}, which this program does not read: update the program")]
    NewerRing {
        /// What it has.
        what: &'static str,
    },
    /// This process is a child that was forked after the database was opened; keys do not come along.
    #[error("the process was forked after the database was opened: open it again in the child")]
    Forked,
    /// The keys of an open database were given up, since the place of its key refused it.
    #[error("the key of this database was refused at its place while it was open: attach it again")]
    KeyWithdrawn,
    /// The key itself could not be had.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The passphrase could not be stretched.
    #[error(transparent)]
    Stretch(#[from] StretchError),
    /// No random bytes for a new key.
    #[error(transparent)]
    Random(#[from] RandomError),
}
