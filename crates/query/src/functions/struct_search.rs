//! Values looked for in structs without names: `struct_contains`, and `struct_position`, which says where the last one is.

use super::lists::comparable;
use super::room::Room;
use super::whole::{Call, Whole, registered};
use crate::common_types::common_type;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::type_names::is_row;
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 2] = [
        (
            &["struct_contains", "struct_has"],
            |types| match types {
                // Nothing is looked for, so the names do not matter.
                [DataType::Struct(_), DataType::Null] => Some(types.to_vec()),
                _ => unnamed_and_value(types),
            },
            |_, _| Some(DataType::Boolean),
            |call, _| match call.of_null() {
                Some(nothing) => Ok(nothing),
                None => contains(call),
            },
        ),
        (
            &["struct_position", "struct_indexof"],
            unnamed_and_value,
            |types, _| match types {
                [DataType::Null, _] => Some(DataType::Null),
                _ => Some(DataType::Int32),
            },
            |call: &Call<'_>, _: &mut Room| match call.nothing() {
                Some(nothing) => Ok(nothing),
                None => Ok(Arc::new(Int32Array::from(positions(call)?))),
            },
        ),
    ];
    registered(functions, memory)
}

fn unnamed_and_value(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [DataType::Struct(fields), _] if is_row(fields) => Some(types.to_vec()),
        [DataType::Null, _] => Some(types.to_vec()),
        _ => None,
    }
}

/// Where the value last is in each struct, from 1. NULL is found where a field is NULL.
fn positions(call: &Call<'_>) -> Result<Vec<Option<i32>>> {
    let [structs, value] = call.take()?;
    let mut last = vec![None; structs.len()];
    for (field, place) in structs.as_struct().columns().iter().zip(1..) {
        if !is_comparable(field.data_type(), value.data_type()) {
            continue;
        }
        let Some(common) = common_type(&[field.data_type().clone(), value.data_type().clone()])
        else {
            continue;
        };
        let (field, value) = (cast(field, &common)?, cast(value, &common)?);
        let keys = comparable(&[&field, &value])?;
        let [fields, values] = keys.as_slice() else {
            continue;
        };
        for (row, last) in last.iter_mut().enumerate() {
            if structs.is_valid(row) && fields.row(row) == values.row(row) {
                *last = Some(place);
            }
        }
    }
    Ok(last)
}

/// A text is looked for among texts alone.
fn is_comparable(field: &DataType, value: &DataType) -> bool {
    field.is_null() || value.is_null() || field.is_string() == value.is_string()
}

fn contains(call: &Call<'_>) -> Result<ArrayRef> {
    let [structs, value] = call.take()?;
    let nulls = value.logical_nulls();
    let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let found = positions(call)?.into_iter().enumerate();
    let found = found
        .map(|(row, place)| (structs.is_valid(row) && !is_null(row)).then_some(place.is_some()));
    Ok(Arc::new(found.collect::<BooleanArray>()))
}
