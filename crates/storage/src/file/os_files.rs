//! `OsFiles`: a database file of the operating system and its siblings in the same directory.
//!
//! Refuses names that lead elsewhere: a sibling's name is the database file's, made longer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::os_file::sync_parent;
use super::{OsFile, StorageFile, StorageFiles};
use crate::error::{Error, Result};

/// The files beside one path. Nothing is opened until it is asked for.
#[derive(Clone, Debug)]
pub struct OsFiles {
    path: PathBuf,
}

impl OsFiles {
    /// The files of the database at `path`.
    pub fn beside(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_owned();
        Self { path }
    }

    fn path_of(&self, name: &str) -> Result<PathBuf> {
        if name.contains(['/', '\0']) || self.path.file_name().is_none() {
            return Err(Error::InvalidInput("not the name of a sibling file".into()));
        }
        let mut path = self.path.clone().into_os_string();
        path.push(name);
        Ok(path.into())
    }
}

impl StorageFiles for OsFiles {
    fn open(&self, name: &str, read_only: bool) -> Result<Option<Arc<dyn StorageFile>>> {
        match OsFile::open(self.path_of(name)?, read_only) {
            Ok(file) => Ok(Some(Arc::new(file))),
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(&self, name: &str) -> Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(OsFile::create(self.path_of(name)?)?))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        Ok(fs::rename(self.path_of(from)?, self.path_of(to)?)?)
    }

    fn remove(&self, name: &str) -> Result<()> {
        match fs::remove_file(self.path_of(name)?) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn sync(&self) -> Result<()> {
        Ok(sync_parent(&self.path)?)
    }
}
