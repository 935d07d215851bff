//! The types that columns and expressions have.

use std::fmt;

/// A type, printed as SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ColumnType {
    Boolean,
    TinyInt,
    SmallInt,
    Integer,
    BigInt,
    HugeInt,
    UTinyInt,
    USmallInt,
    UInteger,
    UBigInt,
    Decimal(u8, u8),
    Float,
    Double,
    Varchar,
    Date,
    Time,
    Timestamp,
    Interval,
    Blob,
    Uuid,
    List(Box<ColumnType>),
    Struct(Vec<(String, ColumnType)>),
}

/// Types without others in them.
pub(crate) const FLAT: [ColumnType; 21] = [
    ColumnType::Boolean,
    ColumnType::TinyInt,
    ColumnType::SmallInt,
    ColumnType::Integer,
    ColumnType::BigInt,
    ColumnType::HugeInt,
    ColumnType::UTinyInt,
    ColumnType::USmallInt,
    ColumnType::UInteger,
    ColumnType::UBigInt,
    ColumnType::Decimal(9, 2),
    ColumnType::Decimal(38, 10),
    ColumnType::Float,
    ColumnType::Double,
    ColumnType::Varchar,
    ColumnType::Date,
    ColumnType::Time,
    ColumnType::Timestamp,
    ColumnType::Interval,
    ColumnType::Blob,
    ColumnType::Uuid,
];

impl ColumnType {
    /// Whether it is a whole number.
    pub fn is_integer(&self) -> bool {
        self.bounds().is_some()
    }

    /// The least and the greatest whole number of the type.
    pub fn bounds(&self) -> Option<(i128, i128)> {
        Some(match self {
            Self::TinyInt => (i8::MIN.into(), i8::MAX.into()),
            Self::SmallInt => (i16::MIN.into(), i16::MAX.into()),
            Self::Integer => (i32::MIN.into(), i32::MAX.into()),
            Self::BigInt => (i64::MIN.into(), i64::MAX.into()),
            Self::HugeInt => (i128::MIN, i128::MAX),
            Self::USmallInt => (0, u16::MAX.into()),
            Self::UTinyInt => (0, u8::MAX.into()),
            Self::UInteger => (0, u32::MAX.into()),
            Self::UBigInt => (0, u64::MAX.into()),
            _ => return None,
        })
    }

    /// Whether it is a floating-point number.
    pub fn is_float(&self) -> bool {
        matches!(self, Self::Float | Self::Double)
    }

    /// Whether it has other types in it.
    pub fn is_nested(&self) -> bool {
        matches!(self, Self::List(_) | Self::Struct(_))
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("BOOLEAN"),
            Self::TinyInt => f.write_str("TINYINT"),
            Self::SmallInt => f.write_str("SMALLINT"),
            Self::Integer => f.write_str("INTEGER"),
            Self::BigInt => f.write_str("BIGINT"),
            Self::HugeInt => f.write_str("HUGEINT"),
            Self::USmallInt => f.write_str("USMALLINT"),
            Self::UTinyInt => f.write_str("UTINYINT"),
            Self::UInteger => f.write_str("UINTEGER"),
            Self::UBigInt => f.write_str("UBIGINT"),
            Self::Decimal(precision, scale) => write!(f, "DECIMAL({precision},{scale})"),
            Self::Float => f.write_str("FLOAT"),
            Self::Double => f.write_str("DOUBLE"),
            Self::Varchar => f.write_str("VARCHAR"),
            Self::Date => f.write_str("DATE"),
            Self::Time => f.write_str("TIME"),
            Self::Timestamp => f.write_str("TIMESTAMP"),
            Self::Interval => f.write_str("INTERVAL"),
            Self::Blob => f.write_str("BLOB"),
            Self::Uuid => f.write_str("UUID"),
            Self::List(item) => write!(f, "{item}[]"),
            Self::Struct(fields) => {
                f.write_str("STRUCT(")?;
                for (n, (name, ty)) in fields.iter().enumerate() {
                    let comma = if n > 0 { ", " } else { "" };
                    write!(f, "{comma}{name} {ty}")?;
                }
                f.write_str(")")
            }
        }
    }
}
