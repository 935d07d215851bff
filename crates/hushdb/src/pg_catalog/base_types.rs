//! Types as PostgreSQL's catalog has them: their OIDs, which clients know by heart, their names, and what a column's type becomes.

use super::rows::{Cell, POSTGRES_TYPE, row};
use datafusion::arrow::datatypes::{DataType, Field};
use hushdb_sql::type_names::{is_called_json, is_enum};
use hushdb_storage::{BIT, ColumnType, Declared, TIMETZ, UnionType, is_json_item};
use std::num::NonZeroU32;

/// A type of the catalog.
pub(super) struct Type {
    pub(super) oid: i64,
    pub(super) name: &'static str,
    /// The type of its arrays, or 0.
    pub(super) array: i64,
    /// Bytes of a value; -1 where they differ.
    pub(super) bytes: i64,
    pub(super) category: &'static str,
    /// What SQL calls it, where that is another name.
    sql: &'static str,
    /// What stands before `in`, `out`, `recv` and `send` in the names of its functions.
    functions: &'static str,
}

const fn ty(oid: i64, name: &'static str, array: i64, bytes: i64, category: &'static str) -> Type {
    Type {
        oid,
        name,
        array,
        bytes,
        category,
        sql: "",
        functions: "",
    }
}

const fn called(ty: Type, sql: &'static str) -> Type {
    Type { sql, ..ty }
}

const fn read_by(ty: Type, functions: &'static str) -> Type {
    Type { functions, ..ty }
}

pub(super) const BOOL: i64 = 16;
pub(super) const INT4: i64 = 23;
pub(super) const TEXT: i64 = 25;
pub(super) const BPCHAR: i64 = 1042;
pub(super) const VARCHAR: i64 = 1043;
pub(super) const NUMERIC: i64 = 1700;

/// The base types, in order of their OIDs.
pub(super) const TYPES: [Type; 41] = [
    called(ty(16, "bool", 1000, 1, "B"), "boolean"),
    ty(17, "bytea", 1001, -1, "U"),
    called(ty(18, "char", 1002, 1, "Z"), "\"char\""),
    ty(19, "name", 1003, 64, "S"),
    called(ty(20, "int8", 1016, 8, "N"), "bigint"),
    called(ty(21, "int2", 1005, 2, "N"), "smallint"),
    ty(22, "int2vector", 1006, -1, "A"),
    called(ty(23, "int4", 1007, 4, "N"), "integer"),
    ty(24, "regproc", 1008, 4, "N"),
    ty(25, "text", 1009, -1, "S"),
    ty(26, "oid", 1028, 4, "N"),
    ty(28, "xid", 1011, 4, "U"),
    ty(30, "oidvector", 1013, -1, "A"),
    read_by(ty(114, "json", 199, -1, "U"), "json_"),
    read_by(ty(194, "pg_node_tree", 0, -1, "Z"), "pg_node_tree_"),
    called(ty(700, "float4", 1021, 4, "N"), "real"),
    called(ty(701, "float8", 1022, 8, "N"), "double precision"),
    ty(705, "unknown", 0, -2, "X"),
    ty(1033, "aclitem", 1034, 16, "U"),
    called(ty(1042, "bpchar", 1014, -1, "S"), "character"),
    called(ty(1043, "varchar", 1015, -1, "S"), "character varying"),
    read_by(ty(1082, "date", 1182, 4, "D"), "date_"),
    read_by(
        called(ty(1083, "time", 1183, 8, "D"), "time without time zone"),
        "time_",
    ),
    read_by(
        called(
            ty(1114, "timestamp", 1115, 8, "D"),
            "timestamp without time zone",
        ),
        "timestamp_",
    ),
    read_by(
        called(
            ty(1184, "timestamptz", 1185, 8, "D"),
            "timestamp with time zone",
        ),
        "timestamptz_",
    ),
    read_by(ty(1186, "interval", 1187, 16, "T"), "interval_"),
    read_by(
        called(ty(1266, "timetz", 1270, 12, "D"), "time with time zone"),
        "timetz_",
    ),
    read_by(
        called(ty(1562, "varbit", 1563, -1, "V"), "bit varying"),
        "varbit_",
    ),
    read_by(ty(1700, "numeric", 1231, -1, "N"), "numeric_"),
    ty(2202, "regprocedure", 2207, 4, "N"),
    ty(2205, "regclass", 2210, 4, "N"),
    ty(2206, "regtype", 2211, 4, "N"),
    read_by(ty(2249, "record", 2287, -1, "P"), "record_"),
    read_by(ty(2275, "cstring", 1263, -2, "P"), "cstring_"),
    read_by(ty(2276, "any", 0, 4, "P"), "any_"),
    read_by(ty(2278, "void", 0, 4, "P"), "void_"),
    read_by(ty(2279, "trigger", 0, 4, "P"), "trigger_"),
    read_by(ty(2950, "uuid", 2951, 16, "U"), "uuid_"),
    read_by(ty(3802, "jsonb", 3807, -1, "U"), "jsonb_"),
    ty(4089, "regnamespace", 4090, 4, "N"),
    ty(4096, "regrole", 4097, 4, "N"),
];

/// Names of types in SQL that are neither the catalog's nor what `format_type` says.
const OTHER_NAMES: [(&str, i64); 9] = [
    ("int", INT4),
    ("decimal", NUMERIC),
    ("string", TEXT),
    ("timestamp with time zone", 1184),
    ("timestamp without time zone", 1114),
    ("float", 701),
    ("double", 701),
    ("blob", 17),
    ("boolean", BOOL),
];

impl Type {
    pub(super) fn sql_name(&self) -> &'static str {
        match self.sql {
            "" => self.name,
            sql => sql,
        }
    }

    /// The name of one of its functions: `in`, `out`, `recv` or `send`.
    fn function(&self, does: &str) -> String {
        match self.functions {
            "" => format!("{}{does}", self.name),
            prefix => format!("{prefix}{does}"),
        }
    }

    /// `b`, or `p` for a type of which no value is.
    fn kind(&self) -> &'static str {
        match self.category {
            "P" | "X" => "p",
            _ => "b",
        }
    }
}

/// What a type does with its values' bytes.
const DOES: [&str; 4] = ["in", "out", "recv", "send"];
/// The first OID of the functions that read and write values, four for each type; those of arrays have PostgreSQL's.
const FUNCTIONS: i64 = 9_000;
const OF_ARRAYS: [i64; 4] = [750, 751, 2400, 2401];

/// The OID and the name of every function that reads or writes values, and what it gives.
pub(super) fn functions() -> Vec<(i64, String, i64)> {
    let names = TYPES
        .iter()
        .flat_map(|ty| DOES.iter().map(|does| ty.function(does)));
    let mut all: Vec<_> = (FUNCTIONS..)
        .zip(names)
        .map(|(oid, name)| (oid, name, TEXT))
        .collect();
    let arrays = DOES.iter().zip(OF_ARRAYS);
    all.extend(arrays.map(|(does, oid)| (oid, format!("array_{does}"), TEXT)));
    all
}

/// The name of a type as SQL shows it, with what its modifier says; `None` for an OID that none has.
pub(super) fn format_type(oid: i64, modifier: Option<i64>) -> Option<String> {
    if let Some(item) = TYPES.iter().find(|ty| ty.array != 0 && ty.array == oid) {
        return Some(format!("{}[]", format_type(item.oid, modifier)?));
    }
    let ty = TYPES.iter().find(|ty| ty.oid == oid)?;
    let modifier = modifier.filter(|modifier| *modifier >= 4);
    Some(match (ty.oid, modifier.map(|modifier| modifier - 4)) {
        (NUMERIC, Some(digits)) => format!("numeric({},{})", digits >> 16, digits & 0xffff),
        (VARCHAR | BPCHAR, Some(length)) => format!("{}({length})", ty.sql_name()),
        _ => ty.sql_name().to_owned(),
    })
}

/// The OID of a type by any of its names.
pub(super) fn by_name(name: &str) -> Option<i64> {
    let name = name.trim().to_lowercase();
    if let Some(item) = name.strip_suffix("[]") {
        let item = by_name(item)?;
        let found = TYPES.iter().find(|ty| ty.oid == item && ty.array != 0);
        return found.map(|ty| ty.array);
    }
    let plain = name.strip_prefix("pg_catalog.").unwrap_or(&name);
    let plain = plain.split('(').next().unwrap_or(plain).trim();
    if let Some(item) = plain.strip_prefix('_') {
        return by_name(&format!("{item}[]"));
    }
    let found = TYPES
        .iter()
        .find(|ty| ty.name == plain || ty.sql_name() == plain);
    let other = || OTHER_NAMES.iter().find(|(other, _)| *other == plain);
    found
        .map(|ty| ty.oid)
        .or_else(|| other().map(|(_, oid)| *oid))
}

/// The OID and the modifier of the type under which values of an Arrow type go over the wire.
pub(super) fn of(ty: &DataType) -> (i64, i64) {
    let oid = i64::from(postgres_type(ty));
    let modifier = match ty {
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s)
            if *p < 38 =>
        {
            (i64::from(*p) << 16 | i64::from(*s) & 0xffff) + 4
        }
        _ => -1,
    };
    (oid, modifier)
}

/// The OID and the modifier of the type that a column's definition says.
pub(super) fn of_declared(declared: Declared) -> (i64, i64) {
    let modifier = |length: NonZeroU32| i64::from(length.get()) + 4;
    match declared {
        Declared::Varchar(length) => (VARCHAR, length.map_or(-1, modifier)),
        Declared::Char(length) => (BPCHAR, modifier(length)),
        Declared::Jsonb => (i64::from(JSONB), -1),
    }
}

/// The OID and the modifier of the type of a column whose definition says no more.
pub(super) fn of_column(ty: &ColumnType) -> (i64, i64) {
    match *ty == ColumnType::Json {
        true => (i64::from(JSON), -1),
        false => of(&ty.arrow()),
    }
}

/// The OID of the type under which PostgreSQL's clients see a column.
pub fn postgres_type_of(field: &Field) -> u32 {
    let told = field.metadata().get(POSTGRES_TYPE);
    match told.and_then(|oid| oid.parse().ok()) {
        // What is made of a list's items may still say what the list was.
        Some(INT2VECTOR) if !matches!(field.data_type(), DataType::List(_)) => {
            postgres_type(field.data_type())
        }
        Some(oid) => oid,
        None if is_called_json(field) => JSON,
        None => postgres_type(field.data_type()),
    }
}

/// `json`.
const JSON: u32 = 114;
/// `jsonb`.
const JSONB: u32 = 3802;
/// `int2vector`.
const INT2VECTOR: u32 = 22;

/// The type under which values of an Arrow type go over PostgreSQL's wire, by its OID. What PostgreSQL has not goes as the next
/// wider type, structs as JSON.
pub fn postgres_type(ty: &DataType) -> u32 {
    match ty {
        DataType::Boolean => 16,
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => 21,
        DataType::Int32 | DataType::UInt16 => 23,
        DataType::Int64 | DataType::UInt32 => 20,
        DataType::UInt64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => 1700,
        DataType::Float16 | DataType::Float32 => 700,
        DataType::Float64 => 701,
        DataType::FixedSizeBinary(16) => 2950,
        of if *of == TIMETZ => 1266,
        of if *of == BIT => 1562,
        DataType::Binary | DataType::BinaryView | DataType::FixedSizeBinary(_) => 17,
        DataType::Date32 | DataType::Date64 => 1082,
        DataType::Time32(_) | DataType::Time64(_) => 1083,
        DataType::Timestamp(_, None) => 1114,
        DataType::Timestamp(_, Some(_)) => 1184,
        DataType::Interval(_) | DataType::Duration(_) => 1186,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            match is_json_item(item) {
                true => array_of(JSON),
                false => array_of(postgres_type(item.data_type())),
            }
        }
        of if is_enum(of) || UnionType::members_of(of).is_some() => 25,
        DataType::Struct(_) | DataType::Map(..) => 114,
        _ => 25,
    }
}

/// The type of arrays of a type; an array of arrays has that of its own items.
fn array_of(item: u32) -> u32 {
    let found = TYPES
        .iter()
        .find(|ty| ty.oid == i64::from(item) && ty.array != 0);
    found
        .and_then(|ty| u32::try_from(ty.array).ok())
        .unwrap_or(item)
}

/// Columns of `pg_type`.
pub(super) const COLUMNS: &str = "oid oid, typname name, typnamespace oid, typowner oid, typlen int2, typbyval bool, typtype char, \
     typcategory char, typispreferred bool, typisdefined bool, typdelim char, typrelid oid, typsubscript oid, typelem oid, \
     typarray oid, typinput oid, typoutput oid, typreceive oid, typsend oid, typmodin oid, typmodout oid, typanalyze oid, \
     typalign char, typstorage char, typnotnull bool, typbasetype oid, typtypmod int4, typndims int4, typcollation oid, \
     typdefaultbin text, typdefault text, typacl text[]";

/// Rows of `pg_type`: base types and their arrays.
pub(super) fn rows(namespace: i64, owner: i64) -> Vec<Vec<Cell>> {
    let mut rows = vec![];
    for (at, ty) in (0..).zip(&TYPES) {
        let functions = [0, 1, 2, 3].map(|does| FUNCTIONS + 4 * at + does);
        let name = ty.name.to_owned();
        rows.push(type_row(ty, [namespace, owner], ty.oid, name, functions));
        if ty.array != 0 {
            let name = format!("_{}", ty.name);
            rows.push(type_row(ty, [namespace, owner], ty.array, name, OF_ARRAYS));
        }
    }
    rows
}

fn type_row(ty: &Type, place: [i64; 2], oid: i64, name: String, functions: [i64; 4]) -> Vec<Cell> {
    let is_array = oid == ty.array;
    let (bytes, kind, category) = match is_array {
        true => (-1, "b", "A"),
        false => (ty.bytes, ty.kind(), ty.category),
    };
    let preferred = !is_array && matches!(oid, 16 | 25 | 26 | 701 | 1184 | 1186);
    let collation = if ty.category == "S" { 100_i64 } else { 0 };
    let [input, output, receive, send] = functions;
    row![
        oid,
        name,
        place[0],
        place[1],
        bytes,
        (1..=8).contains(&bytes),
        kind,
        category,
        preferred,
        true,
        ",",
        0_i64,
        0_i64,
        if is_array { ty.oid } else { 0 },
        if is_array { 0 } else { ty.array },
        input,
        output,
        receive,
        send,
        0_i64,
        0_i64,
        0_i64,
        if bytes == 8 { "d" } else { "i" },
        if bytes < 0 { "x" } else { "p" },
        false,
        0_i64,
        -1_i64,
        0_i64,
        collation,
        Cell::Null,
        Cell::Null,
        Cell::Null,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_all_their_names() {
        for (name, oid) in [
            ("integer", 23),
            ("int4", 23),
            ("pg_catalog.int8", 20),
            ("character varying(10)", 1043),
            ("text[]", 1009),
            ("_text", 1009),
            ("Timestamp with time zone", 1184),
        ] {
            assert_eq!(by_name(name), Some(oid), "{name}");
        }
        assert_eq!(by_name("hstore"), None);
        let modifier = of(&DataType::Decimal128(15, 2));
        assert_eq!(modifier, (1700, 983_046));
        let shown = format_type(1700, Some(983_046));
        assert_eq!(shown.as_deref(), Some("numeric(15,2)"));
        assert_eq!(format_type(1231, None).as_deref(), Some("numeric[]"));
        assert_eq!(format_type(4, None), None);
    }

    #[test]
    fn every_oid_is_given_once() {
        let mut oids: Vec<i64> = TYPES
            .iter()
            .flat_map(|ty| [ty.oid, ty.array])
            .filter(|oid| *oid != 0)
            .collect();
        let all = oids.len();
        oids.sort_unstable();
        oids.dedup();
        assert_eq!(oids.len(), all);
        let row = rows(11, 10).pop().unwrap();
        assert_eq!(
            row.len(),
            super::super::rows::schema(COLUMNS).fields().len()
        );
    }
}
