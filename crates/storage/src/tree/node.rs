//! One block of a tree (FORMAT.md, "Indexes", node).
//!
//! ```text
//! version u8 = 1 | level u8 | count u32 | end of each entry u32, from the first entry's begin | entries
//! leaf, level 0    entry: key | row id u64, big-endian
//! inner node       entry: the child's lowest entry as it was when the child was written | ref of the child [40]
//! ```
//!
//! What must hold: entries are in ascending order and distinct; all entries of a child are below the next child's lowest.
//! Refuses: what does not parse. Whether the order holds is looked at by who checks the file, not at every read.

use std::cmp::Ordering;

use bytes::Bytes;
use hushdb_encoding::wire::{Reader, WireError, Writer};

use crate::block::{BlockRef, ENVELOPE_OVERHEAD_BYTES, SECTOR_BYTES};

const VERSION: u8 = 1;
/// A tree of more levels than this cannot be: each has at least one more entry than the one above.
pub(super) const MAX_LEVEL: u8 = 24;
/// Payload that fills a block of a tree, and the most that one has: small enough to be rewritten for one entry, large enough for a
/// few hundred.
pub(super) const NODE_BYTES: usize = 4 * SECTOR_BYTES - ENVELOPE_OVERHEAD_BYTES;
const ROW_ID_BYTES: usize = 8;
const HEAD_BYTES: usize = 1 + 1 + 4;

/// A block of a tree, as bytes that are looked into where they lie.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) level: u8,
    pub(crate) count: usize,
    bytes: Bytes,
    /// Where the first entry begins.
    entries: usize,
}

impl Node {
    /// Parses a block's payload.
    pub(crate) fn parse(bytes: Bytes) -> Result<Self, WireError> {
        let mut reader = Reader::new(&bytes);
        if bytes.len() > NODE_BYTES || reader.u8()? != VERSION {
            return Err(WireError);
        }
        let level = reader.u8()?;
        let count = reader.count(4 + ROW_ID_BYTES)?;
        let ends = reader.raw(count * 4)?;
        let last = ends.last_chunk::<4>().ok_or(WireError)?;
        let len = u32::from_le_bytes(*last) as usize;
        reader.raw(len)?;
        reader.finish()?;
        if level > MAX_LEVEL {
            return Err(WireError);
        }
        Ok(Self {
            level,
            count,
            entries: HEAD_BYTES + count * 4,
            bytes,
        })
    }

    /// Bytes of a node with these entries.
    pub(super) fn encode(level: u8, entries: &[&[u8]]) -> Vec<u8> {
        let mut out = Writer::default();
        out.u8(VERSION);
        out.u8(level);
        out.count(entries.len());
        let mut end = 0;
        for entry in entries {
            end += entry.len();
            out.count(end);
        }
        for entry in entries {
            out.raw(entry);
        }
        out.into_bytes()
    }

    /// Bytes that an entry takes in a node.
    pub(super) fn cost(entry: &[u8]) -> usize {
        4 + entry.len()
    }

    fn end(&self, at: usize) -> Option<usize> {
        let from = HEAD_BYTES + at * 4;
        let bytes = self.bytes.get(from..from + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    }

    /// The entry at a position, as it stands there.
    pub(super) fn raw(&self, at: usize) -> Result<&[u8], WireError> {
        let from = match at.checked_sub(1) {
            None => 0,
            Some(before) => self.end(before).ok_or(WireError)?,
        };
        let to = self.end(at).filter(|_| at < self.count).ok_or(WireError)?;
        let entries = self.bytes.get(self.entries..).ok_or(WireError)?;
        entries.get(from..to).ok_or(WireError)
    }

    /// The entry at a position of a leaf, or the lowest one of the child at a position of an inner node: key and row id.
    pub(crate) fn entry(&self, at: usize) -> Result<&[u8], WireError> {
        let raw = self.raw(at)?;
        let behind = if self.level > 0 { BlockRef::BYTES } else { 0 };
        let len = raw.len().checked_sub(behind).ok_or(WireError)?;
        if len < ROW_ID_BYTES {
            return Err(WireError);
        }
        raw.get(..len).ok_or(WireError)
    }

    /// The child at a position of an inner node.
    pub(crate) fn child(&self, at: usize) -> Result<BlockRef, WireError> {
        let bytes = self.raw(at)?.last_chunk::<{ BlockRef::BYTES }>();
        match self.level {
            0 => Err(WireError),
            _ => BlockRef::option_from_bytes(bytes.ok_or(WireError)?).ok_or(WireError),
        }
    }

    /// How many entries are below `entry`, or begin with it.
    pub(super) fn lower_bound(&self, entry: &[u8]) -> Result<usize, WireError> {
        let (mut from, mut to) = (0, self.count);
        while from < to {
            let middle = from + (to - from) / 2;
            match self.entry(middle)?.cmp(entry) {
                Ordering::Less => from = middle + 1,
                _ => to = middle,
            }
        }
        Ok(from)
    }
}

/// Key and row id as an entry.
pub(crate) fn push_id(key: &mut Vec<u8>, id: u64) {
    key.extend(id.to_be_bytes());
}

/// The row id at the end of an entry, and the key before it.
pub(crate) fn split_entry(entry: &[u8]) -> Option<(&[u8], u64)> {
    let (key, id) = entry.split_last_chunk::<ROW_ID_BYTES>()?;
    Some((key, u64::from_be_bytes(*id)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> Vec<u8> {
        let entries: Vec<Vec<u8>> = (0u8..20)
            .map(|at| {
                let mut entry = vec![at * 2; 3];
                push_id(&mut entry, u64::from(at));
                entry
            })
            .collect();
        let entries: Vec<&[u8]> = entries.iter().map(Vec::as_slice).collect();
        Node::encode(0, &entries)
    }

    #[test]
    fn entries_come_back_and_are_found() {
        let node = Node::parse(sample().into()).unwrap();
        assert_eq!((node.level, node.count), (0, 20));
        assert_eq!(split_entry(node.entry(7).unwrap()), Some((&[14; 3][..], 7)));
        assert_eq!(node.lower_bound(&[14; 3]), Ok(7));
        assert_eq!(node.lower_bound(&[15; 3]), Ok(8));
        assert_eq!(node.lower_bound(&[0]), Ok(0));
        assert_eq!(node.lower_bound(&[0xff]), Ok(20));
        assert!(node.entry(20).is_err() && node.child(0).is_err());
    }

    #[test]
    fn no_part_of_a_node_is_one_and_absurd_numbers_are_refused() {
        let sample = sample();
        for len in 0..sample.len() {
            let cut = Bytes::copy_from_slice(&sample[..len]);
            assert!(Node::parse(cut).is_err(), "cut to {len}");
        }
        for (at, value) in [(0, 2), (1, MAX_LEVEL + 1), (2, 0), (5, 0xff)] {
            let mut bytes = sample.clone();
            bytes[at] = value;
            assert!(Node::parse(bytes.into()).is_err(), "at {at}");
        }
    }

    proptest! {
        #[test]
        fn no_edit_makes_the_decoder_panic(at: usize, value: u8, level in 0u8..3) {
            let mut bytes = sample();
            bytes[1] = level;
            let at = at % bytes.len();
            bytes[at] = value;
            if let Ok(node) = Node::parse(bytes.into()) {
                for at in 0..node.count {
                    let _ = (node.entry(at).map(split_entry), node.child(at));
                }
                let _ = node.lower_bound(&[3]);
            }
        }
    }
}
