//! A write transaction: a private version of the catalog, rows in and out of tables.
//!
//! What must hold: nothing that it does is visible before [`Transaction::commit`], and then all of it at once; dropped without
//! commit, it frees all space that it allocated. Any number may be open at once; each reads the state that was newest
//! when it began, or last advanced, with its own changes. Rows that it adds have provisional ids until it commits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use hushdb_encoding::MAX_ROW_GROUP_ROWS;
use roaring::RoaringTreemap;

use super::catalog_version::{CatalogVersion, SchemaVersion};
use super::foreign_key::TouchedKeys;
use super::fresh_blocks::FreshBlocks;
use super::lock_owner::LockOwner;
use super::pending_row_group::PendingRowGroup;
use super::store::Store;
use crate::error::{Error, Result};
use crate::index::Index;
use crate::numbers::{ColumnId, RowId, TableId};
use crate::row_group::RowGroup;
use crate::table::TableVersion;

/// More deleted rows than this are written with a flip of the root rather than to the log.
pub(super) const MAX_LOGGED_DELETES: u64 = 100_000;

/// A write transaction. Dropping it rolls back.
pub struct Transaction {
    pub(super) store: Arc<Store>,
    /// What it read when it began, or last advanced.
    pub(super) base: Arc<CatalogVersion>,
    pub(super) changes: Changes,
    /// Blocks that were written for it.
    pub(super) fresh: FreshBlocks,
    /// Whether new names may differ from others in the case of letters alone, as in a copy of a file that has such.
    pub(super) names_alike: bool,
    /// The locks that its statements wait for; none for one that does not wait.
    pub(super) locks: Option<Arc<LockOwner>>,
    /// Rows that it has changed once more, going on from another state.
    pub(super) changed_again: u64,
}

/// What a transaction has done so far.
#[derive(Clone)]
pub(super) struct Changes {
    /// The base with the changes; shared with savepoints and whoever reads it.
    pub(super) catalog: Arc<CatalogVersion>,
    /// Tables whose rows changed, by id, with the rows of the base that are gone.
    pub(super) rows: BTreeMap<TableId, Arc<RoaringTreemap>>,
    /// Tables that were made, dropped, renamed or got other columns or conditions.
    pub(super) redefined: BTreeSet<TableId>,
    /// Whether any schema, table or view changed, other than in its rows.
    pub(super) defines: bool,
    /// Whether rows were written to blocks: the commit names these instead of writing the rows again.
    pub(super) bulk: bool,
    /// Keys that rows of one table name rows of another by.
    pub(super) keys: TouchedKeys,
    /// Set while a change of several steps is under way; if it fails there, the rest must not be committed.
    pub(super) broken: bool,
}

/// A point that a transaction can go back to.
#[derive(Clone)]
pub struct Savepoint {
    pub(super) changes: Changes,
    /// What the transaction read then.
    base: Arc<CatalogVersion>,
}

impl Transaction {
    pub(super) fn new(store: &Arc<Store>, base: Arc<CatalogVersion>) -> Self {
        Self {
            store: Arc::clone(store),
            changes: Changes {
                catalog: Arc::clone(&base),
                rows: BTreeMap::new(),
                redefined: BTreeSet::new(),
                defines: false,
                bulk: false,
                keys: TouchedKeys::default(),
                broken: false,
            },
            base,
            fresh: FreshBlocks::new(&store.blocks),
            names_alike: false,
            locks: None,
            changed_again: 0,
        }
    }

    /// New names may differ from others in the case of letters alone: for a copy of a file from before that has such.
    pub fn let_names_be_alike(&mut self) {
        self.names_alike = true;
    }

    /// The state as this transaction sees it, its own changes included.
    pub fn catalog(&self) -> &CatalogVersion {
        &self.changes.catalog
    }

    /// The same, to be kept beside further changes.
    pub fn state(&self) -> Arc<CatalogVersion> {
        Arc::clone(&self.changes.catalog)
    }

    /// The private copy of the state.
    pub(super) fn catalog_mut(&mut self) -> &mut CatalogVersion {
        Arc::make_mut(&mut self.changes.catalog)
    }

    /// The store that it changes.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Whether anything was changed.
    pub fn is_changed(&self) -> bool {
        self.changes.defines || !self.changes.rows.is_empty()
    }

    /// Marks a point that [`Transaction::rollback_to`] goes back to.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint {
            changes: self.changes.clone(),
            base: Arc::clone(&self.base),
        }
    }

    /// Undoes everything since the savepoint, which must be one of this transaction's. Locks stay.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) {
        self.changes = savepoint.changes.clone();
        self.base = Arc::clone(&savepoint.base);
    }

    /// Adds row groups to a table in the given order. Returns the number of rows.
    ///
    /// # Errors
    /// Duplicate if a key would be there twice: go back to a savepoint, or drop the transaction. InvalidInput if there is no such table or a row group was not written for its columns.
    pub fn append(
        &mut self,
        schema: &str,
        table: &str,
        groups: Vec<PendingRowGroup>,
    ) -> Result<u64> {
        let target = self
            .catalog()
            .table(schema, table)
            .ok_or_else(no_such_table)?;
        if !groups
            .iter()
            .all(|group| group.suits(&target.columns, &self.store.blocks))
        {
            return Err(Error::InvalidInput(
                "the rows were not written for this table's columns".into(),
            ));
        }
        if groups.is_empty() {
            return Ok(0);
        }
        let mut rows = Vec::with_capacity(groups.len());
        for pending in groups {
            let (group, fresh) = pending.into_parts();
            self.fresh.absorb(fresh);
            rows.push(group);
        }
        let added = self.append_rows(schema, table, rows)?;
        self.changes.bulk = true;
        Ok(added)
    }

    /// Adds rows to a table that stay in memory and the log until the next checkpoint; for few rows. `arrays` are in the
    /// order of the table's columns, of their Arrow types and of one length. Returns the number of rows.
    ///
    /// # Errors
    /// Duplicate as for [`Transaction::append`]; InvalidInput if there is no such table or the arrays do not fit its columns.
    pub fn insert(&mut self, schema: &str, table: &str, arrays: &[ArrayRef]) -> Result<u64> {
        let target = self
            .catalog()
            .table(schema, table)
            .ok_or_else(no_such_table)?;
        let rows = arrays.first().map_or(0, |array| array.len());
        let fits = target.columns.len() == arrays.len()
            && target.columns.iter().zip(arrays).all(|(column, array)| {
                array.len() == rows && array.data_type() == &column.ty.arrow()
            });
        let count = u32::try_from(rows)
            .ok()
            .filter(|rows| fits && *rows <= MAX_ROW_GROUP_ROWS);
        let Some(count) = count else {
            return Err(Error::InvalidInput(
                "the arrays do not make a row group of the table".into(),
            ));
        };
        if count == 0 {
            return Ok(0);
        }
        let mut values: Vec<(ColumnId, ArrayRef)> = target
            .columns
            .iter()
            .map(|column| column.id)
            .zip(arrays.iter().cloned())
            .collect();
        values.sort_by_key(|(id, _)| *id);
        self.append_rows(
            schema,
            table,
            vec![RowGroup::in_memory(RowId::default(), count, values)],
        )
    }

    fn append_rows(&mut self, schema: &str, table: &str, mut groups: Vec<RowGroup>) -> Result<u64> {
        let id = self.table_id(schema, table)?;
        // Rows of the base are not merged with ours: the commit takes ours by their ids.
        let merge_from = self.first_own_row(id);
        self.changes.broken = true;
        let target = self.changes.catalog.table(schema, table);
        let target = Arc::clone(target.ok_or_else(no_such_table)?);
        for group in groups.iter_mut().filter(|group| group.memory.is_none()) {
            group.keys = self.store.keys_of(&target, group)?;
        }
        drop(target);
        let target = self.table_mut(schema, table)?;
        let first = target.next_row_id;
        let mut end = first;
        for group in &mut groups {
            group.first_row_id = end;
            let next = end.checked_add(u64::from(group.rows));
            end = next.ok_or_else(|| Error::Unsupported("more rows than row ids".into()))?;
        }
        target.append(groups.iter().cloned(), end, merge_from)?;
        let verified = target.verify_unique(groups.iter());
        verified.map_err(|error| self.after_waiting(id, &groups, error))?;
        self.note_added(id, &groups)?;
        self.changes.broken = false;
        self.changes.rows.entry(id).or_default();
        Ok(end - first)
    }

    /// Marks rows as gone; ids may come in any order. Row groups without a row left are dropped. Returns how many rows
    /// were there and are not any more.
    ///
    /// # Errors
    /// InvalidInput if there is no such table; whatever reading the table's directory reports.
    pub fn delete_rows(&mut self, schema: &str, table: &str, row_ids: &[u64]) -> Result<u64> {
        let id = self.table_id(schema, table)?;
        let own = self.first_own_row(id);
        let mut ids = row_ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        let before = self.catalog().table(schema, table).map(Arc::clone);
        let before = before.ok_or_else(no_such_table)?;
        let deleted = self.table_mut(schema, table)?.delete(&ids)?;
        if deleted == 0 {
            return Ok(0);
        }
        if deleted < ids.len() as u64 {
            ids = before.visible_of(&ids)?;
        }
        self.note_gone(&before, &ids)?;
        let gone = self.changes.rows.entry(id).or_default();
        Arc::make_mut(gone).extend(ids.into_iter().take_while(|row| RowId::new(*row) < own));
        Ok(deleted)
    }

    /// Removes all rows; row ids go on from where they were. Returns how many rows there were.
    ///
    /// # Errors
    /// InvalidInput if there is no such table; whatever reading the table's directory reports.
    pub fn truncate(&mut self, schema: &str, table: &str) -> Result<u64> {
        let id = self.table_id(schema, table)?;
        let own = self.first_own_row(id);
        let target = self
            .catalog()
            .table(schema, table)
            .ok_or_else(no_such_table)?;
        let rows = target.row_count();
        if rows == 0 {
            return Ok(0);
        }
        if self.is_parent(id) {
            let ids = target
                .row_groups()?
                .iter()
                .flat_map(|group| group.first_row_id.number()..group.end_row_id().number());
            let ids = target.visible_of(&ids.collect::<Vec<u64>>())?;
            return self.delete_rows(schema, table, &ids);
        }
        let mut gone = RoaringTreemap::new();
        for group in target.row_groups()?.iter().filter(|g| g.first_row_id < own) {
            let first = group.first_row_id;
            gone.insert_range(first.number()..group.end_row_id().number());
            for offset in group.deletes.iter().flat_map(|deletes| deletes.iter()) {
                gone.remove((first + u64::from(offset)).number());
            }
        }
        let target = self.table_mut(schema, table)?;
        target.set_rows(vec![], vec![]);
        target.indexes.iter_mut().for_each(Index::clear);
        *Arc::make_mut(self.changes.rows.entry(id).or_default()) |= gone;
        Ok(rows)
    }

    /// Whether the commit moves the root rather than append to the log.
    pub(super) fn needs_flip(&self) -> bool {
        let deletes: u64 = self.changes.rows.values().map(|gone| gone.len()).sum();
        self.changes.defines || self.changes.bulk || deletes > MAX_LOGGED_DELETES
    }

    /// Row ids of a table from here on are provisional: rows that this transaction added.
    pub(super) fn first_own_row(&self, table_id: TableId) -> RowId {
        let base = self.base.table_by_id(table_id);
        base.map_or(RowId::default(), |table| table.next_row_id)
    }

    fn table_id(&self, schema: &str, table: &str) -> Result<TableId> {
        let found = self.catalog().table(schema, table);
        Ok(found.ok_or_else(no_such_table)?.id)
    }

    /// The private copy of a schema, to change what is in it.
    pub(super) fn schema_mut(&mut self, schema: &str) -> Result<&mut SchemaVersion> {
        let found = self.catalog_mut().schemas.get_mut(schema);
        found
            .map(Arc::make_mut)
            .ok_or_else(|| Error::InvalidInput("there is no such schema".into()))
    }

    /// The private copy of a table, to change its rows.
    pub(super) fn table_mut(&mut self, schema: &str, table: &str) -> Result<&mut TableVersion> {
        let found = self.schema_mut(schema)?.tables.get_mut(table);
        let found = found.map(Arc::make_mut).ok_or_else(no_such_table)?;
        Ok(found)
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transaction on generation {}", self.base.generation)
    }
}

impl std::fmt::Debug for Savepoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Savepoint")
    }
}

pub(super) fn no_such_table() -> Error {
    Error::InvalidInput("there is no such table".into())
}
