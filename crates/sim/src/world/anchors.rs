//! Anchors: what was acknowledged when one was taken is there at every later opening, and a copy that goes on by itself is told from
//! the file that it is a copy of.

use std::sync::Arc;

use hushdb_keys::KeyProvider;
use hushdb_storage::{
    Anchor, ErrorKind, Freshness, MemFile, MemFiles, StorageFiles, Store, StoreOptions,
};

use super::{Checked, Handle, NAME, State, World, key_text};
use crate::changes;

/// Anchors that a world remembers.
const ANCHORS: usize = 40;
/// What the names of a database and its logs end with.
const ENDS: [&str; 3] = ["", ".wal", ".wal.next"];

/// The anchors of a world, and a copy of its files.
#[derive(Default)]
pub(super) struct Anchors {
    /// In the order in which they were taken; no two are equal.
    taken: Vec<Anchor>,
    copy: Option<Copy>,
}

struct Copy {
    files: [Option<Vec<u8>>; 3],
    state: State,
    /// Anchors that were taken before it.
    before: usize,
}

fn insist(anchor: Anchor) -> Freshness {
    Freshness {
        min_anchor: Some(anchor),
        ..Freshness::default()
    }
}

impl World {
    /// What the next opening insists on: nothing, or one of the anchors.
    pub(super) fn freshness(&mut self) -> Freshness {
        if self.anchors.taken.is_empty() || self.dice.chance(50) {
            return Freshness::default();
        }
        let at = self.dice.index(self.anchors.taken.len());
        insist(self.anchors.taken[at])
    }

    /// Takes an anchor of what is acknowledged.
    pub(super) fn take_anchor(&mut self, handle: &Handle) -> Checked<()> {
        if self.anchors.taken.len() >= ANCHORS {
            return Ok(());
        }
        match handle.store.anchor() {
            Ok(anchor) => {
                if self.anchors.taken.last() != Some(&anchor) {
                    self.anchors.taken.push(anchor);
                    self.report.anchors += 1;
                }
                Ok(())
            }
            Err(_) if self.excused(handle.faults_before) => Ok(()),
            Err(error) => Err(format!("no anchor is given: {error}")),
        }
    }

    /// Holds an open store against all anchors.
    pub(super) fn anchors_hold(&self, store: &Arc<Store>) -> Checked<()> {
        for anchor in &self.anchors.taken {
            if let Err(error) = store.holds(&insist(*anchor)) {
                let taken_of = anchor.generation;
                return match self.disk.is_down() || error.kind() == ErrorKind::Io {
                    true => Ok(()),
                    false => Err(format!(
                        "an anchor of generation {taken_of} does not hold: {error}"
                    )),
                };
            }
        }
        Ok(())
    }

    /// Copies the files of a store that was just opened, once in a world.
    pub(super) fn copy_files(&mut self, handle: &Handle) -> Checked<()> {
        let had = self.anchors.copy.is_some();
        // What a disk shows that failed is no state that anybody would copy.
        if had || !self.dice.chance(15) || self.excused(handle.faults_before) {
            return Ok(());
        }
        self.take_anchor(handle)?;
        let file = |end: &&str| self.disk.contents(&format!("{NAME}{end}"));
        self.anchors.copy = Some(Copy {
            files: ENDS.each_ref().map(file),
            state: self.state()?.clone(),
            before: self.anchors.taken.len(),
        });
        Ok(())
    }

    /// Puts the copy back on another disk, and goes on from it as if nothing had been: what was taken before it holds, and
    /// nothing that was taken since.
    pub(super) fn go_on_from_copy(&mut self) -> Checked<()> {
        let Some(copy) = self.anchors.copy.take() else {
            return Ok(());
        };
        let files = Arc::new(MemFiles::new());
        for (end, bytes) in ENDS.iter().zip(&copy.files) {
            if let Some(bytes) = bytes {
                files.put(end, Arc::new(MemFile::from_bytes(bytes)));
            }
        }
        let key = copy.state.keys.values().next().map(|key| key_text(*key));
        let open = |freshness| {
            let files = Arc::clone(&files) as Arc<dyn StorageFiles>;
            let key = key.as_ref().map(|key| key as &dyn KeyProvider);
            let options = StoreOptions {
                freshness,
                ..StoreOptions::default()
            };
            Store::open_in(files, key, &options)
        };
        let mut model = copy.state.model;
        for round in 0..4 {
            let words = |error| format!("a copy does not go on: {error}");
            let store = open(Freshness::default()).map_err(words)?;
            store.set_checkpoint_on_close(round % 2 == 0);
            for _ in 0..self.dice.between(1, 4) {
                let mut txn = store.begin().map_err(words)?;
                changes::change(&mut txn, &mut model, &mut self.dice).map_err(words)?;
                txn.commit().map_err(words)?;
            }
            drop(store);
            for (at, anchor) in self.anchors.taken.iter().enumerate() {
                let taken_of = anchor.generation;
                match (at < copy.before, open(insist(*anchor))) {
                    (true, Ok(_)) => {}
                    (false, Err(error)) if error.kind() == ErrorKind::Tampered => {
                        self.report.anchors_refused += 1;
                    }
                    (true, Err(error)) => {
                        return Err(format!(
                            "an anchor of generation {taken_of} before a copy: {error}"
                        ));
                    }
                    (false, Err(error)) => return Err(words(error)),
                    (false, Ok(_)) => {
                        return Err(format!(
                            "an anchor of generation {taken_of} that was taken after a copy holds for the copy"
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}
