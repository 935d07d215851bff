//! `PostgresSides`: what the two sides of an operator make of one another for PostgreSQL's clients. `real` beside a whole number or a
//! numeric is `double precision`, where DuckDB's FLOAT takes the other along; a text without a type beside a moment is one, as
//! PostgreSQL writes it.
//!
//! What must hold: what the catalog keeps is planned without this, so that it means the same in both dialects.

use super::operators::{cast, type_of};
use super::postgres_literals::moment_text;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, lit};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use hushdb_sql::CUT_DIVIDE;

#[derive(Debug)]
pub(super) struct PostgresSides;

impl ExprPlanner for PostgresSides {
    fn plan_binary_op(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator as B;
        let is_comparison = match &expr.op {
            B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq => true,
            B::Plus | B::Minus | B::Multiply => false,
            B::Custom(mark) if mark == CUT_DIVIDE => false,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let (Ok(left), Ok(right)) = (type_of(&expr.left, schema), type_of(&expr.right, schema))
        else {
            return Ok(PlannerResult::Original(expr));
        };
        // What a FLOAT holds is compared alike either way, and by what is known of the column.
        let widens = |real: &DataType, other: &DataType, beside: &Expr| {
            *real == DataType::Float32
                && (other.is_integer() || other.is_decimal())
                && !(is_comparison && is_exact(beside))
        };
        if widens(&left, &right, &expr.right) || widens(&right, &left, &expr.left) {
            expr.left = cast(expr.left, DataType::Float64);
            expr.right = cast(expr.right, DataType::Float64);
        }
        if is_comparison {
            read_moment(&mut expr.right, &left);
            read_moment(&mut expr.left, &right);
        }
        Ok(PlannerResult::Original(expr))
    }
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
