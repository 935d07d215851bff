//! `Recent`: keys and ids of rows in memory, beside an index's tree.
//!
//! ```text
//! set      ordered, shared by versions: a change copies the nodes on its way, of 64 entries each, and counts the neighbours of each once more
//! changes  what was changed last, in order: a short list, which one that changes it copies whole
//! ```
//!
//! What must hold: what `changes` say of an entry goes before what the set has.

use std::ops::Bound;

use imbl::OrdSet;

use super::entry::Entry;
use crate::shared::Shared;
use crate::tree::split_entry;

/// So many changes stay beside the set where others build on a state.
const FEW: usize = 32;
/// So many at most, within a transaction.
const MOST: usize = 128;

/// An entry that came or went.
#[derive(Clone, Debug)]
struct Change {
    entry: Entry,
    is_there: bool,
}

/// Entries in order. A clone costs nothing that grows with their number.
#[derive(Clone, Default)]
pub(super) struct Recent {
    set: OrdSet<Entry>,
    changes: Shared<Change>,
}

impl Recent {
    /// Puts an entry in.
    pub(super) fn insert(&mut self, entry: &[u8]) {
        self.note(entry, true);
    }

    /// Takes an entry out, if it is there.
    pub(super) fn remove(&mut self, entry: &[u8]) {
        self.note(entry, false);
    }

    fn note(&mut self, entry: &[u8], is_there: bool) {
        let found = self.at(entry);
        let changes = self.changes.make_mut_with_room(FEW);
        match found {
            Ok(at) => {
                if let Some(change) = changes.get_mut(at) {
                    change.is_there = is_there;
                }
            }
            Err(at) => {
                let entry = Entry::from(entry);
                changes.insert(at, Change { entry, is_there });
            }
        }
        if self.changes.len() > MOST {
            self.gather();
        }
    }

    /// Puts changes into the set once they are more than a few: for a state that others build on, which copy the list.
    pub(super) fn gather_if_many(&mut self) {
        if self.changes.len() > FEW {
            self.gather();
        }
    }

    fn gather(&mut self) {
        let changes = std::mem::take(&mut self.changes);
        for change in &changes {
            match change.is_there {
                true => drop(self.set.insert(change.entry.clone())),
                false => drop(self.set.remove(change.entry.bytes())),
            }
        }
    }

    /// Where an entry is among the changes, or would be.
    fn at(&self, entry: &[u8]) -> Result<usize, usize> {
        let changes = self.changes.as_slice();
        changes.binary_search_by(|change| change.entry.bytes().cmp(entry))
    }

    fn is_changed(&self, entry: &Entry) -> bool {
        !self.changes.is_empty() && self.at(entry.bytes()).is_ok()
    }

    /// Whether there is none; it may say no where all that there was is gone.
    pub(super) fn has_none(&self) -> bool {
        self.set.is_empty() && self.changes.is_empty()
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.has_none() || self.iter().next().is_none()
    }

    /// About how many there are.
    pub(super) fn len(&self) -> usize {
        self.set.len() + self.changes.len()
    }

    /// One of them, or one that was.
    pub(super) fn any(&self) -> Option<&[u8]> {
        let change = self.changes.first().map(|change| &change.entry);
        self.set.get_min().or(change).map(Entry::bytes)
    }

    /// Appends the ids of rows that have a key; one may come twice.
    pub(super) fn find(&self, key: &[u8], ids: &mut Vec<u64>) {
        let id_of = |entry: &Entry| match split_entry(entry.bytes()) {
            Some((other, id)) if other == key => Some(id),
            _ => None,
        };
        // Mostly there is none, which is found out for less than where to begin with several.
        if self
            .set
            .get_next::<[u8]>(key)
            .is_some_and(|entry| id_of(entry).is_some())
        {
            let from = (Bound::Included(key), Bound::<&[u8]>::Unbounded);
            for entry in self.set.range::<_, [u8]>(from) {
                match id_of(entry) {
                    Some(_) if self.is_changed(entry) => {}
                    Some(id) => ids.push(id),
                    None => break,
                }
            }
        }
        let from = self.at(key).unwrap_or_else(|at| at);
        for change in self.changes.iter().skip(from) {
            match id_of(&change.entry) {
                Some(id) if change.is_there => ids.push(id),
                Some(_) => {}
                None => break,
            }
        }
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let set = self.set.iter().filter(|entry| !self.is_changed(entry));
        let mut set = set.map(Entry::bytes).peekable();
        let changes = self.changes.iter().filter(|change| change.is_there);
        let mut changes = changes.map(|change| change.entry.bytes()).peekable();
        std::iter::from_fn(move || match (set.peek(), changes.peek()) {
            (Some(a), Some(b)) if a > b => changes.next(),
            (None, _) => changes.next(),
            (Some(_), _) => set.next(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::tree::push_id;

    fn entry(key: u8, id: u8) -> Vec<u8> {
        let mut bytes = vec![key; 3];
        push_id(&mut bytes, u64::from(id));
        bytes
    }

    proptest! {
        #[test]
        fn it_has_what_a_plain_set_has(
            steps in prop::collection::vec((0u8..12, 0u8..20, any::<bool>(), 0u8..40), 0..600)
        ) {
            let (mut recent, mut plain) = (Recent::default(), BTreeSet::new());
            let mut before = None;
            for (at, (key, id, comes, gathers)) in steps.into_iter().enumerate() {
                let bytes = entry(key, id);
                match comes {
                    true => { recent.insert(&bytes); plain.insert(bytes); }
                    false => { recent.remove(&bytes); plain.remove(&bytes); }
                }
                if gathers == 0 {
                    recent.gather_if_many();
                }
                if at == 100 {
                    before = Some((recent.clone(), plain.clone()));
                }
            }
            for (recent, plain) in before.into_iter().chain([(recent, plain)]) {
                prop_assert!(recent.iter().eq(plain.iter().map(Vec::as_slice)));
                prop_assert_eq!(recent.is_empty(), plain.is_empty());
                prop_assert!(recent.len() >= plain.len());
                for key in 0..12 {
                    let mut ids = vec![];
                    recent.find(&[key; 3], &mut ids);
                    ids.sort_unstable();
                    let expected: Vec<u64> = (0..20).filter(|id| plain.contains(&entry(key, *id))).map(u64::from).collect();
                    prop_assert_eq!(ids, expected);
                }
            }
        }
    }
}
