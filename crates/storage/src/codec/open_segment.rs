//! A segment that stays parsed, for values of single rows: what a lookup by key reads.
//!
//! Holds: what is given has been held against the column's type, as by `VortexCodec::decode`; panics of the library become
//! [`CodecError::Malformed`]. Only what the value needs is decompressed, as far as the encoding allows that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryViewArray, StringViewArray};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use vortex_array::VortexSessionExecute;
use vortex_array::serde::SerializedArray;
use vortex_arrow::ArrowSessionExt;
use vortex_buffer::ByteBuffer;
use vortex_error::VortexResult;
use vortex_session::registry::ReadContext;

use super::parts::{join, part_types};
use super::segment_codec::CodecError;
use super::segment_header::SegmentHeader;
use super::vortex_codec::VortexCodec;
use crate::table::{ColumnType, MAX_ROW_GROUP_ROWS};

/// A parsed segment of one column.
pub(crate) struct OpenSegment {
    ty: ColumnType,
    rows: usize,
    parts: Vec<Part>,
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
    pub(crate) fn open(
        &self,
        ty: &ColumnType,
        rows: u32,
        bytes: &Bytes,
    ) -> Result<OpenSegment, CodecError> {
        let (header, ranges) = SegmentHeader::parse(bytes).map_err(|_| CodecError::Malformed)?;
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
            parts,
        })
    }

    /// The value of one row, as an array of one.
    ///
    /// # Errors
    /// [`CodecError::Malformed`] if the segment does not hold up, or has no such row.
    pub(crate) fn value(&self, segment: &OpenSegment, row: usize) -> Result<ArrayRef, CodecError> {
        if row >= segment.rows {
            return Err(CodecError::Malformed);
        }
        let parts = segment.parts.iter();
        let parts = parts.map(|part| quietly(|| self.value_of(part, row)));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let nulls_fit = |(part, array): (&Part, &ArrayRef)| {
            array.len() == 1 && (part.field.is_nullable() || array.null_count() == 0)
        };
        match segment.parts.iter().zip(&parts).all(nulls_fit) {
            true => join(&segment.ty, parts),
            false => Err(CodecError::Malformed),
        }
    }

    fn value_of(&self, part: &Part, row: usize) -> VortexResult<ArrayRef> {
        let mut execution = self.session.create_execution_ctx();
        // Cut to one row, packed text would be unpacked whole; asked for one value, it is not.
        Ok(match part.field.data_type() {
            DataType::Utf8View => {
                let value = part.array.execute_scalar(row, &mut execution)?;
                let text = value.as_utf8().value().map(|text| text.as_str());
                Arc::new(StringViewArray::from(vec![text]))
            }
            DataType::BinaryView => {
                let value = part.array.execute_scalar(row, &mut execution)?;
                let bytes = value.as_binary().value().map(|bytes| bytes.as_slice());
                Arc::new(BinaryViewArray::from(vec![bytes]))
            }
            _ => {
                let array = part.array.slice(row..row + 1)?;
                let exporter = self.session.arrow();
                let exporter = exporter.exporter(&self.export);
                exporter.execute_arrow(array, Some(&part.field), &mut execution)?
            }
        })
    }
}

/// Runs the library; what it cannot do, and where it panics, the segment is malformed.
fn quietly<T>(run: impl FnOnce() -> VortexResult<T>) -> Result<T, CodecError> {
    let result = catch_unwind(AssertUnwindSafe(run));
    result
        .map_err(|_| CodecError::Malformed)?
        .map_err(|_| CodecError::Malformed)
}
