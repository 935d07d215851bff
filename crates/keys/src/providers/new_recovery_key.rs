//! A new key that is to be printed on paper.

use hushdb_crypto::{CryptoProvider, SecretBytes, SecretKey};

use crate::recovery_key::recovery_text;
use crate::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};

/// A random key for a slot, and its text for people. Typed again later it is key text like any other: `recovery:...`.
#[derive(Debug)]
pub struct NewRecoveryKey(SecretKey);

impl NewRecoveryKey {
    /// A new key.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn random() -> Result<Self, hushdb_crypto::RandomError> {
        CryptoProvider::aws_lc().random_key().map(Self)
    }

    /// What to print, without `recovery:` before it. Show it once, and only when the slot is durable.
    pub fn text(&self) -> SecretBytes {
        recovery_text(&CryptoProvider::aws_lc(), &self.0)
    }
}

impl KeyProvider for NewRecoveryKey {
    fn kind(&self) -> ProviderKind {
        ProviderKind::RECOVERY
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        Ok((self.recover(context, &[])?, Vec::new()))
    }

    fn recover(&self, _: &KeyContext, _: &[u8]) -> Result<KeyMaterial, KeyError> {
        Ok(KeyMaterial::Raw(self.0.duplicate()))
    }
}
