//! `round`, `trunc`, `ceil`, `floor` and `abs`: numbers keep their type, but decimals lose the digits that they are rounded to.

use super::room::Room;
use super::whole::{Call, Whole, registered};
use crate::common_types::number_kind::{MAX_DIGITS_128, decimal_type, is_huge};
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, Decimal256Array, Float64Array,
    Int64Array,
};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, i256,
};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::{HUGEINT, UHUGEINT};
use std::sync::Arc;

/// Digits of the longest integers.
const INT_DIGITS: u8 = 20;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 5] = [
        (&["round"], to_digits, digits_left, |call, _| {
            rounded(call, Way::Round)
        }),
        (&["trunc"], to_cut, digits_left, |call, _| {
            rounded(call, Way::Cut)
        }),
        (&["ceil", "ceiling"], to_whole, digits_left, |call, _| {
            rounded(call, Way::Up)
        }),
        (&["floor"], to_whole, digits_left, |call, _| {
            rounded(call, Way::Down)
        }),
        (
            &["abs"],
            |types| match types {
                [x] if x.is_numeric() || x.is_null() => Some(vec![own(x)]),
                _ => None,
            },
            |types, _| types.first().cloned(),
            absolute,
        ),
    ];
    registered(functions, memory)
}

/// Where a number goes.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// To the nearest, halves away from 0.
    Round,
    Cut,
    Up,
    Down,
}

/// The type that a number is rounded in.
fn own(number: &DataType) -> DataType {
    match number {
        DataType::Null => DataType::Int64,
        DataType::Float16 => DataType::Float64,
        other => other.clone(),
    }
}

/// A number, and a number of digits behind the point or, where it is negative, before it.
fn to_digits(types: &[DataType]) -> Option<Vec<DataType>> {
    let number = |t: &DataType| t.is_numeric() || t.is_null();
    match types {
        // As in DuckDB, which rounds none of its own.
        [x, n @ ..] if *x == UHUGEINT => to_digits(&[&[DataType::Float64], n].concat()),
        [x] if number(x) => Some(vec![own(x)]),
        // A number of digits stays as it is: a constant within a cast is none.
        [x, n] if number(x) && (n.is_integer() || n.is_null()) => Some(vec![own(x), n.clone()]),
        _ => None,
    }
}

fn to_cut(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [x] if *x == UHUGEINT => Some(types.to_vec()),
        [x, n] if *x == UHUGEINT && (n.is_integer() || n.is_null()) => Some(types.to_vec()),
        _ => to_digits(types),
    }
}

fn to_whole(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [x] if is_huge(x) => Some(vec![DataType::Float64]),
        [x] if x.is_decimal() || x.is_floating() => Some(vec![own(x)]),
        [x] if x.is_integer() || x.is_null() => Some(vec![DataType::Float64]),
        _ => None,
    }
}

/// Digits behind the point of a decimal.
fn scale(decimal: &DataType) -> i8 {
    match decimal {
        DataType::Decimal32(_, s) | DataType::Decimal64(_, s) | DataType::Decimal128(_, s) => *s,
        _ => 0,
    }
}

/// A decimal keeps the digits that are said, none if nothing is said, and its own if that is no constant.
fn digits_left(types: &[DataType], constants: &[Option<&ScalarValue>]) -> Option<DataType> {
    let of = types.first()?;
    let (DataType::Decimal32(precision, own)
    | DataType::Decimal64(precision, own)
    | DataType::Decimal128(precision, own)) = of
    else {
        return Some(of.clone());
    };
    if types.get(1).is_some_and(DataType::is_null) {
        return Some(DataType::Null);
    }
    let said = constants.get(1).copied().flatten();
    let said = said.and_then(|digits| digits.cast_to(&DataType::Int64).ok());
    let digits = match (types.len(), said) {
        (1, _) => 0,
        (_, Some(ScalarValue::Int64(Some(digits)))) => digits,
        _ => i64::from(*own),
    };
    let left = digits.clamp(0, i64::from(*own).max(0)) as i8;
    Some(decimal_type(*precision, left))
}

fn rounded(call: &Call<'_>, way: Way) -> Result<ArrayRef> {
    if let Some(none) = call.nothing() {
        return Ok(none);
    }
    let Some((numbers, digits)) = call.columns().split_first() else {
        return internal_err!("a number is rounded");
    };
    let digits = match digits.first() {
        Some(digits) => cast(digits, &DataType::Int64)?
            .as_primitive::<Int64Type>()
            .clone(),
        None => Int64Array::from_value(0, numbers.len()),
    };
    let digits = &digits;
    match numbers.data_type() {
        DataType::Float64 | DataType::Float32 => {
            let doubles = cast(numbers, &DataType::Float64)?;
            let pairs = doubles.as_primitive::<Float64Type>().iter().zip(digits);
            let rounded: ArrayRef = Arc::new(
                pairs
                    .map(|(x, n)| Some(round_double(x?, n?, way)))
                    .collect::<Float64Array>(),
            );
            Ok(cast(&rounded, call.to)?)
        }
        huge if *huge == UHUGEINT => Ok(cut(numbers, digits)),
        huge if *huge == HUGEINT => huge_rounded(numbers, digits, way),
        decimal if decimal.is_decimal() => decimals(numbers, digits, call.to, way),
        integer => {
            let wide = cast(numbers, &DataType::Decimal128(INT_DIGITS, 0))?;
            exact(
                &wide,
                digits,
                (0, 0),
                way,
                DataType::Decimal128(INT_DIGITS + 1, 0),
                integer,
            )
        }
    }
}

/// Numbers without sign, without their last digits.
fn cut(numbers: &ArrayRef, digits: &Int64Array) -> ArrayRef {
    let ten = i256::from_i128(10);
    let pairs = numbers.as_primitive::<Decimal256Type>().iter().zip(digits);
    let values = pairs.map(|(x, n)| {
        let (x, gone) = (x?, u32::try_from(n?.saturating_neg().max(0)).ok());
        let unit = gone.and_then(|gone| ten.checked_pow(gone));
        let units = unit.and_then(|unit| x.checked_div(unit)?.checked_mul(unit));
        Some(units.unwrap_or(i256::ZERO))
    });
    let values = values.collect::<Decimal256Array>();
    Arc::new(values.with_data_type(UHUGEINT))
}

fn huge_rounded(numbers: &ArrayRef, digits: &Int64Array, way: Way) -> Result<ArrayRef> {
    let pairs = numbers.as_primitive::<Decimal256Type>().iter().zip(digits);
    let values = pairs.map(|(x, n)| match (x, n) {
        (Some(x), Some(n)) => {
            let rounded = rounded_int(x.as_i128(), n.saturating_neg(), way);
            let overflow = || out_of_range("Overflow in round: the result does not fit its type");
            Ok(Some(i256::from_i128(rounded.ok_or_else(overflow)?)))
        }
        _ => Ok(None),
    });
    let values = values.collect::<Result<Decimal256Array>>()?;
    Ok(Arc::new(values.with_data_type(HUGEINT)))
}

fn decimals(numbers: &ArrayRef, digits: &Int64Array, to: &DataType, way: Way) -> Result<ArrayRef> {
    let scales = (scale(numbers.data_type()), scale(to));
    let wide = cast(numbers, &DataType::Decimal128(MAX_DIGITS_128, scales.0))?;
    exact(
        &wide,
        digits,
        scales,
        way,
        DataType::Decimal128(MAX_DIGITS_128, scales.1),
        to,
    )
}

/// Whole numbers of units of 10^-from as such of 10^-to, `made` first and then `to`, which they may not fit.
fn exact(
    wide: &ArrayRef,
    digits: &Int64Array,
    (from, to): (i8, i8),
    way: Way,
    made: DataType,
    result: &DataType,
) -> Result<ArrayRef> {
    let pairs = wide.as_primitive::<Decimal128Type>().iter().zip(digits);
    let unit = 10i128.pow(u32::from((from - to).unsigned_abs()));
    let values = pairs.map(|(x, n)| {
        // The last digits that go away, seen from the last one that is there.
        let gone = i64::from(from).saturating_sub(n?);
        Some(round_int(x?, gone, way) / unit)
    });
    let values: ArrayRef = Arc::new(values.collect::<Decimal128Array>().with_data_type(made));
    let strict = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(&values, result, &strict)
        .map_err(|_| out_of_range("Overflow in round: the result does not fit its type"))
}

fn out_of_range(what: &str) -> datafusion::common::DataFusionError {
    Error::new(ErrorKind::OutOfRange, what).into()
}

fn round_double(x: f64, digits: i64, way: Way) -> f64 {
    match way {
        Way::Up => x.ceil(),
        Way::Down => x.floor(),
        Way::Round | Way::Cut => round_float(x, digits, way == Way::Cut),
    }
}

/// As a number of that many digits behind the point, or before it. Where that cannot be said, the number itself, or 0 if it was to be
/// rounded to more digits than it has.
fn round_float(x: f64, digits: i64, cuts: bool) -> f64 {
    let whole = if cuts { f64::trunc } else { f64::round };
    if digits == 0 {
        return whole(x);
    }
    // The library's power is off by some digits where it is large.
    let factor = format!("1e{}", digits.unsigned_abs())
        .parse()
        .unwrap_or(f64::INFINITY);
    let (rounded, otherwise) = match digits > 0 {
        true => (whole(x * factor) / factor, x),
        false => (whole(x / factor) * factor, if cuts { x } else { 0.0 }),
    };
    if rounded.is_finite() {
        rounded
    } else {
        otherwise
    }
}

/// A whole number with 0 for its last digits, as many as are said.
fn round_int(x: i128, gone: i64, way: Way) -> i128 {
    rounded_int(x, gone, way).unwrap_or(x)
}

/// The same; `None` where it would not fit.
fn rounded_int(x: i128, gone: i64, way: Way) -> Option<i128> {
    if gone <= 0 {
        return Some(x);
    }
    let unit = u32::try_from(gone).ok();
    let Some(unit) = unit.and_then(|n| 10i128.checked_pow(n)) else {
        return Some(0);
    };
    let rest = x % unit;
    let up = match way {
        Way::Round => rest.unsigned_abs() >= (unit - unit / 2).unsigned_abs(),
        Way::Cut => false,
        Way::Up => rest > 0,
        Way::Down => rest < 0,
    };
    (x - rest).checked_add(if up { unit * rest.signum() } else { 0 })
}

fn absolute(call: &Call<'_>, _: &mut Room) -> Result<ArrayRef> {
    use datafusion::arrow::datatypes as t;
    let [of] = call.take()?;
    match of.data_type() {
        DataType::Int8 => checked::<t::Int8Type>(of, i8::checked_abs),
        DataType::Int16 => checked::<t::Int16Type>(of, i16::checked_abs),
        DataType::Int32 => checked::<t::Int32Type>(of, i32::checked_abs),
        DataType::Int64 => checked::<Int64Type>(of, i64::checked_abs),
        DataType::Decimal32(..) => checked::<t::Decimal32Type>(of, i32::checked_abs),
        DataType::Decimal64(..) => checked::<t::Decimal64Type>(of, i64::checked_abs),
        DataType::Decimal128(..) => checked::<Decimal128Type>(of, i128::checked_abs),
        huge if *huge == HUGEINT => {
            checked::<Decimal256Type>(of, |x| x.as_i128().checked_abs().map(i256::from_i128))
        }
        DataType::Float32 => checked::<Float32Type>(of, |x| Some(x.abs())),
        DataType::Float64 => checked::<Float64Type>(of, |x| Some(x.abs())),
        _ => Ok(Arc::clone(of)),
    }
}

fn checked<T: ArrowPrimitiveType>(
    of: &ArrayRef,
    abs: fn(T::Native) -> Option<T::Native>,
) -> Result<ArrayRef> {
    let numbers = of.as_primitive::<T>();
    let all = numbers.try_unary::<_, T, datafusion::common::DataFusionError>(|x| {
        abs(x).ok_or_else(|| out_of_range("Overflow in abs: the result does not fit its type"))
    })?;
    Ok(Arc::new(all.with_data_type(of.data_type().clone())))
}
