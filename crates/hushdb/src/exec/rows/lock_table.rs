//! LOCK TABLE: a table stays locked until the transaction ends.
//!
//! What must hold: the table that is locked is the one that has the name afterwards. A transaction under REPEATABLE READ that has
//! looked at nothing yet first sees what there is once it has the lock.

use crate::result::QueryResult;
use crate::statement::Statement;
use crate::transaction::takes_no_locks;
use datafusion::sql::sqlparser::ast::{Lock, LockTableMode};
use hushdb_sql::{Error, Result, name_parts, sqlstate};
use hushdb_storage::LockMode;

pub(in crate::exec) fn run(statement: &Statement<'_>, lock: &Lock) -> Result<QueryResult> {
    let session = statement.session;
    if !session.in_transaction() {
        return Err(
            Error::transaction("LOCK TABLE can only be used in transaction blocks")
                .with_sqlstate(sqlstate::NO_ACTIVE_TRANSACTION),
        );
    }
    let waits = statement.waits_by();
    let waits = waits.ok_or_else(|| takes_no_locks("LOCK TABLE"))?;
    let mode = mode(lock.lock_mode.as_ref());
    for target in &lock.tables {
        let parts = name_parts(&target.name)?;
        let mut held = None;
        loop {
            let seen = session.glance();
            let (name, table) = seen.table(&parts)?;
            if held == Some(table.id) {
                break;
            }
            // While it was waited for, another table may have got the name.
            let store = &seen.database(&name.database)?.store;
            store.lock_table(&waits.owner(store), table.id, mode, !lock.nowait)?;
            held = Some(table.id);
        }
    }
    Ok(QueryResult::done())
}

/// The mode that keeps out what PostgreSQL's does, or more.
fn mode(mode: Option<&LockTableMode>) -> LockMode {
    use LockTableMode as M;
    match mode {
        Some(M::AccessShare | M::RowShare | M::RowExclusive) => LockMode::Rows,
        Some(M::ShareUpdateExclusive) => LockMode::Change,
        Some(M::Share) => LockMode::Share,
        Some(M::ShareRowExclusive | M::Exclusive | M::AccessExclusive) | None => LockMode::All,
    }
}
