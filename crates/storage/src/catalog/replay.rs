//! Replaying records onto the state that their log builds on.
//!
//! Holds: the state is the same as if each change were made by itself; rows that follow each other are gathered first, since
//! a log of small commits has millions.

use std::collections::BTreeMap;

use roaring::RoaringTreemap;

use super::catalog_version::CatalogVersion;
use super::change_record::decode;
use super::rebase::{TableChange, replayed, replayed_without};
use super::wire::WireError;
use crate::table::{MERGED_BYTES, MERGED_ROWS, RowGroup, TableVersion, merge};

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
    held: BTreeMap<u64, Held>,
}

/// Row groups in memory that follow each other.
#[derive(Default)]
struct Held {
    groups: Vec<RowGroup>,
    rows: u32,
    bytes: usize,
    /// The id that the table's next row gets.
    end_row_id: u64,
}

impl Held {
    /// Whether a row group follows, and all together stay small.
    fn takes(&self, group: &RowGroup) -> bool {
        let last = self.groups.last().map(RowGroup::end_row_id);
        last == Some(group.first_row_id)
            && self.rows.saturating_add(group.rows) <= MERGED_ROWS
            && self.bytes < MERGED_BYTES
    }

    fn push(&mut self, group: RowGroup) {
        self.rows = self.rows.saturating_add(group.rows);
        self.bytes += group.memory_bytes();
        self.end_row_id = group.end_row_id();
        self.groups.push(group);
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
        let transactions = decode(payload).map_err(|WireError| "its payload does not parse")?;
        let count = transactions.len() as u64;
        for change in transactions.into_iter().flatten() {
            self.change(change)?;
        }
        Ok(count)
    }

    /// The state with all changes, and what is wrong with the last of them.
    pub(crate) fn finish(mut self) -> (CatalogVersion, Result<(), &'static str>) {
        let mut whole = Ok(());
        while let Some((table_id, held)) = self.held.pop_first() {
            whole = whole.and(self.add(table_id, held));
        }
        (self.catalog, whole)
    }

    fn change(&mut self, change: TableChange) -> Result<(), &'static str> {
        let id = change.table_id;
        let table = self.catalog.tables().find(|table| table.id == id);
        let Some(table) = table.filter(|table| suits(table, &change)) else {
            return match self.misfit {
                Misfit::Refused => {
                    Err("it adds rows of other types or to a table that is not there")
                }
                Misfit::LeftOut => Ok(()),
            };
        };
        let whole = change.added.iter().all(|group| group.deletes.is_none());
        if !whole || !change.deleted.is_empty() || change.added.is_empty() {
            if let Some(held) = self.held.remove(&id) {
                self.add(id, held)?;
            }
            return match self.misfit {
                Misfit::Refused => replayed(&mut self.catalog, &change),
                Misfit::LeftOut => replayed_without(&mut self.catalog, &change),
            };
        }
        let mut end = match self.held.get(&id) {
            Some(held) => held.end_row_id,
            None => table.next_row_id,
        };
        for group in &change.added {
            if group.first_row_id < end {
                return Err("rows that are not there");
            }
            end = group.end_row_id();
        }
        if change.end_row_id < end {
            return Err("rows that are not there");
        }
        for group in change.added {
            if self.held.get(&id).is_some_and(|held| !held.takes(&group))
                && let Some(held) = self.held.remove(&id)
            {
                self.add(id, held)?;
            }
            self.held.entry(id).or_default().push(group);
        }
        if let Some(held) = self.held.get_mut(&id) {
            held.end_row_id = change.end_row_id;
        }
        Ok(())
    }

    /// Adds what was held for a table.
    fn add(&mut self, table_id: u64, held: Held) -> Result<(), &'static str> {
        let all: Vec<&RowGroup> = held.groups.iter().collect();
        let merged = merge(&all).map_err(|_| "rows too large to be held together")?;
        let change = TableChange {
            table_id,
            deleted: RoaringTreemap::new(),
            added: merged.map_or(held.groups, |merged| vec![merged]),
            end_row_id: held.end_row_id,
        };
        replayed(&mut self.catalog, &change)
    }
}

/// Whether the rows that it adds are of the table's columns.
fn suits(table: &TableVersion, change: &TableChange) -> bool {
    change.added.iter().all(|group| {
        let mut values = group.memory.iter().flat_map(|memory| memory.iter());
        values.all(|(id, array)| {
            let column = table.columns.iter().find(|column| column.id == *id);
            column.is_some_and(|c| &c.ty.arrow() == array.data_type())
        })
    })
}
