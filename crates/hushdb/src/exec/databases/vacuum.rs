//! `VACUUM [ANALYZE] [table]`: rows are brought together and the file is shortened.
//!
//! What must hold: it stands alone, in storage transactions of its own, and holds no old state while it runs. Statistics are always
//! kept, so ANALYZE adds nothing.

use datafusion::sql::sqlparser::ast::ObjectName;

use crate::result::QueryResult;
use crate::statement::Statement;
use hushdb_sql::name_parts;
use hushdb_sql::{Error, Result, sqlstate};

/// Vacuums a table, or all of the current database.
pub(in crate::exec) fn vacuum(
    statement: &Statement<'_>,
    table: Option<&ObjectName>,
) -> Result<QueryResult> {
    if statement.session.has_changes() {
        return Err(Error::transaction(
            "Cannot VACUUM: the current transaction has transaction local changes",
        ));
    }
    // Its locks are its own: it would wait for those of its transaction.
    if statement.waits() && statement.session.in_transaction() {
        return Err(
            Error::transaction("VACUUM cannot run inside a transaction block")
                .with_sqlstate(sqlstate::ACTIVE_TRANSACTION),
        );
    }
    let named = match table {
        Some(name) => Some(statement.snapshot().table(&name_parts(name)?)?.0),
        None => None,
    };
    let database = match &named {
        Some(name) => name.database.clone(),
        None => statement.session.current_database(),
    };
    let database = statement.session.instance.database(&database)?;
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
