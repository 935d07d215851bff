//! `FileLock`: one writing process or any number of reading ones, and each process at most once.
//!
//! Three layers, because none does all of it:
//! - a set of (device, inode) refuses a second open in this process, which the kernel's record locks would let pass;
//! - `flock` on the open file keeps other processes out: it belongs to the open file description, so closing some other
//!   descriptor of the same file does not drop it;
//! - a POSIX record lock beside it, because only that one tells a refused process who the holder is.
//!
//! The kernel drops the last two with the file descriptor, also when the process dies.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;

use parking_lot::Mutex;
use rustix::fs::{FlockOperation, fcntl_lock, flock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, fcntl_getlk};

use crate::error::{Error, Result};

/// The files that this process has open. The kernel's view of a file is process-wide, so this is too.
static ATTACHED: Mutex<BTreeSet<FileId>> = Mutex::new(BTreeSet::new());

type FileId = (u64, u64);

/// Held as long as the file is open.
#[derive(Debug)]
pub(super) struct FileLock {
    id: FileId,
}

impl FileLock {
    /// Refuses a file that this process has open. Asked before opening it again, since closing any descriptor of a file
    /// drops the process's record locks on it.
    pub(super) fn refuse_attached(metadata: &Metadata) -> Result<()> {
        match ATTACHED.lock().contains(&id_of(metadata)) {
            true => Err(Error::AlreadyAttached),
            false => Ok(()),
        }
    }

    /// Takes the lock or fails at once.
    pub(super) fn acquire(file: &File, exclusive: bool) -> Result<Self> {
        let id = id_of(&file.metadata()?);
        if !ATTACHED.lock().insert(id) {
            return Err(Error::AlreadyAttached);
        }
        let lock = Self { id };
        let operation = match exclusive {
            true => FlockOperation::NonBlockingLockExclusive,
            false => FlockOperation::NonBlockingLockShared,
        };
        // Where the file system has no record locks, only the holder's name is lost.
        if let Err(Errno::AGAIN | Errno::ACCESS) = fcntl_lock(file, operation) {
            return Err(Error::Busy {
                pid: holder(file, exclusive),
            });
        }
        match flock(file, operation) {
            Ok(()) => Ok(lock),
            Err(Errno::WOULDBLOCK) => Err(Error::Busy { pid: None }),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        ATTACHED.lock().remove(&self.id);
    }
}

fn id_of(metadata: &Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

fn holder(file: &File, exclusive: bool) -> Option<u32> {
    let wanted = if exclusive {
        FlockType::WriteLock
    } else {
        FlockType::ReadLock
    };
    let blocking = fcntl_getlk(file, &Flock::from(wanted)).ok()??;
    u32::try_from(blocking.pid?.as_raw_nonzero().get()).ok()
}
