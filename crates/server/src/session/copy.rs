//! COPY FROM STDIN and TO STDOUT: rows as text or CSV, in messages that need not be lines.
//!
//! What must hold: all rows of a COPY are added, or none; an error names the line and the column, never the value.

use super::command::Copy;
use super::execute::heads;
use super::{End, Fail, Session};
use crate::sql_error::SqlError;
use crate::violation::Violation;
use crate::wire::copy_binary::{self, Tuples};
use crate::wire::copy_options::CopyOptions;
use crate::wire::copy_rows::{Copied, Gathered};
use crate::wire::copy_text::Lines;
use crate::wire::front::{Formats, Front};
use crate::wire::row::Rows;
use crate::wire::{copy_csv, copy_text};
use hushdb::ResultKind;

/// The longest line.
const MOST_LINE: usize = 64 << 20;

impl Session {
    /// COPY FROM STDIN; gives the number of rows.
    pub(super) fn copy_in(&mut self, copy: &Copy) -> Result<u64, Fail> {
        let statement = self.connection.prepare(&self.select_of(copy))?;
        let schema = statement.describe(&[])?.columns;
        let schema = schema.ok_or_else(|| SqlError::missing("COPY into what is no table"))?;
        self.begin_implicit()?;
        let binary = copy.options.binary;
        let mut gathered = match binary {
            true => Gathered::binary(&schema)?,
            false => Gathered::new(&schema),
        };
        self.talk
            .out
            .copy_response(b'G', schema.fields().len(), binary);
        let types: Vec<u32> = heads(&schema).iter().map(|head| head.oid).collect();
        let mut tuples = Tuples::default();
        let mut lines = Lines::default();
        let quote = copy.options.csv.then_some(copy.options.quote);
        let (mut state, mut added) = (Copied::default(), 0);
        self.talk.wait_at_most(None);
        loop {
            let at_end = match self.talk.next().map_err(Fail::End)? {
                Front::CopyData(data) => {
                    match binary {
                        true => tuples.push(&data)?,
                        false => lines.push(&data),
                    }
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
            let read = match binary {
                true => tuples_into(&mut tuples, &types, at_end, &mut state, &mut gathered),
                false => lines.each(quote, at_end, |line| {
                    state.line(line, &copy.options, &mut gathered)
                }),
            };
            read.map_err(|error| error.with_context(format!("COPY, line {}", state.line)))?;
            if lines.waiting() > MOST_LINE {
                return Err(SqlError::new("54000", "a line of COPY is too long").into());
            }
            if gathered.is_full() || at_end && gathered.rows() > 0 {
                added += self.add(copy, &mut gathered, state.line)?;
            }
            if at_end {
                return Ok(added);
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

    /// The columns of a COPY, as SELECT: all that are not generated, where none are named.
    fn select_of(&self, copy: &Copy) -> String {
        match self.connection.given_columns(&copy.table) {
            Some(columns) if copy.columns.is_empty() => {
                let copy = copy.clone();
                Copy { columns, ..copy }.select()
            }
            _ => copy.select(),
        }
    }

    /// COPY TO STDOUT; gives the number of rows.
    pub(super) fn copy_out(&mut self, copy: &Copy) -> Result<u64, Fail> {
        let query = copy.query.clone();
        let sql = query.unwrap_or_else(|| self.select_of(copy));
        let mut result = self.connection.run(&sql)?;
        if result.kind() != ResultKind::Rows {
            return Err(SqlError::missing("COPY of a statement without rows").into());
        }
        let schema = result.schema();
        let width = schema.fields().len();
        let binary = copy.options.binary;
        self.talk.out.copy_response(b'H', width, binary);
        if binary {
            self.talk.out.copy_data(&copy_binary::header());
        }
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
                if binary {
                    line.clear();
                    rows.write(row, &Formats::binary(), &mut line)?;
                    self.talk.out.copy_data(&line);
                    self.talk.flush_full().map_err(Fail::End)?;
                    continue;
                }
                let values = (0..width).map(|column| rows.text(row, column));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                line.clear();
                write(&values, &copy.options, &mut line);
                self.talk.out.copy_data(&line);
                self.talk.flush_full().map_err(Fail::End)?;
            }
            count += rows.len() as u64;
        }
        if binary {
            self.talk.out.copy_data(&copy_binary::TRAILER);
        }
        self.talk.out.bare(b'c');
        Ok(count)
    }
}

/// Adds the rows in binary that are whole.
fn tuples_into(
    tuples: &mut Tuples,
    types: &[u32],
    at_end: bool,
    state: &mut Copied,
    rows: &mut Gathered,
) -> Result<(), SqlError> {
    while let Some(values) = tuples.next(types)? {
        state.line += 1;
        rows.push_values(values)?;
    }
    match at_end {
        true => tuples.end(),
        false => Ok(()),
    }
}

fn write(values: &[Option<String>], options: &CopyOptions, line: &mut Vec<u8>) {
    match options.csv {
        true => copy_csv::write(values, options, line),
        false => copy_text::write(values, options, line),
    }
}
