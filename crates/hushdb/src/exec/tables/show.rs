//! DESCRIBE and SHOW.

use super::index_tables::key_of;
use super::summarize;
use crate::exec::{query, settings};
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::arrow::array::{ArrayRef, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::sql::sqlparser::ast::{self, SetExpr, TableFactor};
use hushdb_query::plan::{Planner, Snapshot, known_as};
use hushdb_sql::type_names::display_type;
use hushdb_sql::{self as sql, Error, Result, quote};
use hushdb_storage::same_name;
use std::sync::Arc;

/// A result of text columns.
pub(in crate::exec) fn text_table(
    names: &[&str],
    rows: &[Vec<Option<String>>],
) -> Result<QueryResult> {
    let fields: Vec<Field> = names
        .iter()
        .map(|n| Field::new(*n, DataType::Utf8, true))
        .collect();
    let columns = (0..names.len())
        .map(|i| {
            Arc::new(
                rows.iter()
                    .map(|row| row[i].clone())
                    .collect::<StringArray>(),
            ) as ArrayRef
        })
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    Ok(QueryResult::rows(schema, vec![batch]))
}

/// One row a column: name, type, nullability, key, default, extra, as DuckDB's DESCRIBE.
pub(in crate::exec) fn describe(
    statement: &Statement<'_>,
    query: ast::Query,
) -> Result<QueryResult> {
    columns_of(&statement.planner(), query)
}

/// The rows of `FROM (DESCRIBE ...)`, `FROM (SHOW TABLES)` and `FROM (SUMMARIZE ...)`.
pub(in crate::exec) fn rows_of(
    statement: &Statement<'_>,
    planner: &Planner<'_>,
    text: &str,
) -> Result<QueryResult> {
    let mut parsed = sql::parse(text)?;
    sql::name_columns_of_values(&mut parsed)?;
    match parsed {
        sql::Statement::Describe(query) => columns_of(planner, *query),
        sql::Statement::ShowTables(from) => tables(planner.snapshot, from.as_deref()),
        sql::Statement::Summarize(query) => summarize::rows_of(statement, planner, *query),
        // What some of them are written in.
        sql::Statement::Sql(query) => {
            let plan = planner.plan_statement(*query)?;
            query::stream(statement, &plan)
        }
        _ => Err(Error::binder(
            "FROM takes a query, DESCRIBE, SHOW TABLES or SUMMARIZE",
        )),
    }
}

fn columns_of(planner: &Planner<'_>, query: ast::Query) -> Result<QueryResult> {
    let snapshot = planner.snapshot;
    let table = only_table(&query).and_then(|parts| snapshot.table(&parts).ok());
    let names = [
        "column_name",
        "column_type",
        "null",
        "key",
        "default",
        "extra",
    ];
    let rows: Vec<Vec<Option<String>>> = match table {
        Some((_, table)) => table
            .columns
            .iter()
            .map(|c| {
                let null = if c.nullable { "YES" } else { "NO" };
                let ty = sql::type_names::column_type_name(&c.ty);
                vec![
                    Some(c.name.clone()),
                    Some(ty),
                    Some(null.into()),
                    key_of(&table, c).map(Into::into),
                    c.default.clone(),
                    None,
                ]
            })
            .collect(),
        None => {
            let plan = planner.state().optimize(&planner.plan_query(query)?)?;
            plan.schema()
                .fields()
                .iter()
                .map(|f| {
                    vec![
                        Some(f.name().clone()),
                        Some(display_type(f)),
                        Some("YES".into()),
                        None,
                        None,
                        None,
                    ]
                })
                .collect()
        }
    };
    text_table(&names, &rows)
}

/// The table of `SELECT * FROM t`.
fn only_table(query: &ast::Query) -> Option<Vec<String>> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let [from] = select.from.as_slice() else {
        return None;
    };
    let TableFactor::Table {
        name, args: None, ..
    } = &from.relation
    else {
        return None;
    };
    let bare = from.joins.is_empty()
        && matches!(select.projection.as_slice(), [ast::SelectItem::Wildcard(options)] if *options == Default::default());
    if bare {
        hushdb_sql::name_parts(name).ok()
    } else {
        None
    }
}

/// `SHOW TABLES`: names of one schema, or of all of a database.
pub(in crate::exec) fn tables(snapshot: &Snapshot, from: Option<&[String]>) -> Result<QueryResult> {
    let (database, schema) = match from {
        None => (
            snapshot.current_database.clone(),
            Some(snapshot.current_schema.clone()),
        ),
        Some([name]) if known_as(&snapshot.databases, name).is_some() => (name.clone(), None),
        Some([name]) => (snapshot.current_database.clone(), Some(name.clone())),
        Some(parts) => (parts[0].clone(), parts.get(1).cloned()),
    };
    let mut rows = vec![];
    if let (None, Some(own)) = (from, snapshot.temporary()) {
        rows.extend(own.relations().map(|name| vec![Some(name.clone())]));
    }
    for (name, within) in &snapshot.database(&database)?.version.schemas {
        let wanted = schema.as_ref();
        if wanted.is_none_or(|wanted| same_name(wanted, name)) {
            let mut names: Vec<&String> = within.relations().collect();
            names.sort();
            rows.extend(names.into_iter().map(|name| vec![Some(name.clone())]));
        }
    }
    if from.is_none() {
        rows.sort();
    }
    text_table(&["name"], &rows)
}

pub(in crate::exec) fn databases(statement: &Statement<'_>) -> Result<QueryResult> {
    let names = statement
        .snapshot()
        .attached()
        .map(|(name, _)| vec![Some(name.clone())])
        .collect::<Vec<_>>();
    text_table(&["database_name"], &names)
}

/// `SHOW x`: a setting of that name, else the columns of a table.
pub(in crate::exec) fn setting_or_table(
    statement: &Statement<'_>,
    name: &str,
) -> Result<QueryResult> {
    if let Some(value) = settings::value(statement.session, name) {
        return text_table(&[name], &[vec![Some(value)]]);
    }
    let parts: Vec<String> = name.split('.').map(quote).collect();
    match sql::parse_one(&format!("SELECT * FROM {}", parts.join(".")))? {
        ast::Statement::Query(query) => describe(statement, *query),
        _ => Ok(QueryResult::done()),
    }
}
