//! `duckdb_types()`: the names of types, and which type each is.

use crate::exec::Columns;
use crate::exec::definitions::user_types::{self, TypeRow};
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Int64Array, ListBuilder, StringArray, StringBuilder,
};
use hushdb_query::plan::Planner;
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

pub(in crate::exec) fn types(planner: &Planner<'_>) -> Columns {
    let database = &planner.snapshot.current_database;
    let internal = NAMES.into_iter().filter_map(|name| row(database, name));
    let rows: Vec<TypeRow> = internal.chain(user_types::types(planner)).collect();
    let texts = |of: &dyn Fn(&TypeRow) -> Option<String>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<StringArray>())
    };
    let sizes = rows.iter().map(|row| row.size);
    let internal = rows.iter().map(|row| Some(row.internal));
    let mut labels = ListBuilder::new(StringBuilder::new());
    for row in &rows {
        for label in row.labels.iter().flatten() {
            labels.values().append_value(label);
        }
        labels.append(row.labels.is_some());
    }
    vec![
        ("database_name", texts(&|row| Some(row.database.clone()))),
        ("schema_name", texts(&|row| Some(row.schema.clone()))),
        ("type_name", texts(&|row| Some(row.name.clone()))),
        ("type_size", Arc::new(sizes.collect::<Int64Array>())),
        ("logical_type", texts(&|row| Some(row.logical.clone()))),
        (
            "type_category",
            texts(&|row| row.category.map(str::to_owned)),
        ),
        ("internal", Arc::new(internal.collect::<BooleanArray>())),
        ("labels", Arc::new(labels.finish())),
    ]
}

fn row(database: &str, name: &str) -> Option<TypeRow> {
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
    Some(TypeRow {
        database: database.to_owned(),
        schema: "main".into(),
        name: name.to_owned(),
        size,
        logical: ty,
        category: family,
        internal: true,
        labels: None,
    })
}
