//! What a catalog says of keys and constraints, as tables: `duckdb_indexes()`, `duckdb_constraints()` and
//! `pragma_table_info('t')`, and the key column of DESCRIBE.

use super::arrays::{flags, items, no_tags, number_lists, numbers, text_lists, texts};
use super::numbered::{Entries, Entry, number, places};
use crate::exec::Columns;
use crate::exec::definitions::comments::said;
use crate::exec::definitions::foreign_keys;
use crate::exec::definitions::indexes::{column_names, definition, quoted};
use datafusion::arrow::array::{Int32Array, Int64Array};
use datafusion::sql::sqlparser::ast;
use hushdb_query::plan::Planner;
use hushdb_sql::type_names::column_type_name;
use hushdb_sql::walk::visit_expressions;
use hushdb_sql::{self as sql, Result, find_named};
use hushdb_storage::{Check, Column, CommentKind, IndexKind, SchemaVersion, TableVersion};
use std::ops::ControlFlow;
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

/// One row an index, those of keys included.
pub(in crate::exec) fn indexes(planner: &Planner<'_>) -> Columns {
    let entries = Entries::of(planner);
    let rows = entries.chosen(Entry::index);
    let mut columns = places(&rows, |row| row.0);
    columns.extend([
        (
            "index_name",
            texts(&rows, |row| Some(row.2.1.name().into())),
        ),
        ("index_oid", numbers(&rows, |row| Some(row.1))),
        ("table_name", texts(&rows, |row| Some(row.2.0.name.clone()))),
        (
            "table_oid",
            numbers(&rows, |row| entries.table_oid(row.0, row.2.0)),
        ),
        (
            "comment",
            texts(&rows, |(schema, _, (table, index))| {
                said(
                    schema.version,
                    CommentKind::Index,
                    &table.name,
                    Some(index.name()),
                )
            }),
        ),
        ("tags", no_tags(&rows)),
        ("is_unique", flags(&rows, |row| row.2.1.kind().is_unique())),
        (
            "is_primary",
            flags(&rows, |row| row.2.1.kind() == IndexKind::Primary),
        ),
        (
            "expressions",
            texts(&rows, |(_, _, (table, index))| {
                Some(format!("[{}]", quoted(table, index)))
            }),
        ),
        (
            "sql",
            texts(&rows, |(_, _, (table, index))| {
                let named = index.kind() != IndexKind::Primary;
                named.then(|| definition(table, index))
            }),
        ),
    ]);
    columns
}

/// What a constraint says.
#[derive(Default)]
struct Constraint {
    kind: &'static str,
    text: String,
    expression: Option<String>,
    columns: Vec<String>,
    name: Option<String>,
    parent: Option<String>,
    parent_columns: Vec<String>,
}

/// Those of a table.
fn constraints_of(within: &SchemaVersion, table: &TableVersion) -> Vec<Constraint> {
    let mut rows = vec![];
    for index in table.indexes() {
        let kind = match index.kind() {
            IndexKind::Primary => "PRIMARY KEY",
            IndexKind::Unique => "UNIQUE",
            IndexKind::Plain => continue,
        };
        rows.push(Constraint {
            kind,
            text: format!("{kind}({})", quoted(table, index)),
            columns: column_names(table, index),
            name: Some(index.name().into()),
            ..Constraint::default()
        });
    }
    let references = foreign_keys::of(within, table).into_iter();
    rows.extend(references.map(|reference| Constraint {
        kind: "FOREIGN KEY",
        text: reference.text,
        columns: reference.columns,
        name: Some(reference.name),
        parent: Some(reference.parent),
        parent_columns: reference.parent_columns,
        ..Constraint::default()
    }));
    for column in table.columns.iter().filter(|column| !column.nullable) {
        rows.push(Constraint {
            kind: "NOT NULL",
            text: "NOT NULL".into(),
            columns: vec![column.name.clone()],
            name: Some(format!("{}_{}_not_null", table.name, column.name)),
            ..Constraint::default()
        });
    }
    rows.extend(table.checks.iter().map(|check| checked(table, check)));
    rows
}

/// A condition, with the columns that it names in the order in which it does.
fn checked(table: &TableVersion, check: &Check) -> Constraint {
    let mut columns = vec![];
    let expr = sql::parse_expr(&check.sql).ok();
    if let Some(expr) = &expr {
        let _ = visit_expressions(expr, |expr| {
            if let ast::Expr::Identifier(ident) = expr {
                let known = find_named(&table.columns, &ident.value, |column| &column.name);
                columns.extend(known.map(|column| column.name.clone()));
            }
            ControlFlow::<()>::Continue(())
        });
    }
    let expression = match &expr {
        Some(ast::Expr::BinaryOp { .. }) => format!("({})", check.sql),
        _ => check.sql.clone(),
    };
    let unnamed = || {
        let mut parts = vec![table.name.as_str()];
        parts.extend(columns.iter().map(String::as_str));
        format!("{}_check", parts.join("_"))
    };
    Constraint {
        kind: "CHECK",
        text: format!("CHECK({expression})"),
        name: Some(check.name.clone().unwrap_or_else(unnamed)),
        expression: Some(expression),
        columns,
        ..Constraint::default()
    }
}

/// One row a constraint: keys, foreign keys, unique indexes, NOT NULL and CHECK.
pub(in crate::exec) fn constraints(planner: &Planner<'_>) -> Columns {
    let entries = Entries::of(planner);
    let mut rows = vec![];
    for (schema, oid, table) in entries.chosen(Entry::table) {
        let own = constraints_of(schema.version, table).into_iter();
        rows.extend(own.map(|constraint| (schema, oid, table, constraint)));
    }
    let place = |table: &TableVersion, name: &String| {
        let at = table.columns.iter().position(|column| column.name == *name);
        at.and_then(number)
    };
    let mut columns = places(&rows, |row| row.0);
    columns.extend([
        ("table_name", texts(&rows, |row| Some(row.2.name.clone()))),
        ("table_oid", numbers(&rows, |row| Some(row.1))),
        (
            "constraint_index",
            Arc::new((0..).take(rows.len()).map(Some).collect::<Int64Array>()),
        ),
        (
            "constraint_type",
            texts(&rows, |row| Some(row.3.kind.into())),
        ),
        (
            "constraint_text",
            texts(&rows, |row| Some(row.3.text.clone())),
        ),
        ("expression", texts(&rows, |row| row.3.expression.clone())),
        (
            "constraint_column_indexes",
            number_lists(&rows, |row| {
                row.3
                    .columns
                    .iter()
                    .filter_map(|name| place(row.2, name))
                    .collect()
            }),
        ),
        (
            "constraint_column_names",
            text_lists(&rows, |row| Some(items(row.3.columns.clone()))),
        ),
        ("constraint_name", texts(&rows, |row| row.3.name.clone())),
        ("referenced_table", texts(&rows, |row| row.3.parent.clone())),
        (
            "referenced_column_names",
            text_lists(&rows, |row| Some(items(row.3.parent_columns.clone()))),
        ),
    ]);
    columns
}

/// One row a column, as `PRAGMA table_info('t')` gives it.
pub(in crate::exec) fn table_info(planner: &Planner<'_>, name: &str) -> Result<Columns> {
    let parts: Vec<String> = name.split('.').map(str::to_string).collect();
    let (_, table) = planner.snapshot.table(&parts)?;
    let columns = &table.columns;
    Ok(vec![
        (
            "cid",
            Arc::new((0..).take(columns.len()).map(Some).collect::<Int32Array>()),
        ),
        ("name", texts(columns, |c| Some(c.name.clone()))),
        ("type", texts(columns, |c| Some(column_type_name(&c.ty)))),
        ("notnull", flags(columns, |c| !c.nullable)),
        ("dflt_value", texts(columns, |c| c.default.clone())),
        ("pk", flags(columns, |c| key_of(&table, c) == Some("PRI"))),
    ])
}
