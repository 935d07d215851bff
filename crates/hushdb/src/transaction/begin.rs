//! How a statement, or an open transaction, begins to write to a database.

use super::waits::Waits;
use hushdb_query::plan::DatabaseSnapshot;
use hushdb_sql::Result;
use hushdb_storage::Transaction;
use std::sync::Arc;
/// A storage transaction on the state that was seen.
pub(super) fn writable(seen: &DatabaseSnapshot, waits: Option<&Waits>) -> Result<Transaction> {
    let mut transaction = seen.store.begin_on(Arc::clone(&seen.version))?;
    if let Some(waits) = waits {
        transaction.wait_by(&waits.owner(&seen.store));
    }
    Ok(transaction)
}
