//! Literals of days and intervals that PostgreSQL reads and DuckDB does not: `today`, `Jan 8, 1999`, `19990108`, `P1Y2M`, `1-2`.
//!
//! What must hold: what is none of them stays as it is.

use crate::error::Result;
use crate::template::template;
use sqlparser::ast::{CastKind, DataType, Expr, TypedString, Value};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The text that a literal is.
fn text_of_mut(expr: &mut Expr) -> Option<&mut String> {
    match expr {
        Expr::Nested(inner) => text_of_mut(inner),
        Expr::Value(value) => match &mut value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// What a word that stands for a day or the moment is; `None` of all else.
pub(crate) fn day_of_word(expr: &Expr) -> Result<Option<Expr>> {
    let text = match expr {
        Expr::Nested(inner) => return day_of_word(inner),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.trim().to_ascii_lowercase(),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let meaning = match text.as_str() {
        "now" => "now()",
        "today" => "CAST(now() AS DATE)",
        "tomorrow" => "(CAST(now() AS DATE) + 1)",
        "yesterday" => "(CAST(now() AS DATE) - 1)",
        _ => return Ok(None),
    };
    template(meaning, &[]).map(Some)
}

/// Writes a literal's day as everybody reads it.
pub(crate) fn plain_day(expr: &mut Expr) {
    if let Some(text) = text_of_mut(expr)
        && let Some(day) = day(text)
    {
        *text = day;
    }
}

/// A day with its month's name, of eight digits, or as month, day and year between strokes.
fn day(text: &str) -> Option<String> {
    let text = text.trim();
    let all_digits = |of: &str| !of.is_empty() && of.bytes().all(|of| of.is_ascii_digit());
    if text.len() == 8 && all_digits(text) {
        return Some(format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..]));
    }
    let parts = text.split([' ', ',', '-', '/']);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let [first, second, third] = parts.try_into().ok()?;
    let month = |of: &str| {
        let of = of.to_ascii_lowercase();
        let at = MONTHS
            .iter()
            .position(|name| of.len() > 2 && name.starts_with(&of));
        at.map(|at| (at + 1).to_string())
    };
    let (year, month, day) = match (month(first), month(second)) {
        (Some(month), None) => (third, month, second),
        (None, Some(month)) if first.len() == 4 => (first, month, third),
        (None, Some(month)) => (third, month, first),
        (None, None) if text.contains('/') && third.len() == 4 => (third, first.to_owned(), second),
        _ => return None,
    };
    let are_numbers = [year, &month, day].into_iter().all(all_digits);
    (are_numbers && year.len() == 4).then(|| format!("{year}-{month:0>2}-{day:0>2}"))
}

/// The same of `DATE 'text'`, which may be a word.
pub(crate) fn typed_day(typed: &mut TypedString, is_stored: bool) -> Result<Option<Expr>> {
    if !matches!(typed.data_type, DataType::Date | DataType::Timestamp(..)) {
        return Ok(None);
    }
    let mut literal = Expr::Value(typed.value.clone());
    plain_day(&mut literal);
    let word = day_of_word(&literal)?;
    if let Expr::Value(value) = literal {
        typed.value = value;
    }
    Ok(word.filter(|_| !is_stored).map(|word| Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(word),
        data_type: typed.data_type.clone(),
        array: false,
        format: None,
    }))
}

/// Writes a literal's interval as everybody reads it.
pub(crate) fn plain_span(expr: &mut Expr) {
    if let Some(text) = text_of_mut(expr)
        && let Some(span) = span(text)
    {
        *text = span;
    }
}

/// The text of a moment or of an interval as everybody reads it, where PostgreSQL alone reads it as it is.
pub fn postgres_moment(text: &str, is_span: bool) -> Option<String> {
    match is_span {
        true => span(text),
        false => day(text),
    }
}

/// An interval of ISO 8601, of years and months, or of days and a time of day, and one whose parts have a plus.
fn span(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some(parts) = text.strip_prefix('P') {
        return iso_span(parts);
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let all_digits = |of: &str| !of.is_empty() && of.bytes().all(|of| of.is_ascii_digit());
    if let Some((years, months)) = rest.split_once('-')
        && all_digits(years)
        && all_digits(months)
    {
        return Some(format!("{sign}{years} years {sign}{months} months"));
    }
    if let Some((days, time)) = rest.split_once(' ')
        && all_digits(days)
        && time.contains(':')
        && time
            .bytes()
            .all(|of| of.is_ascii_digit() || b":.".contains(&of))
    {
        return Some(format!("{sign}{days} days {time}"));
    }
    text.contains(" +").then(|| text.replace(" +", " "))
}

fn iso_span(parts: &str) -> Option<String> {
    let (mut number, mut in_time, mut span) = (String::new(), false, vec![]);
    for letter in parts.chars() {
        let unit = match (letter, in_time) {
            ('0'..='9' | '-' | '.', _) => {
                number.push(letter);
                continue;
            }
            ('T', false) if number.is_empty() => {
                in_time = true;
                continue;
            }
            ('Y', false) => "years",
            ('M', false) => "months",
            ('W', false) => "weeks",
            ('D', false) => "days",
            ('H', true) => "hours",
            ('M', true) => "minutes",
            ('S', true) => "seconds",
            _ => return None,
        };
        if number.is_empty() {
            return None;
        }
        span.push(format!("{} {unit}", std::mem::take(&mut number)));
    }
    (number.is_empty() && !span.is_empty()).then(|| span.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_intervals_are_written_plainly() {
        for (text, plain) in [
            ("Jan 8, 1999", Some("1999-01-08")),
            ("8 January 1999", Some("1999-01-08")),
            ("08-Jan-1999", Some("1999-01-08")),
            ("1999-Jan-08", Some("1999-01-08")),
            ("1/8/1999", Some("1999-01-08")),
            ("19990108", Some("1999-01-08")),
            ("1999-01-08", None),
            ("1999-01-08 10:00", None),
            ("ma 8, 1999", None),
        ] {
            assert_eq!(day(text).as_deref(), plain, "{text}");
        }
        for (text, plain) in [
            (
                "P1Y2M3DT4H5M6.5S",
                Some("1 years 2 months 3 days 4 hours 5 minutes 6.5 seconds"),
            ),
            ("P2W", Some("2 weeks")),
            ("PT", None),
            ("1-2", Some("1 years 2 months")),
            ("-1-2", Some("-1 years -2 months")),
            ("1 2:03:04", Some("1 days 2:03:04")),
            ("-1 days +02:00:00", Some("-1 days 02:00:00")),
            ("1 day", None),
        ] {
            assert_eq!(span(text).as_deref(), plain, "{text}");
        }
    }
}
