//! What PostgreSQL says where DuckDB goes on: a text with a point is no whole number, an interval is not divided by zero, a list that has NULL
//! is within none, and bits are shifted by as many as are left of a division by how many there are.

use super::room::Room;
use super::whole::{Call, Whole, registered};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use datafusion::arrow::compute::{cast, try_binary};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int16Type, Int32Type, Int64Type};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::sqlstate::DIVISION_BY_ZERO;
use hushdb_sql::{Error, ErrorKind, POSTGRES_WHOLE};
use std::sync::Arc;

/// A divisor, which is not zero.
pub const BUT_ZERO: &str = "but_zero_as_postgres";
/// Whether a list has a value that is NULL.
pub const HAS_NULL: &str = "has_null_as_postgres";
/// The function of `<<`.
pub const SHIFTED_LEFT: &str = "shift_left_as_postgres";
/// The function of `>>`.
pub const SHIFTED_RIGHT: &str = "shift_right_as_postgres";

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 5] = [
        (
            &[HAS_NULL],
            |types| matches!(types, [DataType::List(_)]).then(|| types.to_vec()),
            |_, _| Some(DataType::Boolean),
            have_null,
        ),
        (
            &[POSTGRES_WHOLE],
            |types| (types.len() == 1).then(|| types.to_vec()),
            |types, _| types.first().cloned(),
            whole_texts,
        ),
        (
            &[BUT_ZERO],
            |types| matches!(types, [of] if of.is_numeric()).then(|| types.to_vec()),
            |types, _| types.first().cloned(),
            but_zero,
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

fn have_null(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [lists] = call.take()?;
    let lists = lists.as_list::<i32>().iter();
    let have = lists.map(|list| list.map(|list| list.null_count() > 0));
    Ok(Arc::new(have.collect::<BooleanArray>()))
}

fn but_zero(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [values] = call.take()?;
    let numbers = cast(values, &DataType::Float64)?;
    let mut numbers = numbers.as_primitive::<Float64Type>().iter().flatten();
    match numbers.any(|number| number == 0.0) {
        false => Ok(Arc::clone(values)),
        true => Err(Error::new(ErrorKind::OutOfRange, "division by zero")
            .with_sqlstate(DIVISION_BY_ZERO)
            .into()),
    }
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
