//! VACUUM: a table's live rows are written into full row groups, and the file ends where its last block does.
//!
//! What must hold: rows keep their order and get new ids that were never used: an old id finds no row, so that a transaction that
//! began before and changes such a row conflicts; those that take locks wait until a table is done, as it waits for them. Old states
//! stay readable while a snapshot has them, and keep their space. The file is cut only behind everything that the superblock names
//! or that is allocated.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};

use super::checkpoint::blocks_of;
use super::store::Store;
use super::transaction::{Transaction, no_such_table};
use crate::error::{Error, Result};
use crate::interrupt::wait_for;
use crate::locks::Patience;
use crate::row_group::{Column, GatheredRows, MAX_COLUMN_RAW_BYTES, RowGroup, RowGroupBuilder};

/// Times that a table is tried which others change meanwhile.
const ATTEMPTS: usize = 5;
/// Times that the end of the file is looked at: what moves may lie behind what moved before.
const ROUNDS: usize = 4;
/// What was written anew is moved to the front of the file if one in so many of its sectors is free,
const WORTH_MOVING: u64 = 8;
/// and so many are.
const WORTH_MOVING_SECTORS: u64 = 64;

impl Transaction {
    /// Writes the rows of a table anew, under new ids, in the same order. Returns their number; 0 if there are
    /// none, or, with `only_if_loose`, if none are gone and no two row groups would be one.
    ///
    /// # Errors
    /// InvalidInput if there is no such table; whatever reading the rows reports; Full and Io of the file.
    pub fn vacuum_table(&mut self, schema: &str, table: &str, only_if_loose: bool) -> Result<u64> {
        let target = self.catalog().table(schema, table);
        let target = Arc::clone(target.ok_or_else(no_such_table)?);
        let groups = target.row_groups()?;
        let rows_per_group = self.store.row_group_rows();
        if groups.is_empty() || only_if_loose && !is_loose(groups, rows_per_group) {
            return Ok(0);
        }
        self.lock_definition(Some(target.id))?;
        let columns = target.columns.as_slice();
        let fields = columns
            .iter()
            .map(|c| Field::new(&c.name, c.ty.arrow(), true));
        let as_batch = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let unfit = |_| Error::InvalidInput("rows are not of the table's types".into());
        let mut builder = RowGroupBuilder::new(columns, rows_per_group);
        let mut end = target.next_row_id;
        let mut written = Vec::new();
        let mut write = |this: &mut Self, rows: GatheredRows| {
            let (mut group, fresh) = this.store.write_gathered(columns, rows)?.into_parts();
            this.fresh.absorb(fresh);
            group.keys = this.store.keys_of(&target, &group)?;
            group.first_row_id = end;
            let next = end.checked_add(u64::from(group.rows));
            end = next.ok_or_else(|| Error::Unsupported("more rows than row ids".into()))?;
            written.push(group);
            Ok::<_, Error>(())
        };
        for group in groups {
            let visible = group.visible();
            let read = |column: &Column| self.store.read_column(group, column, visible.as_ref());
            let arrays = columns.iter().map(read).collect::<Result<Vec<_>>>()?;
            let batch = RecordBatch::try_new(Arc::clone(&as_batch), arrays).map_err(unfit)?;
            for rows in builder.push(&batch)? {
                write(self, rows)?;
            }
        }
        if let Some(rows) = builder.cut() {
            write(self, rows)?;
        }

        self.changes.broken = true;
        let vacuumed = self.definition_mut(schema, table)?;
        vacuumed.set_rows(vec![], vec![]);
        for index in &mut vacuumed.indexes {
            index.clear();
        }
        vacuumed.append(written, end, end)?;
        self.changes.broken = false;
        Ok(target.row_count())
    }
}

impl Store {
    /// Writes the rows of a table, or of all, anew where that saves space, under new row ids, and shortens the file as far as
    /// nobody needs its end. Whoever holds an older state keeps its space from being used again.
    ///
    /// # Errors
    /// InvalidInput if there is no such table; Conflict if others go on changing it; whatever reading the rows reports;
    /// Full and Io of the file.
    pub fn vacuum(self: &Arc<Self>, table: Option<(&str, &str)>) -> Result<()> {
        // While commits go on, so that there is less to be stored while they wait.
        self.checkpoint()?;
        for (schema, name) in self.tables_to_vacuum(table) {
            self.vacuum_one(&schema, &name, table.is_some(), true)?;
            self.shrink()?;
        }
        // New row groups were written while the old ones were there, behind them.
        let info = self.info();
        let free = info.free_sectors.unwrap_or_default();
        if free < WORTH_MOVING_SECTORS || free.saturating_mul(WORTH_MOVING) < info.total_sectors {
            return self.shrink();
        }
        let end = info.total_sectors.saturating_sub(free);
        // Where they fit best may be just before the end.
        self.blocks.fill_front(true);
        let moved = self.move_to_front(table, end);
        self.blocks.fill_front(false);
        moved
    }

    /// Writes what lies at or behind the sector `end` anew, and ends the file behind what is left.
    fn move_to_front(self: &Arc<Self>, table: Option<(&str, &str)>, end: u64) -> Result<()> {
        if self.blocks.move_history_from(end)? {
            self.flip_alone()?;
        }
        for (schema, name) in self.tables_to_vacuum(table) {
            let snapshot = self.snapshot();
            let Some(found) = snapshot.table(&schema, &name) else {
                continue;
            };
            let lies_behind = blocks_of(found)?.iter().any(|block| block.sector >= end);
            drop(snapshot);
            if lies_behind {
                self.vacuum_one(&schema, &name, false, false)?;
                self.shrink()?;
            }
        }
        self.shrink()
    }

    fn tables_to_vacuum(&self, table: Option<(&str, &str)>) -> Vec<(String, String)> {
        if let Some((schema, name)) = table {
            return vec![(schema.to_owned(), name.to_owned())];
        }
        let snapshot = self.snapshot();
        let all = snapshot.schemas.iter().flat_map(|(schema, version)| {
            let names = version.tables.keys();
            names.map(|name| (schema.clone(), name.clone()))
        });
        all.collect()
    }

    /// Vacuums a table in a transaction of its own. One that is gone is an error if it `must_be`.
    fn vacuum_one(
        self: &Arc<Self>,
        schema: &str,
        name: &str,
        must_be: bool,
        only_if_loose: bool,
    ) -> Result<()> {
        let mut attempt = 1;
        let owner = self.lock_owner(Patience::Endless);
        loop {
            let mut txn = self.begin_on(self.look(&owner)?)?;
            txn.wait_by(&owner);
            if !must_be && txn.catalog().table(schema, name).is_none() {
                return Ok(());
            }
            let vacuumed = txn.vacuum_table(schema, name, only_if_loose);
            let done = match vacuumed {
                Ok(0) => return Ok(()),
                Ok(_) => txn.commit().map(|_| ()),
                Err(error) => Err(error),
            };
            match done {
                Err(Error::Conflict(_) | Error::Overtaken) if attempt < ATTEMPTS => attempt += 1,
                Err(Error::Overtaken) => {
                    let others = "other transactions go on changing the table";
                    return Err(Error::Conflict(others.into()));
                }
                result => return result,
            }
        }
    }

    /// Lets space be used again that nobody needs, and ends the file behind the last block that is needed.
    ///
    /// # Errors
    /// As [`Store::checkpoint`].
    pub fn shrink(&self) -> Result<()> {
        self.blocks.writable()?;
        let _alone = wait_for(&self.checkpointing)?;
        let mut log = wait_for(&self.log)?;
        let mut state = wait_for(&self.commit)?;
        for _ in 0..ROUNDS {
            let oldest = self.oldest_in_use(state.stored.generation);
            self.blocks.release(oldest)?;
            if !self.blocks.has_free_tail() {
                break;
            }
            self.flip_newest(&mut log, &mut state)?;
        }
        self.blocks.cut_tail()
    }
}

/// Whether rows are gone, or two neighbours fit one row group.
fn is_loose(groups: &[Arc<RowGroup>], rows_per_group: usize) -> bool {
    let fit = |pair: &[Arc<RowGroup>]| {
        let [a, b] = pair else {
            return false;
        };
        let raw = |group: &RowGroup| group.segments.iter().map(|s| s.raw_bytes).max();
        let raw_bytes = raw(a).unwrap_or(0).saturating_add(raw(b).unwrap_or(0));
        a.rows as usize + b.rows as usize <= rows_per_group && raw_bytes <= MAX_COLUMN_RAW_BYTES
    };
    groups.iter().any(|group| group.deletes.is_some()) || groups.windows(2).any(fit)
}
