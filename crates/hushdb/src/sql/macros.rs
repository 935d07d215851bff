//! DuckDB's functions that are other functions under another name.

use super::rewrite::substitute;
use crate::error::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
};
use datafusion::sql::sqlparser::dialect::DuckDbDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// Name, number of arguments, meaning.
const MACROS: [(&str, usize, &str); 26] = [
    ("if", 3, "CASE WHEN $1 THEN $2 ELSE $3 END"),
    ("mod", 2, "($1 % $2)"),
    ("variance", 1, "var_samp($1)"),
    ("sign", 1, "CAST(signum($1) AS TINYINT)"),
    ("isinf", 1, "(abs($1) = CAST('inf' AS DOUBLE))"),
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
        "CAST(date_trunc('month', $1) + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)",
    ),
    ("strftime", 2, "to_char($1, $2)"),
    ("regexp_matches", 2, "regexp_like($1, $2)"),
    ("regexp_matches", 3, "regexp_like($1, $2, $3)"),
    (
        "regexp_extract",
        2,
        "CASE WHEN $1 IS NOT NULL THEN coalesce(array_element(regexp_match($1, '(' || $2 || ')'), 1), '') END",
    ),
    (
        "regexp_extract",
        3,
        "CASE WHEN $1 IS NOT NULL THEN coalesce(array_element(regexp_match($1, '(' || $2 || ')'), $3 + 1), '') END",
    ),
    ("current_database", 0, "$1"),
    ("current_schema", 0, "$2"),
];

/// The expression that a call stands for, if it is a macro. `place` are the current database and schema as literals.
pub(super) fn expand(function: &Function, place: &[Expr; 2]) -> Result<Option<Expr>> {
    let [part] = function.name.0.as_slice() else {
        return Ok(None);
    };
    let Some(name) = part.as_ident().map(|i| i.value.to_lowercase()) else {
        return Ok(None);
    };
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
    let Some((.., text)) = MACROS
        .iter()
        .find(|(n, arity, _)| plain && *n == name && *arity == args.len())
    else {
        return Ok(None);
    };
    if args.is_empty() {
        args.extend(place.iter().cloned());
    }
    template(text, &args).map(Some)
}

/// An expression from text in which `$1`, `$2`... stand for expressions.
pub(super) fn template(text: &str, args: &[Expr]) -> Result<Expr> {
    let mut expr = Parser::new(&DuckDbDialect {})
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_expr())
        .map_err(|e| Error::internal(e.to_string()))?;
    let nested: Vec<Expr> = args
        .iter()
        .map(|arg| match arg {
            Expr::Value(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_) => arg.clone(),
            other => Expr::Nested(Box::new(other.clone())),
        })
        .collect();
    substitute(&mut expr, &nested)?;
    Ok(expr)
}
