//! COPY FROM STDIN and TO STDOUT: rows as text or CSV, in messages that need not be lines.
//!
//! What must hold: all rows of a COPY are added, or none; an error names the line and the column, never the value.

use super::command::Copy;
use super::{End, Fail, Session};
use crate::sql_error::SqlError;
use crate::violation::Violation;
use crate::wire::copy_options::CopyOptions;
use crate::wire::copy_rows::{Copied, Gathered};
use crate::wire::copy_text::Lines;
use crate::wire::front::Front;
use crate::wire::row::Rows;
use crate::wire::{copy_csv, copy_text};
use hushdb::ResultKind;

/// The longest line.
const MOST_LINE: usize = 64 << 20;

impl Session {
    /// COPY FROM STDIN; gives the number of rows.
    pub(super) fn copy_in(&mut self, copy: &Copy) -> Result<u64, Fail> {
        let statement = self.connection.prepare(&copy.select())?;
        let schema = statement.describe(&[])?.columns;
        let schema = schema.ok_or_else(|| SqlError::missing("COPY into what is no table"))?;
        self.begin_implicit()?;
        self.talk.out.copy_response(b'G', schema.fields().len());
        let mut gathered = Gathered::new(&schema);
        let mut lines = Lines::default();
        let quote = copy.options.csv.then_some(copy.options.quote);
        let (mut state, mut added) = (Copied::default(), 0);
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

    /// COPY TO STDOUT; gives the number of rows.
    pub(super) fn copy_out(&mut self, copy: &Copy) -> Result<u64, Fail> {
        let sql = copy.query.clone().unwrap_or_else(|| copy.select());
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
