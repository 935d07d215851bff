//! Functions of numbers as DuckDB has them, beside those that `checked_math.rs` refuses and those of `rounding.rs`.

use super::plain::{Columns, Form, Kind, Row, Run, plain};
use super::room::Room;
use datafusion::arrow::array::{ArrayRef, Decimal256Array, Int8Array};
use datafusion::arrow::datatypes::{DataType, i256};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::HUGEINT;
use std::sync::Arc;

/// Beyond it the square of a number may not be finite.
const LARGE: f64 = 1e150;
fn power(memory: &Arc<dyn MemoryPool>) -> Arc<ScalarUDF> {
    let run = Run::Double(|row| Ok(Some(row.double(0).powf(row.double(1)))));
    let form = Form::new(&[Kind::Double, Kind::Double], run);
    plain(&["power", "pow"], vec![form], memory)
}

/// 1 for true and 0 for false: what `count_if` adds.
fn truth(memory: &Arc<dyn MemoryPool>) -> Arc<ScalarUDF> {
    let run = Run::Int(|row| Ok(Some(i64::from(row.bool(0)))));
    plain(&["$truth"], vec![Form::new(&[Kind::Bool], run)], memory)
}

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    const D: &[Kind] = &[Kind::Double];
    const II: &[Kind] = &[Kind::Int, Kind::Int];
    let of_doubles = |names, run| plain(names, vec![Form::new(D, Run::Double(run))], memory);
    let tests = |names, run| plain(names, vec![Form::new(D, Run::Bool(run))], memory);
    let of_ints = |names, run| plain(names, vec![Form::new(II, Run::Int(run))], memory);
    vec![
        // The library's overflow where the logarithm does not.
        of_doubles(&["asinh"], |row| {
            Ok(Some(match row.double(0) {
                x if x.abs() > LARGE => (x.abs().ln() + std::f64::consts::LN_2).copysign(x),
                x => x.asinh(),
            }))
        }),
        of_doubles(&["acosh"], |row| {
            Ok(Some(match row.double(0) {
                x if x > LARGE => x.ln() + std::f64::consts::LN_2,
                x => x.acosh(),
            }))
        }),
        of_doubles(&["gamma"], gamma),
        of_doubles(&["lgamma"], log_gamma),
        power(memory),
        truth(memory),
        tests(&["isnan"], |row| Ok(Some(row.double(0).is_nan()))),
        plain(
            &["isinf"],
            vec![
                Form::new(D, Run::Bool(|row| Ok(Some(row.double(0).is_infinite())))),
                Form::new(&[Kind::Day], Run::Bool(|row| Ok(Some(!is_day(row))))),
                Form::new(&[Kind::Moment], Run::Bool(|row| Ok(Some(!is_moment(row))))),
            ],
            memory,
        ),
        plain(
            &["isfinite"],
            vec![
                Form::new(D, Run::Bool(|row| Ok(Some(row.double(0).is_finite())))),
                Form::new(&[Kind::Day], Run::Bool(|row| Ok(Some(is_day(row))))),
                Form::new(&[Kind::Moment], Run::Bool(|row| Ok(Some(is_moment(row))))),
            ],
            memory,
        ),
        plain(
            &["sign"],
            vec![Form::new(D, Run::Whole(DataType::Int8, sign))],
            memory,
        ),
        of_ints(&["gcd", "greatest_common_divisor"], |row| {
            positive(i128::from(gcd(row.int(0), row.int(1))), "gcd")
        }),
        of_ints(&["lcm", "least_common_multiple"], |row| {
            let (a, b) = (row.int(0), row.int(1));
            match gcd(a, b) {
                0 => Ok(Some(0)),
                gcd => positive(
                    (i128::from(a) / i128::from(gcd) * i128::from(b)).abs(),
                    "lcm",
                ),
            }
        }),
        plain(
            &["factorial"],
            vec![Form::new(&[Kind::Int], Run::Whole(HUGEINT, factorial))],
            memory,
        ),
    ]
}

fn gamma(row: Row<'_>) -> Result<Option<f64>> {
    match row.double(0) {
        0.0 => Err(out_of_range("cannot take gamma of zero")),
        x => Ok(Some(libm::tgamma(x))),
    }
}

fn log_gamma(row: Row<'_>) -> Result<Option<f64>> {
    match row.double(0) {
        0.0 => Err(out_of_range("cannot take log gamma of zero")),
        x => Ok(Some(libm::lgamma(x))),
    }
}

/// Whether a day is one of a calendar, and none of the two that are infinitely far.
fn is_day(row: Row<'_>) -> bool {
    row.int(0).abs() != i64::from(i32::MAX)
}

fn is_moment(row: Row<'_>) -> bool {
    row.int(0).saturating_abs() != i64::MAX
}

fn out_of_range(what: &str) -> datafusion::common::DataFusionError {
    Error::new(ErrorKind::OutOfRange, what).into()
}

/// NaN has none.
fn sign(columns: &Columns, _: &mut Room) -> Result<ArrayRef> {
    let sign = |x: f64| i8::from(x > 0.0) - i8::from(x < 0.0);
    let signs = columns
        .rows()
        .map(|row| (!row.has_null()).then(|| sign(row.double(0))));
    Ok(Arc::new(signs.collect::<Int8Array>()))
}

/// Up to that of 33, which has 37 digits.
fn factorial(columns: &Columns, _: &mut Room) -> Result<ArrayRef> {
    let factorials = columns
        .rows()
        .map(|row| match (row.has_null(), row.int(0)) {
            (true, _) => Ok(None),
            (_, ..0) => Err(out_of_range("factorial of a negative number is undefined")),
            (_, n @ 0..34) => Ok(Some(i256::from_i128((1..=i128::from(n)).product()))),
            _ => Err(out_of_range("the factorial is out of range")),
        });
    let factorials = factorials.collect::<Result<Decimal256Array>>()?;
    Ok(Arc::new(factorials.with_data_type(HUGEINT)))
}

fn gcd(a: i64, b: i64) -> u64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn positive(value: i128, name: &str) -> Result<Option<i64>> {
    match i64::try_from(value) {
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(out_of_range(&format!(
            "Overflow in {name}: the result does not fit BIGINT"
        ))),
    }
}
