//! Applying a transaction's changes to the newest state, where write-write conflicts are found.
//!
//! What must hold: first committer wins. A row that two transactions delete or update, a table that one changes while the other
//! redefines it, and two changes of definitions conflict; rows added to one table by two transactions do not.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringTreemap;

use super::catalog_version::CatalogVersion;
use super::transaction::Transaction;
use crate::error::{Error, Result};
use crate::numbers::{RowId, TableId};
use crate::row_group::RowGroup;
use crate::table::TableVersion;

/// What a transaction does to the rows of one table, with final row ids: what the log says of it.
pub(crate) struct TableChange {
    pub(crate) table_id: TableId,
    pub(crate) deleted: RoaringTreemap,
    /// Added rows, in order of their ids.
    pub(crate) added: Vec<RowGroup>,
    /// The id that the next row of the table gets.
    pub(crate) end_row_id: RowId,
}

impl Transaction {
    /// The newest state with this transaction's changes, and the changes of rows by themselves.
    ///
    /// # Errors
    /// Conflict when the newest state has changed what this transaction changed; Duplicate when it has a key that this
    /// transaction gave to another row.
    pub(super) fn rebase(
        &self,
        newest: &CatalogVersion,
    ) -> Result<(CatalogVersion, Vec<TableChange>)> {
        let mut result = newest.clone();
        if self.changes.defines {
            result = self.redefine(newest)?;
            result.definitions += 1;
        }
        let mut changes = Vec::with_capacity(self.changes.rows.len());
        for (table_id, deleted) in self.changed_rows() {
            let (base, mine) = self.base_and_own(table_id)?;
            let theirs = find_as_defined(&mut result, base)?;
            let is_base = theirs.changes == base.changes;
            let change = change_of(base, mine, theirs, deleted);
            change.apply(theirs)?;
            if !is_base {
                // The key may have been free when the statement looked.
                theirs.verify_unique(change.added.iter())?;
            }
            changes.push(change);
        }
        self.verify_in(&result, newest)?;
        Ok((result, changes))
    }

    /// Goes on from `newest` as if the transaction had begun there: what others have committed since is seen. Savepoints from
    /// before stay what they were.
    ///
    /// # Errors
    /// As `rebase`: the transaction is as it was.
    pub fn advance(&mut self, newest: Arc<CatalogVersion>) -> Result<()> {
        if Arc::ptr_eq(&newest, &self.base) {
            return Ok(());
        }
        let mut result = CatalogVersion::clone(&newest);
        if self.changes.defines {
            result = self.redefine(&newest)?;
        }
        let mut rows = 0;
        for (table_id, deleted) in self.changed_rows() {
            let (base, mine) = self.base_and_own(table_id)?;
            if newest
                .table_by_id(table_id)
                .is_some_and(|now| Arc::ptr_eq(now, base))
            {
                // Nobody else changed it, nor stored it anew.
                replace(&mut result, mine);
                continue;
            }
            let theirs = find_as_defined(&mut result, base)?;
            let is_base = theirs.changes == base.changes;
            let change = change_of(base, mine, theirs, deleted);
            rows += change.rows();
            // Own rows stay apart from theirs: the commit takes them by their ids.
            let own = theirs.next_row_id;
            change.apply_apart(theirs, own)?;
            if !is_base {
                theirs.verify_unique(change.added.iter())?;
            }
        }
        self.verify_in(&result, &newest)?;
        self.changes.catalog = Arc::new(result);
        self.base = newest;
        self.changed_again += rows;
        Ok(())
    }

    /// Tables of the base whose rows changed, with the rows that are gone.
    pub(super) fn changed_rows(&self) -> impl Iterator<Item = (TableId, &RoaringTreemap)> {
        let rows = self.changes.rows.iter().map(|(id, gone)| (*id, &**gone));
        rows.filter(|(id, _)| !self.changes.redefined.contains(id))
    }

    fn base_and_own(&self, id: TableId) -> Result<(&Arc<TableVersion>, &Arc<TableVersion>)> {
        self.base
            .table_by_id(id)
            .zip(self.changes.catalog.table_by_id(id))
            .ok_or_else(|| conflict("a table that this transaction changed is gone"))
    }

    /// Our definitions with their rows, as if they were committed already.
    fn redefine(&self, newest: &CatalogVersion) -> Result<CatalogVersion> {
        if newest.definitions != self.base.definitions {
            return Err(conflict(
                "another transaction changed tables, views or schemas meanwhile",
            ));
        }
        let theirs: BTreeMap<TableId, &Arc<TableVersion>> =
            newest.tables().map(|table| (table.id, table)).collect();
        for id in &self.changes.redefined {
            let (then, now) = (self.base.table_by_id(*id), theirs.get(id));
            if let (Some(then), Some(now)) = (then, now)
                && !Arc::ptr_eq(then, now)
                && !same_rows(then, now)
            {
                return Err(conflict(
                    "another transaction changed rows of a table that this one redefines",
                ));
            }
        }
        let mut result = CatalogVersion::clone(&self.changes.catalog);
        for id in &self.changes.redefined {
            if let (Some(then), Some(now)) = (self.base.table_by_id(*id), theirs.get(id))
                && let Some(ours) = find_mut(&mut result, *id)
            {
                ours.follow(then, now)?;
            }
        }
        result.generation = newest.generation;
        result.block = newest.block;
        result.definitions = newest.definitions;
        for schema in result.schemas.values_mut() {
            let stale: Vec<Arc<TableVersion>> = schema
                .tables
                .values()
                .filter(|table| !self.changes.redefined.contains(&table.id))
                .filter_map(|table| theirs.get(&table.id).map(|now| Arc::clone(now)))
                .collect();
            let schema = Arc::make_mut(schema);
            for table in stale {
                schema.tables.insert(table.name.clone(), table);
            }
        }
        Ok(result)
    }
}

/// The change of a table that leads from `base` to `mine`, with the row ids that it gets after `theirs`.
fn change_of(
    base: &TableVersion,
    mine: &TableVersion,
    theirs: &TableVersion,
    deleted: &RoaringTreemap,
) -> TableChange {
    // Nobody else knows our row ids, but others may have taken the same ones: ours follow theirs.
    let shift = theirs.next_row_id.saturating_sub(base.next_row_id);
    let own = mine.tail.iter();
    let own = own.filter(|group| group.first_row_id >= base.next_row_id);
    let added = own.map(|group| RowGroup {
        first_row_id: group.first_row_id.saturating_add(shift),
        ..RowGroup::clone(group)
    });
    TableChange {
        table_id: base.id,
        deleted: deleted.clone(),
        added: added.collect(),
        end_row_id: mine.next_row_id.saturating_add(shift),
    }
}

/// The table in another state, to be changed, if it is still defined as it was.
fn find_as_defined<'a>(
    catalog: &'a mut CatalogVersion,
    base: &TableVersion,
) -> Result<&'a mut TableVersion> {
    find_mut(catalog, base.id)
        .filter(|theirs| theirs.is_defined_as(base))
        .ok_or_else(|| conflict("another transaction dropped or altered the table"))
}

impl TableChange {
    /// Rows that come or go.
    fn rows(&self) -> u64 {
        let added = self.added.iter().map(|group| u64::from(group.rows));
        self.deleted.len() + added.sum::<u64>()
    }

    /// Makes the change to a table.
    ///
    /// # Errors
    /// Conflict if a row that goes is not there.
    pub(crate) fn apply(&self, table: &mut TableVersion) -> Result<()> {
        self.apply_apart(table, RowId::default())?;
        table.gather();
        Ok(())
    }

    /// As [`TableChange::apply`]; rows are merged with those from `merge_from` on alone.
    fn apply_apart(&self, table: &mut TableVersion, merge_from: RowId) -> Result<()> {
        if !self.deleted.is_empty() {
            // Few bytes can stand for many ids: they are counted before they are listed.
            if self.deleted.len() > table.row_count() {
                return Err(conflict("another transaction changed the same row"));
            }
            let ids: Vec<u64> = self.deleted.iter().collect();
            if table.delete(&ids)? < self.deleted.len() {
                return Err(conflict("another transaction changed the same row"));
            }
        }
        table.append(self.added.iter().cloned(), self.end_row_id, merge_from)
    }
}

/// The state with rows changed as a commit did, or the log says.
pub(crate) fn replayed(
    catalog: &mut CatalogVersion,
    change: &TableChange,
) -> Result<(), &'static str> {
    let table = find_mut(catalog, change.table_id).ok_or("a table that is not there")?;
    change.apply(table).map_err(|_| "rows that are not there")
}

/// As [`replayed`], for a table of which rows are lost: what is deleted and not there is as it should be.
pub(crate) fn replayed_without(
    catalog: &mut CatalogVersion,
    change: &TableChange,
) -> Result<(), &'static str> {
    let table = find_mut(catalog, change.table_id).ok_or("a table that is not there")?;
    let ids: Vec<u64> = change.deleted.iter().collect();
    let deleted = table.delete(&ids).map(|_| ());
    let added = change.added.iter().cloned();
    let applied = deleted.and_then(|()| table.append(added, change.end_row_id, RowId::default()));
    applied.map_err(|_| "rows that are not there")
}

/// Makes changes that were committed, in order, to the same rows as a checkpoint has stored them.
///
/// # Errors
/// Whatever reading the tables' directories reports.
pub(super) fn made_again(catalog: &mut CatalogVersion, changes: &[TableChange]) -> Result<()> {
    for change in changes {
        let table = find_mut(catalog, change.table_id)
            .ok_or_else(|| Error::InvalidInput("a table that was changed is gone".into()))?;
        change.apply(table)?;
    }
    Ok(())
}

/// Lets tables count their changes as those of `as_in` do, which have the same rows.
pub(super) fn counted(catalog: &mut CatalogVersion, as_in: &CatalogVersion) {
    for table in as_in.tables() {
        if catalog
            .table_by_id(table.id)
            .is_some_and(|found| found.changes != table.changes)
            && let Some(found) = find_mut(catalog, table.id)
        {
            found.changes = table.changes;
        }
    }
}

fn find_mut(catalog: &mut CatalogVersion, id: TableId) -> Option<&mut TableVersion> {
    let schema = catalog
        .schemas
        .values_mut()
        .find(|schema| schema.tables.by_id(id).is_some())?;
    let tables = &mut Arc::make_mut(schema).tables;
    tables.by_id_mut(id).map(Arc::make_mut)
}

/// Puts another state of a table in its place.
fn replace(catalog: &mut CatalogVersion, table: &Arc<TableVersion>) {
    let schemas = catalog.schemas.values_mut();
    for schema in schemas.filter(|schema| schema.tables.by_id(table.id).is_some()) {
        if let Some(known) = Arc::make_mut(schema).tables.by_id_mut(table.id) {
            *known = Arc::clone(table);
        }
    }
}

/// A checkpoint stores rows anew and leaves the same rows.
fn same_rows(then: &TableVersion, now: &TableVersion) -> bool {
    then.changes == now.changes
}

fn conflict(what: &str) -> Error {
    Error::Conflict(what.to_owned())
}
