//! `hush adopt`: what is there already becomes a database of the instance, under a random key of its own.
//!
//! What must hold: the source is only read. The database is there once its copy was read back and is the same; until then the next start
//! removes what there is of it, as of a CREATE DATABASE that a crash ended.

mod dump;

use crate::failure::{FailureKind, Result, ServeError};
use crate::instance::compare::{Contents, compare, contents};
use crate::instance::{FIRST, Instance, PUBLIC};
use hushdb::{AttachOptions, Isolation, KeySource};
use std::path::{Path, PathBuf};

/// What becomes a database, and of which instance.
pub struct AdoptOptions {
    /// The instance. No server may run on it.
    pub directory: PathBuf,
    /// Opens it.
    pub key: KeySource,
    /// A database file of HushDB; a directory with a `schema.sql`, and a CSV or Parquet file for each table; or what `pg_dump` wrote as
    /// text, under a name that ends in `.sql`.
    pub source: PathBuf,
    /// Opens that, if it is encrypted.
    pub source_key: Option<KeySource>,
    /// What the database is to be called.
    pub name: String,
    /// Whether what HushDB has not is left out of a dump and listed, instead of refused. Rows are never left out.
    pub leave_out: bool,
    /// Whose it is to be: a role that there is, `hush` if nothing is said.
    pub owner: Option<String>,
}

/// What was adopted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adopted {
    /// Tables. Those of a database file were each compared with it.
    pub tables: u64,
    /// Their rows.
    pub rows: u64,
    /// Views.
    pub views: u64,
    /// What was left out of a dump: a line each.
    pub left_out: Vec<String>,
}

impl From<Contents> for Adopted {
    fn from(contents: Contents) -> Self {
        let Contents {
            tables,
            rows,
            views,
        } = contents;
        Self {
            tables,
            rows,
            views,
            left_out: vec![],
        }
    }
}

/// Copies a database into an instance, and compares the copy with it; or loads a directory or a dump.
///
/// # Errors
/// `Busy` while a server has the instance; a name that is taken, an owner that is not there, and what reading the source and writing the
/// copy give. There is no such database then.
pub fn adopt(options: &AdoptOptions) -> Result<Adopted> {
    if !options.source.exists() {
        return Err(usage("there is nothing to adopt under this path"));
    }
    let instance = Instance::open_on_host(&options.directory, options.key.clone())?;
    let owner = options.owner.as_deref().unwrap_or(FIRST);
    let mut kind = None;
    let adopted = instance.create_filled(&options.name, owner, |id| {
        let key = options.source_key.clone();
        let filled = match options.source.is_dir() {
            true => instance.load(id, &options.name, &options.source),
            false if is_dump(&options.source) => {
                instance.load_dump(id, &options.name, &options.source, options.leave_out)
            }
            false => instance.fill_from(id, &options.name, &options.source, key),
        };
        filled.inspect_err(|error| kind = Some(error.kind()))
    });
    let adopted = adopted.map_err(|(sqlstate, message)| match (kind, &*sqlstate) {
        (Some(kind), _) => ServeError::new(kind, message),
        (None, "58000") => ServeError::other(message),
        (None, _) => usage(&message),
    })?;
    instance.checkpoint();
    Ok(adopted)
}

/// Whether a file is one of statements.
pub fn is_dump(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "sql")
}

fn usage(message: &str) -> ServeError {
    ServeError::new(FailureKind::Usage, message)
}

impl Instance {
    /// Fills a new database with all of another file.
    pub(crate) fn fill_from(
        &self,
        id: &str,
        name: &str,
        source: &Path,
        key: Option<KeySource>,
    ) -> Result<Adopted> {
        // Longer than a name that a database of the instance may have.
        let from = format!("{id}: what is adopted, which is only read");
        let options = AttachOptions {
            read_only: true,
            key,
            ..AttachOptions::default()
        };
        self.databases.attach(source, &from, &options)?;
        let filled = self.filled(id, &from, name);
        let _ = self.databases.detach(&from);
        filled
    }

    fn filled(&self, id: &str, from: &str, name: &str) -> Result<Adopted> {
        let connection = self.databases.connect()?;
        connection.copy_database(from, name, PUBLIC)?;
        drop(connection);
        self.read_back(id, name)?;
        Ok(compare(&self.databases.connect()?, from, name)?.into())
    }

    /// Fills a new database from a directory.
    fn load(&self, id: &str, name: &str, directory: &Path) -> Result<Adopted> {
        let level = Isolation::default();
        let connection = self.databases.connect_to(name, PUBLIC, level)?;
        connection.import_directory(directory, PUBLIC)?;
        drop(connection);
        self.read_back(id, name)?;
        Ok(contents(&self.databases.connect()?, name)?.into())
    }

    /// Fills a new database from a dump.
    fn load_dump(&self, id: &str, name: &str, dump: &Path, leave_out: bool) -> Result<Adopted> {
        let dumped = self.run_dump(name, dump, leave_out)?;
        self.read_back(id, name)?;
        let there = contents(&self.databases.connect()?, name)?;
        if there.rows != dumped.rows {
            let message = "the database has not as many rows as the dump: nothing was kept of it";
            return Err(ServeError::other(message));
        }
        Ok(Adopted {
            left_out: dumped.left_out,
            ..there.into()
        })
    }

    /// Has what is read from now on come from the file.
    fn read_back(&self, id: &str, name: &str) -> Result<()> {
        self.databases.checkpoint(name)?;
        self.databases.detach(name)?;
        self.attach_there(id, name)
    }
}
