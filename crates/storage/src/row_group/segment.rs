//! What the row-group directory holds about one column segment.
//!
//! What must hold: `min` and `max` enclose every value of the segment, deleted rows included.

use hushdb_encoding::Bounds;
use hushdb_encoding::wire::{Reader, WireError, Writer};

use super::{Column, StatValue};
use crate::block::BlockRef;
use crate::numbers::ColumnId;

const FLAG_EXACT: u8 = 1;

/// One column of one row group.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// The column it belongs to.
    pub column_id: ColumnId,
    /// Where its compressed values are.
    pub block: BlockRef,
    /// Rows that are NULL, deleted ones included.
    pub null_count: u64,
    /// Lower bound of the values.
    pub min: Option<StatValue>,
    /// Upper bound of the values.
    pub max: Option<StatValue>,
    /// Whether the bounds are values of the segment; false when a string was cut.
    pub exact: bool,
    /// Bytes of the values before compression.
    pub raw_bytes: u64,
}

impl Segment {
    /// The fewest bytes a segment takes in a file.
    pub(crate) const SMALLEST: usize = 4 + BlockRef::BYTES + 4 + 1 + 1 + 1 + 8;

    pub(crate) fn write(&self, out: &mut Writer) {
        out.u32(self.column_id.number());
        out.raw(&self.block.to_bytes());
        out.count(usize::try_from(self.null_count).unwrap_or(usize::MAX));
        out.u8(if self.exact { FLAG_EXACT } else { 0 });
        StatValue::write(self.min.as_ref(), out);
        StatValue::write(self.max.as_ref(), out);
        out.u64(self.raw_bytes);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            column_id: ColumnId::new(reader.u32()?),
            block: BlockRef::from_bytes(&reader.array()?),
            null_count: u64::from(reader.u32()?),
            exact: reader.flag()?,
            min: StatValue::read(reader)?,
            max: StatValue::read(reader)?,
            raw_bytes: reader.u64()?,
        })
    }

    /// Whether the bounds are of the kind that the column's type has, so that nobody has to ask again.
    pub(crate) fn suits(&self, column: &Column) -> bool {
        let bounds = column.ty.properties().bounds;
        let kind = |bound: &StatValue| match (bound, bounds) {
            (StatValue::Bool(_), Bounds::Bool)
            | (StatValue::UInt(_), Bounds::Unsigned)
            | (StatValue::Bytes(_), Bounds::Bytes)
            | (StatValue::Int128(_), Bounds::Int128) => true,
            (StatValue::Int(value), Bounds::Signed(least, most)) => (least..=most).contains(value),
            (StatValue::Float(value), Bounds::Float) => !value.is_nan(),
            (StatValue::Bytes(bytes), Bounds::Text) => std::str::from_utf8(bytes).is_ok(),
            (StatValue::Bytes(bytes), Bounds::ExactBytes(count)) => bytes.len() == count,
            _ => false,
        };
        self.min.as_ref().is_none_or(kind) && self.max.as_ref().is_none_or(kind)
    }
}
