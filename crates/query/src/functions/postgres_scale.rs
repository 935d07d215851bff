//! `scale`, `min_scale` and `trim_scale`: digits of a numeric behind its point, as PostgreSQL's clients are shown them.

use super::quotient::QUOTIENT;
use super::room::Room;
use super::rounding_cast::cast_rounding;
use super::whole::{Call, Whole, registered};
use crate::common_types::number_kind::{MAX_DIGITS_128, Number};
use datafusion::arrow::array::{ArrayRef, AsArray, Int32Array};
use datafusion::arrow::datatypes::{DataType, Decimal128Type};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::NUMERIC_SCALE;
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 3] = [
        (
            &["scale_as_postgres"],
            exact,
            |_, _| Some(DataType::Int32),
            |call, _| digits(call, false),
        ),
        (
            &["min_scale_as_postgres"],
            exact,
            |_, _| Some(DataType::Int32),
            |call, _| digits(call, true),
        ),
        (
            &["trim_scale_as_postgres"],
            exact,
            |types, _| types.first().map(shown_short),
            trimmed,
        ),
    ];
    registered(functions, memory)
}

/// One exact number; a whole number is one without digits behind its point.
fn exact(types: &[DataType]) -> Option<Vec<DataType>> {
    let (digits, scale) = match types {
        [DataType::Null] => (1, 0),
        [of] => match Number::of(of)? {
            Number::Int { .. } => (1, 0),
            Number::Decimal(digits, scale) => (digits, scale),
            Number::Float => return None,
        },
        _ => return None,
    };
    // Of numbers of 38 digits zeros may not be shown.
    let digits = digits.max(MAX_DIGITS_128 - 1);
    Some(vec![DataType::Decimal128(digits, scale)])
}

fn scale_of(of: &DataType) -> i8 {
    match of {
        DataType::Decimal128(_, scale) => *scale,
        _ => 0,
    }
}

/// The type in which zeros at the end of a number are not shown.
fn shown_short(of: &DataType) -> DataType {
    match scale_of(of).max(NUMERIC_SCALE) {
        scale if scale == scale_of(&QUOTIENT) => DataType::Decimal128(MAX_DIGITS_128, scale + 1),
        scale => DataType::Decimal128(MAX_DIGITS_128, scale),
    }
}

/// How many digits are behind the point of values, of those that are shown, or without zeros at the end.
fn digits(call: &Call<'_>, is_least: bool) -> Result<ArrayRef> {
    let [values] = call.take()?;
    let scale = scale_of(values.data_type());
    let is_short = is_least || *values.data_type() == shown_short(values.data_type());
    let of = |value: i128| match is_short {
        false => i32::from(scale),
        true => {
            let (mut value, mut digits) = (value, i32::from(scale));
            while digits > 0 && value % 10 == 0 {
                (value, digits) = (value / 10, digits - 1);
            }
            digits
        }
    };
    let values = values.as_primitive::<Decimal128Type>().iter();
    let digits = values.map(|value| value.map(of));
    Ok(Arc::new(digits.collect::<Int32Array>()))
}

fn trimmed(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [values] = call.take()?;
    cast_rounding(values, call.to, false)
}
