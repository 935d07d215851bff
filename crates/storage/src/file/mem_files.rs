//! `MemFiles`: files that live in memory, by name, for in-memory databases and tests.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{MemFile, StorageFile, StorageFiles};
use crate::error::{Error, Result};

/// Files in memory. Nothing of them reaches a disk.
#[derive(Debug, Default)]
pub struct MemFiles {
    files: Mutex<BTreeMap<String, Arc<MemFile>>>,
}

impl MemFiles {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// The file of that name.
    pub fn get(&self, name: &str) -> Option<Arc<MemFile>> {
        self.files.lock().get(name).cloned()
    }

    /// Puts a file under a name, in the place of what had it.
    pub fn put(&self, name: &str, file: Arc<MemFile>) {
        self.files.lock().insert(name.to_owned(), file);
    }
}

impl StorageFiles for MemFiles {
    fn open(&self, name: &str, _read_only: bool) -> Result<Option<Arc<dyn StorageFile>>> {
        Ok(self.get(name).map(|file| file as Arc<dyn StorageFile>))
    }

    fn create(&self, name: &str) -> Result<Arc<dyn StorageFile>> {
        let mut files = self.files.lock();
        let file = files.entry(name.to_owned()).or_default();
        match file.is_empty()? {
            true => Ok(Arc::clone(file) as Arc<dyn StorageFile>),
            false => Err(Error::InvalidInput(format!("file {name:?} exists already"))),
        }
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut files = self.files.lock();
        let file = files
            .remove(from)
            .ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.files.lock().remove(name);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::file::OsFiles;

    /// Both implementations do the same.
    fn files_come_and_go(files: &dyn StorageFiles) {
        assert!(files.open(".wal", false).unwrap().is_none());
        files.remove(".wal").unwrap();
        files.create(".wal").unwrap();
        let next = files.create(".wal.next").unwrap();
        next.write_all_at(0, b"next").unwrap();
        files.rename(".wal.next", ".wal").unwrap();
        files.sync().unwrap();
        next.write_all_at(4, b" log").unwrap();
        drop(next);
        assert!(files.open(".wal.next", true).unwrap().is_none());
        let again = files.create(".wal").unwrap_err();
        assert_eq!(again.kind(), ErrorKind::InvalidInput);
        let mut bytes = [0; 8];
        let log = files.open(".wal", true).unwrap().unwrap();
        log.read_exact_at(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"next log");
        drop(log);
        files.remove(".wal").unwrap();
        assert!(files.open(".wal", true).unwrap().is_none());
        assert_eq!(files.rename(".wal", "").unwrap_err().kind(), ErrorKind::Io);
    }

    #[test]
    fn files_come_and_go_in_memory() {
        files_come_and_go(&MemFiles::new());
    }

    #[test]
    fn files_come_and_go_on_disk() {
        let directory = tempfile::tempdir().unwrap();
        let files = OsFiles::beside(directory.path().join("a.hush")).unwrap();
        files_come_and_go(&files);
        files.create("").unwrap();
        assert!(directory.path().join("a.hush").exists());
        assert!(files.create("/../b").is_err());
        assert!(OsFiles::beside("/").is_err());
    }
}
