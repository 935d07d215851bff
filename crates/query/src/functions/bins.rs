//! How many values lie in bins, and which values are there most often: what `histogram(x, bins)`, `histogram_exact(x, bins)` and
//! `approx_top_k(x, k)` are of the list of all values. The last of these counts all, and so is exact.

use super::list_statistics::{compared, counted};
use super::lists::{comparable, items, picked, room_to_compare};
use super::maps::maps;
use super::room::Room;
use super::whole::{Call, Whole, item, items_of, list_of, registered};
use crate::common_types::map_of;
use crate::common_types::number_kind::is_huge;
use crate::heed::check;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, ListArray, UInt32Array, UInt64Array,
};
use datafusion::arrow::compute::{concat, take};
use datafusion::arrow::datatypes::{DataType, Int64Type, TimeUnit, i256};
use datafusion::arrow::row::Rows;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind, HISTOGRAM_EXACT, HISTOGRAM_OF, TOP_K};
use hushdb_storage::HUGEINT;
use std::cmp::Ordering;
use std::sync::Arc;

/// As many values as DuckDB gives at most.
const MOST: i64 = 1_000_000;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 4] = [
        (&[HISTOGRAM_OF], values_and_bins, map_type, |call, room| {
            histogram(call, room, false)
        }),
        (
            &[HISTOGRAM_EXACT],
            values_and_bins,
            map_type,
            |call, room| histogram(call, room, true),
        ),
        (
            &["is_histogram_other_bin"],
            |types| match types {
                [of] => Some(vec![of.clone()]),
                _ => None,
            },
            |_, _| Some(DataType::Boolean),
            is_other,
        ),
        (
            &[TOP_K],
            |types| match types {
                [list, k] if k.is_integer() || k.is_null() => Some(vec![
                    list_of(bin_type(&item(list)?, false)?),
                    DataType::Int64,
                ]),
                _ => None,
            },
            |types, _| types.first().cloned(),
            top,
        ),
    ];
    registered(functions, memory)
}

/// The type of bins of values of a type; those of decimals are numbers without places of their own.
fn bin_type(of: &DataType, is_bin: bool) -> Option<DataType> {
    Some(match of {
        DataType::Null => DataType::Int32,
        of if of.is_decimal() && !is_huge(of) && is_bin => DataType::Float64,
        of => of.clone(),
    })
}

fn values_and_bins(types: &[DataType]) -> Option<Vec<DataType>> {
    let [list, bins] = types else { return None };
    item(bins)?;
    let list = list_of(bin_type(&item(list)?, true)?);
    Some(vec![list.clone(), list])
}

fn map_type(types: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    Some(map_of(&item(types.first()?)?, &DataType::UInt64))
}

/// The bin of all that lies in no other: the greatest value of the type, or what is empty; `None` where there is none.
fn other_bin(of: &DataType) -> Result<Option<ScalarValue>> {
    use ScalarValue as V;
    Ok(Some(match of {
        DataType::Int8 => V::Int8(Some(i8::MAX)),
        DataType::Int16 => V::Int16(Some(i16::MAX)),
        DataType::Int32 => V::Int32(Some(i32::MAX)),
        DataType::Int64 => V::Int64(Some(i64::MAX)),
        DataType::UInt8 => V::UInt8(Some(u8::MAX)),
        DataType::UInt16 => V::UInt16(Some(u16::MAX)),
        DataType::UInt32 => V::UInt32(Some(u32::MAX)),
        DataType::UInt64 => V::UInt64(Some(u64::MAX)),
        of if *of == HUGEINT => V::Decimal256(Some(i256::from_i128(i128::MAX)), 39, 0),
        DataType::Float32 => V::Float32(Some(f32::INFINITY)),
        DataType::Float64 => V::Float64(Some(f64::INFINITY)),
        // Infinitely far.
        DataType::Date32 => V::Date32(Some(i32::MAX)),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            V::TimestampMicrosecond(Some(i64::MAX), zone.clone())
        }
        of if of.is_string() => V::Utf8View(Some(String::new())).cast_to(of)?,
        of if of.is_binary() => V::BinaryView(Some(vec![])).cast_to(of)?,
        DataType::List(item) => V::List(V::new_list_nullable(&[], item.data_type())),
        _ => return Ok(None),
    }))
}

/// The places of one list's bins, each value once, in their order.
fn bins_of(bins: &ListArray, rows: &Rows, row: usize) -> Result<Vec<usize>> {
    if bins.is_null(row) {
        return Err(Error::binder("Histogram bin list cannot be NULL").into());
    }
    let mut places: Vec<usize> = items_of(bins, row).collect();
    if places.iter().any(|place| bins.values().is_null(*place)) {
        return Err(Error::binder("Histogram bin entry cannot be NULL").into());
    }
    places.sort_unstable_by(|a, b| rows.row(*a).cmp(&rows.row(*b)));
    places.dedup_by(|a, b| rows.row(*a) == rows.row(*b));
    Ok(places)
}

/// How many values each bin has: those that are its own, or those up to it that are above the one before.
fn histogram(call: &Call<'_>, room: &mut Room, exact: bool) -> Result<ArrayRef> {
    room_to_compare(call, room)?;
    let [lists, bins] = call.take()?;
    let (lists, bins) = (lists.as_list::<i32>(), bins.as_list::<i32>());
    let rows = comparable(&[lists.values(), bins.values()])?;
    let [values, borders] = rows.as_slice() else {
        return Err(Error::internal("values were not compared").into());
    };
    let other = other_bin(&lists.value_type())?;
    // Behind all bins that are given.
    let other_place = bins.values().len();
    let (mut keys, mut counts, mut lengths, mut valid) = (vec![], vec![], vec![], vec![]);
    for row in 0..lists.len() {
        check()?;
        // Of no value at all the bins need not be known.
        let places = match bins.is_null(row) && items(lists, row).next().is_none() {
            true => vec![],
            false => bins_of(bins, borders, row)?,
        };
        let mut of_row = vec![0_u64; places.len()];
        let (mut others, mut all) = (0_u64, 0_u64);
        for value in items(lists, row) {
            let value = values.row(value);
            let bin = places.partition_point(|place| borders.row(*place) < value);
            let is_own = |place: &usize| borders.row(*place).cmp(&value) == Ordering::Equal;
            let found = places.get(bin).filter(|place| !exact || is_own(place));
            match found.and(of_row.get_mut(bin)) {
                Some(count) => *count += 1,
                None => others += 1,
            }
            all += 1;
        }
        valid.push(all > 0);
        let mut pairs: Vec<(usize, u64)> = places.into_iter().zip(of_row).collect();
        if others > 0 && other.is_some() {
            pairs.push((other_place, others));
        }
        pairs.retain(|_| all > 0);
        lengths.push(pairs.len());
        keys.extend(pairs.iter().map(|(place, _)| *place as u32));
        counts.extend(pairs.iter().map(|(_, count)| *count));
    }
    let known = match other {
        Some(other) => concat(&[bins.values(), &other.to_array()?])?,
        None => Arc::clone(bins.values()),
    };
    let keys = take(&known, &UInt32Array::from(keys), None)?;
    let counts: ArrayRef = Arc::new(UInt64Array::from(counts));
    maps(call.to, (keys, counts), lengths, valid)
}

/// Whether a value is the bin of all that lies in no other.
fn is_other(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    let [values] = call.take()?;
    let nulls = values.logical_nulls();
    let known = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    let Some(other) = other_bin(values.data_type())? else {
        let none = (0..values.len()).map(|row| known(row).then_some(false));
        return Ok(Arc::new(none.collect::<BooleanArray>()));
    };
    let rows = comparable(&[values, &other.to_array()?])?;
    let [rows, other] = rows.as_slice() else {
        return Err(Error::internal("values were not compared").into());
    };
    let same = (0..values.len()).map(|row| known(row).then(|| rows.row(row) == other.row(0)));
    Ok(Arc::new(same.collect::<BooleanArray>()))
}

/// The values that are there most often; of those that are so as often, the first.
fn top(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let [_, counts] = call.take()?;
    let wrong = |what: &str| {
        let what = format!("Invalid input for approx_top_k: k value {what}");
        Error::new(ErrorKind::InvalidInput, what)
    };
    let (list, rows) = compared(call, room)?;
    let counts = counts.as_primitive::<Int64Type>();
    let picks = (0..list.len()).map(|row| {
        check()?;
        let mut of_row = counted(&list, &rows, row);
        if of_row.is_empty() {
            return Ok(None);
        }
        let k = match counts.is_valid(row).then(|| counts.value(row)) {
            None => return Err(wrong("cannot be NULL").into()),
            Some(..=0) => return Err(wrong("must be > 0").into()),
            Some(MOST..) => return Err(wrong("must be < 1000000").into()),
            Some(k) => k as usize,
        };
        of_row.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let most = of_row.iter().take(k).map(|(item, _)| *item as u32);
        Ok(Some(most.collect()))
    });
    picked(list.values(), picks.collect::<Result<Vec<_>>>()?)
}
