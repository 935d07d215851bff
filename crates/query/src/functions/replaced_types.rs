//! `replace_type(x, NULL::INTEGER, NULL::VARCHAR)`: a value in which all that is of the one type is cast to the other.

use super::nested_cast::cast_nested;
use super::room::Room;
use super::whole::{Call, Whole, list_of, registered};
use crate::common_types::{entry_types, map_of};
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::type_names::is_enum;
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 1] = [(
        &["replace_type"],
        // What has no type is no type to cast to.
        |types| (types.len() == 3 && !types[2].is_null()).then(|| types.to_vec()),
        |types, _| match types {
            [of, old, new] => Some(replaced(of, old, new)),
            _ => None,
        },
        cast_all,
    )];
    registered(functions, memory)
}

fn replaced(of: &DataType, old: &DataType, new: &DataType) -> DataType {
    match of {
        of if of == old || of.is_string() && old.is_string() => new.clone(),
        of if is_enum(of) => of.clone(),
        DataType::List(item) => list_of(replaced(item.data_type(), old, new)),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| {
                let of = replaced(field.data_type(), old, new);
                Field::new(field.name(), of, true)
            });
            DataType::Struct(fields.collect())
        }
        of => match entry_types(of) {
            Some((key, value)) => map_of(&replaced(key, old, new), &replaced(value, old, new)),
            None => of.clone(),
        },
    }
}

fn cast_all(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let [of, ..] = call.take::<3>()?;
    if of.data_type() == call.to {
        return Ok(Arc::clone(of));
    }
    room.take_if_long(of.get_array_memory_size())?;
    cast_nested(of, call.to, false)
}
