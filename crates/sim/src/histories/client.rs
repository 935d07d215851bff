//! `Client`: one of those that a history is made of. Its statements look, lock and look again as those of a connection do.
//!
//! What must hold: an error is one that the level has, or the disk is down; what a transaction has done it sees, until it is undone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, StringViewArray};
use hushdb_storage::{
    CatalogVersion, Error, Interrupt, LockMode, LockOwner, MAIN_SCHEMA, Patience, Result,
    Savepoint, Store, Transaction,
};
use parking_lot::Mutex;

use super::anomalies::{Done, End};
use super::by_key::{ByKey, find, number, table};
use super::turns::Turns;
use super::{ACCOUNTS, HistoryReport, KEYS, Level, PLACES, START};
use super::{Told, has_all};
use crate::dice::Dice;
use crate::disk::SimDisk;

/// Attempts of a statement until it fails.
const TRIES: usize = 10;

/// What a transaction did, also beside the lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Deed {
    pub(super) done: Done,
    /// How many more rows each place has by it.
    pub(super) placed: BTreeMap<u64, i64>,
    /// How much it counted.
    pub(super) counted: i64,
    /// Whether it made or dropped its client's own table.
    pub(super) toggled: bool,
    /// Whether it did any of that, or moved money.
    is_more: bool,
    /// Why it must not commit: somebody who takes no locks was faster with a row that it has changed.
    overtaken: Option<String>,
}

/// One client and the transaction that it is in.
pub(super) struct Client<'a> {
    me: usize,
    store: Arc<Store>,
    turns: &'a Arc<Turns>,
    dice: Dice,
    level: Level,
    disk: &'a SimDisk,
    acknowledged: &'a Told,
    /// Whether others do not wait, whose commits may come between.
    is_mixed: bool,
    next_id: u64,
    transaction: Option<Transaction>,
    /// What it saw when it began.
    seen: Option<Arc<CatalogVersion>>,
    locks: Option<Arc<LockOwner>>,
    /// Cancels the statement that it runs.
    cancel: Arc<Mutex<Arc<Interrupt>>>,
    waits: Arc<AtomicU64>,
    deed: Deed,
    pub(super) deeds: Vec<Deed>,
    pub(super) report: HistoryReport,
}

/// Why a transaction does not go on.
enum Stop {
    /// By an error that may be.
    Allowed,
    /// Something does not hold.
    Wrong(String),
}

type Step<T> = std::result::Result<T, Stop>;

impl<'a> Client<'a> {
    pub(super) fn new(
        me: usize,
        store: &Arc<Store>,
        turns: &'a Arc<Turns>,
        dice: Dice,
        (level, is_mixed): (Level, bool),
        (disk, acknowledged): (&'a SimDisk, &'a Told),
    ) -> Self {
        Self {
            me,
            store: Arc::clone(store),
            turns,
            dice,
            level,
            disk,
            acknowledged,
            is_mixed,
            next_id: 1 + me as u64 * 100_000,
            transaction: None,
            seen: None,
            locks: None,
            cancel: Arc::default(),
            waits: Arc::default(),
            deed: Deed::default(),
            deeds: Vec::new(),
            report: HistoryReport::default(),
        }
    }

    /// Runs so many transactions.
    pub(super) fn run(&mut self, transactions: u64) -> std::result::Result<(), String> {
        let done = self.transactions(transactions);
        self.report.waits = self.waits.load(Ordering::Relaxed);
        done
    }

    fn transactions(&mut self, transactions: u64) -> std::result::Result<(), String> {
        for _ in 0..transactions {
            self.deed.done.sees_one_state = self.level != Level::Committed;
            let ends = [self.transaction(), self.told()];
            (self.transaction, self.seen, self.locks) = (None, None, None);
            self.deeds.push(std::mem::take(&mut self.deed));
            if let Some(Stop::Wrong(what)) = ends.into_iter().find_map(wrong) {
                return Err(format!("client {} ({:?}): {what}", self.me, self.level));
            }
            if self.is_down() {
                return Ok(());
            }
            if self.dice.chance(8) && self.store.checkpoint().is_err() && !self.has_been_full() {
                return Err("a checkpoint fails".into());
            }
        }
        Ok(())
    }

    fn transaction(&mut self) -> Step<()> {
        for _ in 0..self.dice.between(1, 5) {
            // Keys that two add, of whom one takes no locks.
            let places = self.is_mixed && self.dice.chance(40);
            match self.dice.below(20) {
                _ if places => self.place()?,
                0..=3 => self.read()?,
                4 => self.take_free()?,
                5..=8 => self.append()?,
                9 => self.lock_table()?,
                10..=11 => self.go_back()?,
                12..=14 => self.place()?,
                15..=16 => self.transfer()?,
                17 => self.count()?,
                18 if self.dice.chance(30) => self.empty()?,
                18 => self.toggle()?,
                _ => self.sum()?,
            }
        }
        if self.deed.is_more && self.deed.done.appends.is_empty() {
            // So that a list says whether it is there.
            self.append()?;
        }
        self.turns.pass(self.me);
        let Some(transaction) = self.transaction.take() else {
            return Ok(());
        };
        if self.dice.chance(12) {
            return Ok(());
        }
        match transaction.commit() {
            Ok(_) => {
                self.deed.done.end = End::Committed;
                self.acknowledged.lock().extend(&self.deed.done.appends);
                self.report.commits += 1;
                self.deed
                    .overtaken
                    .take()
                    .map_or(Ok(()), |what| Err(Stop::Wrong(what)))
            }
            Err(_) if self.is_down() => {
                self.deed.done.end = End::Unknown;
                Ok(())
            }
            Err(error) => Err(self.stopped(&error)),
        }
    }

    /// Whoever runs the transaction is told how it ended. If nobody can be, what it has read need not be so.
    fn told(&mut self) -> Step<()> {
        self.transaction = None;
        let Some(owner) = self
            .locks
            .take()
            .filter(|_| self.deed.done.end == End::Undone)
        else {
            return Ok(());
        };
        owner.let_go();
        let told = self.store.until_durable(&owner);
        self.locks = Some(owner);
        told.map_err(|error| {
            self.deed.done.reads.clear();
            self.stopped(&error)
        })
    }

    /// Whether the machine is down, or the store writes nothing more.
    fn is_down(&self) -> bool {
        self.disk.is_down() || self.store.begin().is_err()
    }

    /// Whether there was no room for something, or will not be any more.
    fn has_been_full(&self) -> bool {
        self.is_down() || self.disk.stats().faults > 0
    }

    /// What an error ends.
    fn stopped(&mut self, error: &Error) -> Stop {
        let is_allowed = match error {
            _ if self.is_down() => true,
            Error::Full(_) => {
                self.report.full += 1;
                // Mostly before others have ended what they built on it.
                if self.dice.chance(70) {
                    self.disk.make_room();
                }
                self.has_been_full()
            }
            Error::Conflict(_) if self.is_taken_back() => {
                self.report.taken_back += 1;
                self.has_been_full()
            }
            Error::Deadlock => {
                self.report.deadlocks += 1;
                self.level != Level::Snapshot
            }
            Error::Interrupted => {
                self.report.cancelled += 1;
                true
            }
            Error::Overtaken => self.is_mixed || self.level == Level::Repeatable,
            Error::Conflict(_) | Error::Duplicate { .. } => {
                self.report.conflicts += 1;
                self.is_mixed
            }
            _ => false,
        };
        match is_allowed {
            true => Stop::Allowed,
            false => Stop::Wrong(format!("an error that must not be: {error}")),
        }
    }

    fn statement<T>(&mut self, work: impl Fn(&mut Transaction) -> Result<T>) -> Step<T> {
        self.attempts(None, work)
            .map_err(|error| self.stopped(&error))
    }

    /// As `statement`, for one that is about a key of a table alone.
    fn by_key<T>(
        &mut self,
        key: ByKey<'_>,
        work: impl Fn(&mut Transaction) -> Result<T>,
    ) -> Step<T> {
        self.attempts(Some(key), work)
            .map_err(|error| self.stopped(&error))
    }

    /// Does what a statement does, again when others were faster, as its level says.
    fn attempts<T>(
        &mut self,
        key: Option<ByKey<'_>>,
        work: impl Fn(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        let cancel = Arc::new(Interrupt::default());
        *self.cancel.lock() = Arc::clone(&cancel);
        self.take_owner();
        self.turns.pass(self.me);
        // A transaction that has changed anything looks at the key alone, before it goes on from another state.
        let mut key = key.filter(|_| self.dice.chance(50) && self.may_keep());
        for _ in 0..TRIES {
            if key.is_none() {
                self.renew()?;
            }
            let looks = key.take();
            let Some(transaction) = &mut self.transaction else {
                break;
            };
            let undo = transaction.savepoint();
            let (turns, me) = (self.turns, self.me);
            let done = cancel.watch(|| {
                if let Some(key) = looks {
                    key.is_newest(transaction)?;
                }
                let done = work(transaction)?;
                // Others may be faster than its locks.
                turns.pass(me);
                transaction.settle(Some(&undo)).map(|()| done)
            });
            let error = match done {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            transaction.rollback_to(&undo);
            if !matches!(error, Error::Overtaken) || self.level != Level::Committed {
                return Err(error);
            }
            self.report.again += 1;
        }
        Err(Error::Conflict("overtaken again and again".into()))
    }

    /// Whether a statement need not see what others have committed since the one before.
    fn may_keep(&self) -> bool {
        let open = self.transaction.as_ref();
        self.level == Level::Committed && open.is_some_and(Transaction::is_changed)
    }

    /// What holds its locks; waits are turns of others, in which it may be cancelled.
    fn take_owner(&mut self) {
        if self.level == Level::Snapshot || self.locks.is_some() {
            return;
        }
        let owner = self.store.lock_owner(Patience::Endless);
        let (turns, me) = (Arc::clone(self.turns), self.me);
        let (waits, cancel) = (Arc::clone(&self.waits), Arc::clone(&self.cancel));
        let dice = Mutex::new(self.dice.fork());
        owner.wait_by_turns(Arc::new(move || {
            waits.fetch_add(1, Ordering::Relaxed);
            if dice.lock().below(150) == 0 {
                cancel.lock().ask();
            }
            turns.pass(me);
        }));
        self.locks = Some(owner);
    }

    /// What a statement of the level sees.
    fn renew(&mut self) -> Result<()> {
        let renews = self.level == Level::Committed;
        match &mut self.transaction {
            Some(open) if open.is_changed() && renews => {
                return open.advance_to_newest();
            }
            Some(_) if !renews => return Ok(()),
            _ => (),
        }
        self.seen = Some(match &self.locks {
            Some(owner) => self.store.snapshot_for(owner)?,
            None => self.store.snapshot(),
        });
        self.begin()
    }

    /// Whether what it has seen was given up.
    fn is_taken_back(&self) -> bool {
        let owner = self.locks.as_ref();
        owner.is_some_and(|owner| self.store.still_counts(owner).is_err())
    }

    /// Begins on what was seen.
    fn begin(&mut self) -> Result<()> {
        let seen = self.seen.clone().unwrap_or_else(|| self.store.snapshot());
        let mut begun = self.store.begin_on(seen)?;
        if let Some(owner) = &self.locks {
            begun.wait_by(owner);
        }
        self.transaction = Some(begun);
        Ok(())
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Reads a list, perhaps locking it.
    fn read(&mut self) -> Step<()> {
        let key = self.dice.below(KEYS);
        let mode = *self
            .dice
            .pick(&[None, None, Some(LockMode::Share), Some(LockMode::All)]);
        let mode = mode.filter(|_| self.level != Level::Snapshot);
        let told = self.acknowledged.lock().clone();
        let mut list = self.by_key(ByKey::read("t", key), |txn| {
            let (id, text) = list(txn, key)?;
            if let Some(mode) = mode {
                txn.lock_rows(table(txn, "t")?.id, &[id], mode, true)?;
            }
            Ok(text)
        })?;
        let own = self.deed.done.appends.iter();
        let own: Vec<u64> = own
            .filter(|(of, _)| *of == key)
            .map(|(_, id)| *id)
            .collect();
        let seen: Vec<u64> = list.iter().copied().filter(|id| own.contains(id)).collect();
        if seen != own {
            return Err(Stop::Wrong(format!(
                "it appended {own:?} and sees {seen:?} of it"
            )));
        }
        if self.level == Level::Committed && !has_all(&list, key, &told) {
            let what = format!("{told:?} was committed before it read {list:?} of {key}");
            // What it has changed itself it sees as it left it, and whoever takes no locks may have been faster.
            if !self.is_mixed || own.is_empty() {
                return Err(Stop::Wrong(what));
            }
            self.deed.overtaken = Some(what);
        }
        list.retain(|id| !own.contains(id));
        self.deed.done.reads.push((key, list));
        Ok(())
    }

    fn append(&mut self) -> Step<()> {
        let (key, id) = (self.dice.below(KEYS), self.new_id());
        self.by_key(ByKey::change("t", key), |txn| append(txn, key, id))?;
        self.deed.done.appends.push((key, id));
        Ok(())
    }

    /// Appends to the first list that nobody else has locked, as who takes a job from a queue does.
    fn take_free(&mut self) -> Step<()> {
        if self.level == Level::Snapshot {
            return Ok(());
        }
        let id = self.new_id();
        let (taken, skipped) = self.statement(|txn| {
            let lists = (0..KEYS).map(|key| Ok(list(txn, key)?.0));
            let ids = lists.collect::<Result<Vec<_>>>()?;
            let all = LockMode::All;
            let free = txn.lock_free_rows(table(txn, "t")?.id, &ids, all, 1)?;
            if free.any_gone {
                return Err(Error::Overtaken);
            }
            let taken = free.locked.iter().position(|locked| *locked);
            let key = taken.map(|at| at as u64);
            key.map_or(Ok(()), |key| append(txn, key, id))?;
            Ok((key, taken.unwrap_or(ids.len()) as u64))
        })?;
        self.report.skipped += skipped;
        self.deed.done.appends.extend(taken.map(|key| (key, id)));
        Ok(())
    }

    /// Locks the accounts, which stay as they are then: what one statement sees of them, the next one does.
    fn lock_table(&mut self) -> Step<()> {
        let mode = *self.dice.pick(&[LockMode::All, LockMode::Share]);
        let waits = self.dice.chance(70);
        if self.level == Level::Snapshot {
            return Ok(());
        }
        let store = Arc::clone(&self.store);
        self.take_owner();
        let Some(owner) = self.locks.clone() else {
            return Ok(());
        };
        let locked = self.attempts(None, |txn| {
            store.lock_table(&owner, table(txn, "m")?.id, mode, waits)
        });
        match locked {
            Err(Error::LockTimeout) if !waits => return Ok(()),
            locked => locked.map_err(|error| self.stopped(&error))?,
        }
        self.report.tables += 1;
        let first = self.statement(|txn| scan(txn, "m", 1))?;
        let second = self.statement(|txn| scan(txn, "m", 1))?;
        match first == second || self.is_mixed {
            true => Ok(()),
            false => Err(Stop::Wrong(format!(
                "a locked table had {first:?} and has {second:?}"
            ))),
        }
    }

    /// Does something, and goes back to before it.
    fn go_back(&mut self) -> Step<()> {
        let before: Option<Savepoint> = self
            .transaction
            .as_ref()
            .filter(|open| open.is_changed())
            .map(Transaction::savepoint);
        let deed = self.deed.clone();
        for _ in 0..self.dice.between(1, 2) {
            match self.dice.chance(60) {
                true => self.append()?,
                false => self.place()?,
            }
        }
        self.deed = deed;
        match (&before, &mut self.transaction) {
            (Some(before), Some(open)) => open.rollback_to(before),
            // Of REPEATABLE READ, what it sees stays.
            (None, Some(_)) if self.level != Level::Committed => {
                self.begin().map_err(|error| self.stopped(&error))?;
            }
            _ => self.transaction = None,
        }
        Ok(())
    }

    /// Puts a row in a place, or takes it away.
    fn place(&mut self) -> Step<()> {
        let (place, by) = (self.dice.below(PLACES), self.new_id());
        let adds = self.dice.chance(50);
        let changed = self.attempts(None, |txn| match adds {
            true => {
                let added = txn.insert(MAIN_SCHEMA, "u", &[number(place), number(by)])?;
                Ok(added as i64)
            }
            false => {
                let ids = find(txn, "u", place)?;
                let gone = txn.delete_rows(MAIN_SCHEMA, "u", &ids)?;
                Ok(-(gone as i64))
            }
        });
        let changed = match changed {
            Err(Error::Duplicate { .. }) => 0,
            changed => changed.map_err(|error| self.stopped(&error))?,
        };
        self.deed.is_more |= changed != 0;
        let here = self.deed.placed.entry(place).or_default();
        *here += changed;
        let (here, own) = (*here, self.deed.placed.clone());
        if !(-1..=1).contains(&here) {
            return Err(Stop::Wrong(format!("place {place} changes by {here}")));
        }
        // What it has done so far is there.
        let seen = self.statement(|txn| {
            let there = |place: &u64| Ok((*place, find(txn, "u", *place)?.len() as i64));
            own.keys().map(there).collect::<Result<Vec<_>>>()
        })?;
        for (place, rows) in seen {
            let own = own[&place];
            let is_lost = own == 1 && rows == 0 || own == -1 && rows == 1;
            if !(0..=1).contains(&rows) || is_lost && !self.is_mixed {
                return Err(Stop::Wrong(format!(
                    "place {place} has {rows} rows after a change by {own}"
                )));
            }
        }
        Ok(())
    }

    /// Brings money from one account to another.
    fn transfer(&mut self) -> Step<()> {
        let (from, to) = (self.dice.below(ACCOUNTS), self.dice.below(ACCOUNTS));
        self.by_key(ByKey::change("m", from), |txn| add(txn, "m", from, -7))?;
        self.by_key(ByKey::change("m", to), |txn| add(txn, "m", to, 7))?;
        self.deed.is_more = true;
        Ok(())
    }

    /// Adds to the one row of a table without a key.
    fn count(&mut self) -> Step<()> {
        self.statement(|txn| {
            let rows = scan(txn, "w", 0)?;
            let ids: Vec<u64> = rows.iter().map(|(id, _)| *id).collect();
            let sums: Vec<i64> = rows.iter().map(|(_, sum)| sum + 1).collect();
            txn.delete_rows(MAIN_SCHEMA, "w", &ids)?;
            let sums: ArrayRef = Arc::new(Int64Array::from(sums));
            txn.insert(MAIN_SCHEMA, "w", &[sums])
        })?;
        (self.deed.counted, self.deed.is_more) = (self.deed.counted + 1, true);
        Ok(())
    }

    /// Makes its own table, or drops it.
    fn toggle(&mut self) -> Step<()> {
        let name = format!("d{}", self.me);
        self.statement(|txn| match txn.catalog().table(MAIN_SCHEMA, &name) {
            Some(_) => txn.drop_table(MAIN_SCHEMA, &name),
            None => {
                let columns = super::columns(&["k"]);
                txn.create_table(MAIN_SCHEMA, &name, columns, Vec::new())
                    .map(drop)
            }
        })?;
        (self.deed.toggled, self.deed.is_more) = (!self.deed.toggled, true);
        Ok(())
    }

    /// Takes all rows away from the places.
    fn empty(&mut self) -> Step<()> {
        let gone = self.statement(|txn| {
            txn.lock_whole(table(txn, "u")?.id)?;
            let rows = scan(txn, "u", 0)?;
            txn.truncate(MAIN_SCHEMA, "u").map(|_| rows)
        })?;
        for (_, place) in &gone {
            *self.deed.placed.entry(*place as u64).or_default() -= 1;
        }
        self.deed.is_more |= !gone.is_empty();
        let left = self.statement(|txn| scan(txn, "u", 0))?;
        match left.is_empty() || self.is_mixed {
            true => Ok(()),
            false => Err(Stop::Wrong(format!("{left:?} is left of {gone:?}"))),
        }
    }

    /// All the money, which no statement sees more or less of.
    fn sum(&mut self) -> Step<()> {
        let rows = self.statement(|txn| scan(txn, "m", 1))?;
        let sum: i64 = rows.iter().map(|(_, money)| money).sum();
        match sum == START * ACCOUNTS as i64 {
            true => Ok(()),
            false => Err(Stop::Wrong(format!("there is {sum} of money"))),
        }
    }
}

/// What does not hold, of a step.
fn wrong(step: Step<()>) -> Option<Stop> {
    step.err().filter(|stop| matches!(stop, Stop::Wrong(_)))
}

/// Fills the tables with what they have at first.
pub(super) fn fill(txn: &mut Transaction) -> Result<()> {
    for key in 0..KEYS {
        let text: ArrayRef = Arc::new(StringViewArray::from(vec![""]));
        txn.insert(MAIN_SCHEMA, "t", &[number(key), text])?;
    }
    for key in 0..ACCOUNTS {
        txn.insert(MAIN_SCHEMA, "m", &[number(key), number(START as u64)])?;
    }
    txn.insert(MAIN_SCHEMA, "w", &[number(0)]).map(drop)
}

/// The row of a list, and what it has.
pub(super) fn list(txn: &Transaction, key: u64) -> Result<(u64, Vec<u64>)> {
    let ids = find(txn, "t", key)?;
    let [id] = ids.as_slice() else {
        return Err(Error::InvalidInput(format!("{} rows of a list", ids.len())));
    };
    let table = table(txn, "t")?;
    let columns: Vec<_> = table.columns.iter().skip(1).collect();
    let values = txn.store().read_rows(table, &columns, &ids)?;
    let text = values.first().map(|text| text.as_string_view().value(0));
    let words = text.unwrap_or_default().split(' ');
    Ok((*id, words.filter_map(|id| id.parse().ok()).collect()))
}

fn append(txn: &mut Transaction, key: u64, id: u64) -> Result<()> {
    let (row, list) = list(txn, key)?;
    let words: Vec<String> = list.iter().chain([&id]).map(u64::to_string).collect();
    txn.delete_rows(MAIN_SCHEMA, "t", &[row])?;
    let text: ArrayRef = Arc::new(StringViewArray::from(vec![words.join(" ")]));
    txn.insert(MAIN_SCHEMA, "t", &[number(key), text]).map(drop)
}

/// Adds to the second column of a row.
fn add(txn: &mut Transaction, name: &str, key: u64, amount: i64) -> Result<()> {
    let ids = find(txn, name, key)?;
    let seen = table(txn, name)?;
    let columns: Vec<_> = seen.columns.iter().skip(1).collect();
    let values = txn.store().read_rows(seen, &columns, &ids)?;
    let values = values
        .first()
        .map(|values| values.as_primitive::<Int64Type>());
    let before = values.map_or(0, |values| values.value(0));
    txn.delete_rows(MAIN_SCHEMA, name, &ids)?;
    let after: ArrayRef = Arc::new(Int64Array::from(vec![before + amount]));
    txn.insert(MAIN_SCHEMA, name, &[number(key), after])
        .map(drop)
}

/// The ids of all rows, and a column of theirs.
pub(super) fn scan(txn: &Transaction, name: &str, column: usize) -> Result<Vec<(u64, i64)>> {
    let table = table(txn, name)?;
    let column = table.columns.get(column);
    let column = column.ok_or_else(|| Error::InvalidInput("a column is gone".into()))?;
    let mut rows = Vec::new();
    for group in table.row_groups()? {
        let values = txn
            .store()
            .read_column(group, column, group.visible().as_ref())?;
        let gone = group.deletes.as_deref();
        let there = (0..group.rows).filter(|at| !gone.is_some_and(|gone| gone.contains(*at)));
        let ids = there.map(|at| (group.first_row_id + u64::from(at)).number());
        rows.extend(ids.zip(values.as_primitive::<Int64Type>().values().iter().copied()));
    }
    Ok(rows)
}
