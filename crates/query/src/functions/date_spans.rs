//! What lies between two points in time: `date_sub(part, a, b)`, `age(a, b)`; and `time_bucket(width, x)`, the stretch that one is in.
//!
//! What must hold: infinite points are NULL, or themselves in a bucket; nothing overflows, however far apart.

use super::date_trunc::first_of;
use super::moment_cast::cast_moments;
use super::rounding_cast::cast_rounding;
use super::text::calendar;
use super::time_tz::times;
use super::whole::{Call, Whole, registered};
use super::zone::Zone;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Int64Array, IntervalMonthDayNanoArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind, date_part_name};
use hushdb_storage::TIMETZ;
use std::sync::Arc;

const MICROS_PER_DAY: i64 = 86_400_000_000;
const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
/// Monday 2000-01-03, from which days and hours are counted.
const ORIGIN: i64 = 10_959 * MICROS_PER_DAY;
/// January 2000, in months since year 0.
const ORIGIN_MONTHS: i64 = 2000 * 12;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 6] = [
        (
            &["$moment"],
            one_beside_another,
            |types, _| as_moment(types),
            |call, _| {
                let [of, _] = call.take()?;
                match of.data_type() {
                    // Of the first day.
                    DataType::Time64(_) => Ok(cast(&cast(of, &DataType::Int64)?, call.to)?),
                    _ => cast_rounding(of, call.to, false),
                }
            },
        ),
        (
            &["$shown"],
            |types| Some(types.to_vec()).filter(|types| types.len() == 1),
            |types, _| types.first().map(without_zone),
            |call, _| {
                let [of] = call.take()?;
                cast_moments(of, &without_zone(of.data_type()), false)
            },
        ),
        (
            &["epoch_ns"],
            counted_in_nanos,
            |_, _| Some(DataType::Int64),
            |call, _| nanos(call),
        ),
        (
            &["date_sub", "datesub"],
            part_and_two,
            |_, _| Some(DataType::Int64),
            |call, _| differences(call),
        ),
        (
            &["age"],
            two_moments,
            |_, _| Some(INTERVAL),
            |call, _| ages(call),
        ),
        (&["time_bucket"], bucketed, bucket_type, |call, _| {
            buckets(call)
        }),
    ];
    registered(functions, memory)
}

fn micros(zone: Option<Arc<str>>) -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, zone)
}

/// Two points in time as timestamps, with a zone if one has it.
fn both(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType as T;
    let mut zone = None;
    for of in [left, right] {
        match of {
            T::Timestamp(_, own) => zone = zone.or(own.clone()),
            T::Date32 | T::Null => {}
            _ => return None,
        }
    }
    Some(micros(zone))
}

/// The timestamp that the first of two is taken for, a date, a text or a timestamp: with a zone if one of both has it.
fn as_moment(types: &[DataType]) -> Option<DataType> {
    let mut zones = types.iter().map(|of| match of {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    });
    Some(micros(zones.find_map(|zone| zone)))
}

fn one_beside_another(types: &[DataType]) -> Option<Vec<DataType>> {
    let [of, other] = types else { return None };
    let of = match of {
        of if of.is_string() => DataType::Utf8View,
        DataType::Timestamp(..) | DataType::Date32 => of.clone(),
        DataType::Time64(_) | DataType::Time32(_) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Null => as_moment(types)?,
        _ => return None,
    };
    Some(vec![of, other.clone()])
}

/// The type of what clocks show, of instants; all others as they are.
fn without_zone(of: &DataType) -> DataType {
    match of {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, None),
        of => of.clone(),
    }
}

fn two_moments(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [left, right] => Some(vec![both(left, right)?; 2]),
        _ => None,
    }
}

/// What there are nanoseconds of.
fn counted_in_nanos(types: &[DataType]) -> Option<Vec<DataType>> {
    use DataType as T;
    match types {
        [T::Timestamp(..) | T::Date32] => Some(types.to_vec()),
        [T::Null] => Some(vec![T::Date32]),
        [T::Interval(_)] => Some(vec![INTERVAL]),
        [T::Time64(_) | T::Time32(_)] => Some(vec![T::Time64(TimeUnit::Nanosecond)]),
        [of] if *of == TIMETZ => Some(vec![TIMETZ]),
        _ => None,
    }
}

/// Nanoseconds since 1970, since midnight, or in an interval whose months have 30 days.
fn nanos(call: &Call<'_>) -> Result<ArrayRef> {
    let [of] = call.take()?;
    let out_of_range = |what: &str| {
        let what = format!("Could not convert {what} to Nanoseconds");
        Error::new(ErrorKind::Conversion, what)
    };
    let counts: Result<Int64Array, Error> = match of.data_type() {
        of_time if *of_time == TIMETZ => {
            let counts = times(of).map(|time| time.map(|time| time.micros() * 1000));
            Ok(counts.collect())
        }
        DataType::Interval(_) => {
            let spans = of.as_primitive::<IntervalMonthDayNanoType>();
            spans.try_unary(|span| {
                let days = i64::from(span.months) * 30 + i64::from(span.days);
                days.checked_mul(MICROS_PER_DAY * 1000)
                    .and_then(|days| days.checked_add(span.nanoseconds))
                    .ok_or_else(|| out_of_range("Interval"))
            })
        }
        DataType::Time64(_) | DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            return Ok(cast(of, &DataType::Int64)?);
        }
        _ => {
            let moments = as_micros(of)?;
            let moments = moments.as_primitive::<TimestampMicrosecondType>().iter();
            let counts = moments.map(|at| {
                let near = at.filter(|at| is_finite(*at));
                near.map(|at| {
                    at.checked_mul(1000)
                        .ok_or_else(|| out_of_range("Timestamp"))
                })
                .transpose()
            });
            counts.collect()
        }
    };
    Ok(Arc::new(counts?))
}

fn part_and_two(types: &[DataType]) -> Option<Vec<DataType>> {
    let [part, left, right] = types else {
        return None;
    };
    if !part.is_string() && !part.is_null() {
        return None;
    }
    let time = DataType::Time64(TimeUnit::Microsecond);
    let is_time = |t: &DataType| matches!(t, DataType::Time64(_) | DataType::Time32(_));
    let of = match (left, right) {
        (left, right) if is_time(left) && is_time(right) => time,
        (other, DataType::Null) | (DataType::Null, other) if is_time(other) => time,
        _ => both(left, right)?,
    };
    Some(vec![DataType::Utf8View, of.clone(), of])
}

/// A width, a point in time, and perhaps another or an interval from which buckets are counted, or the zone of an instant's clocks. A
/// DATE comes as one.
fn bucketed(types: &[DataType]) -> Option<Vec<DataType>> {
    let (width, of, from) = match types {
        [width, of] => (width, of, None),
        [width, of, from] => (width, of, Some(from)),
        _ => return None,
    };
    let is_interval = |t: &DataType| matches!(t, DataType::Interval(_)) || t.is_null();
    let point = |t: &DataType| match t {
        DataType::Timestamp(_, zone) => Some(micros(zone.clone())),
        DataType::Date32 | DataType::Null => Some(DataType::Date32),
        _ => None,
    };
    let mut of = point(of)?;
    let mut all = vec![INTERVAL];
    let from = match from {
        None => None,
        Some(from) if is_interval(from) => Some(INTERVAL),
        // The name of a zone, whose clocks are looked at.
        Some(from) if from.is_string() && matches!(of, DataType::Timestamp(_, Some(_))) => {
            Some(DataType::Utf8View)
        }
        Some(from) => {
            let from = point(from)?;
            if from != of {
                of = both(&of, &from)?;
            }
            Some(of.clone())
        }
    };
    all.push(of);
    all.extend(from);
    is_interval(width).then_some(all)
}

fn bucket_type(types: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    types.get(1).cloned()
}

/// What differences are counted in.
enum Unit {
    Months(i64),
    Micros(i64),
}

fn unit(part: &str) -> Option<Unit> {
    let seconds = |seconds: i64| Unit::Micros(seconds * 1_000_000);
    Some(match date_part_name(part)? {
        "millennium" => Unit::Months(12_000),
        "century" => Unit::Months(1200),
        "decade" => Unit::Months(120),
        "year" | "isoyear" => Unit::Months(12),
        "quarter" => Unit::Months(3),
        "month" => Unit::Months(1),
        "week" | "yearweek" => seconds(7 * 86_400),
        "day" | "dow" | "isodow" | "doy" | "julian" => seconds(86_400),
        "hour" => seconds(3600),
        "minute" => seconds(60),
        "second" | "epoch" => seconds(1),
        "millisecond" => Unit::Micros(1000),
        "microsecond" => Unit::Micros(1),
        _ => return None,
    })
}

fn is_finite(micros: i64) -> bool {
    micros != i64::MAX && micros != -i64::MAX
}

fn out_of_range(what: &str) -> Error {
    Error::new(ErrorKind::OutOfRange, format!("{what} is out of range"))
}

fn differences(call: &Call<'_>) -> Result<ArrayRef> {
    let [parts, from, to] = call.take()?;
    let parts = parts.as_string_view();
    let is_time = matches!(from.data_type(), DataType::Time64(_));
    let zone = Zone::of(from.data_type()).unwrap_or(Zone::UTC);
    let value = |array: &ArrayRef, row: usize| match is_time {
        true => array.as_primitive::<Time64MicrosecondType>().value(row),
        false => array.as_primitive::<TimestampMicrosecondType>().value(row),
    };
    let answers = (0..parts.len()).map(|row| {
        if [parts as &dyn Array, from.as_ref(), to.as_ref()]
            .iter()
            .any(|array| array.is_null(row))
        {
            return Ok(None);
        }
        let (from, to) = (value(from, row), value(to, row));
        let unit = unit(parts.value(row)).ok_or_else(|| {
            let what = "date_sub takes a part from microsecond to millennium";
            Error::new(ErrorKind::Conversion, what)
        })?;
        // Days and what is longer are those of clocks.
        let is_short = matches!(unit, Unit::Micros(each) if each < MICROS_PER_DAY);
        let (from, to) = match is_short {
            true => (from, to),
            false => (shown(zone, from)?, shown(zone, to)?),
        };
        match unit {
            _ if !(is_time || is_finite(from) && is_finite(to)) => Ok(None),
            Unit::Micros(each) if !is_time || each < MICROS_PER_DAY => {
                let apart = i128::from(to) - i128::from(from);
                let count = i64::try_from(apart / i128::from(each));
                count.map(Some).map_err(|_| out_of_range("date_sub"))
            }
            Unit::Months(each) if !is_time => Ok(Some(full_months(from, to) / each)),
            _ => Err(Error::unsupported(
                "date_sub of TIME takes parts of a day: hour, minute, second and smaller ones",
            )),
        }
    });
    Ok(Arc::new(answers.collect::<Result<Int64Array, Error>>()?))
}

/// What a zone's clocks show.
fn shown(zone: Zone, instant: i64) -> Result<i64, Error> {
    zone.local(instant).ok_or_else(|| out_of_range("Timestamp"))
}

/// Year, month, day and microseconds of that day.
fn fields(micros: i64) -> (i64, i64, i64, i64) {
    let (year, month, day) = calendar(micros.div_euclid(MICROS_PER_DAY));
    (year, month, day, micros.rem_euclid(MICROS_PER_DAY))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let (next_year, next) = if month == 12 {
        (year + 1, 1)
    } else {
        (year, month + 1)
    };
    first_of(next_year, next) - first_of(year, month)
}

/// The last day of a month ends a month that began on a later day of another.
fn full_months(from: i64, to: i64) -> i64 {
    if from > to {
        return -full_months(to, from);
    }
    let (from_year, from_month, mut from_day, from_time) = fields(from);
    let (year, month, day, time) = fields(to);
    if day == days_in_month(year, month) && from_day > day {
        from_day = day;
    }
    let months = (year - from_year) * 12 + month - from_month;
    months - i64::from((from_day, from_time) > (day, time))
}

fn ages(call: &Call<'_>) -> Result<ArrayRef> {
    let [left, right] = call.take()?.each_ref();
    let zone = Zone::of(left.data_type()).unwrap_or(Zone::UTC);
    let left = left.as_primitive::<TimestampMicrosecondType>().iter();
    let right = right.as_primitive::<TimestampMicrosecondType>().iter();
    let ages = left.zip(right).map(|pair| match pair {
        (Some(left), Some(right)) if is_finite(left) && is_finite(right) => {
            age(shown(zone, left)?, shown(zone, right)?).map(Some)
        }
        _ => Ok(None),
    });
    let ages = ages.collect::<Result<IntervalMonthDayNanoArray, Error>>()?;
    Ok(Arc::new(ages))
}

/// The years, months, days and time of the day from the second point to the first, field by field as PostgreSQL has it.
fn age(left: i64, right: i64) -> Result<IntervalMonthDayNano, Error> {
    let sign = if left < right { -1 } else { 1 };
    let (a, b) = (fields(left), fields(right));
    let mut months = sign * ((a.0 - b.0) * 12 + a.1 - b.1);
    let mut days = sign * (a.2 - b.2);
    let mut micros = sign * (a.3 - b.3);
    if micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    }
    while days < 0 {
        let (year, month, ..) = if sign < 0 { a } else { b };
        days += days_in_month(year, month);
        months -= 1;
    }
    let number = |n: i64| i32::try_from(sign * n).map_err(|_| out_of_range("age"));
    Ok(IntervalMonthDayNano::new(
        number(months)?,
        number(days)?,
        sign * micros * 1000,
    ))
}

/// How wide buckets are.
enum Width {
    Months(i64),
    Micros(i64),
}

impl Width {
    fn of(width: IntervalMonthDayNano) -> Result<Self, Error> {
        let micros = i64::from(width.days)
            .checked_mul(MICROS_PER_DAY)
            .and_then(|days| days.checked_add(width.nanoseconds / 1000))
            .ok_or_else(|| out_of_range("the width of a bucket"))?;
        let width = match (width.months, micros) {
            (0, micros) => Self::Micros(micros),
            (months, 0) => Self::Months(months.into()),
            _ => {
                return Err(Error::unsupported(
                    "Month intervals cannot have day or time component",
                ));
            }
        };
        match &width {
            Self::Months(1..) | Self::Micros(1..) => Ok(width),
            _ => Err(Error::unsupported("Period must be greater than 0")),
        }
    }

    /// Where the bucket begins that a point is in, counted from an origin.
    fn bucket(&self, at: i64, origin: Option<i64>) -> Option<i64> {
        match self {
            Self::Micros(width) => {
                let origin = origin.unwrap_or(ORIGIN);
                let (width, apart) = (i128::from(*width), i128::from(at) - i128::from(origin));
                i64::try_from(apart.div_euclid(width) * width + i128::from(origin)).ok()
            }
            Self::Months(width) => {
                let months = |micros: i64| {
                    let (year, month, ..) = fields(micros);
                    year * 12 + month - 1
                };
                let origin = origin.map_or(ORIGIN_MONTHS, months);
                let first = (months(at) - origin).div_euclid(*width) * width + origin;
                let day = first_of(first.div_euclid(12), first.rem_euclid(12) + 1);
                day.checked_mul(MICROS_PER_DAY)
            }
        }
    }
}

/// A point so many months, days and microseconds later, or earlier.
pub(super) fn moved(at: i64, by: IntervalMonthDayNano, sign: i64) -> Option<i64> {
    let (year, month, day, time) = fields(at);
    let months = year * 12 + month - 1 + sign * i64::from(by.months);
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    let day = day.min(days_in_month(year, month));
    let days = first_of(year, month) + day - 1 + sign * i64::from(by.days);
    let time = time.checked_add(sign * (by.nanoseconds / 1000))?;
    days.checked_mul(MICROS_PER_DAY)?.checked_add(time)
}

/// Where the bucket begins that an instant is in, of a zone's days and months, or of hours that go by between instants.
fn bucket_in(zone: Zone, at: i64, by: IntervalMonthDayNano, width: &Width) -> Option<i64> {
    match by.months == 0 && by.days == 0 {
        true => width.bucket(at, Some(zone.instant(ORIGIN)?)),
        false => zone.instant(width.bucket(zone.local(at)?, None)?),
    }
}

fn buckets(call: &Call<'_>) -> Result<ArrayRef> {
    let columns = call.columns();
    let (Some(widths), Some(of)) = (columns.first(), columns.get(1)) else {
        return Err(Error::internal("time_bucket without arguments").into());
    };
    let moments = as_micros(of)?;
    let from = columns.get(2).map(as_micros).transpose()?;
    let moments = moments.as_primitive::<TimestampMicrosecondType>();
    let widths = widths.as_primitive::<IntervalMonthDayNanoType>();
    let starts = (0..moments.len()).map(|row| {
        let unknown = from.as_ref().is_some_and(|from| from.is_null(row));
        if widths.is_null(row) || moments.is_null(row) || unknown {
            return Ok(None);
        }
        let width = Width::of(widths.value(row))?;
        let at = moments.value(row);
        if !is_finite(at) {
            return Ok(Some(at));
        }
        let start = match &from {
            None => width.bucket(at, None),
            Some(from) if from.data_type().is_string() => {
                let zone = Zone::known(from.as_string_view().value(row))?;
                bucket_in(zone, at, widths.value(row), &width)
            }
            Some(from) if matches!(from.data_type(), DataType::Interval(_)) => {
                let by = from.as_primitive::<IntervalMonthDayNanoType>().value(row);
                let bucket = moved(at, by, -1).and_then(|at| width.bucket(at, None));
                bucket.and_then(|bucket| moved(bucket, by, 1))
            }
            Some(from) => {
                let origin = from.as_primitive::<TimestampMicrosecondType>().value(row);
                if !is_finite(origin) {
                    return Ok(None);
                }
                width.bucket(at, Some(origin))
            }
        };
        start.map(Some).ok_or_else(|| out_of_range("time_bucket"))
    });
    let starts = starts.collect::<Result<TimestampMicrosecondArray, Error>>()?;
    match *call.to == DataType::Date32 {
        true => whole_days(&starts),
        false => Ok(Arc::new(starts.with_data_type(call.to.clone()))),
    }
}

/// Points in time as microseconds; the infinite days are the infinite points. Intervals stay what they are.
fn as_micros(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Interval(_) | DataType::Utf8View => Ok(Arc::clone(array)),
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().iter();
            let micros = days.map(|day| {
                day.map(
                    |day| match i64::from(day) * i64::from(day.unsigned_abs() != LAST_DAY) {
                        0 if day != 0 => Ok(i64::from(day.signum()) * i64::MAX),
                        day => (day.checked_mul(MICROS_PER_DAY))
                            .ok_or_else(|| out_of_range("the TIMESTAMP of a DATE")),
                    },
                )
                .transpose()
            });
            Ok(Arc::new(
                micros.collect::<Result<TimestampMicrosecondArray, Error>>()?,
            ))
        }
        _ => Ok(cast(array, &micros(None))?),
    }
}

/// The infinite day, as its number.
const LAST_DAY: u32 = i32::MAX.unsigned_abs();

/// The days on which buckets begin.
fn whole_days(starts: &TimestampMicrosecondArray) -> Result<ArrayRef> {
    let days = starts.iter().map(|start| {
        let Some(start) = start else { return Ok(None) };
        if !is_finite(start) {
            return Ok(Some(start.signum() as i32 * i32::MAX));
        }
        let day = i32::try_from(start.div_euclid(MICROS_PER_DAY)).map(Some);
        day.map_err(|_| out_of_range("time_bucket"))
    });
    Ok(Arc::new(days.collect::<Result<Date32Array, Error>>()?))
}
