//! Recovery: what opening does with the logs beside a file.
//!
//! ```text
//! superblock names n:     log n is replayed, then n+1, if it is chained to the last record of n
//! superblock names none:  nothing is replayed
//! ```
//!
//! What must hold: only the log that the superblock names is replayed, under either of the two names that it may have, and the log that
//! continues it. It is an error if the named log is missing, or if the next log has records but does not continue where the log
//! before it ends: acknowledged transactions are missing between them. A torn tail ends the replay and is reported. A refused log
//! leaves all files untouched, and so does a handle that may only read; one that may write moves what was replayed into the file
//! and removes the logs, so that nothing is ever appended to a log that was found.
//!
//! Any other log of this database is left from a crash: either nothing named it yet, or the superblock has all that it says and
//! only its removal is missing. It has no acknowledged transaction that is not in the file, and is removed.

use std::sync::Arc;

use super::catalog_version::CatalogVersion;
use super::replay::{Misfit, Replay};
use crate::error::{Error, Result};
use crate::file::{LOG_NAME, NEXT_LOG_NAME, StorageFile, StorageFiles};
use crate::lent_threads::LentThreads;
use crate::log::{
    LOG_HEADER_BYTES, LogBasis, LogEnd, LogError, LogHeader, LogPosition, LogReader,
    UnverifiedLogHeader,
};
use crate::numbers::{Generation, Lsn};
use crate::store::{BlockStore, Freshness, Notice, WalState};

type File = Arc<dyn StorageFile>;

/// What came of the logs.
#[derive(Default)]
pub(super) struct Recovered {
    /// The state with everything that the logs say; `None` when there was nothing to replay.
    pub(super) replayed: Option<CatalogVersion>,
    /// For a person to read.
    pub(super) notices: Vec<Notice>,
    /// How far the last log that was replayed is.
    pub(super) last: Option<LogPosition>,
    /// The highest sequence that a log has had.
    pub(super) last_sequence: u64,
    /// Whether a log lies beside the file that nothing needs once what it says is stored.
    pub(super) leftover: bool,
}

/// Replays what the superblock calls for on `stored`, the state of the root.
pub(super) fn recover(
    files: &dyn StorageFiles,
    blocks: &BlockStore,
    stored: &CatalogVersion,
    freshness: &Freshness,
    threads: LentThreads,
) -> Result<Recovered> {
    let mut recovery = Recovery::new(blocks, freshness, stored.clone(), Misfit::Refused);
    recovery.threads = threads;
    let mut recovered = recovery.logs(files)?;
    let began = recovery.began;
    let (state, whole) = recovery.finish();
    whole?;
    recovered.replayed = began.then_some(state);
    Ok(recovered)
}

/// Replays what the superblock calls for, as far as the logs hold up, on a state of which parts may be lost. Gives what
/// ended the replay, if anything did.
pub(super) fn recover_up_to_damage(
    files: &dyn StorageFiles,
    blocks: &BlockStore,
    stored: CatalogVersion,
    freshness: &Freshness,
) -> (CatalogVersion, Option<Error>) {
    let mut recovery = Recovery::new(blocks, freshness, stored, Misfit::LeftOut);
    let refused = recovery.logs(files).err();
    let (state, whole) = recovery.finish();
    (state, refused.or(whole.err()))
}

/// Logs that are replayed on a state, one after the other.
struct Recovery<'a> {
    blocks: &'a BlockStore,
    freshness: &'a Freshness,
    replay: Replay,
    /// One of them reads ahead.
    threads: LentThreads,
    transactions: u64,
    /// Whether there is a log to replay.
    began: bool,
    /// Of the last record that was replayed.
    lsn: Lsn,
}

impl<'a> Recovery<'a> {
    fn new(
        blocks: &'a BlockStore,
        freshness: &'a Freshness,
        stored: CatalogVersion,
        misfit: Misfit,
    ) -> Self {
        Self {
            blocks,
            freshness,
            replay: Replay::new(stored, misfit),
            threads: LentThreads::default(),
            transactions: 0,
            began: false,
            lsn: Lsn::NONE,
        }
    }

    /// The state with everything that was replayed, and what is wrong with the last of it.
    fn finish(self) -> (CatalogVersion, Result<()>) {
        let lsn = self.lsn;
        let (state, whole) = self.replay.finish();
        let whole = whole.map_err(|what| LogError::Malformed { lsn, what }.into());
        (state, whole)
    }

    /// Replays them, one after the other.
    fn logs(&mut self, files: &dyn StorageFiles) -> Result<Recovered> {
        let blocks = self.blocks;
        let state = blocks.log_state();
        let log = files.open(LOG_NAME, blocks.read_only())?;
        let next = files.open(NEXT_LOG_NAME, blocks.read_only())?;
        let mut recovered = Recovered {
            leftover: log.is_some() || next.is_some(),
            last_sequence: state.sequence,
            ..Recovered::default()
        };
        if !state.is_open {
            for file in [log, next].iter().flatten() {
                refuse_foreign(file, blocks)?;
            }
            self.freshness.check_last_log(state.sequence)?;
            return Ok(recovered);
        }
        let (log, next) = named_and_next(log, next, blocks, &state)?;
        self.began = true;
        let basis = LogBasis {
            sequence: state.sequence,
            base_generation: base_generation(&log, blocks, state.sequence)?,
            chain_tag: state.chain_tag,
        };
        // Who has an older data key knows the salt, too, and the chain tag.
        if verified_header(&log, blocks)?.key_id() != log_key(blocks, &state) {
            return Err(LogError::HeaderEdited.into());
        }
        let mut end = self.log(log, &basis, Some(&state.salt))?;
        if let Some(next) = next
            && let Some(basis) = successor(&next, blocks, state.sequence, &end)?
        {
            end = self.log(next, &basis, None)?;
            recovered.last_sequence = basis.sequence;
        }
        self.freshness.check_last_log(recovered.last_sequence)?;
        if end.torn_bytes > 0 {
            recovered.notices.push(Notice::LogTornTail {
                lsn: end.lsn,
                bytes: end.torn_bytes,
            });
        }
        // Also with none: all that there were may have been cut off.
        recovered.notices.push(Notice::LogReplayed {
            transactions: self.transactions,
        });
        recovered.last = Some(LogPosition {
            sequence: recovered.last_sequence,
            end: end.lsn,
            tag: end.last_tag,
        });
        Ok(recovered)
    }

    fn log(&mut self, file: File, basis: &LogBasis, salt: Option<&[u8; 16]>) -> Result<LogEnd> {
        let reader = LogReader::open(file, &self.blocks.log_owner(), basis, salt)?;
        let must_reach = self.freshness.log_must_reach(basis.sequence);
        let mut reached = must_reach.is_none() || must_reach == Some(reader.reached());
        let threads = self.threads;
        let end = reader.replay_beside(&threads, |record| {
            let lsn = record.lsn;
            self.lsn = lsn;
            let applied = self.replay.apply(record.payload);
            self.transactions += applied.map_err(|what| LogError::Malformed { lsn, what })?;
            reached |= must_reach == Some(record.reached);
            Ok(())
        })?;
        match must_reach.filter(|_| !reached) {
            Some((expected, _)) => Err(Error::LogCut { expected }),
            None => Ok(end),
        }
    }
}

/// The log that the superblock names, and what lies where its successor would. A crash between the flip and the renaming leaves
/// the named one under the next one's name.
fn named_and_next(
    log: Option<File>,
    next: Option<File>,
    blocks: &BlockStore,
    state: &WalState,
) -> Result<(File, Option<File>)> {
    if let Some(log) = &log
        && is_named(log, blocks, state)?
    {
        return Ok((Arc::clone(log), next));
    }
    if let Some(next) = next
        && is_named(&next, blocks, state)?
    {
        log.map_or(Ok(()), |log| refuse_foreign(&log, blocks))?;
        return Ok((next, None));
    }
    let missing = LogError::Missing {
        sequence: state.sequence,
    };
    // What is wrong with the one that is there is said when it is opened.
    Ok((log.ok_or(missing)?, None))
}

fn is_named(file: &File, blocks: &BlockStore, state: &WalState) -> Result<bool> {
    match verified_header(file, blocks) {
        Ok(header) => {
            let basis = header.basis();
            Ok(basis.sequence == state.sequence
                && header.key_id() == log_key(blocks, state)
                && basis.chain_tag == state.chain_tag
                && *header.salt() == state.salt)
        }
        Err(Error::Log(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The data key that the log must be under which the superblock names. Others may have an older one, and know salt and
/// sequence.
fn log_key(blocks: &BlockStore, state: &WalState) -> u32 {
    match state.key_id {
        0 => blocks.log_owner().key_id(),
        key_id => key_id,
    }
}

/// What the log that goes on behind `end` stands on, if `file` is that log; `None` for one that was left behind.
fn successor(
    file: &File,
    blocks: &BlockStore,
    sequence: u64,
    end: &LogEnd,
) -> Result<Option<LogBasis>> {
    use LogError::{HeaderDamaged, HeaderEdited, Truncated};
    let header = match verified_header(file, blocks) {
        Ok(header) => header,
        // A crash while it was begun. Before its first record is written, the header is durable.
        Err(Error::Log(Truncated { .. } | HeaderDamaged(_) | HeaderEdited))
            if is_only_a_header(file)? =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let (found, next) = (*header.basis(), sequence + 1);
    let keys = [
        log_key(blocks, &blocks.log_state()),
        blocks.log_owner().key_id(),
    ];
    if !keys.contains(&header.key_id()) {
        return Err(LogError::HeaderEdited.into());
    }
    if found.sequence <= sequence {
        return Ok(None);
    }
    if found.sequence > next {
        return Err(LogError::OtherSequence {
            expected: next,
            found: found.sequence,
        }
        .into());
    }
    if found.base_generation > blocks.generation() {
        return Err(LogError::OtherGeneration {
            expected: blocks.generation(),
            found: found.base_generation,
        }
        .into());
    }
    if found.chain_tag == end.last_tag {
        return Ok(Some(found));
    }
    let mut reader = LogReader::open(Arc::clone(file), &blocks.log_owner(), &found, None)?;
    if reader.next_record()?.is_none() {
        return Ok(None);
    }
    let lsn = end.lsn;
    Err(match end.torn_bytes {
        0 => LogError::NextDoesNotFollow { lsn, next },
        _ => LogError::EndDamaged { lsn, next },
    }
    .into())
}

/// The generation that a log of this database says it builds on. Slot changes move the root while a log is open, so the
/// superblock's own generation does not tell; sequence, salt and chain tag pin the log.
fn base_generation(file: &File, blocks: &BlockStore, sequence: u64) -> Result<Generation> {
    let header = verified_header(file, blocks)?;
    let found = header.basis().sequence;
    if found != sequence {
        return Err(LogError::OtherSequence {
            expected: sequence,
            found,
        }
        .into());
    }
    let (base, newest) = (header.basis().base_generation, blocks.generation());
    if base >= newest {
        return Err(LogError::OtherGeneration {
            expected: Generation::new(newest.number().saturating_sub(1)),
            found: base,
        }
        .into());
    }
    Ok(base)
}

fn verified_header(file: &File, blocks: &BlockStore) -> Result<LogHeader> {
    let found_bytes = file.len()?;
    if found_bytes < LOG_HEADER_BYTES as u64 {
        return Err(LogError::Truncated { found_bytes }.into());
    }
    let mut bytes = [0; LOG_HEADER_BYTES];
    file.read_exact_at(0, &mut bytes)?;
    Ok(UnverifiedLogHeader::parse(&bytes)?.verify(&blocks.log_owner())?)
}

/// Whether there are only zeros where records would be.
fn is_only_a_header(file: &File) -> Result<bool> {
    let (len, mut at) = (file.len()?, LOG_HEADER_BYTES as u64);
    let mut bytes = vec![0; 64 << 10];
    while at < len {
        let part = &mut bytes[..usize::try_from(len - at).map_or(64 << 10, |n| n.min(64 << 10))];
        file.read_exact_at(at, part)?;
        if part.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        at += part.len() as u64;
    }
    Ok(true)
}

/// A log that the superblock does not name must at least be this database's, if it is whole enough to tell.
fn refuse_foreign(file: &File, blocks: &BlockStore) -> Result<()> {
    let header = match verified_header(file, blocks) {
        Ok(header) => header,
        // A crash while it was begun leaves less than a header.
        Err(Error::Log(LogError::Truncated { .. } | LogError::HeaderDamaged(_))) => return Ok(()),
        Err(error) => return Err(error),
    };
    let (found, last) = (header.basis().sequence, blocks.log_state().sequence);
    let other = LogError::OtherSequence {
        expected: last + 1,
        found,
    };
    if found > last + 1 {
        return Err(other.into());
    }
    if found == last + 1 {
        // The superblock names a log before its first record is written: one that has records, or builds on a later
        // state, shows that the file is older than the log.
        let basis = *header.basis();
        let mut reader = LogReader::open(Arc::clone(file), &blocks.log_owner(), &basis, None)?;
        if basis.base_generation > blocks.generation() || reader.next_record()?.is_some() {
            return Err(other.into());
        }
    }
    Ok(())
}
