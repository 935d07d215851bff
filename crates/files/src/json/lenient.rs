//! Records of a file of which those that do not read are left out: with `ignore_errors`, what does not fit its column is NULL, and so
//! is all of a line that is no JSON.
//!
//! What must hold: a line is left out only if what is wrong ends with it; of a file whose records are no lines, none is.

use super::objects::{Apart, too_long};
use super::options::{Layout, RecordForm};
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, SchemaRef};
use datafusion::common::DataFusionError;
use hushdb_query::functions::{MomentPlaces, json_records};
use hushdb_storage::check_interrupt;
use serde::de::IgnoredAny;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read};
use std::sync::Arc;

/// Bytes of records in a batch, and records.
const BATCH_BYTES: usize = 4 << 20;
const BATCH: usize = 8192;
/// Lines behind one that is not complete that are looked at for its end, and their bytes.
const LINES_AHEAD: usize = 64;
const BYTES_AHEAD: usize = 1 << 20;
/// Brackets within one another.
const MAX_DEPTH: usize = 127;

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

/// The records of a file, one by one.
pub(super) enum Taken<R> {
    /// One behind the other.
    Apart(Apart<R>),
    /// A record a line, of which one that does not read is left out.
    Lines(Lines<R>),
}

impl<R: BufRead> Taken<R> {
    /// Takes the next record; `false` behind the last.
    pub(super) fn next(&mut self) -> Result<bool, Error> {
        match self {
            Self::Apart(records) => records.next(),
            Self::Lines(lines) => lines.next(),
        }
    }

    /// The record that was taken; `None` if it is left out.
    pub(super) fn text(&self) -> Result<Option<&str>, Error> {
        match self {
            Self::Apart(records) => records.text().map(Some),
            Self::Lines(lines) => Ok(str::from_utf8(&lines.line).ok()),
        }
    }

    /// Whether records that do not read are left out.
    pub(super) fn leaves_out(&self) -> bool {
        matches!(self, Self::Lines(_))
    }

    /// The line that the record begins in, from 1.
    pub(super) fn line(&self) -> u64 {
        match self {
            Self::Apart(records) => records.line,
            Self::Lines(lines) => lines.number,
        }
    }
}

/// Lines that are not empty.
pub(super) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
    most_bytes: usize,
    /// Lines that were read ahead.
    ahead: VecDeque<Vec<u8>>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R, most_bytes: usize) -> Self {
        Self {
            input,
            line: vec![],
            number: 0,
            most_bytes,
            ahead: VecDeque::new(),
        }
    }

    fn next(&mut self) -> Result<bool, Error> {
        loop {
            let line = match self.ahead.pop_front() {
                None => self.read()?,
                line => line,
            };
            let Some(line) = line else {
                return Ok(false);
            };
            self.number += 1;
            self.line = line.trim_ascii().to_vec();
            if !self.line.is_empty() {
                break;
            }
        }
        let brackets = self.line.iter().filter(|byte| matches!(byte, b'[' | b'{'));
        if brackets.count() > MAX_DEPTH && is_deep(&self.line) {
            return Err(wrong("values are nested too deep"));
        }
        self.check_end()?;
        Ok(true)
    }

    /// The next line, without its end.
    fn read(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let mut line = vec![];
        let most = self.most_bytes as u64 + 1;
        self.input
            .by_ref()
            .take(most)
            .read_until(b'\n', &mut line)?;
        match line.len() {
            0 => Ok(None),
            length if length > self.most_bytes => Err(too_long()),
            _ => Ok(Some(line)),
        }
    }

    /// A line that goes on in the next ones is no line that could be left out.
    fn check_end(&mut self) -> Result<(), Error> {
        let mut text = self.line.clone();
        let mut place = 0;
        while is_open(&text) {
            if place == self.ahead.len() {
                match self.read()? {
                    Some(line) => self.ahead.push_back(line),
                    None => return Ok(()),
                }
            }
            text.push(b'\n');
            text.extend(self.ahead.get(place).into_iter().flatten());
            place += 1;
            if place > LINES_AHEAD || text.len() > self.line.len() + BYTES_AHEAD {
                return Err(wrong("a record has no end in its line"));
            }
        }
        // Its value may end before the end of a line.
        let mut values = serde_json::Deserializer::from_slice(&text).into_iter::<IgnoredAny>();
        match place > 0 && matches!(values.next(), Some(Ok(_))) {
            true => Err(wrong("a record goes on in the next line")),
            false => Ok(()),
        }
    }
}

/// Whether text ends before its first value does.
fn is_open(text: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    matches!(values.next(), Some(Err(error)) if error.is_eof())
}

fn is_deep(line: &[u8]) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    line.iter().any(|byte| {
        let was_escaped = std::mem::take(&mut escaped);
        match byte {
            b'\\' if in_text => escaped = !was_escaped,
            b'"' if !was_escaped => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

/// Whether a file has a record a line, as far as its first line tells.
fn has_lines(input: impl Read, most_bytes: usize) -> Result<bool, Error> {
    let mut input = BufReader::new(input);
    let mut line = vec![];
    let most = most_bytes as u64;
    input.by_ref().take(most).read_until(b'\n', &mut line)?;
    let is_whole = line.last() == Some(&b'\n');
    if !is_whole || serde_json::from_slice::<IgnoredAny>(&line).is_err() {
        return Ok(false);
    }
    if line.trim_ascii_start().first() != Some(&b'[') {
        return Ok(true);
    }
    // One array and no more is an array of records.
    loop {
        let bytes = input.fill_buf()?;
        let length = bytes.len();
        if length == 0 || !bytes.trim_ascii().is_empty() {
            return Ok(length > 0);
        }
        input.consume(length);
    }
}

impl Layout {
    /// The same of a file whose first line tells that each record is one.
    pub(super) fn of_file(self, file: impl Read) -> Result<Self, Error> {
        let has_lines = has_lines(file, self.most_bytes)?;
        let form = match has_lines {
            true => RecordForm::Lines,
            false => self.form,
        };
        Ok(Self { form, ..self })
    }

    /// Whether records that do not read are left out, for which each must be a line.
    pub(super) fn leaves_lines_out(self) -> bool {
        self.ignores_errors && self.form == RecordForm::Lines
    }
}

/// Reads batches of records.
pub(super) struct Batches<R> {
    records: Taken<R>,
    schema: SchemaRef,
    forms: MomentPlaces,
    /// A record is the value of the one column.
    as_value: bool,
    is_done: bool,
}

impl<R: BufRead> Batches<R> {
    pub(super) fn new(
        records: Taken<R>,
        schema: SchemaRef,
        forms: MomentPlaces,
        as_value: bool,
    ) -> Self {
        Self {
            records,
            schema,
            forms,
            as_value,
            is_done: false,
        }
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>, DataFusionError> {
        let mut texts = StringViewBuilder::new();
        let (mut rows, mut bytes) = (0, 0);
        while rows < BATCH && bytes < BATCH_BYTES {
            check_interrupt().map_err(hushdb_sql::Error::from)?;
            if !self.records.next()? {
                self.is_done = true;
                break;
            }
            let text = self.records.text()?;
            if let Some(text) = text.filter(|_| !self.records.leaves_out()) {
                let read = serde_json::from_str::<IgnoredAny>(text);
                read.map_err(|error| malformed_here(&error, self.records.line()))?;
            }
            texts.append_option(text);
            bytes += text.map_or(0, str::len);
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let field: FieldRef = match (self.as_value, self.schema.fields().first()) {
            (true, Some(only)) => Arc::clone(only),
            _ => {
                let all = DataType::Struct(self.schema.fields().clone());
                Arc::new(Field::new("", all, true))
            }
        };
        let forms = match self.as_value {
            true => self.forms.of_member(field.name()),
            false => &self.forms,
        };
        let values = json_records(&texts.finish(), &field, forms)?;
        let columns: Vec<ArrayRef> = match self.as_value {
            true => vec![values],
            false => values.as_struct().columns().to_vec(),
        };
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        Ok(Some(batch))
    }
}

/// What is wrong in a file whose records are no lines.
fn malformed_here(error: &serde_json::Error, line: u64) -> Error {
    let what = place_of(error, line);
    let what =
        format!("{what}; what does not read is left out of files with a record a line alone");
    Error::new(ErrorKind::InvalidData, what)
}

/// What is wrong with a record, and the line in the file.
pub(super) fn place_of(error: &serde_json::Error, line: u64) -> String {
    let what = error.to_string();
    let what = what.split(" at line ").next().unwrap_or_default();
    let line = line + (error.line() as u64).saturating_sub(1);
    format!("{what} at line {line}")
}

impl<R: BufRead> Iterator for Batches<R> {
    type Item = Result<RecordBatch, DataFusionError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let batch = self.batch();
        self.is_done |= batch.is_err();
        batch.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Result<Vec<(u64, String)>, Error> {
        let mut taken = Taken::Lines(Lines::new(
            BufReader::with_capacity(5, text.as_bytes()),
            1000,
        ));
        let mut all = vec![];
        while taken.next()? {
            let line = taken.text()?.unwrap_or("none");
            all.push((taken.line(), line.to_owned()));
        }
        Ok(all)
    }

    #[test]
    fn lines_are_taken_one_by_one() {
        let expected = [(1, "{\"a\":1}"), (4, "{bad"), (5, "{\"a\":2")];
        let expected = expected.map(|(at, line)| (at, line.to_owned()));
        assert_eq!(
            lines("{\"a\":1}\n\n \n {bad\r\n{\"a\":2").unwrap(),
            expected
        );
        assert!(lines("").unwrap().is_empty());
    }

    #[test]
    fn a_record_that_goes_on_in_the_next_line_is_refused() {
        assert!(lines("{\"a\":\n1}\n").is_err());
        assert!(lines("[1,\n\n2] x\n").is_err());
        assert!(lines("{\"a\":2\n{\"a\":3}\n").is_ok());
        assert!(lines("{\"a\":\n").is_ok());
        assert!(lines(&format!("[1,\n{}", "1,\n".repeat(100))).is_err());
        assert!(lines(&"[".repeat(128)).is_err());
        assert!(lines(&format!("\"{}\"", "[".repeat(128))).is_ok());
    }

    #[test]
    fn the_first_line_tells_whether_records_are_lines() {
        let is = |text: &str| has_lines(text.as_bytes(), 1000).unwrap();
        for text in ["{\"a\":1}\n{bad", "1\n2\n", "[1]\n[2]\n"] {
            assert!(is(text), "{text}");
        }
        for text in [
            "",
            "{bad\n{}\n",
            "{\n}\n{}\n",
            "[1]\n \n",
            "[\n1]",
            "{}",
            "\n{}\n",
            "{}{}\n{}\n",
        ] {
            assert!(!is(text), "{text}");
        }
    }
}
