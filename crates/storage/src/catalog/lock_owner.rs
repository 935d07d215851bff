//! `LockOwner`: the locks that one transaction holds.
//!
//! What must hold: dropped, it holds none. What its locks take in memory is counted.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::block::{BufferPool, Lent};
use crate::error::{Error, Result};
use crate::interrupt::check_interrupt;
use crate::locks::{
    AdvisoryKey, Kin, LockError, LockKey, LockMode, LockTable, LockView, Patience, Wanted,
};
use crate::numbers::{ColumnId, TableId};
use crate::table::TableVersion;

/// About what a lock takes: its entry, its holder and its place among what the owner holds.
const LOCK_BYTES: usize = 192;
/// Locks whose memory is asked for together.
const LOCKS_AT_ONCE: usize = 256;

/// Hears of waits that go on for a second.
pub type OnLongWait = Arc<dyn Fn(LockView) + Send + Sync>;

/// Returns when it is the turn of who calls it.
pub type Turn = Arc<dyn Fn() + Send + Sync>;

/// What holds locks, for a transaction and all that is done for it.
pub struct LockOwner {
    table: Arc<LockTable>,
    pool: Arc<BufferPool>,
    id: u64,
    held: Mutex<Held>,
    /// The rows that its statement has locked before it changes them.
    rows: Mutex<Option<LockedRows>>,
    patience: Mutex<Patience>,
    on_long_wait: OnceLock<OnLongWait>,
    turn: OnceLock<Turn>,
    kin: Mutex<Option<Arc<Kin>>>,
    /// Whether the table knows its session.
    has_session: AtomicBool,
    /// The highest ticket of the states that it looked at before they were durable; 0: none.
    looked_at: AtomicU64,
}

#[derive(Debug, Default)]
struct Held {
    keys: Vec<LockKey>,
    lent: Vec<Lent>,
}

/// Rows of a state of a table that are locked, and their locks.
pub(super) struct LockedRows {
    pub(super) base: Arc<TableVersion>,
    /// In ascending order.
    pub(super) ids: Vec<u64>,
    /// In ascending order.
    pub(super) keys: Vec<LockKey>,
}

impl LockedRows {
    /// Whether these are all of some rows of a state of a table.
    pub(super) fn are(&self, base: &Arc<TableVersion>, ids: &[u64]) -> bool {
        Arc::ptr_eq(&self.base, base) && self.ids == ids
    }
}

impl LockOwner {
    pub(crate) fn new(table: &Arc<LockTable>, pool: &Arc<BufferPool>, patience: Patience) -> Self {
        Self {
            id: table.new_owner(),
            table: Arc::clone(table),
            pool: Arc::clone(pool),
            held: Mutex::default(),
            rows: Mutex::default(),
            patience: Mutex::new(patience),
            on_long_wait: OnceLock::new(),
            turn: OnceLock::new(),
            kin: Mutex::default(),
            has_session: AtomicBool::default(),
            looked_at: AtomicU64::new(0),
        }
    }

    /// Has somebody hear of each wait that has gone on for a second: of what, and for whom. Once for an owner.
    pub fn report_long_waits(&self, to: OnLongWait) {
        let _ = self.on_long_wait.set(to);
    }

    /// Has its waits be turns of others, as long as it takes, instead of time: for one who runs owners one after the other. A wait
    /// looks at each turn whether it ends, and whether those that are waited for wait for it. Once for an owner.
    pub fn wait_by_turns(&self, turn: Turn) {
        let _ = self.turn.set(turn);
    }

    /// Both are of one transaction: who waits for one in its store waits for the other in its own. Of any number, the first is
    /// joined by each other one. It leaves those that it had joined before.
    pub fn join(&self, first: &Self) {
        let kin = {
            let mut kin = first.kin.lock();
            let kin = kin.get_or_insert_with(|| {
                let kin = Arc::<Kin>::default();
                kin.join(&first.table, first.id);
                kin
            });
            Arc::clone(kin)
        };
        let before = self.kin.lock().replace(Arc::clone(&kin));
        if before.is_none_or(|before| !Arc::ptr_eq(&before, &kin)) {
            kin.join(&self.table, self.id);
        }
    }

    /// It is of no transaction any more, and goes on.
    pub fn part(&self) {
        if self.kin.lock().take().is_some() {
            self.table.has_kin(self.id, None);
        }
    }

    /// Says whose it is: who looks at locks is told.
    pub fn is_of_session(&self, number: u32) {
        self.has_session.store(true, Ordering::Relaxed);
        self.table.is_of_session(self.id, number);
    }

    /// From now on it waits this long for each lock.
    pub fn set_patience(&self, patience: Patience) {
        *self.patience.lock() = patience;
    }

    /// Locks a table for whatever is done with it, waiting for it if that is wanted.
    ///
    /// # Errors
    /// `LockTimeout`, also where the lock is not free and nobody is to wait; `Deadlock`, `TooManyLocks`, `Interrupted`.
    pub(super) fn lock_table(&self, table_id: TableId, mode: LockMode, waits: bool) -> Result<()> {
        let key = LockKey::Table(table_id);
        match waits {
            true => self.lock(key, mode),
            false => self.lock_by(key, mode, Patience::None).map(drop),
        }
    }

    /// Takes a lock, waiting for it.
    ///
    /// # Errors
    /// `LockTimeout`, `Deadlock`, `TooManyLocks`, and `Interrupted`: what was held before stays held.
    pub(crate) fn lock(&self, key: LockKey, mode: LockMode) -> Result<()> {
        let patience = *self.patience.lock();
        self.lock_by(key, mode, patience).map(drop)
    }

    /// Takes a lock if nobody has it; gives whether it is held.
    ///
    /// # Errors
    /// `TooManyLocks`.
    pub(crate) fn try_lock(&self, key: LockKey, mode: LockMode) -> Result<bool> {
        Ok(self.take_if_free(key, mode)?.is_some())
    }

    /// As `try_lock`; gives whether nothing of it was held before, if it is held now.
    pub(crate) fn take_if_free(&self, key: LockKey, mode: LockMode) -> Result<Option<bool>> {
        match self.lock_by(key, mode, Patience::None) {
            Ok(is_new) => Ok(Some(is_new)),
            Err(Error::LockTimeout) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps which rows a statement has locked, so that their keys need not be read again when it has changed them.
    pub(super) fn keep_rows(&self, rows: LockedRows) {
        *self.rows.lock() = Some(rows);
    }

    /// Takes what was kept.
    pub(super) fn take_rows(&self) -> Option<LockedRows> {
        self.rows.lock().take()
    }

    /// Lets go of the lock that was taken last.
    pub(crate) fn let_go_of_last(&self) {
        let last = self.held.lock().keys.pop();
        self.table.release(self.id, last.as_slice());
    }

    /// Locks what sessions have agreed on, alone or, `shared`, with others who do, and waits for it if that is wanted; gives whether
    /// it is held.
    ///
    /// # Errors
    /// `LockTimeout`, `Deadlock`, `TooManyLocks`, and `Interrupted`: what was held before stays held.
    pub fn lock_advisory(&self, key: AdvisoryKey, shared: bool, waits: bool) -> Result<bool> {
        let key = LockKey::Advisory(key);
        match waits {
            true => self.lock(key, advisory_mode(shared)).map(|()| true),
            false => self.try_lock(key, advisory_mode(shared)),
        }
    }

    /// Lets go of what sessions have agreed on; with `still_shared` others can share it from now on.
    pub fn let_go_of_advisory(&self, key: AdvisoryKey, still_shared: bool) {
        let key = LockKey::Advisory(key);
        if still_shared {
            return self.table.weaken(self.id, key, advisory_mode(true));
        }
        let mut held = self.held.lock();
        if let Some(at) = held.keys.iter().rposition(|held| *held == key) {
            held.keys.swap_remove(at);
            self.table.release(self.id, &[key]);
        }
    }

    fn lock_by(&self, key: LockKey, mode: LockMode, patience: Patience) -> Result<bool> {
        self.make_room()?;
        // Not held while waiting: nothing else of this owner runs meanwhile.
        let kin = self.kin.lock().clone();
        let wanted = Wanted {
            owner: self.id,
            patience,
            is_cancelled: &|| check_interrupt().is_err(),
            on_long_wait: &|wait| {
                if let Some(report) = self.on_long_wait.get() {
                    report(wait);
                }
            },
            turn: self.turn.get().map(|turn| turn.as_ref() as &dyn Fn()),
            kin: kin.as_ref(),
        };
        if let Some(kin) = wanted.kin {
            kin.waits_again();
        }
        let is_new = self.table.acquire(wanted, key, mode).map_err(refused)?;
        if is_new {
            self.held.lock().keys.push(key);
        }
        Ok(is_new)
    }

    fn make_room(&self) -> Result<()> {
        let mut held = self.held.lock();
        // A few are as little as what else a transaction takes.
        if held.keys.len() < LOCKS_AT_ONCE * (held.lent.len() + 1) {
            return Ok(());
        }
        let bytes = LOCKS_AT_ONCE * LOCK_BYTES;
        if self.pool.for_blocks() < bytes {
            return Err(Error::TooManyLocks);
        }
        held.lent.push(self.pool.lend(bytes));
        Ok(())
    }

    /// Lets go of all its locks.
    pub fn let_go(&self) {
        self.take_rows();
        let held = std::mem::take(&mut *self.held.lock());
        if !held.keys.is_empty() {
            self.table.release(self.id, &held.keys);
        }
    }

    /// The highest ticket of the states that it looked at before they were durable; 0: none.
    pub(super) fn looked_at(&self) -> u64 {
        self.looked_at.load(Ordering::Acquire)
    }

    /// It looks at a state that is not durable.
    pub(super) fn has_looked_at(&self, ticket: u64) {
        self.looked_at.fetch_max(ticket, Ordering::AcqRel);
    }

    /// Lets others go on, where somebody says whose turn it is.
    pub(super) fn take_turn(&self) {
        if let Some(turn) = self.turn.get() {
            turn();
        }
    }

    /// Whether its locks are of this table of locks.
    pub(super) fn is_of(&self, table: &Arc<LockTable>) -> bool {
        Arc::ptr_eq(&self.table, table)
    }

    /// The lock of a key as bytes, in the index of these columns of a table.
    pub(crate) fn lock_of(
        &self,
        table_id: TableId,
        column_ids: &[ColumnId],
        key: &[u8],
    ) -> LockKey {
        self.table.lock_of(table_id, column_ids, key)
    }
}

fn advisory_mode(shared: bool) -> LockMode {
    match shared {
        true => LockMode::Share,
        false => LockMode::All,
    }
}

fn refused(error: LockError) -> Error {
    match error {
        LockError::Timeout => Error::LockTimeout,
        LockError::Deadlock => Error::Deadlock,
        LockError::Cancelled => Error::Interrupted,
    }
}

impl std::fmt::Debug for LockOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LockOwner({})", self.id)
    }
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.let_go();
        if self.kin.get_mut().is_some() || *self.has_session.get_mut() {
            self.table.forget(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::interrupt::Interrupt;

    const KEY: LockKey = LockKey::Key(TableId::new(1), 7);
    const OTHER: LockKey = LockKey::Key(TableId::new(1), 8);
    const THIRD: LockKey = LockKey::Key(TableId::new(1), 9);
    const TABLE: LockKey = LockKey::Table(TableId::new(1));

    fn owners<const N: usize>(patience: Patience) -> (Arc<LockTable>, [LockOwner; N]) {
        let table = Arc::<LockTable>::default();
        let pool = Arc::new(BufferPool::new(1 << 20));
        let owners = std::array::from_fn(|_| LockOwner::new(&table, &pool, patience));
        (table, owners)
    }

    fn until_waiting(table: &LockTable, owners: usize) {
        let began = Instant::now();
        while table.waiting() < owners {
            assert!(began.elapsed() < Duration::from_secs(20), "nobody waits");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn who_comes_first_is_served_first_and_nothing_stays_behind() {
        let (table, [first]) = owners(Patience::Endless);
        let pool = Arc::new(BufferPool::new(1 << 20));
        first.lock(KEY, LockMode::All).unwrap();
        let turn = AtomicUsize::new(0);
        thread::scope(|scope| {
            for at in 0..64 {
                let (table, pool, turn) = (&table, &pool, &turn);
                scope.spawn(move || {
                    let owner = LockOwner::new(table, pool, Patience::Endless);
                    owner.lock(KEY, LockMode::All).unwrap();
                    assert_eq!(turn.fetch_add(1, Ordering::SeqCst), at);
                });
                until_waiting(table, at + 1);
            }
            drop(first);
        });
        assert_eq!((table.held(), table.waiting()), (0, 0));
    }

    #[test]
    fn who_gives_up_lets_those_behind_through() {
        let (table, [holder, patient, all, rows]) =
            owners(Patience::Until(Duration::from_millis(150)));
        rows.set_patience(Patience::Endless);
        holder.lock(TABLE, LockMode::Rows).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| all.lock(TABLE, LockMode::All));
            until_waiting(&table, 1);
            assert!(
                !patient.try_lock(TABLE, LockMode::Rows).unwrap(),
                "it overtook"
            );
            let behind = scope.spawn(|| rows.lock(TABLE, LockMode::Rows));
            assert!(matches!(waiting.join().unwrap(), Err(Error::LockTimeout)));
            behind.join().unwrap().unwrap();
        });
        drop((holder, patient, all, rows));
        assert_eq!((table.held(), table.waiting()), (0, 0));
    }

    #[test]
    fn who_holds_some_of_a_lock_gets_the_rest_before_those_who_wait() {
        let (table, [one, two, all]) = owners(Patience::Endless);
        one.lock(TABLE, LockMode::Rows).unwrap();
        two.lock(TABLE, LockMode::Rows).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| all.lock(TABLE, LockMode::All));
            until_waiting(&table, 1);
            one.lock(TABLE, LockMode::Change).unwrap();
            assert!(!two.try_lock(TABLE, LockMode::Change).unwrap());
            drop((one, two));
            waiting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn many_share_what_one_then_waits_to_have_alone() {
        let (table, [one, two, alone]) = owners(Patience::Endless);
        one.lock(KEY, LockMode::Share).unwrap();
        two.lock(KEY, LockMode::Share).unwrap();
        assert!(!one.try_lock(KEY, LockMode::All).unwrap());
        thread::scope(|scope| {
            let waiting = scope.spawn(|| alone.lock(KEY, LockMode::All));
            until_waiting(&table, 1);
            two.let_go_of_last();
            // Who shares it already goes before those who wait.
            assert!(one.try_lock(KEY, LockMode::All).unwrap());
            assert_eq!(one.take_if_free(KEY, LockMode::Share).unwrap(), Some(false));
            one.let_go_of_last();
            waiting.join().unwrap().unwrap();
        });
        assert!(!one.try_lock(KEY, LockMode::Share).unwrap());
        drop((one, two, alone));
        assert_eq!((table.held(), table.waiting()), (0, 0));
    }

    #[test]
    fn a_wait_of_a_second_is_told_once_with_those_it_waits_for() {
        let (table, [holder, other]) = owners(Patience::Until(Duration::from_millis(2500)));
        let told = Arc::new(Mutex::new(vec![]));
        let tells = Arc::clone(&told);
        other.report_long_waits(Arc::new(move |wait| tells.lock().push(wait)));
        holder.lock(KEY, LockMode::All).unwrap();
        assert!(matches!(
            other.lock(KEY, LockMode::All),
            Err(Error::LockTimeout)
        ));
        let told = std::mem::take(&mut *told.lock());
        let [wait] = told.as_slice() else {
            panic!("{told:?}");
        };
        assert_eq!(
            (wait.table_id, wait.kind, wait.mode),
            (Some(TableId::new(1)), "key", "all")
        );
        let (_, others) = wait.waits.clone().unwrap();
        assert_eq!(others, [holder.id]);
        assert_eq!(table.waiting(), 0);
    }

    #[test]
    fn one_of_two_that_wait_for_each_other_in_two_stores_is_told() {
        for _ in 0..3 {
            let (one, [first, second]) = owners(Patience::Endless);
            let (two, [first_there, second_there]) = owners(Patience::Endless);
            first_there.join(&first);
            second_there.join(&second);
            first.lock(KEY, LockMode::All).unwrap();
            second_there.lock(KEY, LockMode::All).unwrap();
            let told = thread::scope(|scope| {
                let end = |waited: Result<()>, owners: [LockOwner; 2]| {
                    drop(owners);
                    usize::from(matches!(waited, Err(Error::Deadlock)))
                };
                let other = scope.spawn(move || {
                    let waited = first_there.lock(KEY, LockMode::All);
                    end(waited, [first, first_there])
                });
                let waited = second.lock(KEY, LockMode::All);
                end(waited, [second, second_there]) + other.join().unwrap()
            });
            assert_eq!(told, 1);
            assert_eq!((one.held(), one.waiting()), (0, 0));
            assert_eq!((two.held(), two.waiting()), (0, 0));
        }
    }

    #[test]
    fn a_wait_can_be_cancelled() {
        let (table, [holder, other]) = owners(Patience::Endless);
        holder.lock(KEY, LockMode::All).unwrap();
        let asked = Arc::new(Interrupt::default());
        thread::scope(|scope| {
            let waiting = scope.spawn(|| asked.watch(|| other.lock(KEY, LockMode::All)));
            until_waiting(&table, 1);
            asked.ask();
            assert!(matches!(waiting.join().unwrap(), Err(Error::Interrupted)));
        });
        assert_eq!(table.waiting(), 0);
        drop(holder);
        other.lock(KEY, LockMode::All).unwrap();
    }

    fn one_of_a_circle_is_told(circle: &[&LockOwner], keys: &[LockKey]) {
        for (owner, key) in circle.iter().zip(keys) {
            owner.lock(*key, LockMode::All).unwrap();
        }
        let failed = AtomicUsize::new(0);
        thread::scope(|scope| {
            for (at, owner) in circle.iter().enumerate() {
                let key = keys[(at + 1) % keys.len()];
                let failed = &failed;
                scope.spawn(move || match owner.lock(key, LockMode::All) {
                    Ok(()) => owner.table.release(owner.id, &[key, keys[at]]),
                    Err(Error::Deadlock) => {
                        failed.fetch_add(1, Ordering::SeqCst);
                        owner.table.release(owner.id, &[keys[at]]);
                    }
                    Err(other) => panic!("{other}"),
                });
            }
        });
        assert_eq!(failed.into_inner(), 1);
    }

    #[test]
    fn one_of_two_or_three_that_wait_for_each_other_is_told() {
        let (_table, [a, b]) = owners(Patience::Endless);
        one_of_a_circle_is_told(&[&a, &b], &[KEY, OTHER]);
        let (_table, [a, b, c]) = owners(Patience::Endless);
        one_of_a_circle_is_told(&[&a, &b, &c], &[KEY, OTHER, THIRD]);
    }

    #[test]
    fn locks_beyond_the_memory_are_refused_and_given_back() {
        let table = Arc::<LockTable>::default();
        let pool = Arc::new(BufferPool::new(4 * LOCKS_AT_ONCE * LOCK_BYTES));
        let owner = LockOwner::new(&table, &pool, Patience::Endless);
        let refused = (0..10_000).find_map(|at| {
            owner
                .lock(LockKey::Key(TableId::new(1), at), LockMode::All)
                .err()
        });
        assert!(matches!(refused, Some(Error::TooManyLocks)));
        drop(owner);
        assert_eq!(
            (table.held(), pool.for_blocks()),
            (0, 4 * LOCKS_AT_ONCE * LOCK_BYTES)
        );
    }
}
