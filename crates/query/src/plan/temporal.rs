//! Arithmetic with dates and timestamps that DataFusion types otherwise or not at all, and comparisons of dates with timestamps.

use super::operators::{binary, call, cast};
use super::rewrite_expressions::rewrite_expressions;
use crate::common_types::number_kind::{Number, int_literal};
use crate::functions::arithmetic::Op;
use crate::functions::{
    INTERVAL_DIVIDED, INTERVAL_SCALED, INTERVAL_TIMES, Move, ROUNDING_CAST, TIME_MINUS,
    TIME_OF_DAY, TIME_PLUS, moved, rounding_cast, time_difference, unit_nanos, zone_of,
};
use datafusion::arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, lit};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use hushdb_sql::type_names::display_type;
use hushdb_storage::TIMETZ;

/// The functions that operators of times and intervals are.
pub(super) const FUNCTIONS: [&str; 6] = [
    INTERVAL_TIMES,
    INTERVAL_SCALED,
    INTERVAL_DIVIDED,
    TIME_PLUS,
    TIME_MINUS,
    TIME_OF_DAY,
];

/// `+` and `-` of dates, timestamps and intervals; `None` for what is left to DataFusion.
pub(super) fn arithmetic(
    op: Op,
    expr: &RawBinaryExpr,
    left: &DataType,
    right: &DataType,
) -> Option<Expr> {
    use DataType as T;
    let days = |e: &Expr| counted(e.clone(), &T::Int32);
    let is_moment = |ty: &DataType| matches!(ty, T::Timestamp(..) | T::Date32);
    // What becomes an INTEGER without a CAST.
    let is_days = |ty: &DataType| {
        use T::{Int8, Int16, Int32, UInt8, UInt16};
        ty.is_null() || [Int8, Int16, Int32, UInt8, UInt16].contains(ty)
    };
    // With an interval they become a TIMESTAMP.
    let in_micros = |e: &Expr, ty: &DataType| match ty {
        T::Timestamp(TimeUnit::Microsecond, _) => e.clone(),
        T::Timestamp(_, zone) => cast(e.clone(), T::Timestamp(TimeUnit::Microsecond, zone.clone())),
        _ => cast(e.clone(), T::Timestamp(TimeUnit::Microsecond, None)),
    };
    Some(match (op, left, right) {
        (Op::Subtract, T::Date32, T::Date32) => {
            let days = |e| cast(days(e), T::Int64);
            call(op, days(&expr.left), days(&expr.right))
        }
        (Op::Add | Op::Subtract, T::Date32, other) if is_days(other) => {
            let how = if op == Op::Add {
                Move::DayPlus
            } else {
                Move::DayMinus
            };
            move_of(how, &expr.left, cast(expr.right.clone(), T::Int32))
        }
        (Op::Add, other, T::Date32) if is_days(other) => move_of(
            Move::DayPlus,
            &expr.right,
            cast(expr.left.clone(), T::Int32),
        ),
        (Op::Add | Op::Subtract, at, T::Interval(_)) if is_moment(at) => {
            move_of(shift(op), &in_micros(&expr.left, at), expr.right.clone())
        }
        (Op::Add, T::Interval(_), at) if is_moment(at) => move_of(
            Move::MomentPlus,
            &in_micros(&expr.right, at),
            expr.left.clone(),
        ),
        (Op::Add | Op::Subtract, T::Timestamp(..), T::Null) => {
            let interval = T::Interval(IntervalUnit::MonthDayNano);
            move_of(shift(op), &expr.left, cast(expr.right.clone(), interval))
        }
        (Op::Add, T::Null, T::Timestamp(..)) => cast(expr.left.clone(), right.clone()),
        (Op::Subtract, T::Time64(_), T::Null) => cast(expr.right.clone(), left.clone()),
        (Op::Add, T::Date32, T::Time64(_)) => day_and_time(&expr.left, &expr.right),
        (Op::Add, T::Time64(_), T::Date32) => day_and_time(&expr.right, &expr.left),
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

/// # Errors
/// `Plan` for a date, time or interval beside a number, if that is no operator.
pub(super) fn refuse_numbers(
    expr: &RawBinaryExpr,
    left: &DataType,
    right: &DataType,
) -> Result<()> {
    use DataType as T;
    let is_time = |ty: &DataType| {
        matches!(
            ty,
            T::Date32 | T::Timestamp(..) | T::Time64(_) | T::Interval(_)
        )
    };
    let is_number = |ty: &DataType| Number::of(ty).is_some();
    if !(is_time(left) && is_number(right) || is_number(left) && is_time(right)) {
        return Ok(());
    }
    let name = |of: &Expr, ty: &DataType| match int_literal(of) {
        Some(_) if ty.is_integer() => "INTEGER_LITERAL".to_owned(),
        _ => display_type(&Field::new("", ty.clone(), true)),
    };
    let (left, right) = (name(&expr.left, left), name(&expr.right, right));
    plan_err!(
        "No function matches the given name and argument types '{}({left}, {right})'. You might need to add explicit type casts.",
        expr.op
    )
}

/// How an interval moves a point in time.
fn shift(op: Op) -> Move {
    match op {
        Op::Add => Move::MomentPlus,
        _ => Move::MomentMinus,
    }
}

/// The point in time of a day's hour.
fn day_and_time(day: &Expr, time: &Expr) -> Expr {
    let micros = |of: &Expr, ty: DataType| counted(cast(of.clone(), ty), &DataType::Int64);
    let moment = DataType::Timestamp(TimeUnit::Microsecond, None);
    let start = micros(day, moment.clone());
    let sum = call(
        Op::Add,
        start,
        micros(time, DataType::Time64(TimeUnit::Microsecond)),
    );
    counted(sum, &moment)
}

/// What days, times and points in time are counted as, or the other way, which is no CAST of SQL.
pub(super) fn counted(of: Expr, to: &DataType) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(rounding_cast(to, false), vec![of]))
}

/// A moment that an interval, or a number of days, moves.
pub(super) fn move_of(how: Move, of: &Expr, by: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(moved(how), vec![of.clone(), by]))
}

/// A time with its zone that an interval moves, or that is of a day: the function, and what it is called with.
pub(super) fn of_times(
    op: Op,
    expr: &RawBinaryExpr,
    left: &DataType,
    right: &DataType,
) -> Option<(&'static str, Vec<Expr>)> {
    if let (Op::Subtract, DataType::Time64(_), DataType::Time64(_)) = (op, left, right) {
        return Some(between_times(expr));
    }
    let is_span = |ty: &DataType| matches!(ty, DataType::Interval(_));
    let (name, of, by) = match op {
        Op::Add if *left == TIMETZ && is_span(right) => (TIME_PLUS, &expr.left, &expr.right),
        Op::Add if is_span(left) && *right == TIMETZ => (TIME_PLUS, &expr.right, &expr.left),
        Op::Subtract if *left == TIMETZ && is_span(right) => (TIME_MINUS, &expr.left, &expr.right),
        Op::Add if *left == DataType::Date32 && *right == TIMETZ => {
            (TIME_OF_DAY, &expr.left, &expr.right)
        }
        Op::Add if *left == TIMETZ && *right == DataType::Date32 => {
            (TIME_OF_DAY, &expr.right, &expr.left)
        }
        _ => return None,
    };
    Some((name, vec![of.clone(), by.clone()]))
}

/// How far two times of day are apart: so many microseconds.
fn between_times(expr: &RawBinaryExpr) -> (&'static str, Vec<Expr>) {
    let micros = |of: &Expr| {
        let time = cast(of.clone(), DataType::Time64(TimeUnit::Microsecond));
        counted(time, &DataType::Int64)
    };
    let apart = call(Op::Subtract, micros(&expr.left), micros(&expr.right));
    let micro = lit(ScalarValue::new_interval_mdn(0, 0, 1000));
    (INTERVAL_SCALED, vec![micro, cast(apart, DataType::Float64)])
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
/// that is known, and a timestamp with the ends of a day where its own day was to be compared, so that scans and indexes can use it:
/// what `d < DATE '1994-01-01' + INTERVAL 1 YEAR` and `t::DATE = DATE '1994-01-01'` say.
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
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let is_utc = zone_of(&config.options()).is_none();
        match plan {
            LogicalPlan::Filter(_) | LogicalPlan::Join(_) | LogicalPlan::TableScan(_) => {
                rewrite_expressions(plan, |expr, schema| Ok(with_day(expr, schema, is_utc)))
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

fn with_day(expr: Expr, schema: &DFSchema, is_utc: bool) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = &expr else {
        return Transformed::no(expr);
    };
    let turned = op
        .swap()
        .and_then(|op| compared(right, op, left, schema, is_utc));
    match compared(left, *op, right, schema, is_utc).or(turned) {
        Some(comparison) => Transformed::yes(comparison),
        None => Transformed::no(expr),
    }
}

fn compared(cast: &Expr, op: Operator, at: &Expr, schema: &DFSchema, is_utc: bool) -> Option<Expr> {
    let Expr::ScalarFunction(call) = cast else {
        return None;
    };
    let of = call
        .args
        .first()
        .filter(|_| call.func.name() == ROUNDING_CAST)?;
    let Expr::Literal(at, _) = at else {
        return None;
    };
    let (from, to) = (of.get_type(schema).ok()?, at.data_type());
    let (of_from, of_to) = (unit_nanos(&from)?, unit_nanos(&to)?);
    let is_instant = |ty: &DataType| matches!(ty, DataType::Timestamp(_, Some(_)));
    // Clocks that are changed stand between an instant and what they show.
    let by_clocks = is_instant(&from) != is_instant(&to) && !is_utc;
    if to != cast.get_type(schema).ok()? || by_clocks {
        return None;
    }
    let at = ticks(at)?;
    match of_from >= of_to {
        true => beside_finer(of, op, at, of_from / of_to, &from),
        false if to == DataType::Date32 => beside_day(of, op, at, of_to / of_from, &from),
        false => None,
    }
}

/// A point in time beside one in a finer unit, of which so many are one of its own.
fn beside_finer(of: &Expr, op: Operator, at: i64, per: i64, ty: &DataType) -> Option<Expr> {
    let is_whole = at.rem_euclid(per) == 0;
    let op = match op {
        // Later on that day: the day itself is before.
        Operator::Lt if !is_whole => Operator::LtEq,
        Operator::GtEq if !is_whole => Operator::Gt,
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => op,
        Operator::Eq | Operator::NotEq if is_whole => op,
        _ => return None,
    };
    let whole = of_ticks(ty, at.div_euclid(per))?;
    Some(binary(of.clone(), op, lit(whole)))
}

/// A timestamp whose day is compared, as one that is compared with the day's ends. A day has so many of its ticks.
fn beside_day(of: &Expr, op: Operator, day: i64, per: i64, ty: &DataType) -> Option<Expr> {
    let start = day.checked_mul(per)?;
    let next = start.checked_add(per)?;
    let at = |op: Operator, ticks: i64| Some(binary(of.clone(), op, lit(of_ticks(ty, ticks)?)));
    let is_column = matches!(of, Expr::Column(_));
    match op {
        Operator::Lt => at(Operator::Lt, start),
        Operator::LtEq => at(Operator::Lt, next),
        Operator::Gt => at(Operator::GtEq, next),
        Operator::GtEq => at(Operator::GtEq, start),
        Operator::Eq if is_column => Some(at(Operator::GtEq, start)?.and(at(Operator::Lt, next)?)),
        Operator::NotEq if is_column => {
            Some(at(Operator::Lt, start)?.or(at(Operator::GtEq, next)?))
        }
        _ => None,
    }
}

/// What is counted since 1970, if that is not infinitely far.
fn ticks(at: &ScalarValue) -> Option<i64> {
    let far = |ticks: &i64| ticks.unsigned_abs() == i64::MAX.unsigned_abs();
    match at {
        ScalarValue::Date32(Some(day)) => Some(*day)
            .filter(|day| day.unsigned_abs() != i32::MAX.unsigned_abs())
            .map(i64::from),
        ScalarValue::TimestampSecond(at, _)
        | ScalarValue::TimestampMillisecond(at, _)
        | ScalarValue::TimestampMicrosecond(at, _)
        | ScalarValue::TimestampNanosecond(at, _) => at.filter(|at| !far(at)),
        _ => None,
    }
}

fn of_ticks(ty: &DataType, ticks: i64) -> Option<ScalarValue> {
    Some(match ty {
        DataType::Date32 => ScalarValue::Date32(Some(i32::try_from(ticks).ok()?)),
        DataType::Timestamp(TimeUnit::Second, zone) => {
            ScalarValue::TimestampSecond(Some(ticks), zone.clone())
        }
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            ScalarValue::TimestampMillisecond(Some(ticks), zone.clone())
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            ScalarValue::TimestampMicrosecond(Some(ticks), zone.clone())
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            ScalarValue::TimestampNanosecond(Some(ticks), zone.clone())
        }
        _ => return None,
    })
}
