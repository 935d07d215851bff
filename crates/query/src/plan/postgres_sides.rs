//! `PostgresSides`: what the two sides of an operator make of one another for PostgreSQL's clients. `real` beside a whole number or a
//! numeric is `double precision`, where DuckDB's FLOAT takes the other along; what leaves the range of floats is an error; a text without
//! a type beside a number or a moment is one, as PostgreSQL writes it.
//!
//! What must hold: what the catalog keeps is planned without this, so that it means the same in both dialects.

use super::operators::{bracket_operands, cast, cast_if, type_of};
use super::postgres_divisions::is_but_zero;
use super::postgres_literals::moment_text;
use crate::common_types::number_kind::{Number, float_type};
use crate::functions::arithmetic::Op;
use crate::functions::arithmetic_chain;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, lit};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use hushdb_sql::{BESIDE_NUMBER, CUT_DIVIDE};

#[derive(Debug)]
pub(super) struct PostgresSides;

impl ExprPlanner for PostgresSides {
    fn plan_binary_op(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator as B;
        let op = match &expr.op {
            B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq => None,
            B::Plus => Some(Op::Add),
            B::Minus => Some(Op::Subtract),
            B::Multiply => Some(Op::Multiply),
            B::Custom(mark) if mark == CUT_DIVIDE => match is_but_zero(&expr.right) {
                true => Some(Op::Quotient),
                false => Some(Op::Divide),
            },
            B::Custom(mark) if mark == BESIDE_NUMBER => {
                return Ok(PlannerResult::Planned(beside_number(expr, schema)));
            }
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let (Ok(left), Ok(right)) = (type_of(&expr.left, schema), type_of(&expr.right, schema))
        else {
            return Ok(PlannerResult::Original(expr));
        };
        match op {
            Some(op) => arithmetic(op, expr, [left, right]),
            None => {
                compare(&mut expr, &left, &right);
                Ok(PlannerResult::Original(expr))
            }
        }
    }
}

/// Gives the sides of a comparison the types that they are compared in.
fn compare(expr: &mut RawBinaryExpr, left: &DataType, right: &DataType) {
    // What a FLOAT holds is compared alike either way, and by what is known of the column.
    let widens = |real: &DataType, other: &DataType, beside: &Expr| {
        is_real_beside(real, other) && !is_exact(beside)
    };
    if widens(left, right, &expr.right) || widens(right, left, &expr.left) {
        for side in [&mut expr.left, &mut expr.right] {
            *side = cast(std::mem::take(side), DataType::Float64);
        }
    }
    read_moment(&mut expr.right, left);
    read_moment(&mut expr.left, right);
}

/// `x IN (0.1, ...)`: `x` of the type in which it is compared with that number.
fn beside_number(expr: RawBinaryExpr, schema: &DFSchema) -> Expr {
    let types = (type_of(&expr.left, schema), type_of(&expr.right, schema));
    match types {
        (Ok(left), Ok(right)) if is_real_beside(&left, &right) => {
            cast(expr.left, DataType::Float64)
        }
        _ => expr.left,
    }
}

/// Whether one is `real` and the other a number that makes it `double precision`.
fn is_real_beside(real: &DataType, other: &DataType) -> bool {
    *real == DataType::Float32 && (other.is_integer() || other.is_decimal())
}

/// `+ - * /`, of floats in their range.
fn arithmetic(
    op: Op,
    mut expr: RawBinaryExpr,
    types: [DataType; 2],
) -> Result<PlannerResult<RawBinaryExpr>> {
    let [mut left, mut right] = types;
    if left.is_floating() && is_text(&expr.right) {
        (expr.right, right) = (cast(expr.right, left.clone()), left.clone());
    }
    if right.is_floating() && is_text(&expr.left) {
        (expr.left, left) = (cast(expr.left, right.clone()), right.clone());
    }
    let numbers = Number::of(&left).is_some() && Number::of(&right).is_some();
    if !numbers || !(left.is_floating() || right.is_floating()) {
        return Ok(PlannerResult::Original(expr));
    }
    let to = match is_real_beside(&left, &right) || is_real_beside(&right, &left) {
        true => DataType::Float64,
        false => float_type(&left, &right),
    };
    if matches!(op, Op::Divide | Op::Quotient) {
        expr.op = BinaryOperator::Divide;
    }
    bracket_operands(&mut expr);
    let (left, right) = (
        cast_if(expr.left, &left, &to),
        cast_if(expr.right, &right, &to),
    );
    let planned = arithmetic_chain::call_in_range(op, left, right, &to);
    Ok(PlannerResult::Planned(planned))
}

/// Whether an operand is a text without a type.
fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.data_type().is_string())
}

/// Writes the text of a moment beside one as everybody reads it.
fn read_moment(literal: &mut Expr, beside: &DataType) {
    if let Expr::Literal(value, _) = &*literal
        && let Some(text) = value.try_as_str().flatten()
        && let Some(plain) = moment_text(text, beside)
    {
        *literal = lit(plain);
    }
}

/// Whether an expression is a number that a FLOAT holds as it is.
fn is_exact(expr: &Expr) -> bool {
    let Expr::Literal(value, _) = expr else {
        return false;
    };
    let as_float = |ty| match value.cast_to(&ty) {
        Ok(value) => value.cast_to(&DataType::Float64).ok(),
        Err(_) => None,
    };
    match (as_float(DataType::Float32), as_float(DataType::Float64)) {
        (Some(float), Some(double)) => float == double,
        _ => false,
    }
}
