//! PostgreSQL's types for ours: OIDs and sizes of `pg_type`, which clients know by heart.

use super::back::ColumnHead;
use arrow::datatypes::{DataType, Field, TimeUnit};
use hushdb::ColumnType;

pub(crate) const BOOL: u32 = 16;
pub(crate) const BYTEA: u32 = 17;
pub(crate) const NAME: u32 = 19;
pub(crate) const INT8: u32 = 20;
pub(crate) const INT2: u32 = 21;
pub(crate) const INT4: u32 = 23;
pub(crate) const TEXT: u32 = 25;
pub(crate) const OID: u32 = 26;
pub(crate) const JSON: u32 = 114;
pub(crate) const FLOAT4: u32 = 700;
pub(crate) const FLOAT8: u32 = 701;
pub(crate) const UNKNOWN: u32 = 705;
pub(crate) const BPCHAR: u32 = 1042;
pub(crate) const VARCHAR: u32 = 1043;
pub(crate) const DATE: u32 = 1082;
pub(crate) const TIME: u32 = 1083;
pub(crate) const TIMESTAMP: u32 = 1114;
pub(crate) const TIMESTAMPTZ: u32 = 1184;
pub(crate) const INTERVAL: u32 = 1186;
pub(crate) const NUMERIC: u32 = 1700;
pub(crate) const UUID: u32 = 2950;

/// Types and those of their arrays.
const ARRAYS: [(u32, u32); 17] = [
    (BOOL, 1000),
    (BYTEA, 1001),
    (INT2, 1005),
    (INT4, 1007),
    (TEXT, 1009),
    (VARCHAR, 1015),
    (INT8, 1016),
    (FLOAT4, 1021),
    (FLOAT8, 1022),
    (TIMESTAMP, 1115),
    (DATE, 1182),
    (TIME, 1183),
    (TIMESTAMPTZ, 1185),
    (INTERVAL, 1187),
    (NUMERIC, 1231),
    (JSON, 199),
    (UUID, 2951),
];

/// The type under which values of an Arrow type go over the wire. What PostgreSQL has not goes as the next wider type, structs as JSON.
pub(crate) fn of(ty: &DataType) -> u32 {
    match ty {
        DataType::Boolean => BOOL,
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => INT2,
        DataType::Int32 | DataType::UInt16 => INT4,
        DataType::Int64 | DataType::UInt32 => INT8,
        DataType::UInt64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => NUMERIC,
        DataType::Float16 | DataType::Float32 => FLOAT4,
        DataType::Float64 => FLOAT8,
        DataType::FixedSizeBinary(16) => UUID,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => BYTEA,
        DataType::Date32 | DataType::Date64 => DATE,
        DataType::Time32(_) | DataType::Time64(_) => TIME,
        DataType::Timestamp(_, None) => TIMESTAMP,
        DataType::Timestamp(_, Some(_)) => TIMESTAMPTZ,
        DataType::Interval(_) | DataType::Duration(_) => INTERVAL,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            array_of(of(item.data_type()))
        }
        DataType::Struct(_) | DataType::Map(..) => JSON,
        _ => TEXT,
    }
}

/// The type of arrays of a type; an array of arrays has that of its own items.
fn array_of(item: u32) -> u32 {
    let found = ARRAYS.iter().find(|(of, _)| *of == item);
    found.map_or(item, |(_, array)| *array)
}

/// Bytes of a value, -1 where they differ.
fn size(oid: u32) -> i16 {
    match oid {
        BOOL => 1,
        INT2 => 2,
        INT4 | FLOAT4 | DATE | OID => 4,
        INT8 | FLOAT8 | TIME | TIMESTAMP | TIMESTAMPTZ => 8,
        INTERVAL | UUID => 16,
        NAME => 64,
        _ => -1,
    }
}

/// What RowDescription says of a column.
pub(crate) fn head(field: &Field) -> ColumnHead {
    let oid = of(field.data_type());
    let modifier = match field.data_type() {
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        // HUGEINT, which sums are, has no scale to be known by.
        | DataType::Decimal256(p, s) if *p < 38 => (i32::from(*p) << 16 | i32::from(*s) & 0xffff) + 4,
        _ => -1,
    };
    ColumnHead {
        name: field.name().clone(),
        oid,
        size: size(oid),
        modifier,
    }
}

/// The type of a parameter that a client names by its OID; `None` for one that it leaves open, or that is not there.
pub(crate) fn column_type(oid: u32) -> Option<ColumnType> {
    Some(match oid {
        BOOL => ColumnType::Boolean,
        BYTEA => ColumnType::Blob,
        INT8 | OID => ColumnType::Int64,
        INT2 => ColumnType::Int16,
        INT4 => ColumnType::Int32,
        FLOAT4 => ColumnType::Float,
        FLOAT8 => ColumnType::Double,
        TEXT | VARCHAR | BPCHAR | NAME | JSON => ColumnType::Varchar,
        DATE => ColumnType::Date,
        TIME => ColumnType::Time,
        TIMESTAMP => ColumnType::Timestamp(TimeUnit::Microsecond, false),
        TIMESTAMPTZ => ColumnType::Timestamp(TimeUnit::Microsecond, true),
        INTERVAL => ColumnType::Interval,
        UUID => ColumnType::Uuid,
        _ => ColumnType::List(Box::new(column_type(item_of(oid)?)?)),
    })
}

/// The type of an array's items.
pub(crate) fn item_of(array: u32) -> Option<u32> {
    let found = ARRAYS.iter().find(|(_, of)| *of == array);
    found.map(|(item, _)| *item)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn types_are_postgresqls() {
        let list = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
        assert_eq!(of(&list), 1007);
        assert_eq!(item_of(1007), Some(INT4));
        let head = head(&Field::new("n", DataType::Decimal128(15, 2), true));
        assert_eq!((head.oid, head.size, head.modifier), (NUMERIC, -1, 983_046));
    }
}
