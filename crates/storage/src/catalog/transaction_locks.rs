//! Waiting instead of failing: a statement's rows are locked once it has found them, and looked at again.
//!
//! ```text
//! look: find rows, change them in private -> lock their keys, waiting -> look again: are they still there?
//!   yes: the change stays    no: `Overtaken`, and the statement begins anew on the newest state, its locks kept
//! ```
//!
//! What must hold: what a statement changed was there, unchanged, in the newest state at a time when it held the locks of it; who
//! changes the same rows and takes locks too waits for it from then on. The proof of answers stays the commit's.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::ArrayRef;

use super::catalog_version::CatalogVersion;
use super::lock_owner::{LockOwner, LockedRows};
use super::transaction::{Savepoint, Transaction};
use crate::error::{Error, Result};
use crate::index::{Index, IndexKind};
use crate::locks::{LockKey, LockMode};
use crate::numbers::{RowId, TableId};
use crate::row_group::{Column, RowGroup};
use crate::row_keys::{Few, encode_key};
use crate::table::TableVersion;

/// Over this many rows a statement takes the whole table if nobody else has any of it.
pub(super) const MANY_ROWS: usize = 100_000;
/// Over this many it waits for that.
pub(super) const MOST_ROWS: usize = 1_000_000;

/// What a statement did to a table.
pub(super) struct Touched<'a> {
    pub(super) base: &'a Arc<TableVersion>,
    /// Rows of the base that are gone, in order of their ids.
    pub(super) gone: Vec<u64>,
    /// Rows in memory that it added, and the id from which on they are its own.
    pub(super) added: Vec<&'a RowGroup>,
    pub(super) added_from: RowId,
}

impl Transaction {
    /// Has the statements of this transaction wait for locks, which `owner` holds; they stay until it and the transaction are dropped.
    pub fn wait_by(&mut self, owner: &Arc<LockOwner>) {
        self.locks = Some(Arc::clone(owner));
    }

    /// Locks the rows that were changed since the savepoint, all without one, and waits for those who have them locked. Nothing to
    /// do for a transaction that does not wait.
    ///
    /// # Errors
    /// `Overtaken` if they changed them: go back to the savepoint, advance to the newest state and do the same again. As
    /// `LockOwner::lock`, and whatever reading keys reports.
    pub fn settle(&self, since: Option<&Savepoint>) -> Result<()> {
        let Some(owner) = &self.locks else {
            return Ok(());
        };
        let touched = self.touched(since);
        let locked = owner.take_rows();
        let mut keys = Vec::new();
        for table in &touched {
            let locked = locked.as_ref();
            let locked = locked.filter(|rows| rows.are(table.base, &table.gone));
            if locked.is_some() || !lock_table(owner, table)? {
                self.keys_of_change(owner, table, locked, &mut keys)?;
            }
        }
        // In order, so that two statements do not meet half-way.
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            owner.lock(key, LockMode::All)?;
        }
        let newest = self.newest()?;
        match Arc::ptr_eq(&newest, &self.base) {
            true => Ok(()),
            false => touched
                .iter()
                .try_for_each(|table| self.still_holds(table, &newest)),
        }
    }

    /// Locks what there is, and a table whose definition or rows change as a whole, before anything is done to it. Nothing to do in
    /// a transaction that does not wait.
    ///
    /// # Errors
    /// `Overtaken` if others have changed it since the base: go back, advance and do the same again. As `LockOwner::lock`.
    pub(super) fn lock_definition(&self, table_id: Option<TableId>) -> Result<()> {
        let Some(owner) = &self.locks else {
            return Ok(());
        };
        owner.lock(LockKey::Definitions, LockMode::All)?;
        if self.newest()?.definitions != self.base.definitions {
            return Err(Error::Overtaken);
        }
        table_id.map_or(Ok(()), |id| self.lock_whole(id))
    }

    /// Locks a table of which all rows go, and those that others are adding. Nothing to do in a transaction that does not wait.
    ///
    /// # Errors
    /// `Overtaken` if others have changed it since the base: go back, advance and do the same again. As `LockOwner::lock`.
    pub fn lock_whole(&self, table_id: TableId) -> Result<()> {
        // One that this transaction has made is seen by nobody else.
        let (Some(owner), Some(base)) = (&self.locks, self.base.table_by_id(table_id)) else {
            return Ok(());
        };
        owner.lock(LockKey::Table(table_id), LockMode::All)?;
        let newest = self.newest()?;
        let now = newest
            .table_by_id(table_id)
            .filter(|now| now.is_defined_as(base));
        match now.is_some_and(|now| now.changes == base.changes) {
            true => Ok(()),
            false => Err(Error::Overtaken),
        }
    }

    /// What was changed since the savepoint in tables that are not this transaction's own.
    fn touched(&self, since: Option<&Savepoint>) -> Vec<Touched<'_>> {
        let mut touched = Vec::new();
        for (id, gone) in self.changed_rows() {
            let before = since.map(|since| &since.changes);
            let gone_before = before.and_then(|before| before.rows.get(&id));
            let same = gone_before.is_some_and(|before| std::ptr::eq(&**before, gone));
            let gone = match gone_before {
                _ if same => vec![],
                Some(before) => (gone - &**before).iter().collect(),
                None => gone.iter().collect(),
            };
            let (Some(base), Some(mine)) =
                (self.base.table_by_id(id), self.catalog().table_by_id(id))
            else {
                continue;
            };
            let before = before.and_then(|before| before.catalog.table_by_id(id));
            if same && before.is_some_and(|before| before.next_row_id == mine.next_row_id) {
                // Only statements before changed it, which have locked what they need.
                continue;
            }
            let from = before.map_or(base.next_row_id, |before| before.next_row_id);
            let from = from.max(base.next_row_id);
            let added = mine.tail.iter().rev();
            let added = added.take_while(|group| group.end_row_id() > from);
            let added = added.filter(|group| group.memory.is_some());
            touched.push(Touched {
                base,
                gone,
                added: added.map(Arc::as_ref).collect(),
                added_from: from,
            });
        }
        touched
    }

    /// The keys that a change needs for itself: of its rows, and in other unique indexes those that come or go. `locked` are its rows,
    /// where they were locked before they were changed.
    fn keys_of_change(
        &self,
        owner: &LockOwner,
        table: &Touched<'_>,
        locked: Option<&LockedRows>,
        keys: &mut Vec<LockKey>,
    ) -> Result<()> {
        let base = table.base;
        let row_key = row_key(base);
        for (at, index) in unique(base) {
            let lock = |key: &[u8]| owner.lock_of(base.id, index.column_ids(), key);
            let mut new = Vec::new();
            new_keys(base, index, &table.added, table.added_from, &mut |key| {
                new.push(lock(key));
                Ok(())
            })?;
            let is_row_key = Some(at) == row_key;
            if let Some(locked) = locked.filter(|_| is_row_key) {
                new.retain(|key| locked.keys.binary_search(key).is_err());
                keys.append(&mut new);
                continue;
            }
            let mut old = Vec::new();
            self.old_keys(base, index, &table.gone, &mut |key| old.push(lock(key)))?;
            if is_row_key {
                keys.append(&mut old);
                keys.append(&mut new);
            } else {
                keys.extend(in_one_alone(old, new));
            }
        }
        Ok(())
    }

    pub(super) fn old_keys(
        &self,
        table: &TableVersion,
        index: &Index,
        ids: &[u64],
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let types = index.types(&table.columns)?;
        let arrays = self
            .store
            .read_rows(table, &key_columns(table, index), ids)?;
        let arrays: Few<&ArrayRef> = arrays.iter().collect();
        let mut key = Vec::new();
        for row in 0..ids.len() {
            key.clear();
            if encode_key(&types, &arrays, row, &mut key)? {
                each(&key);
            }
        }
        Ok(())
    }

    /// Whether the rows that go are there in the newest state, and the keys that come are free.
    pub(super) fn still_holds(&self, table: &Touched<'_>, newest: &CatalogVersion) -> Result<()> {
        let base = table.base;
        let now = newest
            .table_by_id(base.id)
            .filter(|now| now.is_defined_as(base));
        let now = now.ok_or(Error::Overtaken)?;
        if now.changes == base.changes {
            return Ok(());
        }
        for id in &table.gone {
            if !now.is_visible(RowId::new(*id))? {
                return Err(Error::Overtaken);
            }
        }
        match self.has_any_key(now, &table.added, table.added_from)? {
            true => Err(Error::Overtaken),
            false => Ok(()),
        }
    }

    /// Whether a state of a table has a row, which this transaction leaves there, with a unique key that rows in memory have from an
    /// id on.
    fn has_any_key(&self, table: &TableVersion, added: &[&RowGroup], from: RowId) -> Result<bool> {
        let gone = self.changes.rows.get(&table.id);
        let is_gone = |id: &u64| gone.is_some_and(|gone| gone.contains(*id));
        let mut has = false;
        let mut ids = Vec::new();
        for (_, index) in unique(table) {
            new_keys(table, index, added, from, &mut |key| {
                ids.clear();
                index.find(&table.blocks, key, &mut ids)?;
                for id in ids.iter().filter(|id| !is_gone(id)) {
                    has = has || table.is_visible(RowId::new(*id))?;
                }
                Ok(())
            })?;
        }
        Ok(has)
    }

    /// What to say when rows in memory have a key that is there twice: the other row may be on its way out, which is waited for.
    pub(super) fn after_waiting(&self, id: TableId, rows: &[RowGroup], duplicate: Error) -> Error {
        let Some(owner) = self.locks.as_ref().filter(|_| is_duplicate(&duplicate)) else {
            return duplicate;
        };
        match self.wait_for_keys(owner, id, rows) {
            Ok(true) => Error::Overtaken,
            Ok(false) => duplicate,
            Err(error) => error,
        }
    }

    /// Waits for those who have the keys of the rows, and says whether the newest state lacks what the base has of them.
    fn wait_for_keys(&self, owner: &LockOwner, id: TableId, rows: &[RowGroup]) -> Result<bool> {
        let Some(base) = self.base.table_by_id(id) else {
            return Ok(false);
        };
        let rows: Vec<&RowGroup> = rows.iter().filter(|g| g.memory.is_some()).collect();
        let mut keys = BTreeSet::new();
        for (_, index) in unique(base) {
            new_keys(base, index, &rows, RowId::default(), &mut |key| {
                keys.insert(owner.lock_of(id, index.column_ids(), key));
                Ok(())
            })?;
        }
        owner.lock(LockKey::Table(id), LockMode::Rows)?;
        for key in keys {
            owner.lock(key, LockMode::All)?;
        }
        let newest = self.newest()?;
        let Some(now) = newest.table_by_id(id).filter(|now| now.is_defined_as(base)) else {
            return Ok(true);
        };
        Ok(self.has_any_key(base, &rows, RowId::default())?
            && !self.has_any_key(now, &rows, RowId::default())?)
    }
}

/// Takes the table as far as a statement needs it; gives whether nobody else has any of it.
fn lock_table(owner: &LockOwner, table: &Touched<'_>) -> Result<bool> {
    let key = LockKey::Table(table.base.id);
    let rows = table.gone.len();
    if rows > MOST_ROWS {
        return owner.lock(key, LockMode::All).map(|()| true);
    }
    let mode = match table.gone.is_empty() || row_key(table.base).is_some() {
        true => LockMode::Rows,
        false => LockMode::Change,
    };
    owner.lock(key, mode)?;
    // If others have some of it, row by row: two that wait for all of it would wait for each other.
    Ok(rows > MANY_ROWS && owner.try_lock(key, LockMode::All)?)
}

/// Keys that come or go: what both have stays as it is.
fn in_one_alone(mut old: Vec<LockKey>, mut new: Vec<LockKey>) -> Vec<LockKey> {
    old.sort_unstable();
    new.sort_unstable();
    let goes = old.iter().filter(|key| new.binary_search(key).is_err());
    let comes = new.iter().filter(|key| old.binary_search(key).is_err());
    goes.chain(comes).copied().collect()
}

fn is_duplicate(error: &Error) -> bool {
    matches!(error, Error::Duplicate { .. })
}

/// Indexes that allow each key once.
fn unique(table: &TableVersion) -> impl Iterator<Item = (usize, &Index)> {
    let indexes = table.indexes().iter().enumerate();
    indexes.filter(|(_, index)| index.kind().is_unique())
}

/// Which index has the keys that rows are locked by: that of the primary key, else the first in which every row has one.
pub(super) fn row_key(table: &TableVersion) -> Option<usize> {
    let has_all = |index: &Index| {
        let columns = key_columns(table, index);
        columns.iter().all(|column| !column.nullable)
    };
    let mut indexes = unique(table);
    let found = indexes.find(|(_, index)| index.kind() == IndexKind::Primary || has_all(index));
    found.map(|(at, _)| at)
}

fn key_columns<'a>(table: &'a TableVersion, index: &Index) -> Few<&'a Column> {
    let ids = index.column_ids().iter();
    let columns = ids.filter_map(|id| table.columns.iter().find(|column| column.id == *id));
    columns.collect()
}

/// The keys of rows in memory that are there, from an id on.
pub(super) fn new_keys(
    table: &TableVersion,
    index: &Index,
    groups: &[&RowGroup],
    from: RowId,
    each: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut key = Vec::new();
    for group in groups {
        let (types, arrays) = index.key_columns(group, &table.columns)?;
        let Some(arrays) = arrays.into_iter().collect::<Option<Few<_>>>() else {
            continue;
        };
        let first = from.saturating_sub(group.first_row_id);
        let first = u32::try_from(first).unwrap_or(u32::MAX);
        for row in first..group.rows {
            let gone = group
                .deletes
                .as_ref()
                .is_some_and(|gone| gone.contains(row));
            key.clear();
            if !gone && encode_key(&types, &arrays, row as usize, &mut key)? {
                each(&key)?;
            }
        }
    }
    Ok(())
}
