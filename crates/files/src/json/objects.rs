//! The records of a JSON file one by one, as they are written or with texts in the place of what is kept as JSON.
//!
//! What must hold: a record is in memory as a whole, and so no longer than its layout says.

use hushdb_query::functions::{JsonPlaces, with_json_texts};
use std::io::{BufRead, Error, ErrorKind, Read};

/// Bytes of a record at most where nothing is said, as many as DuckDB's buffers have.
pub(super) const MAX_BYTES: usize = 32 << 20;
/// What the column is called of records that are no objects.
pub(super) const MEMBER: &str = "json";

/// Takes a file's records apart.
pub(super) struct Apart<R> {
    input: R,
    /// Each is the one member of an object.
    as_member: bool,
    /// What is null is an object without members.
    as_object: bool,
    record: Vec<u8>,
    most_bytes: usize,
    /// The line that the record begins in, from 1.
    pub(super) line: u64,
    /// Lines that ended.
    ended: u64,
}

impl<R: BufRead> Apart<R> {
    pub(super) fn new(input: R, most_bytes: usize) -> Self {
        Self {
            input,
            as_member: false,
            as_object: false,
            record: vec![],
            most_bytes,
            line: 0,
            ended: 0,
        }
    }

    /// The same with each record as the member [`MEMBER`] of an object.
    pub(super) fn with_members(self, as_member: bool) -> Self {
        Self { as_member, ..self }
    }

    /// The same with objects without members where records are null.
    pub(super) fn with_objects(self, as_object: bool) -> Self {
        Self { as_object, ..self }
    }

    /// Takes the next record in; `false` behind the last.
    pub(super) fn next(&mut self) -> Result<bool, Error> {
        let is_there = self.take()?;
        if is_there && self.as_member {
            let before = format!("{{\"{MEMBER}\":");
            self.record.splice(0..0, before.into_bytes());
            self.record.push(b'}');
        } else if is_there && self.as_object && self.record == b"null" {
            self.record = b"{}".to_vec();
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
            if self.record.len() > self.most_bytes {
                return Err(too_long());
            }
        }
    }

    /// The record that was taken in.
    pub(super) fn text(&self) -> Result<&str, Error> {
        let text = str::from_utf8(&self.record);
        text.map_err(|error| Error::new(ErrorKind::InvalidData, error))
    }
}

/// A record longer than is allowed.
pub(super) fn too_long() -> Error {
    let what = "a record is longer than twice maximum_object_size; set it to more bytes";
    Error::new(ErrorKind::InvalidData, what)
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
