//! Key text that the caller already has.

use hushdb_crypto::SecretBytes;

use crate::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};

/// A key given as text. Kept in memory until dropped, then wiped.
#[derive(Debug)]
pub struct KeyText(SecretBytes);

impl KeyText {
    /// The provider of this text.
    pub fn new(text: impl Into<SecretBytes>) -> Self {
        Self(text.into())
    }
}

impl KeyProvider for KeyText {
    fn kind(&self) -> ProviderKind {
        ProviderKind::TEXT
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        Ok((self.recover(context, &[])?, Vec::new()))
    }

    fn recover(&self, _: &KeyContext, _: &[u8]) -> Result<KeyMaterial, KeyError> {
        KeyMaterial::parse_bytes(self.0.expose())
    }
}
