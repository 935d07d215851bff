//! Texts cast to intervals.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, IntervalMonthDayNanoBuilder};
use datafusion::common::Result;
use hushdb_sql::{interval, unreadable_interval};
use std::sync::Arc;

/// `CAST(text AS INTERVAL)`, and TRY_CAST, which is lenient.
pub(super) fn interval_from_text(input: &ArrayRef, lenient: bool) -> Result<ArrayRef> {
    let input = input.as_string_view();
    let mut out = IntervalMonthDayNanoBuilder::with_capacity(input.len());
    for text in input {
        match text.map(interval) {
            Some(Some(interval)) => out.append_value(interval),
            Some(None) if !lenient => return Err(unreadable_interval().into()),
            _ => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}
