//! `OsFile`: a locked file of the operating system. The only place that opens a database file.
//!
//! What must hold: a file is never open without its lock; a new file is readable by its owner alone; a new name is
//! durable only after `sync_directory`. Refuses what is not a regular file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
use rustix::io::{Errno, pread};

use super::StorageFile;
use super::file_lock::FileLock;
use crate::error::{Error, Result};

/// A file on disk, locked while it is open.
#[derive(Debug)]
pub struct OsFile {
    path: PathBuf,
    // Declared before the lock: the descriptor goes first, then the name is free for this process again.
    file: File,
    _lock: FileLock,
}

impl OsFile {
    /// Opens an existing file, for one writer or as one of many readers.
    ///
    /// # Errors
    /// `Busy` when another process holds it, `AlreadyAttached` when this one does, `InvalidInput` for what is no regular
    /// file, else what the operating system says.
    pub fn open(path: impl AsRef<Path>, read_only: bool) -> Result<Self> {
        let path = path.as_ref();
        let metadata = std::fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(Error::InvalidInput(format!(
                "{} is not a regular file",
                path.display()
            )));
        }
        FileLock::refuse_attached(&metadata)?;
        let file = OpenOptions::new().read(true).write(!read_only).open(path)?;
        Self::lock(path, file, !read_only)
    }

    /// Makes a file (mode 0600), or takes one that is there without a byte in it.
    ///
    /// # Errors
    /// As [`OsFile::open`]; `InvalidInput` when there is a file with something in it.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let new = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        match new {
            Ok(file) => Self::lock(path, file, true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let file = Self::open(path, false)?;
                match file.is_empty()? {
                    true => Ok(file),
                    false => Err(Error::InvalidInput(format!(
                        "{} exists already",
                        path.display()
                    ))),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn lock(path: &Path, file: File, exclusive: bool) -> Result<Self> {
        let lock = FileLock::acquire(&file, exclusive)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            _lock: lock,
        })
    }
}

impl StorageFile for OsFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buf, offset)
    }

    fn append_exact_at(&self, offset: u64, len: usize, into: &mut Vec<u8>) -> io::Result<()> {
        let (start, end) = (into.len(), into.len() + len);
        into.reserve(len);
        // Reads into spare capacity, which spares zeroing memory that is about to be overwritten. It may take a few
        // bytes more than asked for, since the vector may be larger.
        while into.len() < end {
            let at = offset + (into.len() - start) as u64;
            match pread(&self.file, spare_capacity(into), at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        into.truncate(end);
        Ok(())
    }

    fn write_all_at(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        self.file.write_all_at(buf, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_directory(&self) -> io::Result<()> {
        sync_parent(&self.path)
    }
}

/// Makes durable what the directory of `path` says about names.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}
