//! `LogHeader`: the 128 bytes that a log begins with (FORMAT.md, "Log").
//!
//! What must hold: what was read is an [`UnverifiedLogHeader`] until its MAC holds, and a [`LogHeader`] is replayed only
//! on the basis that it names. Refuses a log of another suite, database, sequence, generation or history, each by its own
//! error.

use super::log_seal::LogSeal;
use super::{LogBasis, LogError, LogOwner, TAG_BYTES};
use crate::error::{Error, Result};
use crate::file::LOG_MAGIC;
use crate::numbers::Generation;

/// Bytes of a log header; the first record begins behind it.
pub(crate) const LOG_HEADER_BYTES: usize = 128;

const VERSION: u8 = 1;
pub(super) const BOUND_BYTES: usize = 80;

type HeaderBytes = [u8; LOG_HEADER_BYTES];

/// A log header that is authentic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHeader {
    pub(super) basis: LogBasis,
    pub(super) key_id: u32,
    pub(super) salt: [u8; 16],
    pub(super) mac: [u8; TAG_BYTES],
}

/// A log header as it was read. Nothing in it is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnverifiedLogHeader {
    bytes: HeaderBytes,
    encrypted: bool,
}

impl LogHeader {
    /// What the log stands on.
    pub fn basis(&self) -> &LogBasis {
        &self.basis
    }

    /// The salt of the log's keys; the superblock keeps it.
    pub fn salt(&self) -> &[u8; 16] {
        &self.salt
    }

    /// The data key that the log's keys come from; 0 in a plain database.
    pub fn key_id(&self) -> u32 {
        self.key_id
    }

    /// A new header with a fresh salt, and what protects its log.
    pub(super) fn create(owner: &LogOwner, basis: LogBasis) -> Result<(Self, LogSeal)> {
        let mut salt = [0; 16];
        if owner.keys.is_some() {
            owner
                .crypto
                .random(&mut salt)
                .map_err(|_| Error::Crypto("there are no random bytes"))?;
        }
        let key_id = owner.key_id();
        let seal = LogSeal::new(owner, key_id, basis.sequence, &salt)?;
        let mut this = Self {
            basis,
            key_id,
            salt,
            mac: [0; TAG_BYTES],
        };
        this.mac = seal.header_mac(&this.to_bytes(owner)[..BOUND_BYTES]);
        Ok((this, seal))
    }

    pub(super) fn to_bytes(self, owner: &LogOwner) -> HeaderBytes {
        let mut bytes = [0; LOG_HEADER_BYTES];
        bytes[0..4].copy_from_slice(&LOG_MAGIC);
        bytes[4] = VERSION;
        bytes[5] = u8::from(owner.keys.is_some());
        bytes[8..16].copy_from_slice(&self.basis.sequence.to_le_bytes());
        bytes[16..32].copy_from_slice(&owner.database_id);
        bytes[32..40].copy_from_slice(&self.basis.base_generation.number().to_le_bytes());
        bytes[40..56].copy_from_slice(&self.basis.chain_tag);
        bytes[56..60].copy_from_slice(&self.key_id.to_le_bytes());
        bytes[64..80].copy_from_slice(&self.salt);
        bytes[80..96].copy_from_slice(&self.mac);
        bytes
    }

    /// Refuses to be replayed on another basis, or (where the salt is known) to be another log of the same one.
    ///
    /// # Errors
    /// `OtherSequence`, `OtherGeneration`, `OtherHistory`.
    pub fn expect(&self, basis: &LogBasis, salt: Option<&[u8; 16]>) -> Result<(), LogError> {
        let found = &self.basis;
        if found.sequence != basis.sequence {
            return Err(LogError::OtherSequence {
                expected: basis.sequence,
                found: found.sequence,
            });
        }
        if found.base_generation != basis.base_generation {
            return Err(LogError::OtherGeneration {
                expected: basis.base_generation,
                found: found.base_generation,
            });
        }
        match found.chain_tag == basis.chain_tag && salt.is_none_or(|salt| *salt == self.salt) {
            true => Ok(()),
            false => Err(LogError::OtherHistory),
        }
    }
}

impl UnverifiedLogHeader {
    /// Reads the beginning of a log.
    ///
    /// # Errors
    /// `Truncated`, `NewerFormat`, `HeaderDamaged`.
    pub fn parse(bytes: &[u8]) -> Result<Self, LogError> {
        let bytes = *bytes
            .first_chunk::<LOG_HEADER_BYTES>()
            .ok_or(LogError::Truncated {
                found_bytes: bytes.len() as u64,
            })?;
        if bytes[0..4] != LOG_MAGIC {
            return Err(LogError::HeaderDamaged("it does not begin as a log does"));
        }
        if bytes[4] > VERSION {
            return Err(LogError::NewerFormat { version: bytes[4] });
        }
        let encrypted = match (bytes[4], bytes[5]) {
            (VERSION, 0) => false,
            (VERSION, 1) => true,
            _ => return Err(LogError::HeaderDamaged("its version or suite is unknown")),
        };
        let reserved = [&bytes[6..8], &bytes[60..64], &bytes[96..]];
        if reserved.into_iter().flatten().any(|&byte| byte != 0) {
            return Err(LogError::HeaderDamaged("a reserved byte is not zero"));
        }
        Ok(Self { bytes, encrypted })
    }

    /// Whether it says that its log is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// The database that it names.
    pub fn database_id(&self) -> [u8; 16] {
        self.array(16)
    }

    /// The sequence that it names.
    pub fn sequence(&self) -> u64 {
        u64::from_le_bytes(self.array(8))
    }

    /// Holds the header against the database that it stands beside.
    ///
    /// # Errors
    /// `PlainBesideEncrypted`, `EncryptedBesidePlain`, `OtherDatabase`, `HeaderEdited`; in a plain database `HeaderDamaged`.
    pub fn verify(&self, owner: &LogOwner) -> Result<LogHeader, LogError> {
        self.verified(owner).map(|(header, _)| header)
    }

    pub(super) fn verified(&self, owner: &LogOwner) -> Result<(LogHeader, LogSeal), LogError> {
        match (owner.keys.is_some(), self.encrypted) {
            (true, false) => return Err(LogError::PlainBesideEncrypted),
            (false, true) => return Err(LogError::EncryptedBesidePlain),
            _ => {}
        }
        if self.database_id() != owner.database_id {
            return Err(LogError::OtherDatabase);
        }
        let header = LogHeader {
            basis: LogBasis {
                sequence: self.sequence(),
                base_generation: Generation::new(u64::from_le_bytes(self.array(32))),
                chain_tag: self.array(40),
            },
            key_id: u32::from_le_bytes(self.array(56)),
            salt: self.array(64),
            mac: self.array(80),
        };
        let sequence = header.basis.sequence;
        let seal = LogSeal::new(owner, header.key_id, sequence, &header.salt)
            .map_err(|_| LogError::HeaderEdited)?;
        match seal.header_holds(&self.bytes[..BOUND_BYTES], &header.mac) {
            true => Ok((header, seal)),
            false if seal.is_encrypted() => Err(LogError::HeaderEdited),
            false => Err(LogError::HeaderDamaged("its checksum does not hold")),
        }
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut part = [0; N];
        part.copy_from_slice(&self.bytes[at..at + N]);
        part
    }
}
