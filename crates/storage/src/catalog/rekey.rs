//! Sealing a database anew under another data key, in steps, while it is read and written.
//!
//! ```text
//! begin   a moment   new blocks, logs and superblocks are under the new key; the old one is in the key ring
//! steps   no lock    blocks of a stored state are sealed anew; a checkpoint names them in the place of the old ones
//! drain   waits      for snapshots and transactions that know blocks under the old key
//! scrub   no lock    free sectors and old logs are overwritten
//! end     a moment   the ring without the old key
//! ```
//!
//! What must hold: what is left to do is told by the key ids in refs, so an interruption forgets nothing, and whoever opens the file next
//! goes on; the old key is given up only when no ref, no log, no block that is not committed yet, no snapshot and no free
//! sector is under it. Nothing here starts a thread: someone calls [`Store::rekey_step`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use hushdb_keys::{FirstKeys, NewMaster, Suite};
use parking_lot::MutexGuard;

use super::catalog_version::CatalogVersion;
use super::pace::{Pace, wait_until};
use super::reseal::{Cursor, Reseal, left_under_others};
use super::store::Store;
use crate::block::SECTOR_BYTES;
use crate::clock;
use crate::error::{Error, ErrorKind, Result};
use crate::interrupt::wait_for;
use crate::numbers::Generation;

/// Bytes that one step seals anew, at most but for one block: with what commits meanwhile keep, what the file grows by.
const STEP_BYTES: u64 = 32 << 20;
/// The same while others wait for it.
const FEW_BYTES: u64 = 1 << 20;
/// A step that finds no room tries with a part of its bytes, down to one block.
const SMALLER: u64 = 8;

/// How far a database has come in being sealed anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RekeyState {
    /// Nothing is under an older key.
    Done,
    /// There may be blocks to be sealed anew.
    Running,
    /// None is left, but a snapshot or a transaction that began earlier knows old ones.
    Draining,
    /// It is to pause: see [`Store::pause_rekey`].
    Paused,
}

/// So much of so much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// What was done.
    pub done: u64,
    /// What there is in all, done or not.
    pub all: u64,
}

/// What [`Store::rekey_progress`] knows, since the store was opened or it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RekeyProgress {
    /// How far it has come.
    pub state: RekeyState,
    /// Ids of the data keys that blocks may be under, the new one last.
    pub key_ids: Vec<u32>,
    /// Blocks that were sealed anew.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Steps that sealed blocks anew.
    pub steps: u64,
    /// Blocks and bytes there were to be sealed anew in all, and about how many steps they take; `None` before they were counted,
    /// by the first step.
    pub in_all: Option<RekeyTotals>,
    /// Bytes that were free and are overwritten, while they are.
    pub scrubbing: Option<Share>,
    /// Why nobody goes on; commits do.
    pub suspended: Option<String>,
    /// Whether that is a full disk.
    pub lacks_room: bool,
}

/// What there is to do, with what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RekeyTotals {
    /// Blocks that are sealed anew one by one.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Steps, if none becomes larger or smaller than the last one could be.
    pub steps: u64,
}

/// Said of one that an earlier opening has begun.
const NOBODY: &str = "the database was closed before it ended: ROTATE DATA KEY or SET ENCRYPTION RESUME goes on with it";

/// What steps remember from one to the next. An opening begins anew.
#[derive(Default)]
pub(super) struct RekeyWork {
    cursor: Cursor,
    /// The generation of the first state in which nothing is under an older key, if there was one and none after it has.
    clean_since: Option<Generation>,
    is_draining: bool,
    blocks: u64,
    bytes: u64,
    steps: u64,
    /// Blocks and bytes that were left when they were counted, and those that had been done by then.
    counted: Option<(u64, u64)>,
    /// Bytes that the last step could seal anew.
    step_bytes: u64,
    /// Bytes that there was room for when there was too little for a whole step; 0: no step was too large.
    room_bytes: u64,
    scrubbing: Option<Share>,
    /// Whether somebody began it or went on with it since the store was opened.
    is_known: bool,
    suspended: Option<String>,
    lacks_room: bool,
    is_paused: bool,
    /// Bytes a second that are sealed anew at most; 0: as fast as it goes.
    bytes_per_second: u64,
}

impl Store {
    /// Has another data key seal what is written from now on. What is there is sealed anew by [`Store::rekey_step`]. The master
    /// key stays, and every key slot. `false`: the last time has not ended, and goes on.
    ///
    /// # Errors
    /// `NotEncrypted`, `ReadOnly`, `Full` and `Io`. Where nothing more can be written after that, what is on disk is not known:
    /// the same keys open it in either case, and the next opening goes on with what it finds.
    pub fn rotate_data_key(&self) -> Result<bool> {
        self.begin_rekey(|oldest, now| self.blocks.begin_rotation(oldest, now, None))
    }

    /// As [`Store::rotate_data_key`], with a data key of another cipher, AES-256-GCM or AES-256-CTR.
    ///
    /// # Errors
    /// As [`Store::rotate_data_key`]; `NotEncrypted` also for the plain suite: what is encrypted does not become plain in its place.
    pub fn change_cipher(&self, suite: Suite) -> Result<bool> {
        self.begin_rekey(|oldest, now| self.blocks.begin_rotation(oldest, now, Some(suite)))
    }

    /// As [`Store::rotate_data_key`], with a new master key, too: once it is done, what opened the file before opens nothing of it.
    /// `false`: a change of the data key has not ended, and nothing was done; when [`Store::rekey_step`] has ended it, try again.
    ///
    /// # Errors
    /// As [`Store::rotate_data_key`], but that after a failure that leaves it unknown what is on disk either the keys before or the
    /// new ones open the file; where key slots were changed since `new` was prepared.
    pub fn rekey(&self, new: NewMaster) -> Result<bool> {
        self.begin_rekey(|oldest, now| self.blocks.begin_rekey(oldest, now, new))
    }

    /// Has a plain file be an encrypted one: what is written from now on is sealed. What is there is sealed by [`Store::rekey_step`]. Until that
    /// is done blocks that are plain are read on, and have nothing but their checksums. Commits wait while it begins.
    ///
    /// # Errors
    /// As [`Store::rotate_data_key`], but that after a failure that leaves it unknown what is on disk the file opens with the key or without
    /// one; where it is encrypted already.
    pub fn encrypt(&self, first: FirstKeys) -> Result<()> {
        self.blocks.writable()?;
        // What the plain logs say is not left on the disk.
        wait_for(&self.log)?.overwrites = true;
        let began = self.checkpoint().and_then(|()| {
            let _alone = wait_for(&self.checkpointing)?;
            self.encrypt_alone(first)
        });
        if began.is_err() {
            self.log.lock().overwrites = self.blocks.key_ids().len() > 1;
        }
        began
    }

    fn encrypt_alone(&self, first: FirstKeys) -> Result<()> {
        let mut log = wait_for(&self.log)?;
        let mut state = wait_for(&self.commit)?;
        if log.is_open() {
            self.flip_resealed(&mut log, &mut state, None)?;
        }
        // A plain log beside an encrypted file would be refused, and with it the file.
        if !log.is_alone_under(self.blocks.sealing_key_id())? {
            return Err(Error::InvalidInput("the log did not end: try again".into()));
        }
        let oldest = self.oldest_in_use(state.stored.generation);
        self.blocks.begin_encryption(oldest, first)?;
        self.rekey.lock().begins();
        Ok(())
    }

    fn begin_rekey(&self, begin: impl FnOnce(Generation, i64) -> Result<bool>) -> Result<bool> {
        self.blocks.writable()?;
        let _alone = wait_for(&self.checkpointing)?;
        let now = clock::unix_seconds();
        let began = self.with_root_still(|oldest| begin(oldest, now));
        let began = began.inspect_err(|_| {
            self.log.lock().overwrites = self.blocks.key_ids().len() > 1;
        })?;
        if began {
            self.rekey.lock().begins();
        }
        self.overwrite_reserved();
        Ok(began)
    }

    /// Changes keys, by who is alone in preparing roots, while no log is begun: commits go on in the one that is open, which the root
    /// before and the one that comes name alike.
    fn with_root_still<T>(&self, change: impl FnOnce(Generation) -> Result<T>) -> Result<T> {
        let mut log = wait_for(&self.log)?;
        let state = wait_for(&self.commit)?;
        log.overwrites = true;
        let oldest = self.oldest_in_use(state.stored.generation);
        let _until_changed = (!log.is_open()).then_some((log, state));
        change(oldest)
    }

    /// Overwrites the key ring that was replaced. Where that fails, what replaced it is durable all the same: why is said with the progress,
    /// and whoever takes the next step, or opens the file, tries again.
    fn overwrite_reserved(&self) {
        if let Err(error) = self.blocks.overwrite_reserved() {
            self.rekey.lock().suspend(Some(&error));
        }
    }

    /// Does a part of what is left: seals some blocks anew, or ends it. Call it until it gives `Done`; `Draining` means that it
    /// waits for others.
    ///
    /// # Errors
    /// `ReadOnly`, `Full`, `Io`, and what reading a damaged block reports: nothing that was committed is lost, and a later call
    /// goes on.
    pub fn rekey_step(&self) -> Result<RekeyState> {
        self.rekey_step_of(STEP_BYTES)
    }

    /// As [`Store::rekey_step`], of that many bytes at most but for one block.
    ///
    /// # Errors
    /// As [`Store::rekey_step`].
    pub fn rekey_step_of(&self, at_most: u64) -> Result<RekeyState> {
        self.rekey_step_telling(at_most, &mut |_| ())
    }

    /// As [`Store::rekey_step`]; `tell` hears how far it has come after the step, and on the way where the step overwrites what is free.
    ///
    /// # Errors
    /// As [`Store::rekey_step`].
    pub fn rekey_step_told(&self, tell: &mut dyn FnMut(&RekeyProgress)) -> Result<RekeyState> {
        let stepped = self.rekey_step_telling(STEP_BYTES, tell);
        self.rekey_progress().iter().for_each(tell);
        stepped
    }

    fn rekey_step_telling(
        &self,
        at_most: u64,
        tell: &mut dyn FnMut(&RekeyProgress),
    ) -> Result<RekeyState> {
        self.blocks.writable()?;
        let _one_at_a_time = wait_for(&self.rekeying)?;
        let overwritten = {
            let _alone = wait_for(&self.checkpointing)?;
            self.blocks.overwrite_reserved()
        };
        self.rekey.lock().suspend(overwritten.as_ref().err());
        overwritten?;
        if self.blocks.key_ids().len() < 2 {
            return Ok(RekeyState::Done);
        }
        let (at_most, rate, before) = {
            let mut work = self.rekey.lock();
            if work.is_paused {
                return Ok(RekeyState::Paused);
            }
            let rate = work.bytes_per_second;
            let limits = [rate, work.room_bytes].into_iter();
            let least = limits.filter(|limit| *limit > 0).min();
            let at_most = least.map_or(at_most, |least| at_most.min(least));
            work.is_known = true;
            (at_most, rate, work.bytes)
        };
        let began = clock::now();
        let stepped = self.step_in_room(at_most, tell);
        let mut work = self.rekey.lock();
        let bytes = work.bytes.saturating_sub(before);
        work.scrubbing = None;
        if !matches!(stepped, Ok(RekeyState::Done)) {
            work.suspend(stepped.as_ref().err());
        }
        work.is_draining = matches!(stepped, Ok(RekeyState::Draining));
        drop(work);
        // Nobody waits for the one lock that is held.
        hold_to(rate, began, bytes)?;
        stepped
    }

    /// How far it has come; `None` for a database of one data key, of which nothing was sealed anew.
    pub fn rekey_progress(&self) -> Option<RekeyProgress> {
        let work = self.rekey.lock();
        let key_ids = self.blocks.key_ids();
        let state = match key_ids.len() > 1 {
            false => RekeyState::Done,
            true if work.is_paused => RekeyState::Paused,
            true if work.is_draining => RekeyState::Draining,
            true => RekeyState::Running,
        };
        let known = state != RekeyState::Done || work.blocks > 0;
        known.then(|| RekeyProgress {
            state,
            key_ids,
            blocks: work.blocks,
            bytes: work.bytes,
            steps: work.steps,
            in_all: work.in_all(state),
            scrubbing: work.scrubbing,
            suspended: match (state, work.is_known) {
                (RekeyState::Running, false) => Some(NOBODY.to_owned()),
                _ => work.suspended.clone(),
            },
            lacks_room: work.lacks_room,
        })
    }

    /// How many bytes a second steps seal anew, and at the end overwrite, at most; 0: as many as they can.
    pub fn set_rekey_bytes_per_second(&self, bytes: u64) {
        self.rekey.lock().bytes_per_second = bytes;
    }

    /// Has steps do nothing, or go on. A step that runs ends first. What is sealed anew stays so; an opening forgets it.
    pub fn pause_rekey(&self, pause: bool) {
        self.rekey.lock().is_paused = pause;
    }

    /// A step, or a smaller one where the disk has no room for it: what a step replaces gives room to the next one. These
    /// become larger again.
    fn step_in_room(
        &self,
        mut at_most: u64,
        tell: &mut dyn FnMut(&RekeyProgress),
    ) -> Result<RekeyState> {
        let mut is_last = false;
        loop {
            self.rekey.lock().step_bytes = at_most;
            match self.step(at_most, tell) {
                Err(error) if error.kind() == ErrorKind::Full && !is_last => {
                    self.release_what_nobody_has()?;
                    is_last = at_most == 1;
                    at_most = if at_most > FEW_BYTES {
                        at_most / SMALLER
                    } else {
                        1
                    };
                    self.rekey.lock().room_bytes = at_most;
                }
                Err(error) => return Err(error),
                stepped => {
                    let mut work = self.rekey.lock();
                    if work.room_bytes > 0 {
                        let larger = (work.room_bytes * 2).max(FEW_BYTES / SMALLER);
                        work.room_bytes = if larger < STEP_BYTES { larger } else { 0 };
                    }
                    return stepped;
                }
            }
        }
    }

    /// What the last step replaced was kept for a snapshot that the step itself had.
    fn release_what_nobody_has(&self) -> Result<()> {
        let state = wait_for(&self.commit)?;
        let oldest = self.oldest_in_use(state.stored.generation);
        self.blocks.release(oldest)
    }

    fn step(&self, at_most: u64, tell: &mut dyn FnMut(&RekeyProgress)) -> Result<RekeyState> {
        let (stored, kept) = {
            let state = wait_for(&self.commit)?;
            // Whoever has what is published keeps the blocks of what is stored, which is of the same generation.
            (Arc::clone(&state.stored), self.snapshot())
        };
        self.count_what_is_left(&stored);
        let began_at = self.rekey.lock().cursor;
        let mut cursor = began_at;
        let mut pace = Pace::of(self);
        let mut reseal = Reseal::of(&mut pace, &stored, &mut cursor, at_most)?;
        if reseal.is_empty() && began_at != Cursor::default() {
            // What others committed meanwhile may lie before.
            cursor = Cursor::default();
            reseal = Reseal::of(&mut pace, &stored, &mut cursor, at_most)?;
        }
        let alone = wait_for(&self.checkpointing)?;
        let now = Arc::clone(&self.commit.lock().stored);
        let is_same = Arc::ptr_eq(&now, &stored);
        if reseal.is_empty() && !is_same {
            // A transaction that began before the change of keys may have brought some with it.
            cursor = Cursor::default();
            let mut at_once = Pace::without_rests(self);
            reseal = Reseal::of(&mut at_once, &now, &mut cursor, FEW_BYTES)?;
        } else if !is_same {
            reseal.names_in_another();
        }
        drop(kept);
        if reseal.is_empty() {
            self.rekey.lock().cursor = Cursor::default();
            return self.end_rekey(alone, now.generation, tell);
        }
        let (blocks, bytes) = reseal.done();
        if let Some(checkpoint) = self.cut(alone, Some(reseal))? {
            checkpoint.finish()?;
        }
        let mut work = self.rekey.lock();
        work.clean_since = None;
        work.cursor = cursor;
        work.blocks += blocks;
        work.bytes += bytes;
        work.steps += 1;
        Ok(RekeyState::Running)
    }

    /// Once for each time that it goes on after an opening. Where that fails, the step meets the same, and says so.
    fn count_what_is_left(&self, stored: &CatalogVersion) {
        if self.rekey.lock().counted.is_some() {
            return;
        }
        let left = left_under_others(self, stored, self.blocks.sealing_key_id());
        if let Ok((blocks, bytes)) = left {
            let mut work = self.rekey.lock();
            work.counted = Some((work.blocks + blocks, work.bytes + bytes));
        }
    }

    /// No table of the stored state has a block under an older key. Ends it, if nothing else has.
    fn end_rekey(
        &self,
        alone: MutexGuard<'_, ()>,
        generation: Generation,
        tell: &mut dyn FnMut(&RekeyProgress),
    ) -> Result<RekeyState> {
        let key_id = self.blocks.sealing_key_id();
        let is_log_newest = {
            let mut log = wait_for(&self.log)?;
            log.overwrites = true;
            log.is_alone_under(key_id)?
        };
        let own_is_newest = self.blocks.own_is_under(key_id)?;
        if !is_log_newest || !own_is_newest {
            self.blocks.moves_own_blocks();
            if let Some(checkpoint) = self.cut_even_if_stored(alone)? {
                checkpoint.finish()?;
            }
            return Ok(RekeyState::Running);
        }
        let clean_since = *self.rekey.lock().clean_since.get_or_insert(generation);
        let oldest = self.oldest_in_use(generation);
        if oldest < clean_since || !self.blocks.is_aside_under_newest()? {
            return Ok(RekeyState::Draining);
        }
        self.blocks.release(oldest)?;
        // From here on nothing comes under the old key any more, whatever others do: they need not wait.
        drop(alone);
        self.scrub(tell)?;
        let alone = wait_for(&self.checkpointing)?;
        self.blocks.release(oldest)?;
        self.with_root_still(|oldest| self.blocks.end_rotation(oldest))?;
        wait_for(&self.log)?.overwrites = false;
        self.rekey.lock().suspend(None);
        self.overwrite_reserved();
        drop(alone);
        Ok(RekeyState::Done)
    }

    fn scrub(&self, tell: &mut dyn FnMut(&RekeyProgress)) -> Result<()> {
        let info = self.blocks.info();
        let all = info.free_sectors.unwrap_or(0) * SECTOR_BYTES as u64;
        self.rekey.lock().scrubbing = Some(Share { done: 0, all });
        let mut pace = Pace::of(self);
        let (began, mut overwritten) = (clock::now(), 0);
        self.blocks.scrub_unused(&mut |bytes| {
            overwritten += bytes;
            let mut work = self.rekey.lock();
            let rate = work.bytes_per_second;
            if let Some(share) = &mut work.scrubbing {
                share.done += bytes;
                // What lies behind the end of the file was not counted.
                share.all = share.all.max(share.done);
            }
            drop(work);
            self.rekey_progress().iter().for_each(&mut *tell);
            pace.took(bytes)?;
            hold_to(rate, began, overwritten)
        })
    }

    /// Writes the key ring anew if opening found a copy of it damaged.
    ///
    /// # Errors
    /// As [`Store::checkpoint`].
    pub(super) fn mend_key_ring(&self) -> Result<()> {
        let _alone = self.checkpointing.lock();
        let _log = self.log.lock();
        let state = self.commit.lock();
        let oldest = self.oldest_in_use(state.stored.generation);
        self.blocks.mend_ring(oldest)?;
        self.blocks.overwrite_reserved()
    }
}

/// Waits until so many bytes a second make that many; 0: there is no such bound.
fn hold_to(rate: u64, began: Instant, bytes: u64) -> Result<()> {
    match rate {
        0 => Ok(()),
        _ => wait_until(began, Duration::from_secs_f64(bytes as f64 / rate as f64)),
    }
}

impl RekeyWork {
    /// Another one begins, under the same settings.
    fn begins(&mut self) {
        *self = Self {
            is_known: true,
            is_paused: self.is_paused,
            bytes_per_second: self.bytes_per_second,
            ..Self::default()
        };
    }

    /// Why nobody goes on, if so.
    fn suspend(&mut self, why: Option<&Error>) {
        self.suspended = why.map(ToString::to_string);
        self.lacks_room = why.is_some_and(|error| error.kind() == ErrorKind::Full);
    }

    fn in_all(&self, state: RekeyState) -> Option<RekeyTotals> {
        let (blocks, bytes) = match state {
            // Blocks that others gave up meanwhile are not there to be sealed anew.
            RekeyState::Done | RekeyState::Draining => (self.blocks, self.bytes),
            _ => self.counted?,
        };
        let left = bytes.saturating_sub(self.bytes);
        Some(RekeyTotals {
            blocks: blocks.max(self.blocks),
            bytes: bytes.max(self.bytes),
            steps: self.steps + left.div_ceil(self.step_bytes.max(1)),
        })
    }
}
