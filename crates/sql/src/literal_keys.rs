//! Literals as keys of ORDER BY, DISTINCT ON and GROUP BY: a whole number is a place in the select list, others make no difference.
//!
//! As in DuckDB, brackets around a number and a minus before it are part of the number: `ORDER BY (1), -(-2)`. They go when a statement
//! is parsed: what a macro gives is in brackets, too, and is no place.

use crate::calls::quoted_call;
use crate::error::{Error, Result};
use crate::operators::PLACE;
use sqlparser::ast::{
    Distinct, Expr, Function, FunctionArgumentClause, FunctionArguments, GroupByExpr, OrderByExpr,
    OrderByKind, Query, Select, SelectItem, SetExpr, UnaryOperator, Value,
    WildcardAdditionalOptions,
};

/// The place in the select list that a number stands for.
pub(super) fn place(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Writes the keys of a query's ORDER BY as the literals that they are.
pub(super) fn plain_order(query: &mut Query) {
    let order_by = query.order_by.as_mut().map(|order_by| &mut order_by.kind);
    if let Some(OrderByKind::Expressions(order)) = order_by {
        order.iter_mut().for_each(|key| plain(&mut key.expr));
    }
}

/// The same of a SELECT's GROUP BY and DISTINCT ON, where a place is one of FROM if the select list is a star.
pub(super) fn plain_keys(select: &mut Select) {
    if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
        for key in keys {
            match key {
                Expr::GroupingSets(sets) | Expr::Rollup(sets) | Expr::Cube(sets) => {
                    sets.iter_mut().flatten().for_each(plain);
                }
                key => plain(key),
            }
        }
    }
    let Some(Distinct::On(keys)) = &mut select.distinct else {
        return;
    };
    keys.iter_mut().for_each(plain);
    let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
    if select.projection.first() == Some(&all) {
        for key in keys.iter_mut().filter(|key| place(key).is_some()) {
            *key = quoted_call(PLACE, vec![key.clone()]);
        }
    }
}

/// The same of an ORDER BY among an aggregate's arguments, where a number is no place.
pub(super) fn plain_order_of_arguments(function: &mut Function) {
    let clauses = match &mut function.args {
        FunctionArguments::List(list) => &mut list.clauses[..],
        _ => &mut [],
    };
    let orders = clauses.iter_mut().filter_map(|clause| match clause {
        FunctionArgumentClause::OrderBy(keys) => Some(keys),
        _ => None,
    });
    let keys = orders.flatten().chain(&mut function.within_group);
    for key in keys {
        if !literal(&key.expr).is_some_and(|literal| is_integer(&literal)) {
            plain(&mut key.expr);
        }
    }
}

fn plain(key: &mut Expr) {
    if let Expr::Nested(_) | Expr::UnaryOp { .. } = key
        && let Some(literal) = literal(key)
    {
        *key = Expr::value(literal);
    }
}

/// Puts what they stand for in the place of places in DISTINCT ON, and refuses places that the select list has not.
///
/// # Errors
/// `Binder` for such a place, and for another literal, where `allows` says nothing else.
pub(super) fn read(query: &mut Query, allows: impl Fn() -> bool) -> Result<()> {
    let count = columns(&query.body);
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(Distinct::On(keys)) = &mut select.distinct
    {
        for key in keys {
            refuse_others(key, ("DISTINCT ON", ""), &allows)?;
            if let Some(place) = place(key) {
                *key = item_at(place, &select.projection)?;
            }
        }
    }
    let order_by = query.order_by.as_ref().map(|order_by| &order_by.kind);
    let Some(OrderByKind::Expressions(order)) = order_by else {
        return Ok(());
    };
    for key in order {
        refuse_others(&key.expr, ("ORDER BY", ""), &allows)?;
        if place(&key.expr).is_some_and(|place| place < 1) {
            return Err(out_of_range(count));
        }
    }
    Ok(())
}

/// What a select list has at a place.
fn item_at(place: i64, items: &[SelectItem]) -> Result<Expr> {
    let at = usize::try_from(place).ok().and_then(|n| n.checked_sub(1));
    let at = at.ok_or_else(|| out_of_range(columns_of(items)))?;
    let mut found = None;
    for item in items.iter().take(at + 1) {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
            return Err(Error::unsupported(
                "DISTINCT ON a place behind a star is not there yet: name the column",
            ));
        };
        found = Some(expr);
    }
    match found.filter(|_| at < items.len()) {
        // In brackets, so that a number that is a value is not a place again.
        Some(expr) => Ok(Expr::Nested(Box::new(expr.clone()))),
        None => Err(out_of_range(columns_of(items))),
    }
}

/// Refuses literals that the values of an aggregate cannot be sorted by.
///
/// # Errors
/// `Binder` for one, where `allows` says nothing else.
pub(super) fn refuse_in_aggregate(function: &Function, allows: impl Fn() -> bool) -> Result<()> {
    const MISPLACED: &str = "\n\nPerhaps you misplaced ORDER BY; ORDER BY must appear after all regular arguments of the aggregate.";
    let clauses = match &function.args {
        FunctionArguments::List(list) if function.over.is_none() => &list.clauses[..],
        _ => return Ok(()),
    };
    let keys = clauses.iter().filter_map(|clause| match clause {
        FunctionArgumentClause::OrderBy(keys) => Some(keys),
        _ => None,
    });
    let mut keys = keys.flatten().chain(&function.within_group);
    keys.try_for_each(|OrderByExpr { expr, .. }| {
        refuse_others(expr, ("ORDER BY", MISPLACED), &allows)
    })
}

/// Refuses a literal that is no place.
fn refuse_others(key: &Expr, (what, more): (&str, &str), allows: &impl Fn() -> bool) -> Result<()> {
    let is_refused = match key {
        Expr::Value(value) => match &value.value {
            number @ Value::Number(..) => !is_integer(number),
            Value::Null | Value::SingleQuotedString(_) => true,
            _ => false,
        },
        _ => false,
    };
    match is_refused && !allows() {
        true => Err(Error::binder(format!(
            "{what} non-integer literal has no effect.\n* SET order_by_non_integer_literal=true to allow this behavior.{more}"
        ))),
        false => Ok(()),
    }
}

fn is_integer(value: &Value) -> bool {
    matches!(value, Value::Number(text, _) if !text.contains(['.', 'e', 'E']))
}

/// The literal that is written, in brackets and with the signs before it.
fn literal(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Nested(inner) => literal(inner),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match literal(expr)? {
            Value::Number(number, long) => Some(Value::Number(
                match number.strip_prefix('-') {
                    Some(number) => number.to_owned(),
                    None => format!("-{number}"),
                },
                long,
            )),
            _ => None,
        },
        Expr::Value(value) => Some(value.value.clone()),
        _ => None,
    }
}

fn out_of_range(count: Option<usize>) -> Error {
    Error::binder(match count {
        Some(count) => format!("ORDER term out of range - should be between 1 and {count}"),
        None => "ORDER term out of range - should be at least 1".to_owned(),
    })
}

/// How many columns a query lists.
fn columns(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => columns_of(&select.projection),
        SetExpr::Query(query) => columns(&query.body),
        SetExpr::SetOperation { left, .. } => columns(left),
        _ => None,
    }
}

fn columns_of(items: &[SelectItem]) -> Option<usize> {
    let is_plain = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
        )
    };
    items.iter().all(is_plain).then_some(items.len())
}
