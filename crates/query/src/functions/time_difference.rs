//! `$time_difference(a, b)`: the days and the time of day from one timestamp to another, as `a - b` has them.

use super::session_zone::in_session_zone;
use super::zone::Zone;
use datafusion::arrow::array::{Array, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::try_binary;
use datafusion::arrow::datatypes::{
    DataType, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
    TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use std::sync::{Arc, LazyLock};

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The function, of two timestamps in microseconds.
pub fn time_difference() -> Arc<ScalarUDF> {
    static DIFFERENCE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(2, Volatility::Immutable);
        Arc::new(ScalarUDF::from(TimeDifference { signature }))
    });
    Arc::clone(&DIFFERENCE)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TimeDifference {
    signature: Signature,
}

impl ScalarUDFImpl for TimeDifference {
    fn name(&self) -> &str {
        "$time_difference"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        in_session_zone(args, |args| differences(&args.args))
    }
}

fn differences(args: &[ColumnarValue]) -> Result<ColumnarValue> {
    let scalar = args
        .iter()
        .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
    let arrays = ColumnarValue::values_to_arrays(args)?;
    let [to, from] = arrays.as_slice() else {
        return internal_err!("a difference is of two timestamps");
    };
    let zone = Zone::of(to.data_type()).unwrap_or(Zone::UTC);
    let to = to.as_primitive::<TimestampMicrosecondType>();
    let from = from.as_primitive::<TimestampMicrosecondType>();
    let difference: IntervalMonthDayNanoArray =
        try_binary::<_, _, _, IntervalMonthDayNanoType>(to, from, |to, from| {
            difference(to, from, zone)
        })?;
    if scalar {
        let value = ScalarValue::try_from_array(&difference, 0)?;
        return Ok(ColumnarValue::Scalar(value));
    }
    Ok(ColumnarValue::Array(Arc::new(difference)))
}

/// Days of a zone's clocks, and what is left after as many.
fn difference(to: i64, from: i64, zone: Zone) -> Result<IntervalMonthDayNano, ArrowError> {
    if [to, from].iter().any(|at| at.saturating_abs() == i64::MAX) {
        let error = Error::invalid("Cannot subtract infinite timestamps");
        return Err(ArrowError::ExternalError(Box::new(error)));
    }
    if to < from {
        let back = difference(from, to, zone)?;
        return Ok(IntervalMonthDayNano::new(0, -back.days, -back.nanoseconds));
    }
    let apart = || {
        let shown = zone.local(to)?.checked_sub(zone.local(from)?)?;
        let (mut days, mut rest) = (shown / MICROS_PER_DAY, shown % MICROS_PER_DAY);
        if zone != Zone::UTC {
            rest = to.checked_sub(zone.plus_days(from, days)?)?;
            if rest < 0 && days > 0 {
                days -= 1;
                rest = to.checked_sub(zone.plus_days(from, days)?)?;
            }
        }
        let days = i32::try_from(days).ok()?;
        Some(IntervalMonthDayNano::new(0, days, rest.checked_mul(1000)?))
    };
    apart().ok_or_else(|| {
        let error = Error::new(
            ErrorKind::OutOfRange,
            "Timestamp difference is out of bounds",
        );
        ArrowError::ExternalError(Box::new(error))
    })
}
