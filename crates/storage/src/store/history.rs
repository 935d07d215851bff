//! `History`: the runs that a file has gone through, so that its newest superblock vouches for every state that led to it.
//!
//! A run is one opening of the file for writing, from the first superblock that it writes to the last. What one process writes
//! is one line of states, each with all of the one before it: a fork is between two runs. So it is enough to keep, for each run
//! that is over, how far it had come when the next one went on from it, in generations and in the log (FORMAT.md, "History").
//!
//! What must hold: an entry is never changed, and never left out; entries are in the order of the runs. Those that the superblock has no
//! room for are in a tree of the same blocks as an index.
//! Refuses entries out of order, runs without an id but for the first.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use super::Anchor;
use super::block_store::{BlockStore, Root};
use crate::block::{BlockBuf, BlockRef, Role};
use crate::error::{Error, Result};
use crate::numbers::{Generation, Lsn};
use crate::tree::{Tree, blocks_of, first_from, merge_into};

/// Names a run. Zeros: the superblocks of releases that kept no history.
pub(crate) type RunId = [u8; 16];

/// The entries that a superblock has room for.
const MAX_RECENT: usize = 92;
/// A commit moves entries into the tree once there are so many.
const MANY_RECENT: usize = 64;
/// A commit is due for the history alone once there are so many: one less than a superblock with a key ring has room for.
const FULL_RECENT: usize = 89;
/// Bytes of it in a superblock.
pub(super) const HISTORY_BYTES: usize = HEAD_BYTES + MAX_RECENT * ENTRY_BYTES;

const HEAD_BYTES: usize = 72;
const ENTRY_BYTES: usize = 40;
/// The last 8 bytes of an entry stand where an index has a row id.
const KEY_BYTES: usize = 32;

/// A run that is over: how far it had come when the next one went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PastRun {
    /// Of the superblock that the next run found.
    pub(crate) last_generation: Generation,
    pub(crate) run: RunId,
    /// The last log that the next run found, or that had been closed.
    pub(crate) log_sequence: u64,
    /// Where replay of that log ended; `NONE`: it had been closed, and the superblock has all of it.
    pub(crate) log_end: Lsn,
}

/// What a superblock keeps of the runs that led to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// The run that wrote the superblock.
    pub(crate) run: RunId,
    /// The earlier entries.
    pub(crate) tree: Option<Tree>,
    /// The later ones.
    pub(crate) recent: Vec<PastRun>,
}

impl PastRun {
    /// Big-endian, so that entries compare as their generations do.
    fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.last_generation.number().to_be_bytes());
        bytes[8..24].copy_from_slice(&self.run);
        bytes[24..32].copy_from_slice(&self.log_sequence.to_be_bytes());
        bytes[32..].copy_from_slice(&self.log_end.number().to_be_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Self {
        Self {
            last_generation: Generation::new(u64::from_be_bytes(part(bytes, 0))),
            run: part(bytes, 8),
            log_sequence: u64::from_be_bytes(part(bytes, 24)),
            log_end: Lsn::new(u64::from_be_bytes(part(bytes, 32))),
        }
    }

    /// An entry of the tree, as an index has it: key and row id.
    pub(crate) fn from_entry(key: &[u8], id: u64) -> Option<Self> {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..KEY_BYTES].copy_from_slice(<&[u8; KEY_BYTES]>::try_from(key).ok()?);
        bytes[KEY_BYTES..].copy_from_slice(&id.to_be_bytes());
        Some(Self::from_bytes(&bytes))
    }

    /// Whether it may stand behind `before`.
    pub(crate) fn follows(&self, before: Option<&Self>) -> bool {
        let first = before.is_none();
        before.is_none_or(|before| {
            before.last_generation < self.last_generation
                && before.log_sequence <= self.log_sequence
        }) && self.last_generation > Generation::default()
            && (first || self.run != RunId::default())
    }

    /// Whether the log, as the next run found it, has what it had at a position.
    fn has(&self, log_sequence: u64, log_end: Lsn) -> bool {
        let whole = self.log_end == Lsn::NONE || log_end <= self.log_end;
        log_end == Lsn::NONE
            || log_sequence < self.log_sequence
            || log_sequence == self.log_sequence && whole
    }
}

impl History {
    /// As it stands in a superblock.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HISTORY_BYTES);
        let root = self.tree.map(|tree| tree.root);
        let entries = self.tree.map_or(0, |tree| tree.entries);
        bytes.extend_from_slice(&self.run);
        bytes.extend_from_slice(&BlockRef::option_to_bytes(root.as_ref()));
        bytes.extend_from_slice(&entries.to_le_bytes());
        bytes.extend_from_slice(&(self.recent.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        for past in &self.recent {
            bytes.extend_from_slice(&past.to_bytes());
        }
        bytes
    }

    /// Reads it from a superblock of that generation, whose logs have had at most that sequence.
    pub(super) fn from_bytes(
        bytes: &[u8],
        generation: Generation,
        log_sequence: u64,
    ) -> Result<Self, &'static str> {
        let (head, rest) = bytes
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or("it has no room for its history")?;
        let root = BlockRef::option_from_bytes(&part(head, 16));
        let entries = u64::from_le_bytes(part(head, 56));
        let count = u32::from_le_bytes(part(head, 64)) as usize;
        let (recent, rest) = count
            .checked_mul(ENTRY_BYTES)
            .filter(|_| count <= MAX_RECENT)
            .and_then(|len| rest.split_at_checked(len))
            .ok_or("it counts more runs than it holds")?;
        if head[68..].iter().chain(rest).any(|&byte| byte != 0) {
            return Err("a reserved byte is not zero");
        }
        if root.is_some() != (entries > 0) {
            return Err("its history has entries without a tree, or a tree without entries");
        }
        let this = Self {
            run: part(head, 0),
            tree: root.map(|root| Tree { root, entries }),
            recent: recent
                .as_chunks()
                .0
                .iter()
                .map(PastRun::from_bytes)
                .collect(),
        };
        let now = PastRun {
            last_generation: generation,
            run: this.run,
            log_sequence,
            log_end: Lsn::NONE,
        };
        match this.is_in_order(&now) {
            true => Ok(this),
            false => Err("its history is out of order"),
        }
    }

    fn is_in_order(&self, now: &PastRun) -> bool {
        let before = self.recent.iter().map(Some);
        let before = std::iter::once(None).chain(before);
        let runs = self.recent.iter().chain(std::iter::once(now));
        let mut pairs = runs.zip(before).enumerate();
        now.run != RunId::default()
            && pairs.all(|(at, (past, before))| {
                let named = at > 0 || self.tree.is_none() || past.run != RunId::default();
                named && past.follows(before)
            })
    }

    /// What comes of it when the run `run` goes on from a superblock of that generation.
    pub(super) fn gone_on(
        &self,
        run: RunId,
        generation: Generation,
        log_sequence: u64,
        log_end: Lsn,
    ) -> Result<Self> {
        let mut next = self.clone();
        if next.run != run {
            next.recent.push(PastRun {
                last_generation: generation,
                run: self.run,
                log_sequence,
                log_end,
            });
            next.run = run;
        }
        match next.recent.len() {
            ..=MAX_RECENT => Ok(next),
            _ => Err(Error::Unsupported(
                "so many changes of key slots in a row, each by another opening: write something in between".into(),
            )),
        }
    }

    /// The entries that are not in the tree, as an index has them.
    pub(super) fn recent_entries(&self) -> Vec<([u8; KEY_BYTES], u64)> {
        let entry = |past: &PastRun| {
            let bytes = past.to_bytes();
            (part(&bytes, 0), past.log_end.number())
        };
        self.recent.iter().map(entry).collect()
    }

    /// The run that wrote a generation before the newest, if it is over; `None`: it is the one that wrote the newest.
    fn past(&self, blocks: &BlockStore, generation: Generation) -> Result<Option<PastRun>> {
        let after = |past: &&PastRun| past.last_generation >= generation;
        let at = self.recent.iter().position(|past| after(&past));
        let may_be_in_tree = match at {
            None => self.recent.is_empty(),
            Some(at) => at == 0,
        };
        if let Some(tree) = self.tree.as_ref().filter(|_| may_be_in_tree)
            && let Some((key, id)) = first_from(blocks, tree, &generation.number().to_be_bytes())?
        {
            let sector = tree.root.sector;
            let what = "an entry of the file's history is not one";
            let past = PastRun::from_entry(&key, id);
            return past
                .map(Some)
                .ok_or_else(|| Error::malformed(Role::Index, sector, what));
        }
        Ok(at.and_then(|at| self.recent.get(at)).copied())
    }

    /// Whether what an anchor was taken of led to the superblock, of a later generation.
    ///
    /// # Errors
    /// `OtherHistory`, `LogCut`; and when a block of the tree does not open or does not parse.
    pub(super) fn holds(&self, blocks: &BlockStore, anchor: &Anchor) -> Result<()> {
        let past = self.past(blocks, anchor.generation)?;
        let run = past.map_or(self.run, |past| past.run);
        if run != anchor.run {
            return Err(Error::OtherHistory {
                generation: anchor.generation,
            });
        }
        match past {
            Some(past) if !past.has(anchor.log_sequence, anchor.log_end) => Err(Error::LogCut {
                expected: anchor.log_end,
            }),
            _ => Ok(()),
        }
    }
}

impl BlockStore {
    /// Opening has replayed the log that the superblock names, and those behind it: the sequence of the last one, and where it
    /// ended. The first superblock of this run says so.
    pub(crate) fn log_was_found(&self, sequence: u64, end: Lsn) {
        *self.found_log.lock() = Some((sequence, end));
    }

    /// What the newest superblock keeps of the runs before it.
    pub(crate) fn history(&self) -> History {
        self.root().sealed.superblock.history.clone()
    }

    /// Whether a commit is due for the history alone: key changes, which commit nothing, find room in the superblock then.
    pub(crate) fn history_is_full(&self) -> bool {
        self.root().sealed.superblock.history.recent.len() >= FULL_RECENT
    }

    /// Has the next commit move the history if any of it stands at or behind `sector`. Returns whether it does.
    ///
    /// # Errors
    /// When a block of the history does not open or does not parse.
    pub(crate) fn move_history_from(&self, sector: u64) -> Result<bool> {
        let blocks = match &self.history().tree {
            Some(tree) => blocks_of(self, tree)?,
            None => Vec::new(),
        };
        let lies_behind = blocks.iter().any(|block| block.sector >= sector);
        self.moves_history.store(lies_behind, Ordering::Release);
        Ok(lies_behind)
    }

    /// What a superblock behind `root` keeps of the runs before it.
    ///
    /// # Errors
    /// `InvalidInput` where the log that `root` names was not looked at.
    pub(super) fn history_behind(&self, root: &Root) -> Result<History> {
        let before = &root.sealed.superblock;
        let (sequence, end) = match before.wal.is_open && before.history.run != self.run {
            false => (before.wal.sequence, Lsn::NONE),
            true => self.found_log.lock().ok_or_else(|| {
                Error::InvalidInput(
                    "this database has a log: open it by its path, with its log beside it".into(),
                )
            })?,
        };
        before
            .history
            .gone_on(self.run, before.generation, sequence, end)
    }

    /// Moves what the superblock keeps of earlier runs into the tree, once it is much. What the tree does not need any more is
    /// freed by the commit that is being prepared.
    ///
    /// # Errors
    /// As [`BlockStore::write`], and when a block of the tree does not open or does not parse.
    pub(super) fn store_history(&self, history: &mut History) -> Result<()> {
        let moves = self.moves_history.swap(false, Ordering::AcqRel);
        if history.recent.len() < MANY_RECENT && !moves {
            return Ok(());
        }
        let before = match &history.tree {
            Some(tree) => blocks_of(self, tree)?,
            None => Vec::new(),
        };
        let entries = history.recent_entries();
        let entries = entries.iter().map(|(key, id)| (key.as_slice(), *id));
        let mut write = |bytes: &[u8]| {
            let mut buf = BlockBuf::with_capacity(bytes.len());
            buf.extend_from_slice(bytes);
            self.write(Role::Index, buf)
        };
        let tree = history.tree.as_ref();
        history.tree = merge_into(self, tree, entries, moves, &|_| Ok(true), &mut write)?;
        history.recent.clear();
        let after = match &history.tree {
            Some(tree) => blocks_of(self, tree)?,
            None => Vec::new(),
        };
        let after: HashSet<BlockRef> = after.into_iter().collect();
        for block in before.iter().filter(|block| !after.contains(block)) {
            self.free(block);
        }
        Ok(())
    }
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::file::MemFile;
    use crate::store::StoreOptions;

    /// Of a program that shares nothing with this one: `testdata/history.py`.
    const KNOWN: &str = include_str!("../../testdata/history.txt");

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = hex.as_bytes().as_chunks::<2>().0;
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
        digits.iter().map(|pair| byte(pair).unwrap()).collect()
    }

    fn anchor(run: RunId, generation: u64, log_sequence: u64, log_end: u64) -> Anchor {
        Anchor {
            database_id: [0; 16],
            generation: Generation::new(generation),
            root_digest: [0; 32],
            run,
            log_sequence,
            log_end: Lsn::new(log_end),
            log_tag: [0; 16],
        }
    }

    fn store() -> BlockStore {
        BlockStore::create(Arc::new(MemFile::new()), None, &StoreOptions::default()).unwrap()
    }

    #[test]
    fn known_answers() {
        let blocks = store();
        let mut history = None;
        for line in KNOWN.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match *words.as_slice() {
                ["life", _, generation, sequence, hex] => {
                    let (generation, sequence) = (
                        Generation::new(generation.parse().unwrap()),
                        sequence.parse().unwrap(),
                    );
                    let mut payload = bytes(hex);
                    let read = History::from_bytes(&payload, generation, sequence).unwrap();
                    assert_eq!(read.to_bytes(), payload);
                    payload.resize(HISTORY_BYTES, 0);
                    let padded = History::from_bytes(&payload, generation, sequence);
                    assert_eq!(padded.as_ref(), Ok(&read));
                    history = Some(read);
                }
                ["anchor", run, generation, sequence, end, verdict] => {
                    let number = |text: &str| text.parse::<u64>().unwrap();
                    let run = bytes(run).try_into().unwrap();
                    let anchor = anchor(run, number(generation), number(sequence), number(end));
                    let found = history.as_ref().unwrap().holds(&blocks, &anchor);
                    let found = match found {
                        Ok(()) => "holds",
                        Err(Error::OtherHistory { .. }) => "other",
                        Err(Error::LogCut { .. }) => "cut",
                        Err(error) => panic!("{error}"),
                    };
                    assert_eq!(found, verdict, "{line}");
                }
                _ => panic!("{line}"),
            }
        }
    }

    #[test]
    fn a_run_is_entered_once_and_the_next_only_where_there_is_room() {
        let first = History {
            run: [1; 16],
            ..History::default()
        };
        assert_eq!(
            first
                .gone_on([1; 16], Generation::new(7), 2, Lsn::new(640))
                .unwrap(),
            first
        );
        let mut history = first
            .gone_on([2; 16], Generation::new(7), 2, Lsn::new(640))
            .unwrap();
        let entered = PastRun {
            last_generation: Generation::new(7),
            run: [1; 16],
            log_sequence: 2,
            log_end: Lsn::new(640),
        };
        assert_eq!(
            (history.run, history.recent.as_slice()),
            ([2; 16], &[entered][..])
        );
        for at in 1..MAX_RECENT as u64 {
            let run = [(at + 2) as u8; 16];
            history = history
                .gone_on(run, Generation::new(7 + at), 2, Lsn::NONE)
                .unwrap();
        }
        assert_eq!(history.to_bytes().len(), HISTORY_BYTES);
        assert!(
            history
                .gone_on([0xff; 16], Generation::new(900), 2, Lsn::NONE)
                .is_err()
        );
    }

    #[test]
    fn entries_in_the_tree_are_found_as_those_in_the_superblock() {
        let blocks = store();
        let runs = 1200;
        let run_of = |at: u64| {
            let mut run = [7; 16];
            run[..8].copy_from_slice(&at.to_be_bytes());
            run
        };
        let mut history = History {
            run: run_of(0),
            ..History::default()
        };
        // Run n has the generations 3n + 1 to 3n + 3, and its log n was found at 128 + 64n.
        for at in 0..runs {
            let end = 128 + 64 * at;
            history = history
                .gone_on(
                    run_of(at + 1),
                    Generation::new(3 * at + 3),
                    at,
                    Lsn::new(end),
                )
                .unwrap();
            blocks.store_history(&mut history).unwrap();
        }
        let tree = history.tree.unwrap();
        assert_eq!(tree.entries + history.recent.len() as u64, runs);
        assert!(crate::tree::blocks_of(&blocks, &tree).unwrap().len() > 3);
        for at in 0..=runs {
            for generation in 3 * at + 1..=3 * at + 3 {
                let end = 128 + 64 * at;
                let hold = |anchor: Anchor| history.holds(&blocks, &anchor);
                hold(anchor(run_of(at), generation, at, end)).unwrap();
                let other = hold(anchor(run_of(at + 1), generation, at, end)).unwrap_err();
                assert!(matches!(other, Error::OtherHistory { .. }), "{other}");
                if at < runs {
                    let cut = hold(anchor(run_of(at), generation, at, end + 64)).unwrap_err();
                    assert!(matches!(cut, Error::LogCut { .. }), "{cut}");
                }
            }
        }
    }
}
