//! `Tables`: the tables of one schema, by name and by id.
//!
//! What must hold: a state that differs from another in the rows of one table copies neither its names nor the other tables; a table is
//! where its name and its id say, and names come in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::Vector;

use crate::numbers::TableId;
use crate::table::TableVersion;

/// Tables by name; changed as a map of its own, and cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Copied when a table is made, dropped or renamed.
    places: Arc<Places>,
    tables: Vector<Arc<TableVersion>>,
}

#[derive(Clone, Debug, Default)]
struct Places {
    by_name: BTreeMap<String, usize>,
    by_id: BTreeMap<TableId, usize>,
}

impl Tables {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.tables.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The table of exactly that name.
    pub fn get(&self, name: &str) -> Option<&Arc<TableVersion>> {
        self.tables.get(*self.places.by_name.get(name)?)
    }

    /// The same, with its name.
    pub fn get_key_value(&self, name: &str) -> Option<(&String, &Arc<TableVersion>)> {
        let (name, at) = self.places.by_name.get_key_value(name)?;
        Some((name, self.tables.get(*at)?))
    }

    /// The table of that id.
    pub fn by_id(&self, id: TableId) -> Option<&Arc<TableVersion>> {
        self.tables.get(*self.places.by_id.get(&id)?)
    }

    /// Whether there is one of exactly that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.places.by_name.contains_key(name)
    }

    /// Names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &String> + Clone {
        self.places.by_name.keys()
    }

    /// Tables in the order of their names.
    pub fn values(&self) -> impl Iterator<Item = &Arc<TableVersion>> + Clone {
        self.iter().map(|(_, table)| table)
    }

    /// Names and tables, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Arc<TableVersion>)> + Clone {
        let places = self.places.by_name.iter();
        places.filter_map(|(name, at)| Some((name, self.tables.get(*at)?)))
    }

    /// The table of exactly that name, to be put into another state of it.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Arc<TableVersion>> {
        self.tables.get_mut(*self.places.by_name.get(name)?)
    }

    /// The same by its id.
    pub(crate) fn by_id_mut(&mut self, id: TableId) -> Option<&mut Arc<TableVersion>> {
        self.tables.get_mut(*self.places.by_id.get(&id)?)
    }

    /// All tables, likewise.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Arc<TableVersion>> {
        self.tables.iter_mut()
    }

    /// Puts a table under a name, in the place of the one that has it.
    pub(crate) fn insert(&mut self, name: String, table: Arc<TableVersion>) {
        if let Some(known) = self.get_mut(&name)
            && known.id == table.id
        {
            *known = table;
            return;
        }
        self.remove(&name);
        let places = Arc::make_mut(&mut self.places);
        places.by_id.insert(table.id, self.tables.len());
        places.by_name.insert(name, self.tables.len());
        self.tables.push_back(table);
    }

    /// Takes out the table of exactly that name.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Arc<TableVersion>> {
        let at = *self.places.by_name.get(name)?;
        let removed = self.tables.remove(at);
        let places = Arc::make_mut(&mut self.places);
        places.by_name.remove(name);
        places.by_id.remove(&removed.id);
        let all = places.by_name.values_mut().chain(places.by_id.values_mut());
        all.filter(|other| **other > at)
            .for_each(|other| *other -= 1);
        Some(removed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file::MemFile;
    use crate::store::{BlockStore, StoreOptions};

    fn table(id: u64, blocks: &Arc<BlockStore>) -> Arc<TableVersion> {
        let name = format!("t{id}");
        let blocks = Arc::clone(blocks);
        Arc::new(TableVersion::new(
            TableId::new(id),
            name,
            vec![],
            vec![],
            blocks,
        ))
    }

    proptest! {
        #[test]
        fn it_is_a_map_by_name_and_by_id(
            steps in prop::collection::vec((0u8..3, 0u8..30), 0..200)
        ) {
            let blocks = BlockStore::create(Arc::new(MemFile::new()), None, &StoreOptions::default());
            let blocks = Arc::new(blocks.unwrap());
            let (mut tables, mut plain) = (Tables::default(), BTreeMap::new());
            let before = tables.clone();
            for (at, (step, name)) in (1..).zip(steps) {
                let name = format!("n{name}");
                match (step, tables.get(&name).cloned()) {
                    (0, _) => prop_assert_eq!(
                        tables.remove(&name).map(|table| table.id),
                        plain.remove(&name)
                    ),
                    // Another state of the same one.
                    (1, Some(known)) => tables.insert(name, Arc::new(TableVersion::clone(&known))),
                    _ => {
                        tables.insert(name.clone(), table(at, &blocks));
                        plain.insert(name, TableId::new(at));
                    }
                }
            }
            prop_assert!(before.is_empty());
            prop_assert_eq!(tables.len(), plain.len());
            prop_assert!(tables.iter().map(|(name, table)| (name, &table.id)).eq(plain.iter()));
            for (name, id) in &plain {
                prop_assert_eq!(tables.by_id(*id).map(|table| table.id), Some(*id));
                prop_assert_eq!(tables.get(name).map(|table| table.id), Some(*id));
                prop_assert!(tables.by_id_mut(*id).is_some() && tables.get_key_value(name).is_some());
            }
        }
    }
}
