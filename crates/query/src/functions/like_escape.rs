//! `like_escape(text, pattern, escape)` and its kind: `LIKE ... ESCAPE` whose escape may be a column's.

use super::plain::{Form, Kind, Row, Run, plain};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    const ARGS: &[Kind] = &[Kind::Text, Kind::Text, Kind::Text];
    let function = |names, run| plain(names, vec![Form::new(ARGS, Run::Bool(run))], memory);
    vec![
        function(&["like_escape"], |row| matches(row, false, true)),
        function(&["not_like_escape"], |row| matches(row, false, false)),
        function(&["ilike_escape"], |row| matches(row, true, true)),
        function(&["not_ilike_escape"], |row| matches(row, true, false)),
    ]
}

/// A piece of a pattern.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    One(char),
    Any,
    Many,
    /// An escape with nothing behind it.
    Cut,
}

fn matches(row: Row<'_>, folds: bool, wanted: bool) -> Result<Option<bool>> {
    let (text, pattern, escape) = (row.text(0), row.text(1), row.text(2));
    let mut escapes = escape.chars();
    let (escape, None) = (escapes.next(), escapes.next()) else {
        let what = "Invalid escape string. Escape string must be empty or one character.";
        return Err(Error::new(ErrorKind::InvalidInput, what).into());
    };
    let found = match folds {
        true => is_like(&text.to_lowercase(), &pattern.to_lowercase(), escape)?,
        false => is_like(text, pattern, escape)?,
    };
    Ok(Some(found == wanted))
}

/// Whether a text is one of a pattern's.
///
/// # Errors
///
/// `InvalidInput` if the pattern ends with its escape, and the text has a character for it. As in DuckDB, a `%` there is the
/// end of the text else.
fn is_like(text: &str, pattern: &str, escape: Option<char>) -> Result<bool> {
    let (mut parts, mut chars) = (vec![], pattern.chars());
    while let Some(next) = chars.next() {
        parts.push(match next {
            next if Some(next) == escape => match chars.next() {
                Some(next) => Part::One(next),
                None => Part::Cut,
            },
            '%' => Part::Many,
            '_' => Part::Any,
            next => Part::One(next),
        });
    }
    let (mut rest, mut at) = (text.chars(), 0);
    // Where to go on if what follows the last `%` is not there: that takes one character more.
    let mut again: Option<(std::str::Chars<'_>, usize)> = None;
    loop {
        let before = rest.clone();
        match (parts.get(at), rest.next()) {
            (Some(Part::Many), _) => {
                at += 1;
                again = Some((before.clone(), at));
                rest = before;
            }
            (None, None) => return Ok(true),
            (Some(Part::Cut), None) => return Ok(escape == Some('%')),
            (Some(Part::Cut), Some(_)) => {
                let what = "Like pattern must not end with escape character!";
                return Err(Error::new(ErrorKind::InvalidInput, what).into());
            }
            (Some(Part::Any), Some(_)) => at += 1,
            (Some(Part::One(own)), Some(next)) if *own == next => at += 1,
            (_, None) => return Ok(false),
            _ => {
                let Some((from, behind)) = &mut again else {
                    return Ok(false);
                };
                if from.next().is_none() {
                    return Ok(false);
                }
                (rest, at) = (from.clone(), *behind);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (text, pattern, escape, expected) in [
            ("a%c", "a$%c", Some('$'), true),
            ("abc", "a$%c", Some('$'), false),
            ("abc", "a%", None, true),
            ("aXbXc", "%X%c", None, true),
            ("aaab", "%ab", None, true),
            ("äöü", "_ö_", Some('$'), true),
            ("a", "a$", Some('$'), false),
            ("", "%", None, true),
            ("", "_", None, false),
            ("ab", "a$b", Some('$'), true),
            ("a", "a%", Some('%'), true),
            ("b", "a%", Some('%'), false),
        ] {
            let found = is_like(text, pattern, escape).unwrap();
            assert_eq!(found, expected, "{text} {pattern}");
        }
        assert!(is_like("ab", "a$", Some('$')).is_err());
    }
}
