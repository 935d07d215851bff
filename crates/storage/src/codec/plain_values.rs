//! Values as plain bytes, for log records: few rows at a time, where compression would cost more than it saves.
//!
//! ```text
//! nulls u8: 0 none, 1: a bit for each row follows, set where there is a value
//! fixed width   rows x width, little-endian (BOOLEAN: a byte 0 or 1); 0 where NULL
//! text, bytes   rows x length u32, then the bytes of all rows
//! lists         rows x number of values u32, 0 where NULL, then the values of all rows like this
//! structs       the values of each field like this, NULL where the struct is
//! ```
//!
//! Refuses: input that ends early, booleans that are neither 0 nor 1, text that is not UTF-8. Nothing is allocated that
//! the input has no bytes for.

use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, ListArray, StructArray, make_array, new_empty_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType};

use crate::catalog::wire::{Reader, WireError, Writer};
use crate::table::{ColumnType, list_parts, struct_parts};

/// Appends the values of an array of the column's type.
///
/// # Errors
/// If Arrow cannot pick the values of a list or struct.
pub(crate) fn write(
    array: &dyn Array,
    ty: &ColumnType,
    out: &mut Writer,
) -> Result<(), ArrowError> {
    let rows = array.len();
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    out.u8(u8::from(nulls.is_some()));
    if let Some(nulls) = nulls {
        out.raw(bits(nulls.inner()).as_slice());
    }
    match ty {
        ColumnType::Boolean => {
            let values = array.as_boolean();
            for row in 0..rows {
                out.u8(u8::from(values.is_valid(row) && values.value(row)));
            }
        }
        ColumnType::Varchar => {
            let values = array.as_string_view();
            write_texts(
                (0..rows).map(|row| match values.is_valid(row) {
                    true => values.value(row).as_bytes(),
                    false => &[],
                }),
                out,
            );
        }
        ColumnType::Blob => {
            let values = array.as_binary_view();
            write_texts(
                (0..rows).map(|row| match values.is_valid(row) {
                    true => values.value(row),
                    false => &[],
                }),
                out,
            );
        }
        ColumnType::List(item) => {
            let (lengths, values) = list_parts(array.as_list())?;
            for row in 0..rows {
                out.u32(if lengths.is_valid(row) {
                    lengths.value(row)
                } else {
                    0
                });
            }
            write(values.as_ref(), item, out)?;
        }
        ColumnType::Struct(fields) => {
            let columns = struct_parts(array.as_struct())?;
            for ((_, ty), column) in fields.iter().zip(&columns) {
                write(column.as_ref(), ty, out)?;
            }
        }
        _ => {
            let width = width(&ty.arrow());
            let data = array.to_data();
            let bytes = data
                .buffers()
                .first()
                .map(Buffer::as_slice)
                .unwrap_or_default();
            let from = data.offset() * width;
            let values = bytes.get(from..from + rows * width).unwrap_or_default();
            for (row, value) in values.chunks_exact(width).enumerate() {
                // What stands behind a NULL is nobody's business.
                match array.is_valid(row) {
                    true => out.raw(value),
                    false => out.raw(&vec![0; width]),
                }
            }
        }
    }
    Ok(())
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
pub(crate) fn read(
    ty: &ColumnType,
    rows: usize,
    reader: &mut Reader<'_>,
) -> Result<ArrayRef, WireError> {
    let nulls = match reader.flag()? {
        true => {
            let bytes = Buffer::from(reader.raw(rows.div_ceil(8))?);
            Some(NullBuffer::new(BooleanBuffer::new(bytes, 0, rows)))
        }
        false => None,
    };
    let arrow = ty.arrow();
    match ty {
        ColumnType::Boolean => {
            let bytes = reader.raw(rows)?;
            if bytes.iter().any(|byte| *byte > 1) {
                return Err(WireError);
            }
            let values = BooleanBuffer::collect_bool(rows, |row| bytes.get(row) == Some(&1));
            Ok(Arc::new(BooleanArray::new(values, nulls)))
        }
        ColumnType::Varchar | ColumnType::Blob => {
            let lengths = reader.raw(rows.checked_mul(4).ok_or(WireError)?)?;
            let lengths = lengths.as_chunks::<4>().0.iter();
            let lengths = lengths.map(|bytes| u32::from_le_bytes(*bytes) as usize);
            let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            if matches!(ty, ColumnType::Blob) {
                let mut values = BinaryViewBuilder::with_capacity(rows);
                for (row, len) in lengths.enumerate() {
                    let bytes = reader.raw(len)?;
                    values.append_option((!is_null(row)).then_some(bytes));
                }
                return Ok(Arc::new(values.finish()));
            }
            let mut values = StringViewBuilder::with_capacity(rows);
            for (row, len) in lengths.enumerate() {
                let text = std::str::from_utf8(reader.raw(len)?).map_err(|_| WireError)?;
                values.append_option((!is_null(row)).then_some(text));
            }
            Ok(Arc::new(values.finish()))
        }
        ColumnType::List(item) => {
            let lengths = reader.raw(rows.checked_mul(4).ok_or(WireError)?)?;
            let lengths = lengths.as_chunks::<4>().0.iter();
            let lengths = lengths.map(|bytes| u32::from_le_bytes(*bytes) as usize);
            let total = lengths
                .clone()
                .try_fold(0usize, |sum, len| sum.checked_add(len));
            // Each value takes a byte at least.
            let total = total.filter(|total| *total <= reader.left());
            let total = total.filter(|total| i32::try_from(*total).is_ok());
            let values = read(item, total.ok_or(WireError)?, reader)?;
            let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            if lengths
                .clone()
                .enumerate()
                .any(|(row, len)| len > 0 && is_null(row))
            {
                return Err(WireError);
            }
            let offsets = OffsetBuffer::<i32>::from_lengths(lengths);
            let item = Arc::new(ColumnType::list_item(item));
            let list = ListArray::try_new(item, offsets, values, nulls);
            Ok(Arc::new(list.map_err(|_| WireError)?))
        }
        ColumnType::Struct(fields) => {
            let columns = fields.iter();
            let columns = columns.map(|(_, ty)| read(ty, rows, reader));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let array = StructArray::try_new(ColumnType::struct_fields(fields), columns, nulls);
            Ok(Arc::new(array.map_err(|_| WireError)?))
        }
        _ => {
            let bytes = reader.raw(rows.checked_mul(width(&arrow)).ok_or(WireError)?)?;
            // A copy, aligned as values of any width need it.
            let values = Buffer::from_slice_ref(bytes);
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

/// Bytes of a value of a type of fixed width.
fn width(arrow: &DataType) -> usize {
    match arrow {
        DataType::FixedSizeBinary(width) => usize::try_from(*width).unwrap_or(1),
        other => other.primitive_width().unwrap_or(1),
    }
}

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
