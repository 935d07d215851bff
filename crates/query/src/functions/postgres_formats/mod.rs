//! `to_char`, `to_number`, `to_timestamp` and `to_date` with PostgreSQL's patterns (its documentation, "Data Type Formatting
//! Functions").
//!
//! What must hold: no error repeats a text; a text is no longer than its format lets it be.

mod moments;
mod numbers;
mod patterns;
mod read_moments;

use super::room::Room;
use super::value_text;
use super::whole::{Call, Whole, registered};
use super::zone::Zone;
use crate::functions::postgres_numeric::NUMERIC;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, StringViewBuilder, TimestampMicrosecondArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Float64Type, IntervalMonthDayNanoType, IntervalUnit, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType,
};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, READ_MOMENT, TO_CHAR, TO_NUMBER};
use moments::Moment;
use numbers::{Picture, Shown};
use std::sync::Arc;

/// A letter of a format becomes no more bytes than these.
const MOST_PER_BYTE: usize = 16;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 3] = [
        (&[TO_CHAR], takes, |_, _| Some(DataType::Utf8View), shown),
        (&[TO_NUMBER], two_texts, |_, _| Some(NUMERIC), numbers_read),
        (
            &[READ_MOMENT],
            two_texts,
            |_, _| Some(DataType::Timestamp(TimeUnit::Microsecond, None)),
            moments_read,
        ),
    ];
    registered(functions, memory)
}

fn two_texts(types: &[DataType]) -> Option<Vec<DataType>> {
    let is_text = |of: &DataType| of.is_string() || of.is_null();
    (types.len() == 2 && types.iter().all(is_text)).then(|| vec![DataType::Utf8View; 2])
}

/// A value and a format.
fn takes(types: &[DataType]) -> Option<Vec<DataType>> {
    let [value, format] = types else { return None };
    let value = match value {
        DataType::Null | DataType::Date32 | DataType::Timestamp(_, None) => {
            DataType::Timestamp(TimeUnit::Microsecond, None)
        }
        DataType::Timestamp(_, Some(zone)) => {
            DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::clone(zone)))
        }
        DataType::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        value if value.is_floating() => DataType::Float64,
        value if value.is_numeric() => value.clone(),
        _ => return None,
    };
    let is_text = format.is_string() || format.is_null();
    is_text.then(|| vec![value, DataType::Utf8View])
}

fn shown(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let [values, formats] = call.take()?;
    let formats = formats.as_string_view();
    let mut out = StringViewBuilder::with_capacity(call.rows());
    let mut last: Option<(String, Picture)> = None;
    for row in 0..call.rows() {
        if values.is_null(row) || formats.is_null(row) {
            out.append_null();
            continue;
        }
        let format = formats.value(row);
        room.take(format.len() as u128 * MOST_PER_BYTE as u128)?;
        let text = match moment(values, row) {
            Some(moment) => moment.text(format),
            None => {
                let known = last.take_if(|(known, _)| known == format);
                let (_, picture) = match known {
                    Some(known) => last.insert(known),
                    None => last.insert((format.to_owned(), Picture::read(format)?)),
                };
                Some(picture.text(number(values, row)?))
            }
        };
        out.append_option(text);
    }
    Ok(Arc::new(out.finish()))
}

/// The moment, the time or the interval of a row; `None` for a number.
fn moment(values: &ArrayRef, row: usize) -> Option<Moment> {
    match values.data_type() {
        of @ DataType::Timestamp(..) => {
            let micros = values.as_primitive::<TimestampMicrosecondType>().value(row);
            Some(Moment::at(micros, Zone::of(of)))
        }
        DataType::Time64(_) => {
            let micros = values.as_primitive::<Time64MicrosecondType>().value(row);
            Some(Moment::span(0, 0, micros))
        }
        DataType::Interval(_) => {
            let span = values.as_primitive::<IntervalMonthDayNanoType>().value(row);
            Some(Moment::span(
                span.months,
                span.days,
                span.nanoseconds / 1_000,
            ))
        }
        _ => None,
    }
}

fn number(values: &ArrayRef, row: usize) -> Result<Shown> {
    Ok(match values.data_type() {
        DataType::Float64 => Shown::Double(values.as_primitive::<Float64Type>().value(row)),
        _ => Shown::Exact(value_text(values.as_ref(), row)?.unwrap_or_default()),
    })
}

fn numbers_read(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [texts, formats] = call.take()?;
    let rows = texts.as_string_view().iter().zip(formats.as_string_view());
    let numbers = rows.map(|row| match row {
        (Some(text), Some(format)) => {
            let DataType::Decimal128(_, scale) = NUMERIC else {
                return Err(Error::internal("numeric is a decimal"));
            };
            Picture::read(format)?.number(text, scale).map(Some)
        }
        _ => Ok(None),
    });
    let numbers = numbers.collect::<Result<Decimal128Array, Error>>()?;
    Ok(Arc::new(numbers.with_data_type(NUMERIC)))
}

fn moments_read(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [texts, formats] = call.take()?;
    let texts = cast(texts, &DataType::Utf8View)?;
    let rows = texts.as_string_view().iter().zip(formats.as_string_view());
    let moments = rows.map(|row| match row {
        (Some(text), Some(format)) => read_moments::micros(text, format).map(Some),
        _ => Ok(None),
    });
    Ok(Arc::new(
        moments.collect::<Result<TimestampMicrosecondArray, Error>>()?,
    ))
}
