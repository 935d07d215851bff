//! `Resident`: keeps what is resident of a process that is all ours near its limit. What operators and the buffer pool hold is
//! counted by the budget; what they gave back stays with the allocator, until it is told to let it go. Some of what they hold is counted
//! by nobody, as rows between operators: where that is much, the buffer pool does without as many bytes.

use hushdb_pages::{give_back_freed_memory, resident_bytes};
use hushdb_storage::{BufferPool, clock};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What may be resident beside the limit and the pages of files: a fifth of it, and this.
const BESIDE_BYTES: usize = 43_000_000;
/// Given back is before all of that is taken: more of it is in use by the time that somebody looks again.
const MARGIN_BYTES: usize = 50_000_000;
/// From so many bytes before all of that is taken the pool does without opened blocks.
const SCARCE_BYTES: usize = 45_000_000;
/// How often is looked, at most.
const PAUSE: Duration = Duration::from_millis(3);
/// What was found in use stays there for a while. Nothing is sought until so much more is resident.
const STEP_BYTES: usize = 4_000_000;

#[derive(Debug, Default)]
pub(super) struct Resident {
    limit: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// When to look again.
    next: Option<Instant>,
    /// What was resident after memory was given back last.
    left: usize,
}

impl Resident {
    /// Changes the limit, in bytes.
    pub(super) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Looks whether more is resident than goes with the limit, gives back what is free, and has the pool do without what is in use all
    /// the same. Costs little when it is too soon.
    pub(super) fn hold(&self, blocks: &BufferPool) {
        // Who comes while another looks need not.
        let Some(mut state) = self.state.try_lock() else {
            return;
        };
        let began = clock::now();
        if state.next.is_some_and(|next| began < next) {
            return;
        }
        let limit = self.limit.load(Ordering::Relaxed);
        let most = limit.saturating_add(limit / 5).saturating_add(BESIDE_BYTES);
        let mut resident = resident_bytes().unwrap_or(0);
        state.left = state.left.min(resident);
        if resident > most.saturating_sub(MARGIN_BYTES) && resident > state.left + STEP_BYTES {
            give_back_freed_memory();
            resident = resident_bytes().unwrap_or(0);
            state.left = resident;
        }
        blocks.set_scarce(resident.saturating_sub(most.saturating_sub(SCARCE_BYTES)));
        // It takes half of one thread's time at most.
        let ended = clock::now();
        state.next = Some(ended + PAUSE.max(ended - began));
    }
}
