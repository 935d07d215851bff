//! The stored part of an index: a tree of sealed blocks, changed copy-on-write.
//!
//! What must hold: a block is written before the one that names it, and none is written over; blocks without new entries are shared
//! with the tree before. Levels go down by one from parent to child, so that no walk is endless.
//! Refuses, on reading: blocks that do not parse, other levels, and a block with entries that its parent says are in
//! another one. So no block is the child of two, and a walk reads each block once.

use std::iter::Peekable;

use bytes::Bytes;
use hushdb_encoding::wire::WireError;

use super::TreeBlocks;
use super::node::{MAX_LEVEL, NODE_BYTES, Node, push_id, split_entry};
use crate::block::{BlockRef, Role};
use crate::error::{Error, Result};

const HEAD_BYTES: usize = 6;

/// A stored tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) root: BlockRef,
    /// Entries in it, also those of rows that are gone.
    pub(crate) entries: u64,
}

impl Tree {
    /// About how many bytes of leaves there are, if entries are like `entry`: at most one leaf for each of so many entries.
    pub(crate) fn bytes_of_leaves(&self, most: u64, entry: &[u8]) -> u64 {
        let bytes = self.entries.saturating_mul(Node::cost(entry) as u64);
        // Those that were split are about two thirds full.
        let leaves = bytes / (NODE_BYTES as u64 * 2 / 3);
        leaves.min(most).saturating_mul(NODE_BYTES as u64)
    }
}

pub(super) fn malformed(block: &BlockRef) -> impl Fn(WireError) -> Error {
    let sector = block.sector;
    move |WireError| Error::malformed(Role::Index, sector, "index")
}

/// A block, and what its parent says of it; nothing of a root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'a> {
    pub(super) block: BlockRef,
    level: Option<u8>,
    /// Its entries are at or above this one,
    lowest: &'a [u8],
    /// and below this one, the lowest of the next child.
    upper: Option<&'a [u8]>,
}

impl<'a> Expected<'a> {
    pub(super) fn root(tree: &Tree) -> Self {
        Self {
            block: tree.root,
            level: None,
            lowest: &[],
            upper: None,
        }
    }

    /// The child at a position of a node that was read as `self`.
    pub(super) fn child<'n>(&self, node: &'n Node, at: usize) -> Result<Expected<'n>, WireError>
    where
        'a: 'n,
    {
        Ok(Expected {
            block: node.child(at)?,
            level: below(node),
            lowest: node.entry(at)?,
            upper: match at + 1 < node.count {
                true => Some(node.entry(at + 1)?),
                false => self.upper,
            },
        })
    }

    /// Whether its parent says that nothing is below it.
    pub(super) fn is_leaf(&self) -> bool {
        self.level == Some(0)
    }

    pub(super) fn read(&self, blocks: &dyn TreeBlocks) -> Result<Node> {
        let wrong = malformed(&self.block);
        let node = Node::parse(blocks.read_tree_block(&self.block)?).map_err(&wrong)?;
        match self.is(&node).map_err(&wrong)? {
            true => Ok(node),
            false => Err(wrong(WireError)),
        }
    }

    fn is(&self, node: &Node) -> Result<bool, WireError> {
        let (first, last) = (node.entry(0)?, node.entry(node.count - 1)?);
        Ok(self.level.is_none_or(|level| level == node.level)
            && self.lowest <= first
            && first <= last
            && self.upper.is_none_or(|upper| last < upper))
    }
}

/// The level of the children of a node.
fn below(node: &Node) -> Option<u8> {
    node.level.checked_sub(1)
}

/// Finds one key after the other, faster when they come in order.
pub(crate) struct Finder<'a> {
    blocks: &'a dyn TreeBlocks,
    tree: Option<&'a Tree>,
    /// The leaf that was looked into last.
    leaf: Option<Node>,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(blocks: &'a dyn TreeBlocks, tree: Option<&'a Tree>) -> Self {
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
        self.descend(&Expected::root(tree), key, ids)
    }

    fn descend(&mut self, expected: &Expected<'_>, key: &[u8], ids: &mut Vec<u64>) -> Result<()> {
        let wrong = malformed(&expected.block);
        let node = expected.read(self.blocks)?;
        if node.level == 0 {
            in_leaf(&node, key, ids).map_err(wrong)?;
            self.leaf = Some(node);
            return Ok(());
        }
        // The child before the first that begins at or above the key may have it too.
        let from = node.lower_bound(key).map_err(&wrong)?.saturating_sub(1);
        for at in from..node.count {
            let lowest = node.entry(at).map_err(&wrong)?;
            if at > from && lowest > key && !lowest.starts_with(key) {
                break;
            }
            let child = expected.child(&node, at).map_err(&wrong)?;
            self.descend(&child, key, ids)?;
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

/// Key and row id of the first entry that is not below `from`.
///
/// # Errors
/// When a block of the tree does not open or does not parse.
pub(crate) fn first_from(
    blocks: &dyn TreeBlocks,
    tree: &Tree,
    from: &[u8],
) -> Result<Option<(Vec<u8>, u64)>> {
    first_in(blocks, &Expected::root(tree), from)
}

fn first_in(
    blocks: &dyn TreeBlocks,
    expected: &Expected<'_>,
    from: &[u8],
) -> Result<Option<(Vec<u8>, u64)>> {
    let wrong = malformed(&expected.block);
    let node = expected.read(blocks)?;
    let at = node.lower_bound(from).map_err(&wrong)?;
    if node.level == 0 {
        if at == node.count {
            return Ok(None);
        }
        let entry = split_entry(node.entry(at).map_err(&wrong)?);
        let (key, id) = entry.ok_or_else(|| wrong(WireError))?;
        return Ok(Some((key.to_vec(), id)));
    }
    // The child before the first that begins there may go beyond it.
    if let Some(before) = at.checked_sub(1) {
        let child = expected.child(&node, before).map_err(&wrong)?;
        let found = first_in(blocks, &child, from)?;
        if found.is_some() || at == node.count {
            return Ok(found);
        }
    }
    let child = expected.child(&node, at).map_err(&wrong)?;
    let found = first_in(blocks, &child, from)?;
    // It begins there: a tree in which it has nothing is none, and not searched any further.
    found.map(Some).ok_or_else(|| wrong(WireError))
}

/// The refs of all blocks of a tree. Leaves are not read.
///
/// # Errors
/// When an inner block does not open or does not parse.
pub(crate) fn blocks_of(blocks: &dyn TreeBlocks, tree: &Tree) -> Result<Vec<BlockRef>> {
    let mut all = vec![tree.root];
    list_below(blocks, &Expected::root(tree), &mut all)?;
    Ok(all)
}

/// Appends the refs of all blocks below one.
fn list_below(
    blocks: &dyn TreeBlocks,
    expected: &Expected<'_>,
    all: &mut Vec<BlockRef>,
) -> Result<()> {
    let node = expected.read(blocks)?;
    if node.level == 0 {
        return Ok(());
    }
    for at in 0..node.count {
        let child = expected
            .child(&node, at)
            .map_err(malformed(&expected.block))?;
        all.push(child.block);
        if node.level > 1 {
            list_below(blocks, &child, all)?;
        }
    }
    Ok(())
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
    blocks: &dyn TreeBlocks,
    tree: Option<&Tree>,
    new: impl Iterator<Item = (&'k [u8], u64)>,
    sweep: bool,
    alive: &dyn Fn(u64) -> Result<bool>,
    write: &mut dyn FnMut(&[u8]) -> Result<BlockRef>,
) -> Result<Option<Tree>> {
    let new = new.map(|(key, id)| {
        let mut entry = Vec::with_capacity(key.len() + 8);
        entry.extend_from_slice(key);
        push_id(&mut entry, id);
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
        Some(tree) if !sweep => merge.node(&Expected::root(tree))?,
        _ => {
            let mut leaves = Level::new(0, true);
            merge.entries = 0;
            if let Some(tree) = tree {
                merge.sweep(&Expected::root(tree), &mut leaves)?;
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
    blocks: &'a dyn TreeBlocks,
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
    /// The nodes that take a node's place; new entries below its upper one go into them.
    fn node(&mut self, expected: &Expected<'_>) -> Result<Vec<Child>> {
        let wrong = malformed(&expected.block);
        let node = expected.read(self.blocks)?;
        if node.level == 0 {
            return self.leaf(&expected.block, &node, expected.upper);
        }
        let mut level = Level::new(node.level, false);
        for at in 0..node.count {
            let child = expected.child(&node, at).map_err(&wrong)?;
            let is_for_child =
                |entry: &Vec<u8>| child.upper.is_none_or(|upper| entry.as_slice() < upper);
            if self.new.peek().is_some_and(is_for_child) {
                for child in self.node(&child)? {
                    level.push(&child.entry);
                }
            } else {
                level.push(node.raw(at).map_err(&wrong)?);
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
            // What comes before it; one that a state has which was stored again is in the tree already.
            while let Some(order) = self.new.peek().map(|new| new.as_slice().cmp(entry))
                && let Some(new) = self.new.next_if(|_| order.is_le())
            {
                if order.is_lt() {
                    self.take(&new, into)?;
                }
            }
            self.take(entry, into)?;
        }
        Ok(())
    }

    fn take_new(&mut self, upper: Option<&[u8]>, into: &mut Level) -> Result<()> {
        while let Some(entry) = self
            .new
            .next_if(|entry| upper.is_none_or(|upper| entry.as_slice() < upper))
        {
            self.take(&entry, into)?;
        }
        Ok(())
    }

    fn take(&mut self, entry: &[u8], into: &mut Level) -> Result<()> {
        let (_, id) = split_entry(entry)
            .ok_or_else(|| Error::InvalidInput("an index entry without a row".into()))?;
        if (self.alive)(id)? {
            self.entries += 1;
            into.push(entry);
            into.spill(self)?;
        }
        Ok(())
    }

    /// Takes all entries below a node.
    fn sweep(&mut self, expected: &Expected<'_>, into: &mut Level) -> Result<()> {
        let node = expected.read(self.blocks)?;
        if node.level == 0 {
            return self.old(&expected.block, &node, into);
        }
        for at in 0..node.count {
            let child = expected
                .child(&node, at)
                .map_err(malformed(&expected.block))?;
            self.sweep(&child, into)?;
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
                above.push(&child.entry);
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
    /// One behind the other, and where each ends.
    entries: Vec<u8>,
    ends: Vec<usize>,
    /// What they take in nodes.
    bytes: usize,
    written: Vec<Child>,
}

impl Level {
    fn new(level: u8, fills: bool) -> Self {
        Self {
            level,
            fills,
            entries: Vec::new(),
            ends: Vec::new(),
            bytes: 0,
            written: Vec::new(),
        }
    }

    fn push(&mut self, entry: &[u8]) {
        self.bytes += Node::cost(entry);
        self.entries.extend_from_slice(entry);
        self.ends.push(self.entries.len());
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
        let (entries, ends) = (
            std::mem::take(&mut self.entries),
            std::mem::take(&mut self.ends),
        );
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let all: Vec<&[u8]> = starts
            .zip(&ends)
            .filter_map(|(start, end)| entries.get(start..*end))
            .collect();
        let (mut from, mut left) = (0, self.bytes);
        while from < all.len() && left > keep {
            let (mut to, mut bytes) = (from, HEAD_BYTES);
            while let Some(entry) = all.get(to) {
                // A node has two entries at least, or levels would not get fewer; two of the largest fit.
                if bytes + Node::cost(entry) > fill.max(HEAD_BYTES) && to >= from + 2 {
                    break;
                }
                bytes += Node::cost(entry);
                to += 1;
            }
            let slices = all.get(from..to).unwrap_or_default();
            let block = (merge.write)(&Node::encode(self.level, slices))?;
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
            left -= bytes - HEAD_BYTES;
            from = to;
        }
        self.bytes = 0;
        for entry in all.get(from..).unwrap_or_default() {
            self.push(entry);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::file::MemFile;
    use crate::store::{BlockStore, StoreOptions};

    fn store() -> BlockStore {
        BlockStore::create(Arc::new(MemFile::new()), None, &StoreOptions::default()).unwrap()
    }

    fn put(blocks: &BlockStore, level: u8, entries: &[Vec<u8>]) -> BlockRef {
        let slices: Vec<&[u8]> = entries.iter().map(Vec::as_slice).collect();
        let payload = Node::encode(level, &slices);
        let mut buf = BlockStore::block_buffer(payload.len());
        buf.extend_from_slice(&payload);
        blocks.write(Role::Index, buf).unwrap()
    }

    fn entry(key: &[u8], id: u64) -> Vec<u8> {
        let mut entry = key.to_vec();
        push_id(&mut entry, id);
        entry
    }

    /// Everything that follows refs, on a tree that is none.
    fn refused(blocks: &BlockStore, tree: &Tree) {
        let mut ids = Vec::new();
        assert!(
            Finder::new(blocks, Some(tree))
                .find(b"key", &mut ids)
                .is_err()
        );
        assert!(blocks_of(blocks, tree).is_err());
        let none = std::iter::empty();
        let mut write = |_: &[u8]| Err(Error::InvalidInput("nothing is to be written".into()));
        assert!(merge_into(blocks, Some(tree), none, true, &|_| Ok(false), &mut write).is_err());
    }

    #[test]
    fn a_block_is_the_child_of_one() {
        let blocks = store();
        for ids in [[0, 1, 2], [2, 1, 0], [0, 0, 0]] {
            let mut child = put(&blocks, 0, &[entry(b"key", 0)]);
            for level in 1..=MAX_LEVEL {
                let named = |id| [&entry(b"key", id)[..], &child.to_bytes()].concat();
                child = put(&blocks, level, &ids.map(named));
            }
            let tree = Tree {
                root: child,
                entries: 3,
            };
            refused(&blocks, &tree);
        }
    }
}
