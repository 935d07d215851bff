//! The file that COPY FROM reads, as a table.

use crate::copy_options::{Format, format_of, options};
use crate::parquet_source::parquet_source;
use crate::{csv, json};
use datafusion::logical_expr::TableSource;
use hushdb_query::plan::Planner;
use hushdb_sql::{OptionValue, Result};
use hushdb_storage::Column;
use std::sync::Arc;

/// A file for these columns, which CSV and JSON have their types from; `None` where a CSV file has no row.
///
/// # Errors
/// `Binder` for options that are none, `Io` and `InvalidInput` with the file's name.
pub fn copy_source(
    planner: &Planner<'_>,
    path: &str,
    given: &[(String, OptionValue)],
    columns: &[&Column],
) -> Result<Option<Arc<dyn TableSource>>> {
    let format = format_of(path, given)?;
    match format {
        Format::Parquet => {
            options(path, given)?;
            parquet_source(planner, path, false).map(Some)
        }
        Format::Json => {
            let given = json::JsonOptions::of_copy(given)?;
            json::source_for(path, &given, columns).map(Some)
        }
        Format::Csv => csv::source_for(path, given, columns),
    }
}
