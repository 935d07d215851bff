//! A Markdown table: pipes in values are escaped, line breaks become `<br>`, numbers are marked right-aligned.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use unicode_width::UnicodeWidthStr;

use super::{NULL, Printer, texts};
use crate::failure::Failure;

pub(super) struct Markdown {
    schema: SchemaRef,
    rows: Vec<Vec<String>>,
}

impl Markdown {
    pub(super) fn new(schema: SchemaRef) -> Self {
        let names = schema
            .fields()
            .iter()
            .map(|field| escaped(field.name()))
            .collect();
        Self {
            schema,
            rows: vec![names],
        }
    }
}

impl Printer for Markdown {
    fn batch(&mut self, batch: &RecordBatch, _out: &mut dyn Write) -> Result<(), Failure> {
        for row in 0..batch.num_rows() {
            let texts = texts(batch, row)?.into_iter();
            self.rows.push(
                texts
                    .map(|text| text.map_or_else(|| NULL.to_owned(), |text| escaped(&text)))
                    .collect(),
            );
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        let mut widths = vec![0; self.schema.fields().len()];
        for row in &self.rows {
            for (width, text) in widths.iter_mut().zip(row) {
                *width = text.width().max(*width);
            }
        }
        for (index, row) in self.rows.iter().enumerate() {
            let padded = row.iter().zip(&widths).map(|(text, width)| {
                let space = width - text.width();
                let before = if index == 0 { space / 2 } else { 0 };
                format!("{}{text}{}", " ".repeat(before), " ".repeat(space - before))
            });
            writeln!(out, "| {} |", padded.collect::<Vec<_>>().join(" | "))?;
            if index == 0 {
                let rules = self
                    .schema
                    .fields()
                    .iter()
                    .zip(&widths)
                    .map(|(field, width)| {
                        let numeric = field.data_type().is_numeric();
                        if numeric {
                            format!("{}:", "-".repeat(width + 1))
                        } else {
                            "-".repeat(width + 2)
                        }
                    });
                writeln!(out, "|{}|", rules.collect::<Vec<_>>().join("|"))?;
            }
        }
        Ok(())
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
        .replace("\r\n", "<br>")
        .replace('\n', "<br>")
}
