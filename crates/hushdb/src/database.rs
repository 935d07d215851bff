//! `Database`: the attached files of one process, as a program sees them.

use crate::anchor_file::KeptAnchor;
use crate::connection::Connection;
use crate::instance::Instance;
use crate::options::{AttachOptions, DatabaseOptions};
use crate::transaction::Isolation;
use hushdb_keys::Suite;
use hushdb_sql::{Error, Result, sqlstate};
use hushdb_storage::Anchor;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The library's entry: open one, then `connect`. Clones share everything.
#[derive(Clone)]
pub struct Database {
    pub(crate) instance: Arc<Instance>,
}

impl Database {
    /// A database that lives in memory only.
    ///
    /// # Errors
    /// `Io` when threads cannot be started.
    pub fn open_in_memory() -> Result<Self> {
        Self::open_with(None, DatabaseOptions::default())
    }

    /// Opens a plain database file, or creates it.
    ///
    /// # Errors
    /// `KeyRequired` when the file is encrypted, `Busy` when another process writes to it, and all that opening can find
    /// wrong with a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(Some(path.as_ref()), DatabaseOptions::default())
    }

    /// Opens with options. A path is attached under its stem as name and becomes the current database; it is created
    /// when absent, encrypted if a key is given.
    ///
    /// # Errors
    /// As `open`, and `WrongKey`, `NotEncrypted` and `MalformedKey`.
    pub fn open_with(path: Option<&Path>, options: DatabaseOptions) -> Result<Self> {
        Ok(Self {
            instance: Arc::new(Instance::open(path, options)?),
        })
    }

    /// A connection; each has its own current database, settings and prepared statements.
    ///
    /// # Errors
    /// None now; reserved for limits.
    pub fn connect(&self) -> Result<Connection> {
        self.connect_with(Isolation::default())
    }

    /// A connection whose transactions see and wait as `isolation` says, until `SET default_transaction_isolation` says otherwise.
    ///
    /// # Errors
    /// As `connect`.
    pub fn connect_with(&self, isolation: Isolation) -> Result<Connection> {
        Ok(Connection::new(Arc::clone(&self.instance), isolation))
    }

    /// A connection that sees one attached database alone, under its name, and begins in a schema of it: to it, the others are not
    /// there. Its transactions see and wait as `isolation` says.
    ///
    /// # Errors
    /// `Catalog` when there is no such database, or no such schema in it.
    pub fn connect_to(&self, name: &str, schema: &str, isolation: Isolation) -> Result<Connection> {
        let store = &self.instance.database(name)?.store;
        if !store.snapshot().schemas.contains_key(schema) {
            let text = format!("Schema with name {schema} does not exist!");
            return Err(Error::catalog(text).with_sqlstate(sqlstate::UNKNOWN_SCHEMA));
        }
        let instance = Arc::clone(&self.instance);
        Ok(Connection::seeing(
            instance,
            isolation,
            name.to_owned(),
            schema,
        ))
    }

    /// Detaches a database: no connection that begins now sees it, and its file is closed when none does any more.
    ///
    /// # Errors
    /// `Catalog` when there is no such database, `Io` when its anchor cannot be kept.
    pub fn detach(&self, name: &str) -> Result<()> {
        self.instance.detach(name)
    }

    /// Stores what an attached database has in its log, so that opening it has nothing to replay.
    ///
    /// # Errors
    /// `Catalog` when there is no such database, and as CHECKPOINT.
    pub fn checkpoint(&self, name: &str) -> Result<()> {
        Ok(self.instance.database(name)?.store.checkpoint()?)
    }

    /// Attaches another file under a name, as ATTACH does, or creates it; encrypted if a key is given. Every connection sees
    /// it. The key is never a part of a text.
    ///
    /// # Errors
    /// `Binder` when the name is taken, `InvalidInput` for a plain database while `enforce_encryption` is on, and as
    /// `open_with`.
    pub fn attach(
        &self,
        path: impl AsRef<Path>,
        name: &str,
        options: &AttachOptions,
    ) -> Result<()> {
        let notices = self.instance.attach(path.as_ref(), name, options)?;
        self.instance.keep_notices(notices);
        Ok(())
    }

    /// The name of the database that was opened: the one under which its path is attached, `memory` without one.
    pub fn name(&self) -> &str {
        &self.instance.default_database
    }

    /// How far an attached database has come: a line to keep elsewhere, with which a later opening shows whether anything that
    /// was committed until now is missing ([`AttachOptions::freshness`]).
    ///
    /// # Errors
    /// `Catalog` when there is no such database; `Io` when what was committed cannot be made durable.
    pub fn anchor(&self, name: &str) -> Result<Anchor> {
        Ok(self.instance.database(name)?.store.anchor()?)
    }

    /// Writes the anchors of attached databases into their anchor files ([`AttachOptions::anchor_file`]), as closing does, but says
    /// what went wrong.
    ///
    /// # Errors
    /// The first that cannot be had or written: its file is as it was.
    pub fn keep_anchors(&self) -> Result<()> {
        let attached: Vec<_> = self.instance.attached.read().values().cloned().collect();
        let written = attached
            .iter()
            .filter_map(|database| database.kept.as_ref());
        let written: Vec<Result<()>> = written.map(KeptAnchor::write).collect();
        written.into_iter().collect()
    }

    /// What opening the file, and attaching others by [`Database::attach`], found and could bear, such as one of two copies being
    /// damaged, since this was last asked: sentences for a person to read. Whoever may have changed a file shows here, so they
    /// should be shown or logged. What statements have to say, their connection has.
    pub fn take_notices(&self) -> Vec<String> {
        self.instance.take_notices()
    }

    /// Whether an encrypted database is attached: whoever keeps statements or results elsewhere should ask.
    pub fn has_encrypted(&self) -> bool {
        let attached = self.instance.attached.read();
        let mut suites = attached.values().map(|db| db.store.info().suite);
        suites.any(|suite| suite != Suite::Plain)
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("current", &self.instance.default_database)
            .finish_non_exhaustive()
    }
}
