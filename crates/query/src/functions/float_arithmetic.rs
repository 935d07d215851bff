//! Operators of floats, and their range, which PostgreSQL's operators and sums may not leave: a result that is infinite though no
//! operand is, and a product or quotient that is zero though none is, are errors there. In DuckDB they are the answer.

use super::arithmetic::{Op, by_zero};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Datum, Float64Array, Scalar};
use datafusion::arrow::compute::kernels::{cmp, numeric};
use datafusion::arrow::compute::nullif;
use datafusion::arrow::datatypes::{ArrowPrimitiveType, DataType, Float32Type, Float64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr_common::datum;
use hushdb_sql::{Error, ErrorKind};

/// `left op right`.
///
/// # Errors
/// Where PostgreSQL's `/` and `%` divide by zero.
pub(super) fn apply(op: Op, left: &ColumnarValue, right: &ColumnarValue) -> Result<ColumnarValue> {
    match op {
        Op::Add => datum::apply(left, right, numeric::add),
        Op::Subtract => datum::apply(left, right, numeric::sub),
        Op::Multiply => datum::apply(left, right, numeric::mul),
        Op::Modulo => datum::apply(left, right, |l, r| by_nonzero(l, r, numeric::rem)),
        Op::Remainder => datum::apply(left, right, |l, r| {
            none_by_zero(l, r)?;
            numeric::rem(l, r)
        }),
        Op::Divide | Op::Quotient => datum::apply(left, right, |l, r| {
            none_by_zero(l, r)?;
            numeric::div(l, r)
        }),
        // HUGEINT and UHUGEINT: DuckDB divides them as they are.
        Op::IntegerDivide => datum::apply(left, right, |l, r| by_nonzero(l, r, numeric::div)),
        Op::ShiftLeft | Op::ShiftRight => {
            plan_err!("{} takes integers here; cast its operands", op.symbol())
        }
    }
}

/// Divides doubles; by zero there is nothing.
fn by_nonzero(
    left: &dyn Datum,
    right: &dyn Datum,
    of: fn(&dyn Datum, &dyn Datum) -> std::result::Result<ArrayRef, ArrowError>,
) -> std::result::Result<ArrayRef, ArrowError> {
    let (divisor, is_one) = right.get();
    if divisor.data_type() != &DataType::Float64 {
        return of(left, right);
    }
    let is_zero = cmp::eq(&divisor, &Float64Array::new_scalar(0.0))?;
    let divisor = nullif(divisor, &is_zero)?;
    match is_one {
        true => of(left, &Scalar::new(divisor)),
        false => of(left, &divisor),
    }
}

/// Fails where a float that is a number is divided by zero.
fn none_by_zero(left: &dyn Datum, right: &dyn Datum) -> std::result::Result<(), ArrowError> {
    match right.get().0.data_type() {
        DataType::Float32 => none_by_zero_of::<Float32Type>(left, right),
        _ => none_by_zero_of::<Float64Type>(left, right),
    }
}

fn none_by_zero_of<T: ArrowPrimitiveType>(
    left: &dyn Datum,
    right: &dyn Datum,
) -> std::result::Result<(), ArrowError>
where
    T::Native: Into<f64>,
{
    let ((left, left_is_one), (right, right_is_one)) = (left.get(), right.get());
    let (left, right) = (left.as_primitive::<T>(), right.as_primitive::<T>());
    let is_zero = |row: usize| right.is_valid(row) && right.value(row).into() == 0.0;
    let is_number = |row: usize| left.is_valid(row) && !left.value(row).into().is_nan();
    let fails = match (left_is_one, right_is_one) {
        (_, true) => is_zero(0) && (0..left.len()).any(is_number),
        (true, false) => is_number(0) && (0..right.len()).any(is_zero),
        (false, false) => (0..right.len()).any(|row| is_zero(row) && is_number(row)),
    };
    match fails {
        true => Err(by_zero()),
        false => Ok(()),
    }
}

/// What `left op right` has made, if it is in the range of its type.
///
/// # Errors
/// Where it is not.
pub(super) fn in_range(
    op: Op,
    made: ColumnarValue,
    left: &ColumnarValue,
    right: &ColumnarValue,
) -> Result<ColumnarValue> {
    let values = made.clone().into_array(1)?;
    let is_odd = match values.data_type() {
        DataType::Float32 => has_odd::<Float32Type>(op, &values),
        DataType::Float64 => has_odd::<Float64Type>(op, &values),
        _ => false,
    };
    if is_odd {
        let rows = values.len();
        let [left, right] = [left, right].map(|side| side.clone().into_array(rows));
        let (left, right) = (left?, right?);
        match values.data_type() {
            DataType::Float32 => check::<Float32Type>(op, &values, &left, &right)?,
            _ => check::<Float64Type>(op, &values, &left, &right)?,
        }
    }
    Ok(made)
}

fn may_vanish(op: Op) -> bool {
    matches!(op, Op::Multiply | Op::Divide | Op::Quotient)
}

/// Whether a value is infinite, or zero where that may be too little.
fn has_odd<T: ArrowPrimitiveType>(op: Op, values: &ArrayRef) -> bool
where
    T::Native: Into<f64>,
{
    let mut values = values.as_primitive::<T>().values().iter();
    let vanishes = may_vanish(op);
    values.any(|value| {
        let value: f64 = (*value).into();
        value.is_infinite() || vanishes && value == 0.0
    })
}

fn check<T: ArrowPrimitiveType>(
    op: Op,
    made: &ArrayRef,
    left: &ArrayRef,
    right: &ArrayRef,
) -> Result<()>
where
    T::Native: Into<f64>,
{
    let [made, left, right] = [made, left, right].map(|values| values.as_primitive::<T>());
    for row in (0..made.len()).filter(|row| made.is_valid(*row)) {
        let [made, left, right]: [f64; 3] = [made, left, right].map(|of| of.value(row).into());
        if made.is_infinite() && left.is_finite() && right.is_finite() {
            return Err(overflow().into());
        }
        let vanishes = match op {
            Op::Multiply => left != 0.0 && right != 0.0,
            Op::Divide | Op::Quotient => left != 0.0 && right.is_finite(),
            _ => false,
        };
        if made == 0.0 && vanishes {
            return Err(too_little().into());
        }
    }
    Ok(())
}

/// A float is too large for its type.
pub(super) fn overflow() -> Error {
    Error::new(ErrorKind::OutOfRange, "value out of range: overflow")
}

fn too_little() -> Error {
    Error::new(ErrorKind::OutOfRange, "value out of range: underflow")
}
