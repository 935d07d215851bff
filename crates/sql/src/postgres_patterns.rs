//! SIMILAR TO as SQL has it: `%` and `_` as in LIKE beside `|`, `*`, `+`, `?`, braces and brackets of regular expressions. DuckDB takes the
//! pattern for a regular expression as it is.
//!
//! What must hold: what is no sign of SQL's patterns stands for itself.

use crate::error::{Error, Result};
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value, ValueWithSpan,
};

/// Puts the regular expression in the place of SQL's pattern.
///
/// # Errors
/// `Unsupported` for a pattern that is no literal; `Parser` for an escape of several characters, and a pattern that ends with one.
pub(crate) fn similar(pattern: &mut Expr, escape: &mut Option<ValueWithSpan>) -> Result<()> {
    let escape = match escape.take().map(|escape| escape.value) {
        None => Some('\\'),
        Some(Value::SingleQuotedString(text)) => {
            let mut letters = text.chars();
            match (letters.next(), letters.next()) {
                (escape, None) => escape,
                _ => return Err(Error::parser("an escape of SIMILAR TO is one character")),
            }
        }
        Some(_) => return Err(Error::parser("an escape of SIMILAR TO is one character")),
    };
    match pattern {
        Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text),
            ..
        }) => {
            *text = regular(text, escape)?;
            Ok(())
        }
        Expr::Value(ValueWithSpan {
            value: Value::Null, ..
        }) => Ok(()),
        _ => Err(Error::unsupported(
            "SIMILAR TO with a pattern that is no literal is not supported; write ~ with a regular expression",
        )),
    }
}

/// The regular expression of `substring(x SIMILAR pattern ESCAPE escape)`: what is between two escapes with a quote is found, and all that is
/// before is as short as may be.
pub(crate) fn part_pattern(pattern: &str, escape: &str) -> Result<String> {
    let mut letters = escape.chars();
    let (escape, None) = (letters.next(), letters.next()) else {
        return Err(Error::parser("an escape of SIMILAR TO is one character"));
    };
    let parts: Vec<&str> = match escape {
        Some(escape) => pattern.split(&format!("{escape}\"")).collect(),
        None => vec![pattern],
    };
    match parts.as_slice() {
        [all] => Ok(format!("\\A({})\\z", regular(all, escape)?)),
        [before, part, behind] => Ok(format!(
            "\\A(?U:{})({})(?:{})\\z",
            regular(before, escape)?,
            regular(part, escape)?,
            regular(behind, escape)?
        )),
        _ => Err(Error::parser(
            "a pattern of SUBSTRING has two escapes with a quote, or none",
        )),
    }
}

/// Puts what the library reads in the place of PostgreSQL's signs for the ends of words, and of its classes of letters.
pub(crate) fn read_pattern(pattern: &mut Expr) {
    match pattern {
        Expr::Nested(inner) => read_pattern(inner),
        Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text),
            ..
        }) => *text = with_our_signs(text),
        _ => {}
    }
}

/// Whether the fourth argument of `regexp_replace` is the letter from which on one match is replaced, which is written out.
pub(crate) fn replaces_from(name: &str, args: &[Expr]) -> bool {
    let is_number =
        |of: &Expr| matches!(of, Expr::Value(value) if matches!(value.value, Value::Number(..)));
    name == "regexp_replace" && args.len() == 4 && args.last().is_some_and(is_number)
}

/// Reads the pattern that a function of patterns is given, and what it puts there.
pub(crate) fn read_given(name: &str, args: &mut [Expr], function: &mut Function) {
    let FunctionArguments::List(list) = &mut function.args else {
        return;
    };
    if !name.starts_with("regexp_") {
        return;
    }
    if let Some(pattern) = args.get_mut(1) {
        read_pattern(pattern);
    }
    let is_ours = name == "regexp_replace" && args.len() < 5 && !replaces_from(name, args);
    if let Some(Expr::Value(new)) = args.get_mut(2)
        && is_ours
        && let Value::SingleQuotedString(new) = &mut new.value
    {
        // All that was found has another sign there.
        *new = with_our_match(new);
    }
    let read = args.iter().cloned().map(FunctionArgExpr::Expr);
    list.args = read.map(FunctionArg::Unnamed).collect();
}

/// A replacement with our sign for all that was found; a backslash that stands for itself is none.
fn with_our_match(new: &str) -> String {
    let (mut signs, mut is_escaped) = (String::new(), false);
    for sign in new.chars() {
        signs.push(if is_escaped && sign == '&' { '0' } else { sign });
        is_escaped = !is_escaped && sign == '\\';
    }
    signs
}

/// Classes of letters, beyond ASCII too.
const CLASSES: [(&str, &str); 5] = [
    ("[:alpha:]", "\\p{Alphabetic}"),
    ("[:alnum:]", "\\p{Alphabetic}\\p{N}"),
    ("[:upper:]", "\\p{Lu}"),
    ("[:lower:]", "\\p{Ll}"),
    ("[:space:]", "\\s"),
];

fn with_our_signs(pattern: &str) -> String {
    let (mut signs, mut rest, mut in_class) = (String::new(), pattern, false);
    while let Some(sign) = rest.chars().next() {
        let class = CLASSES.iter().find(|(name, _)| rest.starts_with(*name));
        if let Some((name, ours)) = class.filter(|_| in_class) {
            signs.push_str(ours);
            rest = &rest[name.len()..];
            continue;
        }
        rest = &rest[sign.len_utf8()..];
        match sign {
            '\\' => {
                let next = rest.chars().next();
                rest = &rest[next.map_or(0, char::len_utf8)..];
                match next {
                    Some('m') if !in_class => signs.push_str("\\b{start}"),
                    Some('M') if !in_class => signs.push_str("\\b{end}"),
                    Some('y') if !in_class => signs.push_str("\\b"),
                    Some('Y') if !in_class => signs.push_str("\\B"),
                    Some('Z') if !in_class => signs.push_str("\\z"),
                    next => signs.extend(['\\'].into_iter().chain(next)),
                }
            }
            '[' if !in_class => {
                in_class = true;
                signs.push('[');
                // A bracket that comes first stands for itself.
                let begin = ["^]", "]", "^"]
                    .into_iter()
                    .find(|of| rest.starts_with(*of));
                if let Some(begin) = begin {
                    signs.push_str(&begin.replace(']', "\\]"));
                    rest = &rest[begin.len()..];
                }
            }
            ']' => {
                in_class = false;
                signs.push(']');
            }
            sign => signs.push(sign),
        }
    }
    signs
}

/// The regular expression that says the same of a whole text.
fn regular(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut regular = String::from("(?s:");
    let mut in_class = false;
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            _ if Some(letter) == escape => {
                let literal = letters.next().ok_or_else(|| {
                    Error::parser("a pattern of SIMILAR TO must not end with its escape")
                })?;
                push_literal(&mut regular, literal);
            }
            '[' if !in_class => {
                in_class = true;
                regular.push('[');
            }
            ']' if in_class => {
                in_class = false;
                regular.push(']');
            }
            '[' | '\\' | '&' | '~' if in_class => push_literal(&mut regular, letter),
            _ if in_class => regular.push(letter),
            '%' => regular.push_str(".*"),
            '_' => regular.push('.'),
            '(' => regular.push_str("(?:"),
            '|' | '*' | '+' | '?' | '{' | '}' | ')' => regular.push(letter),
            _ => push_literal(&mut regular, letter),
        }
    }
    regular.push(')');
    Ok(regular)
}

/// A character that stands for itself.
fn push_literal(regular: &mut String, letter: char) {
    if letter.is_ascii_punctuation() {
        regular.push('\\');
    }
    regular.push(letter);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_sql_become_regular_expressions() {
        for (pattern, shown) in [
            ("a%", "(?s:a.*)"),
            ("a_c.", "(?s:a.c\\.)"),
            ("(a|b)+", "(?s:(?:a|b)+)"),
            ("[a-z_]{2}", "(?s:[a-z_]{2})"),
            ("100\\%", "(?s:100\\%)"),
            ("^$\\n", "(?s:\\^\\$n)"),
        ] {
            assert_eq!(regular(pattern, Some('\\')).ok().as_deref(), Some(shown));
        }
        assert_eq!(regular("#%", Some('#')).ok().as_deref(), Some("(?s:\\%)"));
        assert!(regular("a\\", Some('\\')).is_err());
    }
}
