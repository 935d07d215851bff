//! The types a column can have, and the Arrow type each is handed over as.
//!
//! What must hold: the mapping to Arrow is one to one in the direction type -> Arrow; the wire bytes of a type never change their
//! meaning (FORMAT.md, "Tables", column type); a type that was read is nested no deeper, and has no more types in it, than
//! the limits say, so that whoever follows it down needs no limits of their own.
//! Refuses: on reading, tags, precisions, scales and units that are not in the table.

mod array;
mod collation;
mod enumeration;
mod json;
mod map;
mod properties;
mod union;

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit};

use crate::bit_string::BIT;
use crate::time_tz::TIMETZ;
use crate::wire::{Reader, WireError, Writer};
use json::inner_field;

pub use array::ArrayType;
pub use collation::Collation;
pub use enumeration::EnumType;
pub use json::{called_json, is_called_json, is_json_item, list_item, plain_item};
pub use map::MapType;
pub use properties::{Bounds, Parts, Properties, Values};
pub use union::UnionType;

/// The most digits a `Decimal64` holds; wider decimals are handed over as `Decimal128`.
pub const MAX_DECIMAL64_PRECISION: u8 = 18;
/// The most digits a decimal column can have.
pub const MAX_DECIMAL_PRECISION: u8 = 38;

/// What HUGEINT is to Arrow, which has no integers of 128 bits: no DECIMAL has more than 38 digits.
pub const HUGEINT: DataType = DataType::Decimal256(39, 0);
/// What UHUGEINT is to Arrow.
pub const UHUGEINT: DataType = DataType::Decimal256(40, 0);

/// A type has at most this many types around its innermost ones, itself included.
pub const MAX_TYPE_DEPTH: usize = 32;
/// A type has at most this many types in it, itself included.
pub const MAX_TYPES_IN_TYPE: usize = 1024;

/// What stands for JSON within another type.
const JSON_WITHIN: [u8; 3] = [26, 1, 0];

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
    /// Any number of values of one type.
    List(Box<ColumnType>),
    /// A value of each of its fields, which have distinct names; at least one.
    Struct(Vec<(String, ColumnType)>),
    /// One of the texts that it lists.
    Enum(EnumType),
    /// Signed 128 bits.
    HugeInt,
    /// Unsigned 128 bits.
    UHugeInt,
    /// A value for each of any number of keys, which are distinct and not NULL.
    Map(MapType),
    /// UTF-8 text that is JSON (RFC 8259). That it is, is checked where it is made, not here.
    Json,
    /// As many values of one type as it says.
    Array(ArrayType),
    /// UTF-8 text that is compared by a collation.
    Collated(Collation),
    /// One of its members, which have distinct names.
    Union(UnionType),
    /// A time of day, and how far the clock that shows it is from UTC.
    TimeTz,
    /// One bit or more.
    Bit,
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
            Self::Varchar | Self::Json | Self::Collated(_) => DataType::Utf8View,
            Self::Blob => DataType::BinaryView,
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::Timestamp(unit, zoned) => DataType::Timestamp(*unit, zoned.then(|| "UTC".into())),
            Self::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
            Self::Uuid => DataType::FixedSizeBinary(16),
            Self::List(item) => DataType::List(Arc::new(Self::list_item(item))),
            Self::Struct(fields) => DataType::Struct(Self::struct_fields(fields)),
            Self::Enum(values) => DataType::Struct(Self::struct_fields(values.parts())),
            Self::HugeInt => HUGEINT,
            Self::UHugeInt => UHUGEINT,
            Self::Map(map) => map.arrow(),
            Self::Array(array) => array.arrow(),
            Self::Union(union) => DataType::Struct(Self::struct_fields(union.parts())),
            Self::TimeTz => TIMETZ,
            Self::Bit => BIT,
        }
    }

    /// The Arrow field of the values in a list.
    pub(crate) fn list_item(item: &Self) -> Field {
        list_item(inner_field(Field::LIST_FIELD_DEFAULT_NAME, item, true))
    }

    /// The Arrow fields of a struct.
    pub(crate) fn struct_fields(fields: &[(String, Self)]) -> Fields {
        let field = |(name, ty): &(String, Self)| inner_field(name, ty, true);
        fields.iter().map(field).collect()
    }

    /// Whether values of this type have values in them.
    pub fn is_nested(&self) -> bool {
        matches!(
            self.properties().values,
            Values::List(_) | Values::Struct(_) | Values::Map(_)
        )
    }

    /// Whether precision and scale, names of fields and nesting are within their limits.
    pub fn is_valid(&self) -> bool {
        self.is_valid_within(MAX_TYPE_DEPTH, &mut 0)
    }

    fn is_valid_within(&self, depth: usize, types: &mut usize) -> bool {
        *types += 1;
        if depth == 0 || *types > MAX_TYPES_IN_TYPE {
            return false;
        }
        match self {
            Self::Decimal { precision, scale } => {
                (1..=MAX_DECIMAL_PRECISION).contains(precision)
                    && *scale >= 0
                    && scale.unsigned_abs() <= *precision
            }
            Self::List(item) => item.is_valid_within(depth - 1, types),
            Self::Array(array) => array.item().is_valid_within(depth - 1, types),
            Self::Map(map) => map.entry().is_valid_within(depth - 1, types),
            Self::Struct(fields) => Self::are_valid_within(fields, depth - 1, types),
            Self::Union(union) => Self::are_valid_within(union.members(), depth - 1, types),
            Self::Boolean
            | Self::Int8
            | Self::Int16
            | Self::Int32
            | Self::Int64
            | Self::UInt8
            | Self::UInt16
            | Self::UInt32
            | Self::UInt64
            | Self::Float
            | Self::Double
            | Self::Varchar
            | Self::Blob
            | Self::Date
            | Self::Time
            | Self::Timestamp(..)
            | Self::Interval
            | Self::Uuid
            | Self::Enum(_)
            | Self::HugeInt
            | Self::UHugeInt
            | Self::Json
            | Self::Collated(_)
            | Self::TimeTz
            | Self::Bit => true,
        }
    }

    fn are_valid_within(fields: &[(String, Self)], depth: usize, types: &mut usize) -> bool {
        let mut names = HashSet::with_capacity(fields.len().min(MAX_TYPES_IN_TYPE));
        let mut sound = |(name, ty): &(String, Self)| {
            names.insert(name.clone()) && ty.is_valid_within(depth, types)
        };
        !fields.is_empty() && fields.iter().all(&mut sound)
    }

    /// The fewest bytes a type takes in a file.
    pub const SMALLEST: usize = 3;

    /// Appends what stands for this type in a file (FORMAT.md, "Tables").
    pub fn write(&self, out: &mut Writer) {
        out.raw(&self.head());
        match self {
            Self::Enum(values) => return values.write(out),
            Self::Map(map) => return map.parts().for_each(|ty| ty.write_within(out)),
            Self::Array(array) => return array.write(out),
            Self::Union(union) => return Self::write_fields(union.members(), out),
            _ => {}
        }
        match self.properties().values {
            Values::List(item) => item.write_within(out),
            Values::Struct(fields) => Self::write_fields(fields, out),
            Values::Bits | Values::Fixed(_) | Values::Text | Values::Bytes | Values::Map(_) => {}
        }
    }

    fn write_fields(fields: &[(String, Self)], out: &mut Writer) {
        out.count(fields.len());
        for (name, ty) in fields {
            out.text(name);
            ty.write_within(out);
        }
    }

    /// The same for a type within another. Where releases knew no JSON there, they took it for a VARCHAR.
    fn write_within(&self, out: &mut Writer) {
        match *self == Self::Json {
            true => out.raw(&JSON_WITHIN),
            false => self.write(out),
        }
    }

    /// The three bytes that every type begins with.
    fn head(&self) -> [u8; 3] {
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
            Self::Collated(collation) => [13, collation.byte(), 0],
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
            Self::List(_) => [20, 0, 0],
            Self::Struct(_) => [21, 0, 0],
            Self::Enum(_) => [22, 0, 0],
            Self::HugeInt => [23, 0, 0],
            Self::UHugeInt => [24, 0, 0],
            Self::Map(_) => [25, 0, 0],
            Self::Json => [26, 0, 0],
            Self::Array(_) => [27, 0, 0],
            Self::Union(_) => [28, 0, 0],
            Self::TimeTz => [29, 0, 0],
            Self::Bit => [30, 0, 0],
        }
    }

    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    /// If the bytes stand for no type.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let ty = Self::read_within(reader, MAX_TYPE_DEPTH, &mut 0)?;
        match ty.is_valid() {
            true => Ok(ty),
            false => Err(WireError),
        }
    }

    fn read_within(
        reader: &mut Reader<'_>,
        depth: usize,
        types: &mut usize,
    ) -> Result<Self, WireError> {
        *types += 1;
        if depth == 0 || *types > MAX_TYPES_IN_TYPE {
            return Err(WireError);
        }
        let [tag, a, b] = reader.array::<3>()?;
        if tag == JSON_WITHIN[0] && depth < MAX_TYPE_DEPTH {
            let is_json = [tag, a, b] == JSON_WITHIN;
            return is_json.then_some(Self::Json).ok_or(WireError);
        }
        if let (13, Some(collation), 0) = (tag, Collation::of_byte(a), b) {
            return Ok(Self::Collated(collation));
        }
        if let Some(plain) = Self::of_tag(tag) {
            return if (a, b) == (0, 0) {
                Ok(plain)
            } else {
                Err(WireError)
            };
        }
        Ok(match tag {
            12 => {
                let scale = i8::try_from(b).map_err(|_| WireError)?;
                return Ok(Self::Decimal {
                    precision: a,
                    scale,
                });
            }
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
            20 if (a, b) == (0, 0) => {
                Self::List(Box::new(Self::read_within(reader, depth - 1, types)?))
            }
            21 if (a, b) == (0, 0) => Self::Struct(Self::read_fields(reader, depth - 1, types)?),
            22 if (a, b) == (0, 0) => Self::Enum(EnumType::read(reader)?),
            25 if (a, b) == (0, 0) => {
                let key = Self::read_within(reader, depth - 1, types)?;
                Self::Map(MapType::new(
                    key,
                    Self::read_within(reader, depth - 1, types)?,
                ))
            }
            27 if (a, b) == (0, 0) => {
                let length = ArrayType::read_length(reader)?;
                let item = Self::read_within(reader, depth - 1, types)?;
                Self::Array(ArrayType::new(item, length).ok_or(WireError)?)
            }
            28 if (a, b) == (0, 0) => {
                let members = Self::read_fields(reader, depth - 1, types)?;
                Self::Union(UnionType::new(members).ok_or(WireError)?)
            }
            _ => return Err(WireError),
        })
    }

    fn read_fields(
        reader: &mut Reader<'_>,
        depth: usize,
        types: &mut usize,
    ) -> Result<Vec<(String, Self)>, WireError> {
        let count = reader.count(4 + Self::SMALLEST)?;
        let mut fields = Vec::with_capacity(count.min(MAX_TYPES_IN_TYPE));
        for _ in 0..count {
            let name = reader.text()?;
            fields.push((name, Self::read_within(reader, depth, types)?));
        }
        Ok(fields)
    }

    /// The types that are their tags alone.
    fn of_tag(tag: u8) -> Option<Self> {
        Some(match tag {
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
            13 => Self::Varchar,
            14 => Self::Blob,
            15 => Self::Date,
            16 => Self::Time,
            18 => Self::Interval,
            19 => Self::Uuid,
            23 => Self::HugeInt,
            24 => Self::UHugeInt,
            26 => Self::Json,
            29 => Self::TimeTz,
            30 => Self::Bit,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(ty: &ColumnType) -> Vec<u8> {
        let mut out = Writer::default();
        ty.write(&mut out);
        out.into_bytes()
    }

    fn list(item: ColumnType) -> ColumnType {
        ColumnType::List(Box::new(item))
    }

    #[test]
    fn nested_types_come_back() {
        let field = |name: &str, ty| (name.to_owned(), ty);
        let point = ColumnType::Struct(vec![
            field("x", ColumnType::Double),
            field(
                "y",
                list(ColumnType::Decimal {
                    precision: 5,
                    scale: 2,
                }),
            ),
        ]);
        let ty = list(list(point));
        let bytes = bytes_of(&ty);
        let mut reader = Reader::new(&bytes);
        assert_eq!(ColumnType::read(&mut reader), Ok(ty));
        assert_eq!(reader.finish(), Ok(()));
        for len in 0..bytes.len() {
            assert!(ColumnType::read(&mut Reader::new(&bytes[..len])).is_err());
        }
    }

    #[test]
    fn maps_come_back() {
        let of_lists = |value| {
            ColumnType::Map(MapType::new(
                ColumnType::Varchar,
                list(ColumnType::Map(MapType::new(ColumnType::Date, value))),
            ))
        };
        let ty = of_lists(ColumnType::Int8);
        let bytes = bytes_of(&ty);
        assert_eq!(bytes.len(), 6 * ColumnType::SMALLEST);
        assert_eq!(ColumnType::read(&mut Reader::new(&bytes)), Ok(ty));
        for len in 0..bytes.len() {
            assert!(ColumnType::read(&mut Reader::new(&bytes[..len])).is_err());
        }
        // What a map is a list of is a type around its key and value as well.
        let deep = |depth| {
            (0..depth).fold(ColumnType::Int32, |ty, _| {
                ColumnType::Map(MapType::new(ColumnType::Int32, ty))
            })
        };
        assert!(deep(MAX_TYPE_DEPTH / 2 - 1).is_valid());
        assert!(!deep(MAX_TYPE_DEPTH / 2).is_valid());
        let endless = [25, 0, 0].repeat(1 << 20);
        assert!(ColumnType::read(&mut Reader::new(&endless)).is_err());
    }

    #[test]
    fn what_is_nested_too_deep_or_too_wide_is_no_type() {
        let deep = |depth| (1..depth).fold(ColumnType::Int32, |ty, _| list(ty));
        let (most, more) = (deep(MAX_TYPE_DEPTH), deep(MAX_TYPE_DEPTH + 1));
        assert!(most.is_valid() && !more.is_valid());
        assert!(ColumnType::read(&mut Reader::new(&bytes_of(&most))).is_ok());
        assert!(ColumnType::read(&mut Reader::new(&bytes_of(&more))).is_err());
        // Without end, and without recursion without end.
        let endless = [20, 0, 0].repeat(1 << 20);
        assert!(ColumnType::read(&mut Reader::new(&endless)).is_err());

        let wide = |count: usize| {
            let fields = (0..count).map(|n| (n.to_string(), ColumnType::Boolean));
            ColumnType::Struct(fields.collect())
        };
        for (count, sound) in [
            (0, false),
            (1, true),
            (MAX_TYPES_IN_TYPE - 1, true),
            (MAX_TYPES_IN_TYPE, false),
        ] {
            let bytes = bytes_of(&wide(count));
            assert_eq!(wide(count).is_valid(), sound, "{count}");
            assert_eq!(ColumnType::read(&mut Reader::new(&bytes)).is_ok(), sound);
        }
        let twice = ColumnType::Struct(vec![
            ("a".into(), ColumnType::Int8),
            ("a".into(), ColumnType::Int16),
        ]);
        assert!(!twice.is_valid());
        assert!(ColumnType::read(&mut Reader::new(&bytes_of(&twice))).is_err());
    }
}
