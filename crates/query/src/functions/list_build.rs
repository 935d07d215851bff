//! What makes lists of lists or numbers, and texts of lists: `list_resize`, `list_slice`, `range`, `generate_series`,
//! `array_to_string`.
//!
//! What must hold: the room of what is made is asked for before it is made (`room.rs`).

use super::lists::common;
use super::plain::called;
use super::room::Room;
use super::text::value_text;
use super::texts::between;
use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, ListArray, StringViewBuilder, TimestampMicrosecondArray,
    new_null_array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::interleave;
use datafusion::arrow::datatypes::{
    DataType, Field, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
    TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// `x[from:to:step]` of a list, or of a text without the step.
pub const SLICE: &str = "array_slice";

const MOMENT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
const SPAN: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

/// What is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Made {
    Resized,
    Slice,
    Range,
    /// With its end.
    Series,
    Joined,
}

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [(Made, &[&str]); 5] = [
        (Made::Resized, &["list_resize", "array_resize"]),
        (Made::Slice, &[SLICE, "list_slice"]),
        (Made::Range, &["range"]),
        (Made::Series, &["generate_series"]),
        (
            Made::Joined,
            &[
                "array_to_string",
                "list_to_string",
                "array_join",
                "list_join",
            ],
        ),
    ];
    let function = |(made, names): (Made, &[&str])| {
        let mut names = names.iter().map(|name| name.to_string());
        Arc::new(ScalarUDF::from(Maker {
            made,
            name: names.next().unwrap_or_default(),
            aliases: names.collect(),
            memory: Arc::clone(memory),
            signature: Signature::user_defined(Volatility::Immutable),
        }))
    };
    functions.map(function).into()
}

struct Maker {
    made: Made,
    name: String,
    aliases: Vec<String>,
    memory: Arc<dyn MemoryPool>,
    signature: Signature,
}

impl std::fmt::Debug for Maker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartialEq for Maker {
    fn eq(&self, other: &Self) -> bool {
        self.made == other.made
    }
}

impl Eq for Maker {}

impl Hash for Maker {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.made.hash(state);
    }
}

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

/// A list's own type, with 32-bit offsets.
fn list(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::List(_) => Some(data_type.clone()),
        DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            Some(DataType::List(Arc::clone(item)))
        }
        DataType::Null => Some(list_of(DataType::Null)),
        _ => None,
    }
}

impl Maker {
    fn coerced(&self, types: &[DataType]) -> Option<Vec<DataType>> {
        let int = |t: &DataType| t.is_integer() || t.is_null();
        let text = |t: &DataType| t.is_string() || t.is_null();
        let moment = |t: &DataType| {
            matches!(t, DataType::Date32 | DataType::Timestamp(_, None)) || t.is_null()
        };
        Some(match (self.made, types) {
            (Made::Resized, [of, size]) if int(size) => vec![list(of)?, DataType::Int64],
            (Made::Resized, [of, size, fill]) if int(size) => {
                let of = list(of)?;
                let DataType::List(item) = &of else {
                    return None;
                };
                let item = common(item.data_type(), fill)?;
                vec![list_of(item.clone()), DataType::Int64, item]
            }
            (Made::Slice, [of, bounds @ ..])
                if (2..4).contains(&bounds.len()) && bounds.iter().all(int) =>
            {
                let of = match of.is_string() && bounds.len() == 2 {
                    true => DataType::Utf8View,
                    false => list(of)?,
                };
                let bounds = bounds.iter().map(|_| DataType::Int64);
                std::iter::once(of).chain(bounds).collect()
            }
            (Made::Range | Made::Series, [_, ..]) if types.len() < 4 && types.iter().all(int) => {
                types.iter().map(|_| DataType::Int64).collect()
            }
            (Made::Range | Made::Series, [from, to, step])
                if moment(from)
                    && moment(to)
                    && (matches!(step, DataType::Interval(_)) || step.is_null()) =>
            {
                vec![MOMENT, MOMENT, SPAN]
            }
            (Made::Joined, [of, separator]) if text(separator) => {
                vec![list(of)?, DataType::Utf8View]
            }
            _ => return None,
        })
    }
}

impl ScalarUDFImpl for Maker {
    fn name(&self) -> &str {
        &self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match self.coerced(types) {
            Some(types) => Ok(types),
            None => plan_err!(
                "No function matches the given name and argument types '{}'; you might need to add explicit type casts",
                called(&self.name, types)
            ),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match (self.made, types) {
            (Made::Joined, _) => Ok(DataType::Utf8View),
            (Made::Range | Made::Series, [first, ..]) => Ok(list_of(first.clone())),
            (_, [first, ..]) => Ok(first.clone()),
            _ => plan_err!("{} takes arguments", self.name),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalar = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if scalar { 1 } else { args.number_rows };
        let mut arrays = Vec::with_capacity(args.args.len());
        for arg in &args.args {
            arrays.push(arg.to_array(rows)?);
        }
        let mut room = Room::new(&self.memory);
        let with_end = self.made == Made::Series;
        let made = match (self.made, arrays.as_slice()) {
            (Made::Resized, [of, size, fill @ ..]) => {
                resized(of.as_list(), ints(size), fill.first(), &mut room)?
            }
            (Made::Slice, [of, bounds @ ..]) if of.data_type().is_string() => {
                text_slice(of, bounds)?
            }
            (Made::Slice, [of, bounds @ ..]) => slice(of.as_list(), bounds)?,
            (Made::Joined, [of, separator]) => joined(of.as_list(), separator, &mut room)?,
            (_, [from, to, step]) if from.data_type() == &MOMENT => {
                moments([from, to, step], with_end, &mut room)?
            }
            (_, bounds) => numbers(bounds, with_end, &mut room)?,
        };
        if scalar {
            return ScalarValue::try_from_array(&made, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(made))
    }
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

/// Bytes that an item takes, about.
fn width(data_type: &DataType) -> usize {
    data_type.primitive_width().unwrap_or(16)
}

fn items(list: &ListArray, row: usize) -> std::ops::Range<usize> {
    let offsets = list.value_offsets();
    let at = |n: usize| offsets.get(n).map_or(0, |offset| *offset as usize);
    at(row)..at(row + 1)
}

/// Lists of items of two arrays.
fn interleaved(
    arrays: [&dyn Array; 2],
    items: &[(usize, usize)],
    lengths: Vec<usize>,
    valid: Vec<bool>,
) -> Result<ArrayRef> {
    let values = match items.is_empty() {
        true => arrays[0].slice(0, 0),
        false => interleave(&arrays, items)?,
    };
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(
        field,
        offsets,
        values,
        Some(valid.into()),
    )?))
}

/// Lists of so many items; new ones are NULL, or what is said.
fn resized(
    of: &ListArray,
    sizes: &Int64Array,
    fill: Option<&ArrayRef>,
    room: &mut Room,
) -> Result<ArrayRef> {
    let nothing = new_null_array(&of.value_type(), 1);
    let filling = fill.unwrap_or(&nothing);
    let width = width(&of.value_type()) + size_of::<(usize, usize)>();
    let (mut taken, mut lengths, mut valid) = (vec![], vec![], vec![]);
    for row in 0..of.len() {
        let size = u128::try_from(value(sizes, row).unwrap_or(0)).map_err(|_| {
            Error::new(
                ErrorKind::Conversion,
                "a list cannot have fewer than no items",
            )
        })?;
        valid.push(of.is_valid(row));
        if of.is_null(row) {
            lengths.push(0);
            continue;
        }
        let all = room.take_items(taken.len(), size, width)?;
        let before = taken.len();
        taken.extend(items(of, row).take(all - before).map(|item| (0, item)));
        let fill = if fill.is_some() { row } else { 0 };
        taken.resize(all, (1, fill));
        lengths.push(all - before);
    }
    interleaved(
        [of.values().as_ref(), filling.as_ref()],
        &taken,
        lengths,
        valid,
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

fn slice(of: &ListArray, limits: &[ArrayRef]) -> Result<ArrayRef> {
    let limit = |n: usize, row: usize| {
        limits
            .get(n)
            .map_or(Some(1), |array| value(ints(array), row))
    };
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
        let all = items(of, row);
        let (from, to) = if step < 0 { (to, from) } else { (from, to) };
        let some = bounds(all.len(), from, to);
        let some = all.start + some.start..all.start + some.end;
        let stride = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
        let before = taken.len();
        match step < 0 {
            true => taken.extend(some.rev().step_by(stride).map(|item| (0, item))),
            false => taken.extend(some.step_by(stride).map(|item| (0, item))),
        }
        lengths.push(taken.len() - before);
        valid.push(true);
    }
    let values = of.values().as_ref();
    interleaved([values, values], &taken, lengths, valid)
}

fn text_slice(of: &ArrayRef, limits: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = of.as_string_view();
    let mut out = StringViewBuilder::with_capacity(texts.len());
    for row in 0..texts.len() {
        let limit = |n: usize| limits.get(n).and_then(|array| value(ints(array), row));
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
fn joined(of: &ListArray, separators: &ArrayRef, room: &mut Room) -> Result<ArrayRef> {
    let separators = separators.as_string_view();
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
        let all = items(of, row);
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

fn listed(values: ArrayRef, lengths: Vec<usize>, valid: Vec<bool>) -> Result<ArrayRef> {
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(
        field,
        offsets,
        values,
        Some(valid.into()),
    )?))
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
    let (from, to) = (
        from.as_primitive::<TimestampMicrosecondType>(),
        to.as_primitive::<TimestampMicrosecondType>(),
    );
    let step = step.as_primitive::<IntervalMonthDayNanoType>();
    let utc: Tz = "+00:00".parse()?;
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
                next = TimestampMicrosecondType::add_month_day_nano(next, span, utc).ok_or_else(
                    || {
                        Error::new(
                            ErrorKind::OutOfRange,
                            "a timestamp of the series is out of range",
                        )
                    },
                )?;
            }
        }
        lengths.push(all.len() - before);
    }
    listed(
        Arc::new(TimestampMicrosecondArray::from(all)),
        lengths,
        valid,
    )
}
