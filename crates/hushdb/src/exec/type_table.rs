//! `duckdb_types()`: the names of types, and which type each is.

use super::index_tables::Columns;
use datafusion::arrow::array::{ArrayRef, BooleanArray, Int32Array, StringArray};
use hushdb_sql::type_names::{column_type_name, named_type};
use std::sync::Arc;

/// DuckDB's names of types without parameters; those that are not there yet are not listed.
const NAMES: [&str; 66] = [
    "bigint",
    "bignum",
    "binary",
    "bit",
    "bitstring",
    "blob",
    "bool",
    "boolean",
    "bpchar",
    "bytea",
    "char",
    "date",
    "datetime",
    "dec",
    "decimal",
    "double",
    "float",
    "float4",
    "float8",
    "guid",
    "hugeint",
    "int",
    "int1",
    "int128",
    "int16",
    "int2",
    "int32",
    "int4",
    "int64",
    "int8",
    "integer",
    "integral",
    "interval",
    "json",
    "logical",
    "long",
    "numeric",
    "nvarchar",
    "oid",
    "real",
    "short",
    "signed",
    "smallint",
    "string",
    "text",
    "time",
    "timestamp",
    "timestamp_ms",
    "timestamp_ns",
    "timestamp_s",
    "timestamp_us",
    "timestamptz",
    "timetz",
    "tinyint",
    "ubigint",
    "uhugeint",
    "uint128",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uinteger",
    "usmallint",
    "utinyint",
    "uuid",
    "varchar",
];

/// Its name, the type's, the bytes of a value in memory and the family.
type Row = (&'static str, String, Option<i32>, Option<&'static str>);

pub(super) fn types(database: &str) -> Columns {
    let rows: Vec<Row> = NAMES.into_iter().filter_map(row).collect();
    let texts = |of: &dyn Fn(&Row) -> Option<String>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<StringArray>())
    };
    let sizes = rows.iter().map(|(.., size, _)| *size);
    let internal = rows.iter().map(|_| Some(true));
    vec![
        ("database_name", texts(&|_| Some(database.to_owned()))),
        ("schema_name", texts(&|_| Some("main".into()))),
        ("type_name", texts(&|(name, ..)| Some((*name).to_owned()))),
        ("type_size", Arc::new(sizes.collect::<Int32Array>())),
        ("logical_type", texts(&|(_, ty, ..)| Some(ty.clone()))),
        (
            "type_category",
            texts(&|(.., family)| family.map(str::to_owned)),
        ),
        ("internal", Arc::new(internal.collect::<BooleanArray>())),
    ]
}

fn row(name: &'static str) -> Option<Row> {
    let ty = column_type_name(&named_type(name).ok()?);
    let ty = ty.split('(').next().unwrap_or_default().to_owned();
    let (size, family) = match ty.as_str() {
        "BOOLEAN" => (Some(1), Some("BOOLEAN")),
        "TINYINT" | "UTINYINT" => (Some(1), Some("NUMERIC")),
        "SMALLINT" | "USMALLINT" => (Some(2), Some("NUMERIC")),
        "INTEGER" | "UINTEGER" | "FLOAT" => (Some(4), Some("NUMERIC")),
        "BIGINT" | "UBIGINT" | "DOUBLE" => (Some(8), Some("NUMERIC")),
        "HUGEINT" | "UHUGEINT" => (Some(16), Some("NUMERIC")),
        "DECIMAL" => (None, Some("NUMERIC")),
        "DATE" => (Some(4), Some("DATETIME")),
        "INTERVAL" => (Some(16), Some("DATETIME")),
        other if other.starts_with("TIME") => (Some(8), Some("DATETIME")),
        "VARCHAR" | "JSON" => (Some(16), Some("STRING")),
        _ => (Some(16), None),
    };
    Some((name, ty, size, family))
}
