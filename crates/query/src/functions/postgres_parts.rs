//! Parts of texts and bytes as PostgreSQL has them: what begins before the text does has no letters there, and what a pattern finds is the
//! part in its first brackets, or all of it (<https://www.postgresql.org/docs/15/functions-string.html>).
//!
//! What must hold: no error repeats a text.

use super::patterns::Compiled;
use super::plain::{Columns, Form, Kind, Row, Run, Written, plain};
use super::room::Room;
use datafusion::arrow::array::{ArrayRef, StringViewBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind, postgres_bytes};
use std::ops::Range;
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    use Kind::{Blob, Int, Text};
    vec![
        plain(
            &["substring_as_postgres"],
            vec![
                Form::new(&[Text, Int], Run::Text(letters)),
                Form::new(&[Text, Int, Int], Run::Text(letters)),
                Form::new(&[Text, Text], Run::Whole(DataType::Utf8View, found)),
                Form::new(&[Blob, Int], Run::Blob(part_of_bytes)),
                Form::new(&[Blob, Int, Int], Run::Blob(part_of_bytes)),
            ],
            memory,
        ),
        plain(
            &["overlay_as_postgres"],
            vec![
                Form::new(&[Text, Text, Int], Run::Text(other_letters)),
                Form::new(&[Text, Text, Int, Int], Run::Text(other_letters)),
                Form::new(&[Blob, Blob, Int], Run::Blob(other_bytes)),
                Form::new(&[Blob, Blob, Int, Int], Run::Blob(other_bytes)),
            ],
            memory,
        ),
        plain(
            &["unescaped_as_postgres"],
            vec![Form::new(&[Text], Run::Blob(unescaped))],
            memory,
        ),
    ]
}

fn negative_length() -> Error {
    let what = "negative substring length not allowed";
    Error::new(ErrorKind::InvalidInput, what).with_sqlstate("22011")
}

/// Which of what there is from 0 a row asks for: from its second argument on, which counts from 1, as many as its third says.
fn wanted(row: Row<'_>) -> Result<Range<usize>> {
    let begin = row.int(1).saturating_sub(1);
    let end = match row.count() {
        3 if row.int(2) < 0 => return Err(negative_length().into()),
        3 => begin.saturating_add(row.int(2)),
        _ => i64::MAX,
    };
    let place = |at: i64| usize::try_from(at.max(0)).unwrap_or(usize::MAX);
    Ok(place(begin)..place(end))
}

/// Where a letter begins, or the text's end.
fn place_of(text: &str, letter: usize) -> usize {
    match text.is_ascii() {
        true => letter.min(text.len()),
        false => {
            let mut letters = text.char_indices();
            letters.nth(letter).map_or(text.len(), |(at, _)| at)
        }
    }
}

fn letters(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (text, wanted) = (row.text(0), wanted(row)?);
    let begin = place_of(text, wanted.start);
    let end = begin + place_of(&text[begin..], wanted.len());
    out.push(&text[begin..end]);
    Ok(true)
}

pub(super) fn part_of_bytes(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (bytes, wanted) = (row.blob(0), wanted(row)?);
    let end = wanted.end.min(bytes.len());
    let part = bytes.get(wanted.start.min(end)..end).unwrap_or_default();
    out.expect(part.len() as u128)?;
    out.push_times(part, 1);
    Ok(true)
}

/// What a pattern finds: the part in its first brackets, or all, where it has none.
fn found(columns: &Columns, room: &mut Room) -> Result<ArrayRef> {
    let mut out = StringViewBuilder::new();
    let mut compiled = Compiled::default();
    for row in columns.rows() {
        if row.has_null() {
            out.append_null();
            continue;
        }
        let (regex, _) = compiled.get(row.text(1), "")?;
        let found = regex.captures(row.text(0));
        let group = usize::from(regex.captures_len() > 1);
        let part = found.as_ref().and_then(|found| found.get(group));
        let part = part.map(|part| part.as_str());
        room.take_all(part.map_or(0, str::len))?;
        out.append_option(part);
    }
    Ok(Arc::new(out.finish()))
}

/// Where bytes begin within others, from 1; 0 where they do not.
pub(super) fn place_of_bytes(bytes: &[u8], wanted: &[u8]) -> i64 {
    let place = match wanted.is_empty() {
        true => Some(0),
        false => bytes.windows(wanted.len()).position(|part| part == wanted),
    };
    place.map_or(0, |place| place as i64 + 1)
}

/// Which of what there is from 0 is to be something else, of that many.
fn to_be_other(row: Row<'_>, new: usize) -> Result<Range<usize>> {
    let Some(begin) = row.int(2).checked_sub(1).filter(|begin| *begin >= 0) else {
        return Err(negative_length().into());
    };
    let count = match row.count() {
        4 => row.int(3),
        _ => new as i64,
    };
    let place = |at: i64| usize::try_from(at.max(0)).unwrap_or(usize::MAX);
    Ok(place(begin)..place(begin.saturating_add(count)))
}

fn other_letters(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (text, new) = (row.text(0), row.text(1));
    let other = to_be_other(row, new.chars().count())?;
    let parts = [
        &text[..place_of(text, other.start)],
        new,
        &text[place_of(text, other.end)..],
    ];
    parts.into_iter().for_each(|part| out.push(part));
    Ok(true)
}

fn other_bytes(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (bytes, new) = (row.blob(0), row.blob(1));
    let other = to_be_other(row, new.len())?;
    let (begin, end) = (other.start.min(bytes.len()), other.end.min(bytes.len()));
    out.expect((bytes.len() + new.len()) as u128)?;
    for part in [&bytes[..begin], new, &bytes[end..]] {
        out.push_times(part, 1);
    }
    Ok(true)
}

/// The bytes without those of the second argument at their ends.
pub(super) fn trimmed(
    row: Row<'_>,
    out: &mut Written<'_>,
    [at_begin, at_end]: [bool; 2],
) -> Result<bool> {
    let (bytes, off) = (row.blob(0), row.blob(1));
    let stays = |byte: &u8| !off.contains(byte);
    let begin = match at_begin {
        true => bytes.iter().position(stays).unwrap_or(bytes.len()),
        false => 0,
    };
    let end = match at_end {
        true => bytes.iter().rposition(stays).map_or(0, |last| last + 1),
        false => bytes.len(),
    };
    let part = bytes.get(begin..end).unwrap_or_default();
    out.expect(part.len() as u128)?;
    out.push_times(part, 1);
    Ok(true)
}

/// The bytes of a text in which some are written in octal digits.
fn unescaped(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    // What begins as hexadecimal digits do is none here.
    let text = row.text(0);
    let bytes = match text.starts_with("\\x") {
        true => None,
        false => postgres_bytes(text),
    };
    let Some(bytes) = bytes else {
        let what = "invalid input syntax for type bytea";
        return Err(Error::new(ErrorKind::Conversion, what).into());
    };
    out.expect(bytes.len() as u128)?;
    out.push_times(&bytes, 1);
    Ok(true)
}
