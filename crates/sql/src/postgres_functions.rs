//! PostgreSQL's functions that are expressions of ours.

use crate::calls::call;
use crate::error::{Error, Result};
use crate::postgres_arrays::array_literal;
use crate::postgres_casts::POSTGRES_OUTPUT;
use crate::template::template;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value,
};

/// The function that `to_char` of PostgreSQL is.
pub const TO_CHAR: &str = "to_char_as_postgres";
/// The function that `to_number` is.
pub const TO_NUMBER: &str = "to_number_as_postgres";
/// The function that gives the moment that `to_timestamp` and `to_date` read.
pub const READ_MOMENT: &str = "moment_as_postgres";

/// The parts of a text.
macro_rules! taken_apart {
    () => {
        "CASE WHEN $1 = '' THEN CAST([] AS VARCHAR[]) WHEN $2 = '' THEN [$1] ELSE string_split($1, coalesce($2, '')) END"
    };
}

/// The same, of which some are NULL.
macro_rules! taken_apart_with_nulls {
    () => {
        "CASE WHEN $1 = '' THEN CAST([] AS VARCHAR[]) \
         ELSE list_transform(CASE WHEN $2 = '' THEN [$1] ELSE string_split($1, coalesce($2, '')) END, \"$item\" -> nullif(\"$item\", $3)) END"
    };
}

/// Name, number of arguments, and what it means. Names that begin with a dollar are of values within lists.
pub(crate) const MACROS: &[(&str, usize, &str)] = &[
    ("pg_typeof", 1, NAME_OF_TYPE),
    ("sqrt", 1, "sqrt_as_postgres($1)"),
    ("power", 2, "power_as_postgres($1, $2)"),
    ("pow", 2, "power_as_postgres($1, $2)"),
    ("exp", 1, "exp_as_postgres($1)"),
    ("ln", 1, "ln_as_postgres($1)"),
    ("log", 1, "log_as_postgres($1)"),
    ("log10", 1, "log_as_postgres($1)"),
    ("log", 2, "log_as_postgres($1, $2)"),
    ("round", 1, "round_as_postgres($1)"),
    ("sign", 1, "sign_as_postgres($1)"),
    ("justify_days", 1, "justify_days_as_postgres($1)"),
    ("justify_hours", 1, "justify_hours_as_postgres($1)"),
    ("justify_interval", 1, "justify_interval_as_postgres($1)"),
    ("split_part", 3, SPLIT_PART),
    ("trim_array", 2, TRIM_ARRAY),
    ("array_cat", 2, "array_cat_as_postgres($1, $2)"),
    ("array_dims", 1, "array_dims_as_postgres($1)"),
    ("to_char", 2, "to_char_as_postgres($1, $2)"),
    ("to_number", 2, "to_number_as_postgres($1, $2)"),
    (
        "to_timestamp",
        2,
        "CAST(moment_as_postgres($1, $2) AS TIMESTAMP WITH TIME ZONE)",
    ),
    ("to_date", 2, "CAST(moment_as_postgres($1, $2) AS DATE)"),
    ("date_trunc", 2, "date_trunc_as_postgres($1, $2)"),
    (
        "date_trunc",
        3,
        "timezone($3, date_trunc_as_postgres($1, timezone($3, CAST($2 AS TIMESTAMP WITH TIME ZONE))))",
    ),
    (
        "date_bin",
        3,
        "time_bucket(stride_as_postgres(CAST($1 AS INTERVAL)), $2, $3)",
    ),
    ("make_date", 3, "make_date(year_as_postgres($1), $2, $3)"),
    (
        "make_timestamp",
        6,
        "make_timestamp(year_as_postgres($1), $2, $3, $4, $5, $6)",
    ),
    (
        "get_byte",
        2,
        "CAST(get_byte_as_postgres($1, $2) AS INTEGER)",
    ),
    ("get_bit", 2, "CAST(get_bit_as_postgres($1, $2) AS INTEGER)"),
    ("set_byte", 3, "set_byte_as_postgres($1, $2, $3)"),
    ("set_bit", 3, "set_bit_as_postgres($1, $2, $3)"),
    (
        "regexp_matches",
        2,
        "unnest(regexp_groups_as_postgres($1, $2))",
    ),
    (
        "regexp_matches",
        3,
        "unnest(regexp_groups_as_postgres($1, $2, $3))",
    ),
    (
        "regexp_match",
        3,
        "regexp_groups_as_postgres($1, $2, $3)[1]",
    ),
    (
        "regexp_replace",
        5,
        "regexp_replace_as_postgres($1, $2, $3, $4, $5, '')",
    ),
    (
        "regexp_replace",
        6,
        "regexp_replace_as_postgres($1, $2, $3, $4, $5, $6)",
    ),
    (
        "regexp_count",
        3,
        "regexp_count_as_postgres($1, $2, $3, '')",
    ),
    (
        "regexp_count",
        4,
        "regexp_count_as_postgres($1, $2, $3, $4)",
    ),
    (
        "regexp_instr",
        3,
        "regexp_instr_as_postgres($1, $2, $3, 1, 0, '', 0)",
    ),
    (
        "regexp_instr",
        4,
        "regexp_instr_as_postgres($1, $2, $3, $4, 0, '', 0)",
    ),
    (
        "regexp_instr",
        5,
        "regexp_instr_as_postgres($1, $2, $3, $4, $5, '', 0)",
    ),
    (
        "regexp_instr",
        6,
        "regexp_instr_as_postgres($1, $2, $3, $4, $5, $6, 0)",
    ),
    (
        "regexp_instr",
        7,
        "regexp_instr_as_postgres($1, $2, $3, $4, $5, $6, $7)",
    ),
    (
        "regexp_substr",
        3,
        "regexp_substr_as_postgres($1, $2, $3, 1, '', 0)",
    ),
    (
        "regexp_substr",
        4,
        "regexp_substr_as_postgres($1, $2, $3, $4, '', 0)",
    ),
    (
        "regexp_substr",
        5,
        "regexp_substr_as_postgres($1, $2, $3, $4, $5, 0)",
    ),
    (
        "regexp_substr",
        6,
        "regexp_substr_as_postgres($1, $2, $3, $4, $5, $6)",
    ),
    ("convert_to", 2, CONVERT_TO),
    ("pg_client_encoding", 0, "'UTF8'"),
    ("quote_literal", 1, "quote_literal(postgres_text($1))"),
    ("version", 0, "postgres_version()"),
    ("current_setting", 1, "setting_of_session($1)"),
    ("current_setting", 2, "setting_of_session($1, $2)"),
    ("mod", 2, "remainder_as_postgres($1, $2)"),
    ("div", 2, "trunc(divide_as_postgres($1, $2))"),
    (
        "array_lower",
        2,
        "CASE WHEN array_length_as_postgres($1, $2) IS NOT NULL THEN 1 END",
    ),
    ("array_length", 2, "array_length_as_postgres($1, $2)"),
    ("array_upper", 2, "array_length_as_postgres($1, $2)"),
    ("substring", 2, "substring_as_postgres($1, $2)"),
    ("cardinality", 1, "cardinality_as_postgres($1)"),
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
    ("string_to_array", 2, taken_apart!()),
    ("string_to_array", 3, taken_apart_with_nulls!()),
    (
        "string_to_table",
        2,
        concat!("unnest(", taken_apart!(), ")"),
    ),
    (
        "string_to_table",
        3,
        concat!("unnest(", taken_apart_with_nulls!(), ")"),
    ),
    ("sind", 1, "sind_as_postgres($1)"),
    ("cosd", 1, "cosd_as_postgres($1)"),
    ("tand", 1, "tand_as_postgres($1)"),
    ("cotd", 1, "cotd_as_postgres($1)"),
    ("asind", 1, "asind_as_postgres($1)"),
    ("acosd", 1, "acosd_as_postgres($1)"),
    ("atand", 1, "atand_as_postgres($1)"),
    ("atan2d", 2, "atan2d_as_postgres($1, $2)"),
    ("scale", 1, "scale_as_postgres($1)"),
    ("min_scale", 1, "min_scale_as_postgres($1)"),
    ("trim_scale", 1, "trim_scale_as_postgres($1)"),
    (
        "timeofday",
        0,
        "to_char_as_postgres(clock_timestamp(), 'Dy Mon DD HH24:MI:SS.US YYYY TZ')",
    ),
    ("txid_current", 0, "CAST(txid_current() AS BIGINT)"),
    ("pg_current_xact_id", 0, "CAST(txid_current() AS BIGINT)"),
    ("width_bucket", 2, BUCKET_OF_BOUNDS),
    ("length", 2, LENGTH_IN),
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
    ("btrim", 2, "trim($1, $2)"),
    (
        "current_timestamp",
        1,
        "rounded_moment_as_postgres(now(), $1)",
    ),
    (
        "localtimestamp",
        1,
        "rounded_moment_as_postgres(localtimestamp, $1)",
    ),
    ("localtime", 1, "rounded_moment_as_postgres(localtime, $1)"),
    (
        "current_time",
        1,
        "rounded_moment_as_postgres(current_time, $1)",
    ),
    ("lpad", 2, "lpad($1, $2, ' ')"),
    ("rpad", 2, "rpad($1, $2, ' ')"),
    ("to_hex", 1, "lower(to_hex(bits_as_postgres($1)))"),
    (
        "quote_nullable",
        1,
        "coalesce(quote_literal(postgres_text($1)), 'NULL')",
    ),
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
    ("jsonb_extract_path", 2, "json_by_path($1, [$2])"),
    ("json_extract_path", 2, "json_by_path($1, [$2])"),
    ("jsonb_extract_path", 3, "json_by_path($1, [$2, $3])"),
    ("json_extract_path", 3, "json_by_path($1, [$2, $3])"),
    ("jsonb_extract_path_text", 2, "json_by_path_text($1, [$2])"),
    ("json_extract_path_text", 2, "json_by_path_text($1, [$2])"),
    (
        "jsonb_extract_path_text",
        3,
        "json_by_path_text($1, [$2, $3])",
    ),
    (
        "json_extract_path_text",
        3,
        "json_by_path_text($1, [$2, $3])",
    ),
    ("json_array_elements", 1, "unnest(json_items($1))"),
    ("jsonb_array_elements", 1, "unnest(json_items($1))"),
    ("json_array_elements_text", 1, "unnest(json_items_text($1))"),
    (
        "jsonb_array_elements_text",
        1,
        "unnest(json_items_text($1))",
    ),
    ("jsonb_pretty", 1, "json_pretty($1)"),
    ("json_strip_nulls", 1, "jsonb_strip_nulls($1)"),
    ("json_object_keys", 1, "unnest(json_keys($1))"),
    ("jsonb_object_keys", 1, "unnest(json_keys($1))"),
    ("pg_size_pretty", 1, SIZE),
    (
        "_pg_expandarray",
        1,
        "struct_pack(x := unnest($1), n := unnest(range(1, len($1) + 1)))",
    ),
];

const NAME_OF_TYPE: &str = "CASE typeof($1) WHEN 'TIMESTAMP' THEN 'timestamp without time zone' WHEN 'TIME' THEN 'time without time zone' \
    WHEN '\"NULL\"' THEN 'unknown' \
    ELSE replace(replace(replace(replace(regexp_replace(lower(typeof($1)), 'decimal\\([0-9,]+\\)', 'numeric', 'g'), \
    'varchar', 'text'), 'double', 'double precision'), 'blob', 'bytea'), 'float', 'real') END";

/// Texts have one encoding here.
const CONVERT_TO: &str = "CASE WHEN upper($2) IN ('UTF8', 'UTF-8', 'UNICODE') THEN encode($1) \
    ELSE error('convert_to takes the encoding UTF8 alone') END";

const TYPE_OF_JSON: &str = "CASE json_type($1) WHEN 'OBJECT' THEN 'object' WHEN 'ARRAY' THEN 'array' WHEN 'VARCHAR' THEN 'string' \
    WHEN 'BOOLEAN' THEN 'boolean' WHEN 'NULL' THEN 'null' ELSE CASE WHEN $1 IS NOT NULL THEN 'number' END END";

/// Letters of bytes.
const LENGTH_IN: &str = "CASE WHEN upper($2) IN ('UTF8', 'UTF-8', 'UNICODE') THEN CAST(length(decode(CAST($1 AS BLOB))) AS INTEGER) \
    ELSE error('length takes the encoding UTF8 alone') END";

/// Bounds are in order.
const BUCKET_OF_BOUNDS: &str = "CASE WHEN $1 IS NOT NULL THEN CAST(len(list_filter($2, \"$item\" -> \"$item\" <= $1)) AS INTEGER) END";

const SPLIT_PART: &str = "CASE WHEN $3 = 0 THEN error('field position must not be zero') ELSE split_part($1, $2, $3) END";

const TRIM_ARRAY: &str = "CASE WHEN $2 < 0 OR $2 > len($1) \
    THEN error_as_postgres('2202E', 'number of elements to trim must be between 0 and ' || CAST(len($1) AS VARCHAR)) \
    ELSE list_slice($1, 1, len($1) - $2) END";

/// The bounds may stand either way.
const BUCKET: &str = "CAST(CASE WHEN $4 <= 0 THEN error_as_postgres('2201G', 'count must be greater than zero') WHEN $2 < $3 THEN CASE WHEN $1 < $2 THEN 0 WHEN $1 >= $3 THEN $4 + 1 \
    ELSE floor(($1 - $2) * $4 / ($3 - $2)) + 1 END \
    WHEN $2 > $3 THEN CASE WHEN $1 > $2 THEN 0 WHEN $1 <= $3 THEN $4 + 1 ELSE floor(($2 - $1) * $4 / ($2 - $3)) + 1 END \
    ELSE error_as_postgres('2201G', 'lower bound cannot equal upper bound') END AS INTEGER)";

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

/// What EXTRACT means, which is a numeric.
pub(crate) fn extracted(part: &str, of: &Expr) -> Result<Option<Expr>> {
    let part = part.to_lowercase();
    if part == "julian" {
        let text = "numeric_as_postgres(date_part('julian', $1))";
        return template(text, std::slice::from_ref(of)).map(Some);
    }
    let mut fine = FINE_PARTS.iter();
    let fine = fine.find(|(names, ..)| names.contains(&part.as_str()));
    let (part, unit, to) = match fine {
        Some((_, part, unit, to)) => (*part, *unit, *to),
        None => (part.as_str(), "", "DECIMAL(38, 0)"),
    };
    // A day has none of these.
    let of_clock = [
        "hour",
        "minute",
        "microsecond",
        "timezone",
        "timezone_hour",
        "timezone_minute",
    ];
    let of_what = match of_clock.contains(&part) || part == "microseconds" {
        true => "with_clock_as_postgres($2)",
        false => "$2",
    };
    let part = Expr::Value(Value::SingleQuotedString(part.to_owned()).into());
    let text = format!("CAST(date_part($1, {of_what}) {unit} AS {to})");
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

/// Refuses the row before the first of a window, and no buckets at all.
pub(crate) fn check_counts(name: &str, function: &Function) -> Result<()> {
    let (at, sqlstate, what) = match name {
        "nth_value" => (
            1,
            "22016",
            "argument of nth_value must be greater than zero",
        ),
        "ntile" => (0, "22014", "argument of ntile must be greater than zero"),
        _ => return Ok(()),
    };
    let FunctionArguments::List(list) = &function.args else {
        return Ok(());
    };
    let is_less = match list.args.get(at) {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))) => {
            matches!(&value.value, Value::Number(digits, _) if digits.bytes().all(|of| of == b'0'))
        }
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        }))) => matches!(**expr, Expr::Value(_)),
        _ => false,
    };
    match is_less {
        true => Err(Error::invalid(what).with_sqlstate(sqlstate)),
        false => Ok(()),
    }
}

/// The parts of an interval, as `make_interval` calls them, and the function that gives so many of each.
const PARTS: [(&str, &str); 7] = [
    ("years", "to_years"),
    ("months", "to_months"),
    ("weeks", "to_weeks"),
    ("days", "to_days"),
    ("hours", "to_hours"),
    ("mins", "to_minutes"),
    ("secs", "to_seconds"),
];

/// What a function means that takes any number of arguments, or names them.
pub(crate) fn of_any_count(name: &str, args: &[FunctionArg]) -> Result<Option<Expr>> {
    match name {
        "make_interval" => make_interval(args),
        "concat" | "concat_ws" => concat(name, args),
        "array_fill" => filled(args),
        "num_nulls" => count_of(args, "IS NULL"),
        "num_nonnulls" => count_of(args, "IS NOT NULL"),
        _ => Ok(None),
    }
}

/// A list of so many times a value; of as many lists of it as are said before, if that is written out.
fn filled(args: &[FunctionArg]) -> Result<Option<Expr>> {
    let [
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(sizes)),
    ] = args
    else {
        return Ok(None);
    };
    let written = array_literal(sizes);
    let Expr::Array(sizes) = written.as_ref().unwrap_or(sizes) else {
        return Err(Error::unsupported(
            "array_fill takes sizes that are written out: ARRAY[3, 2]",
        ));
    };
    let values: Vec<Expr> = [value].into_iter().chain(&sizes.elem).cloned().collect();
    let list = (2..=values.len()).rev().fold("$1".to_owned(), |item, at| {
        format!(
            "list_transform(range(0, CASE WHEN ${at} < 0 THEN error_as_postgres('22023', 'array size must not be negative') \
             ELSE ${at} END), \"$item\" -> {item})"
        )
    });
    template(&list, &values).map(Some)
}

fn make_interval(args: &[FunctionArg]) -> Result<Option<Expr>> {
    let (mut values, mut terms) = (vec![], vec![]);
    for (at, arg) in args.iter().enumerate() {
        let (part, value) = match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (PARTS.get(at), value),
            FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(value),
                ..
            } => {
                let mut parts = PARTS.iter();
                let is_it = |(part, _): &&(&str, &str)| name.value.eq_ignore_ascii_case(part);
                (parts.find(is_it), value)
            }
            _ => return Ok(None),
        };
        let Some((_, function)) = part else {
            return Ok(None);
        };
        values.push(value.clone());
        terms.push(format!("{function}(${})", values.len()));
    }
    match terms.is_empty() {
        true => template("INTERVAL '0 seconds'", &[]).map(Some),
        false => template(&format!("({})", terms.join(" + ")), &values).map(Some),
    }
}

/// `concat` of values as PostgreSQL writes them.
fn concat(name: &str, args: &[FunctionArg]) -> Result<Option<Expr>> {
    let values = args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value),
        _ => None,
    });
    let Some(values) = values.collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let terms = values.into_iter().map(shown);
    Ok(Some(call(name, terms.collect())))
}

/// Has the arguments of `format` behind the first shown as PostgreSQL does.
pub(crate) fn show_formatted(name: &str, args: &mut FunctionArguments) {
    let ("format", FunctionArguments::List(list)) = (name, args) else {
        return;
    };
    for arg in list.args.iter_mut().skip(1) {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) = arg {
            *value = shown(&*value);
        }
    }
}

/// A value as PostgreSQL shows it; a text without a type is that already.
fn shown(value: &Expr) -> Expr {
    match value {
        Expr::Value(text) if matches!(text.value, Value::SingleQuotedString(_)) => value.clone(),
        value => call(POSTGRES_OUTPUT, vec![value.clone()]),
    }
}

/// How many arguments fulfil a condition.
fn count_of(args: &[FunctionArg], condition: &str) -> Result<Option<Expr>> {
    let values = args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
        _ => None,
    });
    let Some(values) = values.collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let terms = (1..=values.len()).map(|n| format!("CAST(${n} {condition} AS INTEGER)"));
    let terms: Vec<String> = terms.collect();
    match terms.is_empty() {
        true => Ok(None),
        false => template(&format!("({})", terms.join(" + ")), &values).map(Some),
    }
}
