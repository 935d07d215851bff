//! Numbers of connections and transactions, each given once while the process runs.

use std::sync::atomic::{AtomicU64, Ordering};

static CONNECTIONS: AtomicU64 = AtomicU64::new(1);
static TRANSACTIONS: AtomicU64 = AtomicU64::new(1);

/// The number of a new connection.
pub(crate) fn next_connection() -> u64 {
    CONNECTIONS.fetch_add(1, Ordering::Relaxed)
}

/// The number of a new transaction.
pub(crate) fn next_transaction() -> u64 {
    TRANSACTIONS.fetch_add(1, Ordering::Relaxed)
}
