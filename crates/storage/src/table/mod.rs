//! Tables: the row groups and indexes that one state of a table has, and the pages that name them.
//!
//! What must hold: everything here is immutable once published in a catalog version; a change makes a new value.

mod index_entries;
mod page;
mod pieces;
mod table_version;

pub use table_version::TableVersion;

pub(crate) use page::{PAGE_GROUPS, Page};
pub(crate) use table_version::{MERGED_BYTES, MERGED_ROWS, merge};
