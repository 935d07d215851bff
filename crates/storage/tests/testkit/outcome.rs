//! What comes of a file: opened, checked, and every row of every table read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use hushdb_keys::KeyProvider;
use hushdb_keys::providers::KeyText;
use hushdb_storage::{BufferPool, Column, Error, Role, Store, StoreOptions};

use super::MEMORY;
use super::cases::{Case, Given};
use super::samples;

/// More than any of these small files takes, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);
const OTHER_KEY: &str = "hex:aa0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eaa";

pub(crate) struct Outcome {
    /// Kind of the first error; `Notice` where it opened and something was said, `Sound` where nothing was.
    pub(crate) kind: String,
    pub(crate) message: String,
    /// The most memory that was taken at once, above what was taken before.
    pub(crate) peak_bytes: usize,
    /// What must never be.
    pub(crate) faults: Vec<String>,
}

struct Seen {
    kind: String,
    message: String,
    /// Refused by opening, or by what only a writer reads at once.
    refuses_writers: bool,
}

pub(crate) fn of(case: &Case, directory: &Path) -> Outcome {
    let path = directory.join(format!("{}.hushdb", case.name));
    let log = directory.join(format!("{}.hushdb.wal", case.name));
    fs::write(&path, &case.file).expect("written");
    if let Some(bytes) = &case.log {
        fs::write(&log, bytes).expect("written");
    }
    let mut faults = Vec::new();
    let untouched = |faults: &mut Vec<String>, who: &str| {
        if fs::read(&path).ok().as_ref() != Some(&case.file) || fs::read(&log).ok() != case.log {
            faults.push(format!("{who} changed its files"));
        }
    };
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let seen = apart(&path, case.given, true);
    let peak_bytes = MEMORY.peak_usage().saturating_sub(before);
    let seen = seen.unwrap_or_else(|fault| {
        faults.push(fault);
        Seen {
            kind: "Panic".into(),
            message: String::new(),
            refuses_writers: false,
        }
    });
    untouched(&mut faults, "a reader");
    if seen.refuses_writers {
        match apart(&path, case.given, false) {
            Ok(writer) if writer.refuses_writers => {}
            Ok(_) => faults.push("a writer opens it".into()),
            Err(fault) => faults.push(fault),
        }
        untouched(&mut faults, "a writer");
    }
    Outcome {
        kind: seen.kind,
        message: seen.message,
        peak_bytes,
        faults,
    }
}

/// Looks at a file on a thread of its own, so that a panic or a loop is that of this case.
fn apart(path: &Path, given: Given, read_only: bool) -> Result<Seen, String> {
    let (sender, receiver) = channel();
    let path: PathBuf = path.to_owned();
    let thread = thread::spawn(move || {
        let seen = look(&path, given, read_only);
        // Nobody waits any more if it took too long.
        let _ = sender.send(seen);
    });
    match receiver.recv_timeout(PATIENCE) {
        Ok(seen) => {
            thread
                .join()
                .map_err(|_| "panicked at its end".to_owned())?;
            Ok(seen)
        }
        Err(_) if thread.is_finished() => Err("panicked".into()),
        Err(_) => Err("hangs".into()),
    }
}

fn look(path: &Path, given: Given, read_only: bool) -> Seen {
    let refused = |error: &Error, refuses_writers| Seen {
        kind: format!("{:?}", error.kind()),
        message: error.to_string(),
        refuses_writers,
    };
    let key = match given {
        Given::Key => Some(samples::key()),
        Given::WrongKey => Some(KeyText::new(OTHER_KEY)),
        Given::Nothing => None,
    };
    let key = key.as_ref().map(|key| key as &dyn KeyProvider);
    let options = StoreOptions {
        read_only,
        pool: Arc::new(BufferPool::new(1 << 20)),
        ..StoreOptions::default()
    };
    let store = match Store::open_path(path, key, &options) {
        Ok(store) => store,
        Err(error) => return refused(&error, true),
    };
    store.set_checkpoint_on_close(false);
    // What it says is of no account here: it must end, also where the check below finds something.
    let _ = find_rows(&store);
    let report = store.check(&mut |_, _| {});
    match report.as_ref().map(|report| report.findings.first()) {
        Err(error) => return refused(error, false),
        Ok(Some(finding)) => return refused(&finding.error, finding.role == Role::FreeList),
        Ok(None) => {}
    }
    if let Err(error) = read_all(&store) {
        return refused(&error, false);
    }
    let notices = store.notices().into_iter().map(|notice| notice.to_string());
    let notices = notices.collect::<Vec<_>>().join("; ");
    Seen {
        kind: if notices.is_empty() {
            "Sound"
        } else {
            "Notice"
        }
        .into(),
        message: notices,
        refuses_writers: false,
    }
}

/// Asks each index for the first row.
fn find_rows(store: &Store) -> Result<(), Error> {
    let catalog = store.snapshot();
    for table in catalog.tables() {
        let Some(first) = table
            .row_groups()?
            .first()
            .map(|group| group.first_row_id.number())
        else {
            continue;
        };
        for index in table.indexes() {
            let is_of = |column: &&Column| index.column_ids().contains(&column.id);
            let columns: Vec<&Column> = table.columns.iter().filter(is_of).collect();
            let key = store.read_rows(table, &columns, &[first])?;
            table.find(index, &key, 0)?;
        }
    }
    Ok(())
}

fn read_all(store: &Store) -> Result<(), Error> {
    let catalog = store.snapshot();
    for table in catalog
        .schemas
        .values()
        .flat_map(|schema| schema.tables.values())
    {
        for group in table.row_groups()? {
            for column in &table.columns {
                store.read_column(group, column, None)?;
                store.read_column(group, column, group.visible().as_ref())?;
            }
        }
        for column in &table.columns {
            table.distinct_count(column.id)?;
        }
    }
    Ok(())
}
