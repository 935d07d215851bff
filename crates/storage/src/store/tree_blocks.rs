//! Trees, of indexes and of the file's own history, have their blocks from here.

use bytes::Bytes;

use super::BlockStore;
use crate::block::{BlockRef, Role};
use crate::error::Result;
use crate::tree::TreeBlocks;

impl TreeBlocks for BlockStore {
    fn read_tree_block(&self, block: &BlockRef) -> Result<Bytes> {
        self.read(Role::Index, block)
    }
}
