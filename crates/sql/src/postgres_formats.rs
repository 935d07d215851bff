//! `to_char(moment, 'YYYY-MM-DD HH24:MI:SS')` of PostgreSQL, brought to `strftime` (PostgreSQL's documentation, "Data Type Formatting
//! Functions").
//!
//! What must hold: a pattern that is not known here is refused by name; none is shown as it stands.

use crate::calls::call;
use crate::error::{Error, Result};
use crate::template::template;
use sqlparser::ast::{Expr, Value};

/// Patterns, the longer before what they begin with, and what `strftime` calls them.
const PATTERNS: [(&str, &str); 19] = [
    ("FMMonth", "%B"),
    ("FMDay", "%A"),
    ("Mon", "%b"),
    ("Dy", "%a"),
    ("YYYY", "%Y"),
    ("IYYY", "%G"),
    ("YY", "%y"),
    ("MM", "%m"),
    ("DDD", "%j"),
    ("DD", "%d"),
    ("ID", "%u"),
    ("IW", "%V"),
    ("HH24", "%H"),
    ("HH12", "%I"),
    ("HH", "%I"),
    ("MI", "%M"),
    ("SS", "%S"),
    ("MS", "%g"),
    ("US", "%f"),
];
/// Those whose letters say how a name is written.
const NAMES: usize = 4;

/// What a call of `to_char` means.
///
/// # Errors
/// `Unsupported` for a format that is not written out, or has another pattern.
pub(super) fn to_char(args: &[Expr]) -> Result<Option<Expr>> {
    let [moment, format] = args else {
        return Ok(None);
    };
    let Expr::Value(format) = format else {
        return Err(Error::unsupported(
            "to_char with a format that is not written out is not there yet",
        ));
    };
    let (Value::SingleQuotedString(format) | Value::EscapedStringLiteral(format)) = &format.value
    else {
        return Ok(None);
    };
    let format = Expr::Value(Value::SingleQuotedString(as_strftime(format)?).into());
    Ok(Some(call("strftime", vec![moment.clone(), format])))
}

/// What a call of `to_date` or `to_timestamp` with a format means.
///
/// # Errors
/// As [`to_char`].
pub(super) fn of_format(name: &str, args: &[Expr]) -> Result<Option<Expr>> {
    let meaning = match name {
        "to_date" => "CAST(strptime($1, $2) AS DATE)",
        "to_timestamp" => "CAST(strptime($1, $2) AS TIMESTAMP WITH TIME ZONE)",
        _ => return Ok(None),
    };
    let [text, Expr::Value(format)] = args else {
        return Ok(None);
    };
    let Value::SingleQuotedString(format) = &format.value else {
        return Ok(None);
    };
    let format = Expr::Value(Value::SingleQuotedString(as_strftime(format)?).into());
    template(meaning, &[text.clone(), format]).map(Some)
}

fn as_strftime(format: &str) -> Result<String> {
    let (mut text, mut rest) = (String::new(), format);
    while let Some(c) = rest.chars().next() {
        if let Some((pattern, letters)) = known(rest) {
            text.push_str(letters);
            rest = rest.get(pattern.len()..).unwrap_or_default();
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '"' => {
                let (quoted, behind) = rest.split_once('"').unwrap_or((rest, ""));
                text.push_str(&quoted.replace('%', "%%"));
                rest = behind;
            }
            '%' => text.push_str("%%"),
            c if c.is_ascii_alphanumeric() => {
                return Err(Error::unsupported(
                    "to_char of numbers, and patterns other than YYYY, YY, IYYY, MM, Mon, FMMonth, DD, DDD, Dy, FMDay, ID, IW, HH24, HH12, MI, SS, \
                     MS, US and AM, are not there yet",
                ));
            }
            c => text.push(c),
        }
    }
    Ok(text)
}

/// The pattern that a text begins with.
fn known(text: &str) -> Option<(&'static str, &'static str)> {
    if text.starts_with("AM") || text.starts_with("PM") {
        return Some(("AM", "%p"));
    }
    let begins = |at: usize, pattern: &str| match text.get(..pattern.len()) {
        Some(begin) if at < NAMES => begin == pattern,
        Some(begin) => begin.eq_ignore_ascii_case(pattern),
        None => false,
    };
    let mut all = PATTERNS.into_iter().enumerate();
    all.find(|(at, (pattern, _))| begins(*at, pattern))
        .map(|(_, found)| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_brought_over_or_refused() {
        for (format, wanted) in [
            ("YYYY-MM-DD HH24:MI:SS.US", "%Y-%m-%d %H:%M:%S.%f"),
            ("yyyy\"T%\"mi %", "%YT%%%M %%"),
            ("DDD/ID IYYY-IW", "%j/%u %G-%V"),
            ("HH12 hh AM PM, Dy DD Mon", "%I %I %p %p, %a %d %b"),
            ("FMDay, FMMonth é", "%A, %B é"),
        ] {
            assert_eq!(as_strftime(format).unwrap(), wanted, "{format}");
        }
        for format in ["999", "Month", "MON", "YYYY-MM-DDTHH24", "J", "am"] {
            assert!(as_strftime(format).is_err(), "{format}");
        }
    }
}
