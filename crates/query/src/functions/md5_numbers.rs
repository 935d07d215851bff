//! `md5_number(x)`: the MD5 digest of a text or of bytes as a number, whose first byte is its lowest; and its two halves.

use super::plain::{Columns, Form, Kind, Row, Run, plain};
use super::room::Room;
use datafusion::arrow::array::{ArrayRef, Decimal256Array, UInt64Array};
use datafusion::arrow::datatypes::{DataType, i256};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_storage::UHUGEINT;
use md5::{Digest, Md5};
use std::sync::Arc;

const TEXT: &[Kind] = &[Kind::Text];
const BLOB: &[Kind] = &[Kind::Blob];

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let function = |names, gives: DataType, of_texts, of_blobs| {
        let texts = Form::new(TEXT, Run::Whole(gives.clone(), of_texts));
        plain(
            names,
            vec![texts, Form::new(BLOB, Run::Whole(gives, of_blobs))],
            memory,
        )
    };
    vec![
        function(
            &["md5_number"],
            UHUGEINT,
            |columns, room| whole(columns, room, of_text),
            |columns, room| whole(columns, room, of_blob),
        ),
        function(
            &["md5_number_lower"],
            DataType::UInt64,
            |columns, room| half(columns, room, |row| (of_text(row) >> 64) as u64),
            |columns, room| half(columns, room, |row| (of_blob(row) >> 64) as u64),
        ),
        function(
            &["md5_number_upper"],
            DataType::UInt64,
            |columns, room| half(columns, room, |row| of_text(row) as u64),
            |columns, room| half(columns, room, |row| of_blob(row) as u64),
        ),
    ]
}

fn of_text(row: Row<'_>) -> u128 {
    u128::from_le_bytes(Md5::digest(row.text(0)).into())
}

fn of_blob(row: Row<'_>) -> u128 {
    u128::from_le_bytes(Md5::digest(row.blob(0)).into())
}

fn whole(columns: &Columns, room: &mut Room, of: fn(Row<'_>) -> u128) -> Result<ArrayRef> {
    room.take_all(columns.rows().count() * size_of::<i256>())?;
    let numbers = columns.rows().map(|row| {
        let number = || i256::from_parts(of(row), 0);
        (!row.has_null()).then(number)
    });
    let numbers = numbers.collect::<Decimal256Array>();
    Ok(Arc::new(numbers.with_data_type(UHUGEINT)))
}

/// In DuckDB the lower half is that of the higher digits.
fn half(columns: &Columns, room: &mut Room, of: fn(Row<'_>) -> u64) -> Result<ArrayRef> {
    room.take_all(columns.rows().count() * size_of::<u64>())?;
    let halves = columns.rows().map(|row| (!row.has_null()).then(|| of(row)));
    Ok(Arc::new(halves.collect::<UInt64Array>()))
}
