//! `LogKeys`: the two keys of one write-ahead log (FORMAT.md, "Log").
//!
//! They depend on the log's sequence and on a salt that is drawn when the log is made, so no two logs share a key, also not a
//! log and the one of a copied or restored file.

use std::fmt;

use hushdb_crypto::{CryptoProvider, GcmKey, KdfLabel, SecretKey};

use crate::DatabaseId;
use crate::layout::put;

/// The keys of one log.
pub struct LogKeys {
    /// Seals and opens records.
    pub record_key: GcmKey,
    /// Authenticates the log's header.
    pub header_mac_key: SecretKey,
}

impl LogKeys {
    /// KBKDF(DEK, "HUSH1 wal" and "HUSH1 walmac", database id || sequence || salt).
    pub fn derive(
        crypto: &CryptoProvider,
        data_key: &SecretKey,
        database_id: &DatabaseId,
        sequence: u64,
        salt: &[u8; 16],
    ) -> Self {
        let mut context = [0; 40];
        put(&mut context, 0, database_id.as_bytes());
        put(&mut context, 16, &sequence.to_le_bytes());
        put(&mut context, 24, salt);
        Self {
            record_key: crypto.gcm_key(&crypto.kbkdf(data_key, KdfLabel::Wal, &context)),
            header_mac_key: crypto.kbkdf(data_key, KdfLabel::WalMac, &context),
        }
    }
}

impl fmt::Debug for LogKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogKeys([secret])")
    }
}
