//! Aggregates that are functions of others: `mode(x)` is what `list_mode` says of `list(x)`.
//!
//! What must hold: FILTER, OVER, DISTINCT and ORDER BY belong to the aggregate within, whose rows they choose.

use crate::calls::all_unnamed;
use crate::error::{Error, Result};
use crate::template::{parse, put_in};
use crate::value_names::within_brackets;
use crate::walk::visit_mut;
use sqlparser::ast::{
    Expr, Function, FunctionArgumentClause, FunctionArguments, Value, VisitorMut,
};
use std::ops::ControlFlow;

/// The values that lie at shares of all: `quantile_disc`.
pub const QUANTILE_OF: &str = "$quantile_of";
/// The values at shares of all, or between two of them: `quantile_cont`.
pub const QUANTILE_BETWEEN: &str = "$quantile_between";

/// What `max(x, NULL)` is of the list of all values: an error, unless there are none.
pub const NO_COUNT: &str = "$no_count";

/// How many of the list of all values lie in each bin: above the one before, and up to it.
pub const HISTOGRAM_OF: &str = "$histogram_of";
/// How many of the list of all values are those of each bin.
pub const HISTOGRAM_EXACT: &str = "$histogram_exact";
/// The values of a list that are there most often.
pub const TOP_K: &str = "$top_k";

/// Name, number of arguments, meaning.
const MEANINGS: &[(&str, usize, &str)] = &[
    ("mode", 1, "list_mode(array_agg($1))"),
    // Of no values, unlike that of a list which is NULL.
    (
        "entropy",
        1,
        "coalesce(list_entropy(array_agg($1)), CAST(0 AS DOUBLE))",
    ),
    ("mad", 1, "list_mad(array_agg($1))"),
    ("histogram", 1, "list_histogram(array_agg($1))"),
    ("histogram", 2, "\"$histogram_of\"(array_agg($1), $2)"),
    (
        "histogram_exact",
        2,
        "\"$histogram_exact\"(array_agg($1), $2)",
    ),
    ("approx_top_k", 2, "\"$top_k\"(array_agg($1), $2)"),
    ("quantile", 2, "\"$quantile_of\"(array_agg($1), $2)"),
    ("quantile_disc", 2, "\"$quantile_of\"(array_agg($1), $2)"),
    (
        "reservoir_quantile",
        2,
        "\"$quantile_of\"(array_agg($1), $2)",
    ),
    (
        "reservoir_quantile",
        3,
        "\"$quantile_of\"(array_agg($1), $2)",
    ),
    (
        "quantile_cont",
        2,
        "\"$quantile_between\"(array_agg($1), $2)",
    ),
    ("count_if", 1, COUNT_IF),
    ("countif", 1, COUNT_IF),
    (
        "approx_count_distinct",
        1,
        "CAST(approx_distinct($1) AS BIGINT)",
    ),
    (
        "arg_max_null",
        2,
        "first_value($1 ORDER BY $2 DESC) FILTER (WHERE $2 IS NOT NULL)",
    ),
    (
        "arg_min_null",
        2,
        "first_value($1 ORDER BY $2) FILTER (WHERE $2 IS NOT NULL)",
    ),
    (
        "arg_max_nulls_last",
        2,
        "first_value($1 ORDER BY $2 DESC NULLS LAST)",
    ),
    (
        "arg_min_nulls_last",
        2,
        "first_value($1 ORDER BY $2 NULLS LAST)",
    ),
    (
        "arg_max_nulls_last",
        3,
        "(array_agg($1 ORDER BY $2 DESC NULLS LAST))[1:$3]",
    ),
    (
        "arg_min_nulls_last",
        3,
        "(array_agg($1 ORDER BY $2 NULLS LAST))[1:$3]",
    ),
    ("max", 2, FIRST_OF_MOST),
    ("min", 2, FIRST_OF_LEAST),
    ("arg_max", 2, ARG_MAX),
    ("max_by", 2, ARG_MAX),
    ("arg_min", 2, ARG_MIN),
    ("min_by", 2, ARG_MIN),
    ("arg_max", 3, OF_MOST),
    ("max_by", 3, OF_MOST),
    ("arg_min", 3, OF_LEAST),
    ("min_by", 3, OF_LEAST),
    (
        "json_group_array",
        1,
        "\"$as_json\"('[' || string_agg(coalesce(to_json($1), 'null'), ',') || ']')",
    ),
    (
        "json_group_structure",
        1,
        "json_extract(json_structure('[' || string_agg(coalesce(to_json($1), 'null'), ',') || ']'), 0)",
    ),
    (
        "json_group_object",
        2,
        "\"$as_json\"('{' || string_agg(left(right(json_object(CAST($1 AS VARCHAR), $2), -1), -1), ',') || '}')",
    ),
];

/// Their names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    MEANINGS.iter().map(|(name, ..)| *name)
}

/// How often something is true; `$truth` takes a BOOLEAN alone.
const COUNT_IF: &str = "sum(\"$truth\"($1))";

/// The value of the row where another is greatest, or least: rows where one of them is NULL do not count.
const ARG_MAX: &str =
    "first_value($1 ORDER BY $2 DESC) FILTER (WHERE $1 IS NOT NULL AND $2 IS NOT NULL)";
const ARG_MIN: &str =
    "first_value($1 ORDER BY $2) FILTER (WHERE $1 IS NOT NULL AND $2 IS NOT NULL)";
const FIRST_OF_MOST: &str = "(array_agg($1 ORDER BY $1 DESC) FILTER (WHERE $1 IS NOT NULL))[1:$2]";
const FIRST_OF_LEAST: &str = "(array_agg($1 ORDER BY $1) FILTER (WHERE $1 IS NOT NULL))[1:$2]";
const OF_MOST: &str =
    "(array_agg($1 ORDER BY $2 DESC) FILTER (WHERE $1 IS NOT NULL AND $2 IS NOT NULL))[1:$3]";
const OF_LEAST: &str =
    "(array_agg($1 ORDER BY $2) FILTER (WHERE $1 IS NOT NULL AND $2 IS NOT NULL))[1:$3]";

/// Aggregates that stand in the meanings.
const WITHIN: [&str; 5] = [
    "array_agg",
    "string_agg",
    "first_value",
    "sum",
    "approx_distinct",
];

/// What a call of an aggregate means, if it is one of these.
pub(super) fn expand(name: &str, function: &Function) -> Result<Option<Expr>> {
    let FunctionArguments::List(list) = &function.args else {
        return Ok(None);
    };
    let Some(args) = all_unnamed(&list.args) else {
        return Ok(None);
    };
    let is_meant = |known: &&(&str, usize, &str)| known.0 == name && known.1 == args.len();
    let Some((.., text)) = MEANINGS.iter().find(is_meant) else {
        return Ok(None);
    };
    if counts_null(name, &args) {
        return none_of_null(name, function, &args).map(Some);
    }
    match (name, args.last()) {
        // One share goes without a list of all values.
        ("quantile_cont", Some(share)) if !matches!(share, Expr::Array(_)) => return Ok(None),
        ("max" | "min", Some(count)) => check_count(count)?,
        (_, Some(count)) if args.len() == 3 && counts(name) == Some(3) => check_count(count)?,
        _ => {}
    }
    let mut meaning = parse(text)?;
    let _: ControlFlow<()> = visit_mut(&mut meaning, &mut HandOver(function));
    put_in(&mut meaning, &args)?;
    Ok(Some(meaning))
}

/// Whether a number of values is asked for that is NULL.
fn counts_null(name: &str, args: &[Expr]) -> bool {
    let is_null = |expr: &Expr| matches!(expr, Expr::Value(v) if v.value == Value::Null);
    counts(name) == Some(args.len()) && args.last().is_some_and(is_null)
}

/// With how many arguments one gives several values, of which the last says how many.
fn counts(name: &str) -> Option<usize> {
    match name {
        "max" | "min" => Some(2),
        "arg_max" | "arg_min" | "max_by" | "min_by" => Some(3),
        "arg_max_nulls_last" | "arg_min_nulls_last" => Some(3),
        _ => None,
    }
}

/// So many values as NULL says: an error, unless there is none.
fn none_of_null(name: &str, function: &Function, args: &[Expr]) -> Result<Expr> {
    let mut meaning = parse(match args.len() {
        2 => "\"$no_count\"(array_agg($1) FILTER (WHERE $1 IS NOT NULL))",
        _ if name.ends_with("_nulls_last") => "\"$no_count\"(array_agg($1))",
        _ => "\"$no_count\"(array_agg($1) FILTER (WHERE $1 IS NOT NULL AND $2 IS NOT NULL))",
    })?;
    let _: ControlFlow<()> = visit_mut(&mut meaning, &mut HandOver(function));
    put_in(&mut meaning, args)?;
    Ok(meaning)
}

/// The number of values that are asked for.
fn check_count(count: &Expr) -> Result<()> {
    if let Expr::Function(call) = count
        && let Some(count) = within_brackets(call)
    {
        return check_count(count);
    }
    match count {
        Expr::Nested(count) | Expr::Cast { expr: count, .. } => check_count(count),
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) if number.parse().is_ok_and(|n: u64| n > 0) => Ok(()),
            Value::Placeholder(_) => Ok(()),
            _ => Err(Error::invalid(
                "Invalid input for MIN/MAX: n value must be > 0",
            )),
        },
        _ => Err(Error::unsupported(
            "the number of values in max(x, n) and its kind is a constant, as in max(x, 3)",
        )),
    }
}

/// Gives the aggregates within what is said of the call.
struct HandOver<'a>(&'a Function);

impl VisitorMut for HandOver<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(inner) = expr else {
            return ControlFlow::Continue(());
        };
        if !WITHIN.contains(&inner.name.to_string().as_str()) {
            return ControlFlow::Continue(());
        }
        inner.over = self.0.over.clone();
        inner.filter = match (inner.filter.take(), self.0.filter.clone()) {
            (Some(own), Some(given)) => Some(Box::new(Expr::BinaryOp {
                left: Box::new(Expr::Nested(own)),
                op: sqlparser::ast::BinaryOperator::And,
                right: Box::new(Expr::Nested(given)),
            })),
            (own, given) => own.or(given),
        };
        if let (FunctionArguments::List(own), FunctionArguments::List(given)) =
            (&mut inner.args, &self.0.args)
        {
            // Of the first in an order it does not matter how often it is there.
            if inner.name.to_string() != "first_value" {
                own.duplicate_treatment = given.duplicate_treatment;
            }
            for clause in &given.clauses {
                add(&mut own.clauses, clause);
            }
        }
        ControlFlow::Continue(())
    }
}

/// A clause of the call behind those of the meaning, of which an order comes first.
fn add(clauses: &mut Vec<FunctionArgumentClause>, clause: &FunctionArgumentClause) {
    use FunctionArgumentClause::OrderBy;
    let own = clauses.iter_mut().find_map(|own| match own {
        OrderBy(keys) => Some(keys),
        _ => None,
    });
    match (own, clause) {
        (Some(own), OrderBy(keys)) => own.extend(keys.iter().cloned()),
        _ => clauses.push(clause.clone()),
    }
}
