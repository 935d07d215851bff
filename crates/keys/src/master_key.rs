//! The master key of a database and the three keys derived from it. FORMAT.md, "Keys".
//!
//! A `MasterKey` says nothing about whether a header is genuine; `UnverifiedHeader` asks it.

use hushdb_crypto::{CryptoProvider, KdfLabel, SecretKey};

use crate::DatabaseId;

pub(crate) struct MasterKey {
    key: SecretKey,
    commitment: [u8; 32],
    mac_key: SecretKey,
    wrapping_key: SecretKey,
}

impl MasterKey {
    pub(crate) fn new(crypto: &CryptoProvider, database_id: &DatabaseId, key: SecretKey) -> Self {
        let derive = |label| crypto.kbkdf(&key, label, database_id.as_bytes());
        Self {
            commitment: *derive(KdfLabel::Commitment).expose(),
            mac_key: derive(KdfLabel::HeaderMac),
            wrapping_key: derive(KdfLabel::Wrap),
            key,
        }
    }

    /// The value in the header that only this master key reproduces. Public.
    pub(crate) fn commitment(&self) -> &[u8; 32] {
        &self.commitment
    }

    /// The key of the header's MAC.
    pub(crate) fn mac_key(&self) -> &SecretKey {
        &self.mac_key
    }

    /// The key that wraps system DEK and ring key.
    pub(crate) fn wrapping_key(&self) -> &SecretKey {
        &self.wrapping_key
    }

    /// This key, wrapped for a slot.
    pub(crate) fn wrapped(
        &self,
        crypto: &CryptoProvider,
        key_encryption_key: &SecretKey,
    ) -> [u8; 40] {
        crypto.wrap_key(key_encryption_key, &self.key)
    }
}
