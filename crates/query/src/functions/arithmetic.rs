//! `+ - * % //` on integers and decimals, and `<< >>` on integers, as functions that fail where DataFusion's operators would wrap.
//!
//! What must hold: both arguments come in one storage class (and, but for `*`, one scale): `operand_types` says which, and
//! type coercion brings them there, when all types are settled. So a result's type follows from the argument types alone.
//! Result types follow DuckDB's decimal rules: precision grows until 18 digits and stays there with a check while both
//! sides fit 64 bits, then grows to 38.

use super::float_arithmetic;
use super::quotient::{QUOTIENT, quotient};
use crate::common_types::number_kind::{
    MAX_DIGITS_64, MAX_DIGITS_128, Number, decimal_type, float_type, int_digits, int_type,
    operand_int,
};
use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use datafusion::arrow::compute::{binary, try_binary};
use datafusion::arrow::datatypes::{
    DataType, Decimal64Type, Decimal128Type, Decimal256Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type, i256,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, exec_err, internal_err, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::type_names::type_name;
use hushdb_sql::{Error, ErrorKind, sqlstate};
use hushdb_storage::HUGEINT;
use std::any::Any;
use std::sync::{Arc, LazyLock};

/// One of the checked operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Add,
    Subtract,
    Multiply,
    /// Remainder; by zero it is NULL.
    Modulo,
    /// Integer division, truncating; by zero it is NULL.
    IntegerDivide,
    /// PostgreSQL's division: of whole numbers it truncates; by zero it fails.
    Divide,
    /// The same of numerics where no divisor is zero.
    Quotient,
    /// PostgreSQL's remainder: by zero it fails.
    Remainder,
    ShiftLeft,
    /// By more than there are bits, or by less than none, it is 0.
    ShiftRight,
}

impl Op {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Op::Add => "+",
            Op::Subtract => "-",
            Op::Multiply => "*",
            Op::Modulo | Op::Remainder => "%",
            Op::IntegerDivide => "//",
            Op::Divide | Op::Quotient => "/",
            Op::ShiftLeft => "<<",
            Op::ShiftRight => ">>",
        }
    }

    /// What an error calls it.
    fn word(self) -> &'static str {
        match self {
            Op::Add => "addition",
            Op::Subtract => "subtraction",
            Op::Multiply => "multiplication",
            Op::Modulo | Op::Remainder => "modulo",
            Op::IntegerDivide | Op::Divide | Op::Quotient => "division",
            Op::ShiftLeft => "left shift",
            Op::ShiftRight => "right shift",
        }
    }

    fn divides(self) -> bool {
        matches!(self, Op::Modulo | Op::IntegerDivide | Op::Quotient) || self.fails_of_zero()
    }

    fn fails_of_zero(self) -> bool {
        matches!(self, Op::Divide | Op::Remainder)
    }

    /// The type of what it gives for operands that were brought to one storage class.
    pub(super) fn result_type(self, left: &DataType, right: &DataType) -> Result<DataType> {
        use DataType::{Decimal64, Decimal128};
        match (left, right) {
            (Decimal128(..), Decimal128(..)) if matches!(self, Op::Divide | Op::Quotient) => {
                Ok(QUOTIENT)
            }
            (Decimal64(p1, s1), Decimal64(p2, s2)) | (Decimal128(p1, s1), Decimal128(p2, s2)) => {
                let Some((p, s)) = decimal_result(self, (*p1, *s1), (*p2, *s2)) else {
                    return exec_err!("the result of {} would have a scale over 38", self.symbol());
                };
                // Arguments of one class can only give that class or the wider one.
                Ok(match left {
                    Decimal128(..) => Decimal128(p, s),
                    _ => decimal_type(p, s),
                })
            }
            (left, right) if left == right => Ok(left.clone()),
            (left, right) => internal_err!("{left} {} {right} was not coerced", self.symbol()),
        }
    }

    /// The function that computes this operator of floats, and fails where the result leaves their range.
    pub(super) fn function_in_range(self) -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::from(Checked::new(self, true)))
    }

    /// The function that computes this operator.
    pub(crate) fn function(self) -> Arc<ScalarUDF> {
        static ALL: LazyLock<[Arc<ScalarUDF>; 10]> = LazyLock::new(|| {
            [
                Op::Add,
                Op::Subtract,
                Op::Multiply,
                Op::Modulo,
                Op::IntegerDivide,
                Op::Divide,
                Op::Quotient,
                Op::Remainder,
                Op::ShiftLeft,
                Op::ShiftRight,
            ]
            .map(|op| Arc::new(ScalarUDF::from(Checked::new(op, false))))
        });
        Arc::clone(&ALL[self as usize])
    }
}

/// DuckDB's result type of a decimal operation on DECIMAL(p1,s1) and DECIMAL(p2,s2); `None` when the scale passes 38.
pub(crate) fn decimal_result(op: Op, (p1, s1): (u8, i8), (p2, s2): (u8, i8)) -> Option<(u8, i8)> {
    let widest = p1.max(p2);
    match op {
        Op::Multiply => {
            let scale = s1 + s2;
            let precision = p1 + p2;
            if scale > MAX_DIGITS_128 as i8 {
                return None;
            }
            if precision > MAX_DIGITS_64 && widest <= MAX_DIGITS_64 && scale < MAX_DIGITS_64 as i8 {
                return Some((MAX_DIGITS_64, scale));
            }
            Some((precision.min(MAX_DIGITS_128), scale))
        }
        Op::Modulo
        | Op::IntegerDivide
        | Op::Divide
        | Op::Quotient
        | Op::Remainder
        | Op::ShiftLeft
        | Op::ShiftRight => Some((widest, s1.max(s2))),
        Op::Add | Op::Subtract => {
            let scale = s1.max(s2);
            let whole = (p1 as i8 - s1).max(p2 as i8 - s2);
            let precision = ((scale + whole) as u8).max(widest) + 1;
            if precision > MAX_DIGITS_64 && widest <= MAX_DIGITS_64 {
                return Some((MAX_DIGITS_64, scale));
            }
            Some((precision.min(MAX_DIGITS_128), scale))
        }
    }
}

/// The types that operands of these types are brought to; `None` when they are not both numbers.
pub(super) fn operand_types(
    op: Op,
    left: &DataType,
    right: &DataType,
) -> Result<Option<[DataType; 2]>> {
    let (Some(l), Some(r)) = (Number::of(left), Number::of(right)) else {
        return Ok(None);
    };
    if matches!(op, Op::Divide | Op::Quotient)
        && let Some(scale) = scale_of_numerics(l, r)
    {
        let to = DataType::Decimal128(MAX_DIGITS_128, scale);
        return Ok(Some([to.clone(), to]));
    }
    if let (Number::Int { bits, signed }, Number::Int { bits: b, signed: s }) = (l, r)
        && let Some((bits, signed)) = operand_int((bits, signed), (b, s))
    {
        return Ok(Some([int_type(bits, signed), int_type(bits, signed)]));
    }
    // HUGEINT and UHUGEINT have no integer in common.
    let are_whole = |number| matches!(number, Number::Int { .. });
    if are_whole(l) && are_whole(r) {
        return Ok(Some([DataType::Float64, DataType::Float64]));
    }
    // As in DuckDB, which has no DECIMAL for the digits of both.
    let is_huge = |number| matches!(number, Number::Int { bits: 128, .. });
    if op == Op::Modulo && (is_huge(l) || is_huge(r)) {
        return Ok(Some([DataType::Float64, DataType::Float64]));
    }
    let digits = |number| match number {
        Number::Decimal(p, s) => Some((p, s)),
        Number::Int { bits, signed } => Some((int_digits(bits, signed), 0)),
        Number::Float => None,
    };
    let (Some(mut a), Some(mut b)) = (digits(l), digits(r)) else {
        let to = float_type(left, right);
        return Ok(Some([to.clone(), to]));
    };
    if matches!(op, Op::IntegerDivide | Op::ShiftLeft | Op::ShiftRight) && a.1.max(b.1) > 0 {
        return plan_err!(
            "{} over UNION of whole numbers and others needs a cast",
            op.symbol()
        );
    }
    if op != Op::Multiply {
        // One scale for both sides; digits grow with it.
        let scale = a.1.max(b.1);
        let rescale = |(p, s): (u8, i8)| ((p + (scale - s) as u8).min(MAX_DIGITS_128), scale);
        // Bringing a side to more than 18 digits would leave 64 bits for no reason: DuckDB stays there with a check.
        let narrow = a.0 <= MAX_DIGITS_64 && b.0 <= MAX_DIGITS_64;
        (a, b) = (rescale(a), rescale(b));
        if narrow {
            a.0 = a.0.min(MAX_DIGITS_64);
            b.0 = b.0.min(MAX_DIGITS_64);
        }
    }
    if decimal_result(op, a, b).is_none() {
        return plan_err!(
            "the product would have more than 38 digits after the point; cast an operand to a smaller scale"
        );
    }
    let wide = a.0 > MAX_DIGITS_64 || b.0 > MAX_DIGITS_64;
    Ok(Some([a, b].map(|(p, s)| match wide {
        true => DataType::Decimal128(p, s),
        false => decimal_type(p, s),
    })))
}

/// Digits behind the point of PostgreSQL's numerics that are divided; `None` where one is a float, or both are whole numbers there, of
/// eight bytes at most.
fn scale_of_numerics(left: Number, right: Number) -> Option<i8> {
    let scale = |number| match number {
        Number::Decimal(_, scale) => Some(scale),
        Number::Int { .. } => Some(0),
        Number::Float => None,
    };
    let is_whole = |number| matches!(number, Number::Int { bits, .. } if bits < 128);
    let scale = scale(left)?.max(scale(right)?);
    (!(is_whole(left) && is_whole(right))).then_some(scale)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    op: Op,
    /// Whether floats may not leave their range.
    in_range: bool,
    signature: Signature,
}

impl Checked {
    fn new(op: Op, in_range: bool) -> Self {
        // What fails is not computed while a plan is made, nor before a condition that stands beside it.
        let volatility = match op.fails_of_zero() {
            true => Volatility::Volatile,
            false => Volatility::Immutable,
        };
        Self {
            op,
            in_range,
            signature: Signature::user_defined(volatility),
        }
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        self.op.symbol()
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [left, right] = args else {
            return internal_err!("{} takes two arguments", self.name());
        };
        Ok(format!(
            "({} {} {})",
            left.schema_name(),
            self.op.symbol(),
            right.schema_name()
        ))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [left, right] = types else {
            return plan_err!("{} takes two arguments", self.name());
        };
        match operand_types(self.op, left, right)? {
            Some(types) => Ok(types.to_vec()),
            None => plan_err!(
                "No function matches {} {} {}",
                type_name(left),
                self.op.symbol(),
                type_name(right)
            ),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.op.result_type(&types[0], &types[1])
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = args.args.as_slice() else {
            return internal_err!("{} takes two arguments", self.name());
        };
        let made = apply(self.op, left, right, args.return_field.data_type())?;
        match self.in_range {
            true => float_arithmetic::in_range(self.op, made, left, right),
            false => Ok(made),
        }
    }
}

/// The left operand of a call of one of these functions.
pub(super) fn left_operand(expr: &Expr) -> Option<&Expr> {
    let Expr::ScalarFunction(ScalarFunction { func, args }) = expr else {
        return None;
    };
    let function: &dyn Any = func.inner().as_ref();
    args.first().filter(|_| function.is::<Checked>())
}

/// `left op right`.
pub(super) fn apply(
    op: Op,
    left: &ColumnarValue,
    right: &ColumnarValue,
    result_type: &DataType,
) -> Result<ColumnarValue> {
    if result_type.is_floating() {
        return float_arithmetic::apply(op, left, right);
    }
    let scalar = matches!(
        (left, right),
        (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_))
    );
    let array = match (left, right) {
        // A column and a constant: no array of the constant is made.
        (ColumnarValue::Array(left), ColumnarValue::Scalar(right)) if !right.is_null() => {
            with_constant(op, left, &right.to_array()?, result_type, false)?
        }
        (ColumnarValue::Scalar(left), ColumnarValue::Array(right)) if !left.is_null() => {
            with_constant(op, right, &left.to_array()?, result_type, true)?
        }
        _ => {
            let arrays = ColumnarValue::values_to_arrays(&[left.clone(), right.clone()])?;
            evaluate(op, &arrays[0], &arrays[1], result_type)?
        }
    };
    if scalar {
        return Ok(ColumnarValue::Scalar(
            datafusion::common::ScalarValue::try_from_array(&array, 0)?,
        ));
    }
    Ok(ColumnarValue::Array(array))
}

pub(super) fn by_zero() -> ArrowError {
    let what = Error::new(
        ErrorKind::OutOfRange,
        "division by zero: leave such rows out, or divide by nullif(..., 0)",
    );
    ArrowError::ExternalError(Box::new(what.with_sqlstate(sqlstate::DIVISION_BY_ZERO)))
}

fn overflow(op: Op) -> ArrowError {
    let what = Error::new(
        ErrorKind::OutOfRange,
        format!(
            "Overflow in {}: the result does not fit its type; cast an operand to a wider type",
            op.word()
        ),
    );
    ArrowError::ExternalError(Box::new(what))
}

/// Integer arithmetic that says when it does not fit; `None` for NULL.
trait Exact: Copy {
    fn apply(self, op: Op, other: Self) -> Option<Self>;
    fn is_zero(self) -> bool;
}

macro_rules! exact {
    ($($t:ty),*) => {$(
        impl Exact for $t {
            #[inline(always)]
            #[allow(unused_comparisons, reason = "unsigned numbers are never less than 0")]
            fn apply(self, op: Op, other: Self) -> Option<Self> {
                match op {
                    Op::Add => self.checked_add(other),
                    Op::Subtract => self.checked_sub(other),
                    Op::Multiply => self.checked_mul(other),
                    Op::Modulo | Op::Remainder => self.checked_rem(other),
                    Op::IntegerDivide | Op::Divide | Op::Quotient => self.checked_div(other),
                    Op::ShiftLeft => match (self >= 0, u32::try_from(other)) {
                        (true, Ok(by)) => {
                            let shifted = self.checked_shl(by).unwrap_or(0);
                            let back = shifted.checked_shr(by).unwrap_or(0);
                            (shifted >= 0 && back == self).then_some(shifted)
                        }
                        _ => None,
                    },
                    Op::ShiftRight => Some(match u32::try_from(other) {
                        Ok(by) => self.checked_shr(by).unwrap_or(0),
                        Err(_) => 0,
                    }),
                }
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0
            }
        }
    )*};
}
exact!(i8, i16, i32, i64, u8, u16, u32, u64, i128, u128);

fn evaluate(op: Op, left: &ArrayRef, right: &ArrayRef, result: &DataType) -> Result<ArrayRef> {
    use DataType as T;
    Ok(match (left.data_type(), result) {
        (T::Int8, _) => same::<Int8Type>(op, left, right, result)?,
        (T::Int16, _) => same::<Int16Type>(op, left, right, result)?,
        (T::Int32, _) => same::<Int32Type>(op, left, right, result)?,
        (T::Int64, _) => same::<Int64Type>(op, left, right, result)?,
        (T::UInt8, _) => same::<UInt8Type>(op, left, right, result)?,
        (T::UInt16, _) => same::<UInt16Type>(op, left, right, result)?,
        (T::UInt32, _) => same::<UInt32Type>(op, left, right, result)?,
        (T::UInt64, _) => same::<UInt64Type>(op, left, right, result)?,
        (T::Decimal256(..), _) => huge(op, left, right, result)?,
        (T::Decimal64(..), T::Decimal64(p, _)) => {
            let limit = 10i64.pow(u32::from(*p));
            if may_overflow(op, left.data_type(), right.data_type(), *p) {
                decimal::<Decimal64Type>(op, left, right, result, |v| v > -limit && v < limit)?
            } else {
                decimal::<Decimal64Type>(op, left, right, result, |_| true)?
            }
        }
        (T::Decimal64(..), T::Decimal128(..)) => {
            let (left, right) = (
                left.as_primitive::<Decimal64Type>(),
                right.as_primitive::<Decimal64Type>(),
            );
            // Two 64-bit operands always fit 128 bits.
            let wide = |a: i64, b: i64| i128::from(a).apply(op, i128::from(b)).unwrap_or_default();
            let array: PrimitiveArray<Decimal128Type> = binary(left, right, wide)?;
            Arc::new(array.with_data_type(result.clone()))
        }
        (T::Decimal128(..), T::Decimal128(..)) if matches!(op, Op::Divide | Op::Quotient) => {
            quotients(left, right)?
        }
        (T::Decimal128(..), T::Decimal128(p, _)) => {
            let limit = 10i128.pow(u32::from(*p));
            decimal::<Decimal128Type>(op, left, right, result, |v| v > -limit && v < limit)?
        }
        (other, _) => return internal_err!("{} over {other} was not planned", op.symbol()),
    })
}

/// Whether values of the argument types can leave `precision` digits.
fn may_overflow(op: Op, left: &DataType, right: &DataType, precision: u8) -> bool {
    let (DataType::Decimal64(p1, s1), DataType::Decimal64(p2, s2)) = (left, right) else {
        return true;
    };
    let needed = match op {
        Op::Multiply => p1 + p2,
        Op::Add | Op::Subtract if s1 == s2 => p1.max(p2) + 1,
        _ => return true,
    };
    needed > precision
}

fn same<T: ArrowPrimitiveType>(
    op: Op,
    left: &ArrayRef,
    right: &ArrayRef,
    result: &DataType,
) -> Result<ArrayRef>
where
    T::Native: Exact,
{
    let (left, right) = (left.as_primitive::<T>(), right.as_primitive::<T>());
    if op.divides() {
        return divide(op, left, right, result);
    }
    let array: PrimitiveArray<T> = try_binary(left, right, |a, b| {
        a.apply(op, b).ok_or_else(|| overflow(op))
    })?;
    Ok(Arc::new(array.with_data_type(result.clone())))
}

/// HUGEINTs or UHUGEINTs.
fn huge(op: Op, left: &ArrayRef, right: &ArrayRef, result: &DataType) -> Result<ArrayRef> {
    let left = left.as_primitive::<Decimal256Type>();
    let right = right.as_primitive::<Decimal256Type>();
    let made = |a: i256, b: i256| match *result == HUGEINT {
        true => a.as_i128().apply(op, b.as_i128()).map(i256::from_i128),
        false => {
            let made = a.to_parts().0.apply(op, b.to_parts().0);
            made.map(|made| i256::from_parts(made, 0))
        }
    };
    let values = left.iter().zip(right).map(|pair| match pair {
        (Some(_), Some(b)) if op.divides() && b == i256::ZERO => match op.fails_of_zero() {
            true => Err(by_zero()),
            false => Ok(None),
        },
        (Some(a), Some(b)) => made(a, b).map(Some).ok_or_else(|| overflow(op)),
        _ => Ok(None),
    });
    let values = values.collect::<Result<PrimitiveArray<Decimal256Type>, ArrowError>>()?;
    Ok(Arc::new(values.with_data_type(result.clone())))
}

/// Numerics of one scale, divided.
fn quotients(left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef> {
    let [left, right] = [left, right].map(|side| side.as_primitive::<Decimal128Type>());
    let each = left.iter().zip(right).map(|pair| match pair {
        (Some(_), Some(0)) => Err(by_zero()),
        (Some(a), Some(b)) => {
            let quotient = quotient(a, b, 0).map_err(|e| ArrowError::ExternalError(Box::new(e)));
            quotient.map(Some)
        }
        _ => Ok(None),
    });
    let quotients = each.collect::<Result<PrimitiveArray<Decimal128Type>, ArrowError>>()?;
    Ok(Arc::new(quotients.with_data_type(QUOTIENT)))
}

/// Division and remainder give NULL where the divisor is zero, or fail.
fn divide<T: ArrowPrimitiveType>(
    op: Op,
    left: &PrimitiveArray<T>,
    right: &PrimitiveArray<T>,
    result: &DataType,
) -> Result<ArrayRef>
where
    T::Native: Exact,
{
    let (mut fits, mut zero) = (true, false);
    let array: PrimitiveArray<T> = left
        .iter()
        .zip(right.iter())
        .map(|pair| match pair {
            (Some(a), Some(b)) if !b.is_zero() => {
                let value = a.apply(op, b);
                fits &= value.is_some();
                value
            }
            (Some(_), Some(_)) => {
                zero = true;
                None
            }
            _ => None,
        })
        .collect();
    if zero && op.fails_of_zero() {
        return Err(by_zero().into());
    }
    if !fits {
        return Err(overflow(op).into());
    }
    Ok(Arc::new(array.with_data_type(result.clone())))
}

fn decimal<T: ArrowPrimitiveType>(
    op: Op,
    left: &ArrayRef,
    right: &ArrayRef,
    result: &DataType,
    fits: impl Fn(T::Native) -> bool,
) -> Result<ArrayRef>
where
    T::Native: Exact,
{
    let (left, right) = (left.as_primitive::<T>(), right.as_primitive::<T>());
    if op.divides() {
        return divide(op, left, right, result);
    }
    let array: PrimitiveArray<T> = try_binary(left, right, |a, b| match a.apply(op, b) {
        Some(v) if fits(v) => Ok(v),
        _ => Err(overflow(op)),
    })?;
    Ok(Arc::new(array.with_data_type(result.clone())))
}

/// `column op constant`, or with `swapped` `constant op column`. The common decimal cases of analytical queries skip the
/// second array; the rest expands the constant.
fn with_constant(
    op: Op,
    column: &ArrayRef,
    constant: &ArrayRef,
    result: &DataType,
    swapped: bool,
) -> Result<ArrayRef> {
    if let (DataType::Decimal64(..), DataType::Decimal64(p, _)) = (column.data_type(), result)
        && matches!(op, Op::Add | Op::Subtract | Op::Multiply)
    {
        let values = column.as_primitive::<Decimal64Type>();
        let other = constant.as_primitive::<Decimal64Type>().value(0);
        let limit = 10i64.pow(u32::from(*p));
        let array: PrimitiveArray<Decimal64Type> =
            if may_overflow(op, column.data_type(), constant.data_type(), *p) {
                values.try_unary(|v| {
                    let (a, b) = if swapped { (other, v) } else { (v, other) };
                    a.apply(op, b)
                        .filter(|r| *r > -limit && *r < limit)
                        .ok_or_else(|| overflow(op))
                })?
            } else {
                // The types prove that nothing can overflow.
                values.unary(|v| {
                    let (a, b) = if swapped { (other, v) } else { (v, other) };
                    a.apply(op, b).unwrap_or_default()
                })
            };
        return Ok(Arc::new(array.with_data_type(result.clone())));
    }
    let expanded = datafusion::common::ScalarValue::try_from_array(constant, 0)?
        .to_array_of_size(column.len())?;
    if swapped {
        evaluate(op, &expanded, column, result)
    } else {
        evaluate(op, column, &expanded, result)
    }
}
