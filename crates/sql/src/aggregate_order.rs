//! What belongs to aggregates and windows: ORDER BY among the arguments, DISTINCT, FILTER, OVER. What the planner would leave
//! unread is read here, makes no difference, or is refused.

use super::template::template;
use crate::error::{Error, Result};
use crate::postgres_types::{POSTGRES_AVG, POSTGRES_SUM};
use sqlparser::ast::{
    DuplicateTreatment, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, Ident, ObjectName,
};

/// Functions of windows, which the engine would also take for aggregates.
const OF_WINDOWS: [&str; 3] = ["first_value", "last_value", "nth_value"];

/// Aggregates that read it.
const READ: [&str; 23] = [
    "lag",
    "lead",
    "mode",
    "first",
    "last",
    "array_agg",
    "list",
    "string_agg",
    "first_value",
    "last_value",
    "nth_value",
    "quantile_cont",
    "percentile_cont",
    "approx_percentile_cont",
    "approx_percentile_cont_with_weight",
    "arg_max",
    "arg_min",
    "arg_max_null",
    "arg_min_null",
    "arg_max_nulls_last",
    "arg_min_nulls_last",
    "max_by",
    "min_by",
];

/// Aggregates that are the same in any order.
const SAME: [&str; 54] = [
    "entropy",
    "histogram",
    "histogram_exact",
    "bitstring_agg",
    "count_if",
    "countif",
    "reservoir_quantile",
    "approx_count_distinct",
    "sumkahan",
    "kahan_sum",
    "mad",
    "quantile",
    "quantile_disc",
    "product",
    "skewness",
    "kurtosis",
    "kurtosis_pop",
    "sem",
    "fsum",
    "favg",
    "count",
    POSTGRES_SUM,
    POSTGRES_AVG,
    "sum",
    "min",
    "max",
    "avg",
    "mean",
    "median",
    "bool_and",
    "bool_or",
    "bit_and",
    "bit_or",
    "bit_xor",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "variance",
    "var_pop",
    "var_samp",
    "corr",
    "covar_pop",
    "covar_samp",
    "approx_distinct",
    "approx_median",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
];

/// Whether a name is that of one of these.
pub(super) fn is_aggregate(name: &str) -> bool {
    READ.contains(&name) || SAME.contains(&name)
}

/// Sees to it that an ORDER BY among a function's arguments is not lost.
pub(super) fn read(function: &mut Function) -> Result<()> {
    let name = function.name.to_string().to_lowercase();
    if function.over.is_none() && OF_WINDOWS.contains(&name.as_str()) {
        let what = format!("{name} is a function of windows: write {name}(...) OVER (...)");
        return Err(Error::binder(what));
    }
    let FunctionArguments::List(list) = &mut function.args else {
        return Ok(());
    };
    let is_order =
        |clause: &FunctionArgumentClause| matches!(clause, FunctionArgumentClause::OrderBy(_));
    if !list.clauses.iter().any(is_order) {
        return Ok(());
    }
    if name == "any_value" {
        // The first value that is not NULL.
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] = list.args.as_slice() else {
            return Ok(());
        };
        let value = std::slice::from_ref(value);
        let known = match function.filter.take() {
            Some(filter) => template("($1 IS NOT NULL AND $2)", &[value[0].clone(), *filter])?,
            None => template("($1 IS NOT NULL)", value)?,
        };
        function.filter = Some(Box::new(known));
        list.duplicate_treatment = None;
        function.name = ObjectName::from(vec![Ident::new("first_value")]);
    } else if SAME.contains(&name.as_str()) {
        list.clauses.retain(|clause| !is_order(clause));
    } else if !READ.contains(&name.as_str()) {
        return Err(Error::unsupported(format!(
            "ORDER BY among the arguments of {name} is not there yet"
        )));
    }
    Ok(())
}

/// Refuses `count` of several values, and `count(DISTINCT *)`, which the planner takes for `count(*)`.
pub(super) fn refuse_count_of_several(function: &Function) -> Result<()> {
    let FunctionArguments::List(list) = &function.args else {
        return Ok(());
    };
    if !function.name.to_string().eq_ignore_ascii_case("count") {
        return Ok(());
    }
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]
            if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) =>
        {
            Err(Error::binder(
                "STAR expression is only allowed as the root element of an expression. Use COLUMNS(*) instead.",
            ))
        }
        [] | [_] => Ok(()),
        _ => Err(Error::binder(
            "No function matches the given name and argument types: count takes one value",
        )),
    }
}

/// `first` and `last` by the names that the planner knows.
pub(super) fn first_and_last(function: &mut Function) {
    let known = match function.name.to_string().to_lowercase().as_str() {
        "first" => "first_value",
        "last" => "last_value",
        _ => return,
    };
    function.name = ObjectName::from(vec![Ident::new(known)]);
}

/// Refuses what belongs to aggregates and windows of a function that is neither, of which the planner reads the arguments only.
pub(super) fn refuse_of_scalar(
    function: &Function,
    is_scalar: impl Fn(&str) -> bool,
) -> Result<()> {
    let of_arguments = match &function.args {
        FunctionArguments::List(list) => {
            list.duplicate_treatment.is_some() || !list.clauses.is_empty()
        }
        _ => false,
    };
    let more = of_arguments
        || function.filter.is_some()
        || function.over.is_some()
        || function.null_treatment.is_some()
        || !function.within_group.is_empty();
    let name = function.name.to_string().to_lowercase();
    if more && is_scalar(&name) {
        return Err(Error::invalid(format!(
            "Function \"{name}\" is a Scalar Function. \"DISTINCT\", \"FILTER\", \"ORDER BY\", \"OVER\" and the like are only \
             applicable to aggregate and window functions."
        )));
    }
    Ok(())
}

/// Functions of windows alone, of which some pass over NULLs where they are told to; all others are aggregates.
const NO_AGGREGATES: [&str; 14] = [
    "first",
    "first_value",
    "last",
    "last_value",
    "nth_value",
    "lag",
    "lead",
    "fill",
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
];

/// How many arguments some of them take, at least and at most.
const TAKEN: [(&str, usize, usize); 11] = [
    ("first_value", 1, 1),
    ("last_value", 1, 1),
    ("nth_value", 2, 2),
    ("lag", 1, 3),
    ("lead", 1, 3),
    ("row_number", 0, 0),
    ("rank", 0, 0),
    ("dense_rank", 0, 0),
    ("percent_rank", 0, 0),
    ("cume_dist", 0, 0),
    ("ntile", 1, 1),
];

/// Refuses what a function of windows alone does not look at: DISTINCT, and more arguments than it takes.
pub(super) fn refuse_more_of_window(function: &Function) -> Result<()> {
    let name = function.name.to_string().to_lowercase();
    let taken = TAKEN.iter().find(|(known, ..)| *known == name);
    let (Some((_, least, most)), FunctionArguments::List(list)) = (taken, &function.args) else {
        return Ok(());
    };
    if function.over.is_none() {
        return Ok(());
    }
    if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
        let what = "DISTINCT is not implemented for non-aggregate window functions!";
        return Err(Error::parser(what));
    }
    match (*least..=*most).contains(&list.args.len()) {
        true => Ok(()),
        false => Err(Error::parser(format!(
            "Incorrect number of parameters for function {name}"
        ))),
    }
}

/// Refuses IGNORE NULLS and RESPECT NULLS of an aggregate over a window.
pub(super) fn refuse_nulls_of_window(function: &Function) -> Result<()> {
    let is_told = |clause: &FunctionArgumentClause| {
        matches!(clause, FunctionArgumentClause::IgnoreOrRespectNulls(_))
    };
    let of_arguments = match &function.args {
        FunctionArguments::List(list) => list.clauses.iter().any(is_told),
        _ => false,
    };
    if function.over.is_none() || !of_arguments && function.null_treatment.is_none() {
        return Ok(());
    }
    let name = function.name.to_string().to_lowercase();
    match NO_AGGREGATES.contains(&name.as_str()) {
        true => Ok(()),
        false => Err(Error::parser(
            "RESPECT/IGNORE NULLS is not supported for windowed aggregates",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_expr;
    use sqlparser::ast::Expr;

    #[test]
    fn an_order_is_read_or_refused() {
        for (text, expected) in [
            ("sum(a ORDER BY b)", Some("sum(a)")),
            ("LIST(a ORDER BY b)", Some("LIST(a ORDER BY b)")),
            (
                "any_value(a ORDER BY b)",
                Some("first_value(a ORDER BY b) FILTER (WHERE (a IS NOT NULL))"),
            ),
            ("upper(a ORDER BY b)", None),
        ] {
            let Ok(Expr::Function(mut function)) = parse_expr(text) else {
                panic!("{text} is no call")
            };
            let read = read(&mut function).map(|()| function.to_string());
            assert_eq!(read.as_deref().ok(), expected, "{text}");
        }
    }
}
