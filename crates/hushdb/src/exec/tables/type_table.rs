//! `duckdb_types()`: the names of types, and which type each is.

use super::arrays::{flags, no_tags, numbers, text_lists, texts};
use super::numbered::{Entries, Entry, SchemaRow, places};
use crate::exec::Columns;
use crate::exec::definitions::comments::said;
use crate::exec::definitions::user_types::{labels, logical, size};
use hushdb_query::plan::Planner;
use hushdb_sql::type_names::{column_type_name, named_type};
use hushdb_storage::{CommentKind, MAIN_SCHEMA};
use std::collections::HashSet;

/// DuckDB's names of types without parameters, in its order; those that are not there yet are not listed.
const NAMES: [&str; 78] = [
    "array",
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
    "enum",
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
    "list",
    "logical",
    "long",
    "map",
    "null",
    "numeric",
    "nvarchar",
    "oid",
    "real",
    "row",
    "short",
    "signed",
    "smallint",
    "string",
    "struct",
    "text",
    "time",
    "time with time zone",
    "timestamp",
    "timestamp with time zone",
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
    "union",
    "usmallint",
    "utinyint",
    "uuid",
    "varbinary",
    "varchar",
    "varint",
];

/// What is made of other types.
const NESTED: [(&str, &str); 8] = [
    ("array", "ARRAY"),
    ("enum", "ENUM"),
    ("list", "LIST"),
    ("map", "MAP"),
    ("null", "NULL"),
    ("row", "STRUCT"),
    ("struct", "STRUCT"),
    ("union", "UNION"),
];

/// A type that has a name.
struct TypeRow<'a> {
    schema: &'a SchemaRow<'a>,
    oid: Option<i64>,
    name: String,
    /// Bytes of a value in memory, where all have as many.
    size: Option<i64>,
    /// The type's own name.
    logical: String,
    internal: bool,
    /// The values of an ENUM.
    labels: Option<Vec<String>>,
    comment: Option<String>,
}

pub(in crate::exec) fn types(planner: &Planner<'_>) -> Columns {
    let entries = Entries::of(planner);
    let current = &planner.snapshot.current_database;
    let mut schemas = entries.schemas.iter();
    let schema =
        schemas.find(|schema| schema.database == current.as_str() && schema.name == MAIN_SCHEMA);
    let mut rows: Vec<TypeRow<'_>> = schema.map(internal).unwrap_or_default();
    let users = entries.chosen(Entry::user_type).into_iter();
    rows.extend(users.map(|(schema, oid, one)| TypeRow {
        schema,
        oid: Some(oid),
        name: one.name.clone(),
        size: size(&one.ty),
        logical: logical(&one.ty),
        internal: false,
        labels: labels(&one.ty),
        comment: said(schema.version, CommentKind::Type, &one.name, None),
    }));
    let mut columns = places(&rows, |row| row.schema);
    columns.extend([
        ("type_oid", numbers(&rows, |row| row.oid)),
        ("type_name", texts(&rows, |row| Some(row.name.clone()))),
        ("type_size", numbers(&rows, |row| row.size)),
        (
            "logical_type",
            texts(&rows, |row| Some(row.logical.clone())),
        ),
        (
            "type_category",
            texts(&rows, |row| family(&row.logical).map(str::to_owned)),
        ),
        ("comment", texts(&rows, |row| row.comment.clone())),
        ("tags", no_tags(&rows)),
        ("internal", flags(&rows, |row| row.internal)),
        (
            "labels",
            text_lists(&rows, |row| {
                Some(row.labels.as_ref()?.iter().cloned().map(Some).collect())
            }),
        ),
    ]);
    columns
}

/// Names that are there for all; the first one of each type has its number.
fn internal<'a>(schema: &'a SchemaRow<'a>) -> Vec<TypeRow<'a>> {
    let mut numbered = HashSet::new();
    let rows = NAMES.iter().filter_map(|name| {
        let nested = NESTED.iter().find(|(known, _)| known == name);
        let logical = match nested {
            Some((_, logical)) => (*logical).to_owned(),
            None => {
                let ty = column_type_name(&named_type(name).ok()?);
                ty.split('(').next().unwrap_or_default().to_owned()
            }
        };
        let id = type_id(&logical).filter(|id| *name != "json" && numbered.insert(*id));
        Some(TypeRow {
            schema,
            oid: id,
            name: (*name).to_owned(),
            size: internal_size(&logical),
            logical,
            internal: true,
            labels: None,
            comment: None,
        })
    });
    rows.collect()
}

fn internal_size(logical: &str) -> Option<i64> {
    Some(match logical {
        "BOOLEAN" | "TINYINT" | "UTINYINT" => 1,
        "SMALLINT" | "USMALLINT" => 2,
        "INTEGER" | "UINTEGER" | "FLOAT" | "DATE" | "NULL" => 4,
        "BIGINT" | "UBIGINT" | "DOUBLE" => 8,
        "DECIMAL" | "ENUM" => return None,
        "ARRAY" | "STRUCT" | "UNION" => 0,
        other if other.starts_with("TIME") => 8,
        _ => 16,
    })
}

/// DuckDB's word for types of a kind.
fn family(logical: &str) -> Option<&'static str> {
    match logical {
        "BOOLEAN" => Some("BOOLEAN"),
        "TINYINT" | "UTINYINT" | "SMALLINT" | "USMALLINT" | "INTEGER" | "UINTEGER" | "FLOAT"
        | "BIGINT" | "UBIGINT" | "DOUBLE" | "HUGEINT" | "UHUGEINT" | "DECIMAL" => Some("NUMERIC"),
        "DATE" | "INTERVAL" => Some("DATETIME"),
        "VARCHAR" | "JSON" => Some("STRING"),
        "ARRAY" | "LIST" | "MAP" | "STRUCT" | "UNION" => Some("COMPOSITE"),
        other if other.starts_with("TIME") => Some("DATETIME"),
        _ => None,
    }
}

/// DuckDB's number of a type.
pub(super) fn type_id(data_type: &str) -> Option<i64> {
    if let Some((_, size)) = data_type
        .strip_suffix(']')
        .and_then(|of| of.rsplit_once('['))
    {
        return Some(if size.is_empty() { 101 } else { 108 });
    }
    let name = data_type.split('(').next()?;
    TYPE_IDS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, id)| *id)
}

const TYPE_IDS: [(&str, i64); 36] = [
    ("NULL", 1),
    ("BOOLEAN", 10),
    ("TINYINT", 11),
    ("SMALLINT", 12),
    ("INTEGER", 13),
    ("BIGINT", 14),
    ("DATE", 15),
    ("TIME", 16),
    ("TIMESTAMP_S", 17),
    ("TIMESTAMP_MS", 18),
    ("TIMESTAMP", 19),
    ("TIMESTAMP_NS", 20),
    ("DECIMAL", 21),
    ("FLOAT", 22),
    ("DOUBLE", 23),
    ("VARCHAR", 25),
    ("JSON", 25),
    ("BLOB", 26),
    ("INTERVAL", 27),
    ("UTINYINT", 28),
    ("USMALLINT", 29),
    ("UINTEGER", 30),
    ("UBIGINT", 31),
    ("TIMESTAMP WITH TIME ZONE", 32),
    ("TIME WITH TIME ZONE", 34),
    ("BIT", 36),
    ("BIGNUM", 39),
    ("UHUGEINT", 49),
    ("HUGEINT", 50),
    ("UUID", 54),
    ("STRUCT", 100),
    ("LIST", 101),
    ("MAP", 102),
    ("ENUM", 104),
    ("UNION", 107),
    ("ARRAY", 108),
];
