//! `VACUUM [ANALYZE] [table]`: rows are brought together and the file is shortened.
//!
//! Holds: it stands alone, in storage transactions of its own, and holds no old state while it runs. Statistics are always
//! kept, so ANALYZE adds nothing.

use datafusion::sql::sqlparser::ast::ObjectName;

use crate::connection::Connection;
use crate::result::QueryResult;
use hushdb_sql::name_parts;
use hushdb_sql::{Error, Result};

/// Vacuums a table, or all of the current database.
pub(super) fn vacuum(connection: &Connection, table: Option<&ObjectName>) -> Result<QueryResult> {
    if connection.has_changes() {
        return Err(Error::transaction(
            "Cannot VACUUM: the current transaction has transaction local changes",
        ));
    }
    let named = match table {
        Some(name) => Some(connection.snapshot().table(&name_parts(name)?)?.0),
        None => None,
    };
    let database = match &named {
        Some(name) => name.database.clone(),
        None => connection.current_database(),
    };
    let database = connection.shared.database(&database)?;
    if database.read_only {
        return Err(Error::invalid(
            "Cannot VACUUM: the database is attached in read-only mode",
        ));
    }
    let table = named
        .as_ref()
        .map(|name| (name.schema.as_str(), name.name.as_str()));
    database.store.vacuum(table)?;
    Ok(QueryResult::done())
}
