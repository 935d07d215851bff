//! RANGE frames of times of day and of intervals, which the library has not: they are those of their microseconds, of UTC where they have
//! a zone, and of how long intervals are. Distances of days that are numbers, which it takes for months, and those of whole numbers that
//! have a fraction.

use super::temporal::counted;
use crate::functions::key_of;
use datafusion::arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::WindowFunctionParams;
use datafusion::logical_expr::{ExprSchemable, WindowFrameBound, WindowFrameUnits};
use hushdb_sql::type_names::type_name;
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::TIMETZ;

const MICROS_PER_DAY: i128 = 86_400_000_000;
/// More than two times are apart, of clocks that are up to 16 hours before UTC and behind it.
const FARTHEST: i128 = 3 * MICROS_PER_DAY;
const DAYS_PER_MONTH: i128 = 30;
const NANOS_PER_MICRO: i128 = 1_000;
/// The digits of how long an interval is, which is what it is sorted by.
const LENGTH_DIGITS: u8 = 38;

/// Brings what such a frame is sorted by first, and how far its ends are, to what the library has; false for all others.
pub(super) fn as_known(params: &mut WindowFunctionParams, schema: &DFSchema) -> Result<bool> {
    let frame = &mut params.window_frame;
    let Some(first) = params.order_by.first_mut() else {
        return Ok(false);
    };
    // What has no type yet is not a frame of these.
    let of = first.expr.get_type(schema).unwrap_or(DataType::Null);
    if frame.units == WindowFrameUnits::Range && of.is_integer() {
        return Ok(whole(&mut frame.start_bound) | whole(&mut frame.end_bound));
    }
    if frame.units != WindowFrameUnits::Range {
        return Ok(false);
    }
    let has_distances = is_far(&frame.start_bound) || is_far(&frame.end_bound);
    let of_intervals = matches!(of, DataType::Interval(_));
    let (has_frames, is_own) = (
        of.is_temporal() || of == TIMETZ,
        of_intervals || of == TIMETZ,
    );
    if !has_frames || is_own && !has_distances {
        if has_distances {
            refuse_distance(&of)?;
        }
        return Ok(false);
    }
    if of_intervals {
        first.expr = key_of(std::mem::take(&mut first.expr));
    } else if is_time(&of) {
        first.expr = counted(std::mem::take(&mut first.expr), &DataType::Int64);
    }
    for bound in [&mut frame.start_bound, &mut frame.end_bound] {
        let (far, which) = match bound {
            WindowFrameBound::Preceding(far) => (far, "PRECEDING"),
            WindowFrameBound::Following(far) => (far, "FOLLOWING"),
            WindowFrameBound::CurrentRow => continue,
        };
        *far = distance(&of, far, which)?;
    }
    Ok(true)
}

fn is_far(bound: &WindowFrameBound) -> bool {
    match bound {
        WindowFrameBound::Preceding(far) | WindowFrameBound::Following(far) => !far.is_null(),
        WindowFrameBound::CurrentRow => false,
    }
}

/// Refuses a distance from what has none, which the library would take for the value that it is written as.
fn refuse_distance(of: &DataType) -> Result<()> {
    if of.is_numeric() || of.is_null() {
        return Ok(());
    }
    plan_err!(
        "No function matches the given name and argument types '-({}, INTEGER_LITERAL)'. You might need to add explicit type casts.",
        type_name(of)
    )
}

/// Between whole numbers a distance of 1.5 is one of 1.
fn whole(bound: &mut WindowFrameBound) -> bool {
    let (WindowFrameBound::Preceding(far) | WindowFrameBound::Following(far)) = bound else {
        return false;
    };
    let ScalarValue::Utf8(Some(text)) = far else {
        return false;
    };
    let is_digits = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    match text.split_once('.') {
        Some((whole, part)) if is_digits(whole) && is_digits(part) => {
            let whole = if whole.is_empty() { "0" } else { whole };
            *text = whole.to_owned();
            true
        }
        _ => false,
    }
}

fn is_time(of: &DataType) -> bool {
    matches!(of, DataType::Time64(_)) || *of == TIMETZ
}

/// How far an end is from a value of a type. It is a text as it is written, and NULL without end.
fn distance(of: &DataType, far: &ScalarValue, which: &str) -> Result<ScalarValue> {
    let ScalarValue::Utf8(Some(text)) = far else {
        return Ok(match of {
            DataType::Interval(_) => ScalarValue::Decimal128(None, LENGTH_DIGITS, 0),
            of if is_time(of) => ScalarValue::Int64(None),
            _ => far.clone(),
        });
    };
    let is_number = text.trim().parse::<f64>().is_ok();
    let is_whole = text.trim().parse::<i32>().is_ok();
    match of {
        DataType::Date32 if is_whole => Ok(ScalarValue::Utf8(Some(format!("{text} DAY")))),
        of if is_number => plan_err!(
            "No function matches the given name and argument types '-({}, INTEGER_LITERAL)'. You might need to add explicit type casts.",
            type_name(of)
        ),
        DataType::Interval(_) => {
            let nanos = not_negative(interval_micros(text)?, which)? * NANOS_PER_MICRO;
            Ok(ScalarValue::Decimal128(Some(nanos), LENGTH_DIGITS, 0))
        }
        of if is_time(of) => micros(text, which),
        _ => Ok(far.clone()),
    }
}

/// The microseconds of a distance between times of day.
fn micros(far: &str, which: &str) -> Result<ScalarValue> {
    let micros = not_negative(interval_micros(far)?, which)?;
    let micros = micros.min(FARTHEST) as i64;
    Ok(ScalarValue::Int64(Some(micros)))
}

fn not_negative(micros: i128, which: &str) -> Result<i128> {
    if micros < 0 {
        let text = format!("Invalid RANGE {which} value");
        return Err(Error::new(ErrorKind::OutOfRange, text).into());
    }
    Ok(micros)
}

/// The microseconds of an interval that is written, whose months are 30 days, as where intervals are compared.
pub(super) fn interval_micros(text: &str) -> Result<i128> {
    let interval = DataType::Interval(IntervalUnit::MonthDayNano);
    let ScalarValue::IntervalMonthDayNano(Some(far)) =
        ScalarValue::try_from_string(text.to_owned(), &interval)?
    else {
        return plan_err!("a distance is an interval");
    };
    let days = i128::from(far.months) * DAYS_PER_MONTH + i128::from(far.days);
    Ok(days * MICROS_PER_DAY + i128::from(far.nanoseconds) / 1000)
}
