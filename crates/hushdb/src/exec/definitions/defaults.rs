//! Values of columns' defaults: one for all rows, or another for each.
//!
//! What must hold: a default that has effects is computed for rows that get its values, and for no others.

use crate::exec::columns::default_text;
use crate::exec::query;
use crate::exec::rows::load;
use crate::statement::Statement;
use datafusion::arrow::array::{ArrayRef, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::{DFSchema, DFSchemaRef};
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::physical_plan::PhysicalExpr;
use hushdb_query::plan::TableName;
use hushdb_sql::{Error, Result};
use hushdb_storage::{Column, RowGroup};
use std::sync::Arc;

/// A default that has another value each time, to be evaluated without columns; `None` for all others.
pub(in crate::exec) fn of_each_row(
    statement: &Statement<'_>,
    place: &TableName,
    column: &Column,
) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let planner = statement.planner();
    let expr = default_text::expression(statement.snapshot(), place, column.default.as_deref())?;
    let schema: DFSchemaRef = Arc::new(DFSchema::empty());
    let expr = load::convert(planner.plan_expr(expr, &schema)?, &schema, column)?;
    match expr.is_volatile() {
        true => planner.physical_expr(expr, &schema).map(Some),
        false => Ok(None),
    }
}

/// Its values for the rows of a row group; NULL where a row is gone.
pub(in crate::exec) fn values_of(expr: &dyn PhysicalExpr, group: &RowGroup) -> Result<ArrayRef> {
    let rows = group.rows as usize;
    let Some(visible) = group.visible() else {
        return values(expr, rows);
    };
    let mut next = 0;
    let places = (0..rows).map(|row| {
        visible.value(row).then(|| {
            next += 1;
            next - 1
        })
    });
    let places: UInt32Array = places.collect();
    Ok(take(
        values(expr, group.visible_rows() as usize)?.as_ref(),
        &places,
        None,
    )?)
}

fn values(expr: &dyn PhysicalExpr, rows: usize) -> Result<ArrayRef> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)?;
    Ok(expr.evaluate(&batch)?.into_array(rows)?)
}

/// Plans a default so that a mistake shows, and computes it unless that has effects.
///
/// # Errors
/// What planning it gives, or computing it.
pub(in crate::exec) fn check(
    statement: &Statement<'_>,
    place: &TableName,
    column: &Column,
) -> Result<()> {
    match of_each_row(statement, place, column)? {
        Some(_) => Ok(()),
        None => value(statement, place, column).map(drop),
    }
}

/// The value that a column's default has now, as one row.
pub(in crate::exec) fn value(
    statement: &Statement<'_>,
    place: &TableName,
    column: &Column,
) -> Result<ArrayRef> {
    let planner = statement.planner();
    let columns = std::slice::from_ref(column);
    let one_row = LogicalPlanBuilder::empty(true).build()?;
    let plan = load::project(&planner, one_row, place, columns, &[None])?;
    let batches = query::collect(statement, &plan)?;
    let value = batches.first().map(|b| Arc::clone(b.column(0)));
    value.ok_or_else(|| Error::internal("a default gave no row"))
}
