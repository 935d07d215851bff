//! Locks of rows that are read: SELECT ... FOR UPDATE and FOR SHARE.
//!
//! What must hold: a row that is said to be locked is in the newest state as it was read, and stays so until the owner lets go, as
//! far as those who change it take locks. Rows of the transaction's own need none: nobody else sees them.

use std::sync::Arc;

use arrow_array::ArrayRef;

use super::catalog_version::CatalogVersion;
use super::lock_owner::{LockOwner, LockedRows};
use super::transaction::Transaction;
use super::transaction_locks::{MANY_ROWS, MOST_ROWS, Touched, row_key};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::locks::{LockKey, LockMode};
use crate::numbers::{RowId, TableId};
use crate::row_keys::{Few, encode_key};
use crate::table::TableVersion;

/// Which of some rows were free to be locked.
#[derive(Debug, Default)]
pub struct FreeRows {
    /// Of each row in turn, whether it is locked now.
    pub locked: Vec<bool>,
    /// Whether any was free, but is not there any more.
    pub any_gone: bool,
}

/// The key by which rows were found: an index, and a value for each of its columns.
type FoundBy<'a> = (&'a Index, &'a [ArrayRef]);

impl Transaction {
    /// Locks rows that its statement is about to change, as [`Transaction::lock_rows`] in the mode `All`. `found_by` is the key that they
    /// all have.
    ///
    /// # Errors
    /// As [`Transaction::lock_rows`].
    pub fn lock_to_change(
        &self,
        table_id: TableId,
        ids: &[u64],
        found_by: FoundBy<'_>,
    ) -> Result<()> {
        self.lock_found(table_id, ids, LockMode::All, true, Some(found_by))
    }

    /// Locks rows of a table that its statement has read, all of them, in the mode `Share` or `All`.
    ///
    /// # Errors
    /// `Overtaken` if others have changed one of them: look again. `LockTimeout`, also where one is not free and nobody is to wait; as
    /// `LockOwner::lock`, and whatever reading keys reports. `InvalidInput` in a transaction that does not wait.
    pub fn lock_rows(
        &self,
        table_id: TableId,
        ids: &[u64],
        mode: LockMode,
        waits: bool,
    ) -> Result<()> {
        self.lock_found(table_id, ids, mode, waits, None)
    }

    fn lock_found(
        &self,
        table_id: TableId,
        ids: &[u64],
        mode: LockMode,
        waits: bool,
        found_by: Option<FoundBy<'_>>,
    ) -> Result<()> {
        let owner = self.lock_owner()?;
        let Some((base, ids)) = self.foreign(table_id, ids) else {
            return Ok(());
        };
        let lock = |key, mode| match waits {
            true => owner.lock(key, mode),
            false => match owner.try_lock(key, mode)? {
                true => Ok(()),
                false => Err(Error::LockTimeout),
            },
        };
        let table = LockKey::Table(base.id);
        let whole = mode_of_whole(base, mode);
        let is_whole = match row_key(base) {
            None => lock(table, whole).map(|()| true)?,
            Some(_) if ids.len() > MOST_ROWS => lock(table, whole).map(|()| true)?,
            Some(_) => {
                lock(table, LockMode::Rows)?;
                ids.len() > MANY_ROWS && owner.try_lock(table, whole)?
            }
        };
        if !is_whole {
            let found = match found_by {
                Some(found_by) => lock_of_found(owner, base, &ids, found_by)?,
                None => None,
            };
            let mut keys = match found {
                Some(keys) => keys,
                None => self.row_locks(owner, base, &ids)?,
            };
            // In order, so that two statements do not meet half-way.
            keys.sort_unstable();
            keys.dedup();
            keys.iter().try_for_each(|key| lock(*key, mode))?;
            if mode == LockMode::All {
                let base = Arc::clone(base);
                owner.keep_rows(LockedRows {
                    base,
                    ids: ids.clone(),
                    keys,
                });
            }
        }
        let newest = self.newest()?;
        let read = Touched {
            base,
            gone: ids,
            added: vec![],
            added_from: RowId::default(),
        };
        self.still_holds(&read, &newest)
    }

    /// Locks those of some rows that nobody else has locked, in turn, until `most` are; the rest is left as it is.
    ///
    /// # Errors
    /// As [`Transaction::lock_rows`], but for `LockTimeout`.
    pub fn lock_free_rows(
        &self,
        table_id: TableId,
        ids: &[u64],
        mode: LockMode,
        most: usize,
    ) -> Result<FreeRows> {
        let owner = self.lock_owner()?;
        let mut free = FreeRows::default();
        let Some((base, theirs)) = self.foreign(table_id, ids) else {
            free.locked = (0..ids.len()).map(|at| at < most).collect();
            return Ok(free);
        };
        let keyed = row_key(base).is_some();
        let table_mode = match keyed {
            true => LockMode::Rows,
            false => mode_of_whole(base, mode),
        };
        if !owner.try_lock(LockKey::Table(base.id), table_mode)? {
            free.locked = vec![false; ids.len()];
            return Ok(free);
        }
        let keys = match keyed {
            true => self.row_locks(owner, base, &theirs)?,
            false => vec![],
        };
        let mut count = 0;
        for id in ids {
            let is_own = RowId::new(*id) >= base.next_row_id;
            let key = theirs.binary_search(id).ok();
            let key = key.and_then(|at| keys.get(at).copied());
            if count == most {
                free.locked.push(false);
                continue;
            }
            let taken = match key {
                Some(key) => owner.take_if_free(key, mode)?,
                None => Some(false),
            };
            let newest = self.newest()?;
            let is_there = is_own || taken.is_some() && is_still_there(base, *id, &newest)?;
            if taken == Some(true) && !is_there {
                owner.let_go_of_last();
            }
            free.any_gone |= taken.is_some() && !is_there;
            let locked = taken.is_some() && is_there;
            count += usize::from(locked);
            free.locked.push(locked);
        }
        Ok(free)
    }

    fn lock_owner(&self) -> Result<&Arc<LockOwner>> {
        let owner = self.locks.as_ref();
        owner.ok_or_else(|| Error::InvalidInput("this transaction takes no locks".into()))
    }

    /// Those of some rows that others see too, in order and each once, and the table that has them.
    fn foreign(&self, table_id: TableId, ids: &[u64]) -> Option<(&Arc<TableVersion>, Vec<u64>)> {
        let base = self.base.table_by_id(table_id)?;
        let ids = ids
            .iter()
            .copied()
            .filter(|id| RowId::new(*id) < base.next_row_id);
        let mut ids: Vec<u64> = ids.collect();
        ids.sort_unstable();
        ids.dedup();
        Some((base, ids))
    }

    /// The locks of rows of a table that has keys for them, in the order of the ids.
    fn row_locks(
        &self,
        owner: &LockOwner,
        base: &Arc<TableVersion>,
        ids: &[u64],
    ) -> Result<Vec<LockKey>> {
        let index = row_key(base).and_then(|at| base.indexes().get(at));
        let index = index.ok_or_else(|| Error::InvalidInput("rows without a key".into()))?;
        let mut keys = Vec::with_capacity(ids.len());
        self.old_keys(base, index, ids, &mut |key| {
            keys.push(owner.lock_of(base.id, index.column_ids(), key));
        })?;
        match keys.len() == ids.len() {
            true => Ok(keys),
            false => Err(Error::InvalidInput("a row without a key".into())),
        }
    }
}

/// The lock of rows that were found by a key, if rows are locked by it.
fn lock_of_found(
    owner: &LockOwner,
    base: &TableVersion,
    ids: &[u64],
    (index, key): FoundBy<'_>,
) -> Result<Option<Vec<LockKey>>> {
    let by = row_key(base).and_then(|at| base.indexes().get(at));
    if ids.is_empty() || !by.is_some_and(|by| Arc::ptr_eq(&by.info, &index.info)) {
        return Ok(None);
    }
    let types = index.types(&base.columns)?;
    let arrays: Few<&ArrayRef> = key.iter().collect();
    let mut bytes = Vec::with_capacity(32);
    let is_whole = types.len() == arrays.len() && encode_key(&types, &arrays, 0, &mut bytes)?;
    Ok(is_whole.then(|| vec![owner.lock_of(base.id, index.column_ids(), &bytes)]))
}

/// How a whole table is locked in the place of its rows.
fn mode_of_whole(table: &TableVersion, mode: LockMode) -> LockMode {
    match (mode, row_key(table)) {
        (LockMode::Share, _) => LockMode::Share,
        (_, None) => LockMode::Change,
        (_, Some(_)) => LockMode::All,
    }
}

/// Whether a state has a row of a table as it was defined.
fn is_still_there(base: &TableVersion, id: u64, newest: &CatalogVersion) -> Result<bool> {
    match newest
        .table_by_id(base.id)
        .filter(|now| now.is_defined_as(base))
    {
        Some(now) => now.is_visible(RowId::new(id)),
        None => Ok(false),
    }
}
