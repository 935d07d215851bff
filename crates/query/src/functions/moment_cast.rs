//! Casts between dates and timestamps of all units.
//!
//! What must hold: what is infinitely far stays so, on its side; a finite value never becomes infinite, but is an error, or NULL for
//! TRY_CAST, where the other type does not reach that far.

use super::zone::Zone;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, TimeUnit};
use datafusion::arrow::error::ArrowError;
use datafusion::common::Result;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

const NANOS_PER_DAY: i64 = 86_400_000_000_000;

/// How long the unit of a date or timestamp is, in nanoseconds.
pub fn unit_nanos(ty: &DataType) -> Option<i64> {
    Some(match ty {
        DataType::Date32 => NANOS_PER_DAY,
        DataType::Timestamp(TimeUnit::Second, _) => 1_000_000_000,
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1_000_000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1000,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => 1,
        _ => return None,
    })
}

/// Whether a cast is one of these.
pub fn is_of_moments(from: &DataType, to: &DataType) -> bool {
    from != to && unit_nanos(from).is_some() && unit_nanos(to).is_some()
}

/// What a point in time in this type is counted as when it is infinitely far in the future; its negative is the past.
fn infinity(ty: &DataType) -> i64 {
    match ty {
        DataType::Date32 => i32::MAX.into(),
        _ => i64::MAX,
    }
}

/// The count of days or of a unit's ticks since 1970 of each value.
fn counts(array: &ArrayRef) -> Result<Int64Array> {
    let counts = match array.data_type() {
        DataType::Date32 => cast(&cast(array, &DataType::Int32)?, &DataType::Int64)?,
        _ => cast(array, &DataType::Int64)?,
    };
    Ok(counts.as_primitive::<Int64Type>().clone())
}

fn of_counts(counts: Int64Array, ty: &DataType) -> Result<ArrayRef> {
    let counts: ArrayRef = Arc::new(counts);
    Ok(match ty {
        DataType::Date32 => cast(&cast(&counts, &DataType::Int32)?, ty)?,
        _ => cast(&counts, ty)?,
    })
}

/// An array of points in time as one of another unit.
pub(super) fn cast_moments(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    let (Some(from_nanos), Some(to_nanos)) = (unit_nanos(array.data_type()), unit_nanos(to)) else {
        return Ok(cast(array, to)?);
    };
    let (infinite, as_infinite) = (infinity(array.data_type()), infinity(to));
    let converted = |value: i64| match value {
        value if from_nanos == to_nanos => Some(value),
        value if from_nanos > to_nanos => value.checked_mul(from_nanos / to_nanos),
        value => Some(coarser(value, to_nanos / from_nanos, to)),
    };
    // What clocks show stands between instants and all else.
    let zones = (Zone::of(array.data_type()), Zone::of(to));
    let counted = |value: i64| match value {
        value if value == infinite => Some(as_infinite),
        value if value == -infinite => Some(-as_infinite),
        value => match zones {
            (Some(zone), None) => converted(shown(zone, value, from_nanos, Zone::local)?),
            (None, Some(zone)) => shown(zone, converted(value)?, to_nanos, Zone::instant),
            _ => converted(value),
        },
    };
    let is_there = |found: Option<i64>, value: i64| {
        found.filter(|found| {
            value.saturating_abs() == infinite || found.saturating_abs() < as_infinite
        })
    };
    let values = counts(array)?;
    let values: Int64Array = match lenient {
        true => values.unary_opt(|value| is_there(counted(value), value)),
        false => values
            .try_unary(|value| is_there(counted(value), value).ok_or_else(|| out_of_range(to)))?,
    };
    of_counts(values, to)
}

/// What clocks show at points in time that have no zone, as a type of times.
pub(super) fn clocks(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    let Some(unit) = unit_nanos(array.data_type()) else {
        return Ok(cast(array, to)?);
    };
    let shown = |value: i64| {
        let nanos = value.rem_euclid(NANOS_PER_DAY / unit) * unit;
        is_finite(value, array.data_type()).then_some(nanos)
    };
    let values = counts(array)?;
    let nanos: Int64Array = match lenient {
        true => values.unary_opt(shown),
        false => values.try_unary(|value| shown(value).ok_or_else(no_clock))?,
    };
    let nanos: ArrayRef = Arc::new(nanos);
    let nanos = cast(&nanos, &DataType::Time64(TimeUnit::Nanosecond))?;
    Ok(cast(&nanos, to)?)
}

fn no_clock() -> ArrowError {
    let error = Error::new(
        ErrorKind::Conversion,
        "Can't get TIME of infinite TIMESTAMP",
    );
    ArrowError::ExternalError(Box::new(error))
}

/// What a zone's clocks make of a count of units of so many nanoseconds.
fn shown(zone: Zone, value: i64, unit: i64, by: fn(Zone, i64) -> Option<i64>) -> Option<i64> {
    if zone == Zone::UTC {
        return Some(value);
    }
    if unit < 1000 {
        let units = 1000 / unit;
        let micros = by(zone, value.div_euclid(units))?;
        return micros
            .checked_mul(units)?
            .checked_add(value.rem_euclid(units));
    }
    let units = unit / 1000;
    // Clocks are full seconds from UTC.
    Some(by(zone, value.checked_mul(units)?)?.div_euclid(units))
}

/// In a unit of so many: a day is the one that it is in, halves of a second or a millisecond go away from 1970, and a microsecond loses
/// its nanoseconds.
fn coarser(value: i64, unit: i64, to: &DataType) -> i64 {
    match to {
        DataType::Date32 => value.div_euclid(unit),
        DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, _) => {
            let rest = value % unit;
            value / unit + i64::from(rest >= unit / 2) - i64::from(rest <= -unit / 2)
        }
        _ => value / unit,
    }
}

fn out_of_range(to: &DataType) -> ArrowError {
    let what = match to {
        DataType::Date32 => "Date",
        _ => "Timestamp",
    };
    let error = Error::new(ErrorKind::Conversion, format!("{what} out of range"));
    ArrowError::ExternalError(Box::new(error))
}

/// Whether a value of a date or timestamp is none of the two that are infinitely far.
pub(super) fn is_finite(value: i64, ty: &DataType) -> bool {
    value.saturating_abs() != infinity(ty)
}

/// Dates and timestamps with NULL for what is infinitely far; anything else as it is.
pub(super) fn finite(array: &ArrayRef) -> Result<ArrayRef> {
    let ty = array.data_type();
    if unit_nanos(ty).is_none() {
        return Ok(Arc::clone(array));
    }
    let counts = counts(array)?;
    if counts.iter().flatten().all(|value| is_finite(value, ty)) {
        return Ok(Arc::clone(array));
    }
    of_counts(
        counts.unary_opt(|value| is_finite(value, ty).then_some(value)),
        ty,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Date32Array, TimestampMicrosecondArray};

    #[test]
    fn halves_of_seconds_go_away_from_1970() {
        let values = vec![
            500_000,
            499_999,
            -500_000,
            -499_999,
            -1_500_000,
            i64::MAX,
            -i64::MAX,
        ];
        let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(values));
        let seconds = DataType::Timestamp(TimeUnit::Second, None);
        let cast = counts(&cast_moments(&micros, &seconds, false).unwrap()).unwrap();
        assert_eq!(cast.values(), &[1, 0, -1, 0, -2, i64::MAX, -i64::MAX]);
    }

    #[test]
    fn days_that_a_timestamp_does_not_reach_are_refused_and_infinite_ones_stay() {
        let days: ArrayRef = Arc::new(Date32Array::from(vec![i32::MAX, i32::MAX - 1, -i32::MAX]));
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert!(cast_moments(&days, &micros, false).is_err());
        let cast = counts(&cast_moments(&days, &micros, true).unwrap()).unwrap();
        assert_eq!((cast.value(0), cast.value(2)), (i64::MAX, -i64::MAX));
        assert!(cast.is_null(1));
    }
}
