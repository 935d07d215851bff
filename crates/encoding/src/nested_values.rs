//! What values of lists, arrays, structs, unions and maps are made of, whatever array they come in: a slice of a larger one, or one with values
//! behind NULLs.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, ListArray, MapArray, StructArray, UInt32Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field};
use arrow_select::nullif::nullif;
use arrow_select::take::take;

use crate::bit_string::BIT;
use crate::column_type::{ArrayType, ColumnType, UnionType};

/// How many values each row of a list has, NULL where the list is, and the values of all rows, no others.
///
/// # Errors
/// If Arrow cannot pick the values.
pub(crate) fn list_parts(list: &ListArray) -> Result<(UInt32Array, ArrayRef), ArrowError> {
    let offsets = list.value_offsets();
    let range = |row: usize| match offsets.get(row..row + 2) {
        Some([from, to]) if list.is_valid(row) => *from as u64..*to as u64,
        _ => 0..0,
    };
    let lengths = (0..list.len()).map(|row| {
        let range = range(row);
        (range.end - range.start) as u32
    });
    let lengths: ScalarBuffer<u32> = lengths.collect();
    let total: u64 = lengths.iter().map(|len| u64::from(*len)).sum();
    let first = offsets.first().copied().unwrap_or_default() as u64;
    let last = offsets.last().copied().unwrap_or_default() as u64;
    let values = if total == last - first {
        list.values().slice(first as usize, total as usize)
    } else {
        let rows = UInt64Array::from_iter_values((0..list.len()).flat_map(range));
        take(list.values().as_ref(), &rows, None)?
    };
    let lengths = UInt32Array::new(lengths, list.nulls().cloned());
    Ok((lengths, values))
}

/// Whether a list is one of any length, or an ARRAY whose values are as many as its type says.
pub(crate) fn is_sized(list: &ListArray) -> bool {
    ArrayType::length_of(list.data_type()).is_none_or(|length| {
        let mut lengths = list.offsets().lengths().enumerate();
        lengths.all(|(row, found)| list.is_null(row) || found == length as usize)
    })
}

/// The list as one of this type, a list or an ARRAY.
///
/// # Errors
/// If an ARRAY has not as many values as its type says, or the type is another's.
pub(crate) fn list_of_type(ty: &DataType, list: ListArray) -> Result<ListArray, ArrowError> {
    let DataType::List(field) = ty else {
        return Err(ArrowError::SchemaError("no list".into()));
    };
    let (_, offsets, values, nulls) = list.into_parts();
    let list = ListArray::try_new(Arc::clone(field), offsets, values, nulls)?;
    match is_sized(&list) {
        true => Ok(list),
        false => Err(not_sized()),
    }
}

/// What is wrong with an ARRAY of another length.
pub(crate) fn not_sized() -> ArrowError {
    ArrowError::InvalidArgumentError("an array has another number of values than its type".into())
}

/// A map as the list of its entries.
///
/// # Errors
/// If it is none that Arrow could have made.
pub(crate) fn map_entries(map: &MapArray) -> Result<ListArray, ArrowError> {
    let entries = map.entries().clone();
    let item = Field::new_list_field(entries.data_type().clone(), false);
    let offsets = map.offsets().clone();
    ListArray::try_new(
        Arc::new(item),
        offsets,
        Arc::new(entries),
        map.nulls().cloned(),
    )
}

/// The map of this type that has these entries.
///
/// # Errors
/// If an entry or its key is NULL, or the type is another's.
pub(crate) fn map_of_entries(ty: &DataType, list: ListArray) -> Result<MapArray, ArrowError> {
    let DataType::Map(field, ordered) = ty else {
        return Err(ArrowError::SchemaError("no map".into()));
    };
    let DataType::Struct(fields) = field.data_type() else {
        return Err(ArrowError::SchemaError("a map without entries".into()));
    };
    let (_, offsets, values, nulls) = list.into_parts();
    let (_, columns, missing) = values.as_struct().clone().into_parts();
    let missing = missing.filter(|missing| missing.null_count() > 0);
    let entries = StructArray::try_new(fields.clone(), columns, missing)?;
    MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *ordered)
}

/// The fields of a struct, NULL where it is.
///
/// # Errors
/// If Arrow cannot set NULLs, or a UNION is not the member that its tag names.
pub(crate) fn struct_parts(array: &StructArray) -> Result<Vec<ArrayRef>, ArrowError> {
    if !UnionType::is_sound(array) {
        return Err(not_united());
    }
    let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) else {
        return Ok(array.columns().to_vec());
    };
    let gone = BooleanArray::new(!nulls.inner(), None);
    let columns = array.columns().iter();
    columns.map(|column| nullif(column, &gone)).collect()
}

/// The struct, or the UNION, of these columns.
///
/// # Errors
/// If a UNION is not the member that its tag names, or the columns are others' than the fields'.
pub(crate) fn struct_of(
    fields: &[(String, ColumnType)],
    columns: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
) -> Result<StructArray, ArrowError> {
    let array = StructArray::try_new(ColumnType::struct_fields(fields), columns, nulls)?;
    match UnionType::is_sound(&array) {
        true => Ok(array),
        false => Err(not_united()),
    }
}

/// What is wrong with a UNION whose tag and members do not match.
fn not_united() -> ArrowError {
    ArrowError::InvalidArgumentError("a union is not the member that its tag names".into())
}

/// Bytes that each row takes before compression; a value within another counts as one at least.
pub fn row_bytes(array: &dyn Array) -> Vec<u64> {
    match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let mut until = Vec::with_capacity(list.values().len() + 1);
            let mut total = 0;
            until.push(total);
            for bytes in row_bytes(list.values().as_ref()) {
                total += bytes;
                until.push(total);
            }
            let at = |place: i32| until.get(place as usize).copied().unwrap_or_default();
            let ranges = list.value_offsets().windows(2);
            let bytes = ranges.map(|range| match range {
                [from, to] => at(*to).saturating_sub(at(*from)),
                _ => 0,
            });
            let length = size_of::<u32>() as u64;
            bytes.map(|bytes| bytes + length).collect()
        }
        DataType::Map(..) => match map_entries(array.as_map()) {
            Ok(entries) => row_bytes(&entries),
            Err(_) => vec![1; array.len()],
        },
        DataType::Struct(_) => {
            let mut rows = vec![1; array.len()];
            for column in array.as_struct().columns() {
                for (row, bytes) in rows.iter_mut().zip(row_bytes(column.as_ref())) {
                    *row += bytes;
                }
            }
            rows
        }
        DataType::Utf8View => lengths(array.as_string_view().views()),
        DataType::BinaryView => lengths(array.as_binary_view().views()),
        of if *of == BIT => {
            let lengths = array.as_binary::<i64>().offsets().lengths();
            lengths.map(|length| (length as u64).max(1)).collect()
        }
        DataType::FixedSizeBinary(width) => vec![u64::from(width.unsigned_abs()); array.len()],
        other => vec![other.primitive_width().unwrap_or(1) as u64; array.len()],
    }
}

/// The low half of a view's low half is the value's length.
fn lengths(views: &[u128]) -> Vec<u64> {
    views
        .iter()
        .map(|view| u64::from(*view as u32).max(1))
        .collect()
}

/// An array whose text, bytes and lists are its own rows', and in one buffer each: after a `take`, a slice or a concat they
/// hold on to more.
pub fn compact(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        DataType::List(item) => {
            let Ok((lengths, values)) = list_parts(array.as_list()) else {
                return array;
            };
            let offsets = OffsetBuffer::from_lengths(lengths.values().iter().map(|n| *n as usize));
            let nulls = lengths.nulls().cloned();
            let list = ListArray::try_new(Arc::clone(item), offsets, compact(values), nulls);
            list.map_or(array, |list| Arc::new(list))
        }
        DataType::Map(..) => {
            let Ok(entries) = map_entries(array.as_map()) else {
                return array;
            };
            let entries = compact(Arc::new(entries));
            let map = map_of_entries(array.data_type(), entries.as_list().clone());
            map.map_or(array, |map| Arc::new(map))
        }
        DataType::Struct(fields) => {
            let parts = array.as_struct().columns().iter();
            let parts = parts.map(|part| compact(Arc::clone(part))).collect();
            let nulls = array.nulls().cloned();
            let whole = StructArray::try_new(fields.clone(), parts, nulls);
            whole.map_or(array, |whole| Arc::new(whole))
        }
        _ => array,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
    use arrow_array::types::Int32Type;
    use arrow_array::{Int32Array, StringViewArray};
    use arrow_buffer::BooleanBuffer;
    use arrow_schema::Field;

    use super::*;

    /// Rows 1 and 3 are NULL, and have values all the same.
    fn list() -> ListArray {
        let values = Arc::new(Int32Array::from_iter_values(0..10));
        let item = Arc::new(Field::new_list_field(DataType::Int32, true));
        let offsets = OffsetBuffer::new(vec![0, 2, 5, 5, 9, 10].into());
        let nulls = NullBuffer::from(vec![true, false, true, false, true]);
        ListArray::new(item, offsets, values, Some(nulls))
    }

    #[test]
    fn what_stands_behind_a_null_list_is_left_out() {
        let (lengths, values) = list_parts(&list()).unwrap();
        let expected = [Some(2), None, Some(0), None, Some(1)];
        assert_eq!(lengths, UInt32Array::from_iter(expected));
        assert_eq!(values.as_primitive::<Int32Type>().values(), &[0, 1, 9]);
        let (lengths, values) = list_parts(&list().slice(2, 3)).unwrap();
        assert_eq!(lengths.len(), 3);
        assert_eq!(values.as_primitive::<Int32Type>().values(), &[9]);
    }

    #[test]
    fn a_slice_is_compacted_to_its_own_values() {
        let slice: ArrayRef = Arc::new(list().slice(4, 1));
        let compacted = compact(Arc::clone(&slice));
        assert_eq!(&compacted, &slice);
        assert_eq!(compacted.as_list::<i32>().values().len(), 1);
    }

    #[test]
    fn a_map_is_the_list_of_its_entries() {
        let mut builder = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        for (row, keys) in [&["a", "b"][..], &[], &["c"]].into_iter().enumerate() {
            for key in keys {
                builder.keys().append_value(key);
                builder.values().append_option((row > 0).then_some(7));
            }
            builder.append(row != 1).unwrap();
        }
        let map = builder.finish();
        let slice = map.slice(1, 2);
        let entries = map_entries(&slice).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(
            map_of_entries(map.data_type(), entries.clone()).unwrap(),
            slice
        );
        let compacted = compact(Arc::new(slice.clone()));
        assert_eq!(compacted.as_map(), &slice);
        assert_eq!(compacted.as_map().entries().len(), 1);
        // An entry that is not there has no key.
        let (item, offsets, values, nulls) = entries.into_parts();
        let (fields, columns, _) = values.as_struct().clone().into_parts();
        let item = Arc::new(item.as_ref().clone().with_nullable(true));
        let gone = Some(NullBuffer::new_null(values.len()));
        let values = Arc::new(StructArray::new(fields, columns, gone));
        let missing = ListArray::new(item, offsets, values, nulls);
        assert!(map_of_entries(map.data_type(), missing).is_err());
    }

    #[test]
    fn every_value_counts() {
        assert_eq!(row_bytes(&list()), [12, 16, 4, 20, 8]);
        let texts = StringViewArray::from(vec!["", "abc"]);
        let field = Arc::new(Field::new("a", DataType::Utf8View, true));
        let array = StructArray::from(vec![(field, Arc::new(texts) as ArrayRef)]);
        assert_eq!(row_bytes(&array), [2, 4]);
    }

    #[test]
    fn the_fields_of_a_null_struct_are_null() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let fields = vec![Field::new("a", DataType::Int32, true)].into();
        let nulls = Some(NullBuffer::new(BooleanBuffer::from(vec![false, true])));
        let array = StructArray::new(fields, vec![numbers], nulls);
        let parts = struct_parts(&array).unwrap();
        assert_eq!(
            parts[0].as_primitive::<Int32Type>(),
            &Int32Array::from(vec![None, Some(2)])
        );
    }
}
