//! COPY FROM STDIN and TO STDOUT: rows as text or CSV, in messages that need not be lines.
//!
//! What must hold: all rows of a COPY are added, or none; an error names the line and the column, never the value.

use super::command::Copy;
use super::{End, Fail, Session};
use crate::sql_error::SqlError;
use crate::violation::Violation;
use crate::wire::copy_options::CopyOptions;
use crate::wire::copy_text::{Lines, NotText};
use crate::wire::front::Front;
use crate::wire::row::Rows;
use crate::wire::{copy_csv, copy_text, parameter};
use arrow::array::{ArrayRef, BinaryViewBuilder, RecordBatch, StringViewBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use hushdb::ResultKind;
use std::sync::Arc;

/// Rows that are added at once.
const BATCH_ROWS: usize = 65_536;
/// Or fewer, of so many bytes.
const BATCH_BYTES: usize = 16 << 20;
/// The longest line.
const MOST_LINE: usize = 64 << 20;

/// Rows that have come and were not added yet.
struct Gathered {
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
    fn new(schema: &SchemaRef) -> Self {
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

    fn push(&mut self, values: Vec<Option<String>>) -> Result<(), SqlError> {
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

    fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    fn take(&mut self) -> Result<RecordBatch, SqlError> {
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

/// Names in quotes, as they are.
pub(super) fn quoted(names: &[String]) -> Vec<String> {
    let quote = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
    names.iter().map(quote).collect()
}

impl Session {
    /// The columns of a COPY's table, as SELECT.
    fn copied(&self, copy: &Copy) -> String {
        let columns = match copy.columns.is_empty() {
            true => "*".to_owned(),
            false => quoted(&copy.columns).join(", "),
        };
        format!("SELECT {columns} FROM {}", quoted(&copy.table).join("."))
    }

    /// COPY FROM STDIN; gives the number of rows.
    pub(super) fn copy_in(&mut self, copy: &Copy) -> Result<u64, Fail> {
        let statement = self.connection.prepare(&self.copied(copy))?;
        let schema = statement.describe(&[])?.columns;
        let schema = schema.ok_or_else(|| SqlError::missing("COPY into what is no table"))?;
        self.begin_implicit()?;
        self.talk.out.copy_response(b'G', schema.fields().len());
        let mut gathered = Gathered::new(&schema);
        let mut lines = Lines::default();
        let quote = copy.options.csv.then_some(copy.options.quote);
        let mut state = Copied::default();
        loop {
            let at_end = match self.talk.next().map_err(Fail::End)? {
                Front::CopyData(data) => {
                    lines.push(&data);
                    false
                }
                Front::CopyDone => true,
                Front::CopyFail => {
                    return Err(SqlError::new(
                        "57014",
                        "COPY from stdin failed: the client gave up",
                    )
                    .into());
                }
                Front::Flush | Front::Sync => continue,
                Front::Terminate => return Err(Fail::End(End::Closed)),
                _ => {
                    let violation =
                        Violation::new("unexpected message type during COPY from stdin");
                    return Err(Fail::End(End::Violation(violation)));
                }
            };
            let read = lines.each(quote, at_end, |line| {
                state.line(line, &copy.options, &mut gathered)
            });
            read.map_err(|error| error.with_context(format!("COPY, line {}", state.line)))?;
            if lines.waiting() > MOST_LINE {
                return Err(SqlError::new("54000", "a line of COPY is too long").into());
            }
            if gathered.is_full() || at_end && gathered.rows > 0 {
                state.added += self.add(copy, &mut gathered, state.line)?;
            }
            if at_end {
                return Ok(state.added);
            }
        }
    }

    fn add(&mut self, copy: &Copy, gathered: &mut Gathered, line: u64) -> Result<u64, Fail> {
        let rows = gathered.take()?;
        let first = (line + 1).saturating_sub(rows.num_rows() as u64);
        let added = self.connection.append(&copy.table, &copy.columns, rows);
        let added = added.map_err(|error| {
            SqlError::from(error).with_context(format!("COPY, lines {first} to {line}"))
        })?;
        Ok(added)
    }

    /// COPY TO STDOUT; gives the number of rows.
    pub(super) fn copy_out(&mut self, copy: &Copy) -> Result<u64, Fail> {
        let sql = copy.query.clone().unwrap_or_else(|| self.copied(copy));
        let mut result = self.connection.run(&sql)?;
        if result.kind() != ResultKind::Rows {
            return Err(SqlError::missing("COPY of a statement without rows").into());
        }
        let schema = result.schema();
        let width = schema.fields().len();
        self.talk.out.copy_response(b'H', width);
        let mut line = vec![];
        if copy.options.header {
            let names = schema
                .fields()
                .iter()
                .map(|field| Some(field.name().clone()));
            write(&names.collect::<Vec<_>>(), &copy.options, &mut line);
            self.talk.out.copy_data(&line);
        }
        let mut count = 0;
        for batch in &mut result {
            let rows = Rows::new(&batch?)?;
            for row in 0..rows.len() {
                let values = (0..width).map(|column| rows.text(row, column));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                line.clear();
                write(&values, &copy.options, &mut line);
                self.talk.out.copy_data(&line);
                self.talk.flush_full().map_err(Fail::End)?;
            }
            count += rows.len() as u64;
        }
        self.talk.out.bare(b'c');
        Ok(count)
    }
}

fn write(values: &[Option<String>], options: &CopyOptions, line: &mut Vec<u8>) {
    match options.csv {
        true => copy_csv::write(values, options, line),
        false => copy_text::write(values, options, line),
    }
}

/// How far a COPY has come.
#[derive(Default)]
struct Copied {
    /// The line that was read last, from 1.
    line: u64,
    added: u64,
    ended: bool,
}

impl Copied {
    fn line(
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
