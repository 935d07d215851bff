//! What makes lists of lists or numbers, and texts of lists: `list_resize`, `list_slice`, `range`, `generate_series`,
//! `array_to_string`.
//!
//! What must hold: the room of what is made is asked for before it is made (`room.rs`).

use super::element::{count_type, counts};
use super::lists::{common, first, null_if_any, plain_list};
use super::moment_cast::is_finite;
use super::nested_cast::cast_nested;
use super::room::{Room, written_bytes};
use super::text::value_text;
use super::texts::between;
use super::whole::{Call, Whole, item, items_of, list_of, listed, registered};
use super::zone::Zone;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, StringViewBuilder, TimestampMicrosecondArray,
    new_null_array,
};
use datafusion::arrow::compute::interleave;
use datafusion::arrow::datatypes::{
    DataType, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
    TimestampMicrosecondType,
};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

/// `x[from:to:step]` of a list, or of a text without the step.
pub const SLICE: &str = "array_slice";
/// `repeat(list, times)`
pub(super) const REPEATED: &str = "$repeated";

const SPAN: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 6] = [
        (&["list_resize", "array_resize"], sized, first, resized),
        (
            &[SLICE, "list_slice"],
            sliced,
            first,
            |call, room| match call.to.is_string() {
                true => text_slice(call),
                false => slice(call, room),
            },
        ),
        (&["range"], bounded, list_of_first, |call, room| {
            series(call, false, room)
        }),
        // With its end.
        (
            &["generate_series"],
            bounded,
            list_of_first,
            |call, room| series(call, true, room),
        ),
        (
            &[
                "array_to_string",
                "list_to_string",
                "array_join",
                "list_join",
            ],
            |types| match types {
                [of, separator] if separator.is_string() || separator.is_null() => {
                    Some(vec![list_of(item(of)?), DataType::Utf8View])
                }
                _ => None,
            },
            |_, _| Some(DataType::Utf8View),
            joined,
        ),
        (
            &[REPEATED],
            |types| match types {
                [of, DataType::Null] => Some(vec![plain_list(of)?, DataType::Null]),
                [of, times] if times.is_integer() => Some(vec![plain_list(of)?, DataType::Int64]),
                _ => None,
            },
            null_if_any,
            repeated,
        ),
    ];
    registered(functions, memory)
}

fn sized(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [of, size] => Some(vec![plain_list(of)?, count_type(size)?]),
        [of, size, fill] => {
            let of = plain_list(of)?;
            let own = item(&of)?;
            let fills = fill.is_null() || own.is_null() || common(&own, fill).is_some();
            let of = match own.is_null() && !of.is_null() {
                true => list_of(fill.clone()),
                false => of,
            };
            fills.then_some(vec![of, count_type(size)?, fill.clone()])
        }
        _ => None,
    }
}

fn sliced(types: &[DataType]) -> Option<Vec<DataType>> {
    let (of, bounds) = types.split_first()?;
    let of = match of.is_string() && bounds.len() == 2 {
        true => DataType::Utf8View,
        false => plain_list(of)?,
    };
    let all = std::iter::once(Some(of)).chain(bounds.iter().map(count_type));
    let fits = (2..4).contains(&bounds.len());
    all.collect::<Option<Vec<_>>>().filter(|_| fits)
}

fn bounded(types: &[DataType]) -> Option<Vec<DataType>> {
    let int = |t: &DataType| t.is_integer() || t.is_null();
    let moment =
        |t: &DataType| matches!(t, DataType::Date32 | DataType::Timestamp(..)) || t.is_null();
    let zone = |t: &DataType| match t {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    let span = |t: &DataType| matches!(t, DataType::Interval(_)) || t.is_null();
    match types {
        [_, ..] if types.len() < 4 && types.iter().all(int) => {
            Some(vec![DataType::Int64; types.len()])
        }
        [from, to, step] if moment(from) && moment(to) && span(step) => {
            let of = DataType::Timestamp(TimeUnit::Microsecond, zone(from).or(zone(to)));
            Some(vec![of.clone(), of, SPAN])
        }
        _ => None,
    }
}

fn list_of_first(types: &[DataType], _: &[Option<&ScalarValue>]) -> Option<DataType> {
    types.first().cloned().map(list_of)
}

fn ints(array: &ArrayRef) -> &Int64Array {
    array.as_primitive::<Int64Type>()
}

fn value(array: &Int64Array, row: usize) -> Option<i64> {
    array.is_valid(row).then(|| array.value(row))
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}

/// Which of two arrays an item is taken from, and its place there.
type Taken = (usize, usize);

/// Lists of items of two arrays.
fn interleaved(
    arrays: [&dyn Array; 2],
    items: &[Taken],
    lengths: Vec<usize>,
    valid: Vec<bool>,
    room: &mut Room,
) -> Result<ArrayRef> {
    for (at, array) in arrays.into_iter().enumerate() {
        let of_array = items.iter().filter(|(of, _)| *of == at);
        let mut places = of_array.map(|(_, place)| *place);
        room.take_all(written_bytes(array, &mut places))?;
    }
    let values = match items.is_empty() {
        true => arrays[0].slice(0, 0),
        false => interleave(&arrays, items)?,
    };
    listed(values, lengths, valid)
}

/// Lists of so many items; new ones are NULL, or what is said.
fn resized(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let [of, sizes, fill @ ..] = call.columns() else {
        return internal_err!("list_resize takes a list and a number");
    };
    let sizes = counts(sizes)?;
    if sizes.iter().flatten().any(|size| size < 0) {
        let what = "a list cannot have fewer than no items";
        return Err(Error::new(ErrorKind::Conversion, what).into());
    }
    if let Some(none) = call.nothing() {
        return Ok(none);
    }
    let of = of.as_list::<i32>();
    let filling = match fill.first() {
        Some(fill) => cast_nested(fill, &of.value_type(), false)?,
        None => new_null_array(&of.value_type(), 1),
    };
    let (mut taken, mut lengths, mut valid) = (vec![], vec![], vec![]);
    for row in 0..of.len() {
        let size = value(&sizes, row).unwrap_or(0).unsigned_abs();
        valid.push(of.is_valid(row));
        if of.is_null(row) {
            lengths.push(0);
            continue;
        }
        let all = room.take_items(taken.len(), size.into(), size_of::<Taken>())?;
        let before = taken.len();
        taken.extend(items_of(of, row).take(all - before).map(|item| (0, item)));
        taken.resize(all, (1, if fill.is_empty() { 0 } else { row }));
        lengths.push(all - before);
    }
    interleaved(
        [of.values().as_ref(), filling.as_ref()],
        &taken,
        lengths,
        valid,
        room,
    )
}

/// The items that a slice of `length` items takes, counted from 0: bounds begin at 1, and count from the end when they are negative.
fn bounds(length: usize, from: i64, to: i64) -> std::ops::Range<usize> {
    let length = length as i128;
    let (from, to) = (i128::from(from), i128::from(to));
    let from = if from < 0 {
        length + from
    } else {
        (from - 1).max(0)
    };
    let to = if to < 0 { length + to + 1 } else { to };
    let at = |bound: i128| bound.clamp(0, length) as usize;
    at(from)..at(to).max(at(from))
}

/// A list or text, and the limits of a slice of it.
fn limited<'a>(call: &'a Call<'_>) -> Result<(&'a ArrayRef, Vec<Int64Array>)> {
    let Some((of, limits)) = call.columns().split_first() else {
        return internal_err!("a slice is one of something");
    };
    Ok((of, limits.iter().map(counts).collect::<Result<_>>()?))
}

fn slice(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let (of, limits) = limited(call)?;
    if let Some(none) = call.nothing() {
        return Ok(none);
    }
    let of = of.as_list::<i32>();
    let limit = |n: usize, row: usize| limits.get(n).map_or(Some(1), |array| value(array, row));
    let (mut taken, mut lengths, mut valid) = (vec![], vec![], vec![]);
    for row in 0..of.len() {
        let (Some(from), Some(to), Some(step), true) = (
            limit(0, row),
            limit(1, row),
            limit(2, row),
            of.is_valid(row),
        ) else {
            lengths.push(0);
            valid.push(false);
            continue;
        };
        if step == 0 {
            return Err(invalid("Slice step cannot be zero").into());
        }
        let all = items_of(of, row);
        let (from, to) = if step < 0 { (to, from) } else { (from, to) };
        let some = bounds(all.len(), from, to);
        let some = all.start + some.start..all.start + some.end;
        let stride = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
        let before = taken.len();
        let count = some.len().div_ceil(stride) as u128;
        room.take_items(before, count, size_of::<Taken>())?;
        match step < 0 {
            true => taken.extend(some.rev().step_by(stride).map(|item| (0, item))),
            false => taken.extend(some.step_by(stride).map(|item| (0, item))),
        }
        lengths.push(taken.len() - before);
        valid.push(true);
    }
    let values = of.values().as_ref();
    interleaved([values, values], &taken, lengths, valid, room)
}

fn text_slice(call: &Call<'_>) -> Result<ArrayRef> {
    let (texts, limits) = limited(call)?;
    let texts = texts.as_string_view();
    let mut out = StringViewBuilder::with_capacity(texts.len());
    for row in 0..texts.len() {
        let limit = |n: usize| limits.get(n).and_then(|array| value(array, row));
        match (limit(0), limit(1), texts.is_valid(row)) {
            (Some(from), Some(to), true) => {
                let text = texts.value(row);
                let some = bounds(text.chars().count(), from, to);
                out.try_append_value(between(text, some.start as i128, some.end as i128))?;
            }
            _ => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

/// The texts of a list's items with a separator between them; a comma where that is NULL.
fn joined(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let [of, separators] = call.take()?;
    let (of, separators) = (of.as_list::<i32>(), separators.as_string_view());
    let mut out = StringViewBuilder::with_capacity(of.len());
    for row in 0..of.len() {
        if of.is_null(row) {
            out.append_null();
            continue;
        }
        let separator = if separators.is_valid(row) {
            separators.value(row)
        } else {
            ","
        };
        let mut text: Option<String> = None;
        let all = items_of(of, row);
        for item in all.clone() {
            let Some(next) = value_text(of.values(), item)? else {
                continue;
            };
            room.take((next.len() + separator.len()) as u128)?;
            match &mut text {
                Some(text) => {
                    text.push_str(separator);
                    text.push_str(&next);
                }
                None => text = Some(next),
            }
        }
        match text {
            Some(text) => out.try_append_value(text)?,
            None if all.is_empty() => out.append_value(""),
            None => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

/// How many numbers a series has.
pub fn series_length(from: i64, to: i64, step: i64, with_end: bool) -> u128 {
    let (distance, step) = (i128::from(to) - i128::from(from), i128::from(step));
    if step == 0 || distance != 0 && (distance < 0) != (step < 0) {
        return 0;
    }
    let (distance, step) = (distance.unsigned_abs(), step.unsigned_abs());
    distance / step + u128::from(with_end || distance % step != 0)
}

fn series(call: &Call<'_>, with_end: bool, room: &mut Room) -> Result<ArrayRef> {
    match call.columns() {
        [from, to, step] if matches!(from.data_type(), DataType::Timestamp(..)) => {
            moments([from, to, step], with_end, room)
        }
        bounds => numbers(bounds, with_end, room),
    }
}

fn numbers(bounds: &[ArrayRef], with_end: bool, room: &mut Room) -> Result<ArrayRef> {
    let rows = bounds.first().map_or(0, |array| array.len());
    let (mut all, mut lengths, mut valid) = (vec![], vec![], vec![]);
    for row in 0..rows {
        let given = bounds.iter().map(|array| value(ints(array), row));
        let (from, to, step) = match given.collect::<Option<Vec<_>>>().as_deref() {
            Some([to]) => (0, *to, 1),
            Some([from, to]) => (*from, *to, 1),
            Some([from, to, step]) => (*from, *to, *step),
            _ => {
                lengths.push(0);
                valid.push(false);
                continue;
            }
        };
        let count = series_length(from, to, step, with_end);
        let before = all.len();
        let end = room.take_items(before, count, size_of::<i64>())?;
        all.reserve_exact(end - before);
        let mut next = from;
        for _ in before..end {
            all.push(next);
            next = next.wrapping_add(step);
        }
        lengths.push(end - before);
        valid.push(true);
    }
    listed(Arc::new(Int64Array::from(all)), lengths, valid)
}

/// Lists one after the other so many times; a negative number is none.
fn repeated(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    if let Some(none) = call.nothing() {
        return Ok(none);
    }
    let [of, times] = call.take()?;
    let (of, times) = (of.as_list::<i32>(), ints(times));
    let (mut taken, mut lengths, mut valid) = (vec![], vec![], vec![]);
    for row in 0..of.len() {
        let before = taken.len();
        if let (Some(times), true) = (value(times, row), of.is_valid(row)) {
            let items = items_of(of, row);
            let all = items.len() as u128 * times.max(0) as u128;
            let end = room.take_items(before, all, size_of::<Taken>())?;
            taken.extend(items.cycle().take(end - before).map(|item| (0, item)));
            valid.push(true);
        } else {
            valid.push(false);
        }
        lengths.push(taken.len() - before);
    }
    let values = of.values().as_ref();
    interleaved([values, values], &taken, lengths, valid, room)
}

/// Whether an interval goes back in time; `None` where it does not move.
fn goes_back(span: IntervalMonthDayNano) -> Result<Option<bool>> {
    let parts = [
        i64::from(span.months),
        i64::from(span.days),
        span.nanoseconds,
    ];
    match (parts.iter().any(|p| *p < 0), parts.iter().any(|p| *p > 0)) {
        (true, true) => {
            Err(invalid("Interval with mix of negative/positive entries not supported").into())
        }
        (false, false) => Ok(None),
        (back, _) => Ok(Some(back)),
    }
}

/// Moments are added up one by one, as a month after 31 January has no such day.
fn moments([from, to, step]: [&ArrayRef; 3], with_end: bool, room: &mut Room) -> Result<ArrayRef> {
    let of = from.data_type();
    let zone = Zone::of(of).unwrap_or(Zone::UTC);
    let (from, to) = (
        from.as_primitive::<TimestampMicrosecondType>(),
        to.as_primitive::<TimestampMicrosecondType>(),
    );
    let step = step.as_primitive::<IntervalMonthDayNanoType>();
    let (mut all, mut lengths, mut valid) = (vec![], vec![], vec![]);
    for row in 0..from.len() {
        let before = all.len();
        let known = from.is_valid(row) && to.is_valid(row) && step.is_valid(row);
        valid.push(known);
        if let (true, Some(back)) = (known, goes_back(step.value(row))?) {
            let (mut next, end, span) = (from.value(row), to.value(row), step.value(row));
            while if back { next > end } else { next < end } || with_end && next == end {
                room.take_items(all.len(), 1, size_of::<i64>())?;
                all.push(next);
                let near = Some(next).filter(|at| is_finite(*at, of));
                next = near.and_then(|at| zone.plus(at, span)).ok_or_else(|| {
                    let text = "a timestamp of the series is out of range";
                    Error::new(ErrorKind::OutOfRange, text)
                })?;
            }
        }
        lengths.push(all.len() - before);
    }
    let all = TimestampMicrosecondArray::from(all).with_data_type(of.clone());
    listed(Arc::new(all), lengths, valid)
}
