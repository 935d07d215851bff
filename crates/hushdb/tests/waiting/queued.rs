//! Commits that are queued and not on disk: who goes on from them is answered with them, and fails with them.

use super::{RC, nothing_is_locked, run, state_of, value};
use hushdb::files::{OsFiles, Result as FileResult, StorageFile, StorageFiles};
use hushdb::{Connection, Database, DatabaseOptions, FileSources};
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Whether logs are written.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_closed: bool,
    /// There is no room for the next write.
    is_full: bool,
    waiting: usize,
}

impl Gate {
    fn pass(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.waiting += 1;
        self.moved.notify_all();
        let mut state = self.moved.wait_while(state, |s| s.is_closed).unwrap();
        state.waiting -= 1;
        match std::mem::take(&mut state.is_full) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }

    fn close(&self) -> Closed<'_> {
        self.state.lock().unwrap().is_closed = true;
        Closed(self)
    }

    fn until_somebody_waits(&self) {
        let state = self.state.lock().unwrap();
        drop(self.moved.wait_while(state, |s| s.waiting == 0).unwrap());
    }
}

/// A closed gate; it opens however the test goes on.
struct Closed<'a>(&'a Gate);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap().is_closed = false;
        self.0.moved.notify_all();
    }
}

#[derive(Debug)]
struct GatedFile(Arc<dyn StorageFile>, Arc<Gate>);

impl StorageFile for GatedFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(offset, buf)
    }

    fn write_all_at(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        self.1.pass()?;
        self.0.write_all_at(offset, buf)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.0.sync_directory()
    }
}

#[derive(Debug)]
struct GatedFiles(OsFiles, Arc<Gate>);

impl StorageFiles for GatedFiles {
    fn open(&self, name: &str, read_only: bool) -> FileResult<Option<Arc<dyn StorageFile>>> {
        self.0.open(name, read_only)
    }

    fn create(&self, name: &str) -> FileResult<Arc<dyn StorageFile>> {
        let file = self.0.create(name)?;
        Ok(match name {
            "" => file,
            _ => Arc::new(GatedFile(file, Arc::clone(&self.1))),
        })
    }

    fn rename(&self, from: &str, to: &str) -> FileResult<()> {
        self.0.rename(from, to)
    }

    fn remove(&self, name: &str) -> FileResult<()> {
        self.0.remove(name)
    }

    fn sync(&self) -> FileResult<()> {
        self.0.sync()
    }
}

/// A file `d` behind a gate, and a database in memory beside it.
fn gated(directory: &Path) -> (Arc<Gate>, Database) {
    let gate = Arc::<Gate>::default();
    let (path, passes) = (directory.join("d.hushdb"), Arc::clone(&gate));
    let mut file_sources = FileSources::default();
    file_sources
        .register("gate", move |_| {
            let files = OsFiles::beside(&path)?;
            Ok(Arc::new(GatedFiles(files, Arc::clone(&passes))))
        })
        .unwrap();
    let options = DatabaseOptions {
        file_sources,
        ..DatabaseOptions::default()
    };
    let database = Database::open_with(None, options).unwrap();
    let tables = "CREATE TABLE memory.m (a INTEGER); ATTACH 'gate://d' AS d; USE d;
                  CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER); INSERT INTO t SELECT range, 100 FROM range(8)";
    run(&database.connect().unwrap(), tables).unwrap();
    (gate, database)
}

fn connect(database: &Database) -> Connection {
    let connection = database.connect_with(RC).unwrap();
    run(&connection, "USE d").unwrap();
    connection
}

/// What is done at once where a commit is queued that has set each value to 5 and added the key 20, then what has to wait for that.
const STEPS: [(&str, &str); 7] = [
    // It has seen, and changes nothing.
    (
        "BEGIN; SELECT a FROM t WHERE id = 1 FOR UPDATE; SELECT a FROM t WHERE id = 1",
        "ROLLBACK",
    ),
    (
        "BEGIN; SELECT a FROM t WHERE id = 2 FOR SHARE; SELECT a FROM t WHERE id = 2",
        "COMMIT",
    ),
    // It does not find what was there.
    ("", "UPDATE t SET a = 7 WHERE id = 3 AND a = 100"),
    ("", "INSERT INTO t VALUES (20, 2)"),
    (
        "BEGIN; SELECT a FROM t WHERE id = 4 FOR UPDATE",
        "INSERT INTO t VALUES (4, 2)",
    ),
    // It writes elsewhere what it has seen here.
    (
        "BEGIN; SELECT a FROM t WHERE id = 5 FOR UPDATE; INSERT INTO memory.m VALUES (5); SELECT a FROM t WHERE id = 5",
        "COMMIT",
    ),
    (
        "BEGIN; UPDATE t SET a = a + 1 WHERE id = 6; SELECT a - 1 FROM t WHERE id = 6",
        "COMMIT",
    ),
];

/// Runs all that while a commit waits for the disk; gives how that ends, and each of the others.
fn beside_a_queued_commit(
    gate: &Gate,
    database: &Database,
    is_full: bool,
) -> (&'static str, Vec<&'static str>) {
    let (writer, reader) = (connect(database), connect(database));
    let clients: Vec<Connection> = STEPS.iter().map(|_| connect(database)).collect();
    let (written, ends) = std::thread::scope(|scope| {
        let closed = gate.close();
        let commit = "BEGIN; UPDATE t SET a = 5; INSERT INTO t VALUES (20, 1); COMMIT";
        let writing = scope.spawn(|| state_of(run(&writer, commit)));
        gate.until_somebody_waits();
        let waiting: Vec<_> = clients
            .iter()
            .zip(STEPS)
            .map(|(client, (at_once, waits))| {
                if !at_once.is_empty() {
                    assert_eq!(run(client, at_once).unwrap(), Some(5), "{at_once}");
                }
                scope.spawn(move || state_of(run(client, waits)))
            })
            .collect();
        std::thread::sleep(Duration::from_secs(2));
        for (waiting, step) in waiting.iter().zip(STEPS) {
            assert!(!waiting.is_finished(), "{step:?}");
        }
        assert_eq!(value(&reader, "SELECT count(*) FROM t WHERE a = 100"), 8);
        assert_eq!(value(&reader, "SELECT count(*) FROM memory.m"), 0);
        gate.state.lock().unwrap().is_full = is_full;
        drop(closed);
        let ends = waiting.into_iter().map(|waiting| waiting.join().unwrap());
        let ends = ends.collect();
        (writing.join().unwrap(), ends)
    });
    for client in &clients {
        if client.in_transaction() {
            let _ = run(client, "ROLLBACK");
        }
    }
    nothing_is_locked(database);
    (written, ends)
}

#[test]
fn who_goes_on_from_a_queued_commit_is_answered_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let (gate, database) = gated(directory.path());
    let (written, ends) = beside_a_queued_commit(&gate, &database, false);
    assert_eq!(written, "00000");
    let expected = [
        "00000", "00000", "00000", "23505", "23505", "00000", "00000",
    ];
    assert_eq!(ends, expected);
    let reader = connect(&database);
    assert_eq!(value(&reader, "SELECT sum(a) FROM t"), 7 * 5 + 6 + 1);
    assert_eq!(value(&reader, "SELECT count(*) FROM memory.m"), 1);
}

#[test]
fn who_goes_on_from_a_queued_commit_fails_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let (gate, database) = gated(directory.path());
    let (written, ends) = beside_a_queued_commit(&gate, &database, true);
    assert_eq!(written, "53100");
    assert_eq!(ends, ["40001"; STEPS.len()]);
    let client = connect(&database);
    assert_eq!(value(&client, "SELECT sum(a) FROM t"), 800);
    assert_eq!(value(&client, "SELECT count(*) FROM memory.m"), 0);
    run(&client, "UPDATE t SET a = a + 1 WHERE id = 1").unwrap();
    assert_eq!(value(&client, "SELECT a FROM t WHERE id = 1"), 101);
}
