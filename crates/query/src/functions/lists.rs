//! What a list has in it: `list_contains`, `list_position`, `list_has_any`, `list_has_all`, `list_intersect`, `list_distinct`,
//! `list_sort`, and the values of a map.
//!
//! What must hold: values are the same if SQL's `IS NOT DISTINCT FROM` says so, at any depth; NULL is in no set.

use super::comparison_key::keys;
use super::room::Room;
use super::whole::{Call, Whole, item, items_of, list_of, listed, registered};
use crate::common_types::{common_type, entry_types};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, ListArray, UInt32Array,
    new_null_array,
};
use datafusion::arrow::compute::{SortOptions, cast, take};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::collections::HashSet;
use std::sync::Arc;

/// The value of a key in a map, or NULL.
pub const MAP_VALUE: &str = "$map_value";
/// `contains(x, value)` where `x` is no text.
pub(super) const CONTAINS: &str = "$contains";
/// `@>` of PostgreSQL, where NULL is in no list.
pub const LIST_WITHIN: &str = "list_within_as_postgres";

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 12] = [
        (
            &["list_contains", "list_has", "array_contains", "array_has"],
            list_and_value,
            boolean,
            contains,
        ),
        (&[CONTAINS], contains_types, boolean, list_or_map_contains),
        (
            &[
                "list_position",
                "list_indexof",
                "array_position",
                "array_indexof",
            ],
            list_and_value,
            |_, _| Some(DataType::Int32),
            position,
        ),
        (
            &["list_has_any", "array_has_any"],
            two_lists,
            boolean,
            |call, _| has(call, Asked::Any),
        ),
        (
            &["list_has_all", "array_has_all"],
            two_lists,
            boolean,
            |call, _| has(call, Asked::All),
        ),
        (&[LIST_WITHIN], two_lists, boolean, within),
        (
            &["list_intersect", "array_intersect"],
            two_lists,
            first,
            intersect,
        ),
        (
            &["list_distinct", "array_distinct"],
            one_list,
            first,
            distinct,
        ),
        (&["list_sort", "array_sort"], sorted, null_if_any, sort),
        (
            &["list_grade_up", "array_grade_up", "grade_up"],
            sorted,
            |types, constants| match null_if_any(types, constants)? {
                DataType::Null => Some(DataType::Null),
                _ => Some(list_of(DataType::Int64)),
            },
            grade,
        ),
        (
            &[MAP_VALUE],
            map_and_key,
            |types, _| entry_types(types.first()?).map(|(_, value)| value.clone()),
            map_value,
        ),
        (
            &["map_extract", "element_at"],
            map_and_key,
            |types, _| entry_types(types.first()?).map(|(_, value)| list_of(value.clone())),
            map_values,
        ),
    ];
    registered(functions, memory)
}

/// Whether a list has a value, or a map a key.
fn list_or_map_contains(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let [of, key] = call.take()?;
    match of.data_type() {
        DataType::List(_) => contains(call, room),
        DataType::Map(..) => {
            let found = entries_of(of, key)?
                .into_iter()
                .map(|entry| entry.is_some());
            let known = |row| of.is_valid(row) && key.is_valid(row);
            let found = found
                .enumerate()
                .map(|(row, found)| known(row).then_some(found));
            Ok(Arc::new(found.collect::<BooleanArray>()))
        }
        _ => Ok(new_null_array(call.to, call.rows())),
    }
}

/// The value of a key in a map.
fn map_value(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [map, key] = call.take()?;
    let found = entries_of(map, key)?.into_iter().collect::<UInt32Array>();
    Ok(take(map.as_map().values(), &found, None)?)
}

/// A list of the value of a key in a map, which is empty where there is none.
fn map_values(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [map, key] = call.take()?;
    let found = entries_of(map, key)?.into_iter().enumerate();
    let list = found.map(|(row, entry)| map.is_valid(row).then(|| entry.into_iter().collect()));
    picked(map.as_map().values(), list.collect())
}

/// A list and a value, a map and a key, or, which is NULL, a struct and NULL.
fn contains_types(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [DataType::Struct(_), DataType::Null] => Some(types.to_vec()),
        [DataType::Map(..), _] => map_and_key(types),
        _ => list_and_value(types),
    }
}

/// The type in which values of two types are compared; `None` if that takes a CAST.
pub(super) fn common(left: &DataType, right: &DataType) -> Option<DataType> {
    if left == right || right.is_null() {
        return Some(left.clone());
    }
    if left.is_null() {
        return Some(right.clone());
    }
    // A text is read as a number, and never a number as a text; bytes are not read at all.
    let text = |t: &DataType| t.is_string();
    let bytes = |t: &DataType| t.is_binary() || matches!(t, DataType::FixedSizeBinary(_));
    if text(left) && right.is_numeric() || bytes(left) != bytes(right) {
        return None;
    }
    if text(right) && left.is_numeric() {
        return Some(left.clone());
    }
    common_type(&[left.clone(), right.clone()])
}

fn list_and_value(types: &[DataType]) -> Option<Vec<DataType>> {
    let [list, value] = types else { return None };
    let common = common(&item(list)?, value)?;
    Some(vec![list_of(common.clone()), common])
}

fn two_lists(types: &[DataType]) -> Option<Vec<DataType>> {
    let [left, right] = types else { return None };
    let common = list_of(common(&item(left)?, &item(right)?)?);
    Some(vec![common.clone(), common])
}

/// A list with offsets of 32 bits; the untyped NULL stays what it is.
pub(super) fn plain_list(list: &DataType) -> Option<DataType> {
    match list {
        DataType::Null => Some(DataType::Null),
        list => item(list).map(list_of),
    }
}

fn one_list(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [list] => Some(vec![plain_list(list)?]),
        _ => None,
    }
}

fn sorted(types: &[DataType]) -> Option<Vec<DataType>> {
    let (list, options) = types.split_first()?;
    let text = |t: &DataType| match t {
        DataType::Null => Some(DataType::Null),
        t => t.is_string().then_some(DataType::Utf8View),
    };
    let all = std::iter::once(plain_list(list)).chain(options.iter().map(text));
    all.collect::<Option<Vec<_>>>()
        .filter(|_| options.len() < 3)
}

/// The map's keys keep their type: they are brought to the common one when they are looked at.
fn map_and_key(types: &[DataType]) -> Option<Vec<DataType>> {
    let [map, key] = types else { return None };
    let (own, _) = entry_types(map)?;
    Some(vec![map.clone(), common(own, key)?])
}

fn boolean(_: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    Some(DataType::Boolean)
}

/// The type of the first argument.
pub(super) fn first(types: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    types.first().cloned()
}

/// The type of the first argument, or that of an untyped NULL among all.
pub(super) fn null_if_any(types: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    match types.iter().any(DataType::is_null) {
        true => Some(DataType::Null),
        false => types.first().cloned(),
    }
}

/// Values as bytes that compare as they do, with NULL behind all others.
pub(super) fn comparable(arrays: &[&ArrayRef]) -> Result<Vec<Rows>> {
    let keyed = arrays.iter().map(|array| keys(array));
    let keyed = keyed.collect::<Result<Vec<_>>>()?;
    let data_type = keyed
        .first()
        .map_or(DataType::Null, |a| a.data_type().clone());
    let options = SortOptions::default().asc().nulls_last();
    let field = SortField::new_with_options(data_type, options);
    if !RowConverter::supports_fields(std::slice::from_ref(&field)) {
        return Err(Error::unsupported("functions of lists of this type").into());
    }
    let converter = RowConverter::new(vec![field])?;
    let rows = keyed
        .iter()
        .map(|array| Ok(converter.convert_columns(&[Arc::clone(array)])?));
    rows.collect()
}

/// Where the first value that is the same lies in each list.
fn found(list: &ListArray, value: &ArrayRef) -> Result<Vec<Option<usize>>> {
    let rows = comparable(&[list.values(), value])?;
    let [items, values] = rows.as_slice() else {
        return Ok(vec![]);
    };
    let first = |row| {
        let mut places = items_of(list, row);
        let start = places.start;
        let found = places.find(|item| items.row(*item) == values.row(row));
        found.map(|item| item - start)
    };
    Ok((0..list.len())
        .map(|row| if list.is_null(row) { None } else { first(row) })
        .collect())
}

/// Takes room for what long lists become when their values are compared: bytes of about four times their length.
pub(super) fn room_to_compare(call: &Call<'_>, room: &mut Room) -> Result<()> {
    let bytes = call.columns().iter().map(|c| c.get_array_memory_size());
    let of_row = bytes.sum::<usize>() / call.rows().max(1);
    room.take_if_long(of_row.saturating_mul(4))
}

fn contains(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    room_to_compare(call, room)?;
    let [list, value] = call.take()?;
    let list = list.as_list();
    let found = found(list, value)?;
    let nulls = value.logical_nulls();
    let known = |row: usize| list.is_valid(row) && nulls.as_ref().is_none_or(|n| n.is_valid(row));
    let answers = found.into_iter().enumerate();
    let answers = answers.map(|(row, found)| known(row).then_some(found.is_some()));
    Ok(Arc::new(answers.collect::<BooleanArray>()))
}

fn position(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    room_to_compare(call, room)?;
    let [list, value] = call.take()?;
    let found = found(list.as_list(), value)?.into_iter();
    let positions = found.map(|found| found.and_then(|at| i32::try_from(at + 1).ok()));
    Ok(Arc::new(positions.collect::<Int32Array>()))
}

/// The items of one list that are not NULL.
pub(super) fn items(list: &ListArray, row: usize) -> impl Iterator<Item = usize> + Clone {
    let nulls = list.values().logical_nulls();
    items_of(list, row).filter(move |item| nulls.as_ref().is_none_or(|n| n.is_valid(*item)))
}

/// Whether any, or all, of the second list are in the first.
/// As in PostgreSQL, a list with a NULL is in none.
fn within(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    has(call, Asked::AllButNull)
}

/// Which items of a list are to be in another.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    Any,
    All,
    /// All, none of which may be NULL.
    AllButNull,
}

fn has(call: &Call<'_>, which: Asked) -> Result<ArrayRef> {
    let [left, right] = call.take()?.each_ref().map(|list| list.as_list::<i32>());
    let rows = comparable(&[left.values(), right.values()])?;
    let [of_left, of_right] = rows.as_slice() else {
        return plan_err!("two lists are compared");
    };
    let answers = (0..left.len()).map(|row| {
        if left.is_null(row) || right.is_null(row) {
            return None;
        }
        if which == Asked::AllButNull && right.value(row).null_count() > 0 {
            return Some(false);
        }
        let known: HashSet<&[u8]> = items(left, row)
            .map(|item| of_left.row(item).data())
            .collect();
        let mut asked = items(right, row).map(|item| of_right.row(item).data());
        Some(match which {
            Asked::Any => asked.any(|item| known.contains(item)),
            Asked::All | Asked::AllButNull => asked.all(|item| known.contains(item)),
        })
    });
    Ok(Arc::new(answers.collect::<BooleanArray>()))
}

/// Lists of some of the values, by where these lie.
pub(super) fn picked(values: &ArrayRef, lists: Vec<Option<Vec<u32>>>) -> Result<ArrayRef> {
    let valid = lists.iter().map(Option::is_some).collect();
    let lengths: Vec<_> = lists
        .iter()
        .map(|list| list.as_ref().map_or(0, Vec::len))
        .collect();
    let indices: UInt32Array = lists
        .into_iter()
        .flatten()
        .flatten()
        .collect::<Vec<_>>()
        .into();
    listed(take(values, &indices, None)?, lengths, valid)
}

/// What both lists have, once, in the order of the longer one.
fn intersect(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    room_to_compare(call, room)?;
    let [left, right] = call.take()?.each_ref().map(|list| list.as_list::<i32>());
    let rows = comparable(&[left.values(), right.values()])?;
    let [of_left, of_right] = rows.as_slice() else {
        return plan_err!("two lists are compared");
    };
    let lists = (0..left.len()).map(|row| {
        if left.is_null(row) {
            return None;
        }
        if right.is_null(row) {
            return Some(vec![]);
        }
        let mut of_both: Vec<u32> = vec![];
        let ours = items(left, row).map(|item| (of_left.row(item).data(), item));
        let theirs = items(right, row).map(|item| (of_right.row(item).data(), item));
        let place: std::collections::HashMap<&[u8], usize> = ours.clone().collect();
        let mut seen = HashSet::new();
        if items_of(left, row).len() > items_of(right, row).len() {
            let known: HashSet<&[u8]> = theirs.map(|(data, _)| data).collect();
            let both = ours.filter(|(data, _)| known.contains(data) && seen.insert(*data));
            of_both.extend(both.map(|(_, item)| item as u32));
        } else {
            let both = theirs.filter(|(data, _)| seen.insert(*data));
            of_both.extend(both.filter_map(|(data, _)| place.get(data).map(|item| *item as u32)));
        }
        Some(of_both)
    });
    picked(left.values(), lists.collect())
}

/// Each value once, in the order in which they come first.
fn distinct(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    room_to_compare(call, room)?;
    if let Some(none) = call.nothing() {
        return Ok(none);
    }
    let [list] = call.take()?;
    let list = list.as_list::<i32>();
    let rows = comparable(&[list.values()])?;
    let [values] = rows.as_slice() else {
        return plan_err!("one list is looked at");
    };
    let lists = (0..list.len()).map(|row| {
        let mut seen = HashSet::new();
        let new = items(list, row).filter(|item| seen.insert(values.row(*item).data()));
        list.is_valid(row)
            .then(|| new.map(|item| item as u32).collect())
    });
    picked(list.values(), lists.collect())
}

/// What the texts behind a list say: whether it descends, and whether NULL comes first. `None` where one is NULL.
fn directions(options: &[ArrayRef], row: usize) -> Result<Option<(bool, bool)>> {
    let mut directions = (false, false);
    for (n, option) in options.iter().enumerate() {
        let texts = cast(option, &DataType::Utf8View)?;
        let texts = texts.as_string_view();
        if texts.is_null(row) {
            return Ok(None);
        }
        let text = texts.value(row).to_uppercase();
        match (n, text.as_str()) {
            (0, "ASC" | "ASCENDING" | "DEFAULT" | "ORDER_DEFAULT")
            | (1, "NULLS LAST" | "DEFAULT") => {}
            (0, "DESC" | "DESCENDING") => directions.0 = true,
            (1, "NULLS FIRST") => directions.1 = true,
            _ => {
                let what = "list_sort takes 'ASC' or 'DESC', and 'NULLS FIRST' or 'NULLS LAST'";
                return Err(Error::new(ErrorKind::InvalidInput, what).into());
            }
        }
    }
    Ok(Some(directions))
}

fn sort(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    room_to_compare(call, room)?;
    match (call.nothing(), call.columns().first()) {
        (None, Some(list)) => picked(list.as_list::<i32>().values(), in_order(call)?),
        (Some(nothing), _) => Ok(nothing),
        _ => plan_err!("one list is sorted"),
    }
}

/// The places that the sorted items had, counted from 1.
fn grade(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    room_to_compare(call, room)?;
    let list = match (call.nothing(), call.columns().first()) {
        (None, Some(list)) => list.as_list::<i32>(),
        (Some(nothing), _) => return Ok(nothing),
        _ => return plan_err!("one list is sorted"),
    };
    let lists = in_order(call)?;
    let valid = lists.iter().map(Option::is_some).collect();
    let lengths = lists.iter().map(|items| items.as_ref().map_or(0, Vec::len));
    let lengths: Vec<usize> = lengths.collect();
    let places = lists.iter().enumerate().flat_map(|(row, items)| {
        let first = items_of(list, row).start as i64;
        let items = items.iter().flatten();
        items.map(move |item| i64::from(*item) - first + 1)
    });
    let places: ArrayRef = Arc::new(places.collect::<Int64Array>());
    listed(places, lengths, valid)
}

/// Where the items of each list lie, sorted; nothing of a list that is NULL.
fn in_order(call: &Call<'_>) -> Result<Vec<Option<Vec<u32>>>> {
    let Some((list, options)) = call.columns().split_first() else {
        return plan_err!("one list is sorted");
    };
    let list = list.as_list::<i32>();
    let rows = comparable(&[list.values()])?;
    let [values] = rows.as_slice() else {
        return plan_err!("one list is sorted");
    };
    let nulls = list.values().logical_nulls();
    let is_null = |item: usize| nulls.as_ref().is_some_and(|n| n.is_null(item));
    let mut lists = Vec::with_capacity(list.len());
    for row in 0..list.len() {
        let directions = directions(options, row)?;
        let (Some((descending, nulls_first)), true) = (directions, list.is_valid(row)) else {
            lists.push(None);
            continue;
        };
        let (none, mut some): (Vec<u32>, Vec<u32>) = items_of(list, row)
            .map(|item| item as u32)
            .partition(|item| is_null(*item as usize));
        some.sort_by(|a, b| {
            let order = values.row(*a as usize).cmp(&values.row(*b as usize));
            if descending { order.reverse() } else { order }
        });
        lists.push(Some(match nulls_first {
            true => [none, some].concat(),
            false => [some, none].concat(),
        }));
    }
    Ok(lists)
}

/// The entry of a key in each map.
fn entries_of(map: &ArrayRef, key: &ArrayRef) -> Result<Vec<Option<u32>>> {
    let map = map.as_map();
    let keys = cast(map.keys(), key.data_type())?;
    let rows = comparable(&[&keys, key])?;
    let [keys, asked] = rows.as_slice() else {
        return plan_err!("a map is asked for a key");
    };
    let nulls = key.logical_nulls();
    let offsets = map.value_offsets();
    let found = (0..map.len()).map(|row| {
        if map.is_null(row) || nulls.as_ref().is_some_and(|n| n.is_null(row)) {
            return None;
        }
        let mut entries = *offsets.get(row)? as usize..*offsets.get(row + 1)? as usize;
        let entry = entries.find(|entry| keys.row(*entry) == asked.row(row));
        entry.map(|entry| entry as u32)
    });
    Ok(found.collect())
}
