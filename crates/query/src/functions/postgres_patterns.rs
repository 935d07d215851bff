//! What PostgreSQL's regular expressions find and replace that DuckDB's functions do not say: the groups of every match, the n-th match, and
//! matches from a letter on (<https://www.postgresql.org/docs/15/functions-matching.html>).
//!
//! What must hold: what is found is counted against the memory limit.

use super::patterns::{Compiled, invalid};
use super::plain::{Columns, Form, Kind, Row, Run, plain};
use super::room::Room;
use datafusion::arrow::array::{ArrayRef, Int32Array, ListBuilder, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use regex::{Captures, Regex};
use std::sync::Arc;

/// What a match takes beside its text.
const MATCH_BYTES: usize = 64;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    use Kind::{Int, Text};
    let one = |names, args, run| plain(names, vec![Form::new(args, run)], memory);
    let texts = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8View, true)));
    let lists = DataType::List(Arc::new(Field::new_list_field(texts, true)));
    vec![
        plain(
            &["regexp_groups_as_postgres"],
            vec![
                Form::new(&[Text, Text], Run::Whole(lists.clone(), groups)),
                Form::new(&[Text, Text, Text], Run::Whole(lists, groups)),
            ],
            memory,
        ),
        // Text, pattern, what is put there, the letter from which on, which match, and options.
        one(
            &["regexp_replace_as_postgres"],
            &[Text, Text, Text, Int, Int, Text],
            Run::Whole(DataType::Utf8View, replaced),
        ),
        // Text, pattern, the letter from which on, and options.
        one(
            &["regexp_count_as_postgres"],
            &[Text, Text, Int, Text],
            Run::Whole(DataType::Int32, counted),
        ),
        // Text, pattern, the letter from which on, which match, options, and the group.
        one(
            &["regexp_substr_as_postgres"],
            &[Text, Text, Int, Int, Text, Int],
            Run::Whole(DataType::Utf8View, parts),
        ),
        // The same, and before the group whether the place behind the match is asked for.
        one(
            &["regexp_instr_as_postgres"],
            &[Text, Text, Int, Int, Int, Text, Int],
            Run::Whole(DataType::Int32, places),
        ),
    ]
}

/// The groups of each match, or the match where the pattern has none; without the option `g` of the first alone.
fn groups(columns: &Columns, room: &mut Room) -> Result<ArrayRef> {
    let mut out = ListBuilder::new(ListBuilder::new(StringViewBuilder::new()));
    let mut compiled = Compiled::default();
    for row in columns.rows() {
        if row.has_null() {
            out.append(true);
            continue;
        }
        let options = if columns.count() > 2 { row.text(2) } else { "" };
        let (regex, _) = compiled.get(row.text(1), options)?;
        let most = if options.contains('g') { usize::MAX } else { 1 };
        for found in regex.captures_iter(row.text(0)).take(most) {
            let first = usize::from(found.len() > 1);
            for group in found.iter().skip(first) {
                let text = group.map(|group| group.as_str());
                room.take_all(MATCH_BYTES + text.map_or(0, str::len))?;
                out.values().values().append_option(text);
            }
            out.values().append(true);
        }
        out.append(true);
    }
    Ok(Arc::new(out.finish()))
}

/// Where a letter begins, counted from 1; the end of the text where it has no such letter.
fn begin_of(text: &str, letter: i64) -> Result<usize> {
    let before = usize::try_from(letter)
        .ok()
        .and_then(|at| at.checked_sub(1));
    let Some(before) = before else {
        return Err(invalid("the letter from which on is looked must be 1 or more").into());
    };
    let mut letters = text.char_indices();
    Ok(letters.nth(before).map_or(text.len(), |(at, _)| at))
}

/// Matches from a place on.
fn matches<'a>(
    regex: &'a Regex,
    text: &'a str,
    mut from: usize,
) -> impl Iterator<Item = Captures<'a>> {
    std::iter::from_fn(move || {
        let found = regex.captures_at(text, from.min(text.len()))?;
        let all = found.get(0).filter(|_| from <= text.len())?;
        from = match all.is_empty() {
            true => all.end() + text[all.end()..].chars().next().map_or(1, char::len_utf8),
            false => all.end(),
        };
        Some(found)
    })
}

/// Which match a row asks for; `None` is all.
fn which(row: Row<'_>, arg: usize, least: i64) -> Result<Option<usize>> {
    match row.int(arg) {
        n if n < least => Err(invalid("the number of a match must not be less").into()),
        n => Ok(usize::try_from(n).ok().and_then(|n| n.checked_sub(1))),
    }
}

fn replaced(columns: &Columns, room: &mut Room) -> Result<ArrayRef> {
    let mut out = StringViewBuilder::new();
    let mut compiled = Compiled::default();
    for row in columns.rows() {
        if row.has_null() {
            out.append_null();
            continue;
        }
        let text = row.text(0);
        let (regex, _) = compiled.get(row.text(1), row.text(5))?;
        let wanted = which(row, 4, 0)?;
        let (mut new, mut end) = (String::new(), 0);
        for (n, found) in matches(regex, text, begin_of(text, row.int(3))?).enumerate() {
            if wanted.is_some_and(|wanted| wanted != n) {
                continue;
            }
            let Some(all) = found.get(0) else { continue };
            new.push_str(&text[end..all.start()]);
            put(&found, row.text(2), &mut new);
            end = all.end();
            room.take_all(MATCH_BYTES + row.text(2).len() + all.len())?;
            if wanted.is_some() {
                break;
            }
        }
        new.push_str(&text[end..]);
        room.take_all(new.len())?;
        out.try_append_value(new)?;
    }
    Ok(Arc::new(out.finish()))
}

/// What stands in place of a match: `\1` is a group, `\&` all of it.
fn put(found: &Captures<'_>, template: &str, out: &mut String) {
    let mut letters = template.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('&') => out.push_str(&found[0]),
            Some('\\') | None => out.push('\\'),
            Some(digit) => match digit.to_digit(10).filter(|digit| *digit > 0) {
                Some(group) => {
                    let group = found.get(group as usize);
                    out.push_str(group.map_or("", |group| group.as_str()));
                }
                None => out.extend(['\\', digit]),
            },
        }
    }
}

fn counted(columns: &Columns, _: &mut Room) -> Result<ArrayRef> {
    let mut compiled = Compiled::default();
    let counts = columns.rows().map(|row| {
        if row.has_null() {
            return Ok(None);
        }
        let (regex, _) = compiled.get(row.text(1), row.text(3))?;
        let text = row.text(0);
        Ok(Some(
            matches(regex, text, begin_of(text, row.int(2))?).count() as i32,
        ))
    });
    Ok(Arc::new(counts.collect::<Result<Int32Array>>()?))
}

fn parts(columns: &Columns, room: &mut Room) -> Result<ArrayRef> {
    let mut out = StringViewBuilder::new();
    let mut compiled = Compiled::default();
    for row in columns.rows() {
        if row.has_null() {
            out.append_null();
            continue;
        }
        let (regex, _) = compiled.get(row.text(1), row.text(4))?;
        let text = row.text(0);
        let nth = which(row, 3, 1)?.unwrap_or_default();
        let found = matches(regex, text, begin_of(text, row.int(2))?).nth(nth);
        let group = usize::try_from(row.int(5)).unwrap_or(usize::MAX);
        let part = found.as_ref().and_then(|found| found.get(group));
        let part = part.map(|part| part.as_str());
        room.take_all(part.map_or(0, str::len))?;
        out.append_option(part);
    }
    Ok(Arc::new(out.finish()))
}

fn places(columns: &Columns, _: &mut Room) -> Result<ArrayRef> {
    let mut compiled = Compiled::default();
    let places = columns.rows().map(|row| {
        if row.has_null() {
            return Ok(None);
        }
        let (regex, _) = compiled.get(row.text(1), row.text(5))?;
        let text = row.text(0);
        let nth = which(row, 3, 1)?.unwrap_or_default();
        let found = matches(regex, text, begin_of(text, row.int(2))?).nth(nth);
        let group = usize::try_from(row.int(6)).unwrap_or(usize::MAX);
        let part = found.as_ref().and_then(|found| found.get(group));
        let at = part.map(|part| {
            if row.int(4) == 1 {
                part.end()
            } else {
                part.start()
            }
        });
        Ok(Some(
            at.map_or(0, |at| text[..at].chars().count() as i32 + 1),
        ))
    });
    Ok(Arc::new(places.collect::<Result<Int32Array>>()?))
}
