//! Casts to lists, arrays, structs and maps, from text and from each other, value by value as CAST does it outside of them.
//!
//! What must hold: structs are matched by the names of their fields, in any case; a field that is not there is NULL. Values that
//! `row(...)` made have no names and are matched in order.

use super::convert::{
    blob_from_text, of_one_argument, rounded_for, text_from_blob, text_from_uuid, uuid_from_text,
};
use super::enums::{from_texts, texts_of};
use super::json::{as_json, json_as, json_texts};
use super::maps::{check_keys, maps, maps_at, ranges};
use super::nested_text::{Fields, Item, list_items, map_items, struct_items, with_json_nulls};
use super::rounding_cast::{cast_rounding, rounds};
use super::session_zone::in_session_zone;
use super::time_tz::check_cast_of_times;
use super::unions::{cast_to_union, check_cast_to_union};
use super::unknown_cast::{cast_unknown, is_unknown_cast};
use super::value_text;
use crate::common_types::{entry_fields, entry_types};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, ListArray, StringViewArray, StringViewBuilder, StructArray,
    UInt32Array, new_null_array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{CastOptions, cast_with_options, interleave, take};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields as ArrowFields};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use hushdb_sql::type_names::{enum_type, is_called_json, is_row, type_name};
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::{ArrayType, TIMETZ, UnionType, is_json_item, plain_item};
use std::ops::Range;
use std::sync::Arc;

/// `CAST(value AS type)` for a nested type, or TRY_CAST.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NestedCast {
    to: DataType,
    /// What does not cast is NULL.
    lenient: bool,
    signature: Signature,
}

/// The function that casts its argument to a nested type.
pub fn nested_cast(to: &DataType, lenient: bool) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(NestedCast {
        to: to.clone(),
        lenient,
        signature: Signature::any(1, Volatility::Immutable),
    }))
}

/// Whether values of a type are cast to one of the other by these rules.
///
/// # Errors
/// `Binder` for structs that have no field in common, or `row(...)` of another length.
pub fn check_nested_cast(from: &DataType, to: &DataType) -> Result<()> {
    let refused = |why: &str| {
        let (from, to) = (type_name(from), type_name(to));
        Err(Error::binder(format!("Cannot cast {from} to {to}{why}")).into())
    };
    match (from, to) {
        (DataType::Null, _) => Ok(()),
        // Each value says so, and a NULL has none.
        (from, to) if is_unknown_cast(from, to) => Ok(()),
        (from, to) if let Some(members) = UnionType::members_of(to) => {
            check_cast_to_union(from, to, members)
        }
        // As its text.
        (from, to) if enum_type(from).is_some() => check_nested_cast(&DataType::Utf8View, to),
        (from, _) if from.is_string() => Ok(()),
        (_, to) if to.is_string() => Ok(()),
        (from, DataType::List(to)) => match item_of(from) {
            Some(from) => check_nested_cast(from.data_type(), to.data_type()),
            None => refused(""),
        },
        (DataType::Struct(from), DataType::Struct(to)) if is_row(from) => {
            if from.len() != to.len() {
                return refused(": they have not the same number of fields");
            }
            let mut pairs = from.iter().zip(to.iter());
            pairs.try_for_each(|(f, t)| check_nested_cast(f.data_type(), t.data_type()))
        }
        (DataType::Struct(from), DataType::Struct(to)) => {
            let mut matching = 0;
            for field in to {
                if let Some((_, from)) = named(from, field.name()) {
                    matching += 1;
                    check_nested_cast(from.data_type(), field.data_type())?;
                }
            }
            match matching {
                0 => refused(": STRUCT to STRUCT cast must have at least one matching member"),
                _ => Ok(()),
            }
        }
        (DataType::Map(..), DataType::Map(..)) => match (entry_types(from), entry_types(to)) {
            (Some((key, value)), Some((to_key, to_value))) => {
                check_nested_cast(key, to_key)?;
                check_nested_cast(value, to_value)
            }
            _ => refused(""),
        },
        (DataType::Struct(fields), DataType::Map(..)) => match entry_types(to) {
            Some((_, value)) => {
                let mut fields = fields.iter();
                fields.try_for_each(|field| check_nested_cast(field.data_type(), value))
            }
            None => refused(""),
        },
        (from, to) if from.is_nested() || to.is_nested() => refused(""),
        (from, to) => check_cast_of_times(from, to),
    }
}

fn item_of(list: &DataType) -> Option<&FieldRef> {
    match list {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => Some(item),
        _ => None,
    }
}

/// The field of a name, in any case of letters if none has it as it stands.
fn named<'a>(fields: &'a ArrowFields, name: &str) -> Option<(usize, &'a FieldRef)> {
    let exact = fields.find(name);
    exact.or_else(|| {
        let mut fields = fields.iter().enumerate();
        fields.find(|(_, field)| field.name().eq_ignore_ascii_case(name))
    })
}

impl ScalarUDFImpl for NestedCast {
    fn name(&self) -> &str {
        "$nested_cast"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name(), self.to.clone(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        in_session_zone(args, |args| {
            let to = args.return_field.data_type();
            of_one_argument(&args, |input| cast_nested(input, to, self.lenient))
        })
    }
}

/// Texts as values of a type, as CAST does it.
///
/// # Errors
/// `Conversion` for a text that is none.
pub fn cast_text(texts: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    cast_nested(texts, to, false)
}

/// An array as one of another type, as CAST does it.
pub(crate) fn cast_nested(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    let from = array.data_type();
    if from == to {
        return Ok(Arc::clone(array));
    }
    if from == &DataType::Null {
        return Ok(new_null_array(to, array.len()));
    }
    if is_unknown_cast(from, to) {
        return cast_unknown(array, to, lenient);
    }
    if let Some(members) = UnionType::members_of(to) {
        return cast_to_union(array, to, members, lenient);
    }
    if enum_type(from).is_some() {
        let texts: ArrayRef = Arc::new(texts_of(array.as_ref())?);
        return cast_nested(&texts, to, lenient);
    }
    if let Some(to) = enum_type(to) {
        return from_texts(&texts(array, lenient)?, &to, lenient);
    }
    match to {
        DataType::List(item) if from.is_string() && is_json_item(item) => {
            json_from_text(array, item, lenient)
        }
        DataType::List(item) if from.is_string() => list_from_text(array, item, to, lenient),
        DataType::List(item) => {
            if let Some(none) = other_array(array, to, lenient)? {
                return Ok(none);
            }
            let own_item = item_of(from).ok_or_else(|| unlike(from, to))?;
            let same = DataType::List(Arc::clone(own_item));
            let whole = cast_leaf(array, &same, lenient)?;
            let whole = whole.as_list::<i32>();
            let (own, offsets) = own_items(whole.offsets());
            let values = whole.values().slice(own.start, own.len());
            let values = cast_field(&values, &plain_item(own_item), &plain_item(item), lenient)?;
            let nulls = whole.nulls().cloned();
            list(item, offsets, values, nulls, lenient)
        }
        DataType::Map(..) if from.is_string() => map_from_text(array, to, lenient),
        DataType::Map(..) if matches!(from, DataType::Map(..)) => map_from_map(array, to, lenient),
        DataType::Map(..) if matches!(from, DataType::Struct(_)) => {
            map_from_struct(array, to, lenient)
        }
        DataType::Struct(fields) if from.is_string() => struct_from_text(array, fields, lenient),
        DataType::Struct(fields) => struct_from_struct(array, fields, lenient),
        _ => cast_leaf(array, to, lenient),
    }
}

fn struct_from_struct(array: &ArrayRef, fields: &ArrowFields, lenient: bool) -> Result<ArrayRef> {
    let DataType::Struct(given) = array.data_type() else {
        let to = DataType::Struct(fields.clone());
        return Err(unlike(array.data_type(), &to));
    };
    let array = array.as_struct();
    let by_place = is_row(given);
    let column = |(place, field): (usize, &FieldRef)| {
        let from = match by_place {
            true => Some(place),
            false => named(given, field.name()).map(|(place, _)| place),
        };
        let own = from.and_then(|place| given.get(place).zip(array.columns().get(place)));
        match own {
            Some((own, column)) => cast_field(column, own, field, lenient),
            None => Ok(new_null_array(field.data_type(), array.len())),
        }
    };
    let columns = fields.iter().enumerate().map(column);
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let nulls = array.nulls().cloned();
    Ok(Arc::new(StructArray::try_new(
        fields.clone(),
        columns,
        nulls,
    )?))
}

/// The values of a field as those of another, of which one or both may be JSON.
pub(super) fn cast_field(
    values: &ArrayRef,
    from: &Field,
    to: &Field,
    lenient: bool,
) -> Result<ArrayRef> {
    match (is_called_json(from), is_called_json(to)) {
        (false, true) => as_json(values, lenient),
        (true, false) if !to.data_type().is_string() => json_as(values, to.data_type(), lenient),
        _ => cast_nested(values, to.data_type(), lenient),
    }
}

/// The values of a text as those of a field.
fn cast_texts(items: &[Item], to: &Field, lenient: bool) -> Result<ArrayRef> {
    let texts = Field::new("", DataType::Utf8View, true);
    cast_field(&as_texts(items), &texts, to, lenient)
}

/// NULLs where arrays are cast to arrays of another length, which is an error unless that is to be NULL; `None` for all else.
fn other_array(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<Option<ArrayRef>> {
    match [array.data_type(), to].map(ArrayType::length_of) {
        [Some(from), Some(length)] if from != length && !array.is_empty() => match lenient {
            true => Ok(Some(new_null_array(to, array.len()))),
            false => {
                let text = format!("Cannot cast array of size {from} to array of size {length}");
                Err(Error::new(ErrorKind::Conversion, text).into())
            }
        },
        _ => Ok(None),
    }
}

/// A list, or an array, whose lists have as many values as it says or are NULL.
fn list(
    item: &FieldRef,
    offsets: OffsetBuffer<i32>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
    lenient: bool,
) -> Result<ArrayRef> {
    let Some(length) = ArrayType::length_of(&DataType::List(Arc::clone(item))) else {
        let list = ListArray::try_new(Arc::clone(item), offsets, values, nulls)?;
        return Ok(Arc::new(list));
    };
    let fits: NullBuffer = offsets
        .lengths()
        .map(|found| found == length as usize)
        .collect();
    let is_there = |row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    if !lenient && (0..fits.len()).any(|row| fits.is_null(row) && is_there(row)) {
        let text = format!("Cannot cast a list to array with length {length}: it has another");
        return Err(Error::new(ErrorKind::Conversion, text).into());
    }
    let nulls = NullBuffer::union(nulls.as_ref(), Some(&fits));
    let list = ListArray::try_new(Arc::clone(item), offsets, values, nulls)?;
    Ok(Arc::new(list))
}

fn unlike(from: &DataType, to: &DataType) -> datafusion::error::DataFusionError {
    let (from, to) = (type_name(from), type_name(to));
    Error::binder(format!("Cannot cast {from} to {to}")).into()
}

/// What a value's text has in it; for text that is not one, an error or `None`.
fn parsed<T>(found: Option<T>, to: &DataType, lenient: bool) -> Result<Option<T>> {
    match found {
        None if !lenient => Err(Error::new(
            ErrorKind::Conversion,
            format!(
                "a text can't be cast to the destination type {}: {}",
                type_name(to),
                match to {
                    to if ArrayType::length_of(to).is_some() => {
                        "the size of the array must match the destination type"
                    }
                    DataType::List(_) => "write it as [a, b]",
                    DataType::Map(..) => "write it as {key=a}",
                    _ => "write it as {'name': a}",
                }
            ),
        )
        .into()),
        found => Ok(found),
    }
}

fn list_from_text(
    array: &ArrayRef,
    item: &FieldRef,
    to: &DataType,
    lenient: bool,
) -> Result<ArrayRef> {
    let texts = texts(array, lenient)?;
    let mut nulls = Vec::with_capacity(texts.len());
    let (mut lengths, mut items) = (Vec::with_capacity(texts.len()), vec![]);
    let length = ArrayType::length_of(to);
    let fits = |items: &Vec<Item>| length.is_none_or(|length| items.len() == length as usize);
    for text in &texts {
        let found = match text {
            None => None,
            Some(text) => parsed(list_items(text).filter(fits), to, lenient)?,
        };
        nulls.push(found.is_some());
        let found = found.unwrap_or_default();
        lengths.push(found.len());
        items.extend(found);
    }
    let values = cast_texts(&items, &plain_item(item), lenient)?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    list(item, offsets, values, Some(nulls.into()), lenient)
}

/// Lists of JSON of the text of such lists, or of JSON, whose null is no NULL here.
fn json_from_text(array: &ArrayRef, item: &FieldRef, lenient: bool) -> Result<ArrayRef> {
    let (mut items, mut lengths, mut nulls) = (vec![], vec![], vec![]);
    for text in &texts(array, lenient)? {
        let found = match text {
            None => None,
            Some(text) => json_items(text, lenient)?,
        };
        nulls.push(found.is_some());
        let found = found.unwrap_or_default();
        lengths.push(found.len());
        items.extend(found);
    }
    let offsets = OffsetBuffer::from_lengths(lengths);
    list(item, offsets, as_texts(&items), Some(nulls.into()), lenient)
}

/// The items of such a text; an error or `None` where it is none.
fn json_items(text: &str, lenient: bool) -> Result<Option<Vec<Item>>> {
    let with_nulls = with_json_nulls(text);
    let (json, are_null) = match &with_nulls {
        Some((json, are_null)) => (json.as_str(), are_null.as_slice()),
        None => (text, [].as_slice()),
    };
    let found = json_texts(json).map(|found| {
        let items = found?.into_iter().enumerate();
        let is_null = |at: usize| are_null.get(at).copied().unwrap_or_default();
        let items = items.map(|(at, item)| Some(item).filter(|_| !is_null(at)));
        Some(items.collect::<Vec<_>>())
    });
    let refused = |why: &str| Err(Error::new(ErrorKind::Conversion, why).into());
    match found {
        Ok(Some(items)) => Ok(Some(items)),
        _ if lenient => Ok(None),
        Ok(None) => refused("Cannot cast to list of JSON"),
        Err(error) => refused(error.message()),
    }
}

fn struct_from_text(array: &ArrayRef, fields: &ArrowFields, lenient: bool) -> Result<ArrayRef> {
    let to = DataType::Struct(fields.clone());
    let texts = texts(array, lenient)?;
    let mut nulls = Vec::with_capacity(texts.len());
    let mut columns: Vec<Vec<Item>> = vec![vec![None; texts.len()]; fields.len()];
    for (row, text) in texts.iter().enumerate() {
        let items = match text {
            None => None,
            Some(text) => {
                let found = struct_items(text).and_then(|items| by_field(items, fields));
                parsed(found, &to, lenient)?
            }
        };
        nulls.push(items.is_some());
        for (place, item) in items.unwrap_or_default() {
            if let Some(slot) = columns.get_mut(place).and_then(|c| c.get_mut(row)) {
                *slot = item;
            }
        }
    }
    let columns = columns.iter().zip(fields);
    let columns = columns.map(|(items, field)| cast_texts(items, field, lenient));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let nulls = Some(NullBuffer::from(nulls));
    Ok(Arc::new(StructArray::try_new(
        fields.clone(),
        columns,
        nulls,
    )?))
}

fn map_from_text(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    let (key, value) = entry_fields(to).ok_or_else(|| unlike(array.data_type(), to))?;
    let (mut keys, mut values, mut each) = (vec![], vec![], vec![]);
    for text in &texts(array, lenient)? {
        let found = match text {
            None => None,
            Some(text) => parsed(map_items(text), to, lenient)?,
        };
        each.push(
            found
                .as_ref()
                .map(|entries| keys.len()..keys.len() + entries.len()),
        );
        for (key, value) in found.unwrap_or_default() {
            keys.push(Some(key));
            values.push(value);
        }
    }
    let keys = cast_texts(&keys, key, lenient)?;
    let values = cast_texts(&values, value, lenient)?;
    // A map with a key that does not cast is none.
    let is_sound = |entries: &Range<usize>| entries.clone().all(|at| keys.is_valid(at));
    let each: Vec<_> = each
        .into_iter()
        .map(|entries| entries.filter(is_sound))
        .collect();
    check_keys(&keys, each.iter().flatten().cloned())?;
    let lengths = each
        .iter()
        .map(|entries| entries.as_ref().map_or(0, Range::len));
    let lengths = lengths.collect();
    let valid = each.iter().map(Option::is_some).collect();
    let sound = each.into_iter().flatten().flatten().map(|at| at as u32);
    let sound = UInt32Array::from_iter_values(sound);
    let entries = (take(&keys, &sound, None)?, take(&values, &sound, None)?);
    maps(to, entries, lengths, valid)
}

fn map_from_map(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    let unlike = || unlike(array.data_type(), to);
    let (key, value) = entry_fields(to).ok_or_else(unlike)?;
    let (own_key, own_value) = entry_fields(array.data_type()).ok_or_else(unlike)?;
    let map = array.as_map();
    let (own, offsets) = own_items(map.offsets());
    let entries = map.entries().slice(own.start, own.len());
    let keys = cast_field(entries.column(0), own_key, key, lenient)?;
    if key.data_type() != own_key.data_type() {
        check_keys(&keys, ranges(&offsets))?;
    }
    let values = cast_field(entries.column(1), own_value, value, lenient)?;
    maps_at(to, (keys, values), offsets, map.nulls().cloned())
}

/// The values of structs by the names of their fields.
fn map_from_struct(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    let unlike = || unlike(array.data_type(), to);
    let (key, value) = entry_fields(to).ok_or_else(unlike)?;
    let structs = array.as_struct();
    let names = structs.fields().iter().map(|field| Some(field.name()));
    let names: ArrayRef = Arc::new(names.collect::<StringViewArray>());
    let text = Field::new(key.name(), DataType::Utf8View, false);
    let names = cast_field(&names, &text, key, lenient)?;
    check_keys(&names, std::iter::once(0..names.len()))?;
    let columns = structs.fields().iter().zip(structs.columns());
    let columns = columns.map(|(own, column)| cast_field(column, own, value, lenient));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let valid: Vec<bool> = (0..structs.len())
        .map(|row| structs.is_valid(row))
        .collect();
    let rows = (0..structs.len()).filter(|row| valid[*row]);
    let places = rows.flat_map(|row| (0..columns.len()).map(move |column| (column, row)));
    let places: Vec<(usize, usize)> = places.collect();
    let columns: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
    let values = interleave(&columns, &places)?;
    let of_names = places.iter().map(|(column, _)| *column as u32);
    let keys = take(&names, &UInt32Array::from_iter_values(of_names), None)?;
    let lengths = valid.iter().map(|valid| match valid {
        true => columns.len(),
        false => 0,
    });
    maps(to, (keys, values), lengths.collect(), valid)
}

/// Which items a slice of lists has, and where they are among these.
fn own_items(offsets: &OffsetBuffer<i32>) -> (Range<usize>, OffsetBuffer<i32>) {
    let first = offsets.first().copied().unwrap_or_default();
    let end = offsets.last().copied().unwrap_or_default();
    let shifted = offsets.iter().map(|at| at - first).collect::<Vec<_>>();
    (
        first as usize..end as usize,
        OffsetBuffer::new(shifted.into()),
    )
}

/// Items by the places of their fields; `None` if there is one without a place.
fn by_field(items: Fields, fields: &ArrowFields) -> Option<Vec<(usize, Item)>> {
    match items {
        Fields::InOrder(items) => {
            (items.len() == fields.len()).then(|| items.into_iter().enumerate().collect())
        }
        Fields::Named(items) => items
            .into_iter()
            .map(|(name, item)| Some((named(fields, &name)?.0, item)))
            .collect(),
    }
}

fn texts(array: &ArrayRef, lenient: bool) -> Result<StringViewArray> {
    let texts = cast_leaf(array, &DataType::Utf8View, lenient)?;
    Ok(texts.as_string_view().clone())
}

fn as_texts(items: &[Item]) -> ArrayRef {
    Arc::new(
        items
            .iter()
            .map(Option::as_deref)
            .collect::<StringViewArray>(),
    )
}

/// An array as one of a type that is not nested, with DuckDB's rules where Arrow has others.
fn cast_leaf(array: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    let from = array.data_type();
    let options = CastOptions {
        safe: lenient,
        ..CastOptions::default()
    };
    let cast = |array: &ArrayRef, to: &DataType| cast_with_options(array, to, &options);
    let uuid = |ty: &DataType| matches!(ty, DataType::FixedSizeBinary(16));
    let view = |array: &ArrayRef| cast(array, &DataType::Utf8View);
    Ok(match (from, to) {
        (from, to) if from == to => Arc::clone(array),
        (from, to) if is_unknown_cast(from, to) => cast_unknown(array, to, lenient)?,
        (from, to) if rounds(from, to) => cast_rounding(array, to, lenient)?,
        (from, to) if from.is_string() && uuid(to) => uuid_from_text(&view(array)?, lenient)?,
        (from, to) if uuid(from) && to.is_string() => cast(&text_from_uuid(array), to)?,
        (from, to) if from.is_string() && to.is_binary() => {
            cast(&blob_from_text(&view(array)?, lenient)?, to)?
        }
        (from, to) if from.is_binary() && *from != TIMETZ && to.is_string() => {
            cast(&text_from_blob(&cast(array, &DataType::BinaryView)?), to)?
        }
        (from, to) if to.is_string() && !from.is_string() => {
            let mut out = StringViewBuilder::with_capacity(array.len());
            for row in 0..array.len() {
                out.append_option(value_text(array, row)?);
            }
            let out: ArrayRef = Arc::new(out.finish());
            cast(&out, to)?
        }
        (from, to) if from.is_floating() && to.is_integer() => {
            cast(&rounded_for(to, &cast(array, &DataType::Float64)?), to)?
        }
        (DataType::Decimal64(p, s) | DataType::Decimal128(p, s), to)
            if to.is_integer() && *s > 0 =>
        {
            let whole =
                crate::common_types::number_kind::decimal_type((*p + 1 - *s as u8).max(1), 0);
            cast(&cast(array, &whole)?, to)?
        }
        _ => cast(array, to)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common_types::map_of;
    use datafusion::arrow::array::Int32Array;
    use datafusion::arrow::datatypes::{Field, Int32Type};

    fn text(text: &str) -> ArrayRef {
        Arc::new(StringViewArray::from(vec![text]))
    }

    fn list_of(item: DataType) -> DataType {
        DataType::List(Arc::new(Field::new_list_field(item, true)))
    }

    fn point() -> DataType {
        let field = |name: &str, ty| Field::new(name, ty, true);
        DataType::Struct(vec![field("x", DataType::Int32), field("y", DataType::Utf8View)].into())
    }

    #[test]
    fn text_becomes_what_it_was_written_from() {
        let ty = list_of(point());
        let written = "[{'x': 1, 'y': 'a, b'}, {'x': NULL, 'y': c}, NULL]";
        let read = cast_nested(&text(written), &ty, false).unwrap();
        assert_eq!(value_text(&read, 0).unwrap().as_deref(), Some(written));
    }

    #[test]
    fn structs_are_matched_by_name_or_refused() {
        let field = |name: &str| Field::new(name, DataType::Float64, true);
        let given = DataType::Struct(vec![field("Y"), field("X")].into());
        assert!(check_nested_cast(&given, &point()).is_ok());
        let other = DataType::Struct(vec![field("z")].into());
        assert!(check_nested_cast(&other, &point()).is_err());
        assert!(check_nested_cast(&list_of(other), &list_of(point())).is_err());
        // That is an error of each value.
        assert!(check_nested_cast(&DataType::Int32, &point()).is_ok());
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        assert!(cast_nested(&numbers.slice(0, 1), &point(), false).is_err());
        assert!(cast_nested(&numbers.slice(1, 1), &point(), false).is_ok());
    }

    #[test]
    fn the_keys_of_maps_are_there_once() {
        let ty = map_of(&DataType::Int32, &DataType::Utf8View);
        let cast = |given: &str, lenient| cast_nested(&text(given), &ty, lenient);
        let written = "{1='a=b', 2=NULL}";
        let read = cast(written, false).unwrap();
        assert_eq!(value_text(&read, 0).unwrap().as_deref(), Some(written));
        assert!(cast("{x=1}", false).is_err());
        assert!(cast("{x=1, 2=a}", true).unwrap().is_null(0));
        for lenient in [false, true] {
            assert!(cast("{1=a, 01=b}", lenient).is_err());
        }
        // A slice has no more entries than its rows.
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["{x=1}", "{1=1}"]));
        let of_texts = map_of(&DataType::Utf8View, &DataType::Utf8View);
        let maps = cast_nested(&texts, &of_texts, false).unwrap();
        assert!(cast_nested(&maps, &ty, false).is_err());
        let slice = cast_nested(&maps.slice(1, 1), &ty, false).unwrap();
        assert_eq!(value_text(&slice, 0).unwrap().as_deref(), Some("{1=1}"));
    }

    #[test]
    fn an_array_has_the_length_of_its_type() {
        let array = |length| DataType::List(Arc::new(ArrayType::field(DataType::Int32, length)));
        let read = cast_nested(&text("[1, NULL]"), &array(2), false).unwrap();
        assert_eq!(read.data_type(), &array(2));
        let lists = cast_nested(&read, &list_of(DataType::Int32), false).unwrap();
        for short in [&read, &lists, &text("[1, NULL]"), &text("1, 2, 3")] {
            assert!(cast_nested(short, &array(3), false).is_err());
            assert!(cast_nested(short, &array(3), true).unwrap().is_null(0));
            let none = cast_nested(&short.slice(0, 0), &array(3), false).unwrap();
            assert_eq!(none.data_type(), &array(3));
        }
        assert_eq!(&cast_nested(&lists, &array(2), false).unwrap(), &read);
    }

    #[test]
    fn what_does_not_cast_is_an_error_or_null() {
        let ty = list_of(DataType::Int32);
        for bad in ["[1, x]", "1, 2", "[1"] {
            assert!(cast_nested(&text(bad), &ty, false).is_err(), "{bad}");
        }
        let read = cast_nested(&text("[1, x]"), &ty, true).unwrap();
        let values: Vec<_> = read
            .as_list::<i32>()
            .value(0)
            .as_primitive::<Int32Type>()
            .iter()
            .collect();
        assert_eq!(values, [Some(1), None]);
        assert!(cast_nested(&text("1, 2"), &ty, true).unwrap().is_null(0));
    }
}
