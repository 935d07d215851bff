//! `concat`, `concat_ws` and `list_concat`: values of any type one after the other as text, or lists as one list.
//!
//! What must hold: each value has the text that a CAST gives it.

use super::lists::{common, first};
use super::room::Room;
use super::text::value_text;
use super::whole::{Call, Whole, item, items_of, list_of, listed, registered};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StringViewBuilder};
use datafusion::arrow::compute::interleave;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use std::borrow::Cow;
use std::sync::Arc;

/// `text || text || ...`, which is NULL when one of them is.
pub const TEXT_AND_TEXT: &str = "$text_and_text";
/// `list || list`, which is NULL when one of them is.
pub const LIST_AND_LIST: &str = "$list_and_list";

/// The same of PostgreSQL, where NULL is left out, and NULLs alone are NULL.
pub const ARRAY_CAT: &str = "array_cat_as_postgres";

/// What NULL is among lists that are joined.
#[derive(Clone, Copy)]
enum OfNull {
    /// A list without values.
    IsEmpty,
    /// Nothing, unless there is nothing else.
    IsLeftOut,
    /// It makes all NULL.
    MakesNull,
}

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 6] = [
        (
            &[TEXT_AND_TEXT],
            |types| {
                let is_text = |of: &DataType| of.is_string() || of.is_null();
                let all = types.iter().all(is_text);
                all.then(|| vec![DataType::Utf8View; types.len()])
            },
            |_, _| Some(DataType::Utf8View),
            joined,
        ),
        (
            &["concat"],
            |types| match types.iter().any(DataType::is_list) {
                true => same_lists(types),
                false => (!types.is_empty()).then(|| types.to_vec()),
            },
            |types, _| match types.first() {
                Some(list) if list.is_list() => Some(list.clone()),
                _ => Some(DataType::Utf8View),
            },
            |call, room| match call.to.is_list() {
                true => lists(call, OfNull::IsEmpty, room),
                false => texts(call.columns(), None, call.rows(), room),
            },
        ),
        (
            &["concat_ws"],
            |types| match types {
                [separator, _, ..] if separator.is_string() || separator.is_null() => {
                    Some(types.to_vec())
                }
                _ => None,
            },
            |_, _| Some(DataType::Utf8View),
            |call, room| match call.columns().split_first() {
                Some((separator, values)) => texts(values, Some(separator), call.rows(), room),
                None => internal_err!("concat_ws takes a separator"),
            },
        ),
        (
            &["list_concat", "list_cat", "array_concat", "array_cat"],
            same_lists,
            first,
            |call, room| lists(call, OfNull::IsEmpty, room),
        ),
        (&[LIST_AND_LIST], same_lists, first, |call, room| {
            lists(call, OfNull::MakesNull, room)
        }),
        (&[ARRAY_CAT], same_lists, first, |call, room| {
            lists(call, OfNull::IsLeftOut, room)
        }),
    ];
    registered(functions, memory)
}

/// All as lists of one type; `None` if one is something else.
fn same_lists(types: &[DataType]) -> Option<Vec<DataType>> {
    let mut all = DataType::Null;
    for list in types {
        item(list)?;
        all = common(&all, list)?;
    }
    Some(vec![list_of(item(&all)?); types.len()]).filter(|all| !all.is_empty())
}

fn shown(array: &ArrayRef, row: usize) -> Result<Option<Cow<'_, str>>> {
    if let (DataType::Utf8View, true) = (array.data_type(), array.is_valid(row)) {
        return Ok(Some(Cow::Borrowed(array.as_string_view().value(row))));
    }
    Ok(value_text(array, row)?.map(Cow::Owned))
}

/// Bytes that are asked for at once.
const ASKED_BYTES: usize = 64 << 10;

fn joined(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let columns: Vec<_> = call
        .columns()
        .iter()
        .map(|of| of.as_string_view())
        .collect();
    let mut out = StringViewBuilder::with_capacity(call.rows());
    let (mut text, mut wanted) = (String::new(), 0_usize);
    for row in 0..call.rows() {
        if columns.iter().any(|column| column.is_null(row)) {
            out.append_null();
            continue;
        }
        let values = columns.iter().map(|column| column.value(row));
        wanted += values.clone().map(str::len).sum::<usize>();
        if wanted > ASKED_BYTES {
            room.take_all(std::mem::take(&mut wanted))?;
        }
        text.clear();
        values.for_each(|value| text.push_str(value));
        out.try_append_value(&text)?;
    }
    Ok(Arc::new(out.finish()))
}

/// NULL is left out, but as the separator.
fn texts(
    values: &[ArrayRef],
    separator: Option<&ArrayRef>,
    rows: usize,
    room: &mut Room,
) -> Result<ArrayRef> {
    let mut out = StringViewBuilder::with_capacity(rows);
    let (mut text, mut wanted) = (String::new(), 0_usize);
    for row in 0..rows {
        let between = match separator {
            None => Some(Cow::Borrowed("")),
            Some(separator) => shown(separator, row)?,
        };
        let Some(between) = between else {
            out.append_null();
            continue;
        };
        text.clear();
        let mut first = true;
        for array in values {
            if let Some(value) = shown(array, row)? {
                wanted += value.len() + between.len();
                if wanted > ASKED_BYTES {
                    room.take_all(std::mem::take(&mut wanted))?;
                }
                if !first {
                    text.push_str(&between);
                }
                first = false;
                text.push_str(&value);
            }
        }
        out.try_append_value(&text)?;
    }
    Ok(Arc::new(out.finish()))
}

fn lists(call: &Call<'_>, nulls: OfNull, room: &mut Room) -> Result<ArrayRef> {
    let columns = call.columns().iter();
    let lists: Vec<&ListArray> = columns.map(|column| column.as_list::<i32>()).collect();
    let is_typed = lists.iter().any(|list| !list.value_type().is_null());
    let (mut taken, mut lengths, mut valid) = (vec![], vec![], vec![]);
    for row in 0..call.rows() {
        let before = taken.len();
        let known = lists.iter().filter(|list| list.is_valid(row)).count();
        let is_valid = match nulls {
            OfNull::IsEmpty => known > 0 || is_typed,
            OfNull::IsLeftOut => known > 0,
            OfNull::MakesNull => known == lists.len(),
        };
        valid.push(is_valid);
        for (n, list) in lists
            .iter()
            .enumerate()
            .filter(|(_, list)| is_valid && list.is_valid(row))
        {
            let items = items_of(list, row);
            room.take_items(
                taken.len(),
                items.len() as u128,
                size_of::<(usize, usize)>(),
            )?;
            taken.extend(items.map(|item| (n, item)));
        }
        lengths.push(taken.len() - before);
    }
    let values: Vec<&dyn Array> = lists.iter().map(|list| list.values().as_ref()).collect();
    let values = match (taken.is_empty(), values.first()) {
        (true, Some(first)) => first.slice(0, 0),
        _ => interleave(&values, &taken)?,
    };
    listed(values, lengths, valid)
}
