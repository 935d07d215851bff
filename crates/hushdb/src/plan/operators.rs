//! Binary operators with DuckDB's meaning where DataFusion's differs: `/` divides as DOUBLE, integer and decimal
//! arithmetic fails on overflow, dates and numbers mix.

use super::number_kind::{Number, int_digits, int_type, literal_digits};
use super::numbers::unify;
use super::rewrite_expressions::rewrite_expressions;
use super::temporal;
use crate::functions::arithmetic::{
    MAX_DIGITS_64, MAX_DIGITS_128, Op, decimal_result, decimal_type,
};
use crate::functions::{date_part, rounds};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr,
};
use datafusion::logical_expr::{
    BinaryExpr, Cast, Expr, ExprSchemable, GetFieldAccess, LogicalPlan, Operator, lit, when,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Plans binary operators; asked before DataFusion's own planners.
#[derive(Debug)]
pub(super) struct DuckOperators;

/// The value of an integer literal.
fn int_literal(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(ScalarValue::Int64(Some(v)), _) => Some(*v),
        Expr::Negative(inner) => int_literal(inner)?.checked_neg(),
        _ => None,
    }
}

fn int_fits(value: i64, bits: u8, signed: bool) -> bool {
    let value = i128::from(value);
    if signed {
        let half = 1i128 << (bits - 1);
        (-half..half).contains(&value)
    } else {
        (0..1i128 << bits).contains(&value)
    }
}

impl ExprPlanner for DuckOperators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator as B;
        let op = match expr.op {
            B::Plus => Op::Add,
            B::Minus => Op::Subtract,
            B::Multiply => Op::Multiply,
            B::Modulo => Op::Modulo,
            B::DuckIntegerDivide => Op::IntegerDivide,
            B::PGBitwiseShiftLeft => Op::ShiftLeft,
            B::PGBitwiseShiftRight => Op::ShiftRight,
            B::Divide => return divide(expr, schema),
            B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq => {
                return Ok(PlannerResult::Original(comparable(expr, schema)));
            }
            B::StringConcat => return Ok(PlannerResult::Original(texts(expr, schema))),
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema))
        else {
            return Ok(PlannerResult::Original(expr));
        };
        if let Some(planned) = temporal::arithmetic(op, &expr, &left, &right) {
            return Ok(PlannerResult::Planned(planned));
        }
        match (Number::of(&left), Number::of(&right)) {
            (Some(l), Some(r)) if are_exact(op, l, r) => {
                Ok(PlannerResult::Planned(arithmetic(op, expr, l, r, schema)?))
            }
            (Some(_), Some(_)) if op == Op::IntegerDivide => {
                Ok(PlannerResult::Planned(quotient(expr, &left, &right)))
            }
            (Some(_), Some(_)) if matches!(op, Op::ShiftLeft | Op::ShiftRight) => {
                plan_err!("<< and >> take whole numbers")
            }
            (Some(_), Some(_)) => Ok(PlannerResult::Planned(both_float(op, expr, &left, &right))),
            // NULL as an operand takes the other side's type.
            (Some(_), None) if right == DataType::Null => {
                let right = cast(expr.right, left);
                self.plan_binary_op(RawBinaryExpr { right, ..expr }, schema)
            }
            (None, Some(_)) if left == DataType::Null => {
                let left = cast(expr.left, right);
                self.plan_binary_op(RawBinaryExpr { left, ..expr }, schema)
            }
            _ => Ok(PlannerResult::Original(expr)),
        }
    }

    /// Brings the values of a list to one type, so that what is planned over it knows that type.
    fn plan_array_literal(
        &self,
        mut exprs: Vec<Expr>,
        schema: &DFSchema,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        unify(&mut exprs.iter_mut().collect::<Vec<_>>(), schema)?;
        Ok(PlannerResult::Original(exprs))
    }

    fn plan_extract(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        let part = ScalarFunction::new_udf(date_part(), args);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(part)))
    }

    fn plan_field_access(
        &self,
        expr: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        use datafusion::functions::expr_fn::{character_length, substring};
        let GetFieldAccess::ListIndex { key } = &expr.field_access else {
            return Ok(PlannerResult::Original(expr));
        };
        if !expr.expr.get_type(schema)?.is_string() {
            return Ok(PlannerResult::Original(expr));
        }
        // The nth character; a negative number counts from the end.
        let (text, at) = (expr.expr, key.as_ref().clone());
        let from_end = binary(
            cast(character_length(text.clone()), DataType::Int64),
            Operator::Plus,
            binary(at.clone(), Operator::Plus, lit(1i64)),
        );
        let at = when(at.clone().lt(lit(0i64)), from_end).otherwise(at)?;
        Ok(PlannerResult::Planned(substring(text, at, lit(1i64))))
    }
}

pub(super) fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

pub(super) fn cast(expr: Expr, to: DataType) -> Expr {
    // What is for our own casts stays one.
    if let Expr::Literal(value, metadata) = &expr
        && !to.is_nested()
        && !rounds(&value.data_type(), &to)
        && let Ok(value) = value.cast_to(&to)
    {
        return Expr::Literal(value, metadata.clone());
    }
    Expr::Cast(Cast::new(Box::new(expr), to))
}

/// `expr` of type `from` as `to`; literals are cast at once.
pub(super) fn cast_if(expr: Expr, from: &DataType, to: &DataType) -> Expr {
    if from == to {
        expr
    } else {
        cast(expr, to.clone())
    }
}

/// Whether numbers are calculated with exactly: whole numbers and decimals, of which `//`, `<<` and `>>` take whole ones alone.
fn are_exact(op: Op, left: Number, right: Number) -> bool {
    let is_exact = |number| match number {
        Number::Int { .. } => true,
        Number::Decimal(..) => !matches!(op, Op::IntegerDivide | Op::ShiftLeft | Op::ShiftRight),
        Number::Float => false,
    };
    is_exact(left) && is_exact(right)
}

/// The type in which numbers meet as floats: a FLOAT stays one unless it meets a DOUBLE.
fn float_type(left: &DataType, right: &DataType) -> DataType {
    match (left, right) {
        (DataType::Float64, _) | (_, DataType::Float64) => DataType::Float64,
        (DataType::Float32, _) | (_, DataType::Float32) => DataType::Float32,
        _ => DataType::Float64,
    }
}

/// `//` of numbers that are not both whole: a division of floats which is NULL by zero.
fn quotient(expr: RawBinaryExpr, left: &DataType, right: &DataType) -> Expr {
    let to = float_type(left, right);
    let divisor = cast_if(expr.right, right, &to);
    let zero = cast(lit(0.0), to.clone());
    let divisor = datafusion::functions::expr_fn::nullif(divisor, zero);
    binary(cast_if(expr.left, left, &to), Operator::Divide, divisor)
}

/// Floats keep IEEE semantics.
fn both_float(op: Op, expr: RawBinaryExpr, left: &DataType, right: &DataType) -> Expr {
    let to = float_type(left, right);
    let op = match op {
        Op::Add => Operator::Plus,
        Op::Subtract => Operator::Minus,
        Op::Multiply => Operator::Multiply,
        _ => Operator::Modulo,
    };
    binary(
        cast_if(expr.left, left, &to),
        op,
        cast_if(expr.right, right, &to),
    )
}

/// Brings operands that DataFusion does not compare to one type: BOOLEAN with a number, UUID and INTERVAL with text.
fn comparable(mut expr: RawBinaryExpr, schema: &DFSchema) -> RawBinaryExpr {
    let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
        return expr;
    };
    let meets = |from: &DataType, to: &DataType| match (from, to) {
        (DataType::Boolean, to) => Number::of(to).is_some(),
        (from, DataType::FixedSizeBinary(16) | DataType::Interval(_)) => from.is_string(),
        _ => false,
    };
    // Not `cast`: text becomes a UUID by a function that takes the place of this very node.
    let to_type = |e: Expr, to: &DataType| Expr::Cast(Cast::new(Box::new(e), to.clone()));
    if meets(&left, &right) {
        expr.left = to_type(expr.left, &right);
    } else if meets(&right, &left) {
        expr.right = to_type(expr.right, &left);
    }
    expr
}

/// Operands of `||` as text, where Arrow would write them otherwise than DuckDB.
fn texts(mut expr: RawBinaryExpr, schema: &DFSchema) -> RawBinaryExpr {
    for side in [&mut expr.left, &mut expr.right] {
        if side
            .get_type(schema)
            .is_ok_and(|t| t.is_floating() || t.is_temporal())
        {
            *side = Expr::Cast(Cast::new(
                Box::new(std::mem::take(side)),
                DataType::Utf8View,
            ));
        }
    }
    expr
}

/// `/` is always a division of floats, as in DuckDB.
fn divide(expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
    let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
        return Ok(PlannerResult::Original(expr));
    };
    let numeric = |t: &DataType| Number::of(t).is_some() || t == &DataType::Null;
    if !numeric(&left) || !numeric(&right) {
        return Ok(PlannerResult::Original(expr));
    }
    let to = float_type(&left, &right);
    Ok(PlannerResult::Planned(binary(
        cast_if(expr.left, &left, &to),
        Operator::Divide,
        cast_if(expr.right, &right, &to),
    )))
}

/// Brings two exact numbers to common types and calls the checked function.
fn arithmetic(
    op: Op,
    expr: RawBinaryExpr,
    left: Number,
    right: Number,
    schema: &DFSchema,
) -> Result<Expr> {
    let RawBinaryExpr {
        left: l, right: r, ..
    } = expr;
    let (l_literal, r_literal) = (int_literal(&l), int_literal(&r));
    if let (
        Number::Int {
            bits: lb,
            signed: ls,
        },
        Number::Int {
            bits: rb,
            signed: rs,
        },
    ) = (left, right)
    {
        let common = match (l_literal, r_literal) {
            // A literal takes the type of the other side when it fits.
            (None, Some(v)) if int_fits(v, lb, ls) => Some((lb, ls)),
            (Some(v), None) if int_fits(v, rb, rs) => Some((rb, rs)),
            _ if ls == rs => Some((lb.max(rb), ls)),
            _ => {
                let unsigned = if ls { rb } else { lb };
                let signed = if ls { lb } else { rb };
                (unsigned < 64).then(|| (signed.max(unsigned * 2), true))
            }
        };
        if let Some((bits, signed)) = common {
            let to = int_type(bits, signed);
            let (from_l, from_r) = (l.get_type(schema)?, r.get_type(schema)?);
            return Ok(call(op, cast_if(l, &from_l, &to), cast_if(r, &from_r, &to)));
        }
    }
    let as_decimal = |n: Number, literal: Option<i64>| match (n, literal) {
        (Number::Decimal(p, s), _) => (p, s),
        (_, Some(v)) => (literal_digits(v), 0),
        (Number::Int { bits, signed }, None) => (int_digits(bits, signed), 0),
        (Number::Float, None) => (MAX_DIGITS_128, 0),
    };
    let (mut a, mut b) = (as_decimal(left, l_literal), as_decimal(right, r_literal));
    if op != Op::Multiply {
        // One scale for both sides; digits grow with it.
        let scale = a.1.max(b.1);
        let rescale = |(p, s): (u8, i8)| ((p + (scale - s) as u8).min(MAX_DIGITS_128), scale);
        // Bringing a side to more than 18 digits would leave 64 bits for no reason: DuckDB stays there with a check.
        let narrow = a.0 <= MAX_DIGITS_64 && b.0 <= MAX_DIGITS_64;
        (a, b) = (rescale(a), rescale(b));
        if narrow {
            a.0 = a.0.min(MAX_DIGITS_64);
            b.0 = b.0.min(MAX_DIGITS_64);
        }
    }
    if decimal_result(op, a, b).is_none() {
        return plan_err!(
            "the product would have more than 38 digits after the point; cast an operand to a smaller scale"
        );
    }
    let wide = a.0 > MAX_DIGITS_64 || b.0 > MAX_DIGITS_64;
    let target = |(p, s): (u8, i8)| {
        if wide {
            DataType::Decimal128(p, s)
        } else {
            decimal_type(p, s)
        }
    };
    Ok(call(
        op,
        operand(l, &target(a), schema)?,
        operand(r, &target(b), schema)?,
    ))
}

/// An operand in its target type. A short literal that has to be wide keeps its cast, since `NarrowLiterals` comes later
/// and would take the width away.
fn operand(expr: Expr, to: &DataType, schema: &DFSchema) -> Result<Expr> {
    let from = expr.get_type(schema)?;
    if matches!((&expr, to), (Expr::Literal(..), DataType::Decimal128(p, _)) if *p <= MAX_DIGITS_64)
    {
        return Ok(Expr::Cast(Cast::new(Box::new(expr), to.clone())));
    }
    Ok(cast_if(expr, &from, to))
}

pub(super) fn call(op: Op, left: Expr, right: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(op.function(), vec![left, right]))
}

/// Gives decimal literals of up to 18 digits the 64-bit type that columns of that size have, so that comparing one with
/// a column does not widen the column.
#[derive(Debug)]
pub(super) struct NarrowLiterals;

impl AnalyzerRule for NarrowLiterals {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            // VALUES keeps its schema, which was made from the literals as they are.
            if matches!(plan, LogicalPlan::Values(_)) {
                return Ok(Transformed::no(plan));
            }
            rewrite_expressions(plan, |expr, _| {
                Ok(match expr {
                    Expr::Literal(ScalarValue::Decimal128(Some(v), p, s), metadata)
                        if p <= MAX_DIGITS_64 && i64::try_from(v).is_ok() =>
                    {
                        let narrow = ScalarValue::Decimal64(Some(v as i64), p, s);
                        Transformed::yes(Expr::Literal(narrow, metadata))
                    }
                    other => Transformed::no(other),
                })
            })
        })
        .map(|t| t.data)
    }

    fn name(&self) -> &str {
        "narrow_literals"
    }
}
