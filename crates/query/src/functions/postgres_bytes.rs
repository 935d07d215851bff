//! Bytes and bits of PostgreSQL's `bytea`: `get_byte`, `set_bit` and their kin, and texts in which a byte that is no letter is written in octal
//! digits (<https://www.postgresql.org/docs/15/functions-binarystring.html>).

use super::plain::{Form, Kind, Row, Run, Written, plain};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    use Kind::{Blob, Int};
    let one = |names, form| plain(names, vec![form], memory);
    vec![
        one(
            &["get_byte_as_postgres"],
            Form::new(
                &[Blob, Int],
                Run::Int(|row| byte_at(row).map(|(_, byte)| Some(byte.into()))),
            ),
        ),
        one(
            &["get_bit_as_postgres"],
            Form::new(
                &[Blob, Int],
                Run::Int(|row| {
                    bit_at(row).map(|(at, bit)| Some((row.blob(0)[at] >> bit & 1).into()))
                }),
            ),
        ),
        one(
            &["set_byte_as_postgres"],
            Form::new(&[Blob, Int, Int], Run::Blob(with_byte)),
        ),
        one(
            &["set_bit_as_postgres"],
            Form::new(&[Blob, Int, Int], Run::Blob(with_bit)),
        ),
        one(
            &["count_of_bits_as_postgres"],
            Form::new(
                &[Blob],
                Run::Int(|row| {
                    let bits = row.blob(0).iter().map(|byte| i64::from(byte.count_ones()));
                    Ok(Some(bits.sum()))
                }),
            ),
        ),
        one(
            &["escaped_as_postgres"],
            Form::new(&[Blob], Run::Text(escaped)),
        ),
    ]
}

fn no_such_place() -> Error {
    let what = "index out of valid range: it counts from 0 to the last byte or bit that there is";
    Error::new(ErrorKind::OutOfRange, what).with_sqlstate("2202E")
}

/// Where a byte is, and what it is.
fn byte_at(row: Row<'_>) -> Result<(usize, u8)> {
    let at = usize::try_from(row.int(1)).map_err(|_| no_such_place())?;
    let byte = row.blob(0).get(at).ok_or_else(no_such_place)?;
    Ok((at, *byte))
}

/// The byte that a bit is in, and its place there: the first bit is the lowest of the first byte.
fn bit_at(row: Row<'_>) -> Result<(usize, u32)> {
    let bit = usize::try_from(row.int(1)).map_err(|_| no_such_place())?;
    match bit / 8 < row.blob(0).len() {
        true => Ok((bit / 8, (bit % 8) as u32)),
        false => Err(no_such_place().into()),
    }
}

fn with_byte(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (at, _) = byte_at(row)?;
    put(row, at, row.int(2) as u8, out)
}

fn with_bit(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (at, bit) = bit_at(row)?;
    let cleared = row.blob(0)[at] & !(1 << bit);
    let new = match row.int(2) {
        0 => cleared,
        1 => cleared | 1 << bit,
        _ => {
            let what = "new bit must be 0 or 1";
            return Err(Error::new(ErrorKind::InvalidInput, what).into());
        }
    };
    put(row, at, new, out)
}

/// The bytes, of which one is another.
fn put(row: Row<'_>, at: usize, byte: u8, out: &mut Written<'_>) -> Result<bool> {
    let bytes = row.blob(0);
    out.expect(bytes.len() as u128)?;
    for part in [&bytes[..at], &[byte], &bytes[at + 1..]] {
        out.push_times(part, 1);
    }
    Ok(true)
}

/// Zeros and bytes beyond ASCII as octal digits, and a backslash twice.
fn escaped(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    for byte in row.blob(0) {
        match byte {
            0 | 128.. => out.push(&format!("\\{byte:03o}")),
            b'\\' => out.push("\\\\"),
            byte => out.push(char::from(*byte).encode_utf8(&mut [0])),
        }
    }
    Ok(true)
}
