//! `date_trunc(part, x)` of dates and timestamps of any year: the library's counts nanoseconds in 64 bits, which reach from 1677
//! to 2262. A DATE becomes a TIMESTAMP, as in DuckDB; an INTERVAL loses its smaller parts.

use super::text::calendar;
use super::whole::{Whole, registered};
use super::zone::{Zone, out_of_range};
use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
    TimeUnit,
};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind, date_part_name};
use std::sync::Arc;

const SECONDS_PER_DAY: i64 = 86_400;
const MICROS_PER_MINUTE: i64 = 60_000_000;

const MONTHS_PER_YEAR: i32 = 12;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let of_duckdb: Whole = (
        &["date_trunc", "datetrunc"],
        takes,
        |types, _| types.get(1).cloned(),
        |call, _| {
            let [parts, of] = call.take()?;
            match of.data_type() {
                DataType::Interval(_) => truncated_intervals(parts, of),
                _ => truncated(parts, of, Centuries::FromHundreds),
            }
        },
    );
    // A day begins in the session's zone there.
    let of_postgres: Whole = (
        &["date_trunc_as_postgres"],
        |types| match types {
            [part, DataType::Date32] if part.is_string() => {
                Some(vec![DataType::Utf8View, DataType::Date32])
            }
            types => takes(types),
        },
        |types, _| match types.get(1)? {
            DataType::Date32 => Some(DataType::Timestamp(
                TimeUnit::Microsecond,
                Some("UTC".into()),
            )),
            of => Some(of.clone()),
        },
        |call, _| {
            let [parts, of] = call.take()?;
            match of.data_type() {
                DataType::Interval(_) => {
                    refuse_weeks(parts)?;
                    truncated_intervals(parts, of)
                }
                DataType::Date32 => truncated_days(parts, of, call.to),
                _ => truncated(parts, of, Centuries::FromOne),
            }
        },
    );
    registered([of_duckdb, of_postgres], memory)
}

/// Which year the first of a century is, or of a millennium.
#[derive(Clone, Copy)]
enum Centuries {
    /// 2000, as in DuckDB.
    FromHundreds,
    /// 2001, as in PostgreSQL.
    FromOne,
}

impl Centuries {
    fn first_year(self, year: i64, years: i64) -> i64 {
        match self {
            Self::FromHundreds => year / years * years,
            Self::FromOne => (year - 1).div_euclid(years) * years + 1,
        }
    }
}

/// Days, as the instants of a zone that their parts begin at.
fn truncated_days(parts: &ArrayRef, of: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let zone = Zone::of(to).unwrap_or(Zone::UTC);
    let days = of.as_primitive::<Date32Type>().iter();
    let pairs = parts.as_string_view().iter().zip(days);
    let all = pairs.map(|(part, day)| {
        let (Some(part), Some(day)) = (part, day) else {
            return Ok(None);
        };
        let micros = match day {
            i32::MAX => return Ok(Some(i64::MAX)),
            day if day == -i32::MAX => return Ok(Some(-i64::MAX)),
            day => i64::from(day).checked_mul(SECONDS_PER_DAY * 1_000_000),
        };
        let first = truncate(
            part,
            micros.ok_or_else(out_of_range)?,
            1_000_000,
            Centuries::FromOne,
        )?;
        Ok(Some(zone.instant(first).ok_or_else(out_of_range)?))
    });
    let all: ArrayRef = Arc::new(all.collect::<Result<Int64Array>>()?);
    Ok(cast(&all, to)?)
}

fn takes(types: &[DataType]) -> Option<Vec<DataType>> {
    let [part, of] = types else { return None };
    let of = match of {
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Date32 | DataType::Null => DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        _ => return None,
    };
    (part.is_string() || part.is_null()).then_some(vec![DataType::Utf8View, of])
}

fn truncated_intervals(parts: &ArrayRef, of: &ArrayRef) -> Result<ArrayRef> {
    let intervals = of.as_primitive::<IntervalMonthDayNanoType>().iter();
    let pairs = parts.as_string_view().iter().zip(intervals);
    let all = pairs.map(|(part, interval)| match (part, interval) {
        (Some(part), Some(interval)) => truncate_interval(part, interval).map(Some),
        _ => Ok(None),
    });
    let all = all.collect::<Result<IntervalMonthDayNanoArray>>()?;
    Ok(Arc::new(all))
}

/// Months are of no whole number of weeks.
fn refuse_weeks(parts: &ArrayRef) -> Result<()> {
    let mut parts = parts.as_string_view().iter().flatten();
    match parts.any(|part| date_part_name(part) == Some("week")) {
        true => {
            let what = "date_trunc takes no weeks of intervals, since months are of no whole number of them";
            Err(Error::new(ErrorKind::Unsupported, what).into())
        }
        false => Ok(()),
    }
}

/// An interval whose smaller parts are gone; what is negative goes towards zero.
fn truncate_interval(part: &str, of: IntervalMonthDayNano) -> Result<IntervalMonthDayNano> {
    let months = |unit: i32| IntervalMonthDayNano::new(of.months / unit * unit, 0, 0);
    let time =
        |unit: i64| IntervalMonthDayNano::new(of.months, of.days, of.nanoseconds / unit * unit);
    Ok(match date_part_name(part).unwrap_or_default() {
        "microsecond" => time(1_000),
        "millisecond" => time(1_000_000),
        "second" | "epoch" => time(1_000_000_000),
        "minute" => time(60_000_000_000),
        "hour" => time(3_600_000_000_000),
        "day" | "dow" | "doy" | "isodow" | "julian" => {
            IntervalMonthDayNano::new(of.months, of.days, 0)
        }
        "week" | "yearweek" => IntervalMonthDayNano::new(of.months, of.days / 7 * 7, 0),
        "month" => months(1),
        "quarter" => months(3),
        "year" | "isoyear" => months(MONTHS_PER_YEAR),
        "decade" => months(10 * MONTHS_PER_YEAR),
        "century" => months(100 * MONTHS_PER_YEAR),
        "millennium" => months(1000 * MONTHS_PER_YEAR),
        _ => return Err(unknown_part()),
    })
}

fn unknown_part() -> DataFusionError {
    let what = "date_trunc takes a part from microsecond to millennium";
    Error::new(ErrorKind::Conversion, what).into()
}

fn truncated(parts: &ArrayRef, of: &ArrayRef, centuries: Centuries) -> Result<ArrayRef> {
    let per_second = match of.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => 1,
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1_000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1_000_000,
        _ => 1_000_000_000,
    };
    let zone = Zone::of(of.data_type()).filter(|zone| *zone != Zone::UTC);
    let values = cast(of, &DataType::Int64)?;
    let values = values.as_primitive::<Int64Type>().iter();
    let pairs = parts.as_string_view().iter().zip(values);
    let all = pairs.map(|(part, value)| match (part, value, zone) {
        (Some(part), Some(value), None) => truncate(part, value, per_second, centuries).map(Some),
        // Instants come in microseconds.
        (Some(part), Some(value), Some(zone)) => {
            let shown = zone.local(value).ok_or_else(out_of_range)?;
            let first = truncate(part, shown, per_second, centuries)?;
            match shown - first < MICROS_PER_MINUTE {
                // No clocks are changed in between.
                true => Ok(Some(value - (shown - first))),
                false => Ok(Some(zone.instant(first).ok_or_else(out_of_range)?)),
            }
        }
        _ => Ok(None),
    });
    let all: ArrayRef = Arc::new(all.collect::<Result<Int64Array>>()?);
    Ok(cast(&all, of.data_type())?)
}

/// A moment, in units of which so many are a second, cut to a part.
fn truncate(part: &str, value: i64, per_second: i64, centuries: Centuries) -> Result<i64> {
    // DuckDB's infinities.
    if value == i64::MAX || value == -i64::MAX {
        return Ok(value);
    }
    let down = |value: i64, to: i64| value.div_euclid(to) * to;
    let day = value.div_euclid(SECONDS_PER_DAY * per_second);
    let (year, month, day_of_month) = calendar(day);
    // Weeks begin on Monday.
    let monday = |day: i64| day - (day + 3).rem_euclid(7);
    let first_day = match date_part_name(part).unwrap_or_default() {
        "microsecond" => {
            return Ok(down(value, (per_second / 1_000_000).max(1)));
        }
        "millisecond" => {
            return Ok(down(value, (per_second / 1_000).max(1)));
        }
        "second" | "epoch" => return Ok(down(value, per_second)),
        "minute" => return Ok(down(value, 60 * per_second)),
        "hour" => return Ok(down(value, 3_600 * per_second)),
        "day" | "dow" | "doy" | "isodow" | "julian" => day,
        "week" | "yearweek" => monday(day),
        "month" => day - day_of_month + 1,
        "quarter" => first_of(year, month - (month - 1) % 3),
        "year" => first_of(year, 1),
        // The first week is that of 4 January, and a week is of the year of its Thursday.
        "isoyear" => monday(first_of(calendar(monday(day) + 3).0, 1) + 3),
        "decade" => first_of(year / 10 * 10, 1),
        "century" => first_of(centuries.first_year(year, 100), 1),
        "millennium" => first_of(centuries.first_year(year, 1000), 1),
        _ => return Err(unknown_part()),
    };
    let beyond = || Error::new(ErrorKind::OutOfRange, "the timestamp is out of range");
    let first = first_day.checked_mul(SECONDS_PER_DAY * per_second);
    Ok(first.ok_or_else(beyond)?)
}

/// Days since 1970 of the first day of a month.
pub(super) fn first_of(year: i64, month: i64) -> i64 {
    let (year, month) = if month < 3 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    days + (153 * month + 2) / 5 - 719_468
}
