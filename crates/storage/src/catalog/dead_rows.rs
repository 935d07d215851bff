//! Deleted rows keep their place in a row group, since row ids refer to it, but not their values.
//!
//! What must hold: a checkpoint writes no value of a deleted row; bounds and sketches cover live rows alone. A stored row group is
//! written again when fewer than half of the rows that it was written with are left, so that its size is in proportion to its
//! live rows. How many it was written with is derived from its segments' raw bytes and NULLs, which count live rows.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::DataType;
use arrow_select::take::take;
use hushdb_encoding::{BIT, compact};
use roaring::RoaringBitmap;

use super::fresh_blocks::FreshBlocks;
use super::store::Store;
use crate::error::{Error, ErrorKind, Result};
use crate::row_group::{Column, RowGroup};

impl Store {
    /// Writes rows of which those in `deletes`, not all, are gone.
    ///
    /// # Errors
    /// As [`Store::write_row_group`].
    pub(super) fn write_live_rows(
        &self,
        columns: &[Column],
        mut arrays: Vec<ArrayRef>,
        deletes: Arc<RoaringBitmap>,
        fresh: &mut FreshBlocks,
    ) -> Result<RowGroup> {
        if !deletes.is_empty() {
            arrays = without_dead(arrays, &deletes)?;
        }
        let (mut group, written) = self.write_row_group(columns, &arrays)?.into_parts();
        fresh.absorb(written);
        if !deletes.is_empty() {
            group.deletes = Some(deletes);
            let (rows, live) = (u64::from(group.rows), u64::from(group.visible_rows()));
            for segment in group.segments.make_mut() {
                let column = columns.iter().find(|c| c.id == segment.column_id);
                if column.is_some_and(|column| !may_be_long(&column.ty.arrow())) {
                    segment.raw_bytes = segment.raw_bytes.saturating_mul(live).div_ceil(rows);
                }
            }
        }
        Ok(group)
    }

    /// The row group without the values of its dead rows; `None` where that would save little, or where a segment is
    /// damaged, which reading it will show.
    ///
    /// # Errors
    /// As [`Store::write_row_group`], and Io of reading.
    pub(super) fn hollowed(
        &self,
        group: &RowGroup,
        columns: &[Column],
        fresh: &mut FreshBlocks,
    ) -> Result<Option<RowGroup>> {
        let Some(deletes) = group.deletes.as_ref().filter(|_| is_hollow(group, columns)) else {
            return Ok(None);
        };
        let mut arrays = Vec::with_capacity(columns.len());
        for column in columns {
            match self.read_column(group, column, None) {
                Ok(array) => arrays.push(array),
                Err(error)
                    if matches!(error.kind(), ErrorKind::Corrupted | ErrorKind::Tampered) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        let mut written = self.write_live_rows(columns, arrays, Arc::clone(deletes), fresh)?;
        written.first_row_id = group.first_row_id;
        Ok(Some(written))
    }
}

/// Whether most of what the row group's blocks hold is of rows that are gone.
fn is_hollow(group: &RowGroup, columns: &[Column]) -> bool {
    let written = group.segments.iter().filter_map(|segment| {
        let column = columns.iter().find(|c| c.id == segment.column_id)?;
        let ty = column.ty.arrow();
        Some(match ty {
            long if may_be_long(&long) => u64::from(group.rows).saturating_sub(segment.null_count),
            DataType::Boolean => segment.raw_bytes.saturating_mul(8),
            _ => segment.raw_bytes / ty.primitive_width().unwrap_or(16) as u64,
        })
    });
    let is_large = |blocks: u32| blocks > 1;
    let mut sectors = group.segments.iter().filter_map(|s| s.block.sectors());
    sectors.any(is_large) && u64::from(group.visible_rows()) * 2 < written.max().unwrap_or_default()
}

/// The rows with other values where rows are gone: the nearest live row's before, or else behind; in text, lists and structs,
/// which may be long, NULL.
fn without_dead(arrays: Vec<ArrayRef>, deletes: &RoaringBitmap) -> Result<Vec<ArrayRef>> {
    let rows = arrays.first().map_or(0, |array| array.len()) as u32;
    let mut near = (0..rows).find(|row| !deletes.contains(*row)).unwrap_or(0);
    let mut nearest = Vec::with_capacity(rows as usize);
    let mut own = Vec::with_capacity(rows as usize);
    for row in 0..rows {
        let is_live = !deletes.contains(row);
        if is_live {
            near = row;
        }
        nearest.push(near);
        own.push(is_live.then_some(row));
    }
    let (nearest, own) = (UInt32Array::from(nearest), UInt32Array::from(own));
    let kept = arrays.into_iter().map(|array| {
        let from = match may_be_long(array.data_type()) {
            true => &own,
            false => &nearest,
        };
        let taken = take(array.as_ref(), from, None);
        let taken = taken.map_err(|_| Error::InvalidInput("rows could not be picked".into()))?;
        Ok(compact(taken))
    });
    kept.collect()
}

fn may_be_long(ty: &DataType) -> bool {
    matches!(ty, DataType::Utf8View | DataType::BinaryView) || *ty == BIT || ty.is_nested()
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Int64Array, StringViewArray};

    use super::*;

    #[test]
    fn dead_rows_have_the_values_of_others() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), None, Some(4)]));
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["dead", "b", "dead too", "d"]));
        let deletes = [0, 2].into_iter().collect();
        let found = without_dead(vec![numbers, texts], &deletes).unwrap();
        let numbers: Vec<_> = found[0].as_primitive::<Int64Type>().iter().collect();
        assert_eq!(numbers, [Some(2), Some(2), Some(2), Some(4)]);
        let texts: Vec<_> = found[1].as_string_view().iter().collect();
        assert_eq!(texts, [None, Some("b"), None, Some("d")]);
    }
}
