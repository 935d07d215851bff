//! DuckDB's functions that are other functions under another name.

mod aggregates;

pub use aggregates::{
    HISTOGRAM_EXACT, HISTOGRAM_OF, NO_COUNT, QUANTILE_BETWEEN, QUANTILE_OF, TOP_K,
};

use super::aggregate_order;
use super::calls::{call, quoted_call};
use super::nested_calls::{self, LIST_BOOL_AND, LIST_BOOL_OR, LIST_STRING_AGG};
use super::operators::lambda;
use super::template::{drawn_once, template};
use super::value_names::within_brackets;
use crate::date_parts::date_part_name;
use crate::error::{Error, ErrorKind, Result};
use crate::walk::visit_expressions;
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName, Value,
};
use std::ops::ControlFlow;

/// `regexp_extract` with names of groups.
pub const REGEXP_GROUPS: &str = "$regexp_groups";
/// What an expression is where it does not fail, and else NULL.
pub const TRIED: &str = "$try";
/// `strptime` in a format with `%z` or `%Z`, which gives a TIMESTAMP WITH TIME ZONE.
pub const STRPTIME_ZONED: &str = "$strptime_zoned";
/// The same of `try_strptime`.
pub const TRY_STRPTIME_ZONED: &str = "$try_strptime_zoned";
/// `strptime` in a format with `%n`, which gives a TIMESTAMP_NS.
pub const STRPTIME_NANOS: &str = "$strptime_nanos";
/// The same of `try_strptime`.
pub const TRY_STRPTIME_NANOS: &str = "$try_strptime_nanos";
/// The version of a UUID.
pub const UUID_VERSION: &str = "$uuid_version";
/// The millisecond of a UUID of version 7.
pub const UUID_MILLISECOND: &str = "$uuid_millisecond";

/// Functions that are another one in all that they take.
pub const OTHER_NAMES: &[(&str, &str)] = &[
    ("group_concat", "string_agg"),
    ("listagg", "string_agg"),
    ("arbitrary", "first"),
    ("prefix", "starts_with"),
    ("suffix", "ends_with"),
    ("gen_random_uuid", "uuid"),
    ("lcase", "lower"),
    ("ucase", "upper"),
    ("grouping_id", "grouping"),
    ("list_apply", "list_transform"),
    ("array_apply", "list_transform"),
    ("apply", "list_transform"),
    ("filter", "list_filter"),
    ("argmax", "arg_max"),
    ("argmin", "arg_min"),
    ("uuidv4", "uuid"),
    ("count_star", "count"),
    ("unpivot_list", "list_value"),
    ("rank_dense", "dense_rank"),
];

/// Name, number of arguments, meaning: `$1` is the first of them.
pub const MACROS: &[(&str, usize, &str)] = &[
    ("if", 3, "CASE WHEN $1 THEN $2 ELSE $3 END"),
    ("mod", 2, "($1 % $2)"),
    ("ifnull", 2, "coalesce($1, $2)"),
    ("nvl", 2, "coalesce($1, $2)"),
    ("xor", 2, "\"$xor\"(($1 | $2), ($1 & $2))"),
    ("map", 0, "\"$map\"([], [])"),
    ("map", 2, "\"$map\"($1, $2)"),
    ("strlen", 1, "octet_length($1)"),
    ("year", 1, "CAST(date_part('year', $1) AS BIGINT)"),
    ("quarter", 1, "CAST(date_part('quarter', $1) AS BIGINT)"),
    ("month", 1, "CAST(date_part('month', $1) AS BIGINT)"),
    ("week", 1, "CAST(date_part('week', $1) AS BIGINT)"),
    ("day", 1, "CAST(date_part('day', $1) AS BIGINT)"),
    ("dayofmonth", 1, "CAST(date_part('day', $1) AS BIGINT)"),
    ("dayofweek", 1, "CAST(date_part('dow', $1) AS BIGINT)"),
    ("weekday", 1, "CAST(date_part('dow', $1) AS BIGINT)"),
    ("dayofyear", 1, "CAST(date_part('doy', $1) AS BIGINT)"),
    ("hour", 1, "CAST(date_part('hour', $1) AS BIGINT)"),
    ("minute", 1, "CAST(date_part('minute', $1) AS BIGINT)"),
    ("second", 1, "CAST(date_part('second', $1) AS BIGINT)"),
    (
        "last_day",
        1,
        "CAST(date_trunc('month', \"$finite\"($1)) + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)",
    ),
    ("struct_extract", 2, "($1)[$2]"),
    ("add", 2, "($1 + $2)"),
    ("subtract", 2, "($1 - $2)"),
    ("multiply", 2, "($1 * $2)"),
    ("divide", 2, "($1 // $2)"),
    ("fdiv", 2, "floor($1 / $2)"),
    ("fmod", 2, "($1 - ($2 * floor($1 / $2)))"),
    (
        "constant_or_null",
        2,
        "CASE WHEN $2 IS NULL THEN NULL ELSE $1 END",
    ),
    ("pg_size_pretty", 1, "format_bytes($1)"),
    ("julian", 1, JULIAN),
    ("era", 1, "date_part('era', $1)"),
    ("map_contains", 2, "contains($1, $2)"),
    ("map_contains_value", 2, "contains(map_values($1), $2)"),
    ("map_extract_value", 2, "\"$map_value\"($1, $2)"),
    ("list_count", 1, "CAST(len(list_compact($1)) AS BIGINT)"),
    ("list_first", 1, "array_element($1, 1)"),
    ("list_last", 1, "array_element($1, -1)"),
    ("list_any_value", 1, "array_element(list_compact($1), 1)"),
    ("list_bool_and", 1, LIST_BOOL_AND),
    ("list_bool_or", 1, LIST_BOOL_OR),
    ("list_string_agg", 1, LIST_STRING_AGG),
    (
        "list_approx_count_distinct",
        1,
        "CAST(len(list_distinct($1)) AS BIGINT)",
    ),
    ("array_unique", 1, "CAST(len(list_distinct($1)) AS UBIGINT)"),
    ("list_unique", 1, "CAST(len(list_distinct($1)) AS UBIGINT)"),
    ("list_min", 1, "array_min($1)"),
    ("list_append", 2, LIST_APPEND),
    ("array_append", 2, LIST_APPEND),
    ("array_push_back", 2, LIST_APPEND),
    ("list_prepend", 2, "list_concat(make_array($1), $2)"),
    ("array_prepend", 2, "list_concat(make_array($1), $2)"),
    ("array_push_front", 2, "list_concat(make_array($2), $1)"),
    (
        "list_reverse_sort",
        1,
        "list_sort($1, 'DESC', 'NULLS LAST')",
    ),
    ("list_reverse_sort", 2, "list_sort($1, 'DESC', $2)"),
    ("array_reverse_sort", 2, "list_sort($1, 'DESC', $2)"),
    (
        "array_reverse_sort",
        1,
        "list_sort($1, 'DESC', 'NULLS LAST')",
    ),
    ("century", 1, "date_part('century', $1)"),
    ("millennium", 1, "date_part('millennium', $1)"),
    ("decade", 1, "date_part('decade', $1)"),
    ("age", 1, "age(CAST(current_date AS TIMESTAMP), $1)"),
    (
        "millisecond",
        1,
        "CAST(date_part('millisecond', $1) AS BIGINT)",
    ),
    (
        "microsecond",
        1,
        "CAST(date_part('microsecond', $1) AS BIGINT)",
    ),
    ("epoch", 1, "CAST(date_part('epoch', $1) AS DOUBLE)"),
    ("isodow", 1, "CAST(date_part('isodow', $1) AS BIGINT)"),
    ("isoyear", 1, "CAST(date_part('isoyear', $1) AS BIGINT)"),
    ("weekofyear", 1, "CAST(date_part('week', $1) AS BIGINT)"),
    (
        "yearweek",
        1,
        "(CAST(date_part('isoyear', $1) AS BIGINT) * 100 + CAST(date_part('week', $1) AS BIGINT))",
    ),
    ("monthname", 1, "strftime(\"$finite\"($1), '%B')"),
    ("dayname", 1, "strftime(\"$finite\"($1), '%A')"),
    ("date_add", 2, "($1 + $2)"),
    ("unicode", 1, "CASE WHEN $1 = '' THEN -1 ELSE ascii($1) END"),
    ("ord", 1, "CASE WHEN $1 = '' THEN -1 ELSE ascii($1) END"),
    ("pg_typeof", 1, "lower(typeof($1))"),
    (
        "wavg",
        2,
        "(sum($1 * $2) / sum(CASE WHEN $1 IS NOT NULL THEN $2 END))",
    ),
    ("geomean", 1, "exp(avg(ln($1)))"),
    ("geometric_mean", 1, "exp(avg(ln($1)))"),
    (
        "weighted_avg",
        2,
        "(sum($1 * $2) / sum(CASE WHEN $1 IS NOT NULL THEN $2 END))",
    ),
    ("sha256", 1, "lower(to_hex(digest($1, 'sha256')))"),
    (
        "days_in_month",
        1,
        "CAST(date_part('day', date_trunc('month', $1) + INTERVAL '1 month' - INTERVAL '1 day') AS BIGINT)",
    ),
    ("ago", 1, "(now() - $1)"),
    ("round_even", 2, ROUND_EVEN),
    ("roundbankers", 2, ROUND_EVEN),
    (
        "generate_subscripts",
        2,
        "unnest(CASE WHEN $2 = 1 THEN generate_series(1, CAST(len($1) AS BIGINT)) END)",
    ),
    (
        "regexp_split_to_table",
        2,
        "unnest(regexp_split_to_array($1, $2))",
    ),
    (
        "map_contains_entry",
        3,
        "list_contains(map_entries($1), named_struct('key', $2, 'value', $3))",
    ),
    ("make_timestamptz", 1, "timezone('UTC', make_timestamp($1))"),
    (
        "make_timestamptz",
        6,
        "CAST(make_timestamp($1, $2, $3, $4, $5, $6) AS TIMESTAMPTZ)",
    ),
    (
        "make_timestamptz",
        7,
        "timezone($7, make_timestamp($1, $2, $3, $4, $5, $6))",
    ),
    (
        "version",
        0,
        concat!("'HushDB ", env!("CARGO_PKG_VERSION"), "'"),
    ),
    ("uuid", 0, "CAST(uuid() AS UUID)"),
    ("uuidv7", 0, UUID_V7),
    (
        "uuid_extract_version",
        1,
        "\"$uuid_version\"(CAST($1 AS UUID))",
    ),
    (
        "uuid_extract_timestamp",
        1,
        "\"$uuid_millisecond\"(CAST($1 AS UUID))",
    ),
    (
        "array_to_string_comma_default",
        1,
        "array_to_string($1, ',')",
    ),
    (
        "nanosecond",
        1,
        "CAST(date_part('nanosecond', $1) AS BIGINT)",
    ),
    (
        "in_search_path",
        2,
        "CASE WHEN $1 IS NOT NULL AND $2 IS NOT NULL THEN \
         lower($1) = lower($3) AND lower($2) = lower($4) \
         OR lower($1) IN ('temp', 'system') AND lower($2) = 'main' \
         OR lower($1) = 'system' AND lower($2) = 'pg_catalog' END",
    ),
    (
        "get_block_size",
        1,
        "(SELECT block_size FROM pragma_database_size() WHERE database_name = $1)",
    ),
    ("timezone", 1, "\"$timezone\"($1)"),
    ("pg_conf_load_time", 0, "now()"),
    ("pg_postmaster_start_time", 0, "now()"),
    ("format_pg_type", 2, FORMAT_PG_TYPE),
    ("map_to_pg_oid", 1, PG_OID),
    ("inet_client_addr", 0, "NULL"),
    ("inet_client_port", 0, "NULL"),
    ("inet_server_addr", 0, "NULL"),
    ("inet_server_port", 0, "NULL"),
    ("pg_ts_parser_is_visible", 1, "true"),
    ("pg_ts_template_is_visible", 1, "true"),
    ("has_server_privilege", 2, "true"),
    ("has_server_privilege", 3, "true"),
    ("has_foreign_data_wrapper_privilege", 2, "true"),
    ("has_foreign_data_wrapper_privilege", 3, "true"),
    ("user", 0, USER),
    ("current_user", 0, USER),
    ("session_user", 0, USER),
    ("current_role", 0, USER),
    ("current_catalog", 0, "$1"),
    ("current_database", 0, "$1"),
    ("current_schema", 0, "$2"),
];

/// The Julian day.
const JULIAN: &str = "(CAST(date_part('epoch', \"$shown\"($1)) AS DOUBLE) / 86400.0 + 2440588.0)";
/// Outside of a server nobody has a name.
const USER: &str = "'hushdb'";
/// The millisecond, a 7 and what is drawn (RFC 9562, 5.7).
const UUID_V7: &str = "CAST(overlay(CAST(uuid() AS VARCHAR) PLACING \
     regexp_replace(lpad(lower(to_hex(epoch_ms(now()))), 12, '0'), '^(.{8})', '\\1-') || '-7' \
     FROM 1 FOR 15) AS UUID)";

/// The short names that PostgreSQL has for types of DuckDB.
const FORMAT_PG_TYPE: &str = "CASE upper($1) WHEN 'FLOAT' THEN 'float4' WHEN 'DOUBLE' THEN 'float8' \
     WHEN 'DECIMAL' THEN 'numeric' WHEN 'ENUM' THEN lower($2) WHEN 'VARCHAR' THEN 'varchar' \
     WHEN 'BLOB' THEN 'bytea' WHEN 'TIMESTAMP' THEN 'timestamp' WHEN 'TIME' THEN 'time' \
     WHEN 'TIMESTAMP WITH TIME ZONE' THEN 'timestamptz' WHEN 'TIME WITH TIME ZONE' THEN 'timetz' \
     WHEN 'SMALLINT' THEN 'int2' WHEN 'INTEGER' THEN 'int4' WHEN 'BIGINT' THEN 'int8' \
     WHEN 'BOOLEAN' THEN 'bool' ELSE lower($1) END";
/// Their numbers there.
const PG_OID: &str = "CASE $1 WHEN 'bool' THEN 16 WHEN 'int16' THEN 21 WHEN 'int' THEN 23 \
     WHEN 'bigint' THEN 20 WHEN 'date' THEN 1082 WHEN 'time' THEN 1083 WHEN 'datetime' THEN 1114 \
     WHEN 'dec' THEN 1700 WHEN 'float' THEN 700 WHEN 'double' THEN 701 WHEN 'bpchar' THEN 1043 \
     WHEN 'binary' THEN 17 WHEN 'interval' THEN 1186 WHEN 'timestamptz' THEN 1184 \
     WHEN 'timestamp with time zone' THEN 1184 WHEN 'timetz' THEN 1266 \
     WHEN 'time with time zone' THEN 1266 WHEN 'bit' THEN 1560 WHEN 'guid' THEN 2950 END";

/// The nearest number with so many digits, of two as near the even one.
const ROUND_EVEN: &str = "CAST(CASE (abs($1) * power(10, $2 + 1)) % 10 \
     WHEN 5 THEN round($1 / 2, $2) * 2 ELSE round($1, $2) END AS DOUBLE)";

/// What is put at an end has the type that both have in common, and a list that is NULL is empty.
const LIST_APPEND: &str = "list_concat($1, make_array($2))";

/// Functions that are known by their text alone, with what they are: scalars, aggregates or macros.
pub fn functions_by_text() -> impl Iterator<Item = (&'static str, &'static str)> {
    let others = OTHER_NAMES.iter().map(|(name, _)| (*name, "macro"));
    let macros = MACROS.iter().map(|(name, ..)| (*name, "macro"));
    others
        .chain(macros)
        .chain(aggregates::names().map(|name| (name, "aggregate")))
        .chain(nested_calls::NAMES.map(|name| (name, "scalar")))
        .chain([("fill", "aggregate")])
        .chain(["alias", "switch", "try"].map(|name| (name, "scalar")))
}

/// `left op ANY (list)`: true when it holds for one item; else unknown when an item or `left` is NULL; else false.
pub(super) fn any_item(left: &Expr, op: &BinaryOperator, list: &Expr) -> Result<Expr> {
    use BinaryOperator as B;
    let holds = match op {
        B::Eq => "list_contains($2, $1)",
        B::Gt => "$1 > array_min($2)",
        B::GtEq => "$1 >= array_min($2)",
        B::Lt => "$1 < array_max($2)",
        B::LtEq => "$1 <= array_max($2)",
        B::NotEq => "$1 <> array_min($2) OR $1 <> array_max($2)",
        _ => {
            let what = format!("{op} cannot be used with ANY or ALL");
            return Err(Error::binder(what));
        }
    };
    let text = format!(
        "CASE WHEN {holds} THEN true WHEN coalesce(len($2), 0) = 0 THEN false \
         WHEN $1 IS NULL OR list_position($2, NULL) IS NOT NULL THEN NULL ELSE false END"
    );
    template(&text, &[left.clone(), list.clone()])
}

/// Parts of `date_diff`, and the number of such parts that a timestamp has behind it; the difference counts the borders
/// between two timestamps.
const DATE_PARTS: [(&str, &str); 13] = [
    ("year", "CAST(date_part('year', $1) AS BIGINT)"),
    ("isoyear", "CAST(date_part('isoyear', $1) AS BIGINT)"),
    (
        "quarter",
        "(CAST(date_part('year', $1) AS BIGINT) * 4 + CAST(date_part('quarter', $1) AS BIGINT))",
    ),
    (
        "month",
        "(CAST(date_part('year', $1) AS BIGINT) * 12 + CAST(date_part('month', $1) AS BIGINT))",
    ),
    ("day", "(epoch_us(date_trunc('day', $1)) // 86400000000)"),
    ("hour", "(epoch_us(date_trunc('hour', $1)) // 3600000000)"),
    ("minute", "(epoch_us(date_trunc('minute', $1)) // 60000000)"),
    ("second", "(epoch_us(date_trunc('second', $1)) // 1000000)"),
    (
        "millisecond",
        "(epoch_us(date_trunc('millisecond', $1)) // 1000)",
    ),
    ("microsecond", "epoch_us($1)"),
    ("decade", "(CAST(date_part('year', $1) AS BIGINT) // 10)"),
    ("century", "(CAST(date_part('year', $1) AS BIGINT) // 100)"),
    (
        "millennium",
        "(CAST(date_part('year', $1) AS BIGINT) // 1000)",
    ),
];

/// `date_diff('part', from, to)`, if the part is written as a text.
fn date_diff(args: &[Expr]) -> Result<Option<Expr>> {
    let [part, from, to] = args else {
        return Ok(None);
    };
    let Expr::Value(part) = part else {
        return Ok(None);
    };
    // What is NULL is not looked at; the rest is there still, so that what it names is looked for.
    let nothing = || {
        let text = "CASE WHEN false THEN CAST($1 IS NULL AND $2 IS NULL AS BIGINT) END";
        template(text, &[from.clone(), to.clone()]).map(Some)
    };
    let part = match &part.value {
        Value::SingleQuotedString(part) => part,
        Value::Null => return nothing(),
        _ => return Ok(None),
    };
    if date_part_name(part).is_none() && (is_null(from) || is_null(to)) {
        return nothing();
    }
    let unknown = || {
        let what = "extract specifier not recognized: date_diff takes a part from microsecond to millennium";
        Error::new(ErrorKind::Conversion, what)
    };
    let part = date_part_name(part).ok_or_else(unknown)?;
    // Whole weeks are counted, not their borders.
    let (part, difference) = match part {
        "week" | "yearweek" => ("day", "(($2 - $1) // 7)"),
        "dow" | "doy" | "isodow" | "julian" => ("day", "($2 - $1)"),
        "epoch" => ("second", "($2 - $1)"),
        other => (other, "($2 - $1)"),
    };
    let count = DATE_PARTS.iter().find(|(name, _)| *name == part);
    let (_, count) = count.ok_or_else(unknown)?;
    // Days and what is longer are those of clocks; shorter parts go by between instants, if one of both is one.
    let shorter = ["hour", "minute", "second", "millisecond", "microsecond"];
    let moment = match shorter.contains(&part) {
        true => "\"$finite\"(\"$moment\"($1, $2))",
        false => "\"$finite\"(CAST($1 AS TIMESTAMP))",
    };
    let count = |at: &Expr, other: &Expr| {
        let at = template(moment, &[at.clone(), other.clone()])?;
        template(count, &[at])
    };
    template(difference, &[count(from, to)?, count(to, from)?]).map(Some)
}

/// Whether a NULL is written, with a type or without.
fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => value.value == Value::Null,
        Expr::Cast { expr, .. } | Expr::Nested(expr) => is_null(expr),
        Expr::Function(call) => within_brackets(call).is_some_and(is_null),
        _ => false,
    }
}

/// What calls mean that take a list where others take one value.
fn of_lists(name: &str, args: &[Expr]) -> Result<Option<Expr>> {
    let items = |list: &Expr| match list {
        Expr::Array(array) => Some(array.elem.clone()),
        _ => None,
    };
    match (name, args) {
        ("date_part" | "datepart", [parts, of]) => match items(parts) {
            Some(parts) => parts_of_date(&parts, of).map(Some),
            None => of_julian_day(parts, of),
        },
        ("struct_extract_at", [of, at]) => Ok(at_constant(of, at)),
        ("strptime" | "try_strptime", [text, formats]) => match items(formats) {
            Some(formats) => in_one_of_forms(name, text, &formats).map(Some),
            None => Ok(in_form_of_another_type(name, text, formats)),
        },
        ("cast_to_type", [_, Expr::Value(of)]) if of.value == Value::Null => Err(Error::invalid(
            "cast_to_type cannot be used to cast to NULL: cast it to a type",
        )),
        ("regexp_extract", [text, pattern, groups, options @ ..]) if options.len() < 2 => {
            let no_options = Expr::value(Value::SingleQuotedString(String::new()));
            let options = options.first().cloned().unwrap_or(no_options);
            Ok(items(groups).map(|names| {
                let mut args = vec![text.clone(), pattern.clone(), options];
                args.extend(names);
                quoted_call(REGEXP_GROUPS, args)
            }))
        }
        _ => Ok(None),
    }
}

/// What calls mean that take an expression for itself, with its errors.
fn of_expressions(name: &str, args: &[Expr]) -> Result<Option<Expr>> {
    match (name, args) {
        ("try", [of]) => {
            let is_query = |expr: &Expr| match expr {
                Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Exists { .. } => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            };
            if visit_expressions(of, is_query).is_break() {
                return Err(Error::binder(
                    "TRY can not be used in combination with a scalar subquery",
                ));
            }
            let row = vec![Ident::with_quote('"', "$try")];
            let args = vec![Expr::value(Value::Boolean(true)), lambda(row, of.clone())];
            Ok(Some(quoted_call(TRIED, args)))
        }
        ("try", _) => Err(Error::parser(
            "Wrong number of arguments provided to TRY expression",
        )),
        _ => Ok(None),
    }
}

/// `struct_extract_at` with its place as a literal, where it is written otherwise: the planner takes the result's type from it.
fn at_constant(of: &Expr, at: &Expr) -> Option<Expr> {
    let is_null = |one: &Expr| matches!(one, Expr::Value(v) if v.value == Value::Null);
    if is_null(of) || is_null(at) {
        return Some(Expr::value(Value::Null));
    }
    if matches!(at, Expr::Value(v) if matches!(v.value, Value::Number(..))) {
        return None;
    }
    let place = Expr::value(Value::Number(constant_integer(at)?.to_string(), false));
    Some(call("struct_extract_at", vec![of.clone(), place]))
}

/// An integer that is written as a literal in brackets, a CAST, a text or a sum of such.
fn constant_integer(expr: &Expr) -> Option<u32> {
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => constant_integer(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) | Value::SingleQuotedString(digits) => digits.parse().ok(),
            _ => None,
        },
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Plus,
            right,
        } => constant_integer(left)?.checked_add(constant_integer(right)?),
        _ => None,
    }
}

/// A struct of the parts.
fn parts_of_date(parts: &[Expr], of: &Expr) -> Result<Expr> {
    if parts.is_empty() {
        let what = "date_part requires non-empty lists of part names";
        return Err(Error::binder(what));
    }
    let mut text = "CASE WHEN $1 IS NULL THEN NULL ELSE named_struct(".to_owned();
    let mut names = vec![];
    for (at, part) in parts.iter().enumerate() {
        let name = match part {
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(name) => name,
                _ => return Err(only_names()),
            },
            _ => return Err(only_names()),
        };
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(only_names());
        }
        names.push(name.clone());
        let part = name.to_lowercase();
        let value = match part.as_str() {
            "julian" => JULIAN.to_owned(),
            "epoch" => "CAST(date_part('epoch', $1) AS DOUBLE)".to_owned(),
            _ => format!("CAST(date_part('{part}', $1) AS BIGINT)"),
        };
        let comma = if at > 0 { ", " } else { "" };
        text += &format!("{comma}'{name}', {value}");
    }
    nested_calls::refuse_names_twice(names.iter().map(String::as_str))?;
    template(&(text + ") END"), std::slice::from_ref(of))
}

/// The Julian day, which has a fraction.
fn of_julian_day(part: &Expr, of: &Expr) -> Result<Option<Expr>> {
    let Expr::Value(part) = part else {
        return Ok(None);
    };
    match &part.value {
        Value::SingleQuotedString(part) if part.eq_ignore_ascii_case("julian") => {
            template(JULIAN, std::slice::from_ref(of)).map(Some)
        }
        _ => Ok(None),
    }
}

fn only_names() -> Error {
    Error::binder("date_part takes a list of names of parts, as in ['year', 'month']")
}

/// What a text says in the first format that fits it.
fn in_one_of_forms(name: &str, text: &Expr, formats: &[Expr]) -> Result<Expr> {
    // One that is NULL fits nothing.
    let is_null = |format: &Expr| matches!(format, Expr::Value(v) if v.value == Value::Null);
    let formats: Vec<&Expr> = formats.iter().filter(|format| !is_null(format)).collect();
    let Some((last, others)) = formats.split_last() else {
        return Err(Error::binder(format!("{name} needs a format")));
    };
    let read = |name: &str, format: &Expr| {
        in_form_of_another_type(name, text, format)
            .unwrap_or_else(|| call(name, vec![text.clone(), format.clone()]))
    };
    let mut all: Vec<Expr> = others.iter().map(|f| read("try_strptime", f)).collect();
    all.push(read(name, last));
    Ok(call("coalesce", all))
}

/// What a text says in a format that is written out and has a time zone or nanoseconds in it, which make it of another type.
fn in_form_of_another_type(name: &str, text: &Expr, format: &Expr) -> Option<Expr> {
    let Expr::Value(written) = format else {
        return None;
    };
    let mut letters = match &written.value {
        Value::SingleQuotedString(written) => written.chars(),
        _ => return None,
    };
    let (mut has_zone, mut has_nanos) = (false, false);
    while letters.any(|c| c == '%') {
        match letters.find(|c| *c != '-') {
            Some('z' | 'Z') => has_zone = true,
            Some('n') => has_nanos = true,
            _ => {}
        }
    }
    let reads = match (name == "strptime", has_zone, has_nanos) {
        (true, true, _) => STRPTIME_ZONED,
        (true, false, true) => STRPTIME_NANOS,
        (false, true, _) => TRY_STRPTIME_ZONED,
        (false, false, true) => TRY_STRPTIME_NANOS,
        (_, false, false) => return None,
    };
    Some(quoted_call(reads, vec![text.clone(), format.clone()]))
}

/// Gives a function that goes by another name the one that is known.
pub(super) fn by_known_name(function: &mut Function) {
    let called = match function.name.0.as_slice() {
        [part] => part.as_ident().map(|name| name.value.to_lowercase()),
        _ => None,
    };
    if let Some(called) = called
        && known_name(&called) != called
    {
        function.name = ObjectName::from(vec![Ident::new(known_name(&called))]);
    }
}

/// The name by which the planner knows a function.
fn known_name(called: &str) -> &str {
    let mut known = OTHER_NAMES.iter();
    let known = known.find(|(other, _)| *other == called);
    known.map_or(called, |(_, meant)| meant)
}

/// Whether a name is that of an aggregate, also of one that is others' under another name.
pub(super) fn is_aggregate(called: &str) -> bool {
    const OF_AGGREGATES: [&str; 4] = ["geomean", "geometric_mean", "wavg", "weighted_avg"];
    let name = known_name(called);
    aggregate_order::is_aggregate(name)
        || aggregates::names().any(|aggregate| aggregate == name)
        || OF_AGGREGATES.contains(&name)
}

/// The expression that a call stands for, if it is a macro. `place` are the current database and schema as literals.
pub(super) fn expand(function: &mut Function, place: &[Expr; 2]) -> Result<Option<Expr>> {
    let [part] = function.name.0.as_slice() else {
        return Ok(None);
    };
    let Some(name) = part.as_ident().map(|i| i.value.to_lowercase()) else {
        return Ok(None);
    };
    if let Some(meaning) = nested_calls::expand(&name, function)? {
        return Ok(Some(meaning));
    }
    if let Some(meaning) = aggregates::expand(&name, function)? {
        return Ok(Some(meaning));
    }
    let mut args = vec![];
    match &function.args {
        FunctionArguments::None => {}
        FunctionArguments::List(list)
            if list.clauses.is_empty() && list.duplicate_treatment.is_none() =>
        {
            for arg in &list.args {
                let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = arg else {
                    return Ok(None);
                };
                args.push(expr.clone());
            }
        }
        _ => return Ok(None),
    }
    let plain = function.over.is_none() && function.filter.is_none();
    if plain && matches!(name.as_str(), "date_diff" | "datediff") {
        return date_diff(&args);
    }
    if plain && let Some(meaning) = of_lists(&name, &args)? {
        return Ok(Some(meaning));
    }
    if plain && let Some(meaning) = of_expressions(&name, &args)? {
        return Ok(Some(meaning));
    }
    let Some((.., text)) = MACROS
        .iter()
        .find(|(n, arity, _)| plain && *n == name && *arity == args.len())
    else {
        return Ok(None);
    };
    args.extend(place.iter().cloned());
    drawn_once(text, &args).map(Some)
}
