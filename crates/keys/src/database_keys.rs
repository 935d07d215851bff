//! The keys of an opened database. They exist only behind a verified header.

use std::fmt;
use std::sync::Arc;

use hushdb_crypto::{CryptoProvider, CtrKey, GcmKey, KdfLabel, SecretKey};

use crate::layout::put;
use crate::master_key::MasterKey;
use crate::{DatabaseId, HeaderError, LogKeys, Suite};

/// Master key, data keys and ring key of one database. A copy shares the keys, which are wiped with the last one.
#[derive(Clone)]
pub struct DatabaseKeys {
    pub(crate) database_id: DatabaseId,
    pub(crate) master: Arc<MasterKey>,
    pub(crate) system_key_id: u32,
    pub(crate) system_dek: Arc<SecretKey>,
    /// The one before, as the header has it.
    pub(crate) previous: Option<(u32, Arc<SecretKey>)>,
    /// Those that the key ring has.
    pub(crate) retired: Vec<(u32, Arc<SecretKey>)>,
    pub(crate) ring_key: Arc<SecretKey>,
}

/// A key for blocks of one suite, data key and epoch.
#[derive(Debug)]
pub enum BlockKey {
    /// Suite 1.
    Gcm(GcmKey),
    /// Suite 2.
    Ctr(CtrKey),
}

impl DatabaseKeys {
    /// The database that these keys open.
    pub fn database_id(&self) -> &DatabaseId {
        &self.database_id
    }

    /// The id of the data key that new blocks of the system use.
    pub fn system_key_id(&self) -> u32 {
        self.system_key_id
    }

    /// The id of the data key before that one, if the header has it.
    pub fn previous_key_id(&self) -> Option<u32> {
        self.previous.as_ref().map(|(id, _)| *id)
    }

    /// Whether header or key ring hold the data key with this id.
    pub fn has_key(&self, key_id: u32) -> bool {
        self.data_key(key_id).is_some()
    }

    /// The key that wraps the data keys of tables and columns in the key ring.
    pub fn ring_key(&self) -> &SecretKey {
        &self.ring_key
    }

    /// The key of blocks: KBKDF(DEK, "HUSH1 blk", database id || key id || suite || epoch salt), expanded.
    ///
    /// # Errors
    /// [`HeaderError::UnknownKeyId`] for a data key that neither header nor ring hold, [`HeaderError::NotEncrypted`] for
    /// the plain suite, [`HeaderError::Forked`] in a forked child.
    pub fn block_key(
        &self,
        crypto: &CryptoProvider,
        key_id: u32,
        suite: Suite,
        epoch_salt: &[u8; 16],
    ) -> Result<BlockKey, HeaderError> {
        let data_key = self.usable_data_key(key_id)?;
        let key = self.derive_block_key(crypto, data_key, key_id, suite, epoch_salt);
        match suite {
            Suite::Gcm => Ok(BlockKey::Gcm(crypto.gcm_key(&key))),
            Suite::Ctr => Ok(BlockKey::Ctr(crypto.ctr_key(&key))),
            Suite::Plain => Err(HeaderError::NotEncrypted),
        }
    }

    /// The keys of the log with this sequence and salt, under the data key `key_id`.
    ///
    /// # Errors
    /// [`HeaderError::UnknownKeyId`] for a data key that neither header nor ring hold, [`HeaderError::Forked`] in a forked
    /// child.
    pub fn log_keys(
        &self,
        crypto: &CryptoProvider,
        key_id: u32,
        sequence: u64,
        salt: &[u8; 16],
    ) -> Result<LogKeys, HeaderError> {
        let data_key = self.usable_data_key(key_id)?;
        Ok(LogKeys::derive(
            crypto,
            data_key,
            &self.database_id,
            sequence,
            salt,
        ))
    }

    pub(crate) fn derive_block_key(
        &self,
        crypto: &CryptoProvider,
        data_key: &SecretKey,
        key_id: u32,
        suite: Suite,
        epoch_salt: &[u8; 16],
    ) -> SecretKey {
        let mut context = [0; 37];
        put(&mut context, 0, self.database_id.as_bytes());
        put(&mut context, 16, &key_id.to_le_bytes());
        put(&mut context, 20, &[suite.to_wire()]);
        put(&mut context, 21, epoch_salt);
        crypto.kbkdf(data_key, KdfLabel::Block, &context)
    }

    fn usable_data_key(&self, key_id: u32) -> Result<&SecretKey, HeaderError> {
        let key = self
            .data_key(key_id)
            .ok_or(HeaderError::UnknownKeyId { key_id })?;
        key.is_there().then_some(key).ok_or(HeaderError::Forked)
    }

    fn data_key(&self, key_id: u32) -> Option<&SecretKey> {
        if key_id == self.system_key_id {
            return Some(&self.system_dek);
        }
        let mut others = self.previous.iter().chain(&self.retired);
        others.find(|(id, _)| *id == key_id).map(|(_, key)| &**key)
    }
}

impl fmt::Debug for DatabaseKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseKeys({}, [secret])", self.database_id)
    }
}
