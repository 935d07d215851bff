//! `x[at]`, `list_extract(x, at)` and the like: one item of a list, one character of a text.

use super::lists::plain_list;
use super::room::Room;
use super::structs::{field_at, type_at};
use super::texts::within_reach;
use super::whole::{Call, Whole, item, items_of, registered};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, StringViewArray, UInt32Array,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options, take};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::type_names::is_row;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

/// `x[at]` of a list or text.
pub const ELEMENT: &str = "array_element";
/// Beyond it there is no whole number of 64 bits.
const LONGEST: f64 = 9_223_372_036_854_775_808.0;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 1] = [(
        &[ELEMENT, "array_extract", "list_element", "list_extract"],
        one_item,
        item_type,
        element,
    )];
    registered(functions, memory)
}

/// The type of one item, or that of a text's characters.
fn one_item(types: &[DataType]) -> Option<Vec<DataType>> {
    let [of, at] = types else { return None };
    match of {
        DataType::Struct(_) if at.is_null() => Some(types.to_vec()),
        // Values without names have places.
        DataType::Struct(fields) if is_row(fields) && at.is_integer() => Some(types.to_vec()),
        DataType::Null => Some(vec![DataType::Utf8View, count_type(at)?]),
        of if of.is_string() => Some(vec![DataType::Utf8View, count_type(at)?]),
        of => Some(vec![plain_list(of)?, count_type(at)?]),
    }
}

fn item_type(types: &[DataType], constants: &[Option<&ScalarValue>]) -> Option<DataType> {
    match types.first()? {
        DataType::Struct(_) if types.get(1).is_some_and(DataType::is_null) => Some(DataType::Null),
        DataType::Struct(_) => type_at(types, constants),
        text if text.is_string() => Some(text.clone()),
        list => item(list),
    }
}

/// The item at a place, counted from 1, or from the end where it is negative; NULL outside of a list, and nothing outside of a text.
fn element(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    if let Some(none) = call.nothing() {
        return Ok(none);
    }
    let [of, places] = call.take()?;
    if let DataType::Struct(_) = of.data_type() {
        return field_at(call);
    }
    let places = counts(places)?;
    let place = |length: usize, at: i64| match at {
        1.. => usize::try_from(at - 1).ok().filter(|at| *at < length),
        0 => None,
        _ => usize::try_from(at.unsigned_abs())
            .ok()
            .and_then(|back| length.checked_sub(back)),
    };
    if of.data_type().is_string() {
        let texts = of.as_string_view();
        for at in (0..texts.len()).filter(|at| texts.is_valid(*at) && places.is_valid(*at)) {
            within_reach(places.value(at), "offset")?;
        }
        let pairs = texts.iter().zip(&places);
        let characters = pairs.map(|(text, at)| {
            let text = text?;
            let found = place(text.chars().count(), at?).and_then(|at| text.char_indices().nth(at));
            Some(found.map_or("", |(at, c)| {
                text.get(at..at + c.len_utf8()).unwrap_or_default()
            }))
        });
        return Ok(Arc::new(characters.collect::<StringViewArray>()));
    }
    let of = of.as_list::<i32>();
    let found = (0..of.len()).map(|row| {
        let known = places.is_valid(row) && of.is_valid(row);
        let at = known.then(|| places.value(row))?;
        let items = items_of(of, row);
        place(items.len(), at).map(|at| (items.start + at) as u32)
    });
    Ok(take(of.values(), &found.collect::<UInt32Array>(), None)?)
}

/// The type in which places and numbers of items come.
pub(super) fn count_type(number: &DataType) -> Option<DataType> {
    match number {
        DataType::Null => Some(DataType::Int64),
        t if t.is_integer() => Some(DataType::Int64),
        t if t.is_string() => Some(DataType::Utf8View),
        t if t.is_numeric() => Some(DataType::Float64),
        _ => None,
    }
}

/// Numbers of items, rounded to whole ones.
pub(super) fn counts(column: &ArrayRef) -> Result<Int64Array> {
    if column.data_type() != &DataType::Float64 {
        let strict = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        let counts = cast_with_options(column, &DataType::Int64, &strict)?;
        return Ok(counts.as_primitive::<Int64Type>().clone());
    }
    let whole = column.as_primitive::<Float64Type>();
    Ok(whole.try_unary::<_, Int64Type, ArrowError>(|number| {
        let rounded = number.round_ties_even();
        match (-LONGEST..LONGEST).contains(&rounded) {
            true => Ok(rounded as i64),
            false => {
                let what = "the number is out of range for the destination type BIGINT";
                let error = Error::new(ErrorKind::Conversion, what);
                Err(ArrowError::ExternalError(Box::new(error)))
            }
        }
    })?)
}
