//! Records of a piece of text, taken apart where it stands: values are places in it, and only those are written anew in which a quote was doubled.
//!
//! What must hold: what comes out is what [`Records`](super::records::Records) gives for the same text, errors and their lines included.

use super::records::{Dialect, Fault, MAX_RECORD, Record};
use super::stops::Stops;
use memchr::{memchr_iter, memchr2};

/// Where a value stands.
#[derive(Clone, Copy, Default)]
pub(super) struct Span {
    /// With [`FLAG`] if it is among the values that were written anew.
    from: u32,
    /// With [`FLAG`] if it was in quotes.
    to: u32,
}

/// No place in a text is as large: it has less than 2 GiB, a few times the longest record.
const FLAG: u32 = 1 << 31;

impl Span {
    fn place(self) -> std::ops::Range<usize> {
        (self.from & !FLAG) as usize..(self.to & !FLAG) as usize
    }

    fn is_empty(self) -> bool {
        self.place().is_empty()
    }

    /// Where it begins in the text, if it stands there.
    pub(super) fn begin(self) -> Option<usize> {
        (!self.is_anew()).then_some(self.place().start)
    }

    fn is_anew(self) -> bool {
        self.from & FLAG != 0
    }

    /// Whether it was in quotes.
    pub(super) fn is_quoted(self) -> bool {
        self.to & FLAG != 0
    }

    fn in_quotes(self) -> Self {
        Self {
            to: self.to | FLAG,
            ..self
        }
    }
}

/// Some columns of some records.
pub(super) struct Rows<'a> {
    text: &'a [u8],
    /// The text, if all of it is UTF-8.
    utf_8: Option<&'a str>,
    anew: Vec<u8>,
    /// The values of each column.
    columns: Vec<Vec<Span>>,
    /// The line in which each row begins.
    lines: Vec<u64>,
}

impl<'a> Rows<'a> {
    /// Rows of so many columns.
    pub(super) fn of(text: &'a [u8], columns: usize) -> Self {
        Self {
            text,
            utf_8: str::from_utf8(text).ok(),
            anew: vec![],
            columns: vec![vec![]; columns],
            lines: vec![],
        }
    }

    pub(super) fn clear(&mut self) {
        self.anew.clear();
        self.columns.iter_mut().for_each(Vec::clear);
        self.lines.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether all that values may be made of is UTF-8.
    pub(super) fn is_utf_8(&self) -> bool {
        self.utf_8.is_some() && str::from_utf8(&self.anew).is_ok()
    }

    pub(super) fn line(&self, row: usize) -> u64 {
        self.lines.get(row).copied().unwrap_or_default()
    }

    /// The lines in which the rows begin.
    pub(super) fn lines(&self) -> &[u64] {
        &self.lines
    }

    /// Adds these columns of a record that was just read.
    pub(super) fn add(&mut self, values: &Values, taken: &[usize]) {
        for (column, at) in self.columns.iter_mut().zip(taken) {
            column.push(values.span(*at));
        }
        self.lines.push(values.line);
    }

    /// Adds these columns of a record that stands elsewhere.
    pub(super) fn copy(&mut self, record: &Record, taken: &[usize]) {
        for (column, at) in self.columns.iter_mut().zip(taken) {
            let from = self.anew.len();
            self.anew.extend_from_slice(record.get(*at));
            let span = anew(from, self.anew.len());
            column.push(match record.is_quoted(*at) {
                true => span.in_quotes(),
                false => span,
            });
        }
        self.lines.push(record.line);
    }

    /// Bytes that do not stand in the text.
    pub(super) fn bytes(&self) -> usize {
        self.anew.len() + self.lines.len() * self.columns.len() * size_of::<Span>()
    }

    /// A column's values.
    pub(super) fn column(&self, at: usize) -> &[Span] {
        self.columns.get(at).map_or(&[], Vec::as_slice)
    }

    pub(super) fn get(&self, span: Span) -> &[u8] {
        let of = match span.is_anew() {
            true => self.anew.as_slice(),
            false => self.text,
        };
        of.get(span.place()).unwrap_or_default()
    }

    /// A value, `None` if it is not UTF-8.
    pub(super) fn text(&self, span: Span) -> Option<&str> {
        match self.utf_8 {
            Some(text) if !span.is_anew() => text.get(span.place()),
            _ => str::from_utf8(self.get(span)).ok(),
        }
    }
}

fn anew(from: usize, to: usize) -> Span {
    let span = within(from, to);
    Span {
        from: span.from | FLAG,
        ..span
    }
}

fn within(from: usize, to: usize) -> Span {
    let place = |at: usize| u32::try_from(at).unwrap_or(!FLAG);
    Span {
        from: place(from),
        to: place(to),
    }
}

/// The values of one record.
#[derive(Default)]
pub(super) struct Values {
    /// Room for those that somebody asks for, of which `count` are of this record.
    spans: Vec<Span>,
    count: usize,
    quoted: bool,
    pub(super) line: u64,
    whole: Span,
}

/// From this place on there are no values: it is the whole record.
pub(super) const WHOLE: usize = usize::MAX - 2;

impl Values {
    /// Whether it is a line without a character.
    pub(super) fn is_blank(&self) -> bool {
        let is_empty = |span: &Span| span.is_empty();
        self.count == 1 && !self.quoted && self.spans.first().is_none_or(is_empty)
    }

    /// As [`Record::len_of`].
    pub(super) fn len_of(&self, columns: usize) -> usize {
        let is_empty = |span: &Span| span.is_empty();
        match self.count {
            count if count == columns + 1 && self.spans.get(columns).is_some_and(is_empty) => {
                columns
            }
            count => count,
        }
    }

    #[inline]
    fn push(&mut self, span: Span) {
        if let Some(room) = self.spans.get_mut(self.count) {
            *room = span;
        }
        self.count += 1;
    }

    /// Where a value stands, or the record.
    pub(super) fn span(&self, at: usize) -> Span {
        match at {
            WHOLE.. => self.whole,
            at if at < self.count => self.spans.get(at).copied().unwrap_or_default(),
            _ => Span::default(),
        }
    }

    /// A value, and whether it was in quotes.
    pub(super) fn get<'a>(&self, rows: &'a Rows<'_>, at: usize) -> (&'a [u8], bool) {
        let span = self.span(at);
        (rows.get(span), span.is_quoted())
    }
}

/// Takes a text apart.
pub(super) struct Split<'a> {
    text: &'a [u8],
    stops: Stops<'a>,
    delimiter: u8,
    quote: Option<u8>,
    escape: Option<u8>,
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
        let delimiter = dialect.delimiter;
        // What is a delimiter is no quote.
        let quote = dialect.quote.filter(|quote| *quote != delimiter);
        let bytes = [delimiter, b'\n', b'\r', quote.unwrap_or(delimiter)];
        Self {
            text,
            stops: Stops::new(text, bytes, 0),
            delimiter,
            quote,
            escape: dialect.escape,
            columns,
            is_cut,
            at: 0,
            line: 0,
        }
    }

    /// Begins behind what somebody else has read: at this place, with so many lines before it.
    pub(super) fn from(mut self, at: usize, line: u64) -> Self {
        self.stops.pass(at);
        (self.at, self.line) = (at, line);
        self
    }

    /// The next record, whose values stand in the text or behind what `rows` has; `false` behind the last.
    ///
    /// # Errors
    /// What is wrong with it, by line.
    pub(super) fn next(&mut self, values: &mut Values, rows: &mut Rows<'_>) -> Result<bool, Fault> {
        values.spans.resize(self.columns + 1, Span::default());
        values.count = 0;
        values.quoted = false;
        values.line = self.line;
        if self.at >= self.text.len() {
            return Ok(false);
        }
        let begin = self.at;
        let mut from = begin;
        // A quote was found within the value, so that no other begins it: blanks are looked at once.
        let mut is_plain = false;
        loop {
            let stop = self.stops.next();
            let byte = self.text.get(stop).copied();
            if byte == Some(self.delimiter) {
                values.push(within(from, stop));
                from = stop + 1;
                is_plain = false;
                continue;
            }
            self.at = stop;
            if byte.is_none() || byte != self.quote {
                values.push(within(from, stop));
            } else if !is_plain && self.is_blank(from, stop) {
                // A quote is one where a value begins.
                values.quoted = true;
                values.push(self.quoted(stop + 1, values.line, rows)?.in_quotes());
                // Behind the byte that ends it.
                self.stops.pass(self.at + 1);
                if self.rest().first() == Some(&self.delimiter) {
                    from = self.at + 1;
                    continue;
                }
            } else {
                is_plain = true;
                continue;
            }
            values.whole = within(begin, self.at);
            return self.end(values.line);
        }
    }

    /// Goes behind the end of a line, or of the text.
    fn end(&mut self, line: u64) -> Result<bool, Fault> {
        match self.rest() {
            [b'\r', b'\n', ..] => {
                self.line += 1;
                self.at = self.stops.next() + 1;
            }
            [_, ..] => {
                self.line += 1;
                self.at += 1;
            }
            [] if self.is_cut => return Err(Fault::Line(line, MAX_RECORD)),
            [] => {}
        }
        Ok(true)
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn is_blank(&self, from: usize, to: usize) -> bool {
        let text = self.text.get(from..to).unwrap_or_default();
        self.blanks(text) == text.len()
    }

    fn blanks(&self, text: &[u8]) -> usize {
        let is_blank = |byte: &u8| *byte == b' ' && self.delimiter != b' ';
        let others = text.iter().position(|byte| !is_blank(byte));
        others.unwrap_or(text.len())
    }

    /// A value behind a quote.
    fn quoted(&mut self, open: usize, line: u64, rows: &mut Rows<'_>) -> Result<Span, Fault> {
        let unclosed = match self.is_cut {
            true => Fault::Line(line, MAX_RECORD),
            false => Fault::Unclosed(line),
        };
        let Some(quote) = self.quote else {
            return Err(unclosed);
        };
        let escape = self.escape;
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
            Some(byte) if *byte == self.delimiter => Ok(span),
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
        let (mut values, mut rows) = (Values::default(), Rows::of(text.as_bytes(), 0));
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
            let spans = values.spans.iter().take(values.count);
            let texts = spans.map(|span| rows.text(*span).unwrap());
            all.push((values.line, texts.map(str::to_string).collect()));
        }
    }

    #[test]
    fn quotes_behind_many_blanks_take_no_time() {
        let text = [" ".repeat(1 << 20), "x".into(), "\"".repeat(1 << 20)].concat();
        let dialect = Dialect {
            delimiter: b',',
            quote: Some(b'"'),
            escape: Some(b'"'),
            comment: None,
        };
        let began = std::time::Instant::now();
        assert_eq!(by_split(&text, dialect), Ok(vec![(0, vec![text])]));
        assert!(began.elapsed().as_secs() < 20);
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
