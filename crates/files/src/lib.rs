//! Files of others that a statement reads or writes: what COPY writes, what FROM and COPY read, formats, options, patterns of names.
//!
//! What must hold: a file is read in steps within the memory limit, or it is an error that names it; what is written is an
//! `OutputFile`, which is never a database's; an error repeats no value unless that was asked for.
//!
//! Begin with [`read_files::source`], a table out of files, and [`copy_target::write`], files out of rows.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod copy_options;
mod copy_rows;
pub mod copy_source;
pub mod copy_target;
mod csv;
mod encodings;
pub mod file_paths;
pub mod file_tables;
mod json;
mod numbered_rows;
mod option_values;
mod packed_files;
mod parquet_form;
mod parquet_source;
pub mod parquet_tables;
mod partitioned;
pub mod read_files;
pub mod rejects;
pub mod written_stats;

pub use csv::told;
pub use json::AS_OBJECTS;
