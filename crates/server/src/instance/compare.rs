//! Two databases, table by table: whether one is the copy of the other, of which what was in `main` is in `public`.
//!
//! What must hold: of what differs the name is said, never a value.

use super::PUBLIC;
use crate::failure::{FailureKind, Result, ServeError};
use arrow::array::AsArray;
use arrow::row::{RowConverter, SortField};
use hushdb::Connection;
use hushdb::crypto::CryptoProvider;

/// What a database has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) tables: u64,
    pub(crate) rows: u64,
    pub(crate) views: u64,
}

/// Compares the number and the content of rows of each table, and the columns of each view.
///
/// # Errors
/// `Damaged` for a table or view that is not the same; and what reading gives.
pub(crate) fn compare(connection: &Connection, from: &str, to: &str) -> Result<Contents> {
    let mut contents = Contents::default();
    for (schema, table) in names(connection, from, "table")? {
        let there = digest(connection, &select(from, &schema, &table))?;
        let here = digest(connection, &select(to, schema_in_copy(&schema), &table))?;
        if there != here {
            return Err(differs(&table));
        }
        contents.tables += 1;
        contents.rows += here.0;
    }
    for (schema, view) in names(connection, from, "view")? {
        let columns = |sql: &str| connection.prepare(sql)?.describe(&[]);
        let here = columns(&select(to, schema_in_copy(&schema), &view));
        // A view that could not be read before may be so again.
        if let Ok(there) = columns(&select(from, &schema, &view))
            && here?.columns != there.columns
        {
            return Err(differs(&view));
        }
        contents.views += 1;
    }
    Ok(contents)
}

/// What a database has; all of it is read.
///
/// # Errors
/// What reading gives.
pub(crate) fn contents(connection: &Connection, database: &str) -> Result<Contents> {
    let mut contents = Contents::default();
    for (schema, table) in names(connection, database, "table")? {
        contents.rows += digest(connection, &select(database, &schema, &table))?.0;
        contents.tables += 1;
    }
    contents.views = names(connection, database, "view")?.len() as u64;
    Ok(contents)
}

fn differs(name: &str) -> ServeError {
    let message = format!("\"{name}\" is not the same in the copy: nothing was kept of it");
    ServeError::new(FailureKind::Damaged, message)
}

fn schema_in_copy(schema: &str) -> &str {
    match schema {
        "main" => PUBLIC,
        other => other,
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn select(database: &str, schema: &str, table: &str) -> String {
    let name = [database, schema, table].map(quoted).join(".");
    format!("SELECT * FROM {name}")
}

/// Schemas and names of a database's tables or views.
fn names(connection: &Connection, database: &str, kind: &str) -> Result<Vec<(String, String)>> {
    let sql = format!(
        "SELECT schema_name::VARCHAR AS s, {kind}_name::VARCHAR AS n FROM duckdb_{kind}s() WHERE database_name = $1 ORDER BY ALL"
    );
    let mut names = vec![];
    for batch in connection.prepare(&sql)?.execute(&[database.into()])? {
        let batch = batch?;
        let texts = |at: usize| -> Vec<String> {
            let column = arrow::compute::cast(batch.column(at), &arrow::datatypes::DataType::Utf8);
            let column = column.unwrap_or_else(|_| batch.column(at).clone());
            let texts = column.as_string_opt::<i32>();
            let texts = texts.map(|texts| texts.iter().flatten().map(str::to_owned).collect());
            texts.unwrap_or_default()
        };
        names.extend(texts(0).into_iter().zip(texts(1)));
    }
    Ok(names)
}

/// The number of rows, and a chain of SHA-256 over them in their order.
fn digest(connection: &Connection, sql: &str) -> Result<(u64, [u8; 32])> {
    let crypto = CryptoProvider::aws_lc();
    let result = connection.run(sql)?;
    let fields = result.schema();
    let fields = fields.fields().iter();
    let fields = fields.map(|field| SortField::new(field.data_type().clone()));
    let converter = RowConverter::new(fields.collect()).map_err(hushdb::Error::from)?;
    let (mut count, mut chain) = (0, [0; 32]);
    for batch in result {
        let rows = converter.convert_columns(batch?.columns());
        for row in &rows.map_err(hushdb::Error::from)? {
            chain = crypto.sha256(&[&chain, row.as_ref()]);
            count += 1;
        }
    }
    Ok((count, chain))
}
