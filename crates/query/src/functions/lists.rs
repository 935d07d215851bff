//! What a list has in it: `list_contains`, `list_position`, `list_has_any`, `list_has_all`, `list_intersect`, `list_distinct`,
//! `list_sort`, and the values of a map.
//!
//! What must hold: values are the same if SQL's `IS NOT DISTINCT FROM` says so, at any depth; NULL is in no set.

use super::comparison_key::keys;
use super::plain::called;
use crate::plan::common_type;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int32Array, ListArray, UInt32Array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{SortOptions, cast, take};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// The value of a key in a map, or NULL.
pub const MAP_VALUE: &str = "$map_value";

/// What is asked of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Question {
    Contains,
    Position,
    HasAny,
    HasAll,
    Intersect,
    Distinct,
    Sort,
    MapValue,
    MapExtract,
}

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    use Question as Q;
    let functions: [(Q, &[&str]); 9] = [
        (
            Q::Contains,
            &["list_contains", "list_has", "array_contains", "array_has"],
        ),
        (
            Q::Position,
            &[
                "list_position",
                "list_indexof",
                "array_position",
                "array_indexof",
            ],
        ),
        (Q::HasAny, &["list_has_any", "array_has_any"]),
        (Q::HasAll, &["list_has_all", "array_has_all"]),
        (Q::Intersect, &["list_intersect", "array_intersect"]),
        (Q::Distinct, &["list_distinct", "array_distinct"]),
        (Q::Sort, &["list_sort", "array_sort"]),
        (Q::MapValue, &[MAP_VALUE]),
        (Q::MapExtract, &["map_extract", "element_at"]),
    ];
    let function = |(question, names): (Q, &[&str])| {
        let mut names = names.iter().map(|name| name.to_string());
        Arc::new(ScalarUDF::from(ListFunction {
            question,
            name: names.next().unwrap_or_default(),
            aliases: names.collect(),
            signature: Signature::user_defined(Volatility::Immutable),
        }))
    };
    functions.map(function).into()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ListFunction {
    question: Question,
    name: String,
    aliases: Vec<String>,
    signature: Signature,
}

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

/// The type of a list's items.
fn item(list: &DataType) -> Option<DataType> {
    match list {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item) => Some(item.data_type().clone()),
        DataType::Null => Some(DataType::Null),
        _ => None,
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

impl ListFunction {
    fn coerced(&self, types: &[DataType]) -> Option<Vec<DataType>> {
        use Question as Q;
        let text = |t: &DataType| t.is_string() || t.is_null();
        match (self.question, types) {
            (Q::Contains | Q::Position, [list, value]) => {
                let common = common(&item(list)?, value)?;
                Some(vec![list_of(common.clone()), common])
            }
            (Q::HasAny | Q::HasAll | Q::Intersect, [left, right]) => {
                let common = list_of(common(&item(left)?, &item(right)?)?);
                Some(vec![common.clone(), common])
            }
            (Q::Distinct, [list]) => Some(vec![list_of(item(list)?)]),
            (Q::Sort, [list, options @ ..]) if options.len() < 3 && options.iter().all(text) => {
                let mut types = vec![list_of(item(list)?)];
                types.extend(options.iter().map(|_| DataType::Utf8View));
                Some(types)
            }
            (Q::MapValue | Q::MapExtract, [map @ DataType::Map(entries, _), key]) => {
                match entries.data_type() {
                    DataType::Struct(fields) => {
                        let own = fields.first()?.data_type();
                        let common = common(own, key)?;
                        // The map's keys keep their type: they are brought to the common one when they are looked at.
                        Some(vec![map.clone(), common])
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

impl ScalarUDFImpl for ListFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match self.coerced(types) {
            Some(types) => Ok(types),
            None => plan_err!(
                "No function matches the given name and argument types '{}'; you might need to add explicit type casts",
                called(&self.name, types)
            ),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        use Question as Q;
        Ok(match (self.question, types) {
            (Q::Contains | Q::HasAny | Q::HasAll, _) => DataType::Boolean,
            (Q::Position, _) => DataType::Int32,
            (Q::MapValue | Q::MapExtract, [DataType::Map(entries, _), ..]) => {
                let DataType::Struct(fields) = entries.data_type() else {
                    return plan_err!("a map has keys and values");
                };
                match (
                    self.question,
                    fields.get(1).map(|value| value.data_type().clone()),
                ) {
                    (Q::MapValue, Some(value)) => value,
                    (_, Some(value)) => list_of(value),
                    _ => return plan_err!("a map has keys and values"),
                }
            }
            (_, [list, ..]) => list_of(item(list).unwrap_or(DataType::Null)),
            _ => return plan_err!("{} takes a list", self.name),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        use Question as Q;
        let scalar = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if scalar { 1 } else { args.number_rows };
        let mut arrays = Vec::with_capacity(args.args.len());
        for arg in &args.args {
            arrays.push(arg.to_array(rows)?);
        }
        let answer = match (self.question, arrays.as_slice()) {
            (Q::Contains, [list, value]) => contains(list.as_list(), value)?,
            (Q::Position, [list, value]) => position(list.as_list(), value)?,
            (Q::HasAny, [left, right]) => has(left.as_list(), right.as_list(), false)?,
            (Q::HasAll, [left, right]) => has(left.as_list(), right.as_list(), true)?,
            (Q::Intersect, [left, right]) => intersect(left.as_list(), right.as_list())?,
            (Q::Distinct, [list]) => distinct(list.as_list())?,
            (Q::Sort, [list, options @ ..]) => sort(list.as_list(), options)?,
            (Q::MapValue, [map, key]) => {
                let found = entries_of(map, key)?.into_iter().collect::<UInt32Array>();
                take(map.as_map().values(), &found, None)?
            }
            (Q::MapExtract, [map, key]) => {
                let found = entries_of(map, key)?.into_iter().enumerate();
                let list = found
                    .map(|(row, entry)| map.is_valid(row).then(|| entry.into_iter().collect()));
                picked(map.as_map().values(), list.collect())?
            }
            _ => return plan_err!("{} takes other arguments", self.name),
        };
        if scalar {
            return ScalarValue::try_from_array(&answer, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(answer))
    }
}

/// Values as bytes that compare as they do, with NULL behind all others.
fn comparable(arrays: &[&ArrayRef]) -> Result<Vec<Rows>> {
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

fn range(list: &ListArray, row: usize) -> Range<usize> {
    let offsets = list.value_offsets();
    let at = |n: usize| offsets.get(n).map_or(0, |offset| *offset as usize);
    at(row)..at(row + 1)
}

/// Where the first value that is the same lies in each list.
fn found(list: &ListArray, value: &ArrayRef) -> Result<Vec<Option<usize>>> {
    let rows = comparable(&[list.values(), value])?;
    let [items, values] = rows.as_slice() else {
        return Ok(vec![]);
    };
    let first = |row| {
        let mut range = range(list, row);
        let start = range.start;
        let found = range.find(|item| items.row(*item) == values.row(row));
        found.map(|item| item - start)
    };
    Ok((0..list.len())
        .map(|row| if list.is_null(row) { None } else { first(row) })
        .collect())
}

fn contains(list: &ListArray, value: &ArrayRef) -> Result<ArrayRef> {
    let found = found(list, value)?;
    let nulls = value.logical_nulls();
    let known = |row: usize| list.is_valid(row) && nulls.as_ref().is_none_or(|n| n.is_valid(row));
    let answers = found.into_iter().enumerate();
    let answers = answers.map(|(row, found)| known(row).then_some(found.is_some()));
    Ok(Arc::new(answers.collect::<BooleanArray>()))
}

fn position(list: &ListArray, value: &ArrayRef) -> Result<ArrayRef> {
    let found = found(list, value)?.into_iter();
    let positions = found.map(|found| found.and_then(|at| i32::try_from(at + 1).ok()));
    Ok(Arc::new(positions.collect::<Int32Array>()))
}

/// The items of one list that are not NULL.
fn items(list: &ListArray, row: usize) -> impl Iterator<Item = usize> + Clone {
    let nulls = list.values().logical_nulls();
    range(list, row).filter(move |item| nulls.as_ref().is_none_or(|n| n.is_valid(*item)))
}

/// Whether any, or all, of the second list are in the first.
fn has(left: &ListArray, right: &ListArray, all: bool) -> Result<ArrayRef> {
    let rows = comparable(&[left.values(), right.values()])?;
    let [of_left, of_right] = rows.as_slice() else {
        return plan_err!("two lists are compared");
    };
    let answers = (0..left.len()).map(|row| {
        if left.is_null(row) || right.is_null(row) {
            return None;
        }
        let known: HashSet<&[u8]> = items(left, row)
            .map(|item| of_left.row(item).data())
            .collect();
        let mut asked = items(right, row).map(|item| of_right.row(item).data());
        Some(match all {
            true => asked.all(|item| known.contains(item)),
            false => asked.any(|item| known.contains(item)),
        })
    });
    Ok(Arc::new(answers.collect::<BooleanArray>()))
}

/// Lists of some of the values, by where these lie.
fn picked(values: &ArrayRef, lists: Vec<Option<Vec<u32>>>) -> Result<ArrayRef> {
    let nulls = lists.iter().map(Option::is_some).collect::<Vec<_>>();
    let lengths = lists.iter().map(|list| list.as_ref().map_or(0, Vec::len));
    let offsets = OffsetBuffer::from_lengths(lengths);
    let indices: UInt32Array = lists
        .into_iter()
        .flatten()
        .flatten()
        .collect::<Vec<_>>()
        .into();
    let values = take(values, &indices, None)?;
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(
        field,
        offsets,
        values,
        Some(nulls.into()),
    )?))
}

/// What both lists have, once, in the order of the longer one.
fn intersect(left: &ListArray, right: &ListArray) -> Result<ArrayRef> {
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
        if range(left, row).len() > range(right, row).len() {
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
fn distinct(list: &ListArray) -> Result<ArrayRef> {
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

fn sort(list: &ListArray, options: &[ArrayRef]) -> Result<ArrayRef> {
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
        let (none, mut some): (Vec<u32>, Vec<u32>) = range(list, row)
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
    picked(list.values(), lists)
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
