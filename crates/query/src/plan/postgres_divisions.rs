//! `/` and `%` of PostgreSQL: what is divided by zero is an error, `/` of whole numbers cuts, and that of other exact numbers is a numeric.

use super::operators::type_of;
use crate::common_types::number_kind::Number;
use crate::functions::arithmetic::Op;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::sql::sqlparser::ast::BinaryOperator;
use hushdb_sql::REMAINDER;

/// The operator of ours that means the same where no divisor is zero, and the function that it is otherwise.
pub(super) fn meant(expr: &RawBinaryExpr, schema: &DFSchema) -> (BinaryOperator, Option<Op>) {
    let ty = |side| type_of(side, schema).ok();
    let sides = [&expr.left, &expr.right].map(ty);
    let is_whole = sides
        .iter()
        .all(|ty| ty.as_ref().is_some_and(|ty| ty.is_integer()));
    let are_numbers = sides
        .iter()
        .all(|ty| ty.as_ref().is_some_and(|ty| Number::of(ty).is_some()));
    let is_remainder = matches!(&expr.op, BinaryOperator::Custom(mark) if mark == REMAINDER);
    let (op, failing) = match (is_remainder, is_whole) {
        (true, _) => (BinaryOperator::Modulo, Op::Remainder),
        (false, true) => (BinaryOperator::DuckIntegerDivide, Op::Divide),
        (false, false) => (BinaryOperator::Divide, Op::Divide),
    };
    let are_exact = sides.iter().all(|ty| {
        let number = ty.as_ref().and_then(Number::of);
        number.is_some_and(|number| number != Number::Float)
    });
    let function = match is_but_zero(&expr.right) {
        false => are_numbers.then_some(failing),
        true if are_exact && !is_remainder && !is_whole => Some(Op::Quotient),
        true => None,
    };
    (op, function)
}

/// Whether a divisor is a literal other than zero.
pub(super) fn is_but_zero(divisor: &Expr) -> bool {
    match divisor {
        Expr::Literal(value, _) => {
            let zero = ScalarValue::new_zero(&value.data_type());
            !value.is_null() && zero.is_ok_and(|zero| *value != zero)
        }
        _ => false,
    }
}
