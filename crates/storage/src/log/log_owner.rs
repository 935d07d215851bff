//! `LogOwner`: the database that logs belong to, and what protects them.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::{DatabaseKeys, HeaderError, LogKeys};

/// Where the keys of logs come from.
pub trait LogKeySource: Send + Sync {
    /// The keys of the log with this sequence and salt, under the data key `key_id`.
    ///
    /// # Errors
    /// When there is no such data key.
    fn log_keys(
        &self,
        crypto: &CryptoProvider,
        key_id: u32,
        sequence: u64,
        salt: &[u8; 16],
    ) -> Result<LogKeys, HeaderError>;
}

impl LogKeySource for DatabaseKeys {
    fn log_keys(
        &self,
        crypto: &CryptoProvider,
        key_id: u32,
        sequence: u64,
        salt: &[u8; 16],
    ) -> Result<LogKeys, HeaderError> {
        Self::log_keys(self, crypto, key_id, sequence, salt)
    }
}

/// What all logs of one database share.
#[derive(Clone)]
pub struct LogOwner {
    pub(super) crypto: CryptoProvider,
    pub(super) database_id: [u8; 16],
    /// The keys, and the id of the data key that new logs are sealed under; `None` for a plain database.
    pub(super) keys: Option<(Arc<dyn LogKeySource>, u32)>,
}

impl LogOwner {
    /// A plain database.
    pub fn plain(crypto: CryptoProvider, database_id: [u8; 16]) -> Self {
        Self {
            crypto,
            database_id,
            keys: None,
        }
    }

    /// An encrypted database; new logs are sealed under the data key `key_id`.
    pub fn encrypted(
        crypto: CryptoProvider,
        database_id: [u8; 16],
        keys: Arc<dyn LogKeySource>,
        key_id: u32,
    ) -> Self {
        Self {
            crypto,
            database_id,
            keys: Some((keys, key_id)),
        }
    }

    /// The data key that new logs are sealed under; 0 in a plain database.
    pub(crate) fn key_id(&self) -> u32 {
        self.keys.as_ref().map_or(0, |(_, key_id)| *key_id)
    }
}

impl std::fmt::Debug for LogOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogOwner")
            .field("encrypted", &self.keys.is_some())
            .finish()
    }
}

/// The keys of the known answers: one data key, number 1.
#[cfg(test)]
pub(super) struct OneDataKey;

#[cfg(test)]
impl OneDataKey {
    const DATABASE_ID: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    pub(super) fn owner(crypto: CryptoProvider) -> LogOwner {
        LogOwner::encrypted(crypto, Self::DATABASE_ID, Arc::new(Self), 1)
    }
}

#[cfg(test)]
impl LogKeySource for OneDataKey {
    fn log_keys(
        &self,
        crypto: &CryptoProvider,
        key_id: u32,
        sequence: u64,
        salt: &[u8; 16],
    ) -> Result<LogKeys, HeaderError> {
        let data_key = hushdb_crypto::SecretKey::from_bytes([0x22; 32]);
        let database_id = hushdb_keys::DatabaseId::from_bytes(Self::DATABASE_ID);
        match key_id {
            1 => Ok(LogKeys::derive(
                crypto,
                &data_key,
                &database_id,
                sequence,
                salt,
            )),
            key_id => Err(HeaderError::UnknownKeyId { key_id }),
        }
    }
}
