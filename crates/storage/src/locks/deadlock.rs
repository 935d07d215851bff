//! Who waits for whom.
//!
//! What must hold: who waits, waits for those that hold what does not go with its own, and for those before it in the queue that want such;
//! nobody gets on where these edges make a circle.

use std::collections::HashSet;

use super::lock_table::LockState;

/// Whether an owner waits for itself, by way of others.
pub(super) fn is_in_cycle(state: &LockState, owner: u64) -> bool {
    let mut seen = HashSet::new();
    let mut next = waits_for(state, owner);
    while let Some(other) = next.pop() {
        if other == owner {
            return true;
        }
        if seen.insert(other) {
            next.extend(waits_for(state, other));
        }
    }
    false
}

/// Those that an owner waits for.
pub(super) fn waits_for(state: &LockState, owner: u64) -> Vec<u64> {
    let lock = state.waits.get(&owner).and_then(|key| state.locks.get(key));
    let Some(lock) = lock else {
        return Vec::new();
    };
    let at = lock.queue.iter().position(|waiter| waiter.owner == owner);
    let Some((at, waiter)) = at.and_then(|at| Some((at, lock.queue.get(at)?))) else {
        return Vec::new();
    };
    let holders = lock.holders.iter().copied();
    let before = lock.queue.iter().take(at).map(|w| (w.owner, w.mode));
    let stands_in_the_way = holders
        .chain(before)
        .filter(|(other, mode)| *other != owner && !mode.goes_with(waiter.mode));
    stands_in_the_way.map(|(other, _)| other).collect()
}
