//! Records of a piece of text, taken apart where it stands: values are places in it, and only those are written anew in which a quote was doubled.
//!
//! What must hold: what comes out is what [`Records`](super::records::Records) gives for the same text, errors and their lines included.

use super::records::{Dialect, Fault, MAX_RECORD, Record};
use memchr::{memchr_iter, memchr2, memchr3};

/// Where a value stands.
#[derive(Clone, Copy, Default)]
pub(super) struct Span {
    from: u32,
    to: u32,
    /// Among the values that were written anew.
    is_anew: bool,
}

/// Some columns of some records.
pub(super) struct Rows<'a> {
    text: &'a [u8],
    /// The text, if all of it is UTF-8.
    utf_8: Option<&'a str>,
    anew: Vec<u8>,
    /// Of row after row.
    spans: Vec<Span>,
    /// The line in which each row begins.
    lines: Vec<u64>,
}

impl<'a> Rows<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Self {
            text,
            utf_8: str::from_utf8(text).ok(),
            anew: vec![],
            spans: vec![],
            lines: vec![],
        }
    }

    pub(super) fn clear(&mut self) {
        self.anew.clear();
        self.spans.clear();
        self.lines.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn line(&self, row: usize) -> u64 {
        self.lines.get(row).copied().unwrap_or_default()
    }

    /// Adds these columns of a record that was just read.
    pub(super) fn add(&mut self, values: &Values, taken: &[usize]) {
        let spans = taken
            .iter()
            .map(|at| values.spans.get(*at).copied().unwrap_or_default());
        self.spans.extend(spans);
        self.lines.push(values.line);
    }

    /// Adds these columns of a record that stands elsewhere.
    pub(super) fn copy(&mut self, record: &Record, taken: &[usize]) {
        for at in taken {
            let from = self.anew.len();
            self.anew.extend_from_slice(record.get(*at));
            self.spans.push(anew(from, self.anew.len()));
        }
        self.lines.push(record.line);
    }

    /// Bytes that do not stand in the text.
    pub(super) fn bytes(&self) -> usize {
        self.anew.len() + std::mem::size_of_val(self.spans.as_slice())
    }

    /// A column's values, of which there are `columns` in each row.
    pub(super) fn column(&self, at: usize, columns: usize) -> impl Iterator<Item = Span> {
        self.spans.iter().skip(at).step_by(columns.max(1)).copied()
    }

    pub(super) fn get(&self, span: Span) -> &[u8] {
        let of = match span.is_anew {
            true => self.anew.as_slice(),
            false => self.text,
        };
        of.get(span.from as usize..span.to as usize)
            .unwrap_or_default()
    }

    /// A value, `None` if it is not UTF-8.
    pub(super) fn text(&self, span: Span) -> Option<&str> {
        match self.utf_8 {
            Some(text) if !span.is_anew => text.get(span.from as usize..span.to as usize),
            _ => str::from_utf8(self.get(span)).ok(),
        }
    }
}

fn anew(from: usize, to: usize) -> Span {
    Span {
        is_anew: true,
        ..within(from, to)
    }
}

/// Texts have less than 4 GiB: a few times the longest record.
fn within(from: usize, to: usize) -> Span {
    Span {
        from: u32::try_from(from).unwrap_or(u32::MAX),
        to: u32::try_from(to).unwrap_or(u32::MAX),
        is_anew: false,
    }
}

/// The values of one record.
#[derive(Default)]
pub(super) struct Values {
    /// No more of them than somebody asks for.
    spans: Vec<Span>,
    count: usize,
    quoted: bool,
    pub(super) line: u64,
}

impl Values {
    /// Whether it is a line without a character.
    pub(super) fn is_blank(&self) -> bool {
        let is_empty = |span: &Span| span.from == span.to;
        self.count == 1 && !self.quoted && self.spans.first().is_none_or(is_empty)
    }

    /// As [`Record::len_of`].
    pub(super) fn len_of(&self, columns: usize) -> usize {
        let is_empty = |span: &Span| span.from == span.to;
        match self.count {
            count if count == columns + 1 && self.spans.get(columns).is_some_and(is_empty) => {
                columns
            }
            count => count,
        }
    }

    pub(super) fn get<'a>(&self, rows: &'a Rows<'_>, at: usize) -> &'a [u8] {
        rows.get(self.spans.get(at).copied().unwrap_or_default())
    }
}

/// Takes a text apart.
pub(super) struct Split<'a> {
    text: &'a [u8],
    dialect: Dialect,
    columns: usize,
    /// The last record may not be whole.
    is_cut: bool,
    /// Where the next record begins.
    pub(super) at: usize,
    /// Lines that ended.
    pub(super) line: u64,
}

impl<'a> Split<'a> {
    /// Of a text of records with so many columns; lines are numbered from 0.
    pub(super) fn new(text: &'a [u8], dialect: Dialect, columns: usize, is_cut: bool) -> Self {
        Self {
            text,
            dialect,
            columns,
            is_cut,
            at: 0,
            line: 0,
        }
    }

    /// The next record, whose values stand in the text or behind what `rows` has; `false` behind the last.
    ///
    /// # Errors
    /// What is wrong with it, by line.
    pub(super) fn next(&mut self, values: &mut Values, rows: &mut Rows<'_>) -> Result<bool, Fault> {
        values.spans.clear();
        values.count = 0;
        values.quoted = false;
        values.line = self.line;
        if self.at >= self.text.len() {
            return Ok(false);
        }
        loop {
            let span = match self.opening() {
                Some(open) => {
                    values.quoted = true;
                    self.quoted(open + 1, values.line, rows)?
                }
                None => self.plain(),
            };
            if values.count <= self.columns {
                values.spans.push(span);
            }
            values.count += 1;
            let byte = self.text.get(self.at).copied();
            self.at += usize::from(byte.is_some());
            match byte {
                Some(b'\n') => self.line += 1,
                Some(b'\r') => {
                    self.line += 1;
                    self.at += usize::from(self.text.get(self.at) == Some(&b'\n'));
                }
                Some(_) => continue,
                None if self.is_cut => return Err(Fault::Line(values.line, MAX_RECORD)),
                None => {}
            }
            return Ok(true);
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn plain(&mut self) -> Span {
        let from = self.at;
        let rest = self.rest();
        let len = memchr3(self.dialect.delimiter, b'\n', b'\r', rest).unwrap_or(rest.len());
        self.at += len;
        within(from, self.at)
    }

    /// Where the quote is that the next value begins with.
    fn opening(&self) -> Option<usize> {
        let quote = self.dialect.quote?;
        let rest = self.rest();
        let blanks = self.blanks(rest);
        let byte = *rest.get(blanks)?;
        (byte == quote && byte != self.dialect.delimiter).then_some(self.at + blanks)
    }

    fn blanks(&self, text: &[u8]) -> usize {
        let is_blank = |byte: &u8| *byte == b' ' && self.dialect.delimiter != b' ';
        let others = text.iter().position(|byte| !is_blank(byte));
        others.unwrap_or(text.len())
    }

    /// A value behind a quote.
    fn quoted(&mut self, open: usize, line: u64, rows: &mut Rows<'_>) -> Result<Span, Fault> {
        let unclosed = match self.is_cut {
            true => Fault::Line(line, MAX_RECORD),
            false => Fault::Unclosed(line),
        };
        let Some(quote) = self.dialect.quote else {
            return Err(unclosed);
        };
        let escape = self.dialect.escape;
        let begin = rows.anew.len();
        let (mut from, mut at) = (open, open);
        let slice = |from: usize, to: usize| self.text.get(from..to).unwrap_or_default();
        let close = loop {
            let rest = self.text.get(at..).unwrap_or_default();
            let Some(found) = memchr2(quote, escape.unwrap_or(quote), rest) else {
                return Err(unclosed);
            };
            let (place, next) = (at + found, rest.get(found + 1).copied());
            let is_escape = escape.is_some() && rest.get(found).copied() == escape;
            if is_escape && (escape != Some(quote) || next == escape) {
                // The escape is left out, and what it stands before is taken.
                match next {
                    None => return Err(unclosed),
                    Some(next) if next == quote || Some(next) == escape => {}
                    Some(_) => {
                        let what = "the escape stands before neither a quote nor itself";
                        return Err(Fault::Line(line, what));
                    }
                }
                rows.anew.extend_from_slice(slice(from, place));
                (from, at) = (place + 1, place + 2);
                continue;
            }
            break place;
        };
        let span = match from == open {
            true => within(open, close),
            false => {
                rows.anew.extend_from_slice(slice(from, close));
                anew(begin, rows.anew.len())
            }
        };
        self.line += memchr_iter(b'\n', slice(open, close)).count() as u64;
        self.at = close + 1;
        self.at += self.blanks(self.rest());
        match self.rest().first() {
            None | Some(b'\n' | b'\r') => Ok(span),
            Some(byte) if *byte == self.dialect.delimiter => Ok(span),
            Some(_) => {
                let what = "text follows a value in quotes: give QUOTE or ESCAPE";
                Err(Fault::Line(line, what))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::Records;
    use super::*;

    type All = Vec<(u64, Vec<String>)>;

    fn by_records(text: &str, dialect: Dialect) -> Result<All, String> {
        let mut records = Records::new(text.as_bytes(), dialect, 0).unwrap();
        let (mut record, mut all) = (Record::default(), vec![]);
        while records
            .next(&mut record)
            .map_err(|fault| format!("{fault:?}"))?
        {
            let value = |at| String::from_utf8_lossy(record.get(at)).into_owned();
            let values = (0..record.len()).map(value).collect();
            all.push((record.line - 1, values));
        }
        Ok(all)
    }

    fn by_split(text: &str, dialect: Dialect) -> Result<All, String> {
        let mut split = Split::new(text.as_bytes(), dialect, 100, false);
        let (mut values, mut rows) = (Values::default(), Rows::of(text.as_bytes()));
        let mut all = vec![];
        loop {
            let next = split.next(&mut values, &mut rows);
            let is_one = next.map_err(|fault| match fault {
                Fault::Line(line, what) => format!("{:?}", Fault::Line(line + 1, what)),
                Fault::Unclosed(line) => format!("{:?}", Fault::Unclosed(line + 1)),
                fault => format!("{fault:?}"),
            })?;
            if !is_one {
                return Ok(all);
            }
            let texts = values.spans.iter().map(|span| rows.text(*span).unwrap());
            all.push((values.line, texts.map(str::to_string).collect()));
        }
    }

    #[test]
    fn records_are_those_that_are_read_byte_by_byte() {
        let mut dice = 7_u64;
        let mut next = |sides: u64| {
            dice = dice.wrapping_mul(6364136223846793005).wrapping_add(1);
            (dice >> 33) % sides
        };
        let (mut sound, mut wrong) = (0, 0);
        for _ in 0..40_000 {
            let escape = [Some(b'"'), Some(b'\\'), None][next(3) as usize];
            let dialect = Dialect {
                delimiter: [b',', b' '][next(2) as usize],
                quote: Some(b'"').filter(|_| next(8) > 0),
                escape,
                comment: None,
            };
            let letters = ["a", ",", "\"", "\"", " ", "\n", "\r", "\\", "é", "\"b\""];
            let text: String = (0..next(14))
                .map(|_| letters[next(letters.len() as u64) as usize])
                .collect();
            let expected = by_records(&text, dialect);
            assert_eq!(by_split(&text, dialect), expected, "{text:?} {dialect:?}");
            match expected {
                Ok(_) => sound += 1,
                Err(_) => wrong += 1,
            }
        }
        assert!(sound > 10_000 && wrong > 5_000, "{sound} {wrong}");
    }
}
