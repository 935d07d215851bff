//! `list_zip([1, 2], ['a', 'b'], true)`: lists side by side, as a list of structs without names; the last argument cuts all to the
//! shortest.

use super::room::{Room, bytes_of};
use super::whole::{Call, Whole, item, items_of, list_of, listed, registered};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StructArray, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::type_names::row_field;
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 1] = [(
        &["list_zip", "array_zip"],
        lists_and_truth,
        |types, _| fields(types).map(|fields| list_of(DataType::Struct(fields))),
        zipped,
    )];
    registered(functions, memory)
}

fn lists_and_truth(types: &[DataType]) -> Option<Vec<DataType>> {
    let brought = types.iter().enumerate().map(|(at, of)| match of {
        DataType::Boolean if at > 0 && at + 1 == types.len() => Some(DataType::Boolean),
        DataType::Null => Some(list_of(DataType::Int32)),
        of => item(of).map(list_of),
    });
    let brought: Vec<DataType> = brought.collect::<Option<_>>()?;
    (!brought.is_empty()).then_some(brought)
}

/// A field for each list.
fn fields(types: &[DataType]) -> Option<Fields> {
    let items = types.iter().filter(|of| **of != DataType::Boolean);
    let fields = items
        .zip(1..)
        .map(|(list, n)| Some(Field::new(row_field(n), item(list)?, true)));
    fields.collect()
}

fn zipped(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let (cuts, lists): (Vec<&ArrayRef>, Vec<_>) = call
        .columns()
        .iter()
        .partition(|column| *column.data_type() == DataType::Boolean);
    let lists: Vec<&ListArray> = lists.iter().map(|list| list.as_list::<i32>()).collect();
    let cut = cuts.first().map(|cut| cut.as_boolean());
    let items = |list: &ListArray, row| match list.is_valid(row) {
        true => items_of(list, row),
        false => 0..0,
    };
    let lengths: Vec<usize> = (0..call.rows())
        .map(|row| {
            let each = lists.iter().map(|list| items(list, row).len());
            match cut.is_some_and(|cut| cut.is_valid(row) && cut.value(row)) {
                true => each.min().unwrap_or(0),
                false => each.max().unwrap_or(0),
            }
        })
        .collect();
    let all: usize = lengths.iter().sum();
    let places = all
        .saturating_mul(lists.len())
        .saturating_mul(size_of::<u32>());
    let written = lists.iter().map(|list| bytes_of(*list));
    room.take_all(written.fold(places, usize::saturating_add))?;
    let columns = lists.iter().map(|list| {
        let places = lengths.iter().enumerate().flat_map(|(row, length)| {
            let of_row = items(list, row);
            (0..*length).map(move |at| {
                let place = of_row.start + at;
                (at < of_row.len()).then_some(place as u32)
            })
        });
        Ok(take(list.values(), &places.collect::<UInt32Array>(), None)?)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let types: Vec<DataType> = lists.iter().map(|list| list.data_type().clone()).collect();
    let fields = fields(&types).unwrap_or_else(Fields::empty);
    let values = StructArray::try_new(fields, columns, None)?;
    listed(Arc::new(values), lengths, vec![true; call.rows()])
}
