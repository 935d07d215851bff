//! `OsFiles`: a database file of the operating system and its siblings in the same directory.
//!
//! Refuses names that lead elsewhere: a sibling's name is the database file's, made longer. The path is looked at once: a
//! database that was opened by a link has its log beside the real file, and the log stays there when the process changes its
//! working directory or somebody renames that of the database.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::output_file::refuse_log_name;
use super::place::Place;
use super::{OsFile, StorageFile, StorageFiles};
use crate::error::{Error, Result};

/// The files beside one path. Nothing is opened until it is asked for.
#[derive(Clone, Debug)]
pub struct OsFiles {
    place: Place,
}

impl OsFiles {
    /// The files of the database at `path`.
    ///
    /// # Errors
    /// Of the operating system, when there is no such directory.
    pub fn beside(path: impl AsRef<Path>) -> Result<Self> {
        let place = Place::of(path.as_ref())?;
        Ok(Self { place })
    }

    /// Where the database file is: absolute, without links.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// Whether the database file is there.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn is_there(&self) -> Result<bool> {
        match self.place.metadata() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses a name that another database would take for that of its log.
    ///
    /// # Errors
    /// `InvalidInput` for such a name.
    pub fn refuse_log_name(&self) -> Result<()> {
        refuse_log_name(&self.place)
    }

    fn place_of(&self, name: &str) -> Result<Place> {
        match name.contains(['/', '\0']) {
            true => Err(Error::InvalidInput("not the name of a sibling file".into())),
            false => Ok(self.place.with_ending(name)),
        }
    }
}

impl StorageFiles for OsFiles {
    fn open(&self, name: &str, read_only: bool) -> Result<Option<Arc<dyn StorageFile>>> {
        match OsFile::open_at(&self.place_of(name)?, read_only) {
            Ok(file) => Ok(Some(Arc::new(file))),
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(&self, name: &str) -> Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(OsFile::create_at(&self.place_of(name)?)?))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        Ok(self.place_of(from)?.rename(&self.place_of(to)?)?)
    }

    fn remove(&self, name: &str) -> Result<()> {
        match self.place_of(name)?.remove() {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn sync(&self) -> Result<()> {
        Ok(self.place.sync_directory()?)
    }
}
