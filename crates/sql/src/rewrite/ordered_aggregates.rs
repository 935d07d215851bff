//! Aggregates with an order that the planner has not: `percentile_disc(share) WITHIN GROUP (ORDER BY x)`, and `string_agg(DISTINCT x
//! ORDER BY x)`, whose values it sorts as texts.

use crate::calls::all_unnamed;
use crate::error::Result;
use crate::postgres_ordered_sets::in_order;
use crate::template::template;
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, Ident, ObjectName, Value,
};

/// What a call of one of them stands for.
pub(super) fn meant(expr: &Expr) -> Result<Option<Expr>> {
    let Expr::Function(function) = expr else {
        return Ok(None);
    };
    let called = function.name.to_string().to_ascii_lowercase();
    match called.as_str() {
        "percentile_disc" | "mode" if !function.within_group.is_empty() => {
            in_order(&called, function)
        }
        "string_agg" | "listagg" | "group_concat" => distinct_texts(function),
        _ => Ok(None),
    }
}

/// The values as a list without NULLs, sorted, then as a text.
fn distinct_texts(function: &Function) -> Result<Option<Expr>> {
    let FunctionArguments::List(list) = &function.args else {
        return Ok(None);
    };
    let values = all_unnamed(&list.args).unwrap_or_default();
    let (Some(value), [FunctionArgumentClause::OrderBy(order)]) =
        (values.first(), list.clauses.as_slice())
    else {
        return Ok(None);
    };
    let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    if !is_distinct
        || function.over.is_some()
        || order.len() != 1
        || order.iter().any(|by| by.expr != *value)
    {
        return Ok(None);
    }
    let mut all = function.clone();
    all.name = ObjectName::from(vec![Ident::new("array_agg")]);
    let known = template("($1 IS NOT NULL)", std::slice::from_ref(value))?;
    all.filter = Some(Box::new(match all.filter.take() {
        Some(own) => template("($1 AND $2)", &[*own, known])?,
        None => known,
    }));
    if let FunctionArguments::List(list) = &mut all.args {
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(value.clone()))];
    }
    let comma = Expr::value(Value::SingleQuotedString(",".into()));
    let separator = values.get(1).cloned().unwrap_or(comma);
    let all = Expr::Function(all);
    template(
        "array_to_string(CAST($1 AS VARCHAR[]), $2)",
        &[all, separator],
    )
    .map(Some)
}
