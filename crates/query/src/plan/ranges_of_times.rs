//! RANGE frames of times of day and of intervals, which the library has not: they are those of their microseconds, of UTC where they have
//! a zone, and of how long intervals are. Distances of days that are numbers, which it takes for months, and those of whole numbers that
//! have a fraction. Those of whole numbers and moments by their keys, in which no sum leaves the type; and those that the calendar says.

use super::temporal::{counted, move_of};
use crate::functions::{Frame, FrameEnd, FrameUnits, Move, key_of, range_distance, range_key};
use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalUnit, TimeUnit};
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::WindowFunctionParams;
use datafusion::logical_expr::{
    Expr, ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits, lit,
};
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
    let has_distances = is_far(&frame.start_bound) || is_far(&frame.end_bound);
    let Some(first) = params
        .order_by
        .first_mut()
        .filter(|_| frame.units == WindowFrameUnits::Range)
    else {
        return Ok(false);
    };
    // What has no type yet is not a frame of these.
    let of = first.expr.get_type(schema).unwrap_or(DataType::Null);
    let of_intervals = matches!(of, DataType::Interval(_));
    let (has_frames, is_own) = (
        of.is_integer() || of.is_temporal() || of == TIMETZ,
        of.is_integer() || of_intervals || of == TIMETZ,
    );
    if !has_frames || is_own && !has_distances {
        if has_distances {
            refuse_distance(&of)?;
        }
        return Ok(false);
    }
    for bound in [&mut frame.start_bound, &mut frame.end_bound] {
        let (far, which) = match bound {
            WindowFrameBound::Preceding(far) => (far, "PRECEDING"),
            WindowFrameBound::Following(far) => (far, "FOLLOWING"),
            WindowFrameBound::CurrentRow => continue,
        };
        *far = distance(&of, far, which)?;
    }
    let has_key = has_distances && (of.is_integer() || is_moment(&of));
    if of_intervals {
        first.expr = key_of(std::mem::take(&mut first.expr));
    } else if is_time(&of) {
        first.expr = counted(std::mem::take(&mut first.expr), &DataType::Int64);
    } else if has_key && !is_computed(&of, frame)? {
        first.expr = range_key(std::mem::take(&mut first.expr));
        for bound in [&mut frame.start_bound, &mut frame.end_bound] {
            if let WindowFrameBound::Preceding(far) | WindowFrameBound::Following(far) = bound {
                *far = key_distance(&of, far)?;
            }
        }
    }
    Ok(true)
}

/// A frame whose ends depend on the calendar, by months or by days of a time zone, or that lies beside the row: what is infinite is in that, as
/// far as it is from itself. It is computed for each row where the ends are.
/// Gives the frame, where it begins and ends, and the value of the row.
pub(super) fn of_calendar(
    params: &WindowFunctionParams,
    schema: &DFSchema,
) -> Result<Option<(Frame, Vec<Expr>)>> {
    let frame = &params.window_frame;
    let ([by], WindowFrameUnits::Range) = (params.order_by.as_slice(), frame.units) else {
        return Ok(None);
    };
    let of = by.expr.get_type(schema)?;
    if !is_computed(&of, frame)? {
        return Ok(None);
    }
    let key = in_micros(&by.expr, &of);
    let mut ends = vec![];
    let mut values = vec![];
    for bound in [&frame.start_bound, &frame.end_bound] {
        let (end, value) = match bound {
            WindowFrameBound::CurrentRow => (FrameEnd::Current, key.clone()),
            WindowFrameBound::Preceding(far) if far.is_null() => (FrameEnd::First, key.clone()),
            WindowFrameBound::Following(far) if far.is_null() => (FrameEnd::Last, key.clone()),
            WindowFrameBound::Preceding(far) => (FrameEnd::Preceding, apart(&key, far, by.asc)?),
            WindowFrameBound::Following(far) => (FrameEnd::Following, apart(&key, far, !by.asc)?),
        };
        ends.push(end);
        values.push(value);
    }
    values.push(key);
    let units = FrameUnits::Values {
        falls: !by.asc,
        nulls_first: by.nulls_first,
    };
    let ends = [ends[0], ends[1]];
    Ok(Some((Frame { units, ends }, values)))
}

/// Whether the ends of a frame of values of a type are computed for each row.
fn is_computed(of: &DataType, frame: &WindowFrame) -> Result<bool> {
    let mut is_computed = is_moment(of) && is_beside(frame);
    for bound in [&frame.start_bound, &frame.end_bound] {
        if let WindowFrameBound::Preceding(far) | WindowFrameBound::Following(far) = bound {
            is_computed |= is_of_calendar(of, far)?;
        }
    }
    Ok(is_computed)
}

/// Whether a frame begins behind the row, or ends before it.
fn is_beside(frame: &WindowFrame) -> bool {
    let begins = matches!(&frame.start_bound, WindowFrameBound::Following(far) if !far.is_null());
    let ends = matches!(&frame.end_bound, WindowFrameBound::Preceding(far) if !far.is_null());
    begins || ends
}

/// A moment that is so far before another, or behind it.
fn apart(key: &Expr, far: &ScalarValue, is_before: bool) -> Result<Expr> {
    let how = match is_before {
        true => Move::MomentMinus,
        false => Move::MomentPlus,
    };
    let far = ScalarValue::IntervalMonthDayNano(Some(interval(far)?));
    Ok(move_of(how, key, lit(far)))
}

/// A date or a timestamp as one of microseconds, as intervals are added to.
fn in_micros(moment: &Expr, of: &DataType) -> Expr {
    let zone = match of {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    match DataType::Timestamp(TimeUnit::Microsecond, zone) {
        to if to == *of => moment.clone(),
        to => counted(moment.clone(), &to),
    }
}

fn is_moment(of: &DataType) -> bool {
    matches!(of, DataType::Date32 | DataType::Timestamp(..))
}

/// Whether the calendar says how far a distance is.
fn is_of_calendar(of: &DataType, far: &ScalarValue) -> Result<bool> {
    if !is_moment(of) || far.is_null() {
        return Ok(false);
    }
    let is_zoned = matches!(of, DataType::Timestamp(_, Some(_)));
    let far = interval(far)?;
    Ok(far.months != 0 || is_zoned && far.days != 0)
}

/// How far apart the keys of values are that are so far apart.
fn key_distance(of: &DataType, far: &ScalarValue) -> Result<ScalarValue> {
    if far.is_null() {
        return Ok(range_distance(None));
    }
    if of.is_integer() {
        let far = far.cast_to(&range_distance(None).data_type())?;
        return Ok(far);
    }
    let far = interval(far)?;
    let nanos = i128::from(far.days) * MICROS_PER_DAY * NANOS_PER_MICRO;
    Ok(range_distance(Some(nanos + i128::from(far.nanoseconds))))
}

/// An interval that is written.
fn interval(far: &ScalarValue) -> Result<IntervalMonthDayNano> {
    let far = match far {
        ScalarValue::IntervalMonthDayNano(_) => far.clone(),
        far => {
            let text = far.try_as_str().flatten().unwrap_or_default();
            let interval = DataType::Interval(IntervalUnit::MonthDayNano);
            ScalarValue::try_from_string(text.to_owned(), &interval)?
        }
    };
    match far {
        ScalarValue::IntervalMonthDayNano(Some(far)) => Ok(far),
        _ => plan_err!("a distance is an interval"),
    }
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
fn whole(text: &str) -> &str {
    match text.split_once('.') {
        Some(("", _)) => "0",
        Some((whole, part)) if part.bytes().all(|digit| digit.is_ascii_digit()) => whole,
        _ => text,
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
        of if of.is_integer() => Ok(ScalarValue::from(whole(text))),
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
        of if is_moment(of) => {
            not_negative(interval_micros(text)?, which)?;
            Ok(far.clone())
        }
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
    let far = interval(&ScalarValue::from(text))?;
    let days = i128::from(far.months) * DAYS_PER_MONTH + i128::from(far.days);
    Ok(days * MICROS_PER_DAY + i128::from(far.nanoseconds) / 1000)
}
