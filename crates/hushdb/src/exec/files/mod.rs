//! Files that a statement reads or writes: what COPY writes, the readers in FROM, their formats, options and patterns.

pub(super) mod copy_options;
pub(super) mod copy_rows;
pub(super) mod csv;
pub(super) mod file_paths;
pub(super) mod file_tables;
pub(super) mod json;
pub(super) mod option_values;
pub(super) mod packed_files;
pub(super) mod parquet_source;
pub(super) mod parquet_tables;
pub(super) mod partitioned;
pub(super) mod read_files;
pub(super) mod written_stats;
