//! The log of one store: which of its records are durable, when a log begins and ends, and when the next one continues it.
//!
//! ```text
//! superblock: log closed --first small commit--> log n+1 begun, superblock names it --flip--> closed, log removed
//! checkpoint: cut log n --first commit since--> log n+1 begun behind it --flip--> superblock names n+1, log n removed
//! ```
//!
//! What must hold:
//! - Before anything in a log is acknowledged, the superblock names it, or it is chained to the last record of the log that the
//!   superblock names; that log is durable to its end by then, and no longer written to.
//! - A superblock that closes a log has all that it and the next one say; one that names the next has all of the log before.
//! - No two logs with records have the same sequence. Nothing is appended to a log that was found.
//! - There are at most two logs; while the superblock does not name the second one, a checkpoint closes both.

use std::sync::Arc;

use super::catalog_version::CatalogVersion;
use super::change_record;
use super::log_room::Growth;
use super::rebase::TableChange;
use crate::error::Result;
use crate::file::{LOG_NAME, NEXT_LOG_NAME, StorageFiles};
use crate::log::{LOG_HEADER_BYTES, LogBasis, LogPosition, LogWriter, Synchronous};
use crate::numbers::Generation;
use crate::store::{BlockStore, WalState};

/// A transaction that waits to be logged.
pub(super) struct Queued {
    /// What the log says of it.
    pub(super) entry: Vec<u8>,
    /// The same, to be made again on a state that a checkpoint has stored.
    pub(super) changes: Vec<TableChange>,
}

/// How far the open log, once the next one, is on the way to the name of a log that the superblock names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Next,
    /// Changed, and a crash may undo that.
    Unsynced,
    Own,
}

/// The log that commits are written to.
pub(super) struct CommitLog {
    /// `None`: there is no log; every commit moves the root, or nothing outlives the process.
    files: Option<Arc<dyn StorageFiles>>,
    writer: Option<LogWriter>,
    /// The superblock names the log before the one that is written to.
    is_next: bool,
    name: Name,
    /// A checkpoint took what the log says so far: the next record begins the next log.
    is_cut: bool,
    /// What was logged since that cut.
    since_cut: Option<Vec<TableChange>>,
    /// The highest sequence that a log has, or had.
    last_sequence: u64,
    pub(super) synchronous: Synchronous,
    /// Blocks are sealed anew under another data key: what a log says is overwritten before the log is gone, so that it opens
    /// under no key that the file gives up.
    pub(super) overwrites: bool,
    /// Bytes after which a checkpoint is made.
    pub(super) autocheckpoint_bytes: u64,
    /// Bytes for whose rows there is memory.
    pub(super) most_bytes: u64,
    /// After a checkpoint that failed, the next one is tried when the log is this long.
    put_off_to: u64,
    /// How much longer it may be.
    pub(super) growth: Growth,
    /// Bytes of the log before this one, whose rows a checkpoint is storing.
    before_bytes: u64,
}

/// Bytes of an old log that are overwritten at once.
const ZEROS: usize = 256 << 10;

/// Bytes of a log after which a commit makes a checkpoint, unless another number is set; DuckDB's.
pub const DEFAULT_AUTOCHECKPOINT_BYTES: u64 = 16 << 20;

impl CommitLog {
    /// None is open; the last one, if there was one, had the sequence `last_sequence`.
    pub(super) fn new(files: Option<Arc<dyn StorageFiles>>, last_sequence: u64) -> Self {
        Self {
            files,
            writer: None,
            is_next: false,
            name: Name::Own,
            is_cut: false,
            since_cut: None,
            last_sequence,
            synchronous: Synchronous::default(),
            overwrites: false,
            autocheckpoint_bytes: DEFAULT_AUTOCHECKPOINT_BYTES,
            most_bytes: u64::MAX,
            put_off_to: 0,
            growth: Growth::default(),
            before_bytes: 0,
        }
    }

    /// Whether there is a log with something in it.
    pub(super) fn is_open(&self) -> bool {
        self.writer.is_some()
    }

    /// Whether there are two, the second of which no superblock names.
    pub(super) fn is_next(&self) -> bool {
        self.is_next
    }

    /// Whether commits can go on in it after one that was not written.
    pub(super) fn is_sound(&self) -> bool {
        self.writer.as_ref().is_none_or(|log| !log.has_failed())
    }

    /// Makes durable what is in it, if the disk lets it, and forgets it with its keys. The next opening replays it.
    pub(super) fn let_go(&mut self) {
        let _ = self.durable_end();
        self.writer = None;
        self.growth.count(0);
    }

    /// Its bytes.
    pub(super) fn len(&self) -> u64 {
        self.writer
            .as_ref()
            .map_or(0, |log| log.position().number())
    }

    /// Whether it is so long that a checkpoint is due.
    pub(super) fn is_long(&self) -> bool {
        self.is_as_long_as_asked() && !self.growth.goes_on(self.len())
    }

    /// Whether it is so long that a checkpoint is due, unless it may grow.
    pub(super) fn is_as_long_as_asked(&self) -> bool {
        let len = self.len();
        len > 0 && len >= self.autocheckpoint_bytes.max(self.put_off_to)
    }

    /// Whether it is longer than so many times that, or than there is memory for what it says.
    pub(super) fn is_longer_than(&self, times: u64) -> bool {
        let long = self.autocheckpoint_bytes.max(self.put_off_to);
        let most = self.most_bytes.max(long);
        // Also where others have taken the room meanwhile.
        let grown = long.max(self.growth.worth());
        self.len() > grown.saturating_mul(times).min(most)
    }

    /// A checkpoint failed: so that not every commit tries another.
    pub(super) fn put_off(&mut self) {
        let len = self.len();
        self.put_off_to = len.saturating_add(self.autocheckpoint_bytes);
    }

    /// How far the open log is.
    pub(super) fn last(&self) -> Option<LogPosition> {
        let writer = self.writer.as_ref()?;
        Some(LogPosition {
            sequence: writer.header().basis().sequence,
            end: writer.position(),
            tag: *writer.last_tag(),
        })
    }

    /// As [`CommitLog::last`], once all of it is durable.
    ///
    /// # Errors
    /// WriteFailedEarlier and Io: what is durable is not known.
    pub(super) fn durable_end(&mut self) -> Result<Option<LogPosition>> {
        if let Some(writer) = &mut self.writer {
            writer.sync()?;
        }
        Ok(self.last())
    }

    /// Writes transactions that were committed together as one record, and returns when it is durable. `stored` is the
    /// state that the root has.
    ///
    /// # Errors
    /// Full, with nothing written if [`CommitLog::is_sound`] and the file may still be written; else, and with Io, what is
    /// on disk is not known.
    pub(super) fn write(
        &mut self,
        blocks: &BlockStore,
        transactions: Vec<Queued>,
        stored: &CatalogVersion,
        oldest: Generation,
    ) -> Result<()> {
        if self.writer.is_none() {
            self.begin(blocks, stored, oldest)?;
        } else if self.is_cut {
            self.begin_next(blocks)?;
        }
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        let entries: Vec<&[u8]> = transactions.iter().map(|t| t.entry.as_slice()).collect();
        let payload = change_record::payload(&entries);
        writer.set_synchronous(self.synchronous);
        writer.append(&payload)?;
        if self.synchronous == Synchronous::Full {
            writer.sync()?;
        }
        let bytes = self.before_bytes + writer.position().number();
        self.growth.count(bytes);
        if let Some(since) = &mut self.since_cut {
            since.extend(transactions.into_iter().flat_map(|queued| queued.changes));
        }
        Ok(())
    }

    /// Begins a log and has the superblock name it.
    fn begin(
        &mut self,
        blocks: &BlockStore,
        stored: &CatalogVersion,
        oldest: Generation,
    ) -> Result<()> {
        let Some(files) = &self.files else {
            return Ok(());
        };
        let basis = blocks.next_log();
        // Logs that were left behind; opening has made sure that they say nothing new.
        self.discard(files.as_ref(), NEXT_LOG_NAME)?;
        let writer = self.create(files.as_ref(), LOG_NAME, blocks, basis)?;
        let named = state_of(&writer);
        let flipped = blocks.commit_with_log(stored.block, oldest, named);
        flipped.inspect_err(|_| blocks.rollback())?;
        self.last_sequence = basis.sequence;
        self.writer = Some(writer);
        Ok(())
    }

    /// Begins the log that goes on behind the one that is open.
    fn begin_next(&mut self, blocks: &BlockStore) -> Result<()> {
        let (Some(files), Some(before)) = (&self.files, &mut self.writer) else {
            return Ok(());
        };
        // A crash must not take from the log before what the next one is chained to: where `synchronous` is off, nothing else has
        // made it durable, and the two would be refused.
        before.sync()?;
        self.before_bytes = before.position().number();
        let basis = LogBasis {
            sequence: before.header().basis().sequence + 1,
            base_generation: blocks.generation(),
            chain_tag: *before.last_tag(),
        };
        let writer = self.create(files.as_ref(), NEXT_LOG_NAME, blocks, basis)?;
        self.last_sequence = basis.sequence;
        self.writer = Some(writer);
        (self.is_next, self.is_cut) = (true, false);
        Ok(())
    }

    fn create(
        &self,
        files: &dyn StorageFiles,
        name: &str,
        blocks: &BlockStore,
        basis: LogBasis,
    ) -> Result<LogWriter> {
        self.discard(files, name)?;
        let file = files.create(name)?;
        let writer = LogWriter::create(file, &blocks.log_owner(), basis, self.synchronous)?;
        files.sync()?;
        Ok(writer)
    }

    /// A checkpoint takes what the log says so far; what comes from here on is kept for it.
    ///
    /// # Errors
    /// What the disk says where the log has no name of its own yet.
    pub(super) fn cut(&mut self) -> Result<()> {
        self.take_name()?;
        self.is_cut = self.writer.is_some();
        self.since_cut = Some(Vec::new());
        Ok(())
    }

    /// What was logged since the cut, or since it was asked before.
    pub(super) fn take_since_cut(&mut self) -> Vec<TableChange> {
        self.since_cut
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// The checkpoint will not be: commits go on in the log that they are in.
    pub(super) fn forget_cut(&mut self) {
        (self.is_cut, self.since_cut) = (false, None);
    }

    /// What the superblock is to say that has everything up to the cut.
    pub(super) fn state_after_cut(&self, before: WalState) -> WalState {
        match &self.writer {
            Some(writer) if self.is_next => state_of(writer),
            _ => self.closed(before),
        }
    }

    /// What a superblock says that has everything.
    pub(super) fn closed(&self, before: WalState) -> WalState {
        WalState {
            is_open: false,
            sequence: self.last_sequence,
            key_id: 0,
            ..before
        }
    }

    /// The superblock has what [`CommitLog::state_after_cut`] said.
    pub(super) fn end_at_cut(&mut self) {
        if !self.is_next {
            return self.end();
        }
        self.forget_cut();
        (self.is_next, self.name, self.put_off_to) = (false, Name::Next, 0);
        self.before_bytes = 0;
        self.growth.count(self.len());
    }

    /// Puts the log in the place of the one before it.
    fn take_name(&mut self) -> Result<()> {
        let Some(old) = self.old_log() else {
            return Ok(());
        };
        old.overwrite()?;
        self.rename()?;
        old.sync_names()?;
        self.is_named();
        Ok(())
    }

    /// What stands where the open log is to be; `None`: it has its own name. Only who is alone in preparing roots does something with it, and
    /// then need not hold up commits.
    pub(super) fn old_log(&self) -> Option<OldLog> {
        let files = self.files.as_ref().filter(|_| self.name != Name::Own)?;
        Some(OldLog {
            files: Arc::clone(files),
            overwrites: self.overwrites && self.name == Name::Next,
        })
    }

    /// What was there was overwritten, where that is to be.
    pub(super) fn rename(&mut self) -> Result<()> {
        if let Some(files) = self.files.as_ref().filter(|_| self.name == Name::Next) {
            files.rename(NEXT_LOG_NAME, LOG_NAME)?;
            self.name = Name::Unsynced;
        }
        Ok(())
    }

    /// Its name is durable.
    pub(super) fn is_named(&mut self) {
        self.name = Name::Own;
    }

    /// The superblock has all that was logged and names no log: removes what there is.
    pub(super) fn end(&mut self) {
        self.forget_cut();
        self.writer = None;
        self.before_bytes = 0;
        self.growth.count(0);
        (self.is_next, self.name, self.put_off_to) = (false, Name::Own, 0);
        if let Some(files) = &self.files {
            // A log that stays behind is told by its sequence and removed at the next opening.
            let _ = self
                .discard(files.as_ref(), NEXT_LOG_NAME)
                .and_then(|()| self.discard(files.as_ref(), LOG_NAME))
                .and_then(|()| files.sync());
        }
    }

    /// Makes sure, durably, that there is no log but the one that is open, and that this one is under the data key of new blocks.
    /// `false`: the open one is not, or has not its own name yet.
    ///
    /// # Errors
    /// What the disk says: there may be another log.
    pub(super) fn is_alone_under(&mut self, key_id: u32) -> Result<bool> {
        if self
            .writer
            .as_ref()
            .is_some_and(|log| log.header().key_id() != key_id)
            || self.is_next
        {
            return Ok(false);
        }
        self.take_name()?;
        let Some(files) = &self.files else {
            return Ok(true);
        };
        self.discard(files.as_ref(), NEXT_LOG_NAME)?;
        if self.writer.is_none() {
            self.discard(files.as_ref(), LOG_NAME)?;
        }
        files.sync()?;
        Ok(true)
    }

    /// Removes a log that nothing needs.
    fn discard(&self, files: &dyn StorageFiles, name: &str) -> Result<()> {
        if self.overwrites {
            overwrite(files, name)?;
        }
        files.remove(name)
    }
}

/// A log that no superblock names any more.
pub(super) struct OldLog {
    files: Arc<dyn StorageFiles>,
    overwrites: bool,
}

impl OldLog {
    /// Overwrites what it says, if that is to be.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn overwrite(&self) -> Result<()> {
        match self.overwrites {
            true => overwrite(self.files.as_ref(), LOG_NAME),
            false => Ok(()),
        }
    }

    /// Makes a change of names durable.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn sync_names(&self) -> Result<()> {
        self.files.sync()
    }
}

/// Overwrites what a log says that nothing needs. Its header, which has no secret, stays: a part of one would read as edited.
fn overwrite(files: &dyn StorageFiles, name: &str) -> Result<()> {
    let Some(file) = files.open(name, false)? else {
        return Ok(());
    };
    let (len, mut at) = (file.len()?, LOG_HEADER_BYTES as u64);
    let zeros = vec![0; ZEROS];
    while at < len {
        let part = usize::try_from(len - at).map_or(zeros.len(), |n| n.min(zeros.len()));
        file.write_all_at(at, &zeros[..part])?;
        at += part as u64;
        // A little at a time: a sync of much makes those of others wait.
        file.sync()?;
    }
    Ok(())
}

/// What a superblock says that names a log.
fn state_of(writer: &LogWriter) -> WalState {
    let basis = writer.header().basis();
    WalState {
        is_open: true,
        sequence: basis.sequence,
        key_id: writer.header().key_id(),
        salt: *writer.header().salt(),
        chain_tag: basis.chain_tag,
    }
}
