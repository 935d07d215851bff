//! `SharedKeys`: the keys of an open file, for all who seal and open; they change when a data key takes the place of another,
//! and go when the place of the key refuses it. A plain
//! file has none, and may come to have some.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::{BlockKey, DatabaseKeys, HeaderError, LogKeys, Suite};
use parking_lot::RwLock;

use crate::block::BlockKeys;
use crate::error::Result;
use crate::log::LogKeySource;

/// The keys of one open file.
pub(super) struct SharedKeys(RwLock<Keys>);

/// What a file has.
#[derive(Clone)]
pub(super) enum Keys {
    /// It is plain.
    None,
    There(Arc<DatabaseKeys>),
    /// They were given up, for good.
    Withdrawn,
}

impl SharedKeys {
    /// Those of an encrypted file; `None` for a plain one.
    pub(super) fn new(keys: Option<DatabaseKeys>) -> Arc<Self> {
        let keys = keys.map_or(Keys::None, |keys| Keys::There(Arc::new(keys)));
        Arc::new(Self(RwLock::new(keys)))
    }

    /// As they are now.
    ///
    /// # Errors
    /// [`HeaderError::NotEncrypted`] for a plain file; [`HeaderError::KeyWithdrawn`] once they were given up.
    pub(super) fn get(&self) -> Result<Arc<DatabaseKeys>, HeaderError> {
        match self.now() {
            Keys::None => Err(HeaderError::NotEncrypted),
            Keys::There(keys) => Ok(keys),
            Keys::Withdrawn => Err(HeaderError::KeyWithdrawn),
        }
    }

    /// What there is.
    pub(super) fn now(&self) -> Keys {
        self.0.read().clone()
    }

    /// Gives them up: they are wiped when nobody is in the midst of using them.
    pub(super) fn withdraw(&self) {
        let mut now = self.0.write();
        if matches!(*now, Keys::There(_)) {
            *now = Keys::Withdrawn;
        }
    }

    /// Others take their place.
    pub(super) fn set(&self, keys: Keys) {
        let mut now = self.0.write();
        if !matches!(*now, Keys::Withdrawn) {
            *now = keys;
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
