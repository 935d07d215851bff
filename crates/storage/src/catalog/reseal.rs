//! `Reseal`: blocks of a stored state that were sealed anew under the data key of new blocks, and the state that names these.
//!
//! What must hold: a payload is not decoded and stays the same to the last byte, so that where two versions of a table name one block, one
//! new block takes its place in both, also where others moved the root meanwhile; nothing names the new blocks before a checkpoint does,
//! and until then their space is given back with this. Row ids and counts of changes stay, so that nobody who commits beside it conflicts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::catalog_version::CatalogVersion;
use super::fresh_blocks::FreshBlocks;
use super::pace::Pace;
use super::store::Store;
use crate::block::{BlockRef, Role, SECTOR_BYTES};
use crate::error::Result;
use crate::index::Index;
use crate::interrupt::check_interrupt;
use crate::numbers::{RowId, TableId};
use crate::row_group::RowGroup;
use crate::table::{Page, TableVersion};
use crate::tree::visit_blocks;

/// How far a walk through the stored tables has come: what lies before is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cursor {
    table_id: TableId,
    row_id: RowId,
}

/// Blocks of a stored state that are not under a data key, and their bytes, as far as steps seal them anew one by one: those above leaves
/// are written with what is below them.
///
/// # Errors
/// What reading a directory or an index reports.
pub(super) fn left_under_others(
    store: &Store,
    stored: &CatalogVersion,
    key_id: u32,
) -> Result<(u64, u64)> {
    let mut left = (0, 0);
    let mut count = |block: &BlockRef| {
        if block.key_id != key_id {
            left.0 += 1;
            left.1 += disk_bytes(block);
        }
    };
    for table in stored.tables() {
        for page in &table.pages {
            check_interrupt()?;
            let groups = table.page_groups(page)?.iter();
            let blocks = groups.flat_map(|group| roles_of(group));
            blocks.for_each(|(_, block)| count(&block));
        }
        for tree in table.indexes().iter().filter_map(Index::tree) {
            visit_blocks(&*store.blocks, tree, &mut |block, is_leaf| {
                if is_leaf {
                    count(block);
                }
                Ok(true)
            })?;
        }
    }
    Ok(left)
}

fn disk_bytes(block: &BlockRef) -> u64 {
    block.sectors().map_or(0, u64::from) * SECTOR_BYTES as u64
}

/// Blocks that were sealed anew.
pub(super) struct Reseal {
    moved: HashMap<BlockRef, BlockRef>,
    /// Directory pages that are to be written anew.
    pages: HashSet<BlockRef>,
    /// Tables with any of these, or whose record is to be written anew.
    tables: HashSet<TableId>,
    fresh: FreshBlocks,
    key_id: u32,
    bytes: u64,
    at_most: u64,
    /// Another state than the one that was read is to name them.
    names_in_another: bool,
}

impl Reseal {
    /// Seals blocks of `stored` anew that are not under the data key of new blocks, from the cursor on, until they are
    /// `at_most` bytes or there are no more. Whoever calls it keeps the blocks of that state from being used again.
    ///
    /// # Errors
    /// Full and Io of the file, and what reading a block reports: nothing was changed.
    pub(super) fn of(
        pace: &mut Pace<'_>,
        stored: &CatalogVersion,
        cursor: &mut Cursor,
        at_most: u64,
    ) -> Result<Self> {
        let store = pace.store();
        let mut this = Self {
            moved: HashMap::new(),
            pages: HashSet::new(),
            tables: HashSet::new(),
            fresh: FreshBlocks::new(&store.blocks),
            key_id: store.blocks.sealing_key_id(),
            bytes: 0,
            at_most,
            names_in_another: false,
        };
        let mut tables: Vec<&Arc<TableVersion>> = stored.tables().collect();
        tables.sort_by_key(|table| table.id);
        for table in tables {
            if table.id < cursor.table_id {
                continue;
            }
            if table.id > cursor.table_id {
                (cursor.table_id, cursor.row_id) = (table.id, RowId::default());
            }
            if !this.table(pace, table, cursor)? {
                return Ok(this);
            }
            (cursor.table_id, cursor.row_id) = (table.id.next(), RowId::default());
        }
        Ok(this)
    }

    /// Whether there was nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Others moved the root since: pages that they have written anew may name the blocks that were sealed anew, too.
    pub(super) fn names_in_another(&mut self) {
        self.names_in_another = true;
    }

    /// Blocks that were sealed anew, and their bytes.
    pub(super) fn done(&self) -> (u64, u64) {
        (self.moved.len() as u64, self.bytes)
    }

    fn is_stale(&self, block: &BlockRef) -> bool {
        block.key_id != self.key_id
    }

    /// `false`: it is enough for one step.
    fn table(
        &mut self,
        pace: &mut Pace<'_>,
        table: &TableVersion,
        cursor: &mut Cursor,
    ) -> Result<bool> {
        if table.block.is_some_and(|block| self.is_stale(&block)) {
            self.tables.insert(table.id);
        }
        for page in &table.pages {
            if page.end_row_id <= cursor.row_id {
                continue;
            }
            let mut stale = page.block.filter(|block| self.is_stale(block)).is_some();
            let mut enough = false;
            let groups = table.page_groups(page)?.iter();
            for (role, block) in groups.flat_map(|group| roles_of(group)) {
                if self.is_stale(&block) {
                    stale = true;
                    enough = !self.block(pace, role, &block)?;
                    if enough {
                        break;
                    }
                }
            }
            if stale {
                self.pages.extend(page.block);
                self.tables.insert(table.id);
            }
            if enough {
                return Ok(false);
            }
            cursor.row_id = page.end_row_id;
        }
        for index in table.indexes() {
            if !self.index(pace, table.id, index)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn index(&mut self, pace: &mut Pace<'_>, table_id: TableId, index: &Index) -> Result<bool> {
        let store = pace.store();
        let Some(tree) = index.tree() else {
            return Ok(true);
        };
        visit_blocks(&*store.blocks, tree, &mut |block, is_leaf| {
            if !self.is_stale(block) {
                return Ok(true);
            }
            self.tables.insert(table_id);
            // Blocks above leaves are written anew with the table.
            match is_leaf {
                true => self.block(pace, Role::Index, block),
                false => Ok(true),
            }
        })
    }

    /// Seals one anew, unless it was. `false`: it was enough before.
    fn block(&mut self, pace: &mut Pace<'_>, role: Role, block: &BlockRef) -> Result<bool> {
        if self.bytes >= self.at_most {
            return Ok(false);
        }
        if self.moved.contains_key(block) {
            return Ok(true);
        }
        check_interrupt()?;
        let sealed = pace.store().blocks.reseal_aside(role, block)?;
        pace.asked_for_one();
        self.fresh.insert(sealed);
        self.moved.insert(*block, sealed);
        let bytes = disk_bytes(block);
        self.bytes += bytes;
        pace.took(bytes)?;
        Ok(true)
    }

    /// Lets a state that is about to be stored name them. Gives `fresh` their blocks.
    ///
    /// # Errors
    /// Full and Io of the file, and what reading a directory or an index reports.
    pub(super) fn apply(
        self,
        store: &Store,
        version: &mut CatalogVersion,
        fresh: &mut FreshBlocks,
    ) -> Result<()> {
        let Self {
            moved,
            pages,
            tables,
            fresh: sealed,
            key_id,
            names_in_another,
            ..
        } = self;
        fresh.absorb(sealed);
        let stale = |block: &BlockRef| block.key_id != key_id;
        for schema in version.schemas.values_mut() {
            if !schema
                .tables
                .values()
                .any(|table| tables.contains(&table.id))
            {
                continue;
            }
            for table in Arc::make_mut(schema).tables.values_mut() {
                if !tables.contains(&table.id) {
                    continue;
                }
                let table = Arc::make_mut(table);
                let mut anew = Vec::with_capacity(table.pages.len());
                for page in &table.pages {
                    let names_any = names_in_another
                        && table
                            .page_groups(page)?
                            .iter()
                            .any(|group| has_moved(group, &moved));
                    let keeps =
                        !names_any && page.block.is_some_and(|block| !pages.contains(&block));
                    anew.push(match keeps {
                        true => Arc::clone(page),
                        false => {
                            let groups = table.page_groups(page)?.iter();
                            let groups = groups.map(|group| with_moved(group, &moved));
                            Arc::new(Page::new(groups.collect()))
                        }
                    });
                }
                table.pages = anew;
                for index in &mut table.indexes {
                    index.reseal(&store.blocks, &moved, &stale, &mut |bytes| {
                        store.write_aside(Role::Index, bytes, fresh)
                    })?;
                }
                table.restored(None);
            }
        }
        Ok(())
    }
}

/// The blocks that only a row group has, with their roles.
pub(super) fn roles_of(group: &RowGroup) -> impl Iterator<Item = (Role, BlockRef)> {
    let segments = group.segments.iter().map(|segment| segment.block);
    let segments = segments.map(|block| (Role::ColumnData, block));
    let deletes = group.deletes_block.map(|block| (Role::Metadata, block));
    let sketches = group.sketches.map(|block| (Role::Statistics, block));
    segments.chain(deletes).chain(sketches)
}

fn has_moved(group: &RowGroup, moved: &HashMap<BlockRef, BlockRef>) -> bool {
    roles_of(group).any(|(_, block)| moved.contains_key(&block))
}

fn with_moved(group: &Arc<RowGroup>, moved: &HashMap<BlockRef, BlockRef>) -> Arc<RowGroup> {
    if !has_moved(group, moved) {
        return Arc::clone(group);
    }
    let now = |block: BlockRef| moved.get(&block).copied().unwrap_or(block);
    let mut group = RowGroup::clone(group);
    for segment in group.segments.make_mut() {
        segment.block = now(segment.block);
    }
    group.deletes_block = group.deletes_block.map(now);
    group.sketches = group.sketches.map(now);
    Arc::new(group)
}
