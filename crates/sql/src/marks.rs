//! Marks that the text's rewriting leaves in an expression for the planner, which knows types: operators that no dialect has.

use sqlparser::ast::{BinaryOperator, Expr, Value};

/// Puts a mark behind an expression.
pub(super) fn mark(expr: &mut Expr, mark: &str) {
    mark_with(
        expr,
        BinaryOperator::Custom(mark.into()),
        Expr::value(Value::Null),
    );
}

/// Puts a mark behind an expression, and what is to be known of it behind the mark.
pub(super) fn mark_with(expr: &mut Expr, op: BinaryOperator, right: Expr) {
    let marked = std::mem::replace(expr, Expr::value(Value::Null));
    *expr = Expr::BinaryOp {
        left: Box::new(marked),
        op,
        right: Box::new(right),
    };
}
