//! Keys of rows as bytes.
//!
//! ```text
//! key        values of any column type <-> bytes that compare as the values do
//! key_run    the sorted keys of one row group
//! ```

use smallvec::SmallVec;

mod key;
mod key_run;

pub(crate) use key::{can_be_key, encode_key};
pub(crate) use key_run::{KeyRun, MergedRuns, RunKeys};

/// Something of each column of a key: most keys have few, and need no room in the heap.
pub(crate) type Few<T> = SmallVec<[T; 4]>;
