//! Results as text: one printer per mode.
//!
//! Printers take batches as they come. All but two keep nothing: the box keeps the first and the last rows (what it
//! shows), grids keep everything because they must know their widths. Bytes go to the given writer only.

mod box_table;
mod grid;
mod html;
mod insert;
mod json;
mod line;
mod mode;
mod separated;
mod sink;

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

pub(crate) use box_table::BoxTable;
pub(crate) use mode::{Mode, Style};
pub(crate) use sink::Sink;

use crate::failure::Failure;

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

/// Prints nothing.
struct Nothing;

impl Printer for Nothing {
    fn batch(&mut self, _batch: &RecordBatch, _out: &mut dyn Write) -> Result<(), Failure> {
        Ok(())
    }

    fn finish(&mut self, _out: &mut dyn Write) -> Result<(), Failure> {
        Ok(())
    }
}

/// The printer of a mode for a result of `schema`. `width` is the terminal's, in columns; `None` is without limit.
pub(crate) fn printer(style: &Style, schema: SchemaRef, width: Option<usize>) -> Box<dyn Printer> {
    match style.mode {
        Mode::Box => Box::new(BoxTable::new(schema, style, width)),
        Mode::Ascii | Mode::Csv | Mode::List | Mode::Quote | Mode::Tabs | Mode::Tcl => {
            Box::new(separated::Separated::new(&schema, style))
        }
        Mode::Column | Mode::Latex | Mode::Markdown | Mode::Table => {
            Box::new(grid::Grid::new(&schema, style))
        }
        Mode::Html => Box::new(html::Html::new(&schema, style)),
        Mode::Insert => Box::new(insert::Insert::new(&schema, style)),
        Mode::Json | Mode::JsonLines => Box::new(json::Json::new(schema, style)),
        Mode::Line => Box::new(line::Line::new(&schema, style)),
        Mode::Trash => Box::new(Nothing),
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
