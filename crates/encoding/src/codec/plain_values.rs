//! Values as plain bytes, for log records: few rows at a time, where compression would cost more than it saves.
//!
//! ```text
//! nulls u8: 0 none, 1: a bit for each row follows, set where there is a value
//! fixed width   rows x width, little-endian (BOOLEAN: a byte 0 or 1); 0 where NULL
//! text, bytes   rows x length u32, then the bytes of all rows
//! lists         rows x number of values u32, 0 where NULL, then the values of all rows like this
//! arrays        as lists, which have as many values as the type says unless they are NULL
//! structs       the values of each field like this, NULL where the struct is
//! unions        as structs of the tag and the members, of which those are NULL that the tag does not name
//! ```
//!
//! Refuses: input that ends early, arrays of another length, unions that are not the member of their tag, booleans that are neither 0 nor 1, text that is not UTF-8, HUGEINTs of more than 128 bits, times of
//! no day, bytes that are no BIT. Nothing is allocated that
//! the input has no bytes for.

use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, LargeBinaryBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, make_array, new_empty_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::ArrowError;

use crate::bit_string::{BitString, are_bits};
use crate::column_type::{ColumnType, Parts, Values};
use crate::nested_values::{
    is_sized, list_of_type, list_parts, map_entries, map_of_entries, not_sized, struct_of,
    struct_parts,
};
use crate::time_tz::{TimeTz, are_times};
use crate::wire::{Reader, WireError, Writer};

/// Appends the values of an array of the column's type.
///
/// # Errors
/// If Arrow cannot pick the values of a list or struct, and for values that no such column has.
pub fn write(array: &dyn Array, ty: &ColumnType, out: &mut Writer) -> Result<(), ArrowError> {
    let rows = array.len();
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    out.u8(u8::from(nulls.is_some()));
    if let Some(nulls) = nulls {
        out.raw(bits(nulls.inner()).as_slice());
    }
    match ty.properties().values {
        Values::Bits => {
            let values = array.as_boolean();
            for row in 0..rows {
                out.u8(u8::from(values.is_valid(row) && values.value(row)));
            }
        }
        Values::Text => {
            let values = array.as_string_view();
            write_texts(
                (0..rows).map(|row| match values.is_valid(row) {
                    true => values.value(row).as_bytes(),
                    false => &[],
                }),
                out,
            );
        }
        Values::Bytes if *ty == ColumnType::Bit => {
            if !are_bits(array) {
                let what = "BIT of bytes that are none";
                return Err(ArrowError::InvalidArgumentError(what.into()));
            }
            let values = array.as_binary::<i64>();
            write_texts(
                (0..rows).map(|row| match values.is_valid(row) {
                    true => values.value(row),
                    false => &[],
                }),
                out,
            );
        }
        Values::Bytes => {
            let values = array.as_binary_view();
            write_texts(
                (0..rows).map(|row| match values.is_valid(row) {
                    true => values.value(row),
                    false => &[],
                }),
                out,
            );
        }
        Values::List(item) => match is_sized(array.as_list()) {
            true => write_list(array.as_list(), item, out)?,
            false => return Err(not_sized()),
        },
        Values::Map(entry) => write_list(&map_entries(array.as_map())?, entry, out)?,
        Values::Struct(fields) => {
            let columns = struct_parts(array.as_struct())?;
            for ((_, ty), column) in fields.iter().zip(&columns) {
                write(column.as_ref(), ty, out)?;
            }
        }
        Values::Fixed(_) if *ty == ColumnType::TimeTz && !are_times(array) => {
            let what = "TIME WITH TIME ZONE of bytes that are none";
            return Err(ArrowError::InvalidArgumentError(what.into()));
        }
        Values::Fixed(width) => write_fixed(array, width, out),
    }
    Ok(())
}

fn write_list(list: &ListArray, item: &ColumnType, out: &mut Writer) -> Result<(), ArrowError> {
    let (lengths, values) = list_parts(list)?;
    for length in &lengths {
        out.u32(length.unwrap_or(0));
    }
    write(values.as_ref(), item, out)
}

fn write_fixed(array: &dyn Array, width: usize, out: &mut Writer) {
    let data = array.to_data();
    let bytes = data.buffers().first();
    let bytes = bytes.map(Buffer::as_slice).unwrap_or_default();
    let from = data.offset() * width;
    let to = from + array.len() * width;
    let values = bytes.get(from..to).unwrap_or_default();
    for (row, value) in values.chunks_exact(width).enumerate() {
        // What stands behind a NULL is nobody's business.
        match array.is_valid(row) {
            true => out.raw(value),
            false => out.raw(&vec![0; width]),
        }
    }
}

fn write_texts<'a>(values: impl Iterator<Item = &'a [u8]> + Clone, out: &mut Writer) {
    for value in values.clone() {
        out.count(value.len());
    }
    for value in values {
        out.raw(value);
    }
}

/// Reads what [`write()`] wrote.
///
/// # Errors
/// If the bytes are not `rows` values of the type.
pub fn read(ty: &ColumnType, rows: usize, reader: &mut Reader<'_>) -> Result<ArrayRef, WireError> {
    match ty.properties().values {
        Values::List(item) => {
            let list = list_of_type(&ty.arrow(), read_list(item, rows, reader)?);
            Ok(Arc::new(list.map_err(|_| WireError)?))
        }
        Values::Map(entry) => {
            let map = map_of_entries(&ty.arrow(), read_list(entry, rows, reader)?);
            Ok(Arc::new(map.map_err(|_| WireError)?))
        }
        Values::Struct(fields) => {
            let nulls = read_nulls(rows, reader)?.map(|bits| nulls_of(bits, rows));
            let columns = fields.iter();
            let columns = columns.map(|(_, ty)| read(ty, rows, reader));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let array = struct_of(fields, columns, nulls);
            Ok(Arc::new(array.map_err(|_| WireError)?))
        }
        Values::Bits | Values::Fixed(_) | Values::Text | Values::Bytes => {
            FlatValues::read(ty, rows, reader)?.array(ty, rows)
        }
    }
}

fn read_list(
    item: &ColumnType,
    rows: usize,
    reader: &mut Reader<'_>,
) -> Result<ListArray, WireError> {
    let nulls = read_nulls(rows, reader)?.map(|bits| nulls_of(bits, rows));
    let lengths = reader.raw(rows.checked_mul(4).ok_or(WireError)?)?;
    // Each value takes a byte at least.
    let total = total_of(lengths).filter(|total| *total <= reader.left());
    let total = total.filter(|total| i32::try_from(*total).is_ok());
    let values = read(item, total.ok_or(WireError)?, reader)?;
    let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    if each_length(lengths)
        .enumerate()
        .any(|(row, len)| len > 0 && is_null(row))
    {
        return Err(WireError);
    }
    let offsets = OffsetBuffer::<i32>::from_lengths(each_length(lengths));
    let item = Arc::new(ColumnType::list_item(item));
    ListArray::try_new(item, offsets, values, nulls).map_err(|_| WireError)
}

/// The plain bytes of values that are neither lists, structs nor maps, held against their type.
#[derive(Clone, Copy)]
pub struct FlatValues<'a> {
    /// A bit for each row, set where there is a value; `None` if all have one.
    pub nulls: Option<&'a [u8]>,
    /// Of text and bytes, rows x u32.
    pub lengths: &'a [u8],
    /// The values, one behind the other.
    pub bytes: &'a [u8],
}

impl<'a> FlatValues<'a> {
    /// Whether values of the type can be read like this.
    pub fn are_of(ty: &ColumnType) -> bool {
        !ty.is_nested()
    }

    /// Takes the bytes of `rows` values of a type that is not nested.
    pub fn read(ty: &ColumnType, rows: usize, reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let nulls = read_nulls(rows, reader)?;
        let mut lengths: &[u8] = &[];
        let values = ty.properties().values;
        let bytes = match values {
            Values::Bits => {
                let bytes = reader.raw(rows)?;
                if bytes.iter().any(|byte| *byte > 1) {
                    return Err(WireError);
                }
                bytes
            }
            Values::Text | Values::Bytes => {
                lengths = reader.raw(rows.checked_mul(4).ok_or(WireError)?)?;
                let bytes = reader.raw(total_of(lengths).ok_or(WireError)?)?;
                if matches!(values, Values::Text) {
                    are_texts(lengths, bytes)?;
                }
                if *ty == ColumnType::Bit {
                    are_ones(nulls.map(|bits| nulls_of(bits, rows)), lengths, bytes)?;
                }
                bytes
            }
            Values::Fixed(width) => {
                let bytes = reader.raw(rows.checked_mul(width).ok_or(WireError)?)?;
                are_huge(ty, bytes)?;
                are_times_of_day(ty, bytes)?;
                bytes
            }
            Values::List(_) | Values::Struct(_) | Values::Map(_) => return Err(WireError),
        };
        Ok(Self {
            nulls,
            lengths,
            bytes,
        })
    }

    /// The values as an array of the type's Arrow type.
    pub fn array(&self, ty: &ColumnType, rows: usize) -> Result<ArrayRef, WireError> {
        let nulls = self.nulls.map(|bits| nulls_of(bits, rows));
        let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let mut left = Reader::new(self.bytes);
        match ty.properties().values {
            Values::Bits => {
                let values =
                    BooleanBuffer::collect_bool(rows, |row| self.bytes.get(row) == Some(&1));
                Ok(Arc::new(BooleanArray::new(values, nulls)))
            }
            Values::Bytes if *ty == ColumnType::Bit => {
                let mut values = LargeBinaryBuilder::with_capacity(rows, self.bytes.len());
                for (row, len) in each_length(self.lengths).enumerate() {
                    let bytes = left.raw(len)?;
                    values.append_option((!is_null(row)).then_some(bytes));
                }
                Ok(Arc::new(values.finish()))
            }
            Values::Bytes => {
                let mut values = BinaryViewBuilder::with_capacity(rows);
                for (row, len) in each_length(self.lengths).enumerate() {
                    let bytes = left.raw(len)?;
                    values.append_option((!is_null(row)).then_some(bytes));
                }
                Ok(Arc::new(values.finish()))
            }
            Values::Text => {
                let mut values = StringViewBuilder::with_capacity(rows);
                for (row, len) in each_length(self.lengths).enumerate() {
                    let text = std::str::from_utf8(left.raw(len)?).map_err(|_| WireError)?;
                    values.append_option((!is_null(row)).then_some(text));
                }
                Ok(Arc::new(values.finish()))
            }
            Values::List(_) | Values::Struct(_) | Values::Map(_) => Err(WireError),
            Values::Fixed(_) => {
                let arrow = ty.arrow();
                // A copy, aligned as values of any width need it.
                let values = Buffer::from_slice_ref(self.bytes);
                let empty = new_empty_array(&arrow).to_data().into_builder();
                let data = empty
                    .len(rows)
                    .buffers(vec![values])
                    .nulls(nulls)
                    .align_buffers(true)
                    .build()
                    .map_err(|_| WireError)?;
                Ok(make_array(data))
            }
        }
    }
}

/// Refuses HUGEINTs and UHUGEINTs of more than 128 bits.
fn are_huge(ty: &ColumnType, bytes: &[u8]) -> Result<(), WireError> {
    let Parts::Huge(signed) = ty.properties().parts else {
        return Ok(());
    };
    let sign = if signed { 0x80 } else { 0 };
    for value in bytes.as_chunks::<32>().0 {
        let (number, above) = value.split_at(16);
        let is_negative = number.last().is_some_and(|byte| byte & sign != 0);
        let filled = if is_negative { 0xff } else { 0 };
        if above.iter().any(|byte| *byte != filled) {
            return Err(WireError);
        }
    }
    Ok(())
}

/// Refuses what is no time of day.
fn are_times_of_day(ty: &ColumnType, bytes: &[u8]) -> Result<(), WireError> {
    let is_time = |value: &[u8; 8]| TimeTz::of_bytes(value).is_some();
    match *ty == ColumnType::TimeTz && !bytes.as_chunks::<8>().0.iter().all(is_time) {
        true => Err(WireError),
        false => Ok(()),
    }
}

/// Refuses what is no BIT.
fn are_ones(nulls: Option<NullBuffer>, lengths: &[u8], bytes: &[u8]) -> Result<(), WireError> {
    let mut left = Reader::new(bytes);
    for (row, len) in each_length(lengths).enumerate() {
        let is_one = BitString::of_bytes(left.raw(len)?).is_some();
        if !is_one && nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
            return Err(WireError);
        }
    }
    Ok(())
}

fn read_nulls<'a>(rows: usize, reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, WireError> {
    match reader.flag()? {
        true => reader.raw(rows.div_ceil(8)).map(Some),
        false => Ok(None),
    }
}

fn nulls_of(bits: &[u8], rows: usize) -> NullBuffer {
    NullBuffer::new(BooleanBuffer::new(Buffer::from(bits), 0, rows))
}

fn each_length(lengths: &[u8]) -> impl ExactSizeIterator<Item = usize> + Clone {
    let lengths = lengths.as_chunks::<4>().0.iter();
    lengths.map(|bytes| u32::from_le_bytes(*bytes) as usize)
}

fn total_of(lengths: &[u8]) -> Option<usize> {
    each_length(lengths).try_fold(0usize, |sum, len| sum.checked_add(len))
}

/// Each length must take whole characters.
fn are_texts(lengths: &[u8], bytes: &[u8]) -> Result<(), WireError> {
    let all = std::str::from_utf8(bytes).map_err(|_| WireError)?;
    let mut end = 0;
    for len in each_length(lengths) {
        end += len;
        if !all.is_char_boundary(end) {
            return Err(WireError);
        }
    }
    Ok(())
}

/// Bytes of a value of a type of fixed width.
/// The bits from the first byte on.
fn bits(bits: &BooleanBuffer) -> Vec<u8> {
    let mut bytes = bits.sliced().as_slice().to_vec();
    bytes.resize(bits.len().div_ceil(8), 0);
    if let Some(last) = bytes.last_mut()
        && !bits.len().is_multiple_of(8)
    {
        *last &= (1 << (bits.len() % 8)) - 1;
    }
    bytes
}
