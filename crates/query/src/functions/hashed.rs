//! `hash(x, ...)`: 64 bits of a value that are DuckDB's, so that rows that it divided by them are found where they are.
//!
//! A number's bits are mixed as MurmurHash does at its end; a text's eight bytes at a time; NULL has a hash of its own. Lists and structs
//! are those of their parts, one after the other, so a list of one value has that value's.

use super::normal_interval::normal;
use super::room::Room;
use super::whole::{Call, Whole, items_of, registered};
use crate::heed::check;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt64Array, make_array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type,
    IntervalMonthDayNanoType, IntervalUnit, UInt64Type,
};
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::type_names::enum_type;
use hushdb_storage::{TIMETZ, TimeTz};
use std::ops::Range;
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 1] = [(
        &["hash"],
        |types| (!types.is_empty()).then(|| types.to_vec()),
        |_, _| Some(DataType::UInt64),
        hashed,
    )];
    registered(functions, memory)
}

const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;
const OF_NULL: u64 = 0xbf58_476d_1ce4_e5b9;
/// What the hash of a text begins with, and what its length is multiplied by.
const TEXT: (u64, u64) = (0xe17a_1465, 0xc6a4_a793_5bd1_e995);

fn mixed(bits: u64) -> u64 {
    let once = (bits ^ bits >> 32).wrapping_mul(FACTOR);
    let twice = (once ^ once >> 32).wrapping_mul(FACTOR);
    twice ^ twice >> 32
}

/// The hash of two values, one after the other.
fn both(first: u64, second: u64) -> u64 {
    (first ^ first >> 32).wrapping_mul(FACTOR) ^ second
}

fn of_bytes(bytes: &[u8]) -> u64 {
    let length = bytes.len() as u64;
    let mut all = TEXT.0 ^ length.wrapping_mul(TEXT.1);
    for part in bytes.chunks(8) {
        let number = part.iter().rev();
        let number = number.fold(0, |number, byte| number << 8 | u64::from(*byte));
        all = (all ^ number).wrapping_mul(FACTOR);
    }
    mixed(all)
}

/// Of 128 bits.
fn of_wide(bits: u128) -> u64 {
    mixed(bits as u64) ^ mixed((bits >> 64) as u64)
}

fn hashed(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    for column in call.columns() {
        room.take_all(column.len().saturating_mul(size_of::<u64>()))?;
    }
    Ok(Arc::new(UInt64Array::from(of_columns(call.columns())?)))
}

/// A hash for the values that stand beside each other.
fn of_columns(columns: &[ArrayRef]) -> Result<Vec<u64>> {
    let Some((first, others)) = columns.split_first() else {
        return Ok(vec![]);
    };
    let mut all = hashes(first)?;
    for column in others {
        add(&mut all, column)?;
    }
    Ok(all)
}

/// Adds values to the hashes of what stands before them: of a list each item, so that an empty one and NULL change nothing.
fn add(all: &mut [u64], column: &ArrayRef) -> Result<()> {
    match column.data_type() {
        DataType::List(_) | DataType::Map(..) => {
            let (items, places) = items(column)?;
            for (row, hash) in all.iter_mut().enumerate() {
                let of = places(row).filter(|_| column.is_valid(row));
                let of = of.and_then(|place| items.get(place)).unwrap_or_default();
                *hash = of.iter().copied().fold(*hash, both);
            }
        }
        DataType::Struct(_) => {
            for part in parts(column)? {
                add(all, &part)?;
            }
        }
        _ => {
            let each = hashes(column)?;
            all.iter_mut().zip(each).for_each(|(a, b)| *a = both(*a, b));
        }
    }
    Ok(())
}

/// The columns of structs, NULL where the whole is.
fn parts(array: &ArrayRef) -> Result<Vec<ArrayRef>> {
    let structs = array.as_struct();
    let part = |part: &ArrayRef| {
        let nulls = NullBuffer::union(part.nulls(), structs.nulls());
        Ok(make_array(
            part.to_data().into_builder().nulls(nulls).build()?,
        ))
    };
    structs.columns().iter().map(part).collect()
}

type Places<'a> = Box<dyn Fn(usize) -> Option<Range<usize>> + 'a>;

/// The hashes of the items of lists or maps, and which of them are a row's.
fn items(array: &ArrayRef) -> Result<(Vec<u64>, Places<'_>)> {
    if let DataType::Map(..) = array.data_type() {
        let maps = array.as_map();
        let entries: ArrayRef = Arc::new(maps.entries().clone());
        let of = |row: usize| {
            let (from, to) = (maps.offsets().get(row)?, maps.offsets().get(row + 1)?);
            Some(*from as usize..*to as usize)
        };
        return Ok((hashes(&entries)?, Box::new(of)));
    }
    let lists = array.as_list::<i32>();
    Ok((
        hashes(lists.values())?,
        Box::new(|row| Some(items_of(lists, row))),
    ))
}

/// A hash for each value.
fn hashes(array: &ArrayRef) -> Result<Vec<u64>> {
    check()?;
    let mut all = valid_hashes(array)?;
    // A struct that is NULL is one whose parts all are.
    let is_of_parts = matches!(array.data_type(), DataType::Struct(_));
    if let Some(nulls) = array.logical_nulls().filter(|_| !is_of_parts) {
        let nulls = nulls.iter().map(|is_valid| !is_valid);
        let places = all.iter_mut().zip(nulls).filter(|(_, is_null)| *is_null);
        places.for_each(|(hash, _)| *hash = OF_NULL);
    }
    Ok(all)
}

/// The hashes of values that are not NULL, and whatever for those that are.
fn valid_hashes(array: &ArrayRef) -> Result<Vec<u64>> {
    use DataType as T;
    Ok(match array.data_type() {
        T::Null => vec![OF_NULL; array.len()],
        of if enum_type(of).is_some() => hashes(&super::enums::codes(array)?)?,
        of if of.is_nested() => of_nested(array)?,
        T::Utf8 | T::LargeUtf8 | T::Utf8View => {
            let values = cast(array, &T::Utf8View)?;
            let values = values.as_string_view();
            let of = |row| of_bytes(values.value(row).as_bytes());
            (0..values.len()).map(of).collect()
        }
        T::Binary | T::LargeBinary | T::BinaryView => {
            let values = cast(array, &T::BinaryView)?;
            let values = values.as_binary_view();
            let of = |row| of_bytes(values.value(row));
            (0..values.len()).map(of).collect()
        }
        // A UUID, whose first bit is turned around so that it compares as a signed number.
        T::FixedSizeBinary(16) => {
            let values = array.as_fixed_size_binary();
            let number = |bytes: &[u8]| bytes.iter().fold(0, |n, byte| n << 8 | u128::from(*byte));
            let of = |row| of_wide(number(values.value(row)) ^ 1 << 127);
            (0..values.len()).map(of).collect()
        }
        of if *of == TIMETZ => {
            let times = super::time_tz::times(array);
            let number = |time: TimeTz| {
                let behind = 16 * 3600 - 1 - i64::from(time.offset());
                (time.micros() << 24 | behind).cast_unsigned()
            };
            times.map(|time| mixed(time.map_or(0, number))).collect()
        }
        T::Decimal32(precision, scale) | T::Decimal64(precision, scale) => {
            return valid_hashes(&cast(array, &T::Decimal128(*precision, *scale))?);
        }
        T::Decimal128(precision, _) => {
            let values = array.as_primitive::<Decimal128Type>().values();
            let of = |v: i128| match precision {
                0..=9 => mixed(u64::from(v as u32)),
                10..=18 => mixed(v as u64),
                _ => of_wide(v.cast_unsigned()),
            };
            values.iter().map(|v| of(*v)).collect()
        }
        T::Decimal256(..) => {
            let values = array.as_primitive::<Decimal256Type>().values();
            values.iter().map(|v| of_wide(v.to_parts().0)).collect()
        }
        T::Interval(IntervalUnit::MonthDayNano) => {
            let values = array.as_primitive::<IntervalMonthDayNanoType>().values();
            let of = |parts: [i64; 3]| parts.map(|part| mixed(part.cast_unsigned()));
            let of = |value| {
                let [months, days, micros] = of(normal(value));
                months ^ days ^ micros
            };
            values.iter().map(|v| of(*v)).collect()
        }
        _ => of_numbers(array)?,
    })
}

/// The hashes of what is 64 bits at most.
fn of_numbers(array: &ArrayRef) -> Result<Vec<u64>> {
    use DataType as T;
    Ok(match array.data_type() {
        T::Boolean => {
            let values = array.as_boolean();
            let of = |row| mixed(u64::from(values.value(row)));
            (0..values.len()).map(of).collect()
        }
        // Shorter ones are those of 32 bits, without a sign.
        T::Int8 | T::Int16 | T::Int32 | T::Date32 => {
            let values = cast(&cast(array, &T::Int32)?, &T::Int64)?;
            let values = values.as_primitive::<Int64Type>().values();
            values.iter().map(|v| mixed(u64::from(*v as u32))).collect()
        }
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => {
            let values = cast(array, &T::UInt64)?;
            let values = values.as_primitive::<UInt64Type>().values();
            values.iter().map(|v| mixed(*v)).collect()
        }
        T::Int64 | T::Timestamp(..) | T::Time64(_) => {
            let values = cast(array, &T::Int64)?;
            let values = values.as_primitive::<Int64Type>().values();
            values.iter().map(|v| mixed(v.cast_unsigned())).collect()
        }
        T::Float32 => {
            let bits = |v: f32| match v {
                v if v.is_nan() => f32::NAN.to_bits(),
                0.0 => 0,
                v => v.to_bits(),
            };
            let values = array.as_primitive::<Float32Type>().values();
            values.iter().map(|v| mixed(u64::from(bits(*v)))).collect()
        }
        T::Float64 => {
            let bits = |v: f64| match v {
                v if v.is_nan() => f64::NAN.to_bits(),
                0.0 => 0,
                v => v.to_bits(),
            };
            let values = array.as_primitive::<Float64Type>().values();
            values.iter().map(|v| mixed(bits(*v))).collect()
        }
        other => return internal_err!("hash of {other}"),
    })
}

/// The hashes of structs, lists and maps.
fn of_nested(array: &ArrayRef) -> Result<Vec<u64>> {
    use DataType as T;
    Ok(match array.data_type() {
        T::Struct(_) => of_columns(&parts(array)?)?,
        T::List(_) | T::Map(..) => {
            let (items, places) = items(array)?;
            let of = |row| places(row).and_then(|place| items.get(place));
            let of = |row| of(row).unwrap_or_default().iter().copied();
            let of = |row| of(row).reduce(both).unwrap_or(OF_NULL);
            (0..array.len()).map(of).collect()
        }
        other => return internal_err!("hash of {other}"),
    })
}
