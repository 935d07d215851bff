//! `LockTable`: who holds which locks of one store, and who waits.
//!
//! What must hold: a lock is handed over by who lets go of it, to the first that waits and those behind that go with it, so nobody
//! overtakes and each is woken once; only who holds a lock already and wants more of it goes first. Who gives up waiting leaves
//! nothing behind, and lets those through that waited behind.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::deadlock;
use super::kin::Kin;
use super::lock_key::{AdvisoryKey, KeyHash, LockKey, LockMode};
use crate::clock;
use crate::numbers::{ColumnId, TableId};
use crate::spread::Spread;

/// Between two looks at what ends a wait.
const PAUSE: Duration = Duration::from_millis(20);
/// Who has waited this long looks whether those that it waits for wait for it; PostgreSQL's.
const DEADLOCK_AFTER: Duration = Duration::from_secs(1);

/// How long to wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Not at all.
    None,
    /// This long for each lock.
    Until(Duration),
    /// As long as it takes.
    Endless,
}

/// Why a lock was not had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockError {
    /// Another holds it for longer than was to be waited.
    Timeout,
    /// Those that were waited for wait for this owner.
    Deadlock,
    /// The wait was cancelled.
    Cancelled,
}

/// Who wants a lock, and what ends the wait for it.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// Number of the owner, which waits for one lock at a time.
    pub(crate) owner: u64,
    pub(crate) patience: Patience,
    pub(crate) is_cancelled: &'a dyn Fn() -> bool,
    /// Hears once of a wait that has gone on for a second. The locks are not held while it does.
    pub(crate) on_long_wait: &'a dyn Fn(LockView),
    /// What a wait does again and again in the place of sleeping, where somebody says whose turn it is. The locks are not held while it
    /// does.
    pub(crate) turn: Option<&'a dyn Fn()>,
    /// The owners that its transaction has in other stores.
    pub(crate) kin: Option<&'a Arc<Kin>>,
}

/// The locks of one store.
#[derive(Debug, Default)]
pub(crate) struct LockTable {
    hash: KeyHash,
    state: Mutex<LockState>,
}

#[derive(Debug, Default)]
pub(super) struct LockState {
    pub(super) locks: HashMap<LockKey, Lock, Spread>,
    /// What each owner waits for that does.
    pub(super) waits: HashMap<u64, LockKey, Spread>,
    /// Owners whose transactions have others in other stores.
    kin: HashMap<u64, Arc<Kin>, Spread>,
    /// The sessions of owners that have said theirs.
    sessions: HashMap<u64, u32, Spread>,
    last_owner: u64,
}

/// One lock that somebody holds.
#[derive(Debug, Default)]
pub(super) struct Lock {
    pub(super) holders: Vec<(u64, LockMode)>,
    /// First come first; mostly none.
    pub(super) queue: VecDeque<Waiter>,
}

/// What one owner has, or wants, of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockView {
    /// The id of the table; `None` for what is in none.
    pub table_id: Option<TableId>,
    /// `definitions`, `table`, `key` of the table, or `advisory`.
    pub kind: &'static str,
    /// The numbers of one that is `advisory`.
    pub advisory: Option<AdvisoryKey>,
    /// `rows`, `change`, `share` or `all`.
    pub mode: &'static str,
    /// The number of the owner, by which the rows of one transaction are told.
    pub owner: u64,
    /// The number of its session, where the owner has said that.
    pub session: Option<u32>,
    /// `None`: it has the lock. Else since when it waits, and for whom.
    pub waits: Option<(Instant, Vec<u64>)>,
}

/// Who waits for a lock.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) owner: u64,
    pub(super) mode: LockMode,
    since: Instant,
    granted: Arc<Condvar>,
}

impl Lock {
    fn mode_of(&self, owner: u64) -> Option<LockMode> {
        let held = self.holders.iter().find(|(holder, _)| *holder == owner);
        held.map(|(_, mode)| *mode)
    }

    /// Whether nobody else holds what does not go with it.
    fn is_free(&self, owner: u64, mode: LockMode) -> bool {
        let mut others = self.holders.iter().filter(|(holder, _)| *holder != owner);
        others.all(|(_, held)| held.goes_with(mode))
    }

    fn hold(&mut self, owner: u64, mode: LockMode) {
        match self.holders.iter_mut().find(|(holder, _)| *holder == owner) {
            Some((_, held)) => *held = held.with(mode),
            None => self.holders.push((owner, mode)),
        }
    }

    /// Gives the lock to those that wait, in order, as far as they go with all before them.
    fn hand_over(&mut self, waits: &mut HashMap<u64, LockKey, Spread>) {
        if self.queue.is_empty() {
            return;
        }
        let mut before: Vec<LockMode> = Vec::new();
        let waiting = std::mem::take(&mut self.queue);
        for waiter in waiting {
            let overtakes = before.iter().any(|mode| !mode.goes_with(waiter.mode));
            if overtakes || !self.is_free(waiter.owner, waiter.mode) {
                before.push(waiter.mode);
                self.queue.push_back(waiter);
                continue;
            }
            self.hold(waiter.owner, waiter.mode);
            waits.remove(&waiter.owner);
            waiter.granted.notify_one();
        }
    }
}

impl LockTable {
    /// The lock of a key as bytes, in the index of these columns of a table.
    pub(crate) fn lock_of(
        &self,
        table_id: TableId,
        column_ids: &[ColumnId],
        key: &[u8],
    ) -> LockKey {
        self.hash.lock_of(table_id, column_ids, key)
    }

    /// The number of an owner that there was not before.
    pub(crate) fn new_owner(&self) -> u64 {
        let mut state = self.state.lock();
        state.last_owner += 1;
        state.last_owner
    }

    /// Takes a lock, waiting as long as is wanted; gives whether the owner had none of it before.
    ///
    /// # Errors
    /// All that there are: the owner holds what it held before.
    pub(crate) fn acquire(
        &self,
        wanted: Wanted<'_>,
        key: LockKey,
        mode: LockMode,
    ) -> Result<bool, LockError> {
        let owner = wanted.owner;
        let mut state = self.state.lock();
        let lock = state.locks.entry(key).or_default();
        let held = lock.mode_of(owner);
        let mode = held.map_or(mode, |held| held.with(mode));
        if held == Some(mode) {
            return Ok(false);
        }
        // Who holds some of it already waits for those who hold the rest, not for those who wait for all of it.
        let is_first = held.is_some() || lock.queue.iter().all(|w| w.mode.goes_with(mode));
        if is_first && lock.is_free(owner, mode) {
            lock.hold(owner, mode);
            return Ok(held.is_none());
        }
        if wanted.patience == Patience::None {
            return Err(LockError::Timeout);
        }
        let granted = Arc::new(Condvar::new());
        let waiter = Waiter {
            owner,
            mode,
            since: clock::now(),
            granted: Arc::clone(&granted),
        };
        match held {
            Some(_) => lock.queue.push_front(waiter),
            None => lock.queue.push_back(waiter),
        }
        state.waits.insert(owner, key);
        let waited = wait(&mut state, &granted, wanted);
        if waited.is_err() {
            state.leave_queue(owner, key);
        }
        waited.map(|()| held.is_none())
    }

    /// Lets go of locks.
    pub(crate) fn release(&self, owner: u64, keys: &[LockKey]) {
        let mut state = self.state.lock();
        let LockState { locks, waits, .. } = &mut *state;
        for key in keys {
            if let Entry::Occupied(mut found) = locks.entry(*key) {
                let lock = found.get_mut();
                lock.holders.retain(|(holder, _)| *holder != owner);
                lock.hand_over(waits);
                if lock.holders.is_empty() {
                    found.remove();
                }
            }
        }
    }

    /// Has an owner hold less of a lock than it did.
    pub(crate) fn weaken(&self, owner: u64, key: LockKey, mode: LockMode) {
        let mut state = self.state.lock();
        let LockState { locks, waits, .. } = &mut *state;
        if let Some(lock) = locks.get_mut(&key) {
            let mut holders = lock.holders.iter_mut();
            if let Some((_, held)) = holders.find(|(holder, _)| *holder == owner) {
                *held = mode;
            }
            lock.hand_over(waits);
        }
    }

    /// Says whose an owner is.
    pub(crate) fn is_of_session(&self, owner: u64, session: u32) {
        self.state.lock().sessions.insert(owner, session);
    }

    /// Says which others an owner's transaction has in other stores.
    pub(crate) fn has_kin(&self, owner: u64, kin: Option<Arc<Kin>>) {
        let mut state = self.state.lock();
        match kin {
            Some(kin) => state.kin.insert(owner, kin),
            None => state.kin.remove(&owner),
        };
    }

    pub(super) fn kin_of(&self, owner: u64) -> Option<Arc<Kin>> {
        self.state.lock().kin.get(&owner).cloned()
    }

    /// Those that an owner waits for here.
    pub(super) fn waits_for(&self, owner: u64) -> Vec<u64> {
        deadlock::waits_for(&self.state.lock(), owner)
    }

    /// An owner is gone.
    pub(crate) fn forget(&self, owner: u64) {
        let mut state = self.state.lock();
        state.kin.remove(&owner);
        state.sessions.remove(&owner);
    }

    /// All locks that somebody holds or waits for.
    pub(crate) fn view(&self) -> Vec<LockView> {
        let state = self.state.lock();
        let mut all = Vec::new();
        for (key, lock) in &state.locks {
            let holders = lock.holders.iter();
            all.extend(holders.map(|(owner, mode)| state.view_of(*key, *owner, *mode, None)));
            let waiters = lock.queue.iter();
            all.extend(waiters.filter_map(|waiter| state.view_of_waiter(waiter.owner)));
        }
        all
    }

    /// How many owners wait now.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waits.len()
    }

    /// How many locks somebody holds.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.state.lock().locks.len()
    }
}

impl LockState {
    fn view_of(
        &self,
        key: LockKey,
        owner: u64,
        mode: LockMode,
        waits: Option<(Instant, Vec<u64>)>,
    ) -> LockView {
        LockView {
            table_id: key.table_id(),
            kind: key.kind(),
            advisory: key.agreed_on(),
            mode: mode.name(),
            owner,
            session: self.sessions.get(&owner).copied(),
            waits,
        }
    }

    /// What an owner waits for, if it does.
    fn view_of_waiter(&self, owner: u64) -> Option<LockView> {
        let key = *self.waits.get(&owner)?;
        let mut queue = self.locks.get(&key)?.queue.iter();
        let waiter = queue.find(|waiter| waiter.owner == owner)?;
        let others = deadlock::waits_for(self, owner);
        let waits = Some((waiter.since, others));
        Some(self.view_of(key, owner, waiter.mode, waits))
    }

    fn leave_queue(&mut self, owner: u64, key: LockKey) {
        self.waits.remove(&owner);
        if let Some(lock) = self.locks.get_mut(&key) {
            lock.queue.retain(|waiter| waiter.owner != owner);
            lock.hand_over(&mut self.waits);
        }
    }
}

/// Waits until the owner waits no more, since it was given what it waited for.
fn wait(
    state: &mut MutexGuard<'_, LockState>,
    granted: &Condvar,
    wanted: Wanted<'_>,
) -> Result<(), LockError> {
    let began = clock::now();
    let mut look = DEADLOCK_AFTER;
    let mut is_told = false;
    while state.waits.contains_key(&wanted.owner) {
        if let Some(turn) = wanted.turn {
            // No time passes here: it looks at each turn.
            if deadlock::is_in_cycle(state, wanted.owner) {
                return Err(LockError::Deadlock);
            }
            if (wanted.is_cancelled)() {
                return Err(LockError::Cancelled);
            }
            MutexGuard::unlocked(state, turn);
            continue;
        }
        let waited = began.elapsed();
        let left = match wanted.patience {
            Patience::Until(most) => most.saturating_sub(waited),
            _ => PAUSE,
        };
        if left.is_zero() {
            return Err(LockError::Timeout);
        }
        if waited >= look {
            look = waited + DEADLOCK_AFTER;
            if deadlock::is_in_cycle(state, wanted.owner) {
                return Err(LockError::Deadlock);
            }
            if let Some(kin) = wanted.kin
                && MutexGuard::unlocked(state, || kin.waits_for_itself())
            {
                if !state.waits.contains_key(&wanted.owner) {
                    continue;
                }
                return Err(LockError::Deadlock);
            }
            if !std::mem::replace(&mut is_told, true)
                && let Some(view) = state.view_of_waiter(wanted.owner)
            {
                MutexGuard::unlocked(state, || (wanted.on_long_wait)(view));
                continue;
            }
        }
        if (wanted.is_cancelled)() {
            return Err(LockError::Cancelled);
        }
        granted.wait_for(state, left.min(PAUSE));
    }
    Ok(())
}
