//! Delimiters of several bytes: while a file is read, each that stands outside of quotes becomes one byte, so that all else knows bytes alone.
//!
//! What must hold: that byte is in no text of UTF-8, and a file that has it is refused. What stands in quotes, comments and lines that are
//! left out is passed on as it is; quotes and comments begin where [`Records`](super::records::Records) sees them begin.

use std::io::{Error, ErrorKind, Read, Result};

/// The byte that stands for a delimiter.
pub(super) const DELIMITER: u8 = 0xff;
/// Bytes of a delimiter at most, as in DuckDB.
pub(super) const MOST_BYTES: usize = 4;
/// Bytes that are read at a time.
const PIECE: usize = 1 << 16;
/// What may stand at the beginning of a text of UTF-8.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// What means something in a file.
pub(super) struct Marks {
    pub(super) delimiter: Vec<u8>,
    pub(super) quote: Option<u8>,
    pub(super) escape: Option<u8>,
    pub(super) comment: Option<u8>,
    /// Lines before the first record.
    pub(super) skip: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Before a value.
    Start,
    Plain,
    Quoted,
    Escaped,
    /// Behind a quote that may be the last.
    Closed,
    Comment,
}

/// A file whose delimiters are one byte.
pub(super) struct OneByte<R> {
    input: R,
    marks: Marks,
    state: State,
    /// What was read, and not looked at.
    raw: Vec<u8>,
    /// What is to be given out, from `given` on.
    ready: Vec<u8>,
    given: usize,
    /// How much was looked at, up to the length of [`MARK`].
    passed: usize,
}

impl<R: Read> OneByte<R> {
    pub(super) fn new(input: R, marks: Marks) -> Self {
        Self {
            input,
            marks,
            state: State::Start,
            raw: vec![],
            ready: vec![],
            given: 0,
            passed: 0,
        }
    }

    /// Looks at more of the file; `false` if there is no more.
    fn look(&mut self) -> Result<bool> {
        let kept = self.raw.len();
        self.raw.resize(kept + PIECE, 0);
        let read = self
            .input
            .read(self.raw.get_mut(kept..).unwrap_or_default());
        self.raw.truncate(kept + *read.as_ref().unwrap_or(&0));
        let read = read?;
        self.ready.clear();
        self.given = 0;
        // A delimiter may go on in what was not read.
        let open = match read {
            0 => 0,
            _ => self.marks.delimiter.len() - 1,
        };
        let sure = self.raw.len().saturating_sub(open);
        let raw = std::mem::take(&mut self.raw);
        let mut rest = raw.as_slice();
        while raw.len() - rest.len() < sure {
            let used = self.step(rest)?;
            rest = rest.get(used..).unwrap_or_default();
        }
        self.raw = rest.to_vec();
        Ok(read > 0 || !self.ready.is_empty())
    }

    /// Passes on what stands first; gives how many bytes it is.
    fn step(&mut self, rest: &[u8]) -> Result<usize> {
        let Some(&byte) = rest.first() else {
            return Ok(1);
        };
        if byte == DELIMITER {
            return Err(Error::new(ErrorKind::InvalidData, "it is not UTF-8"));
        }
        let is_mark = MARK.get(self.passed) == Some(&byte);
        self.passed = (self.passed + 1).min(MARK.len());
        if self.marks.skip > 0 {
            self.marks.skip -= u64::from(byte == b'\n');
            self.ready.push(byte);
            return Ok(1);
        }
        let is_outside = matches!(self.state, State::Start | State::Plain | State::Closed);
        if is_outside && rest.starts_with(&self.marks.delimiter) {
            self.state = State::Start;
            self.ready.push(DELIMITER);
            return Ok(self.marks.delimiter.len());
        }
        self.ready.push(byte);
        if !(is_mark && self.state == State::Start) {
            self.state = self.next(byte);
        }
        Ok(1)
    }

    fn next(&self, byte: u8) -> State {
        let is = |of: Option<u8>| of == Some(byte);
        let (quote, escape) = (self.marks.quote, self.marks.escape);
        match self.state {
            State::Quoted if is(escape) && escape != quote => State::Escaped,
            State::Quoted if is(quote) => State::Closed,
            State::Quoted | State::Escaped => State::Quoted,
            State::Closed if is(quote) && escape == quote => State::Quoted,
            State::Start | State::Plain | State::Closed | State::Comment
                if matches!(byte, b'\n' | b'\r') =>
            {
                State::Start
            }
            State::Comment => State::Comment,
            State::Start | State::Plain | State::Closed if is(self.marks.comment) => State::Comment,
            State::Start if is(quote) => State::Quoted,
            State::Start if byte == b' ' => State::Start,
            State::Start | State::Plain | State::Closed => State::Plain,
        }
    }
}

impl<R: Read> Read for OneByte<R> {
    fn read(&mut self, room: &mut [u8]) -> Result<usize> {
        while self.given == self.ready.len() {
            if !self.look()? {
                return Ok(0);
            }
        }
        let mut rest = self.ready.get(self.given..).unwrap_or_default();
        let read = rest.read(room)?;
        self.given += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::{Comment, Dialect, Record, Records};
    use super::*;

    /// Gives a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, room: &mut [u8]) -> Result<usize> {
            let most = self.1.min(room.len());
            self.0.read(room.get_mut(..most).unwrap_or_default())
        }
    }

    fn marks(escape: u8, skip: u64) -> Marks {
        Marks {
            delimiter: b"||".to_vec(),
            quote: Some(b'"'),
            escape: Some(escape),
            comment: Some(b'#'),
            skip,
        }
    }

    fn read(text: &[u8], escape: u8, skip: u64) -> Result<Vec<u8>> {
        let with = |bytes| {
            let mut read = vec![];
            OneByte::new(Slow(text, bytes), marks(escape, skip)).read_to_end(&mut read)?;
            Ok::<_, Error>(read)
        };
        let whole = with(PIECE)?;
        for bytes in [1, 2, 3] {
            assert_eq!(with(bytes)?, whole, "in pieces of {bytes}");
        }
        Ok(whole)
    }

    #[test]
    fn delimiters_outside_of_quotes_become_one_byte() {
        for (text, expected) in [
            ("a||b|c|||d\n||", "a~b|c~|d\n~"),
            (
                "\"a||b\"|| \"c\"\"||\"||d\"||\"",
                "\"a||b\"~ \"c\"\"||\"~d\"~\"",
            ),
            ("\u{feff}\"a||b\"||c", "\u{feff}\"a||b\"~c"),
            ("# \"a||b\nc||d # e||f", "# \"a||b\nc~d # e||f"),
            ("\"a\n||\"||b", "\"a\n||\"~b"),
            ("|", "|"),
            ("", ""),
        ] {
            let expected = expected.bytes().map(|byte| match byte {
                b'~' => DELIMITER,
                byte => byte,
            });
            let expected: Vec<u8> = expected.collect();
            assert_eq!(read(text.as_bytes(), b'"', 0).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn escapes_and_lines_that_are_left_out() {
        let text = b"\"a\\\"||b\"||c";
        let expected = b"\"a\\\"||b\"\xffc";
        assert_eq!(read(text, b'\\', 0).unwrap(), expected);
        assert_eq!(read(b"\"||\nb||c", b'"', 1).unwrap(), b"\"||\nb\xffc");
    }

    /// Values and faults of a text; `;` stands for its delimiter also where it is none.
    fn records(text: &[u8], delimiter: u8, escape: u8) -> (Vec<Vec<String>>, Option<String>) {
        let dialect = Dialect {
            delimiter,
            quote: Some(b'"'),
            escape: Some(escape),
            comment: Some(Comment {
                byte: b'#',
                anywhere: true,
            }),
        };
        let mut records = Records::new(text, dialect, 0).unwrap();
        let (mut record, mut all) = (Record::default(), vec![]);
        loop {
            match records.next(&mut record) {
                Ok(false) => return (all, None),
                Err(fault) => return (all, Some(format!("{fault:?}"))),
                Ok(true) => {
                    let value = |at| String::from_utf8_lossy(record.get(at)).replace("||", ";");
                    all.push((0..record.len()).map(value).collect());
                }
            }
        }
    }

    /// Every text of five of these parts is the one in which a byte stands for the delimiter from the start.
    #[test]
    fn records_are_those_of_a_delimiter_of_one_byte() {
        const PARTS: [&str; 9] = ["||", "|", "a", "\"", "\\", " ", "#", "\n", "\r"];
        for number in 0..PARTS.len().pow(5) {
            let places = (0..5).map(|place| number / PARTS.len().pow(place) % PARTS.len());
            let text: String = places.map(|at| PARTS[at]).collect();
            for escape in [b'"', b'\\'] {
                let long = read_once(text.as_bytes(), escape);
                let short = text.replace("||", ";");
                let expected = records(short.as_bytes(), b';', escape);
                assert_eq!(records(&long, DELIMITER, escape), expected, "{text:?}");
            }
        }
    }

    fn read_once(text: &[u8], escape: u8) -> Vec<u8> {
        let mut read = vec![];
        OneByte::new(text, marks(escape, 0))
            .read_to_end(&mut read)
            .unwrap();
        read
    }

    #[test]
    fn what_is_no_utf_8_is_refused() {
        let refused = read(b"a||\xff", b'"', 0).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidData);
    }
}
