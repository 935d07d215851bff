//! Rows that VALUES spells out: literals that are of their columns' own kinds become arrays without a plan.
//!
//! What must hold: the rows are those that the plan would give.

use super::literal::{Argument, Literal, array};
use datafusion::arrow::array::ArrayRef;
use datafusion::sql::sqlparser::ast::{self, Expr};
use hushdb_storage::TableVersion;

/// The rows as arrays in the order of the table's columns, where `targets` says which column each value is for.
pub(super) fn literal_rows(
    values: &ast::Values,
    table: &TableVersion,
    targets: &[usize],
    arguments: &[Argument<'_>],
) -> Option<Vec<ArrayRef>> {
    let rows: Vec<&[Expr]> = values
        .rows
        .iter()
        .map(|row| row.content.as_slice())
        .collect();
    if !table.checks.is_empty() || rows.iter().any(|row| row.len() != targets.len()) {
        return None;
    }
    let columns = table.columns.iter().enumerate();
    columns
        .map(|(position, column)| {
            let source = targets.iter().position(|target| *target == position);
            let cells = rows.iter().map(|row| match source {
                Some(source) => Literal::of(row.get(source)?, arguments),
                None if column.default.is_none() => Some(Literal::Null),
                None => None,
            });
            let cells: Vec<Literal<'_>> = cells.collect::<Option<_>>()?;
            match cells.iter().any(|cell| cell.is_null()) && !column.nullable {
                true => None,
                false => array(&column.ty, &cells),
            }
        })
        .collect()
}
