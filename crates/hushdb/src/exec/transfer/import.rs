//! `IMPORT DATABASE 'dir'`: runs what EXPORT DATABASE wrote, also DuckDB's, in the current database. For a program also a directory
//! with a `schema.sql` and a CSV or Parquet file for each table, without `load.sql`.
//!
//! What must hold: it is one transaction. The files define things and load rows, and do nothing else: no ATTACH, no COPY TO,
//! no file outside of the directory.

use crate::exec::transaction;
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::sql::sqlparser::ast::Statement as Sql;
use hushdb_sql::{self as sql, CopyPath, Statement as Parsed, quoted};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::{MAIN_SCHEMA, input_path, matching_files, read_input};
use std::path::{Path, PathBuf};

pub(in crate::exec) fn import_database(
    statement: &Statement<'_>,
    directory: &str,
) -> Result<QueryResult> {
    let directory = Path::new(directory);
    let schema = read(directory, "schema.sql")?;
    let load = read(directory, "load.sql")?;
    import(statement, MAIN_SCHEMA, &schema, || {
        run(statement, "load.sql", &load, |parsed| {
            loading(parsed, directory)
        })
    })
}

/// The same, with bare names in another schema; and where there is no `load.sql`, of the files that are called like the tables.
pub(in crate::exec) fn import_directory(
    statement: &Statement<'_>,
    directory: &Path,
    main_as: &str,
) -> Result<QueryResult> {
    if input_path(directory.join("load.sql")).is_ok() {
        let schema = read(directory, "schema.sql")?;
        let load = read(directory, "load.sql")?;
        return import(statement, main_as, &schema, || {
            run(statement, "load.sql", &load, |parsed| {
                loading(parsed, directory)
            })
        });
    }
    let schema = read(directory, "schema.sql")?;
    import(statement, main_as, &schema, || {
        load_by_names(statement, directory, main_as)
    })
}

/// Defines, and loads, in one transaction, with bare names in a schema.
fn import(
    statement: &Statement<'_>,
    main_as: &str,
    schema: &str,
    load: impl FnOnce() -> Result<()>,
) -> Result<QueryResult> {
    let before = {
        let mut settings = statement.session.settings.lock();
        std::mem::replace(&mut settings.schema, main_as.into())
    };
    let imported = transaction::as_one(statement.session, None, || {
        run(statement, "schema.sql", schema, definition)?;
        load()
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
        for batch in crate::exec::dispatch(&statement.anew(), parsed)? {
            batch?;
        }
    }
    Ok(())
}

/// Loads each table from the one file of its name. A CSV file begins with the names of columns; what is empty in it is NULL.
fn load_by_names(statement: &Statement<'_>, directory: &Path, main_as: &str) -> Result<()> {
    let now = statement.anew();
    let database = statement.session.current_database();
    let catalog = &now.snapshot().database(&database)?.version;
    let tables = catalog.named_tables();
    let tables: Vec<(String, String)> = tables
        .map(|(schema, table)| (schema.to_owned(), table.name.to_string()))
        .collect();
    let mut files = 0;
    for ending in ["csv", "parquet"] {
        let all = directory.join(format!("*.{ending}"));
        files += matching_files(&all.to_string_lossy())?.len();
    }
    for (schema, table) in &tables {
        let (file, ending) = file_of(directory, schema, table, main_as)?;
        let path = file.to_string_lossy().replace('\'', "''");
        let rows = match ending {
            "csv" => format!("read_csv('{path}', header = true, all_varchar = true)"),
            _ => format!("read_parquet('{path}')"),
        };
        let name = [schema, table].map(|part| quoted(part)).join(".");
        let insert = format!("INSERT INTO {name} BY NAME SELECT * FROM {rows}");
        for batch in crate::exec::dispatch(&statement.anew(), sql::parse(&insert)?)? {
            batch?;
        }
    }
    match files > tables.len() {
        false => Ok(()),
        true => Err(Error::invalid(
            "the directory has a CSV or Parquet file that no table of schema.sql is called like: take it out, or add its table",
        )),
    }
}

/// The file of a table: `table.csv` or `table.parquet`, of another schema `schema.table` or `schema_table`.
fn file_of(
    directory: &Path,
    schema: &str,
    table: &str,
    main_as: &str,
) -> Result<(PathBuf, &'static str)> {
    let stems = match schema == main_as {
        true => vec![table.to_owned()],
        false => vec![format!("{schema}.{table}"), format!("{schema}_{table}")],
    };
    let endings = ["csv", "parquet"].into_iter();
    let named = endings.flat_map(|ending| {
        let paths = stems.iter().map(move |stem| format!("{stem}.{ending}"));
        paths.map(move |name| (directory.join(name), ending))
    });
    let mut found = named.filter(|(path, _)| input_path(path).is_ok());
    let Some(file) = found.next() else {
        return Err(Error::invalid(format!(
            "table {table} has no file: name it {table}.csv or {table}.parquet, also where it has no rows"
        )));
    };
    match found.next() {
        None => Ok(file),
        Some(_) => Err(Error::invalid(format!(
            "table {table} has several files: leave one"
        ))),
    }
}

fn definition(parsed: Parsed) -> Option<Parsed> {
    match &parsed {
        Parsed::Sql(sql) => match sql.as_ref() {
            Sql::CreateTable(table) if table.query.is_none() => Some(parsed),
            Sql::CreateSchema { .. } | Sql::CreateView(_) | Sql::CreateIndex(_) => Some(parsed),
            _ => None,
        },
        Parsed::CreateSequence(_)
        | Parsed::AlterSequence(_)
        | Parsed::CreateMacro(_)
        | Parsed::CreateType(_)
        | Parsed::Comment(_) => Some(parsed),
        _ => None,
    }
}

/// `COPY t FROM 'file'`, of the file of that name in the directory, wherever it was when it was exported.
fn loading(parsed: Parsed, directory: &Path) -> Option<Parsed> {
    match parsed {
        Parsed::CopyFrom {
            table,
            columns,
            path: CopyPath::Written(path),
            options,
        } => Some(Parsed::CopyFrom {
            table,
            columns,
            path: CopyPath::Written(
                directory
                    .join(Path::new(&path).file_name()?)
                    .to_string_lossy()
                    .into_owned(),
            ),
            options,
        }),
        _ => None,
    }
}
