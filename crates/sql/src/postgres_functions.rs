//! PostgreSQL's functions that are expressions of ours.

use crate::error::Result;
use crate::template::template;
use sqlparser::ast::{Expr, Value};

/// Name, number of arguments, and what it means. Names that begin with a dollar are of values within lists.
pub(crate) const MACROS: [(&str, usize, &str); 43] = [
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
    ("array_ndims", 1, "CAST(array_ndims($1) AS INTEGER)"),
    (
        "array_positions",
        2,
        "CAST(array_positions($1, $2) AS INTEGER[])",
    ),
    ("length", 1, "CAST(length($1) AS INTEGER)"),
    ("char_length", 1, "CAST(length($1) AS INTEGER)"),
    ("character_length", 1, "CAST(length($1) AS INTEGER)"),
    ("octet_length", 1, "CAST(octet_length($1) AS INTEGER)"),
    ("bit_length", 1, "CAST(bit_length($1) AS INTEGER)"),
    ("strpos", 2, "CAST(strpos($1, $2) AS INTEGER)"),
    ("regexp_instr", 2, "CAST(regexp_instr($1, $2) AS INTEGER)"),
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
    (
        "json_array_length",
        1,
        "CAST(json_array_length($1) AS INTEGER)",
    ),
    (
        "jsonb_array_length",
        1,
        "CAST(json_array_length($1) AS INTEGER)",
    ),
    ("width_bucket", 4, BUCKET),
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

/// The bounds may stand either way.
const BUCKET: &str = "CAST(CASE WHEN $2 < $3 THEN CASE WHEN $1 < $2 THEN 0 WHEN $1 >= $3 THEN $4 + 1 \
    ELSE floor(($1 - $2) * $4 / ($3 - $2)) + 1 END \
    WHEN $2 > $3 THEN CASE WHEN $1 > $2 THEN 0 WHEN $1 <= $3 THEN $4 + 1 ELSE floor(($2 - $1) * $4 / ($2 - $3)) + 1 END \
    ELSE error('lower bound cannot equal upper bound') END AS INTEGER)";

/// Of each unit as many as 10,239 and a half.
const SIZE: &str = "CASE WHEN abs($1) < 10240 THEN CAST($1 AS VARCHAR) || ' bytes' \
    WHEN abs($1) < 10239.5 * 1024 THEN CAST(CAST(round($1 / 1024) AS BIGINT) AS VARCHAR) || ' kB' \
    WHEN abs($1) < 10239.5 * 1048576 THEN CAST(CAST(round($1 / 1048576) AS BIGINT) AS VARCHAR) || ' MB' \
    WHEN abs($1) < 10239.5 * 1073741824 THEN CAST(CAST(round($1 / 1073741824) AS BIGINT) AS VARCHAR) || ' GB' \
    ELSE CAST(CAST(round($1 / 1099511627776) AS BIGINT) AS VARCHAR) || ' TB' END";

/// Parts with what is behind their point, which DuckDB's seconds are without, and their digits there.
const FINE_PARTS: [(&[&str], &str, &str, &str); 3] = [
    (
        &["second", "seconds"],
        "microsecond",
        "/ 1000000",
        "DECIMAL(38, 6)",
    ),
    (
        &["millisecond", "milliseconds"],
        "microsecond",
        "/ 1000",
        "DECIMAL(38, 3)",
    ),
    (&["epoch"], "epoch", "", "DECIMAL(38, 6)"),
];

/// What EXTRACT means, which is a numeric; `None` for a day that is counted with its fraction.
pub(crate) fn extracted(part: &str, of: &Expr) -> Result<Option<Expr>> {
    let part = part.to_lowercase();
    if part == "julian" {
        return Ok(None);
    }
    let mut fine = FINE_PARTS.iter();
    let fine = fine.find(|(names, ..)| names.contains(&part.as_str()));
    let (part, unit, to) = match fine {
        Some((_, part, unit, to)) => (*part, *unit, *to),
        None => (part.as_str(), "", "DECIMAL(38, 0)"),
    };
    let part = Expr::Value(Value::SingleQuotedString(part.to_owned()).into());
    let text = format!("CAST(date_part($1, $2) {unit} AS {to})");
    template(&text, &[part, of.clone()]).map(Some)
}

/// What a call of `date_part` means, which is a double.
pub(crate) fn date_part(args: &[Expr]) -> Result<Option<Expr>> {
    let [Expr::Value(part), _] = args else {
        return Ok(None);
    };
    let of_microseconds = match &part.value {
        Value::SingleQuotedString(part) => {
            let part = part.to_lowercase();
            let mut fine = FINE_PARTS.iter();
            fine.find(|(names, ..)| names.contains(&part.as_str()))
        }
        _ => None,
    };
    match of_microseconds {
        Some((_, part, unit, _)) => {
            let text = format!("CAST(date_part('{part}', $2) {unit} AS DOUBLE)");
            template(&text, args).map(Some)
        }
        None => template("CAST(date_part($1, $2) AS DOUBLE)", args).map(Some),
    }
}
