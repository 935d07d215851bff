//! `lag(x, n, y) OVER w` where `y` is no constant: `y` stands where there is no such row, as a value of the type of `x`.

use super::calls::all_unnamed;
use super::template::template;
use crate::error::Result;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments,
    UnaryOperator, Value,
};

/// What a call means whose default is computed; `None` for all others.
pub(super) fn apply(function: &Function) -> Result<Option<Expr>> {
    let called = function.name.to_string().to_lowercase();
    if !matches!(called.as_str(), "lag" | "lead") || function.over.is_none() {
        return Ok(None);
    }
    let FunctionArguments::List(list) = &function.args else {
        return Ok(None);
    };
    let args = all_unnamed(&list.args).and_then(|args| args.try_into().ok());
    let Some([_, far, default]): Option<[Expr; 3]> = args else {
        return Ok(None);
    };
    let passes_nulls = |clause: &FunctionArgumentClause| {
        matches!(clause, FunctionArgumentClause::IgnoreOrRespectNulls(_))
    };
    let passes_nulls = function.null_treatment.is_some() || list.clauses.iter().any(passes_nulls);
    // Of a row that is computed, too, and of none, the planner's rules know the default.
    let is_none = matches!(&far, Expr::Value(far) if far.value == Value::Null);
    if is_constant(&default) || is_none || !is_constant(&far) && !passes_nulls {
        return Ok(None);
    }
    let call = |first: Option<Expr>| {
        let mut call = function.clone();
        if let FunctionArguments::List(list) = &mut call.args {
            list.args.truncate(2);
            if let Some(first) = first {
                list.args[0] = FunctionArg::Unnamed(FunctionArgExpr::Expr(first));
            }
        }
        Expr::Function(call)
    };
    // A row that is there has a value where NULLs are passed over.
    match passes_nulls {
        true => template("coalesce($1, cast_to_type($2, $1))", &[call(None), default]).map(Some),
        false => {
            let is_there = call(Some(template("1", &[])?));
            template(
                "CASE WHEN $1 = 1 THEN $2 ELSE cast_to_type($3, $2) END",
                &[is_there, call(None), default],
            )
            .map(Some)
        }
    }
}

fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => is_constant(expr),
        _ => false,
    }
}
