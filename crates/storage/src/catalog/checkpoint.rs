//! Storing a state: rows in memory become row groups, changed blocks are written leaves first, then the superblock flips.
//!
//! What must hold: a block is written before the block that names it; an unchanged table's blocks are not touched; after a
//! failure the committed state is unchanged, and the allocated space is free again.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{Field, Schema};
use roaring::{RoaringBitmap, RoaringTreemap};

use super::catalog_version::CatalogVersion;
use super::fresh_blocks::FreshBlocks;
use super::store::Store;
use crate::block::{BlockRef, Role, SECTOR_BYTES};
use crate::error::{Error, Result};
use crate::lent_threads::LentThreads;
use crate::numbers::{RowId, TableId};
use crate::row_group::{Column, RowGroup, RowGroupBuilder};
use crate::store::WalState;
use crate::table::{PAGE_GROUPS, Page, TableVersion};

/// A state that is stored, and what the root has to know of its blocks.
pub(super) struct StoredVersion {
    pub(super) catalog: CatalogVersion,
    /// Blocks that it names and the state before does not.
    named: HashSet<BlockRef>,
    /// Blocks that the state before names and it does not.
    unnamed: HashSet<BlockRef>,
}

impl StoredVersion {
    /// Bytes of the file that were written for it.
    pub(super) fn bytes_written(&self) -> u64 {
        let sectors = self.named.iter().filter_map(BlockRef::sectors);
        sectors
            .map(|sectors| u64::from(sectors) * SECTOR_BYTES as u64)
            .sum()
    }
}

impl Store {
    /// Writes a state. `before` is the state that the root of the file has; `fresh` has what was written for the new one; `threads`
    /// compress rows.
    ///
    /// # Errors
    /// Full and Io of the file, and whatever reading the state before reports: nothing was committed.
    pub(super) fn store_version(
        &self,
        mut catalog: CatalogVersion,
        before: &CatalogVersion,
        fresh: &mut FreshBlocks,
        threads: &LentThreads,
    ) -> Result<StoredVersion> {
        for schema in catalog.schemas.values_mut() {
            if schema.tables.values().all(|table| table.block.is_some()) {
                continue;
            }
            for table in Arc::make_mut(schema).tables.values_mut() {
                if table.block.is_none() {
                    self.store_table(Arc::make_mut(table), fresh, threads)?;
                }
            }
        }
        let root = self.write_aside(Role::Metadata, &catalog.encode(), fresh)?;
        catalog.block = Some(root);
        let (named, unnamed) = difference(&catalog, before)?;
        Ok(StoredVersion {
            catalog,
            named,
            unnamed,
        })
    }

    /// Makes a stored state the root of the file, with `log` to be replayed on it.
    ///
    /// # Errors
    /// Full and Io of the file: nothing was committed, or, when the superblock itself could not be written, the store
    /// writes nothing more.
    pub(super) fn move_root(
        &self,
        stored: &mut StoredVersion,
        before: &CatalogVersion,
        fresh: &mut FreshBlocks,
        log: WalState,
    ) -> Result<()> {
        let blocks = &self.blocks;
        let oldest = self.oldest_in_use(before.generation);
        if fresh.hand_over(&stored.named) < stored.named.len() {
            // The books are wrong: rather no commit than a root that names what may be written over.
            blocks.rollback();
            return Err(Error::InvalidInput(
                "a commit would name a block that was not written for it".into(),
            ));
        }
        for block in &stored.unnamed {
            blocks.free(block);
        }
        match blocks.commit_with_log(stored.catalog.block, oldest, log) {
            Ok(generation) => {
                stored.catalog.generation = generation;
                Ok(())
            }
            Err(error) => {
                // Takes back what was handed over, and forgets what was marked free.
                blocks.rollback();
                Err(error)
            }
        }
    }

    fn store_table(
        &self,
        table: &mut TableVersion,
        fresh: &mut FreshBlocks,
        threads: &LentThreads,
    ) -> Result<()> {
        let mut pages = Vec::with_capacity(table.pages.len() + 1);
        for page in &table.pages {
            pages.push(match page.block {
                Some(_) => Arc::clone(page),
                None => self.store_page(table.page_groups(page)?, &table.columns, fresh)?,
            });
        }
        if !table.tail.is_empty() {
            let mut groups = match pages.last() {
                Some(last) => table.page_groups(last)?.to_vec(),
                None => Vec::new(),
            };
            if groups.len() < PAGE_GROUPS {
                pages.pop();
            } else {
                groups.clear();
            }
            groups.extend(self.store_tail(table, fresh, threads)?);
            for groups in groups.chunks(PAGE_GROUPS) {
                pages.push(self.store_page(groups, &table.columns, fresh)?);
            }
        }
        table.pages = pages;
        table.tail = Vec::new();
        self.store_indexes(table, fresh)?;
        let block = self.write_aside(Role::Metadata, &table.encode(), fresh)?;
        table.restored(Some(block));
        Ok(())
    }

    fn store_indexes(&self, table: &mut TableVersion, fresh: &mut FreshBlocks) -> Result<()> {
        let mut indexes = std::mem::take(&mut table.indexes);
        for index in &mut indexes {
            index.store(
                &self.blocks,
                table.row_count(),
                &table.visibility(),
                &mut |bytes| self.write_aside(Role::Index, bytes, fresh),
            )?;
        }
        table.indexes = indexes;
        Ok(())
    }

    fn store_page(
        &self,
        groups: &[Arc<RowGroup>],
        columns: &[Column],
        fresh: &mut FreshBlocks,
    ) -> Result<Arc<Page>> {
        let mut stored = Vec::with_capacity(groups.len());
        for group in groups {
            stored.push(match (&group.deletes, group.deletes_block) {
                (Some(deletes), None) => {
                    let hollowed = self.hollowed(group, columns, fresh)?.map(Arc::new);
                    let group = hollowed.as_ref().unwrap_or(group);
                    let bytes = RowGroup::deletes_to_bytes(deletes);
                    Arc::new(RowGroup {
                        deletes_block: Some(self.write_aside(Role::Metadata, &bytes, fresh)?),
                        ..RowGroup::clone(group)
                    })
                }
                _ => Arc::clone(group),
            });
        }
        let block = self.write_aside(Role::Metadata, &Page::encode(&stored), fresh)?;
        Ok(Arc::new(Page::stored(stored, block)))
    }

    /// The row groups of a tail, those in memory written to blocks.
    fn store_tail(
        &self,
        table: &TableVersion,
        fresh: &mut FreshBlocks,
        threads: &LentThreads,
    ) -> Result<Vec<Arc<RowGroup>>> {
        let mut stored = Vec::new();
        let columns = &table.columns;
        let mut run: Vec<&RowGroup> = Vec::new();
        for group in &table.tail {
            let follows = run
                .last()
                .is_none_or(|last| last.end_row_id() == group.first_row_id);
            if !run.is_empty() && (group.memory.is_none() || !follows) {
                stored.extend(self.store_run(&run, columns, fresh, threads)?);
                run.clear();
            }
            match group.memory {
                Some(_) => run.push(group),
                // The indexes are about to have its keys.
                None => stored.push(Arc::new(RowGroup {
                    keys: None,
                    ..RowGroup::clone(group)
                })),
            }
        }
        if !run.is_empty() {
            stored.extend(self.store_run(&run, columns, fresh, threads)?);
        }
        Ok(stored)
    }

    /// Row groups from adjacent ones in memory, cut as bulk loads are. Deleted rows stay, marked and without their values:
    /// others may know rows by their ids.
    fn store_run(
        &self,
        run: &[&RowGroup],
        columns: &[Column],
        fresh: &mut FreshBlocks,
        threads: &LentThreads,
    ) -> Result<Vec<Arc<RowGroup>>> {
        let unfit = |_| Error::InvalidInput("rows in memory are not of the table's types".into());
        let fields = columns
            .iter()
            .map(|c| Field::new(&c.name, c.ty.arrow(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let mut builder = RowGroupBuilder::new(columns, self.row_group_rows());
        let mut cut = Vec::new();
        for group in run {
            let arrays = columns.iter().map(|column| values(group, column)).collect();
            let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(unfit)?;
            cut.extend(builder.push(&batch)?);
        }
        cut.extend(builder.cut());

        let mut deleted = RoaringTreemap::new();
        for group in run {
            let offsets = group.deletes.iter().flat_map(|deletes| deletes.iter());
            deleted.extend(offsets.map(|offset| (group.first_row_id + u64::from(offset)).number()));
        }
        let mut gone = deleted.iter().peekable();
        let mut first_row_id = run
            .first()
            .map_or(RowId::default(), |group| group.first_row_id);
        let mut pieces = Vec::with_capacity(cut.len());
        for gathered in cut {
            let rows = gathered.rows() as u64;
            let end = first_row_id + rows;
            let gone = std::iter::from_fn(|| gone.next_if(|id| *id < end.number()));
            let deletes: RoaringBitmap =
                gone.map(|id| (id - first_row_id.number()) as u32).collect();
            // A piece of which every row is gone is left out, as a row group is.
            if deletes.len() < rows {
                pieces.push((first_row_id, gathered, Arc::new(deletes)));
            }
            first_row_id = end;
        }
        let written = threads.in_order(pieces, |(first_row_id, rows, deletes)| {
            let mut fresh = FreshBlocks::new(&self.blocks);
            let arrays = rows.into_columns().collect::<Result<_>>()?;
            let mut group = self.write_live_rows(columns, arrays, deletes, &mut fresh)?;
            group.first_row_id = first_row_id;
            Ok((Arc::new(group), fresh))
        })?;
        let stored = written.into_iter().map(|(group, written)| {
            fresh.absorb(written);
            group
        });
        Ok(stored.collect())
    }
}

/// The values of a row group in memory.
fn values(group: &RowGroup, column: &Column) -> ArrayRef {
    group.memory_values(column.id).map_or_else(
        || new_null_array(&column.ty.arrow(), group.rows as usize),
        Arc::clone,
    )
}

/// The blocks that `new` names and `old` does not, and the other way round. What has not changed is not looked at.
fn difference(
    new: &CatalogVersion,
    old: &CatalogVersion,
) -> Result<(HashSet<BlockRef>, HashSet<BlockRef>)> {
    let by_id = |catalog: &CatalogVersion| -> BTreeMap<TableId, Arc<TableVersion>> {
        let tables = catalog.tables().map(|table| (table.id, Arc::clone(table)));
        tables.collect()
    };
    let (news, olds) = (by_id(new), by_id(old));
    let mut named: HashSet<BlockRef> = new.block.into_iter().collect();
    let mut unnamed: HashSet<BlockRef> = old.block.into_iter().collect();
    for (id, table) in &news {
        collect(table, olds.get(id).map(AsRef::as_ref), &mut named)?;
    }
    for (id, table) in &olds {
        collect(table, news.get(id).map(AsRef::as_ref), &mut unnamed)?;
    }
    let both: Vec<BlockRef> = named.intersection(&unnamed).copied().collect();
    for block in both {
        named.remove(&block);
        unnamed.remove(&block);
    }
    Ok((named, unnamed))
}

/// All blocks that a table has.
pub(super) fn blocks_of(table: &TableVersion) -> Result<HashSet<BlockRef>> {
    let mut blocks = HashSet::new();
    collect(table, None, &mut blocks)?;
    Ok(blocks)
}

/// Adds a table's blocks, but for pages that the other version of the table has too.
fn collect(
    table: &TableVersion,
    other: Option<&TableVersion>,
    into: &mut HashSet<BlockRef>,
) -> Result<()> {
    if other.is_some_and(|other| other.block == table.block) {
        return Ok(());
    }
    let shared: HashSet<BlockRef> = other
        .iter()
        .flat_map(|other| &other.pages)
        .filter_map(|page| page.block)
        .collect();
    into.extend(table.block);
    for page in &table.pages {
        if page.block.is_some_and(|block| shared.contains(&block)) {
            continue;
        }
        into.extend(page.block);
        for group in table.page_groups(page)? {
            into.extend(group.blocks());
        }
    }
    table.collect_index_blocks(other, into)?;
    Ok(())
}
