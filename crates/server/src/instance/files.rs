//! `InstanceFiles`: where the catalog of an instance and its databases lie: in a directory, or where a source of files has them, as a
//! disk that is cut off at each write.
//!
//! What must hold: every file of a database is made, opened and removed behind the storage's own joint, so that what a crash leaves of
//! CREATE, DROP and a rotation can be tried at each of their writes.

use super::{CATALOG, FILES};
use crate::failure::Result;
use hushdb::FileSources;
use hushdb::files::StorageFiles;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the names of a database's files end with.
const ENDINGS: [&str; 3] = ["", ".wal", ".wal.next"];

/// The files of one instance.
pub(super) struct InstanceFiles {
    /// Its path, or `scheme://place`.
    directory: PathBuf,
    sources: FileSources,
}

impl InstanceFiles {
    /// Those in a directory.
    pub(super) fn in_directory(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            sources: FileSources::default(),
        }
    }

    /// Those that a source has.
    #[cfg(test)]
    pub(super) fn in_source(url: &str, sources: FileSources) -> Self {
        Self {
            directory: url.into(),
            sources,
        }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn sources(&self) -> FileSources {
        self.sources.clone()
    }

    pub(super) fn catalog(&self) -> PathBuf {
        self.directory.join(CATALOG)
    }

    /// Where databases lie.
    pub(super) fn databases(&self) -> PathBuf {
        self.directory.join(FILES)
    }

    pub(super) fn database(&self, id: &str) -> PathBuf {
        self.databases().join(format!("{id}.hushdb"))
    }

    /// The file of a database, and what lies beside it.
    pub(super) fn of(&self, id: &str) -> Result<Arc<dyn StorageFiles>> {
        Ok(self.sources.find(&self.database(id))?)
    }

    /// Whether the file of a database is there.
    pub(super) fn is_there(&self, id: &str) -> Result<bool> {
        let file = self.of(id)?.open("", true).map_err(hushdb::Error::from)?;
        Ok(file.is_some())
    }

    /// Returns once the names of a database's files are there after a crash, too.
    pub(super) fn sync(&self, id: &str) -> Result<()> {
        Ok(self.of(id)?.sync().map_err(hushdb::Error::from)?)
    }

    /// Removes the files of a database, those that there are, and returns once they are gone after a crash, too.
    pub(super) fn remove(&self, id: &str) -> Result<()> {
        let files = self.of(id)?;
        for ending in ENDINGS {
            files.remove(ending).map_err(hushdb::Error::from)?;
        }
        self.sync(id)
    }
}
