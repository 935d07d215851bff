//! `Number`: what the rules of arithmetic and of common types have to know about a numeric type.

use datafusion::arrow::datatypes::{DataType, i256};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use hushdb_storage::{HUGEINT, UHUGEINT};

/// Digits that 64 bits and 128 bits hold.
pub(crate) const MAX_DIGITS_64: u8 = 18;
pub(crate) const MAX_DIGITS_128: u8 = 38;

/// What kind of number a type is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Int { bits: u8, signed: bool },
    Decimal(u8, i8),
    Float,
}

impl Number {
    /// None for what is not a number, and for decimals of negative scale.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        use DataType as T;
        let int = |bits, signed| Some(Self::Int { bits, signed });
        match data_type {
            T::Int8 => int(8, true),
            T::Int16 => int(16, true),
            T::Int32 => int(32, true),
            T::Int64 => int(64, true),
            T::UInt8 => int(8, false),
            T::UInt16 => int(16, false),
            T::UInt32 => int(32, false),
            T::UInt64 => int(64, false),
            of if *of == HUGEINT => int(128, true),
            of if *of == UHUGEINT => int(128, false),
            T::Decimal32(p, s) | T::Decimal64(p, s) | T::Decimal128(p, s) if *s >= 0 => {
                Some(Self::Decimal(*p, *s))
            }
            T::Float16 | T::Float32 | T::Float64 => Some(Self::Float),
            _ => None,
        }
    }
}

/// The integer type of a width.
pub(crate) fn int_type(bits: u8, signed: bool) -> DataType {
    match (bits, signed) {
        (8, true) => DataType::Int8,
        (16, true) => DataType::Int16,
        (32, true) => DataType::Int32,
        (128, true) => HUGEINT,
        (_, true) => DataType::Int64,
        (8, false) => DataType::UInt8,
        (16, false) => DataType::UInt16,
        (32, false) => DataType::UInt32,
        (128, false) => UHUGEINT,
        (_, false) => DataType::UInt64,
    }
}

/// The Arrow type of DECIMAL(p,s): 64 bits up to 18 digits.
pub(crate) fn decimal_type(precision: u8, scale: i8) -> DataType {
    if precision <= MAX_DIGITS_64 {
        DataType::Decimal64(precision, scale)
    } else {
        DataType::Decimal128(precision, scale)
    }
}

/// Digits that every value of an integer type fits, as DuckDB counts them.
pub(crate) fn int_digits(bits: u8, signed: bool) -> u8 {
    match (bits, signed) {
        (8, _) => 3,
        (16, _) => 5,
        (32, _) => 10,
        // Those that have more do not fit a decimal.
        (128, _) => MAX_DIGITS_128,
        (_, true) => 19,
        (_, false) => 20,
    }
}

/// The float that two numbers are divided as, or of which one is a float: FLOAT beside anything but a DOUBLE stays FLOAT.
pub(crate) fn float_type(left: &DataType, right: &DataType) -> DataType {
    let either = |ty: DataType| *left == ty || *right == ty;
    if either(DataType::Float32) && !either(DataType::Float64) {
        DataType::Float32
    } else {
        DataType::Float64
    }
}

/// Width and sign of the integer type that holds two others; `None` where only more than 128 bits do.
pub(crate) fn common_int(a: (u8, bool), b: (u8, bool)) -> Option<(u8, bool)> {
    if a.1 == b.1 {
        return Some((a.0.max(b.0), a.1));
    }
    let (signed, unsigned) = if a.1 { (a.0, b.0) } else { (b.0, a.0) };
    (unsigned < 128).then(|| (signed.max(unsigned * 2), true))
}

/// Width and sign of the integers that operands become: BIGINT, at least, where neither type holds the other, as in DuckDB.
pub(crate) fn operand_int(a: (u8, bool), b: (u8, bool)) -> Option<(u8, bool)> {
    let to = common_int(a, b)?;
    Some(if to == a || to == b {
        to
    } else {
        (to.0.max(64), true)
    })
}

/// Whether a type is HUGEINT or UHUGEINT.
pub(crate) fn is_huge(ty: &DataType) -> bool {
    *ty == HUGEINT || *ty == UHUGEINT
}

/// Digits of an integer literal.
pub(crate) fn literal_digits(value: i64) -> u8 {
    value.unsigned_abs().max(1).ilog10() as u8 + 1
}

/// The value of an integer literal.
pub(crate) fn int_literal(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(ScalarValue::Int32(Some(v)), _) => Some(i64::from(*v)),
        Expr::Literal(ScalarValue::Int64(Some(v)), _) => Some(*v),
        _ => None,
    }
}

/// The value of an integer literal, which may be a HUGEINT.
pub(crate) fn huge_literal(expr: &Expr) -> Option<i128> {
    match expr {
        Expr::Literal(ScalarValue::Decimal256(Some(v), 39, 0), _) => Some(v.as_i128()),
        other => int_literal(other).map(i128::from),
    }
}

/// A whole number past BIGINT: a HUGEINT, a UHUGEINT or, past that, a DOUBLE.
pub(crate) fn huge_value(value: &ScalarValue) -> Option<ScalarValue> {
    let value = match value {
        ScalarValue::UInt64(Some(v)) => i256::from_i128(i128::from(*v)),
        ScalarValue::Decimal128(Some(v), _, 0) => i256::from_i128(*v),
        ScalarValue::Decimal256(Some(v), _, 0) => *v,
        _ => return None,
    };
    let (digits, above) = (38 + 1, value.to_parts().1);
    Some(match value.to_i128() {
        Some(_) => ScalarValue::Decimal256(Some(value), digits, 0),
        None if above == 0 => ScalarValue::Decimal256(Some(value), digits + 1, 0),
        None => ScalarValue::Float64(value.to_string().parse().ok()),
    })
}

/// Whether an integer type has the value.
pub(crate) fn int_fits(value: i128, (bits, signed): (u8, bool)) -> bool {
    if signed {
        let most = i128::MAX >> (128 - bits);
        (-most - 1..=most).contains(&value)
    } else {
        value >= 0 && (bits == 128 || value < 1i128 << bits)
    }
}
