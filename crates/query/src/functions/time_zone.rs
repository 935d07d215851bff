//! `timezone(zone, x)`, which is `x AT TIME ZONE zone`, and `to_timestamp(seconds)`.
//!
//! What must hold: a time that a zone's clocks show twice is the later one; one that they leave out is what they would have shown had
//! they not been changed.

use chrono::{DateTime, MappedLocalTime, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::{OffsetComponents, OffsetName, TZ_VARIANTS, Tz};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{
    DataType, Float64Type, IntervalMonthDayNano, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

pub(super) fn all() -> [Arc<ScalarUDF>; 2] {
    [Function::TimeZone, Function::ToTimestamp].map(|function| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(TimeFunction {
            function,
            signature,
        }))
    })
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
            (Function::TimeZone, [zone, T::Date32 | T::Null])
                if zone.is_string() || zone == &T::Null =>
            {
                Ok(vec![T::Utf8View, micros(false)])
            }
            // Refused when the type of the result is asked for.
            (Function::TimeZone, [T::Timestamp(..) | T::Date32 | T::Interval(_)]) => {
                Ok(types.to_vec())
            }
            (Function::TimeZone, _) => plan_err!(
                "AT TIME ZONE takes a TIMESTAMP, a TIMESTAMP WITH TIME ZONE or a DATE, and the name of a zone"
            ),
            (Function::ToTimestamp, [of]) if !of.is_temporal() && !of.is_nested() => {
                Ok(vec![T::Float64])
            }
            (Function::ToTimestamp, _) => plan_err!("to_timestamp takes seconds since 1970-01-01"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        if let (Function::TimeZone, [_]) = (self.function, types) {
            return Err(Error::unsupported("timezone(x), the distance of its zone").into());
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

fn out_of_range(text: &str) -> ArrowError {
    ArrowError::ExternalError(Box::new(Error::new(ErrorKind::Conversion, text)))
}

fn from_seconds(seconds: f64) -> Result<i64, ArrowError> {
    let micros = (seconds * 1e6).round();
    // Both bounds are powers of two, so that they are what they say.
    if micros >= i64::MIN as f64 && micros < i64::MAX as f64 {
        return Ok(micros as i64);
    }
    Err(out_of_range(
        "Epoch seconds out of range for TIMESTAMP WITH TIME ZONE",
    ))
}

/// Instants as their zones' clocks show them, or what clocks show as instants.
fn in_zone(zones: &ArrayRef, times: &ArrayRef) -> Result<TimestampMicrosecondArray> {
    let instants = matches!(times.data_type(), DataType::Timestamp(_, Some(_)));
    let (zones, times) = (
        zones.as_string_view(),
        times.as_primitive::<TimestampMicrosecondType>(),
    );
    let mut known: Option<(&str, Tz)> = None;
    let mut result = TimestampMicrosecondArray::builder(times.len());
    for (zone, time) in zones.iter().zip(times) {
        let (Some(zone), Some(time)) = (zone, time) else {
            result.append_null();
            continue;
        };
        let tz = match known {
            Some((name, tz)) if name == zone => tz,
            _ => named(zone)?,
        };
        known = Some((zone, tz));
        // What is infinitely far is so in all zones.
        if time.saturating_abs() == i64::MAX {
            result.append_value(time);
            continue;
        }
        let at = DateTime::from_timestamp_micros(time).map(|at| at.naive_utc());
        let shown = at.and_then(|at| match instants {
            true => at.checked_add_offset(tz.offset_from_utc_datetime(&at).fix()),
            false => instant(tz, at),
        });
        let shown = shown.ok_or_else(|| out_of_range("Timestamp out of range in AT TIME ZONE"))?;
        result.append_value(shown.and_utc().timestamp_micros());
    }
    Ok(result.finish())
}

/// The instant, in microseconds, at which the clocks of a zone of that name show a time; `None` if there is no such zone.
pub(super) fn instant_in(zone: &str, micros: i64) -> Option<i64> {
    let shown = DateTime::from_timestamp_micros(micros)?.naive_utc();
    let at = instant(named(zone).ok()?, shown)?;
    Some(at.and_utc().timestamp_micros())
}

/// The instant at which a zone's clocks show a time.
fn instant(tz: Tz, shown: NaiveDateTime) -> Option<NaiveDateTime> {
    let offset = match tz.offset_from_local_datetime(&shown) {
        MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(_, offset) => offset,
        // As before the clocks were changed.
        MappedLocalTime::None => {
            let before = shown.checked_sub_signed(TimeDelta::days(1))?;
            tz.offset_from_local_datetime(&before).latest()?
        }
    };
    shown.checked_sub_offset(offset.fix())
}

/// All zones that `timezone` knows, by name, and of each at an instant, in microseconds since 1970: what its time is called, such as `CEST`,
/// what its clocks show before those of UTC, and whether they are put forward.
pub fn time_zones(micros: i64) -> Vec<(&'static str, String, IntervalMonthDayNano, bool)> {
    let at = DateTime::from_timestamp_micros(micros).unwrap_or_default();
    let facts = TZ_VARIANTS.iter().map(|zone| {
        let offset = zone.offset_from_utc_datetime(&at.naive_utc());
        let seconds = i64::from(offset.fix().local_minus_utc());
        let before = IntervalMonthDayNano::new(0, 0, seconds * 1_000_000_000);
        let short = offset.abbreviation().unwrap_or_default().to_string();
        (zone.name(), short, before, !offset.dst_offset().is_zero())
    });
    let mut facts: Vec<_> = facts.collect();
    facts.sort_by_key(|(name, ..)| *name);
    facts
}

fn named(zone: &str) -> Result<Tz> {
    let exact = zone.parse::<Tz>().ok();
    let any_case = || {
        TZ_VARIANTS
            .iter()
            .find(|tz| tz.name().eq_ignore_ascii_case(zone))
    };
    exact.or_else(|| any_case().copied()).ok_or_else(|| {
        let text =
            "Unknown TimeZone: it takes a name of the IANA database, such as 'Europe/Berlin'";
        Error::unsupported(text).into()
    })
}
