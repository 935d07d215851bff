//! Marks behind what stands for a condition and may be no BOOLEAN: `WHERE 'true'`, `NOT 1`, `HAVING sum(x)`. Numbers and texts are
//! read as BOOLEAN there, as by a CAST; which types there are, the planner knows.

use super::constraints::constraint_mut;
use super::marks::mark;
use sqlparser::ast::{
    BinaryOperator, Expr, JoinConstraint, Select, Statement, TableWithJoins, UnaryOperator,
};

/// Behind what stands for a condition.
pub const TRUTH: &str = "truth";

/// Marks what a SELECT says of rows and groups, and of its joins.
pub(super) fn mark_select(select: &mut Select) {
    let conditions = [
        &mut select.selection,
        &mut select.having,
        &mut select.qualify,
    ];
    conditions.into_iter().flatten().for_each(mark_condition);
    select.from.iter_mut().for_each(mark_joins);
}

/// Marks what joins are on.
pub(super) fn mark_joins(tables: &mut TableWithJoins) {
    for join in &mut tables.joins {
        if let Some(JoinConstraint::On(on)) = constraint_mut(&mut join.join_operator) {
            mark_condition(on);
        }
    }
}

/// Marks which rows a statement changes.
pub(super) fn mark_changed(statement: &mut Statement) {
    let rows = match statement {
        Statement::Update(update) => &mut update.selection,
        Statement::Delete(delete) => &mut delete.selection,
        _ => return,
    };
    rows.iter_mut().for_each(mark_condition);
}

/// Marks a condition, if it may be no BOOLEAN.
pub(super) fn mark_condition(expr: &mut Expr) {
    if !is_boolean(expr) {
        mark(expr, TRUTH);
    }
}

/// Whether it is a BOOLEAN whatever its operands are.
fn is_boolean(mut expr: &Expr) -> bool {
    use BinaryOperator as B;
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    match expr {
        Expr::BinaryOp { op, .. } => matches!(
            op,
            B::And | B::Or | B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq
        ),
        Expr::UnaryOp { op, .. } => *op == UnaryOperator::Not,
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::Exists { .. } => true,
        _ => false,
    }
}
