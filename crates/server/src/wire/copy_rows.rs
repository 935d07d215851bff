//! Rows of COPY as batches that a table takes: lines of text or CSV are read into columns of text, which the engine reads as literals are.
//!
//! What must hold: an error names the column, never the value.

use super::copy_options::CopyOptions;
use super::copy_text::NotText;
use super::{copy_csv, copy_text, parameter};
use crate::sql_error::SqlError;
use arrow::array::{ArrayRef, BinaryViewBuilder, RecordBatch, StringViewBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// Rows that are added at once.
const BATCH_ROWS: usize = 65_536;
/// Or fewer, of so many bytes.
const BATCH_BYTES: usize = 16 << 20;
/// Rows that have come and were not added yet.
pub(crate) struct Gathered {
    columns: Vec<Gathering>,
    names: Vec<String>,
    rows: usize,
    bytes: usize,
}

enum Gathering {
    Text(StringViewBuilder),
    Bytes(BinaryViewBuilder),
}

impl Gathered {
    pub(crate) fn new(schema: &SchemaRef) -> Self {
        let columns = schema.fields().iter().map(|field| match field.data_type() {
            DataType::BinaryView | DataType::Binary => Gathering::Bytes(BinaryViewBuilder::new()),
            _ => Gathering::Text(StringViewBuilder::new()),
        });
        Self {
            columns: columns.collect(),
            names: schema
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect(),
            rows: 0,
            bytes: 0,
        }
    }

    pub(crate) fn push(&mut self, values: Vec<Option<String>>) -> Result<(), SqlError> {
        let bad = |message: &str| SqlError::new("22P04", message);
        if values.len() < self.columns.len() {
            let missing = self.names.get(values.len()).cloned().unwrap_or_default();
            return Err(bad(&format!("missing data for column \"{missing}\"")));
        }
        if values.len() > self.columns.len() {
            return Err(bad("extra data after last expected column"));
        }
        for ((column, value), name) in self.columns.iter_mut().zip(values).zip(&self.names) {
            self.bytes += 16 + value.as_ref().map_or(0, String::len);
            match (column, value) {
                (Gathering::Text(column), value) => column.append_option(value),
                (Gathering::Bytes(column), None) => column.append_null(),
                (Gathering::Bytes(column), Some(text)) => {
                    let bytes = parameter::bytea(&text);
                    let wrong = || {
                        let message =
                            format!("invalid input syntax for type bytea in column \"{name}\"");
                        SqlError::new("22P02", message)
                    };
                    column.append_value(bytes.ok_or_else(wrong)?);
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    pub(crate) fn take(&mut self) -> Result<RecordBatch, SqlError> {
        (self.rows, self.bytes) = (0, 0);
        let arrays = self.columns.iter_mut().map(|column| -> ArrayRef {
            match column {
                Gathering::Text(column) => Arc::new(column.finish()),
                Gathering::Bytes(column) => Arc::new(column.finish()),
            }
        });
        let arrays: Vec<ArrayRef> = arrays.collect();
        let fields = self.names.iter().zip(&arrays).enumerate();
        // The names of the table's columns may differ in case alone, which those of a batch may not.
        let fields = fields
            .map(|(at, (_, array))| Field::new(format!("c{at}"), array.data_type().clone(), true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        Ok(RecordBatch::try_new(Arc::new(schema), arrays)?)
    }
}

/// How far a COPY has come.
#[derive(Default)]
pub(crate) struct Copied {
    /// The line that was read last, from 1.
    pub(crate) line: u64,
    ended: bool,
}

impl Copied {
    /// Reads a line.
    ///
    /// # Errors
    /// 22021 and 22P04.
    pub(crate) fn line(
        &mut self,
        line: &[u8],
        options: &CopyOptions,
        rows: &mut Gathered,
    ) -> Result<(), SqlError> {
        if self.ended {
            return Ok(());
        }
        self.line += 1;
        if line == b"\\." {
            self.ended = true;
            return Ok(());
        }
        if self.line == 1 && options.header {
            return Ok(());
        }
        let values = match options.csv {
            true => copy_csv::values(line, options),
            false => copy_text::values(line, options),
        };
        let values = values.map_err(|NotText| {
            SqlError::new("22021", "a value is no UTF-8 text, or a quote has no end")
        })?;
        rows.push(values)
    }
}
