//! Lists, structs and maps as flat arrays, since nothing else is ever compressed.
//!
//! ```text
//! LIST      how many values each row has, u32, NULL where the row is; then the values of all rows, as their type says
//! ARRAY     as a LIST; each row that is there has as many values as the type says
//! MAP       a list of structs of a key and a value
//! STRUCT    whether each row is there, BOOLEAN; then each field, as its type says, NULL where the row is
//! UNION     a struct of its tag and its members, of which those are NULL that the tag does not name
//! others    their parts, of which the first may have NULLs
//! ```
//! What must hold: a part without rows has no bytes; what is decoded has as many values as the lengths before it say.
//! Refuses: more than [`MAX_NESTED_VALUES`] in all parts of a segment together, when writing and when reading.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, new_empty_array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer, OffsetBuffer};
use bytes::Bytes;
use vortex_session::registry::ReadContext;

use super::encoded_segment::CodecError;
use super::parts::{part_types, split};
use super::vortex_codec::VortexCodec;
use crate::column_type::{ColumnType, Values};
use crate::nested_values::{
    is_sized, list_of_type, list_parts, map_entries, map_of_entries, struct_of, struct_parts,
};

/// The most values that all parts of a nested segment have together. A row group ends before, unless one row has as many.
pub(crate) const MAX_NESTED_VALUES: usize = 1 << 24;

/// A flat array, and whether it may have NULLs.
pub(super) type FlatPart = (ArrayRef, bool);

/// Splits an array of type `ty.arrow()` into flat ones.
pub(super) fn flatten(ty: &ColumnType, array: &ArrayRef) -> Result<Vec<FlatPart>, CodecError> {
    if array.data_type() != &ty.arrow() {
        return Err(CodecError::WrongType);
    }
    let mut parts = Vec::new();
    flatten_into(ty, array, &mut parts)?;
    let values = parts.iter().map(|(part, _)| part.len());
    match values.sum::<usize>() <= MAX_NESTED_VALUES {
        true => Ok(parts),
        false => Err(CodecError::TooLarge),
    }
}

fn flatten_into(
    ty: &ColumnType,
    array: &ArrayRef,
    parts: &mut Vec<FlatPart>,
) -> Result<(), CodecError> {
    match ty.properties().values {
        Values::List(item) => match is_sized(array.as_list()) {
            true => flatten_list(item, array.as_list(), parts),
            false => Err(CodecError::WrongType),
        },
        Values::Map(entry) => {
            let entries = map_entries(array.as_map()).map_err(|_| CodecError::TooLarge)?;
            flatten_list(entry, &entries, parts)
        }
        Values::Struct(fields) => {
            let there = match array.nulls() {
                Some(nulls) => nulls.inner().clone(),
                None => BooleanBuffer::new_set(array.len()),
            };
            parts.push((Arc::new(BooleanArray::new(there, None)), false));
            let columns = struct_parts(array.as_struct()).map_err(|_| CodecError::WrongType)?;
            for ((_, ty), column) in fields.iter().zip(&columns) {
                flatten_into(ty, column, parts)?;
            }
            Ok(())
        }
        Values::Bits | Values::Fixed(_) | Values::Text | Values::Bytes => {
            let split = split(ty, array)?.into_iter().enumerate();
            parts.extend(split.map(|(index, part)| (part, index == 0)));
            Ok(())
        }
    }
}

fn flatten_list(
    item: &ColumnType,
    list: &ListArray,
    parts: &mut Vec<FlatPart>,
) -> Result<(), CodecError> {
    let (lengths, values) = list_parts(list).map_err(|_| CodecError::TooLarge)?;
    parts.push((Arc::new(lengths), true));
    flatten_into(item, &values, parts)
}

/// How many parts a type has.
fn count_parts(ty: &ColumnType) -> usize {
    match ty.properties().values {
        Values::List(item) | Values::Map(item) => 1 + count_parts(item),
        Values::Struct(fields) => 1 + fields.iter().map(|(_, ty)| count_parts(ty)).sum::<usize>(),
        Values::Bits | Values::Fixed(_) | Values::Text | Values::Bytes => part_types(ty).len(),
    }
}

/// The parts of a segment that were not read yet.
struct Parts<'a> {
    bytes: &'a Bytes,
    ranges: std::vec::IntoIter<Range<usize>>,
    context: &'a ReadContext,
    /// How many more values there may be.
    values: usize,
}

impl Parts<'_> {
    /// The ranges of the parts of a type that stands for itself, with `rows` values each.
    fn next(&mut self, count: usize, rows: usize) -> Result<Vec<Range<usize>>, CodecError> {
        let ranges: Vec<_> = self.ranges.by_ref().take(count).collect();
        let values = rows.checked_mul(count);
        let left = values.and_then(|values| self.values.checked_sub(values));
        self.values = left.ok_or(CodecError::Malformed)?;
        match ranges.len() == count {
            true => Ok(ranges),
            false => Err(CodecError::Malformed),
        }
    }
}

impl VortexCodec {
    /// The rows of a nested segment that `mask` selects.
    pub(super) fn decode_nested(
        &self,
        ty: &ColumnType,
        rows: usize,
        (bytes, ranges): (&Bytes, Vec<Range<usize>>),
        context: &ReadContext,
        mask: Option<&BooleanBuffer>,
    ) -> Result<ArrayRef, CodecError> {
        if ranges.len() != count_parts(ty) {
            return Err(CodecError::Malformed);
        }
        let mut parts = Parts {
            bytes,
            ranges: ranges.into_iter(),
            context,
            values: MAX_NESTED_VALUES,
        };
        self.decode_next(ty, rows, mask, &mut parts)
    }

    fn decode_next(
        &self,
        ty: &ColumnType,
        rows: usize,
        mask: Option<&BooleanBuffer>,
        parts: &mut Parts<'_>,
    ) -> Result<ArrayRef, CodecError> {
        if rows == 0 || mask.is_some_and(|mask| mask.count_set_bits() == 0) {
            let skipped = parts.next(count_parts(ty), 0)?;
            return match rows > 0 || skipped.iter().all(Range::is_empty) {
                true => Ok(new_empty_array(&ty.arrow())),
                false => Err(CodecError::Malformed),
            };
        }
        let malformed = |_| CodecError::Malformed;
        match ty.properties().values {
            Values::List(item) => {
                let list = self.decode_list(item, rows, mask, parts)?;
                let list = list_of_type(&ty.arrow(), list).map_err(malformed)?;
                Ok(Arc::new(list))
            }
            Values::Map(entry) => {
                let entries = self.decode_list(entry, rows, mask, parts)?;
                let map = map_of_entries(&ty.arrow(), entries).map_err(malformed)?;
                Ok(Arc::new(map))
            }
            Values::Struct(fields) => {
                let there = self.decode_own(&ColumnType::Boolean, false, rows, mask, parts)?;
                let there = there.as_boolean();
                let nulls = there
                    .has_false()
                    .then(|| NullBuffer::new(there.values().clone()));
                let columns = fields.iter();
                let columns = columns.map(|(_, ty)| self.decode_next(ty, rows, mask, parts));
                let columns = columns.collect::<Result<Vec<_>, _>>()?;
                let array = struct_of(fields, columns, nulls).map_err(malformed)?;
                Ok(Arc::new(array))
            }
            Values::Bits | Values::Fixed(_) | Values::Text | Values::Bytes => {
                self.decode_own(ty, true, rows, mask, parts)
            }
        }
    }

    /// A list that comes next, of values of type `item`.
    fn decode_list(
        &self,
        item: &ColumnType,
        rows: usize,
        mask: Option<&BooleanBuffer>,
        parts: &mut Parts<'_>,
    ) -> Result<ListArray, CodecError> {
        let lengths = self.decode_own(&ColumnType::UInt32, true, rows, None, parts)?;
        let lengths = lengths.as_primitive::<UInt32Type>();
        let length = |row: usize| match lengths.is_valid(row) {
            true => lengths.value(row) as usize,
            false => 0,
        };
        let total = (0..rows).try_fold(0usize, |sum, row| sum.checked_add(length(row)));
        let total = total.filter(|total| *total <= parts.values);
        let total = total.ok_or(CodecError::Malformed)?;
        let is_selected = |row: &usize| mask.is_none_or(|mask| mask.value(*row));
        let of_item = mask.map(|mask| {
            let mut of_item = BooleanBufferBuilder::new(total);
            (0..rows).for_each(|row| of_item.append_n(length(row), mask.value(row)));
            of_item.finish()
        });
        let values = self.decode_next(item, total, of_item.as_ref(), parts)?;
        let selected = (0..rows).filter(is_selected);
        let offsets = OffsetBuffer::<i32>::from_lengths(selected.map(length));
        let nulls = lengths.nulls().filter(|nulls| nulls.null_count() > 0);
        let nulls = nulls.map(|nulls| {
            let selected = (0..rows).filter(is_selected);
            NullBuffer::from_iter(selected.map(|row| nulls.is_valid(row)))
        });
        let field = Arc::new(ColumnType::list_item(item));
        ListArray::try_new(field, offsets, values, nulls).map_err(|_| CodecError::Malformed)
    }

    /// A flat array that comes next.
    fn decode_own(
        &self,
        ty: &ColumnType,
        nullable: bool,
        rows: usize,
        mask: Option<&BooleanBuffer>,
        parts: &mut Parts<'_>,
    ) -> Result<ArrayRef, CodecError> {
        let ranges = parts.next(part_types(ty).len(), rows)?;
        let source = (parts.bytes, ranges);
        self.decode_flat(ty, (rows, nullable), source, parts.context, mask)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, StructArray, UInt8Array, UInt32Array};
    use arrow_select::filter::filter;
    use proptest::prelude::*;

    use super::super::plain_values;
    use super::super::random_values::Random;
    use super::*;
    use crate::column_type::UnionType;
    use crate::wire::{Reader, Writer};

    fn encoded(ty: &ColumnType, array: &ArrayRef) -> Bytes {
        Bytes::from(VortexCodec::new().encode(ty, array).unwrap().to_vec())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn nested_values_come_back_from_segments(seed: u64, rows in 1usize..200, some in 1u64..20) {
            let mut random = Random(seed);
            let ty = random.nested_type(3);
            let array = random.array(&ty, rows);
            let codec = VortexCodec::new();
            let bytes = encoded(&ty, &array);
            let rows = rows as u32;
            prop_assert_eq!(&codec.decode(&ty, rows, &bytes, None).unwrap(), &array);
            let mask = BooleanBuffer::collect_bool(array.len(), |_| random.below(some) == 0);
            let selected = codec.decode(&ty, rows, &bytes, Some(&mask)).unwrap();
            let expected = filter(&array, &BooleanArray::from(mask)).unwrap();
            prop_assert_eq!(&selected, &expected);
            let open = codec.open(&ty, rows, &bytes).unwrap();
            let row = random.below(u64::from(rows)) as usize;
            prop_assert_eq!(&codec.value(&open, row).unwrap(), &array.slice(row, 1));
        }

        #[test]
        fn nested_values_come_back_from_the_log(seed: u64, rows in 1usize..200) {
            let mut random = Random(seed);
            let ty = random.nested_type(3);
            let array = random.array(&ty, rows);
            let mut out = Writer::default();
            plain_values::write(array.as_ref(), &ty, &mut out).unwrap();
            let bytes = out.into_bytes();
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(&plain_values::read(&ty, rows, &mut reader).unwrap(), &array);
            prop_assert_eq!(reader.left(), 0);
            let cut = &bytes[..bytes.len() - 1];
            prop_assert!(plain_values::read(&ty, rows, &mut Reader::new(cut)).is_err());
        }

        #[test]
        fn an_edited_nested_segment_is_refused_or_decodes_to_the_right_shape(seed: u64) {
            let mut random = Random(seed);
            let ty = random.nested_type(3);
            let array = random.array(&ty, 50);
            let mut bytes = encoded(&ty, &array).to_vec();
            let codec = VortexCodec::new();
            for _ in 0..40 {
                let place = random.below(bytes.len() as u64) as usize;
                let before = bytes[place];
                bytes[place] ^= 1 << random.below(8);
                let edited = Bytes::from(bytes.clone());
                if let Ok(decoded) = codec.decode(&ty, 50, &edited, None) {
                    prop_assert_eq!((decoded.len(), decoded.data_type()), (50, &ty.arrow()));
                    // All of it can be read.
                    prop_assert_eq!(&decoded, &decoded.slice(0, 50));
                }
                if let Ok(open) = codec.open(&ty, 50, &edited) {
                    let _ = codec.value(&open, 49);
                }
                bytes[place] = before;
            }
            for len in [0, 1, 12, bytes.len() / 2, bytes.len() - 1] {
                let cut = Bytes::from(bytes[..len].to_vec());
                prop_assert!(codec.decode(&ty, 50, &cut, None).is_err());
            }
        }
    }

    #[test]
    fn lengths_of_more_values_than_there_can_be_are_refused() {
        let ty = ColumnType::List(Box::new(ColumnType::Int32));
        let codec = VortexCodec::new();
        let decoded = |lengths: &[u32]| {
            let values: ArrayRef = Arc::new(Int32Array::from(vec![7; 12]));
            let lengths: ArrayRef = Arc::new(UInt32Array::from(lengths.to_vec()));
            let parts = [(lengths, true), (values, true)];
            let segment = codec.try_encode(&ty, &parts, 4, false, true).unwrap();
            codec.decode(&ty, 4, &Bytes::from(segment.to_vec()), None)
        };
        assert!(decoded(&[3, 3, 3, 3]).is_ok());
        let most = MAX_NESTED_VALUES as u32;
        for wrong in [[0; 4], [most; 4], [u32::MAX; 4], [u32::MAX, 13, 0, 0]] {
            assert_eq!(
                decoded(&wrong).err(),
                Some(CodecError::Malformed),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn an_array_of_another_length_than_its_type_is_refused() {
        let array = crate::column_type::ArrayType::new(ColumnType::Int32, 3).unwrap();
        let ty = ColumnType::Array(array);
        let codec = VortexCodec::new();
        let decoded = |lengths: &[Option<u32>], mask: Option<&BooleanBuffer>| {
            let total = lengths.iter().flatten().sum::<u32>();
            let values: ArrayRef = Arc::new(Int32Array::from(vec![7; total as usize]));
            let lengths: ArrayRef = Arc::new(UInt32Array::from(lengths.to_vec()));
            let parts = [(lengths, true), (values, true)];
            let segment = codec.try_encode(&ty, &parts, 3, false, true).unwrap();
            codec.decode(&ty, 3, &Bytes::from(segment.to_vec()), mask)
        };
        let sound = [Some(3), None, Some(3)];
        assert_eq!(decoded(&sound, None).unwrap().data_type(), &ty.arrow());
        for wrong in [[Some(2), None, Some(4)], [Some(3), Some(0), Some(3)]] {
            assert_eq!(decoded(&wrong, None).err(), Some(CodecError::Malformed));
        }
        // Whoever writes one is refused, too.
        let list = decoded(&sound, None).unwrap();
        let offsets = OffsetBuffer::from_lengths([3, 0, 2]);
        let (item, _, values, nulls) = list.as_list::<i32>().clone().into_parts();
        let short = ListArray::new(item, offsets, values.slice(0, 5), nulls);
        let encoded = codec.encode(&ty, &(Arc::new(short.clone()) as ArrayRef));
        assert_eq!(encoded.err(), Some(CodecError::WrongType));
        let mut out = Writer::default();
        assert!(plain_values::write(&short, &ty, &mut out).is_err());
        // The same in a record: three rows, of which one has another length.
        for (lengths, is_sound) in [([3u32, 3, 3], true), ([3, 4, 2], false)] {
            let mut out = Writer::default();
            out.u8(0);
            lengths.iter().for_each(|length| out.u32(*length));
            plain_values::write(&Int32Array::from(vec![7; 9]), &ColumnType::Int32, &mut out)
                .unwrap();
            let bytes = out.into_bytes();
            let read = plain_values::read(&ty, 3, &mut Reader::new(&bytes));
            assert_eq!(read.is_ok(), is_sound);
        }
    }

    #[test]
    fn a_union_that_is_not_the_member_of_its_tag_is_refused() {
        let member = |name: &str, ty| (name.to_owned(), ty);
        let members = [
            member("a", ColumnType::Int32),
            member("b", ColumnType::Boolean),
        ];
        let union = UnionType::new(members.to_vec()).unwrap();
        let ty = ColumnType::Union(union.clone());
        let codec = VortexCodec::new();
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3), None]));
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![None, Some(true), None, None]));
        let there: ArrayRef = Arc::new(BooleanArray::from(vec![true; 4]));
        for (last, is_sound) in [
            ([Some(0), Some(0)], true),
            ([Some(0), Some(1)], true),
            ([Some(1), Some(0)], false),
            ([Some(0), Some(2)], false),
            ([Some(0), Some(255)], false),
            ([Some(0), None], false),
        ] {
            let tags = [&[Some(0), Some(1)][..], &last].concat();
            let tags: ArrayRef = Arc::new(UInt8Array::from(tags));
            let columns = vec![tags, Arc::clone(&numbers), Arc::clone(&flags)];
            let mut parts = vec![(Arc::clone(&there), false)];
            parts.extend(columns.iter().map(|column| (Arc::clone(column), true)));
            let segment = codec.try_encode(&ty, &parts, 4, false, true).unwrap();
            let decoded = codec.decode(&ty, 4, &Bytes::from(segment.to_vec()), None);
            assert_eq!(decoded.is_ok(), is_sound, "{last:?}");
            let mut out = Writer::default();
            out.u8(0);
            for (column, (_, ty)) in columns.iter().zip(union.parts()) {
                plain_values::write(column.as_ref(), ty, &mut out).unwrap();
            }
            let bytes = out.into_bytes();
            let read = plain_values::read(&ty, 4, &mut Reader::new(&bytes));
            assert_eq!(read.is_ok(), is_sound, "{last:?}");
            // Whoever writes one is refused, too.
            let fields = ColumnType::struct_fields(union.parts());
            let array = StructArray::new(fields, columns, None);
            let written = plain_values::write(&array, &ty, &mut Writer::default());
            assert_eq!(written.is_ok(), is_sound);
            let encoded = codec.encode(&ty, &(Arc::new(array) as ArrayRef));
            assert_eq!(encoded.is_ok(), is_sound);
        }
    }

    #[test]
    fn a_row_with_too_many_values_is_refused() {
        let ty = ColumnType::List(Box::new(ColumnType::Int32));
        let values = Arc::new(Int32Array::from(vec![7; MAX_NESTED_VALUES]));
        let item = Arc::new(ColumnType::list_item(&ColumnType::Int32));
        let offsets = OffsetBuffer::from_lengths([MAX_NESTED_VALUES]);
        let array: ArrayRef = Arc::new(ListArray::new(item, offsets, values, None));
        let encoded = VortexCodec::new().encode(&ty, &array);
        assert_eq!(encoded.err(), Some(CodecError::TooLarge));
    }
}
