//! `make_date`, `make_time`, `make_timestamp`: days, times of the day and points in time from their parts; `epoch_ms` and the like:
//! from how long after 1970 they are, and back.

use super::date_trunc::first_of;
use super::plain::{Columns, Form, Kind, Row, Run, plain};
use super::room::Room;
use super::text::calendar;
use datafusion::arrow::array::{
    ArrayRef, Date32Array, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampNanosecondArray,
};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

const MICROS_PER_SECOND: f64 = 1e6;
const MICROS_PER_DAY: i64 = 86_400_000_000;
const MOMENT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
const NANOS: DataType = DataType::Timestamp(TimeUnit::Nanosecond, None);

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    use Kind::{Double, Int};
    let time = DataType::Time64(TimeUnit::Microsecond);
    [
        plain(
            &["make_date"],
            vec![
                Form::new(&[Int], Run::Whole(DataType::Date32, date_of_day)),
                Form::new(&[Int, Int, Int], Run::Whole(DataType::Date32, date)),
            ],
            memory,
        ),
        plain(
            &["make_time"],
            vec![Form::new(
                &[Int, Int, Double],
                Run::Whole(time, time_of_day),
            )],
            memory,
        ),
        plain(
            &["make_timestamp"],
            vec![
                Form::new(
                    &[Int],
                    Run::Whole(MOMENT, |columns, _| {
                        moments(columns, |row| Some(row.int(0)))
                    }),
                ),
                Form::new(
                    &[Int, Int, Int, Int, Int, Double],
                    Run::Whole(MOMENT, moment_of_parts),
                ),
            ],
            memory,
        ),
        plain(&["make_timestamp_ms"], vec![of_millis()], memory),
        plain(
            &["make_timestamp_ns"],
            vec![Form::new(&[Int], Run::Whole(NANOS, moments_of_nanos))],
            memory,
        ),
    ]
    .into_iter()
    .chain(epochs(memory))
    .collect()
}

/// Milliseconds and microseconds since 1970.
fn epochs(memory: &Arc<dyn MemoryPool>) -> [Arc<ScalarUDF>; 2] {
    [
        plain(
            &["epoch_ms"],
            vec![
                of_millis(),
                Form::new(
                    &[Kind::Moment],
                    Run::Int(|row| Ok(near(row.int(0)).map(|at| at / 1000))),
                ),
                Form::new(
                    &[Kind::Instant],
                    Run::Int(|row| Ok(near(row.int(0)).map(|at| at / 1000))),
                ),
                Form::new(
                    &[Kind::Day],
                    Run::Int(|row| micros_of_day_number(row.int(0), 1000)),
                ),
                Form::new(&[Kind::Span], Run::Int(|row| Ok(Some(row.int(0) / 1000)))),
                Form::new(&[Kind::Clock], Run::Int(|row| Ok(Some(row.int(0) / 1000)))),
                Form::new(
                    &[Kind::ZonedClock],
                    Run::Int(|row| Ok(Some(row.int(0) / 1000))),
                ),
            ],
            memory,
        ),
        plain(
            &["epoch_us"],
            vec![
                Form::new(&[Kind::Moment], Run::Int(|row| Ok(near(row.int(0))))),
                Form::new(&[Kind::Instant], Run::Int(|row| Ok(near(row.int(0))))),
                Form::new(
                    &[Kind::Day],
                    Run::Int(|row| micros_of_day_number(row.int(0), 1)),
                ),
                Form::new(&[Kind::Span], Run::Int(|row| Ok(Some(row.int(0))))),
                Form::new(&[Kind::Clock], Run::Int(|row| Ok(Some(row.int(0))))),
                Form::new(&[Kind::ZonedClock], Run::Int(|row| Ok(Some(row.int(0))))),
            ],
            memory,
        ),
    ]
}

/// Points in time, given in nanoseconds since 1970.
fn moments_of_nanos(columns: &Columns, _: &mut Room) -> Result<ArrayRef> {
    let nanos = columns.rows().map(|row| match row.has_null() {
        true => Ok(None),
        // The last of 64 bits are infinitely far.
        false => match near(row.int(0)) {
            Some(nanos) if nanos != i64::MIN => Ok(Some(nanos)),
            _ => Err(out_of_range("Timestamp")),
        },
    });
    let nanos = nanos.collect::<Result<TimestampNanosecondArray, _>>()?;
    Ok(Arc::new(nanos))
}

/// A point in time, given in milliseconds since 1970.
fn of_millis() -> Form {
    Form::new(
        &[Kind::Int],
        Run::Whole(MOMENT, |columns, _| {
            moments(columns, |row| row.int(0).checked_mul(1000))
        }),
    )
}

/// The first microsecond of a day, counted in units of so many.
fn micros_of_day_number(day: i64, unit: i64) -> Result<Option<i64>> {
    if day.abs() == i64::from(i32::MAX) {
        return Ok(None);
    }
    match day.checked_mul(MICROS_PER_DAY) {
        Some(micros) => Ok(Some(micros / unit)),
        None => Err(out_of_range("Timestamp").into()),
    }
}

/// A timestamp that is not infinitely far.
fn near(micros: i64) -> Option<i64> {
    Some(micros).filter(|micros| micros.saturating_abs() != i64::MAX)
}

fn moments(columns: &Columns, micros: fn(Row<'_>) -> Option<i64>) -> Result<ArrayRef> {
    let moments = columns.rows().map(|row| match row.has_null() {
        true => Ok(None),
        false => {
            let found = micros(row).and_then(near);
            found.map(Some).ok_or_else(|| out_of_range("Timestamp"))
        }
    });
    let moments = moments.collect::<Result<TimestampMicrosecondArray, Error>>()?;
    Ok(Arc::new(moments))
}

fn moment_of_parts(columns: &Columns, _: &mut Room) -> Result<ArrayRef> {
    moments(columns, |row| {
        let day = day_of(row.int(0), row.int(1), row.int(2))?;
        let time = micros_of_day(row.int(3), row.int(4), row.double(5))?;
        i64::from(day)
            .checked_mul(MICROS_PER_DAY)?
            .checked_add(time)
    })
}

fn out_of_range(what: &str) -> Error {
    Error::new(ErrorKind::Conversion, format!("{what} out of range")).with_sqlstate("22008")
}

/// A day, counted from 1970.
fn date_of_day(columns: &Columns, _: &mut Room) -> Result<ArrayRef> {
    let days = columns.rows().map(|row| match row.has_null() {
        true => Ok(None),
        false => i32::try_from(row.int(0))
            .map(Some)
            .map_err(|_| out_of_range("Date")),
    });
    Ok(Arc::new(days.collect::<Result<Date32Array, Error>>()?))
}

fn date(columns: &Columns, _: &mut Room) -> Result<ArrayRef> {
    let days = columns.rows().map(|row| match row.has_null() {
        true => Ok(None),
        false => {
            let day = day_of(row.int(0), row.int(1), row.int(2));
            day.map(Some).ok_or_else(|| out_of_range("Date"))
        }
    });
    Ok(Arc::new(days.collect::<Result<Date32Array, Error>>()?))
}

/// The day of a calendar's date, if there is one: not the two that stand for infinities, nor what lies outside of them.
pub(super) fn day_of(year: i64, month: i64, day: i64) -> Option<i32> {
    let year = i64::from(i32::try_from(year).ok()?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = first_of(year, month) + day - 1;
    let known = i32::try_from(days).ok()?;
    (known.unsigned_abs() < i32::MAX.unsigned_abs() && calendar(days).1 == month).then_some(known)
}

/// Fractions of seconds are rounded to microseconds, up to the end of the day.
fn time_of_day(columns: &Columns, _: &mut Room) -> Result<ArrayRef> {
    let times = columns.rows().map(|row| match row.has_null() {
        true => Ok(None),
        false => {
            let time = micros_of_day(row.int(0), row.int(1), row.double(2));
            time.map(Some).ok_or_else(|| out_of_range("Time"))
        }
    });
    Ok(Arc::new(
        times.collect::<Result<Time64MicrosecondArray, Error>>()?,
    ))
}

fn micros_of_day(hour: i64, minute: i64, second: f64) -> Option<i64> {
    const DAY: i64 = 86_400_000_000;
    let is_time = (0..=24).contains(&hour) && (0..60).contains(&minute);
    if !is_time || !(0.0..=60.0).contains(&second) {
        return None;
    }
    let micros = (second * MICROS_PER_SECOND).round() as i64;
    Some((hour * 60 + minute) * 60_000_000 + micros).filter(|time| *time <= DAY)
}
