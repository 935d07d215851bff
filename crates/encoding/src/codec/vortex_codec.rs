//! Segments compressed with Vortex encodings, chosen per segment by sampling (BtrBlocks).
//!
//! What must hold: only encodings of [`super::encoding_set`] are written or read; a decoded array has been held against the type
//! and row count the caller expects; panics of the library become [`CodecError::Malformed`].
//! Assumes: the decoder may take memory in proportion to what a segment claims to hold, so in a plain file, which
//! anyone can write, a crafted segment can ask for much.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, new_empty_array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field};
use arrow_select::filter::filter;
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
use vortex_session::registry::{Id, ReadContext};

use super::encoded_segment::MAX_ROW_GROUP_ROWS;
use super::encoded_segment::{CodecError, EncodedSegment};
use super::encoding_set::code_of;
use super::nested::{FlatPart, flatten};
use super::parts::{join, part_types, split};
use super::segment_header::{PART_ALIGNMENT, SegmentHeader};
use super::verify;
use crate::column_type::{ColumnType, Values};
use crate::expected_panics::expect_panics;

/// Rows of which so many may take no more than [`ONE_SECTOR`] as they are.
const SMALL_ROWS: u32 = 1000;
/// The payload of a block of one sector (FORMAT.md, "Block envelope"): a block takes whole sectors, so looking for encodings, which takes longer
/// than all else in writing few rows, would gain nothing.
const ONE_SECTOR: usize = 4096 - 80;

/// The codec of format 1. Two threads may use one at once.
#[derive(Clone)]
pub struct VortexCodec {
    pub(super) session: VortexSession,
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

    pub(super) fn try_encode(
        &self,
        ty: &ColumnType,
        parts: &[FlatPart],
        rows: u32,
        nullable: bool,
        compress: bool,
    ) -> Option<EncodedSegment> {
        let context = ArrayContext::empty();
        let mut bodies = Vec::with_capacity(parts.len());
        for (part, nullable) in parts {
            bodies.push(match part.len() {
                0 if ty.is_nested() => Vec::new(),
                _ => self.encode_part(part, *nullable, &context, compress).ok()?,
            });
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
        let (header, ranges) = SegmentHeader::parse(bytes).map_err(|_| CodecError::Malformed)?;
        if &header.ty != ty || header.rows != rows {
            return Err(CodecError::Malformed);
        }
        let total = rows as usize;
        let selected = mask.map_or(total, BooleanBuffer::count_set_bits);
        if selected == 0 {
            return Ok(new_empty_array(&ty.arrow()));
        }
        let mask = mask.filter(|_| selected < total);
        // Packed text is unpacked faster all at once than value by value, unless few values are wanted. The encoding of
        // the whole segment is the first in the list. In nested values a mask has to be brought to each level.
        let is_packed = |id: &Id| matches!(id.as_str(), "vortex.fsst" | "vortex.onpair");
        let is_costly = ty.is_nested() || header.encodings.first().is_some_and(is_packed);
        let late = selected > total / 3 && is_costly;
        let (mask, late_mask) = if late { (None, mask) } else { (mask, None) };
        let context = ReadContext::new(header.encodings);
        let source = (bytes, ranges);
        let array = match ty.is_nested() {
            true => self.decode_nested(ty, total, source, &context, mask)?,
            false => self.decode_flat(ty, (total, header.nullable), source, &context, mask)?,
        };
        match late_mask {
            Some(mask) => {
                filter(&array, &BooleanArray::from(mask.clone())).map_err(|_| CodecError::Malformed)
            }
            None => Ok(array),
        }
    }

    /// The rows that `mask` selects of an array that is not nested, from its parts of `rows` rows; `nullable` is said of the
    /// first.
    pub(super) fn decode_flat(
        &self,
        ty: &ColumnType,
        (rows, nullable): (usize, bool),
        (bytes, ranges): (&Bytes, Vec<Range<usize>>),
        context: &ReadContext,
        mask: Option<&BooleanBuffer>,
    ) -> Result<ArrayRef, CodecError> {
        let types = part_types(ty);
        if ranges.len() != types.len() {
            return Err(CodecError::Malformed);
        }
        let decoded = mask.map_or(rows, BooleanBuffer::count_set_bits);
        let mask = mask.map(|mask| Mask::from_buffer(BitBuffer::from(mask.clone())));
        let mut parts = Vec::with_capacity(types.len());
        for (index, (range, part_type)) in ranges.into_iter().zip(&types).enumerate() {
            let nullable = nullable && index == 0;
            let body = ByteBuffer::from(bytes.slice(range));
            let part = self
                .decode_part(body, part_type, nullable, rows, context, mask.as_ref())
                .map_err(|_| CodecError::Malformed)?;
            if part.len() != decoded || (!nullable && part.null_count() > 0) {
                return Err(CodecError::Malformed);
            }
            parts.push(part);
        }
        let array = join(ty, parts)?;
        let sound = match ty.properties().values {
            Values::Text => array
                .as_string_view_opt()
                .is_some_and(|a| verify::views(a, true)),
            // Bits were looked at when they were joined.
            Values::Bytes if *ty == ColumnType::Bit => true,
            Values::Bytes => array
                .as_binary_view_opt()
                .is_some_and(|a| verify::views(a, false)),
            Values::Bits
            | Values::Fixed(_)
            | Values::List(_)
            | Values::Struct(_)
            | Values::Map(_) => true,
        };
        match sound {
            true => Ok(array),
            false => Err(CodecError::Malformed),
        }
    }
}

/// Columns of row groups to segments and back (FORMAT.md, "Segments").
impl VortexCodec {
    /// Compresses `array`, whose type must be `ty.arrow()`.
    ///
    /// # Errors
    /// [`CodecError::WrongType`] for another type, [`CodecError::TooLarge`] if it does not fit a segment.
    pub fn encode(&self, ty: &ColumnType, array: &ArrayRef) -> Result<EncodedSegment, CodecError> {
        let rows = u32::try_from(array.len()).map_err(|_| CodecError::TooLarge)?;
        if rows > MAX_ROW_GROUP_ROWS {
            return Err(CodecError::TooLarge);
        }
        let nullable = array.null_count() > 0 && !ty.is_nested();
        let parts = match ty.is_nested() {
            true => flatten(ty, array)?,
            false => {
                let parts = split(ty, array)?.into_iter().enumerate();
                parts
                    .map(|(index, part)| (part, nullable && index == 0))
                    .collect()
            }
        };
        let attempt = |compress| {
            let run = || self.try_encode(ty, &parts, rows, nullable, compress);
            expect_panics(run).flatten()
        };
        let is_small = |segment: &EncodedSegment| segment.len() <= ONE_SECTOR;
        if rows <= SMALL_ROWS
            && let Some(segment) = attempt(false).filter(is_small)
        {
            return Ok(segment);
        }
        // What the compressor cannot take is stored as it is rather than refused.
        attempt(true)
            .or_else(|| attempt(false))
            .ok_or(CodecError::TooLarge)
    }

    /// Decodes the rows that `mask` selects (all rows if there is none) of a segment of `rows` rows.
    ///
    /// # Errors
    /// [`CodecError::Malformed`] if the bytes are not such a segment.
    pub fn decode(
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
        expect_panics(run).unwrap_or(Err(CodecError::Malformed))
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

#[cfg(test)]
mod tests {
    use arrow_array::{Decimal128Array, Float64Array, Int64Array, StringViewArray};
    use proptest::prelude::*;

    use super::*;

    fn bytes_of(ty: &ColumnType, array: &ArrayRef) -> Bytes {
        Bytes::from(VortexCodec::new().encode(ty, array).unwrap().to_vec())
    }

    fn round_trip(ty: &ColumnType, array: ArrayRef, mask: &[bool]) {
        let codec = VortexCodec::new();
        let bytes = Bytes::from(codec.encode(ty, &array).unwrap().to_vec());
        let rows = array.len() as u32;
        assert_eq!(&codec.decode(ty, rows, &bytes, None).unwrap(), &array);
        let mask = BooleanBuffer::collect_bool(array.len(), |row| mask[row % mask.len()]);
        let selected = codec.decode(ty, rows, &bytes, Some(&mask)).unwrap();
        let mask = arrow_array::BooleanArray::from(mask);
        assert_eq!(
            &selected,
            &arrow_select::filter::filter(&array, &mask).unwrap()
        );
        let open = codec.open(ty, rows, &bytes).unwrap();
        for row in (0..array.len()).step_by(array.len() / 7 + 1) {
            assert_eq!(&codec.value(&open, row).unwrap(), &array.slice(row, 1));
        }
        assert!(codec.value(&open, array.len()).is_err());
    }

    fn mask() -> impl Strategy<Value = Vec<bool>> {
        prop::collection::vec(any::<bool>(), 1..50)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn integers_come_back(
            values in prop::collection::vec(prop::option::of(any::<i64>()), 0..3000),
            mask in mask(),
        ) {
            round_trip(&ColumnType::Int64, Arc::new(Int64Array::from(values)), &mask);
        }

        #[test]
        fn small_integers_in_runs_come_back(
            runs in prop::collection::vec((prop::option::of(-5i64..5), 1usize..300), 0..30),
            mask in mask(),
        ) {
            let values = runs.into_iter().flat_map(|(value, len)| std::iter::repeat_n(value, len));
            round_trip(&ColumnType::Int64, Arc::new(Int64Array::from_iter(values)), &mask);
        }

        #[test]
        fn floats_come_back(
            values in prop::collection::vec(prop::option::of((-9999i32..9999).prop_map(|v| f64::from(v) / 100.0)), 0..3000),
            mask in mask(),
        ) {
            round_trip(&ColumnType::Double, Arc::new(Float64Array::from(values)), &mask);
        }

        #[test]
        fn text_comes_back(
            values in prop::collection::vec(prop::option::of("[a-c]{0,5}|\\PC{0,40}"), 0..1500),
            mask in mask(),
        ) {
            round_trip(&ColumnType::Varchar, Arc::new(StringViewArray::from(values)), &mask);
        }

        #[test]
        fn wide_decimals_come_back(
            values in prop::collection::vec(prop::option::of(any::<i64>()), 0..1500),
            shift in 0u32..60,
            mask in mask(),
        ) {
            let wide = values.into_iter().map(|value| value.map(|value| i128::from(value) << shift));
            let array = Decimal128Array::from_iter(wide).with_precision_and_scale(38, 2).unwrap();
            let ty = ColumnType::Decimal { precision: 38, scale: 2 };
            round_trip(&ty, Arc::new(array), &mask);
        }
    }

    #[test]
    fn an_edited_segment_is_refused_or_decodes_to_the_right_shape() {
        let text = (0..500).map(|n| format!("value number {} of a few", n % 40));
        let text: ArrayRef = Arc::new(StringViewArray::from_iter_values(text));
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter(
            (0..500).map(|n| (n % 7 > 0).then_some(n * n)),
        ));
        let codec = VortexCodec::new();
        for (ty, array) in [(ColumnType::Varchar, text), (ColumnType::Int64, numbers)] {
            let sound = bytes_of(&ty, &array);
            // The description of the arrays stands at the end; bits there do the most harm.
            let places = (0..64).chain(sound.len().saturating_sub(500)..sound.len());
            for place in places {
                let mut edited = sound.to_vec();
                edited[place] ^= 1 << (place % 8);
                let bytes = Bytes::from(edited.clone());
                if let Ok(open) = codec.open(&ty, 500, &bytes) {
                    let _ = (codec.value(&open, 0), codec.value(&open, 499));
                }
                if let Ok(decoded) = codec.decode(&ty, 500, &Bytes::from(edited), None) {
                    assert_eq!((decoded.len(), decoded.data_type()), (500, &ty.arrow()));
                }
            }
            for len in [0, 1, 11, 63, 64, sound.len() / 2, sound.len() - 1] {
                assert!(
                    codec.decode(&ty, 500, &sound.slice(..len), None).is_err(),
                    "cut to {len}"
                );
            }
            assert!(codec.decode(&ty, 499, &sound, None).is_err());
            assert!(codec.decode(&ColumnType::Blob, 500, &sound, None).is_err());
        }
    }

    /// An encoding that is missing from the list would show here: such data is stored as it is.
    #[test]
    fn usual_data_gets_smaller() {
        let rows = 0..20_000i64;
        let scattered = |n: i64| (n * 7919) % 1009;
        let numbers = |f: &dyn Fn(i64) -> Option<i64>| -> ArrayRef {
            Arc::new(Int64Array::from_iter(rows.clone().map(f)))
        };
        let text = |f: &dyn Fn(i64) -> String| -> ArrayRef {
            Arc::new(StringViewArray::from_iter_values(rows.clone().map(f)))
        };
        let prices = rows.clone().map(|n| scattered(n) as f64 / 100.0);
        let (int, varchar) = (ColumnType::Int64, ColumnType::Varchar);
        let arrays = [
            ("constant", &int, numbers(&|_| Some(7)), 1_000),
            ("sequence", &int, numbers(&|n| Some(1_000 + 3 * n)), 1_000),
            ("runs", &int, numbers(&|n| Some(scattered(n / 500))), 2_000),
            (
                "small",
                &int,
                numbers(&|n| Some(scattered(n) - 500)),
                30_000,
            ),
            (
                "mostly NULL",
                &int,
                numbers(&|n| (n % 100 == 0).then_some(n * n)),
                10_000,
            ),
            (
                "few words",
                &varchar,
                text(&|n| format!("word {}", scattered(n) % 7)),
                12_000,
            ),
            (
                "sentences",
                &varchar,
                text(&|n| format!("order {} is on its way", n * 7919)),
                300_000,
            ),
            (
                "prices",
                &ColumnType::Double,
                Arc::new(Float64Array::from_iter_values(prices)),
                50_000,
            ),
        ];
        for (name, ty, array, at_most) in arrays {
            let len = bytes_of(ty, &array).len();
            assert!(len <= at_most, "{name}: {len} bytes");
        }
    }

    #[test]
    fn a_segment_of_a_few_rows_fits_one_sector() {
        let array: ArrayRef = Arc::new(StringViewArray::from(vec![
            Some("one"),
            None,
            Some("three"),
        ]));
        assert!(bytes_of(&ColumnType::Varchar, &array).len() < 1000);
    }
}
