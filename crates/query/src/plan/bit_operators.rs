//! `&`, `|`, `<<` and `>>` of BITs: the functions that they are.

use crate::functions::arithmetic::Op;
use crate::functions::{BITS_AND, BITS_LEFT, BITS_OR, BITS_RIGHT};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use hushdb_storage::BIT;

/// The functions.
pub(super) const FUNCTIONS: [&str; 4] = [BITS_AND, BITS_OR, BITS_LEFT, BITS_RIGHT];

/// The function of `a & b` or `a | b`, and what it is called with, if one of these is a BIT.
pub(super) fn joined(expr: &RawBinaryExpr, schema: &DFSchema) -> Option<(&'static str, Vec<Expr>)> {
    let name = match expr.op {
        BinaryOperator::BitwiseAnd => BITS_AND,
        _ => BITS_OR,
    };
    let is_bits = |side: &Expr| side.get_type(schema).is_ok_and(|ty| ty == BIT);
    let of_bits = is_bits(&expr.left) || is_bits(&expr.right);
    of_bits.then(|| (name, vec![expr.left.clone(), expr.right.clone()]))
}

/// That of `a << n` or `a >> n`, likewise.
pub(super) fn shifted(
    op: Op,
    expr: &RawBinaryExpr,
    left: &DataType,
) -> Option<(&'static str, Vec<Expr>)> {
    let name = match op {
        Op::ShiftLeft => BITS_LEFT,
        _ => BITS_RIGHT,
    };
    (*left == BIT).then(|| (name, vec![expr.left.clone(), expr.right.clone()]))
}
