//! What a prepared statement takes and gives, before it is run: the types of its parameters and the columns of its result.
//!
//! What must hold: nothing is changed. The columns are those of the plan of the same statement with a NULL of its type for each
//! parameter.

use super::rows::beside::{Beside, all_of};
use super::rows::returning::select;
use super::rows::{dml, merge};
use crate::exec::{in_transaction, run_planned};
use crate::prepared::{Prepared, parameter_types};
use crate::result::QueryResult;
use crate::session::Session;
use crate::statement::Statement;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::sql::sqlparser::ast::{self, Expr, SelectItem, Value};
use hushdb_query::scan::ScanProgress;
use hushdb_sql::stack::with_room;
use hushdb_sql::type_names::cast_to;
use hushdb_sql::{self as sql, ChangesWithin, Result, Statement as Parsed};
use hushdb_storage::ColumnType;
use std::sync::Arc;

/// Types of parameters, and the columns of the result if there is one.
pub(crate) type Described = (Vec<ColumnType>, Option<SchemaRef>);

/// Describes a statement, as it would be run in the session's transaction now.
pub(crate) fn describe(
    session: &Session,
    prepared: &Prepared,
    given: &[Option<ColumnType>],
    progress: &Arc<ScanProgress>,
) -> Result<Described> {
    let mut found = None;
    in_transaction(session, prepared.ends_transaction(), || {
        let statement = Statement::new(session, progress);
        found = Some(with_room(|| described(&statement, prepared, given))?);
        Ok(QueryResult::done())
    })?;
    found.ok_or_else(|| sql::Error::internal("a description is missing"))
}

/// The same within another statement.
pub(super) fn described(
    statement: &Statement<'_>,
    prepared: &Prepared,
    given: &[Option<ColumnType>],
) -> Result<Described> {
    let find = |parts: &[String]| {
        let (_, table) = statement.snapshot().seen(parts)?;
        Some(Arc::clone(table))
    };
    let postgres = statement.session.settings.lock().postgres;
    let count = prepared.parameters();
    let types = parameter_types(&prepared.statement, count, given, &find, postgres)?;
    let null = || Expr::value(Value::Null);
    let nulls = types.iter().map(|ty| cast_to(null(), ty));
    let nulls = nulls.collect::<Result<Vec<_>>>()?;
    let mut parsed = prepared.statement.clone();
    sql::substitute_parameters(&mut parsed, &nulls)?;
    Ok((types, columns(statement, parsed)?))
}

fn columns(statement: &Statement<'_>, parsed: Parsed) -> Result<Option<SchemaRef>> {
    let planned = |query: ast::Query| {
        let plan = statement.planner().plan_query(query)?;
        let plan = super::query::without_untyped(plan)?;
        Ok(Some(Arc::clone(plan.schema().inner())))
    };
    match parsed {
        Parsed::Sql(ast) if let Some(changes) = sql::changes_within(&ast)? => {
            statement.in_parts(|| columns_of_rest(statement, changes))
        }
        Parsed::Sql(ast) => match *ast {
            ast::Statement::Query(query) => planned(*query),
            ast::Statement::Insert(ast::Insert {
                table: ast::TableObject::TableName(table),
                table_alias,
                returning: Some(items),
                ..
            }) => {
                let alias = table_alias.map(|alias| alias.alias.to_string());
                planned(rows_of(&table.to_string(), alias, items)?)
            }
            ast::Statement::Update(ast::Update {
                table,
                from,
                returning: Some(items),
                ..
            }) => {
                let from = dml::tables_of(from.as_ref());
                planned(rows_changed(statement, &table, from, &items)?)
            }
            ast::Statement::Delete(ast::Delete {
                from: ast::FromTable::WithFromKeyword(tables),
                using,
                returning: Some(items),
                ..
            }) => match tables.as_slice() {
                [table] => {
                    let using = using.unwrap_or_default();
                    planned(rows_changed(statement, table, using, &items)?)
                }
                _ => Ok(None),
            },
            ast::Statement::Execute {
                name: Some(name),
                parameters,
                ..
            } => {
                let name = sql::name_parts(&name)?.join(".");
                let mut named = statement.session.prepared(&name)?.statement.clone();
                sql::substitute_parameters(&mut named, &parameters)?;
                columns(statement, named)
            }
            ast::Statement::Explain { .. } => Ok(Some(super::query::explain_schema())),
            _ => Ok(None),
        },
        Parsed::Explain { .. } => Ok(Some(super::query::explain_schema())),
        Parsed::Merge(merge) => merge::described(statement, &merge),
        // They read, and little: what they give is what they are run for.
        Parsed::Summarize(_)
        | Parsed::Describe(_)
        | Parsed::ShowTables(_)
        | Parsed::ShowDatabases
        | Parsed::Show(_) => Ok(Some(run_planned(statement, parsed)?.schema())),
        _ => Ok(None),
    }
}

/// The columns of the last part of a statement, for which those before it have no rows.
fn columns_of_rest(statement: &Statement<'_>, changes: ChangesWithin) -> Result<Option<SchemaRef>> {
    let of = |part| columns(statement, Parsed::Sql(Box::new(part)));
    for (place, part) in changes.parts {
        if let Some(schema) = of(part)? {
            let rows = super::query::no_rows(statement, schema)?;
            statement.keep_rows(place, rows.source()?);
        }
    }
    of(changes.rest)
}

/// A query with the columns that RETURNING of an UPDATE or DELETE gives.
fn rows_changed(
    statement: &Statement<'_>,
    changed: &ast::TableWithJoins,
    from: Vec<ast::TableWithJoins>,
    items: &[SelectItem],
) -> Result<ast::Query> {
    let (name, alias) = dml::target_name(&changed.relation)?;
    let name = statement.snapshot().resolve(&sql::name_parts(&name)?)?;
    let table = dml::table_of(statement.snapshot(), &name)?;
    let alias = alias.unwrap_or_else(|| ast::Ident::with_quote('"', name.name));
    let beside = Beside::named(statement, &from, Some(items), &table)?;
    let rows = select("t", |select| {
        select.projection = vec![all_of(&alias)];
        select.projection.extend(beside.values());
        select.from = vec![changed.clone()];
        if beside.count() > 0 {
            select.from.extend(from);
        }
    })?;
    select(&format!("(SELECT 1) AS {alias}"), |select| {
        select.projection = beside.returned(items, &alias);
        if let Some(ast::TableFactor::Derived { subquery, .. }) =
            select.from.first_mut().map(|from| &mut from.relation)
        {
            **subquery = rows;
        }
    })
}

/// A query with the columns that RETURNING gives.
fn rows_of(table: &str, alias: Option<String>, items: Vec<SelectItem>) -> Result<ast::Query> {
    let alias = alias.map_or_else(String::new, |alias| format!(" AS {alias}"));
    select(&format!("{table}{alias}"), |select| {
        select.projection = items
    })
}
