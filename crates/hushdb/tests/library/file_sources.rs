//! Places for files of a program's own: named in ATTACH by a scheme, with nothing but what the library's face hands out.

use hushdb::files::{OsFiles, Result as FileResult, StorageFile, StorageFiles};
use hushdb::{AttachOptions, Database, DatabaseOptions, ErrorKind, FileSources};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A file in a vector.
#[derive(Debug, Default)]
struct Drawer(Mutex<Vec<u8>>);

impl StorageFile for Drawer {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().len() as u64)
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let bytes = self.0.lock().unwrap();
        let (from, until) = (offset as usize, offset as usize + buf.len());
        let found = bytes.get(from..until);
        buf.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_all_at(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        let mut bytes = self.0.lock().unwrap();
        let (from, until) = (offset as usize, offset as usize + buf.len());
        let length = bytes.len().max(until);
        bytes.resize(length, 0);
        bytes[from..until].copy_from_slice(buf);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().unwrap().resize(len as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The files of one database, by what their names end with.
#[derive(Debug, Default)]
struct Cabinet(Mutex<BTreeMap<String, Arc<Drawer>>>);

impl StorageFiles for Cabinet {
    fn open(&self, name: &str, _read_only: bool) -> FileResult<Option<Arc<dyn StorageFile>>> {
        let found = self.0.lock().unwrap().get(name).cloned();
        Ok(found.map(|file| file as Arc<dyn StorageFile>))
    }

    fn create(&self, name: &str) -> FileResult<Arc<dyn StorageFile>> {
        let file = Arc::<Drawer>::default();
        let mut files = self.0.lock().unwrap();
        files.insert(name.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn rename(&self, from: &str, to: &str) -> FileResult<()> {
        let mut files = self.0.lock().unwrap();
        let file = files
            .remove(from)
            .ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> FileResult<()> {
        self.0.lock().unwrap().remove(name);
        Ok(())
    }

    fn sync(&self) -> FileResult<()> {
        Ok(())
    }
}

/// All databases of a source.
#[derive(Default)]
struct Office(Mutex<BTreeMap<String, Arc<Cabinet>>>);

impl Office {
    fn cabinet(&self, place: &str) -> Arc<Cabinet> {
        let mut all = self.0.lock().unwrap();
        Arc::clone(all.entry(place.to_owned()).or_default())
    }
}

fn with(sources: FileSources) -> Database {
    let options = DatabaseOptions {
        file_sources: sources,
        ..DatabaseOptions::default()
    };
    Database::open_with(None, options).unwrap()
}

fn office() -> (Arc<Office>, Database) {
    let (office, mut sources) = (Arc::<Office>::default(), FileSources::default());
    let asked = Arc::clone(&office);
    sources
        .register("office", move |place| Ok(asked.cabinet(place)))
        .unwrap();
    (office, with(sources))
}

fn run(database: &Database, sql: &str) -> Result<String, hushdb::Error> {
    let batches = database.connect()?.execute(sql)?.collect_batches()?;
    let Some(batch) = batches.first() else {
        return Ok(String::new());
    };
    Ok(hushdb::value_text(batch.column(0), 0)
        .unwrap()
        .unwrap_or_default())
}

#[test]
fn a_database_lies_where_a_programs_source_has_it() {
    let (office, database) = office();
    let attach = "ATTACH 'Office://third floor/sales.hushdb' (ENCRYPTION_KEY 'pass:a long enough passphrase')";
    run(&database, attach).unwrap();
    run(
        &database,
        "CREATE TABLE sales.t AS SELECT 'marker' || i AS a FROM range(1000) r(i)",
    )
    .unwrap();
    run(&database, "INSERT INTO sales.t VALUES ('another marker')").unwrap();
    let shown = run(
        &database,
        "SELECT path FROM databases() WHERE name = 'sales'",
    )
    .unwrap();
    assert_eq!(shown, "office://third floor/sales.hushdb");
    let again = run(
        &database,
        "ATTACH 'office://third floor/sales.hushdb' AS other",
    )
    .unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Busy);
    run(&database, "DETACH sales").unwrap();

    let cabinet = office.cabinet("third floor/sales.hushdb");
    let files = cabinet.0.lock().unwrap().clone();
    assert!(files.contains_key(""), "{:?}", files.keys());
    for file in files.values() {
        let bytes = file.0.lock().unwrap();
        assert!(!bytes.windows(6).any(|bytes| bytes == b"marker"));
    }

    let wrong = attach.replace("passphrase", "password");
    assert_eq!(
        run(&database, &wrong).unwrap_err().kind(),
        ErrorKind::WrongKey
    );
    let attach = attach.replace(")", ", READ_ONLY)");
    run(&database, &attach).unwrap();
    run(&database, &attach.replace("ATTACH", "ATTACH IF NOT EXISTS")).unwrap();
    assert_eq!(
        run(&database, "SELECT count(*) FROM sales.t").unwrap(),
        "1001"
    );
    assert!(run(&database, "DELETE FROM sales.t").is_err());
}

#[test]
fn nothing_is_made_where_nothing_may_be() {
    let (office, database) = office();
    let error = run(&database, "ATTACH 'office://none' (READ_ONLY)").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("it does not exist"), "{error}");
    run(&database, "SET enforce_encryption = true").unwrap();
    let error = run(&database, "ATTACH 'office://plain'").unwrap_err();
    assert!(error.to_string().contains("enforce_encryption"), "{error}");
    assert!(office.cabinet("none").0.lock().unwrap().is_empty());
    let elsewhere = "ATTACH 'elsewhere://sales.hushdb' (READ_ONLY)";
    let error = run(&database, elsewhere).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("\"elsewhere\""), "{error}");
}

#[test]
fn a_source_may_give_files_of_the_system_elsewhere() {
    let directory = tempfile::tempdir().unwrap();
    let below = directory.path().to_path_buf();
    let mut sources = FileSources::default();
    sources
        .register("box", move |place| {
            Ok(Arc::new(OsFiles::beside(below.join(place))?))
        })
        .unwrap();
    assert!(sources.register("a box", |_| unreachable!()).is_err());
    let options = DatabaseOptions {
        file_sources: sources.clone(),
        ..DatabaseOptions::default()
    };
    let database = Database::open_with(Some(Path::new("box://a.hushdb")), options).unwrap();
    assert_eq!(database.name(), "a");
    run(&database, "CREATE TABLE t AS SELECT 42 AS a").unwrap();
    let attached = database.attach("box://b.hushdb", "b", &AttachOptions::default());
    attached.unwrap();
    run(&database, "CREATE TABLE b.t AS FROM t").unwrap();
    drop(database);
    let database = Database::open(directory.path().join("b.hushdb")).unwrap();
    assert_eq!(run(&database, "FROM t").unwrap(), "42");
}
