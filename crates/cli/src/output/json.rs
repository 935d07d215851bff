//! One JSON array, an object a row; or objects alone, a line each.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{Mode, Printer, Style};
use crate::failure::Failure;
use hushdb::{json_string, json_value};

pub(super) struct Json {
    schema: SchemaRef,
    /// Without the array around them.
    lines: bool,
    rows: u64,
}

impl Json {
    pub(super) fn new(schema: SchemaRef, style: &Style) -> Self {
        Self {
            schema,
            lines: style.mode == Mode::JsonLines,
            rows: 0,
        }
    }
}

impl Printer for Json {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Failure> {
        for row in 0..batch.num_rows() {
            let mut members = Vec::with_capacity(batch.num_columns());
            for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
                members.push(format!(
                    "{}:{}",
                    json_string(field.name()),
                    json_value(column.as_ref(), row)?
                ));
            }
            let lead = match (self.lines, self.rows) {
                (true, 0) => "",
                (true, _) => "\n",
                (false, 0) => "[",
                (false, _) => ",\n",
            };
            write!(out, "{lead}{{{}}}", members.join(","))?;
            self.rows += 1;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        let end = match (self.lines, self.rows) {
            (true, 0) => "",
            (true, _) => "\n",
            (false, 0) => "[]\n",
            (false, _) => "]\n",
        };
        Ok(write!(out, "{end}")?)
    }
}
