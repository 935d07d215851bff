//! What PostgreSQL says where DuckDB goes on: a text with a point is no whole number, there is no year 0, moments are not binned by months, a
//! negative number has as many digits of its bits as its type, and bits are shifted by as many as are left of a division by how many there are.

use super::room::Room;
use super::whole::{Call, Whole, registered};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::{cast, try_binary};
use datafusion::arrow::datatypes::{
    DataType, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit,
};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind, POSTGRES_WHOLE};
use std::sync::Arc;

/// The function of `<<`.
pub const SHIFTED_LEFT: &str = "shift_left_as_postgres";
/// The function of `>>`.
pub const SHIFTED_RIGHT: &str = "shift_right_as_postgres";

const SPAN: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const NANOS_PER_DAY: i128 = 86_400_000_000_000;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 6] = [
        (
            &["year_as_postgres"],
            |types| (types.len() == 1).then(|| vec![DataType::Int64]),
            |_, _| Some(DataType::Int64),
            years,
        ),
        (
            &["stride_as_postgres"],
            |types| (types.len() == 1).then(|| vec![SPAN]),
            |_, _| Some(SPAN),
            strides,
        ),
        (
            &["bits_as_postgres"],
            |types| {
                matches!(types, [of] if of.is_integer() || of.is_null()).then(|| types.to_vec())
            },
            |_, _| Some(DataType::Int64),
            bits,
        ),
        (
            &[POSTGRES_WHOLE],
            |types| (types.len() == 1).then(|| types.to_vec()),
            |types, _| types.first().cloned(),
            whole_texts,
        ),
        (
            &[SHIFTED_LEFT],
            shifted_types,
            |types, _| types.first().cloned(),
            |call, _| shifted(call, true),
        ),
        (
            &[SHIFTED_RIGHT],
            shifted_types,
            |types, _| types.first().cloned(),
            |call, _| shifted(call, false),
        ),
    ];
    registered(functions, memory)
}

/// The same texts, all of which are digits, with a sign at most.
fn whole_texts(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [values] = call.take()?;
    if !values.data_type().is_string() {
        return Ok(Arc::clone(values));
    }
    let texts = cast(values, &DataType::Utf8View)?;
    let is_whole = |text: &str| {
        let text = text.trim();
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    match texts.as_string_view().iter().flatten().all(is_whole) {
        true => Ok(Arc::clone(values)),
        false => {
            let what = "invalid input syntax for a whole number: the text is none";
            Err(Error::new(ErrorKind::Conversion, what)
                .with_sqlstate("22P02")
                .into())
        }
    }
}

/// Years as a calendar with a year 0 counts them.
fn years(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [years] = call.take()?;
    let years = years.as_primitive::<Int64Type>().iter();
    let counted = years.map(|year| match year {
        Some(0) => Err(out_of_range("22008", "date field value out of range")),
        Some(year) if year < 0 => Ok(Some(year + 1)),
        year => Ok(year),
    });
    Ok(Arc::new(counted.collect::<Result<Int64Array, Error>>()?))
}

/// What moments are binned by, which is longer than nothing and has no months.
fn strides(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [spans] = call.take()?;
    for span in spans
        .as_primitive::<IntervalMonthDayNanoType>()
        .iter()
        .flatten()
    {
        if span.months != 0 {
            let what = "timestamps cannot be binned into intervals containing months or years";
            return Err(Error::new(ErrorKind::Unsupported, what).into());
        }
        let nanos = i128::from(span.days) * NANOS_PER_DAY + i128::from(span.nanoseconds);
        if nanos <= 0 {
            return Err(out_of_range("22008", "stride must be greater than zero").into());
        }
    }
    Ok(Arc::clone(spans))
}

fn out_of_range(sqlstate: &'static str, what: &str) -> Error {
    Error::new(ErrorKind::OutOfRange, what).with_sqlstate(sqlstate)
}

/// The bits of whole numbers, as those of a number that has no sign.
fn bits(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [values] = call.take()?;
    let is_long = *values.data_type() == DataType::Int64;
    let values = cast(values, &DataType::Int64)?;
    if is_long {
        return Ok(values);
    }
    let values = values.as_primitive::<Int64Type>();
    let of_integer = values
        .iter()
        .map(|of| of.map(|of| of & i64::from(u32::MAX)));
    Ok(Arc::new(of_integer.collect::<Int64Array>()))
}

fn shifted_types(types: &[DataType]) -> Option<Vec<DataType>> {
    use DataType as T;
    match types {
        [T::Int16 | T::Int32 | T::Int64, by] if by.is_signed_integer() => {
            Some(vec![types[0].clone(), T::Int64])
        }
        _ => None,
    }
}

fn shifted(call: &Call<'_>, is_left: bool) -> Result<ArrayRef> {
    let [values, by] = call.take()?;
    let by = by.as_primitive::<Int64Type>();
    // A smallint is shifted as an integer.
    let of_integers = |value: i32, by: i64| match is_left {
        true => value.wrapping_shl(by as u32),
        false => value.wrapping_shr(by as u32),
    };
    let of_bigints = |value: i64, by: i64| match is_left {
        true => value.wrapping_shl(by as u32),
        false => value.wrapping_shr(by as u32),
    };
    Ok(match values.data_type() {
        DataType::Int16 => Arc::new(try_binary::<_, _, _, Int16Type>(
            values.as_primitive::<Int16Type>(),
            by,
            |value, by| Ok(of_integers(value.into(), by) as i16),
        )?),
        DataType::Int32 => Arc::new(try_binary::<_, _, _, Int32Type>(
            values.as_primitive::<Int32Type>(),
            by,
            |value, by| Ok(of_integers(value, by)),
        )?),
        _ => Arc::new(try_binary::<_, _, _, Int64Type>(
            values.as_primitive::<Int64Type>(),
            by,
            |value, by| Ok(of_bigints(value, by)),
        )?),
    })
}
