//! What the catalogs have, as tables: `duckdb_databases()`, `duckdb_schemas()`, `duckdb_tables()`, `duckdb_views()`, `duckdb_sequences()`, `duckdb_columns()`,
//! `PRAGMA database_list` and `PRAGMA database_size`.
//!
//! What must hold: nothing here tells a key.

use super::arrays::{flags, no_tags, numbers, small_numbers, texts};
use super::numbered::{Entries, Entry, SchemaRow, number, places};
use super::process_tables::cipher;
use super::type_table::type_id;
use crate::exec::Columns;
use crate::exec::definitions::as_sql;
use crate::exec::definitions::comments::{of_relation, said};
use crate::exec::query::bound_view;
use crate::session::Session;
use datafusion::arrow::datatypes::SchemaRef;
use hushdb_keys::Suite;
use hushdb_query::plan::{DatabaseSnapshot, Planner};
use hushdb_sql::settings_text::size_text;
use hushdb_sql::type_names::{column_type_name, display_type};
use hushdb_sql::{Error, Result};
use hushdb_storage::{Column, CommentKind, IndexKind, MAIN_SCHEMA, TableVersion};
use std::cell::Cell;

/// Sectors are what a file is made of.
const SECTOR_BYTES: u64 = hushdb_storage::SECTOR_BYTES as u64;

thread_local! {
    /// Whether views are being bound, of which one may select from these tables itself: it gets views without columns.
    static IS_BINDING: Cell<bool> = const { Cell::new(false) };
}

/// The columns of a view.
fn bound(planner: &Planner<'_>, path: [&str; 3]) -> Result<SchemaRef> {
    if IS_BINDING.replace(true) {
        return Err(Error::internal("views are bound within each other"));
    }
    let found = bound_view(planner, path);
    IS_BINDING.set(false);
    found
}

/// One row a schema.
pub(in crate::exec) fn schemas(planner: &Planner<'_>) -> Columns {
    let rows = Entries::of(planner).schemas;
    vec![
        ("oid", numbers(&rows, |row| Some(row.oid))),
        (
            "database_name",
            texts(&rows, |row| Some(row.database.into())),
        ),
        ("database_oid", numbers(&rows, |row| Some(row.database_oid))),
        ("schema_name", texts(&rows, |row| Some(row.name.into()))),
        ("comment", texts(&rows, |_| None)),
        ("tags", no_tags(&rows)),
        ("internal", flags(&rows, |row| row.name == MAIN_SCHEMA)),
        ("sql", texts(&rows, |_| None)),
    ]
}

/// One row a table.
pub(in crate::exec) fn tables(planner: &Planner<'_>) -> Columns {
    let entries = Entries::of(planner);
    let rows = entries.chosen(Entry::table);
    let mut columns = places(&rows, |row| row.0);
    let is_primary = |table: &TableVersion| {
        let mut indexes = table.indexes().iter();
        indexes.any(|index| index.kind() == IndexKind::Primary)
    };
    columns.extend([
        ("table_name", texts(&rows, |row| Some(row.2.name.clone()))),
        ("table_oid", numbers(&rows, |row| Some(row.1))),
        (
            "comment",
            texts(&rows, |row| of_relation(row.0.version, &row.2.name, None)),
        ),
        ("tags", no_tags(&rows)),
        ("internal", flags(&rows, |_| false)),
        ("temporary", flags(&rows, |row| row.0.is_temporary)),
        ("has_primary_key", flags(&rows, |row| is_primary(row.2))),
        (
            "estimated_size",
            numbers(&rows, |row| i64::try_from(row.2.row_count()).ok()),
        ),
        (
            "column_count",
            numbers(&rows, |row| number(row.2.columns.len())),
        ),
        (
            "index_count",
            numbers(&rows, |row| number(row.2.indexes().len())),
        ),
        (
            "check_constraint_count",
            numbers(&rows, |row| number(row.2.checks.len())),
        ),
        (
            "sql",
            texts(&rows, |row| {
                Some(
                    row.0
                        .made_by(as_sql::table(row.0.name, row.0.version, row.2)),
                )
            }),
        ),
    ]);
    columns
}

/// One row a view. A view whose query no longer stands is not bound, and has no columns.
pub(in crate::exec) fn views(planner: &Planner<'_>) -> Columns {
    let entries = Entries::of(planner);
    let rows = entries.chosen(Entry::view).into_iter();
    let rows: Vec<_> = rows
        .map(|row| {
            (
                row,
                bound(planner, [row.0.database, row.0.name, &row.2.name]),
            )
        })
        .collect();
    let mut columns = places(&rows, |row| row.0.0);
    columns.extend([
        ("view_name", texts(&rows, |row| Some(row.0.2.name.clone()))),
        ("view_oid", numbers(&rows, |row| Some(row.0.1))),
        (
            "comment",
            texts(&rows, |row| {
                of_relation(row.0.0.version, &row.0.2.name, None)
            }),
        ),
        ("tags", no_tags(&rows)),
        ("internal", flags(&rows, |_| false)),
        ("temporary", flags(&rows, |row| row.0.0.is_temporary)),
        (
            "column_count",
            numbers(&rows, |row| number(row.1.as_ref().ok()?.fields().len())),
        ),
        (
            "sql",
            texts(&rows, |((schema, _, view), _)| {
                Some(schema.made_by(as_sql::view(schema.name, view, &view.sql)))
            }),
        ),
        ("is_bound", flags(&rows, |row| row.1.is_ok())),
    ]);
    columns
}

/// One row a sequence.
pub(in crate::exec) fn sequences(planner: &Planner<'_>) -> Columns {
    let entries = Entries::of(planner);
    let rows = entries.chosen(Entry::sequence);
    let mut columns = places(&rows, |row| row.0);
    columns.extend([
        (
            "sequence_name",
            texts(&rows, |row| Some(row.2.name.clone())),
        ),
        ("sequence_oid", numbers(&rows, |row| Some(row.1))),
        (
            "comment",
            texts(&rows, |row| {
                said(row.0.version, CommentKind::Sequence, &row.2.name, None)
            }),
        ),
        ("tags", no_tags(&rows)),
        ("temporary", flags(&rows, |row| row.0.is_temporary)),
        (
            "start_value",
            numbers(&rows, |row| Some(row.2.options.start)),
        ),
        ("min_value", numbers(&rows, |row| Some(row.2.options.min))),
        ("max_value", numbers(&rows, |row| Some(row.2.options.max))),
        (
            "increment_by",
            numbers(&rows, |row| Some(row.2.options.increment)),
        ),
        ("cycle", flags(&rows, |row| row.2.options.cycle)),
        ("last_value", numbers(&rows, |row| row.2.last())),
        (
            "sql",
            texts(&rows, |row| {
                Some(row.0.made_by(as_sql::sequence(row.0.name, row.2)))
            }),
        ),
    ]);
    columns
}

/// A column of a table or a view.
struct ColumnRow<'a> {
    schema: &'a SchemaRow<'a>,
    oid: i64,
    entry: &'a str,
    at: usize,
    name: String,
    data_type: String,
    column: Option<&'a Column>,
}

/// One row a column, of tables and views.
pub(in crate::exec) fn columns(planner: &Planner<'_>) -> Columns {
    let entries = Entries::of(planner);
    let rows = column_rows(planner, &entries);
    let of_digits = |row: &ColumnRow<'_>, at: usize| digits(&row.data_type)?.get(at).copied();
    let default = |row: &ColumnRow<'_>| {
        let column = row.column?;
        let generated = column.generated.as_ref();
        let generated = generated.map(|text| format!("CAST({text} AS {})", row.data_type));
        generated.or_else(|| column.default.clone())
    };
    let mut columns = places(&rows, |row| row.schema);
    columns.extend([
        ("table_name", texts(&rows, |row| Some(row.entry.into()))),
        ("table_oid", numbers(&rows, |row| Some(row.oid))),
        ("column_name", texts(&rows, |row| Some(row.name.clone()))),
        (
            "column_index",
            small_numbers(&rows, |row| i32::try_from(row.at).ok()),
        ),
        (
            "comment",
            texts(&rows, |row| {
                of_relation(row.schema.version, row.entry, Some(&row.name))
            }),
        ),
        ("internal", flags(&rows, |_| false)),
        ("column_default", texts(&rows, default)),
        (
            "is_nullable",
            flags(&rows, |row| row.column.is_none_or(|column| column.nullable)),
        ),
        ("data_type", texts(&rows, |row| Some(row.data_type.clone()))),
        (
            "data_type_id",
            numbers(&rows, |row| type_id(&row.data_type)),
        ),
        ("character_maximum_length", small_numbers(&rows, |_| None)),
        (
            "numeric_precision",
            small_numbers(&rows, |row| of_digits(row, 0)),
        ),
        (
            "numeric_precision_radix",
            small_numbers(&rows, |row| of_digits(row, 1)),
        ),
        (
            "numeric_scale",
            small_numbers(&rows, |row| of_digits(row, 2)),
        ),
    ]);
    columns
}

/// The columns of all tables and views.
fn column_rows<'a>(planner: &Planner<'_>, entries: &'a Entries<'_>) -> Vec<ColumnRow<'a>> {
    let mut rows: Vec<ColumnRow<'_>> = vec![];
    for (schema, row) in entries.all() {
        let mut add = |entry, name, data_type, column, at| {
            rows.push(ColumnRow {
                schema,
                oid: row.oid,
                entry,
                at,
                name,
                data_type,
                column,
            });
        };
        match row.entry {
            Entry::Table(table) => {
                for (at, column) in (1..).zip(&table.columns) {
                    let data_type = column_type_name(&column.ty);
                    add(
                        &table.name,
                        column.name.clone(),
                        data_type,
                        Some(column),
                        at,
                    );
                }
            }
            Entry::Sequence(_)
            | Entry::Type(_)
            | Entry::Macro(_)
            | Entry::TableMacro(_)
            | Entry::Index(..) => {}
            Entry::View(view) => {
                let bound = bound(planner, [schema.database, schema.name, &view.name]);
                for (at, field) in (1..).zip(bound.iter().flat_map(|schema| schema.fields())) {
                    add(
                        &view.name,
                        field.name().clone(),
                        display_type(field),
                        None,
                        at,
                    );
                }
            }
        }
    }
    rows
}

/// How many digits the numbers of a type have, of which base, and how many of them are behind the point.
fn digits(data_type: &str) -> Option<[i32; 3]> {
    Some(match data_type {
        "TINYINT" => [8, 2, 0],
        "SMALLINT" => [16, 2, 0],
        "INTEGER" => [32, 2, 0],
        "BIGINT" => [64, 2, 0],
        "FLOAT" => [24, 2, 0],
        "DOUBLE" => [53, 2, 0],
        _ => {
            let decimal = data_type.strip_prefix("DECIMAL(")?.strip_suffix(')')?;
            let (precision, scale) = decimal.split_once(',')?;
            [precision.parse().ok()?, 10, scale.parse().ok()?]
        }
    })
}

/// The databases that are attached, with their numbers.
fn attached<'a>(planner: &'a Planner<'_>) -> Vec<(i64, &'a String, &'a DatabaseSnapshot)> {
    let entries = Entries::of(planner);
    let rows = planner.snapshot.attached().filter_map(|(name, database)| {
        let mut schemas = entries.schemas.iter();
        let schema = schemas.find(|schema| schema.database == name.as_str())?;
        Some((schema.database_oid, name, database))
    });
    rows.collect()
}

/// One row a database, as `PRAGMA database_list` gives it.
pub(in crate::exec) fn database_list(planner: &Planner<'_>) -> Columns {
    let rows = attached(planner);
    vec![
        ("seq", numbers(&rows, |row| Some(row.0))),
        ("name", texts(&rows, |row| Some(row.1.clone()))),
        (
            "file",
            texts(&rows, |row| row.2.place.as_deref().map(str::to_owned)),
        ),
    ]
}

/// One row a database.
pub(in crate::exec) fn databases(planner: &Planner<'_>) -> Columns {
    let rows = attached(planner);
    let suites = rows
        .iter()
        .map(|row| row.2.store.info())
        .collect::<Vec<_>>();
    vec![
        ("database_name", texts(&rows, |row| Some(row.1.clone()))),
        ("database_oid", numbers(&rows, |row| Some(row.0))),
        (
            "path",
            texts(&rows, |row| row.2.place.as_deref().map(str::to_owned)),
        ),
        ("comment", texts(&rows, |_| None)),
        ("tags", no_tags(&rows)),
        ("internal", flags(&rows, |_| false)),
        ("type", texts(&rows, |_| Some("hushdb".into()))),
        ("readonly", flags(&suites, |info| info.read_only)),
        (
            "encrypted",
            flags(&suites, |info| info.suite != Suite::Plain),
        ),
        (
            "cipher",
            texts(&suites, |info| cipher(info.suite).map(str::to_owned)),
        ),
        ("options", no_tags(&rows)),
    ]
}

/// One row a database: its file's size, and the memory that all of them share.
pub(in crate::exec) fn database_size(session: &Session, planner: &Planner<'_>) -> Result<Columns> {
    let databases = planner.snapshot.attached();
    let rows: Vec<_> = databases
        .map(|(name, database)| (name, database.store.info(), database.store.log_bytes()))
        .collect();
    let shared = &session.instance;
    let used = size_text(shared.memory.used() as u64);
    let limit = size_text(shared.memory.limit() as u64);
    let sectors = |sectors: u64| i64::try_from(sectors).ok();
    Ok(vec![
        ("database_name", texts(&rows, |row| Some(row.0.clone()))),
        (
            "database_size",
            texts(&rows, |row| {
                Some(size_text(row.1.total_sectors * SECTOR_BYTES))
            }),
        ),
        ("block_size", numbers(&rows, |_| sectors(SECTOR_BYTES))),
        (
            "total_blocks",
            numbers(&rows, |row| sectors(row.1.total_sectors)),
        ),
        (
            "used_blocks",
            numbers(&rows, |row| {
                sectors(row.1.total_sectors.checked_sub(row.1.free_sectors?)?)
            }),
        ),
        (
            "free_blocks",
            numbers(&rows, |row| sectors(row.1.free_sectors?)),
        ),
        ("wal_size", texts(&rows, |row| Some(size_text(row.2)))),
        ("memory_usage", texts(&rows, |_| Some(used.clone()))),
        ("memory_limit", texts(&rows, |_| Some(limit.clone()))),
    ])
}
