//! One state of one table.
//!
//! ```text
//! row ids  0 ............................... next_row_id
//!          | pages: stored row groups | tail: since the last checkpoint, in memory or just written |
//! ```
//!
//! What must hold: immutable once its catalog version is published; `row_count` needs no I/O, the row groups are loaded on first
//! use. Whoever reads from it keeps the catalog version alive, which is what keeps its blocks from being reused. A table
//! that is stored has no tail.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock};

use arrow_array::Array;
use hushdb_encoding::compact;
use hushdb_encoding::wire::{Reader, WireError, Writer};
use roaring::RoaringBitmap;

use super::Page;
use super::pieces::{changed_pieces, replace_pieces, slice_of};
use crate::block::{BlockRef, Role};
use crate::error::{Error, Result};
use crate::index::{Index, IndexKind};
use crate::numbers::{ColumnId, RowId, TableId};
use crate::row_group::{Check, Column, DistinctSketch, RowGroup, same_name};
use crate::shared::Shared;
use crate::store::BlockStore;

const VERSION: u8 = 1;
/// Up to this many rows, row groups in memory are merged: what one more row may cause to be copied.
pub(crate) const MERGED_ROWS: u32 = 8192;
/// Up to this many bytes, too.
pub(crate) const MERGED_BYTES: usize = 4 << 20;
/// So many row groups of about one size are merged at once.
const MERGED_GROUPS: u32 = 4;
/// Row groups for which a copy of a tail has room.
const TAIL_ROOM: usize = 4;

/// A table as one snapshot sees it.
pub struct TableVersion {
    /// Unique within the database, for all its life.
    pub id: TableId,
    /// As the user wrote it.
    pub name: String,
    /// Columns in order.
    pub columns: Shared<Column>,
    /// Conditions on every row.
    pub checks: Vec<Check>,
    /// The id that the next row gets.
    pub next_row_id: RowId,
    /// The id that the next column gets.
    pub next_column_id: ColumnId,
    /// Where its record is stored; `None` while it is not.
    pub(crate) block: Option<BlockRef>,
    pub(crate) pages: Vec<Arc<Page>>,
    /// Row groups that no page has yet, in order of their row ids, which are behind those of the pages.
    pub(crate) tail: Vec<Arc<RowGroup>>,
    /// The primary key first, the others in order of their making.
    pub(crate) indexes: Vec<Index>,
    pub(crate) blocks: Arc<BlockStore>,
    /// Grows with every change, and stays as it is when the table is only stored anew.
    pub(crate) changes: u64,
    /// Shared by clones: a write begins with one.
    groups: OnceLock<Arc<[Arc<RowGroup>]>>,
    sketches: OnceLock<Arc<BTreeMap<ColumnId, DistinctSketch>>>,
}

impl Clone for TableVersion {
    fn clone(&self) -> Self {
        // Whoever wants one of its own adds rows to it.
        let mut tail = Vec::with_capacity(self.tail.len() + TAIL_ROOM);
        tail.extend_from_slice(&self.tail);
        Self {
            id: self.id,
            name: self.name.clone(),
            columns: self.columns.clone(),
            checks: self.checks.clone(),
            next_row_id: self.next_row_id,
            next_column_id: self.next_column_id,
            block: self.block,
            pages: self.pages.clone(),
            tail,
            indexes: self.indexes.clone(),
            blocks: Arc::clone(&self.blocks),
            changes: self.changes,
            groups: self.groups.clone(),
            sketches: self.sketches.clone(),
        }
    }
}

impl std::fmt::Debug for TableVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rows = self.row_count();
        write!(
            f,
            "TableVersion {{ id: {}, columns: {}, rows: {rows} }}",
            self.id,
            self.columns.len()
        )
    }
}

impl TableVersion {
    /// The fewest bytes a table's entry takes in the catalog root.
    pub(crate) const SMALLEST: usize = BlockRef::BYTES;

    /// A table without rows that is not stored yet.
    pub(crate) fn new(
        id: TableId,
        name: String,
        columns: Vec<Column>,
        checks: Vec<Check>,
        blocks: Arc<BlockStore>,
    ) -> Self {
        let next_column_id = columns
            .iter()
            .filter_map(|column| column.id.next())
            .max()
            .unwrap_or_default();
        Self {
            id,
            name,
            columns: columns.into(),
            checks,
            next_row_id: RowId::default(),
            next_column_id,
            block: None,
            pages: Vec::new(),
            tail: Vec::new(),
            indexes: Vec::new(),
            blocks,
            changes: 0,
            groups: OnceLock::new(),
            sketches: OnceLock::new(),
        }
    }

    /// The row groups in order of their row ids. The first call reads the directory from the file.
    ///
    /// # Errors
    /// When a block of the directory does not open or does not parse.
    pub fn row_groups(&self) -> Result<&[Arc<RowGroup>]> {
        if let Some(groups) = self.groups.get() {
            return Ok(groups);
        }
        let mut all = Vec::new();
        for page in &self.pages {
            all.extend_from_slice(page.groups(&self.blocks, &self.columns)?);
        }
        all.extend_from_slice(&self.tail);
        Ok(self.groups.get_or_init(|| all.into()))
    }

    /// Rows that are not deleted.
    pub fn row_count(&self) -> u64 {
        let stored: u64 = self.pages.iter().map(|page| page.visible_rows).sum();
        let tail = self
            .tail
            .iter()
            .map(|group| u64::from(group.visible_rows()));
        stored + tail.sum::<u64>()
    }

    /// The column of exactly that name, else the only one that differs from it in case alone: files from before may have several.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let exact = self.columns.iter().find(|column| column.name == name);
        exact.or_else(|| {
            let columns = self.columns.iter();
            let mut alike = columns.filter(|column| same_name(&column.name, name));
            let only = alike.next()?;
            alike.next().is_none().then_some(only)
        })
    }

    /// Estimate (about 2 %) of how many different values a column has, deleted rows included; `None` for a column that
    /// the table does not have, and for lists and structs. The first call reads the statistics blocks of all row groups.
    ///
    /// # Errors
    /// When a statistics block does not open or does not parse.
    pub fn distinct_count(&self, column_id: ColumnId) -> Result<Option<u64>> {
        let column = self.columns.iter().find(|column| column.id == column_id);
        if column.is_none_or(|column| column.ty.is_nested()) {
            return Ok(None);
        }
        let sketches = match self.sketches.get() {
            Some(sketches) => sketches,
            None => {
                let merged = self.merge_sketches()?;
                self.sketches.get_or_init(|| Arc::new(merged))
            }
        };
        Ok(Some(
            sketches.get(&column_id).map_or(0, DistinctSketch::estimate),
        ))
    }

    fn merge_sketches(&self) -> Result<BTreeMap<ColumnId, DistinctSketch>> {
        let mut merged = BTreeMap::<ColumnId, DistinctSketch>::new();
        for block in self
            .row_groups()?
            .iter()
            .filter_map(|group| group.sketches.as_ref())
        {
            let bytes = self.blocks.read(Role::Statistics, block)?;
            let sketches = DistinctSketch::read_all(&bytes).map_err(|_| {
                Error::malformed(Role::Statistics, block.sector, "distinct sketches")
            })?;
            for (column_id, sketch) in sketches {
                merged.entry(column_id).or_default().merge(&sketch);
            }
        }
        Ok(merged)
    }

    /// Appends row groups that are not in a page: in order of their row ids, which are not below the next row id and end
    /// before `end_row_id`. Row groups in memory are merged with those before them as far as their ids are `merge_from`
    /// or above.
    ///
    /// # Errors
    /// InvalidInput when the ids are not like that; Unsupported when row ids run out, and for keys that are too long.
    pub(crate) fn append(
        &mut self,
        groups: impl IntoIterator<Item = RowGroup>,
        end_row_id: RowId,
        merge_from: RowId,
    ) -> Result<()> {
        for group in groups {
            let end = group.first_row_id.checked_add(u64::from(group.rows));
            let end = end.ok_or_else(|| Error::Unsupported("more rows than row ids".into()))?;
            if group.first_row_id < self.next_row_id || end > end_row_id {
                return Err(Error::InvalidInput("row ids out of order".into()));
            }
            self.next_row_id = end;
            for (at, index) in self.indexes.iter_mut().enumerate() {
                index.add(at, &group, &self.columns)?;
            }
            self.tail.push(Arc::new(group));
            self.merge_tail(merge_from)?;
        }
        self.next_row_id = self.next_row_id.max(end_row_id);
        self.changed();
        Ok(())
    }

    /// Merges the last row groups of the tail while there are several that are small, in memory and not of a larger size than the last:
    /// so a row is copied a few times only, however many commits come.
    fn merge_tail(&mut self, from: RowId) -> Result<()> {
        while let Some(last) = self.tail.last() {
            // Of the largest, so many would be too many rows.
            let all = match last.rows.saturating_mul(MERGED_GROUPS) > MERGED_ROWS {
                true => 2,
                false => MERGED_GROUPS as usize,
            };
            let at = self.merged_from(from);
            let groups = self.tail.get(at..).unwrap_or_default();
            if groups.len() < all {
                break;
            }
            let groups: Vec<&RowGroup> = groups.iter().map(Arc::as_ref).collect();
            let Some(merged) = merge(&groups)? else {
                break;
            };
            self.tail.truncate(at);
            self.tail.push(Arc::new(merged));
        }
        Ok(())
    }

    /// Where in the tail the row groups begin that may become one with the last.
    fn merged_from(&self, from: RowId) -> usize {
        let size = |group: &RowGroup| group.rows.max(1).ilog(MERGED_GROUPS);
        let (mut at, mut rows, mut bytes) = (self.tail.len(), 0_u32, 0);
        let largest = self.tail.last().map_or(0, |last| size(last));
        let mut next = self.next_row_id;
        for group in self.tail.iter().rev() {
            rows = rows.saturating_add(group.rows);
            let adjacent = group.end_row_id() == next || at == self.tail.len();
            if group.memory.is_none()
                || rows > MERGED_ROWS
                || size(group) > largest
                || !adjacent
                || group.first_row_id < from
            {
                break;
            }
            bytes += group.memory_bytes();
            if bytes > MERGED_BYTES {
                break;
            }
            (at, next) = (at - 1, group.first_row_id);
        }
        at
    }

    /// From now on others build on it.
    pub(crate) fn gather(&mut self) {
        self.indexes.iter_mut().for_each(Index::gather);
    }

    /// Marks rows as gone; the ids are in ascending order. Row groups without a row left are dropped, and indexes forget rows in
    /// memory. What has none of the rows is not looked at. Returns how many rows were there and are not any more.
    ///
    /// # Errors
    /// Whatever reading the table's directory reports.
    pub(crate) fn delete(&mut self, ids: &[u64]) -> Result<u64> {
        let pages = changed_pieces(ids, &self.pages, &|page| {
            let hit = slice_of(ids, page.first_row_id, page.end_row_id);
            self.page_without(page, hit)
        })?;
        let tail = changed_pieces(ids, &self.tail, &|group| Ok(without(group, ids)))?;
        for change in &tail {
            if let Some(group) = self.tail.get(change.at).filter(|g| g.memory.is_some()) {
                let hit = slice_of(ids, group.first_row_id, group.end_row_id());
                for index in &mut self.indexes {
                    index.forget(group, hit, &self.columns)?;
                }
            }
        }
        let changes = pages.iter().map(|change| change.gone);
        let deleted = changes.chain(tail.iter().map(|change| change.gone)).sum();
        if deleted > 0 {
            replace_pieces(&mut self.pages, pages);
            replace_pieces(&mut self.tail, tail);
            self.changed();
        }
        Ok(deleted)
    }

    /// The page without rows (`None` if none is left), and how many of these were there.
    fn page_without(&self, page: &Arc<Page>, ids: &[u64]) -> Result<(Option<Arc<Page>>, u64)> {
        let groups = self.page_groups(page)?;
        let changes = changed_pieces(ids, groups, &|group| Ok(without(group, ids)))?;
        let gone = changes.iter().map(|change| change.gone).sum();
        if gone == 0 {
            return Ok((Some(Arc::clone(page)), 0));
        }
        let mut groups = groups.to_vec();
        replace_pieces(&mut groups, changes);
        let left = (!groups.is_empty()).then(|| Arc::new(page.without(groups, gone)));
        Ok((left, gone))
    }

    /// Those of the ids, which are in ascending order, that are rows and not deleted.
    ///
    /// # Errors
    /// Whatever reading the table's directory reports.
    pub(crate) fn visible_of(&self, ids: &[u64]) -> Result<Vec<u64>> {
        let mut visible = Vec::with_capacity(ids.len());
        for id in ids {
            if self.is_visible(RowId::new(*id))? {
                visible.push(*id);
            }
        }
        Ok(visible)
    }

    /// Replaces the row groups.
    pub(crate) fn set_rows(&mut self, pages: Vec<Arc<Page>>, tail: Vec<Arc<RowGroup>>) {
        (self.pages, self.tail) = (pages, tail);
        self.changed();
    }

    /// A checkpoint may have stored the same rows anew since this was derived from `base`: pages that it replaced are not on
    /// disk any more, and are written again; segments that it replaced give way to its own. `stored` is the table as the
    /// checkpoint left it.
    ///
    /// # Errors
    /// Whatever reading the table's directory reports.
    pub(crate) fn follow(&mut self, base: &Self, stored: &Self) -> Result<()> {
        let there: HashSet<BlockRef> = stored.pages.iter().filter_map(|p| p.block).collect();
        let mut pages = Vec::with_capacity(self.pages.len());
        for page in &self.pages {
            if page.block.is_some_and(|block| there.contains(&block)) {
                pages.push(Arc::clone(page));
                continue;
            }
            let groups = self.page_groups(page)?.iter();
            let groups = groups.map(|group| following(group, base, stored));
            pages.push(Arc::new(Page::new(groups.collect::<Result<_>>()?)));
        }
        self.pages = pages;
        for index in &mut self.indexes {
            let same = |other: &&Index| Arc::ptr_eq(&other.info, &index.info);
            if let Some(stored) = stored.indexes.iter().find(same) {
                index.follow(stored);
            }
        }
        Ok(())
    }

    /// Notes that this is another state than the one that is stored or was derived from.
    pub(crate) fn changed(&mut self) {
        self.changes += 1;
        self.restored(None);
    }

    /// The same rows are stored otherwise: in `block`, or not yet.
    pub(crate) fn restored(&mut self, block: Option<BlockRef>) {
        self.groups = OnceLock::new();
        self.sketches = OnceLock::new();
        self.block = block;
    }

    /// The row groups of one page.
    pub(crate) fn page_groups<'a>(&self, page: &'a Page) -> Result<&'a [Arc<RowGroup>]> {
        page.groups(&self.blocks, &self.columns)
    }

    /// Bytes of the table's record; all pages must be stored and the tail be empty.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u8(VERSION);
        out.u64(self.id.number());
        out.text(&self.name);
        out.u64(self.next_row_id.number());
        out.u32(self.next_column_id.number());
        out.count(self.columns.len());
        for column in &self.columns {
            column.write(&mut out);
        }
        out.count(self.checks.len());
        for check in &self.checks {
            check.write(&mut out);
        }
        out.count(self.indexes.len());
        for index in &self.indexes {
            index.write(&mut out);
        }
        out.count(self.pages.len());
        for page in &self.pages {
            page.write_entry(&mut out);
        }
        out.into_bytes()
    }

    /// Parses a table's record that was read from `block`.
    pub(crate) fn decode(
        bytes: &[u8],
        block: BlockRef,
        blocks: &Arc<BlockStore>,
    ) -> Result<Self, WireError> {
        let mut reader = Reader::new(bytes);
        if reader.u8()? != VERSION {
            return Err(WireError);
        }
        let id = TableId::new(reader.u64()?);
        let name = reader.text()?;
        let next_row_id = RowId::new(reader.u64()?);
        let next_column_id = ColumnId::new(reader.u32()?);
        let count = reader.count(Column::SMALLEST)?;
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            columns.push(Column::read(&mut reader)?);
        }
        let count = reader.count(Check::SMALLEST)?;
        let mut checks = Vec::with_capacity(count);
        for _ in 0..count {
            checks.push(Check::read(&mut reader)?);
        }
        let count = reader.count(Index::SMALLEST)?;
        let mut indexes = Vec::with_capacity(count);
        for _ in 0..count {
            indexes.push(Index::read(&mut reader, &columns)?);
        }
        let count = reader.count(Page::SMALLEST)?;
        let mut pages = Vec::with_capacity(count);
        let mut free_id = RowId::default();
        for _ in 0..count {
            let page = Page::read_entry(&mut reader)?;
            if page.first_row_id < free_id {
                return Err(WireError);
            }
            free_id = page.end_row_id;
            pages.push(Arc::new(page));
        }
        reader.finish()?;

        let names: HashSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let ids: HashSet<ColumnId> = columns.iter().map(|column| column.id).collect();
        let index_names: HashSet<&str> = indexes.iter().map(Index::name).collect();
        let mut later = indexes.iter().skip(1);
        let distinct = names.len() == columns.len()
            && ids.len() == columns.len()
            && index_names.len() == indexes.len()
            && later.all(|index| index.kind() != IndexKind::Primary);
        let given = ids.iter().all(|id| *id < next_column_id);
        if columns.is_empty() || !distinct || !given || free_id > next_row_id {
            return Err(WireError);
        }
        Ok(Self {
            id,
            name,
            columns: columns.into(),
            checks,
            next_row_id,
            next_column_id,
            block: Some(block),
            pages,
            tail: Vec::new(),
            indexes,
            blocks: Arc::clone(blocks),
            changes: 0,
            groups: OnceLock::new(),
            sketches: OnceLock::new(),
        })
    }
}

/// A row group with the blocks that it has from `base` as `stored` has them.
fn following(
    group: &Arc<RowGroup>,
    base: &TableVersion,
    stored: &TableVersion,
) -> Result<Arc<RowGroup>> {
    let of = |table: &TableVersion| -> Result<Option<Arc<RowGroup>>> {
        let found = table.group_of(group.first_row_id)?;
        let found = found.filter(|(found, offset)| *offset == 0 && found.memory.is_none());
        Ok(found.map(|(found, _)| Arc::clone(found)))
    };
    let (Some(then), Some(now)) = (of(base)?, of(stored)?) else {
        return Ok(Arc::clone(group));
    };
    let same = then.deletes_block == now.deletes_block && then.sketches == now.sketches;
    if same && then.segments == now.segments {
        return Ok(Arc::clone(group));
    }
    let mut followed = RowGroup::clone(group);
    for segment in followed.segments.make_mut() {
        if then.segment(segment.column_id) == Some(segment)
            && let Some(now) = now.segment(segment.column_id)
        {
            *segment = now.clone();
        }
    }
    if followed.sketches == then.sketches {
        followed.sketches = now.sketches;
    }
    if followed.deletes_block.is_some() && followed.deletes_block == then.deletes_block {
        followed.deletes_block = now.deletes_block;
    }
    Ok(Arc::new(followed))
}

fn without(group: &Arc<RowGroup>, ids: &[u64]) -> (Option<Arc<RowGroup>>, u64) {
    group.without(slice_of(ids, group.first_row_id, group.end_row_id()))
}

/// Row groups in memory that follow each other as one; `None` if one of them is stored, they have not the same columns, or
/// there are none.
pub(crate) fn merge(groups: &[&RowGroup]) -> Result<Option<RowGroup>> {
    let memory = groups.iter().map(|group| group.memory.as_deref());
    let Some(memory) = memory.collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let (Some(first), Some(columns)) = (groups.first(), memory.first()) else {
        return Ok(None);
    };
    let ids = || columns.iter().map(|(id, _)| id);
    if !memory
        .iter()
        .all(|values| values.iter().map(|(id, _)| id).eq(ids()))
    {
        return Ok(None);
    }
    let joined = columns.iter().enumerate().map(|(at, (id, _))| {
        let parts = memory.iter().filter_map(|values| values.get(at));
        let parts: Vec<&dyn Array> = parts.map(|(_, array)| array.as_ref()).collect();
        let joined = arrow_select::concat::concat(&parts);
        let joined =
            joined.map_err(|_| Error::InvalidInput("rows too large to be held together".into()))?;
        // Text and bytes come with a buffer from each commit.
        Ok((*id, compact(joined)))
    });
    let values = joined.collect::<Result<Vec<_>>>()?;
    let rows = groups.iter().map(|group| group.rows).sum();
    let mut merged = RowGroup::in_memory(first.first_row_id, rows, values);
    let mut deletes = RoaringBitmap::new();
    let mut from = 0;
    for group in groups {
        let gone = group.deletes.iter().flat_map(|deletes| deletes.iter());
        deletes.extend(gone.map(|offset| from + offset));
        from += group.rows;
    }
    merged.deletes = (!deletes.is_empty()).then(|| Arc::new(deletes));
    Ok(Some(merged))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file::MemFile;
    use crate::store::StoreOptions;
    use hushdb_encoding::ColumnType;

    fn blocks() -> Arc<BlockStore> {
        let store = BlockStore::create(Arc::new(MemFile::new()), None, &StoreOptions::default());
        Arc::new(store.unwrap())
    }

    fn sample(blocks: &Arc<BlockStore>) -> Vec<u8> {
        let column = |id, name: &str| Column {
            id: ColumnId::new(id),
            name: name.into(),
            ty: ColumnType::Decimal {
                precision: 12,
                scale: 2,
            },
            nullable: id > 0,
            default: (id > 0).then(|| "0".into()),
            generated: (id == 2).then(|| "a + 1".into()),
            declared: None,
        };
        let checks = vec![Check {
            name: None,
            sql: "a > 0".into(),
        }];
        let columns = vec![column(0, "a"), column(7, "b")];
        TableVersion::new(
            TableId::new(3),
            "t".into(),
            columns,
            checks,
            Arc::clone(blocks),
        )
        .encode()
    }

    fn decode(bytes: &[u8], blocks: &Arc<BlockStore>) -> Result<TableVersion, WireError> {
        TableVersion::decode(bytes, BlockRef::from_bytes(&[0; BlockRef::BYTES]), blocks)
    }

    #[test]
    fn a_record_comes_back_and_no_part_of_it_is_one() {
        let blocks = blocks();
        let sample = sample(&blocks);
        let table = decode(&sample, &blocks).unwrap();
        assert_eq!(
            (table.id, table.next_column_id, table.row_count()),
            (TableId::new(3), ColumnId::new(8), 0)
        );
        assert_eq!(table.encode(), sample);
        for len in 0..sample.len() {
            assert!(decode(&sample[..len], &blocks).is_err(), "cut to {len}");
        }
        assert!(decode(&[&sample[..], &[0]].concat(), &blocks).is_err());
    }

    #[test]
    fn absurd_lengths_are_refused() {
        let blocks = blocks();
        let sample = sample(&blocks);
        // Length of the name, number of columns, of pages (last); then a version and a column id that cannot be.
        for at in [9, 26, sample.len() - 4] {
            let mut bytes = sample.clone();
            bytes[at..at + 4].copy_from_slice(&[0xff; 4]);
            assert!(decode(&bytes, &blocks).is_err(), "at {at}");
        }
        for (at, value) in [(0, 2), (30, 9), (30, 7)] {
            let mut bytes = sample.clone();
            bytes[at] = value;
            assert!(decode(&bytes, &blocks).is_err(), "at {at}");
        }
    }

    proptest! {
        #[test]
        fn no_edit_makes_the_decoder_panic(at: usize, value: u8) {
            let blocks = blocks();
            let mut bytes = sample(&blocks);
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = decode(&bytes, &blocks);
        }
    }
}
