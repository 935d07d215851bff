//! Foreign keys: rows of one table name rows of another, or of its own, by a key of theirs.
//!
//! What must hold: in every state that was committed, each key without NULL that a visible row of the child has, a visible row of the
//! parent has, too. A transaction notes the keys that its statements brought to a child or took from a parent; they are looked up when
//! a statement ends, and once more in the state that a commit makes, under the lock under which states follow each other. So of
//! two transactions of which one adds a child and one deletes its parent, the second to commit conflicts.

use std::collections::BTreeSet;
use std::sync::Arc;

use hushdb_encoding::wire::{Reader, WireError, Writer};

use super::catalog_version::CatalogVersion;
use super::transaction::{Transaction, no_such_table};
use super::transaction_ddl::{invalid, no_such_column};
use super::transaction_locks::new_keys;
use crate::error::{Error, Result};
use crate::index::{Index, IndexKind};
use crate::interrupt::Steps;
use crate::numbers::{ColumnId, TableId};
use crate::row_group::RowGroup;
use crate::row_keys::RunKeys;
use crate::table::TableVersion;

/// What of a child names which key of a parent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ForeignKey {
    /// The table whose rows name others.
    pub child: TableId,
    /// Its columns, of which an index of it is.
    pub columns: Vec<ColumnId>,
    /// The table whose rows are named.
    pub parent: TableId,
    /// Columns of a primary key or UNIQUE of it, in its order.
    pub parent_columns: Vec<ColumnId>,
}

impl ForeignKey {
    /// The fewest bytes that one takes in a file.
    pub(super) const SMALLEST: usize = 8 + 8 + 4 + 8;

    pub(super) fn write(&self, out: &mut Writer) {
        out.u64(self.child.number());
        out.u64(self.parent.number());
        out.count(self.columns.len());
        for (own, other) in self.columns.iter().zip(&self.parent_columns) {
            out.u32(own.number());
            out.u32(other.number());
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let (child, parent) = (TableId::new(reader.u64()?), TableId::new(reader.u64()?));
        let count = reader.count(8)?;
        let (mut columns, mut parent_columns) = (vec![], vec![]);
        for _ in 0..count {
            columns.push(ColumnId::new(reader.u32()?));
            parent_columns.push(ColumnId::new(reader.u32()?));
        }
        match count {
            0 => Err(WireError),
            _ => Ok(Self {
                child,
                columns,
                parent,
                parent_columns,
            }),
        }
    }

    /// The index of the child that finds rows which name a key.
    fn index_of_child<'a>(&self, table: &'a TableVersion) -> Option<(usize, &'a Index)> {
        let mut indexes = table.indexes().iter().enumerate();
        indexes.find(|(_, index)| index.column_ids() == self.columns)
    }

    /// The index of the parent that has its keys.
    fn index_of_parent<'a>(&self, table: &'a TableVersion) -> Option<&'a Index> {
        let mut indexes = table.indexes().iter();
        indexes.find(|i| i.kind().is_unique() && i.column_ids() == self.parent_columns)
    }

    /// Whether an index is one that this key looks rows up by.
    pub fn needs(&self, table: TableId, index: &Index) -> bool {
        let of_child = table == self.child && index.column_ids() == self.columns;
        let of_parent = table == self.parent
            && index.kind().is_unique()
            && index.column_ids() == self.parent_columns;
        of_child || of_parent
    }

    /// The tables and indexes in a state; `None` where one of the tables is not there.
    ///
    /// # Errors
    /// InvalidInput where one of the indexes is not.
    fn lookup<'a>(&self, catalog: &'a CatalogVersion) -> Result<Option<Lookup<'a>>> {
        let (Some(child), Some(parent)) = (
            catalog.table_by_id(self.child),
            catalog.table_by_id(self.parent),
        ) else {
            return Ok(None);
        };
        let own = self.index_of_child(child).map(|(_, index)| index);
        let (own, other) = own
            .zip(self.index_of_parent(parent))
            .ok_or_else(|| invalid("a foreign key without its indexes"))?;
        Ok(Some(Lookup {
            child: (child, own),
            parent: (parent, other),
        }))
    }
}

/// Where keys are looked up.
struct Lookup<'a> {
    child: (&'a TableVersion, &'a Index),
    parent: (&'a TableVersion, &'a Index),
}

impl Lookup<'_> {
    /// Whether a key is in the parent, or no row of the child has it.
    fn holds(&self, key: &[u8]) -> Result<bool> {
        Ok(self.parent.0.has_key(self.parent.1, key)?
            || !self.child.0.has_key(self.child.1, key)?)
    }
}

/// Keys that a transaction has brought to children or taken from parents.
#[derive(Clone, Debug, Default)]
pub(super) struct TouchedKeys {
    /// Of statements that have ended.
    all: Arc<Vec<Touched>>,
    /// Of the statement that runs.
    fresh: Vec<Touched>,
}

/// Keys of a foreign key.
#[derive(Clone, Debug)]
struct Touched {
    key: Arc<ForeignKey>,
    keys: Keys,
    /// Whether a child was given them.
    is_missing: bool,
}

#[derive(Clone, Debug)]
enum Keys {
    Few(BTreeSet<Box<[u8]>>),
    /// Those of a row group, which its index holds, too.
    Of(Arc<RunKeys>),
}

impl Keys {
    fn all_hold(&self, lookup: &Lookup<'_>) -> Result<bool> {
        let mut steps = Steps::default();
        match self {
            Self::Few(keys) => {
                for key in keys {
                    steps.step()?;
                    if !lookup.holds(key)? {
                        return Ok(false);
                    }
                }
            }
            Self::Of(run) => {
                let mut last: Option<&[u8]> = None;
                for key in (0..run.len()).filter_map(|at| run.key_at(at)) {
                    steps.step()?;
                    if last != Some(key) && !lookup.holds(key)? {
                        return Ok(false);
                    }
                    last = Some(key);
                }
            }
        }
        Ok(true)
    }
}

/// All foreign keys of a state that a table has a part in.
fn keys_of(catalog: &CatalogVersion, table: TableId) -> Vec<Arc<ForeignKey>> {
    let schemas = catalog.schemas.values();
    let keys = schemas.flat_map(|schema| schema.foreign_keys.iter());
    let keys = keys.filter(|key| key.child == table || key.parent == table);
    keys.cloned().collect()
}

fn is_there(catalog: &CatalogVersion, key: &ForeignKey) -> bool {
    let mut schemas = catalog.schemas.values();
    schemas.any(|schema| schema.foreign_keys.iter().any(|known| **known == *key))
}

impl Transaction {
    /// Has rows of `child` name rows of `parent`, both of one schema. The child's columns get an index, called `index`, if there is none.
    ///
    /// # Errors
    /// InvalidInput if there are no such tables and columns, or no key of the parent's columns; `ForeignKey` if a row names one that
    /// is not there; as [`Transaction::create_index`].
    pub fn create_foreign_key(
        &mut self,
        schema: &str,
        child: (&str, &[String]),
        parent: (&str, &[String]),
        index: String,
    ) -> Result<()> {
        let ids = |table: &TableVersion, names: &[String]| -> Result<Vec<ColumnId>> {
            let id = |name: &String| Ok(table.column(name).ok_or_else(no_such_column)?.id);
            names.iter().map(id).collect()
        };
        let table = |name: &str| {
            let found = self.catalog().table(schema, name);
            found.cloned().ok_or_else(no_such_table)
        };
        let (own, other) = (table(child.0)?, table(parent.0)?);
        let key = Arc::new(ForeignKey {
            child: own.id,
            columns: ids(&own, child.1)?,
            parent: other.id,
            parent_columns: ids(&other, parent.1)?,
        });
        let types = |table: &TableVersion, names: &[String]| -> Vec<_> {
            let types = names.iter().filter_map(|name| table.column(name));
            types.map(|column| column.ty.clone()).collect()
        };
        if key.columns.is_empty() || types(&own, child.1) != types(&other, parent.1) {
            return Err(invalid("a foreign key of columns of other types"));
        }
        if key.index_of_parent(&other).is_none() {
            return Err(invalid("a foreign key to columns that are no key"));
        }
        if key.index_of_child(&own).is_none() {
            let index = crate::index::IndexDef {
                name: index,
                kind: IndexKind::Plain,
                columns: child.1.to_vec(),
            };
            self.create_index(schema, child.0, index)?;
        }
        // Whoever changes rows of either meanwhile does not know of it.
        self.definition_mut(schema, child.0)?;
        self.definition_mut(schema, parent.0)?;
        let keys = &mut self.definitions_mut(schema)?.foreign_keys;
        if !keys.contains(&key) {
            keys.push(Arc::clone(&key));
        }
        self.verify_all(&key)
    }

    /// Every row of the child names one that is there.
    fn verify_all(&self, key: &ForeignKey) -> Result<()> {
        let Some(child) = self.catalog().table_by_id(key.child) else {
            return Ok(());
        };
        let Some((_, index)) = key.index_of_child(child) else {
            return Ok(());
        };
        let Some(lookup) = key.lookup(self.catalog())? else {
            return Ok(());
        };
        for group in child.row_groups()? {
            let keys = Keys::Of(Arc::new(self.store.run_of(index, child, group)?));
            if !keys.all_hold(&lookup)? {
                return Err(Error::ForeignKey { is_missing: true });
            }
        }
        Ok(())
    }

    /// Notes the keys of rows that a table gets.
    pub(super) fn note_added(&mut self, id: TableId, groups: &[RowGroup]) -> Result<()> {
        for key in keys_of(self.catalog(), id) {
            if key.child != id {
                continue;
            }
            let table = self.changes.catalog.table_by_id(id).cloned();
            let table = table.ok_or_else(no_such_table)?;
            let Some((at, index)) = key.index_of_child(&table) else {
                return Err(invalid("a foreign key without its index"));
            };
            let mut few = BTreeSet::new();
            let mut noted = vec![];
            for group in groups {
                match group.keys.as_ref().and_then(|keys| keys.get(at)) {
                    Some(run) => noted.push(Keys::Of(Arc::clone(run))),
                    None => new_keys(&table, index, &[group], group.first_row_id, &mut |bytes| {
                        few.insert(bytes.into());
                        Ok(())
                    })?,
                }
            }
            noted.push(Keys::Few(few));
            let fresh = noted.into_iter().map(|keys| Touched {
                key: Arc::clone(&key),
                keys,
                is_missing: true,
            });
            self.changes.keys.fresh.extend(fresh);
        }
        Ok(())
    }

    /// Notes the keys of rows that go from a table, as it is with them.
    pub(super) fn note_gone(&mut self, table: &TableVersion, ids: &[u64]) -> Result<()> {
        for key in keys_of(self.catalog(), table.id) {
            if key.parent != table.id {
                continue;
            }
            let Some(index) = key.index_of_parent(table) else {
                return Err(invalid("a foreign key without its index"));
            };
            let mut few = BTreeSet::new();
            self.old_keys(table, index, ids, &mut |bytes| {
                few.insert(bytes.into());
            })?;
            self.changes.keys.fresh.push(Touched {
                key: Arc::clone(&key),
                keys: Keys::Few(few),
                is_missing: false,
            });
        }
        Ok(())
    }

    /// Whether rows of other tables, or of its own, may name those of a table.
    pub(super) fn is_parent(&self, id: TableId) -> bool {
        keys_of(self.catalog(), id)
            .iter()
            .any(|key| key.parent == id)
    }

    /// Looks up the keys that the statement which ends has touched.
    ///
    /// # Errors
    /// `ForeignKey` if a row names one that is not there: go back to a savepoint, or drop the transaction.
    pub fn verify_foreign_keys(&mut self) -> Result<()> {
        let fresh = std::mem::take(&mut self.changes.keys.fresh);
        for touched in &fresh {
            if !is_there(self.catalog(), &touched.key) {
                continue;
            }
            let lookup = touched.key.lookup(self.catalog())?;
            let holds = lookup.map_or(Ok(true), |lookup| touched.keys.all_hold(&lookup))?;
            if !holds {
                let is_missing = touched.is_missing;
                return Err(Error::ForeignKey { is_missing });
            }
        }
        if !fresh.is_empty() {
            Arc::make_mut(&mut self.changes.keys.all).extend(fresh);
        }
        Ok(())
    }

    /// Looks up all keys that this transaction has touched in a state that has what others did, too.
    ///
    /// # Errors
    /// Conflict if a row names one that is not there, or there is a key between tables of which this transaction did not know.
    pub(super) fn verify_in(&self, result: &CatalogVersion, newest: &CatalogVersion) -> Result<()> {
        for id in self.changes.rows.keys() {
            let known = keys_of(self.catalog(), *id);
            if keys_of(newest, *id).iter().any(|key| !known.contains(key)) {
                return Err(conflict());
            }
        }
        let changed = |id: TableId| match (self.base.table_by_id(id), newest.table_by_id(id)) {
            (Some(then), Some(now)) => then.changes != now.changes,
            _ => true,
        };
        for Touched { key, keys, .. } in self.changes.keys.all.iter() {
            if !is_there(result, key) || !(changed(key.child) || changed(key.parent)) {
                continue;
            }
            let lookup = key.lookup(result)?;
            if !lookup.map_or(Ok(true), |lookup| keys.all_hold(&lookup))? {
                return Err(conflict());
            }
        }
        Ok(())
    }

    /// Forgets the keys of a table that is dropped, which nobody names.
    ///
    /// # Errors
    /// InvalidInput if rows of another table name its rows.
    pub(super) fn forget_keys(&mut self, schema: &str, id: TableId) -> Result<()> {
        let keys = &self.schema_of(schema)?.foreign_keys;
        if keys.iter().any(|key| key.parent == id && key.child != id) {
            return Err(invalid("rows of another table name rows of this one"));
        }
        if keys.iter().any(|key| key.child == id) {
            self.schema_mut(schema)?
                .foreign_keys
                .retain(|key| key.child != id);
        }
        Ok(())
    }
}

fn conflict() -> Error {
    Error::Conflict(
        "another transaction changed rows that a foreign key of this one's rows is about".into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_and_a_part_of_one_does_not() {
        let key = ForeignKey {
            child: TableId::new(7),
            columns: vec![ColumnId::new(1), ColumnId::new(2)],
            parent: TableId::new(3),
            parent_columns: vec![ColumnId::new(5), ColumnId::new(4)],
        };
        let mut out = Writer::default();
        key.write(&mut out);
        let bytes = out.into_bytes();
        assert_eq!(ForeignKey::read(&mut Reader::new(&bytes)), Ok(key));
        for len in 0..bytes.len() {
            assert!(ForeignKey::read(&mut Reader::new(&bytes[..len])).is_err());
        }
        // None of no columns, nor of more than there are bytes.
        for count in [0, 0xff] {
            let mut edited = bytes.clone();
            edited[16..20].copy_from_slice(&[count, 0, 0, 0]);
            assert!(ForeignKey::read(&mut Reader::new(&edited)).is_err());
        }
    }
}
