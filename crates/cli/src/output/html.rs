//! The rows of an HTML table, for a page to put around them what it likes.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{Printer, Style, texts};
use crate::failure::Failure;

pub(super) struct Html {
    /// The row of names, until it is printed.
    header: Option<Vec<String>>,
    null: String,
}

impl Html {
    pub(super) fn new(schema: &SchemaRef, style: &Style) -> Self {
        let names = schema.fields().iter().map(|field| field.name().clone());
        Self {
            header: style.headers.then(|| names.collect()),
            null: style.null.clone(),
        }
    }

    fn begin(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        match self.header.take() {
            Some(names) => row("th", names.into_iter(), out),
            None => Ok(()),
        }
    }
}

impl Printer for Html {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Failure> {
        self.begin(out)?;
        for at in 0..batch.num_rows() {
            let texts = texts(batch, at)?.into_iter();
            let texts = texts.map(|text| text.unwrap_or_else(|| self.null.clone()));
            row("td", texts, out)?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        self.begin(out)
    }
}

fn row(tag: &str, texts: impl Iterator<Item = String>, out: &mut dyn Write) -> Result<(), Failure> {
    write!(out, "<tr>")?;
    for text in texts {
        writeln!(out, "<{tag}>{}</{tag}>", escaped(&text))?;
    }
    Ok(writeln!(out, "</tr>")?)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
