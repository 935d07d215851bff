//! `$time_difference(a, b)`: the days and the time of day from one timestamp to another, as `a - b` has them.

use datafusion::arrow::array::{AsArray, IntervalMonthDayNanoArray};
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
        let scalar = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [to, from] = arrays.as_slice() else {
            return internal_err!("a difference is of two timestamps");
        };
        let to = to.as_primitive::<TimestampMicrosecondType>();
        let from = from.as_primitive::<TimestampMicrosecondType>();
        let difference: IntervalMonthDayNanoArray =
            try_binary::<_, _, _, IntervalMonthDayNanoType>(to, from, difference)?;
        if scalar {
            let value = ScalarValue::try_from_array(&difference, 0)?;
            return Ok(ColumnarValue::Scalar(value));
        }
        Ok(ColumnarValue::Array(Arc::new(difference)))
    }
}

fn difference(to: i64, from: i64) -> Result<IntervalMonthDayNano, ArrowError> {
    if [to, from].iter().any(|at| at.saturating_abs() == i64::MAX) {
        let error = Error::invalid("Cannot subtract infinite timestamps");
        return Err(ArrowError::ExternalError(Box::new(error)));
    }
    let apart = to.checked_sub(from).and_then(|micros| {
        let days = i32::try_from(micros / MICROS_PER_DAY).ok()?;
        Some(IntervalMonthDayNano::new(
            0,
            days,
            micros % MICROS_PER_DAY * 1000,
        ))
    });
    apart.ok_or_else(|| {
        let error = Error::new(
            ErrorKind::OutOfRange,
            "Timestamp difference is out of bounds",
        );
        ArrowError::ExternalError(Box::new(error))
    })
}
