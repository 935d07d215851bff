//! Indexes: from the key of a row to its id.
//!
//! ```text
//! index      one state of one index: a stored tree, entries in memory, runs of rows that were just loaded
//! key        values of any column type <-> bytes that compare as the values do
//! node       one block of the tree
//! tree       finding in it; merging sorted entries into it, copy-on-write
//! key_run    the sorted keys of one row group
//! ```
//!
//! What must hold: every row that is visible and has no NULL in its key has an entry; an entry whose row is not visible means
//! nothing. So a delete removes the entries of rows in memory alone, and whoever finds an entry asks the table whether the row
//! exists.

mod definition;
#[expect(clippy::module_inception, reason = "the main type of the folder")]
mod index;
mod key;
mod key_run;
mod node;
mod resealed;
mod tree;

pub use crate::index_kind::IndexKind;
pub use definition::IndexDef;
pub use index::Index;

pub(crate) use definition::IndexInfo;
pub(crate) use key::{can_be_key, encode_key};
pub(crate) use key_run::{KeyRun, MergedRuns, RunKeys};
pub(crate) use node::Node;
pub(crate) use resealed::visit_blocks;
pub(crate) use tree::{Tree, blocks_of, first_from, merge_into, walk};
