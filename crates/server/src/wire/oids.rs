//! PostgreSQL's types for ours: OIDs and sizes of `pg_type`, which clients know by heart.

use super::back::ColumnHead;
use arrow::datatypes::{DataType, Field, TimeUnit};
use hushdb::ColumnType;

pub(crate) const BOOL: u32 = 16;
pub(crate) const BYTEA: u32 = 17;
pub(crate) const CHAR: u32 = 18;
pub(crate) const NAME: u32 = 19;
pub(crate) const INT8: u32 = 20;
pub(crate) const INT2: u32 = 21;
pub(crate) const INT2VECTOR: u32 = 22;
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
pub(crate) const TIMETZ: u32 = 1266;
pub(crate) const VARBIT: u32 = 1562;
pub(crate) const NUMERIC: u32 = 1700;
pub(crate) const UUID: u32 = 2950;

/// Types and those of their arrays.
const ARRAYS: [(u32, u32); 21] = [
    (BOOL, 1000),
    (BYTEA, 1001),
    (NAME, 1003),
    (INT2, 1005),
    (INT4, 1007),
    (TEXT, 1009),
    (OID, 1028),
    (VARCHAR, 1015),
    (INT8, 1016),
    (FLOAT4, 1021),
    (FLOAT8, 1022),
    (TIMESTAMP, 1115),
    (DATE, 1182),
    (TIME, 1183),
    (TIMESTAMPTZ, 1185),
    (INTERVAL, 1187),
    (TIMETZ, 1270),
    (VARBIT, 1563),
    (NUMERIC, 1231),
    (JSON, 199),
    (UUID, 2951),
];

/// The type under which values of an Arrow type go over the wire.
pub(crate) fn of(ty: &DataType) -> u32 {
    hushdb::postgres_type(ty)
}

/// The type under which values of a column's type go over the wire.
pub(crate) fn of_column(ty: &ColumnType) -> u32 {
    // To Arrow it is a text.
    if *ty == ColumnType::Json {
        return JSON;
    }
    of(&ty.arrow())
}

/// Bytes of a value, -1 where they differ.
fn size(oid: u32) -> i16 {
    match oid {
        BOOL | CHAR => 1,
        INT2 => 2,
        INT4 | FLOAT4 | DATE | OID => 4,
        INT8 | FLOAT8 | TIME | TIMESTAMP | TIMESTAMPTZ => 8,
        TIMETZ => 12,
        INTERVAL | UUID => 16,
        NAME => 64,
        _ => -1,
    }
}

/// What RowDescription says of a column.
pub(crate) fn head(field: &Field) -> ColumnHead {
    let oid = hushdb::postgres_type_of(field);
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
        TIMETZ => ColumnType::TimeTz,
        VARBIT => ColumnType::Bit,
        // Its digits are those of the value.
        NUMERIC => ColumnType::Decimal {
            precision: 38,
            scale: 3,
        },
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
