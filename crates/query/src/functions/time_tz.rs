//! TIME WITH TIME ZONE: casts, `timetz_byte_comparable(x)`, and times that an interval moves or a day gives a date.
//!
//! What must hold: a time that says no distance from UTC has that of the session's clocks now.

use super::whole::{Call, Whole, registered};
use super::zone::Zone;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeBinaryBuilder, PrimitiveArray, TimestampMicrosecondArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
    Time64MicrosecondType, TimeUnit, UInt64Type,
};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::type_names::type_name;
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::{TIMETZ, TimeTz, clock};
use std::sync::Arc;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
const SPAN: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const INSTANT: fn() -> DataType = || DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));

/// A time that an interval moves forward.
pub const TIME_PLUS: &str = "$time_plus";
/// A time that an interval moves back.
pub const TIME_MINUS: &str = "$time_minus";
/// The instant of a time on a day.
pub const TIME_OF_DAY: &str = "$time_of_day";

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let moved = |types: &[DataType]| match types {
        [of, DataType::Interval(_) | DataType::Null] if *of == TIMETZ => Some(vec![TIMETZ, SPAN]),
        _ => None,
    };
    let functions: [Whole; 4] = [
        (
            &[TIME_PLUS],
            moved,
            |_, _| Some(TIMETZ),
            |call, _| shifted(call, 1),
        ),
        (
            &[TIME_MINUS],
            moved,
            |_, _| Some(TIMETZ),
            |call, _| shifted(call, -1),
        ),
        (
            &[TIME_OF_DAY],
            |types| match types {
                [DataType::Date32, of] if *of == TIMETZ => Some(types.to_vec()),
                _ => None,
            },
            |_, _| Some(INSTANT()),
            |call, _| of_days(call),
        ),
        (
            &["timetz_byte_comparable"],
            |types| match types {
                [of] if *of == TIMETZ => Some(types.to_vec()),
                [DataType::Null] => Some(vec![TIMETZ]),
                _ => None,
            },
            |_, _| Some(DataType::UInt64),
            |call, _| {
                let [of] = call.take()?;
                let numbers = of.as_fixed_size_binary().iter();
                let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_be_bytes);
                let numbers = numbers.map(|bytes| bytes.map(number));
                Ok(Arc::new(numbers.collect::<PrimitiveArray<UInt64Type>>()))
            },
        ),
    ];
    registered(functions, memory)
}

/// The values of a column of them.
pub(super) fn times(array: &ArrayRef) -> impl Iterator<Item = Option<TimeTz>> + '_ {
    let values = array.as_fixed_size_binary();
    values.iter().map(|bytes| bytes.and_then(TimeTz::of_bytes))
}

/// How far clocks of UTC are from midnight, in microseconds: also before it, and by more than a day.
pub(super) fn from_midnight(array: &ArrayRef) -> ArrayRef {
    let of_utc = |time: TimeTz| time.micros() - i64::from(time.offset()) * MICROS_PER_SECOND;
    let micros = times(array).map(|time| time.map(of_utc));
    Arc::new(micros.collect::<PrimitiveArray<Int64Type>>())
}

/// The column of values.
pub(super) fn column(values: impl Iterator<Item = Result<Option<TimeTz>>>) -> Result<ArrayRef> {
    let mut out = FixedSizeBinaryBuilder::new(8);
    for value in values {
        match value? {
            Some(value) => out.append_value(value.to_bytes())?,
            None => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

/// A time of a clock that is so many microseconds before UTC; one further than 16 hours has no such value.
fn at(micros: i64, offset: i64) -> Option<TimeTz> {
    TimeTz::new(micros, i32::try_from(offset / MICROS_PER_SECOND).ok()?)
}

/// Whether a cast is one of these, from or to TIME WITH TIME ZONE.
pub(super) fn is_of_times(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (from, to) if *to == TIMETZ => {
            let is_moment = |unit: &TimeUnit| *unit == TimeUnit::Microsecond;
            match from {
                DataType::Timestamp(unit, _) => is_moment(unit),
                DataType::Time64(_) => true,
                other => other.is_string(),
            }
        }
        (from, DataType::Time64(_)) => *from == TIMETZ,
        _ => false,
    }
}

/// Refuses other casts from or to it than those: bytes must not become times.
///
/// # Errors
/// `Conversion` for these, with the names of both types.
pub(crate) fn check_cast_of_times(from: &DataType, to: &DataType) -> Result<()> {
    let is_other = (*from == TIMETZ || *to == TIMETZ) && from != to;
    match is_other && !from.is_null() && !to.is_string() && !is_of_times(from, to) {
        true => {
            let (from, to) = (type_name(from), type_name(to));
            let text = format!("Unimplemented type for cast ({from} -> {to})");
            Err(Error::new(ErrorKind::Conversion, text).into())
        }
        false => Ok(()),
    }
}

/// Casts an array so.
pub(super) fn cast_times(
    array: &ArrayRef,
    to: &DataType,
    lenient: bool,
    zone: Option<Zone>,
) -> Result<ArrayRef> {
    match array.data_type() {
        of if *of == TIMETZ => {
            let micros = times(array).map(|time| time.map(TimeTz::micros));
            let micros: ArrayRef =
                Arc::new(micros.collect::<PrimitiveArray<Time64MicrosecondType>>());
            Ok(cast(&micros, to)?)
        }
        DataType::Time64(_) => {
            let micros = cast(array, &DataType::Time64(TimeUnit::Microsecond))?;
            let micros = micros.as_primitive::<Time64MicrosecondType>().iter();
            column(micros.map(|time| Ok(time.and_then(|time| TimeTz::new(time, 0)))))
        }
        DataType::Timestamp(..) => {
            let zone = Zone::of(array.data_type()).unwrap_or(Zone::UTC);
            let is_finite = |instant: &i64| instant.saturating_abs() != i64::MAX;
            // A TIMESTAMP that is infinitely far is an error; one with a time zone has no time.
            let is_kept = |instant: &i64| is_finite(instant) || !is_of_zone(array);
            // Of no other unit; Arrow's cast to instants does not reach the last years.
            let instants = cast(array, &DataType::Int64)?;
            let instants = instants.as_primitive::<Int64Type>().iter();
            column(instants.map(|instant| {
                let time = instant.filter(is_kept).map(|instant| {
                    let instant = Some(instant).filter(is_finite)?;
                    let offset = zone.offset(instant);
                    let shown = instant.checked_add(offset)?;
                    at(shown.rem_euclid(MICROS_PER_DAY), offset)
                });
                match time {
                    Some(None) if !lenient => Err(out_of_range().into()),
                    time => Ok(time.flatten()),
                }
            }))
        }
        _ => of_texts(array, lenient, zone),
    }
}

fn is_of_zone(array: &ArrayRef) -> bool {
    matches!(array.data_type(), DataType::Timestamp(_, Some(_)))
}

fn out_of_range() -> Error {
    Error::new(ErrorKind::Conversion, "TIME WITH TIME ZONE out of range")
}

fn of_texts(array: &ArrayRef, lenient: bool, zone: Option<Zone>) -> Result<ArrayRef> {
    let offset = zone.map_or(0, offset_now);
    let view = cast(array, &DataType::Utf8View)?;
    let view = view.as_string_view();
    column(view.iter().map(|text| {
        let Some(text) = text else { return Ok(None) };
        match (super::text_values::time_with_zone(text, offset), lenient) {
            (None, false) => {
                let text = "Could not convert a string to TIME WITH TIME ZONE; TRY_CAST gives NULL instead";
                Err(Error::new(ErrorKind::Conversion, text).into())
            }
            (found, _) => Ok(found),
        }
    }))
}

/// How far the clocks of a zone are from UTC now.
fn offset_now(zone: Zone) -> i64 {
    zone.offset(clock::unix_micros())
}

fn shifted(call: &Call<'_>, sign: i64) -> Result<ArrayRef> {
    let [of, by] = call.take()?;
    let by = by.as_primitive::<IntervalMonthDayNanoType>().iter();
    column(times(of).zip(by).map(|pair| match pair {
        // Months and days come round to the same time.
        (Some(time), Some(by)) => {
            let micros = time.micros() + sign * (by.nanoseconds / 1000 % MICROS_PER_DAY);
            Ok(TimeTz::new(
                micros.rem_euclid(MICROS_PER_DAY),
                time.offset(),
            ))
        }
        _ => Ok(None),
    }))
}

/// The instants at which clocks show these times on these days.
fn of_days(call: &Call<'_>) -> Result<ArrayRef> {
    let [days, of] = call.take()?;
    let days = days.as_primitive::<Date32Type>().iter();
    let instants = days.zip(times(of)).map(|pair| match pair {
        (Some(day), Some(_)) if day.saturating_abs() == i32::MAX => {
            Ok(Some(i64::from(day.signum()) * i64::MAX))
        }
        (Some(day), Some(time)) => {
            let instant = i64::from(day)
                .checked_mul(MICROS_PER_DAY)
                .and_then(|day| day.checked_add(time.micros()))
                .and_then(|shown| shown.checked_sub(i64::from(time.offset()) * MICROS_PER_SECOND));
            instant.map(Some).ok_or_else(super::zone::out_of_range)
        }
        _ => Ok(None),
    });
    let instants = instants.collect::<Result<TimestampMicrosecondArray, Error>>()?;
    Ok(Arc::new(instants.with_data_type(call.to.clone())))
}

/// Times as clocks of zones show them, which are named or are a distance from UTC.
pub(super) fn in_zone(zones: &ArrayRef, of: &ArrayRef) -> Result<ArrayRef> {
    let offsets: Vec<Option<i64>> = match zones.data_type() {
        DataType::Interval(_) => {
            let spans = zones.as_primitive::<IntervalMonthDayNanoType>().iter();
            let offset = |span: IntervalMonthDayNano| match (span.months, span.days) {
                (0, 0) => Ok(span.nanoseconds / 1000),
                _ => Err(Error::invalid(
                    "an interval for a time zone has no months or days",
                )),
            };
            let offsets = spans.map(|span| span.map(offset).transpose());
            offsets.collect::<Result<_, _>>()?
        }
        _ => {
            let names = zones.as_string_view().iter();
            let offset = |name| Zone::known(name).map(offset_now);
            let offsets = names.map(|name| name.map(offset).transpose());
            offsets.collect::<Result<_, _>>()?
        }
    };
    column(times(of).zip(offsets).map(|pair| match pair {
        (Some(time), Some(offset)) => match moved_to(time, offset) {
            Some(time) => Ok(Some(time)),
            None => Err(out_of_range().into()),
        },
        _ => Ok(None),
    }))
}

/// The same times as clocks so many microseconds before UTC show them.
fn moved_to(time: TimeTz, offset: i64) -> Option<TimeTz> {
    let utc = time.micros() - i64::from(time.offset()) * MICROS_PER_SECOND;
    at((utc + offset).rem_euclid(MICROS_PER_DAY), offset)
}
