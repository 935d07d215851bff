//! `AnchorFile`: a file that keeps the anchor of a database from one opening to the next.
//!
//! What must hold: it is replaced as a whole, or stays as it was. Since an anchor is the least that must be there, one that was
//! not replaced, after a crash, still holds.
#![expect(clippy::disallowed_methods, reason = "it reads an anchor's file")]

use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::{Anchor, OutputFile, Store};
use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// More than any anchor has.
const MOST_BYTES: u64 = 4096;

/// Where the anchor of a database is kept: checked at opening and, by who may write, written anew at closing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorFile(PathBuf);

impl AnchorFile {
    /// The one at a path, whether it is there or not.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The anchor in it; `None` if there is no file and one will be written.
    ///
    /// # Errors
    /// `Io` when it cannot be read or is missing where none will be written, `InvalidInput` when it holds no anchor.
    pub fn read(&self, will_be_written: bool) -> Result<Option<Anchor>> {
        let file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound && will_be_written => {
                return Ok(None);
            }
            Err(error) => return Err(self.failed(&error)),
        };
        let mut text = String::new();
        let read = file.take(MOST_BYTES).read_to_string(&mut text);
        read.map_err(|error| self.failed(&error))?;
        let anchor = text.parse().map_err(|error| {
            Error::invalid(format!(
                "{}: this is no anchor file: {error}",
                self.0.display()
            ))
        })?;
        Ok(Some(anchor))
    }

    /// What is to be said where [`AnchorFile::read`] found none.
    pub fn nothing_yet(&self) -> String {
        format!(
            "{}: there is no anchor yet, so none was checked; it is written at closing",
            self.0.display()
        )
    }

    /// Puts an anchor into it.
    ///
    /// # Errors
    /// `InvalidInput` when a database or a log is there, `Io` of the operating system: the file is as it was.
    pub fn write(&self, anchor: &Anchor) -> Result<()> {
        let failed = |error| match error {
            hushdb_storage::Error::Io(error) => self.failed(&error),
            error => error.into(),
        };
        let mut file = OutputFile::create(&self.0).map_err(failed)?;
        writeln!(file, "{anchor}").map_err(|error| self.failed(&error))?;
        file.commit().map_err(failed)
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::new(ErrorKind::Io, format!("{}: {error}", self.0.display()))
    }
}

/// Keeps the anchor of a database that is open for writing: at the latest when this is dropped, where nobody hears of errors.
pub(crate) struct KeptAnchor {
    file: AnchorFile,
    store: Arc<Store>,
    written: Mutex<Option<Anchor>>,
}

impl KeptAnchor {
    pub(crate) fn new(file: AnchorFile, store: Arc<Store>) -> Self {
        Self {
            file,
            store,
            written: Mutex::new(None),
        }
    }

    /// Writes how far the database has come. What closing adds is no more than the anchor asks for.
    pub(crate) fn write(&self) -> Result<()> {
        let anchor = self.store.anchor()?;
        let mut written = self.written.lock();
        if *written != Some(anchor) {
            self.file.write(&anchor)?;
            *written = Some(anchor);
        }
        Ok(())
    }
}

impl Drop for KeptAnchor {
    fn drop(&mut self) {
        // The one that is there still holds.
        let _ = self.write();
    }
}

#[cfg(test)]
mod tests {
    use crate::{Database, ErrorKind};
    use std::fs;
    use std::path::Path;

    /// Runs one statement after another in a process of their own, as far as files are concerned.
    fn run(statements: &[&str]) -> crate::Result<Vec<String>> {
        let database = Database::open_in_memory()?;
        let connection = database.connect()?;
        for statement in statements {
            connection.execute(statement)?;
        }
        Ok(connection.take_notices())
    }

    fn attach(place: &Path, options: &str) -> String {
        let path = |name: &str| place.join(name).display().to_string();
        let options = options.replace("FILE", &format!("ANCHOR_FILE '{}'", path("anchor")));
        format!("ATTACH '{}' AS f ({options})", path("f.hushdb"))
    }

    #[test]
    fn attach_checks_an_anchor_file_and_detach_replaces_it() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        let attach = |options: &str| attach(place, options);
        let read = || fs::read_to_string(place.join("anchor")).unwrap();
        let missing = run(&[&attach("FILE, READ_ONLY")]).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::Io);
        let detached = ["CREATE TABLE f.t AS SELECT 1 AS a", "DETACH F"];
        let notices = run(&[&attach("FILE"), detached[0], detached[1]]).unwrap();
        assert!(notices[0].contains("there is no anchor yet"), "{notices:?}");
        let first = read();
        fs::copy(place.join("f.hushdb"), place.join("old")).unwrap();
        // Closing without DETACH replaces it, too.
        run(&[&attach("FILE"), "INSERT INTO f.t VALUES (2)"]).unwrap();
        let second = read();
        assert_ne!(first, second);
        run(&[&attach("FILE, READ_ONLY"), "DETACH f"]).unwrap();
        assert_eq!(read(), second);
        let both = format!("FILE, MIN_ANCHOR '{}'", first.trim());
        assert_eq!(
            run(&[&attach(&both)]).unwrap_err().kind(),
            ErrorKind::Binder
        );

        fs::copy(place.join("old"), place.join("f.hushdb")).unwrap();
        for options in ["FILE", "FILE, READ_ONLY"] {
            let error = run(&[&attach(options)]).unwrap_err();
            assert!(error.to_string().contains("rolled back"), "{error}");
        }
        assert_eq!(read(), second);
        fs::remove_file(place.join("f.hushdb")).unwrap();
        assert_eq!(run(&[&attach("FILE")]).unwrap_err().kind(), ErrorKind::Io);
        fs::write(place.join("anchor"), "no anchor").unwrap();
        let error = run(&[&attach("FILE")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn what_is_attached_already_may_get_an_anchor_file() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        let plain = attach(place, "READ_WRITE");
        let kept = attach(place, "FILE").replace("ATTACH", "ATTACH IF NOT EXISTS");
        let make = "CREATE TABLE f.t AS SELECT 1 AS a";
        run(&[&plain, &kept, make]).unwrap();
        assert!(place.join("anchor").exists());
        let old = fs::read(place.join("f.hushdb")).unwrap();
        run(&[&plain, &kept, "INSERT INTO f.t VALUES (2)"]).unwrap();
        fs::write(place.join("f.hushdb"), old).unwrap();
        let error = run(&[&plain, &kept]).unwrap_err();
        assert!(error.to_string().contains("rolled back"), "{error}");
    }

    #[test]
    fn an_anchor_that_cannot_be_written_keeps_the_database_attached() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name).display().to_string();
        let attach = |file: &str| {
            let file = path(file);
            format!("ATTACH '{}' AS f (ANCHOR_FILE '{file}')", path("f.hushdb"))
        };
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        connection.execute(&attach("none/anchor")).unwrap();
        let make = "CREATE TABLE f.t AS SELECT 1 AS a";
        connection.execute(make).unwrap();
        let error = connection.execute("DETACH f").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(database.keep_anchors().is_err());
        fs::create_dir(place.path().join("none")).unwrap();
        database.keep_anchors().unwrap();
        assert!(place.path().join("none/anchor").exists());
        connection.execute("FROM f.t").unwrap();
        connection.execute("DETACH f").unwrap();
        // A database is no anchor.
        connection.execute(&attach("f.hushdb")).unwrap_err();
        connection
            .execute("ATTACH ':memory:' AS m (ANCHOR_FILE 'a')")
            .unwrap_err();
    }
}
