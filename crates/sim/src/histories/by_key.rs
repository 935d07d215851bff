//! Rows by their primary key, and `ByKey`: a statement that is about one of them, which may go on from an older state.
//!
//! What must hold: what it does is what it would do to the newest state.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use hushdb_storage::{Error, MAIN_SCHEMA, Result, TableVersion, Transaction};

/// A key, or an amount, as a column has it.
pub(super) fn number(value: u64) -> ArrayRef {
    Arc::new(Int64Array::from(vec![value as i64]))
}

/// A table as a transaction sees it.
pub(super) fn table<'t>(txn: &'t Transaction, name: &str) -> Result<&'t Arc<TableVersion>> {
    let found = txn.catalog().table(MAIN_SCHEMA, name);
    found.ok_or_else(|| Error::InvalidInput("a table is gone".into()))
}

/// The rows with a primary key.
pub(super) fn find(txn: &Transaction, name: &str, key: u64) -> Result<Vec<u64>> {
    let table = table(txn, name)?;
    match table.indexes().first() {
        Some(index) => table.find(index, &[number(key)], 0),
        None => Err(Error::InvalidInput("a table without a key".into())),
    }
}

/// A statement that is about one key of a table.
#[derive(Clone, Copy)]
pub(super) struct ByKey<'a> {
    table: &'a str,
    key: u64,
    /// Whether it changes the row.
    changes: bool,
}

impl<'a> ByKey<'a> {
    pub(super) fn read(table: &'a str, key: u64) -> Self {
        Self {
            table,
            key,
            changes: false,
        }
    }

    pub(super) fn change(table: &'a str, key: u64) -> Self {
        Self {
            changes: true,
            ..Self::read(table, key)
        }
    }

    /// Whether the key means what the transaction sees of it: a row that is to be changed is locked, and looked at then.
    pub(super) fn is_newest(self, txn: &Transaction) -> Result<()> {
        let seen = table(txn, self.table)?;
        let index = seen.indexes().first();
        let index = index.ok_or_else(|| Error::InvalidInput("a table without a key".into()))?;
        let rows = find(txn, self.table, self.key)?;
        let by = (index, &[number(self.key)][..]);
        if self.changes && rows.len() == 1 {
            return txn.lock_to_change(seen.id, &rows, by);
        }
        match txn.is_newest_of(seen.id, by, &rows)? {
            true => Ok(()),
            false => Err(Error::Overtaken),
        }
    }
}
