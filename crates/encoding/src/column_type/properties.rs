//! `Properties`: what is true of all values of a type, a row for each type.
//!
//! What must hold: the row of a type never changes what is in a file already: widths and kinds of bounds are FORMAT.md's ("Tables",
//! "Write-ahead log").

use super::{ColumnType, MAX_DECIMAL64_PRECISION};
use arrow_schema::TimeUnit;

/// What is true of all values of a type.
pub struct Properties<'a> {
    /// How they lie in memory and in records.
    pub values: Values<'a>,
    /// What they are compressed as.
    pub parts: Parts,
    /// What is recorded of the least and the greatest.
    pub bounds: Bounds,
    /// Whether a column of the type can be part of a key: its values have an order that bytes can have, too.
    pub is_key: bool,
}

/// How values lie in memory and in records of the log.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    /// A bit each in memory, a byte in records.
    Bits,
    /// This many bytes each.
    Fixed(usize),
    /// UTF-8.
    Text,
    /// Bytes.
    Bytes,
    /// Any number of values of a type, or as many as an ARRAY says.
    List(&'a ColumnType),
    /// A value of each field.
    Struct(&'a [(String, ColumnType)]),
    /// As a list of structs of this type: a key, which is not NULL, and its value.
    Map(&'a ColumnType),
}

/// Of which flat arrays a value is compressed that is neither list, struct nor map (FORMAT.md, "Segments").
#[derive(Clone, Copy)]
pub enum Parts {
    /// Its own.
    Whole,
    /// Integers: of precision and scale.
    Decimal64(u8, i8),
    /// Upper and lower halves.
    Decimal128(u8, i8),
    /// Integers.
    Date,
    /// Integers.
    Time,
    /// Integers: ticks, and whether they are in UTC.
    Timestamp(TimeUnit, bool),
    /// Months, days and nanoseconds.
    Interval,
    /// Upper and lower halves.
    Uuid,
    /// Upper and lower halves of 128 bits, of which the upper one has a sign or has none.
    Huge(bool),
    /// A number that is its bytes, big-endian.
    TimeTz,
    /// Its bytes.
    Bit,
}

/// The kind of the least and the greatest value that a segment records.
#[derive(Clone, Copy)]
pub enum Bounds {
    /// None is recorded.
    None,
    /// False and true.
    Bool,
    /// Of this range.
    Signed(i64, i64),
    /// Unsigned numbers.
    Unsigned,
    /// Floating point numbers.
    Float,
    /// Numbers of 16 bytes.
    Int128,
    /// The first bytes of texts.
    Text,
    /// The first bytes.
    Bytes,
    /// This many bytes.
    ExactBytes(usize),
}

impl ColumnType {
    /// The row of this type.
    pub fn properties(&self) -> Properties<'_> {
        let of_bits = |bits: u32| Bounds::Signed(i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
        let row = |values, parts, bounds, is_key| Properties {
            values,
            parts,
            bounds,
            is_key,
        };
        let fixed = |width, parts, bounds| row(Values::Fixed(width), parts, bounds, true);
        let whole = |width, bounds| fixed(width, Parts::Whole, bounds);
        let nested = |values| row(values, Parts::Whole, Bounds::None, false);
        match self {
            Self::Boolean => row(Values::Bits, Parts::Whole, Bounds::Bool, true),
            Self::Int8 => whole(1, of_bits(8)),
            Self::Int16 => whole(2, of_bits(16)),
            Self::Int32 => whole(4, of_bits(32)),
            Self::Int64 => whole(8, of_bits(64)),
            Self::UInt8 => whole(1, Bounds::Unsigned),
            Self::UInt16 => whole(2, Bounds::Unsigned),
            Self::UInt32 => whole(4, Bounds::Unsigned),
            Self::UInt64 => whole(8, Bounds::Unsigned),
            Self::Float => whole(4, Bounds::Float),
            Self::Double => whole(8, Bounds::Float),
            Self::Decimal { precision, scale } if *precision <= MAX_DECIMAL64_PRECISION => {
                fixed(8, Parts::Decimal64(*precision, *scale), of_bits(64))
            }
            Self::Decimal { precision, scale } => {
                fixed(16, Parts::Decimal128(*precision, *scale), Bounds::Int128)
            }
            Self::Varchar | Self::Json | Self::Collated(_) => {
                row(Values::Text, Parts::Whole, Bounds::Text, true)
            }
            Self::Blob => row(Values::Bytes, Parts::Whole, Bounds::Bytes, true),
            Self::Bit => row(Values::Bytes, Parts::Bit, Bounds::Bytes, true),
            Self::Date => fixed(4, Parts::Date, of_bits(32)),
            Self::Time => fixed(8, Parts::Time, of_bits(64)),
            Self::Timestamp(unit, zoned) => fixed(8, Parts::Timestamp(*unit, *zoned), of_bits(64)),
            Self::Interval => row(Values::Fixed(16), Parts::Interval, Bounds::None, false),
            Self::Uuid => fixed(16, Parts::Uuid, Bounds::ExactBytes(16)),
            Self::List(item) => nested(Values::List(item)),
            Self::Array(array) => nested(Values::List(array.item())),
            Self::Struct(fields) => nested(Values::Struct(fields)),
            Self::Map(map) => nested(Values::Map(map.entry())),
            // Sign-extended to what they are in memory; the bounds of those without a sign are their bytes, big-endian.
            Self::HugeInt => fixed(32, Parts::Huge(true), Bounds::Int128),
            Self::UHugeInt => fixed(32, Parts::Huge(false), Bounds::ExactBytes(16)),
            Self::TimeTz => fixed(8, Parts::TimeTz, Bounds::ExactBytes(8)),
            // A struct of its code.
            Self::Enum(values) => nested(Values::Struct(values.parts())),
            // A struct of its tag and its members.
            Self::Union(union) => nested(Values::Struct(union.parts())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::DataType;

    #[test]
    fn a_width_is_that_of_the_arrow_type() {
        let decimal = |precision| ColumnType::Decimal {
            precision,
            scale: 0,
        };
        let types = [
            ColumnType::Int8,
            ColumnType::Int16,
            ColumnType::Int32,
            ColumnType::Int64,
            ColumnType::UInt8,
            ColumnType::UInt16,
            ColumnType::UInt32,
            ColumnType::UInt64,
            ColumnType::Float,
            ColumnType::Double,
            decimal(18),
            decimal(19),
            ColumnType::Date,
            ColumnType::Time,
            ColumnType::Timestamp(TimeUnit::Second, true),
            ColumnType::Interval,
            ColumnType::Uuid,
            ColumnType::HugeInt,
            ColumnType::UHugeInt,
            ColumnType::TimeTz,
        ];
        for ty in types {
            let width = match ty.arrow() {
                DataType::FixedSizeBinary(width) => usize::try_from(width).ok(),
                arrow => arrow.primitive_width(),
            };
            match ty.properties().values {
                Values::Fixed(bytes) => assert_eq!(Some(bytes), width, "{ty:?}"),
                _ => panic!("{ty:?} has a width"),
            }
        }
    }

    #[test]
    fn bounds_are_of_the_types_range() {
        let range = |ty: ColumnType| match ty.properties().bounds {
            Bounds::Signed(least, most) => (least, most),
            _ => panic!("{ty:?} is signed"),
        };
        assert_eq!(range(ColumnType::Int8), (-128, 127));
        assert_eq!(range(ColumnType::Int64), (i64::MIN, i64::MAX));
        let (least, most) = range(ColumnType::Date);
        assert_eq!((least, most), (i64::from(i32::MIN), i64::from(i32::MAX)));
    }
}
