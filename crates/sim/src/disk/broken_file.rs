//! `BrokenFile`: a file that breaks one promise. A store over it behaves like one with that defect, and a harness that does
//! not notice proves nothing.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hushdb_storage::StorageFile;

/// The fixed parts of a database file that make a new state valid: the superblock slots (FORMAT.md, "File map").
const ROOT_BYTES: std::ops::Range<u64> = 32_768..65_536;

/// Which promise is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Breakage {
    /// None.
    #[default]
    Sound,
    /// A sync does nothing.
    IgnoresSync,
    /// The root may be durable before what it names: the sync between the two is left out.
    RootBeforeBlocks,
    /// The error of a failed sync is kept quiet.
    SwallowsSyncErrors,
}

/// A file over another one.
#[derive(Debug)]
pub struct BrokenFile {
    file: Arc<dyn StorageFile>,
    breakage: Breakage,
    root_written: AtomicBool,
}

impl BrokenFile {
    /// A file that behaves like `file` but for the breakage.
    pub fn new(file: Arc<dyn StorageFile>, breakage: Breakage) -> Self {
        Self {
            file,
            breakage,
            root_written: AtomicBool::new(false),
        }
    }
}

impl StorageFile for BrokenFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(offset, buf)
    }

    fn write_all_at(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        if ROOT_BYTES.contains(&offset) {
            self.root_written.store(true, Ordering::Relaxed);
        }
        self.file.write_all_at(offset, buf)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        let root_written = self.root_written.swap(false, Ordering::Relaxed);
        match self.breakage {
            Breakage::IgnoresSync => Ok(()),
            Breakage::RootBeforeBlocks if !root_written => Ok(()),
            Breakage::SwallowsSyncErrors => {
                let _ = self.file.sync();
                Ok(())
            }
            Breakage::Sound | Breakage::RootBeforeBlocks => self.file.sync(),
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.file.sync_directory()
    }
}
