//! Items of a list by another list, `list_where` and `list_select`; maps of lists, `map_from_entries` and `map_concat`.

use super::comparison_key::keys;
use super::lists::picked;
use super::room::Room;
use super::whole::{Call, Whole, item, items_of, list_of, registered};
use crate::common_types::common_type;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, MapArray, StructArray, UInt32Array, new_null_array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{concat, take};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 4] = [
        (
            &["list_where", "array_where"],
            |types| list_and(types, DataType::Boolean),
            picks_type,
            chosen_where,
        ),
        (
            &["list_select", "array_select"],
            |types| list_and(types, DataType::Int64),
            picks_type,
            chosen_by_place,
        ),
        (
            &["map_from_entries"],
            |types| match types {
                [entries] => Some(vec![entries.clone()]),
                _ => None,
            },
            |types, _| match item(types.first()?)? {
                DataType::Null => Some(DataType::Null),
                DataType::Struct(fields) => match fields.as_ref() {
                    [key, value] => Some(map_of(key.data_type(), value.data_type())),
                    _ => None,
                },
                _ => None,
            },
            from_entries,
        ),
        (
            &["map_concat"],
            same_maps,
            |types, _| types.first().cloned(),
            concatenated,
        ),
    ];
    registered(functions, memory)
}

fn invalid(what: &str) -> datafusion::common::DataFusionError {
    Error::new(ErrorKind::InvalidInput, what).into()
}

fn list_and(types: &[DataType], of: DataType) -> Option<Vec<DataType>> {
    let [list, chosen] = types else { return None };
    let chosen_item = item(chosen)?;
    let fits = chosen_item.is_null()
        || match of {
            DataType::Boolean => chosen_item == DataType::Boolean,
            _ => chosen_item.is_integer(),
        };
    let list = if list.is_null() {
        DataType::Null
    } else {
        list_of(item(list)?)
    };
    let chosen = match chosen.is_null() {
        true => DataType::Null,
        false => list_of(of),
    };
    fits.then(|| vec![list, chosen])
}

/// The list's type; picks that are the untyped NULL give it, too.
fn picks_type(types: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    match types {
        [_, DataType::Null] => Some(DataType::Null),
        types => types.first().cloned(),
    }
}

/// Where the items lie that the second list says, row by row.
fn chosen(
    call: &Call<'_>,
    room: &mut Room,
    find: fn(&ArrayRef, usize, usize) -> Option<usize>,
) -> Result<ArrayRef> {
    if let Some(nothing) = call.nothing() {
        return Ok(nothing);
    }
    let [list, by] = call.take()?;
    let (lists, by) = (list.as_list::<i32>(), by.as_list::<i32>());
    let values = concat(&[lists.values(), &new_null_array(&lists.value_type(), 1)])?;
    let nothing = lists.values().len() as u32;
    let mut all = Vec::with_capacity(lists.len());
    for row in 0..lists.len() {
        if lists.is_null(row) || by.is_null(row) {
            all.push(None);
            continue;
        }
        let (items, chosen) = (items_of(lists, row), items_of(by, row));
        if chosen.clone().any(|at| by.values().is_null(at)) {
            return Err(invalid(
                "NULLs are not allowed as list elements in the second input parameter.",
            ));
        }
        room.take_all(chosen.len() * size_of::<u32>())?;
        let (from, length) = (items.start, items.len());
        let found = chosen.clone().filter_map(|at| {
            let place = find(by.values(), at, at - chosen.start)?;
            Some(match place < length {
                true => (from + place) as u32,
                false => nothing,
            })
        });
        all.push(Some(found.collect::<Vec<_>>()));
    }
    picked(&values, all)
}

fn chosen_where(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    chosen(call, room, |by, at, place| {
        by.as_boolean().value(at).then_some(place)
    })
}

fn chosen_by_place(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    chosen(call, room, |by, at, _| {
        let place = by.as_primitive::<Int64Type>().value(at);
        Some(usize::try_from(place.checked_sub(1).unwrap_or(-1)).unwrap_or(usize::MAX))
    })
}

fn map_of(key: &DataType, value: &DataType) -> DataType {
    let fields = vec![
        Field::new("key", key.clone(), false),
        Field::new("value", value.clone(), true),
    ];
    let entries = Field::new("entries", DataType::Struct(fields.into()), false);
    DataType::Map(Arc::new(entries), false)
}

fn entries_field(map: &DataType) -> Result<FieldRef> {
    match map {
        DataType::Map(entries, _) => Ok(Arc::clone(entries)),
        _ => Err(Error::internal("a function of maps of another type").into()),
    }
}

/// The keys of maps as bytes that are equal where they are.
fn key_rows(of: &ArrayRef) -> Result<Rows> {
    let of = keys(of)?;
    let field = SortField::new(of.data_type().clone());
    Ok(RowConverter::new(vec![field])?.convert_columns(&[of])?)
}

/// Maps of so many of the keys and values each.
fn maps(
    to: &DataType,
    keys: ArrayRef,
    values: ArrayRef,
    lengths: Vec<usize>,
    valid: Vec<bool>,
) -> Result<ArrayRef> {
    let field = entries_field(to)?;
    let DataType::Struct(fields) = field.data_type() else {
        return Err(Error::internal("a map without entries").into());
    };
    let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    let map = MapArray::try_new(
        field,
        offsets,
        entries,
        Some(NullBuffer::from(valid)),
        false,
    )?;
    Ok(Arc::new(map))
}

fn from_entries(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    if let Some(nothing) = call.nothing() {
        return Ok(nothing);
    }
    let [lists] = call.take()?;
    let lists = lists.as_list::<i32>();
    let entries = lists.values().as_struct();
    let rows = key_rows(entries.column(0))?;
    // A column of the untyped NULL does not say that it is.
    let nulls = entries.column(0).logical_nulls();
    let is_null = |at: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
    let (mut from, mut lengths, mut valid) = (vec![], vec![], vec![]);
    for row in 0..lists.len() {
        let items = match lists.is_valid(row) {
            true => items_of(lists, row),
            false => 0..0,
        };
        let mut known = HashMap::new();
        for at in items.clone() {
            if entries.is_null(at) || is_null(at) {
                return Err(invalid("Map keys can not be NULL."));
            }
            if known.insert(rows.row(at), ()).is_some() {
                return Err(invalid("Map keys must be unique."));
            }
        }
        valid.push(lists.is_valid(row));
        lengths.push(items.len());
        from.extend(items.map(|at| at as u32));
    }
    let from = UInt32Array::from(from);
    let keys = take(entries.column(0), &from, None)?;
    let values = take(entries.column(1), &from, None)?;
    maps(call.to, keys, values, lengths, valid)
}

/// One type for all maps; an untyped NULL is one of it.
fn same_maps(types: &[DataType]) -> Option<Vec<DataType>> {
    let mut of_all: Option<(DataType, DataType)> = None;
    for of in types.iter().filter(|of| !of.is_null()) {
        let DataType::Map(entries, _) = of else {
            return None;
        };
        let DataType::Struct(fields) = entries.data_type() else {
            return None;
        };
        let (key, value) = (fields.first()?.data_type(), fields.get(1)?.data_type());
        of_all = Some(match of_all {
            None => (key.clone(), value.clone()),
            Some((k, v)) => (
                common_type(&[k, key.clone()])?,
                common_type(&[v, value.clone()])?,
            ),
        });
    }
    let to = match of_all {
        None => DataType::Null,
        Some((key, value)) => map_of(&key, &value),
    };
    (types.len() > 1).then(|| vec![to; types.len()])
}

/// The entries of all maps of a row; of a key that is there twice the last value, at the place of the first.
fn concatenated(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    if let Some(nothing) = call.nothing() {
        return Ok(nothing);
    }
    let given: Vec<&MapArray> = call.columns().iter().map(|map| map.as_map()).collect();
    let all = |part: fn(&MapArray) -> &ArrayRef| {
        let parts: Vec<&dyn Array> = given.iter().map(|map| part(map).as_ref()).collect();
        concat(&parts)
    };
    let (all_keys, all_values) = (all(|map| map.keys())?, all(|map| map.values())?);
    room.take_if_long(all_keys.get_array_memory_size() + all_values.get_array_memory_size())?;
    let rows = key_rows(&all_keys)?;
    let (mut key_places, mut value_places) = (vec![], vec![]);
    let (mut lengths, mut valid) = (vec![], vec![]);
    for row in 0..call.rows() {
        let before = key_places.len();
        let mut known = HashMap::new();
        let mut base = 0;
        for map in &given {
            let offsets = map.value_offsets();
            if map.is_valid(row) {
                for at in offsets[row] as usize..offsets[row + 1] as usize {
                    let at = base + at;
                    let place = *known.entry(rows.row(at)).or_insert(key_places.len());
                    match place == key_places.len() {
                        true => {
                            key_places.push(at as u32);
                            value_places.push(at as u32);
                        }
                        false => value_places[place] = at as u32,
                    }
                }
            }
            base += map.keys().len();
        }
        lengths.push(key_places.len() - before);
        valid.push(given.iter().any(|map| map.is_valid(row)));
    }
    let keys = take(&all_keys, &UInt32Array::from(key_places), None)?;
    let values = take(&all_values, &UInt32Array::from(value_places), None)?;
    maps(call.to, keys, values, lengths, valid)
}
