//! `MemoryBudget`: the memory that operators reserve, and what is left to the buffer pool.
//!
//! What must hold: reservations stay below the limit, as far as operators ask before they take; the buffer pool gets what
//! they leave, and lets blocks go when they grow. An operator that can spill gets more than an equal share only while there
//! is memory to spare, so that one that begins later is not turned away.

use super::resident::Resident;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use hushdb_storage::BufferPool;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// A share of the limit that the buffer pool keeps, whatever operators ask for.
const POOL_SHARE: usize = 8;

/// One limit for operators and opened blocks.
pub struct MemoryBudget {
    blocks: Arc<BufferPool>,
    state: Mutex<State>,
    resident: Option<Resident>,
}

#[derive(Debug, Default)]
struct State {
    limit: usize,
    /// The operators that were refused once already, when each is to be.
    refused_once: Option<HashSet<usize>>,
    /// Operators that can spill.
    spillers: usize,
    spillable: usize,
    unspillable: usize,
}

/// What an operator does when it gets no more memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// Its least share, which it always gets, is one of so many.
    OrSpills {
        least: usize,
    },
    /// A hash join's: it is divided. It leaves a third to operators above it, which need memory at the same time.
    ForBuildSide,
    /// A window's: a large one spills or is refused. It leaves what sorts below it need to merge.
    ForPartition,
    /// Rows on their way from one partition to others. They are counted, so that others spill, and never spill themselves.
    InTransit,
    /// A merge of what an operator holds or has spilled: without it that is of no use.
    ToMerge,
    WithoutSpilling,
}

impl Asks {
    fn of(consumer: &MemoryConsumer) -> Self {
        match consumer.can_spill() {
            // DataFusion's repartitioning may wait for ever once it spills: writers that share a pool leave several files
            // open, a reader waits for more in the first, and all writers wait for readers.
            true if consumer.name().starts_with("RepartitionExec[") => Self::InTransit,
            // It reads what it has spilled with the same reservation, and cannot spill then.
            true if consumer.name().contains("AggregateStream") => Self::OrSpills { least: 8 },
            true => Self::OrSpills { least: 32 },
            false if consumer.name().starts_with("HashJoinInput") => Self::ForBuildSide,
            false if consumer.name().starts_with("WindowAggExec") => Self::ForPartition,
            false if consumer.name().contains("Merge") => Self::ToMerge,
            false => Self::WithoutSpilling,
        }
    }
}

/// Whether a consumer's reservations say what it takes. Of a merge of sorted inputs they do not: its rows point into buffers
/// that the sorts below hold and count, and it has two batches of each.
fn is_counted(consumer: &MemoryConsumer) -> bool {
    !consumer.name().starts_with("SortPreservingMergeExec")
}

/// What is counted of a reservation of so many bytes. A hash join copies its build side into one batch at the end, beside the batches
/// that it has reserved.
fn counted(consumer: &MemoryConsumer, bytes: usize) -> usize {
    match consumer.name().starts_with("HashJoinInput") {
        true => bytes.saturating_add(bytes / 2),
        false => bytes,
    }
}

/// What is counted more when a reservation of `size` bytes grows.
fn growth(reservation: &MemoryReservation, size: usize, additional: usize) -> usize {
    let consumer = reservation.consumer();
    counted(consumer, size.saturating_add(additional)) - counted(consumer, size)
}

impl State {
    fn reserved(&self) -> usize {
        self.spillable + self.unspillable
    }

    /// What operators may have together.
    fn for_operators(&self) -> usize {
        self.limit - self.limit / POOL_SHARE
    }

    /// Whether a reservation may grow to `size` by `additional`.
    fn allows(&self, asks: Asks, size: usize, additional: usize) -> bool {
        let all = self.for_operators();
        let after = self.reserved().saturating_add(additional);
        let for_merges = all / 3;
        let sum = size.saturating_add(additional);
        match asks {
            // As much as it merges at once, which is bounded by itself.
            Asks::ToMerge | Asks::InTransit => true,
            // What takes little is not worth a failure.
            Asks::WithoutSpilling => after <= all || sum <= all / 16,
            Asks::ForPartition => after <= all - for_merges,
            Asks::ForBuildSide => {
                let unspillable = self.unspillable.saturating_add(additional);
                after <= all && (unspillable <= all / 3 * 2 || sum <= all / 32)
            }
            // Who holds nothing has nothing to spill, and could not go on.
            Asks::OrSpills { least } if size == 0 || sum <= all / least => true,
            Asks::OrSpills { .. } => {
                let to_spare = all / 2;
                let equal = all.saturating_sub(self.unspillable) / self.spillers.max(1);
                after <= all - for_merges && (after <= to_spare || sum <= equal)
            }
        }
    }

    /// Whether an operator is to spill now although there is memory. It can only once it holds something: a sort its second
    /// batch of rows, others their first, but for aggregates of which that may be empty.
    fn forces(&mut self, consumer: &MemoryConsumer, size: usize) -> bool {
        let Some(refused) = &mut self.refused_once else {
            return false;
        };
        let name = consumer.name();
        let holds_some = if name.starts_with("Sort[") {
            size > 0
        } else {
            // One that gives out groups as they end has no use for spilling, and cannot.
            name.contains("HashAggregateStream")
                && consumer.can_spill()
                && (size > 0 || name.starts_with("Final"))
                || name.starts_with("NestedLoopJoinLoad[") && !name.ends_with("[fallback]")
                || name == "CrossJoinExec"
        };
        holds_some && refused.insert(consumer.id())
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
        self.resident = Some(Resident::default());
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

    /// Reservations change wherever memory is taken in quantity: the moments to look at what is resident.
    fn hold_resident(&self, state: MutexGuard<'_, State>) {
        let limit = state.limit;
        drop(state);
        if let Some(resident) = &self.resident {
            resident.hold(limit);
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
        if consumer.can_spill() {
            self.state.lock().spillers += 1;
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        let mut state = self.state.lock();
        if consumer.can_spill() {
            state.spillers = state.spillers.saturating_sub(1);
        }
        if let Some(refused) = &mut state.refused_once {
            refused.remove(&consumer.id());
        }
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        if !is_counted(reservation.consumer()) {
            return;
        }
        let can_spill = reservation.consumer().can_spill();
        let additional = growth(reservation, reservation.size(), additional);
        self.change(|state| match can_spill {
            true => state.spillable += additional,
            false => state.unspillable += additional,
        });
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        if !is_counted(reservation.consumer()) {
            return;
        }
        let can_spill = reservation.consumer().can_spill();
        // It is smaller already.
        let shrink = growth(reservation, reservation.size(), shrink);
        self.change(|state| {
            let part = match can_spill {
                true => &mut state.spillable,
                false => &mut state.unspillable,
            };
            *part = part.saturating_sub(shrink);
        });
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        // Who asks for nothing may have no rows, which cannot be spilled.
        if additional == 0 || !is_counted(reservation.consumer()) {
            return Ok(());
        }
        let can_spill = reservation.consumer().can_spill();
        let mut state = self.state.lock();
        let (consumer, size) = (reservation.consumer(), reservation.size());
        let additional = growth(reservation, size, additional);
        let size = counted(consumer, size);
        if state.forces(consumer, size) || !state.allows(Asks::of(consumer), size, additional) {
            // Operators take this kind of error as the sign to spill.
            return Err(DataFusionError::ResourcesExhausted(format!(
                "could not allocate {additional} bytes for {} ({} of {} bytes are in use): raise memory_limit",
                consumer.name(),
                state.reserved(),
                state.limit,
            )));
        }
        match can_spill {
            true => state.spillable += additional,
            false => state.unspillable += additional,
        }
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
        let one = MemoryConsumer::new("one").register(&pool);
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
        let spiller = |name| {
            let consumer = MemoryConsumer::new(name).with_can_spill(true);
            consumer.register(&pool)
        };
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
        let merge = MemoryConsumer::new("SortMerge").register(&pool);
        merge.try_grow(1000).unwrap();
    }
}
