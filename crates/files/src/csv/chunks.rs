//! The text of a CSV file in pieces that end where records end, so that each can be taken apart by itself.
//!
//! What must hold: a piece begins with a record and ends with one, whatever stands in quotes; only the first piece has names and what
//! is before them. A piece grows past [`CHUNK`] for a record that does, up to [`MAX_RECORD_BYTES`].

use super::records::{Dialect, Fault, MAX_RECORD_BYTES, past};
use memchr::{memchr, memchr2, memrchr};
use std::io::{BufReader, ErrorKind, Read};

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;

/// Some records of a file.
pub(super) struct Chunk {
    pub(super) text: Vec<u8>,
    /// Its last record is longer than records may be, and not whole.
    pub(super) is_cut: bool,
}

/// Reads a file in pieces; nothing of it may be a comment.
pub(super) struct Chunks<R> {
    input: BufReader<R>,
    /// What belongs to the next piece.
    rest: Vec<u8>,
    ends: Ends,
    is_all: bool,
    /// Bytes before the first record.
    pub(super) before: u64,
}

impl<R: Read> Chunks<R> {
    /// The text behind the mark of UTF-8, if there is one, and behind `skip` lines.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn new(input: R, dialect: &Dialect, skip: u64) -> Result<Self, Fault> {
        let mut input = BufReader::new(input);
        let before = past(&mut input, skip)?;
        Ok(Self {
            before,
            input,
            rest: vec![],
            ends: Ends::new(dialect),
            is_all: false,
        })
    }

    /// The next piece; `None` behind the last.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn next(&mut self) -> Result<Option<Chunk>, Fault> {
        let mut text = std::mem::take(&mut self.rest);
        loop {
            if !self.is_all {
                self.is_all = self.read(&mut text)? < CHUNK;
            }
            if self.is_all {
                let is_some = !text.is_empty();
                return Ok(is_some.then_some(Chunk {
                    text,
                    is_cut: false,
                }));
            }
            let end = self.ends.last_in(&text);
            if end > 0 {
                self.rest = text.split_off(end);
                self.ends.seen -= end;
                return Ok(Some(Chunk {
                    text,
                    is_cut: false,
                }));
            }
            if text.len() > MAX_RECORD_BYTES {
                self.is_all = true;
                return Ok(Some(Chunk { text, is_cut: true }));
            }
        }
    }
}

impl<R: Read> Chunks<R> {
    /// Adds as much as is read at a time, in few calls; gives how much it is.
    fn read(&mut self, text: &mut Vec<u8>) -> Result<usize, Fault> {
        let (from, mut read) = (text.len(), 0);
        text.reserve_exact(CHUNK);
        text.resize(from + CHUNK, 0);
        while let Some(room) = text.get_mut(from + read..).filter(|room| !room.is_empty()) {
            match self.input.read(room) {
                Ok(0) => break,
                Ok(bytes) => read += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        text.truncate(from + read);
        Ok(read)
    }
}

/// Finds where records end.
struct Ends {
    delimiter: u8,
    quote: Option<u8>,
    escape: Option<u8>,
    /// Bytes that were looked at.
    seen: usize,
    /// These end in quotes.
    within: bool,
}

impl Ends {
    fn new(dialect: &Dialect) -> Self {
        Self {
            delimiter: dialect.delimiter,
            // What is a delimiter is no quote.
            quote: dialect.quote.filter(|quote| *quote != dialect.delimiter),
            escape: dialect.escape,
            seen: 0,
            within: false,
        }
    }

    /// Where the last whole record of a text ends that begins with one, and goes on; 0 if there is none. Looks at what is new alone.
    fn last_in(&mut self, text: &[u8]) -> usize {
        let mut end = 0;
        while self.seen < text.len() {
            let from = self.seen;
            let rest = text.get(from..).unwrap_or_default();
            if self.within {
                if !self.leave(text, rest) {
                    break;
                }
                continue;
            }
            let quote = self.quote.and_then(|quote| memchr(quote, rest));
            let outside = quote.map_or(rest, |quote| rest.get(..quote).unwrap_or_default());
            end = last_line(text, from, outside).unwrap_or(end);
            self.seen = from + outside.len();
            if quote.is_some() {
                self.within = self.opens(text.get(..self.seen).unwrap_or_default());
                self.seen += 1;
            }
        }
        end
    }

    /// Goes behind the next quote or escape; `false` if more must be known of the text.
    fn leave(&mut self, text: &[u8], rest: &[u8]) -> bool {
        let Some(quote) = self.quote else {
            self.within = false;
            return true;
        };
        let escape = self.escape.unwrap_or(quote);
        let Some(at) = memchr2(quote, escape, rest) else {
            self.seen = text.len();
            return false;
        };
        let Some(next) = rest.get(at + 1) else {
            self.seen += at;
            return false;
        };
        let is_escape = self.escape.is_some() && rest.get(at) == Some(&escape);
        if is_escape && (escape != quote || *next == quote) {
            self.seen += at + 2;
        } else {
            self.within = false;
            self.seen += at + 1;
        }
        true
    }

    /// Whether a quote behind this text begins a value.
    fn opens(&self, before: &[u8]) -> bool {
        let blank = |byte: &&u8| **byte == b' ' && self.delimiter != b' ';
        match before.iter().rev().find(|byte| !blank(byte)) {
            None => true,
            Some(byte) => *byte == self.delimiter || matches!(byte, b'\n' | b'\r'),
        }
    }
}

/// Where the last line ends in a part of a text that begins at `from`.
fn last_line(text: &[u8], from: usize, part: &[u8]) -> Option<usize> {
    if let Some(at) = memrchr(b'\n', part) {
        return Some(from + at + 1);
    }
    // Behind a `\r` if it is known that no `\n` belongs to it.
    let end = from + memrchr(b'\r', part)? + 1;
    text.get(end)
        .is_some_and(|next| *next != b'\n')
        .then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(text: &str, escape: u8) -> usize {
        let mut ends = Ends::new(&Dialect {
            delimiter: b',',
            quote: Some(b'"'),
            escape: Some(escape),
            comment: None,
        });
        let whole = ends.last_in(text.as_bytes());
        // However the text comes, and it is cut there at the latest.
        for first in 0..text.len() {
            let mut ends = Ends {
                seen: 0,
                within: false,
                ..ends
            };
            let mut found = ends.last_in(text.get(..first).unwrap_or_default().as_bytes());
            ends.seen -= found;
            let rest = text.get(found..).unwrap_or_default();
            found += ends.last_in(rest.as_bytes());
            assert!(found == whole, "{text:?} in pieces of {first}: {found}");
        }
        whole
    }

    #[test]
    fn records_end_outside_of_quotes() {
        for (text, expected) in [
            ("a,b\nc", 4),
            ("a,b", 0),
            ("a\n\"b\nc\"\nd", 8),
            ("a\n\"b\nc", 2),
            ("a\n\"b\"\"\n\",\"\n\"", 2),
            ("a\n \"b\nc\"x", 2),
            ("a\nb\"\nc", 5),
            ("a\r\nb\r\nc", 6),
            ("a\n\"b\"\",\"\nc\"\nd", 12),
        ] {
            assert_eq!(last(text, b'"'), expected, "{text:?}");
        }
        for (text, expected) in [("\"a\\\"\n\"\nb", 7), ("\"a\\\\\"\n\"\nb", 6)] {
            assert_eq!(last(text, b'\\'), expected, "{text:?}");
        }
    }

    #[test]
    fn a_file_of_carriage_returns_is_cut_too() {
        let text = "a\r".repeat(CHUNK);
        let dialect = Dialect {
            delimiter: b',',
            quote: Some(b'"'),
            escape: Some(b'"'),
            comment: None,
        };
        let mut chunks = Chunks::new(text.as_bytes(), &dialect, 0).unwrap();
        let mut bytes = 0;
        while let Some(chunk) = chunks.next().unwrap() {
            assert!(chunk.text.len() <= 2 * CHUNK && !chunk.is_cut);
            bytes += chunk.text.len();
        }
        assert_eq!(bytes, text.len());
    }
}
