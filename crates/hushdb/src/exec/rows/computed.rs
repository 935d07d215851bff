//! `SET a = a + $1` for the rows of one key: values that are computed from the row, by expressions that are planned once.
//!
//! What must hold: what comes out is what the plan of the whole statement gives; the same rules make the expressions. Whatever could
//! mean something else with a parameter in the place of a literal is left to the plan, and whatever fails too: it has the error.

use super::literal::{Argument, Literal, array};
use super::load;
use crate::prepared::Computed;
use crate::statement::Statement;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::DFSchema;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::sql::sqlparser::ast::{self, BinaryOperator, Expr, Ident, VisitorMut};
use hushdb_sql::type_names::arrow_field;
use hushdb_sql::walk::visit_mut;
use hushdb_sql::{Result, planned_names, position_of};
use hushdb_storage::{Column, ColumnType, TableVersion};
use parking_lot::Mutex;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The types that are computed with here, the shorter one first.
const TYPES: [ColumnType; 2] = [ColumnType::Int32, ColumnType::Int64];

/// Expressions for the new values of columns, by their positions. `None`: they are to be planned with the statement.
pub(in crate::exec) fn computed(
    statement: &Statement<'_>,
    table: &TableVersion,
    set: &[(usize, &Expr)],
    arguments: &[Argument<'_>],
    kept: Option<&Mutex<Option<Arc<Computed>>>>,
) -> Option<Arc<Computed>> {
    let type_of = |name: &str| type_of(Literal::of_parameter(name, arguments)?);
    if let Some(kept) = kept
        && let Some(before) = kept.lock().as_ref()
        && before.suits(table, set.iter().map(|(at, _)| *at), type_of)
    {
        return Some(Arc::clone(before));
    }
    let mut parameters = vec![];
    for (at, expr) in set {
        if !TYPES.contains(&table.columns.get(*at)?.ty) {
            return None;
        }
        take_apart(table, expr, arguments, &mut parameters)?;
    }
    let made = Arc::new(plan(statement, table, set, parameters).ok()?);
    if let Some(kept) = kept {
        *kept.lock() = Some(Arc::clone(&made));
    }
    Some(made)
}

/// Whether an expression is a sum, difference or product of whole numbers, and which parameters are in it.
fn take_apart(
    table: &TableVersion,
    expr: &Expr,
    arguments: &[Argument<'_>],
    parameters: &mut Vec<(String, ColumnType)>,
) -> Option<()> {
    match expr {
        Expr::Nested(inner) => take_apart(table, inner, arguments, parameters),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply,
            right,
        } => {
            take_apart(table, left, arguments, parameters)?;
            take_apart(table, right, arguments, parameters)
        }
        Expr::Identifier(name) => {
            let names = table.columns.iter().map(|column| column.name.as_str());
            let column = table.columns.get(position_of(names, &name.value)?)?;
            TYPES.contains(&column.ty).then_some(())
        }
        Expr::Value(value) => {
            let ty = type_of(Literal::of(expr, arguments)?)?;
            if let ast::Value::Placeholder(name) = &value.value
                && !parameters.iter().any(|(known, _)| known == name)
            {
                parameters.push((name.clone(), ty));
            }
            Some(())
        }
        _ => None,
    }
}

/// The type that a whole number has as a literal.
fn type_of(literal: Literal<'_>) -> Option<ColumnType> {
    let number = literal.integer()?;
    i64::try_from(number).ok()?;
    let is_long = i32::try_from(number).is_err();
    TYPES.into_iter().nth(usize::from(is_long))
}

fn plan(
    statement: &Statement<'_>,
    table: &TableVersion,
    set: &[(usize, &Expr)],
    parameters: Vec<(String, ColumnType)>,
) -> Result<Computed> {
    let columns = table.columns.iter().zip(planned_names(&table.columns));
    let columns = columns.map(|(column, name)| arrow_field(&name, &column.ty, true));
    let given = parameters.iter();
    let given = given.map(|(name, ty)| arrow_field(name, ty, false));
    let schema = Arc::new(Schema::new(columns.chain(given).collect::<Vec<_>>()));
    let df_schema = Arc::new(DFSchema::try_from(Arc::clone(&schema))?);
    let planner = statement.planner();
    let values = set.iter().map(|(at, expr)| {
        let mut expr = (*expr).clone();
        let _ = visit_mut(&mut expr, &mut Named);
        let planned = planner.plan_expr(expr, &df_schema)?;
        let column: &Column = &table.columns[*at];
        let value = load::convert(planned, &df_schema, column)?;
        planner.physical_expr(value, &df_schema)
    });
    Ok(Computed {
        table_id: table.id,
        columns: table.columns.clone(),
        parameters,
        positions: set.iter().map(|(at, _)| *at).collect(),
        schema,
        values: values.collect::<Result<_>>()?,
    })
}

/// Makes columns of parameters.
struct Named;

impl VisitorMut for Named {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expr
            && let ast::Value::Placeholder(name) = &value.value
        {
            *expr = Expr::Identifier(Ident::with_quote('"', name.clone()));
        }
        ControlFlow::Continue(())
    }
}

/// The new values for rows whose columns these arrays are. `None` when one cannot be had: the plan has the error.
pub(in crate::exec) fn values_of(
    computed: &Computed,
    arrays: &[ArrayRef],
    arguments: &[Argument<'_>],
) -> Option<Vec<ArrayRef>> {
    let rows = arrays.first()?.len();
    let mut columns = Vec::with_capacity(arrays.len() + computed.parameters.len());
    columns.extend_from_slice(arrays);
    for (name, ty) in &computed.parameters {
        let literal = Literal::of_parameter(name, arguments)?;
        columns.push(array(ty, &vec![literal; rows])?);
    }
    let batch = RecordBatch::try_new(Arc::clone(&computed.schema), columns).ok()?;
    let value = |expr: &Arc<dyn PhysicalExpr>| expr.evaluate(&batch).ok()?.into_array(rows).ok();
    computed.values.iter().map(value).collect()
}
