//! `World`: one database on one simulated disk, through many crashes, held against a model.
//!
//! What must hold after each crash, fault or reopening:
//! - Every acknowledged commit and key change is there in full, and nothing of one that was not acknowledged; but the one
//!   that was in flight may be there, wholly or not at all. Once a writer has opened the file it is decided.
//! - A snapshot reads the same as long as it is held.
//! - `Store::check` finds nothing, and every sector is either used once or free once.
//! - Every anchor that was taken holds, and none that was taken after a copy holds for the copy, however it goes on.
//! - After a failed sync the handle writes nothing; a read-only handle never writes.
//!
//! An error is allowed only where the disk gave one.

mod anchors;
mod beside_checkpoint;
mod rekey;
mod side_by_side;
mod woken;

use std::collections::BTreeMap;
use std::sync::Arc;

use hushdb_keys::{KeyProvider, SlotOptions, Suite, providers::KeyText};
use hushdb_storage::{
    BufferPool, CatalogVersion, Error, ErrorKind, StorageFile, StorageFiles, Store, StoreOptions,
};

use crate::changes;
use crate::dice::Dice;
use crate::disk::{
    Breakage, BrokenFile, DiskOptions, DiskStats, Fault, FaultKind, SimDisk, SimFile, SimFiles,
};
use crate::model::Model;
use crate::old_key::OldKey;

/// The database file's name.
const NAME: &str = "sim.hush";
/// Sectors before the first block.
const FIXED_SECTORS: u64 = 16;
/// Key slots of a file header.
const SLOTS: usize = 8;

/// What must be there.
#[derive(Clone, Debug, PartialEq)]
struct State {
    model: Model,
    /// Number of the key in each slot that is taken. Empty for a plain database.
    keys: BTreeMap<usize, u64>,
}

/// How a world went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorldReport {
    /// Commits that were acknowledged.
    pub commits: u64,
    /// Key changes that were acknowledged.
    pub key_changes: u64,
    /// Commits and key changes that were in flight at a crash or fault and turned out to be there.
    pub found_in_flight: u64,
    /// The same, turned out not to be there.
    pub lost_in_flight: u64,
    /// Openings that were held against the model.
    pub openings: u64,
    /// Snapshots that were read again.
    pub snapshots: u64,
    /// Transactions that another one, committed meanwhile, kept from committing.
    pub conflicts: u64,
    /// Commits that were tried while a checkpoint was under way.
    pub beside_checkpoints: u64,
    /// Checkpoints that somebody made who was woken for them, some steps later.
    pub woken_checkpoints: u64,
    /// Times that another data key took the place of one.
    pub rekeys: u64,
    /// Times that one was given up for good.
    pub rekeys_ended: u64,
    /// Anchors that were taken.
    pub anchors: u64,
    /// Anchors that were refused, of another history.
    pub anchors_refused: u64,
    /// What the disk did.
    pub disk: DiskStats,
}

/// One database and its disk.
pub struct World {
    dice: Dice,
    disk: SimDisk,
    breakage: Breakage,
    encrypted: bool,
    suite: Suite,
    /// `None` until the making of the database is acknowledged.
    acknowledged: Option<State>,
    in_flight: Option<State>,
    next_key: u64,
    anchors: anchors::Anchors,
    /// Data keys that are, or may be, on the way out.
    old_keys: Vec<OldKey>,
    report: WorldReport,
}

/// An open store and what the world knows of it.
struct Handle {
    store: Arc<Store>,
    file: Arc<SimFile>,
    /// Whether it may have turned read-only.
    failed: bool,
    /// Faults of the disk before it was opened.
    faults_before: u64,
}

/// How a step left the handle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    GoesOn,
    /// The machine is down, or the handle writes no more.
    Over,
}

type Checked<T> = Result<T, String>;
type Snapshot = (Arc<CatalogVersion>, Model);

impl World {
    /// A world that follows from `seed`.
    pub fn new(seed: u64, breakage: Breakage) -> Self {
        let mut dice = Dice::new(seed);
        let disk = SimDisk::new(dice.throw(), DiskOptions::default());
        let encrypted = dice.chance(70);
        Self {
            dice,
            disk,
            breakage,
            encrypted,
            suite: [Suite::Gcm, Suite::Gcm, Suite::Ctr][(seed % 3) as usize],
            acknowledged: None,
            in_flight: None,
            next_key: 1,
            anchors: anchors::Anchors::default(),
            old_keys: Vec::new(),
            report: WorldReport::default(),
        }
    }

    /// Lives through that many crashes.
    ///
    /// # Errors
    /// What did not hold, in words.
    pub fn run(mut self, crashes: u64) -> Checked<WorldReport> {
        while self.disk.stats().crashes < crashes {
            self.life()?;
            if let Some(violation) = self.disk.violations().first() {
                return Err((*violation).to_owned());
            }
        }
        self.disk.restart();
        self.opening()?;
        self.go_on_from_copy()?;
        self.report.disk = self.disk.stats();
        Ok(self.report)
    }

    /// From one opening to the next.
    fn life(&mut self) -> Checked<()> {
        if self.disk.is_down() {
            self.disk.restart();
        }
        self.arm();
        if let Some(handle) = self.opening()? {
            self.work(handle)?;
        }
        self.disk.heal();
        self.disk.make_room();
        if !self.disk.is_down() && self.dice.chance(30) {
            self.disk.crash();
        }
        Ok(())
    }

    /// Says when the machine crashes and what fails before.
    fn arm(&mut self) {
        let piece_bytes = *self.dice.pick(&[512, 512, 4096, 100]);
        self.disk.set_piece_bytes(piece_bytes);
        if self.dice.chance(85) {
            let within = *self.dice.pick(&[8, 40, 120, 300]);
            self.disk.crash_after(self.dice.between(1, within));
        }
        if self.dice.chance(25) {
            for _ in 0..self.dice.between(1, 2) {
                let kind = *self.dice.pick(&FaultKind::ALL);
                let at = self.dice.below(600);
                self.disk.order(Fault { at, kind });
            }
        }
    }

    /// Makes or opens the database and holds it against the model. `None` when the disk did not let it.
    fn opening(&mut self) -> Checked<Option<Handle>> {
        if !self.disk.exists(NAME) {
            return match self.acknowledged {
                Some(_) => Err("the database file is gone".to_owned()),
                None => Ok(self.create()),
            };
        }
        self.open_with_a_removed_key()?;
        if self.dice.chance(10) {
            self.open_read_only()?;
        }
        let faults = self.disk.stats().faults;
        let Ok(file) = self.disk.open(NAME, false).map(Arc::new) else {
            return Ok(None);
        };
        let key = self.known_key();
        let store = match self.open(&file, false, key) {
            Ok(store) => store,
            Err(_) if self.excused(faults) => return Ok(None),
            Err(_) if self.acknowledged.is_none() => {
                // The machine went down while the database was made: it is no database.
                let removed = self.disk.remove(NAME);
                return removed
                    .and_then(|()| self.disk.sync_directory())
                    .map_or(Ok(None), |()| Ok(None));
            }
            Err(error) => return Err(format!("the database does not open: {error}")),
        };
        let Some(found) = self.examine(&store, true)? else {
            return Ok(None);
        };
        self.decide(found)?;
        self.anchors_hold(&store)?;
        self.report.openings += 1;
        let handle = Handle {
            store,
            file,
            failed: false,
            faults_before: faults,
        };
        self.copy_files(&handle)?;
        Ok(Some(handle))
    }

    fn create(&mut self) -> Option<Handle> {
        let faults = self.disk.stats().faults;
        let file = self.disk.create(NAME).map(Arc::new).ok()?;
        let key = self.encrypted.then(|| key_text(0));
        let key = key.as_ref().map(|key| key as &dyn KeyProvider);
        let options = self.options(false);
        match Store::create_in(self.files(&file), key, &options) {
            Ok(store) => {
                let keys = self.encrypted.then_some((0, 0)).into_iter().collect();
                self.acknowledged = Some(State {
                    model: Model::default(),
                    keys,
                });
                Some(Handle {
                    store,
                    file,
                    failed: false,
                    faults_before: faults,
                })
            }
            Err(_) => {
                // If the machine is up, the attempt is cleared away; else what is left is met after the restart.
                let _ = self.disk.remove(NAME);
                None
            }
        }
    }

    fn open(
        &mut self,
        file: &Arc<SimFile>,
        read_only: bool,
        key: u64,
    ) -> Result<Arc<Store>, Error> {
        let key = self.encrypted.then(|| key_text(key));
        let key = key.as_ref().map(|key| key as &dyn KeyProvider);
        let options = self.options(read_only);
        Store::open_in(self.files(file), key, &options)
    }

    fn files(&self, file: &Arc<SimFile>) -> Arc<dyn StorageFiles> {
        let file = Arc::clone(file) as Arc<dyn StorageFile>;
        let file = match self.breakage {
            Breakage::Sound => file,
            breakage => Arc::new(BrokenFile::new(file, breakage)),
        };
        Arc::new(SimFiles::beside(
            file,
            NAME,
            self.disk.clone(),
            self.breakage,
        ))
    }

    fn options(&mut self, read_only: bool) -> StoreOptions {
        // None, or more than there is: which blocks a full pool gives up follows from their tags, which no seed decides.
        let pool_bytes = *self.dice.pick(&[0, 64 << 20]);
        let freshness = self.freshness();
        StoreOptions {
            freshness,
            suite: self.suite,
            read_only,
            pool: Arc::new(BufferPool::new(pool_bytes)),
            ..StoreOptions::default()
        }
    }

    /// Whether the disk gave a reason for an error since `faults` were counted.
    fn excused(&self, faults: u64) -> bool {
        self.disk.is_down() || self.disk.stats().faults > faults
    }

    /// A key that opens the file, whether or not what is in flight is there.
    fn known_key(&mut self) -> u64 {
        let Some(state) = &self.acknowledged else {
            return 0;
        };
        let after = self.in_flight.as_ref().unwrap_or(state);
        let both = state
            .keys
            .values()
            .filter(|key| after.keys.values().any(|k| k == *key));
        let both: Vec<u64> = both.copied().collect();
        match both.is_empty() {
            true => 0,
            false => *self.dice.pick(&both),
        }
    }

    fn open_with_a_removed_key(&mut self) -> Checked<()> {
        if !self.encrypted || self.acknowledged.is_none() || !self.dice.chance(10) {
            return Ok(());
        }
        let key = self.dice.below(self.next_key + 1);
        let states = [&self.acknowledged, &self.in_flight];
        let known = |state: &State| state.keys.values().any(|known| *known == key);
        if states.into_iter().flatten().any(known) {
            return Ok(());
        }
        let faults = self.disk.stats().faults;
        let Ok(file) = self.disk.open(NAME, true).map(Arc::new) else {
            return Ok(());
        };
        match self.open(&file, true, key) {
            Err(_) if self.excused(faults) => Ok(()),
            Err(error) if error.kind() == ErrorKind::WrongKey => Ok(()),
            Err(error) => Err(format!("a removed key is refused as: {error}")),
            Ok(_) => Err("a removed key opens the database".to_owned()),
        }
    }

    fn open_read_only(&mut self) -> Checked<()> {
        let Some(acknowledged) = self.acknowledged.clone() else {
            return Ok(());
        };
        let faults = self.disk.stats().faults;
        let Ok(file) = self.disk.open(NAME, true).map(Arc::new) else {
            return Ok(());
        };
        let key = self.known_key();
        let store = match self.open(&file, true, key) {
            Ok(store) => store,
            Err(_) if self.excused(faults) => return Ok(()),
            Err(error) => return Err(format!("the database does not open read-only: {error}")),
        };
        if !matches!(store.begin(), Err(Error::ReadOnly)) {
            return Err("a read-only store begins a transaction".to_owned());
        }
        match self.examine(&store, false)? {
            Some(found) if found != acknowledged && Some(&found) != self.in_flight.as_ref() => {
                Err(unlike(&acknowledged, &found, "opened read-only"))
            }
            _ => Ok(()),
        }
    }

    /// Reads everything there is. `None` when the machine is down; a read error by order is tried again.
    fn examine(&mut self, store: &Arc<Store>, fresh: bool) -> Checked<Option<State>> {
        for _ in 0..3 {
            let faults = self.disk.stats().faults;
            match self.examine_once(store, fresh) {
                Ok(state) => return Ok(Some(state)),
                Err(_) if self.disk.is_down() => return Ok(None),
                Err(_) if self.excused(faults) => continue,
                Err(what) => return Err(what),
            }
        }
        Ok(None)
    }

    fn examine_once(&self, store: &Arc<Store>, fresh: bool) -> Checked<State> {
        let words = |error: Error| format!("a committed state is not readable: {error}");
        let model = Model::read(store, &store.snapshot()).map_err(words)?;
        let mut used = 0;
        let report = store
            .check(&mut |_, block| used += u64::from(block.sectors().unwrap_or_default()))
            .map_err(words)?;
        if let Some(finding) = report.findings.first() {
            return Err(format!("check finds: {}", finding.error));
        }
        if fresh {
            let free = store.blocks().free_extents().map_err(words)?;
            let free: u64 = free.iter().map(|(_, sectors)| sectors).sum();
            let total = store.info().total_sectors;
            let reserved = store.blocks().reserved_sectors();
            let reserved: u64 = reserved.iter().map(|(_, sectors)| sectors).sum();
            if used + reserved + free + FIXED_SECTORS != total {
                return Err(format!(
                    "space leaks: {used} sectors in use and {free} free of {total}"
                ));
            }
        }
        Ok(State {
            model,
            keys: keys_of(store)?,
        })
    }

    /// Which of the two possible states was found is the state from now on.
    fn decide(&mut self, found: State) -> Checked<()> {
        let Some(acknowledged) = &self.acknowledged else {
            // Making it was not acknowledged, yet it is there: then it is empty.
            return match found.model == Model::default() {
                true => {
                    self.acknowledged = Some(found);
                    Ok(())
                }
                false => Err("a database that was never made holds something".to_owned()),
            };
        };
        let in_flight = self.in_flight.take();
        if found == *acknowledged {
            self.report.lost_in_flight += u64::from(in_flight.is_some());
            return Ok(());
        }
        match in_flight {
            Some(state) if state == found => {
                self.report.found_in_flight += 1;
                self.acknowledged = Some(state);
                Ok(())
            }
            Some(_) => Err(unlike(
                acknowledged,
                &found,
                "opened (with something in flight, which it is not either)",
            )),
            None => Err(unlike(acknowledged, &found, "opened")),
        }
    }

    /// Steps on an open store until it is closed, fails or crashes.
    fn work(&mut self, mut handle: Handle) -> Checked<()> {
        let mut snapshots: Vec<Snapshot> = Vec::new();
        handle.store.set_checkpoint_on_close(self.dice.chance(50));
        let log_bytes = *self.dice.pick(&[1, 4 << 10, 64 << 10, 1 << 30]);
        handle.store.set_autocheckpoint_bytes(log_bytes);
        let due = self.perhaps_wakes(&handle);
        for _ in 0..self.dice.between(3, 60) {
            let flow = match self.dice.below(100) {
                0..=61 => self.transaction(&mut handle)?,
                62..=69 | 96..=97 if due.is_some() => {
                    self.due_checkpoint(&mut handle, due.as_ref())?
                }
                62..=65 => self.rekey(&mut handle)?,
                70..=77 => self.change_keys(&mut handle)?,
                78..=85 => {
                    let model = self.state()?.model.clone();
                    snapshots.push((handle.store.snapshot(), model));
                    if snapshots.len() > 4 {
                        snapshots.swap_remove(self.dice.index(4));
                    }
                    Flow::GoesOn
                }
                86..=89 => {
                    if !snapshots.is_empty() {
                        snapshots.swap_remove(self.dice.index(snapshots.len()));
                    }
                    Flow::GoesOn
                }
                90..=93 => self.read_again(&handle, &snapshots)?,
                94 => self.shrink(&mut handle)?,
                95 => self.checkpoint(&mut handle)?,
                66..=69 | 96..=97 => self.commits_beside_checkpoint(&mut handle)?,
                _ => self.compare(&handle)?,
            };
            if flow == Flow::Over || self.disk.is_down() {
                break;
            }
            if !handle.failed && self.dice.chance(5) {
                self.take_anchor(&handle)?;
            }
        }
        if !self.disk.is_down() {
            self.read_again(&handle, &snapshots)?;
            self.compare(&handle)?;
            self.refuses_after_failure(&handle)?;
        }
        if self.dice.chance(50) {
            // The crash comes before the store is closed.
            self.disk.crash();
        }
        Ok(())
    }

    fn state(&self) -> Checked<&State> {
        let state = self.acknowledged.as_ref();
        state.ok_or_else(|| "there is no database".to_owned())
    }

    fn transaction(&mut self, handle: &mut Handle) -> Checked<Flow> {
        let mut after = self.state()?.clone();
        let faults = self.disk.stats().faults;
        let mut txn = match handle.store.begin() {
            Ok(txn) => txn,
            Err(error) => return self.failed(handle, faults, None, &error),
        };
        for _ in 0..self.dice.between(1, 4) {
            if let Err(error) = changes::change(&mut txn, &mut after.model, &mut self.dice) {
                drop(txn);
                return self.failed(handle, faults, None, &error);
            }
        }
        if self.dice.chance(15) {
            return self.side_by_side(handle, txn, after);
        }
        if self.dice.chance(15) {
            drop(txn);
            return match self.dice.chance(30) {
                true => self.compare(handle),
                false => Ok(Flow::GoesOn),
            };
        }
        match txn.commit() {
            Ok(_) => {
                self.acknowledged = Some(after);
                self.report.commits += 1;
                Ok(Flow::GoesOn)
            }
            Err(error) => self.failed(handle, faults, Some(after), &error),
        }
    }

    fn shrink(&mut self, handle: &mut Handle) -> Checked<Flow> {
        let faults = self.disk.stats().faults;
        match handle.store.shrink() {
            Ok(()) => Ok(Flow::GoesOn),
            Err(error) => self.failed(handle, faults, None, &error),
        }
    }

    fn change_keys(&mut self, handle: &mut Handle) -> Checked<Flow> {
        if !self.encrypted {
            return Ok(Flow::GoesOn);
        }
        let mut after = self.state()?.clone();
        let taken: Vec<usize> = after.keys.keys().copied().collect();
        let slot = *self.dice.pick(&taken);
        let number = self.next_key;
        let key = key_text(number);
        let options = SlotOptions {
            label: label_of(number),
            ..SlotOptions::default()
        };
        let faults = self.disk.stats().faults;
        let throw = self.dice.below(3);
        let blocks = handle.store.blocks();
        let changed = if throw == 0 && taken.len() > 1 {
            after.keys.remove(&slot);
            blocks.change_header(|header, crypto, keys| header.remove_slot(crypto, keys, slot))
        } else if throw == 1 && taken.len() > 1 {
            after.keys.insert(slot, number);
            blocks.change_header(|header, crypto, keys| {
                header.change_slot(crypto, keys, slot, &key, &options)
            })
        } else if taken.len() < SLOTS {
            let free = (0..SLOTS).find(|slot| !after.keys.contains_key(slot));
            after.keys.insert(free.unwrap_or_default(), number);
            blocks
                .change_header(|header, crypto, keys| header.add_slot(crypto, keys, &key, &options))
                .map(|_| ())
        } else {
            return Ok(Flow::GoesOn);
        };
        self.next_key += 1;
        match changed {
            Ok(()) => {
                self.acknowledged = Some(after);
                self.report.key_changes += 1;
                Ok(Flow::GoesOn)
            }
            Err(error) => self.failed(handle, faults, Some(after), &error),
        }
    }

    /// A statement or commit failed: the disk must have given a reason, and the committed state must be as it was.
    fn failed(
        &mut self,
        handle: &mut Handle,
        faults: u64,
        after: Option<State>,
        error: &Error,
    ) -> Checked<Flow> {
        // A checkpoint after a commit may have failed: the commit stands, and what comes after is refused.
        let faults = match error {
            Error::WriteFailedEarlier => handle.faults_before,
            _ => faults,
        };
        if !self.excused(faults) {
            return Err(format!("without a fault of the disk: {error}"));
        }
        if self.disk.is_down() {
            self.in_flight = after;
            return Ok(Flow::Over);
        }
        self.disk.heal();
        self.disk.make_room();
        if handle.store.blocks().read_only() {
            handle.failed = true;
            self.in_flight = after;
            return Ok(Flow::Over);
        }
        self.compare(handle)
    }

    /// Holds what the open store shows against the acknowledged state.
    fn compare(&mut self, handle: &Handle) -> Checked<Flow> {
        let Some(found) = self.examine(&handle.store, false)? else {
            return Ok(Flow::Over);
        };
        let state = self.state()?;
        // After a failure in the middle of a key change, the handle may know the new keys already.
        let keys_open = handle.failed && self.in_flight.is_some();
        if found.model == state.model && (keys_open || found.keys == state.keys) {
            Ok(Flow::GoesOn)
        } else {
            Err(unlike(state, &found, "open"))
        }
    }

    fn read_again(&mut self, handle: &Handle, snapshots: &[Snapshot]) -> Checked<Flow> {
        for (catalog, model) in snapshots {
            let faults = self.disk.stats().faults;
            match Model::read(&handle.store, catalog) {
                Ok(found) => match model.difference(&found) {
                    None => self.report.snapshots += 1,
                    Some(what) => return Err(format!("a snapshot changed: {what}")),
                },
                Err(_) if self.disk.is_down() => return Ok(Flow::Over),
                Err(_) if self.excused(faults) => {}
                Err(error) => return Err(format!("a snapshot is not readable: {error}")),
            }
        }
        Ok(Flow::GoesOn)
    }

    /// A handle whose sync failed, or that may not know what is on disk, begins nothing more.
    fn refuses_after_failure(&self, handle: &Handle) -> Checked<()> {
        let must = handle.failed || handle.file.sync_failed();
        match handle.store.begin() {
            Ok(_) if must => Err("the store goes on after a failed sync".to_owned()),
            // Also where a checkpoint after a commit failed, which is nobody's error.
            Err(Error::WriteFailedEarlier) if must || self.excused(handle.faults_before) => Ok(()),
            Err(error) => Err(format!("no transaction begins: {error}")),
            Ok(_) => Ok(()),
        }
    }
}

fn unlike(expected: &State, found: &State, when: &str) -> String {
    let what = expected.model.difference(&found.model);
    let what =
        what.unwrap_or_else(|| format!("key slots {:?} against {:?}", expected.keys, found.keys));
    format!("the database is not what was acknowledged when {when}: {what}")
}

/// Raw keys, told apart by a number.
fn key_text(number: u64) -> KeyText {
    KeyText::new(format!("hex:{number:064x}"))
}

fn label_of(number: u64) -> String {
    match number {
        0 => String::new(),
        _ => format!("{number}"),
    }
}

fn keys_of(store: &Arc<Store>) -> Checked<BTreeMap<usize, u64>> {
    let slots = store.blocks().header().slots();
    let key = |label: &str| match label {
        "" => Ok(0),
        _ => label
            .parse()
            .map_err(|_| "a key slot has a label that nobody gave".to_owned()),
    };
    slots
        .iter()
        .map(|info| Ok((info.slot, key(&info.label)?)))
        .collect()
}
