//! What a catalog says of keys and constraints, as tables: `duckdb_indexes()`, `duckdb_constraints()` and
//! `pragma_table_info('t')`, and the key column of DESCRIBE.

use crate::exec::Columns;
use crate::exec::definitions::foreign_keys;
use crate::exec::definitions::indexes::{column_names, definition, quoted};
use datafusion::arrow::array::{ArrayRef, BooleanArray, Int32Array, StringArray};
use hushdb_query::plan::Planner;
use hushdb_sql::Result;
use hushdb_sql::type_names::column_type_name;
use hushdb_storage::{Column, Index, IndexKind, SchemaVersion, TableVersion};
use std::sync::Arc;

/// `PRI` and `UNI`, as DESCRIBE marks columns of keys.
pub(in crate::exec) fn key_of(table: &TableVersion, column: &Column) -> Option<&'static str> {
    let has = |kind| {
        let mut indexes = table.indexes().iter();
        indexes.any(|index| index.kind() == kind && index.column_ids().contains(&column.id))
    };
    match (has(IndexKind::Primary), has(IndexKind::Unique)) {
        (true, _) => Some("PRI"),
        (_, true) => Some("UNI"),
        _ => None,
    }
}

/// A table with its database and schema.
#[derive(Clone, Copy)]
struct Place<'a> {
    database: &'a String,
    schema: &'a String,
    within: &'a SchemaVersion,
    table: &'a Arc<TableVersion>,
}

/// Every table.
fn tables<'a>(planner: &'a Planner<'_>) -> impl Iterator<Item = Place<'a>> {
    planner
        .snapshot
        .databases
        .iter()
        .flat_map(|(name, database)| {
            let schemas = database.version.schemas.iter();
            schemas.flat_map(move |(schema, version)| {
                let tables = version.tables.values();
                tables.map(move |table| Place {
                    database: name,
                    schema,
                    within: version,
                    table,
                })
            })
        })
}

fn texts(values: impl Iterator<Item = Option<String>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

/// One row an index, those of keys included.
pub(in crate::exec) fn indexes(planner: &Planner<'_>) -> Columns {
    let rows: Vec<_> = tables(planner)
        .flat_map(|place| {
            let indexes = place.table.indexes().iter();
            let own = move |index: &&Index| {
                !foreign_keys::is_own_index(place.within, place.table.id, index)
            };
            let indexes = indexes.filter(own);
            indexes.map(move |index| (place.database, place.schema, place.table, index))
        })
        .collect();
    let rows = rows.iter();
    let unique = |row: &(_, _, _, &hushdb_storage::Index)| Some(row.3.kind().is_unique());
    let primary =
        |row: &(_, _, _, &hushdb_storage::Index)| Some(row.3.kind() == IndexKind::Primary);
    vec![
        (
            "database_name",
            texts(rows.clone().map(|r| Some(r.0.clone()))),
        ),
        (
            "schema_name",
            texts(rows.clone().map(|r| Some(r.1.clone()))),
        ),
        (
            "index_name",
            texts(rows.clone().map(|r| Some(r.3.name().into()))),
        ),
        (
            "table_name",
            texts(rows.clone().map(|r| Some(r.2.name.clone()))),
        ),
        (
            "is_unique",
            Arc::new(rows.clone().map(unique).collect::<BooleanArray>()),
        ),
        (
            "is_primary",
            Arc::new(rows.clone().map(primary).collect::<BooleanArray>()),
        ),
        (
            "expressions",
            texts(
                rows.clone()
                    .map(|r| Some(format!("[{}]", quoted(r.2, r.3)))),
            ),
        ),
        (
            "sql",
            texts(rows.map(|r| {
                let named = r.3.kind() != IndexKind::Primary;
                named.then(|| definition(r.2, r.3))
            })),
        ),
    ]
}

/// What a constraint says.
struct Constraint<'a> {
    place: Place<'a>,
    kind: &'static str,
    text: String,
    columns: Vec<String>,
    name: Option<String>,
}

/// Those of a table.
fn constraints_of(place: Place<'_>) -> Vec<Constraint<'_>> {
    let table = place.table;
    let mut rows = vec![];
    for index in table.indexes() {
        let kind = match index.kind() {
            IndexKind::Primary => "PRIMARY KEY",
            IndexKind::Unique => "UNIQUE",
            IndexKind::Plain => continue,
        };
        rows.push(Constraint {
            place,
            kind,
            text: format!("{kind}({})", quoted(table, index)),
            columns: column_names(table, index),
            name: Some(index.name().into()),
        });
    }
    let references = foreign_keys::of(place.within, table).into_iter();
    rows.extend(references.map(|reference| Constraint {
        place,
        kind: "FOREIGN KEY",
        text: reference.text,
        columns: reference.columns,
        name: Some(reference.name),
    }));
    for column in table.columns.iter().filter(|column| !column.nullable) {
        rows.push(Constraint {
            place,
            kind: "NOT NULL",
            text: "NOT NULL".into(),
            columns: vec![column.name.clone()],
            name: Some(format!("{}_{}_not_null", table.name, column.name)),
        });
    }
    for check in &table.checks {
        rows.push(Constraint {
            place,
            kind: "CHECK",
            text: format!("CHECK({})", check.sql),
            columns: vec![],
            name: check.name.clone(),
        });
    }
    rows
}

/// One row a constraint: keys, foreign keys, unique indexes, NOT NULL and CHECK.
pub(in crate::exec) fn constraints(planner: &Planner<'_>) -> Columns {
    let rows: Vec<Constraint<'_>> = tables(planner).flat_map(constraints_of).collect();
    let rows = rows.iter();
    vec![
        (
            "database_name",
            texts(rows.clone().map(|r| Some(r.place.database.clone()))),
        ),
        (
            "schema_name",
            texts(rows.clone().map(|r| Some(r.place.schema.clone()))),
        ),
        (
            "table_name",
            texts(rows.clone().map(|r| Some(r.place.table.name.clone()))),
        ),
        (
            "constraint_type",
            texts(rows.clone().map(|r| Some(r.kind.into()))),
        ),
        (
            "constraint_text",
            texts(rows.clone().map(|r| Some(r.text.clone()))),
        ),
        (
            "constraint_column_names",
            texts(
                rows.clone()
                    .map(|r| Some(format!("[{}]", r.columns.join(", ")))),
            ),
        ),
        ("constraint_name", texts(rows.map(|r| r.name.clone()))),
    ]
}

/// One row a column, as `PRAGMA table_info('t')` gives it.
pub(in crate::exec) fn table_info(planner: &Planner<'_>, name: &str) -> Result<Columns> {
    let parts: Vec<String> = name.split('.').map(str::to_string).collect();
    let (_, table) = planner.snapshot.table(&parts)?;
    let columns = table.columns.iter();
    let primary = |column: &Column| Some(key_of(&table, column) == Some("PRI"));
    Ok(vec![
        (
            "cid",
            Arc::new(
                (0..)
                    .take(table.columns.len())
                    .map(Some)
                    .collect::<Int32Array>(),
            ),
        ),
        ("name", texts(columns.clone().map(|c| Some(c.name.clone())))),
        (
            "type",
            texts(columns.clone().map(|c| Some(column_type_name(&c.ty)))),
        ),
        (
            "notnull",
            Arc::new(
                columns
                    .clone()
                    .map(|c| Some(!c.nullable))
                    .collect::<BooleanArray>(),
            ),
        ),
        (
            "dflt_value",
            texts(columns.clone().map(|c| c.default.clone())),
        ),
        (
            "pk",
            Arc::new(columns.map(primary).collect::<BooleanArray>()),
        ),
    ])
}
