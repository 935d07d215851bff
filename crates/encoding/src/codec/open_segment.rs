//! A segment that stays parsed, for values of single rows: what a lookup by key reads.
//!
//! What must hold: what is given has been held against the column's type, as by `VortexCodec::decode`; panics of the library become
//! [`CodecError::Malformed`]. Only what the value needs is decompressed, as far as the encoding allows that.

use std::sync::Arc;

use arrow_array::builder::GenericByteViewBuilder;
use arrow_array::types::{
    ArrowPrimitiveType, BinaryViewType, ByteViewType, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, StringViewType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, GenericByteViewArray, PrimitiveArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use vortex_array::VortexSessionExecute;
use vortex_array::dtype::NativePType;
use vortex_array::scalar::Scalar;
use vortex_array::serde::SerializedArray;
use vortex_arrow::ArrowSessionExt;
use vortex_buffer::ByteBuffer;
use vortex_error::{VortexResult, vortex_bail};
use vortex_session::registry::ReadContext;

use super::encoded_segment::CodecError;
use super::encoded_segment::MAX_ROW_GROUP_ROWS;
use super::parts::{join, part_types};
use super::segment_header::SegmentHeader;
use super::vortex_codec::VortexCodec;
use crate::column_type::ColumnType;
use crate::expected_panics::expect_panics;

/// A parsed segment of one column.
pub struct OpenSegment {
    ty: ColumnType,
    rows: usize,
    values: Values,
}

enum Values {
    Flat(Vec<Part>),
    /// Values within values are found by the lengths before them: these are decoded for each value.
    Nested(Bytes),
}

struct Part {
    array: vortex_array::ArrayRef,
    field: Field,
}

impl VortexCodec {
    /// Parses a segment of `rows` rows.
    ///
    /// # Errors
    /// [`CodecError::Malformed`] if the bytes are not such a segment.
    pub fn open(
        &self,
        ty: &ColumnType,
        rows: u32,
        bytes: &Bytes,
    ) -> Result<OpenSegment, CodecError> {
        let (header, ranges) = SegmentHeader::parse(bytes).map_err(|_| CodecError::Malformed)?;
        if ty.is_nested() {
            let fits = &header.ty == ty && header.rows == rows && rows <= MAX_ROW_GROUP_ROWS;
            return match fits {
                true => Ok(OpenSegment {
                    ty: ty.clone(),
                    rows: rows as usize,
                    values: Values::Nested(bytes.clone()),
                }),
                false => Err(CodecError::Malformed),
            };
        }
        let types = part_types(ty);
        let fits = &header.ty == ty && header.rows == rows && ranges.len() == types.len();
        if !fits || rows > MAX_ROW_GROUP_ROWS {
            return Err(CodecError::Malformed);
        }
        let context = ReadContext::new(header.encodings);
        let open = |(index, (range, part)): (usize, (std::ops::Range<usize>, DataType))| {
            let field = Field::new("", part, header.nullable && index == 0);
            let dtype = self.session.arrow().from_arrow_field(&field)?;
            let bytes = ByteBuffer::from(bytes.slice(range));
            let array = SerializedArray::try_from(bytes)?;
            let array = array.decode(&dtype, rows as usize, &context, &self.session)?;
            Ok(Part { array, field })
        };
        let run = || {
            let parts = ranges.into_iter().zip(types).enumerate().map(open);
            parts.collect::<VortexResult<Vec<_>>>()
        };
        let parts = quietly(run)?;
        Ok(OpenSegment {
            ty: ty.clone(),
            rows: rows as usize,
            values: Values::Flat(parts),
        })
    }

    /// The value of one row, as an array of one.
    ///
    /// # Errors
    /// [`CodecError::Malformed`] if the segment does not hold up, or has no such row.
    pub fn value(&self, segment: &OpenSegment, row: usize) -> Result<ArrayRef, CodecError> {
        if row >= segment.rows {
            return Err(CodecError::Malformed);
        }
        let opened = match &segment.values {
            Values::Flat(parts) => parts,
            Values::Nested(bytes) => {
                let only = BooleanBuffer::collect_bool(segment.rows, |at| at == row);
                let rows = u32::try_from(segment.rows).map_err(|_| CodecError::Malformed)?;
                return self.decode(&segment.ty, rows, bytes, Some(&only));
            }
        };
        let parts = opened.iter();
        let parts = parts.map(|part| quietly(|| self.value_of(part, row)));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let nulls_fit = |(part, array): (&Part, &ArrayRef)| {
            array.len() == 1 && (part.field.is_nullable() || array.null_count() == 0)
        };
        match opened.iter().zip(&parts).all(nulls_fit) {
            true => join(&segment.ty, parts),
            false => Err(CodecError::Malformed),
        }
    }

    fn value_of(&self, part: &Part, row: usize) -> VortexResult<ArrayRef> {
        let mut execution = self.session.create_execution_ctx();
        // Cut to one row and exported, packed text would be unpacked whole, and numbers take three times as long.
        let value = part.array.execute_scalar(row, &mut execution)?;
        Ok(match part.field.data_type() {
            DataType::Utf8View => {
                let text = value.as_utf8().value().map(|text| text.as_str());
                Arc::new(one::<StringViewType>(text))
            }
            DataType::BinaryView => {
                let bytes = value.as_binary().value().map(|bytes| bytes.as_slice());
                Arc::new(one::<BinaryViewType>(bytes))
            }
            DataType::Boolean => Arc::new(BooleanArray::from(vec![value.as_bool().value()])),
            DataType::Int8 => number::<Int8Type>(&value)?,
            DataType::Int16 => number::<Int16Type>(&value)?,
            DataType::Int32 => number::<Int32Type>(&value)?,
            DataType::Int64 => number::<Int64Type>(&value)?,
            DataType::UInt8 => number::<UInt8Type>(&value)?,
            DataType::UInt16 => number::<UInt16Type>(&value)?,
            DataType::UInt32 => number::<UInt32Type>(&value)?,
            DataType::UInt64 => number::<UInt64Type>(&value)?,
            DataType::Float32 => number::<Float32Type>(&value)?,
            DataType::Float64 => number::<Float64Type>(&value)?,
            // No part has another type.
            _ => vortex_bail!("a part of another type"),
        })
    }
}

/// An array of one text, or of none, with room for no more: the library's own begins with 8 KiB.
fn one<T: ByteViewType>(value: Option<&T::Native>) -> GenericByteViewArray<T> {
    let bytes: &[u8] = value.map_or(&[], AsRef::as_ref);
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX).max(1);
    let builder = GenericByteViewBuilder::<T>::with_capacity(1);
    let mut builder = builder.with_fixed_block_size(len);
    builder.append_option(value);
    builder.finish()
}

fn number<T: ArrowPrimitiveType>(value: &Scalar) -> VortexResult<ArrayRef>
where
    T::Native: NativePType,
{
    let value = value.as_primitive().try_typed_value::<T::Native>()?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter([value])))
}

/// Runs the library; what it cannot do, and where it panics, the segment is malformed.
fn quietly<T>(run: impl FnOnce() -> VortexResult<T>) -> Result<T, CodecError> {
    expect_panics(run)
        .and_then(Result::ok)
        .ok_or(CodecError::Malformed)
}
