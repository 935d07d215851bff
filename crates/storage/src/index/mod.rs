//! Indexes: from the key of a row to its id.
//!
//! ```text
//! index        one state of one index: a stored tree, entries in memory, runs of rows that were just loaded
//! definition   what an index is of: its name, its kind and its columns; entry   one row of it in memory
//! recent       all rows of it in memory
//! ```
//!
//! What must hold: every row that is visible and has no NULL in its key has an entry; an entry whose row is not visible means
//! nothing. So a delete removes the entries of rows in memory alone, and whoever finds an entry asks the table whether the row
//! exists.

mod definition;
mod entry;
#[expect(clippy::module_inception, reason = "the main type of the folder")]
mod index;
mod recent;

pub use crate::index_kind::IndexKind;
pub use definition::IndexDef;
pub use index::Index;

pub(crate) use definition::IndexInfo;
