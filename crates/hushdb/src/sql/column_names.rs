//! Names of result columns as DuckDB gives them: `count_star()`, `(a + 1)`, and `a_1` for a second `a`.
//!
//! What must hold: only names are added. Columns of different tables that share a name keep it.

use super::normalize;
use datafusion::sql::sqlparser::ast::{
    CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Select,
    SelectItem, UnaryOperator,
};
use std::collections::HashSet;

/// Names every expression of a select list that has no name, and tells equal names apart.
pub(super) fn name_columns(select: &mut Select) {
    let mut taken = HashSet::new();
    for item in &mut select.projection {
        match item {
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(_)) => {}
            SelectItem::UnnamedExpr(expr) => {
                let own = matches!(expr, Expr::Identifier(_));
                let wanted = match &*expr {
                    Expr::Identifier(ident) => normalize(ident),
                    other => name(other),
                };
                let unique = unique(&mut taken, wanted.clone());
                if !own || unique != wanted {
                    let expr = std::mem::replace(expr, Expr::Identifier(Ident::new("")));
                    let alias = Ident::with_quote('"', unique);
                    *item = SelectItem::ExprWithAlias { expr, alias };
                }
            }
            SelectItem::ExprWithAlias { alias, .. } => {
                let wanted = normalize(alias);
                let unique = unique(&mut taken, wanted.clone());
                if unique != wanted {
                    *alias = Ident::with_quote('"', unique);
                }
            }
            _ => {}
        }
    }
}

fn unique(taken: &mut HashSet<String>, wanted: String) -> String {
    let mut name = wanted.clone();
    let mut n = 0;
    while !taken.insert(name.clone()) {
        n += 1;
        name = format!("{wanted}_{n}");
    }
    name
}

fn name(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(ident) => ident.value.clone(),
        Expr::CompoundIdentifier(parts) => {
            let parts: Vec<_> = parts.iter().map(|p| p.value.as_str()).collect();
            parts.join(".")
        }
        Expr::Nested(inner) => name(inner),
        Expr::BinaryOp { left, op, right } => format!("({} {op} {})", name(left), name(right)),
        Expr::UnaryOp { op, expr } => match op {
            UnaryOperator::Not => format!("(NOT {})", name(expr)),
            op => format!("{op}{}", name(expr)),
        },
        Expr::IsNull(inner) => format!("({} IS NULL)", name(inner)),
        Expr::IsNotNull(inner) => format!("({} IS NOT NULL)", name(inner)),
        Expr::Cast {
            kind,
            expr,
            data_type,
            ..
        } => {
            let word = match kind {
                CastKind::TryCast | CastKind::SafeCast => "TRY_CAST",
                _ => "CAST",
            };
            format!("{word}({} AS {data_type})", name(expr))
        }
        Expr::Function(function) => call(function).unwrap_or_else(|| expr.to_string()),
        other => other.to_string(),
    }
}

/// `f(a, b)` for a call without OVER, FILTER and the like.
fn call(function: &Function) -> Option<String> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let plain = function.over.is_none()
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty()
        && list.clauses.is_empty();
    if !plain {
        return None;
    }
    let called = function.name.to_string().to_lowercase();
    if let ("count", [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]) =
        (called.as_str(), list.args.as_slice())
    {
        return Some("count_star()".into());
    }
    let args: Vec<String> = list
        .args
        .iter()
        .map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => name(expr),
            other => other.to_string(),
        })
        .collect();
    let distinct = list
        .duplicate_treatment
        .map_or(String::new(), |d| format!("{d} "));
    Some(format!("{called}({distinct}{})", args.join(", ")))
}
