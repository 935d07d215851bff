//! Reading a file in every way, and what must come of it.

use crate::samples::COLUMNS;
use hushdb::{Connection, Database, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// What the statements may take.
const MEMORY_LIMIT: &str = "200MB";
/// What the process may take on top of what it has: the limit, a fifth of it, and some room for what is not counted.
const MOST_MIB: u64 = 200 * 6 / 5 + 128;
const LONGEST: Duration = Duration::from_secs(60);
/// No more of an answer is looked at: a file may truly have very many rows.
const MOST_ROWS: usize = 200_000;

/// Panics that nobody waits for.
static PANICS: AtomicUsize = AtomicUsize::new(0);
/// Memory is of the process, so files are read one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// A file with a name that says what it is.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) expected: Expected,
    /// A table that it can be copied into; `None`: it is queried only.
    pub(crate) columns: Option<&'static str>,
}

/// What must come of it where it is queried.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected {
    /// So many rows.
    Rows(usize),
    /// An error with this in its text.
    Error(&'static str),
}

/// A file with one edit.
pub(crate) struct Edited {
    pub(crate) ending: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// What was done.
    pub(crate) edit: String,
}

pub(crate) struct Reader {
    database: Database,
    directory: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Reader {
    pub(crate) fn new() -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if !hushdb::maintenance::is_panic_expected() {
                    PANICS.fetch_add(1, Ordering::SeqCst);
                    before(panic);
                }
            }));
        });
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        let limit = format!("SET memory_limit = '{MEMORY_LIMIT}'");
        connection.execute(&limit).unwrap();
        Self {
            database,
            directory: tempfile::tempdir().unwrap(),
            _turn: turn,
        }
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Reads the file of a case in every way; what is queried must be what is expected. Gives what is wrong.
    pub(crate) fn check_case(&self, case: &Case) -> Vec<String> {
        let path = self.file(&case.name, &case.bytes);
        let mut faults = vec![];
        for sql in queries(&path) {
            match (self.check(&sql, &path), case.expected) {
                (Ok(Ok(rows)), Expected::Rows(expected)) if rows == expected => {}
                (Ok(Err(said)), Expected::Error(text)) if said.contains(text) => {}
                (Ok(answer), expected) => {
                    faults.push(format!("{sql}: {answer:?}, not {expected:?}"));
                }
                (Err(fault), _) => faults.push(fault),
            }
        }
        for sql in case.columns.into_iter().flat_map(|of| copies(&path, of)) {
            faults.extend(self.check(&sql, &path).err());
        }
        std::fs::remove_file(&path).unwrap();
        faults
    }

    /// Reads an edited file in every way. Gives what is wrong, and keeps the file then.
    pub(crate) fn check_edit(&self, seed: u64, edited: &Edited) -> Vec<String> {
        let name = format!("hostile_{seed}.{}", edited.ending);
        let path = self.file(&name, &edited.bytes);
        // Here already: some faults end the process.
        let kept = std::env::temp_dir().join(&name);
        std::fs::copy(&path, &kept).unwrap();
        let mut faults = vec![];
        for sql in queries(&path).into_iter().chain(copies(&path, COLUMNS)) {
            if let Err(fault) = self.check(&sql, &path) {
                let (edit, kept) = (&edited.edit, kept.display());
                faults.push(format!("seed {seed}, {edit}; see {kept}\n{fault}"));
            }
        }
        if faults.is_empty() {
            std::fs::remove_file(&kept).unwrap();
        }
        std::fs::remove_file(&path).unwrap();
        faults
    }

    /// Runs a statement: its rows, or what its error says; or what is wrong with that.
    fn check(&self, sql: &str, path: &Path) -> Result<Result<usize, String>, String> {
        let connection = self.database.connect().unwrap();
        let (panics, began) = (PANICS.load(Ordering::SeqCst), Instant::now());
        let before = Memory::reset();
        let answer = run(&connection, sql);
        let (took, grown) = (began.elapsed(), before.growth() >> 20);
        let said = answer.as_ref().err().map(ToString::to_string);
        let said = said.unwrap_or_default();
        let name = path.file_name().unwrap().to_string_lossy();
        let kind = answer.as_ref().err().map(hushdb::Error::kind);
        let is_wrong = if PANICS.load(Ordering::SeqCst) != panics {
            "it panicked".into()
        } else if took > LONGEST {
            format!("it took {took:?}")
        } else if grown > MOST_MIB {
            format!("it took {grown} MiB")
        } else if kind == Some(ErrorKind::Internal) {
            format!("it says {said}")
        } else if kind.is_some_and(|kind| kind != ErrorKind::OutOfMemory) && !said.contains(&*name)
        {
            format!("it says nothing of the file: {said}")
        } else if said.len() > 1000 {
            format!("it says too much: {}", &said[..200])
        } else {
            return Ok(answer.map_err(|error| error.to_string()));
        };
        Err(format!("{sql}: {is_wrong}"))
    }
}

/// Runs all statements; gives the rows of the last one.
fn run(connection: &Connection, sql: &str) -> hushdb::Result<usize> {
    let mut rows = 0;
    for sql in sql.split("; ") {
        rows = 0;
        for batch in connection.execute(sql)? {
            rows += batch?.num_rows();
            if rows > MOST_ROWS {
                break;
            }
        }
    }
    Ok(rows)
}

fn queries(path: &Path) -> Vec<String> {
    let file = path.display();
    let ending = path.extension().unwrap().to_string_lossy();
    vec![
        format!("SELECT * FROM '{file}'"),
        format!("SELECT * FROM read_{ending}('{file}')"),
    ]
}

fn copies(path: &Path, columns: &str) -> Vec<String> {
    let file = path.display();
    vec![format!(
        "BEGIN; CREATE OR REPLACE TABLE copied({columns}); COPY copied FROM '{file}'; ROLLBACK"
    )]
}

/// What the process took when it was asked, in bytes; nothing where the system does not say.
struct Memory(Option<u64>);

impl Memory {
    /// Begins to watch the most that the process takes.
    fn reset() -> Self {
        match std::fs::write("/proc/self/clear_refs", "5") {
            Ok(()) => Self(status("VmRSS:")),
            Err(_) => Self(None),
        }
    }

    fn growth(&self) -> u64 {
        let most = self.0.and_then(|_| status("VmHWM:"));
        most.unwrap_or_default()
            .saturating_sub(self.0.unwrap_or_default())
    }
}

fn status(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}
