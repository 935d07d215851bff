//! PostgreSQL's functions that are expressions of ours.

use crate::error::Result;
use crate::template::template;
use sqlparser::ast::{Expr, Value};

/// Name, number of arguments, and what it means. Names that begin with a dollar are of values within lists.
pub(crate) const MACROS: [(&str, usize, &str); 31] = [
    ("version", 0, "postgres_version()"),
    ("current_setting", 1, "setting_of_session($1)"),
    ("current_setting", 2, "setting_of_session($1, $2)"),
    ("mod", 2, "remainder_as_postgres($1, $2)"),
    ("div", 2, "trunc(divide_as_postgres($1, $2))"),
    (
        "array_upper",
        2,
        "CAST(CASE WHEN $2 = 1 THEN nullif(len($1), 0) END AS INTEGER)",
    ),
    (
        "array_lower",
        2,
        "CASE WHEN $2 = 1 AND len($1) > 0 THEN 1 END",
    ),
    (
        "array_length",
        2,
        "CAST(CASE WHEN $2 = 1 THEN nullif(len($1), 0) END AS INTEGER)",
    ),
    ("cardinality", 1, "CAST(len($1) AS INTEGER)"),
    ("array_position", 2, "list_position($1, $2)"),
    (
        "array_remove",
        2,
        "list_filter($1, \"$item\" -> \"$item\" IS DISTINCT FROM $2)",
    ),
    (
        "array_to_string",
        2,
        "array_to_string(CAST($1 AS VARCHAR[]), $2)",
    ),
    (
        "array_to_string",
        3,
        "array_to_string(list_transform(CAST($1 AS VARCHAR[]), \"$item\" -> coalesce(\"$item\", $3)), $2)",
    ),
    (
        "string_to_array",
        2,
        "CASE WHEN $1 = '' THEN CAST([] AS VARCHAR[]) ELSE string_split($1, $2) END",
    ),
    (
        "string_to_array",
        3,
        "CASE WHEN $1 = '' THEN CAST([] AS VARCHAR[]) \
         ELSE list_transform(string_split($1, $2), \"$item\" -> nullif(\"$item\", $3)) END",
    ),
    (
        "generate_subscripts",
        2,
        "unnest(CASE WHEN $2 = 1 THEN range(1, len($1) + 1) END)",
    ),
    ("btrim", 1, "trim($1)"),
    ("lpad", 2, "lpad($1, $2, ' ')"),
    ("rpad", 2, "rpad($1, $2, ' ')"),
    ("to_hex", 1, "lower(to_hex($1))"),
    ("quote_nullable", 1, "coalesce(quote_literal($1), 'NULL')"),
    (
        "regexp_count",
        2,
        "CAST(len(regexp_extract_all($1, $2)) AS INTEGER)",
    ),
    ("regexp_like", 2, "regexp_matches($1, $2)"),
    ("regexp_like", 3, "regexp_matches($1, $2, $3)"),
    (
        "regexp_substr",
        2,
        "CASE WHEN regexp_matches($1, $2) THEN regexp_extract($1, $2) END",
    ),
    ("json_typeof", 1, TYPE_OF_JSON),
    ("jsonb_typeof", 1, TYPE_OF_JSON),
    ("json_object_keys", 1, "unnest(json_keys($1))"),
    ("jsonb_object_keys", 1, "unnest(json_keys($1))"),
    ("pg_size_pretty", 1, SIZE),
    (
        "_pg_expandarray",
        1,
        "struct_pack(x := unnest($1), n := unnest(range(1, len($1) + 1)))",
    ),
];

const TYPE_OF_JSON: &str = "CASE json_type($1) WHEN 'OBJECT' THEN 'object' WHEN 'ARRAY' THEN 'array' WHEN 'VARCHAR' THEN 'string' \
    WHEN 'BOOLEAN' THEN 'boolean' WHEN 'NULL' THEN 'null' ELSE CASE WHEN $1 IS NOT NULL THEN 'number' END END";

/// Of each unit as many as 10,239 and a half.
const SIZE: &str = "CASE WHEN abs($1) < 10240 THEN CAST($1 AS VARCHAR) || ' bytes' \
    WHEN abs($1) < 10239.5 * 1024 THEN CAST(CAST(round($1 / 1024) AS BIGINT) AS VARCHAR) || ' kB' \
    WHEN abs($1) < 10239.5 * 1048576 THEN CAST(CAST(round($1 / 1048576) AS BIGINT) AS VARCHAR) || ' MB' \
    WHEN abs($1) < 10239.5 * 1073741824 THEN CAST(CAST(round($1 / 1073741824) AS BIGINT) AS VARCHAR) || ' GB' \
    ELSE CAST(CAST(round($1 / 1099511627776) AS BIGINT) AS VARCHAR) || ' TB' END";

/// What `date_part` and EXTRACT mean: seconds have what is behind their point, which DuckDB's are without.
pub(crate) fn part_of_moment(part: &str, of: &Expr) -> Result<Option<Expr>> {
    let text = match part.to_lowercase().as_str() {
        "second" | "seconds" => "date_part('microsecond', $1) / 1000000",
        "millisecond" | "milliseconds" => "date_part('microsecond', $1) / 1000",
        _ => return Ok(None),
    };
    template(text, std::slice::from_ref(of)).map(Some)
}

/// What a call of `date_part` means.
pub(crate) fn date_part(args: &[Expr]) -> Result<Option<Expr>> {
    let [Expr::Value(part), of] = args else {
        return Ok(None);
    };
    let seconds = match &part.value {
        Value::SingleQuotedString(part) => part_of_moment(part, of)?,
        _ => None,
    };
    match seconds {
        Some(seconds) => Ok(Some(seconds)),
        None => template("CAST(date_part($1, $2) AS DOUBLE)", args).map(Some),
    }
}
