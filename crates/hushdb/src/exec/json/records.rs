//! The records of a JSON file, one behind the other: those of an array without the brackets and commas around them.
//!
//! What it refuses: anything behind the array. What is within a record is the JSON parser's business.

use std::io::{Error, Read, Result};

#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Before the first record: a bracket here is that of an array of records.
    Start,
    /// Records by themselves, which need nothing done.
    Lines,
    Array,
    BehindArray,
}

/// Reads records from a file of either form.
pub(super) struct Records<R> {
    inner: R,
    place: Place,
    /// Brackets that are open, within the array.
    depth: u64,
    in_text: bool,
    escaped: bool,
}

impl<R: Read> Records<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            place: Place::Start,
            depth: 0,
            in_text: false,
            escaped: false,
        }
    }

    /// The byte that stands for one of an array, or an array that is about to begin.
    fn of_array(&mut self, byte: u8) -> Result<u8> {
        if self.in_text {
            let escaped = std::mem::take(&mut self.escaped);
            match byte {
                b'"' if !escaped => self.in_text = false,
                b'\\' if !escaped => self.escaped = true,
                _ => {}
            }
            return Ok(byte);
        }
        match (self.place, byte) {
            (_, b' ' | b'\t' | b'\n' | b'\r') => {}
            (Place::Start, b'[') => {
                self.place = Place::Array;
                return Ok(b' ');
            }
            (Place::Start, _) => self.place = Place::Lines,
            (Place::BehindArray, _) => {
                return Err(Error::other("there is something behind the array"));
            }
            (_, b'"') => self.in_text = true,
            (_, b'{' | b'[') => self.depth += 1,
            (_, b']') if self.depth == 0 => {
                self.place = Place::BehindArray;
                return Ok(b' ');
            }
            (_, b'}' | b']') => self.depth = self.depth.saturating_sub(1),
            (_, b',') if self.depth == 0 => return Ok(b'\n'),
            _ => {}
        }
        Ok(byte)
    }
}

impl<R: Read> Read for Records<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let read = self.inner.read(into)?;
        if read == 0 && self.place == Place::Array {
            return Err(Error::other("the array has no end"));
        }
        for byte in into.iter_mut().take(read) {
            if self.place == Place::Lines {
                break;
            }
            *byte = self.of_array(*byte)?;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String> {
        let mut out = String::new();
        Records::new(text.as_bytes()).read_to_string(&mut out)?;
        Ok(out)
    }

    #[test]
    fn an_array_becomes_records() {
        let text = " [\n{\"a\":[1,{\"b\":\"],[\\\"\"}]},{}\n] \n";
        assert_eq!(
            read(text).unwrap(),
            "  \n{\"a\":[1,{\"b\":\"],[\\\"\"}]}\n{}\n  \n"
        );
        let lines = "{\"a\":[1]}\n{\"a\":\"[\"}\n";
        assert_eq!(read(lines).unwrap(), lines);
        assert_eq!(read("").unwrap(), "");
    }

    #[test]
    fn an_array_that_does_not_end_or_goes_on_is_refused() {
        for bad in ["[", "[{}", "[{}] {}", "[\"]"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
