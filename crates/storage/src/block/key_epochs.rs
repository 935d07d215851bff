//! `KeyEpochs`: which block key of a data key seals the next block, and which one opens an older one.
//!
//! What must hold: a block key seals fewer than 2^20 blocks. Seals are counted before they happen, over all threads. Then,
//! and after a fork, and whenever a file is opened, a new random epoch salt gives a new key. No counter on disk is trusted.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hushdb_crypto::CryptoProvider;
use hushdb_keys::{BlockKey, DatabaseKeys, Suite};
use parking_lot::RwLock;

use crate::error::{Error, Result};

/// Seals after which a key is left (FORMAT.md, "Sealing").
const SEALS_PER_EPOCH: u32 = 1 << 20;
/// Keys of older epochs that are kept expanded. A file has one per writing session, so few hold nearly all blocks.
const CACHED_KEYS: usize = 256;
/// Where block keys come from.
pub trait BlockKeys: Send + Sync {
    /// The key of `suite` that seals blocks under `key_id` in the epoch of `epoch_salt`.
    ///
    /// # Errors
    /// When there is no such data key.
    fn block_key(
        &self,
        crypto: &CryptoProvider,
        key_id: u32,
        suite: Suite,
        epoch_salt: &[u8; 16],
    ) -> Result<BlockKey>;
}

impl BlockKeys for DatabaseKeys {
    fn block_key(
        &self,
        crypto: &CryptoProvider,
        key_id: u32,
        suite: Suite,
        epoch_salt: &[u8; 16],
    ) -> Result<BlockKey> {
        Ok(Self::block_key(self, crypto, key_id, suite, epoch_salt)?)
    }
}

/// The keys of one file's blocks of one suite.
pub(super) struct KeyEpochs {
    keys: Arc<dyn BlockKeys>,
    suite: Suite,
    /// One for each data key that something was sealed under: one, and two while blocks are sealed anew under another.
    current: RwLock<Vec<Arc<Epoch>>>,
    opened: RwLock<OpenedKeys>,
    seals_per_epoch: u32,
}

/// Expanded keys by data key and epoch salt.
type OpenedKeys = HashMap<(u32, [u8; 16]), Arc<BlockKey>>;

/// One key's time.
pub(super) struct Epoch {
    key_id: u32,
    pub(super) salt: [u8; 16],
    pub(super) key: Arc<BlockKey>,
    seals: AtomicU32,
    process: u32,
}

impl KeyEpochs {
    /// Epochs of data keys; each begins with its first seal.
    pub(super) fn new(keys: Arc<dyn BlockKeys>, suite: Suite) -> Self {
        let (current, opened) = (RwLock::default(), RwLock::new(HashMap::new()));
        Self {
            keys,
            suite,
            current,
            opened,
            seals_per_epoch: SEALS_PER_EPOCH,
        }
    }

    /// The suite that these keys are for.
    pub(super) fn suite(&self) -> Suite {
        self.suite
    }

    /// The epoch of the next seal under that data key, which is counted by asking for it.
    pub(super) fn for_seal(&self, crypto: &CryptoProvider, key_id: u32) -> Result<Arc<Epoch>> {
        let process = std::process::id();
        let counted = |epochs: &[Arc<Epoch>]| {
            let epoch = epochs.iter().find(|epoch| epoch.key_id == key_id)?;
            (epoch.process == process
                && epoch.seals.fetch_add(1, Ordering::Relaxed) < self.seals_per_epoch)
                .then(|| Arc::clone(epoch))
        };
        if let Some(epoch) = counted(&self.current.read()) {
            return Ok(epoch);
        }
        let mut current = self.current.write();
        if let Some(epoch) = counted(&current) {
            return Ok(epoch);
        }
        let mut salt = [0; 16];
        crypto
            .random(&mut salt)
            .map_err(|_| Error::Crypto("there are no random bytes"))?;
        let key = self.keys.block_key(crypto, key_id, self.suite, &salt)?;
        let key = Arc::new(key);
        let epoch = Arc::new(Epoch {
            key_id,
            salt,
            key,
            seals: AtomicU32::new(1),
            process,
        });
        current.retain(|epoch| epoch.key_id != key_id);
        current.push(Arc::clone(&epoch));
        Ok(epoch)
    }

    /// Forgets the expanded keys of all data keys but one.
    pub(super) fn forget_all_but(&self, key_id: u32) {
        self.current.write().retain(|epoch| epoch.key_id == key_id);
        self.opened.write().retain(|(id, _), _| *id == key_id);
    }

    /// Forgets the expanded keys of one data key: another may come to have its number.
    pub(super) fn forget(&self, key_id: u32) {
        self.current.write().retain(|epoch| epoch.key_id != key_id);
        self.opened.write().retain(|(id, _), _| *id != key_id);
    }

    /// The key that a block of that epoch was sealed with.
    pub(super) fn for_open(
        &self,
        crypto: &CryptoProvider,
        key_id: u32,
        salt: &[u8; 16],
    ) -> Result<Arc<BlockKey>> {
        if let Some(key) = self.opened.read().get(&(key_id, *salt)) {
            return Ok(Arc::clone(key));
        }
        let key = Arc::new(self.keys.block_key(crypto, key_id, self.suite, salt)?);
        let mut cache = self.opened.write();
        if cache.len() >= CACHED_KEYS {
            cache.clear();
        }
        cache.insert((key_id, *salt), Arc::clone(&key));
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hushdb_crypto::SecretKey;

    use super::*;

    struct AnyKey;

    impl BlockKeys for AnyKey {
        fn block_key(
            &self,
            crypto: &CryptoProvider,
            _: u32,
            _: Suite,
            _: &[u8; 16],
        ) -> Result<BlockKey> {
            let key = SecretKey::from_bytes([1; 32]);
            Ok(BlockKey::Gcm(crypto.gcm_key(&key)))
        }
    }

    fn epochs(seals_per_epoch: u32) -> KeyEpochs {
        KeyEpochs {
            seals_per_epoch,
            ..KeyEpochs::new(Arc::new(AnyKey), Suite::Gcm)
        }
    }

    fn salt_for_seal(epochs: &KeyEpochs) -> [u8; 16] {
        epochs.for_seal(&CryptoProvider::aws_lc(), 1).unwrap().salt
    }

    #[test]
    fn no_epoch_seals_more_than_its_limit_over_all_threads() {
        let epochs = epochs(10);
        let seals = parking_lot::Mutex::new(BTreeMap::<[u8; 16], u32>::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let salt = salt_for_seal(&epochs);
                        *seals.lock().entry(salt).or_default() += 1;
                    }
                });
            }
        });
        let seals = seals.into_inner();
        assert_eq!(seals.values().sum::<u32>(), 400);
        assert!(
            seals.len() >= 40 && seals.values().all(|&count| count <= 10),
            "{:?}",
            seals.values()
        );
    }

    #[test]
    fn a_new_epoch_begins_with_every_opening_and_after_a_fork() {
        let first = epochs(10);
        let salt = salt_for_seal(&first);
        assert_eq!(salt_for_seal(&first), salt);
        assert_ne!(salt_for_seal(&epochs(10)), salt);
        let parents = Arc::clone(&first.current.read()[0]);
        // What a child process finds: an epoch that another process began.
        let (key, seals) = (Arc::clone(&parents.key), AtomicU32::new(1));
        *first.current.write() = vec![Arc::new(Epoch {
            key_id: 1,
            salt,
            key,
            seals,
            process: parents.process ^ 1,
        })];
        assert_ne!(salt_for_seal(&first), salt);
    }

    #[test]
    fn each_data_key_has_its_own_epochs_and_all_but_one_are_forgotten() {
        let (epochs, crypto) = (epochs(10), CryptoProvider::aws_lc());
        let salts = [1, 2].map(|key_id| epochs.for_seal(&crypto, key_id).unwrap().salt);
        assert_ne!(salts[0], salts[1]);
        for (key_id, salt) in [1, 2].into_iter().zip(salts) {
            assert_eq!(epochs.for_seal(&crypto, key_id).unwrap().salt, salt);
            epochs.for_open(&crypto, key_id, &salt).unwrap();
        }
        epochs.forget_all_but(2);
        assert_ne!(epochs.for_seal(&crypto, 1).unwrap().salt, salts[0]);
        assert_eq!(epochs.for_seal(&crypto, 2).unwrap().salt, salts[1]);
        assert_eq!(epochs.opened.read().len(), 1);
    }

    #[test]
    fn keys_of_many_epochs_do_not_pile_up() {
        let epochs = epochs(10);
        for i in 0..3 * CACHED_KEYS as u128 {
            epochs
                .for_open(&CryptoProvider::aws_lc(), 1, &i.to_le_bytes())
                .unwrap();
        }
        assert!(epochs.opened.read().len() <= CACHED_KEYS);
    }
}
