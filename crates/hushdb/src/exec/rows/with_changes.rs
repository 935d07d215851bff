//! Statements that have some within WITH which change rows: `WITH a AS (DELETE ... RETURNING *) INSERT INTO b SELECT * FROM a`.
//!
//! What must hold: all parts see the state before the statement, and of each other only what RETURNING gives; all of them happen or none
//! does; each is run once and whole. A table has rows changed or deleted by one of them at most: which row is the latest could not be told
//! else.

use super::dml;
use crate::exec::{query, run_sql, transaction};
use crate::result::{QueryResult, ResultKind};
use crate::statement::Statement;
use datafusion::sql::sqlparser::ast::{self, FromTable, ObjectName, TableObject};
use hushdb_query::plan::TableName;
use hushdb_sql::{ChangesWithin, Error, Result, name_parts};

/// Runs the parts of a statement, as one.
pub(in crate::exec) fn run(
    statement: &Statement<'_>,
    changes: ChangesWithin,
) -> Result<QueryResult> {
    transaction::as_one(statement.session, statement.waits_by(), || {
        let databases = changed_databases(statement, &changes)?;
        let result = statement.in_parts(|| parts(statement, changes))?;
        for database in databases {
            statement.write(&database)?.commit()?;
        }
        Ok(result)
    })
}

fn parts(statement: &Statement<'_>, changes: ChangesWithin) -> Result<QueryResult> {
    for (place, part) in changes.parts {
        let result = run_sql(statement, part)?;
        if result.kind() == ResultKind::Rows {
            let rows = query::kept(statement, result)?;
            statement.keep_rows(place, rows.source()?);
        }
    }
    let result = run_sql(statement, changes.rest)?;
    // An error in it leaves nothing of the others.
    result.read(&statement.session.engine().context())
}

/// Names of the databases that the parts change.
///
/// # Errors
/// `Unsupported` where two of them may change one row.
fn changed_databases(statement: &Statement<'_>, changes: &ChangesWithin) -> Result<Vec<String>> {
    let parts = changes.parts.iter().map(|(_, part)| part);
    let mut changed: Vec<(TableName, Change)> = vec![];
    for part in parts.chain([&changes.rest]) {
        let Some((name, change)) = change_of(part)? else {
            continue;
        };
        let name = statement.snapshot().resolve(&name_parts(&name)?)?;
        let mut before = changed.iter().filter(|(before, _)| *before == name);
        if before.any(|(_, before)| !before.goes_with(change)) {
            return Err(Error::unsupported(format!(
                "two parts of one statement that change rows of table \"{}\" are not there; one of them may, and others may add \
                 rows by INSERT without ON CONFLICT",
                name.name
            )));
        }
        changed.push((name, change));
    }
    let mut databases: Vec<String> = changed.into_iter().map(|(name, _)| name.database).collect();
    databases.sort_unstable();
    databases.dedup();
    Ok(databases)
}

/// What a part does to rows of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// It adds some.
    Adds,
    /// It changes or deletes some that are there before the statement.
    Changes,
    /// It adds some, or changes those that are there.
    AddsOrChanges,
}

impl Change {
    fn goes_with(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Adds, Self::Adds | Self::Changes) | (Self::Changes, Self::Adds)
        )
    }
}

/// The table that a part changes, and how; `None` for a query.
fn change_of(part: &ast::Statement) -> Result<Option<(ObjectName, Change)>> {
    use ast::Statement as S;
    Ok(match part {
        S::Insert(insert) => {
            let TableObject::TableName(name) = &insert.table else {
                return Err(Error::binder("INSERT INTO takes the name of a table"));
            };
            let plain = insert.on.is_none() && insert.or.is_none() && !insert.replace_into;
            let change = match plain {
                true => Change::Adds,
                false => Change::AddsOrChanges,
            };
            Some((name.clone(), change))
        }
        S::Update(update) => {
            let (name, _) = dml::target_name(&update.table.relation)?;
            Some((name, Change::Changes))
        }
        S::Delete(delete) => {
            let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) =
                &delete.from;
            match tables.as_slice() {
                [table] => Some((dml::target_name(&table.relation)?.0, Change::Changes)),
                _ => {
                    return Err(Error::parser(
                        "DELETE takes one table; join others with USING",
                    ));
                }
            }
        }
        _ => None,
    })
}
