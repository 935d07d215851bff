//! `LogSeal`: what protects one log. The only caller of the cipher on log data.
//!
//! What must hold: the tag of a record covers the database, the log's sequence, the record before it and the record's own
//! head, so that a record opens in its place in its log and nowhere else.

use hushdb_crypto::{CryptoProvider, constant_time_eq};
use hushdb_keys::LogKeys;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128, xxh3_128_with_seed};

use super::record_head::BOUND_BYTES;
use super::{LogOwner, TAG_BYTES};
use crate::error::{Error, Result};

const AAD_LABEL: [u8; 8] = *b"HUSHWAL1";
const AAD_BYTES: usize = AAD_LABEL.len() + 16 + 8 + TAG_BYTES + BOUND_BYTES;

/// Cipher and MAC, or checksums, of one log.
pub(super) struct LogSeal {
    crypto: CryptoProvider,
    database_id: [u8; 16],
    sequence: u64,
    keys: Option<LogKeys>,
}

impl LogSeal {
    /// For a log of `owner` under the data key `key_id`.
    ///
    /// # Errors
    /// `UnknownKeyId` where the database has no such key.
    pub(super) fn new(
        owner: &LogOwner,
        key_id: u32,
        sequence: u64,
        salt: &[u8; 16],
    ) -> Result<Self, hushdb_keys::HeaderError> {
        let keys = match &owner.keys {
            Some((keys, _)) => Some(keys.log_keys(&owner.crypto, key_id, sequence, salt)?),
            None => None,
        };
        Ok(Self {
            crypto: owner.crypto,
            database_id: owner.database_id,
            sequence,
            keys,
        })
    }

    /// False where checksums stand for tags.
    pub(super) fn is_encrypted(&self) -> bool {
        self.keys.is_some()
    }

    /// The MAC of a log header: the first half of an HMAC-SHA-256, or an XXH3-128.
    pub(super) fn header_mac(&self, header: &[u8]) -> [u8; TAG_BYTES] {
        let Some(keys) = &self.keys else {
            return xxh3_128(header).to_le_bytes();
        };
        let mac = self.crypto.hmac_sha256(&keys.header_mac_key, &[header]);
        std::array::from_fn(|i| mac[i])
    }

    /// Whether the MAC of a log header holds.
    pub(super) fn header_holds(&self, header: &[u8], mac: &[u8; TAG_BYTES]) -> bool {
        constant_time_eq(&self.header_mac(header), mac)
    }

    /// Seals a record's body where it lies; the nonce is made in the crypto library.
    pub(super) fn seal(
        &self,
        previous: &[u8; TAG_BYTES],
        head: &[u8; BOUND_BYTES],
        body: &mut [u8],
    ) -> Result<([u8; 12], [u8; TAG_BYTES])> {
        let aad = self.aad(previous, head);
        match &self.keys {
            None => Ok(([0; 12], checksum(&aad, body))),
            Some(keys) => keys
                .record_key
                .seal_in_place(&aad, body)
                .map_err(|_| Error::Crypto("sealing failed")),
        }
    }

    /// Opens a record's body where it lies. If this is false, what the body then is means nothing.
    #[must_use]
    pub(super) fn open(
        &self,
        previous: &[u8; TAG_BYTES],
        head: &[u8; BOUND_BYTES],
        nonce: &[u8; 12],
        body: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> bool {
        let aad = self.aad(previous, head);
        match &self.keys {
            None => *nonce == [0; 12] && checksum(&aad, body) == *tag,
            Some(keys) => keys
                .record_key
                .open_in_place(nonce, &aad, body, tag)
                .is_ok(),
        }
    }

    fn aad(&self, previous: &[u8; TAG_BYTES], head: &[u8; BOUND_BYTES]) -> [u8; AAD_BYTES] {
        let mut aad = [0; AAD_BYTES];
        aad[0..8].copy_from_slice(&AAD_LABEL);
        aad[8..24].copy_from_slice(&self.database_id);
        aad[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        aad[32..48].copy_from_slice(previous);
        aad[48..].copy_from_slice(head);
        aad
    }
}

/// Suite 0's tag, as blocks have it.
fn checksum(aad: &[u8], body: &[u8]) -> [u8; TAG_BYTES] {
    xxh3_128_with_seed(body, xxh3_64(aad)).to_le_bytes()
}
