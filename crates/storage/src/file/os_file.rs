//! `OsFile`: a locked file of the operating system. The only place that opens a database file.
//!
//! What must hold: a file is never open without its lock; a new file is readable by its owner alone; a new name is
//! durable only after `sync_directory`; a path is looked at once. Refuses what is not a regular file.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::io::{Errno, pread};

use super::StorageFile;
use super::file_lock::FileLock;
use super::place::Place;
use crate::error::{Error, Result};

/// A file on disk, locked while it is open.
#[derive(Debug)]
pub struct OsFile {
    place: Place,
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
        Self::open_at(&Place::of(path.as_ref())?, read_only)
    }

    pub(super) fn open_at(place: &Place, read_only: bool) -> Result<Self> {
        let metadata = place.metadata()?;
        if !metadata.is_file() {
            let path = place.path().display();
            return Err(Error::InvalidInput(format!("{path} is not a regular file")));
        }
        FileLock::refuse_attached(&metadata)?;
        let file = place.open(match read_only {
            true => OFlags::RDONLY,
            false => OFlags::RDWR,
        })?;
        Self::lock(place, file, !read_only)
    }

    /// Makes a file (mode 0600), or takes one that is there without a byte in it.
    ///
    /// # Errors
    /// As [`OsFile::open`]; `InvalidInput` when there is a file with something in it.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::create_at(&Place::of(path.as_ref())?)
    }

    pub(super) fn create_at(place: &Place) -> Result<Self> {
        match place.open(OFlags::RDWR | OFlags::CREATE | OFlags::EXCL) {
            Ok(file) => Self::lock(place, file, true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let file = Self::open_at(place, false)?;
                match file.is_empty()? {
                    true => Ok(file),
                    false => {
                        let path = place.path().display();
                        Err(Error::InvalidInput(format!("{path} exists already")))
                    }
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Where it was when it was opened: absolute, without links.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    fn lock(place: &Place, file: File, exclusive: bool) -> Result<Self> {
        let lock = FileLock::acquire(&file, exclusive)?;
        Ok(Self {
            place: place.clone(),
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

    fn hole_after(&self, offset: u64) -> Option<Range<u64>> {
        // Moves the descriptor's own offset, which nothing else reads.
        let start = seek(&self.file, SeekFrom::Hole(offset)).ok()?;
        match seek(&self.file, SeekFrom::Data(start)) {
            Ok(end) => Some(start..end),
            // No data from there to the end.
            Err(Errno::NXIO) => Some(start..u64::MAX),
            Err(_) => None,
        }
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
        self.place.sync_directory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_written_is_a_hole() {
        let directory = tempfile::tempdir().unwrap();
        let file = OsFile::create(directory.path().join("f")).unwrap();
        file.set_len(12 << 20).unwrap();
        file.write_all_at(4 << 20, &[0; 1 << 20]).unwrap();
        // A file system that tells nothing calls all of it data; zeros that were written are that everywhere.
        let after = |offset| file.hole_after(offset).unwrap();
        match after(0).start {
            0 => assert_eq!((after(0).end, after(4 << 20)), (4 << 20, 5 << 20..u64::MAX)),
            _ => assert_eq!(after(0), 12 << 20..u64::MAX),
        }
    }
}
