//! `to_days(n)` and its kind: intervals of so many units; an interval so many times, as `INTERVAL 1 DAY * 3` says, and divided.

use super::whole::{Call, Whole, registered};
use datafusion::arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::datatypes::{
    DataType, Float64Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::sqlstate::DIVISION_BY_ZERO;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

/// An interval by a whole number.
pub const INTERVAL_TIMES: &str = "$interval_times";
/// An interval by a DOUBLE.
pub const INTERVAL_SCALED: &str = "$interval_scaled";
/// An interval through a DOUBLE; by zero it is NULL.
pub const INTERVAL_DIVIDED: &str = "$interval_divided";
/// The same of PostgreSQL, where zero divides nothing.
pub const INTERVAL_CUT: &str = "divide_interval_as_postgres";

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const DAYS_A_MONTH: f64 = 30.0;
const SECONDS_A_DAY: f64 = 86_400.0;
const NANOS_A_MICRO: i64 = 1000;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 17] = [
        (&["to_millennia"], whole, interval, |c, _| months(c, 12_000)),
        (&["to_centuries"], whole, interval, |c, _| months(c, 1200)),
        (&["to_decades"], whole, interval, |c, _| months(c, 120)),
        (&["to_years"], whole, interval, |c, _| months(c, 12)),
        (&["to_quarters"], whole, interval, |c, _| months(c, 3)),
        (&["to_months"], whole, interval, |c, _| months(c, 1)),
        (&["to_weeks"], whole, interval, |c, _| days(c, 7)),
        (&["to_days"], whole, interval, |c, _| days(c, 1)),
        (&["to_hours"], whole, interval, |c, _| {
            micros(c, 3_600_000_000)
        }),
        (&["to_minutes"], whole, interval, |c, _| {
            micros(c, 60_000_000)
        }),
        (&["to_microseconds"], whole, interval, |c, _| micros(c, 1)),
        (&["to_seconds"], number, interval, |c, _| rounded(c, 1e6)),
        (&["to_milliseconds"], number, interval, |c, _| {
            rounded(c, 1e3)
        }),
        (&[INTERVAL_TIMES], by_whole, interval, |c, _| times(c)),
        (&[INTERVAL_SCALED], by_number, interval, |c, _| {
            scaled(c, |part, factor| part * factor, of_zero)
        }),
        (&[INTERVAL_DIVIDED], by_number, interval, |c, _| {
            scaled(c, |part, factor| part / factor, of_zero)
        }),
        (&[INTERVAL_CUT], by_number, interval, |c, _| {
            scaled(c, |part, factor| part / factor, refused_zero)
        }),
    ];
    registered(functions, memory)
}

fn whole(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [of] if of.is_integer() || of.is_null() => Some(vec![DataType::Int64]),
        _ => None,
    }
}

fn number(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [of] if of.is_numeric() || of.is_null() => Some(vec![DataType::Float64]),
        _ => None,
    }
}

fn by_whole(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [_, by] if by.is_integer() || by.is_null() => Some(vec![INTERVAL, DataType::Int64]),
        _ => None,
    }
}

fn by_number(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [_, by] if by.is_numeric() || by.is_null() => Some(vec![INTERVAL, DataType::Float64]),
        _ => None,
    }
}

fn interval(_: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    Some(INTERVAL)
}

fn out_of_range() -> Error {
    Error::new(ErrorKind::OutOfRange, "Interval value is out of range")
}

/// An interval for each number; `None` is out of range.
fn of_numbers(
    call: &Call<'_>,
    make: impl Fn(i64) -> Option<IntervalMonthDayNano>,
) -> Result<ArrayRef> {
    let [numbers] = call.take()?;
    let numbers = numbers.as_primitive::<Int64Type>().iter();
    let made = numbers.map(|n| n.map(|n| make(n).ok_or_else(out_of_range)).transpose());
    Ok(Arc::new(
        made.collect::<Result<IntervalMonthDayNanoArray, Error>>()?,
    ))
}

fn months(call: &Call<'_>, each: i32) -> Result<ArrayRef> {
    of_numbers(call, |n| {
        let months = i32::try_from(n).ok()?.checked_mul(each)?;
        Some(IntervalMonthDayNano::new(months, 0, 0))
    })
}

fn days(call: &Call<'_>, each: i32) -> Result<ArrayRef> {
    of_numbers(call, |n| {
        let days = i32::try_from(n).ok()?.checked_mul(each)?;
        Some(IntervalMonthDayNano::new(0, days, 0))
    })
}

fn micros(call: &Call<'_>, each: i64) -> Result<ArrayRef> {
    of_numbers(call, |n| of_micros(n.checked_mul(each)?))
}

fn of_micros(micros: i64) -> Option<IntervalMonthDayNano> {
    let nanos = micros.checked_mul(NANOS_A_MICRO)?;
    Some(IntervalMonthDayNano::new(0, 0, nanos))
}

/// Numbers of units, each of which is so many microseconds.
fn rounded(call: &Call<'_>, each: f64) -> Result<ArrayRef> {
    let [numbers] = call.take()?;
    let numbers = numbers.as_primitive::<Float64Type>().iter();
    let made = numbers.map(|n| {
        n.map(|n| {
            let micros = i64_of((n * each).round_ties_even())?;
            of_micros(micros).ok_or_else(out_of_range)
        })
        .transpose()
    });
    Ok(Arc::new(
        made.collect::<Result<IntervalMonthDayNanoArray, Error>>()?,
    ))
}

fn i64_of(number: f64) -> Result<i64, Error> {
    let fits = number >= -(2f64.powi(63)) && number < 2f64.powi(63);
    fits.then_some(number as i64).ok_or_else(out_of_range)
}

fn i32_of(number: f64) -> Result<i32, Error> {
    i32::try_from(i64_of(number)?).map_err(|_| out_of_range())
}

fn times(call: &Call<'_>) -> Result<ArrayRef> {
    let [intervals, numbers] = call.take()?;
    let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>().iter();
    let numbers = numbers.as_primitive::<Int64Type>().iter();
    let made = intervals.zip(numbers).map(|(of, by)| {
        let (Some(of), Some(by)) = (of, by) else {
            return Ok(None);
        };
        let part = |part: i32| i32::try_from(by).ok()?.checked_mul(part);
        let made = || {
            let nanos = of.nanoseconds.checked_mul(by)?;
            Some(IntervalMonthDayNano::new(
                part(of.months)?,
                part(of.days)?,
                nanos,
            ))
        };
        made().map(Some).ok_or_else(out_of_range)
    });
    Ok(Arc::new(
        made.collect::<Result<IntervalMonthDayNanoArray, Error>>()?,
    ))
}

fn of_zero() -> Result<Option<IntervalMonthDayNano>, Error> {
    Ok(None)
}

fn refused_zero() -> Result<Option<IntervalMonthDayNano>, Error> {
    let error = Error::new(ErrorKind::OutOfRange, "division by zero");
    Err(error.with_sqlstate(DIVISION_BY_ZERO))
}

/// Fractions of months become days, and those of days seconds, as PostgreSQL has it.
fn scaled(
    call: &Call<'_>,
    scale: fn(f64, f64) -> f64,
    through_zero: fn() -> Result<Option<IntervalMonthDayNano>, Error>,
) -> Result<ArrayRef> {
    let [intervals, numbers] = call.take()?;
    let is_divided = scale(1.0, 0.0).is_infinite();
    let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>().iter();
    let numbers = numbers.as_primitive::<Float64Type>().iter();
    let made = intervals.zip(numbers).map(|(of, by)| match (of, by) {
        (Some(_), Some(by)) if is_divided && by == 0.0 => through_zero(),
        (Some(of), Some(by)) => scaled_by(of, |part| scale(part, by)).map(Some),
        _ => Ok(None),
    });
    Ok(Arc::new(
        made.collect::<Result<IntervalMonthDayNanoArray, Error>>()?,
    ))
}

pub(super) fn scaled_by(
    of: IntervalMonthDayNano,
    scale: impl Fn(f64) -> f64,
) -> Result<IntervalMonthDayNano, Error> {
    // To microseconds, against what DOUBLE makes of fractions.
    let exact = |number: f64| (number * 1e6).round_ties_even() / 1e6;
    let (months, days) = (scale(of.months.into()), scale(of.days.into()));
    let (whole_months, whole_days) = (i32_of(months.trunc())?, i32_of(days.trunc())?);
    let more_days = exact((months - months.trunc()) * DAYS_A_MONTH);
    let mut seconds = exact((days - days.trunc() + more_days.fract()) * SECONDS_A_DAY);
    let mut carried = i32_of(more_days.trunc())?;
    if seconds.abs() >= SECONDS_A_DAY {
        let full = (seconds / SECONDS_A_DAY).trunc();
        carried += full as i32;
        seconds -= full * SECONDS_A_DAY;
    }
    let micros = scale((of.nanoseconds / NANOS_A_MICRO) as f64) + seconds * 1e6;
    let micros = i64_of(micros.round_ties_even())?;
    let made = || {
        let nanos = micros.checked_mul(NANOS_A_MICRO)?;
        Some(IntervalMonthDayNano::new(
            whole_months,
            whole_days.checked_add(carried)?,
            nanos,
        ))
    };
    made().ok_or_else(out_of_range)
}
