//! First bytes of a segment: what is in it, before any of it is handed to the decoder.
//!
//! ```text
//! 0 codec u8 | 1 header version u8 | 2 column type [3] | 5 flags u8 | 6 parts u8 | 7 encodings u8 | 8 rows u32
//! 12 length of each part u32[parts] | code of each encoding u8[encodings] | zeros to a multiple of 64
//! ```
//! Version 2 is for LIST and STRUCT: the type takes as many bytes as it does, and parts is a u16.
//! What must hold: parts start on 64-byte boundaries in the order of the lengths and end with the segment.
//! Refuses: other codecs and versions, unknown flags and encodings, lengths that do not fit.

use vortex_session::registry::Id;

use super::encoding_set::{code_of, id_of};
use super::parts::MAX_PARTS;
use crate::column_type::ColumnType;
use crate::wire::{Reader, WireError, Writer};

/// Parts start at multiples of this, so that the decoder finds its buffers aligned.
pub(crate) const PART_ALIGNMENT: usize = 64;

const CODEC_VORTEX: u8 = 1;
const VERSION_FLAT: u8 = 1;
const VERSION_NESTED: u8 = 2;
const FLAG_NULLABLE: u8 = 1;

fn version_of(ty: &ColumnType) -> u8 {
    match ty.is_nested() {
        true => VERSION_NESTED,
        false => VERSION_FLAT,
    }
}

/// Parsed segment header.
pub struct SegmentHeader {
    /// The column's type.
    pub ty: ColumnType,
    /// Whether the first part carries validity. Not said of nested types, of which many parts may.
    pub(crate) nullable: bool,
    /// Rows, NULLs included.
    pub rows: u32,
    pub(crate) part_lens: Vec<u32>,
    pub(crate) encodings: Vec<Id>,
}

impl SegmentHeader {
    /// The header in bytes, padded; `None` if an encoding is not one that may be written.
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut out = Writer::default();
        out.u8(CODEC_VORTEX);
        out.u8(version_of(&self.ty));
        self.ty.write(&mut out);
        out.u8(if self.nullable { FLAG_NULLABLE } else { 0 });
        match self.ty.is_nested() {
            true => out.u16(u16::try_from(self.part_lens.len()).ok()?),
            false => out.u8(u8::try_from(self.part_lens.len()).ok()?),
        }
        out.u8(u8::try_from(self.encodings.len()).ok()?);
        out.u32(self.rows);
        for len in &self.part_lens {
            out.u32(*len);
        }
        for id in &self.encodings {
            out.u8(code_of(id)?);
        }
        let mut bytes = out.into_bytes();
        bytes.resize(bytes.len().next_multiple_of(PART_ALIGNMENT), 0);
        Some(bytes)
    }

    /// Parses the header and gives the byte range of each part.
    ///
    /// # Errors
    /// If the bytes are no segment: see the head of this file.
    pub fn parse(bytes: &[u8]) -> Result<(Self, Vec<std::ops::Range<usize>>), WireError> {
        let mut reader = Reader::new(bytes);
        if reader.u8()? != CODEC_VORTEX {
            return Err(WireError);
        }
        let version = reader.u8()?;
        let ty = ColumnType::read(&mut reader)?;
        let flags = reader.u8()?;
        let known = if ty.is_nested() { 0 } else { FLAG_NULLABLE };
        if version != version_of(&ty) || flags & !known != 0 {
            return Err(WireError);
        }
        let parts = match ty.is_nested() {
            true => usize::from(reader.u16()?),
            false => usize::from(reader.u8()?),
        };
        let encodings = usize::from(reader.u8()?);
        if parts == 0 || (!ty.is_nested() && parts > MAX_PARTS) {
            return Err(WireError);
        }
        let rows = reader.u32()?;
        let part_lens = (0..parts)
            .map(|_| reader.u32())
            .collect::<Result<Vec<_>, _>>()?;
        let codes = reader.raw(encodings)?;
        let encodings = codes
            .iter()
            .map(|code| id_of(*code).ok_or(WireError))
            .collect::<Result<Vec<_>, _>>()?;

        let mut start = bytes.len() - reader.left();
        let mut end = start;
        let mut ranges = Vec::with_capacity(parts);
        for len in &part_lens {
            start = end.next_multiple_of(PART_ALIGNMENT);
            let len = usize::try_from(*len).map_err(|_| WireError)?;
            end = start.checked_add(len).ok_or(WireError)?;
            ranges.push(start..end);
        }
        if end != bytes.len() || start > bytes.len() {
            return Err(WireError);
        }
        let nullable = flags & FLAG_NULLABLE != 0;
        Ok((
            Self {
                ty,
                nullable,
                rows,
                part_lens,
                encodings,
            },
            ranges,
        ))
    }
}
