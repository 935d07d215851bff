//! Replaying records onto the state that their log builds on.
//!
//! What must hold: the state is the same as if each change were made by itself; consecutive rows, and deleted ones, are gathered
//! first, since a log of small commits has millions.

use std::collections::BTreeMap;
use std::sync::Arc;

use hushdb_encoding::wire::WireError;
use roaring::RoaringTreemap;

use super::catalog_version::CatalogVersion;
use super::change_record::{Logged, LoggedChange, LoggedRows, decode};
use super::gathered_rows::GatheredRows;
use super::rebase::{TableChange, replayed, replayed_without};
use super::sequence::SequencePoint;
use crate::error::Result as StoreResult;
use crate::numbers::{RowId, TableId};
use crate::row_group::RowGroup;
use crate::row_keys::RunKeys;
use crate::table::{MERGED_BYTES, MERGED_ROWS, TableVersion, merge};

const UNPARSED: &str = "its payload does not parse";
/// From this many rows on, their keys are sorted together rather than put into the index one by one.
const SORTED_ROWS: u32 = 1024;

/// What is done about a change that does not fit the state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Misfit {
    /// It is an error.
    Refused,
    /// It is left out, for a salvage: changes of a table that is lost, and deletes of rows that are.
    LeftOut,
}

/// A state, and changes that are about to be made to it.
pub(crate) struct Replay {
    catalog: CatalogVersion,
    misfit: Misfit,
    /// By the table that they are added to.
    held: BTreeMap<TableId, Held>,
}

/// Rows that follow each other, and rows that go.
#[derive(Default)]
struct Held {
    /// Of the table, or of those that are held.
    deleted: RoaringTreemap,
    groups: Vec<RowGroup>,
    /// Behind those.
    gathered: Option<GatheredRows>,
    rows: u32,
    bytes: usize,
    /// The id behind the last row's.
    rows_end: RowId,
    /// The id that the table's next row gets.
    end_row_id: RowId,
}

impl Held {
    /// Whether rows follow, and all together stay small.
    fn takes(&self, rows: &LoggedRows<'_>) -> bool {
        self.rows == 0
            || self.rows_end == rows.first_row_id
                && self.rows.saturating_add(rows.rows) <= MERGED_ROWS
                && self.bytes < MERGED_BYTES
    }

    fn push(&mut self, rows: LoggedRows<'_>) -> Result<(), WireError> {
        self.rows = self.rows.saturating_add(rows.rows);
        self.bytes += rows.bytes();
        self.rows_end = rows.end_row_id();
        self.end_row_id = self.rows_end;
        let gathered = self.gathered.as_mut();
        if gathered.is_some_and(|gathered| gathered.add(&rows)) {
            return Ok(());
        }
        self.close()?;
        self.gathered = GatheredRows::begin(&rows);
        if self.gathered.is_none() {
            self.groups.push(rows.in_memory()?);
        }
        Ok(())
    }

    /// Makes a row group of what was gathered.
    fn close(&mut self) -> Result<(), WireError> {
        if let Some(gathered) = self.gathered.take() {
            self.groups.push(gathered.finish()?);
        }
        Ok(())
    }
}

impl Replay {
    pub(super) fn new(catalog: CatalogVersion, misfit: Misfit) -> Self {
        Self {
            catalog,
            misfit,
            held: BTreeMap::new(),
        }
    }

    /// A replay in which everything must fit.
    pub(crate) fn strict(catalog: CatalogVersion) -> Self {
        Self::new(catalog, Misfit::Refused)
    }

    /// Makes the changes of a record's payload. Returns the number of its transactions.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn apply(&mut self, payload: &[u8]) -> Result<u64, &'static str> {
        let (count, changes) = decode(payload).map_err(|WireError| UNPARSED)?;
        for change in changes {
            match change {
                Logged::Table(change) => self.change(change)?,
                Logged::Sequence(id, point) => self.go_on(id, point)?,
            }
        }
        Ok(count)
    }

    /// Numbers of a sequence were given out up to a point.
    fn go_on(&mut self, id: TableId, point: SequencePoint) -> Result<(), &'static str> {
        let sequence = self.catalog.sequences().find(|sequence| sequence.id == id);
        match sequence.is_some_and(|sequence| sequence.go_to(point)) {
            true => Ok(()),
            false if self.misfit == Misfit::LeftOut => Ok(()),
            false => Err("it has a sequence go where it cannot be, or one that is not there"),
        }
    }

    /// The state with all changes, and what is wrong with the last of them.
    pub(crate) fn finish(mut self) -> (CatalogVersion, Result<(), &'static str>) {
        let mut whole = Ok(());
        while let Some((table_id, held)) = self.held.pop_first() {
            whole = whole.and(self.add(table_id, held));
        }
        (self.catalog, whole)
    }

    fn change(&mut self, change: LoggedChange<'_>) -> Result<(), &'static str> {
        let id = change.table_id;
        let table = self.catalog.table_by_id(id);
        let Some(table) = table.filter(|table| suits(table, &change)) else {
            return match self.misfit {
                Misfit::Refused => {
                    Err("it adds rows of other types or to a table that is not there")
                }
                Misfit::LeftOut => Ok(()),
            };
        };
        let next_row_id = table.next_row_id;
        let whole = change.added.iter().all(|group| group.deletes.is_none());
        // What is left out is known one change at a time.
        let leaves_out = self.misfit == Misfit::LeftOut && !change.deleted.is_empty();
        if whole && !leaves_out {
            return self.hold(next_row_id, change);
        }
        if let Some(held) = self.held.remove(&id) {
            self.add(id, held)?;
        }
        let change = change.in_memory().map_err(|WireError| UNPARSED)?;
        match self.misfit {
            Misfit::Refused => replayed(&mut self.catalog, &change),
            Misfit::LeftOut => replayed_without(&mut self.catalog, &change),
        }
    }

    /// Puts a change to what is held for its table, which itself has `next_row_id`.
    fn hold(&mut self, next_row_id: RowId, change: LoggedChange<'_>) -> Result<(), &'static str> {
        const MISSING: &str = "rows that are not there";
        let id = change.table_id;
        let held = self.held.entry(id).or_insert_with(|| Held {
            end_row_id: next_row_id,
            ..Held::default()
        });
        let mut end = held.end_row_id;
        if change
            .deleted
            .max()
            .is_some_and(|last| last >= end.number())
        {
            return Err(MISSING);
        }
        let together = held.deleted.len() + change.deleted.len();
        held.deleted |= change.deleted;
        if held.deleted.len() < together {
            return Err(MISSING);
        }
        for rows in &change.added {
            if rows.first_row_id < end {
                return Err(MISSING);
            }
            end = rows.end_row_id();
        }
        if change.end_row_id < end {
            return Err(MISSING);
        }
        for rows in change.added {
            if self.held.get(&id).is_some_and(|held| !held.takes(&rows))
                && let Some(held) = self.held.remove(&id)
            {
                self.add(id, held)?;
            }
            let held = self.held.entry(id).or_default();
            held.push(rows).map_err(|WireError| UNPARSED)?;
        }
        if let Some(held) = self.held.get_mut(&id) {
            held.end_row_id = change.end_row_id;
        }
        Ok(())
    }

    /// Adds what was held for a table.
    fn add(&mut self, table_id: TableId, mut held: Held) -> Result<(), &'static str> {
        held.close().map_err(|WireError| UNPARSED)?;
        let mut added = held.groups;
        if added.len() > 1 {
            let all: Vec<&RowGroup> = added.iter().collect();
            let merged = merge(&all).map_err(|_| "rows too large to be held together")?;
            added = merged.map_or(added, |merged| vec![merged]);
        }
        if let Some(table) = self.catalog.table_by_id(table_id) {
            for group in added.iter_mut().filter(|group| group.rows >= SORTED_ROWS) {
                group.keys = sorted_keys(table, group).map_err(|_| "rows that are not there")?;
            }
        }
        let end_row_id = held.end_row_id;
        let change = |deleted, added| TableChange {
            table_id,
            deleted,
            added,
            end_row_id,
        };
        replayed(&mut self.catalog, &change(RoaringTreemap::new(), added))?;
        match held.deleted.is_empty() {
            true => Ok(()),
            false => replayed(&mut self.catalog, &change(held.deleted, Vec::new())),
        }
    }
}

/// The keys of a row group in memory, sorted, for each index of its table.
fn sorted_keys(table: &TableVersion, group: &RowGroup) -> StoreResult<Option<Arc<[Arc<RunKeys>]>>> {
    if table.indexes().is_empty() {
        return Ok(None);
    }
    let keys = table.indexes().iter().map(|index| {
        let (types, arrays) = index.key_columns(group, &table.columns)?;
        // A column that is NULL throughout has no keys.
        let arrays: Vec<_> = arrays
            .into_iter()
            .collect::<Option<_>>()
            .unwrap_or_default();
        let pool = table.blocks.pool();
        Ok(Arc::new(RunKeys::of(
            &types,
            &arrays,
            group.visible().as_ref(),
            pool,
        )?))
    });
    keys.collect::<StoreResult<_>>().map(Some)
}

/// Whether the rows that it adds are of the table's columns.
fn suits(table: &TableVersion, change: &LoggedChange<'_>) -> bool {
    change.added.iter().all(|rows| {
        rows.values.iter().all(|(id, ty, _)| {
            let column = table.columns.iter().find(|column| column.id == *id);
            column.is_some_and(|c| c.ty == *ty || c.ty.arrow() == ty.arrow())
        })
    })
}
