//! `PostgresSides`: what the two sides of an operator make of one another for PostgreSQL's clients. `real` beside a whole number or a
//! numeric is `double precision`, where DuckDB's FLOAT takes the other along; what leaves the range of floats is an error; a text without
//! a type beside a number or a moment is one, as PostgreSQL writes it.
//!
//! What must hold: what the catalog keeps is planned without this, so that it means the same in both dialects.

use super::operators::{bracket_operands, cast, cast_if, type_of};
use super::postgres_divisions::is_but_zero;
use super::postgres_literals::moment_text;
use super::temporal::counted;
use crate::common_types::number_kind::{
    MAX_DIGITS_64, MAX_DIGITS_128, Number, decimal_type, float_type, int_digits,
};
use crate::functions::arithmetic::Op;
use crate::functions::arithmetic_chain;
use datafusion::arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, lit};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use hushdb_sql::{BESIDE_NUMBER, CUT_DIVIDE, Error, ErrorKind};

/// Digits behind the point of a numeric whose text has an exponent.
const EXPONENT_SCALE: i8 = 10;

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
    if let Some(to) = text(&expr.right).and_then(|text| type_of_text(op, text, &left)) {
        (expr.right, right) = (typed(expr.right, &to)?, to);
    }
    if let Some(to) = text(&expr.left).and_then(|text| type_of_text(op, text, &right)) {
        (expr.left, left) = (typed(expr.left, &to)?, to);
    }
    let (Some(of_left), Some(of_right)) = (Number::of(&left), Number::of(&right)) else {
        if op == Op::Subtract && is_instant(&left) && is_instant(&right) {
            expr.left = of_utc(expr.left);
            expr.right = of_utc(expr.right);
        }
        return Ok(PlannerResult::Original(expr));
    };
    if !(left.is_floating() || right.is_floating()) {
        widen(op, &mut expr, [(&left, of_left), (&right, of_right)]);
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

fn is_instant(of: &DataType) -> bool {
    matches!(of, DataType::Timestamp(TimeUnit::Microsecond, Some(_)))
}

/// An instant as what the clocks of UTC show: between two of them is the time that passes, where DuckDB counts the days of a time zone.
fn of_utc(instant: Expr) -> Expr {
    let micros = counted(instant, &DataType::Int64);
    counted(micros, &DataType::Timestamp(TimeUnit::Microsecond, None))
}

/// A text as a value of a type.
///
/// # Errors
/// For what is no whole number, which DuckDB rounds.
fn typed(literal: Expr, to: &DataType) -> Result<Expr> {
    let is_whole = text(&literal).is_some_and(|text| text.trim().parse::<i64>().is_ok());
    match to.is_integer() && !is_whole {
        true => {
            let what = "invalid input syntax for type integer: the text is no whole number";
            Err(Error::new(ErrorKind::Conversion, what).into())
        }
        false => Ok(cast(literal, to.clone())),
    }
}

/// The type of a text without one beside a value: that of the value, or a numeric of its digits, and an interval where that is added to a moment.
fn type_of_text(op: Op, text: &str, beside: &DataType) -> Option<DataType> {
    match beside {
        of if of.is_decimal() && text.contains(['e', 'E']) => {
            Some(DataType::Decimal128(MAX_DIGITS_128, EXPONENT_SCALE))
        }
        of if of.is_decimal() => {
            let most = usize::from(MAX_DIGITS_128);
            let digits = |part: &str| part.bytes().filter(u8::is_ascii_digit).take(most).count();
            let behind = text.split_once('.').map_or(0, |(_, behind)| digits(behind));
            let precision = digits(text).max(1);
            Some(decimal_type(precision as u8, behind as i8))
        }
        of if Number::of(of).is_some() => Some(of.clone()),
        DataType::Timestamp(..) | DataType::Time64(_) if op == Op::Add => {
            Some(DataType::Interval(IntervalUnit::MonthDayNano))
        }
        DataType::Timestamp(..) if op == Op::Subtract => Some(beside.clone()),
        _ => None,
    }
}

/// A number that is written is `integer` where it fits, whatever it stands beside; and numerics have as many digits as their result needs.
fn widen(op: Op, expr: &mut RawBinaryExpr, [left, right]: [(&DataType, Number); 2]) {
    let is_literal = |side: &Expr| matches!(side, Expr::Literal(..));
    let (is_left, is_right) = (is_literal(&expr.left), is_literal(&expr.right));
    for (side, of, beside, is_beside) in [
        (&mut expr.left, left.0, right.0, is_right && !is_left),
        (&mut expr.right, right.0, left.0, is_left && !is_right),
    ] {
        let is_wider = matches!(beside, DataType::Int32 | DataType::Int64);
        if *of == DataType::Int16 && is_beside && is_wider {
            *side = cast(std::mem::take(side), beside.clone());
        }
    }
    let digits = |number| match number {
        Number::Decimal(precision, scale) => (precision, scale),
        Number::Int { bits, signed } => (int_digits(bits, signed), 0),
        Number::Float => (0, 0),
    };
    let (of_left, of_right) = (digits(left.1), digits(right.1));
    let has_decimal = left.0.is_decimal() || right.0.is_decimal();
    let are_narrow = of_left.0 <= MAX_DIGITS_64 && of_right.0 <= MAX_DIGITS_64;
    if has_decimal && are_narrow && needed(op, of_left, of_right) > MAX_DIGITS_64 {
        let wide = DataType::Decimal128(MAX_DIGITS_64 + 1, of_left.1);
        expr.left = cast(std::mem::take(&mut expr.left), wide);
    }
}

/// The digits that a sum or product of numbers of so many digits may have.
fn needed(op: Op, (left, left_scale): (u8, i8), (right, right_scale): (u8, i8)) -> u8 {
    match op {
        Op::Multiply => left + right,
        Op::Add | Op::Subtract => {
            let whole = (left as i8 - left_scale).max(right as i8 - right_scale);
            (whole + left_scale.max(right_scale)) as u8 + 1
        }
        _ => 0,
    }
}

/// A text without a type.
fn text(expr: &Expr) -> Option<&str> {
    expr.as_literal()?.try_as_str().flatten()
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
