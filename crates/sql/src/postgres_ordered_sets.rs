//! Aggregates of PostgreSQL WITHIN GROUP: of ordered values, and of a row that is thought among them
//! (<https://www.postgresql.org/docs/15/functions-aggregate.html>).

use crate::error::Result;
use crate::template::template;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, Ident,
    ObjectName, OrderByExpr,
};

/// What an aggregate WITHIN GROUP means, of those that PostgreSQL has.
pub(crate) fn in_order(name: &str, function: &Function) -> Result<Option<Expr>> {
    let [order] = function.within_group.as_slice() else {
        return Ok(None);
    };
    let FunctionArguments::List(list) = &function.args else {
        return Ok(None);
    };
    if let Some(meaning) = hypothetical(name, function, order, &list.args)? {
        return Ok(Some(meaning));
    }
    let (called, of) = match name {
        "percentile_cont" => ("quantile_cont", "CAST($1 AS DOUBLE)"),
        "percentile_disc" => ("quantile_disc", "$1"),
        "mode" => ("mode", "$1"),
        _ => return Ok(None),
    };
    let descends = order.options.asc == Some(false);
    let mut args = vec![template(of, std::slice::from_ref(&order.expr))?];
    for arg in &list.args {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(share)) = arg else {
            return Ok(None);
        };
        args.push(match descends {
            // A value of the list is counted from its other end.
            true if called == "quantile_disc" => template("(-($1))", std::slice::from_ref(share))?,
            true => template("(1 - $1)", std::slice::from_ref(share))?,
            false => share.clone(),
        });
    }
    let mut meant = function.clone();
    meant.name = ObjectName::from(vec![Ident::new(called)]);
    meant.within_group = vec![];
    if let FunctionArguments::List(list) = &mut meant.args {
        let args = args.into_iter().map(FunctionArgExpr::Expr);
        list.args = args.map(FunctionArg::Unnamed).collect();
        if called == "mode" {
            // Of values that are there as often, the first in the order.
            list.clauses = vec![FunctionArgumentClause::OrderBy(vec![order.clone()])];
        }
    }
    Ok(Some(Expr::Function(meant)))
}

/// `rank(2) WITHIN GROUP (ORDER BY x)` and its kin: where a row with that value would be, which counts of the others say.
fn hypothetical(
    name: &str,
    function: &Function,
    order: &OrderByExpr,
    args: &[FunctionArg],
) -> Result<Option<Expr>> {
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] = args else {
        return Ok(None);
    };
    // $1 is the value and $2 what the others are ordered by.
    let descends = order.options.asc == Some(false);
    let nulls_first = order.options.nulls_first.unwrap_or(descends);
    let sign = if descends { ">" } else { "<" };
    let before = match nulls_first {
        true => format!("($2 {sign} $1 OR $2 IS NULL AND $1 IS NOT NULL)"),
        false => format!("($2 {sign} $1 OR $1 IS NULL AND $2 IS NOT NULL)"),
    };
    let condition = match &function.filter {
        None => String::new(),
        Some(_) => " AND $3".to_owned(),
    };
    let count = |which: &str| format!("count(*) FILTER (WHERE {which}{condition})");
    let all = match &function.filter {
        None => "count(*)",
        Some(_) => "count(*) FILTER (WHERE $3)",
    };
    let text = match name {
        "rank" => format!("({} + 1)", count(&before)),
        // NULLs are one value among the others.
        "dense_rank" => format!(
            "(count(DISTINCT $2) FILTER (WHERE {before}{condition}) + least({}, 1) + 1)",
            count(&format!("{before} AND $2 IS NULL"))
        ),
        "percent_rank" => format!(
            "CASE WHEN {all} = 0 THEN CAST(0 AS DOUBLE) ELSE CAST({} AS DOUBLE) / {all} END",
            count(&before)
        ),
        "cume_dist" => format!(
            "(CAST({} + 1 AS DOUBLE) / ({all} + 1))",
            count(&format!("({before} OR $2 IS NOT DISTINCT FROM $1)"))
        ),
        _ => return Ok(None),
    };
    let filter = function.filter.as_deref().cloned();
    let given: Vec<Expr> = [value.clone(), order.expr.clone()]
        .into_iter()
        .chain(filter)
        .collect();
    template(&text, &given).map(Some)
}
