//! Recovery: what opening does with the log beside a file.
//!
//! Holds: the log that the superblock names is replayed, and no other; a log that it names and that is missing is an
//! error; a torn tail ends the replay and is reported. Files are untouched where a log is refused, and by who may only
//! read; who may write moves what was replayed into the file and removes the log, so that nothing is ever appended to a
//! log that was found.
//!
//! A log that the superblock does not name is left from a crash, between its beginning and the flip that names it or
//! between the flip that closes it and its removal, if it is this database's: it says nothing that was acknowledged and is
//! not in the file, and is removed.

use std::sync::Arc;

use super::catalog_version::CatalogVersion;
use super::change_record;
use super::commit_log::LOG_NAME;
use crate::error::{Error, Result};
use crate::file::{StorageFile, StorageFiles};
use crate::log::{LOG_HEADER_BYTES, LogBasis, LogError, LogReader, UnverifiedLogHeader};
use crate::store::{BlockStore, Freshness, Notice};

/// What came of a log.
#[derive(Default)]
pub(super) struct Recovered {
    /// The state with everything that the log says; `None` when there was nothing to replay.
    pub(super) replayed: Option<CatalogVersion>,
    /// For a person to read.
    pub(super) notices: Vec<Notice>,
    /// Position behind the last record and its tag.
    pub(super) last: Option<(u64, [u8; 16])>,
    /// Whether a log lies beside the file that nothing needs once what it says is stored.
    pub(super) leftover: bool,
}

/// Replays the log that the superblock names on `stored`, the state of the root.
pub(super) fn recover(
    files: &dyn StorageFiles,
    blocks: &BlockStore,
    stored: &CatalogVersion,
    freshness: &Freshness,
) -> Result<Recovered> {
    let state = blocks.log_state();
    let file = files.open(LOG_NAME, blocks.read_only())?;
    let mut recovered = Recovered {
        replayed: None,
        notices: Vec::new(),
        last: None,
        leftover: file.is_some(),
    };
    if !state.is_open {
        if let Some(file) = file {
            refuse_foreign(&file, blocks)?;
        }
        return Ok(recovered);
    }
    let Some(file) = file else {
        return Err(LogError::Missing {
            sequence: state.sequence,
        }
        .into());
    };
    let owner = blocks.log_owner();
    let basis = LogBasis {
        sequence: state.sequence,
        base_generation: base_generation(&file, blocks)?,
        chain_tag: state.chain_tag,
    };
    let mut reader = LogReader::open(file, &owner, &basis, Some(&state.salt))?;
    let mut catalog = stored.clone();
    let mut transactions = 0;
    let must_reach = freshness.log_must_reach(state.sequence);
    let mut reached = must_reach.is_none() || must_reach == Some(reader.reached());
    while let Some(record) = reader.next_record()? {
        let lsn = record.lsn;
        let applied = change_record::apply(record.payload, &mut catalog);
        transactions += applied.map_err(|what| LogError::Malformed { lsn, what })?;
        reached |= must_reach == Some(reader.reached());
    }
    if let Some((expected, _)) = must_reach.filter(|_| !reached) {
        return Err(Error::LogCut { expected });
    }
    let end = reader.replay(|_| Ok(()))?;
    if end.torn_bytes > 0 {
        recovered.notices.push(Notice::LogTornTail {
            lsn: end.lsn,
            bytes: end.torn_bytes,
        });
    }
    if transactions > 0 {
        recovered.notices.push(Notice::LogReplayed { transactions });
    }
    recovered.last = Some((end.lsn, end.last_tag));
    recovered.replayed = Some(catalog);
    Ok(recovered)
}

/// The generation that a log of this database says it builds on. Slot changes move the root while a log is open, so the
/// superblock's own generation does not tell; sequence, salt and chain tag pin the log.
fn base_generation(file: &Arc<dyn StorageFile>, blocks: &BlockStore) -> Result<u64> {
    let header = header_of(file)?.verify(&blocks.log_owner())?;
    let (base, newest) = (header.basis().base_generation, blocks.generation());
    if base >= newest {
        return Err(LogError::OtherGeneration {
            expected: newest.saturating_sub(1),
            found: base,
        }
        .into());
    }
    Ok(base)
}

fn header_of(file: &Arc<dyn StorageFile>) -> Result<UnverifiedLogHeader> {
    let found_bytes = file.len()?;
    if found_bytes < LOG_HEADER_BYTES as u64 {
        return Err(LogError::Truncated { found_bytes }.into());
    }
    let mut bytes = [0; LOG_HEADER_BYTES];
    file.read_exact_at(0, &mut bytes)?;
    Ok(UnverifiedLogHeader::parse(&bytes)?)
}

/// A log that the superblock does not name must at least be this database's, if it is whole enough to tell.
fn refuse_foreign(file: &Arc<dyn StorageFile>, blocks: &BlockStore) -> Result<()> {
    let verified = header_of(file).and_then(|header| Ok(header.verify(&blocks.log_owner())?));
    let header = match verified {
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
