//! `StoreOptions`: how a store is opened. Numbers are settings, the rest are parts.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::Suite;

use super::Freshness;
use crate::block::BufferPool;
use crate::lent_threads::LentThreads;

/// Bytes of a pool that nobody chose.
const DEFAULT_POOL_BYTES: usize = 256 << 20;
/// Rows after which a row group ends, unless options say otherwise.
pub const DEFAULT_ROW_GROUP_ROWS: usize = 122_880;

/// Settings and parts of a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The cryptographic parts.
    pub crypto: CryptoProvider,
    /// How a new database with a key is sealed; one that is there says so itself.
    pub suite: Suite,
    /// Opens without the right, or the need, to write.
    pub read_only: bool,
    /// Of a file that is opened read-only: opens it also where no copy of its key ring does, without the keys that only the ring has.
    pub bears_lost_ring: bool,
    /// Rows after which a row group ends.
    pub row_group_rows: usize,
    /// Opened blocks, shared by all databases of a process.
    pub pool: Arc<BufferPool>,
    /// What one open may spend on stretching passphrases, over all key slots.
    pub kdf_budget: hushdb_keys::KdfBudget,
    /// What the caller knows of the state that must be there.
    pub freshness: Freshness,
    /// Threads that help where nothing else can go on meanwhile: when a log is replayed, and a state stored while commits wait for it.
    pub threads: LentThreads,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            crypto: CryptoProvider::aws_lc(),
            suite: Suite::Gcm,
            read_only: false,
            bears_lost_ring: false,
            row_group_rows: DEFAULT_ROW_GROUP_ROWS,
            pool: Arc::new(BufferPool::new(DEFAULT_POOL_BYTES)),
            kdf_budget: hushdb_keys::KdfBudget::default(),
            freshness: Freshness::default(),
            threads: LentThreads::default(),
        }
    }
}
