//! Blocks that were written and that no committed state names yet.
//!
//! What must hold: dropped with blocks in it, it gives their space back; each block is in one such set at most.

use std::collections::HashSet;
use std::sync::Arc;

use crate::block::BlockRef;
use crate::store::BlockStore;

/// A set of written blocks whose space is given back unless they are taken out.
pub(crate) struct FreshBlocks {
    store: Arc<BlockStore>,
    refs: HashSet<BlockRef>,
}

impl FreshBlocks {
    pub(crate) fn new(store: &Arc<BlockStore>) -> Self {
        Self {
            store: Arc::clone(store),
            refs: HashSet::new(),
        }
    }

    /// The file that they were written to.
    pub(crate) fn store(&self) -> &Arc<BlockStore> {
        &self.store
    }

    pub(crate) fn insert(&mut self, block: BlockRef) {
        self.refs.insert(block);
    }

    /// Takes over all blocks of another set.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        self.refs.extend(other.refs.drain());
    }

    /// Gives back the space of blocks that no state will name.
    pub(crate) fn give_back<'a>(&mut self, blocks: impl Iterator<Item = &'a BlockRef>) {
        for block in blocks {
            if self.refs.remove(block) {
                self.store.free(block);
            }
        }
    }

    /// Takes out the blocks that a commit names: from now on they are the file's. Returns how many there were.
    pub(crate) fn hand_over(&mut self, named: &HashSet<BlockRef>) -> usize {
        let mut count = 0;
        for block in self.refs.extract_if(|block| named.contains(block)) {
            self.store.adopt(&block);
            count += 1;
        }
        count
    }
}

impl Drop for FreshBlocks {
    fn drop(&mut self) {
        for block in self.refs.drain() {
            self.store.free(&block);
        }
    }
}
