//! Rows as values: `(a, b)` is what `row(a, b)` is, and `(a, b) IN (SELECT x, y ...)` compares column by column.

use crate::calls::{all_unnamed, call};
use crate::error::Result;
use crate::sql_text::sql_text;
use crate::template::template;
use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArguments, GroupByExpr, Query, Select, SelectItem, SetExpr,
    TableFactor,
};

/// `GROUP BY (a, b)` groups by both.
pub(super) fn group_by_columns(select: &mut Select) {
    if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
        let all = std::mem::take(keys).into_iter();
        keys.extend(all.flat_map(|key| match key {
            Expr::Tuple(keys) if !keys.is_empty() => keys,
            key => vec![key],
        }));
    }
}

/// Where rows are kept by `(a, b) IN (SELECT ...)`, false and unknown are the same.
pub(super) fn keep_rows(select: &mut Select) -> Result<()> {
    match &mut select.selection {
        Some(condition) => keep(condition),
        None => Ok(()),
    }
}

fn keep(condition: &mut Expr) -> Result<()> {
    match condition {
        Expr::Nested(inner) => return keep(inner),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            keep(left)?;
            return keep(right);
        }
        _ => {}
    }
    if let Some((values, query, false)) = rows_in(condition) {
        *condition = exists(&values, query)?;
    }
    Ok(())
}

/// `(a, b) IN (SELECT x, y ...)` as a value. Where no row is the same, it is unknown if a value of any row is.
pub(super) fn in_query(expr: &mut Expr) -> Result<()> {
    let Some((values, query, negated)) = rows_in(expr) else {
        return Ok(());
    };
    let names = names(values.len());
    let is_null = |name: &String| format!("{name} IS NULL");
    let unknown: Vec<String> = names.iter().map(is_null).collect();
    let with_null: Vec<String> = (2..values.len() + 2)
        .map(|n| is_null(&format!("${n}")))
        .collect();
    let text = format!(
        "CASE WHEN $1 THEN true WHEN ({} OR EXISTS (SELECT 1 FROM {} WHERE {})) AND EXISTS ({}) THEN NULL ELSE false END",
        with_null.join(" OR "),
        derived(query, &names),
        unknown.join(" OR "),
        sql_text(query),
    );
    let mut args = vec![exists(&values, query)?];
    args.extend(values);
    let found = template(&text, &args)?;
    *expr = match negated {
        true => template("(NOT $1)", &[found])?,
        false => found,
    };
    Ok(())
}

/// The values of a row, the query whose rows it is looked for in, and whether it is not to be there.
fn rows_in(expr: &Expr) -> Option<(Vec<Expr>, &Query, bool)> {
    let Expr::InSubquery {
        expr,
        subquery,
        negated,
    } = expr
    else {
        return None;
    };
    let values = match expr.as_ref() {
        Expr::Tuple(values) => values.clone(),
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("row") => {
            match &function.args {
                FunctionArguments::List(list) => all_unnamed(&list.args)?,
                FunctionArguments::None | FunctionArguments::Subquery(_) => return None,
            }
        }
        _ => return None,
    };
    (values.len() > 1 && !is_one_value(subquery)).then_some((values, subquery, *negated))
}

/// Whether the rows of a query have one value, which may be a row itself.
fn is_one_value(query: &Query) -> bool {
    match query.body.as_ref() {
        SetExpr::Select(select) => match (select.projection.as_slice(), select.from.as_slice()) {
            ([SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }], _) => true,
            ([SelectItem::Wildcard(_)], [from]) if from.joins.is_empty() => match &from.relation {
                TableFactor::Derived { subquery, .. } => is_one_value(subquery),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

/// Names of a subquery's columns that no other query has.
fn names(count: usize) -> Vec<String> {
    (1..=count)
        .map(|n| format!("\"$row\".\"$row{n}\""))
        .collect()
}

fn derived(query: &Query, names: &[String]) -> String {
    let columns = names
        .iter()
        .map(|name| name.rsplit('.').next().unwrap_or(name));
    let columns: Vec<&str> = columns.collect();
    format!("({}) AS \"$row\"({})", sql_text(query), columns.join(", "))
}

/// Whether a row of the query is the same.
fn exists(values: &[Expr], query: &Query) -> Result<Expr> {
    let names = names(values.len());
    let same = names.iter().enumerate();
    let same: Vec<String> = same
        .map(|(n, name)| format!("{name} = ${}", n + 1))
        .collect();
    let text = format!(
        "EXISTS (SELECT 1 FROM {} WHERE {})",
        derived(query, &names),
        same.join(" AND ")
    );
    template(&text, values)
}

/// `(a, b)` as a call of `row`.
pub(super) fn as_call(expr: &mut Expr) {
    if let Expr::Tuple(values) = expr
        && values.len() > 1
    {
        *expr = call("row", std::mem::take(values));
    }
}
