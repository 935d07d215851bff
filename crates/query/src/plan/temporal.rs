//! Arithmetic with dates and timestamps that DataFusion types otherwise or not at all, and comparisons of dates with timestamps.

use super::operators::{binary, call, cast};
use super::rewrite_expressions::rewrite_expressions;
use crate::common_types::number_kind::int_literal;
use crate::functions::arithmetic::Op;
use crate::functions::{
    INTERVAL_DIVIDED, INTERVAL_SCALED, INTERVAL_TIMES, ROUNDING_CAST, time_difference,
};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, lit};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// `+` and `-` of dates, timestamps and intervals; `None` for what is left to DataFusion.
pub(super) fn arithmetic(
    op: Op,
    expr: &RawBinaryExpr,
    left: &DataType,
    right: &DataType,
) -> Option<Expr> {
    use DataType as T;
    let days = |e: &Expr| cast(e.clone(), T::Int32);
    let in_micros = |e: &Expr| cast(e.clone(), T::Timestamp(TimeUnit::Microsecond, None));
    // With an interval they become a TIMESTAMP.
    let to_micros = |ty: &DataType| match ty {
        T::Timestamp(unit, None) => *unit != TimeUnit::Microsecond,
        ty => *ty == T::Date32,
    };
    Some(match (op, left, right) {
        (Op::Subtract, T::Date32, T::Date32) => {
            let days = |e| cast(days(e), T::Int64);
            call(op, days(&expr.left), days(&expr.right))
        }
        (Op::Add | Op::Subtract, T::Date32, other) if other.is_integer() => cast(
            call(op, days(&expr.left), cast(expr.right.clone(), T::Int32)),
            T::Date32,
        ),
        (Op::Add, other, T::Date32) if other.is_integer() => cast(
            call(op, cast(expr.left.clone(), T::Int32), days(&expr.right)),
            T::Date32,
        ),
        (Op::Add, at, T::Interval(_)) if to_micros(at) => {
            binary(in_micros(&expr.left), Operator::Plus, expr.right.clone())
        }
        (Op::Subtract, at, T::Interval(_)) if to_micros(at) => {
            binary(in_micros(&expr.left), Operator::Minus, expr.right.clone())
        }
        (Op::Add, T::Interval(_), at) if to_micros(at) => {
            binary(in_micros(&expr.right), Operator::Plus, expr.left.clone())
        }
        // As `-x` is written.
        (Op::Subtract, _, T::Interval(_)) if int_literal(&expr.left) == Some(0) => binary(
            lit(ScalarValue::new_interval_mdn(0, 0, 0)),
            Operator::Minus,
            expr.right.clone(),
        ),
        (Op::Subtract, T::Timestamp(..), T::Timestamp(..) | T::Date32)
        | (Op::Subtract, T::Date32, T::Timestamp(..)) => difference(expr, left, right),
        _ => return None,
    })
}

/// An interval so many times: the function, and what it is called with.
pub(super) fn product(
    expr: &RawBinaryExpr,
    left: &DataType,
    right: &DataType,
) -> Option<(&'static str, Vec<Expr>)> {
    let (interval, (by, of)) = match (left, right) {
        (DataType::Interval(_), by) => (&expr.left, (by, &expr.right)),
        (by, DataType::Interval(_)) => (&expr.right, (by, &expr.left)),
        _ => return None,
    };
    let function = match by {
        by if by.is_integer() || by.is_null() => INTERVAL_TIMES,
        by if by.is_numeric() => INTERVAL_SCALED,
        _ => return None,
    };
    Some((function, vec![interval.clone(), of.clone()]))
}

/// A part of an interval.
pub(super) fn quotient(
    expr: &RawBinaryExpr,
    schema: &DFSchema,
) -> Option<(&'static str, Vec<Expr>)> {
    let left = expr.left.get_type(schema).ok()?;
    let right = expr.right.get_type(schema).ok()?;
    let divides = matches!(left, DataType::Interval(_)) && (right.is_numeric() || right.is_null());
    divides.then(|| {
        (
            INTERVAL_DIVIDED,
            vec![expr.left.clone(), expr.right.clone()],
        )
    })
}

/// A difference of points in time, both with a zone if one has it.
fn difference(expr: &RawBinaryExpr, left: &DataType, right: &DataType) -> Expr {
    let zone = [left, right].into_iter().find_map(|ty| match ty {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    });
    let micros = DataType::Timestamp(TimeUnit::Microsecond, zone);
    let args = [&expr.left, &expr.right].map(|e| cast(e.clone(), micros.clone()));
    Expr::ScalarFunction(ScalarFunction::new_udf(time_difference(), args.into()))
}

/// Compares a date with a day, or a timestamp of whole seconds with one of these, where it was to be compared with a finer timestamp
/// that is known, so that scans and indexes can use it: what `d < DATE '1994-01-01' + INTERVAL 1 YEAR` says.
#[derive(Debug)]
pub(super) struct DaysOfTimestamps;

impl OptimizerRule for DaysOfTimestamps {
    fn name(&self) -> &str {
        "days_of_timestamps"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Filter(_) | LogicalPlan::Join(_) | LogicalPlan::TableScan(_) => {
                rewrite_expressions(plan, |expr, schema| Ok(with_day(expr, schema)))
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

fn with_day(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = &expr else {
        return Transformed::no(expr);
    };
    let turned = op.swap().and_then(|op| compared(right, op, left, schema));
    match compared(left, *op, right, schema).or(turned) {
        Some(comparison) => Transformed::yes(comparison),
        None => Transformed::no(expr),
    }
}

fn compared(coarse: &Expr, op: Operator, at: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (coarse, to) = match coarse {
        Expr::Cast(Cast { expr, field }) => (expr.as_ref(), field.data_type().clone()),
        Expr::ScalarFunction(call) if call.func.name() == ROUNDING_CAST => {
            (call.args.first()?, coarse.get_type(schema).ok()?)
        }
        _ => return None,
    };
    let Expr::Literal(at, _) = at else {
        return None;
    };
    let from = coarse.get_type(schema).ok()?;
    if to != at.data_type() {
        return None;
    }
    let per = nanos(&from)? / nanos(&to)?;
    let at = ticks(at).filter(|at| per > 1 && at.unsigned_abs() != i64::MAX.unsigned_abs())?;
    let is_whole = at.rem_euclid(per) == 0;
    let op = match op {
        // Later on that day: the day itself is before.
        Operator::Lt if !is_whole => Operator::LtEq,
        Operator::GtEq if !is_whole => Operator::Gt,
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => op,
        Operator::Eq | Operator::NotEq if is_whole => op,
        _ => return None,
    };
    let whole = of_ticks(&from, at.div_euclid(per))?;
    Some(binary(coarse.clone(), op, lit(whole)))
}

/// How long the unit of a date or a timestamp without a zone is, in nanoseconds.
fn nanos(ty: &DataType) -> Option<i64> {
    Some(match ty {
        DataType::Date32 => MICROS_PER_DAY * 1000,
        DataType::Timestamp(TimeUnit::Second, None) => 1_000_000_000,
        DataType::Timestamp(TimeUnit::Millisecond, None) => 1_000_000,
        DataType::Timestamp(TimeUnit::Microsecond, None) => 1000,
        DataType::Timestamp(TimeUnit::Nanosecond, None) => 1,
        _ => return None,
    })
}

fn ticks(at: &ScalarValue) -> Option<i64> {
    match at {
        ScalarValue::TimestampMillisecond(at, None)
        | ScalarValue::TimestampMicrosecond(at, None)
        | ScalarValue::TimestampNanosecond(at, None) => *at,
        _ => None,
    }
}

fn of_ticks(ty: &DataType, ticks: i64) -> Option<ScalarValue> {
    Some(match ty {
        DataType::Date32 => ScalarValue::Date32(Some(i32::try_from(ticks).ok()?)),
        DataType::Timestamp(TimeUnit::Second, None) => {
            ScalarValue::TimestampSecond(Some(ticks), None)
        }
        DataType::Timestamp(TimeUnit::Millisecond, None) => {
            ScalarValue::TimestampMillisecond(Some(ticks), None)
        }
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            ScalarValue::TimestampMicrosecond(Some(ticks), None)
        }
        _ => return None,
    })
}
