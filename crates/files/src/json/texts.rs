//! The records of a JSON file as they are written, a text each, for `read_json_objects`.
//!
//! What must hold: each text is JSON, or NULL where records that are none are left out.

use super::lenient::Taken;
use datafusion::arrow::array::{ArrayRef, StringViewBuilder};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use serde::de::IgnoredAny;
use std::io::{BufRead, Error};
use std::sync::Arc;

/// Bytes of texts in a batch, and records.
const BATCH_BYTES: usize = 4 << 20;
const BATCH: usize = 8192;

/// Reads batches of one column of texts.
pub(super) struct Objects<R> {
    records: Taken<R>,
    schema: SchemaRef,
    is_done: bool,
}

impl<R: BufRead> Objects<R> {
    pub(super) fn new(records: Taken<R>, schema: SchemaRef) -> Self {
        Self {
            records,
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
            let text = self.records.text().map_err(serde_json::Error::io)?;
            let read = text.map(serde_json::from_str::<IgnoredAny>).transpose();
            let text = match read {
                Err(_) if self.records.leaves_out() => None,
                Err(error) => return Err(error),
                Ok(_) => text,
            };
            texts.append_option(text);
            bytes += text.map_or(0, str::len);
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
    use super::super::objects::{Apart, MAX_BYTES};
    use super::*;
    use datafusion::arrow::array::AsArray;
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use std::io::BufReader;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let field = Field::new("json", DataType::Utf8View, true);
        let schema = Arc::new(Schema::new(vec![field]));
        let mut all = vec![];
        let records = Apart::new(BufReader::with_capacity(3, text.as_bytes()), MAX_BYTES);
        for batch in Objects::new(Taken::Apart(records), schema) {
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
