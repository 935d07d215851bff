//! One state of one index.
//!
//! ```text
//! stored tree      what the last checkpoint had
//! in memory        rows committed since, one entry each, in an ordered set that versions share
//! runs             row groups that were written since, within the transaction that loads them, or that a log had at opening
//! ```
//!
//! What must hold: immutable once its catalog version is published; a clone costs nothing that grows with the number of entries. An entry of a
//! row in memory goes with the row.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::ArrayRef;
use hushdb_encoding::ColumnType;
use hushdb_encoding::wire::{Reader, WireError, Writer};

use super::definition::IndexInfo;
use super::recent::Recent;
use crate::block::BlockRef;
use crate::error::{Error, Result};
use crate::index_kind::IndexKind;
use crate::interrupt::Steps;
use crate::numbers::{ColumnId, RowId};
use crate::row_group::{Column, RowGroup};
use crate::row_keys::{Few, KeyRun, MergedRuns, RunKeys, encode_key};
use crate::store::BlockStore;
use crate::tree::{Finder, Tree, blocks_of, merge_into, push_id, resealed, split_entry};

/// An index of a table as one snapshot sees it.
#[derive(Clone)]
pub struct Index {
    pub(crate) info: Arc<IndexInfo>,
    tree: Option<Tree>,
    /// Key and row id of rows in memory.
    recent: Recent,
    runs: Vec<KeyRun>,
}

impl Index {
    /// The fewest bytes one takes in a table's record.
    pub(crate) const SMALLEST: usize = IndexInfo::SMALLEST + BlockRef::BYTES + 8;

    /// An index without entries.
    pub(crate) fn new(info: IndexInfo) -> Self {
        Self {
            info: Arc::new(info),
            tree: None,
            recent: Recent::default(),
            runs: Vec::new(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// What it promises about its keys.
    pub fn kind(&self) -> IndexKind {
        self.info.kind
    }

    /// Ids of the columns that make the key, in order.
    pub fn column_ids(&self) -> &[ColumnId] {
        &self.info.column_ids
    }

    /// What to say when a key is there twice.
    pub(crate) fn duplicate(&self) -> Error {
        Error::Duplicate {
            index: self.info.name.clone(),
            kind: self.info.kind,
        }
    }

    /// Takes in the rows of a row group whose ids are final; as a run if it came with its keys.
    ///
    /// # Errors
    /// InvalidInput for a stored row group that came without its keys; as [`encode_key`].
    pub(crate) fn add(&mut self, at: usize, group: &RowGroup, columns: &[Column]) -> Result<()> {
        if let Some(keys) = group.keys.as_ref().and_then(|keys| keys.get(at)) {
            self.add_run(group.first_row_id, Arc::clone(keys));
            return Ok(());
        }
        if group.memory.is_none() {
            return Err(Error::InvalidInput("rows without their keys".into()));
        }
        let mut key = Vec::new();
        let (types, arrays) = self.key_columns(group, columns)?;
        let Some(arrays) = arrays.into_iter().collect::<Option<Few<_>>>() else {
            return Ok(());
        };
        for row in 0..group.rows {
            let gone = group
                .deletes
                .as_ref()
                .is_some_and(|gone| gone.contains(row));
            key.clear();
            if gone {
                continue;
            }
            if encode_key(&types, &arrays, row as usize, &mut key)? {
                push_id(&mut key, (group.first_row_id + u64::from(row)).number());
                self.recent.insert(&key);
            }
        }
        Ok(())
    }

    /// Takes out the entries of rows in memory that are gone: versions before keep theirs, and who looks for a key does not walk
    /// past every row that ever had it. What was taken in as a run, or is stored, stays until it is stored anew.
    ///
    /// # Errors
    /// As [`encode_key`].
    pub(crate) fn forget(
        &mut self,
        group: &RowGroup,
        ids: &[u64],
        columns: &[Column],
    ) -> Result<()> {
        if self.recent.has_none() {
            return Ok(());
        }
        let (types, arrays) = self.key_columns(group, columns)?;
        let Some(arrays) = arrays.into_iter().collect::<Option<Few<_>>>() else {
            return Ok(());
        };
        let mut key = Vec::new();
        for id in ids {
            let row = id.checked_sub(group.first_row_id.number());
            let row = row.and_then(|row| usize::try_from(row).ok());
            key.clear();
            if let Some(row) = row
                && encode_key(&types, &arrays, row, &mut key)?
            {
                push_id(&mut key, *id);
                self.recent.remove(&key);
            }
        }
        Ok(())
    }

    /// From now on others build on it.
    pub(crate) fn gather(&mut self) {
        self.recent.gather_if_many();
    }

    /// Takes in keys that are in order already.
    pub(crate) fn add_run(&mut self, first_row_id: RowId, keys: Arc<RunKeys>) {
        if keys.len() > 0 {
            self.runs.push(KeyRun { first_row_id, keys });
        }
    }

    /// Types of the key's columns, and their values in a row group in memory; `None` for a column that is NULL throughout.
    pub(crate) fn key_columns<'a>(
        &self,
        group: &'a RowGroup,
        columns: &'a [Column],
    ) -> Result<(Few<&'a ColumnType>, Few<Option<&'a ArrayRef>>)> {
        let types = self.types(columns)?;
        let ids = self.info.column_ids.iter();
        Ok((types, ids.map(|id| group.memory_values(*id)).collect()))
    }

    /// Types of the key's columns.
    pub(crate) fn types<'a>(&self, columns: &'a [Column]) -> Result<Few<&'a ColumnType>> {
        let ids = self.info.column_ids.iter();
        let types = ids.map(|id| Some(&columns.iter().find(|column| column.id == *id)?.ty));
        let types = types.collect::<Option<_>>();
        types.ok_or_else(|| Error::InvalidInput("an index of a column that is not there".into()))
    }

    /// Appends the ids of rows that have, or had, a key.
    ///
    /// # Errors
    /// When a block of the tree does not open or does not parse.
    pub(crate) fn find(&self, blocks: &BlockStore, key: &[u8], ids: &mut Vec<u64>) -> Result<()> {
        self.find_by(&mut self.finder(blocks), key, ids)
    }

    /// Finds one key after the other with [`Self::find_by`].
    pub(crate) fn finder<'a>(&'a self, blocks: &'a BlockStore) -> Finder<'a> {
        Finder::new(blocks, self.tree.as_ref())
    }

    /// As [`Self::find`].
    pub(crate) fn find_by(
        &self,
        finder: &mut Finder<'_>,
        key: &[u8],
        ids: &mut Vec<u64>,
    ) -> Result<()> {
        for run in &self.runs {
            run.find(key, ids);
        }
        self.find_outside_runs(finder, key, ids)
    }

    /// As [`Self::find`], without the runs.
    pub(crate) fn find_outside_runs(
        &self,
        finder: &mut Finder<'_>,
        key: &[u8],
        ids: &mut Vec<u64>,
    ) -> Result<()> {
        finder.find(key, ids)?;
        self.recent.find(key, ids);
        ids.sort_unstable();
        // A state that was stored again has entries in memory that the tree has already.
        ids.dedup();
        Ok(())
    }

    /// Makes sure that no key of the runs is in them twice or in the stored tree, if it must not be.
    ///
    /// # Errors
    /// Duplicate if one is; when a block of the tree does not open or does not parse.
    pub(crate) fn verify_runs_are_unique(&self, blocks: &BlockStore) -> Result<()> {
        if !self.info.kind.is_unique() {
            return Ok(());
        }
        let mut finder = self.finder(blocks);
        let (mut last, mut stored) = (None, Vec::new());
        let mut steps = Steps::default();
        for (key, _) in MergedRuns::new(&self.runs) {
            steps.step()?;
            finder.find(key, &mut stored)?;
            if last == Some(key) || !stored.is_empty() {
                return Err(self.duplicate());
            }
            last = Some(key);
        }
        Ok(())
    }

    /// Key and row id of what the tree does not have, in order.
    pub(crate) fn unstored(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let recent = self.recent.iter().filter_map(split_entry);
        merge_sorted(recent, MergedRuns::new(&self.runs))
    }

    /// Runs that were loaded and not stored.
    pub(crate) fn runs(&self) -> &[KeyRun] {
        &self.runs
    }

    /// Bytes that the runs take in memory.
    pub(crate) fn run_bytes(&self) -> usize {
        self.runs.iter().map(|run| run.keys.held_bytes()).sum()
    }

    /// Whether all entries are in runs.
    pub(crate) fn is_runs_only(&self) -> bool {
        self.tree.is_none() && self.recent.is_empty()
    }

    /// Whether it has entries that are not stored.
    pub(crate) fn is_changed(&self) -> bool {
        !self.recent.is_empty() || !self.runs.is_empty()
    }

    /// About how many bytes of blocks storing the entries of rows in memory writes anew.
    pub(crate) fn bytes_to_store(&self) -> u64 {
        let stored = self.tree.zip(self.recent.any());
        stored.map_or(0, |(tree, entry)| {
            tree.bytes_of_leaves(self.recent.len() as u64, entry)
        })
    }

    /// Forgets all entries: the table has no rows.
    pub(crate) fn clear(&mut self) {
        *self = Self {
            info: Arc::clone(&self.info),
            tree: None,
            recent: Recent::default(),
            runs: Vec::new(),
        };
    }

    /// A checkpoint has stored the same rows anew: the tree on disk is `stored`'s.
    pub(crate) fn follow(&mut self, stored: &Self) {
        if self.tree.is_some() {
            self.tree = stored.tree;
        }
    }

    /// Leaves of the tree were sealed anew, as `moved` says; blocks above them, and `stale` ones, are written anew by `write`.
    ///
    /// # Errors
    /// When a block of the tree does not open or does not parse, and those of `write`.
    pub(crate) fn reseal(
        &mut self,
        blocks: &BlockStore,
        moved: &HashMap<BlockRef, BlockRef>,
        stale: &dyn Fn(&BlockRef) -> bool,
        write: &mut dyn FnMut(&[u8]) -> Result<BlockRef>,
    ) -> Result<()> {
        if let Some(tree) = &self.tree {
            self.tree = Some(resealed(blocks, tree, moved, stale, write)?);
        }
        Ok(())
    }

    /// Stores what is in memory. `visible_rows` is the number of rows of the table; `alive` and `write` are
    /// [`merge_into`]'s.
    ///
    /// # Errors
    /// As [`merge_into`].
    pub(crate) fn store(
        &mut self,
        blocks: &BlockStore,
        visible_rows: u64,
        alive: &dyn Fn(u64) -> Result<bool>,
        write: &mut dyn FnMut(&[u8]) -> Result<BlockRef>,
    ) -> Result<()> {
        let entries = self.tree.map_or(0, |tree| tree.entries);
        // Deletes leave entries behind. When they are the most of it, all blocks are written anew.
        let sweep = entries > visible_rows.saturating_mul(2).saturating_add(1024);
        if !self.is_changed() && !sweep {
            return Ok(());
        }
        let new = self.unstored();
        self.tree = merge_into(blocks, self.tree.as_ref(), new, sweep, alive, write)?;
        self.recent = Recent::default();
        self.runs = Vec::new();
        Ok(())
    }

    /// The root of the tree, for who follows refs.
    pub(crate) fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// All blocks of the tree, unless `other` has the same.
    pub(crate) fn collect_blocks(
        &self,
        blocks: &BlockStore,
        other: Option<&Self>,
        into: &mut HashSet<BlockRef>,
    ) -> Result<()> {
        if let Some(tree) = &self.tree
            && other.is_none_or(|other| other.tree != self.tree)
        {
            into.extend(blocks_of(blocks, tree)?);
        }
        Ok(())
    }

    /// Writes its entry of a table's record; it must be stored.
    pub(crate) fn write(&self, out: &mut Writer) {
        self.info.write(out);
        let root = self.tree.as_ref().map(|tree| &tree.root);
        out.raw(&BlockRef::option_to_bytes(root));
        out.u64(self.tree.map_or(0, |tree| tree.entries));
    }

    pub(crate) fn read(reader: &mut Reader<'_>, columns: &[Column]) -> Result<Self, WireError> {
        let mut index = Self::new(IndexInfo::read(reader, columns)?);
        let root = BlockRef::option_from_bytes(&reader.array()?);
        let entries = reader.u64()?;
        if root.is_none() != (entries == 0) {
            return Err(WireError);
        }
        index.tree = root.map(|root| Tree { root, entries });
        Ok(index)
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Index on {} columns", self.info.column_ids.len())
    }
}

/// Two sorted streams as one; what both have comes once.
fn merge_sorted<'a>(
    a: impl Iterator<Item = (&'a [u8], u64)>,
    b: impl Iterator<Item = (&'a [u8], u64)>,
) -> impl Iterator<Item = (&'a [u8], u64)> {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || match (a.peek(), b.peek()) {
        (Some(x), Some(y)) if x < y => a.next(),
        (Some(x), Some(y)) if x == y => {
            b.next();
            a.next()
        }
        (Some(_), None) => a.next(),
        _ => b.next(),
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;

    use super::*;
    use crate::file::MemFile;
    use crate::store::StoreOptions;

    #[test]
    fn rows_in_memory_take_their_entries_along_and_versions_before_keep_them() {
        let blocks = BlockStore::create(Arc::new(MemFile::new()), None, &StoreOptions::default());
        let blocks = blocks.unwrap();
        let columns = [Column {
            id: ColumnId::new(3),
            name: "a".into(),
            ty: ColumnType::Int64,
            nullable: true,
            default: None,
            generated: None,
            declared: None,
        }];
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), Some(7), None]));
        let group = RowGroup::in_memory(RowId::new(10), 3, vec![(ColumnId::new(3), values)]);
        let mut index = Index::new(IndexInfo {
            name: "i".into(),
            kind: IndexKind::Plain,
            column_ids: vec![ColumnId::new(3)],
        });
        index.add(0, &group, &columns).unwrap();
        let before = index.clone();
        index.forget(&group, &[9, 10, 12, 13], &columns).unwrap();
        let rows_of = |index: &Index| {
            let types = index.types(&columns).unwrap();
            let seven: ArrayRef = Arc::new(Int64Array::from(vec![7]));
            let (mut key, mut ids) = (Vec::new(), Vec::new());
            assert!(encode_key(&types, &[&seven], 0, &mut key).unwrap());
            index.find(&blocks, &key, &mut ids).unwrap();
            ids
        };
        assert_eq!(rows_of(&index), [11]);
        assert_eq!(rows_of(&before), [10, 11]);
        assert_eq!(index.unstored().count(), 1);
    }
}
