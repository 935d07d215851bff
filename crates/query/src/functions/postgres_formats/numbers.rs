//! Numbers by a format, in the steps of PostgreSQL's `NUM_processor` (src/backend/utils/adt/formatting.c): each digit of the format is a
//! place, which is blank before the first digit of the number.

use super::moments::ordinal;
use hushdb_sql::{Error, ErrorKind};

/// Digits of a double that are shown.
const DIGITS_OF_DOUBLE: usize = 15;
/// Places that a format may have.
const MOST_PLACES: usize = 1_000;

/// A number that is shown.
pub(super) enum Shown {
    /// In decimal digits.
    Exact(String),
    Double(f64),
}

/// A part of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Nine,
    Zero,
    Point,
    Comma,
    /// The sign, where S stands.
    Sign,
    Minus,
    Plus,
    /// SG: the sign, whatever it is.
    Either,
    Currency,
    Roman(bool),
    Ordinal(bool),
    /// V, EEEE, FM and PR, which show nothing themselves.
    Mode,
    Text(char),
}

/// What stands before a sign that is shown where S says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignPlace {
    Before,
    Behind,
}

/// A format of numbers taken apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Picture {
    nodes: Vec<Node>,
    /// Places before the point and behind it, and digits that V moves it by.
    pre: usize,
    post: usize,
    multiply: usize,
    /// The place of the first 0, from 1, and the last one.
    zero_start: Option<usize>,
    zero_end: usize,
    has_point: bool,
    bare: bool,
    sign: Option<SignPlace>,
    has_minus: bool,
    has_plus: bool,
    brackets: bool,
    scientific: bool,
    roman: bool,
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::Parser, what.to_owned())
}

const POINT_AND_V: &str = "cannot use \"V\" and decimal point together";

/// Patterns; the longer before what they begin with.
const KEYS: [&str; 17] = [
    "EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "TH", "9", "0", ".", ",", "D", "G", "L", "S", "V",
];

impl Picture {
    pub(super) fn read(format: &str) -> Result<Self, Error> {
        let mut picture = Self::default();
        let mut rest = format;
        while let Some(c) = rest.chars().next() {
            let mut keys = KEYS.into_iter();
            let key = keys.find(|key| {
                let begin = rest.get(..key.len());
                begin.is_some_and(|begin| begin.eq_ignore_ascii_case(key))
            });
            let Some(key) = key else {
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
                match c {
                    '"' => {
                        let (quoted, behind) = rest.split_once('"').unwrap_or((rest, ""));
                        picture.nodes.extend(quoted.chars().map(Node::Text));
                        rest = behind;
                    }
                    c => picture.nodes.push(Node::Text(c)),
                }
                continue;
            };
            let (written, behind) = rest.split_at_checked(key.len()).unwrap_or((rest, ""));
            rest = behind;
            picture.add(key, written)?;
        }
        picture.pre += picture.moved();
        match picture.pre + picture.post > MOST_PLACES {
            true => Err(invalid("a format of numbers has at most 1000 places")),
            false => Ok(picture),
        }
    }

    fn add(&mut self, key: &str, written: &str) -> Result<(), Error> {
        let is_upper = written.starts_with(|c: char| c.is_ascii_uppercase());
        let node = match key {
            "9" | "0" | "." | "D" => self.digit(key)?,
            "S" | "MI" | "PL" | "SG" => self.of_sign(key)?,
            "," | "G" => Node::Comma,
            "L" => Node::Currency,
            "RN" => {
                self.roman = true;
                Node::Roman(is_upper)
            }
            "TH" => Node::Ordinal(is_upper),
            "V" if self.has_point => return Err(invalid(POINT_AND_V)),
            mode => {
                match mode {
                    "PR" => self.brackets = true,
                    "FM" => self.bare = true,
                    "V" => self.multiply = 1,
                    _ => self.scientific = true,
                }
                Node::Mode
            }
        };
        self.nodes.push(node);
        Ok(())
    }

    /// A place, or the point.
    fn digit(&mut self, key: &str) -> Result<Node, Error> {
        Ok(match key {
            "9" | "0" if self.brackets => return Err(invalid("\"9\" must be ahead of \"PR\"")),
            "9" if self.multiply > 0 => {
                self.multiply += 1;
                Node::Nine
            }
            "9" => {
                self.place();
                Node::Nine
            }
            "0" => {
                if self.zero_start.is_none() && !self.has_point {
                    self.zero_start = Some(self.pre);
                }
                self.place();
                self.zero_end = self.pre + self.post;
                Node::Zero
            }
            _ if self.has_point => return Err(invalid("multiple decimal points")),
            _ if self.multiply > 0 => return Err(invalid(POINT_AND_V)),
            _ => {
                self.has_point = true;
                Node::Point
            }
        })
    }

    fn of_sign(&mut self, key: &str) -> Result<Node, Error> {
        Ok(match key {
            "S" if self.sign.is_some() => return Err(invalid("cannot use \"S\" twice")),
            "S" if self.has_minus || self.has_plus || self.brackets => {
                return Err(invalid(
                    "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together",
                ));
            }
            "S" => {
                let is_first = !self.has_point && self.pre == 0;
                self.sign = Some(match is_first {
                    true => SignPlace::Before,
                    false => SignPlace::Behind,
                });
                Node::Sign
            }
            "MI" => {
                self.has_minus = true;
                Node::Minus
            }
            "PL" => {
                self.has_plus = true;
                Node::Plus
            }
            _ => {
                (self.has_minus, self.has_plus) = (true, true);
                Node::Either
            }
        })
    }

    fn place(&mut self) {
        match self.has_point {
            true => self.post += 1,
            false => self.pre += 1,
        }
    }

    /// The number as the format says.
    pub(super) fn text(&self, number: Shown) -> String {
        if self.roman {
            return self.roman_text(&number);
        }
        if self.scientific {
            return self.scientific_text(&number);
        }
        let (negative, digits) = self.digits(number);
        let whole = digits.split('.').next().map_or(0, str::len);
        let (number, blanks) = match whole > self.pre {
            true => {
                let mut all = "#".repeat(self.pre + self.post + 1).into_bytes();
                if let Some(point) = all.get_mut(self.pre) {
                    *point = b'.';
                }
                (all, 0)
            }
            false => (digits.into_bytes(), self.pre - whole),
        };
        Writing::new(self, number, blanks, negative).text()
    }

    /// The sign and the digits of a number, rounded to the places behind the point.
    fn digits(&self, number: Shown) -> (bool, String) {
        let shift = self.multiply.saturating_sub(1);
        let text = match number {
            Shown::Exact(text) => text,
            Shown::Double(value) if !value.is_finite() => {
                return (value < 0.0, "#".repeat(self.pre + 1));
            }
            Shown::Double(value) => {
                let value = value * 10_f64.powi(i32::try_from(shift).unwrap_or(0));
                let whole = format!("{:.0}", value.abs()).len();
                let post = self.post.min(DIGITS_OF_DOUBLE.saturating_sub(whole));
                let text = format!("{:.post$}", value.abs());
                return (value < 0.0, self.padded(text));
            }
        };
        let (negative, bare) = match text.strip_prefix('-') {
            Some(bare) => (true, bare),
            None => (false, text.as_str()),
        };
        let (whole, fraction) = bare.split_once('.').unwrap_or((bare, ""));
        let fraction = format!(
            "{fraction}{}",
            "0".repeat(shift.saturating_sub(fraction.len()))
        );
        let (moved, fraction) = fraction.split_at_checked(shift).unwrap_or(("", ""));
        let whole = format!("{whole}{moved}");
        let whole = match whole.trim_start_matches('0') {
            "" => "0",
            digits => digits,
        };
        let rounded = rounded(whole, fraction, self.post);
        let is_zero = rounded.bytes().all(|b| matches!(b, b'0' | b'.'));
        (negative && !is_zero, rounded)
    }

    /// Zeros where a double has no digits any more.
    fn padded(&self, mut text: String) -> String {
        if self.post == 0 {
            return text;
        }
        if !text.contains('.') {
            text.push('.');
        }
        let there = text.split_once('.').map_or(0, |(_, behind)| behind.len());
        text.push_str(&"0".repeat(self.post.saturating_sub(there)));
        text
    }

    fn scientific_text(&self, number: &Shown) -> String {
        let value = match number {
            Shown::Double(value) => *value,
            Shown::Exact(text) => text.parse().unwrap_or(f64::NAN),
        };
        let post = self.post;
        let shown = format!("{value:.post$e}");
        let (mantissa, power) = shown.split_once('e').unwrap_or((&shown, "0"));
        let power: i32 = power.parse().unwrap_or(0);
        let sign = if power < 0 { '-' } else { '+' };
        let blank = if mantissa.starts_with('-') { "" } else { " " };
        format!("{blank}{mantissa}e{sign}{:02}", power.abs())
    }

    fn roman_text(&self, number: &Shown) -> String {
        let value = match number {
            Shown::Double(value) => *value,
            Shown::Exact(text) => text.parse().unwrap_or(0.0),
        };
        let value = value.round();
        let is_upper = self.nodes.contains(&Node::Roman(true));
        let text = match (1.0..=3999.0).contains(&value) {
            false => "#".repeat(15),
            true => roman(value as u16),
        };
        let text = if is_upper { text } else { text.to_lowercase() };
        match self.bare {
            true => text,
            false => format!("{text:>15}"),
        }
    }

    /// The number that a text is by the format, in units of so many digits behind the point.
    ///
    /// # Errors
    /// `Conversion` when it has no digit, or more than a numeric.
    pub(super) fn number(&self, text: &str, scale: i8) -> Result<i128, Error> {
        let negative = text.contains(['-', '<']);
        let (mut whole, mut fraction) = (String::new(), String::new());
        let mut behind = false;
        for c in text.chars() {
            match c {
                '.' if !self.has_point || behind => break,
                '.' => behind = true,
                c if c.is_ascii_digit() && !behind && whole.len() < self.pre => {
                    whole.push(c);
                }
                c if c.is_ascii_digit() && behind && fraction.len() < self.post => fraction.push(c),
                _ => {}
            }
        }
        let wrong = |what: &str| Error::new(ErrorKind::Conversion, what).with_sqlstate("22P02");
        if whole.is_empty() && fraction.is_empty() {
            return Err(wrong("invalid input syntax for type numeric"));
        }
        let digits = [whole, fraction.clone()].concat();
        let value: Option<i128> = digits.parse().ok();
        let power = i64::from(scale) - fraction.len() as i64 - self.moved() as i64;
        let unit = u32::try_from(power.unsigned_abs()).ok();
        let unit = unit.and_then(|power| 10_i128.checked_pow(power));
        let value = match (value, unit, power < 0) {
            (Some(value), Some(unit), false) => value.checked_mul(unit),
            (Some(value), Some(unit), true) => value.checked_div(unit),
            _ => None,
        };
        let most = 10_i128.checked_pow(38).unwrap_or(i128::MAX);
        let value = value.filter(|value| *value < most);
        let value = value.ok_or_else(|| {
            Error::new(
                ErrorKind::OutOfRange,
                "a number has more digits than a numeric",
            )
        })?;
        Ok(if negative { -value } else { value })
    }

    /// Digits that V moves the point by.
    fn moved(&self) -> usize {
        self.multiply.saturating_sub(1)
    }
}

/// Digits with so many behind the point, halves away from zero.
fn rounded(whole: &str, fraction: &str, post: usize) -> String {
    let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes().take(post)).collect();
    digits.resize(whole.len() + post, b'0');
    if fraction
        .as_bytes()
        .get(post)
        .is_some_and(|next| *next >= b'5')
    {
        let mut at = digits.len();
        loop {
            let Some(before) = at.checked_sub(1) else {
                digits.insert(0, b'1');
                break;
            };
            at = before;
            match digits.get_mut(at) {
                Some(digit) if *digit == b'9' => *digit = b'0',
                Some(digit) => {
                    *digit += 1;
                    break;
                }
                None => break,
            }
        }
    }
    let point = digits.len() - post;
    if post > 0 {
        digits.insert(point, b'.');
    }
    String::from_utf8(digits).unwrap_or_default()
}

fn roman(mut value: u16) -> String {
    const PARTS: [(u16, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut text = String::new();
    for (part, letters) in PARTS {
        while value >= part {
            text.push_str(letters);
            value -= part;
        }
    }
    text
}

/// A number on its way into the places of a format.
struct Writing<'a> {
    picture: &'a Picture,
    number: Vec<u8>,
    /// Blank places before the number.
    blanks: usize,
    negative: bool,
    /// The last digit that is no zero behind the point; FM shows none after it.
    last_relevant: Option<usize>,
    /// The place that is next, and the digit.
    place: usize,
    digit: usize,
    places: usize,
    sign_written: bool,
    begun: bool,
    sign: Option<SignPlace>,
    out: String,
}

impl<'a> Writing<'a> {
    fn new(picture: &'a Picture, number: Vec<u8>, blanks: usize, negative: bool) -> Self {
        let separate = picture.has_minus || picture.has_plus;
        let sign_written = match separate {
            true => !picture.has_plus || picture.has_minus,
            false => !negative && picture.bare && picture.sign.is_none(),
        };
        let mut last_relevant = None;
        if picture.bare && picture.has_point {
            last_relevant = relevant(&number);
            if let Some(last) = last_relevant.as_mut()
                && picture.zero_end > blanks
            {
                let zero = (picture.zero_end - blanks).min(number.len().saturating_sub(1));
                *last = (*last).max(zero);
            }
        }
        let is_one_more = usize::from(!sign_written && blanks == 0);
        Self {
            picture,
            number,
            blanks,
            negative,
            last_relevant,
            place: 0,
            digit: 0,
            places: (picture.post + picture.pre + is_one_more).saturating_sub(1),
            sign_written,
            begun: false,
            sign: picture.sign,
            out: String::new(),
        }
    }

    fn text(mut self) -> String {
        let picture = self.picture;
        let sign = if self.negative { '-' } else { '+' };
        let is_overflow = self.number.first() == Some(&b'#');
        for node in &picture.nodes {
            match node {
                Node::Nine | Node::Zero | Node::Point => self.write_place(node),
                Node::Comma if self.begun => self.out.push(','),
                Node::Comma | Node::Currency if picture.bare => {}
                Node::Comma | Node::Currency => self.out.push(' '),
                Node::Minus if self.negative => self.out.push('-'),
                Node::Plus if !self.negative => self.out.push('+'),
                Node::Minus | Node::Plus if picture.bare => {}
                Node::Minus | Node::Plus => self.out.push(' '),
                Node::Either => self.out.push(sign),
                Node::Ordinal(_) if is_overflow || self.negative || picture.has_point => {}
                Node::Ordinal(is_upper) => {
                    let digits = String::from_utf8_lossy(&self.number).into_owned();
                    let th = ordinal(&digits);
                    self.out.push_str(&if *is_upper {
                        th.to_uppercase()
                    } else {
                        th.to_owned()
                    });
                }
                Node::Text(c) => self.out.push(*c),
                Node::Sign | Node::Roman(_) | Node::Mode => {}
            }
        }
        self.out
    }

    fn has_zero(&self) -> bool {
        self.picture.zero_start.is_some()
    }

    /// Whether the next digit is the zero before a point that no 0 of the format asks for.
    fn is_zero_before_point(&self) -> bool {
        !self.has_zero()
            && self.digit == 0
            && self.number.first() == Some(&b'0')
            && self.picture.post != 0
    }

    fn point_is_last(&self) -> bool {
        let last = self.last_relevant.and_then(|last| self.number.get(last));
        last == Some(&b'.')
    }

    fn write_sign(&mut self) {
        let begins = self.place >= self.blanks || self.picture.zero_start == Some(self.place);
        let waits = self.is_zero_before_point() && !self.point_is_last();
        if self.sign_written || !begins || waits {
            return;
        }
        match (self.sign, self.picture.brackets, self.negative) {
            (Some(SignPlace::Before), ..) => {
                self.out.push(if self.negative { '-' } else { '+' });
            }
            (Some(SignPlace::Behind), ..) => return,
            (None, true, negative) => self.out.push(if negative { '<' } else { ' ' }),
            (None, false, true) => self.out.push('-'),
            (None, false, false) if self.picture.bare => {}
            (None, false, false) => self.out.push(' '),
        }
        self.sign_written = true;
    }

    fn write_place(&mut self, node: &Node) {
        self.write_sign();
        let (bare, before) = (self.picture.bare, self.place < self.blanks);
        let zeros = self
            .picture
            .zero_start
            .is_some_and(|start| start <= self.place);
        match self.number.get(self.digit).copied() {
            _ if before && zeros => {
                self.out.push('0');
                self.begun = true;
            }
            _ if before => {
                if !bare {
                    self.out.push(' ');
                }
            }
            Some(b'.') => {
                if !self.point_is_last() || bare {
                    self.out.push('.');
                }
                self.digit += 1;
            }
            digit => {
                self.write_digit(digit, node);
                self.digit += usize::from(digit.is_some());
            }
        }
        self.end();
        self.place += 1;
    }

    fn write_digit(&mut self, digit: Option<u8>, node: &Node) {
        let is_behind_last = self.last_relevant.is_some_and(|last| self.digit > last);
        if is_behind_last && *node != Node::Zero {
            return;
        }
        if self.is_zero_before_point() {
            match self.picture.bare {
                false => self.out.push(' '),
                true if self.point_is_last() => self.out.push('0'),
                true => {}
            }
            return;
        }
        if let Some(digit) = digit {
            self.out.push(char::from(digit));
            self.begun = true;
        }
    }

    /// What stands behind the last place.
    fn end(&mut self) {
        let mut end =
            self.places + usize::from(self.blanks > 0) + usize::from(self.picture.has_point);
        if self.last_relevant == Some(self.digit) {
            end = self.place;
        }
        if self.place + 1 != end {
            return;
        }
        match self.sign {
            _ if self.sign_written && self.picture.brackets => {
                self.out.push(if self.negative { '>' } else { ' ' });
            }
            Some(SignPlace::Behind) => self.out.push(if self.negative { '-' } else { '+' }),
            _ => {}
        }
    }
}

/// The last digit behind the point that is no zero, or the point.
fn relevant(number: &[u8]) -> Option<usize> {
    let point = number.iter().position(|b| *b == b'.')?;
    let mut behind = number.iter().enumerate().skip(point + 1);
    let last = behind.rfind(|(_, digit)| **digit != b'0');
    Some(last.map_or(point, |(at, _)| at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(number: &str, format: &str) -> String {
        let picture = Picture::read(format).unwrap();
        picture.text(Shown::Exact(number.to_owned()))
    }

    /// The examples of PostgreSQL's documentation.
    #[test]
    fn numbers_are_shown_as_in_postgresql() {
        for (number, format, wanted) in [
            ("-0.1", "99.99", "  -.10"),
            ("-0.1", "FM9.99", "-.1"),
            ("-0.1", "FM90.99", "-0.1"),
            ("0.1", "0.9", " 0.1"),
            ("12", "9990999.9", "    0012.0"),
            ("12", "FM9990999.9", "0012."),
            ("485", "999", " 485"),
            ("-485", "999", "-485"),
            ("485", "9 9 9", " 4 8 5"),
            ("1485", "9,999", " 1,485"),
            ("1485", "9G999", " 1,485"),
            ("148.5", "999.999", " 148.500"),
            ("148.5", "FM999.999", "148.5"),
            ("148.5", "FM999.990", "148.500"),
            ("3148.5", "9G999D999", " 3,148.500"),
            ("-485", "999S", "485-"),
            ("-485", "999MI", "485-"),
            ("485", "999MI", "485 "),
            ("485", "FM999MI", "485"),
            ("485", "PL999", "+ 485"),
            ("485", "SG999", "+485"),
            ("-485", "SG999", "-485"),
            ("-485", "9SG99", "4-85"),
            ("-485", "999PR", "<485>"),
            ("485", "L999", "  485"),
            ("485", "RN", "        CDLXXXV"),
            ("485", "FMRN", "CDLXXXV"),
            ("5.2", "FMRN", "V"),
            ("482", "999th", " 482nd"),
            ("485", "\"Good number:\"999", "Good number: 485"),
            ("485.8", "\"Pre:\"999\" Post:\" .999", "Pre: 485 Post: .800"),
            ("12", "99V999", " 12000"),
            ("12.4", "99V999", " 12400"),
            ("12.45", "99V9", " 125"),
            ("0.0004859", "9.99EEEE", " 4.86e-04"),
            ("1234", "999", " ###"),
            ("1234.5", "FM999,999.00", "1,234.50"),
            ("1234567.891", "9,999,999.99", " 1,234,567.89"),
            ("0", "999", "   0"),
            ("0.5", "9.9", "  .5"),
            ("7", "000", " 007"),
            ("7", "FM000", "007"),
        ] {
            assert_eq!(shown(number, format), wanted, "{number} {format}");
        }
    }

    #[test]
    fn numbers_are_read_by_their_format() {
        let read = |text: &str, format: &str| Picture::read(format).unwrap().number(text, 2);
        for (text, format, wanted) in [
            ("12,454.8-", "99G999D9S", -1_245_480),
            ("$1,234.56", "L9,999.99", 123_456),
            ("48.00", "999", 4_800),
            ("<7>", "9PR", -700),
        ] {
            assert_eq!(read(text, format).unwrap(), wanted, "{text}");
        }
        assert!(read("abc", "999").is_err());
        assert!(Picture::read("9.9.9").is_err());
    }
}
