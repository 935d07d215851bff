//! All that a regular expression finds in a text, what lies between, and patterns of files' names.

use super::patterns::{Compiled, invalid, options_are_read};
use super::plain::{Columns, Form, Kind, Row, Run, Written, plain};
use super::room::Room;
use datafusion::arrow::array::{ArrayRef, ListBuilder, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::GLOB_MATCH;
use std::iter::{Copied, Peekable};
use std::slice::Iter;
use std::sync::Arc;

/// What a match takes beside its text: its view, and where it begins and ends.
const MATCH_BYTES: usize = 64;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    const T: Kind = Kind::Text;
    let plain = |names, forms| plain(names, forms, memory);
    let texts = || DataType::List(Arc::new(Field::new_list_field(DataType::Utf8View, true)));
    let extract = || Run::Whole(texts(), extract_all);
    let split = || Run::Whole(texts(), split);
    vec![
        plain(
            &["regexp_extract_all"],
            vec![
                Form::new(&[T, T], extract()),
                Form::new(&[T, T, Kind::Int], extract()),
                Form::new(&[T, T, Kind::Int, T], extract()),
            ],
        ),
        plain(
            &[
                "string_split_regex",
                "regexp_split_to_array",
                "str_split_regex",
            ],
            vec![
                Form::new(&[T, T], split()).seeing_nulls(),
                Form::new(&[T, T, T], split()).seeing_nulls(),
            ],
        ),
        plain(&["regexp_escape"], vec![Form::new(&[T], Run::Text(escape))]),
        plain(
            &[GLOB_MATCH],
            vec![Form::new(
                &[T, T],
                Run::Bool(|row| Ok(Some(is_named(row.text(0), row.text(1))))),
            )],
        ),
    ]
}

/// A group of every match; NULL where the match has nothing of it.
fn extract_all(columns: &Columns, room: &mut Room) -> Result<ArrayRef> {
    let mut out = ListBuilder::new(StringViewBuilder::new());
    let mut compiled = Compiled::default();
    for row in columns.rows() {
        options_are_read(columns, row, 3)?;
        if row.has_null() {
            out.append_null();
            continue;
        }
        let (regex, _) = compiled.get(row.text(1), row.text(3))?;
        // As in DuckDB, nothing is of a group before the first.
        let Ok(group) = usize::try_from(row.int(2)) else {
            out.append(true);
            continue;
        };
        let groups = regex.captures_len() - 1;
        let group = Some(group).filter(|group| *group <= groups);
        for found in regex.captures_iter(row.text(0)) {
            let Some(group) = group else {
                let what = format!(
                    "Pattern has {groups} groups: the group to extract must be one of them"
                );
                return Err(invalid(what).into());
            };
            let text = found.get(group).map(|found| found.as_str());
            room.take_all(MATCH_BYTES + text.map_or(0, str::len))?;
            match text {
                Some(text) => out.values().try_append_value(text)?,
                None => out.values().append_null(),
            }
        }
        out.append(true);
    }
    Ok(Arc::new(out.finish()))
}

/// What lies between matches. Those of nothing are between any two characters.
fn split(columns: &Columns, room: &mut Room) -> Result<ArrayRef> {
    let mut out = ListBuilder::new(StringViewBuilder::new());
    let mut compiled = Compiled::default();
    for row in columns.rows() {
        options_are_read(columns, row, 2)?;
        if row.is_null(0) {
            out.append_null();
            continue;
        }
        let text = row.text(0);
        if row.is_null(1) {
            room.take_all(MATCH_BYTES + text.len())?;
            out.values().try_append_value(text)?;
            out.append(true);
            continue;
        }
        let (regex, _) = compiled.get(row.text(1), row.text(2))?;
        let mut from = 0;
        let inner = |found: &regex::Match<'_>| {
            !found.is_empty() || (found.start() > 0 && found.end() < text.len())
        };
        for found in regex.find_iter(text).filter(inner) {
            let piece = text.get(from..found.start()).unwrap_or_default();
            room.take_all(MATCH_BYTES + piece.len())?;
            out.values().try_append_value(piece)?;
            from = found.end();
        }
        out.values()
            .try_append_value(text.get(from..).unwrap_or_default())?;
        out.append(true);
    }
    Ok(Arc::new(out.finish()))
}

/// A backslash before all that is not a letter, a digit or `_` of ASCII, or beyond it.
fn escape(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let mut buffer = [0; 4];
    for c in row.text(0).chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' {
            out.push("\\");
        }
        out.push(c.encode_utf8(&mut buffer));
    }
    Ok(true)
}

/// The bytes of a pattern or a text.
type Bytes<'a> = Copied<Iter<'a, u8>>;

/// Whether a text is one that `*`, `?`, `[a-z]`, `[!a]` and `\` before a character stand for. As in DuckDB,
/// `?` and sets are of bytes.
fn is_named(text: &str, pattern: &str) -> bool {
    let (mut text, pattern) = (text.bytes(), pattern.as_bytes());
    let mut pattern = pattern.iter().copied().peekable();
    // Where the last star was, and the text that was left there.
    let mut star: Option<(std::str::Bytes<'_>, Peekable<Bytes<'_>>)> = None;
    loop {
        if pattern.peek() == Some(&b'*') {
            pattern.next();
            star = Some((text.clone(), pattern.clone()));
            continue;
        }
        let (mut next_text, mut next_pattern) = (text.clone(), pattern.clone());
        let fits = match (next_pattern.next(), next_text.next()) {
            (None, None) => return true,
            (Some(b'?'), Some(_)) => true,
            (Some(b'['), Some(c)) => is_one_of(c, &mut next_pattern),
            (Some(b'\\'), Some(c)) => next_pattern.next() == Some(c),
            (Some(wanted), Some(c)) => wanted == c,
            _ => false,
        };
        if fits {
            (text, pattern) = (next_text, next_pattern);
            continue;
        }
        // The star takes one character more.
        let Some((left, behind)) = &mut star else {
            return false;
        };
        if left.next().is_none() {
            return false;
        }
        (text, pattern) = (left.clone(), behind.clone());
    }
}

/// Whether a byte is in a set, whose `[` has been read; one that is not closed has nothing in it.
fn is_one_of(c: u8, pattern: &mut Peekable<Bytes<'_>>) -> bool {
    let negated = pattern.next_if_eq(&b'!').is_some();
    let (mut found, mut is_first) = (false, true);
    loop {
        let Some(from) = pattern.next() else {
            return false;
        };
        if from == b']' && !is_first {
            return found != negated;
        }
        is_first = false;
        let mut range = pattern.clone();
        let to = match (range.next(), range.next()) {
            (Some(b'-'), Some(to)) => {
                *pattern = range;
                to
            }
            _ => from,
        };
        found |= (from..=to).contains(&c);
    }
}
