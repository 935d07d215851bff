//! One JSON array, an object a row.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::Printer;
use crate::failure::Failure;
use hushdb::{json_string, json_value};

pub(super) struct Json {
    schema: SchemaRef,
    rows: u64,
}

impl Json {
    pub(super) fn new(schema: SchemaRef) -> Self {
        Self { schema, rows: 0 }
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
            let lead = if self.rows == 0 { "[" } else { ",\n" };
            write!(out, "{lead}{{{}}}", members.join(","))?;
            self.rows += 1;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        writeln!(out, "{}", if self.rows == 0 { "[]" } else { "]" })?;
        Ok(())
    }
}
