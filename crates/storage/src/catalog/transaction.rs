//! The one write transaction: a private copy of the catalog, rows in and out of tables.
//!
//! Holds: nothing that it does is seen before [`Transaction::commit`], all of it is at once afterwards; dropped without
//! commit, it gives back all space that it took. Blocks that the committed state names are only marked here; they
//! become free when no reader needs them.

use std::collections::HashSet;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::catalog_version::{CatalogVersion, SchemaVersion};
use super::pending_row_group::PendingRowGroup;
use super::store::Store;
use super::writer_slot::WriterTicket;
use crate::block::BlockRef;
use crate::error::{Error, Result};
use crate::table::{PAGE_GROUPS, Page, RowGroup, TableVersion};

/// A write transaction. Dropping it rolls back.
pub struct Transaction<'s> {
    pub(super) store: &'s Store,
    pub(super) catalog: CatalogVersion,
    /// Whether anything was changed.
    pub(super) changed: bool,
    /// Set while a change of several steps is under way; if it fails there, the rest must not be committed.
    pub(super) broken: bool,
    /// Blocks of the committed state that the new one does not need.
    pub(super) released: Vec<BlockRef>,
    /// Blocks that were written for the new state.
    pub(super) fresh: HashSet<BlockRef>,
    // Last: the next writer may begin only after everything above has been put right.
    _ticket: WriterTicket<'s>,
}

impl<'s> Transaction<'s> {
    pub(super) fn new(store: &'s Store, ticket: WriterTicket<'s>) -> Self {
        let catalog = CatalogVersion::clone(&store.snapshot());
        Self {
            store,
            catalog,
            changed: false,
            broken: false,
            released: Vec::new(),
            fresh: HashSet::new(),
            _ticket: ticket,
        }
    }

    /// The state as this transaction sees it, its own changes included.
    pub fn catalog(&self) -> &CatalogVersion {
        &self.catalog
    }

    /// The store that it changes.
    pub fn store(&self) -> &'s Store {
        self.store
    }

    /// Adds row groups to a table in the given order and gives their rows ids. Returns the number of rows.
    ///
    /// # Errors
    /// InvalidInput if there is no such table or a row group was not written for its columns.
    pub fn append(
        &mut self,
        schema: &str,
        table: &str,
        groups: Vec<PendingRowGroup>,
    ) -> Result<u64> {
        let blocks = &self.store.blocks;
        let target = self
            .catalog
            .table(schema, table)
            .ok_or_else(no_such_table)?;
        if !groups
            .iter()
            .all(|group| group.suits(&target.columns, blocks))
        {
            return Err(Error::InvalidInput(
                "the rows were not written for this table's columns".into(),
            ));
        }
        if groups.is_empty() {
            return Ok(0);
        }
        // Everything that can fail comes before anything is taken.
        let open_page = match target.pages.last() {
            Some(page) => target.page_groups(page)?.to_vec(),
            None => Vec::new(),
        };
        let total: u64 = groups.iter().map(|group| u64::from(group.rows())).sum();
        let Some(_) = target.next_row_id.checked_add(total) else {
            return Err(Error::Unsupported(
                "more rows than there are row ids".into(),
            ));
        };

        let mut next_row_id = target.next_row_id;
        let mut pages = target.pages.clone();
        let mut tail = if open_page.len() < PAGE_GROUPS {
            open_page
        } else {
            Vec::new()
        };
        let replaced = if tail.is_empty() {
            None
        } else {
            pages.pop().and_then(|page| page.block)
        };
        for pending in groups {
            let Some(mut group) = pending.take() else {
                continue;
            };
            self.fresh.extend(group.blocks());
            group.first_row_id = next_row_id;
            next_row_id += u64::from(group.rows);
            tail.push(Arc::new(group));
            if tail.len() == PAGE_GROUPS {
                pages.push(Arc::new(Page::new(std::mem::take(&mut tail))));
            }
        }
        if !tail.is_empty() {
            pages.push(Arc::new(Page::new(tail)));
        }
        self.release(replaced);
        let target = self.table_mut(schema, table)?;
        target.set_pages(pages);
        target.next_row_id = next_row_id;
        Ok(total)
    }

    /// Marks rows as gone; ids may come in any order. Row groups without a row left are dropped. Returns how many rows
    /// were there and are not any more.
    ///
    /// # Errors
    /// InvalidInput if there is no such table; whatever reading the table's directory reports.
    pub fn delete_rows(&mut self, schema: &str, table: &str, row_ids: &[u64]) -> Result<u64> {
        let target = self
            .catalog
            .table(schema, table)
            .ok_or_else(no_such_table)?;
        let mut ids = row_ids.to_vec();
        ids.sort_unstable();
        let mut pages = Vec::with_capacity(target.pages.len());
        let mut released = Vec::new();
        let mut deleted = 0;
        for page in &target.pages {
            let hit = slice_of(&ids, page.first_row_id, page.end_row_id);
            if hit.is_empty() {
                pages.push(Arc::clone(page));
                continue;
            }
            let mut groups = Vec::new();
            let before = deleted;
            for group in target.page_groups(page)? {
                let end = group.first_row_id + u64::from(group.rows);
                let (kept, gone) = delete_from(group, slice_of(hit, group.first_row_id, end));
                if gone > 0 {
                    released.extend(group.deletes_block);
                }
                match kept {
                    Some(kept) => groups.push(kept),
                    None => {
                        released.extend(group.blocks().filter(|b| Some(*b) != group.deletes_block))
                    }
                }
                deleted += gone;
            }
            if deleted == before {
                pages.push(Arc::clone(page));
                continue;
            }
            released.extend(page.block);
            if !groups.is_empty() {
                pages.push(Arc::new(Page::new(groups)));
            }
        }
        if deleted > 0 {
            self.release(released);
            self.table_mut(schema, table)?.set_pages(pages);
        }
        Ok(deleted)
    }

    /// Removes all rows; row ids go on from where they were. Returns how many rows there were.
    ///
    /// # Errors
    /// InvalidInput if there is no such table; whatever reading the table's directory reports.
    pub fn truncate(&mut self, schema: &str, table: &str) -> Result<u64> {
        let target = self
            .catalog
            .table(schema, table)
            .ok_or_else(no_such_table)?;
        let rows = target.row_count();
        let blocks = row_blocks(target)?;
        // Not "if there are blocks": rows that are NULL throughout have none before their page is stored.
        if !target.pages.is_empty() {
            self.release(blocks);
            self.table_mut(schema, table)?.set_pages(Vec::new());
        }
        Ok(rows)
    }

    /// The private copy of a schema.
    pub(super) fn schema_mut(&mut self, schema: &str) -> Result<&mut SchemaVersion> {
        self.changed = true;
        let found = self.catalog.schemas.get_mut(schema);
        found
            .map(Arc::make_mut)
            .ok_or_else(|| Error::InvalidInput("there is no such schema".into()))
    }

    /// The private copy of a table, whose record is to be written anew.
    pub(super) fn table_mut(&mut self, schema: &str, table: &str) -> Result<&mut TableVersion> {
        let stored = self
            .catalog
            .table(schema, table)
            .ok_or_else(no_such_table)?
            .block;
        self.release(stored);
        let found = self.schema_mut(schema)?.tables.get_mut(table);
        let found = found.map(Arc::make_mut).ok_or_else(no_such_table)?;
        found.block = None;
        Ok(found)
    }

    /// The new state does not need these blocks: those of this transaction are free at once.
    pub(super) fn release(&mut self, blocks: impl IntoIterator<Item = BlockRef>) {
        for block in blocks {
            if self.fresh.remove(&block) {
                self.store.blocks.free(&block);
            } else {
                self.released.push(block);
            }
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        for block in self.fresh.drain() {
            self.store.blocks.free(&block);
        }
    }
}

impl std::fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transaction on generation {}", self.catalog.generation)
    }
}

pub(super) fn no_such_table() -> Error {
    Error::InvalidInput("there is no such table".into())
}

/// All blocks of a table's rows: directory, segments, sketches, delete vectors.
pub(super) fn row_blocks(table: &TableVersion) -> Result<Vec<BlockRef>> {
    let mut blocks: Vec<BlockRef> = table.pages.iter().filter_map(|page| page.block).collect();
    for group in table.row_groups()? {
        blocks.extend(group.blocks());
    }
    Ok(blocks)
}

/// The part of sorted ids in `first..end`.
fn slice_of(ids: &[u64], first: u64, end: u64) -> &[u64] {
    let from = ids.partition_point(|id| *id < first);
    let to = ids.partition_point(|id| *id < end);
    ids.get(from..to).unwrap_or_default()
}

/// The row group without the rows `ids` (`None` if none is left), and how many of these were there.
fn delete_from(group: &Arc<RowGroup>, ids: &[u64]) -> (Option<Arc<RowGroup>>, u64) {
    let mut deletes = group.deletes.as_deref().cloned().unwrap_or_default();
    let before = deletes.len();
    let offsets = ids.iter().map(|id| id - group.first_row_id);
    deletes.extend(offsets.filter_map(|offset| u32::try_from(offset).ok()));
    let gone = deletes.len() - before;
    if gone == 0 {
        return (Some(Arc::clone(group)), 0);
    }
    if deletes.len() >= u64::from(group.rows) {
        return (None, gone);
    }
    let kept = with_deletes(group, deletes);
    (Some(Arc::new(kept)), gone)
}

fn with_deletes(group: &RowGroup, deletes: RoaringBitmap) -> RowGroup {
    RowGroup {
        deletes: Some(Arc::new(deletes)),
        deletes_block: None,
        ..group.clone()
    }
}
