//! Making and dropping indexes.
//!
//! What must hold: names of indexes are distinct within a schema; a table has one primary key at most, of columns without NULL.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::ArrayRef;

use super::comment::CommentKind;
use super::fresh_blocks::FreshBlocks;
use super::store::Store;
use super::transaction::{Transaction, no_such_table};
use super::transaction_ddl::{invalid, no_such_column};
use crate::block::Role;
use crate::error::Result;
use crate::index::{Index, IndexDef, IndexInfo, IndexKind};
use crate::row_group::RowGroup;
use crate::row_keys::{RunKeys, can_be_key};
use crate::table::TableVersion;

/// The share of the memory for blocks that keys of an index take before they are stored.
const KEYS_SHARE: usize = 4;
/// Unless they are fewer bytes than this.
const LEAST_KEY_BYTES: usize = 4 << 20;

impl Transaction {
    /// Makes an index of the rows that are there and of those to come.
    ///
    /// # Errors
    /// Duplicate if two rows have one key and the index allows each once. InvalidInput if there is no such table or
    /// column, the name is taken, a column is given twice or cannot be part of a key, or for a second primary key or one of
    /// a column that allows NULL. Whatever reading the rows reports; Unsupported for a key that is too long.
    pub fn create_index(&mut self, schema: &str, table: &str, index: IndexDef) -> Result<()> {
        let target = self.catalog().table(schema, table);
        let target = Arc::clone(target.ok_or_else(no_such_table)?);
        let tables = self.catalog().schema(schema).into_iter();
        let tables = tables.flat_map(|schema| schema.tables.values());
        let mut names = tables.flat_map(|table| &table.indexes).map(Index::name);
        let is_taken = names.any(|known| self.is_same(known, &index.name));
        drop(names);
        if is_taken {
            return Err(invalid("there is an index of this name already"));
        }
        let is_primary = index.kind == IndexKind::Primary;
        if is_primary
            && target
                .indexes
                .iter()
                .any(|i| i.kind() == IndexKind::Primary)
        {
            return Err(invalid("the table has a primary key already"));
        }
        let mut column_ids = Vec::with_capacity(index.columns.len());
        for name in &index.columns {
            let column = target.column(name).ok_or_else(no_such_column)?;
            if !can_be_key(&column.ty) {
                return Err(invalid(
                    "a column of type INTERVAL, LIST, STRUCT or ENUM cannot be part of a key",
                ));
            }
            if column_ids.contains(&column.id) {
                return Err(invalid("a column stands in the key twice"));
            }
            if is_primary && column.nullable {
                return Err(invalid("a column of a primary key must not allow NULL"));
            }
            column_ids.push(column.id);
        }
        if column_ids.is_empty() {
            return Err(invalid("an index has at least one column"));
        }
        self.lock_definition(Some(target.id))?;
        let mut made = Index::new(IndexInfo {
            name: index.name,
            kind: index.kind,
            column_ids,
        });
        self.store.fill_index(&mut made, &target, &mut self.fresh)?;
        let at = if is_primary { 0 } else { target.indexes.len() };
        self.definition_mut(schema, table)?.indexes.insert(at, made);
        Ok(())
    }

    /// Drops an index of a table.
    ///
    /// # Errors
    /// InvalidInput if there is no such table or index.
    pub fn drop_index(&mut self, schema: &str, table: &str, name: &str) -> Result<()> {
        let indexes = &mut self.definition_mut(schema, table)?.indexes;
        let before = indexes.len();
        indexes.retain(|index| index.name() != name);
        if indexes.len() == before {
            return Err(invalid("there is no such index"));
        }
        self.forget_comments(schema, &[CommentKind::Index], table, Some(name))
    }
}

impl Store {
    /// The keys of a stored row group, for each index of its table.
    pub(super) fn keys_of(
        &self,
        table: &TableVersion,
        group: &RowGroup,
    ) -> Result<Option<Arc<[Arc<RunKeys>]>>> {
        if table.indexes.is_empty() {
            return Ok(None);
        }
        let keys = table.indexes.iter();
        let keys = keys.map(|index| self.run_of(index, table, group).map(Arc::new));
        Ok(Some(keys.collect::<Result<_>>()?))
    }

    /// Fills an index without entries from a table's rows. When keys take too much of the memory that is there, those that
    /// were found are stored.
    fn fill_index(
        &self,
        index: &mut Index,
        table: &TableVersion,
        fresh: &mut FreshBlocks,
    ) -> Result<()> {
        let most = self.blocks.pool().for_blocks() / KEYS_SHARE;
        for group in table.row_groups()? {
            let keys = self.run_of(index, table, group)?;
            index.add_run(group.first_row_id, Arc::new(keys));
            if index.run_bytes() > most.max(LEAST_KEY_BYTES) {
                self.store_runs(index, table, fresh)?;
            }
        }
        index.verify_runs_are_unique(&self.blocks)
    }

    /// Stores the entries of an index that no other state has; blocks that are replaced are given back at once.
    fn store_runs(
        &self,
        index: &mut Index,
        table: &TableVersion,
        fresh: &mut FreshBlocks,
    ) -> Result<()> {
        index.verify_runs_are_unique(&self.blocks)?;
        let (mut before, mut after) = (HashSet::new(), HashSet::new());
        index.collect_blocks(&self.blocks, None, &mut before)?;
        index.store(
            &self.blocks,
            table.row_count(),
            &table.visibility(),
            &mut |bytes| self.write_aside(Role::Index, bytes, fresh),
        )?;
        index.collect_blocks(&self.blocks, None, &mut after)?;
        fresh.give_back(before.difference(&after));
        Ok(())
    }

    /// The keys of the visible rows of a row group.
    pub(super) fn run_of(
        &self,
        index: &Index,
        table: &TableVersion,
        group: &RowGroup,
    ) -> Result<RunKeys> {
        let types = index.types(&table.columns)?;
        let ids = index.column_ids().iter();
        let columns = ids.filter_map(|id| table.columns.iter().find(|column| column.id == *id));
        let arrays = columns.map(|column| self.read_column(group, column, None));
        let arrays: Vec<ArrayRef> = arrays.collect::<Result<_>>()?;
        let arrays: Vec<&ArrayRef> = arrays.iter().collect();
        let pool = self.blocks.pool();
        RunKeys::of(&types, &arrays, group.visible().as_ref(), pool)
    }
}
