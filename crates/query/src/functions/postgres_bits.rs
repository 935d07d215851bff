//! Bit strings of so many bits, `bit(4)`: of whole numbers the last bits, of other bits the first
//! (<https://www.postgresql.org/docs/15/datatype-bit.html>).

use super::bit_strings::bits_of;
use super::plain::{Form, Kind, Row, Run, Written, plain};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::bit_string;
use std::iter::repeat;
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    use Kind::{Bits, Int};
    vec![
        plain(
            &["bits_of_length_as_postgres"],
            vec![
                Form::new(&[Int, Int], Run::Bits(of_number)),
                Form::new(
                    &[Bits, Int],
                    Run::Bits(|row, out| {
                        let bits = bits_of(row, 0)?;
                        let count = length(row)?;
                        write(count, bits.bits().chain(repeat(false)), out)
                    }),
                ),
            ],
            memory,
        ),
        plain(
            &["bits_up_to_as_postgres"],
            vec![Form::new(
                &[Bits, Int],
                Run::Bits(|row, out| {
                    let bits = bits_of(row, 0)?;
                    write(length(row)?.min(bits.count()), bits.bits(), out)
                }),
            )],
            memory,
        ),
    ]
}

fn length(row: Row<'_>) -> Result<usize> {
    let count = usize::try_from(row.int(1)).ok();
    let wrong = || {
        Error::new(
            ErrorKind::InvalidInput,
            "length for type bit must be at least 1",
        )
    };
    Ok(count.filter(|count| *count > 0).ok_or_else(wrong)?)
}

/// The last bits of a number; before the first of its own are those of its sign.
fn of_number(row: Row<'_>, out: &mut Written<'_>) -> Result<bool> {
    let (number, count) = (row.int(0), length(row)?);
    let bits = (0..count).rev().map(|at| number >> at.min(63) & 1 == 1);
    write(count, bits, out)
}

fn write(count: usize, bits: impl Iterator<Item = bool>, out: &mut Written<'_>) -> Result<bool> {
    out.expect(count as u128 / 8 + 2)?;
    let bytes = bit_string(count, bits);
    out.push_times(bytes.as_deref().unwrap_or_default(), 1);
    Ok(bytes.is_some())
}
