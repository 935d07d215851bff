//! Functions of texts by Unicode's tables, and a few that draw or count: accents, normal forms, graphemes, `bar`,
//! `damerau_levenshtein`, bits as text.

use super::plain::{Form, Kind, Row, Run, Written, plain};
use super::texts::within_reach;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

/// The width of a bar where none is given.
const BAR_WIDTH: f64 = 80.0;
/// A block, and its parts from an eighth on.
const BLOCK: &str = "█";
const EIGHTHS: [&str; 8] = [" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    [by_unicode(memory), others(memory)].concat()
}

/// What Unicode's tables tell.
fn by_unicode(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    const T: Kind = Kind::Text;
    const I: Kind = Kind::Int;
    let plain = |names, forms| plain(names, forms, memory);
    vec![
        plain(
            &["strip_accents"],
            vec![Form::new(&[T], Run::Text(strip_accents))],
        ),
        plain(
            &["nfc_normalize"],
            vec![Form::new(
                &[T],
                Run::Text(|row, out| {
                    push_all(row.text(0).nfc(), out);
                    Ok(true)
                }),
            )],
        ),
        plain(
            &["length_grapheme"],
            vec![Form::new(
                &[T],
                Run::Int(|row| Ok(Some(row.text(0).graphemes(true).count() as i64))),
            )],
        ),
        plain(
            &["left_grapheme"],
            vec![Form::new(
                &[T, I],
                Run::Text(|row, out| {
                    let count = row.int(1);
                    within_reach(count, "length")?;
                    graphemes(
                        row.text(0),
                        1,
                        if count < 0 { None } else { Some(count) },
                        count.min(0),
                        out,
                    )
                }),
            )],
        ),
        plain(
            &["right_grapheme"],
            vec![Form::new(&[T, I], Run::Text(right_grapheme))],
        ),
        plain(
            &["substring_grapheme"],
            vec![
                Form::new(
                    &[T, I],
                    Run::Text(|row, out| {
                        within_reach(row.int(1), "offset")?;
                        graphemes(row.text(0), row.int(1), None, 0, out)
                    }),
                ),
                Form::new(
                    &[T, I, I],
                    Run::Text(|row, out| {
                        within_reach(row.int(1), "offset")?;
                        within_reach(row.int(2), "length")?;
                        graphemes(row.text(0), row.int(1), Some(row.int(2)), 0, out)
                    }),
                ),
            ],
        ),
    ]
}

fn others(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    const T: Kind = Kind::Text;
    const D: Kind = Kind::Double;
    let plain = |names, forms| plain(names, forms, memory);
    vec![
        plain(
            &["bar"],
            vec![
                Form::new(&[D, D, D], Run::Text(|row, out| bar(row, BAR_WIDTH, out))),
                Form::new(
                    &[D, D, D, D],
                    Run::Text(|row, out| bar(row, row.double(3), out)),
                ),
            ],
        ),
        plain(
            &["damerau_levenshtein"],
            vec![Form::new(&[T, T], Run::Int(damerau_levenshtein))],
        ),
        plain(
            &["from_binary", "unbin"],
            vec![Form::new(&[T], Run::Blob(from_binary))],
        ),
    ]
}

fn push_all(characters: impl Iterator<Item = char>, out: &mut Written<'_>) {
    let mut buffer = [0; 4];
    for c in characters {
        out.push(c.encode_utf8(&mut buffer));
    }
}

/// Letters without the marks that belong to them.
fn strip_accents(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let text = row.text(0);
    match text.is_ascii() {
        true => out.push(text),
        false => push_all(bare(text), out),
    }
    Ok(true)
}

fn bare(text: &str) -> impl Iterator<Item = char> {
    text.nfd().filter(|c| !is_combining_mark(*c)).nfc()
}

/// A text without accents, as `strip_accents` has it.
pub fn without_accents(text: &str) -> String {
    bare(text).collect()
}

/// So many graphemes from a place on, counted from 1, or from the end where it is negative; without the last `less`.
fn graphemes(
    text: &str,
    start: i64,
    length: Option<i64>,
    less: i64,
    out: &mut Written<'_>,
) -> Result<bool> {
    let count = text.graphemes(true).count() as i128;
    let start = i128::from(start);
    let from = if start < 0 { count + start } else { start - 1 };
    let (from, to) = match length.map(i128::from) {
        None => (from, count + i128::from(less)),
        Some(length) if length < 0 => (from + length, from),
        Some(length) => (from, from + length),
    };
    let from = from.clamp(0, count) as usize;
    let to = to.clamp(0, count) as usize;
    for grapheme in text.graphemes(true).take(to).skip(from) {
        out.push(grapheme);
    }
    Ok(true)
}

fn right_grapheme(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (text, wanted) = (row.text(0), i128::from(row.int(1)));
    let count = text.graphemes(true).count() as i128;
    let skipped = if wanted < 0 { -wanted } else { count - wanted };
    for grapheme in text.graphemes(true).skip(skipped.clamp(0, count) as usize) {
        out.push(grapheme);
    }
    Ok(true)
}

/// A bar as long as a number lies between two others.
fn bar(row: Row<'_>, width: f64, out: &mut Written<'_>) -> Result<bool> {
    let (x, least, most) = (row.double(0), row.double(1), row.double(2));
    let refused = |what: &str| Error::new(ErrorKind::OutOfRange, what);
    if !width.is_finite() {
        return Err(refused("Max bar width must not be NaN or infinity").into());
    }
    if !(1.0..=1000.0).contains(&width) {
        return Err(refused("Max bar width must be between 1 and 1000").into());
    }
    let blocks = match x {
        _ if x.is_nan() || least.is_nan() || most.is_nan() || x <= least => 0.0,
        _ if x >= most => width,
        _ => width * (x - least) / (most - least),
    };
    if !blocks.is_finite() {
        return Err(refused("Bar width must not be NaN or infinity").into());
    }
    let eighths = (blocks * 8.0) as usize;
    let (whole, part) = (eighths / 8, eighths % 8);
    let all = width.ceil() as usize;
    out.push_times(BLOCK.as_bytes(), whole);
    if part > 0 {
        out.push(EIGHTHS[part]);
    }
    out.push_times(b" ", all.saturating_sub(whole + usize::from(part > 0)));
    Ok(true)
}

/// The fewest bytes to put in, leave out, change or swap with the next one, so that any text becomes another.
fn damerau_levenshtein(row: Row<'_>) -> Result<Option<i64>> {
    let (from, to) = (row.text(0).as_bytes(), row.text(1).as_bytes());
    if from.is_empty() || to.is_empty() {
        return Ok(Some(from.len().max(to.len()) as i64));
    }
    // The distance of all beginnings, below a row and a column that nothing is nearer than.
    let width = to.len() + 2;
    let cells = width
        .checked_mul(from.len() + 2)
        .filter(|cells| *cells <= MOST_CELLS);
    let Some(cells) = cells else {
        let what = "the texts are too long for damerau_levenshtein: at most 8000 bytes each";
        return Err(Error::new(ErrorKind::OutOfRange, what).into());
    };
    let far = (from.len() + to.len()) as u32;
    let mut table = vec![far; cells];
    for i in 0..=from.len() {
        table[(i + 1) * width + 1] = i as u32;
    }
    for j in 0..=to.len() {
        table[width + j + 1] = j as u32;
    }
    // The last place of each byte in the first text.
    let mut last_row = [0_usize; 256];
    for (i, a) in (1..).zip(from) {
        let mut last_column = 0;
        for (j, b) in (1..).zip(to) {
            let (swap_i, swap_j) = (last_row[usize::from(*b)], last_column);
            let at = |i: usize, j: usize| table[i * width + j];
            let changed = at(i, j) + u32::from(a != b);
            let swapped = at(swap_i, swap_j) + (i - swap_i - 1 + 1 + j - swap_j - 1) as u32;
            let other = at(i + 1, j).min(at(i, j + 1)) + 1;
            table[(i + 1) * width + j + 1] = changed.min(swapped).min(other);
            if a == b {
                last_column = j;
            }
        }
        last_row[usize::from(*a)] = i;
    }
    Ok(table.last().map(|distance| i64::from(*distance)))
}

/// Cells of the table of one pair of texts.
const MOST_CELLS: usize = 64 << 20;

/// Bytes from their bits; the first byte may be short of some.
fn from_binary(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let bits = row.text(0).as_bytes();
    let short = bits.len() % 8;
    let (first, rest) = bits.split_at(short);
    let chunks = (!first.is_empty()).then_some(first).into_iter();
    for chunk in chunks.chain(rest.chunks(8)) {
        let mut byte = 0;
        for bit in chunk {
            byte = byte << 1
                | match bit {
                    b'0' => 0,
                    b'1' => 1,
                    _ => {
                        let what = "Invalid input for binary digit: there are 0 and 1";
                        return Err(Error::new(ErrorKind::InvalidInput, what).into());
                    }
                };
        }
        out.push_times(&[byte], 1);
    }
    Ok(true)
}
