//! `format('%-10s %I %L', ...)` of PostgreSQL (<https://www.postgresql.org/docs/15/functions-string.html>, "format").
//!
//! What must hold: no error repeats a value; a width makes no more than a mebibyte of blanks.

use super::rows::Cell;
use super::world::World;
use hushdb_sql::{Error, Result};
use std::collections::HashSet;
use std::sync::LazyLock;

/// As wide as one value may be made.
const WIDEST: i64 = 1 << 20;

pub(super) fn format_text(_: &World, args: &[Cell]) -> Result<Cell> {
    let Some(Cell::Text(pattern)) = args.first() else {
        return Ok(Cell::Null);
    };
    let mut format = Format {
        rest: pattern,
        args,
        next: 1,
    };
    let mut out = String::new();
    while let Some((before, after)) = format.rest.split_once('%') {
        out.push_str(before);
        format.rest = after;
        match format.takes('%') {
            true => out.push('%'),
            false => format.value(&mut out)?,
        }
    }
    out.push_str(format.rest);
    Ok(out.into())
}

fn wrong() -> Error {
    Error::invalid(
        "format takes %s, %I, %L and %%, with n$ and a width before the letter, and a value for each",
    )
}

/// What is left of a format, and the argument that comes next.
struct Format<'a> {
    rest: &'a str,
    args: &'a [Cell],
    next: usize,
}

impl<'a> Format<'a> {
    fn takes(&mut self, sign: char) -> bool {
        let behind = self.rest.strip_prefix(sign);
        self.rest = behind.unwrap_or(self.rest);
        behind.is_some()
    }

    fn number(&mut self) -> Result<Option<i64>> {
        let is_other = |letter: char| !letter.is_ascii_digit();
        let end = self.rest.find(is_other).unwrap_or(self.rest.len());
        let (digits, behind) = self.rest.split_at(end);
        self.rest = behind;
        match digits {
            "" => Ok(None),
            digits => digits.parse().map(Some).map_err(|_| wrong()),
        }
    }

    /// The argument of a place, or else the next.
    fn argument(&mut self, place: Option<i64>) -> Result<&'a Cell> {
        let place = match place {
            Some(place) => usize::try_from(place).ok().filter(|place| *place > 0),
            None => Some(self.next),
        };
        let place = place.ok_or_else(wrong)?;
        self.next = place + 1;
        self.args.get(place).ok_or_else(wrong)
    }

    /// A width that is an argument: behind `*`, which its place may follow.
    fn width_of_argument(&mut self) -> Result<i64> {
        let place = self.number()?;
        if place.is_some() && !self.takes('$') {
            return Err(wrong());
        }
        match self.argument(place)? {
            Cell::Null => Ok(0),
            Cell::Int(width) => Ok(*width),
            Cell::Text(width) => width.parse().map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }

    /// Writes one value.
    fn value(&mut self, out: &mut String) -> Result<()> {
        let number = self.number()?;
        let (place, mut width) = match number {
            Some(_) if self.takes('$') => (number, None),
            number => (None, number),
        };
        let mut to_the_left = false;
        if width.is_none() {
            while self.takes('-') {
                to_the_left = true;
            }
            width = match self.takes('*') {
                true => Some(self.width_of_argument()?),
                false => self.number()?,
            };
        }
        let shown = self.shown(place)?;
        let width = width.unwrap_or(0);
        let wide = width.checked_abs().filter(|wide| *wide <= WIDEST);
        let letters = i64::try_from(shown.chars().count()).unwrap_or(i64::MAX);
        let missing = wide.ok_or_else(wrong)?.saturating_sub(letters).max(0);
        let blanks = " ".repeat(usize::try_from(missing).unwrap_or(0));
        let parts = match to_the_left || width < 0 {
            true => [shown, blanks],
            false => [blanks, shown],
        };
        parts.iter().for_each(|part| out.push_str(part));
        Ok(())
    }

    fn shown(&mut self, place: Option<i64>) -> Result<String> {
        let mut letters = self.rest.chars();
        let letter = letters.next();
        self.rest = letters.as_str();
        let value = match self.argument(place)? {
            Cell::Null => None,
            Cell::Text(text) => Some(text.clone()),
            Cell::Int(number) => Some(number.to_string()),
            Cell::Bool(is) => Some(if *is { "t" } else { "f" }.to_owned()),
            Cell::List(_) => return Err(wrong()),
        };
        match (letter, value) {
            (Some('s'), value) => Ok(value.unwrap_or_default()),
            (Some('I'), Some(value)) => Ok(quote_ident(&value)),
            (Some('L'), Some(value)) => Ok(quote_literal(&value)),
            (Some('L'), None) => Ok("NULL".to_owned()),
            _ => Err(wrong()),
        }
    }
}

/// Words that are no names to PostgreSQL, beside those that are none to DuckDB.
const WORDS_OF_POSTGRES: [&str; 14] = [
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "greatest",
    "least",
    "localtime",
    "localtimestamp",
    "normalize",
    "session_user",
    "user",
];

/// Words that are names between quotes alone.
static WORDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let of_duckdb = hushdb_sql::keyword_categories().filter(|(_, of)| *of != "unreserved");
    let of_postgres = WORDS_OF_POSTGRES.map(str::to_owned);
    of_duckdb.map(|(word, _)| word).chain(of_postgres).collect()
});

/// A name as PostgreSQL quotes it: where it has not only small letters, digits and underscores, or is a word of SQL.
pub(super) fn quote_ident(name: &str) -> String {
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match starts && name.chars().all(is_plain) && !WORDS.contains(name) {
        true => name.to_owned(),
        false => hushdb_sql::quoted(name),
    }
}

pub(super) fn quote_literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    match text.contains('\\') {
        true => format!("E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_wide_as_is_said() {
        let shown = |pattern: &str, args: &[Cell]| {
            let args: Vec<Cell> = [pattern.to_owned().into()]
                .into_iter()
                .chain(args.iter().cloned())
                .collect();
            let mut format = Format {
                rest: pattern,
                args: &args,
                next: 1,
            };
            let mut out = String::new();
            while format.takes('%') {
                format.value(&mut out).ok()?;
            }
            Some(out)
        };
        let text = |text: &str| Cell::Text(text.to_owned());
        assert_eq!(
            shown("%-5s%5s", &[text("a"), text("b")]).as_deref(),
            Some("a        b")
        );
        assert_eq!(
            shown("%2$s%1$s", &[text("a"), text("b")]).as_deref(),
            Some("ba")
        );
        assert_eq!(
            shown("%*s", &[Cell::Int(-3), text("b")]).as_deref(),
            Some("b  ")
        );
        assert_eq!(shown("%-*2$L", &[text("x"), Cell::Int(5)]), None);
        assert_eq!(
            shown("%1$*2$s", &[text("x"), Cell::Int(3)]).as_deref(),
            Some("  x")
        );
        assert_eq!(shown("%3000000s", &[text("x")]), None);
    }
}
