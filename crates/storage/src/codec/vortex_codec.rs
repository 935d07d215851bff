//! Segments compressed with Vortex encodings, chosen per segment by sampling (BtrBlocks).
//!
//! Holds: only encodings of [`super::encoding_set`] are written or read; a decoded array has been held against the type
//! and row count the caller expects; panics of the library become [`CodecError::Malformed`].
//! Assumes: the decoder may take memory in proportion to what a segment claims to hold, so in a plain file, which
//! anyone can write, a crafted segment can ask for much.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use vortex_array::serde::{SerializeOptions, SerializedArray};
use vortex_array::{ArrayContext, VortexSessionExecute, array_session};
use vortex_arrow::{ArrowExportOptions, ArrowSessionExt, CompactBuffers};
use vortex_btrblocks::BtrBlocksCompressor;
use vortex_buffer::{BitBuffer, ByteBuffer};
use vortex_edition::{EDITION_DECLARATIONS, EDITION_FAMILIES, EditionSessionExt};
use vortex_error::VortexResult;
use vortex_mask::Mask;
use vortex_session::VortexSession;
use vortex_session::registry::ReadContext;

use super::encoding_set::code_of;
use super::parts::{join, part_types, split};
use super::segment_codec::{CodecError, EncodedSegment, SegmentCodec};
use super::segment_header::{PART_ALIGNMENT, SegmentHeader};
use super::verify;
use crate::table::{ColumnType, MAX_ROW_GROUP_ROWS};

/// The codec of format 1.
#[derive(Clone)]
pub struct VortexCodec {
    session: VortexSession,
    compressor: BtrBlocksCompressor,
    /// Arrow type of a part, ready made: building one for each segment costs more than decoding a small one.
    export: Arc<ArrowExportOptions>,
}

impl Default for VortexCodec {
    fn default() -> Self {
        Self::new()
    }
}

impl VortexCodec {
    /// A codec with the default choice of encodings.
    pub fn new() -> Self {
        let session = array_session();
        vortex_arrow::initialize(&session);
        vortex_alp::initialize(&session);
        vortex_fastlanes::initialize(&session);
        vortex_fsst::initialize(&session);
        vortex_onpair::initialize(&session);
        vortex_runend::initialize(&session);
        vortex_sequence::initialize(&session);
        vortex_sparse::initialize(&session);
        vortex_zigzag::initialize(&session);
        enable_frozen_editions(&session);
        let compressor = BtrBlocksCompressor::from_session(&session);
        let export = Arc::new(ArrowExportOptions::default().with(CompactBuffers(false)));
        Self {
            session,
            compressor,
            export,
        }
    }

    /// One part in the library's serialized form, with the encodings that occur added to `context`.
    fn encode_part(
        &self,
        array: &ArrayRef,
        nullable: bool,
        context: &ArrayContext,
        compress: bool,
    ) -> VortexResult<Vec<ByteBuffer>> {
        let mut array = self
            .session
            .arrow()
            .from_arrow_array(Arc::clone(array), nullable)?;
        if compress {
            array = self
                .compressor
                .compress(&array, &mut self.session.create_execution_ctx())?;
        }
        let options = SerializeOptions {
            offset: 0,
            include_padding: true,
        };
        array.serialize(context, &self.session, &options)
    }

    fn try_encode(
        &self,
        ty: &ColumnType,
        parts: &[ArrayRef],
        rows: u32,
        nullable: bool,
        compress: bool,
    ) -> Option<EncodedSegment> {
        let context = ArrayContext::empty();
        let mut bodies = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            bodies.push(
                self.encode_part(part, nullable && index == 0, &context, compress)
                    .ok()?,
            );
        }
        let encodings = context.to_ids();
        if encodings.iter().any(|id| code_of(id).is_none()) {
            return None;
        }
        let len_of = |body: &Vec<ByteBuffer>| body.iter().map(|piece| piece.len()).sum::<usize>();
        let part_lens = bodies.iter().map(|body| u32::try_from(len_of(body)).ok());
        let part_lens = part_lens.collect::<Option<Vec<u32>>>()?;
        let header = SegmentHeader {
            ty: ty.clone(),
            nullable,
            rows,
            part_lens,
            encodings,
        };
        let header = header.to_bytes()?;

        let mut len = header.len();
        let mut pieces = vec![ByteBuffer::from(header)];
        for body in bodies {
            let start = len.next_multiple_of(PART_ALIGNMENT);
            if start > len {
                pieces.push(ByteBuffer::from(vec![0; start - len]));
            }
            len = start + len_of(&body);
            pieces.extend(body);
        }
        Some(EncodedSegment { pieces, len })
    }

    fn decode_part(
        &self,
        bytes: ByteBuffer,
        part_type: &DataType,
        nullable: bool,
        rows: usize,
        context: &ReadContext,
        mask: Option<&Mask>,
    ) -> VortexResult<ArrayRef> {
        let field = Field::new("", part_type.clone(), nullable);
        let arrow = self.session.arrow();
        let dtype = arrow.from_arrow_field(&field)?;
        let array =
            SerializedArray::try_from(bytes)?.decode(&dtype, rows, context, &self.session)?;
        let array = match mask {
            Some(mask) => array.filter(mask.clone())?,
            None => array,
        };
        let mut execution = self.session.create_execution_ctx();
        arrow
            .exporter(&self.export)
            .execute_arrow(array, Some(&field), &mut execution)
    }

    fn try_decode(
        &self,
        ty: &ColumnType,
        rows: u32,
        bytes: &Bytes,
        mask: Option<&BooleanBuffer>,
    ) -> Result<ArrayRef, CodecError> {
        let malformed = |_| CodecError::Malformed;
        let (header, ranges) = SegmentHeader::parse(bytes).map_err(|_| CodecError::Malformed)?;
        let types = part_types(ty);
        if &header.ty != ty || header.rows != rows || ranges.len() != types.len() {
            return Err(CodecError::Malformed);
        }
        let total = rows as usize;
        let selected = mask.map_or(total, BooleanBuffer::count_set_bits);
        if selected == 0 {
            return Ok(new_empty_array(&ty.arrow()));
        }
        let mask = mask.filter(|_| selected < total);
        let mask = mask.map(|mask| Mask::from_buffer(BitBuffer::from(mask.clone())));
        let context = ReadContext::new(header.encodings);
        let mut parts = Vec::with_capacity(types.len());
        for (index, (range, part_type)) in ranges.into_iter().zip(&types).enumerate() {
            let nullable = header.nullable && index == 0;
            let body = ByteBuffer::from(bytes.slice(range));
            let part = self
                .decode_part(body, part_type, nullable, total, &context, mask.as_ref())
                .map_err(|_| CodecError::Malformed)?;
            if part.len() != selected || (!nullable && part.null_count() > 0) {
                return Err(CodecError::Malformed);
            }
            parts.push(part);
        }
        let array = join(ty, parts)?;
        let sound = match ty {
            ColumnType::Varchar => array
                .as_string_view_opt()
                .is_some_and(|a| verify::views(a, true)),
            ColumnType::Blob => array
                .as_binary_view_opt()
                .is_some_and(|a| verify::views(a, false)),
            _ => true,
        };
        if sound { Ok(array) } else { Err(malformed(())) }
    }
}

impl SegmentCodec for VortexCodec {
    fn encode(&self, ty: &ColumnType, array: &ArrayRef) -> Result<EncodedSegment, CodecError> {
        let rows = u32::try_from(array.len()).map_err(|_| CodecError::TooLarge)?;
        if rows > MAX_ROW_GROUP_ROWS {
            return Err(CodecError::TooLarge);
        }
        let parts = split(ty, array)?;
        let nullable = array.null_count() > 0;
        let attempt = |compress| {
            let run = || self.try_encode(ty, &parts, rows, nullable, compress);
            catch_unwind(AssertUnwindSafe(run)).ok().flatten()
        };
        // What the compressor cannot take is stored as it is rather than refused.
        attempt(true)
            .or_else(|| attempt(false))
            .ok_or(CodecError::TooLarge)
    }

    fn decode(
        &self,
        ty: &ColumnType,
        rows: u32,
        bytes: &Bytes,
        mask: Option<&BooleanBuffer>,
    ) -> Result<ArrayRef, CodecError> {
        if mask.is_some_and(|mask| mask.len() != rows as usize) || rows > MAX_ROW_GROUP_ROWS {
            return Err(CodecError::Malformed);
        }
        let run = || self.try_decode(ty, rows, bytes, mask);
        catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(CodecError::Malformed))
    }
}

/// Lets the compressor use what every later release of the library reads, and nothing else.
fn enable_frozen_editions(session: &VortexSession) {
    let editions = session.editions();
    for family in EDITION_FAMILIES {
        let _ = editions.declare_family(family);
    }
    for declaration in EDITION_DECLARATIONS {
        let _ = editions.declare(declaration);
    }
    let newest = vortex_edition::declarations::core::CORE_2026_08_1;
    let enabled = session.enable_edition(newest);
    debug_assert!(enabled.is_ok(), "the edition was declared above");
}
