//! `timezone(zone, x)`, which is `x AT TIME ZONE zone`, and `to_timestamp(seconds)`.

use super::moment_cast::finite;
use super::time_tz;
use super::whole::{Call, Whole, registered};
use super::zone::{Zone, out_of_range};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, TimestampMicrosecondArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Float64Type, Int64Type, IntervalUnit, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::TIMETZ;
use std::sync::Arc;

/// What `timezone(x)` is.
pub(super) const DISTANCE: &str = "$timezone";

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let distance: [Whole; 3] = [
        (&[DISTANCE], one_timestamp, number, |call, _| {
            distances(call, DISTANCE)
        }),
        (&["timezone_hour"], one_timestamp, number, |call, _| {
            distances(call, "timezone_hour")
        }),
        (&["timezone_minute"], one_timestamp, number, |call, _| {
            distances(call, "timezone_minute")
        }),
    ];
    let mut functions = registered(distance, memory);
    functions.extend([Function::TimeZone, Function::ToTimestamp].map(|function| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(TimeFunction {
            function,
            signature,
        }))
    }));
    functions
}

fn number(_: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    Some(DataType::Int64)
}

fn one_timestamp(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [DataType::Timestamp(_, zone)] => Some(vec![DataType::Timestamp(
            TimeUnit::Microsecond,
            zone.clone(),
        )]),
        [DataType::Null] => Some(vec![micros(false)]),
        _ => None,
    }
}

fn distances(call: &Call<'_>, name: &str) -> Result<ArrayRef> {
    let [of] = call.take()?;
    match zone_part(name) {
        Some(part) => part_of_distance(of, part),
        None => internal_err!("{name} is no part of a distance"),
    }
}

/// How a part of a distance from UTC follows from its seconds; `None` for another part.
pub(super) fn zone_part(part: &str) -> Option<fn(i64) -> i64> {
    Some(match part.to_ascii_lowercase().as_str() {
        "timezone" | DISTANCE => |seconds| seconds,
        "timezone_hour" => |seconds| seconds / 3600,
        "timezone_minute" => |seconds| seconds / 60 % 60,
        _ => return None,
    })
}

/// That part of how far the clocks of each instant's zone are from UTC; 0 without a zone.
pub(super) fn part_of_distance(of: &ArrayRef, part: fn(i64) -> i64) -> Result<ArrayRef> {
    let zone = Zone::of(of.data_type()).unwrap_or(Zone::UTC);
    let near = cast(&finite(of)?, &DataType::Int64)?;
    let near = near.as_primitive::<Int64Type>();
    let parts = near.unary::<_, Int64Type>(|at| part(zone.offset(at) / 1_000_000));
    Ok(Arc::new(parts))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Function {
    TimeZone,
    ToTimestamp,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TimeFunction {
    function: Function,
    signature: Signature,
}

fn micros(zoned: bool) -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, zoned.then(|| "UTC".into()))
}

impl ScalarUDFImpl for TimeFunction {
    fn name(&self) -> &str {
        match self.function {
            Function::TimeZone => "timezone",
            Function::ToTimestamp => "to_timestamp",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        use DataType as T;
        match (self.function, types) {
            (Function::TimeZone, [zone, T::Timestamp(_, of)])
                if zone.is_string() || zone == &T::Null =>
            {
                Ok(vec![T::Utf8View, micros(of.is_some())])
            }
            (Function::TimeZone, [zone, T::Date32]) if zone.is_string() || zone == &T::Null => {
                Ok(vec![T::Utf8View, micros(false)])
            }
            (Function::TimeZone, [zone, of]) if *of == TIMETZ || of.is_null() => match zone {
                T::Interval(_) => Ok(vec![T::Interval(IntervalUnit::MonthDayNano), TIMETZ]),
                zone if zone.is_string() || zone.is_null() => Ok(vec![T::Utf8View, TIMETZ]),
                _ => plan_err!("AT TIME ZONE takes the name of a zone, or an interval"),
            },
            (Function::TimeZone, _) => plan_err!(
                "AT TIME ZONE takes a TIMESTAMP, a DATE, or a TIMESTAMP or TIME WITH TIME ZONE, and the name of a zone"
            ),
            (Function::ToTimestamp, [of]) if !of.is_temporal() && !of.is_nested() => {
                Ok(vec![T::Float64])
            }
            (Function::ToTimestamp, _) => plan_err!("to_timestamp takes seconds since 1970-01-01"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        if matches!(types, [_, of] if *of == TIMETZ) {
            return Ok(TIMETZ);
        }
        let was_zoned = matches!(types, [_, DataType::Timestamp(_, Some(_))]);
        Ok(micros(!was_zoned))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalar = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let result = match arrays.as_slice() {
            [zones, times] if *times.data_type() == TIMETZ => {
                let result = time_tz::in_zone(zones, times)?;
                return match scalar {
                    true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                        &result, 0,
                    )?)),
                    false => Ok(ColumnarValue::Array(result)),
                };
            }
            [zones, times] => in_zone(zones, times)?,
            [seconds] => {
                let seconds = seconds.as_primitive::<Float64Type>();
                seconds.try_unary::<_, TimestampMicrosecondType, ArrowError>(from_seconds)?
            }
            _ => return internal_err!("{} has other arguments", self.name()),
        };
        let result: ArrayRef = match args.return_field.data_type() {
            DataType::Timestamp(_, Some(zone)) => Arc::new(result.with_timezone(Arc::clone(zone))),
            _ => Arc::new(result),
        };
        if scalar {
            let value = ScalarValue::try_from_array(&result, 0)?;
            return Ok(ColumnarValue::Scalar(value));
        }
        Ok(ColumnarValue::Array(result))
    }
}

fn from_seconds(seconds: f64) -> Result<i64, ArrowError> {
    let micros = (seconds * 1e6).round();
    // Both bounds are powers of two, so that they are what they say.
    if micros >= i64::MIN as f64 && micros < i64::MAX as f64 {
        return Ok(micros as i64);
    }
    let text = "Epoch seconds out of range for TIMESTAMP WITH TIME ZONE";
    let error = Error::new(ErrorKind::Conversion, text);
    Err(ArrowError::ExternalError(Box::new(error)))
}

/// Instants as their zones' clocks show them, or what clocks show as instants.
fn in_zone(zones: &ArrayRef, times: &ArrayRef) -> Result<TimestampMicrosecondArray> {
    let instants = matches!(times.data_type(), DataType::Timestamp(_, Some(_)));
    let (zones, times) = (
        zones.as_string_view(),
        times.as_primitive::<TimestampMicrosecondType>(),
    );
    let mut known: Option<(&str, Zone)> = None;
    let mut result = TimestampMicrosecondArray::builder(times.len());
    for (name, time) in zones.iter().zip(times) {
        let (Some(name), Some(time)) = (name, time) else {
            result.append_null();
            continue;
        };
        let zone = match known {
            Some((before, zone)) if before == name => zone,
            _ => Zone::known(name)?,
        };
        known = Some((name, zone));
        let shown = match instants {
            true => zone.local(time),
            false => zone.instant(time),
        };
        result.append_value(shown.ok_or_else(out_of_range)?);
    }
    Ok(result.finish())
}
