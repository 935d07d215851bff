//! `MemoryBudget`: the memory that operators reserve, and what is left to the buffer pool.
//!
//! What must hold: reservations stay below the limit, as far as operators ask before they take; the buffer pool gets what
//! they leave, and lets blocks go when they grow. An operator that can spill gets more than an equal share only while there
//! is memory to spare, so that one that begins later is not turned away.

use super::claim::Claim;
use super::resident::Resident;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use hushdb_storage::BufferPool;
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// A share of the limit that the buffer pool keeps, whatever operators ask for.
const POOL_SHARE: usize = 8;

/// One limit for operators and opened blocks.
pub struct MemoryBudget {
    blocks: Arc<BufferPool>,
    state: Mutex<State>,
    resident: Option<Arc<Resident>>,
}

#[derive(Debug, Default)]
struct State {
    limit: usize,
    /// The operators that were refused once already, when each is to be.
    refused_once: Option<HashSet<usize>>,
    /// What each operator that is registered claims.
    claims: HashMap<usize, Claim>,
    /// Operators that can spill.
    spillers: usize,
    spillable: usize,
    unspillable: usize,
}

impl State {
    fn claim(&self, consumer: &MemoryConsumer) -> Claim {
        let stated = self.claims.get(&consumer.id()).copied();
        stated.unwrap_or_else(|| Claim::of(consumer))
    }

    /// Where an operator's bytes are counted.
    fn count(&mut self, consumer: &MemoryConsumer) -> &mut usize {
        match consumer.can_spill() {
            true => &mut self.spillable,
            false => &mut self.unspillable,
        }
    }

    fn reserved(&self) -> usize {
        self.spillable + self.unspillable
    }

    /// What operators may have together.
    fn for_operators(&self) -> usize {
        self.limit - self.limit / POOL_SHARE
    }

    /// Whether a reservation may grow to `size` by `additional`.
    fn allows(&self, claim: Claim, size: usize, additional: usize) -> bool {
        let all = self.for_operators();
        let after = self.reserved().saturating_add(additional);
        let for_merges = all / 3;
        let sum = size.saturating_add(additional);
        match claim {
            // As much as it merges at once, which is bounded by itself.
            Claim::Merge | Claim::InTransit | Claim::Borrowed => true,
            // What takes little is not worth a failure.
            Claim::Held | Claim::LoopSide => after <= all || sum <= all / 16,
            Claim::Partition => after <= all - for_merges,
            Claim::BuildSide => {
                let unspillable = self.unspillable.saturating_add(additional);
                after <= all && (unspillable <= all / 3 * 2 || sum <= all / 32)
            }
            // It reads what it has spilled with the same reservation, and cannot spill then.
            Claim::Groups | Claim::LastGroups | Claim::OrderedGroups => {
                self.allows_spiller(size, additional, all / 8)
            }
            Claim::SortedRows | Claim::Spilled => self.allows_spiller(size, additional, all / 32),
        }
    }

    /// The same of an operator that can spill, which always gets `least`.
    fn allows_spiller(&self, size: usize, additional: usize, least: usize) -> bool {
        let all = self.for_operators();
        let after = self.reserved().saturating_add(additional);
        let (for_merges, to_spare) = (all / 3, all / 2);
        let sum = size.saturating_add(additional);
        // Whatever holds nothing has nothing to spill, and could not go on.
        if size == 0 || sum <= least {
            return true;
        }
        let equal = all.saturating_sub(self.unspillable) / self.spillers.max(1);
        after <= all - for_merges && (after <= to_spare || sum <= equal)
    }

    /// Whether an operator is to spill now although there is memory.
    fn forces(&mut self, consumer: &MemoryConsumer, claim: Claim, size: usize) -> bool {
        match &mut self.refused_once {
            Some(refused) => claim.can_be_forced(size) && refused.insert(consumer.id()),
            None => false,
        }
    }
}

impl MemoryBudget {
    /// A budget of `limit` bytes, all of it the buffer pool's at first.
    pub fn new(blocks: Arc<BufferPool>, limit: usize) -> Self {
        blocks.set_budget(limit);
        let state = State {
            limit,
            ..State::default()
        };
        Self {
            blocks,
            state: Mutex::new(state),
            resident: None,
        }
    }

    /// Has what the allocator keeps given back to the system when more of the process is resident than may be.
    pub fn of_whole_process(mut self) -> Self {
        let resident = Arc::new(Resident::default());
        resident.set_limit(self.limit());
        self.resident = Some(Arc::clone(&resident));
        // Keys of indexes are found and stored, and columns encoded, without a change of reservations.
        self.blocks
            .look_between_pieces(move |blocks| resident.hold(blocks));
        self
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.state.lock().limit
    }

    /// Bytes that operators have reserved and opened blocks take.
    pub fn used(&self) -> usize {
        self.state.lock().reserved() + self.blocks.stats().held_bytes
    }

    /// Changes the limit. What operators have reserved stays theirs.
    pub fn set_limit(&self, limit: usize) {
        if let Some(resident) = &self.resident {
            resident.set_limit(limit);
        }
        self.change(|state| state.limit = limit);
    }

    /// Whether every operator that can spill does, however much memory there is.
    pub fn forces_spilling(&self) -> bool {
        self.state.lock().refused_once.is_some()
    }

    /// Has every operator that can spill do so, for tests.
    pub fn force_spilling(&self, force: bool) {
        self.state.lock().refused_once = force.then(HashSet::new);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        change(&mut state);
        self.leave_rest(&state);
        self.hold_resident(state);
    }

    /// Has a consumer that is about to be registered make a claim.
    pub(super) fn note_claim(&self, consumer: &MemoryConsumer, claim: Claim) {
        self.state.lock().claims.insert(consumer.id(), claim);
    }

    fn recount(&self, reservation: &MemoryReservation, change: impl FnOnce(Claim, &mut usize)) {
        let mut state = self.state.lock();
        let claim = state.claim(reservation.consumer());
        if claim != Claim::Borrowed {
            change(claim, state.count(reservation.consumer()));
            self.leave_rest(&state);
            self.hold_resident(state);
        }
    }

    /// Reservations change wherever memory is taken in quantity: the moments to look at what is resident.
    fn hold_resident(&self, state: MutexGuard<'_, State>) {
        drop(state);
        if let Some(resident) = &self.resident {
            resident.hold(&self.blocks);
        }
    }

    /// Gives the buffer pool what operators do not have.
    fn leave_rest(&self, state: &State) {
        let least = state.limit / POOL_SHARE;
        let rest = state.limit.saturating_sub(state.reserved());
        self.blocks.set_budget(rest.max(least));
    }
}

impl MemoryPool for MemoryBudget {
    fn name(&self) -> &str {
        "memory_limit"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        let mut state = self.state.lock();
        let claim = state.claims.entry(consumer.id());
        claim.or_insert_with(|| Claim::of(consumer));
        state.spillers += usize::from(consumer.can_spill());
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        let mut state = self.state.lock();
        state.claims.remove(&consumer.id());
        if consumer.can_spill() {
            state.spillers = state.spillers.saturating_sub(1);
        }
        if let Some(refused) = &mut state.refused_once {
            refused.remove(&consumer.id());
        }
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.recount(reservation, |claim, count| {
            *count += claim.growth(reservation.size(), additional);
        });
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.recount(reservation, |claim, count| {
            // It is smaller already.
            *count = count.saturating_sub(claim.growth(reservation.size(), shrink));
        });
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut state = self.state.lock();
        let (consumer, size) = (reservation.consumer(), reservation.size());
        let claim = state.claim(consumer);
        // Whatever asks for nothing may have no rows, which cannot be spilled.
        if additional == 0 || claim == Claim::Borrowed {
            return Ok(());
        }
        let additional = claim.growth(size, additional);
        let size = claim.counted(size);
        if state.forces(consumer, claim, size) || !state.allows(claim, size, additional) {
            // Operators take this kind of error as the sign to spill.
            return Err(DataFusionError::ResourcesExhausted(format!(
                "could not allocate {additional} bytes for {} ({} of {} bytes are in use): raise memory_limit",
                consumer.name(),
                state.reserved(),
                state.limit,
            )));
        }
        *state.count(consumer) += additional;
        self.leave_rest(&state);
        self.hold_resident(state);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.state.lock().reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit())
    }
}

impl fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryBudget({:?})", self.state.lock())
    }
}

impl fmt::Display for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_pool_gets_what_operators_leave() {
        let blocks = Arc::new(BufferPool::new(0));
        let budget = Arc::new(MemoryBudget::new(Arc::clone(&blocks), 800));
        let pool: Arc<dyn MemoryPool> = budget.clone();
        assert_eq!(blocks.stats().budget_bytes, 800);
        let one = Claim::Held.register("one", &pool);
        one.try_grow(600).unwrap();
        assert_eq!(blocks.stats().budget_bytes, 200);
        assert!(one.try_grow(101).is_err());
        one.try_grow(100).unwrap();
        assert_eq!(blocks.stats().budget_bytes, 100);
        budget.set_limit(400);
        assert!(one.try_grow(1).is_err());
        drop(one);
        assert_eq!((blocks.stats().budget_bytes, budget.reserved()), (400, 0));
    }

    #[test]
    fn what_others_may_need_is_shared_equally() {
        let blocks = Arc::new(BufferPool::new(0));
        let pool: Arc<dyn MemoryPool> = Arc::new(MemoryBudget::new(blocks, 1600));
        let spiller = |name| Claim::Spilled.register(name, &pool);
        let (first, second) = (spiller("first"), spiller("second"));
        first.try_grow(700).unwrap();
        second.try_grow(1).unwrap();
        assert!(first.try_grow(1).is_err());
        // A first batch is always held.
        let third = spiller("third");
        third.try_grow(2000).unwrap();
        assert!(third.try_grow(1).is_err());
        drop(third);
        second.try_grow(233).unwrap();
        assert!(second.try_grow(1).is_err());
        // A merge gets what it needs.
        let merge = Claim::Merge.register("merge", &pool);
        merge.try_grow(1000).unwrap();
    }
}
