//! `SimFile`: a handle on a file of the simulated disk, as storage uses files.
//!
//! Notes as a violation what no program may do: write through a read-only handle, or write anything after a sync of this
//! handle has failed.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use hushdb_storage::StorageFile;

use super::fault::FaultKind;
use super::sim_disk::{Operation, SimDisk};

/// An open file of a [`SimDisk`].
#[derive(Debug)]
pub struct SimFile {
    disk: SimDisk,
    inode: usize,
    boot: u64,
    read_only: bool,
    sync_failed: AtomicBool,
}

impl SimFile {
    pub(super) fn new(disk: SimDisk, inode: usize, boot: u64, read_only: bool) -> Self {
        Self {
            disk,
            inode,
            boot,
            read_only,
            sync_failed: AtomicBool::new(false),
        }
    }

    /// Whether a sync through this handle has failed.
    pub fn sync_failed(&self) -> bool {
        self.sync_failed.load(Ordering::Relaxed)
    }

    fn may_write(&self) -> io::Result<()> {
        if self.read_only {
            self.disk
                .state()
                .violation("written through a read-only handle");
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if self.sync_failed() {
            self.disk.state().violation("written after a failed sync");
        }
        Ok(())
    }
}

impl StorageFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        let mut state = self.disk.state();
        state.begin(self.boot, Operation::Read, 0, 0)?;
        Ok(state.inode(self.inode).bytes().len() as u64)
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        state.begin(self.boot, Operation::Read, offset, buf.len() as u64)?;
        if state.fault(Operation::Read).is_some() {
            return Err(io::Error::other("the disk does not read"));
        }
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let end = start.checked_add(buf.len());
        let bytes = state.inode(self.inode).bytes();
        let found = end.and_then(|end| bytes.get(start..end));
        buf.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_all_at(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        let len = buf.len() as u64;
        let mut state = self.disk.state();
        state.begin(self.boot, Operation::Write, offset, len)?;
        drop(state);
        self.may_write()?;
        state = self.disk.state();
        let (kept, failure) = match state.fault(Operation::Write) {
            Some(FaultKind::ShortWrite) => (
                state.dice().below(len),
                Some(io::Error::other("the disk wrote a part")),
            ),
            Some(_) => (0, Some(io::Error::other("the disk does not write"))),
            None => match state.room_for(self.inode, offset, len) {
                kept if kept < len => (kept, Some(io::ErrorKind::StorageFull.into())),
                kept => (kept, None),
            },
        };
        if kept > 0 {
            state.inode(self.inode).write(offset, &buf[..kept as usize]);
        }
        state.end()?;
        failure.map_or(Ok(()), Err)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.begin(self.boot, Operation::SetLen, len, 0)?;
        drop(state);
        self.may_write()?;
        state = self.disk.state();
        if state.fault(Operation::SetLen).is_some() {
            return Err(io::Error::other("the disk does not write"));
        }
        state.inode(self.inode).set_len(len);
        state.end()
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        state.begin(self.boot, Operation::Sync, 0, 0)?;
        if state.fault(Operation::Sync).is_some() {
            state.lose(self.inode);
            self.sync_failed.store(true, Ordering::Relaxed);
            return Err(io::Error::other("the disk does not sync"));
        }
        state.end()?;
        state.sync(self.inode);
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        state.begin(self.boot, Operation::Names, 1, 0)?;
        state.end()?;
        state.sync_names();
        Ok(())
    }
}
