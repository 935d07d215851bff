//! One value of JSON (RFC 8259) as it lies in a text: checked once, then walked over without a tree.
//!
//! What must hold: no text panics, however malformed; nothing is allocated but a byte for each open bracket; errors repeat
//! nothing of the text. As in DuckDB a comma may stand before a closing bracket, and NaN and infinities are numbers.

use hushdb_sql::{Error, ErrorKind};
use std::borrow::Cow;

/// Brackets within one another: whoever walks over a value may recurse so deep.
const MAX_DEPTH: usize = 500;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Number,
    Text,
    List,
    Object,
}

/// A value that was checked, without space around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'a>(&'a str);

impl<'a> Value<'a> {
    /// The one value of a text.
    pub(super) fn read(text: &'a str) -> Result<Self, Error> {
        let mut scanner = Scanner { text, at: 0 };
        let value = scanner.value()?;
        scanner.space();
        match scanner.peek() {
            None => Ok(Self(value)),
            Some(_) => Err(scanner.malformed("unexpected content after document")),
        }
    }

    /// As it is written.
    pub(super) fn text(self) -> &'a str {
        self.0
    }

    pub(super) fn kind(self) -> Kind {
        match self.0.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::List,
            Some(b'"') => Kind::Text,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') if self.0 == "null" => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Names and values of an object; nothing of all else.
    pub(super) fn members(self) -> Parts<'a> {
        Parts::of(self.0, Kind::Object == self.kind())
    }

    /// The values of a list; nothing of all else.
    pub(super) fn items(self) -> impl Iterator<Item = Value<'a>> {
        Parts::of(self.0, Kind::List == self.kind()).map(|(_, value)| value)
    }

    /// The text that a string says; `None` of all else.
    pub(super) fn string(self) -> Option<Cow<'a, str>> {
        (self.kind() == Kind::Text).then(|| unescaped(self.0))
    }

    /// Writes it without space, its numbers and strings in one way.
    pub(super) fn write(self, out: &mut String) {
        let mut scanner = Scanner {
            text: self.0,
            at: 0,
        };
        loop {
            scanner.space();
            match scanner.peek() {
                None => return,
                Some(b'"') => match scanner.string() {
                    Ok(raw) => write_string(&unescaped(raw), out),
                    Err(_) => return,
                },
                Some(b',') => {
                    scanner.at += 1;
                    scanner.space();
                    if !matches!(scanner.peek(), Some(b'}' | b']')) {
                        out.push(',');
                    }
                }
                Some(c @ (b'{' | b'}' | b'[' | b']' | b':')) => {
                    scanner.at += 1;
                    out.push(char::from(c));
                }
                Some(_) => out.push_str(&plain(scanner.word())),
            }
        }
    }

    /// Writes it with a line for each value.
    pub(super) fn write_pretty(self, depth: usize, out: &mut String) {
        let kind = self.kind();
        let (open, close) = match kind {
            Kind::Object => ('{', '}'),
            Kind::List => ('[', ']'),
            _ => return self.write(out),
        };
        out.push(open);
        let mut is_empty = true;
        for (name, value) in Parts::of(self.0, true) {
            out.push_str(if is_empty { "\n" } else { ",\n" });
            is_empty = false;
            indent(depth + 1, out);
            if kind == Kind::Object {
                write_string(&name, out);
                out.push_str(": ");
            }
            value.write_pretty(depth + 1, out);
        }
        if !is_empty {
            out.push('\n');
            indent(depth, out);
        }
        out.push(close);
    }

    /// The member of a name; of several the last.
    pub(super) fn member(self, name: &str) -> Option<Value<'a>> {
        let members = self.members().filter(|_| self.kind() == Kind::Object);
        let mut named = members.filter(|(known, _)| known == name);
        let first = named.next();
        named.last().or(first).map(|(_, value)| value)
    }

    /// The item at a place; a negative one counts from the end.
    pub(super) fn item(self, place: i64) -> Option<Value<'a>> {
        let place = match usize::try_from(place) {
            Ok(place) => place,
            Err(_) => {
                let back = usize::try_from(place.unsigned_abs()).ok()?;
                self.items().count().checked_sub(back)?
            }
        };
        self.items().nth(place)
    }

    /// The member that a text names, or the item whose place it is.
    pub(super) fn step(self, text: &str) -> Option<Value<'a>> {
        match self.kind() {
            Kind::Object => self.member(text),
            Kind::List => self.item(text.trim().parse().ok()?),
            _ => None,
        }
    }

    /// DuckDB's name of the type that it is read as.
    pub(super) fn type_name(self) -> &'static str {
        match self.kind() {
            Kind::Null => "NULL",
            Kind::Bool => "BOOLEAN",
            Kind::Text => "VARCHAR",
            Kind::List => "ARRAY",
            Kind::Object => "OBJECT",
            Kind::Number if self.0.parse::<u64>().is_ok() => "UBIGINT",
            Kind::Number if self.0.parse::<i64>().is_ok() && self.0 != "-0" => "BIGINT",
            Kind::Number => "DOUBLE",
        }
    }
}

fn indent(depth: usize, out: &mut String) {
    (0..depth).for_each(|_| out.push_str("    "));
}

/// A number, `true`, `false` or `null` in the one way in which it is written.
fn plain(word: &str) -> Cow<'_, str> {
    let is_number = word.contains(|c: char| c.is_ascii_digit());
    if !is_number {
        return match word.trim_start_matches('-').as_bytes().first() {
            Some(b'N' | b'n') if word != "null" => "NaN".into(),
            Some(b'i' | b'I') if word.starts_with('-') => "-Infinity".into(),
            Some(b'i' | b'I') => "Infinity".into(),
            _ => word.into(),
        };
    }
    let is_whole = !word.contains(['.', 'e', 'E']) && word != "-0";
    match word.parse::<f64>() {
        Ok(number) if !is_whole && number.is_finite() => double(number).into(),
        _ => word.into(),
    }
}

/// A DOUBLE with the fewest digits that are it: in full up to 21 of them before the point.
pub(super) fn double(number: f64) -> String {
    if !number.is_finite() {
        return plain(&format!("{number}")).into_owned();
    }
    let short = format!("{number:e}");
    let Some((digits, power)) = short.split_once('e') else {
        return short;
    };
    match power.parse::<i32>().unwrap_or_default() {
        -6..=20 => {
            let full = format!("{number}");
            match full.contains('.') {
                true => full,
                false => full + ".0",
            }
        }
        power => format!("{digits}e{power}"),
    }
}

/// A string in quotes.
pub(super) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if u32::from(c) < 0x20 => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// What a checked string in quotes says.
fn unescaped(raw: &str) -> Cow<'_, str> {
    let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    if !inner.contains('\\') {
        return inner.into();
    }
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    let hex = |rest: &mut std::str::Chars<'_>| {
        let digits: String = rest.by_ref().take(4).collect();
        u32::from_str_radix(&digits, 16).unwrap_or_default()
    };
    while let Some(c) = rest.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        text.push(match rest.next() {
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('u') => {
                let mut code = hex(&mut rest);
                if (0xD800..0xDC00).contains(&code) {
                    rest.by_ref().take(2).for_each(drop);
                    let low = hex(&mut rest).wrapping_sub(0xDC00);
                    code = 0x10000 + ((code - 0xD800) << 10) + (low & 0x3FF);
                }
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            Some(other) => other,
            None => break,
        });
    }
    text.into()
}

/// The members of an object, or the items of a list, whose names are empty.
pub(super) struct Parts<'a> {
    scanner: Scanner<'a>,
    is_object: bool,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str, has_parts: bool) -> Self {
        let text = if has_parts { text } else { "" };
        let scanner = Scanner { text, at: 1 };
        Self {
            scanner,
            is_object: text.starts_with('{'),
        }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = (Cow<'a, str>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.scanner.space();
        self.scanner.eat(b',');
        self.scanner.space();
        if matches!(self.scanner.peek()?, b'}' | b']') {
            return None;
        }
        let name = match self.is_object {
            true => unescaped(self.scanner.key().ok()?),
            false => "".into(),
        };
        self.scanner.space();
        let value = self.scanner.value().ok()?;
        Some((name, Value(value)))
    }
}

/// Reads a text from front to back.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn malformed(&self, what: &str) -> Error {
        let what = format!("Malformed JSON at byte {} of input: {what}", self.at);
        Error::new(ErrorKind::InvalidInput, what)
    }

    fn unexpected(&self) -> Error {
        match self.peek() {
            None => self.malformed("unexpected end of data"),
            Some(_) => self.malformed("unexpected character"),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn since(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or_default()
    }

    /// One value, checked.
    fn value(&mut self) -> Result<&'a str, Error> {
        self.space();
        let from = self.at;
        let mut open = vec![];
        loop {
            self.space();
            let closes = match self.peek() {
                Some(b'{') => Some(b'}'),
                Some(b'[') => Some(b']'),
                _ => None,
            };
            match closes {
                Some(close) => {
                    self.at += 1;
                    self.space();
                    if !self.eat(close) {
                        if close == b'}' {
                            self.key()?;
                        }
                        open.push(close);
                        if open.len() > MAX_DEPTH {
                            let what = format!("it is nested more than {MAX_DEPTH} deep");
                            return Err(self.malformed(&what));
                        }
                        continue;
                    }
                }
                None if self.peek() == Some(b'"') => {
                    self.string()?;
                }
                None => self.check_word()?,
            }
            loop {
                let Some(close) = open.last().copied() else {
                    return Ok(self.since(from));
                };
                self.space();
                let goes_on = self.eat(b',');
                self.space();
                if self.eat(close) {
                    open.pop();
                    continue;
                }
                if !goes_on {
                    return Err(self.unexpected());
                }
                if close == b'}' {
                    self.key()?;
                }
                break;
            }
        }
    }

    /// A name in quotes, and the colon behind it.
    fn key(&mut self) -> Result<&'a str, Error> {
        let key = self.string()?;
        self.space();
        match self.eat(b':') {
            true => Ok(key),
            false => Err(self.unexpected()),
        }
    }

    /// A string with its quotes.
    fn string(&mut self) -> Result<&'a str, Error> {
        let from = self.at;
        if !self.eat(b'"') {
            return Err(self.unexpected());
        }
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(self.since(from));
                }
                Some(b'\\') => self.escape()?,
                None | Some(0..0x20) => return Err(self.unexpected()),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), Error> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => match self.unit()? {
                0xD800..0xDC00 => {
                    let is_pair = self.eat(b'\\') && self.peek() == Some(b'u');
                    match is_pair && (0xDC00..0xE000).contains(&self.unit()?) {
                        true => Ok(()),
                        false => Err(self.malformed("invalid surrogate in string")),
                    }
                }
                0xDC00..0xE000 => Err(self.malformed("invalid surrogate in string")),
                _ => Ok(()),
            },
            _ => Err(self.malformed("invalid escaped character in string")),
        }
    }

    /// Four hexadecimal digits behind a `u`.
    fn unit(&mut self) -> Result<u32, Error> {
        self.at += 1;
        let digits = self.text.get(self.at..self.at + 4).unwrap_or_default();
        let is_hex = digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_hex {
            return Err(self.malformed("invalid escaped character in string"));
        }
        self.at += 4;
        Ok(u32::from_str_radix(digits, 16).unwrap_or_default())
    }

    /// What stands up to the next delimiter.
    fn word(&mut self) -> &'a str {
        let from = self.at;
        let is_inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
        while self.peek().is_some_and(is_inner) {
            self.at += 1;
        }
        self.since(from)
    }

    fn check_word(&mut self) -> Result<(), Error> {
        let from = self.at;
        let word = self.word();
        let bare = word.strip_prefix('-').unwrap_or(word).to_ascii_lowercase();
        let is_known = matches!(word, "true" | "false" | "null")
            || matches!(bare.as_str(), "nan" | "inf" | "infinity")
            || is_number(word);
        if !is_known {
            self.at = from;
            return Err(self.unexpected());
        }
        Ok(())
    }
}

fn is_number(word: &str) -> bool {
    let word = word.strip_prefix('-').unwrap_or(word);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (number, power) = match word.split_once(['e', 'E']) {
        Some((number, power)) => (number, Some(power)),
        None => (word, None),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let power = power.map(|power| power.strip_prefix(['+', '-']).unwrap_or(power));
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && power.is_none_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &str) -> Option<String> {
        let value = Value::read(text).ok()?;
        let mut out = String::new();
        value.write(&mut out);
        Some(out)
    }

    #[test]
    fn values_are_written_in_one_way() {
        for (text, expected) in [
            (r#" {"a" : [1, 2,], "b":{} } "#, r#"{"a":[1,2],"b":{}}"#),
            (r#""\u00e9\ud83d\ude00\/""#, "\"é😀/\""),
            (
                "[1e5, -0, 1e400, 1E-7, 123456789012345678901]",
                "[100000.0,-0.0,1e400,1e-7,123456789012345678901]",
            ),
            ("[nan, -Infinity, null, true]", "[NaN,-Infinity,null,true]"),
        ] {
            assert_eq!(written(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_malformed_is_refused() {
        let deep = "[".repeat(MAX_DEPTH + 2) + &"]".repeat(MAX_DEPTH + 2);
        for text in [
            "",
            " ",
            "{",
            "[1",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "01",
            "1.",
            "1e",
            "--1",
            "'a'",
            "\"",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\u{1}\"",
            "1 2",
            "[,]",
            "{,}",
            "tru",
            "]",
            &deep,
        ] {
            assert!(Value::read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[\\[\\]{}\",:0-9eE.truefalsn\\\\ué -]{0,40}") {
            if let Ok(value) = Value::read(&text) {
                let mut out = String::new();
                value.write(&mut out);
                prop_assert!(Value::read(&out).is_ok(), "{text} became {out}");
                value.write_pretty(0, &mut out);
                let mut sorted = String::new();
                value.write_jsonb(&mut sorted);
                prop_assert!(Value::read(&sorted).is_ok(), "{text} became {sorted}");
                value.members().count();
                value.items().count();
            }
        }
    }
}
