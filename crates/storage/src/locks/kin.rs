//! `Kin`: the owners that one transaction has in several stores, and circles of waits that go through more than one.
//!
//! What must hold: who waits in one store keeps waiting those who wait for what it holds in another. A circle over several stores
//! has an owner with kin in it, so these look; one of them gives up, not all. Tables are locked one after the other, never two.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::lock_table::LockTable;

/// One looks at a time.
static LOOKS: Mutex<()> = Mutex::new(());

/// The owners of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Kin {
    members: Mutex<Vec<(Weak<LockTable>, u64)>>,
    /// One of them has been told that it waits for itself, and waits no more.
    gives_up: AtomicBool,
}

impl Kin {
    /// Takes in an owner of a table.
    pub(crate) fn join(self: &Arc<Self>, table: &Arc<LockTable>, owner: u64) {
        table.has_kin(owner, Some(Arc::clone(self)));
        self.members.lock().push((Arc::downgrade(table), owner));
    }

    /// One of them is to wait.
    pub(crate) fn waits_again(&self) {
        self.gives_up.store(false, Ordering::Release);
    }

    fn all(&self) -> Vec<(Arc<LockTable>, u64)> {
        let members = self.members.lock();
        let there = members.iter();
        let there = there.filter_map(|(table, owner)| Some((table.upgrade()?, *owner)));
        there.collect()
    }

    /// Whether one of them waits for another, by way of others in any store. It is to give up then.
    pub(crate) fn waits_for_itself(self: &Arc<Self>) -> bool {
        let _alone = LOOKS.lock();
        let mut seen = HashSet::new();
        let mut next: Vec<(Arc<LockTable>, u64)> = Vec::new();
        let waits = |(table, owner): (Arc<LockTable>, u64)| {
            let others = table.waits_for(owner).into_iter();
            let others = others.map(move |other| (Arc::clone(&table), other));
            others.collect::<Vec<_>>()
        };
        self.all()
            .into_iter()
            .for_each(|own| next.extend(waits(own)));
        while let Some((table, owner)) = next.pop() {
            if !seen.insert((Arc::as_ptr(&table), owner)) {
                continue;
            }
            match table.kin_of(owner) {
                Some(kin) if Arc::ptr_eq(&kin, self) => {
                    self.gives_up.store(true, Ordering::Release);
                    return true;
                }
                Some(kin) if kin.gives_up.load(Ordering::Acquire) => (),
                Some(kin) => kin
                    .all()
                    .into_iter()
                    .for_each(|one| next.extend(waits(one))),
                None => next.extend(waits((table, owner))),
            }
        }
        false
    }
}
