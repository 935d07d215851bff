//! `Number`: what the rules of arithmetic and of common types have to know about a numeric type.

use datafusion::arrow::datatypes::DataType;

/// What kind of number a type is.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Number {
    Int { bits: u8, signed: bool },
    Decimal(u8, i8),
    Float,
}

impl Number {
    /// None for what is not a number, and for decimals of negative scale.
    pub(super) fn of(data_type: &DataType) -> Option<Self> {
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
            T::Decimal32(p, s) | T::Decimal64(p, s) | T::Decimal128(p, s) if *s >= 0 => {
                Some(Self::Decimal(*p, *s))
            }
            T::Float16 | T::Float32 | T::Float64 => Some(Self::Float),
            _ => None,
        }
    }
}

/// The integer type of a width.
pub(super) fn int_type(bits: u8, signed: bool) -> DataType {
    match (bits, signed) {
        (8, true) => DataType::Int8,
        (16, true) => DataType::Int16,
        (32, true) => DataType::Int32,
        (_, true) => DataType::Int64,
        (8, false) => DataType::UInt8,
        (16, false) => DataType::UInt16,
        (32, false) => DataType::UInt32,
        (_, false) => DataType::UInt64,
    }
}

/// Digits that every value of an integer type fits, as DuckDB counts them.
pub(super) fn int_digits(bits: u8, signed: bool) -> u8 {
    match (bits, signed) {
        (8, _) => 3,
        (16, _) => 5,
        (32, _) => 10,
        (_, true) => 19,
        (_, false) => 20,
    }
}

/// Digits of an integer literal.
pub(super) fn literal_digits(value: i64) -> u8 {
    value.unsigned_abs().max(1).ilog10() as u8 + 1
}
