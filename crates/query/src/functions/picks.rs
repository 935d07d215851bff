//! Items of a list by another list, `list_where` and `list_select`; maps of lists, `map`, `map_from_entries` and `map_concat`.

use super::lists::{picked, plain_list};
use super::maps::{check_keys, invalid, key_rows, maps};
use super::room::Room;
use super::whole::{Call, Whole, item, items_of, list_of, registered};
use crate::common_types::{common_type, entry_types, map_of};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, ListArray, MapArray, UInt32Array, new_empty_array, new_null_array,
};
use datafusion::arrow::compute::{concat, take};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A map of a list of keys and one of values, also as `MAP {k: v}`: the library takes the arguments of its own `map` for pairs where
/// one of them is NULL.
const MAKE_MAP: &str = "$map";

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 5] = [
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
            &[MAKE_MAP],
            |types| match types {
                [keys, values] => Some(vec![plain_list(keys)?, plain_list(values)?]),
                _ => None,
            },
            |types, _| match types {
                [keys, values] => {
                    let of = |list: &DataType| match list.is_null() {
                        true => Some(DataType::Null),
                        false => item(list),
                    };
                    Some(map_of(&of(keys)?, &of(values)?))
                }
                _ => None,
            },
            of_lists,
        ),
        (
            &["map_from_entries"],
            |types| match types {
                [entries] => Some(vec![entries.clone()]),
                _ => None,
            },
            |types, _| match item(types.first()?)? {
                DataType::Null if types.first()?.is_null() => Some(DataType::Null),
                DataType::Null => Some(map_of(&DataType::Int32, &DataType::Int32)),
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

/// Maps of a list of keys and one of as many values.
fn of_lists(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    if call.columns().iter().any(|list| list.data_type().is_null()) {
        return Ok(new_null_array(call.to, call.rows()));
    }
    let [keys, values] = call.take()?;
    room.take_if_long(keys.get_array_memory_size() + values.get_array_memory_size())?;
    let (keys, values) = (keys.as_list::<i32>(), values.as_list::<i32>());
    let mut each = vec![];
    for row in 0..call.rows() {
        let valid = keys.is_valid(row) && values.is_valid(row);
        let pair = valid.then(|| (items_of(keys, row), items_of(values, row)));
        if pair.as_ref().is_some_and(|(k, v)| k.len() != v.len()) {
            return Err(invalid(
                "The map key list does not align with the map value list.",
            ));
        }
        each.push(pair);
    }
    check_keys(
        keys.values(),
        each.iter().flatten().map(|(keys, _)| keys.clone()),
    )?;
    let lengths = each
        .iter()
        .map(|pair| pair.as_ref().map_or(0, |(keys, _)| keys.len()));
    let lengths = lengths.collect();
    let valid = each.iter().map(Option::is_some).collect();
    let (key_places, value_places): (Vec<_>, Vec<_>) = each.into_iter().flatten().unzip();
    let keys = taken(keys.values(), key_places)?;
    let values = taken(values.values(), value_places)?;
    maps(call.to, (keys, values), lengths, valid)
}

fn taken(values: &ArrayRef, places: Vec<Range<usize>>) -> Result<ArrayRef> {
    let places = places.into_iter().flatten().map(|at| at as u32);
    Ok(take(values, &UInt32Array::from_iter_values(places), None)?)
}

fn from_entries(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    if let Some(nothing) = call.of_null() {
        return Ok(nothing);
    }
    let [lists] = call.take()?;
    let lists = lists.as_list::<i32>();
    let Some(entries) = lists.values().as_struct_opt() else {
        return from_no_entries(call, lists);
    };
    let valid: Vec<bool> = (0..lists.len()).map(|row| lists.is_valid(row)).collect();
    let items = valid.iter().enumerate().map(|(row, valid)| match valid {
        true => items_of(lists, row),
        false => 0..0,
    });
    let items: Vec<_> = items.collect();
    if items
        .iter()
        .cloned()
        .flatten()
        .any(|at| entries.is_null(at))
    {
        return Err(invalid("Map keys can not be NULL."));
    }
    check_keys(entries.column(0), items.iter().cloned())?;
    let lengths = items.iter().map(ExactSizeIterator::len).collect();
    let keys = taken(entries.column(0), items.clone())?;
    let values = taken(entries.column(1), items)?;
    maps(call.to, (keys, values), lengths, valid)
}

/// Maps of lists without a type, in which there are at most NULLs.
fn from_no_entries(call: &Call<'_>, lists: &ListArray) -> Result<ArrayRef> {
    if !lists.values().is_empty() {
        return Err(invalid("Map keys can not be NULL."));
    }
    let none = new_empty_array(&DataType::Int32);
    let valid = (0..lists.len()).map(|row| lists.is_valid(row)).collect();
    maps(
        call.to,
        (Arc::clone(&none), none),
        vec![0; lists.len()],
        valid,
    )
}

/// One type for all maps; an untyped NULL is one of it.
fn same_maps(types: &[DataType]) -> Option<Vec<DataType>> {
    let mut of_all: Option<(DataType, DataType)> = None;
    for of in types.iter().filter(|of| !of.is_null()) {
        let (key, value) = entry_types(of)?;
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
    maps(call.to, (keys, values), lengths, valid)
}
