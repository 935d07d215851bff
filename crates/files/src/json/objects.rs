//! The records of a JSON file as they are written, a text each: `read_json_objects`.
//!
//! What must hold: each text is JSON. A record is in memory as a whole, and so no longer than [`MAX_BYTES`].

use datafusion::arrow::array::{ArrayRef, StringViewBuilder};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use serde::de::IgnoredAny;
use std::io::{BufRead, Error, ErrorKind};
use std::sync::Arc;

/// Bytes of a record at most, as DuckDB has it.
const MAX_BYTES: usize = 16 << 20;
/// Bytes of texts in a batch, and records.
const BATCH_BYTES: usize = 4 << 20;
const BATCH: usize = 8192;

/// Reads batches of one column of texts.
pub(super) struct Objects<R> {
    input: R,
    schema: SchemaRef,
    record: Vec<u8>,
    is_done: bool,
}

impl<R: BufRead> Objects<R> {
    pub(super) fn new(input: R, schema: SchemaRef) -> Self {
        Self {
            input,
            schema,
            record: vec![],
            is_done: false,
        }
    }

    /// Takes the next record in; `false` behind the last.
    fn record(&mut self) -> Result<bool, Error> {
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
                if is_blank && !in_text && depth == 0 {
                    match is_first {
                        true => continue,
                        false => ended = Some(at),
                    }
                    break;
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

    fn batch(&mut self) -> Result<Option<RecordBatch>, serde_json::Error> {
        let mut texts = StringViewBuilder::new();
        let (mut rows, mut bytes) = (0, 0);
        while rows < BATCH && bytes < BATCH_BYTES && !self.is_done {
            if !self.record().map_err(serde_json::Error::io)? {
                self.is_done = true;
                break;
            }
            serde_json::from_slice::<IgnoredAny>(&self.record)?;
            let text = str::from_utf8(&self.record).map_err(|error| {
                serde_json::Error::io(Error::new(ErrorKind::InvalidData, error))
            })?;
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
