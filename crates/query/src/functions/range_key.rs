//! `$range_key(x)`: a whole number or a moment as a number of 38 digits, from which RANGE frames have their distances. The library adds and
//! subtracts them in the type that rows are sorted by, and takes what leaves it for an end of the partition, with its NULLs.
//!
//! What must hold: keys are ordered as values are, and as far apart: by nanoseconds of moments. What is infinite is farther from all
//! that is not than any distance.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Date32Type, Int64Type, TimeUnit};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::{Arc, LazyLock};

const NANOS_PER_DAY: i128 = 86_400_000_000_000;
/// The key of what is infinite.
const INFINITE: i128 = 10_i128.pow(36);

/// A distance between keys, or a key.
pub fn range_distance(far: Option<i128>) -> ScalarValue {
    ScalarValue::Decimal128(far, 38, 0)
}

/// `$range_key(expr)`, of a whole number of up to 64 bits, a date or a timestamp.
pub fn range_key(expr: Expr) -> Expr {
    static KEY: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::from(RangeKey { signature }))
    });
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&KEY), vec![expr]))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RangeKey {
    signature: Signature,
}

impl ScalarUDFImpl for RangeKey {
    fn name(&self) -> &'static str {
        "$range_key"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(range_distance(None).data_type())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match &args.args[0] {
            ColumnarValue::Array(values) => Ok(ColumnarValue::Array(keys(values)?)),
            ColumnarValue::Scalar(value) => {
                let key = ScalarValue::try_from_array(&keys(&value.to_array()?)?, 0)?;
                Ok(ColumnarValue::Scalar(key))
            }
        }
    }
}

fn keys(values: &ArrayRef) -> Result<ArrayRef> {
    let keys: Decimal128Array = match values.data_type() {
        DataType::Date32 => {
            let days = values.as_primitive::<Date32Type>();
            days.unary(|day| moment(i64::from(day), i64::from(i32::MAX), NANOS_PER_DAY))
        }
        DataType::Timestamp(unit, _) => {
            let nanos = match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            };
            let counted = cast(values, &DataType::Int64)?;
            let counted = counted.as_primitive::<Int64Type>();
            counted.unary(|at| moment(at, i64::MAX, nanos))
        }
        _ => return Ok(cast(values, &range_distance(None).data_type())?),
    };
    Ok(Arc::new(keys.with_precision_and_scale(38, 0)?))
}

/// The key of a moment that is counted in units of so many nanoseconds; the last one, and the first, are infinite.
fn moment(at: i64, last: i64, nanos: i128) -> i128 {
    match at {
        at if at == last => INFINITE,
        at if at == -last => -INFINITE,
        at => i128::from(at) * nanos,
    }
}
