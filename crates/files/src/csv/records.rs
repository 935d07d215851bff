//! The records of a CSV file, one behind the other, as bytes.
//!
//! What must hold: a value in quotes may have delimiters and ends of lines in it; lines end with `\n`, `\r\n` or `\r`. A line that has
//! nothing but delimiters and ordinary bytes is taken as a whole, and gives what it would give byte by byte.
//! Refuses: a quote that is not closed, and text behind one that is.

use memchr::{memchr, memchr_iter, memchr2, memchr3};
use std::io::{BufRead, Error};

/// A record is no longer than this: a quote that is not closed would take the rest of the file.
pub(super) const MAX_RECORD_BYTES: usize = 64 << 20;
pub(super) const MAX_RECORD: &str = "a record is longer than 64 MiB: a quote may not be closed";
/// So has a line no more values than this.
const MAX_RECORD_VALUES: usize = 1 << 22;

/// Which bytes mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) delimiter: u8,
    pub(super) quote: Option<u8>,
    /// Before a quote that belongs to a value; the quote itself if it is doubled.
    pub(super) escape: Option<u8>,
    pub(super) comment: Option<Comment>,
}

/// What begins a comment, which ends with the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comment {
    pub(super) byte: u8,
    /// Also behind values of a line.
    pub(super) anywhere: bool,
}

/// What is wrong with a file, and where.
#[derive(Debug)]
pub(super) enum Fault {
    Io(Error),
    Line(u64, &'static str),
    /// The quote of a record that begins in this line.
    Unclosed(u64),
    /// The statement was asked to stop.
    Interrupted,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Io(error)
    }
}

/// The values of a record.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Bytes between two values: the delimiter, where the line was taken as a whole.
    gap: usize,
    /// Places of the values that were in quotes.
    quoted: Vec<usize>,
    /// The line that it begins in, from 1.
    pub(super) line: u64,
}

impl Record {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A value, nothing behind the last one.
    pub(super) fn get(&self, at: usize) -> &[u8] {
        let from = match at.checked_sub(1) {
            None => 0,
            Some(before) => self.ends.get(before).map_or(0, |end| end + self.gap),
        };
        let to = self.ends.get(at).copied().unwrap_or(from);
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// Whether it is a line without a character.
    pub(super) fn is_blank(&self) -> bool {
        self.len() == 1 && self.bytes.is_empty() && self.quoted.is_empty()
    }

    /// Whether a value was in quotes.
    pub(super) fn is_quoted(&self, at: usize) -> bool {
        self.quoted.contains(&at)
    }

    /// How many bytes its values have, and what divides them.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + (1 - self.gap.min(1)) * self.len().saturating_sub(1)
    }

    /// How many values it has for a file of `columns`: a delimiter at the end of the line is none.
    pub(super) fn len_of(&self, columns: usize) -> usize {
        match self.len() {
            len if len == columns + 1 && self.get(columns).is_empty() => columns,
            len => len,
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.gap = 0;
        self.quoted.clear();
    }

    fn field_start(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    fn end_field(&mut self) {
        self.ends.push(self.bytes.len());
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Before a value, with nothing of it but blanks.
    Start,
    Plain,
    Quoted,
    /// Behind a character that says that the next one belongs to the value.
    Escaped,
    /// Behind a quote that may be the last, or the first of two.
    QuoteSeen,
    /// Behind the last quote.
    Closed,
    Comment,
}

/// What a byte of a record leads to.
enum Next {
    Goes(State),
    /// The record ends, with `\r` if so.
    Ends(bool),
    /// The line had a comment alone.
    Nothing(bool),
}

/// Goes behind the mark of UTF-8, if there is one, and behind `skip` lines; gives how many bytes that is.
pub(super) fn past(input: &mut impl BufRead, skip: u64) -> Result<u64, Fault> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let mut bytes = 0;
    if input.fill_buf()?.starts_with(MARK) {
        input.consume(MARK.len());
        bytes += MARK.len();
    }
    for _ in 0..skip {
        match input.skip_until(b'\n')? {
            0 => break,
            line => bytes += line,
        }
    }
    Ok(bytes as u64)
}

/// Reads records.
pub(super) struct Records<R> {
    input: R,
    dialect: Dialect,
    /// Which bytes end a run of ordinary ones, outside of quotes and within.
    stops: [[bool; 256]; 2],
    line: u64,
    /// The last line ended with `\r`, to which a `\n` may belong.
    returned: bool,
}

impl<R: BufRead> Records<R> {
    /// Records behind the mark of UTF-8, if there is one, and behind `skip` lines.
    pub(super) fn new(mut input: R, dialect: Dialect, skip: u64) -> Result<Self, Fault> {
        past(&mut input, skip)?;
        let mut stops = [[false; 256]; 2];
        let mut stop = |within: usize, byte: Option<u8>| {
            if let Some(byte) = byte {
                stops[within][usize::from(byte)] = true;
            }
        };
        for byte in [b'\n', b'\r', dialect.delimiter] {
            stop(0, Some(byte));
        }
        stop(0, dialect.comment.map(|comment| comment.byte));
        for byte in [dialect.quote, dialect.escape, Some(b'\n')] {
            stop(1, byte);
        }
        Ok(Self {
            input,
            dialect,
            stops,
            line: skip + 1,
            returned: false,
        })
    }

    /// The next record; `false` behind the last.
    pub(super) fn next(&mut self, record: &mut Record) -> Result<bool, Fault> {
        record.clear();
        record.line = self.line;
        if self.whole_line(record)? {
            return Ok(true);
        }
        let mut state = State::Start;
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return at_end(state, record);
            }
            let mut used = 0;
            let mut ended = false;
            while let Some(&byte) = buffer.get(used) {
                let run = run(&self.stops, state, buffer.get(used..).unwrap_or_default());
                if run > 0 {
                    record
                        .bytes
                        .extend_from_slice(buffer.get(used..used + run).unwrap_or_default());
                    used += run;
                    continue;
                }
                used += 1;
                if std::mem::take(&mut self.returned) && byte == b'\n' {
                    continue;
                }
                if byte == b'\n' {
                    self.line += 1;
                }
                match step(&self.dialect, state, byte, record)? {
                    Next::Goes(next) => state = next,
                    Next::Nothing(returned) | Next::Ends(returned) if returned => {
                        self.line += 1;
                        self.returned = true;
                        ended = !record.ends.is_empty();
                    }
                    Next::Nothing(_) => {}
                    Next::Ends(_) => ended = true,
                }
                if ended {
                    break;
                }
                if record.ends.is_empty()
                    && state == State::Comment
                    && (byte == b'\n' || self.returned)
                {
                    state = State::Start;
                    record.line = self.line;
                }
            }
            self.input.consume(used);
            if ended {
                return Ok(true);
            }
            if record.bytes.len() > MAX_RECORD_BYTES {
                return Err(Fault::Line(record.line, MAX_RECORD));
            }
            if record.len() > MAX_RECORD_VALUES {
                let what = "a record has millions of values: give DELIM";
                return Err(Fault::Line(record.line, what));
            }
        }
    }
}

impl<R: BufRead> Records<R> {
    /// Takes the next line as a whole, if it is all there and has no quote, comment or `\r` but at its end.
    fn whole_line(&mut self, record: &mut Record) -> Result<bool, Fault> {
        let buffer = self.input.fill_buf()?;
        let end = match self.dialect.quote {
            Some(quote) => memchr3(b'\n', b'\r', quote, buffer),
            None => memchr2(b'\n', b'\r', buffer),
        };
        let Some((end, line)) = end.and_then(|end| Some((end, buffer.get(..end)?))) else {
            return Ok(false);
        };
        let used = match (buffer.get(end), buffer.get(end + 1)) {
            (Some(b'\n'), _) => end + 1,
            (Some(b'\r'), Some(b'\n')) => end + 2,
            _ => return Ok(false),
        };
        let comment = self.dialect.comment.map(|comment| comment.byte);
        // The `\n` of a line that ended with `\r` may come first.
        if self.returned || comment.is_some_and(|byte| memchr(byte, line).is_some()) {
            return Ok(false);
        }
        record.gap = 1;
        record.bytes.extend_from_slice(line);
        record
            .ends
            .extend(memchr_iter(self.dialect.delimiter, line));
        record.ends.push(end);
        self.line += 1;
        self.input.consume(used);
        Ok(true)
    }
}

/// How many bytes are ordinary ones of a value.
fn run(stops: &[[bool; 256]; 2], state: State, rest: &[u8]) -> usize {
    let stops = match state {
        State::Plain => &stops[0],
        State::Quoted => &stops[1],
        _ => return 0,
    };
    let ends = |byte: &u8| stops[usize::from(*byte)];
    rest.iter().position(ends).unwrap_or(rest.len())
}

fn step(dialect: &Dialect, state: State, byte: u8, record: &mut Record) -> Result<Next, Fault> {
    let is = |of: Option<u8>| of == Some(byte);
    Ok(Next::Goes(match state {
        State::Comment => match byte {
            b'\n' | b'\r' if record.ends.is_empty() => return Ok(Next::Nothing(byte == b'\r')),
            b'\n' | b'\r' => return Ok(Next::Ends(byte == b'\r')),
            _ => State::Comment,
        },
        State::Quoted if is(dialect.escape) && dialect.escape != dialect.quote => State::Escaped,
        State::Quoted if is(dialect.quote) => State::QuoteSeen,
        State::QuoteSeen if is(dialect.quote) && dialect.escape == dialect.quote => {
            record.bytes.push(byte);
            State::Quoted
        }
        State::Quoted => {
            record.bytes.push(byte);
            State::Quoted
        }
        State::Escaped if is(dialect.quote) || is(dialect.escape) => {
            record.bytes.push(byte);
            State::Quoted
        }
        State::Escaped => {
            let what = "the escape stands before neither a quote nor itself";
            return Err(Fault::Line(record.line, what));
        }
        State::Start | State::Plain | State::QuoteSeen | State::Closed => {
            return outside(dialect, state, byte, record);
        }
    }))
}

/// A byte that is in no quotes.
fn outside(dialect: &Dialect, state: State, byte: u8, record: &mut Record) -> Result<Next, Fault> {
    if byte == dialect.delimiter {
        record.end_field();
        return Ok(Next::Goes(State::Start));
    }
    if matches!(byte, b'\n' | b'\r') {
        record.end_field();
        return Ok(Next::Ends(byte == b'\r'));
    }
    let first = record.ends.is_empty() && record.bytes.is_empty() && state == State::Start;
    if let Some(comment) = dialect.comment
        && comment.byte == byte
        && (first || comment.anywhere)
    {
        if !first {
            record.end_field();
        }
        return Ok(Next::Goes(State::Comment));
    }
    let closed = matches!(state, State::QuoteSeen | State::Closed);
    Ok(Next::Goes(match byte {
        b' ' if closed => State::Closed,
        _ if closed => {
            let what = "text follows a value in quotes: give QUOTE or ESCAPE";
            return Err(Fault::Line(record.line, what));
        }
        _ if state == State::Start && Some(byte) == dialect.quote => {
            record.bytes.truncate(record.field_start());
            record.quoted.push(record.ends.len());
            State::Quoted
        }
        _ => {
            record.bytes.push(byte);
            match (state, byte) {
                (State::Start, b' ') => State::Start,
                _ => State::Plain,
            }
        }
    }))
}

/// The file ends.
fn at_end(state: State, record: &mut Record) -> Result<bool, Fault> {
    match state {
        State::Quoted | State::Escaped => Err(Fault::Unclosed(record.line)),
        State::Start if record.ends.is_empty() && record.bytes.is_empty() => Ok(false),
        State::Comment => Ok(!record.ends.is_empty()),
        _ => {
            record.end_field();
            Ok(true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    const DIALECT: Dialect = Dialect {
        delimiter: b',',
        quote: Some(b'"'),
        escape: Some(b'"'),
        comment: None,
    };

    /// Lines and values, whatever pieces the text is read in.
    fn read(text: &str, dialect: Dialect) -> Result<Vec<(u64, Vec<String>)>, String> {
        let with = |piece: usize| {
            let input = BufReader::with_capacity(piece, text.as_bytes());
            let mut records = Records::new(input, dialect, 0).unwrap();
            let (mut record, mut all) = (Record::default(), vec![]);
            loop {
                match records.next(&mut record) {
                    Ok(true) => {
                        let value = |at| String::from_utf8_lossy(record.get(at)).into_owned();
                        all.push((record.line, (0..record.len()).map(value).collect()));
                    }
                    Ok(false) => return Ok(all),
                    Err(Fault::Line(line, what)) => return Err(format!("{line}: {what}")),
                    Err(Fault::Unclosed(line)) => return Err(format!("{line}: unclosed")),
                    Err(Fault::Io(error)) => return Err(error.to_string()),
                    Err(Fault::Interrupted) => return Err("interrupted".to_string()),
                }
            }
        };
        let whole = with(1 << 16);
        for piece in [3, 4, 7] {
            assert_eq!(with(piece), whole, "in pieces of {piece}");
        }
        whole
    }

    fn lines(text: &str, dialect: Dialect) -> String {
        let records = read(text, dialect).unwrap();
        let records = records
            .iter()
            .map(|(line, values)| format!("{line}:{}", values.join("|")));
        records.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn values_and_lines() {
        for (text, expected) in [
            ("a,b\n1,2\n", "1:a|b 2:1|2"),
            ("a,b\r\n1,2", "1:a|b 2:1|2"),
            ("a\r\r\nb\rc", "1:a 2: 3:b 4:c"),
            ("\"a,\n\"\"b\"\"\",c\nd,e", "1:a,\n\"b\"|c 3:d|e"),
            ("a, \"b, c\" ,d\n", "1:a|b, c|d"),
            (" a ,b\"c,\n", "1: a |b\"c|"),
            ("\n\n\"\"\n,", "1: 2: 3: 4:|"),
            ("\u{feff}x\n", "1:x"),
            ("", ""),
        ] {
            assert_eq!(lines(text, DIALECT), expected, "{text:?}");
        }
    }

    #[test]
    fn escapes_comments_and_no_quotes() {
        let escape = Dialect {
            escape: Some(b'\\'),
            ..DIALECT
        };
        assert_eq!(lines("\"a\\\"b\\\\\",c\n", escape), "1:a\"b\\|c");
        let none = Dialect {
            quote: None,
            escape: None,
            ..DIALECT
        };
        assert_eq!(lines("\"a,b\"\n", none), "1:\"a|b\"");
        let comment = |anywhere| Dialect {
            comment: Some(Comment {
                byte: b'#',
                anywhere,
            }),
            ..DIALECT
        };
        let text = "# x\na,b # y\r\n#\r\n\"#\",c\n#";
        assert_eq!(lines(text, comment(false)), "2:a|b # y 4:#|c");
        assert_eq!(lines(text, comment(true)), "2:a|b  4:#|c");
    }

    #[test]
    fn what_is_no_csv_is_refused_by_line() {
        for (text, expected) in [
            ("a\n\"b\nc", "2: unclosed"),
            (
                "a\n\"b\"c\n",
                "2: text follows a value in quotes: give QUOTE or ESCAPE",
            ),
        ] {
            assert_eq!(read(text, DIALECT).unwrap_err(), expected);
        }
    }
}
