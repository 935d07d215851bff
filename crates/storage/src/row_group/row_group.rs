//! A horizontal slice of a table: its segments and which of its rows are gone.
//!
//! What must hold: segments are in ascending order of their column ids; a deleted row's offset is below `rows`; a row group
//! without a visible row is dropped from its table; it has either segments or values in memory. The latter are rows that
//! were committed since the last checkpoint, which moves them into segments.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use hushdb_encoding::MAX_ROW_GROUP_ROWS;
use hushdb_encoding::wire::{Reader, WireError, Writer};
use roaring::RoaringBitmap;

use super::Segment;
use crate::block::BlockRef;
use crate::numbers::{ColumnId, RowId};
use crate::row_keys::RunKeys;
use crate::shared::Shared;

/// Values by column id, each array with a value for every row; a column without one is NULL in every row.
pub type MemoryRows = Arc<[(ColumnId, ArrayRef)]>;

/// A row group. Its rows have the ids `first_row_id..first_row_id + rows`.
#[derive(Clone, Debug)]
pub struct RowGroup {
    /// Id of the first row.
    pub first_row_id: RowId,
    /// Rows, deleted ones included.
    pub rows: u32,
    /// Segments; a column without one is NULL in every row.
    pub segments: Shared<Segment>,
    /// Values of rows that no block holds yet, instead of segments.
    pub memory: Option<MemoryRows>,
    /// Offsets of the rows that are gone.
    pub deletes: Option<Arc<RoaringBitmap>>,
    /// Where `deletes` is stored; `None` while it is not.
    pub(crate) deletes_block: Option<BlockRef>,
    /// Where the distinct sketches of the segments are.
    pub(crate) sketches: Option<BlockRef>,
    /// For rows that were just written: the keys that they have, for each index of the table.
    pub(crate) keys: Option<Arc<[Arc<RunKeys>]>>,
}

impl RowGroup {
    /// The fewest bytes a row group takes in a file.
    pub(crate) const SMALLEST: usize = 8 + 4 + 2 * BlockRef::BYTES + 4;

    /// Rows that are in memory only, as values by column id.
    pub(crate) fn in_memory(
        first_row_id: RowId,
        rows: u32,
        values: Vec<(ColumnId, ArrayRef)>,
    ) -> Self {
        Self {
            first_row_id,
            rows,
            segments: Shared::default(),
            memory: Some(values.into()),
            deletes: None,
            deletes_block: None,
            sketches: None,
            keys: None,
        }
    }

    /// The id behind the last row's.
    pub(crate) fn end_row_id(&self) -> RowId {
        self.first_row_id.saturating_add(u64::from(self.rows))
    }

    /// The values in memory of a column; `None` for a stored row group, and for a column that is NULL in every row.
    pub(crate) fn memory_values(&self, column_id: ColumnId) -> Option<&ArrayRef> {
        let memory = self.memory.as_ref()?;
        let found = memory.iter().find(|(id, _)| *id == column_id);
        found.map(|(_, values)| values)
    }

    /// Bytes of the values in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        let memory = self.memory.iter().flat_map(|memory| memory.iter());
        memory
            .map(|(_, values)| values.get_array_memory_size())
            .sum()
    }

    /// The row group without the rows `ids` (`None` if none is left), and how many of these were there.
    pub(crate) fn without(self: &Arc<Self>, ids: &[u64]) -> (Option<Arc<Self>>, u64) {
        if ids.is_empty() {
            return (Some(Arc::clone(self)), 0);
        }
        let mut deletes = self.deletes.as_deref().cloned().unwrap_or_default();
        let before = deletes.len();
        let offsets = ids
            .iter()
            .filter_map(|id| id.checked_sub(self.first_row_id.number()));
        let offsets = offsets.filter_map(|offset| u32::try_from(offset).ok());
        deletes.extend(offsets.filter(|offset| *offset < self.rows));
        let gone = deletes.len() - before;
        if gone == 0 {
            return (Some(Arc::clone(self)), 0);
        }
        if deletes.len() >= u64::from(self.rows) {
            return (None, gone);
        }
        let kept = Self {
            deletes: Some(Arc::new(deletes)),
            deletes_block: None,
            ..Self::clone(self)
        };
        (Some(Arc::new(kept)), gone)
    }

    /// The segment of a column; `None` means that the column is NULL in every row.
    pub fn segment(&self, column_id: ColumnId) -> Option<&Segment> {
        let found = self
            .segments
            .binary_search_by_key(&column_id, |segment| segment.column_id);
        found.ok().and_then(|index| self.segments.get(index))
    }

    /// Number of rows that are not deleted.
    pub fn visible_rows(&self) -> u32 {
        let deleted = self.deletes.as_ref().map_or(0, |deletes| deletes.len());
        self.rows
            .saturating_sub(u32::try_from(deleted).unwrap_or(u32::MAX))
    }

    /// Which rows are not deleted; `None` if all are there.
    pub fn visible(&self) -> Option<BooleanBuffer> {
        let deletes = self.deletes.as_ref()?;
        let rows = self.rows as usize;
        let mut visible = BooleanBufferBuilder::new(rows);
        visible.append_n(rows, true);
        for offset in deletes
            .iter()
            .map(|offset| offset as usize)
            .filter(|offset| *offset < rows)
        {
            visible.set_bit(offset, false);
        }
        Some(visible.finish())
    }

    /// All blocks that only this row group needs.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = BlockRef> {
        let segments = self.segments.iter().map(|segment| segment.block);
        segments.chain(self.deletes_block).chain(self.sketches)
    }

    /// Writes what the directory holds. Deletes must have been stored in a block before.
    pub(crate) fn write(&self, out: &mut Writer) {
        out.u64(self.first_row_id.number());
        out.u32(self.rows);
        out.raw(&BlockRef::option_to_bytes(self.deletes_block.as_ref()));
        out.raw(&BlockRef::option_to_bytes(self.sketches.as_ref()));
        out.count(self.segments.len());
        for segment in &self.segments {
            segment.write(out);
        }
    }

    /// Reads what [`Self::write`] wrote; deletes are not loaded yet.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let first_row_id = RowId::new(reader.u64()?);
        let rows = reader.u32()?;
        let deletes_block = BlockRef::option_from_bytes(&reader.array()?);
        let sketches = BlockRef::option_from_bytes(&reader.array()?);
        let count = reader.count(Segment::SMALLEST)?;
        let mut segments = Vec::with_capacity(count);
        for _ in 0..count {
            segments.push(Segment::read(reader)?);
        }
        let ascending = segments.is_sorted_by(|a, b| a.column_id < b.column_id);
        let counts_hold = segments
            .iter()
            .all(|segment| segment.null_count <= u64::from(rows));
        if rows == 0 || rows > MAX_ROW_GROUP_ROWS || !ascending || !counts_hold {
            return Err(WireError);
        }
        Ok(Self {
            first_row_id,
            rows,
            segments: segments.into(),
            memory: None,
            deletes: None,
            deletes_block,
            sketches,
            keys: None,
        })
    }

    /// Bytes of a delete vector block: the portable Roaring format.
    pub(crate) fn deletes_to_bytes(deletes: &RoaringBitmap) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(deletes.serialized_size());
        // Writing into a vector does not fail.
        let _ = deletes.serialize_into(&mut bytes);
        bytes
    }

    /// Reads a delete vector and holds it against the number of rows.
    pub(crate) fn deletes_from_bytes(&self, mut bytes: &[u8]) -> Result<RoaringBitmap, WireError> {
        let deletes = RoaringBitmap::deserialize_from(&mut bytes).map_err(|_| WireError)?;
        let within = deletes.max().is_some_and(|last| last < self.rows);
        let some_left = deletes.len() < u64::from(self.rows);
        if bytes.is_empty() && within && some_left {
            Ok(deletes)
        } else {
            Err(WireError)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn group(rows: u32) -> RowGroup {
        RowGroup {
            first_row_id: RowId::default(),
            rows,
            segments: Shared::default(),
            memory: None,
            deletes: None,
            deletes_block: None,
            sketches: None,
            keys: None,
        }
    }

    #[test]
    fn delete_vectors_that_cannot_be_are_refused() {
        let bytes = |offsets: &[u32]| RowGroup::deletes_to_bytes(&offsets.iter().collect());
        assert!(group(10).deletes_from_bytes(&bytes(&[0, 9])).is_ok());
        assert!(group(10).deletes_from_bytes(&bytes(&[])).is_err());
        assert!(group(10).deletes_from_bytes(&bytes(&[10])).is_err());
        assert!(group(2).deletes_from_bytes(&bytes(&[0, 1])).is_err());
        let long = [bytes(&[1]), vec![0]].concat();
        assert!(group(10).deletes_from_bytes(&long).is_err());
    }

    #[test]
    fn visible_is_what_is_not_deleted() {
        let mut group = group(4);
        assert!(group.visible().is_none());
        group.deletes = Some(Arc::new([1, 3].into_iter().collect()));
        let visible: Vec<bool> = group.visible().unwrap().iter().collect();
        assert_eq!(visible, [true, false, true, false]);
        assert_eq!(group.visible_rows(), 2);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = group(1000).deletes_from_bytes(&bytes);
        }

        #[test]
        fn no_edit_makes_the_decoder_panic(at: usize, value: u8) {
            let deletes: RoaringBitmap = (0..5000).step_by(3).chain(70_000..90_000).collect();
            let mut bytes = RowGroup::deletes_to_bytes(&deletes);
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = group(100_000).deletes_from_bytes(&bytes);
        }
    }
}
