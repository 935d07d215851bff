//! `Resident`: keeps what is resident of a process that is all ours near its limit. What operators and the buffer pool hold is
//! counted by the budget; what they gave back stays with the allocator, until it is told to let it go.

use hushdb_pages::{give_back_freed_memory, resident_bytes};
use hushdb_storage::clock;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What may be resident beside the limit and the pages of files: a fifth of it, and this.
const BESIDE_BYTES: usize = 43_000_000;
/// Given back is before all of that is taken: more of it is in use by the time that somebody looks again.
const MARGIN_BYTES: usize = 50_000_000;
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

    /// Looks whether more is resident than goes with the limit, and gives back what is free. Costs little when it is too soon.
    pub(super) fn hold(&self) {
        // Who comes while another looks need not.
        let Some(mut state) = self.state.try_lock() else {
            return;
        };
        let began = clock::now();
        if state.next.is_some_and(|next| began < next) {
            return;
        }
        let limit = self.limit.load(Ordering::Relaxed);
        let most = limit
            .saturating_add(limit / 5)
            .saturating_add(BESIDE_BYTES)
            .saturating_sub(MARGIN_BYTES);
        let resident = resident_bytes().unwrap_or(0);
        state.left = state.left.min(resident);
        if resident > most && resident > state.left + STEP_BYTES {
            give_back_freed_memory();
            state.left = resident_bytes().unwrap_or(0);
        }
        // It takes half of one thread's time at most.
        let ended = clock::now();
        state.next = Some(ended + PAUSE.max(ended - began));
    }
}
