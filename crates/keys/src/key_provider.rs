//! The one joint between a database and the place where its key lives.
//!
//! A provider yields key material for a slot. Those of this crate (text, environment, file, command, prompt) know the
//! key by themselves. A key service (Vault, KMIP, PKCS#11, AWS KMS) fits the same trait: `establish` asks it to wrap or
//! generate 32 bytes and returns its ciphertext as the slot's *blob*, which the header keeps, and `recover` sends the
//! blob back. The database id goes along as encryption context wherever the service takes one.

use std::fmt;

use hushdb_crypto::SecretBytes;

use crate::{DatabaseId, KeyError, KeyMaterial};

/// A place keys come from. Chosen by the caller, never by a file.
pub trait KeyProvider: Send + Sync {
    /// What to write into a slot so that a person knows which provider to choose.
    fn kind(&self) -> ProviderKind;

    /// Yields the key for a new slot, and the blob that this provider wants back in [`Self::recover`] (mostly empty).
    ///
    /// # Errors
    /// [`KeyError`] when there is no key to be had.
    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError>;

    /// Yields the key of an existing slot from its blob.
    ///
    /// The blob is what a file says: unauthenticated, of any length up to the header's blob area.
    ///
    /// # Errors
    /// [`KeyError`] when there is no key to be had.
    fn recover(&self, context: &KeyContext, blob: &[u8]) -> Result<KeyMaterial, KeyError>;

    /// Whether this provider keeps a blob in its slots. One that does is asked once a slot of its kind; one that does
    /// not is asked once for all slots (so a person types a passphrase once).
    fn keeps_blob(&self) -> bool {
        false
    }

    /// Whether somebody types something each time, such as a PIN: it is not asked again while a database is open, when nobody may be there.
    /// One who passes requests on passes this on, too.
    fn asks_a_person(&self) -> bool {
        false
    }

    /// The content of a key file that belongs to the key, as a second factor. With one, only slots that were made with one are
    /// tried; without, only the others. One who passes requests on passes this on, too.
    ///
    /// # Errors
    /// [`KeyError`] when there should be one and it cannot be read.
    fn key_file(&self) -> Result<Option<SecretBytes>, KeyError> {
        Ok(None)
    }
}

/// What a provider may bind a key to.
#[derive(Clone, Copy, Debug)]
pub struct KeyContext {
    /// The database that the key belongs to: the encryption context of a key service.
    pub database_id: DatabaseId,
}

/// The kind of provider that made a slot: a hint for people, never acted upon. Kinds that this version does not know are
/// shown by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProviderKind(pub u8);

impl ProviderKind {
    /// Key text given by the caller.
    pub const TEXT: Self = Self(1);
    /// An environment variable.
    pub const ENVIRONMENT: Self = Self(2);
    /// A file.
    pub const FILE: Self = Self(3);
    /// A command's output.
    pub const COMMAND: Self = Self(4);
    /// A terminal.
    pub const PROMPT: Self = Self(5);
    /// A program that wraps and unwraps.
    pub const EXEC: Self = Self(6);
    /// Vault or OpenBao.
    pub const VAULT: Self = Self(7);
    /// A KMIP server.
    pub const KMIP: Self = Self(8);
    /// A PKCS#11 token.
    pub const PKCS11: Self = Self(9);
    /// AWS KMS.
    pub const AWS_KMS: Self = Self(10);
    /// A recovery key, printed on paper.
    pub const RECOVERY: Self = Self(11);
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TEXT => f.write_str("text"),
            Self::ENVIRONMENT => f.write_str("environment"),
            Self::FILE => f.write_str("file"),
            Self::COMMAND => f.write_str("command"),
            Self::PROMPT => f.write_str("prompt"),
            Self::EXEC => f.write_str("exec"),
            Self::VAULT => f.write_str("vault"),
            Self::KMIP => f.write_str("kmip"),
            Self::PKCS11 => f.write_str("pkcs11"),
            Self::AWS_KMS => f.write_str("aws-kms"),
            Self::RECOVERY => f.write_str("recovery"),
            Self(other) => write!(f, "kind {other}"),
        }
    }
}
