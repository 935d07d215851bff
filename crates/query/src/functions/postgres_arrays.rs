//! How many items PostgreSQL's arrays have in each dimension: a list of lists is an array of two
//! (<https://www.postgresql.org/docs/15/functions-array.html>).

use super::room::Room;
use super::whole::{Call, Whole, items_of, registered};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Array, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use std::ops::Range;
use std::sync::Arc;

/// What the text of a dimension takes at most.
const DIMENSION_BYTES: usize = 32;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 3] = [
        (
            &["cardinality_as_postgres"],
            list_alone,
            |_, _| Some(DataType::Int32),
            cardinalities,
        ),
        (
            &["array_length_as_postgres"],
            list_and_number,
            |_, _| Some(DataType::Int32),
            lengths,
        ),
        (
            &["array_dims_as_postgres"],
            list_alone,
            |_, _| Some(DataType::Utf8View),
            dimensions,
        ),
    ];
    registered(functions, memory)
}

fn is_list(of: &DataType) -> bool {
    of.is_null() || matches!(of, DataType::List(_))
}

fn list_alone(types: &[DataType]) -> Option<Vec<DataType>> {
    matches!(types, [of] if is_list(of)).then(|| types.to_vec())
}

fn list_and_number(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [of, at] if is_list(of) && (at.is_integer() || at.is_null()) => {
            Some(vec![of.clone(), DataType::Int64])
        }
        _ => None,
    }
}

/// The number of items in each dimension of a row's list, the outermost first; of a list without items there is none.
fn sizes(lists: &ArrayRef, row: usize) -> Vec<usize> {
    let (mut values, mut row, mut sizes) = (lists, row, vec![]);
    while let Some(list) = values.as_list_opt::<i32>() {
        let items = items_of(list, row);
        if items.is_empty() {
            break;
        }
        sizes.push(items.len());
        (values, row) = (list.values(), items.start);
    }
    sizes
}

/// The number of values in lists, and lists within them.
fn values_in(lists: &ArrayRef, rows: Range<usize>) -> usize {
    match lists.as_list_opt::<i32>() {
        None => rows.len(),
        Some(list) => {
            let within = rows.map(|row| values_in(list.values(), items_of(list, row)));
            within.sum()
        }
    }
}

fn cardinalities(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    if let Some(nulls) = call.of_null() {
        return Ok(nulls);
    }
    let [lists] = call.take()?;
    let counts = (0..lists.len()).map(|row| {
        let is_there = lists.is_valid(row);
        is_there.then(|| i32::try_from(values_in(lists, row..row + 1)).unwrap_or(i32::MAX))
    });
    Ok(Arc::new(counts.collect::<Int32Array>()))
}

fn lengths(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    if let Some(nulls) = call.of_null() {
        return Ok(nulls);
    }
    let [lists, at] = call.take()?;
    let at = cast(at, &DataType::Int64)?;
    let at = at.as_primitive::<Int64Type>();
    let lengths = (0..lists.len()).map(|row| {
        if lists.is_null(row) || at.is_null(row) {
            return None;
        }
        let place = usize::try_from(at.value(row)).ok()?.checked_sub(1)?;
        let length = sizes(lists, row).get(place).copied()?;
        i32::try_from(length).ok()
    });
    Ok(Arc::new(lengths.collect::<Int32Array>()))
}

fn dimensions(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    if let Some(nulls) = call.of_null() {
        return Ok(nulls);
    }
    let [lists] = call.take()?;
    let mut out = StringViewBuilder::new();
    for row in 0..lists.len() {
        let sizes = match lists.is_null(row) {
            true => vec![],
            false => sizes(lists, row),
        };
        room.take_all(sizes.len() * DIMENSION_BYTES)?;
        let text = sizes.iter().map(|size| format!("[1:{size}]"));
        out.append_option((!sizes.is_empty()).then(|| text.collect::<String>()));
    }
    Ok(Arc::new(out.finish()))
}
