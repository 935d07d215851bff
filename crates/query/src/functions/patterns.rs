//! Patterns: what LIKE matches, and regular expressions with DuckDB's options and replacements.
//!
//! What must hold: no error repeats a pattern or a text.

use super::plain::{Columns, Form, Kind, Row, Run, Written, plain};
use super::room::Room;
use datafusion::arrow::array::{ArrayRef, BooleanArray, StringViewBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::without_values;
use hushdb_sql::{Error, ErrorKind};
use hushdb_sql::{FULL_MATCH, LIKE_PATTERN};
use regex::{Captures, Regex, RegexBuilder};
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    const T: Kind = Kind::Text;
    let plain = |names, forms| plain(names, forms, memory);
    let matches = |run: fn(&Columns, &mut Room) -> Result<ArrayRef>| {
        let run = || Run::Whole(DataType::Boolean, run);
        vec![Form::new(&[T, T], run()), Form::new(&[T, T, T], run())]
    };
    let extract = || Run::Whole(DataType::Utf8View, extract);
    let replace = || Run::Whole(DataType::Utf8View, replace);
    vec![
        plain(
            &[LIKE_PATTERN],
            vec![Form::new(&[T, T], Run::Text(like_pattern))],
        ),
        plain(
            &["regexp_matches"],
            matches(|columns, _| is_match(columns, false)),
        ),
        plain(&[FULL_MATCH], matches(|columns, _| is_match(columns, true))),
        plain(
            &["regexp_extract"],
            vec![
                Form::new(&[T, T], extract()),
                Form::new(&[T, T, Kind::Int], extract()),
                Form::new(&[T, T, Kind::Int, T], extract()),
            ],
        ),
        plain(
            &["regexp_replace"],
            vec![
                Form::new(&[T, T, T], replace()),
                Form::new(&[T, T, T, T], replace()),
            ],
        ),
    ]
}

pub(super) fn invalid(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}

fn like_pattern(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let mut escape = row.text(1).chars();
    let (escape, None) = (escape.next(), escape.next()) else {
        return Err(invalid(
            "Invalid escape string. Escape string must be empty or one character.",
        )
        .into());
    };
    let mut characters = row.text(0).chars();
    let mut buffer = [0; 4];
    while let Some(c) = characters.next() {
        let plain = match Some(c) == escape {
            true => characters
                .next()
                .ok_or_else(|| invalid("Like pattern must not end with escape character!"))?,
            false => c,
        };
        if plain == '\\' || Some(c) == escape && matches!(plain, '%' | '_') {
            out.push("\\");
        }
        out.push(plain.encode_utf8(&mut buffer));
    }
    Ok(true)
}

/// In bytes. The library's tree of an expression takes some hundred times its length, which its own limit does not count.
const LONGEST_PATTERN: usize = 256 << 10;

/// What letters after a pattern ask for.
#[derive(Clone, Copy, Default)]
pub(super) struct Options {
    ignores_case: bool,
    literal: bool,
    dot_matches_line_end: bool,
    all: bool,
}

impl Options {
    fn read(letters: &str) -> Result<Self> {
        let mut options = Self::default();
        for letter in letters.chars() {
            match letter {
                'c' => options.ignores_case = false,
                'i' => options.ignores_case = true,
                'l' => options.literal = true,
                'm' | 'n' | 'p' => options.dot_matches_line_end = false,
                's' => options.dot_matches_line_end = true,
                'g' => options.all = true,
                ' ' | '\t' | '\n' => {}
                _ => return Err(invalid(
                    "Unrecognized Regex option: there are c, i, l, m, n, p, s, and g to replace",
                )
                .into()),
            }
        }
        Ok(options)
    }

    fn compile(self, pattern: &str) -> Result<Regex> {
        let literal;
        let pattern = match self.literal {
            true => {
                literal = regex::escape(pattern);
                &literal
            }
            false => pattern,
        };
        if pattern.len() > LONGEST_PATTERN {
            return Err(invalid(
                "The regular expression is too long: it may have 256 KiB, in which every character to be taken literally \
                 with a backslash counts twice",
            )
            .into());
        }
        RegexBuilder::new(pattern)
            .case_insensitive(self.ignores_case)
            .dot_matches_new_line(self.dot_matches_line_end)
            .build()
            .map_err(|e| invalid(without_values(&e.to_string())).into())
    }
}

/// The expressions of a batch: the last is kept, since most calls have one for all rows.
#[derive(Default)]
pub(super) struct Compiled {
    last: Option<(String, String, Options, Regex)>,
    whole: bool,
}

impl Compiled {
    pub(super) fn get(&mut self, pattern: &str, letters: &str) -> Result<(&Regex, Options)> {
        let known = self
            .last
            .as_ref()
            .is_some_and(|(p, l, ..)| p == pattern && l == letters);
        if !known {
            let options = Options::read(letters)?;
            let regex = match self.whole {
                // The pattern alone first: brackets of ours could make one of another.
                true if !options.literal => {
                    options.compile(pattern)?;
                    options.compile(&format!(r"\A(?:{pattern})\z"))?
                }
                _ => options.compile(pattern)?,
            };
            self.last = Some((pattern.to_owned(), letters.to_owned(), options, regex));
        }
        match &self.last {
            Some((.., options, regex)) => Ok((regex, *options)),
            None => Err(Error::internal("no expression was compiled").into()),
        }
    }
}

fn is_match(columns: &Columns, whole: bool) -> Result<ArrayRef> {
    let mut compiled = Compiled { whole, last: None };
    let answers = columns.rows().map(|row| {
        options_are_read(columns, row, 2)?;
        if row.has_null() {
            return Ok(None);
        }
        let (regex, _) = compiled.get(row.text(1), row.text(2))?;
        let text = row.text(0);
        Ok(Some(match regex.find(text) {
            Some(found) => !whole || found.as_str() == text,
            None => false,
        }))
    });
    Ok(Arc::new(answers.collect::<Result<BooleanArray>>()?))
}

/// Letters after a pattern are read whatever the text is.
pub(super) fn options_are_read(columns: &Columns, row: Row<'_>, place: usize) -> Result<()> {
    if columns.count() <= place {
        return Ok(());
    }
    letters_are_read((!row.is_null(place)).then(|| row.text(place)))
}

/// The letters may not be NULL, and `g` is not among them.
pub(super) fn letters_are_read(letters: Option<&str>) -> Result<()> {
    let Some(letters) = letters else {
        return Err(invalid("Regex options field must not be NULL").into());
    };
    match Options::read(letters)?.all {
        true => Err(only_to_replace()),
        false => Ok(()),
    }
}

fn only_to_replace() -> datafusion::common::DataFusionError {
    invalid("Option 'g' (global replace) is only valid for regexp_replace").into()
}

/// The text of a group of the first match; nothing where there is none, or the group is NULL.
fn extract(columns: &Columns, _: &mut Room) -> Result<ArrayRef> {
    let mut out = StringViewBuilder::new();
    let mut compiled = Compiled::default();
    for row in columns.rows() {
        options_are_read(columns, row, 3)?;
        let group = row.int(2);
        let Some(group) = usize::try_from(group).ok().filter(|group| *group < 10) else {
            return Err(invalid("Group index must be between 0 and 9!").into());
        };
        if row.is_null(0) || row.is_null(1) {
            out.append_null();
            continue;
        }
        if columns.count() > 2 && row.is_null(2) {
            out.append_value("");
            continue;
        }
        let (regex, _) = compiled.get(row.text(1), row.text(3))?;
        let found = regex
            .captures(row.text(0))
            .and_then(|found| found.get(group));
        out.try_append_value(found.map_or("", |found| found.as_str()))?;
    }
    Ok(Arc::new(out.finish()))
}

/// A piece of a replacement.
enum Piece {
    Text(char),
    Group(usize),
}

/// A replacement with `\1` for groups and `\\` for a backslash; `None` if it says anything else, or a group that is not there.
fn pieces(replacement: &str, regex: &Regex) -> Option<Vec<Piece>> {
    let mut pieces = vec![];
    let mut characters = replacement.chars();
    while let Some(c) = characters.next() {
        pieces.push(match c {
            '\\' => match characters.next()? {
                '\\' => Piece::Text('\\'),
                digit => {
                    let group = digit.to_digit(10)? as usize;
                    Piece::Group(Some(group).filter(|group| *group < regex.captures_len())?)
                }
            },
            c => Piece::Text(c),
        });
    }
    Some(pieces)
}

fn replaced(found: &Captures<'_>, pieces: &[Piece], out: &mut String) {
    for piece in pieces {
        match piece {
            Piece::Text(c) => out.push(*c),
            Piece::Group(group) => {
                out.push_str(found.get(*group).map_or("", |group| group.as_str()))
            }
        }
    }
}

/// The first match replaced, or all of them; the text as it is where the replacement cannot be read.
fn replace(columns: &Columns, room: &mut Room) -> Result<ArrayRef> {
    let mut out = StringViewBuilder::new();
    let mut compiled = Compiled::default();
    for row in columns.rows() {
        if row.has_null() {
            out.append_null();
            continue;
        }
        let text = row.text(0);
        let (regex, options) = compiled.get(row.text(1), row.text(3))?;
        let Some(pieces) = pieces(row.text(2), regex) else {
            out.try_append_value(text)?;
            continue;
        };
        let mut changed = String::new();
        let mut from = 0;
        let most = if options.all { usize::MAX } else { 1 };
        for found in regex.captures_iter(text).take(most) {
            let Some(whole) = found.get(0) else { break };
            changed.push_str(text.get(from..whole.start()).unwrap_or_default());
            let before = changed.len();
            replaced(&found, &pieces, &mut changed);
            room.take((changed.len() - before) as u128)?;
            from = whole.end();
        }
        changed.push_str(text.get(from..).unwrap_or_default());
        out.try_append_value(changed)?;
    }
    Ok(Arc::new(out.finish()))
}
