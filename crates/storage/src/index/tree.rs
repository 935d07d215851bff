//! The stored part of an index: a tree of sealed blocks, changed copy-on-write.
//!
//! Holds: a block is written before the one that names it, and none is written over; blocks without new entries are shared
//! with the tree before. Levels go down by one from parent to child, so that no walk is endless.
//! Refuses, on reading: blocks that do not parse, levels that are not like that.

use std::iter::Peekable;

use bytes::Bytes;

use super::node::{MAX_LEVEL, Node, push_row_id, split_entry};
use crate::block::{BlockRef, ENVELOPE_OVERHEAD_BYTES, Role, SECTOR_BYTES};
use crate::catalog::wire::WireError;
use crate::error::{Error, Result};
use crate::store::BlockStore;

/// Payload that fills a block of a tree: small enough to be rewritten for one entry, large enough for a few hundred.
const NODE_BYTES: usize = 4 * SECTOR_BYTES - ENVELOPE_OVERHEAD_BYTES;
const HEAD_BYTES: usize = 6;

/// A stored tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) root: BlockRef,
    /// Entries in it, also those of rows that are gone.
    pub(crate) entries: u64,
}

fn malformed(block: &BlockRef) -> impl Fn(WireError) -> Error {
    let sector = block.sector;
    move |WireError| Error::malformed(Role::Index, sector, "index")
}

/// Reads a node, which must be of that level if one is given.
fn read(blocks: &BlockStore, block: &BlockRef, level: Option<u8>) -> Result<Node> {
    let node = Node::parse(blocks.read(Role::Index, block)?).map_err(malformed(block))?;
    match level.is_none_or(|level| level == node.level) {
        true => Ok(node),
        false => Err(malformed(block)(WireError)),
    }
}

/// The level of the children of a node.
fn below(node: &Node) -> Option<u8> {
    node.level.checked_sub(1)
}

/// Finds one key after the other, faster when they come in order.
pub(crate) struct Finder<'a> {
    blocks: &'a BlockStore,
    tree: Option<&'a Tree>,
    /// The leaf that was looked into last.
    leaf: Option<Node>,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(blocks: &'a BlockStore, tree: Option<&'a Tree>) -> Self {
        Self {
            blocks,
            tree,
            leaf: None,
        }
    }

    /// Appends the row ids of a key.
    ///
    /// # Errors
    /// When a block of the tree does not open or does not parse.
    pub(crate) fn find(&mut self, key: &[u8], ids: &mut Vec<u64>) -> Result<()> {
        let Some(tree) = self.tree else {
            return Ok(());
        };
        let wrong = malformed(&tree.root);
        if let Some(leaf) = &self.leaf {
            let last = leaf.entry(leaf.count - 1).map_err(&wrong)?;
            let first = leaf.entry(0).map_err(&wrong)?;
            let within = first < key && key < last && !last.starts_with(key);
            if within {
                return in_leaf(leaf, key, ids).map_err(&wrong);
            }
        }
        self.descend(&tree.root, None, key, ids)
    }

    fn descend(
        &mut self,
        block: &BlockRef,
        level: Option<u8>,
        key: &[u8],
        ids: &mut Vec<u64>,
    ) -> Result<()> {
        let wrong = malformed(block);
        let node = read(self.blocks, block, level)?;
        let Some(level) = below(&node) else {
            in_leaf(&node, key, ids).map_err(wrong)?;
            self.leaf = Some(node);
            return Ok(());
        };
        // The child before the first that begins at or above the key may have it too.
        let from = node.lower_bound(key).map_err(&wrong)?.saturating_sub(1);
        for at in from..node.count {
            let lowest = node.entry(at).map_err(&wrong)?;
            if at > from && lowest > key && !lowest.starts_with(key) {
                break;
            }
            let child = node.child(at).map_err(&wrong)?;
            self.descend(&child, Some(level), key, ids)?;
        }
        Ok(())
    }
}

fn in_leaf(leaf: &Node, key: &[u8], ids: &mut Vec<u64>) -> Result<(), WireError> {
    for at in leaf.lower_bound(key)?..leaf.count {
        let (other, id) = split_entry(leaf.entry(at)?).ok_or(WireError)?;
        if other != key {
            break;
        }
        ids.push(id);
    }
    Ok(())
}

/// The refs of all blocks of a tree. Leaves are not read.
///
/// # Errors
/// When an inner block does not open or does not parse.
pub(crate) fn blocks_of(blocks: &BlockStore, tree: &Tree) -> Result<Vec<BlockRef>> {
    let mut all = vec![tree.root];
    let mut inner = match read(blocks, &tree.root, None)? {
        node if node.level > 0 => vec![node],
        _ => vec![],
    };
    while let Some(node) = inner.pop() {
        for at in 0..node.count {
            let child = node.child(at).map_err(malformed(&tree.root))?;
            all.push(child);
            if node.level > 1 {
                inner.push(read(blocks, &child, below(&node))?);
            }
        }
    }
    Ok(all)
}

/// Calls `entry` with every key and row id of a tree, whose blocks `open` gives; `false` if it did not give all. Holds
/// levels, order and the number of entries against each other.
///
/// # Errors
/// The rule that a block breaks.
pub(crate) fn walk(
    tree: Option<&Tree>,
    open: &mut dyn FnMut(&BlockRef) -> Option<Bytes>,
    entry: &mut dyn FnMut(&[u8], u64),
) -> Result<bool, &'static str> {
    const UNREADABLE: &str = "an index block does not parse";
    let Some(tree) = tree else {
        return Ok(true);
    };
    let (mut entries, mut complete) = (0, true);
    let mut last: Vec<u8> = Vec::new();
    // What is still to be visited, the next one last: block, level, and the lowest entry that it may have.
    let mut ahead = vec![(tree.root, None, Vec::new())];
    while let Some((block, level, lowest)) = ahead.pop() {
        let Some(bytes) = open(&block) else {
            complete = false;
            continue;
        };
        let node = Node::parse(bytes).map_err(|WireError| UNREADABLE)?;
        if level.is_some_and(|level| level != node.level) {
            return Err("an index block has another level than its parent says");
        }
        let children = ahead.len();
        for at in 0..node.count {
            let this = node.entry(at).map_err(|WireError| UNREADABLE)?;
            if node.level > 0 {
                let child = node.child(at).map_err(|WireError| UNREADABLE)?;
                ahead.push((child, below(&node), this.to_vec()));
                continue;
            }
            if this <= last.as_slice() || this < lowest.as_slice() {
                return Err("entries of an index are not in order");
            }
            last = this.to_vec();
            entries += 1;
            if let Some((key, id)) = split_entry(this) {
                entry(key, id);
            }
        }
        if let Some(children) = ahead.get_mut(children..) {
            children.reverse();
        }
    }
    match !complete || entries == tree.entries {
        true => Ok(complete),
        false => Err("an index has another number of entries than its table says"),
    }
}

/// The tree with more entries, which come in ascending order. Entries of rows that are not `alive` are left out of the
/// blocks that are written anew; with `sweep` all are. `write` writes a block. `None`: no entry is left.
///
/// # Errors
/// When a block of the tree does not open or does not parse, and those of `alive` and `write`.
pub(crate) fn merge_into<'k>(
    blocks: &BlockStore,
    tree: Option<&Tree>,
    new: impl Iterator<Item = (&'k [u8], u64)>,
    sweep: bool,
    alive: &dyn Fn(u64) -> Result<bool>,
    write: &mut dyn FnMut(&[u8]) -> Result<BlockRef>,
) -> Result<Option<Tree>> {
    let new = new.map(|(key, id)| {
        let mut entry = Vec::with_capacity(key.len() + 8);
        entry.extend_from_slice(key);
        push_row_id(&mut entry, id);
        entry
    });
    let mut merge = Merge {
        blocks,
        new: new.peekable(),
        alive,
        write,
        entries: tree.map_or(0, |tree| tree.entries),
    };
    let children = match tree {
        Some(tree) if !sweep => {
            let level = read(blocks, &tree.root, None)?.level;
            merge.node(&tree.root, level, None)?
        }
        _ => {
            let mut leaves = Level::new(0, true);
            merge.entries = 0;
            if let Some(tree) = tree {
                let level = read(blocks, &tree.root, None)?.level;
                merge.sweep(&tree.root, level, &mut leaves)?;
            }
            merge.take_new(None, &mut leaves)?;
            leaves.finish(&mut merge)?
        }
    };
    let entries = merge.entries;
    let root = merge.grow(children)?;
    Ok(root.map(|root| Tree { root, entries }))
}

struct Merge<'a, I: Iterator<Item = Vec<u8>>> {
    blocks: &'a BlockStore,
    new: Peekable<I>,
    alive: &'a dyn Fn(u64) -> Result<bool>,
    write: &'a mut dyn FnMut(&[u8]) -> Result<BlockRef>,
    entries: u64,
}

/// A node that was written, or kept: its entry in the node above.
struct Child {
    level: u8,
    entry: Vec<u8>,
}

impl<I: Iterator<Item = Vec<u8>>> Merge<'_, I> {
    /// The nodes that take a node's place; new entries below `upper` go into them.
    fn node(&mut self, block: &BlockRef, level: u8, upper: Option<&[u8]>) -> Result<Vec<Child>> {
        let wrong = malformed(block);
        let node = read(self.blocks, block, Some(level))?;
        let Some(below) = below(&node) else {
            return self.leaf(block, &node, upper);
        };
        let mut level = Level::new(level, false);
        for at in 0..node.count {
            let next = match at + 1 < node.count {
                true => Some(node.entry(at + 1).map_err(&wrong)?),
                false => upper,
            };
            let is_for_child = |entry: &Vec<u8>| next.is_none_or(|next| entry.as_slice() < next);
            if self.new.peek().is_some_and(is_for_child) {
                let child = node.child(at).map_err(&wrong)?;
                for child in self.node(&child, below, next)? {
                    level.push(child.entry);
                }
            } else {
                level.push(node.raw(at).map_err(&wrong)?.to_vec());
            }
        }
        level.finish(self)
    }

    fn leaf(&mut self, block: &BlockRef, node: &Node, upper: Option<&[u8]>) -> Result<Vec<Child>> {
        let last = node.entry(node.count - 1).map_err(malformed(block))?;
        // Entries that follow all others leave full leaves behind; others meet leaves of the same fill.
        let appends = self.new.peek().is_some_and(|entry| entry.as_slice() > last);
        let mut level = Level::new(0, appends);
        self.entries = self.entries.saturating_sub(node.count as u64);
        self.old(block, node, &mut level)?;
        self.take_new(upper, &mut level)?;
        level.finish(self)
    }

    /// Takes the entries of a leaf, and the new ones among them.
    fn old(&mut self, block: &BlockRef, node: &Node, into: &mut Level) -> Result<()> {
        for at in 0..node.count {
            let entry = node.entry(at).map_err(malformed(block))?;
            self.take_new(Some(entry), into)?;
            // A state that was stored again has entries that the tree has already.
            let _ = self.new.next_if(|new| new.as_slice() == entry);
            self.take(entry.to_vec(), into)?;
        }
        Ok(())
    }

    fn take_new(&mut self, upper: Option<&[u8]>, into: &mut Level) -> Result<()> {
        while let Some(entry) = self
            .new
            .next_if(|entry| upper.is_none_or(|upper| entry.as_slice() < upper))
        {
            self.take(entry, into)?;
        }
        Ok(())
    }

    fn take(&mut self, entry: Vec<u8>, into: &mut Level) -> Result<()> {
        let (_, id) = split_entry(&entry)
            .ok_or_else(|| Error::InvalidInput("an index entry without a row".into()))?;
        if (self.alive)(id)? {
            self.entries += 1;
            into.push(entry);
            into.spill(self)?;
        }
        Ok(())
    }

    /// Takes all entries below a node.
    fn sweep(&mut self, block: &BlockRef, level: u8, into: &mut Level) -> Result<()> {
        let node = read(self.blocks, block, Some(level))?;
        let Some(below) = below(&node) else {
            return self.old(block, &node, into);
        };
        for at in 0..node.count {
            let child = node.child(at).map_err(malformed(block))?;
            self.sweep(&child, below, into)?;
        }
        Ok(())
    }

    /// Levels above, up to one root.
    fn grow(&mut self, mut children: Vec<Child>) -> Result<Option<BlockRef>> {
        while children.len() > 1 {
            let level = children.first().map_or(0, |child| child.level) + 1;
            if level > MAX_LEVEL {
                return Err(Error::Unsupported("an index of this many rows".into()));
            }
            let mut above = Level::new(level, true);
            for child in children {
                above.push(child.entry);
            }
            children = above.finish(self)?;
        }
        let root = children.pop().and_then(|child| {
            let bytes = child.entry.last_chunk::<{ BlockRef::BYTES }>()?;
            Some(BlockRef::from_bytes(bytes))
        });
        Ok(root)
    }
}

/// Gathers the entries of one level and cuts them into nodes.
struct Level {
    level: u8,
    /// Nodes are filled one after the other; else the entries are spread evenly.
    fills: bool,
    entries: Vec<Vec<u8>>,
    bytes: usize,
    written: Vec<Child>,
}

impl Level {
    fn new(level: u8, fills: bool) -> Self {
        Self {
            level,
            fills,
            entries: Vec::new(),
            bytes: 0,
            written: Vec::new(),
        }
    }

    fn push(&mut self, entry: Vec<u8>) {
        self.bytes += Node::cost(&entry);
        self.entries.push(entry);
    }

    /// Writes full nodes, so that not all entries of a large tree are held at once.
    fn spill<I: Iterator<Item = Vec<u8>>>(&mut self, merge: &mut Merge<'_, I>) -> Result<()> {
        if self.fills && self.bytes > 4 * NODE_BYTES {
            self.write(NODE_BYTES, 2 * NODE_BYTES, merge)?;
        }
        Ok(())
    }

    fn finish<I: Iterator<Item = Vec<u8>>>(
        mut self,
        merge: &mut Merge<'_, I>,
    ) -> Result<Vec<Child>> {
        let capacity = NODE_BYTES - HEAD_BYTES;
        let nodes = self.bytes.div_ceil(capacity).max(1);
        let fill = match self.fills {
            true => NODE_BYTES,
            // A node may end up to one entry early.
            false => self.bytes.div_ceil(nodes) + HEAD_BYTES + 64,
        };
        self.write(fill.min(NODE_BYTES), 0, merge)?;
        Ok(self.written)
    }

    /// Writes nodes of up to `fill` bytes as long as more than `keep` bytes of entries are there.
    fn write<I: Iterator<Item = Vec<u8>>>(
        &mut self,
        fill: usize,
        keep: usize,
        merge: &mut Merge<'_, I>,
    ) -> Result<()> {
        let mut from = 0;
        while from < self.entries.len() && self.bytes > keep {
            let (mut to, mut bytes) = (from, HEAD_BYTES);
            while let Some(entry) = self.entries.get(to) {
                // A node has two entries at least, or levels would not get fewer; two of the largest fit.
                if bytes + Node::cost(entry) > fill.max(HEAD_BYTES) && to >= from + 2 {
                    break;
                }
                bytes += Node::cost(entry);
                to += 1;
            }
            let entries = self.entries.get(from..to).unwrap_or_default();
            let slices: Vec<&[u8]> = entries.iter().map(Vec::as_slice).collect();
            let block = (merge.write)(&Node::encode(self.level, &slices))?;
            let first = slices.first().copied().unwrap_or_default();
            let behind = if self.level > 0 { BlockRef::BYTES } else { 0 };
            let mut entry = first
                .get(..first.len().saturating_sub(behind))
                .unwrap_or_default()
                .to_vec();
            entry.extend(block.to_bytes());
            self.written.push(Child {
                level: self.level,
                entry,
            });
            self.bytes -= bytes - HEAD_BYTES;
            from = to;
        }
        self.entries.drain(..from);
        Ok(())
    }
}
