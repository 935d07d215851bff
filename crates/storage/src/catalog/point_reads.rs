//! Values of single rows, by their ids.

use std::sync::Arc;

use arrow_array::{ArrayRef, new_null_array};
use arrow_buffer::BooleanBufferBuilder;
use arrow_select::concat::concat;

use super::store::Store;
use crate::block::Role;
use crate::error::{Error, Result};
use crate::numbers::RowId;
use crate::row_group::{Column, RowGroup};
use crate::table::TableVersion;

impl Store {
    /// The values of `columns` in the rows `row_ids`, in that order: one array for each column. For few rows.
    ///
    /// # Errors
    /// InvalidInput if a row is not in the table; as [`Store::read_column`].
    pub fn read_rows(
        &self,
        table: &TableVersion,
        columns: &[&Column],
        row_ids: &[u64],
    ) -> Result<Vec<ArrayRef>> {
        if let [row_id] = row_ids {
            let (group, offset) = row_of(table, RowId::new(*row_id))?;
            let columns = columns.iter();
            let values = columns.map(|column| self.read_value(group, column, offset as usize));
            return values.collect();
        }
        let mut pieces: Vec<Vec<ArrayRef>> = vec![Vec::new(); columns.len()];
        for (group, offsets) in by_group(table, row_ids)? {
            if let [offset] = offsets.as_slice() {
                for (column, pieces) in columns.iter().zip(&mut pieces) {
                    pieces.push(self.read_value(&group, column, *offset as usize)?);
                }
                continue;
            }
            let mut mask = BooleanBufferBuilder::new(group.rows as usize);
            mask.append_n(group.rows as usize, false);
            for offset in offsets {
                mask.set_bit(offset as usize, true);
            }
            let mask = mask.finish();
            for (column, pieces) in columns.iter().zip(&mut pieces) {
                pieces.push(self.read_column(&group, column, Some(&mask))?);
            }
        }
        let joined = pieces.into_iter().zip(columns).map(|(mut pieces, column)| {
            if pieces.len() == 1 {
                return Ok(pieces.swap_remove(0));
            }
            let empty = arrow_array::new_empty_array(&column.ty.arrow());
            let parts = pieces.iter().map(AsRef::as_ref).chain([empty.as_ref()]);
            concat(&parts.collect::<Vec<_>>())
                .map_err(|_| Error::InvalidInput("rows too large to be held together".into()))
        });
        joined.collect()
    }
}

impl Store {
    /// The value of a column in one row of a row group, as an array of one.
    fn read_value(&self, group: &RowGroup, column: &Column, offset: usize) -> Result<ArrayRef> {
        if let Some(values) = group.memory_values(column.id) {
            return Ok(values.slice(offset, 1));
        }
        let Some(segment) = group.segment(column.id) else {
            return Ok(new_null_array(&column.ty.arrow(), 1));
        };
        let block = &segment.block;
        let malformed = |_| Error::malformed(Role::ColumnData, block.sector, "column segment");
        let open = self.blocks.read_as(Role::ColumnData, block, |bytes| {
            let open = self.codec.open(&column.ty, group.rows, bytes);
            open.map_err(malformed)
        })?;
        self.codec.value(&open, offset).map_err(malformed)
    }
}

/// The row group that has a row, and its offset there.
fn row_of(table: &TableVersion, row_id: RowId) -> Result<(&Arc<RowGroup>, u32)> {
    let found = table.group_of(row_id)?;
    found
        .filter(|(group, offset)| *offset < group.rows)
        .ok_or_else(|| Error::InvalidInput("a row that is not in the table".into()))
}

/// The rows as row groups with ascending offsets in them, as far as rows that follow each other are in one.
fn by_group(table: &TableVersion, row_ids: &[u64]) -> Result<Vec<(Arc<RowGroup>, Vec<u32>)>> {
    let mut runs: Vec<(Arc<RowGroup>, Vec<u32>)> = Vec::new();
    for row_id in row_ids {
        let (group, offset) = row_of(table, RowId::new(*row_id))?;
        match runs.last_mut() {
            Some((last, offsets))
                if Arc::ptr_eq(last, group) && offsets.last().is_none_or(|o| *o < offset) =>
            {
                offsets.push(offset);
            }
            _ => runs.push((Arc::clone(group), vec![offset])),
        }
    }
    Ok(runs)
}
