//! What a UUID says of itself (RFC 9562): its version, and the millisecond that one of version 7 begins with.

use super::room::Room;
use super::whole::{Call, Whole, registered};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, TimestampMicrosecondArray, UInt32Array};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind, UUID_MILLISECOND, UUID_VERSION};
use std::sync::Arc;

const UUID: DataType = DataType::FixedSizeBinary(16);

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 2] = [
        (
            &[UUID_VERSION],
            one_uuid,
            |_, _| Some(DataType::UInt32),
            versions,
        ),
        (
            &[UUID_MILLISECOND],
            one_uuid,
            |_, _| {
                Some(DataType::Timestamp(
                    TimeUnit::Microsecond,
                    Some("UTC".into()),
                ))
            },
            milliseconds,
        ),
    ];
    registered(functions, memory)
}

fn one_uuid(types: &[DataType]) -> Option<Vec<DataType>> {
    (types == [UUID]).then(|| vec![UUID])
}

/// Each UUID, as a number.
fn numbers<'a>(call: &'a Call<'a>) -> Result<impl Iterator<Item = Option<u128>> + 'a> {
    let [uuids] = call.take()?;
    let uuids = uuids.as_fixed_size_binary();
    Ok((0..uuids.len()).map(|row| {
        let bytes = uuids.is_valid(row).then(|| uuids.value(row));
        bytes.map(|bytes| {
            bytes
                .iter()
                .fold(0, |all, byte| all << 8 | u128::from(*byte))
        })
    }))
}

fn version(uuid: u128) -> u32 {
    (uuid >> 76) as u32 & 15
}

fn versions(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    // As in DuckDB, a letter, which is no version of RFC 9562, is its distance from `0` as a character.
    let shown = |uuid| match version(uuid) {
        digit @ ..10 => digit,
        letter => letter + u32::from(b'a' - b'0') - 10,
    };
    let versions = numbers(call)?.map(|uuid| uuid.map(shown));
    Ok(Arc::new(versions.collect::<UInt32Array>()))
}

fn milliseconds(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let micros = numbers(call)?.map(|uuid| match uuid {
        None => Ok(None),
        Some(uuid) if version(uuid) == 7 => Ok(Some((uuid >> 80) as i64 * 1000)),
        Some(uuid) => {
            let what = format!(
                "Given UUID is with version {}, not version 7.",
                version(uuid)
            );
            Err(Error::new(ErrorKind::InvalidInput, what).into())
        }
    });
    let micros = micros.collect::<Result<TimestampMicrosecondArray>>()?;
    Ok(Arc::new(micros.with_timezone("UTC")))
}
