//! What aggregates say of lists: `list_mode`, `list_histogram`, `list_stddev_pop`, quantiles. `mode(x)` and its kind, which need all
//! values at once, are these of `list(x)`.
//!
//! What must hold: NULL is left out; values are the same if SQL's `IS NOT DISTINCT FROM` says so, and ordered as ORDER BY has them.

use super::huge_bits::number;
use super::lists::{comparable, items, picked, room_to_compare};
use super::maps::maps;
use super::moments::{Moments, Of, One, STATISTICS};
use super::quantile::{between, median_distance, point_in_time};
use super::room::Room;
use super::sums::Sums;
use super::whole::{Call, Whole, item, list_of, listed, registered};
use crate::common_types::map_of;
use crate::common_types::number_kind::is_huge;
use crate::heed::check;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal256Array, Float64Array, IntervalMonthDayNanoArray, ListArray,
    UInt32Array, UInt64Array,
};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{
    DataType, Decimal256Type, Float32Type, Float64Type, Int64Type, IntervalMonthDayNano,
    IntervalUnit,
};
use datafusion::arrow::row::Rows;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind, QUANTILE_BETWEEN, QUANTILE_OF};
use hushdb_storage::{TIMETZ, UHUGEINT};
use std::collections::HashMap;
use std::sync::Arc;

/// A function of the numbers of a list, by the name of its statistic.
macro_rules! of_numbers {
    ($names:expr, $statistic:expr) => {
        (
            $names,
            numbers,
            |_, _| Some(DataType::Float64),
            |call, _| statistic(call, $statistic),
        )
    };
}

/// A function of the bits of a list's integers.
macro_rules! of_bits {
    ($names:expr, $both:expr) => {
        (
            $names,
            |types| match types {
                [list] if item(list)?.is_integer() || is_huge(&item(list)?) => {
                    Some(vec![list_of(item(list)?)])
                }
                _ => None,
            },
            |types, _| item(types.first()?),
            |call, _| bits(call, $both),
        )
    };
}

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let mut all = of_any_values(memory);
    let of_numbers: [Whole; 14] = [
        of_numbers!(&["list_var_pop"], "var_pop"),
        of_numbers!(&["list_var_samp", "list_variance"], "var_samp"),
        of_numbers!(&["list_stddev_pop"], "stddev_pop"),
        of_numbers!(&["list_stddev_samp", "list_stddev"], "stddev_samp"),
        of_numbers!(&["list_sem"], "sem"),
        of_numbers!(&["list_product"], "product"),
        of_numbers!(&["list_skewness"], "skewness"),
        of_numbers!(&["list_kurtosis"], "kurtosis"),
        of_numbers!(&["list_kurtosis_pop"], "kurtosis_pop"),
        of_numbers!(&["list_fsum"], "fsum"),
        of_numbers!(&["list_favg"], "favg"),
        of_bits!(&["list_bit_and"], |a, b| a & b),
        of_bits!(&["list_bit_or"], |a, b| a | b),
        of_bits!(&["list_bit_xor"], |a, b| a ^ b),
    ];
    all.extend(registered(of_numbers, memory));
    all
}

fn of_any_values(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 7] = [
        (&["list_mode"], plain, |types, _| item(types.first()?), mode),
        (
            &["list_entropy"],
            plain,
            |_, _| Some(DataType::Float64),
            entropy,
        ),
        (
            &["list_histogram"],
            plain,
            |types, _| histogram_type(types),
            histogram,
        ),
        (
            &["list_median"],
            |types| {
                let moments = || match types {
                    [list] if matches!(item(list)?, DataType::Timestamp(..)) => plain(types),
                    _ => points_in_time(types),
                };
                // Of a time with its zone, see `quantile.rs`.
                let known = plain(types).filter(|_| item(&types[0]) != Some(TIMETZ));
                measured(types).or_else(moments).or(known)
            },
            |types, _| item(types.first()?),
            median,
        ),
        (
            &["list_mad"],
            |types| measured(types).or_else(|| points_in_time(types)),
            |types, _| match item(types.first()?)? {
                of if of.is_temporal() => Some(SPAN),
                of => Some(of),
            },
            |call, _| match call.to == &SPAN {
                true => of_measures(call, median_span),
                false => of_measures(call, |values| {
                    median_distance(values, &between(values, &[0.5])?)
                }),
            },
        ),
        (&[QUANTILE_OF], with_shares, share_type, |call, room| {
            quantiles(call, room, true)
        }),
        (
            &[QUANTILE_BETWEEN],
            measured_with_shares,
            share_type,
            |call, room| quantiles(call, room, false),
        ),
    ];
    registered(functions, memory)
}

/// A list of anything; of untyped NULL it is one of integers.
fn plain(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [list] => {
            let of = item(list)?;
            Some(vec![list_of(if of.is_null() {
                DataType::Int32
            } else {
                of
            })])
        }
        _ => None,
    }
}

fn numbers(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [list] => {
            let of = item(list)?;
            (of.is_numeric() || of.is_null()).then(|| vec![list_of(DataType::Float64)])
        }
        _ => None,
    }
}

/// A list of numbers that have others between them: decimals, or DOUBLE.
fn measured(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [list] => Some(vec![list_of(measure(&item(list)?)?)]),
        _ => None,
    }
}

const SPAN: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

/// A list of points in time, or of times of day, in microseconds.
fn points_in_time(types: &[DataType]) -> Option<Vec<DataType>> {
    let [list] = types else { return None };
    Some(vec![list_of(point_in_time(&item(list)?)?)])
}

/// The value in the middle: of numbers and of points in time what lies between two of them, of others the lower one.
fn median(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    match call.to {
        of if measure(of).as_ref() == Some(of) || point_in_time(of).is_some() => {
            of_measures(call, |values| between(values, &[0.5]))
        }
        _ => {
            let (list, rows) = compared(call, room)?;
            let middle = (0..list.len()).map(|row| {
                check()?;
                let mut order: Vec<usize> = match list.is_valid(row) {
                    true => items(&list, row).collect(),
                    false => vec![],
                };
                order.sort_unstable_by(|a, b| rows.row(*a).cmp(&rows.row(*b)));
                let place = order.len().saturating_sub(1) / 2;
                Ok(order.get(place).map(|item| *item as u32))
            });
            let middle = middle.collect::<Result<UInt32Array>>()?;
            Ok(take(list.values(), &middle, None)?)
        }
    }
}

/// The time in the middle of all from the point in the middle.
fn median_span(points: &ArrayRef) -> Result<ArrayRef> {
    let distance = median_distance(points, &between(points, &[0.5])?)?;
    let distance = cast(&distance, &DataType::Int64)?;
    let spans = distance.as_primitive::<Int64Type>().iter().map(|micros| {
        let micros = micros?;
        let days = i32::try_from(micros / MICROS_PER_DAY).ok()?;
        Some(IntervalMonthDayNano::new(
            0,
            days,
            micros % MICROS_PER_DAY * 1000,
        ))
    });
    Ok(Arc::new(spans.collect::<IntervalMonthDayNanoArray>()))
}

const MICROS_PER_DAY: i64 = 86_400_000_000;

fn measure(of: &DataType) -> Option<DataType> {
    match of {
        of if of.is_decimal() && !is_huge(of) || *of == DataType::Float32 => Some(of.clone()),
        of if of.is_numeric() || of.is_null() => Some(DataType::Float64),
        _ => None,
    }
}

/// A share, or a list of some.
fn shares(of: &DataType) -> Option<DataType> {
    let number = |t: &DataType| t.is_numeric() || t.is_null();
    match of {
        of if number(of) => Some(DataType::Float64),
        of => number(&item(of)?).then(|| list_of(DataType::Float64)),
    }
}

fn with_shares(types: &[DataType]) -> Option<Vec<DataType>> {
    let [list, of] = types else { return None };
    let mut all = plain(std::slice::from_ref(list))?;
    all.push(shares(of)?);
    Some(all)
}

fn measured_with_shares(types: &[DataType]) -> Option<Vec<DataType>> {
    let [list, of] = types else { return None };
    let item = item(list)?;
    let measure = measure(&item).or_else(|| point_in_time(&item))?;
    Some(vec![list_of(measure), shares(of)?])
}

fn share_type(types: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    let [list, shares] = types else { return None };
    let of = item(list)?;
    Some(if shares.is_list() { list_of(of) } else { of })
}

fn statistic(call: &Call<'_>, name: &str) -> Result<ArrayRef> {
    let [lists] = call.take()?;
    let lists = lists.as_list::<i32>();
    let values = lists.values().as_primitive::<Float64Type>();
    let found = STATISTICS.iter().find(|(own, ..)| *own == name);
    let Some((.., of)) = found else {
        return Err(Error::internal("a statistic that is not there").into());
    };
    let answers = (0..lists.len()).map(|row| {
        if lists.is_null(row) {
            return Ok(None);
        }
        let numbers = items(lists, row).map(|item| values.value(item));
        let answer = match of {
            Of::One(_) => added::<One>(numbers, *of),
            _ => added::<Sums>(numbers, *of),
        };
        answer.map_err(|name| Error::new(ErrorKind::OutOfRange, format!("{name} is out of range!")))
    });
    Ok(Arc::new(answers.collect::<Result<Float64Array, Error>>()?))
}

fn added<M: Moments>(numbers: impl Iterator<Item = f64>, of: Of) -> super::moments::Answer {
    let mut moments = M::default();
    numbers.for_each(|number| moments.add(&[number]));
    moments.answer(of)
}

fn bits(call: &Call<'_>, both: fn(u128, u128) -> u128) -> Result<ArrayRef> {
    let [lists] = call.take()?;
    let lists = lists.as_list::<i32>();
    let of = lists.value_type();
    let values = cast(lists.values(), &UHUGEINT)?;
    let values = values.as_primitive::<Decimal256Type>();
    let joined = |row: usize| {
        let known = items(lists, row).filter(|item| values.is_valid(*item));
        let bits = known.map(|item| values.value(item).to_parts().0);
        let bits = lists.is_valid(row).then(|| bits.reduce(both)).flatten();
        bits.map(|bits| number(bits, &of))
    };
    let joined = (0..lists.len()).map(joined).collect::<Decimal256Array>();
    Ok(cast(&joined.with_data_type(UHUGEINT), &of)?)
}

/// The different values of one list: where each was first, and how often it is there.
pub(super) fn counted<'a>(list: &ListArray, rows: &'a Rows, row: usize) -> Vec<(usize, u64)> {
    let mut places: HashMap<&'a [u8], usize> = HashMap::new();
    let mut counts: Vec<(usize, u64)> = vec![];
    for item in items(list, row) {
        let place = *places.entry(rows.row(item).data()).or_insert(counts.len());
        match counts.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => counts.push((item, 1)),
        }
    }
    counts
}

/// The comparable values of the lists of a call.
pub(super) fn compared(call: &Call<'_>, room: &mut Room) -> Result<(ListArray, Rows)> {
    room_to_compare(call, room)?;
    let list = call.columns().first();
    let Some(list) = list.map(|list| list.as_list::<i32>().clone()) else {
        return Err(Error::internal("a function of a list without one").into());
    };
    let mut rows = comparable(&[list.values()])?;
    match rows.pop() {
        Some(rows) => Ok((list, rows)),
        None => Err(Error::internal("a list was not compared").into()),
    }
}

/// The value that is there most often; of several the one that comes first.
fn mode(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let (list, rows) = compared(call, room)?;
    let most = (0..list.len()).map(|row| {
        check()?;
        let counts = counted(&list, &rows, row).into_iter();
        let most = counts.reduce(|a, b| if b.1 > a.1 { b } else { a });
        Ok(most.map(|(item, _)| item as u32))
    });
    let most = most.collect::<Result<UInt32Array>>()?;
    Ok(take(list.values(), &most, None)?)
}

fn entropy(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let (list, rows) = compared(call, room)?;
    let entropies = (0..list.len()).map(|row| {
        check()?;
        if list.is_null(row) {
            return Ok(None);
        }
        let counts = counted(&list, &rows, row);
        let all: u64 = counts.iter().map(|(_, count)| count).sum();
        let bits = counts.iter().map(|(item, count)| {
            // No NaN is another one.
            let (times, count) = match is_nan(list.values(), *item) {
                true => (*count as f64, 1),
                false => (1.0, *count),
            };
            let share = count as f64 / all as f64;
            times * share * -share.log2()
        });
        Ok(Some(bits.fold(0.0, |sum, bits| sum + bits)))
    });
    Ok(Arc::new(entropies.collect::<Result<Float64Array>>()?))
}

fn is_nan(values: &ArrayRef, item: usize) -> bool {
    match values.data_type() {
        DataType::Float64 => values.as_primitive::<Float64Type>().value(item).is_nan(),
        DataType::Float32 => values.as_primitive::<Float32Type>().value(item).is_nan(),
        _ => false,
    }
}

fn histogram_type(types: &[DataType]) -> Option<DataType> {
    Some(map_of(&item(types.first()?)?, &DataType::UInt64))
}

/// How often each value is there, in their order.
fn histogram(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let (list, rows) = compared(call, room)?;
    let (mut keys, mut counts, mut lengths, mut valid) = (vec![], vec![], vec![], vec![]);
    for row in 0..list.len() {
        check()?;
        let mut of_row = counted(&list, &rows, row);
        of_row.sort_by(|(a, _), (b, _)| rows.row(*a).cmp(&rows.row(*b)));
        lengths.push(of_row.len());
        valid.push(!of_row.is_empty());
        keys.extend(of_row.iter().map(|(item, _)| *item as u32));
        counts.extend(of_row.iter().map(|(_, count)| *count));
    }
    let keys = take(list.values(), &UInt32Array::from(keys), None)?;
    let values: ArrayRef = Arc::new(UInt64Array::from(counts));
    maps(call.to, (keys, values), lengths, valid)
}

/// One value of the numbers of each list; of none it is NULL.
fn of_measures(call: &Call<'_>, of: impl Fn(&ArrayRef) -> Result<ArrayRef>) -> Result<ArrayRef> {
    let [lists] = call.take()?;
    let lists = lists.as_list::<i32>();
    let mut answers = vec![];
    for row in 0..lists.len() {
        check()?;
        answers.push(of(&known_values(lists, row)?)?);
    }
    let answers: Vec<&dyn Array> = answers.iter().map(AsRef::as_ref).collect();
    match answers.is_empty() {
        true => Ok(datafusion::arrow::array::new_empty_array(call.to)),
        false => Ok(datafusion::arrow::compute::concat(&answers)?),
    }
}

/// The values of one list that are not NULL.
fn known_values(lists: &ListArray, row: usize) -> Result<ArrayRef> {
    let places: Vec<u32> = match lists.is_valid(row) {
        true => items(lists, row).map(|item| item as u32).collect(),
        false => vec![],
    };
    Ok(take(lists.values(), &UInt32Array::from(places), None)?)
}

/// The shares of a row, and whether they are a list.
fn shares_of(shares: &ArrayRef, row: usize) -> Result<Vec<f64>> {
    let wrong = |text: &str| Error::binder(text);
    let values = match shares.data_type() {
        DataType::List(_) if shares.is_valid(row) => shares.as_list::<i32>().value(row),
        DataType::List(_) => return Err(wrong("QUANTILE argument must not be NULL").into()),
        _ => shares.slice(row, 1),
    };
    let shares = values.as_primitive::<Float64Type>().iter().map(|share| {
        let share = share.ok_or_else(|| wrong("QUANTILE argument must not be NULL"))?;
        match (-1.0..=1.0).contains(&share) {
            true => Ok(share),
            false => Err(wrong(
                "QUANTILE can only take parameters in the range [-1, 1]",
            )),
        }
    });
    Ok(shares.collect::<Result<Vec<_>, Error>>()?)
}

/// The values at shares of all, or between two of them.
fn quantiles(call: &Call<'_>, room: &mut Room, of_values: bool) -> Result<ArrayRef> {
    let [_, shares] = call.take()?;
    let (list, rows) = compared(call, room)?;
    let as_list = call.to.is_list() && shares.data_type().is_list();
    let (mut picks, mut between_them, mut lengths) = (vec![], vec![], vec![]);
    for row in 0..list.len() {
        check()?;
        let shares = shares_of(shares, row)?;
        let mut order: Vec<usize> = match list.is_valid(row) {
            true => items(&list, row).collect(),
            false => vec![],
        };
        lengths.push((!order.is_empty()).then_some(shares.len()));
        if !of_values {
            between_them.push(between(&known_values(&list, row)?, &shares)?);
            continue;
        }
        order.sort_unstable_by(|a, b| rows.row(*a).cmp(&rows.row(*b)));
        picks.push((!order.is_empty()).then(|| {
            let places = shares.iter().map(|share| place(order.len(), *share));
            places.map(|place| order[place] as u32).collect()
        }));
    }
    if of_values && as_list {
        return picked(list.values(), picks);
    }
    if of_values {
        let picks: Vec<Option<Vec<u32>>> = picks;
        let first = picks.iter().map(|pick| pick.as_ref()?.first().copied());
        return Ok(take(list.values(), &first.collect::<UInt32Array>(), None)?);
    }
    let arrays: Vec<&dyn Array> = between_them.iter().map(AsRef::as_ref).collect();
    let all = match arrays.is_empty() {
        true => datafusion::arrow::array::new_empty_array(&list.value_type()),
        false => datafusion::arrow::compute::concat(&arrays)?,
    };
    if !as_list {
        return Ok(all);
    }
    let valid = lengths.iter().map(Option::is_some).collect();
    let counts = between_them.iter().map(|values| values.len());
    listed(all, counts, valid)
}

/// Where the value at a share of all lies; a negative share counts from the end.
pub(super) fn place(count: usize, share: f64) -> usize {
    let all = count as f64;
    let behind = (all - all * share.abs()).floor() as usize;
    let place = count.saturating_sub(behind).max(1) - 1;
    let place = place.min(count - 1);
    if share < 0.0 {
        count - 1 - place
    } else {
        place
    }
}
