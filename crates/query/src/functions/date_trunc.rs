//! `date_trunc(part, x)` of dates and timestamps of any year: the library's counts nanoseconds in 64 bits, which reach from 1677
//! to 2262. A DATE becomes a TIMESTAMP, as in DuckDB.

use super::plain::called;
use super::text::calendar;
use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, TimeUnit};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

const SECONDS_PER_DAY: i64 = 86_400;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DateTrunc {
    signature: Signature,
    aliases: Vec<String>,
}

impl DateTrunc {
    pub(super) fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
            aliases: vec!["datetrunc".into()],
        }
    }
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        "date_trunc"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let text = |t: &DataType| t.is_string() || t.is_null();
        match types {
            [part, DataType::Timestamp(_, zone)] if text(part) => Ok(vec![
                DataType::Utf8View,
                DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
            ]),
            [part, DataType::Date32 | DataType::Null] if text(part) => Ok(vec![
                DataType::Utf8View,
                DataType::Timestamp(TimeUnit::Microsecond, None),
            ]),
            _ => plan_err!(
                "No function matches the given name and argument types '{}'; you might need to add explicit type casts",
                called("date_trunc", types)
            ),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [_, of] => Ok(of.clone()),
            _ => plan_err!("date_trunc takes a part and a timestamp"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalar = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Scalar(_));
        let scalar = args.args.iter().all(scalar);
        let rows = if scalar { 1 } else { args.number_rows };
        let [parts, of] = args.args.as_slice() else {
            return plan_err!("date_trunc takes a part and a timestamp");
        };
        let (parts, of) = (parts.to_array(rows)?, of.to_array(rows)?);
        let truncated = truncated(&parts, &of)?;
        if scalar {
            return ScalarValue::try_from_array(&truncated, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(truncated))
    }
}

fn truncated(parts: &ArrayRef, of: &ArrayRef) -> Result<ArrayRef> {
    let per_second = match of.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => 1,
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1_000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1_000_000,
        _ => 1_000_000_000,
    };
    let values = cast(of, &DataType::Int64)?;
    let values = values.as_primitive::<Int64Type>().iter();
    let pairs = parts.as_string_view().iter().zip(values);
    let all = pairs.map(|(part, value)| match (part, value) {
        (Some(part), Some(value)) => truncate(part, value, per_second).map(Some),
        _ => Ok(None),
    });
    let all: ArrayRef = Arc::new(all.collect::<Result<Int64Array>>()?);
    Ok(cast(&all, of.data_type())?)
}

/// A moment, in units of which so many are a second, cut to a part.
fn truncate(part: &str, value: i64, per_second: i64) -> Result<i64> {
    // DuckDB's infinities.
    if value == i64::MAX || value == -i64::MAX {
        return Ok(value);
    }
    let down = |value: i64, to: i64| value.div_euclid(to) * to;
    let day = value.div_euclid(SECONDS_PER_DAY * per_second);
    let (year, month, day_of_month) = calendar(day);
    let part = part.to_lowercase();
    let first_day = match part.as_str() {
        "microsecond" | "microseconds" | "us" => {
            return Ok(down(value, (per_second / 1_000_000).max(1)));
        }
        "millisecond" | "milliseconds" | "ms" => {
            return Ok(down(value, (per_second / 1_000).max(1)));
        }
        "second" | "seconds" | "sec" | "secs" | "s" => return Ok(down(value, per_second)),
        "minute" | "minutes" | "min" | "mins" | "m" => return Ok(down(value, 60 * per_second)),
        "hour" | "hours" | "hr" | "hrs" | "h" => return Ok(down(value, 3_600 * per_second)),
        "day" | "days" | "d" => day,
        // Weeks begin on Monday.
        "week" | "weeks" | "w" => day - (day + 3).rem_euclid(7),
        "month" | "months" | "mon" | "mons" => day - day_of_month + 1,
        "quarter" | "quarters" => first_of(year, month - (month - 1) % 3),
        "year" | "years" | "yr" | "yrs" | "y" => first_of(year, 1),
        "decade" | "decades" => first_of(year / 10 * 10, 1),
        "century" | "centuries" => first_of(year / 100 * 100, 1),
        "millennium" | "millennia" => first_of(year / 1000 * 1000, 1),
        _ => {
            let what = "date_trunc takes a part from microsecond to millennium";
            return Err(Error::new(ErrorKind::Conversion, what).into());
        }
    };
    let beyond = || Error::new(ErrorKind::OutOfRange, "the timestamp is out of range");
    let first = first_day.checked_mul(SECONDS_PER_DAY * per_second);
    Ok(first.ok_or_else(beyond)?)
}

/// Days since 1970 of the first day of a month.
fn first_of(year: i64, month: i64) -> i64 {
    let (year, month) = if month < 3 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    days + (153 * month + 2) / 5 - 719_468
}
