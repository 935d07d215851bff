//! Results as text: one printer per mode.
//!
//! Printers take batches as they come. All but two keep nothing: the box keeps the first and the last rows (what it
//! shows), Markdown keeps everything because it must know its widths. Bytes go to the given writer only.

mod box_table;
mod csv;
mod json;
mod line;
mod markdown;
mod mode;
mod sink;

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

pub(crate) use box_table::BoxTable;
pub(crate) use mode::Mode;
pub(crate) use sink::Sink;

use crate::failure::Failure;

/// How NULL is shown by every mode but JSON, which has a word of its own for it.
const NULL: &str = "NULL";

/// One result on its way to a writer.
pub(crate) trait Printer {
    /// The next rows.
    ///
    /// # Errors
    /// The writer's, or a type that cannot be shown.
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Failure>;

    /// What follows the last row; `out` has everything afterwards.
    ///
    /// # Errors
    /// The writer's.
    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Failure>;
}

/// The printer of `mode` for a result of `schema`. `width` is the terminal's, in columns; `None` is without limit.
pub(crate) fn printer(mode: Mode, schema: SchemaRef, width: Option<usize>) -> Box<dyn Printer> {
    match mode {
        Mode::Box => Box::new(BoxTable::new(schema, width)),
        Mode::Csv => Box::new(csv::Csv::new(schema)),
        Mode::Json => Box::new(json::Json::new(schema)),
        Mode::Markdown => Box::new(markdown::Markdown::new(schema)),
        Mode::Line => Box::new(line::Line::new(schema)),
    }
}

/// The texts of row `row`, `None` for NULL.
pub(crate) fn texts(batch: &RecordBatch, row: usize) -> Result<Vec<Option<String>>, Failure> {
    batch
        .columns()
        .iter()
        .map(|column| hushdb::value_text(column.as_ref(), row).map_err(Failure::from))
        .collect()
}

#[cfg(test)]
mod tests;
