//! CREATE, DROP and RENAME DATABASE, the rotations and `hush adopt` on a disk that is cut off at each of their writes, syncs and changes of
//! names, or that fails in one.
//!
//! What must hold after each: the instance opens; every database is there whole, under a key of the keyring, or not at all; what was told
//! to be done is done; no key is kept and no file lies there that belongs to no database; and what did not happen can be done.

use super::catalog::{Catalog, KEYRING_ROOT, Role};
use super::files::InstanceFiles;
use super::{FIRST, Instance, State};
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use hushdb::files::StorageFile;
use hushdb::keys::SecretBytes;
use hushdb::{Database, DatabaseOptions, FileSources, KeySource, Value};
use hushdb_sim::{Dice, DiskOptions, Fault, FaultKind, SimDisk, SimFiles};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

const HERE: &str = "sim://here";
/// What is adopted.
const SOURCE: &str = "sim://source.hushdb";
const OLD: &str = "old";
const NEW: &str = "new";
/// Cuts beyond which a step would do more than any of these does.
const MOST: u64 = 5_000;
/// Every how many operations a fault comes.
const STRIDE: usize = 13;

/// Databases by their names, with the rows of the table that each has.
type Contents = BTreeMap<String, Vec<i64>>;

/// What is done to an instance in which the database `old` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Create,
    Adopt,
    Drop,
    Rename,
    /// ALTER DATABASE ... ROTATE KEY, of a session.
    RotateServed,
    /// `hush rotate --database`.
    RotateOnHost,
    /// `hush rotate`.
    RotateKeyring,
}

fn contents(of: &[(&str, std::ops::Range<i64>)]) -> Contents {
    let named = of.iter();
    named
        .map(|(name, rows)| ((*name).to_owned(), rows.clone().collect()))
        .collect()
}

impl Step {
    fn run(self, instance: &mut Instance) -> Result<(), String> {
        let told = |(_, message): super::Refused| message;
        match self {
            Self::Create => instance.create(NEW, FIRST).map_err(told),
            Self::Adopt => {
                let source = Path::new(SOURCE);
                let adopted = instance
                    .create_filled(NEW, FIRST, |id| instance.fill_from(id, NEW, source, None));
                adopted.map(drop).map_err(told)
            }
            Self::Drop => instance.drop_database(OLD).map_err(told),
            Self::Rename => instance.rename(OLD, NEW).map_err(told),
            Self::RotateServed => {
                let row = instance.online(OLD).map_err(told)?;
                let session = instance.connect(&row).map_err(told)?;
                instance.rotate_key(OLD, &session).map_err(told)?;
                session.seal_anew(OLD).map_err(|error| error.to_string())?;
                Ok(())
            }
            Self::RotateOnHost => {
                let rotated = instance.rotate_database(OLD);
                rotated.map(drop).map_err(|error| error.to_string())
            }
            Self::RotateKeyring => instance.rotate_keyring().map_err(|error| error.to_string()),
        }
    }

    fn before() -> Contents {
        contents(&[(OLD, 0..5)])
    }

    fn after(self) -> Contents {
        match self {
            Self::Create => contents(&[(OLD, 0..5), (NEW, 0..0)]),
            Self::Adopt => contents(&[(OLD, 0..5), (NEW, 10..13)]),
            Self::Drop => contents(&[]),
            Self::Rename => contents(&[(NEW, 0..5)]),
            Self::RotateServed | Self::RotateOnHost | Self::RotateKeyring => Self::before(),
        }
    }
}

/// A machine with an instance.
struct Site {
    disk: SimDisk,
}

fn key() -> KeySource {
    let digits = format!("hex:{:064x}", 7);
    KeySource::Text(SecretBytes::new(digits.into_bytes()))
}

fn options() -> DatabaseOptions {
    DatabaseOptions {
        threads: Some(1),
        memory_limit_bytes: Some(64 << 20),
        ..DatabaseOptions::default()
    }
}

impl Site {
    /// With the database `old`, and a plain file that may be adopted.
    fn new() -> Self {
        let disk = SimDisk::new(1, DiskOptions::default());
        let site = Self { disk };
        let catalog = Catalog::create(&site.files(), key()).unwrap();
        catalog.keep_secret(KEYRING_ROOT, &[5; 32]).unwrap();
        let role = Role {
            name: FIRST.into(),
            verifier: None,
            superuser: true,
            create_database: true,
            login: true,
            connection_limit: -1,
        };
        catalog.put_role(&role).unwrap();
        drop(catalog);
        let instance = site.open().unwrap();
        instance.create(OLD, FIRST).unwrap();
        let row = instance.online(OLD).unwrap();
        let session = instance.connect(&row).unwrap();
        fill(&session, "0, 5");
        drop((session, instance));
        let sources = DatabaseOptions {
            file_sources: site.sources(),
            ..options()
        };
        let source = Database::open_with(Some(Path::new(SOURCE)), sources).unwrap();
        fill(&source.connect().unwrap(), "10, 13");
        drop(source);
        assert_eq!(site.found().unwrap(), Step::before());
        site
    }

    /// The same machine once more, under another seed.
    fn fork(&self, seed: u64) -> Self {
        Self {
            disk: self.disk.fork(seed),
        }
    }

    fn sources(&self) -> FileSources {
        let (disk, mut sources) = (self.disk.clone(), FileSources::default());
        let find = move |place: &str| Ok(Arc::new(SimFiles::named(place, disk.clone())) as _);
        sources.register("sim", find).unwrap();
        sources
    }

    fn files(&self) -> InstanceFiles {
        InstanceFiles::in_source(HERE, self.sources())
    }

    fn open(&self) -> Result<Instance, String> {
        let opened = Instance::over(self.files(), key(), options(), None);
        opened.map_err(|error| error.to_string())
    }

    /// What is there, in which nothing may be left over.
    fn found(&self) -> Result<Contents, String> {
        let instance = self.open()?;
        let rows = instance.catalog.databases();
        let rows = rows.map_err(|error| error.to_string())?;
        let mut found = Contents::new();
        for row in &rows {
            if row.state != State::Online {
                return Err(format!("{row:?} is half done"));
            }
            let session = instance.connect(row).map_err(|(_, message)| message)?;
            found.insert(row.name.clone(), rows_of(&session)?);
        }
        let ids: BTreeSet<String> = rows.into_iter().map(|row| row.id).collect();
        let keys = texts(&instance, "SELECT database_id FROM keyring")?;
        let waiting = "SELECT name FROM secrets WHERE name LIKE 'next key%'";
        let waiting = texts(&instance, waiting)?;
        drop(instance);
        if keys != ids || !waiting.is_empty() {
            return Err(format!(
                "keys of {keys:?} and {waiting:?}, and databases {ids:?}"
            ));
        }
        let files = self.disk.names().into_iter();
        let mut files = files.filter_map(|name| Some(name.strip_prefix("here/db/")?.to_owned()));
        match files.find(|file| !ids.iter().any(|id| file.starts_with(&**id))) {
            Some(file) => Err(format!("{file} belongs to no database")),
            None => Ok(found),
        }
    }

    /// Comes up again, and may be cut off while it puts things right.
    fn come_up(&self, dice: &mut Dice) -> Result<Contents, String> {
        for _ in 0..2 {
            self.disk.restart();
            if dice.chance(50) {
                self.disk.crash_after(dice.between(1, 20));
                let found = self.found();
                if !self.disk.is_down() {
                    found?;
                }
            }
        }
        self.disk.restart();
        self.found()
    }

    /// Holds what is there after a step against what may be, and does what did not happen.
    fn judge(&self, step: Step, done: &Result<(), String>, dice: &mut Dice) -> Result<(), String> {
        let found = self.come_up(dice)?;
        let (before, after) = (Step::before(), step.after());
        if found != after && (done.is_ok() || found != before) {
            return Err(format!("{found:?}, and it was told {done:?}"));
        }
        if before == after || found == before {
            let again = step.run(&mut self.open()?);
            again.map_err(|error| format!("it cannot be done afterwards: {error}"))?;
            let found = self.found()?;
            if found != after {
                return Err(format!("{found:?} when it was done once more"));
            }
        }
        let violations = self.disk.violations();
        match violations.is_empty() {
            true => Ok(()),
            false => Err(format!("{violations:?}")),
        }
    }
}

fn texts(instance: &Instance, sql: &str) -> Result<BTreeSet<String>, String> {
    let rows = instance.catalog.rows(sql, &[]);
    let values = rows.map_err(|error| error.to_string())?.into_iter();
    let texts = values.flatten().map(|value| match value {
        Value::Text(text) => Ok(text),
        other => Err(format!("{other:?} is no text")),
    });
    texts.collect()
}

fn fill(session: &hushdb::Connection, range: &str) {
    session
        .execute("CREATE TABLE t (a BIGINT PRIMARY KEY)")
        .unwrap();
    let insert = format!("INSERT INTO t SELECT * FROM range({range})");
    session.execute(&insert).unwrap();
}

fn rows_of(session: &hushdb::Connection) -> Result<Vec<i64>, String> {
    let batches = session
        .execute("SELECT a FROM t ORDER BY a")
        .and_then(hushdb::QueryResult::collect_batches);
    match batches {
        Ok(batches) => Ok(batches
            .iter()
            .flat_map(|batch| {
                batch
                    .column(0)
                    .as_primitive::<Int64Type>()
                    .values()
                    .to_vec()
            })
            .collect()),
        // One that was just made has no table.
        Err(error) if error.to_string().contains("does not exist") => Ok(vec![]),
        Err(error) => Err(error.to_string()),
    }
}

fn cut_at_each_write(step: Step) {
    let base = Site::new();
    let mut cuts = 0;
    for cut in 1..MOST {
        let site = base.fork(cut);
        let mut instance = site.open().unwrap();
        site.disk.crash_after(cut);
        let done = step.run(&mut instance);
        // What ends with the process may write, too, and may be cut off in that.
        drop(instance);
        let was_cut = site.disk.is_down();
        let judged = site.judge(step, &done, &mut Dice::new(cut));
        judged.unwrap_or_else(|error| panic!("{step:?}, cut at {cut}: {error}"));
        if !was_cut {
            break;
        }
        cuts = cut;
    }
    assert!((3..MOST - 1).contains(&cuts), "{step:?} has {cuts} writes");
}

fn fail_at_each(step: Step, kind: FaultKind) {
    let base = Site::new();
    for at in (0..MOST).step_by(STRIDE) {
        let site = base.fork(at);
        let mut instance = site.open().unwrap();
        site.disk.order(Fault { at, kind });
        let done = step.run(&mut instance);
        drop(instance);
        let came = site.disk.stats().faults > 0;
        let judged = site.judge(step, &done, &mut Dice::new(at));
        judged.unwrap_or_else(|error| panic!("{step:?}, {kind:?} at {at}: {error}"));
        if !came {
            assert!(at > 0, "{step:?} does nothing");
            break;
        }
    }
}

#[test]
fn a_create_that_is_cut_off_leaves_a_whole_database_or_none() {
    cut_at_each_write(Step::Create);
}

#[test]
fn an_adoption_that_is_cut_off_leaves_a_whole_database_or_none() {
    cut_at_each_write(Step::Adopt);
}

#[test]
fn a_drop_that_is_cut_off_leaves_a_whole_database_or_none() {
    cut_at_each_write(Step::Drop);
}

#[test]
fn a_rename_that_is_cut_off_leaves_one_name() {
    cut_at_each_write(Step::Rename);
}

#[test]
fn a_rotation_in_a_session_that_is_cut_off_leaves_a_key_that_opens() {
    cut_at_each_write(Step::RotateServed);
}

#[test]
fn a_rotation_on_the_host_that_is_cut_off_leaves_a_key_that_opens() {
    cut_at_each_write(Step::RotateOnHost);
}

#[test]
fn a_rotation_of_the_keyring_that_is_cut_off_leaves_keys_that_open() {
    cut_at_each_write(Step::RotateKeyring);
}

#[test]
fn a_rotation_of_a_file_that_cannot_be_read_changes_nothing() {
    let site = Site::new();
    let mut instance = site.open().unwrap();
    let row = instance.online(OLD).unwrap();
    let name = format!("here/db/{}.hushdb", row.id);
    let whole = site.disk.contents(&name).unwrap();
    // The headers, then all behind them.
    for from in [0, 65_536] {
        let file = site.disk.open(&name, false).unwrap();
        file.write_all_at(from, &vec![0xa5; whole.len() - from as usize])
            .unwrap();
        let refused = Step::RotateOnHost.run(&mut instance).unwrap_err();
        assert_ne!(refused, "", "from {from}");
        drop(instance);
        // Whoever opens the instance meanwhile takes nothing away that may be needed.
        drop(site.open().unwrap());
        file.write_all_at(0, &whole).unwrap();
        assert_eq!(site.found().unwrap(), Step::before(), "from {from}");
        instance = site.open().unwrap();
    }
    Step::RotateOnHost.run(&mut instance).unwrap();
    drop(instance);
    assert_eq!(site.found().unwrap(), Step::before());
}

#[test]
fn a_disk_that_fails_once_leaves_whole_databases_and_keys_that_open() {
    for step in [
        Step::Create,
        Step::Drop,
        Step::RotateServed,
        Step::RotateOnHost,
    ] {
        for kind in [FaultKind::ShortWrite, FaultKind::Sync, FaultKind::Full] {
            fail_at_each(step, kind);
        }
    }
}
