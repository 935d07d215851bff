//! Functions of BITs: their length, bits that are asked for, set and found, and BITs joined bit by bit or shifted.

use super::plain::{Columns, Form, Kind, Row, Run, Written, plain};
use super::room::Room;
use crate::heed::check;
use datafusion::arrow::array::{ArrayRef, Int32Array};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::{BitString, bit_string};
use std::iter::{repeat, repeat_n};
use std::sync::Arc;

/// Places that are tried before it is asked whether to go on.
const PLACES: usize = 1 << 16;

/// `a & b`.
pub const BITS_AND: &str = "$bits_and";
/// `a | b`.
pub const BITS_OR: &str = "$bits_or";
/// `a << n`.
pub const BITS_LEFT: &str = "$bits_left";
/// `a >> n`.
pub const BITS_RIGHT: &str = "$bits_right";

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    const TWO: &[Kind] = &[Kind::Bits, Kind::Bits];
    const AT: &[Kind] = &[Kind::Bits, Kind::Int];
    const SET: &[Kind] = &[Kind::Bits, Kind::Int, Kind::Int];
    let functions: [(&'static [&'static str], &'static [Kind], Run); 8] = [
        (&["bitstring"], AT, Run::Bits(widened)),
        (&["get_bit"], AT, small(|rows, _| small_numbers(rows, bit))),
        (&["set_bit"], SET, Run::Bits(with_bit)),
        (
            &["bit_position"],
            TWO,
            small(|rows, _| small_numbers(rows, position)),
        ),
        (
            &[BITS_AND],
            TWO,
            Run::Bits(|row, out| joined(row, out, "AND", |a, b| a & b)),
        ),
        (
            &[BITS_OR],
            TWO,
            Run::Bits(|row, out| joined(row, out, "OR", |a, b| a | b)),
        ),
        (&[BITS_LEFT], AT, Run::Bits(to_the_left)),
        (&[BITS_RIGHT], AT, Run::Bits(to_the_right)),
    ];
    let function = |(names, takes, run)| plain(names, vec![Form::new(takes, run)], memory);
    functions.into_iter().map(function).collect()
}

fn small(run: fn(&Columns, &mut Room) -> Result<ArrayRef>) -> Run {
    Run::Whole(DataType::Int32, run)
}

/// The bits of an argument.
pub(super) fn bits_of(row: Row<'_>, arg: usize) -> Result<BitString<'_>> {
    bits_in(row.blob(arg))
}

/// The bits in the bytes of a value.
pub(super) fn bits_in(bytes: &[u8]) -> Result<BitString<'_>> {
    BitString::of_bytes(bytes).ok_or_else(|| Error::internal("a BIT is none").into())
}

fn small_numbers(columns: &Columns, run: fn(Row<'_>) -> Result<i32>) -> Result<ArrayRef> {
    let rows = columns.rows();
    let numbers = rows.map(|row| (!row.has_null()).then(|| run(row)).transpose());
    Ok(Arc::new(numbers.collect::<Result<Int32Array>>()?))
}

fn write(
    count: usize,
    bits: impl Iterator<Item = bool>,
    written: &mut Written<'_>,
) -> Result<bool> {
    written.expect(count as u128 / 8 + 2)?;
    let bytes = bit_string(count, bits);
    written.push_times(bytes.as_deref().unwrap_or_default(), 1);
    Ok(bytes.is_some())
}

/// So many bits, with zeros before those that are there.
fn widened(row: Row<'_>, written: &mut Written<'_>) -> Result<bool> {
    let bits = bits_of(row, 0)?;
    let Ok(count) = usize::try_from(row.int(1)) else {
        return Err(Error::invalid("The bitstring length cannot be negative").into());
    };
    match count.checked_sub(bits.count()) {
        Some(more) => write(count, repeat_n(false, more).chain(bits.bits()), written),
        None => Err(Error::invalid("Length must be equal or larger than input string").into()),
    }
}

/// The place of a bit that is asked for.
fn place(row: Row<'_>, bits: BitString<'_>) -> Result<usize> {
    let place = usize::try_from(row.int(1)).ok();
    let place = place.filter(|place| *place < bits.count());
    let wrong = || Error::new(ErrorKind::OutOfRange, "bit index out of valid range");
    Ok(place.ok_or_else(wrong)?)
}

fn bit(row: Row<'_>) -> Result<i32> {
    let bits = bits_of(row, 0)?;
    let place = place(row, bits)?;
    Ok(i32::from(bits.bit(place)))
}

fn with_bit(row: Row<'_>, written: &mut Written<'_>) -> Result<bool> {
    let bits = bits_of(row, 0)?;
    let new = match row.int(2) {
        0 => false,
        1 => true,
        _ => return Err(Error::invalid("The new bit must be 1 or 0").into()),
    };
    let place = place(row, bits)?;
    let set = |(at, bit)| if at == place { new } else { bit };
    write(bits.count(), bits.bits().enumerate().map(set), written)
}

/// Where the first bits stand in the second, from 1; 0 if nowhere.
fn position(row: Row<'_>) -> Result<i32> {
    let (wanted, bits) = (bits_of(row, 0)?, bits_of(row, 1)?);
    let Some(last) = bits.count().checked_sub(wanted.count()) else {
        return Ok(0);
    };
    for place in 0..=last {
        if place % PLACES == 0 {
            check()?;
        }
        if (0..wanted.count()).all(|at| wanted.bit(at) == bits.bit(place + at)) {
            return Ok(place as i32 + 1);
        }
    }
    Ok(0)
}

fn joined(
    row: Row<'_>,
    written: &mut Written<'_>,
    word: &str,
    join: fn(bool, bool) -> bool,
) -> Result<bool> {
    let (left, right) = (bits_of(row, 0)?, bits_of(row, 1)?);
    if left.count() != right.count() {
        return Err(of_other_size(word).into());
    }
    let both = left.bits().zip(right.bits());
    write(left.count(), both.map(|(a, b)| join(a, b)), written)
}

pub(super) fn of_other_size(word: &str) -> Error {
    Error::invalid(format!("Cannot {word} bit strings of different sizes"))
}

fn to_the_left(row: Row<'_>, written: &mut Written<'_>) -> Result<bool> {
    let bits = bits_of(row, 0)?;
    let Ok(by) = usize::try_from(row.int(1)) else {
        let what = "Cannot left-shift by negative number";
        return Err(Error::new(ErrorKind::OutOfRange, what).into());
    };
    write(
        bits.count(),
        bits.bits().skip(by).chain(repeat(false)),
        written,
    )
}

/// By less than none, all of them leave, as in DuckDB.
fn to_the_right(row: Row<'_>, written: &mut Written<'_>) -> Result<bool> {
    let bits = bits_of(row, 0)?;
    let by = usize::try_from(row.int(1)).unwrap_or(usize::MAX);
    write(
        bits.count(),
        repeat_n(false, by).chain(bits.bits()),
        written,
    )
}
