//! A piece of a table's row-group directory: up to [`PAGE_GROUPS`] row groups in one block.
//!
//! What must hold: the pages of a table cover its row groups in order of their row ids; a page is written anew when one of its
//! row groups changes and shared between catalog versions otherwise. What is in it is loaded on first use.

use std::sync::{Arc, OnceLock};

use hushdb_encoding::wire::{Reader, WireError, Writer};

use crate::block::{BlockRef, Role};
use crate::error::{Error, Result};
use crate::numbers::RowId;
use crate::row_group::{Column, RowGroup};
use crate::store::BlockStore;

/// The most row groups in a page: what one small append writes anew.
pub(crate) const PAGE_GROUPS: usize = 64;

const VERSION: u8 = 1;

/// A row group that cannot be read, and what is wrong.
type Refused = (RowGroup, Error);

/// Part of a row-group directory.
#[derive(Debug)]
pub(crate) struct Page {
    /// Where it is stored; `None` while it is not.
    pub(crate) block: Option<BlockRef>,
    pub(crate) first_row_id: RowId,
    /// Row ids in it are below this.
    pub(crate) end_row_id: RowId,
    pub(crate) visible_rows: u64,
    groups: OnceLock<Vec<Arc<RowGroup>>>,
}

impl Page {
    /// The fewest bytes a page's entry takes in a table's record.
    pub(crate) const SMALLEST: usize = BlockRef::BYTES + 8 + 8 + 8;

    /// A page that is not stored yet. `groups` are in order and not empty.
    pub(crate) fn new(groups: Vec<Arc<RowGroup>>) -> Self {
        let visible = groups.iter().map(|group| u64::from(group.visible_rows()));
        let visible_rows = visible.sum();
        Self::of_visible(groups, visible_rows)
    }

    /// The page with others for its row groups, in which so many rows fewer are visible: those that stay as they are are not looked at.
    pub(crate) fn without(&self, groups: Vec<Arc<RowGroup>>, gone: u64) -> Self {
        Self::of_visible(groups, self.visible_rows.saturating_sub(gone))
    }

    fn of_visible(groups: Vec<Arc<RowGroup>>, visible_rows: u64) -> Self {
        let first_row_id = groups
            .first()
            .map_or(RowId::default(), |group| group.first_row_id);
        let end_of =
            |group: &Arc<RowGroup>| group.first_row_id.saturating_add(u64::from(group.rows));
        let end_row_id = groups.last().map_or(RowId::default(), end_of);
        Self {
            block: None,
            first_row_id,
            end_row_id,
            visible_rows,
            groups: groups.into(),
        }
    }

    /// The same page, stored in `block`.
    pub(crate) fn stored(groups: Vec<Arc<RowGroup>>, block: BlockRef) -> Self {
        Self {
            block: Some(block),
            ..Self::new(groups)
        }
    }

    /// The row groups, read from the file on first use and held against `columns` and this page's entry.
    pub(crate) fn groups(
        &self,
        blocks: &BlockStore,
        columns: &[Column],
    ) -> Result<&[Arc<RowGroup>]> {
        if let Some(groups) = self.groups.get() {
            return Ok(groups);
        }
        let groups = match &self.block {
            Some(block) => self.load(block, blocks, columns)?,
            None => Vec::new(),
        };
        // A second thread may have been faster; its result is the same.
        Ok(self.groups.get_or_init(|| groups))
    }

    fn load(
        &self,
        block: &BlockRef,
        blocks: &BlockStore,
        columns: &[Column],
    ) -> Result<Vec<Arc<RowGroup>>> {
        let malformed = |what| Error::malformed(Role::Metadata, block.sector, what);
        let bytes = blocks.read(Role::Metadata, block)?;
        let mut groups = Self::decode(&bytes).map_err(|_| malformed("row-group directory"))?;
        for group in &mut groups {
            complete(group, block, blocks, columns)?;
        }
        let groups: Vec<_> = groups.into_iter().map(Arc::new).collect();
        let fresh = Self::new(groups.clone());
        let same = (fresh.first_row_id, fresh.end_row_id, fresh.visible_rows)
            == (self.first_row_id, self.end_row_id, self.visible_rows);
        if same {
            Ok(groups)
        } else {
            Err(malformed("row-group directory and table disagree"))
        }
    }

    /// The row groups that can be read, and those that cannot, each with what is wrong: for a salvage, which takes what
    /// there is.
    ///
    /// # Errors
    /// When the page itself does not open or does not parse.
    pub(crate) fn groups_that_open(
        &self,
        blocks: &BlockStore,
        columns: &[Column],
    ) -> Result<(Vec<Arc<RowGroup>>, Vec<Refused>)> {
        let Some(block) = &self.block else {
            return Ok((self.groups(blocks, columns)?.to_vec(), Vec::new()));
        };
        let malformed = |_| Error::malformed(Role::Metadata, block.sector, "row-group directory");
        let bytes = blocks.read(Role::Metadata, block)?;
        let (mut open, mut lost) = (Vec::new(), Vec::new());
        for mut group in Self::decode(&bytes).map_err(malformed)? {
            match complete(&mut group, block, blocks, columns) {
                Ok(()) => open.push(Arc::new(group)),
                Err(error) => lost.push((group, error)),
            }
        }
        Ok((open, lost))
    }

    /// Bytes of a page block.
    pub(crate) fn encode(groups: &[Arc<RowGroup>]) -> Vec<u8> {
        let mut out = Writer::default();
        out.u8(VERSION);
        out.count(groups.len());
        for group in groups {
            group.write(&mut out);
        }
        out.into_bytes()
    }

    /// Parses a page block: row groups in ascending order, not overlapping.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<RowGroup>, WireError> {
        let mut reader = Reader::new(bytes);
        if reader.u8()? != VERSION {
            return Err(WireError);
        }
        let count = reader.count(RowGroup::SMALLEST)?;
        if count == 0 || count > PAGE_GROUPS {
            return Err(WireError);
        }
        let mut groups = Vec::with_capacity(count);
        let mut free_id = RowId::default();
        for _ in 0..count {
            let group = RowGroup::read(&mut reader)?;
            if group.first_row_id < free_id {
                return Err(WireError);
            }
            free_id = group
                .first_row_id
                .checked_add(u64::from(group.rows))
                .ok_or(WireError)?;
            groups.push(group);
        }
        reader.finish()?;
        Ok(groups)
    }

    /// Writes this page's entry of a table's record; the page must be stored.
    pub(crate) fn write_entry(&self, out: &mut Writer) {
        out.raw(&BlockRef::option_to_bytes(self.block.as_ref()));
        out.u64(self.first_row_id.number());
        out.u64(self.end_row_id.number());
        out.u64(self.visible_rows);
    }

    pub(crate) fn read_entry(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let block = BlockRef::option_from_bytes(&reader.array()?).ok_or(WireError)?;
        let first_row_id = RowId::new(reader.u64()?);
        let end_row_id = RowId::new(reader.u64()?);
        let visible_rows = reader.u64()?;
        let ids = end_row_id.checked_sub(first_row_id).ok_or(WireError)?;
        if visible_rows == 0 || visible_rows > ids {
            return Err(WireError);
        }
        let groups = OnceLock::new();
        Ok(Self {
            block: Some(block),
            first_row_id,
            end_row_id,
            visible_rows,
            groups,
        })
    }
}

/// Holds a row group against the columns and loads its deletes.
fn complete(
    group: &mut RowGroup,
    page: &BlockRef,
    blocks: &BlockStore,
    columns: &[Column],
) -> Result<()> {
    let known = |id| columns.iter().find(|column| column.id == id);
    let mut segments = group.segments.iter();
    if !segments.all(|s| known(s.column_id).is_some_and(|c| s.suits(c))) {
        let what = "bounds of another type";
        return Err(Error::malformed(Role::Metadata, page.sector, what));
    }
    if let Some(deletes) = &group.deletes_block {
        let bytes = blocks.read(Role::Metadata, deletes)?;
        let bitmap = group.deletes_from_bytes(&bytes);
        let malformed = |_| Error::malformed(Role::Metadata, deletes.sector, "delete vector");
        group.deletes = Some(Arc::new(bitmap.map_err(malformed)?));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numbers::ColumnId;
    use crate::row_group::{Segment, StatValue};

    fn group(first_row_id: u64, rows: u32) -> Arc<RowGroup> {
        let block = BlockRef::from_bytes(&[7; BlockRef::BYTES]);
        let segment = |column_id| Segment {
            column_id: ColumnId::new(column_id),
            block,
            null_count: 1,
            min: Some(StatValue::Bytes(b"abc".to_vec())),
            max: Some(StatValue::Float(2.5)),
            exact: false,
            raw_bytes: 99,
        };
        Arc::new(RowGroup {
            first_row_id: RowId::new(first_row_id),
            rows,
            segments: vec![segment(0), segment(4)].into(),
            memory: None,
            deletes: None,
            deletes_block: Some(block),
            sketches: None,
            keys: None,
        })
    }

    #[test]
    fn a_page_comes_back() {
        let groups = [group(0, 10), group(10, 5), group(100, 1)];
        let read = Page::decode(&Page::encode(&groups)).unwrap();
        assert_eq!(read.len(), 3);
        assert_eq!(read[1].segments, groups[1].segments);
        assert_eq!(read[2].first_row_id, RowId::new(100));
        assert_eq!(read[2].deletes_block, groups[2].deletes_block);
    }

    #[test]
    fn absurd_counts_and_orders_are_refused() {
        let page = Page::encode(&[group(0, 10)]);
        // Version, number of row groups, rows, number of segments.
        for (at, bytes) in [
            (0, &[9][..]),
            (1, &[0xff; 4]),
            (1, &[0; 4]),
            (13, &[0; 4]),
            (97, &[0xff; 4]),
        ] {
            let mut page = page.clone();
            page[at..at + bytes.len()].copy_from_slice(bytes);
            assert!(Page::decode(&page).is_err(), "at {at}");
        }
        assert!(Page::decode(&Page::encode(&[group(5, 10), group(14, 1)])).is_err());
        assert!(Page::decode(&Page::encode(&[group(u64::MAX, 2)])).is_err());
        assert!(Page::decode(&Page::encode(&vec![group(0, 1); PAGE_GROUPS + 1])).is_err());
        assert!(Page::decode(&[&page[..], &[0]].concat()).is_err());
        for len in 0..page.len() {
            assert!(Page::decode(&page[..len]).is_err(), "cut to {len}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Page::decode(&bytes);
        }

        #[test]
        fn no_edit_makes_the_decoder_panic(at in 0usize..230, value: u8) {
            let mut page = Page::encode(&[group(0, 10)]);
            let at = at % page.len();
            page[at] = value;
            let _ = Page::decode(&page);
        }
    }
}
