//! Row groups: columns, segments of their values, and what is known about these without opening them.
//!
//! What must hold: everything here is immutable once published in a catalog version; a change makes a new value.

mod column;
mod distinct_sketch;
#[expect(clippy::module_inception, reason = "the main type of the folder")]
mod row_group;
mod row_group_builder;
mod segment;
mod stat_value;
mod statistics;

pub(crate) use column::is_sound;
pub use column::{Check, Column, ColumnDef, Declared, same_name};
pub use distinct_sketch::DistinctSketch;
pub use row_group::{MemoryRows, RowGroup};
pub use row_group_builder::{GatheredRows, RowGroupBuilder};
pub use segment::Segment;
pub use stat_value::StatValue;

pub(crate) use row_group_builder::MAX_COLUMN_RAW_BYTES;
pub(crate) use statistics::{Statistics, raw_bytes};
