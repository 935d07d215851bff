//! `IMPORT DATABASE 'dir'`: runs what EXPORT DATABASE wrote, also DuckDB's, in the current database.
//!
//! What must hold: it is one transaction. The files define things and load rows, and do nothing else: no ATTACH, no COPY TO,
//! no file outside of the directory.

use super::transaction;
use crate::connection::Connection;
use crate::result::QueryResult;
use datafusion::sql::sqlparser::ast::Statement as Sql;
use hushdb_query::scan::ScanProgress;
use hushdb_sql::{self as sql, Statement};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::MAIN_SCHEMA;
use std::path::Path;
use std::sync::Arc;

pub(super) fn import_database(
    connection: &Connection,
    directory: &str,
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    let directory = Path::new(directory);
    let schema = read(directory, "schema.sql")?;
    let load = read(directory, "load.sql")?;
    // Bare names in the files are of schema main.
    let before = {
        let mut session = connection.session.lock();
        std::mem::replace(&mut session.schema, MAIN_SCHEMA.into())
    };
    let imported = transaction::as_one(connection, || {
        run(connection, "schema.sql", &schema, progress, definition)?;
        run(connection, "load.sql", &load, progress, |statement| {
            loading(statement, directory)
        })
    });
    connection.session.lock().schema = before;
    imported.map(|()| QueryResult::done())
}

fn read(directory: &Path, name: &str) -> Result<String> {
    let path = directory.join(name);
    std::fs::read_to_string(&path).map_err(|e| {
        Error::new(
            ErrorKind::Io,
            format!("Cannot open file \"{}\": {e}", path.display()),
        )
    })
}

fn run(
    connection: &Connection,
    file: &str,
    text: &str,
    progress: &Arc<ScanProgress>,
    allowed: impl Fn(Statement) -> Option<Statement>,
) -> Result<()> {
    let split = sql::split_statements(text);
    let rest = (!split.rest.is_empty()).then_some(split.rest);
    for text in split.statements.into_iter().chain(rest) {
        let statement = allowed(sql::parse(text)?).ok_or_else(|| {
            Error::invalid(format!(
                "{file} has a statement that no export writes; run it by itself if it can be trusted"
            ))
        })?;
        for batch in super::dispatch(connection, statement, progress)? {
            batch?;
        }
    }
    Ok(())
}

fn definition(statement: Statement) -> Option<Statement> {
    match &statement {
        Statement::Sql(sql) => match sql.as_ref() {
            Sql::CreateTable(table) if table.query.is_none() => Some(statement),
            Sql::CreateSchema { .. }
            | Sql::CreateView(_)
            | Sql::CreateIndex(_)
            | Sql::CreateSequence { .. }
            | Sql::CreateMacro { .. }
            | Sql::CreateType { .. } => Some(statement),
            _ => None,
        },
        _ => None,
    }
}

/// `COPY t FROM 'file'`, of the file of that name in the directory, wherever it was when it was exported.
fn loading(statement: Statement, directory: &Path) -> Option<Statement> {
    match statement {
        Statement::CopyFrom {
            table,
            columns,
            path,
            options,
        } => Some(Statement::CopyFrom {
            table,
            columns,
            path: directory
                .join(Path::new(&path).file_name()?)
                .to_string_lossy()
                .into_owned(),
            options,
        }),
        _ => None,
    }
}
