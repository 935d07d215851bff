//! The labels that separate derived keys by purpose. FORMAT.md, "Keys".
//!
//! A closed list: a key derived for one purpose cannot be derived for another by mistyping a string. The bytes are
//! frozen: changing one makes every existing file unreadable.

/// What a derived key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KdfLabel {
    /// Key-encryption key of a key slot, from the slot's root.
    KeyEncryption,
    /// Commitment to the master key.
    Commitment,
    /// MAC key of the file header, from the master key.
    HeaderMac,
    /// Wrapping key of system DEK and ring key, from the master key.
    Wrap,
    /// Key of sealed blocks, from a DEK.
    Block,
    /// Key of log records, from the system DEK.
    Wal,
    /// MAC key of a log's header, from the system DEK.
    WalMac,
    /// Commitment to a data key, from that key.
    DataKeyCommitment,
    /// Key that wraps a database's key in a server's keyring, from the keyring's root.
    Keyring,
    /// Key of one spill file, from a process's random key.
    Spill,
}

impl KdfLabel {
    /// The label as it enters the derivation.
    pub const fn as_bytes(self) -> &'static [u8] {
        match self {
            Self::KeyEncryption => b"HUSH1 kek",
            Self::Commitment => b"HUSH1 commit",
            Self::HeaderMac => b"HUSH1 hdrmac",
            Self::Wrap => b"HUSH1 wrap",
            Self::Block => b"HUSH1 blk",
            Self::Wal => b"HUSH1 wal",
            Self::WalMac => b"HUSH1 walmac",
            Self::DataKeyCommitment => b"HUSH1 dcommit",
            Self::Keyring => b"HUSH1 keyring",
            Self::Spill => b"HUSH1 spill",
        }
    }
}
