//! `normalized_interval(i)`: the same interval with 30 days as a month and 24 hours as a day.

use super::room::Room;
use super::whole::{Call, Whole, registered};
use datafusion::arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::datatypes::{
    DataType, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

const SPAN: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const DAYS: i64 = 30;
const MICROS_PER_DAY: i64 = 86_400_000_000;
const MICROS_PER_MONTH: i64 = DAYS * MICROS_PER_DAY;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 1] = [(
        &["normalized_interval"],
        |types| match types {
            [DataType::Interval(_) | DataType::Null] => Some(vec![SPAN]),
            _ => None,
        },
        |_, _| Some(SPAN),
        normalized,
    )];
    registered(functions, memory)
}

/// Months, days and microseconds, of which the last two are less than a month and a day.
pub(super) fn normal(value: IntervalMonthDayNano) -> [i64; 3] {
    let (days, micros) = (i64::from(value.days), value.nanoseconds / 1000);
    let rest = micros % MICROS_PER_MONTH;
    let days_left = days % DAYS + rest / MICROS_PER_DAY;
    [
        i64::from(value.months) + days / DAYS + micros / MICROS_PER_MONTH + days_left / DAYS,
        days_left % DAYS,
        rest % MICROS_PER_DAY,
    ]
}

fn normalized(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [spans] = call.take()?;
    let spans = spans.as_primitive::<IntervalMonthDayNanoType>().iter();
    let spans = spans.map(|span| {
        let Some(span) = span else { return Ok(None) };
        let [months, days, micros] = normal(span);
        match (i32::try_from(months), i32::try_from(days)) {
            (Ok(months), Ok(days)) => {
                Ok(Some(IntervalMonthDayNano::new(months, days, micros * 1000)))
            }
            _ => Err(Error::new(
                ErrorKind::OutOfRange,
                "Interval value is out of range",
            )),
        }
    });
    let spans = spans.collect::<Result<IntervalMonthDayNanoArray, Error>>()?;
    Ok(Arc::new(spans))
}
