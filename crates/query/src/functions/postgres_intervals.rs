//! `justify_days`, `justify_hours` and `justify_interval` of PostgreSQL: 24 hours of an interval as a day, and 30 days as a month.
//!
//! What must hold: parts of an interval have one sign afterwards, as far as each function looks at them
//! (<https://www.postgresql.org/docs/15/functions-datetime.html>).

use super::whole::{Whole, registered};
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
const NANOS_PER_DAY: i128 = 86_400_000_000_000;
const DAYS_PER_MONTH: i128 = 30;

/// Months, days and nanoseconds.
type Parts = [i128; 3];

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    fn justified(column: &ArrayRef, by: fn(Parts) -> Parts) -> Result<ArrayRef> {
        let spans = column.as_primitive::<IntervalMonthDayNanoType>();
        let spans = spans
            .iter()
            .map(|span| span.map(|span| of(span, by)).transpose());
        Ok(Arc::new(
            spans.collect::<Result<IntervalMonthDayNanoArray, Error>>()?,
        ))
    }
    let takes = |types: &[DataType]| match types {
        [DataType::Interval(_) | DataType::Null] => Some(vec![SPAN]),
        _ => None,
    };
    let functions: [Whole; 3] = [
        (
            &["justify_days_as_postgres"],
            takes,
            |_, _| Some(SPAN),
            |call, _| {
                let [column] = call.take()?;
                justified(column, days)
            },
        ),
        (
            &["justify_hours_as_postgres"],
            takes,
            |_, _| Some(SPAN),
            |call, _| {
                let [column] = call.take()?;
                justified(column, hours)
            },
        ),
        (
            &["justify_interval_as_postgres"],
            takes,
            |_, _| Some(SPAN),
            |call, _| {
                let [column] = call.take()?;
                justified(column, both)
            },
        ),
    ];
    registered(functions, memory)
}

fn of(span: IntervalMonthDayNano, by: fn(Parts) -> Parts) -> Result<IntervalMonthDayNano, Error> {
    let parts = [
        span.months.into(),
        span.days.into(),
        span.nanoseconds.into(),
    ];
    let [months, days, nanos] = by(parts);
    match (
        i32::try_from(months),
        i32::try_from(days),
        i64::try_from(nanos),
    ) {
        (Ok(months), Ok(days), Ok(nanos)) => Ok(IntervalMonthDayNano::new(months, days, nanos)),
        _ => Err(Error::new(ErrorKind::OutOfRange, "interval out of range")),
    }
}

fn days(parts: Parts) -> Parts {
    let [months, days, nanos] = parts;
    let [months, days] = of_one_sign(carried([months, days], DAYS_PER_MONTH), DAYS_PER_MONTH);
    [months, days, nanos]
}

fn hours(parts: Parts) -> Parts {
    let [months, days, nanos] = parts;
    let [days, nanos] = of_one_sign(carried([days, nanos], NANOS_PER_DAY), NANOS_PER_DAY);
    [months, days, nanos]
}

fn both(parts: Parts) -> Parts {
    let [months, days, nanos] = parts;
    let [days, nanos] = carried([days, nanos], NANOS_PER_DAY);
    let [months, days] = carried([months, days], DAYS_PER_MONTH);
    // Whether days stand against months, hours say where there is no day.
    let rest = if days == 0 { nanos } else { days };
    let [months, days] = match () {
        () if months > 0 && rest < 0 => [months - 1, days + DAYS_PER_MONTH],
        () if months < 0 && rest > 0 => [months + 1, days - DAYS_PER_MONTH],
        () => [months, days],
    };
    let [days, nanos] = of_one_sign([days, nanos], NANOS_PER_DAY);
    [months, days, nanos]
}

/// So many whole ones of the larger part as the smaller one has, taken there.
fn carried([large, small]: [i128; 2], size: i128) -> [i128; 2] {
    [large + small / size, small % size]
}

/// One of the larger part given back, where the smaller has another sign.
fn of_one_sign([large, small]: [i128; 2], size: i128) -> [i128; 2] {
    match large.signum() * small.signum() < 0 {
        true => [large - large.signum(), small + large.signum() * size],
        false => [large, small],
    }
}
