//! `Instance`: a directory with the databases of one server, their keys and its roles.
//!
//! What must hold: one process at a time has the directory; a database is found by the rows of the catalog alone, never by the names
//! of files; every state between two steps of CREATE and DROP is one that the next start finishes or undoes.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the room of the server's directory"
)]

pub(crate) mod backup;
pub(crate) mod catalog;
pub(crate) mod compare;
#[cfg(test)]
mod crashes;
mod demo;
mod files;
pub(crate) mod init;
mod keyring;
pub(crate) mod rotate;

use crate::auth::tls::Identity;
use crate::failure::{FailureKind, Result, ServeError};
use catalog::{Catalog, DatabaseRow, State};
use files::InstanceFiles;
use hushdb::crypto::CryptoProvider;
use hushdb::{AttachOptions, Connection, Database, DatabaseOptions, Isolation, KeySource};
use keyring::Keyring;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::time::Duration;
use zeroize::Zeroizing;

/// The schema in which sessions begin, in every database.
pub(crate) const PUBLIC: &str = "public";
/// The superuser and the database that an instance begins with.
pub(crate) const FIRST: &str = "hush";
/// How long a statement waits for others that make or drop databases.
const PATIENCE: Duration = Duration::from_secs(5);
/// Names that the engine has for itself.
const RESERVED: [&str; 3] = ["memory", "system", "temp"];

const MARK: &str = "HUSH_INSTANCE";
const MARK_FORMAT: &str = "hush-instance 1";
const CATALOG: &str = "instance.hushdb";
const CERTIFICATE: &str = "tls.crt";
const LOCK: &str = "instance.lock";
const FILES: &str = "db";

/// An instance that this process has.
pub(crate) struct Instance {
    files: InstanceFiles,
    pub(crate) catalog: Catalog,
    keyring: Keyring,
    /// All databases that were opened since the start.
    pub(crate) databases: Database,
    sessions: Mutex<HashMap<String, usize>>,
    /// Held while a database is made, opened or dropped.
    changing: Mutex<()>,
    /// Held from the first step to the last of what makes or drops databases, or copies them all.
    steps: Mutex<()>,
    _lock: Option<File>,
}

/// What a statement about databases fails with: a SQLSTATE and a sentence.
pub(crate) type Refused = (String, String);

fn refused(sqlstate: &str, message: impl Into<String>) -> Refused {
    (sqlstate.to_owned(), message.into())
}

/// Whether a database may have the name.
fn may_be_called(name: &str) -> std::result::Result<(), Refused> {
    let is_plain = !name.is_empty() && name.len() <= 63 && !name.contains('\0');
    let mut reserved = RESERVED.iter();
    match is_plain && !reserved.any(|taken| name.eq_ignore_ascii_case(taken)) {
        true => Ok(()),
        false => Err(refused(
            "42602",
            "a database is called by 1 to 63 bytes, and not memory, system or temp",
        )),
    }
}

/// A backup, or a change of a key that waits for an earlier one, goes on for as long as it takes.
fn busy() -> Refused {
    refused(
        "55006",
        "a backup is being made, or a database gets another key: try again when that has ended",
    )
}

fn failed(error: impl Into<ServeError>) -> Refused {
    refused("58000", error.into().to_string())
}

impl Instance {
    /// Opens an instance with its key, and finishes or undoes what a crash left half done.
    pub(crate) fn open(
        directory: &Path,
        key: KeySource,
        memory_bytes: Option<usize>,
        threads: Option<usize>,
    ) -> Result<Self> {
        let served = DatabaseOptions {
            external_access: false,
            memory_limit_bytes: memory_bytes,
            threads,
            ..DatabaseOptions::default()
        };
        Self::open_with(directory, key, served)
    }

    /// Opens it for work on the host: no session is there, and files may be read that a person has named.
    pub(crate) fn open_on_host(directory: &Path, key: KeySource) -> Result<Self> {
        Self::open_with(directory, key, DatabaseOptions::default())
    }

    fn open_with(directory: &Path, key: KeySource, options: DatabaseOptions) -> Result<Self> {
        let mark = fs::read_to_string(directory.join(MARK)).map_err(|_| {
            ServeError::new(
                FailureKind::Usage,
                format!(
                    "{} is no instance: make one with hush init",
                    directory.display()
                ),
            )
        })?;
        if mark
            .lines()
            .next()
            .is_none_or(|line| !line.starts_with(MARK_FORMAT))
        {
            return Err(ServeError::new(
                FailureKind::Usage,
                "the instance was made by another version of hush",
            ));
        }
        let lock = lock(directory)?;
        let files = InstanceFiles::in_directory(directory);
        let options = DatabaseOptions {
            owns_process: true,
            temp_directory: Some(files.databases()),
            ..options
        };
        Self::over(files, key, options, Some(lock))
    }

    /// Opens the catalog and puts right what a crash left; nobody else has the files.
    fn over(
        files: InstanceFiles,
        key: KeySource,
        options: DatabaseOptions,
        lock: Option<File>,
    ) -> Result<Self> {
        let crypto = CryptoProvider::aws_lc();
        let catalog = Catalog::open(&files, key)?;
        let keyring = Keyring::open(crypto, &catalog)?;
        let databases = Database::open_with(
            None,
            DatabaseOptions {
                enforce_encryption: true,
                file_sources: files.sources(),
                ..options
            },
        )?;
        let instance = Self {
            files,
            catalog,
            keyring,
            databases,
            sessions: Mutex::default(),
            changing: Mutex::default(),
            steps: Mutex::default(),
            _lock: lock,
        };
        instance.put_right()?;
        Ok(instance)
    }

    /// What a crash within CREATE or DROP DATABASE left: neither of them has happened, or the second has. Or within a rotation: one key is left.
    fn put_right(&self) -> Result<()> {
        for row in self.catalog.databases()? {
            if row.state != State::Online {
                self.files.remove(&row.id).map_err(|error| {
                    let why = "a file of a database that is gone cannot be removed";
                    ServeError::new(error.kind(), format!("{why}: {error}"))
                })?;
                self.catalog.forget(&row.id)?;
            }
        }
        self.settle_rotations()
    }

    /// Makes a database with a key of its own.
    pub(crate) fn create(&self, name: &str, owner: &str) -> std::result::Result<(), Refused> {
        self.create_filled(name, owner, |_| Ok(()))
    }

    /// Makes a database with a key of its own, which is there once it was filled; whatever comes between leaves none.
    pub(crate) fn create_filled<T>(
        &self,
        name: &str,
        owner: &str,
        fill: impl FnOnce(&str) -> Result<T>,
    ) -> std::result::Result<T, Refused> {
        may_be_called(name)?;
        let _steps = self.steps.try_lock_for(PATIENCE).ok_or_else(busy)?;
        let _changing = self.changing.lock();
        self.is_free(name)?;
        self.is_role(owner)?;
        let id = self.keyring.new_id().map_err(failed)?;
        let key = self.keyring.new_key().map_err(failed)?;
        let wrapped = self.keyring.wrap(&id, &key);
        self.catalog
            .begin_create(&id, name, owner, &wrapped)
            .map_err(failed)?;
        let made = self.make_file(&id, name).and_then(|()| fill(&id));
        let made = match made {
            Ok(made) => made,
            Err(error) => {
                // As the next start would: nothing has been told to be there.
                let _ = self.databases.detach(name);
                if self.files.remove(&id).is_ok() {
                    self.catalog.forget(&id).map_err(failed)?;
                }
                return Err(failed(error));
            }
        };
        self.catalog.set_state(&id, State::Online).map_err(failed)?;
        Ok(made)
    }

    fn make_file(&self, id: &str, name: &str) -> Result<()> {
        self.attach(id, name)?;
        let connection = self
            .databases
            .connect_to(name, "main", Isolation::default())?;
        connection.execute(&format!("CREATE SCHEMA {PUBLIC}"))?;
        self.files.sync(id)
    }

    /// Opens a database that is there: a file that is not is no reason to make one.
    pub(crate) fn attach_there(&self, id: &str, name: &str) -> Result<()> {
        if !self.files.is_there(id)? {
            return Err(ServeError::new(
                FailureKind::Damaged,
                "the database's file is not there: put it back from a backup",
            ));
        }
        self.attach(id, name)
    }

    /// Opens a database's file with its key of the keyring, or makes it.
    fn attach(&self, id: &str, name: &str) -> Result<()> {
        let key = self.keyring.unwrap(&self.catalog, id)?;
        let options = AttachOptions {
            key: Some(KeySource::Text(keyring::key_text(&key))),
            ..AttachOptions::default()
        };
        Ok(self
            .databases
            .attach(self.files.database(id), name, &options)?)
    }

    /// Drops a database that nobody is connected to.
    pub(crate) fn drop_database(&self, name: &str) -> std::result::Result<(), Refused> {
        let _steps = self.steps.try_lock_for(PATIENCE).ok_or_else(busy)?;
        let _changing = self.changing.lock();
        let row = self.online(name)?;
        self.is_idle(name)?;
        self.catalog
            .set_state(&row.id, State::Dropping)
            .map_err(failed)?;
        let _ = self.databases.detach(name);
        self.files.remove(&row.id).map_err(|error| {
            refused(
                "58030",
                format!("the database's file cannot be removed: {error}"),
            )
        })?;
        self.catalog.forget(&row.id).map_err(failed)?;
        self.catalog.checkpoint().map_err(failed)
    }

    /// Gives a database that nobody is connected to another name.
    pub(crate) fn rename(&self, name: &str, new: &str) -> std::result::Result<(), Refused> {
        may_be_called(new)?;
        let _steps = self.steps.try_lock_for(PATIENCE).ok_or_else(busy)?;
        let _changing = self.changing.lock();
        let row = self.online(name)?;
        self.is_free(new)?;
        self.is_idle(name)?;
        // The engine knows it by its name; the next session opens it anew.
        let _ = self.databases.detach(name);
        self.catalog.rename(&row.id, new).map_err(failed)
    }

    /// Gives a database to another role.
    pub(crate) fn give_to(&self, name: &str, owner: &str) -> std::result::Result<(), Refused> {
        let _changing = self.changing.lock();
        let row = self.online(name)?;
        self.is_role(owner)?;
        self.catalog.give_to(&row.id, owner).map_err(failed)
    }

    fn is_role(&self, name: &str) -> std::result::Result<(), Refused> {
        match self.catalog.role(name).map_err(failed)? {
            Some(_) => Ok(()),
            None => Err(refused("42704", format!("role \"{name}\" does not exist"))),
        }
    }

    /// Whether no database has the name.
    fn is_free(&self, name: &str) -> std::result::Result<(), Refused> {
        match self.catalog.database(name).map_err(failed)? {
            None => Ok(()),
            Some(_) => Err(refused(
                "42P04",
                format!("database \"{name}\" already exists"),
            )),
        }
    }

    /// Whether nobody is connected to a database.
    fn is_idle(&self, name: &str) -> std::result::Result<(), Refused> {
        let sessions = self.sessions.lock();
        match sessions.get(name).is_some_and(|count| *count > 0) {
            false => Ok(()),
            true => Err(refused(
                "55006",
                format!("database \"{name}\" is being accessed by other users"),
            )),
        }
    }

    /// The row of a database that is there.
    pub(crate) fn online(&self, name: &str) -> std::result::Result<DatabaseRow, Refused> {
        let row = self.catalog.database(name).map_err(failed)?;
        row.filter(|row| row.state == State::Online)
            .ok_or_else(|| refused("3D000", format!("database \"{name}\" does not exist")))
    }

    /// A connection that sees one database, which is opened if nobody had it open.
    pub(crate) fn connect(&self, row: &DatabaseRow) -> std::result::Result<Connection, Refused> {
        let _changing = self.changing.lock();
        self.online(&row.name)?;
        let connect = || {
            self.databases
                .connect_to(&row.name, PUBLIC, Isolation::ReadCommitted)
        };
        let connection = match connect() {
            Ok(connection) => connection,
            Err(_) => {
                self.attach_there(&row.id, &row.name).map_err(failed)?;
                connect().map_err(failed)?
            }
        };
        *self.sessions.lock().entry(row.name.clone()).or_default() += 1;
        Ok(connection)
    }

    /// A session of a database has ended.
    pub(crate) fn disconnected(&self, name: &str) {
        if let Some(count) = self.sessions.lock().get_mut(name) {
            *count = count.saturating_sub(1);
        }
    }

    /// The certificate and its key.
    pub(crate) fn identity(&self) -> Result<Identity> {
        let pem = fs::read(self.files.directory().join(CERTIFICATE))
            .map_err(|error| ServeError::other(format!("tls.crt cannot be read: {error}")))?;
        let private_key = self.catalog.secret(catalog::TLS_KEY)?;
        Ok(Identity {
            certificate: Identity::certificate_of_pem(&pem).map_err(ServeError::other)?,
            private_key: Zeroizing::new(private_key),
        })
    }

    /// Stores what logs have, in every database that is open.
    pub(crate) fn checkpoint(&self) {
        for row in self.catalog.databases().unwrap_or_default() {
            // One that nobody has opened has nothing to store.
            let _ = self.databases.checkpoint(&row.name);
        }
        let _ = self.catalog.checkpoint();
    }

    /// What opening files had to say.
    pub(crate) fn take_notices(&self) -> Vec<String> {
        self.databases.take_notices()
    }
}

/// Holds the directory until the file is dropped.
fn lock(directory: &Path) -> Result<File> {
    let path = directory.join(LOCK);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path);
    let file = file
        .map_err(|error| ServeError::other(format!("instance.lock cannot be opened: {error}")))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ServeError::new(
            FailureKind::Busy,
            "another process serves this instance",
        )),
        Err(TryLockError::Error(error)) => Err(ServeError::other(format!(
            "instance.lock cannot be locked: {error}"
        ))),
    }
}
