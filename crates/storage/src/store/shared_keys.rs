//! `SharedKeys`: the keys of an open file, for all who seal and open; they change when a data key takes the place of another,
//! and go when the place of the key refuses it.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::{BlockKey, DatabaseKeys, HeaderError, LogKeys, Suite};
use parking_lot::RwLock;

use crate::block::BlockKeys;
use crate::error::Result;
use crate::log::LogKeySource;

/// The keys of one open file.
pub(super) struct SharedKeys(RwLock<Option<Arc<DatabaseKeys>>>);

impl SharedKeys {
    pub(super) fn new(keys: DatabaseKeys) -> Self {
        Self(RwLock::new(Some(Arc::new(keys))))
    }

    /// As they are now.
    ///
    /// # Errors
    /// [`HeaderError::KeyWithdrawn`] once they were given up.
    pub(super) fn get(&self) -> Result<Arc<DatabaseKeys>, HeaderError> {
        self.0.read().clone().ok_or(HeaderError::KeyWithdrawn)
    }

    /// Gives them up: they are wiped when nobody is in the midst of using them.
    pub(super) fn withdraw(&self) {
        *self.0.write() = None;
    }

    /// Others take their place.
    pub(super) fn set(&self, keys: Arc<DatabaseKeys>) {
        if let Some(own) = self.0.write().as_mut() {
            *own = keys;
        }
    }
}

impl BlockKeys for SharedKeys {
    fn block_key(
        &self,
        crypto: &CryptoProvider,
        key_id: u32,
        suite: Suite,
        epoch_salt: &[u8; 16],
    ) -> Result<BlockKey> {
        let keys = self.get()?;
        Ok(DatabaseKeys::block_key(
            &keys, crypto, key_id, suite, epoch_salt,
        )?)
    }
}

impl LogKeySource for SharedKeys {
    fn log_keys(
        &self,
        crypto: &CryptoProvider,
        key_id: u32,
        sequence: u64,
        salt: &[u8; 16],
    ) -> Result<LogKeys, HeaderError> {
        let keys = self.get()?;
        DatabaseKeys::log_keys(&keys, crypto, key_id, sequence, salt)
    }
}
