//! The records of a JSON file, one behind the other: those of an array without the brackets and commas around them.
//!
//! What it refuses: anything behind the array, and values nested so deep that whoever walks them would run out of stack. What else is
//! within a record is the JSON parser's business.

use super::options::RecordForm;
use std::io::{Error, ErrorKind, Read};

/// Lists and objects within one another, the record among them.
const MAX_DEPTH: u64 = 127;

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
    /// It must be an array.
    is_array: bool,
    /// Brackets that are open, within the array if there is one.
    depth: u64,
    in_text: bool,
    escaped: bool,
    /// What is wrong with what comes next. It is said when that is asked for, since what came before may be wrong, too.
    fault: Option<&'static str>,
}

impl<R: Read> Records<R> {
    /// A file's, whose form may be known whatever stands first.
    pub(super) fn new(inner: R, form: RecordForm) -> Self {
        let place = match form {
            RecordForm::Lines | RecordForm::Unstructured => Place::Lines,
            RecordForm::Auto | RecordForm::Array => Place::Start,
        };
        Self {
            inner,
            place,
            is_array: form == RecordForm::Array,
            depth: 0,
            in_text: false,
            escaped: false,
            fault: None,
        }
    }

    /// Whether a byte means nothing to this reader, where it stands.
    fn is_ordinary(&self, byte: u8) -> bool {
        match (self.place, self.in_text) {
            (Place::Start | Place::BehindArray, _) => false,
            (_, true) => !matches!(byte, b'"' | b'\\') && !self.escaped,
            (_, false) => !matches!(byte, b'"' | b'{' | b'}' | b'[' | b']' | b','),
        }
    }

    /// The byte that stands for one of a file.
    fn step(&mut self, byte: u8) -> Result<u8, &'static str> {
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
            (Place::Start, _) if self.is_array => {
                return Err("it is no array: set format = 'auto' or 'newline_delimited'");
            }
            (Place::Start, _) => self.place = Place::Lines,
            (Place::BehindArray, _) => return Err("there is something behind the array"),
            _ => {}
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' if self.depth == MAX_DEPTH => return Err("values are nested too deep"),
            b'{' | b'[' => self.depth += 1,
            b']' if self.depth == 0 && self.place == Place::Array => {
                self.place = Place::BehindArray;
                return Ok(b' ');
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' if self.depth == 0 && self.place == Place::Array => return Ok(b' '),
            _ => {}
        }
        Ok(byte)
    }

    /// Goes over bytes that were read; gives how many there are before a fault.
    fn pass(&mut self, bytes: &mut [u8]) -> usize {
        for (at, byte) in bytes.iter_mut().enumerate() {
            if self.is_ordinary(*byte) {
                continue;
            }
            match self.step(*byte) {
                Ok(instead) => *byte = instead,
                Err(fault) => {
                    self.fault = Some(fault);
                    return at;
                }
            }
        }
        bytes.len()
    }
}

impl<R: Read> Read for Records<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.fault.is_none() {
            let read = self.inner.read(into)?;
            if read == 0 && self.place == Place::Array {
                self.fault = Some("the array has no end");
            }
            let passed = self.pass(into.get_mut(..read).unwrap_or_default());
            if passed > 0 {
                return Ok(passed);
            }
        }
        let fault = self
            .fault
            .map(|what| Error::new(ErrorKind::InvalidData, what));
        fault.map_or(Ok(0), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> std::io::Result<String> {
        let mut out = String::new();
        Records::new(text.as_bytes(), RecordForm::Auto).read_to_string(&mut out)?;
        Ok(out)
    }

    #[test]
    fn an_array_becomes_records() {
        let text = " [\n{\"a\":[1,{\"b\":\"],[\\\"\"}]},{}\n] \n";
        assert_eq!(
            read(text).unwrap(),
            "  \n{\"a\":[1,{\"b\":\"],[\\\"\"}]} {}\n  \n"
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
        let mut records = Records::new(&b" {}"[..], RecordForm::Array);
        assert!(records.read_to_string(&mut String::new()).is_err());
    }

    #[test]
    fn what_is_nested_too_deep_is_refused_wherever_it_stands() {
        let nest = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let most = MAX_DEPTH as usize;
        for (before, behind) in [("", ""), ("[", "]"), ("{}\n", ""), ("[{}, ", "]")] {
            let record = |depth| format!("{before}{{\"a\": {}}}{behind}", nest(depth - 1));
            assert!(read(&record(most)).is_ok(), "{before}");
            assert!(read(&record(most + 1)).is_err(), "{before}");
        }
        // Brackets in texts are none, and records that are closed are over.
        let text = format!("{{\"a\": \"\\\"{}\"}}\n", "[".repeat(most + 1));
        assert_eq!(read(&text).unwrap(), text);
        let many = "{\"a\": [1]}\n".repeat(1000);
        assert_eq!(read(&many).unwrap(), many);
        // What came before is given first.
        let mut bytes = vec![];
        let deep = format!("{{}} {}", nest(most + 1));
        assert!(
            Records::new(deep.as_bytes(), RecordForm::Auto)
                .read_to_end(&mut bytes)
                .is_err()
        );
        assert_eq!(bytes.len(), 3 + most);
    }
}
