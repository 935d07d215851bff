//! The records of a JSON file as they are written: a text each for `read_json_objects`, or with texts in the place of what is kept as JSON.
//!
//! What must hold: each text is JSON. A record is in memory as a whole, and so no longer than [`MAX_BYTES`].

use datafusion::arrow::array::{ArrayRef, StringViewBuilder};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use hushdb_query::functions::{JsonPlaces, with_json_texts};
use serde::de::IgnoredAny;
use std::io::{BufRead, Error, ErrorKind, Read};
use std::sync::Arc;

/// Bytes of a record at most, as DuckDB has it.
const MAX_BYTES: usize = 16 << 20;
/// Bytes of texts in a batch, and records.
const BATCH_BYTES: usize = 4 << 20;
const BATCH: usize = 8192;

/// What the column is called of records that are no objects.
pub(super) const MEMBER: &str = "json";

/// Takes a file's records apart.
pub(super) struct Apart<R> {
    input: R,
    /// Each is the one member of an object.
    as_member: bool,
    record: Vec<u8>,
    /// The line that the record begins in, from 1.
    pub(super) line: u64,
    /// Lines that ended.
    ended: u64,
}

impl<R: BufRead> Apart<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            as_member: false,
            record: vec![],
            line: 0,
            ended: 0,
        }
    }

    /// The same with each record as the member [`MEMBER`] of an object.
    pub(super) fn with_members(self, as_member: bool) -> Self {
        Self { as_member, ..self }
    }

    /// Takes the next record in; `false` behind the last.
    pub(super) fn next(&mut self) -> Result<bool, Error> {
        let is_there = self.take()?;
        if is_there && self.as_member {
            let before = format!("{{\"{MEMBER}\":");
            self.record.splice(0..0, before.into_bytes());
            self.record.push(b'}');
        }
        Ok(is_there)
    }

    fn take(&mut self) -> Result<bool, Error> {
        self.record.clear();
        let (mut depth, mut in_text, mut escaped) = (0_u64, false, false);
        loop {
            let bytes = self.input.fill_buf()?;
            if bytes.is_empty() {
                return Ok(!self.record.is_empty());
            }
            let mut ended = None;
            for (at, byte) in bytes.iter().enumerate() {
                let is_first = self.record.is_empty();
                let is_blank = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
                if is_blank && !in_text && depth == 0 && !is_first {
                    ended = Some(at);
                    break;
                }
                self.ended += u64::from(*byte == b'\n');
                if is_blank && is_first {
                    continue;
                }
                if is_first {
                    self.line = self.ended + 1;
                }
                self.record.push(*byte);
                let was_escaped = std::mem::take(&mut escaped);
                match byte {
                    b'\\' if in_text => escaped = !was_escaped,
                    b'"' if !was_escaped => in_text = !in_text,
                    b'{' | b'[' if !in_text => depth += 1,
                    b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
                    _ => continue,
                }
                if depth == 0 && !in_text {
                    ended = Some(at + 1);
                    break;
                }
            }
            let used = ended.unwrap_or(bytes.len());
            self.input.consume(used);
            if ended.is_some() {
                return Ok(true);
            }
            if self.record.len() > MAX_BYTES {
                let what = "a record is longer than 16 MiB";
                return Err(Error::new(ErrorKind::InvalidData, what));
            }
        }
    }

    /// The record that was taken in.
    pub(super) fn text(&self) -> Result<&str, Error> {
        let text = str::from_utf8(&self.record);
        text.map_err(|error| Error::new(ErrorKind::InvalidData, error))
    }
}

/// A file whose values at some places are read as texts of JSON.
pub(super) struct WithTexts<R> {
    records: Apart<R>,
    places: JsonPlaces,
    /// A record that is read.
    text: String,
    /// So much of it was.
    read: usize,
}

impl<R: BufRead> WithTexts<R> {
    pub(super) fn new(records: Apart<R>, places: JsonPlaces) -> Self {
        Self {
            records,
            places,
            text: String::new(),
            read: 0,
        }
    }

    fn next(&mut self) -> Result<bool, Error> {
        self.text.clear();
        self.read = 0;
        if !self.records.next()? {
            return Ok(false);
        }
        let done = with_json_texts(self.records.text()?, &self.places, &mut self.text);
        done.map_err(|error| Error::new(ErrorKind::InvalidData, error.to_string()))?;
        self.text.push('\n');
        Ok(true)
    }
}

impl<R: BufRead> Read for WithTexts<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        if self.read == self.text.len() && !self.next()? {
            return Ok(0);
        }
        let mut rest = self.text.as_bytes().get(self.read..).unwrap_or_default();
        let read = rest.read(into)?;
        self.read += read;
        Ok(read)
    }
}

/// Reads batches of one column of texts.
pub(super) struct Objects<R> {
    records: Apart<R>,
    schema: SchemaRef,
    is_done: bool,
}

impl<R: BufRead> Objects<R> {
    pub(super) fn new(input: R, schema: SchemaRef) -> Self {
        Self {
            records: Apart::new(input),
            schema,
            is_done: false,
        }
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>, serde_json::Error> {
        let mut texts = StringViewBuilder::new();
        let (mut rows, mut bytes) = (0, 0);
        while rows < BATCH && bytes < BATCH_BYTES && !self.is_done {
            if !self.records.next().map_err(serde_json::Error::io)? {
                self.is_done = true;
                break;
            }
            serde_json::from_slice::<IgnoredAny>(&self.records.record)?;
            let text = self.records.text().map_err(serde_json::Error::io)?;
            texts.append_value(text);
            bytes += text.len();
            rows += 1;
        }
        let texts: ArrayRef = Arc::new(texts.finish());
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![texts]);
        let batch = batch.map_err(|error| serde_json::Error::io(Error::other(error)))?;
        Ok((rows > 0).then_some(batch))
    }
}

impl<R: BufRead> Iterator for Objects<R> {
    type Item = Result<RecordBatch, serde_json::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batch();
        self.is_done |= batch.is_err();
        batch.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::AsArray;
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use std::io::BufReader;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let field = Field::new("json", DataType::Utf8View, true);
        let schema = Arc::new(Schema::new(vec![field]));
        let mut all = vec![];
        for batch in Objects::new(BufReader::with_capacity(3, text.as_bytes()), schema) {
            let batch = batch.map_err(|error| error.to_string())?;
            let texts = batch.column(0).as_string_view().iter();
            all.extend(texts.flatten().map(str::to_string));
        }
        Ok(all)
    }

    #[test]
    fn records_are_as_they_are_written() {
        let text = " {\"a\": \"}\\\"{\"}\n{ \"b\" : [1, {}] }[2] 3\n\"x y\" null\n";
        let expected = [
            "{\"a\": \"}\\\"{\"}",
            "{ \"b\" : [1, {}] }",
            "[2]",
            "3",
            "\"x y\"",
            "null",
        ];
        assert_eq!(read(text).unwrap(), expected);
        assert!(read("").unwrap().is_empty());
        for bad in ["{", "{\"a\"", "nul", "}", "{]}", "\"a"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
