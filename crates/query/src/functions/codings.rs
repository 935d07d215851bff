//! Texts and numbers in other writings: SHA-1, base 64, hexadecimal, binary and other bases, URLs, sizes; and how far texts are apart.
//!
//! What must hold: no error repeats a value.

use super::plain::{Columns, Form, Kind, Row, Run, Written, plain};
use super::room::Room;
use datafusion::arrow::array::{ArrayRef, UInt64Array};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use sha1::{Digest, Sha1};
use std::collections::HashSet;
use std::sync::Arc;

const TEXT: &[Kind] = &[Kind::Text];
const TEXTS: &[Kind] = &[Kind::Text, Kind::Text];
const BLOB: &[Kind] = &[Kind::Blob];
const INT: &[Kind] = &[Kind::Int];
const DIGITS_64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let mut functions = codings(memory);
    functions.extend(other_writings(memory));
    functions.extend(distances(memory));
    functions
}

fn codings(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let plain = |names, forms| plain(names, forms, memory);
    let of_bytes = |of_text: fn(Row<'_>, &mut Written<'_>) -> Result<bool>, of_blob| {
        vec![
            Form::new(TEXT, Run::Text(of_text)),
            Form::new(BLOB, Run::Text(of_blob)),
        ]
    };
    let mut binary = of_bytes(
        |row, out| bits(row.text(0).as_bytes(), out),
        |row, out| bits(row.blob(0), out),
    );
    binary.extend([
        Form::new(INT, Run::Text(|row, out| bits_of(row.int(0) as u64, out))),
        Form::new(
            &[Kind::Unsigned],
            Run::Text(|row, out| bits_of(row.unsigned(0), out)),
        ),
    ]);
    let base_64 = of_bytes(
        |row, out| to_base_64(row.text(0).as_bytes(), out),
        |row, out| to_base_64(row.blob(0), out),
    );
    let sha1 = of_bytes(
        |row, out| sha1(row.text(0).as_bytes(), out),
        |row, out| sha1(row.blob(0), out),
    );
    vec![
        plain(&["sha1"], sha1),
        plain(&["to_base64", "base64"], base_64),
        plain(
            &["from_base64"],
            vec![Form::new(TEXT, Run::Blob(from_base_64))],
        ),
        plain(
            &["unhex", "from_hex"],
            vec![Form::new(TEXT, Run::Blob(from_hex))],
        ),
        plain(&["bin", "to_binary"], binary),
    ]
}

fn other_writings(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let plain = |names, forms| plain(names, forms, memory);
    let base = || Run::Text(to_base);
    vec![
        plain(
            &["to_base"],
            vec![
                Form::new(&[Kind::Int, Kind::Int], base()),
                Form::new(&[Kind::Int, Kind::Int, Kind::Int], base()),
            ],
        ),
        plain(
            &["format_bytes", "formatreadablesize"],
            vec![Form::new(
                INT,
                Run::Text(|row, out| {
                    size(row.int(0), 1024, &["KiB", "MiB", "GiB", "TiB", "PiB"], out)
                }),
            )],
        ),
        plain(
            &["formatreadabledecimalsize"],
            vec![Form::new(
                INT,
                Run::Text(|row, out| size(row.int(0), 1000, &["kB", "MB", "GB", "TB", "PB"], out)),
            )],
        ),
        plain(
            &["parse_formatted_bytes"],
            vec![Form::new(
                TEXT,
                Run::Whole(DataType::UInt64, bytes_of_sizes),
            )],
        ),
        plain(
            &["url_encode"],
            vec![Form::new(TEXT, Run::Text(url_encode))],
        ),
        plain(
            &["url_decode"],
            vec![Form::new(TEXT, Run::Text(url_decode))],
        ),
    ]
}

fn distances(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let plain = |names, forms| plain(names, forms, memory);
    vec![
        plain(
            &["hamming", "mismatches"],
            vec![Form::new(TEXTS, Run::Int(hamming))],
        ),
        plain(&["jaccard"], vec![Form::new(TEXTS, Run::Double(jaccard))]),
        plain(
            &["jaro_similarity"],
            vec![
                Form::new(TEXTS, Run::Double(|row| Ok(Some(of_bytes(row, jaro))))),
                Form::new(TEXTS_AND_LEAST, Run::Double(|row| Ok(at_least(row, jaro)))),
            ],
        ),
        plain(
            &["jaro_winkler_similarity"],
            vec![
                Form::new(TEXTS, Run::Double(|row| Ok(Some(of_bytes(row, winkler))))),
                Form::new(
                    TEXTS_AND_LEAST,
                    Run::Double(|row| Ok(at_least(row, winkler))),
                ),
            ],
        ),
    ]
}

const TEXTS_AND_LEAST: &[Kind] = &[Kind::Text, Kind::Text, Kind::Double];

fn of_bytes(row: Row<'_>, similarity: fn(&[u8], &[u8]) -> f64) -> f64 {
    similarity(row.text(0).as_bytes(), row.text(1).as_bytes())
}

/// A similarity, or 0 where it is less than the third argument.
fn at_least(row: Row<'_>, similarity: fn(&[u8], &[u8]) -> f64) -> Option<f64> {
    let found = of_bytes(row, similarity);
    Some(if found >= row.double(2) { found } else { 0.0 })
}

/// The digest (FIPS 180-4) in hexadecimal: a name for what is compared, no protection.
fn sha1(bytes: &[u8], out: &mut Written<'_>) -> Result<bool> {
    for byte in Sha1::digest(bytes) {
        out.push(&format!("{byte:02x}"));
    }
    Ok(true)
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}

fn to_base_64(bytes: &[u8], out: &mut Written<'_>) -> Result<bool> {
    out.expect(bytes.len().div_ceil(3) as u128 * 4)?;
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let all = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS_64[(all >> (18 - 6 * place) & 63) as usize];
            let is_there = place <= three.len();
            out.push(if is_there { char::from(digit) } else { '=' }.encode_utf8(&mut [0; 4]));
        }
    }
    Ok(true)
}

fn from_base_64(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let refused = |why: &str| {
        let what = format!("Could not decode string as base64: {why}");
        Error::new(ErrorKind::Conversion, what)
    };
    let text = row.text(0).as_bytes();
    if !text.len().is_multiple_of(4) {
        return Err(refused("length must be a multiple of 4").into());
    }
    let padding = text
        .iter()
        .rev()
        .take(2)
        .take_while(|byte| **byte == b'=')
        .count();
    let mut bits = 0_u32;
    for (at, byte) in text[..text.len() - padding].iter().enumerate() {
        let Some(digit) = DIGITS_64.iter().position(|digit| digit == byte) else {
            return Err(refused("there is a character that is none of base 64").into());
        };
        bits = bits << 6 | digit as u32;
        // From the second digit of four on, each completes a byte.
        if at % 4 > 0 {
            let shift = 6 - 2 * (at % 4);
            out.push_times(&[(bits >> shift) as u8], 1);
        }
    }
    Ok(true)
}

fn from_hex(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let text = row.text(0);
    let mut value = 0;
    for (at, letter) in text.chars().enumerate() {
        let Some(digit) = letter.to_digit(16) else {
            return Err(invalid("Invalid input for hex digit").into());
        };
        value = value << 4 | digit;
        if (text.len() - at) % 2 == 1 {
            out.push_times(&[value as u8], 1);
        }
    }
    Ok(true)
}

/// The bits of each byte.
fn bits(bytes: &[u8], out: &mut Written<'_>) -> Result<bool> {
    out.expect(bytes.len() as u128 * 8)?;
    for byte in bytes {
        out.push(&format!("{byte:08b}"));
    }
    Ok(true)
}

fn bits_of(number: u64, out: &mut Written<'_>) -> Result<bool> {
    out.push(&format!("{number:b}"));
    Ok(true)
}

fn to_base(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (mut number, radix, least) = (row.int(0), row.int(1), row.int(2));
    if number < 0 {
        return Err(invalid("'to_base' number must be greater than or equal to 0").into());
    }
    if !(2..=36).contains(&radix) {
        return Err(invalid("'to_base' radix must be between 2 and 36").into());
    }
    if !(0..=64).contains(&least) {
        return Err(invalid("'to_base' min_length must be between 0 and 64").into());
    }
    let mut digits = vec![];
    while number > 0 || digits.is_empty() {
        digits.extend(char::from_digit((number % radix) as u32, radix as u32));
        number /= radix;
    }
    while (digits.len() as i64) < least {
        digits.push('0');
    }
    let text: String = digits.iter().rev().collect();
    out.push(&text.to_uppercase());
    Ok(true)
}

/// A number of bytes in the largest unit that it fills, cut to a tenth.
fn size(bytes: i64, unit: u64, names: &[&str; 5], out: &mut Written<'_>) -> Result<bool> {
    let mut amount = bytes.unsigned_abs();
    let mut tenths = 0;
    let mut name = None;
    for next in names {
        if amount < unit {
            break;
        }
        tenths = amount % unit * 10 / unit;
        amount /= unit;
        name = Some(next);
    }
    let sign = if bytes < 0 { "-" } else { "" };
    out.push(&match name {
        Some(name) => format!("{sign}{amount}.{tenths} {name}"),
        None if amount == 1 => format!("{sign}1 byte"),
        None => format!("{sign}{amount} bytes"),
    });
    Ok(true)
}

fn bytes_of_sizes(columns: &Columns, _: &mut Room) -> Result<ArrayRef> {
    let bytes = columns.rows().map(|row| match row.has_null() {
        true => Ok(None),
        false => bytes_of_size(row.text(0)).map(Some),
    });
    Ok(Arc::new(bytes.collect::<Result<UInt64Array, Error>>()?))
}

/// A number of bytes from a number and a unit, as in `1.5 GB`; behind the unit anything may stand.
fn bytes_of_size(text: &str) -> std::result::Result<u64, Error> {
    let text = text.trim_start();
    let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '-');
    let end = text.find(|c| !is_digit(c)).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    if !number.contains(|c: char| c.is_ascii_digit()) {
        return Err(invalid("Memory must have a number (e.g. 1GB)"));
    }
    let number: f64 = number
        .parse()
        .map_err(|_| invalid("Invalid memory limit: this is not a number"))?;
    if number < 0.0 {
        return Err(invalid("Memory cannot be negative"));
    }
    let unit = rest.split_whitespace().next().unwrap_or_default();
    let unit = match unit.to_lowercase().as_str() {
        "byte" | "bytes" | "b" => 1.0,
        "kilobyte" | "kilobytes" | "kb" | "k" => 1e3,
        "megabyte" | "megabytes" | "mb" | "m" => 1e6,
        "gigabyte" | "gigabytes" | "gb" | "g" => 1e9,
        "terabyte" | "terabytes" | "tb" | "t" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024f64.powi(2),
        "gib" => 1024f64.powi(3),
        "tib" => 1024f64.powi(4),
        _ => {
            let what = "Unknown unit for memory (expected: KB, MB, GB, TB for 1000^i units or KiB, MiB, GiB, TiB for 1024^i units)";
            return Err(invalid(what));
        }
    };
    match number * unit {
        bytes if bytes < u64::MAX as f64 => Ok(bytes as u64),
        _ => Err(invalid("Memory value out of range: value is too large")),
    }
}

fn url_encode(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let text = row.text(0);
    out.expect(text.len() as u128 * 3)?;
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push_times(&[byte], 1);
            }
            other => out.push(&format!("%{other:02X}")),
        }
    }
    Ok(true)
}

fn url_decode(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let text = row.text(0).as_bytes();
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        match (text[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high << 4 | low) as u8);
                at += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    let Ok(decoded) = String::from_utf8(decoded) else {
        let what = "Failed to decode string using URL decoding - decoded value is invalid UTF8";
        return Err(invalid(what).into());
    };
    out.push(&decoded);
    Ok(true)
}

fn hamming(row: Row<'_>) -> Result<Option<i64>> {
    let (left, right) = (row.text(0).as_bytes(), row.text(1).as_bytes());
    if left.len() != right.len() {
        let what = "Mismatch Function: Strings must be of equal length!";
        return Err(invalid(what).into());
    }
    if left.is_empty() {
        return Err(invalid("Mismatch Function: Strings must be of length > 0!").into());
    }
    let differ = left.iter().zip(right).filter(|(a, b)| a != b).count();
    Ok(i64::try_from(differ).ok())
}

/// How many bytes both have, of those that one has.
fn jaccard(row: Row<'_>) -> Result<Option<f64>> {
    let set = |text: &str| text.bytes().collect::<HashSet<u8>>();
    let (left, right) = (set(row.text(0)), set(row.text(1)));
    if left.is_empty() || right.is_empty() {
        return Err(invalid("Jaccard Function: An argument too short!").into());
    }
    let both = left.intersection(&right).count() as f64;
    Ok(Some(both / left.union(&right).count() as f64))
}

/// Jaro's similarity (Jaro, 1989).
fn jaro(left: &[u8], right: &[u8]) -> f64 {
    if left.is_empty() || right.is_empty() {
        return 0.0;
    }
    let reach = (left.len().max(right.len()) / 2).saturating_sub(1);
    let mut taken = vec![false; right.len()];
    let mut of_left = vec![];
    for (at, byte) in left.iter().enumerate() {
        let end = (at + reach + 1).min(right.len());
        let found = (at.saturating_sub(reach)..end).find(|at| !taken[*at] && right[*at] == *byte);
        if let Some(found) = found {
            taken[found] = true;
            of_left.push(*byte);
        }
    }
    if of_left.is_empty() {
        return 0.0;
    }
    let of_right = right.iter().zip(&taken).filter(|(_, taken)| **taken);
    let exchanged = of_left
        .iter()
        .zip(of_right)
        .filter(|(a, (b, _))| a != b)
        .count()
        / 2;
    let common = of_left.len() as f64;
    let sum = common / left.len() as f64 + common / right.len() as f64;
    (sum + (common - exchanged as f64) / common) / 3.0
}

/// Jaro's similarity, more where the texts begin alike (Winkler, 1990).
fn winkler(left: &[u8], right: &[u8]) -> f64 {
    let jaro = jaro(left, right);
    let alike = left.iter().zip(right).take(4).take_while(|(a, b)| a == b);
    match jaro > 0.7 {
        true => jaro + alike.count() as f64 * 0.1 * (1.0 - jaro),
        false => jaro,
    }
}
