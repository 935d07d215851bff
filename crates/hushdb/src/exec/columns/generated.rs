//! Generated columns: values that are computed from other columns of their row.
//!
//! What must hold: they are computed whenever a row is written, and by nothing that gives something else another time, so that what is
//! stored is what the expression gives. No statement gives them a value.

use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, DFSchemaRef};
use datafusion::logical_expr::{Expr, ExprSchemable, Volatility};
use datafusion::physical_plan::PhysicalExpr;
use datafusion::sql::sqlparser::ast::{self, GeneratedExpressionMode, Ident, VisitorMut};
use hushdb_query::functions::{Zone, instant_function};
use hushdb_query::plan::{Planner, Snapshot};
use hushdb_sql::type_names::{cast_to, stored_type};
use hushdb_sql::walk::{visit_expressions, visit_mut};
use hushdb_sql::{self as sql, Error, Result, sqlstate};
use hushdb_storage::{Check, Column, ColumnDef, ColumnType, TableVersion, same_name};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The generated columns of a table, in an order in which each finds those that it is computed from.
pub(in crate::exec) struct Generated(Vec<(usize, String, Arc<dyn PhysicalExpr>)>);

impl Generated {
    /// # Errors
    /// What planning an expression gives.
    pub(in crate::exec) fn of(
        planner: &Planner<'_>,
        columns: &[Column],
        schema: &DFSchemaRef,
        convert: impl Fn(Expr, &DFSchema, &Column) -> Result<Expr>,
    ) -> Result<Self> {
        if columns.iter().all(|column| column.generated.is_none()) {
            return Ok(Self(vec![]));
        }
        let planner = planner.for_stored();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let texts = columns.iter().map(|column| column.generated.as_deref());
        let planned = order(&names, &texts.collect::<Vec<_>>())?.into_iter();
        let planned = planned.map(|at| {
            let column = &columns[at];
            let text = column.generated.as_deref().unwrap_or_default();
            let expr = cast_to(sql::parse_expr(text)?, &column.ty)?;
            let expr = convert(planner.plan_expr(expr, schema)?, schema, column)?;
            refuse_changing(&column.name, &expr)?;
            let expr = planner.kept_expr(expr, schema)?;
            Ok((at, column.name.clone(), expr))
        });
        planned.collect::<Result<_>>().map(Self)
    }

    /// Computes them for rows of the table.
    ///
    /// # Errors
    /// `Constraint` where one cannot be computed.
    pub(in crate::exec) fn fill(&self, mut batch: RecordBatch) -> Result<RecordBatch> {
        // Constants are computed without rows, too, and may have no value.
        if batch.num_rows() == 0 {
            return Ok(batch);
        }
        for (at, name, expr) in &self.0 {
            let values = expr.evaluate(&batch).map_err(Error::from);
            let values = values.and_then(|values| Ok(values.into_array(batch.num_rows())?));
            let values = values.map_err(|error| match error.kind() {
                sql::ErrorKind::Conversion | sql::ErrorKind::OutOfRange => Error::new(
                    sql::ErrorKind::Constraint,
                    format!("Incorrect value for generated column \"{name}\" : {error}"),
                ),
                _ => error,
            })?;
            let mut arrays = batch.columns().to_vec();
            arrays[*at] = values;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            batch = RecordBatch::try_new_with_options(batch.schema(), arrays, &options)?;
        }
        Ok(batch)
    }
}

/// Whether a table has any.
pub(in crate::exec) fn has_any(table: &TableVersion) -> bool {
    table
        .columns
        .iter()
        .any(|column| column.generated.is_some())
}

/// Positions of the columns that rows give values for.
pub(in crate::exec) fn given(table: &TableVersion) -> Vec<usize> {
    let columns = table.columns.iter().enumerate();
    let columns = columns.filter(|(_, column)| column.generated.is_none());
    columns.map(|(at, _)| at).collect()
}

/// Their names, where a table has others beside them.
pub(crate) fn given_columns(snapshot: &Snapshot, table: &[String]) -> Option<Vec<String>> {
    let (_, table) = snapshot.seen(table)?;
    let given = given(table);
    let names = given.iter().map(|at| table.columns[*at].name.clone());
    (given.len() < table.columns.len()).then(|| names.collect())
}

/// # Errors
/// `Binder` when a statement gives one of them a value.
pub(in crate::exec) fn refuse_values(table: &TableVersion, targets: &[usize]) -> Result<()> {
    match targets
        .iter()
        .any(|at| table.columns[*at].generated.is_some())
    {
        true => Err(Error::binder("Cannot insert into a generated column")),
        false => Ok(()),
    }
}

/// # Errors
/// `Binder` when an UPDATE sets one of them.
pub(in crate::exec) fn refuse_update(column: &Column) -> Result<()> {
    match column.generated.is_some() {
        true => Err(Error::binder(format!(
            "Cant update column \"{}\" because it is a generated column!",
            column.name
        ))),
        false => Ok(()),
    }
}

/// The generated column of those that is computed from another one.
pub(in crate::exec) fn computed_from<'a>(
    columns: &'a [Column],
    name: &str,
) -> Result<Option<&'a Column>> {
    for column in columns {
        if let Some(text) = &column.generated
            && names_in(&sql::parse_expr(text)?)
                .iter()
                .any(|known| same_name(known, name))
        {
            return Ok(Some(column));
        }
    }
    Ok(None)
}

/// A column, and those that are computed from it, or from one of these; each stands behind one that it is computed from.
pub(in crate::exec) fn all_computed_from(
    columns: &[Column],
    column: &Column,
) -> Result<Vec<Column>> {
    let mut sources = vec![];
    for other in columns {
        if let Some(text) = &other.generated {
            sources.push((other, names_in(&sql::parse_expr(text)?)));
        }
    }
    let mut found = vec![column.clone()];
    let mut at = 0;
    while let Some(from) = found.get(at).map(|from| from.name.clone()) {
        let (more, rest) = sources
            .into_iter()
            .partition(|(_, names)| names.iter().any(|name| same_name(name, &from)));
        sources = rest;
        let more: Vec<(&Column, _)> = more;
        found.extend(more.into_iter().map(|(other, _)| other.clone()));
        at += 1;
    }
    Ok(found)
}

/// The text of an expression in which a column has another name.
pub(in crate::exec) fn renamed(text: &str, from: &str, to: &str) -> Result<String> {
    struct Names<'a>(&'a str, &'a str);
    impl VisitorMut for Names<'_> {
        type Break = Infallible;

        fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Infallible> {
            if let ast::Expr::Identifier(ident) = expr
                && same_name(&ident.value, self.0)
            {
                *ident = Ident::with_quote('"', self.1);
            }
            ControlFlow::Continue(())
        }
    }
    let mut expr = sql::parse_expr(text)?;
    let ControlFlow::Continue(()) = visit_mut(&mut expr, &mut Names(from, to));
    Ok(sql::sql_text(&expr))
}

/// The text of a column's expression; STORED is PostgreSQL's word for what we do.
///
/// # Errors
/// `InvalidInput` for STORED in DuckDB's dialect, `Parser` for a subquery.
pub(in crate::exec) fn expression(
    name: &str,
    expr: &ast::Expr,
    mode: Option<GeneratedExpressionMode>,
    postgres: bool,
) -> Result<String> {
    if mode == Some(GeneratedExpressionMode::Stored) && !postgres {
        return Err(Error::invalid("Can not create a STORED generated column!"));
    }
    let found = visit_expressions(expr, |expr| match expr {
        ast::Expr::Subquery(_) | ast::Expr::Exists { .. } | ast::Expr::InSubquery { .. } => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Break(()) => Err(Error::parser(format!(
            "Expression of generated column \"{name}\" contains a subquery, which isn't allowed"
        ))),
        ControlFlow::Continue(()) => Ok(sql::sql_text(expr)),
    }
}

/// The columns of a new table, and what constrains them.
pub(in crate::exec) struct Defined<'a> {
    pub(in crate::exec) columns: &'a mut [ColumnDef],
    pub(in crate::exec) checks: &'a [Check],
    /// The columns of its keys.
    pub(in crate::exec) keyed: &'a [String],
}

/// Checks the generated columns of a new table, and finds the types of those that are given none: their places are `untyped`.
/// `schema_of` is what the planner knows of columns.
///
/// # Errors
/// `Binder` for constraints on them, names of no column, and a table of nothing else; `InvalidInput` where they are computed from
/// each other.
pub(in crate::exec) fn settle(
    planner: &Planner<'_>,
    defined: &mut Defined<'_>,
    untyped: &[usize],
    schema_of: impl Fn(&[ColumnDef]) -> Result<DFSchemaRef>,
) -> Result<()> {
    let is_generated = |def: &ColumnDef| def.generated.is_some();
    if !defined.columns.iter().any(is_generated) {
        return Ok(());
    }
    if defined.columns.iter().all(is_generated) {
        return Err(Error::binder(
            "Creating a table without physical (non-generated) columns is not supported",
        ));
    }
    refuse_constraints(defined)?;
    let columns = &mut *defined.columns;
    let names: Vec<String> = columns.iter().map(|def| def.name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let texts: Vec<Option<String>> = columns.iter().map(|def| def.generated.clone()).collect();
    let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
    let planner = planner.for_stored();
    for at in order(&names, &texts)? {
        if !untyped.contains(&at) {
            continue;
        }
        let schema = schema_of(columns)?;
        let expr = sql::parse_expr(texts[at].unwrap_or_default())?;
        let expr = planner.plan_expr(expr, &schema)?;
        columns[at].ty = type_of(&expr, &schema)?;
    }
    Ok(())
}

fn type_of(expr: &Expr, schema: &DFSchema) -> Result<ColumnType> {
    let (_, field) = expr.to_field(schema)?;
    stored_type(&field)
}

/// # Errors
/// `Binder` for a key or CHECK of a generated column.
fn refuse_constraints(defined: &Defined<'_>) -> Result<()> {
    let columns = defined.columns.iter();
    let generated = columns.filter(|def| def.generated.is_some());
    for def in generated {
        let is_it = |name: &String| same_name(name, &def.name);
        let of_key = defined.keyed.iter().any(is_it);
        let of_check =
            |check: &Check| Ok(names_in(&sql::parse_expr(&check.sql)?).iter().any(is_it));
        let checks = defined.checks.iter().map(of_check);
        let of_check = checks.collect::<Result<Vec<bool>>>()?.contains(&true);
        if !def.nullable || of_key || of_check {
            return Err(Error::binder(
                "Constraints on generated columns are not supported yet",
            ));
        }
        if def.default.is_some() {
            return Err(Error::invalid(format!(
                "\"{}\" has a DEFAULT value set, it can not become a GENERATED column",
                def.name
            )));
        }
    }
    Ok(())
}

/// # Errors
/// `Binder` for what may give another value the next time.
fn refuse_changing(name: &str, expr: &Expr) -> Result<()> {
    let is_changing = |expr: &Expr| match expr {
        Expr::ScalarFunction(call) => {
            let is_known = instant_function(call.func.name(), 0, Zone::UTC).is_some();
            is_known || call.func.signature().volatility != Volatility::Immutable
        }
        _ => false,
    };
    match expr.exists(|expr| Ok(is_changing(expr)))? {
        true => Err(Error::binder(format!(
            "generated column \"{name}\" is computed by something that changes, such as a time or a random number: its value would \
             be another one each time"
        ))),
        false => Ok(()),
    }
}

/// Places of the generated columns, each behind those that it is computed from.
fn order(names: &[&str], texts: &[Option<&str>]) -> Result<Vec<usize>> {
    let place = |name: &String| names.iter().position(|known| same_name(known, name));
    let mut needs: Vec<(usize, BTreeSet<usize>)> = vec![];
    for (at, text) in texts.iter().enumerate() {
        let Some(text) = text else { continue };
        let mut of = BTreeSet::new();
        for name in names_in(&sql::parse_expr(text)?) {
            let found = place(&name).ok_or_else(|| {
                Error::binder(format!(
                    "Column \"{name}\" referenced by generated column does not exist"
                ))
                .with_sqlstate(sqlstate::UNDEFINED_COLUMN)
            })?;
            if texts[found].is_some() {
                of.insert(found);
            }
        }
        needs.push((at, of));
    }
    let mut ordered = vec![];
    while !needs.is_empty() {
        let is_ready =
            |(_, of): &(usize, BTreeSet<usize>)| of.iter().all(|at| ordered.contains(at));
        let Some(next) = needs.iter().position(is_ready) else {
            return Err(Error::invalid(
                "Circular dependency encountered when resolving generated column expressions",
            ));
        };
        ordered.push(needs.remove(next).0);
    }
    Ok(ordered)
}

/// The names without a dot in an expression.
fn names_in(expr: &ast::Expr) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let _ = visit_expressions(expr, |expr| {
        if let ast::Expr::Identifier(ident) = expr {
            names.insert(ident.value.clone());
        }
        ControlFlow::<()>::Continue(())
    });
    names
}
