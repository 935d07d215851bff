//! `sqrt`, `power`, `exp`, `ln`, `log`, `round` and `sign` of PostgreSQL, which are numerics where they are of numerics.
//!
//! What must hold: roots, and powers whose exponent is whole, are exact to the last digit; the others are as exact as a double.

use super::quotient::QUOTIENT;
use super::whole::{Call, Whole, registered};
use crate::common_types::number_kind::Number;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type, i256};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

/// Digits behind the point of a root, as PostgreSQL has them of numbers below 10,000.
const SCALE_OF_ROOTS: i8 = 15;
const ROOT: DataType = DataType::Decimal128(37, SCALE_OF_ROOTS);
/// A numeric without digits behind the point.
const WHOLE: DataType = DataType::Decimal128(38, 0);
/// Digits behind the point of the others.
const SCALE: i8 = 16;
/// Digits of a numeric here.
const MOST_DIGITS: u32 = 38;
/// Whole exponents that powers are multiplied for.
const MOST_FACTORS: i128 = 300;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 7] = [
        (
            &["sqrt_as_postgres"],
            numbers,
            |types, _| of(types, ROOT),
            |call, _| match call.to {
                DataType::Float64 => doubles(call, |x, _| root(x)),
                _ => exact_roots(call),
            },
        ),
        (
            &["power_as_postgres"],
            numbers,
            |types, _| of(types, QUOTIENT),
            |call, _| match call.to {
                DataType::Float64 => doubles(call, power_of_double),
                _ => exact_powers(call),
            },
        ),
        (
            &["exp_as_postgres"],
            numbers,
            |types, _| of(types, QUOTIENT),
            |call, _| match call.to {
                DataType::Float64 => doubles(call, |x, _| exponential(x)),
                _ => either(call, |x, _| Ok(x.exp())),
            },
        ),
        (
            &["ln_as_postgres"],
            numbers,
            |types, _| of(types, QUOTIENT),
            |call, _| either(call, |x, _| Ok(positive(x)?.ln())),
        ),
        (
            &["log_as_postgres"],
            numbers,
            |types, _| of(types, QUOTIENT),
            |call, _| {
                either(call, |x, y| match y {
                    None => Ok(positive(x)?.log10()),
                    Some(y) => Ok(positive(y)?.ln() / positive(x)?.ln()),
                })
            },
        ),
        (
            &["round_as_postgres"],
            numbers,
            |types, _| of(types, WHOLE),
            |call, _| match call.to {
                // As the processor does, halves to even.
                DataType::Float64 => doubles(call, |x, _| Ok(x.round_ties_even())),
                _ => whole_numbers(call),
            },
        ),
        (
            &["sign_as_postgres"],
            numbers,
            |types, _| of(types, WHOLE),
            |call, _| match call.to {
                DataType::Float64 => doubles(call, |x, _| Ok(sign(x))),
                _ => signs(call),
            },
        ),
    ];
    registered(functions, memory)
}

fn is_exact(ty: &DataType) -> bool {
    matches!(Number::of(ty), Some(Number::Decimal(..)))
}

fn is_float(ty: &DataType) -> bool {
    ty.is_floating() || ty.is_string()
}

/// Numbers as they are where one is a numeric and none a double; else all as doubles.
fn numbers(types: &[DataType]) -> Option<Vec<DataType>> {
    let fits = |ty: &DataType| ty.is_numeric() || ty.is_null() || ty.is_string();
    if !(1..=2).contains(&types.len()) || !types.iter().all(fits) {
        return None;
    }
    let exact = types.iter().any(is_exact) && !types.iter().any(is_float);
    Some(match exact {
        true => types.to_vec(),
        false => vec![DataType::Float64; types.len()],
    })
}

/// A double of doubles, else a numeric.
fn of(types: &[DataType], numeric: DataType) -> Option<DataType> {
    let floats = types.iter().any(is_float) || !types.iter().any(is_exact);
    Some(if floats { DataType::Float64 } else { numeric })
}

fn sign(x: f64) -> f64 {
    match x {
        0.0 => 0.0,
        x if x.is_nan() => x,
        x => x.signum(),
    }
}

fn out_of_range(what: &str, sqlstate: &'static str) -> Error {
    Error::new(ErrorKind::OutOfRange, what).with_sqlstate(sqlstate)
}

fn root(x: f64) -> Result<f64, Error> {
    match x < 0.0 {
        true => Err(negative_root()),
        false => Ok(x.sqrt()),
    }
}

fn negative_root() -> Error {
    out_of_range("cannot take square root of a negative number", "2201F")
}

fn positive(x: f64) -> Result<f64, Error> {
    let what = match x {
        0.0 => "cannot take logarithm of zero",
        x if x < 0.0 => "cannot take logarithm of a negative number",
        x => return Ok(x),
    };
    Err(out_of_range(what, "2201E"))
}

fn power(x: f64, y: Option<f64>) -> Result<f64, Error> {
    let y = y.unwrap_or(1.0);
    if x == 0.0 && y < 0.0 {
        let what = "zero raised to a negative power is undefined";
        return Err(out_of_range(what, "2201F"));
    }
    if x < 0.0 && y.fract() != 0.0 && x.is_finite() {
        let what = "a negative number raised to a non-integer power yields a complex result";
        return Err(out_of_range(what, "2201F"));
    }
    let result = x.powf(y);
    match result.is_infinite() && x.is_finite() && y.is_finite() {
        true => Err(overflow()),
        false => Ok(result),
    }
}

fn power_of_double(x: f64, y: Option<f64>) -> Result<f64, Error> {
    match power(x, y)? {
        0.0 if x != 0.0 && x.is_finite() && y.is_some_and(f64::is_finite) => Err(underflow()),
        result => Ok(result),
    }
}

fn overflow() -> Error {
    out_of_range("value out of range: overflow", "22003")
}

fn underflow() -> Error {
    out_of_range("value out of range: underflow", "22003")
}

fn exponential(x: f64) -> Result<f64, Error> {
    let result = x.exp();
    match x.is_finite() {
        true if result.is_infinite() => Err(overflow()),
        true if result == 0.0 => Err(underflow()),
        _ => Ok(result),
    }
}

type Function = fn(f64, Option<f64>) -> Result<f64, Error>;

fn computed(
    call: &Call<'_>,
    function: impl Fn(f64, Option<f64>) -> Result<f64, Error>,
) -> Result<Float64Array> {
    let columns = call.columns().iter();
    let columns = columns.map(|column| cast(column, &DataType::Float64));
    let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
    let values = (0..call.rows()).map(|row| {
        if columns.iter().any(|column| column.is_null(row)) {
            return Ok(None);
        }
        let value = |at: usize| {
            let column = columns.get(at)?;
            Some(column.as_primitive::<Float64Type>().value(row))
        };
        function(value(0).unwrap_or_default(), value(1)).map(Some)
    });
    Ok(values.collect::<Result<Float64Array, Error>>()?)
}

fn doubles(
    call: &Call<'_>,
    function: impl Fn(f64, Option<f64>) -> Result<f64, Error>,
) -> Result<ArrayRef> {
    Ok(Arc::new(computed(call, function)?))
}

/// Doubles, or the numerics that are nearest to them.
fn either(call: &Call<'_>, function: Function) -> Result<ArrayRef> {
    let values = computed(call, function)?;
    if *call.to == DataType::Float64 {
        return Ok(Arc::new(values));
    }
    let units = values.iter().map(|value| value.map(of_double).transpose());
    let units = units.collect::<Result<Decimal128Array, Error>>()?;
    Ok(Arc::new(units.with_data_type(QUOTIENT)))
}

fn too_large() -> Error {
    out_of_range("value overflows numeric format", "22003")
}

/// A double in units of the last digit.
fn of_double(value: f64) -> Result<i128, Error> {
    let units = (value * 10_f64.powi(SCALE.into())).round();
    match units.abs() < 10_f64.powi(MOST_DIGITS as i32) {
        true => Ok(units as i128),
        false => Err(too_large()),
    }
}

/// Unscaled values and the scale of a column of exact numbers.
fn exact(column: &ArrayRef) -> Result<(Decimal128Array, i8)> {
    let to = match column.data_type() {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale) => DataType::Decimal128(38, *scale),
        _ => DataType::Decimal128(38, 0),
    };
    let DataType::Decimal128(_, scale) = to else {
        return Err(Error::internal("a numeric is a decimal").into());
    };
    let column = cast(column, &to)?;
    Ok((column.as_primitive::<Decimal128Type>().clone(), scale))
}

fn ten_to(power: u32) -> Option<i256> {
    i256::from_i128(10).checked_pow(power)
}

/// `value`, whose digits behind the point are `from` many, with as many as `to`, halves away from zero.
fn rescaled(value: i256, from: i32, to: i32) -> Option<i256> {
    if to >= from {
        return value.checked_mul(ten_to(to.abs_diff(from))?);
    }
    let unit = ten_to(from.abs_diff(to))?;
    let half = unit.checked_div(i256::from_i128(2))?;
    let half = if value.is_negative() {
        half.checked_neg()?
    } else {
        half
    };
    value.checked_add(half)?.checked_div(unit)
}

fn whole_numbers(call: &Call<'_>) -> Result<ArrayRef> {
    let [column] = call.take()?;
    let (values, scale) = exact(column)?;
    let whole = values.iter().map(|value| {
        let whole = value.map(|value| {
            let whole = rescaled(i256::from_i128(value), scale.into(), 0);
            whole.and_then(i256::to_i128).ok_or_else(too_large)
        });
        whole.transpose()
    });
    let whole = whole.collect::<Result<Decimal128Array, Error>>()?;
    Ok(Arc::new(whole.with_data_type(WHOLE)))
}

fn signs(call: &Call<'_>) -> Result<ArrayRef> {
    let [column] = call.take()?;
    let (values, _) = exact(column)?;
    let signs = values.iter().map(|value| value.map(i128::signum));
    let signs: Decimal128Array = signs.collect();
    Ok(Arc::new(signs.with_data_type(WHOLE)))
}

fn exact_roots(call: &Call<'_>) -> Result<ArrayRef> {
    let [column] = call.take()?;
    let (values, scale) = exact(column)?;
    let roots = values.iter().map(|value| match value {
        None => Ok(None),
        Some(value) if value < 0 => Err(negative_root()),
        Some(value) => {
            let square = rescaled(
                i256::from_i128(value),
                scale.into(),
                2 * i32::from(SCALE_OF_ROOTS),
            );
            let root = square.and_then(whole_root).and_then(i256::to_i128);
            root.map(Some).ok_or_else(too_large)
        }
    });
    let roots = roots.collect::<Result<Decimal128Array, Error>>()?;
    Ok(Arc::new(roots.with_data_type(ROOT)))
}

/// The root of a whole number, rounded, by Newton's way from above.
fn whole_root(of: i256) -> Option<i256> {
    let two = i256::from_i128(2);
    if of < two {
        return Some(of);
    }
    let bits = 256 - of.leading_zeros();
    let mut root = two.checked_pow(bits.div_ceil(2))?;
    loop {
        let next = of.checked_div(root)?.checked_add(root)?.checked_div(two)?;
        if next >= root {
            break;
        }
        root = next;
    }
    let rest = of.checked_sub(root.checked_mul(root)?)?;
    match rest > root {
        true => root.checked_add(i256::ONE),
        false => Some(root),
    }
}

fn exact_powers(call: &Call<'_>) -> Result<ArrayRef> {
    let near = computed(call, power)?;
    let [base, exponent] = call.take()?;
    let ((base, base_scale), (exponent, exponent_scale)) = (exact(base)?, exact(exponent)?);
    let powers = (0..call.rows()).map(|row| {
        if near.is_null(row) {
            return Ok(None);
        }
        let whole = whole_power(
            (base.value(row), base_scale),
            (exponent.value(row), exponent_scale),
        );
        match whole {
            Some(power) => Ok(Some(power)),
            None => of_double(near.value(row)).map(Some),
        }
    });
    let powers = powers.collect::<Result<Decimal128Array, Error>>()?;
    Ok(Arc::new(powers.with_data_type(QUOTIENT)))
}

/// A power in units of the last digit, if its exponent is whole and the digits of all factors have room.
fn whole_power((base, scale): (i128, i8), (exponent, its_scale): (i128, i8)) -> Option<i128> {
    let unit = 10_i128.checked_pow(u32::try_from(its_scale).ok()?)?;
    let times = exponent / unit;
    if exponent % unit != 0 || !(0..=MOST_FACTORS).contains(&times) {
        return None;
    }
    let base = i256::from_i128(base);
    let times = u32::try_from(times).ok()?;
    let mut power = i256::ONE;
    for _ in 0..times {
        power = power.checked_mul(base)?;
    }
    let digits = i32::from(scale).checked_mul(i32::try_from(times).ok()?)?;
    let power = rescaled(power, digits, SCALE.into())?.to_i128()?;
    (power.unsigned_abs() < 10_u128.pow(MOST_DIGITS)).then_some(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_and_powers_are_exact() {
        let root = |value: i128| {
            let square = rescaled(i256::from_i128(value), 0, 30).unwrap();
            whole_root(square).unwrap().to_i128().unwrap()
        };
        assert_eq!(root(2), 1_414_213_562_373_095);
        assert_eq!(root(4), 2_000_000_000_000_000);
        assert_eq!(root(0), 0);
        assert_eq!(whole_power((15, 1), (2, 0)), Some(22_500_000_000_000_000));
        assert_eq!(whole_power((-2, 0), (30, 1)), Some(-80_000_000_000_000_000));
        assert_eq!(whole_power((2, 0), (5, 1)), None);
        assert_eq!(whole_power((10, 0), (80, 0)), None);
    }
}
