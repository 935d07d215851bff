//! The data key changes while rows are committed, and the machine crashes at each write, change of length, sync and change of a name
//! on the way. After each crash the same key opens the file, the rows are right, a writer goes on to the end, and then nothing
//! opens under the old data key. Where the master key changes with it, the key before or the one that comes opens the file, either of
//! them with the right rows, and in the end only the one that came, also with the old header put back. A plain file is plain or encrypted after
//! each crash, and in the end nothing of it is in the clear.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, StringViewArray};
use hushdb_keys::providers::KeyText;
use hushdb_keys::{HEADER_OFFSETS, KeyProvider, SlotOptions, SlotPlan, Suite};
use hushdb_sim::{Breakage, DiskOptions, OldKey, SimDisk, SimFiles};
use hushdb_storage::{
    BufferPool, ColumnDef, ColumnType, ErrorKind, IndexDef, IndexKind, RekeyState, Result,
    SECTOR_BYTES, StorageFile, Store, StoreOptions,
};
use parking_lot::Mutex;

const NAME: &str = "db";
/// Never: no sync is left out.
const NONE: u64 = u64::MAX;

/// What is done at each sync of the database file, by the thread that syncs: it would wait for ever for a lock which that thread holds.
#[derive(Clone, Default)]
struct AtSyncs(Arc<Mutex<Option<Work>>>);

type Work = Box<dyn FnMut() + Send>;

impl std::fmt::Debug for AtSyncs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtSyncs")
    }
}

/// A file of which one sync is left out, and its error kept quiet.
#[derive(Debug)]
struct LeavesOut {
    file: Arc<dyn StorageFile>,
    syncs: Arc<AtomicU64>,
    left_out: u64,
    at_syncs: AtSyncs,
}

impl StorageFile for LeavesOut {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(offset, buf)
    }

    fn write_all_at(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        self.file.write_all_at(offset, buf)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        let work = self.at_syncs.0.lock().take();
        if let Some(mut work) = work {
            work();
            *self.at_syncs.0.lock() = Some(work);
        }
        match self.syncs.fetch_add(1, Ordering::Relaxed) == self.left_out {
            true => Ok(()),
            false => self.file.sync(),
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.file.sync_directory()
    }
}

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    DataKey,
    /// And the one key that opens the file.
    MasterKey,
    /// And the cipher of blocks of values.
    Cipher,
    /// From none: a plain file.
    Encryption,
}

/// One database on one disk, and the rows that must be there.
struct Life {
    disk: SimDisk,
    change: Change,
    suite: Suite,
    /// Acknowledged.
    rows: BTreeSet<i64>,
    /// Told to commit when the machine went down.
    in_flight: Option<i64>,
    next: i64,
    syncs: Arc<AtomicU64>,
    left_out: u64,
    at_syncs: AtSyncs,
}

fn key() -> KeyText {
    KeyText::new(format!("hex:{:064x}", 5))
}

/// The one that takes its place with the master key.
fn new_key() -> KeyText {
    KeyText::new(format!("hex:{:064x}", 6))
}

/// A key, or none for a plain file.
type Opens = Option<KeyText>;

impl Life {
    fn new(seed: u64, change: Change) -> Self {
        Self {
            change,
            disk: SimDisk::new(seed, DiskOptions { piece_bytes: 512 }),
            suite: [Suite::Gcm, Suite::Ctr][(seed % 2) as usize],
            rows: BTreeSet::new(),
            in_flight: None,
            next: 0,
            syncs: Arc::default(),
            left_out: NONE,
            at_syncs: AtSyncs::default(),
        }
    }

    /// What opens it in the beginning, and in the end.
    fn first_key(&self) -> Opens {
        (self.change != Change::Encryption).then(key)
    }

    fn last_key(&self) -> Opens {
        Some(match self.change {
            Change::MasterKey => new_key(),
            _ => key(),
        })
    }

    /// How it is sealed in the end.
    fn last_suite(&self) -> Suite {
        match (self.change, self.suite) {
            (Change::Cipher, Suite::Gcm) => Suite::Ctr,
            (Change::Cipher, _) => Suite::Gcm,
            (_, suite) => suite,
        }
    }

    fn options(&self) -> StoreOptions {
        StoreOptions {
            suite: self.suite,
            row_group_rows: 40,
            pool: Arc::new(BufferPool::new(0)),
            ..StoreOptions::default()
        }
    }

    fn files(&self, file: Arc<dyn StorageFile>) -> Arc<SimFiles> {
        let file = Arc::new(LeavesOut {
            file,
            syncs: Arc::clone(&self.syncs),
            left_out: self.left_out,
            at_syncs: self.at_syncs.clone(),
        });
        let disk = self.disk.clone();
        Arc::new(SimFiles::beside(file, NAME, disk, Breakage::Sound))
    }

    fn open(&self, key: &Opens, read_only: bool) -> Result<Arc<Store>> {
        let file: Arc<dyn StorageFile> = Arc::new(self.disk.open(NAME, read_only)?);
        let options = StoreOptions {
            read_only,
            ..self.options()
        };
        let key = key.as_ref().map(|key| key as &dyn KeyProvider);
        let store = Store::open_in(self.files(file), key, &options)?;
        store.set_autocheckpoint_bytes(1 << 30);
        Ok(store)
    }

    /// A key that opens the file. Where two do, between the slots, all is there with either, and it is one of them.
    fn opening_key(&mut self) -> Result<Opens, String> {
        let mut opening = Vec::new();
        let mut refusals = Vec::new();
        let makes: [fn() -> Opens; 3] = [|| Some(key()), || Some(new_key()), || None];
        for make in makes {
            match self.open(&make(), true) {
                Ok(store) => {
                    self.compare(&store)?;
                    opening.push(make);
                }
                Err(error) => refusals.push(error.to_string()),
            }
        }
        let which = self.next as usize % opening.len().max(1);
        match opening.get(which) {
            Some(make) => Ok(make()),
            None => Err(format!("it does not open: {}", refusals.join("; "))),
        }
    }

    /// A table with an index, deleted rows, and rows in an open log.
    fn begin(&mut self) -> Result<Arc<Store>> {
        let file: Arc<dyn StorageFile> = Arc::new(self.disk.create(NAME)?);
        let key = self.first_key();
        let key = key.as_ref().map(|key| key as &dyn KeyProvider);
        let store = Store::create_in(self.files(file), key, &self.options())?;
        store.set_autocheckpoint_bytes(1 << 30);
        let column = |name: &str, ty| ColumnDef {
            name: name.into(),
            ty,
            nullable: true,
            default: None,
            generated: None,
            declared: None,
        };
        let columns = vec![
            column("id", ColumnType::Int64),
            column("s", ColumnType::Varchar),
        ];
        let mut txn = store.begin()?;
        txn.create_table("main", "t", columns, vec![])?;
        let index = IndexDef {
            name: "i".into(),
            kind: IndexKind::Plain,
            columns: vec!["s".into()],
        };
        txn.create_index("main", "t", index)?;
        txn.commit()?;
        for _ in 0..3 {
            self.commit(&store, 40)?;
            store.checkpoint()?;
        }
        let mut txn = store.begin()?;
        txn.delete_rows("main", "t", &[3, 4, 50])?;
        txn.commit()?;
        self.rows.retain(|id| ![3, 4, 50].contains(id));
        store.checkpoint()?;
        self.commit(&store, 2)?;
        Ok(store)
    }

    fn commit(&mut self, store: &Arc<Store>, rows: i64) -> Result<()> {
        let ids: Vec<i64> = (self.next..self.next + rows).collect();
        let arrays = arrays_of(&ids);
        let mut txn = store.begin()?;
        txn.insert("main", "t", &arrays)?;
        self.next += rows;
        self.in_flight = ids.first().copied();
        txn.commit()?;
        self.in_flight = None;
        self.rows.extend(ids);
        Ok(())
    }

    /// Changes the data key, if that is not under way, and goes on until it is done, with commits and an older snapshot beside.
    fn rekey(&mut self, store: &Arc<Store>) -> Result<()> {
        let progress = store.rekey_progress();
        let runs = progress.is_some_and(|progress| progress.state != RekeyState::Done);
        if !runs && self.change == Change::MasterKey {
            let key = new_key();
            let plan = [
                SlotPlan::Drop { slot: 0 },
                SlotPlan::Add {
                    key: &key,
                    options: SlotOptions::default(),
                },
            ];
            let new = store.blocks().prepare_new_master(&plan)?;
            assert!(store.rekey(new)?);
        } else if !runs && self.change == Change::Encryption {
            let slot = SlotOptions::default();
            let first = store
                .blocks()
                .prepare_encryption(self.suite, &key(), &slot)?;
            store.encrypt(first)?;
        } else if !runs && self.change == Change::Cipher {
            assert!(store.change_cipher(self.last_suite())?);
        } else {
            store.rotate_data_key()?;
        }
        let mut snapshot = Some(store.snapshot());
        for step in 0.. {
            self.commit(store, 1)?;
            match store.rekey_step_of(12 << 10)? {
                RekeyState::Done => break,
                RekeyState::Draining => snapshot = None,
                RekeyState::Running | RekeyState::Paused => {
                    assert!(step < 500, "it does not end");
                }
            }
        }
        drop(snapshot);
        self.commit(store, 1)
    }

    /// Everything that must hold after a crash; goes on to the end.
    fn hold(&mut self, old: &Old) -> Result<(), String> {
        let words = |error: hushdb_storage::Error| error.to_string();
        self.disk.restart();
        (self.left_out, _) = (NONE, self.syncs.store(0, Ordering::Relaxed));
        let opening = self.opening_key()?;
        let store = self
            .open(&opening, false)
            .map_err(|error| format!("it does not open: {error}"))?;
        self.compare(&store)?;
        let wanted = old.key.as_ref().map_or(0, OldKey::key_id) + 1;
        let progress = store.rekey_progress();
        let runs = progress.is_some_and(|progress| progress.state != RekeyState::Done);
        if runs || key_id_of(&store, &opening)? < wanted {
            self.rekey(&store).map_err(words)?;
        }
        self.compare(&store)?;
        let last = self.last_key();
        let now = key_id_of(&store, &last)?;
        if now != wanted {
            return Err(format!("the data key is {now} in the end"));
        }
        if store.info().suite != self.last_suite() {
            return Err(format!("it is sealed with {}", store.info().suite));
        }
        drop(store);
        let store = self
            .open(&last, false)
            .map_err(|error| format!("it does not open again: {error}"))?;
        self.compare(&store)?;
        drop(store);
        match &old.key {
            Some(key) => self.nothing_opens(key)?,
            None => self.nothing_is_plain()?,
        }
        match self.change {
            Change::MasterKey => self.old_header_opens_nothing(&old.header),
            _ => Ok(()),
        }
    }

    /// No row is in the clear, in the file or beside it, and no block says that it is.
    fn nothing_is_plain(&self) -> Result<(), String> {
        for name in self.disk.names() {
            let bytes = self.disk.contents(&name).unwrap_or_default();
            let texts = b"row number ";
            let sectors = bytes.chunks_exact(SECTOR_BYTES).enumerate();
            let mut plain = sectors.filter(|(_, of)| of.starts_with(b"HUSB") && of[5] == 0);
            if let Some((sector, _)) = plain.next() {
                return Err(format!("a block at sector {sector} of {name} is plain"));
            }
            if bytes.windows(texts.len()).any(|window| window == texts) {
                return Err(format!("a row is in the clear in {name}"));
            }
        }
        Ok(())
    }

    /// The old key, with the header that the file has or with the old one before it.
    fn old_header_opens_nothing(&self, old_header: &[u8]) -> Result<(), String> {
        match self.open(&Some(key()), true) {
            Err(error) if error.kind() == ErrorKind::WrongKey => {}
            other => return Err(format!("the old key: {:?}", other.map(|_| "opens it"))),
        }
        let file = self.disk.open(NAME, false).map_err(|e| e.to_string())?;
        for at in HEADER_OFFSETS {
            file.write_all_at(at, old_header)
                .map_err(|e| e.to_string())?;
        }
        drop(file);
        match [key(), new_key()].map(|key| self.open(&Some(key), true)) {
            [Err(_), Err(_)] => Ok(()),
            _ => Err("it opens with the old header".to_owned()),
        }
    }

    /// No sector and no log is under the old data key.
    fn nothing_opens(&self, old: &OldKey) -> Result<(), String> {
        let file: Arc<dyn StorageFile> =
            Arc::new(self.disk.open(NAME, true).map_err(|e| e.to_string())?);
        if let Some(sector) = old.opens_in(&file).map_err(|error| error.to_string())? {
            return Err(format!(
                "a block at sector {sector} opens under the old key"
            ));
        }
        for name in self.disk.names() {
            let bytes = self.disk.contents(&name).unwrap_or_default();
            if name != NAME && old.is_of_log(&bytes) {
                return Err(format!("{name} is under the old key"));
            }
        }
        Ok(())
    }

    fn compare(&mut self, store: &Arc<Store>) -> Result<(), String> {
        let words = |error: hushdb_storage::Error| format!("it is not readable: {error}");
        let snapshot = store.snapshot();
        let table = snapshot.table("main", "t").ok_or("the table is gone")?;
        let column = table.column("id").ok_or("the column is gone")?;
        let mut found = BTreeSet::new();
        for group in table.row_groups().map_err(words)? {
            let ids = store
                .read_column(group, column, group.visible().as_ref())
                .map_err(words)?;
            found.extend(ids.as_primitive::<Int64Type>().values().iter().copied());
        }
        if let Some(id) = self.in_flight.take().filter(|id| found.contains(id)) {
            self.rows.insert(id);
        }
        if found != self.rows {
            return Err(format!("{} rows of {}", found.len(), self.rows.len()));
        }
        let report = store.check(&mut |_, _| {}).map_err(words)?;
        match report.findings.first() {
            Some(finding) => Err(format!("check finds: {}", finding.error)),
            None => Ok(()),
        }
    }
}

/// What was in force before.
struct Old {
    /// The data key, if there was one.
    key: Option<OldKey>,
    header: Vec<u8>,
}

impl Old {
    fn of(store: &Store, key: &Opens) -> Self {
        let old = key.as_ref().map(|key| OldKey::of(store, key).unwrap());
        let header = store.blocks().header().to_page().to_vec();
        Self { key: old, header }
    }
}

/// The number of the data key; 0 in a plain file.
fn key_id_of(store: &Store, key: &Opens) -> Result<u32, String> {
    let now = key.as_ref().map(|key| OldKey::of(store, key)).transpose();
    let now = now.map_err(|error| error.to_string())?;
    Ok(now.as_ref().map_or(0, OldKey::key_id))
}

/// The rows with these ids.
fn arrays_of(ids: &[i64]) -> [ArrayRef; 2] {
    let texts = ids
        .iter()
        .map(|id| Some(format!("row number {id} {}", "x".repeat(20))));
    [
        Arc::new(Int64Array::from(ids.to_vec())),
        Arc::new(texts.collect::<StringViewArray>()),
    ]
}

/// Rows that were committed at syncs, and the one that was told to commit when the machine went down.
#[derive(Default)]
struct AtSync {
    rows: Vec<i64>,
    in_flight: Option<i64>,
}

impl Life {
    /// Does something, and commits a row at each sync of the database file meanwhile, up to so many. Gives how many rows these were.
    fn with_commits_at_syncs(
        &mut self,
        store: &Arc<Store>,
        at_most: usize,
        work: impl FnOnce(&Store) -> Result<()>,
    ) -> (usize, Result<()>) {
        let (done, weak) = (
            Arc::new(Mutex::new(AtSync::default())),
            Arc::downgrade(store),
        );
        let (told, mut next) = (Arc::clone(&done), self.next);
        *self.at_syncs.0.lock() = Some(Box::new(move || {
            let mut told = told.lock();
            let is_enough = told.in_flight.is_some() || told.rows.len() >= at_most;
            let Some(store) = weak.upgrade().filter(|_| !is_enough) else {
                return;
            };
            told.in_flight = Some(next);
            let committed = store.begin().and_then(|mut txn| {
                txn.insert("main", "t", &arrays_of(&[next]))?;
                txn.commit()
            });
            if committed.is_ok() {
                told.in_flight = None;
                told.rows.push(next);
            }
            next += 1;
        }));
        let outcome = work(store);
        *self.at_syncs.0.lock() = None;
        let done = done.lock();
        self.rows.extend(&done.rows);
        self.next += 1 + done.rows.len() as i64;
        self.in_flight = done.in_flight.or(self.in_flight);
        (done.rows.len(), outcome)
    }

    /// Changes the data key and makes a checkpoint, both with commits while the root moves. Gives how many these were.
    fn moves_root_beside_commits(&mut self, store: &Arc<Store>) -> Result<[usize; 2]> {
        // Into a log, which the first commit begins.
        self.commit(store, 1)?;
        let (at_keys, changed) =
            self.with_commits_at_syncs(store, usize::MAX, |it| it.rotate_data_key().map(drop));
        changed?;
        let mut checkpoint = store.begin_checkpoint()?.expect("there is a log");
        checkpoint.store()?;
        self.commit(store, 1)?;
        let (at_root, moved) =
            self.with_commits_at_syncs(store, usize::MAX, |_| checkpoint.finish());
        moved?;
        self.commit(store, 1)?;
        Ok([at_keys, at_root])
    }
}

/// Lives with a crash after so many changes of the disk, and with one sync left out. `false`: it was done before that.
fn crashes(change: Change, seed: u64, after: u64, left_out: u64) -> Result<bool, String> {
    let mut life = Life::new(seed, change);
    life.left_out = left_out;
    life.syncs.store(NONE / 2, Ordering::Relaxed);
    let store = life.begin().map_err(|error| error.to_string())?;
    let old = Old::of(&store, &life.first_key());
    life.syncs.store(0, Ordering::Relaxed);
    life.disk.crash_after(after);
    let outcome = life.rekey(&store);
    if let Err(error) = outcome
        && !life.disk.is_down()
    {
        return Err(format!("without a crash: {error}"));
    }
    let crashed = life.disk.is_down();
    life.disk.crash();
    drop(store);
    life.hold(&old)
        .map_err(|what| format!("seed {seed}, crash after {after}: {what}"))?;
    Ok(crashed)
}

/// The crash that tells, over all of them and some seeds; `None`: nothing does.
fn first_loss(change: Change, seeds: Range<u64>, left_out: u64, at_most: u64) -> Option<String> {
    let (mut points, all) = (0, seeds.clone());
    for seed in seeds {
        for after in 1..at_most {
            match crashes(change, seed, after, left_out) {
                Ok(true) => points += 1,
                Ok(false) => break,
                Err(what) => return Some(what),
            }
        }
        say(&format!(
            "{change:?}: {points} crash points, seeds {all:?} up to {seed}"
        ));
    }
    None
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// So many seeds from HUSHDB_SIM_SEED on, or as many as HUSHDB_SIM_SEEDS says: long runs go in pieces.
fn seeds(usual: u64) -> Range<u64> {
    let number = |name: &str| Some(std::env::var(name).ok()?.parse().expect("a number"));
    let first: u64 = number("HUSHDB_SIM_SEED").unwrap_or(0);
    first..first + number("HUSHDB_SIM_SEEDS").unwrap_or(usual)
}

#[test]
fn a_crash_at_any_moment_loses_nothing_and_locks_nobody_out() {
    assert_eq!(first_loss(Change::DataKey, seeds(2), NONE, NONE), None);
}

#[test]
fn commits_go_on_while_the_root_moves_and_a_crash_loses_none() {
    let mut points = 0;
    for seed in seeds(4) {
        for after in 1.. {
            let mut life = Life::new(seed, Change::DataKey);
            let store = life.begin().unwrap();
            let old = Old::of(&store, &life.first_key());
            life.disk.crash_after(after);
            let outcome = life.moves_root_beside_commits(&store);
            let crashed = life.disk.is_down();
            assert!(crashed || outcome.is_ok(), "{outcome:?}");
            if let Ok([at_keys, at_root]) = outcome {
                assert!(at_keys >= 5 && at_root >= 3, "{at_keys}, {at_root}");
            }
            life.disk.crash();
            drop(store);
            life.hold(&old)
                .unwrap_or_else(|what| panic!("seed {seed}, crash after {after}: {what}"));
            if !crashed {
                break;
            }
            points += 1;
        }
        say(&format!(
            "commits at syncs: {points} crash points up to seed {seed}"
        ));
    }
}

/// A commit that comes while the plain logs end begins another, which must end, too.
#[test]
fn a_log_that_begins_while_it_is_to_be_encrypted_ends_before_and_a_crash_loses_nothing() {
    for after in 1.. {
        let mut life = Life::new(7, Change::Encryption);
        let store = life.begin().unwrap();
        let old = Old::of(&store, &life.first_key());
        let (blocks, slot) = (store.blocks(), SlotOptions::default());
        let first = blocks.prepare_encryption(life.suite, &key(), &slot);
        let first = first.unwrap();
        life.disk.crash_after(after);
        let (commits, began) = life.with_commits_at_syncs(&store, 1, |it| it.encrypt(first));
        let crashed = life.disk.is_down();
        assert!(crashed || began.is_ok() && commits == 1, "{began:?}");
        life.disk.crash();
        drop(store);
        let held = life.hold(&old);
        held.unwrap_or_else(|what| panic!("crash after {after}: {what}"));
        if !crashed {
            break;
        }
    }
}

#[test]
fn a_crash_while_an_age_is_set_leaves_it_set_or_not_and_the_key_changes_afterwards() {
    for (seed, before) in [(0, None), (1, None), (2, Some(7))] {
        for after in 1.. {
            let mut life = Life::new(seed, Change::DataKey);
            let store = life.begin().unwrap();
            let old = Old::of(&store, &life.first_key());
            if let Some(days) = before {
                store.set_data_key_age_days(days).unwrap();
            }
            life.disk.crash_after(after);
            let set = store.set_data_key_age_days(30);
            let crashed = life.disk.is_down();
            assert!(crashed || set.is_ok(), "{set:?}");
            life.disk.crash();
            drop(store);
            life.hold(&old)
                .unwrap_or_else(|what| panic!("seed {seed}, crash after {after}: {what}"));
            let age = life
                .open(&life.first_key(), true)
                .unwrap()
                .data_key_age_days();
            assert!(age == Some(30) || crashed && age == before, "{age:?}");
            if !crashed {
                assert!(after > 8);
                break;
            }
        }
    }
}

#[test]
fn a_crash_at_any_moment_leaves_the_old_master_key_or_the_new_one() {
    assert_eq!(first_loss(Change::MasterKey, seeds(2), NONE, NONE), None);
}

#[test]
fn a_crash_at_any_moment_leaves_the_old_cipher_or_the_new_one() {
    assert_eq!(first_loss(Change::Cipher, seeds(2), NONE, NONE), None);
}

#[test]
fn a_crash_at_any_moment_leaves_a_plain_file_or_an_encrypted_one() {
    assert_eq!(first_loss(Change::Encryption, seeds(2), NONE, NONE), None);
}

/// Ring, header and slots are each waited for, and whatever is not is by the next sync of the file: until the first slot is whole, the
/// state before is. So the one sync that nothing makes good is that between the slots.
#[test]
fn without_the_sync_between_the_slots_both_are_lost() {
    const BETWEEN_THE_SLOTS: u64 = 2;
    let lost = first_loss(Change::DataKey, 0..60, BETWEEN_THE_SLOTS, 20);
    assert!(lost.is_some(), "it is left out unnoticed");
}
