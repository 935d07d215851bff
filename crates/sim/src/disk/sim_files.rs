//! `SimFiles`: a database file of the simulated disk and the files beside it, as storage asks for them.

use std::fmt;
use std::io;
use std::sync::Arc;

use hushdb_storage::{Result, StorageFile, StorageFiles};

use super::broken_file::{Breakage, BrokenFile};
use super::sim_disk::SimDisk;

/// The files whose names begin with one name.
pub struct SimFiles {
    disk: SimDisk,
    name: String,
    /// The database file, where the caller has it open and watches it.
    main: Option<Arc<dyn StorageFile>>,
    breakage: Breakage,
}

impl SimFiles {
    /// The files beside `main`, whose name is `name`. The breakage is that of the files beside it, too.
    pub fn beside(
        main: Arc<dyn StorageFile>,
        name: &'static str,
        disk: SimDisk,
        breakage: Breakage,
    ) -> Self {
        Self {
            disk,
            name: name.to_owned(),
            main: Some(main),
            breakage,
        }
    }

    /// The files whose names begin with `name`, each of which is opened when it is asked for.
    pub fn named(name: &str, disk: SimDisk) -> Self {
        Self {
            disk,
            name: name.to_owned(),
            main: None,
            breakage: Breakage::Sound,
        }
    }

    fn main(&self, name: &str) -> Option<Arc<dyn StorageFile>> {
        self.main.clone().filter(|_| name.is_empty())
    }

    fn name_of(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.name)
    }

    fn wrapped(&self, file: impl StorageFile + 'static) -> Arc<dyn StorageFile> {
        let file: Arc<dyn StorageFile> = Arc::new(file);
        match self.breakage {
            Breakage::Sound | Breakage::RootBeforeBlocks => file,
            breakage => Arc::new(BrokenFile::new(file, breakage)),
        }
    }
}

impl StorageFiles for SimFiles {
    fn open(&self, name: &str, read_only: bool) -> Result<Option<Arc<dyn StorageFile>>> {
        if let Some(main) = self.main(name) {
            return Ok(Some(main));
        }
        match self.disk.open(&self.name_of(name), read_only) {
            Ok(file) => Ok(Some(self.wrapped(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn create(&self, name: &str) -> Result<Arc<dyn StorageFile>> {
        if let Some(main) = self.main(name) {
            return Ok(main);
        }
        Ok(self.wrapped(self.disk.create(&self.name_of(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        Ok(self.disk.rename(&self.name_of(from), &self.name_of(to))?)
    }

    fn remove(&self, name: &str) -> Result<()> {
        match self.disk.remove(&self.name_of(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn sync(&self) -> Result<()> {
        Ok(self.disk.sync_directory()?)
    }
}

impl fmt::Debug for SimFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimFiles({})", self.name)
    }
}
