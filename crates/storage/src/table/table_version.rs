//! One state of one table.
//!
//! Holds: immutable once its catalog version is published; `row_count` needs no I/O, the row groups are loaded on first
//! use. Whoever reads from it keeps the catalog version alive, which is what keeps its blocks from being reused.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::{Check, Column, DistinctSketch, Page, RowGroup};
use crate::block::{BlockRef, Role};
use crate::catalog::wire::{Reader, WireError, Writer};
use crate::error::{Error, Result};
use crate::store::BlockStore;

const VERSION: u8 = 1;

/// A table as one snapshot sees it.
#[derive(Clone)]
pub struct TableVersion {
    /// Unique within the database, for all its life.
    pub id: u64,
    /// As the user wrote it.
    pub name: String,
    /// Columns in order.
    pub columns: Vec<Column>,
    /// Conditions on every row.
    pub checks: Vec<Check>,
    /// The id that the next row gets.
    pub next_row_id: u64,
    /// The id that the next column gets.
    pub next_column_id: u32,
    /// Where its record is stored; `None` while it is not.
    pub(crate) block: Option<BlockRef>,
    pub(crate) pages: Vec<Arc<Page>>,
    blocks: Arc<BlockStore>,
    groups: OnceLock<Vec<Arc<RowGroup>>>,
    sketches: OnceLock<BTreeMap<u32, DistinctSketch>>,
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
        id: u64,
        name: String,
        columns: Vec<Column>,
        checks: Vec<Check>,
        blocks: Arc<BlockStore>,
    ) -> Self {
        let next_column_id = columns
            .iter()
            .map(|column| column.id + 1)
            .max()
            .unwrap_or(0);
        Self {
            id,
            name,
            columns,
            checks,
            next_row_id: 0,
            next_column_id,
            block: None,
            pages: Vec::new(),
            blocks,
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
        Ok(self.groups.get_or_init(|| all))
    }

    /// Rows that are not deleted.
    pub fn row_count(&self) -> u64 {
        self.pages.iter().map(|page| page.visible_rows).sum()
    }

    /// The column of that name, compared exactly.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Estimate (about 2 %) of how many different values a column has, deleted rows included; `None` for a column that
    /// the table does not have. The first call reads the statistics blocks of all row groups.
    ///
    /// # Errors
    /// When a statistics block does not open or does not parse.
    pub fn distinct_count(&self, column_id: u32) -> Result<Option<u64>> {
        if !self.columns.iter().any(|column| column.id == column_id) {
            return Ok(None);
        }
        let sketches = match self.sketches.get() {
            Some(sketches) => sketches,
            None => {
                let merged = self.merge_sketches()?;
                self.sketches.get_or_init(|| merged)
            }
        };
        Ok(Some(
            sketches.get(&column_id).map_or(0, DistinctSketch::estimate),
        ))
    }

    fn merge_sketches(&self) -> Result<BTreeMap<u32, DistinctSketch>> {
        let mut merged = BTreeMap::<u32, DistinctSketch>::new();
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

    /// Replaces the row groups; for a private copy.
    pub(crate) fn set_pages(&mut self, pages: Vec<Arc<Page>>) {
        self.pages = pages;
        self.groups = OnceLock::new();
        self.sketches = OnceLock::new();
        self.block = None;
    }

    /// The row groups of one page.
    pub(crate) fn page_groups<'a>(&self, page: &'a Page) -> Result<&'a [Arc<RowGroup>]> {
        page.groups(&self.blocks, &self.columns)
    }

    /// Bytes of the table's record; all pages must be stored.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u8(VERSION);
        out.u64(self.id);
        out.text(&self.name);
        out.u64(self.next_row_id);
        out.u32(self.next_column_id);
        out.count(self.columns.len());
        for column in &self.columns {
            column.write(&mut out);
        }
        out.count(self.checks.len());
        for check in &self.checks {
            check.write(&mut out);
        }
        // Constraints and indexes: none in this version of the record.
        out.u32(0);
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
        let id = reader.u64()?;
        let name = reader.text()?;
        let next_row_id = reader.u64()?;
        let next_column_id = reader.u32()?;
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
        if reader.u32()? != 0 {
            return Err(WireError);
        }
        let count = reader.count(Page::SMALLEST)?;
        let mut pages = Vec::with_capacity(count);
        let mut free_id = 0;
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
        let ids: HashSet<u32> = columns.iter().map(|column| column.id).collect();
        let distinct = names.len() == columns.len() && ids.len() == columns.len();
        let given = ids.iter().all(|id| *id < next_column_id);
        if columns.is_empty() || !distinct || !given || free_id > next_row_id {
            return Err(WireError);
        }
        Ok(Self {
            id,
            name,
            columns,
            checks,
            next_row_id,
            next_column_id,
            block: Some(block),
            pages,
            blocks: Arc::clone(blocks),
            groups: OnceLock::new(),
            sketches: OnceLock::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file::MemFile;
    use crate::store::StoreOptions;
    use crate::table::ColumnType;

    fn blocks() -> Arc<BlockStore> {
        let store = BlockStore::create(Arc::new(MemFile::new()), None, &StoreOptions::default());
        Arc::new(store.unwrap())
    }

    fn sample(blocks: &Arc<BlockStore>) -> Vec<u8> {
        let column = |id, name: &str| Column {
            id,
            name: name.into(),
            ty: ColumnType::Decimal {
                precision: 12,
                scale: 2,
            },
            nullable: id > 0,
            default: (id > 0).then(|| "0".into()),
        };
        let checks = vec![Check {
            name: None,
            sql: "a > 0".into(),
        }];
        let columns = vec![column(0, "a"), column(7, "b")];
        TableVersion::new(3, "t".into(), columns, checks, Arc::clone(blocks)).encode()
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
            (3, 8, 0)
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
