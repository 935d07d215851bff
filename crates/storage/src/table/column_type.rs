//! The types a column can have, and the Arrow type each is handed over as.
//!
//! Holds: the mapping to Arrow is one to one in the direction type -> Arrow; the three wire bytes of a type never
//! change their meaning (FORMAT.md, "Tables", column type).
//! Refuses: on reading, tags, precisions, scales and units that are not in the table.

use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use crate::catalog::wire::{Reader, WireError};

/// The most digits a `Decimal64` holds; wider decimals are handed over as `Decimal128`.
pub const MAX_DECIMAL64_PRECISION: u8 = 18;
/// The most digits a decimal column can have.
pub const MAX_DECIMAL_PRECISION: u8 = 38;

/// Type of a column. Everything else is refused by name before it reaches storage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// True or false.
    Boolean,
    /// Signed 8 bits.
    Int8,
    /// Signed 16 bits.
    Int16,
    /// Signed 32 bits.
    Int32,
    /// Signed 64 bits.
    Int64,
    /// Unsigned 8 bits.
    UInt8,
    /// Unsigned 16 bits.
    UInt16,
    /// Unsigned 32 bits.
    UInt32,
    /// Unsigned 64 bits.
    UInt64,
    /// IEEE 754 single precision.
    Float,
    /// IEEE 754 double precision.
    Double,
    /// Fixed point number.
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits after the point, 0 to `precision`.
        scale: i8,
    },
    /// UTF-8 text.
    Varchar,
    /// Bytes.
    Blob,
    /// Days since 1970-01-01.
    Date,
    /// Microseconds since midnight.
    Time,
    /// Ticks since 1970-01-01 00:00; `true`: an instant, kept in UTC.
    Timestamp(TimeUnit, bool),
    /// Months, days and nanoseconds.
    Interval,
    /// 16 bytes, RFC 9562 order.
    Uuid,
}

impl ColumnType {
    /// The Arrow type in which values of this type enter and leave storage.
    pub fn arrow(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Int8 => DataType::Int8,
            Self::Int16 => DataType::Int16,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::UInt8 => DataType::UInt8,
            Self::UInt16 => DataType::UInt16,
            Self::UInt32 => DataType::UInt32,
            Self::UInt64 => DataType::UInt64,
            Self::Float => DataType::Float32,
            Self::Double => DataType::Float64,
            Self::Decimal { precision, scale } if *precision <= MAX_DECIMAL64_PRECISION => {
                DataType::Decimal64(*precision, *scale)
            }
            Self::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale),
            Self::Varchar => DataType::Utf8View,
            Self::Blob => DataType::BinaryView,
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::Timestamp(unit, zoned) => DataType::Timestamp(*unit, zoned.then(|| "UTC".into())),
            Self::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
            Self::Uuid => DataType::FixedSizeBinary(16),
        }
    }

    /// Whether precision and scale, where the type has them, are within their limits.
    pub(crate) fn is_valid(&self) -> bool {
        match self {
            Self::Decimal { precision, scale } => {
                (1..=MAX_DECIMAL_PRECISION).contains(precision)
                    && *scale >= 0
                    && scale.unsigned_abs() <= *precision
            }
            _ => true,
        }
    }

    /// The three bytes that stand for this type in a file (FORMAT.md, "Tables").
    pub(crate) fn to_wire(&self) -> [u8; 3] {
        match self {
            Self::Boolean => [1, 0, 0],
            Self::Int8 => [2, 0, 0],
            Self::Int16 => [3, 0, 0],
            Self::Int32 => [4, 0, 0],
            Self::Int64 => [5, 0, 0],
            Self::UInt8 => [6, 0, 0],
            Self::UInt16 => [7, 0, 0],
            Self::UInt32 => [8, 0, 0],
            Self::UInt64 => [9, 0, 0],
            Self::Float => [10, 0, 0],
            Self::Double => [11, 0, 0],
            Self::Decimal { precision, scale } => [12, *precision, scale.unsigned_abs()],
            Self::Varchar => [13, 0, 0],
            Self::Blob => [14, 0, 0],
            Self::Date => [15, 0, 0],
            Self::Time => [16, 0, 0],
            Self::Timestamp(unit, zoned) => {
                let unit = match unit {
                    TimeUnit::Second => 0,
                    TimeUnit::Millisecond => 1,
                    TimeUnit::Microsecond => 2,
                    TimeUnit::Nanosecond => 3,
                };
                [17, unit, u8::from(*zoned)]
            }
            Self::Interval => [18, 0, 0],
            Self::Uuid => [19, 0, 0],
        }
    }

    /// Reads what [`Self::to_wire`] wrote.
    pub(crate) fn from_wire(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let [tag, a, b] = reader.array::<3>()?;
        let plain = match tag {
            1 => Self::Boolean,
            2 => Self::Int8,
            3 => Self::Int16,
            4 => Self::Int32,
            5 => Self::Int64,
            6 => Self::UInt8,
            7 => Self::UInt16,
            8 => Self::UInt32,
            9 => Self::UInt64,
            10 => Self::Float,
            11 => Self::Double,
            12 => {
                let scale = i8::try_from(b).map_err(|_| WireError)?;
                let decimal = Self::Decimal {
                    precision: a,
                    scale,
                };
                return if decimal.is_valid() {
                    Ok(decimal)
                } else {
                    Err(WireError)
                };
            }
            13 => Self::Varchar,
            14 => Self::Blob,
            15 => Self::Date,
            16 => Self::Time,
            17 => {
                let unit = match a {
                    0 => TimeUnit::Second,
                    1 => TimeUnit::Millisecond,
                    2 => TimeUnit::Microsecond,
                    3 => TimeUnit::Nanosecond,
                    _ => return Err(WireError),
                };
                return if b <= 1 {
                    Ok(Self::Timestamp(unit, b == 1))
                } else {
                    Err(WireError)
                };
            }
            18 => Self::Interval,
            19 => Self::Uuid,
            _ => return Err(WireError),
        };
        if (a, b) == (0, 0) {
            Ok(plain)
        } else {
            Err(WireError)
        }
    }
}
