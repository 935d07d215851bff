//! A row group that is written but belongs to no table yet.
//!
//! Holds: dropped without having been appended, it gives its blocks back.

use std::sync::Arc;

use super::pending_epoch::PendingEpoch;
use crate::block::BlockRef;
use crate::store::BlockStore;
use crate::table::{Column, ColumnType, RowGroup};

/// Result of [`crate::Store::write_row_group`], to be handed to [`crate::Transaction::append`].
pub struct PendingRowGroup {
    /// `None` once it has been taken.
    group: Option<RowGroup>,
    columns: Vec<(u32, ColumnType)>,
    blocks: Arc<BlockStore>,
    epochs: Arc<PendingEpoch>,
    epoch: u64,
}

impl PendingRowGroup {
    pub(crate) fn new(
        group: RowGroup,
        columns: &[Column],
        blocks: &Arc<BlockStore>,
        epochs: &Arc<PendingEpoch>,
        epoch: u64,
    ) -> Self {
        let columns = columns
            .iter()
            .map(|column| (column.id, column.ty.clone()))
            .collect();
        let (blocks, epochs) = (Arc::clone(blocks), Arc::clone(epochs));
        Self {
            group: Some(group),
            columns,
            blocks,
            epochs,
            epoch,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> u32 {
        self.group.as_ref().map_or(0, |group| group.rows)
    }

    /// Bytes that its blocks hold.
    pub fn stored_bytes(&self) -> u64 {
        self.refs()
            .iter()
            .map(|block| u64::from(block.payload_len))
            .sum()
    }

    /// Whether it may be appended to a table of these columns: written into this store for the same ids and types.
    pub(crate) fn suits(&self, columns: &[Column], blocks: &Arc<BlockStore>) -> bool {
        let theirs = columns.iter().map(|column| (column.id, &column.ty));
        let mine = self.columns.iter().map(|(id, ty)| (*id, ty));
        mine.eq(theirs) && Arc::ptr_eq(&self.blocks, blocks) && self.epochs.is_current(self.epoch)
    }

    /// The row group; from now on its blocks are the caller's.
    pub(crate) fn take(mut self) -> Option<RowGroup> {
        self.group.take()
    }

    fn refs(&self) -> Vec<BlockRef> {
        self.group.iter().flat_map(RowGroup::blocks).collect()
    }
}

impl Drop for PendingRowGroup {
    fn drop(&mut self) {
        let refs = self.refs();
        self.epochs.free_if_current(self.epoch, || {
            for block in &refs {
                self.blocks.free(block);
            }
        });
    }
}

impl std::fmt::Debug for PendingRowGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PendingRowGroup({} rows)", self.rows())
    }
}
