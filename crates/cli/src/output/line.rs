//! One `column = value` a line, names right-aligned, an empty line between rows: for wide rows.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use unicode_width::UnicodeWidthStr;

use super::{Printer, Style, texts};
use crate::failure::Failure;

pub(super) struct Line {
    names: Vec<String>,
    null: String,
    rows: u64,
}

impl Line {
    pub(super) fn new(schema: &SchemaRef, style: &Style) -> Self {
        let width = schema
            .fields()
            .iter()
            .map(|field| field.name().width())
            .max()
            .unwrap_or(0)
            .max(5);
        let names = schema.fields().iter().map(|field| {
            let name = field.name();
            format!("{}{name}", " ".repeat(width - name.width().min(width)))
        });
        Self {
            names: names.collect(),
            null: style.null.clone(),
            rows: 0,
        }
    }
}

impl Printer for Line {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Failure> {
        for row in 0..batch.num_rows() {
            if self.rows > 0 {
                writeln!(out)?;
            }
            self.rows += 1;
            for (name, text) in self.names.iter().zip(texts(batch, row)?) {
                writeln!(out, "{name} = {}", text.as_ref().unwrap_or(&self.null))?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, _out: &mut dyn Write) -> Result<(), Failure> {
        Ok(())
    }
}
