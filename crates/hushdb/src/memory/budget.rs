//! `MemoryBudget`: the memory that operators reserve, and what is left to the buffer pool.
//!
//! What must hold: reservations stay below the limit, as far as operators ask before they take; the buffer pool gets what
//! they leave, and lets blocks go when they grow. An operator that can spill gets more than an equal share only while there
//! is memory to spare, so that one that begins later is not turned away.

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use hushdb_storage::BufferPool;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// A share of the limit that the buffer pool keeps, whatever operators ask for.
const POOL_SHARE: usize = 8;

/// One limit for operators and opened blocks.
pub(crate) struct MemoryBudget {
    blocks: Arc<BufferPool>,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    limit: usize,
    /// Operators that can spill.
    spillers: usize,
    spillable: usize,
    unspillable: usize,
}

/// What an operator does when it gets no more memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    OrSpills,
    /// A hash join's: it is divided. It leaves a third to operators above it, which need memory at the same time.
    ForBuildSide,
    WithoutSpilling,
}

impl Asks {
    fn of(consumer: &MemoryConsumer) -> Self {
        match consumer.can_spill() {
            true => Self::OrSpills,
            false if consumer.name().starts_with("HashJoinInput") => Self::ForBuildSide,
            false => Self::WithoutSpilling,
        }
    }
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
        if self.reserved().saturating_add(additional) > all {
            return false;
        }
        match asks {
            Asks::ForBuildSide => {
                let after = self.unspillable.saturating_add(additional);
                return after <= all / 3 * 2 || size + additional <= all / 32;
            }
            Asks::WithoutSpilling => return true,
            Asks::OrSpills => {}
        }
        // What merges what was spilled cannot spill itself.
        if self.reserved().saturating_add(additional) > all - all / 8 {
            return false;
        }
        let to_spare = all / 2;
        let equal = all.saturating_sub(self.unspillable) / self.spillers.max(1);
        self.reserved() + additional <= to_spare || size + additional <= equal
    }
}

impl MemoryBudget {
    /// A budget of `limit` bytes, all of it the buffer pool's at first.
    pub(crate) fn new(blocks: Arc<BufferPool>, limit: usize) -> Self {
        blocks.set_budget(limit);
        let state = State {
            limit,
            ..State::default()
        };
        Self {
            blocks,
            state: Mutex::new(state),
        }
    }

    /// The limit in bytes.
    pub(crate) fn limit(&self) -> usize {
        self.state.lock().limit
    }

    /// Changes the limit. What operators have reserved stays theirs.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.change(|state| state.limit = limit);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        change(&mut state);
        self.leave_rest(&state);
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
        if consumer.can_spill() {
            let mut state = self.state.lock();
            state.spillers = state.spillers.saturating_sub(1);
        }
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        let can_spill = reservation.consumer().can_spill();
        self.change(|state| match can_spill {
            true => state.spillable += additional,
            false => state.unspillable += additional,
        });
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        let can_spill = reservation.consumer().can_spill();
        self.change(|state| {
            let part = match can_spill {
                true => &mut state.spillable,
                false => &mut state.unspillable,
            };
            *part = part.saturating_sub(shrink);
        });
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let can_spill = reservation.consumer().can_spill();
        let mut state = self.state.lock();
        if !state.allows(
            Asks::of(reservation.consumer()),
            reservation.size(),
            additional,
        ) {
            // Operators take this kind of error as the sign to spill.
            return Err(DataFusionError::ResourcesExhausted(format!(
                "could not allocate {additional} bytes for {} ({} of {} bytes are in use): raise memory_limit",
                reservation.consumer().name(),
                state.reserved(),
                state.limit,
            )));
        }
        match can_spill {
            true => state.spillable += additional,
            false => state.unspillable += additional,
        }
        self.leave_rest(&state);
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
        second.try_grow(524).unwrap();
        assert!(second.try_grow(1).is_err());
        // What cannot spill has an eighth that others leave.
        let merge = MemoryConsumer::new("merge").register(&pool);
        merge.try_grow(175).unwrap();
        assert!(merge.try_grow(1).is_err());
    }
}
