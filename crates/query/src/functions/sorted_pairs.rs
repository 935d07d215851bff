//! `$in_order(list, flags)`: what `list(x ORDER BY y)` gives over a window, from the list of all pairs of a frame
//! (`sql/window_order.rs` writes it).
//!
//! What must hold: pairs with equal keys stay as they came.

use super::comparison_key::keys;
use super::lists::picked;
use super::room::Room;
use super::whole::{Call, Whole, item, items_of, list_of, registered};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StructArray};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::IN_ORDER;
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 1] = [(&[IN_ORDER], taken, given, sorted)];
    registered(functions, memory)
}

fn taken(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [pairs, flags] if flags.is_string() => Some(vec![pairs.clone(), DataType::Utf8View]),
        _ => None,
    }
}

/// A list of the last fields.
fn given(types: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    match item(types.first()?)? {
        DataType::Struct(fields) => Some(list_of(fields.last()?.data_type().clone())),
        _ => None,
    }
}

fn sorted(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let [pairs, flags] = call.take()?;
    let lists = pairs.as_list::<i32>();
    let Some(of_pairs) = lists.values().as_struct_opt() else {
        return internal_err!("{IN_ORDER} takes pairs");
    };
    room.take_if_long(of_pairs.get_array_memory_size())?;
    let flags = flags.as_string_view();
    let flags = match flags.is_empty() {
        true => "",
        false => flags.value(0),
    };
    let rows = key_rows(of_pairs, flags)?;
    let in_order = |row: usize| {
        let mut items: Vec<u32> = items_of(lists, row).map(|item| item as u32).collect();
        items.sort_by(|a, b| rows.row(*a as usize).cmp(&rows.row(*b as usize)));
        items
    };
    let all = (0..lists.len()).map(|row| lists.is_valid(row).then(|| in_order(row)));
    let Some(values) = of_pairs.columns().last() else {
        return internal_err!("{IN_ORDER} takes pairs");
    };
    picked(values, all.collect())
}

/// The keys of all pairs, as bytes that compare as they do.
fn key_rows(pairs: &StructArray, flags: &str) -> Result<Rows> {
    let letters = flags.as_bytes().chunks_exact(2);
    if letters.len() + 1 != pairs.num_columns() {
        return internal_err!("{IN_ORDER} takes two letters for each key");
    }
    let mut fields = vec![];
    let mut columns = vec![];
    for (letters, column) in letters.zip(pairs.columns()) {
        let key = keys(column)?;
        let options = SortOptions {
            descending: letters[0] == b'd',
            nulls_first: letters[1] == b'f',
        };
        fields.push(SortField::new_with_options(
            key.data_type().clone(),
            options,
        ));
        columns.push(key);
    }
    Ok(RowConverter::new(fields)?.convert_columns(&columns)?)
}
