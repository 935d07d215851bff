//! `Keyring`: a random key for each database, wrapped by AES-KW under a key that is derived for that database alone.
//!
//! What must hold: a wrapped key opens under its own database id and no other; keys leave this file as `SecretKey` and `SecretBytes`.

use super::catalog::{Catalog, KEYRING_ROOT};
use crate::failure::{FailureKind, Result, ServeError};
use hushdb::crypto::CryptoProvider;
use hushdb::keys::{SecretBytes, SecretKey};
use zeroize::Zeroizing;

/// What wraps and unwraps. Its root lies in the instance catalog, which is sealed.
pub(super) struct Keyring {
    crypto: CryptoProvider,
    root: SecretKey,
}

fn no_random() -> ServeError {
    ServeError::other("the system has no random bytes")
}

impl Keyring {
    pub(super) fn open(crypto: CryptoProvider, catalog: &Catalog) -> Result<Self> {
        let root = Zeroizing::new(catalog.secret(KEYRING_ROOT)?);
        let root = SecretKey::from_slice(&root).ok_or_else(damaged)?;
        Ok(Self { crypto, root })
    }

    /// The same with another root.
    pub(super) fn with_root(&self, root: SecretKey) -> Self {
        Self {
            crypto: self.crypto,
            root,
        }
    }

    /// A new database id: 32 hexadecimal digits.
    pub(super) fn new_id(&self) -> Result<String> {
        let mut id = [0; 16];
        self.crypto.random(&mut id).map_err(|_| no_random())?;
        Ok(hex::encode(id))
    }

    pub(super) fn new_key(&self) -> Result<SecretKey> {
        self.crypto.random_key().map_err(|_| no_random())
    }

    /// KBKDF(root, "HUSH1 keyring", database id).
    fn wrapping_key(&self, id: &str) -> SecretKey {
        use hushdb::crypto::KdfLabel;
        self.crypto
            .kbkdf(&self.root, KdfLabel::Keyring, id.as_bytes())
    }

    pub(super) fn wrap(&self, id: &str, key: &SecretKey) -> [u8; 40] {
        self.crypto.wrap_key(&self.wrapping_key(id), key)
    }

    /// The key of a database, by its row in the catalog.
    ///
    /// # Errors
    /// `Damaged` when the row is missing, or belongs to another database.
    pub(super) fn unwrap(&self, catalog: &Catalog, id: &str) -> Result<SecretKey> {
        self.unwrap_bytes(id, &catalog.wrapped_key(id)?)
    }

    /// The same of bytes that are at hand.
    ///
    /// # Errors
    /// `Damaged` when they are no key, or one of another database.
    pub(super) fn unwrap_bytes(&self, id: &str, wrapped: &[u8]) -> Result<SecretKey> {
        let wrapped = wrapped.try_into().map_err(|_| damaged())?;
        let key = self.crypto.unwrap_key(&self.wrapping_key(id), wrapped);
        key.map_err(|_| damaged())
    }
}

/// A key as the library reads it.
pub(super) fn key_text(key: &SecretKey) -> SecretBytes {
    let digits = Zeroizing::new(hex::encode(key.expose()));
    SecretBytes::new(["hex:", &digits].concat().into_bytes())
}

fn damaged() -> ServeError {
    ServeError::new(
        FailureKind::Damaged,
        "a key of the instance's keyring is missing or belongs to another database",
    )
}
