//! `History`: clients that read and write one database side by side, wait for each other's locks, and go down with the machine.
//!
//! Each client is a thread, but one runs at a time: the dice say who goes on at each statement, between its look and its locks, at
//! each wait for a lock, before each commit and between its place in the queue and the log. So a seed replays, with its crash at one
//! write or at each. In some, locks go when a commit is queued, or the disk is full for a while.
//!
//! What must hold, at every level and after a crash at any write: what `anomalies.rs` says; no place has two rows, and each as many
//! as were put there less those that were taken away; no money comes or goes; nothing that was counted is lost; each table that
//! was made is there; nothing stays locked; nobody who waits fails with a conflict while all do.

pub(crate) mod anomalies;
mod by_key;
mod client;
mod turns;

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::Arc;

use hushdb_keys::{KeyProvider, providers::KeyText};
use hushdb_storage::{
    BufferPool, ColumnDef, ColumnType, IndexDef, IndexKind, MAIN_SCHEMA, StorageFile, StorageFiles,
    Store, StoreOptions,
};
use parking_lot::Mutex;

use self::anomalies::{Done, End, anomaly};
use self::client::{Client, Deed};
use self::turns::Turns;
use crate::dice::Dice;
use crate::disk::{Breakage, DiskOptions, Fault, FaultKind, SimDisk, SimFiles};

const NAME: &str = "history.hush";
/// Lists that are appended to.
const KEYS: u64 = 3;
/// Places for one row each.
const PLACES: u64 = 3;
/// Accounts, and the money in each at first.
const ACCOUNTS: u64 = 4;
const START: i64 = 100;
/// A disk that gets full does within so many operations.
const OPERATIONS: u64 = 300;

/// One history.
#[derive(Clone, Copy, Debug)]
pub struct History {
    /// What all of it follows from.
    pub seed: u64,
    /// The write, sync or change of a name with which the machine goes down; `None`: it does not before all are done.
    pub crash_at: Option<u64>,
}

/// How histories went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryReport {
    /// Commits that were acknowledged.
    pub commits: u64,
    /// Turns that were waited for a lock.
    pub waits: u64,
    /// Statements that looked again.
    pub again: u64,
    /// Circles of waits that ended with one of them.
    pub deadlocks: u64,
    /// Waits that were cancelled.
    pub cancelled: u64,
    /// Transactions that failed since others were faster which do not wait.
    pub conflicts: u64,
    /// Rows that were passed by since others had them locked.
    pub skipped: u64,
    /// Tables that were locked by name.
    pub tables: u64,
    /// Histories in the midst of which the machine went down.
    pub crashes: u64,
    /// Commits in flight then that turned out to be there.
    pub found_in_flight: u64,
    /// Commits for which there was no room.
    pub full: u64,
    /// Transactions that failed since there was no room for what they had seen.
    pub taken_back: u64,
    /// A digest of all that the disk did.
    pub trace: u64,
}

/// How a client works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Committed,
    Repeatable,
    /// It waits for nobody.
    Snapshot,
}

impl AddAssign for HistoryReport {
    fn add_assign(&mut self, other: Self) {
        self.commits += other.commits;
        self.waits += other.waits;
        self.again += other.again;
        self.deadlocks += other.deadlocks;
        self.cancelled += other.cancelled;
        self.conflicts += other.conflicts;
        self.skipped += other.skipped;
        self.tables += other.tables;
        self.crashes += other.crashes;
        self.found_in_flight += other.found_in_flight;
        self.full += other.full;
        self.taken_back += other.taken_back;
        self.trace ^= other.trace;
    }
}

impl History {
    /// Runs it and holds what is there in the end against what was done.
    ///
    /// # Errors
    /// What did not hold, in words.
    pub fn run(self) -> Result<HistoryReport, String> {
        let mut dice = Dice::new(self.seed);
        let disk = SimDisk::new(dice.throw(), DiskOptions::default());
        let key = dice
            .chance(50)
            .then(|| KeyText::new(format!("hex:{:064x}", 7)));
        let key = key.as_ref().map(|key| key as &dyn KeyProvider);
        let words = |error: hushdb_storage::Error| error.to_string();
        let store = open(&disk, key, true)?;
        set_up(&store).map_err(words)?;
        store.set_checkpoint_on_close(dice.chance(50));
        let log_bytes = *dice.pick(&[1, 1 << 10, 4 << 10, 1 << 30]);
        store.set_autocheckpoint_bytes(log_bytes);
        store.set_early_release(dice.chance(75));
        let at = dice.between(1, OPERATIONS);
        if dice.chance(30) {
            let kind = FaultKind::Full;
            disk.order(Fault { at, kind });
        }
        if let Some(at) = self.crash_at {
            disk.crash_after(at);
        }
        let levels = levels(&mut dice);
        let (mut report, deeds) = side_by_side(&store, &disk, &levels, &mut dice)?;
        report.crashes = u64::from(disk.is_down());
        if !store.locks().is_empty() {
            return Err("something stays locked".into());
        }
        if dice.chance(50) {
            disk.crash();
        }
        drop(store);
        disk.restart();
        let store = open(&disk, key, false)?;
        report.found_in_flight = held_against(&store, &deeds)?;
        if let Some(violation) = disk.violations().first() {
            return Err((*violation).to_owned());
        }
        report.trace = disk.stats().trace;
        Ok(report)
    }
}

/// What clients were told is committed: the lists, and what was appended to them.
type Told = Mutex<Vec<(u64, u64)>>;

/// Whether a list has all that was appended to it.
fn has_all(list: &[u64], key: u64, told: &[(u64, u64)]) -> bool {
    let mut here = told.iter().filter(|(of, _)| *of == key);
    here.all(|(_, id)| list.contains(id))
}

/// How each of some clients works.
fn levels(dice: &mut Dice) -> Vec<Level> {
    use Level::{Committed, Repeatable, Snapshot};
    let all: &[Level] = match dice.below(8) {
        0..=2 => &[Committed],
        3 => &[Repeatable],
        4..=5 => &[Committed, Repeatable],
        6 => &[Committed, Snapshot],
        _ => &[Committed, Repeatable, Snapshot],
    };
    (0..dice.between(2, 4)).map(|_| *dice.pick(all)).collect()
}

fn open(disk: &SimDisk, key: Option<&dyn KeyProvider>, new: bool) -> Result<Arc<Store>, String> {
    let file = match new {
        true => disk.create(NAME),
        false => disk.open(NAME, false),
    };
    let file = Arc::new(file.map_err(|error| error.to_string())?) as Arc<dyn StorageFile>;
    let files = SimFiles::beside(file, NAME, disk.clone(), Breakage::Sound);
    let files = Arc::new(files) as Arc<dyn StorageFiles>;
    let options = StoreOptions {
        pool: Arc::new(BufferPool::new(64 << 20)),
        ..StoreOptions::default()
    };
    let opened = match new {
        true => Store::create_in(files, key, &options),
        false => Store::open_in(files, key, &options),
    };
    opened.map_err(|error| format!("the database does not open: {error}"))
}

/// Columns of whole numbers, without NULL.
fn columns(names: &[&str]) -> Vec<ColumnDef> {
    let column = |name: &&str| ColumnDef {
        name: (*name).to_owned(),
        ty: ColumnType::Int64,
        nullable: false,
        default: None,
        generated: None,
        declared: None,
    };
    names.iter().map(column).collect()
}

/// Makes the tables: lists, places, accounts, and one row without a key.
fn set_up(store: &Arc<Store>) -> hushdb_storage::Result<()> {
    let mut txn = store.begin()?;
    let mut lists = columns(&["k", "v"]);
    lists[1].ty = ColumnType::Varchar;
    for (name, columns) in [
        ("t", lists),
        ("u", columns(&["k", "by"])),
        ("m", columns(&["k", "a"])),
    ] {
        txn.create_table(MAIN_SCHEMA, name, columns, Vec::new())?;
        let key = IndexDef {
            name: format!("{name}_key"),
            kind: IndexKind::Primary,
            columns: vec!["k".into()],
        };
        txn.create_index(MAIN_SCHEMA, name, key)?;
    }
    txn.create_table(MAIN_SCHEMA, "w", columns(&["a"]), Vec::new())?;
    client::fill(&mut txn)?;
    txn.commit().map(drop)
}

/// Runs clients until they are done, or the machine is down; gives what they did, each by itself.
fn side_by_side(
    store: &Arc<Store>,
    disk: &SimDisk,
    levels: &[Level],
    dice: &mut Dice,
) -> Result<(HistoryReport, Vec<Vec<Deed>>), String> {
    let is_mixed = levels.contains(&Level::Snapshot);
    let turns = Arc::new(Turns::new(dice.fork(), levels.len()));
    let told = Told::default();
    let transactions = dice.between(2, 6);
    let mut clients: Vec<Client<'_>> = levels
        .iter()
        .enumerate()
        .map(|(me, level)| {
            let how = (*level, is_mixed);
            Client::new(me, store, &turns, dice.fork(), how, (disk, &told))
        })
        .collect();
    let ends: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let run = |(me, client)| {
            let turns: &Turns = &turns;
            let client: &mut Client<'_> = client;
            scope.spawn(move || {
                let _part = turns.take_part(me);
                client.run(transactions)
            })
        };
        let running: Vec<_> = clients.iter_mut().enumerate().map(run).collect();
        let ended = running.into_iter().map(|thread| thread.join());
        ended
            .map(|ended| ended.unwrap_or_else(|_| Err("a panic".into())))
            .collect()
    });
    ends.into_iter().collect::<Result<(), String>>()?;
    let mut report = HistoryReport::default();
    let mut deeds = Vec::new();
    for client in clients {
        report += client.report;
        deeds.push(client.deeds);
    }
    Ok((report, deeds))
}

/// Compares what is there with what was done; gives how many commits in flight are there.
fn held_against(store: &Arc<Store>, deeds: &[Vec<Deed>]) -> Result<u64, String> {
    let words = |error: hushdb_storage::Error| format!("what is there is not readable: {error}");
    let check = store.check(&mut |_, _| ()).map_err(words)?;
    if let Some(finding) = check.findings.first() {
        return Err(format!("check finds: {}", finding.error));
    }
    let txn = store.begin().map_err(words)?;
    let lists = (0..KEYS).map(|key| Ok((key, client::list(&txn, key)?.1)));
    let lists: hushdb_storage::Result<BTreeMap<u64, Vec<u64>>> = lists.collect();
    let lists = lists.map_err(words)?;
    let all: Vec<&Deed> = deeds.iter().flatten().collect();
    let done: Vec<Done> = all.iter().map(|deed| deed.done.clone()).collect();
    if let Some(what) = anomaly(&done, &lists) {
        return Err(what);
    }
    let is_there = |deed: &&Deed| anomalies::is_there(&deed.done, &lists);
    let there: Vec<&Deed> = all.iter().copied().filter(is_there).collect();
    rest_is_there(&txn, &there)?;
    for (me, deeds) in deeds.iter().enumerate() {
        let toggled = deeds.iter().filter(is_there).filter(|deed| deed.toggled);
        let table = txn.catalog().table(MAIN_SCHEMA, &format!("d{me}"));
        if (toggled.count() % 2 == 1) != table.is_some() {
            return Err(format!("what client {me} defined is lost"));
        }
    }
    let in_flight = there.iter().filter(|deed| deed.done.end == End::Unknown);
    Ok(in_flight.count() as u64)
}

/// What is beside the lists, against those that are there.
fn rest_is_there(txn: &hushdb_storage::Transaction, there: &[&Deed]) -> Result<(), String> {
    let words = |error: hushdb_storage::Error| format!("what is there is not readable: {error}");
    let places = client::scan(txn, "u", 0).map_err(words)?;
    for place in 0..PLACES {
        let rows = places.iter().filter(|(_, found)| *found == place as i64);
        let rows = rows.count() as i64;
        let put: i64 = there
            .iter()
            .filter_map(|deed| deed.placed.get(&place))
            .sum();
        if rows != put || !(0..=1).contains(&rows) {
            return Err(format!(
                "place {place} has {rows} rows, and {put} were put there"
            ));
        }
    }
    let money = client::scan(txn, "m", 1).map_err(words)?;
    let sum: i64 = money.iter().map(|(_, money)| money).sum();
    if sum != START * ACCOUNTS as i64 {
        return Err(format!("there is {sum} of money"));
    }
    let counted: i64 = there.iter().map(|deed| deed.counted).sum();
    let counter = client::scan(txn, "w", 0).map_err(words)?;
    let counter: Vec<i64> = counter.into_iter().map(|(_, count)| count).collect();
    match counter == [counted] {
        true => Ok(()),
        false => Err(format!("{counted} were counted, and {counter:?} is there")),
    }
}
