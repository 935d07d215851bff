//! Comma-separated values (RFC 4180): a header row, then one line a row.
//!
//! A text is quoted when it holds a comma, a quote or a line break, when it is empty, and when it could be taken for
//! NULL; so NULL, the empty text and the text "NULL" stay three different things.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{NULL, Printer, texts};
use crate::failure::Failure;

pub(super) struct Csv {
    schema: SchemaRef,
    header_printed: bool,
}

impl Csv {
    pub(super) fn new(schema: SchemaRef) -> Self {
        Self {
            schema,
            header_printed: false,
        }
    }

    fn header(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        if !self.header_printed {
            self.header_printed = true;
            let names = self
                .schema
                .fields()
                .iter()
                .map(|field| quoted(field.name()));
            writeln!(out, "{}", names.collect::<Vec<_>>().join(","))?;
        }
        Ok(())
    }
}

impl Printer for Csv {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Failure> {
        self.header(out)?;
        for row in 0..batch.num_rows() {
            let line: Vec<String> = texts(batch, row)?
                .into_iter()
                .map(|text| text.map_or_else(|| NULL.to_owned(), |text| quoted(&text)))
                .collect();
            writeln!(out, "{}", line.join(","))?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        self.header(out)
    }
}

fn quoted(text: &str) -> String {
    if text.is_empty() || text == NULL || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
