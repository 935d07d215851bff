//! `equi_width_bins(min, max, count, nice)`: the upper ends of bins that are as wide as each other, or about so where they are to be
//! round numbers.

use super::room::Room;
use super::whole::{Call, Whole, list_of, listed, registered};
use crate::common_types::number_kind::is_huge;
use crate::heed::check;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, PrimitiveArray, TimestampMicrosecondArray,
    new_null_array,
};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Float64Type, Int64Type,
};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

mod moments;

/// Bins that are asked for at most.
const MOST: i64 = 1_000_000;
/// Whole numbers are divided as so many parts of one.
const PARTS: i128 = 1000;
const MICROS_PER_DAY: i64 = 86_400_000_000;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 1] = [(
        &["equi_width_bins"],
        |types| match types {
            [min, max, count, nice] => {
                let is_count = count.is_integer() || count.is_null() || count.is_string();
                let is_flag = matches!(nice, DataType::Boolean | DataType::Null);
                let or_null = |of: &DataType, to| if of.is_null() { DataType::Null } else { to };
                let count = or_null(count, DataType::Int64);
                let nice = or_null(nice, DataType::Boolean);
                (is_count && is_flag).then(|| vec![min.clone(), max.clone(), count, nice])
            }
            _ => None,
        },
        |types, _| match types {
            [min, max, ..] => Some(match of_ends(min, max) {
                _ if types.iter().any(DataType::is_null) => DataType::Null,
                Ends::Nothing => DataType::Null,
                _ if max.is_decimal() && !is_huge(max) => list_of(DataType::Float64),
                _ => list_of(max.clone()),
            }),
            _ => None,
        },
        bins,
    )];
    registered(functions, memory)
}

/// What bins are computed as.
enum Ends {
    Nothing,
    Whole,
    Double,
    Moment,
    /// Which is refused where there are rows.
    Other,
}

fn of_ends(min: &DataType, max: &DataType) -> Ends {
    let is_whole = |of: &DataType| of.is_integer() && *of != DataType::UInt64;
    let is_moment = |of: &DataType| matches!(of, DataType::Date32 | DataType::Timestamp(_, None));
    if min.is_null() || max.is_null() {
        Ends::Nothing
    } else if is_whole(min) && is_whole(max) {
        Ends::Whole
    } else if min.is_numeric() && max.is_numeric() {
        Ends::Double
    } else if is_moment(min) && is_moment(max) {
        Ends::Moment
    } else {
        Ends::Other
    }
}

/// How many, and whether they are to be round.
#[derive(Clone, Copy)]
struct Wanted {
    count: usize,
    nice: bool,
}

impl Wanted {
    /// Round bins may be twice as many.
    fn most(self) -> usize {
        if self.nice {
            self.count * 2
        } else {
            self.count
        }
    }
}

fn wrong(what: &str) -> Error {
    let what = format!("Invalid input for bin function - {what}");
    Error::new(ErrorKind::InvalidInput, what)
}

fn bins(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    if let Some(nothing) = call.nothing() {
        return Ok(nothing);
    }
    let [min, max, ..] = call.take::<4>()?;
    match of_ends(min.data_type(), max.data_type()) {
        Ends::Whole => {
            let (min, max) = (ends::<Int64Type>(min)?, ends::<Int64Type>(max)?);
            let made = each_row(call, room, (&min, &max), |row, wanted| {
                whole(min.value(row), max.value(row), wanted)
            })?;
            made.listed(call, |values| Arc::new(Int64Array::from(values)))
        }
        Ends::Moment => {
            let (min, max) = (moments_of(min)?, moments_of(max)?);
            let made = each_row(call, room, (&min, &max), |row, wanted| {
                let (min, max) = (min.value(row), max.value(row));
                match [min, max]
                    .iter()
                    .any(|end| end.unsigned_abs() >= i64::MAX.unsigned_abs())
                {
                    true => Err(infinite().into()),
                    false if wanted.nice && max > min => Ok(moments::bins(min, max, wanted.count)?),
                    false => whole(
                        min,
                        max,
                        Wanted {
                            nice: false,
                            ..wanted
                        },
                    ),
                }
            })?;
            made.listed(call, |values| {
                Arc::new(TimestampMicrosecondArray::from(values))
            })
        }
        Ends::Other if call.rows() > 0 => {
            let of = hushdb_sql::type_names::type_name(max.data_type());
            let what = format!("Unsupported type \"{of}\" for equi_width_bins");
            Err(Error::binder(what).into())
        }
        Ends::Nothing | Ends::Other => Ok(new_null_array(call.to, call.rows())),
        Ends::Double => {
            let (min, max) = (ends::<Float64Type>(min)?, ends::<Float64Type>(max)?);
            let made = each_row(call, room, (&min, &max), |row, wanted| {
                double(min.value(row), max.value(row), wanted)
            })?;
            made.listed(call, |values| Arc::new(Float64Array::from(values)))
        }
    }
}

fn ends<T: ArrowPrimitiveType>(of: &ArrayRef) -> Result<PrimitiveArray<T>> {
    Ok(cast(of, &T::DATA_TYPE)?.as_primitive::<T>().clone())
}

/// Points in time; those that are infinitely far are the last of 64 bits.
fn moments_of(of: &ArrayRef) -> Result<TimestampMicrosecondArray> {
    if of.data_type() != &DataType::Date32 {
        return ends(of);
    }
    let moment = |day: i32| match day.unsigned_abs() == i32::MAX.unsigned_abs() {
        true => i64::MAX * i64::from(day.signum()),
        false => i64::from(day).saturating_mul(MICROS_PER_DAY),
    };
    Ok(of.as_primitive::<Date32Type>().unary(moment))
}

fn infinite() -> Error {
    let what = "equi_width_bucket does not support infinite or nan as min/max value";
    Error::new(ErrorKind::InvalidInput, what)
}

/// Lists of bins, from the last bin of each to its first.
struct Made<T> {
    values: Vec<T>,
    lengths: Vec<usize>,
    valid: Vec<bool>,
}

impl<T> Made<T> {
    fn listed(self, call: &Call<'_>, values: impl Fn(Vec<T>) -> ArrayRef) -> Result<ArrayRef> {
        let DataType::List(item) = call.to else {
            return Err(Error::internal("bins are no list").into());
        };
        let strict = CastOptions {
            safe: false,
            ..Default::default()
        };
        let values = cast_with_options(&values(self.values), item.data_type(), &strict);
        // What Arrow says of it repeats the value.
        let values = values.map_err(|_| {
            let what = "a bin ends above all values of its type: cast max to a larger one";
            Error::new(ErrorKind::Conversion, what)
        })?;
        listed(values, self.lengths, self.valid)
    }
}

fn each_row<T>(
    call: &Call<'_>,
    room: &mut Room,
    (min, max): (&dyn Array, &dyn Array),
    bins: impl Fn(usize, Wanted) -> Result<Vec<T>>,
) -> Result<Made<T>> {
    let [.., counts, nice] = call.take::<4>()?;
    let (counts, nice) = (counts.as_primitive::<Int64Type>(), nice.as_boolean());
    let mut made = Made {
        values: vec![],
        lengths: vec![],
        valid: vec![],
    };
    for row in 0..call.rows() {
        check()?;
        let known = min.is_valid(row) && max.is_valid(row);
        let is_valid = known && counts.is_valid(row) && nice.is_valid(row);
        made.valid.push(is_valid);
        let before = made.values.len();
        if is_valid {
            let count = match counts.value(row) {
                ..=0 => return Err(wrong("there must be > 0 bins").into()),
                count if count > MOST => {
                    return Err(wrong("max bin count of 1000000 exceeded").into());
                }
                count => count as usize,
            };
            let wanted = Wanted {
                count,
                nice: nice.value(row),
            };
            room.take_items(before, wanted.most() as u128, size_of::<T>())?;
            made.values.extend(bins(row, wanted)?.into_iter().rev());
        }
        made.lengths.push(made.values.len() - before);
    }
    Ok(made)
}

fn in_order<T: PartialOrd>(min: T, max: T) -> Result<()> {
    match max < min {
        true => Err(wrong("max value is smaller than min value").into()),
        false => Ok(()),
    }
}

/// The next step of 1, 2, 5 and 10 times a power of ten (P. Heckbert, "Nice numbers for graph labels", Graphics Gems, 1990).
fn nice_step(step: i128) -> i128 {
    let mut power = 1;
    while power < step {
        power *= 10;
    }
    let power = power / 10;
    match step {
        step if step * 2 < power * 3 => power,
        step if step < power * 3 => power * 2,
        step if power > 0 => (step + power * 5 / 2) / (power * 5) * (power * 5),
        _ => 0,
    }
}

fn whole(min: i64, max: i64, wanted: Wanted) -> Result<Vec<i64>> {
    in_order(min, max)?;
    if min == max {
        return Ok(vec![max]);
    }
    let first = i128::from(min) * PARTS;
    let mut last = i128::from(max) * PARTS;
    let mut step = (last - first) / wanted.count as i128;
    let round = nice_step(step);
    if wanted.nice && round > 0 {
        let above = (last + round - 1) / round * round;
        if above != first {
            (last, step) = (above, round);
        }
    }
    let mut bins = vec![];
    while last > first && bins.len() < wanted.most() {
        let bin = last / PARTS;
        // Behind the last number there is none.
        let bin = i64::try_from(bin).unwrap_or(i64::MAX);
        if bins.last() != Some(&bin) {
            bins.push(bin);
        }
        last -= step.max(1);
    }
    Ok(bins)
}

/// The power of ten below a number.
fn power_below(number: f64) -> f64 {
    let mut power = 1.0;
    if number < 1.0 {
        while power > number {
            power /= 10.0;
        }
        return power;
    }
    while power < number {
        power *= 10.0;
    }
    power / 10.0
}

fn finite_or(value: f64, otherwise: f64) -> f64 {
    if value.is_finite() { value } else { otherwise }
}

fn double(min: f64, max: f64, wanted: Wanted) -> Result<Vec<f64>> {
    in_order(min, max)?;
    if !min.is_finite() || !max.is_finite() {
        return Err(infinite().into());
    }
    if min == max {
        return Ok(vec![max]);
    }
    let count = wanted.count as f64;
    let span = max - min;
    let mut step = match span.is_finite() {
        true => span / count,
        false => max / count - min / count,
    };
    let power = power_below(step);
    let mut last = max;
    if wanted.nice {
        step = match step {
            step if step < power * 1.5 => power,
            step if step < power * 3.0 => power * 2.0,
            step => finite_or((step / (power * 5.0)).round() * (power * 5.0), step),
        };
        last = finite_or((max / step).ceil() * step, max);
    }
    let digits = 10.0 / power;
    let mut bins = vec![];
    while last > min && bins.len() < wanted.most() {
        let bin = match wanted.nice {
            true => finite_or((last * digits).round() / digits, last),
            false => last,
        };
        if bins.last() != Some(&bin) {
            bins.push(bin);
        }
        let next = last - step;
        // A step that is lost in the digits of what it is taken from leads nowhere.
        if next == last {
            break;
        }
        last = next;
    }
    Ok(bins)
}
