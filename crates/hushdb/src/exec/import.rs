//! `IMPORT DATABASE 'dir'`: runs what EXPORT DATABASE wrote, also DuckDB's, in the current database.
//!
//! What must hold: it is one transaction. The files define things and load rows, and do nothing else: no ATTACH, no COPY TO,
//! no file outside of the directory.

use super::transaction;
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::sql::sqlparser::ast::Statement as Sql;
use hushdb_sql::{self as sql, Statement as Parsed};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::{MAIN_SCHEMA, read_input};
use std::path::Path;

pub(super) fn import_database(statement: &Statement<'_>, directory: &str) -> Result<QueryResult> {
    let directory = Path::new(directory);
    let schema = read(directory, "schema.sql")?;
    let load = read(directory, "load.sql")?;
    // Bare names in the files are of schema main.
    let before = {
        let mut settings = statement.session.settings.lock();
        std::mem::replace(&mut settings.schema, MAIN_SCHEMA.into())
    };
    let imported = transaction::as_one(statement.session, || {
        run(statement, "schema.sql", &schema, definition)?;
        run(statement, "load.sql", &load, |parsed| {
            loading(parsed, directory)
        })
    });
    statement.session.settings.lock().schema = before;
    imported.map(|()| QueryResult::done())
}

fn read(directory: &Path, name: &str) -> Result<String> {
    let path = directory.join(name);
    read_input(&path).map_err(|e| {
        Error::new(
            ErrorKind::Io,
            format!("Cannot open file \"{}\": {e}", path.display()),
        )
    })
}

fn run(
    statement: &Statement<'_>,
    file: &str,
    text: &str,
    allowed: impl Fn(Parsed) -> Option<Parsed>,
) -> Result<()> {
    let split = sql::split_statements(text);
    let rest = (!split.rest.is_empty()).then_some(split.rest);
    for text in split.statements.into_iter().chain(rest) {
        let parsed = allowed(sql::parse(text)?).ok_or_else(|| {
            Error::invalid(format!(
                "{file} has a statement that no export writes; run it by itself if it can be trusted"
            ))
        })?;
        for batch in super::dispatch(&statement.anew(), parsed)? {
            batch?;
        }
    }
    Ok(())
}

fn definition(parsed: Parsed) -> Option<Parsed> {
    match &parsed {
        Parsed::Sql(sql) => match sql.as_ref() {
            Sql::CreateTable(table) if table.query.is_none() => Some(parsed),
            Sql::CreateSchema { .. }
            | Sql::CreateView(_)
            | Sql::CreateIndex(_)
            | Sql::CreateSequence { .. }
            | Sql::CreateMacro { .. }
            | Sql::CreateType { .. } => Some(parsed),
            _ => None,
        },
        _ => None,
    }
}

/// `COPY t FROM 'file'`, of the file of that name in the directory, wherever it was when it was exported.
fn loading(parsed: Parsed, directory: &Path) -> Option<Parsed> {
    match parsed {
        Parsed::CopyFrom {
            table,
            columns,
            path,
            options,
        } => Some(Parsed::CopyFrom {
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
