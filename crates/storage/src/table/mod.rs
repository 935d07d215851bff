//! Tables: columns, row groups, segments and what is known about them without opening them.
//!
//! What must hold: everything here is immutable once published in a catalog version; a change makes a new value.

mod column;
mod column_type;
mod distinct_sketch;
mod nested_values;
mod page;
mod pieces;
mod row_group;
mod row_group_builder;
mod segment;
mod stat_value;
mod statistics;
mod table_keys;
mod table_version;
mod type_properties;

pub use column::{Check, Column, ColumnDef, same_name};
pub use column_type::{
    ColumnType, MAX_DECIMAL_PRECISION, MAX_DECIMAL64_PRECISION, MAX_TYPE_DEPTH, MAX_TYPES_IN_TYPE,
};
pub use distinct_sketch::DistinctSketch;
pub use row_group::{MAX_ROW_GROUP_ROWS, MemoryRows, RowGroup};
pub use row_group_builder::{GatheredRows, RowGroupBuilder};
pub use segment::Segment;
pub use stat_value::StatValue;
pub use table_version::TableVersion;

pub(crate) use nested_values::{compact, list_parts, struct_parts};
pub(crate) use page::{PAGE_GROUPS, Page};
pub(crate) use row_group_builder::MAX_COLUMN_RAW_BYTES;
pub(crate) use statistics::{Statistics, raw_bytes};
pub(crate) use table_version::{MERGED_BYTES, MERGED_ROWS, merge};
pub(crate) use type_properties::{Parts, Values};
