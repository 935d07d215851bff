//! `VACUUM [ANALYZE] [table]`: rows are brought together and the file is shortened. `ANALYZE` finds all that it would count kept.
//!
//! What must hold: it stands alone, in storage transactions of its own, and holds no old state while it runs. Statistics are always
//! kept, so ANALYZE adds nothing.

use datafusion::sql::sqlparser::ast::ObjectName;

use crate::result::QueryResult;
use crate::statement::Statement;
use hushdb_sql::name_parts;
use hushdb_sql::{Error, Result, Statement as Parsed, sqlstate};
use hushdb_storage::same_name;

/// VACUUM, or ANALYZE.
pub(in crate::exec) fn run(statement: &Statement<'_>, parsed: &Parsed) -> Result<QueryResult> {
    match parsed {
        Parsed::Vacuum(table) => vacuum(statement, table.as_ref()),
        Parsed::Analyze(table, columns) => analyze(statement, table.as_ref(), columns),
        _ => Err(Error::internal("neither VACUUM nor ANALYZE")),
    }
}

/// Vacuums a table, or all of the current database.
fn vacuum(statement: &Statement<'_>, table: Option<&ObjectName>) -> Result<QueryResult> {
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

/// Checks what is named; there is nothing to count.
fn analyze(
    statement: &Statement<'_>,
    table: Option<&ObjectName>,
    columns: &[String],
) -> Result<QueryResult> {
    if let Some(table) = table {
        let (_, table) = statement.snapshot().table(&name_parts(table)?)?;
        let is_unknown = |name: &&String| !table.columns.iter().any(|c| same_name(&c.name, name));
        if let Some(unknown) = columns.iter().find(is_unknown) {
            let text = format!("Column with name \"{unknown}\" does not exist");
            return Err(Error::binder(text).with_sqlstate(sqlstate::UNDEFINED_COLUMN));
        }
    }
    Ok(QueryResult::done())
}
