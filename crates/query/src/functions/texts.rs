//! Functions of texts as DuckDB has them: what is cut out of a text, taken apart, repeated, padded and replaced in it.
//! Positions count characters.

use super::bit_strings::bits_of;
use super::plain::{Columns, Form, Kind, Row, Run, Written, plain};
use super::postgres_parts::{part_of_bytes, place_of_bytes, trimmed as trimmed_bytes};
use super::room::Room;
use datafusion::arrow::array::{ArrayRef, Int32Array, ListBuilder, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation;

/// `substring(text FROM start FOR length)`.
pub const SUBSTRING: &str = "substring";
/// `position(text IN text)`, the other way round.
pub const POSITION: &str = "strpos";
/// What positions in texts and their lengths are less than.
const REACH: i64 = 1 << 32;

const TEXT: &[Kind] = &[Kind::Text];
const TEXT_INT: &[Kind] = &[Kind::Text, Kind::Int];
const TEXT_TEXT: &[Kind] = &[Kind::Text, Kind::Text];

/// The forms of a function that takes characters off a text, or bytes off bytes: at the begin, at the end.
macro_rules! trims {
    ($spaces:expr, $some:expr, $sides:expr) => {{
        vec![
            Form::new(
                TEXT,
                Run::Text(|row, out| {
                    let spaces: fn(&str) -> &str = $spaces;
                    out.push(spaces(row.text(0)));
                    Ok(true)
                }),
            ),
            Form::new(
                TEXT_TEXT,
                Run::Text(|row, out| {
                    let some: for<'a> fn(&'a str, &[char]) -> &'a str = $some;
                    let of: Vec<char> = row.text(1).chars().collect();
                    out.push(some(row.text(0), &of));
                    Ok(true)
                }),
            ),
            Form::new(
                &[Kind::Blob, Kind::Blob],
                Run::Blob(|row, out| trimmed_bytes(row, out, $sides)),
            ),
        ]
    }};
}

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    [parts(memory), trimmed(memory), codes(memory)].concat()
}

/// Parts of texts, and texts put together.
fn parts(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let plain = |names, forms| plain(names, forms, memory);
    let pads: &[Kind] = &[Kind::Text, Kind::Int, Kind::Text];
    let texts = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8View, true)));
    vec![
        plain(
            &[SUBSTRING, "substr"],
            vec![
                Form::new(TEXT_INT, Run::Text(substring)),
                Form::new(&[Kind::Text, Kind::Int, Kind::Int], Run::Text(substring_of)),
                Form::new(&[Kind::Blob, Kind::Int], Run::Blob(part_of_bytes)),
                Form::new(
                    &[Kind::Blob, Kind::Int, Kind::Int],
                    Run::Blob(part_of_bytes),
                ),
            ],
        ),
        plain(&["left"], vec![Form::new(TEXT_INT, Run::Text(left))]),
        plain(&["right"], vec![Form::new(TEXT_INT, Run::Text(right))]),
        plain(&["lpad"], vec![Form::new(pads, Run::Text(lpad))]),
        plain(&["rpad"], vec![Form::new(pads, Run::Text(rpad))]),
        plain(
            &["repeat"],
            vec![
                // The untyped NULL is bytes, as in DuckDB.
                Form::new(
                    &[Kind::Blob, Kind::Int],
                    Run::Blob(|row, out| repeat(row.blob(0), row, out)),
                ),
                Form::new(
                    TEXT_INT,
                    Run::Text(|row, out| repeat(row.text(0).as_bytes(), row, out)),
                ),
            ],
        ),
        plain(
            &["replace"],
            vec![Form::new(
                &[Kind::Text, Kind::Text, Kind::Text],
                Run::Text(replace),
            )],
        ),
        plain(
            &["translate"],
            vec![Form::new(
                &[Kind::Text, Kind::Text, Kind::Text],
                Run::Text(translate),
            )],
        ),
        plain(
            &["split_part"],
            vec![Form::new(
                &[Kind::Text, Kind::Text, Kind::Int],
                Run::Text(split_part),
            )],
        ),
        plain(
            &["string_split", "str_split", "string_to_array", "split"],
            vec![Form::new(TEXT_TEXT, Run::Whole(texts, string_split)).seeing_nulls()],
        ),
    ]
}

/// Texts without what is at their ends.
fn trimmed(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let plain = |names, forms| plain(names, forms, memory);
    vec![
        plain(
            &["trim"],
            trims!(
                |text| text.trim_matches(is_space),
                |text, of| text.trim_matches(of),
                [true, true]
            ),
        ),
        plain(
            &["ltrim"],
            trims!(
                |text| text.trim_start_matches(is_space),
                |text, of| text.trim_start_matches(of),
                [true, false]
            ),
        ),
        plain(
            &["rtrim"],
            trims!(
                |text| text.trim_end_matches(is_space),
                |text, of| text.trim_end_matches(of),
                [false, true]
            ),
        ),
    ]
}

/// Texts as numbers and bytes, and back.
fn codes(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let plain = |names, forms| plain(names, forms, memory);
    vec![
        plain(&["chr"], vec![Form::new(&[Kind::Int], Run::Text(chr))]),
        plain(
            &["ascii"],
            vec![Form::new(TEXT, Run::Whole(DataType::Int32, ascii))],
        ),
        plain(
            &["to_hex", "hex"],
            vec![
                Form::new(TEXT, Run::Text(|row, out| hex(row.text(0).as_bytes(), out))),
                Form::new(&[Kind::Blob], Run::Text(|row, out| hex(row.blob(0), out))),
                Form::new(&[Kind::Int], Run::Text(hex_of_number)),
                Form::new(&[Kind::Unsigned], Run::Text(hex_of_unsigned)),
            ],
        ),
        plain(
            &["octet_length"],
            vec![
                Form::new(TEXT, Run::Int(|row| Ok(Some(row.text(0).len() as i64)))),
                Form::new(
                    &[Kind::Blob],
                    Run::Int(|row| Ok(Some(row.blob(0).len() as i64))),
                ),
                Form::new(
                    &[Kind::Bits],
                    Run::Int(|row| Ok(Some(bits_of(row, 0)?.width() as i64))),
                ),
            ],
        ),
        plain(
            &["bit_length"],
            vec![
                Form::new(TEXT, Run::Int(|row| Ok(Some(row.text(0).len() as i64 * 8)))),
                Form::new(
                    &[Kind::Bits],
                    Run::Int(|row| Ok(Some(bits_of(row, 0)?.count() as i64))),
                ),
            ],
        ),
        plain(
            &[POSITION, "instr"],
            vec![
                Form::new(TEXT_TEXT, Run::Int(position)),
                Form::new(
                    &[Kind::Blob, Kind::Blob],
                    Run::Int(|row| Ok(Some(place_of_bytes(row.blob(0), row.blob(1))))),
                ),
            ],
        ),
        plain(
            &["levenshtein", "editdist3"],
            vec![Form::new(TEXT_TEXT, Run::Int(levenshtein))],
        ),
        plain(&["reverse"], vec![Form::new(TEXT, Run::Text(reverse))]),
        plain(&["encode"], vec![Form::new(TEXT, Run::Blob(encode))]),
        plain(
            &["decode"],
            vec![
                Form::new(&[Kind::Blob], Run::Text(decode)),
                Form::new(&[Kind::Blob, Kind::Text], Run::Text(decode)),
            ],
        ),
    ]
}

/// The number of the first character, or 0.
fn ascii(columns: &Columns, _: &mut Room) -> Result<ArrayRef> {
    let code = |text: &str| text.chars().next().map_or(0, |c| u32::from(c) as i32);
    let codes = columns
        .rows()
        .map(|row| (!row.has_null()).then(|| code(row.text(0))));
    Ok(Arc::new(codes.collect::<Int32Array>()))
}

/// The character at which a text first lies in another, counted from 1; 0 where it does not.
fn position(row: Row<'_>) -> Result<Option<i64>> {
    let text = row.text(0);
    let found = text.find(row.text(1)).and_then(|at| text.get(..at));
    Ok(Some(
        found.map_or(0, |before| characters(before) as i64 + 1),
    ))
}

/// The fewest bytes to put in, leave out or change between two texts.
fn levenshtein(row: Row<'_>) -> Result<Option<i64>> {
    let (from, to) = (row.text(0).as_bytes(), row.text(1).as_bytes());
    let mut costs: Vec<i64> = (0..=to.len() as i64).collect();
    for (n, a) in from.iter().enumerate() {
        let mut left = n as i64 + 1;
        let mut diagonal = n as i64;
        for (cost, b) in costs.iter_mut().skip(1).zip(to) {
            let changed = diagonal + i64::from(a != b);
            diagonal = *cost;
            left = changed.min(left + 1).min(*cost + 1);
            *cost = left;
        }
        if let Some(first) = costs.first_mut() {
            *first = n as i64 + 1;
        }
    }
    Ok(costs.last().copied())
}

/// The bytes at which characters `from..to` of a text lie; both may be outside of it.
pub(super) fn between(text: &str, from: i128, to: i128) -> &str {
    if to <= from || to <= 0 {
        return "";
    }
    let from = usize::try_from(from.max(0)).unwrap_or(usize::MAX);
    let count = usize::try_from(to)
        .unwrap_or(usize::MAX)
        .saturating_sub(from);
    if text.is_ascii() {
        let from = from.min(text.len());
        let to = from.saturating_add(count).min(text.len());
        return text.get(from..to).unwrap_or_default();
    }
    let mut starts = text.char_indices().map(|(at, _)| at);
    let Some(first) = starts.nth(from) else {
        return "";
    };
    let end = match count {
        0 => Some(first),
        count => starts.nth(count - 1),
    };
    text.get(first..end.unwrap_or(text.len()))
        .unwrap_or_default()
}

fn characters(text: &str) -> i128 {
    match text.is_ascii() {
        true => text.len() as i128,
        false => text.chars().count() as i128,
    }
}

/// The character at which a substring begins, counted from 0: a negative start counts from the end, and 0 is before the first.
fn first_character(text: &str, start: i64) -> i128 {
    match start {
        ..0 => characters(text) + i128::from(start),
        _ => i128::from(start) - 1,
    }
}

/// Beyond these DuckDB has no positions and lengths.
pub(super) fn within_reach(number: i64, what: &str) -> Result<()> {
    match (-REACH..REACH).contains(&number) {
        true => Ok(()),
        false => {
            let what = format!("Substring {what} outside of supported range of 32 bits");
            Err(Error::new(ErrorKind::OutOfRange, what).into())
        }
    }
}

fn substring(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    within_reach(row.int(1), "offset")?;
    let text = row.text(0);
    out.push(between(text, first_character(text, row.int(1)), i128::MAX));
    Ok(true)
}

/// A negative length takes what is before the start.
fn substring_of(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    within_reach(row.int(1), "offset")?;
    within_reach(row.int(2), "length")?;
    let text = row.text(0);
    let (first, length) = (first_character(text, row.int(1)), i128::from(row.int(2)));
    out.push(between(
        text,
        first.min(first + length),
        first.max(first + length),
    ));
    Ok(true)
}

/// The first characters; with a negative number all but the last.
fn left(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    within_reach(row.int(1).max(0), "length")?;
    let (text, count) = (row.text(0), i128::from(row.int(1)));
    let to = if count < 0 {
        characters(text) + count
    } else {
        count
    };
    out.push(between(text, 0, to));
    Ok(true)
}

/// The last characters; with a negative number all but the first.
fn right(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (text, count) = (row.text(0), i128::from(row.int(1)));
    let from = if count < 0 {
        -count
    } else {
        characters(text) - count
    };
    out.push(between(text, from, i128::MAX));
    Ok(true)
}

fn lpad(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (text, missing) = padded(row, out, "LPAD")?;
    out.push_cycled(row.text(2), missing);
    out.push(text);
    Ok(true)
}

fn rpad(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (text, missing) = padded(row, out, "RPAD")?;
    out.push(text);
    out.push_cycled(row.text(2), missing);
    Ok(true)
}

/// The part of the text that stays, and the number of characters to put beside it.
fn padded<'a>(row: Row<'a>, out: &mut Written<'_>, name: &str) -> Result<(&'a str, usize)> {
    let (text, width, pad) = (row.text(0), i128::from(row.int(1)).max(0), row.text(2));
    let text = between(text, 0, width);
    let missing = (width - characters(text)) as u128;
    if missing == 0 {
        return Ok((text, 0));
    }
    if pad.is_empty() {
        let what = format!("Insufficient padding in {name}.");
        return Err(Error::new(ErrorKind::InvalidInput, what).into());
    }
    let bytes = (missing / characters(pad) as u128 + 1) * pad.len() as u128;
    out.expect(text.len() as u128 + bytes)?;
    Ok((text, missing as usize))
}

fn repeat(bytes: &[u8], row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let times = row.int(1).max(0);
    out.expect(bytes.len() as u128 * times as u128)?;
    if !bytes.is_empty() {
        out.push_times(bytes, times as usize);
    }
    Ok(true)
}

/// Nothing is nowhere in a text.
fn replace(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (text, from, to) = (row.text(0), row.text(1), row.text(2));
    if from.is_empty() {
        out.push(text);
        return Ok(true);
    }
    if to.len() > from.len() {
        let found = text.matches(from).count() as u128;
        out.expect(text.len() as u128 + found * (to.len() - from.len()) as u128)?;
    }
    for (n, piece) in text.split(from).enumerate() {
        if n > 0 {
            out.push(to);
        }
        out.push(piece);
    }
    Ok(true)
}

/// Each character of the first set becomes the one at its place in the second, or goes away.
fn translate(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (text, from, to) = (row.text(0), row.text(1), row.text(2));
    let mut changes = std::collections::HashMap::new();
    let mut to = to.chars();
    for c in from.chars() {
        let new = to.next();
        changes.entry(c).or_insert(new);
    }
    let mut buffer = [0; 4];
    for c in text.chars() {
        match changes.get(&c) {
            None => out.push(c.encode_utf8(&mut buffer)),
            Some(Some(new)) => out.push(new.encode_utf8(&mut buffer)),
            Some(None) => {}
        }
    }
    Ok(true)
}

/// The pieces of a text; an empty separator is between any two characters.
fn pieces<'a>(
    text: &'a str,
    separator: &'a str,
) -> Box<dyn DoubleEndedIterator<Item = &'a str> + 'a> {
    if separator.is_empty() && !text.is_empty() {
        let characters = text.char_indices();
        return Box::new(
            characters.map(|(at, c)| text.get(at..at + c.len_utf8()).unwrap_or_default()),
        );
    }
    if separator.is_empty() {
        return Box::new(std::iter::once(text));
    }
    let found: Vec<usize> = text.match_indices(separator).map(|(at, _)| at).collect();
    let starts = std::iter::once(0).chain(found.clone().into_iter().map(|at| at + separator.len()));
    let ends = found.into_iter().chain(std::iter::once(text.len()));
    let pieces = starts.zip(ends).collect::<Vec<_>>().into_iter();
    Box::new(pieces.map(|(from, to)| text.get(from..to).unwrap_or_default()))
}

fn split_part(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let mut pieces = pieces(row.text(0), row.text(1));
    let before = |n: u64| usize::try_from(n - 1).unwrap_or(usize::MAX);
    let piece = match row.int(2) {
        0 => None,
        n @ 1.. => pieces.nth(before(n.unsigned_abs())),
        n => pieces.nth_back(before(n.unsigned_abs())),
    };
    out.push(piece.unwrap_or_default());
    Ok(true)
}

/// What a piece takes beside its text: its view, and where it begins and ends.
const PIECE_BYTES: usize = 64;

/// Without a separator the text is one piece.
fn string_split(columns: &Columns, room: &mut Room) -> Result<ArrayRef> {
    let mut out = ListBuilder::new(StringViewBuilder::new());
    for row in columns.rows() {
        if row.is_null(0) {
            out.append_null();
            continue;
        }
        let text = row.text(0);
        if row.is_null(1) {
            out.values().append_value(text);
        } else {
            let found = text.matches(row.text(1)).count();
            room.take_if_long(text.len() + found * PIECE_BYTES)?;
            pieces(text, row.text(1)).for_each(|piece| out.values().append_value(piece));
        }
        out.append(true);
    }
    Ok(Arc::new(out.finish()))
}

/// The blanks that are Unicode's space separators.
fn is_space(c: char) -> bool {
    matches!(
        c,
        ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

fn chr(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let character = u32::try_from(row.int(0)).ok().and_then(char::from_u32);
    let character = character
        .ok_or_else(|| Error::new(ErrorKind::InvalidInput, "chr takes a Unicode code point"))?;
    out.push(character.encode_utf8(&mut [0; 4]));
    Ok(true)
}

fn hex(bytes: &[u8], out: &mut Written<'_>) -> Result<bool> {
    out.expect(bytes.len() as u128 * 2)?;
    for byte in bytes {
        out.push(&format!("{byte:02X}"));
    }
    Ok(true)
}

fn hex_of_unsigned(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    out.push(&format!("{:X}", row.unsigned(0)));
    Ok(true)
}

fn hex_of_number(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    out.push(&format!("{:X}", row.int(0)));
    Ok(true)
}

/// Characters with their marks stay together.
fn reverse(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let text = row.text(0);
    let clusters = text.graphemes(true).rev();
    clusters.for_each(|cluster| out.push(cluster));
    Ok(true)
}

/// The bytes of a text, and the text of bytes.
fn encode(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    out.push(row.text(0));
    Ok(true)
}

/// What is not UTF-8 is an error, or a question mark for each byte if the second argument says `replace`, or left out if it says `ignore`.
fn decode(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let conversion = |what: &str| Error::new(ErrorKind::Conversion, what);
    for piece in row.blob(0).utf8_chunks() {
        out.push(piece.valid());
        match (piece.invalid(), row.text(1)) {
            ([], _) => {}
            (_, "ignore") => {}
            (bytes, "replace") => bytes.iter().for_each(|_| out.push("?")),
            (_, "" | "strict") => {
                let what = "Failure in decode: the blob has invalid UTF-8 characters";
                return Err(conversion(what).into());
            }
            _ => {
                return Err(conversion(
                    "decode takes 'strict', 'replace' or 'ignore' for what is not UTF-8",
                )
                .into());
            }
        }
    }
    Ok(true)
}
