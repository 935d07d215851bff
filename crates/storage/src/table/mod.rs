//! Tables: columns, row groups, segments and what is known about them without opening them.
//!
//! What must hold: everything here is immutable once published in a catalog version; a change makes a new value.

mod column;
mod distinct_sketch;
mod index_entries;
mod page;
mod pieces;
mod row_group;
mod row_group_builder;
mod segment;
mod stat_value;
mod statistics;
mod table_version;

pub use column::{Check, Column, ColumnDef, same_name};
pub use distinct_sketch::DistinctSketch;
pub use row_group::{MemoryRows, RowGroup};
pub use row_group_builder::{GatheredRows, RowGroupBuilder};
pub use segment::Segment;
pub use stat_value::StatValue;
pub use table_version::TableVersion;

pub(crate) use page::{PAGE_GROUPS, Page};
pub(crate) use row_group_builder::MAX_COLUMN_RAW_BYTES;
pub(crate) use statistics::{Statistics, raw_bytes};
pub(crate) use table_version::{MERGED_BYTES, MERGED_ROWS, merge};
