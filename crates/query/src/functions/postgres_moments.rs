//! Moments of PostgreSQL that are shown with so many digits of their seconds, `timestamp(3)`, and the clock itself.
//!
//! What must hold: halves are rounded away from zero; what has no end stays so.

use super::room::Room;
use super::time_tz;
use super::whole::{Call, Whole, registered};
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::clock::unix_micros;
use hushdb_storage::{TIMETZ, TimeTz};
use std::sync::Arc;

const SPAN: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 2] = [
        (
            &["rounded_moment_as_postgres"],
            |types| match types {
                [of, _] if of.is_temporal() || of.is_null() || *of == TIMETZ => {
                    Some(vec![of.clone(), DataType::Int64])
                }
                _ => None,
            },
            |types, _| types.first().cloned(),
            rounded,
        ),
        (
            &["with_clock_as_postgres"],
            |types| (types.len() == 1).then(|| types.to_vec()),
            |types, _| types.first().cloned(),
            with_clock,
        ),
    ];
    let mut all = registered(functions, memory);
    all.push(Arc::new(ScalarUDF::from(Clock {
        signature: Signature::user_defined(Volatility::Volatile),
    })));
    all
}

/// A number of microseconds, or of what else is so many of them, rounded to a multiple.
fn to_multiple(value: i64, of: i64) -> i64 {
    match value {
        // Of what has no end.
        i64::MAX | i64::MIN => value,
        value if value == -i64::MAX => value,
        value => {
            let half = of / 2 * value.signum();
            value.saturating_add(half) / of * of
        }
    }
}

fn rounded(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [values, digits] = call.take()?;
    let digits = cast(digits, &DataType::Int64)?;
    let digits = digits.as_primitive::<Int64Type>().iter().flatten().next();
    let less = digits.and_then(|digits| u32::try_from(6 - digits).ok());
    let of = match less.and_then(|less| 10_i64.checked_pow(less)) {
        None | Some(1) => return Ok(Arc::clone(values)),
        Some(of) => of,
    };
    Ok(match values.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let moments = values.as_primitive::<TimestampMicrosecondType>();
            let rounded = moments.unary::<_, TimestampMicrosecondType>(|at| to_multiple(at, of));
            Arc::new(rounded.with_timezone_opt(zone.clone()))
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            let times = values.as_primitive::<Time64MicrosecondType>();
            Arc::new(times.unary::<_, Time64MicrosecondType>(|at| to_multiple(at, of)))
        }
        ty if *ty == SPAN => {
            let spans = values.as_primitive::<IntervalMonthDayNanoType>();
            Arc::new(
                spans.unary::<_, IntervalMonthDayNanoType>(|span| IntervalMonthDayNano {
                    nanoseconds: to_multiple(span.nanoseconds, of * 1000),
                    ..span
                }),
            )
        }
        ty if *ty == TIMETZ => time_tz::column(time_tz::times(values).map(|time| {
            Ok(time.and_then(|time| TimeTz::new(to_multiple(time.micros(), of), time.offset())))
        }))?,
        _ => Arc::clone(values),
    })
}

/// The same values, which have hours: days have none.
fn with_clock(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [values] = call.take()?;
    match values.data_type() {
        DataType::Date32 => {
            let what = "a part of the time of day is not supported for type date";
            Err(Error::new(ErrorKind::Unsupported, what).into())
        }
        _ => Ok(Arc::clone(values)),
    }
}

/// `clock_timestamp()`: what time it is, in each row anew.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Clock {
    signature: Signature,
}

impl ScalarUDFImpl for Clock {
    fn name(&self) -> &str {
        "clock_timestamp"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [] => Ok(vec![]),
            _ => plan_err!("clock_timestamp takes no arguments"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Timestamp(
            TimeUnit::Microsecond,
            Some("UTC".into()),
        ))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let now = |_| ScalarValue::TimestampMicrosecond(Some(unix_micros()), Some("UTC".into()));
        let rows = (0..args.number_rows).map(now);
        match args.number_rows {
            0 => Ok(ColumnarValue::Scalar(now(0))),
            _ => Ok(ColumnarValue::Array(ScalarValue::iter_to_array(rows)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_away_from_zero() {
        for (value, of, rounded) in [
            (1_250_000, 100_000, 1_300_000),
            (-1_250_000, 100_000, -1_300_000),
            (1_249_999, 100_000, 1_200_000),
            (499_999, 1_000_000, 0),
            (500_000, 1_000_000, 1_000_000),
            (i64::MAX, 1000, i64::MAX),
        ] {
            assert_eq!(to_multiple(value, of), rounded, "{value}");
        }
    }
}
