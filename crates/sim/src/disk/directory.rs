//! `Directory`: which name is which file, as programs see it and as it would be found after a power cut.
//!
//! What must hold: a new, changed or removed name is durable after the directory was synced; until then any selection of
//! the changes may be, in order, a rename wholly or not at all.

use std::collections::BTreeMap;

use crate::dice::Dice;

type Names = BTreeMap<String, usize>;

#[derive(Clone, Debug)]
enum NameChange {
    Create(String, usize),
    Rename(String, String),
    Remove(String),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    names: Names,
    durable: Names,
    pending: Vec<NameChange>,
}

impl Directory {
    pub(super) fn get(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// Whether a file is reachable by any name, now or after a crash.
    pub(super) fn may_name(&self, file: usize) -> bool {
        self.names
            .values()
            .chain(self.durable.values())
            .any(|named| *named == file)
    }

    pub(super) fn create(&mut self, name: &str, file: usize) {
        self.change(NameChange::Create(name.to_owned(), file));
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) {
        self.change(NameChange::Rename(from.to_owned(), to.to_owned()));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.change(NameChange::Remove(name.to_owned()));
    }

    pub(super) fn sync(&mut self) {
        self.durable.clone_from(&self.names);
        self.pending.clear();
    }

    pub(super) fn crash(&mut self, dice: &mut Dice) {
        let percent = *dice.pick(&[0, 50, 100]);
        for change in self.pending.drain(..) {
            if dice.chance(percent) {
                change.apply(&mut self.durable);
            }
        }
        self.names.clone_from(&self.durable);
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.pending.push(change);
    }
}

impl NameChange {
    fn apply(&self, names: &mut Names) {
        match self {
            Self::Create(name, file) => {
                names.insert(name.clone(), *file);
            }
            Self::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Self::Remove(name) => {
                names.remove(name);
            }
        }
    }
}
