//! Trees of sealed blocks, from keys to row ids: the stored part of indexes, and of a file's history.
//!
//! ```text
//! node       one block of the tree
//! tree       finding in it; merging sorted entries into it, copy-on-write
//! resealed   the same tree when blocks of it were sealed anew
//! ```
//!
//! What must hold: a tree knows no file: whoever asks gives it its blocks, opened, and writes those that it makes.

mod node;
mod resealed;
#[expect(clippy::module_inception, reason = "the main type of the folder")]
mod tree;

use bytes::Bytes;

use crate::block::BlockRef;
use crate::error::Result;

pub(crate) use node::{Node, push_id, split_entry};
pub(crate) use resealed::{resealed, visit_blocks};
pub(crate) use tree::{Finder, Tree, blocks_of, first_from, merge_into, walk};

/// What has a tree's blocks: one open file.
pub(crate) trait TreeBlocks: Send + Sync {
    /// The payload of one of them, authenticated.
    ///
    /// # Errors
    /// When it cannot be read, or does not open.
    fn read_tree_block(&self, block: &BlockRef) -> Result<Bytes>;
}
