//! Values with something between them, a row behind the other: CSV (RFC 4180), lists, tabs, ASCII's separators, strings of Tcl, and SQL's
//! literals.
//!
//! In CSV a text is quoted when it holds a comma, a quote or a line break, when it is empty, and when it could be taken for
//! NULL; so NULL, the empty text and the text "NULL" stay three different things.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::insert::{is_plain, literal};
use super::{Mode, Printer, Style, texts};
use crate::failure::Failure;

/// How a value is written.
#[derive(Clone, Copy)]
enum Cells {
    Bare,
    Csv,
    Tcl,
    Sql,
}

pub(super) struct Separated {
    /// The line of names, until it is printed.
    header: Option<Vec<String>>,
    /// Columns whose values are literals without quotes.
    plain: Vec<bool>,
    cells: Cells,
    between: String,
    end: String,
    null: String,
}

impl Separated {
    pub(super) fn new(schema: &SchemaRef, style: &Style) -> Self {
        let (cells, between, end) = match style.mode {
            Mode::Csv => (Cells::Csv, ",", "\n"),
            Mode::Tabs => (Cells::Bare, "\t", "\n"),
            Mode::Ascii => (Cells::Bare, "\u{1f}", "\u{1e}"),
            Mode::Tcl => (Cells::Tcl, " ", "\n"),
            Mode::Quote => (Cells::Sql, ",", "\n"),
            _ => (Cells::Bare, "|", "\n"),
        };
        let fields = schema.fields().iter();
        let mut printer = Self {
            header: None,
            plain: fields.clone().map(|field| is_plain(field)).collect(),
            cells,
            between: style.between.clone().unwrap_or_else(|| between.to_owned()),
            end: style.end.clone().unwrap_or_else(|| end.to_owned()),
            null: style.null.clone(),
        };
        let names = fields.map(|field| printer.cell(Some(field.name()), false));
        let names: Vec<String> = names.collect();
        printer.header = style.headers.then_some(names);
        printer
    }

    fn cell(&self, text: Option<&str>, is_plain: bool) -> String {
        match (self.cells, text) {
            (Cells::Sql, text) => literal(text, is_plain),
            (Cells::Tcl, text) => {
                let text = text.unwrap_or(&self.null);
                let text = text.replace('\\', "\\\\").replace('"', "\\\"");
                let text = text.replace('\n', "\\n").replace('\r', "\\r");
                format!("\"{}\"", text.replace('\t', "\\t"))
            }
            (_, None) => self.null.clone(),
            (Cells::Csv, Some(text)) => self.quoted(text),
            (Cells::Bare, Some(text)) => text.to_owned(),
        }
    }

    fn quoted(&self, text: &str) -> String {
        let is_apart = !self.between.is_empty() && text.contains(&self.between);
        let is_taken = text.is_empty() || text == self.null || is_apart;
        match is_taken || text.contains(['"', '\n', '\r']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_owned(),
        }
    }

    fn row(&self, cells: &[String], out: &mut dyn Write) -> Result<(), Failure> {
        Ok(write!(out, "{}{}", cells.join(&self.between), self.end)?)
    }

    fn begin(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        match self.header.take() {
            Some(names) => self.row(&names, out),
            None => Ok(()),
        }
    }
}

impl Printer for Separated {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Failure> {
        self.begin(out)?;
        for row in 0..batch.num_rows() {
            let texts = texts(batch, row)?;
            let cells = texts.iter().zip(&self.plain);
            let cells = cells.map(|(text, plain)| self.cell(text.as_deref(), *plain));
            self.row(&cells.collect::<Vec<_>>(), out)?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        self.begin(out)
    }
}
