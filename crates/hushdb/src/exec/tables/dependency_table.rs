//! `duckdb_dependencies()`: which entries of a catalog need which others, by their numbers in all tables about it.

use super::arrays::{numbers, small_numbers, texts};
use super::numbered::{Entries, Entry, SchemaRow};
use crate::exec::Columns;
use crate::exec::columns::default_text;
use datafusion::sql::sqlparser::ast::Expr;
use hushdb_query::plan::{Planner, TableName};
use hushdb_sql::walk::visit_expressions;
use hushdb_sql::{self as sql, same_parts};
use hushdb_storage::TableVersion;
use std::ops::ControlFlow;

/// What is needed, what needs it, and how: `a` goes with it, `n` is in the way of dropping it.
type Needed = (i64, i64, &'static str);

pub(in crate::exec) fn dependencies(planner: &Planner<'_>) -> Columns {
    let entries = Entries::of(planner);
    let mut rows: Vec<Needed> = vec![];
    for (schema, oid, table) in entries.chosen(Entry::table) {
        let needed = needed_by(planner, &entries, schema, table);
        rows.extend(needed.into_iter().map(|needed| (needed, oid, "n")));
    }
    let indexes = entries.chosen(Entry::index).into_iter();
    rows.extend(indexes.filter_map(|(schema, oid, (table, _))| {
        Some((entries.table_oid(schema, table)?, oid, "a"))
    }));
    vec![
        ("classid", numbers(&rows, |_| Some(0))),
        ("objid", numbers(&rows, |row| Some(row.0))),
        ("objsubid", small_numbers(&rows, |_| Some(0))),
        ("refclassid", numbers(&rows, |_| Some(0))),
        ("refobjid", numbers(&rows, |row| Some(row.1))),
        ("refobjsubid", small_numbers(&rows, |_| Some(0))),
        ("deptype", texts(&rows, |row| Some(row.2.to_owned()))),
    ]
}

/// What a table needs: tables whose rows it names, sequences and macros in its defaults and conditions.
fn needed_by(
    planner: &Planner<'_>,
    entries: &Entries<'_>,
    schema: &SchemaRow<'_>,
    table: &TableVersion,
) -> Vec<i64> {
    let place = TableName {
        database: schema.database.to_owned(),
        schema: schema.name.to_owned(),
        name: table.name.clone(),
    };
    let defaults = table.columns.iter().filter_map(|c| c.default.as_deref());
    let sequences: Vec<TableName> = defaults
        .clone()
        .flat_map(|text| default_text::sequences(planner.snapshot, &place, text))
        .collect();
    let checks = table.checks.iter().map(|check| check.sql.as_str());
    let texts: Vec<Expr> = defaults
        .chain(checks)
        .filter_map(|text| sql::parse_expr(text).ok())
        .collect();
    let parents = schema.version.foreign_keys.iter();
    let parents: Vec<_> = parents.filter(|key| key.child == table.id).collect();
    let needs = |within: &SchemaRow<'_>, entry: Entry<'_>| match entry {
        Entry::Table(other) => {
            within.oid == schema.oid
                && other.id != table.id
                && parents.iter().any(|key| key.parent == other.id)
        }
        Entry::Sequence(one) => sequences.iter().any(|name| {
            let own = (within.database, within.name, one.name.as_str());
            own == (&*name.database, &*name.schema, &*name.name)
        }),
        Entry::Macro(one) => {
            within.database == schema.database && texts.iter().any(|text| calls(text, &one.name))
        }
        Entry::View(_) | Entry::Type(_) | Entry::TableMacro(_) | Entry::Index(..) => false,
    };
    let needed = entries.all();
    let needed = needed.filter(|(within, row)| needs(within, row.entry));
    needed.map(|(_, row)| row.oid).collect()
}

fn calls(expr: &Expr, name: &str) -> bool {
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Function(function) if same_parts(&function.name, name) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
