//! A row group that is written but belongs to no table yet.
//!
//! What must hold: dropped without having been appended, it gives its blocks back.

use std::sync::Arc;

use hushdb_encoding::ColumnType;

use super::fresh_blocks::FreshBlocks;
use crate::numbers::ColumnId;
use crate::row_group::{Column, RowGroup};
use crate::store::BlockStore;

/// Result of [`crate::Store::write_row_group`], to be handed to [`crate::Transaction::append`].
pub struct PendingRowGroup {
    group: RowGroup,
    columns: Vec<(ColumnId, ColumnType)>,
    fresh: FreshBlocks,
}

impl PendingRowGroup {
    pub(crate) fn new(group: RowGroup, columns: &[Column], fresh: FreshBlocks) -> Self {
        let columns = columns
            .iter()
            .map(|column| (column.id, column.ty.clone()))
            .collect();
        Self {
            group,
            columns,
            fresh,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> u32 {
        self.group.rows
    }

    /// Whether it may be appended to a table of these columns: written into this store for the same ids and types.
    pub(crate) fn suits(&self, columns: &[Column], blocks: &Arc<BlockStore>) -> bool {
        let theirs = columns.iter().map(|column| (column.id, &column.ty));
        let mine = self.columns.iter().map(|(id, ty)| (*id, ty));
        mine.eq(theirs) && Arc::ptr_eq(self.fresh.store(), blocks)
    }

    /// The row group and its blocks.
    pub(crate) fn into_parts(self) -> (RowGroup, FreshBlocks) {
        (self.group, self.fresh)
    }
}

impl std::fmt::Debug for PendingRowGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PendingRowGroup({} rows)", self.rows())
    }
}
