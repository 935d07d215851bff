//! A stored tree of which blocks were sealed anew: the same entries, other refs.
//!
//! What must hold: a block is written before the one that names it; leaves are neither decoded nor written here.

use std::collections::HashMap;

use super::TreeBlocks;
use super::node::Node;
use super::tree::{Expected, Tree, malformed};
use crate::block::BlockRef;
use crate::error::Result;

/// Calls `visit` with each block of a tree and whether it is a leaf, until that gives `false`. Leaves below others are not read.
///
/// # Errors
/// When an inner block does not open or does not parse, and those of `visit`.
pub(crate) fn visit_blocks(
    blocks: &dyn TreeBlocks,
    tree: &Tree,
    visit: &mut dyn FnMut(&BlockRef, bool) -> Result<bool>,
) -> Result<bool> {
    visit_below(blocks, &Expected::root(tree), visit)
}

fn visit_below(
    blocks: &dyn TreeBlocks,
    expected: &Expected<'_>,
    visit: &mut dyn FnMut(&BlockRef, bool) -> Result<bool>,
) -> Result<bool> {
    if expected.is_leaf() {
        return visit(&expected.block, true);
    }
    let node = expected.read(blocks)?;
    if !visit(&expected.block, node.level == 0)? {
        return Ok(false);
    }
    if node.level == 0 {
        return Ok(true);
    }
    for at in 0..node.count {
        let child = expected.child(&node, at);
        let child = child.map_err(malformed(&expected.block))?;
        if !visit_below(blocks, &child, visit)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The tree in which `moved` says what stands in the place of leaves. Blocks above them are written anew by `write`, and those
/// that are `stale` themselves.
///
/// # Errors
/// When an inner block does not open or does not parse, and those of `write`.
pub(crate) fn resealed(
    blocks: &dyn TreeBlocks,
    tree: &Tree,
    moved: &HashMap<BlockRef, BlockRef>,
    stale: &dyn Fn(&BlockRef) -> bool,
    write: &mut dyn FnMut(&[u8]) -> Result<BlockRef>,
) -> Result<Tree> {
    let root = resealed_below(blocks, &Expected::root(tree), moved, stale, write)?;
    Ok(Tree { root, ..*tree })
}

fn resealed_below(
    blocks: &dyn TreeBlocks,
    expected: &Expected<'_>,
    moved: &HashMap<BlockRef, BlockRef>,
    stale: &dyn Fn(&BlockRef) -> bool,
    write: &mut dyn FnMut(&[u8]) -> Result<BlockRef>,
) -> Result<BlockRef> {
    let block = expected.block;
    if let Some(moved) = moved.get(&block) {
        return Ok(*moved);
    }
    if expected.is_leaf() {
        return Ok(block);
    }
    let node = expected.read(blocks)?;
    if node.level == 0 {
        return Ok(block);
    }
    let wrong = malformed(&block);
    let mut entries = Vec::with_capacity(node.count);
    let mut changed = stale(&block);
    for at in 0..node.count {
        let child = expected.child(&node, at).map_err(&wrong)?;
        let now = resealed_below(blocks, &child, moved, stale, write)?;
        changed |= now != child.block;
        let mut entry = node.entry(at).map_err(&wrong)?.to_vec();
        entry.extend_from_slice(&now.to_bytes());
        entries.push(entry);
    }
    if !changed {
        return Ok(block);
    }
    let entries: Vec<&[u8]> = entries.iter().map(Vec::as_slice).collect();
    write(&Node::encode(node.level, &entries))
}
