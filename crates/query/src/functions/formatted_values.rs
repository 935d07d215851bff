//! One value in the form that `format` and `printf` ask for: its digits, sign, width and what fills it.
//!
//! What must hold: whoever calls has asked for the memory of the width and the precision.

use super::formatted::invalid;
use datafusion::common::Result;
use hushdb_sql::Error;

/// A value to be written.
#[derive(Clone, Debug)]
pub(super) enum Given {
    Int(i128),
    Float(f64),
    Bool(bool),
    Text(String),
}

impl Given {
    /// The refusal of a letter that is not for such a value.
    pub(super) fn unlike(&self, kind: char) -> Error {
        let of = match self {
            Self::Int(_) | Self::Bool(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "string",
        };
        invalid(format!(
            "Invalid type specifier \"{kind}\" for formatting a value of type {of}"
        ))
    }
}

/// Where a value stands in its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    /// Numbers to the right, texts to the left; all to the right in `printf`.
    Usual,
    Left,
    Right,
    Center,
    /// What fills comes between the sign and the digits.
    Number,
}

impl Align {
    pub(super) fn of(letter: char) -> Option<Self> {
        Some(match letter {
            '<' => Self::Left,
            '>' => Self::Right,
            '^' => Self::Center,
            '=' => Self::Number,
            _ => return None,
        })
    }
}

/// What stands between the braces, or behind the percent sign.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) fill: char,
    pub(super) align: Align,
    /// `+` or a space before what is not negative.
    pub(super) plus: Option<char>,
    pub(super) alternate: bool,
    pub(super) thousands: Option<char>,
    /// In characters.
    pub(super) width: usize,
    pub(super) precision: Option<usize>,
    pub(super) kind: Option<char>,
    /// The rules of `printf`.
    pub(super) of_c: bool,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            fill: ' ',
            align: Align::Usual,
            plus: None,
            alternate: false,
            thousands: None,
            width: 0,
            precision: None,
            kind: None,
            of_c: false,
        }
    }
}

impl Form {
    /// A zero before the width.
    pub(super) fn zeros(&mut self) {
        if self.of_c || self.align == Align::Usual {
            (self.fill, self.align) = ('0', Align::Number);
        }
    }

    pub(super) fn write(&self, value: Given, out: &mut String) -> Result<()> {
        match value {
            Given::Bool(value) if matches!(self.kind, None | Some('s')) => {
                self.put_text(if value { "true" } else { "false" }, out);
            }
            Given::Bool(value) => self.put_int(i128::from(value), out)?,
            Given::Int(value) => self.put_int(value, out)?,
            Given::Float(value) => self.put_float(value, out)?,
            Given::Text(value) => match self.kind {
                None | Some('s') => self.put_text(&value, out),
                Some(kind) => return Err(Given::Text(value).unlike(kind).into()),
            },
        }
        Ok(())
    }

    fn put_text(&self, text: &str, out: &mut String) {
        let end = self
            .precision
            .and_then(|most| text.char_indices().nth(most));
        let text = end.map_or(text, |(at, _)| text.get(..at).unwrap_or(text));
        let fill = if self.fill == '0' && self.of_c {
            ' '
        } else {
            self.fill
        };
        let align = match self.align {
            Align::Usual if self.of_c => Align::Right,
            Align::Usual => Align::Left,
            Align::Number => Align::Right,
            other => other,
        };
        pad(["", text], self.width, fill, align, out);
    }

    /// Sign, what is before the digits, and the digits.
    fn put_number(&self, is_negative: bool, before: &str, digits: &str, out: &mut String) {
        let mut sign = String::new();
        match (is_negative, self.plus) {
            (true, _) => sign.push('-'),
            (false, Some(plus)) => sign.push(plus),
            (false, None) => {}
        }
        sign.push_str(before);
        let align = match self.align {
            Align::Usual => Align::Right,
            other => other,
        };
        pad([&sign, digits], self.width, self.fill, align, out);
    }

    fn put_int(&self, value: i128, out: &mut String) -> Result<()> {
        let kind = self.kind.unwrap_or('d');
        let of_c = self.of_c && matches!(kind, 'x' | 'X' | 'o' | 'u');
        // Without a sign, as the 64 bits that it is.
        let bits = if of_c && value < 0 {
            i128::from(value as u64)
        } else {
            value
        };
        let size = bits.unsigned_abs();
        let (before, digits) = match kind {
            'd' | 'n' | 'u' => ("", size.to_string()),
            'i' if self.of_c => ("", size.to_string()),
            'x' => ("0x", format!("{size:x}")),
            'X' => ("0X", format!("{size:X}")),
            'o' => ("0", format!("{size:o}")),
            'b' if !self.of_c => ("0b", format!("{size:b}")),
            'B' if !self.of_c => ("0B", format!("{size:b}")),
            'c' if self.of_c => {
                let letter = u32::try_from(value).ok().and_then(char::from_u32);
                let letter =
                    letter.ok_or_else(|| invalid("there is no character of this number"))?;
                self.put_text(letter.encode_utf8(&mut [0; 4]), out);
                return Ok(());
            }
            other => return Err(Given::Int(value).unlike(other).into()),
        };
        let mut digits = self.in_thousands(digits);
        if let Some(least) = self.precision.filter(|least| *least > digits.len()) {
            digits.insert_str(0, &"0".repeat(least - digits.len()));
        }
        let before = if self.alternate && size != 0 {
            before
        } else {
            ""
        };
        self.put_number(bits < 0, before, &digits, out);
        Ok(())
    }

    fn put_float(&self, value: f64, out: &mut String) -> Result<()> {
        let kind = match self.kind {
            Some('a' | 'A') => {
                return Err(
                    Error::unsupported("hexadecimal floats are not there yet; use %e").into(),
                );
            }
            Some(kind) if !matches!(kind, 'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'n') => {
                return Err(Given::Float(value).unlike(kind).into());
            }
            kind => kind,
        };
        if !value.is_finite() {
            let name = if value.is_nan() { "nan" } else { "inf" };
            let plain = Self {
                fill: if self.fill == '0' { ' ' } else { self.fill },
                align: match self.align {
                    Align::Number => Align::Right,
                    other => other,
                },
                ..self.clone()
            };
            plain.put_number(value < 0.0, "", name, out);
            return Ok(());
        }
        let size = value.abs();
        let digits = match kind {
            None => match self.precision {
                None => shortest(size),
                Some(digits) => general(size, digits.max(1), true),
            },
            Some('f' | 'F') => format!("{size:.*}", self.precision.unwrap_or(6)),
            Some('e' | 'E') => scientific(size, self.precision.unwrap_or(6)),
            _ => match self.precision {
                Some(digits) if digits > 0 => general(size, digits, self.alternate),
                _ => general(size, 6, self.alternate),
            },
        };
        let digits = match kind {
            Some('E' | 'G' | 'F') => digits.to_uppercase(),
            _ => digits,
        };
        let digits = match digits.find(|c: char| !c.is_ascii_digit()) {
            Some(at) => {
                let (whole, fraction) = digits.split_at(at);
                self.in_thousands(whole.to_owned()) + fraction
            }
            None => self.in_thousands(digits),
        };
        self.put_number(value.is_sign_negative(), "", &digits, out);
        Ok(())
    }

    fn in_thousands(&self, digits: String) -> String {
        let Some(mark) = self.thousands else {
            return digits;
        };
        let mut out = String::with_capacity(digits.len() * 4 / 3);
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                out.push(mark);
            }
            out.push(digit);
        }
        out
    }
}

/// Puts a sign and digits, or a text, into a width.
fn pad([sign, digits]: [&str; 2], width: usize, fill: char, align: Align, out: &mut String) {
    let missing = width.saturating_sub(sign.chars().count() + digits.chars().count());
    let (left, between, right) = match align {
        Align::Left => (0, 0, missing),
        Align::Center => (missing / 2, 0, missing - missing / 2),
        Align::Number => (0, missing, 0),
        Align::Right | Align::Usual => (missing, 0, 0),
    };
    let filled = |count: usize| std::iter::repeat_n(fill, count);
    out.extend(filled(left));
    out.push_str(sign);
    out.extend(filled(between));
    out.push_str(digits);
    out.extend(filled(right));
}

/// With an exponent of two digits at least.
fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    let Some((number, power)) = text.split_once('e') else {
        return text;
    };
    let (sign, power) = match power.strip_prefix('-') {
        Some(power) => ('-', power),
        None => ('+', power),
    };
    format!("{number}e{sign}{power:0>2}")
}

/// So many digits, with an exponent where the point would be far from them.
fn general(value: f64, digits: usize, keeps_zeros: bool) -> String {
    let text = scientific(value, digits - 1);
    let power = text
        .split_once('e')
        .and_then(|(_, power)| power.parse::<i64>().ok());
    let power = power.unwrap_or_default();
    let text = match power < -4 || power >= digits as i64 {
        true => text,
        false => format!("{value:.*}", (digits as i64 - 1 - power).max(0) as usize),
    };
    if keeps_zeros || !text.contains('.') {
        return text;
    }
    let (number, power) = text.split_once('e').unwrap_or((&text, ""));
    let number = number.trim_end_matches('0').trim_end_matches('.');
    match power {
        "" => number.to_owned(),
        power => format!("{number}e{power}"),
    }
}

/// The fewest digits that are the number.
fn shortest(value: f64) -> String {
    let text = format!("{value:e}");
    let Some((number, power)) = text.split_once('e') else {
        return text;
    };
    match power.parse::<i64>().unwrap_or_default() {
        -4..16 => {
            let text = format!("{value}");
            match text.contains('.') {
                true => text,
                false => text + ".0",
            }
        }
        _ => scientific(value, number.len().saturating_sub(2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_in_c() {
        assert_eq!(general(1e-5, 6, false), "1e-05");
        assert_eq!(general(123456.0, 6, false), "123456");
        assert_eq!(general(1234567.0, 6, false), "1.23457e+06");
        assert_eq!(shortest(1e16), "1e+16");
        assert_eq!(shortest(1e15), "1000000000000000.0");
        assert_eq!(shortest(5e-324), "5e-324");
        assert_eq!(shortest(123456789012345680.0), "1.2345678901234568e+17");
    }
}
