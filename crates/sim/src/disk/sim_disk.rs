//! `SimDisk`: a directory of files under one seed. Crashes when told to, fails when told to, and knows who broke the rules.
//!
//! What must hold:
//! - After the crash instant no operation does anything until [`SimDisk::restart`], and handles from before it never do
//!   again. So what a program does on its way out has no effect.
//! - A crash may come at any operation that changes something; the operation itself may then be durable in part.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::directory::Directory;
use super::fault::{Fault, FaultKind};
use super::inode::{ALLOCATION_BYTES, Inode};
use super::sim_file::SimFile;
use crate::dice::Dice;

/// Settings of a disk.
#[derive(Clone, Copy, Debug)]
pub struct DiskOptions {
    /// Unit in which writes are torn, aligned in the file.
    pub piece_bytes: usize,
}

impl Default for DiskOptions {
    fn default() -> Self {
        Self { piece_bytes: 512 }
    }
}

/// What has happened on a disk since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Operations of every kind.
    pub operations: u64,
    /// Successful syncs of files.
    pub syncs: u64,
    /// Crashes.
    pub crashes: u64,
    /// Errors given by order.
    pub faults: u64,
    /// A digest of kind, place and length of every operation: two runs with one trace did the same things.
    pub trace: u64,
}

/// A simulated disk. Cloning shares it.
#[derive(Clone, Debug)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Debug)]
pub(super) struct State {
    options: DiskOptions,
    dice: Dice,
    directory: Directory,
    inodes: Vec<Inode>,
    /// Grows by one with each restart; handles of another boot are dead.
    boot: u64,
    is_down: bool,
    changes_to_crash: Option<u64>,
    faults: Vec<Fault>,
    /// The most allocation units that all files may take.
    units_limit: Option<u64>,
    violations: Vec<&'static str>,
    stats: DiskStats,
}

/// An operation, for the plan of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    Write,
    SetLen,
    Sync,
    Names,
}

impl SimDisk {
    /// An empty disk.
    pub fn new(seed: u64, options: DiskOptions) -> Self {
        let state = State {
            options,
            dice: Dice::new(seed),
            directory: Directory::default(),
            inodes: Vec::new(),
            boot: 0,
            is_down: false,
            changes_to_crash: None,
            faults: Vec::new(),
            units_limit: None,
            violations: Vec::new(),
            stats: DiskStats::default(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// A disk of its own that begins with what this one has, under another seed.
    pub fn fork(&self, seed: u64) -> Self {
        let mut state = self.state.lock().clone();
        state.dice = Dice::new(seed);
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Makes an empty file. Its name is durable after [`SimDisk::sync_directory`].
    pub fn create(&self, name: &str) -> io::Result<SimFile> {
        let mut state = self.state.lock();
        state.begin_here(Operation::Names, 0, 0)?;
        if state.directory.get(name).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = state.inodes.len();
        state.inodes.push(Inode::default());
        state.directory.create(name, inode);
        state.end()?;
        let boot = state.boot;
        drop(state);
        Ok(SimFile::new(self.clone(), inode, boot, false))
    }

    /// Opens a file.
    pub fn open(&self, name: &str, read_only: bool) -> io::Result<SimFile> {
        let mut state = self.state.lock();
        state.begin_here(Operation::Read, 0, 0)?;
        let inode = state.directory.get(name).ok_or(io::ErrorKind::NotFound)?;
        let boot = state.boot;
        drop(state);
        Ok(SimFile::new(self.clone(), inode, boot, read_only))
    }

    /// Gives a file another name, in the place of whatever had it.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.begin_here(Operation::Names, 0, 0)?;
        state.directory.get(from).ok_or(io::ErrorKind::NotFound)?;
        state.directory.rename(from, to);
        state.end()
    }

    /// Takes a name away. Who has the file open keeps it.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.begin_here(Operation::Names, 0, 0)?;
        state.directory.get(name).ok_or(io::ErrorKind::NotFound)?;
        state.directory.remove(name);
        state.end()
    }

    /// Makes all names durable.
    pub fn sync_directory(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.begin_here(Operation::Names, 1, 0)?;
        state.end()?;
        state.directory.sync();
        Ok(())
    }

    /// Whether there is a file of that name.
    pub fn exists(&self, name: &str) -> bool {
        self.state.lock().directory.get(name).is_some()
    }

    /// The names of all files.
    pub fn names(&self) -> Vec<String> {
        let state = self.state.lock();
        state.directory.names().map(str::to_owned).collect()
    }

    /// All bytes of a file, as a program would read them.
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let inode = state.directory.get(name)?;
        Some(state.inodes.get(inode)?.bytes().to_vec())
    }

    /// Crashes at the `changes`-th operation from now that changes something (1: the next one).
    pub fn crash_after(&self, changes: u64) {
        self.state.lock().changes_to_crash = Some(changes.max(1));
    }

    /// Crashes now.
    pub fn crash(&self) {
        self.state.lock().crash();
    }

    /// Whether it has crashed and was not restarted.
    pub fn is_down(&self) -> bool {
        self.state.lock().is_down
    }

    /// Comes up again with what was durable. Orders for crashes and faults are forgotten.
    pub fn restart(&self) {
        let mut state = self.state.lock();
        if !state.is_down {
            state.crash();
        }
        state.is_down = false;
        state.boot += 1;
        state.changes_to_crash = None;
        state.faults.clear();
        state.units_limit = None;
    }

    /// Sets how writes are torn from now on.
    pub fn set_piece_bytes(&self, piece_bytes: usize) {
        self.state.lock().options.piece_bytes = piece_bytes.max(1);
    }

    /// Orders a fault; its operation number counts from now.
    pub fn order(&self, fault: Fault) {
        let mut state = self.state.lock();
        let at = state.stats.operations + fault.at;
        state.faults.push(Fault { at, ..fault });
    }

    /// Forgets faults that were ordered and have not come.
    pub fn heal(&self) {
        self.state.lock().faults.clear();
    }

    /// Ends a shortage of room.
    pub fn make_room(&self) {
        self.state.lock().units_limit = None;
    }

    /// What has happened.
    pub fn stats(&self) -> DiskStats {
        self.state.lock().stats
    }

    /// What a program did that it must not: written through a read-only handle, or after a failed sync.
    pub fn violations(&self) -> Vec<&'static str> {
        self.state.lock().violations.clone()
    }

    pub(super) fn state(&self) -> parking_lot::MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Every operation starts here: counts it and refuses handles that are dead.
    pub(super) fn begin(
        &mut self,
        boot: u64,
        operation: Operation,
        offset: u64,
        len: u64,
    ) -> io::Result<()> {
        if self.is_down || boot != self.boot {
            return Err(io::Error::other("the machine is down"));
        }
        self.stats.operations += 1;
        for number in [operation as u64, offset, len] {
            self.stats.trace = (self.stats.trace ^ number).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(())
    }

    /// The same for what needs no handle.
    fn begin_here(&mut self, operation: Operation, offset: u64, len: u64) -> io::Result<()> {
        self.begin(self.boot, operation, offset, len)
    }

    /// Every operation that changes something ends here: the crash may have come with it.
    pub(super) fn end(&mut self) -> io::Result<()> {
        match &mut self.changes_to_crash {
            Some(1) => {
                self.crash();
                Err(io::Error::other("the machine is down"))
            }
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Takes the fault that is due for such an operation, if there is one.
    pub(super) fn fault(&mut self, operation: Operation) -> Option<FaultKind> {
        let now = self.stats.operations;
        let hits = |fault: &Fault| {
            fault.at <= now
                && match fault.kind {
                    FaultKind::Read => operation == Operation::Read,
                    FaultKind::Write => matches!(operation, Operation::Write | Operation::SetLen),
                    FaultKind::ShortWrite | FaultKind::Full => operation == Operation::Write,
                    FaultKind::Sync => operation == Operation::Sync,
                }
        };
        let found = self.faults.iter().position(hits)?;
        let kind = self.faults.swap_remove(found).kind;
        if kind == FaultKind::Full {
            self.units_limit = Some(self.allocated_units() + self.dice.below(3));
            return None;
        }
        self.stats.faults += 1;
        Some(kind)
    }

    /// Bytes of a write that there is room for.
    pub(super) fn room_for(&mut self, inode: usize, offset: u64, len: u64) -> u64 {
        let Some(limit) = self.units_limit else {
            return len;
        };
        let left = limit.saturating_sub(self.allocated_units());
        let mut fits = len;
        while fits > 0 && self.inodes[inode].units_missing(offset, fits) > left {
            fits = (offset + fits - 1) / ALLOCATION_BYTES * ALLOCATION_BYTES;
            fits = fits.saturating_sub(offset);
        }
        if fits < len {
            self.stats.faults += 1;
        }
        fits
    }

    pub(super) fn inode(&mut self, inode: usize) -> &mut Inode {
        &mut self.inodes[inode]
    }

    pub(super) fn sync(&mut self, inode: usize) {
        self.inodes[inode].sync();
        self.stats.syncs += 1;
    }

    pub(super) fn lose(&mut self, inode: usize) {
        let piece_bytes = self.options.piece_bytes;
        self.inodes[inode].lose(&mut self.dice, piece_bytes);
    }

    pub(super) fn dice(&mut self) -> &mut Dice {
        &mut self.dice
    }

    pub(super) fn sync_names(&mut self) {
        self.directory.sync();
    }

    pub(super) fn violation(&mut self, what: &'static str) {
        self.violations.push(what);
    }

    fn crash(&mut self) {
        if self.is_down {
            return;
        }
        self.is_down = true;
        self.stats.crashes += 1;
        self.directory.crash(&mut self.dice);
        let piece_bytes = self.options.piece_bytes;
        for (number, inode) in self.inodes.iter_mut().enumerate() {
            if self.directory.may_name(number) {
                inode.crash(&mut self.dice, piece_bytes);
            } else {
                *inode = Inode::default();
            }
        }
    }

    fn allocated_units(&self) -> u64 {
        self.inodes.iter().map(Inode::allocated_units).sum()
    }
}
