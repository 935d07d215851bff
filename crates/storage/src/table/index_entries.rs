//! What a table's indexes answer: which rows have a key, and whether a key is there twice.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::ArrayRef;

use super::TableVersion;
use crate::block::BlockRef;
use crate::error::Result;
use crate::index::Index;
use crate::interrupt::{Steps, check_interrupt};
use crate::numbers::RowId;
use crate::row_group::RowGroup;
use crate::row_keys::{Few, KeyRun, MergedRuns, RunKeys, encode_key};

impl TableVersion {
    /// Its indexes, the primary key first if it has one, else in order of their making.
    pub fn indexes(&self) -> &[Index] {
        &self.indexes
    }

    /// Ids, ascending, of the rows whose key is that of row `row` of `key`: an array for each column of the index, in its
    /// order, of the columns' Arrow types. A NULL in the key finds nothing.
    ///
    /// # Errors
    /// When a block does not open or does not parse; InvalidInput for arrays of other types; Unsupported for a key that
    /// is too long to be in an index.
    pub fn find(&self, index: &Index, key: &[ArrayRef], row: usize) -> Result<Vec<u64>> {
        check_interrupt()?;
        let types = index.types(&self.columns)?;
        let arrays: Few<&ArrayRef> = key.iter().collect();
        let mut bytes = Vec::with_capacity(32);
        let mut ids = Vec::new();
        if types.len() == arrays.len() && encode_key(&types, &arrays, row, &mut bytes)? {
            index.find(&self.blocks, &bytes, &mut ids)?;
            self.retain_visible(&mut ids)?;
        }
        Ok(ids)
    }

    /// Whether a row that is there has a key.
    ///
    /// # Errors
    /// When a block does not open or does not parse.
    pub(crate) fn has_key(&self, index: &Index, key: &[u8]) -> Result<bool> {
        let mut ids = Vec::new();
        index.find(&self.blocks, key, &mut ids)?;
        self.retain_visible(&mut ids)?;
        Ok(!ids.is_empty())
    }

    /// Whether a row is there.
    ///
    /// # Errors
    /// Whatever reading the table's directory reports.
    pub(crate) fn is_visible(&self, row_id: RowId) -> Result<bool> {
        let Some((group, offset)) = self.group_of(row_id)? else {
            return Ok(false);
        };
        let gone = |deletes: &roaring::RoaringBitmap| deletes.contains(offset);
        Ok(!group.deletes.as_deref().is_some_and(gone))
    }

    /// As [`Self::is_visible`], for many rows: those of one row group, one after the other, look for it once.
    pub(crate) fn visibility(&self) -> impl Fn(u64) -> Result<bool> + '_ {
        let last: Cell<Option<&Arc<RowGroup>>> = Cell::new(None);
        move |id| {
            let row_id = RowId::new(id);
            let has = |group: &&Arc<RowGroup>| {
                group.first_row_id <= row_id && row_id < group.end_row_id()
            };
            let group = match last.get().filter(has) {
                Some(group) => group,
                None => match self.group_of(row_id)?.map(|(group, _)| group).filter(has) {
                    Some(group) => group,
                    None => return Ok(false),
                },
            };
            last.set(Some(group));
            let Some(deletes) = &group.deletes else {
                return Ok(true);
            };
            let offset = u32::try_from(row_id.saturating_sub(group.first_row_id));
            Ok(offset.is_ok_and(|offset| !deletes.contains(offset)))
        }
    }

    /// The row group that a row is in, or was, and its offset there.
    ///
    /// # Errors
    /// Whatever reading the table's directory reports.
    pub(crate) fn group_of(&self, row_id: RowId) -> Result<Option<(&Arc<RowGroup>, u32)>> {
        let page = self.pages.partition_point(|page| page.end_row_id <= row_id);
        let groups = match self.pages.get(page) {
            Some(page) => self.page_groups(page)?,
            None => &self.tail,
        };
        let at = groups.partition_point(|group| group.end_row_id() <= row_id);
        let found = groups.get(at).and_then(|group| {
            let offset = row_id.checked_sub(group.first_row_id)?;
            Some((group, u32::try_from(offset).ok()?))
        });
        Ok(found)
    }

    /// Whether the columns, conditions and indexes are the same.
    pub(crate) fn is_defined_as(&self, other: &Self) -> bool {
        let same = |(a, b): (&Index, &Index)| Arc::ptr_eq(&a.info, &b.info);
        self.columns == other.columns
            && self.checks == other.checks
            && self.indexes.len() == other.indexes.len()
            && self.indexes.iter().zip(&other.indexes).all(same)
    }

    fn retain_visible(&self, ids: &mut Vec<u64>) -> Result<()> {
        let mut kept = 0;
        for at in 0..ids.len() {
            let Some(id) = ids.get(at).copied() else {
                break;
            };
            if self.is_visible(RowId::new(id))? {
                ids.swap(kept, at);
                kept += 1;
            }
        }
        ids.truncate(kept);
        Ok(())
    }

    /// Makes sure that no key of the row groups, which were added last, is in the table twice.
    ///
    /// # Errors
    /// Duplicate if one is; when a block does not open or does not parse.
    pub(crate) fn verify_unique<'a>(
        &self,
        added: impl Iterator<Item = &'a RowGroup> + Clone,
    ) -> Result<()> {
        let unique = |(_, index): &(usize, &Index)| index.kind().is_unique();
        for (at, index) in self.indexes.iter().enumerate().filter(unique) {
            let mut runs = Vec::new();
            for group in added.clone() {
                match &group.memory {
                    Some(_) => self.verify_in_memory(index, group)?,
                    None => runs.extend(run_of(group, at)),
                }
            }
            self.verify_runs(index, &runs)?;
        }
        Ok(())
    }

    fn verify_in_memory(&self, index: &Index, group: &RowGroup) -> Result<()> {
        let types = index.types(&self.columns)?;
        let ids = index.column_ids().iter();
        let arrays = ids.map(|id| group.memory_values(*id));
        let Some(arrays) = arrays.collect::<Option<Few<_>>>() else {
            return Ok(());
        };
        let mut finder = index.finder(&self.blocks);
        let (mut key, mut rows) = (Vec::new(), Vec::new());
        let mut steps = Steps::default();
        for row in 0..group.rows as usize {
            steps.step()?;
            key.clear();
            rows.clear();
            if encode_key(&types, &arrays, row, &mut key)? {
                index.find_by(&mut finder, &key, &mut rows)?;
                self.retain_visible(&mut rows)?;
                if rows.len() > 1 {
                    return Err(index.duplicate());
                }
            }
        }
        Ok(())
    }

    /// The keys of rows that were loaded, in order: each once, and not in what was there before.
    fn verify_runs(&self, index: &Index, runs: &[KeyRun]) -> Result<()> {
        let mut finder = index.finder(&self.blocks);
        let only_these = index.runs().len() <= runs.len();
        let mut last: Option<&[u8]> = None;
        let mut rows = Vec::new();
        let mut steps = Steps::default();
        for (key, id) in MergedRuns::new(runs) {
            steps.step()?;
            if !self.is_visible(RowId::new(id))? {
                continue;
            }
            rows.clear();
            match only_these {
                true if index.is_runs_only() => {}
                true => index.find_outside_runs(&mut finder, key, &mut rows)?,
                false => index.find_by(&mut finder, key, &mut rows)?,
            }
            rows.retain(|other| *other != id);
            self.retain_visible(&mut rows)?;
            if last == Some(key) || !rows.is_empty() {
                return Err(index.duplicate());
            }
            last = Some(key);
        }
        Ok(())
    }

    /// All blocks of the table's indexes that `other` does not have.
    pub(crate) fn collect_index_blocks(
        &self,
        other: Option<&Self>,
        into: &mut HashSet<BlockRef>,
    ) -> Result<()> {
        for index in &self.indexes {
            let same = |theirs: &&Index| theirs.tree() == index.tree();
            let other = other.and_then(|other| other.indexes.iter().find(same));
            index.collect_blocks(&self.blocks, other, into)?;
        }
        Ok(())
    }
}

fn run_of(group: &RowGroup, at: usize) -> Option<KeyRun> {
    let keys: &Arc<RunKeys> = group.keys.as_ref()?.get(at)?;
    Some(KeyRun {
        first_row_id: group.first_row_id,
        keys: Arc::clone(keys),
    })
}
