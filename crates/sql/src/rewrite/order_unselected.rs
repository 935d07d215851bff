//! `SELECT unnest(a) FROM t ORDER BY b` and `SELECT DISTINCT a FROM t ORDER BY b`, by what is not selected: the planner sorts what an
//! `unnest` or DISTINCT gave, which has no `b`; so that it is selected, too, and left out again. Of the rows that DISTINCT takes for one, the
//! first says where it stands.

use crate::calls;
use crate::error::Result;
use crate::folded;
use crate::reading::query_of;
use crate::walk::visit_expressions;
use sqlparser::ast::{
    Distinct, ExcludeSelectItem, Expr, Function, GroupByExpr, Ident, ObjectName, OrderByKind,
    Query, Select, SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins, Value,
    WildcardAdditionalOptions,
};
use std::ops::ControlFlow;

/// The names of what is selected for the order alone.
const HIDDEN: &str = "$order";

/// Selects what rows are sorted by, where that is needed.
pub(super) fn select_keys(query: &mut Query) -> Result<()> {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Ok(());
    };
    let Some(order_by) = query.order_by.as_mut() else {
        return Ok(());
    };
    let OrderByKind::Expressions(keys) = &mut order_by.kind else {
        return Ok(());
    };
    let ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    let has_unnest = ungrouped && select.projection.iter().any(has_unnest);
    let is_distinct = match &select.distinct {
        Some(Distinct::Distinct) => true,
        None if has_unnest => false,
        _ => return Ok(()),
    };
    if is_distinct {
        keys.iter_mut()
            .for_each(|key| by_place(&mut key.expr, select));
    }
    let mut hidden = vec![];
    for key in keys
        .iter_mut()
        .filter(|key| !is_selected(&key.expr, select))
    {
        let name = Ident::with_quote('"', format!("{HIDDEN}{}", hidden.len()));
        let key_of_row = match is_distinct {
            true => calls::call("first", vec![Expr::Identifier(name.clone())]),
            false => Expr::Identifier(name.clone()),
        };
        hidden.push((name, std::mem::replace(&mut key.expr, key_of_row)));
    }
    match hidden.is_empty() {
        true => Ok(()),
        false => select_hidden(query, hidden, is_distinct),
    }
}

/// Selects these, too, by their names, and has a query around it that leaves them out.
fn select_hidden(query: &mut Query, hidden: Vec<(Ident, Expr)>, is_distinct: bool) -> Result<()> {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Ok(());
    };
    let names = hidden
        .iter()
        .map(|(name, _)| ObjectName::from(vec![name.clone()]));
    let all = all_but(names.collect());
    select.distinct = None;
    let hidden = hidden.into_iter();
    let hidden = hidden.map(|(alias, expr)| SelectItem::ExprWithAlias { expr, alias });
    select.projection.extend(hidden);
    let mut inner = query_of(vec![], SelectItem::UnnamedExpr(Expr::value(Value::Null)))?;
    std::mem::swap(&mut inner.body, &mut query.body);
    let unnested = TableFactor::Derived {
        lateral: false,
        subquery: inner,
        alias: Some(TableAlias {
            explicit: true,
            name: Ident::with_quote('"', "$unnested"),
            columns: vec![],
            at: None,
        }),
        sample: None,
    };
    let from = TableWithJoins {
        relation: unnested,
        joins: vec![],
    };
    query.body = query_of(vec![from], all)?.body;
    if let SetExpr::Select(select) = query.body.as_mut()
        && is_distinct
    {
        select.group_by = GroupByExpr::All(vec![]);
    }
    Ok(())
}

/// All columns but some.
fn all_but(names: Vec<ObjectName>) -> SelectItem {
    SelectItem::Wildcard(WildcardAdditionalOptions {
        opt_exclude: Some(ExcludeSelectItem::Multiple(names)),
        ..WildcardAdditionalOptions::default()
    })
}

fn has_unnest(item: &SelectItem) -> bool {
    let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
        return false;
    };
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Function(Function { name, .. })
            if name.to_string().eq_ignore_ascii_case("unnest") =>
        {
            ControlFlow::Break(true)
        }
        Expr::Subquery(_) => ControlFlow::Break(false),
        _ => ControlFlow::Continue(()),
    });
    matches!(found, ControlFlow::Break(true))
}

/// What is computed and stands in the select list, too, as its place there: the planner does not find it in what DISTINCT gave.
fn by_place(key: &mut Expr, select: &Select) {
    if matches!(
        key,
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_)
    ) {
        return;
    }
    for (place, item) in (1..).zip(&select.projection) {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                if expr == key {
                    *key = Expr::value(Value::Number(place.to_string(), false));
                    return;
                }
            }
            // What is behind a star has no place that is known.
            _ => return,
        }
    }
}

/// Whether a key is computed of names alone that the select list gives: that is done to what it gave.
fn is_of_given_names(key: &Expr, select: &Select) -> bool {
    let is_given = |name: &Ident| {
        select.projection.iter().any(|item| {
            matches!(item, SelectItem::ExprWithAlias { alias, .. } if folded(&alias.value) == folded(&name.value))
        })
    };
    let mut names = 0;
    let found = visit_expressions(key, |expr| match expr {
        Expr::Identifier(name) if is_given(name) => {
            names += 1;
            ControlFlow::Continue(())
        }
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Subquery(_)
        | Expr::Exists { .. }
        | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    names > 0 && found.is_continue()
}

/// Whether a key is a place or a name of the select list, stands in it, or is computed of its names.
fn is_selected(key: &Expr, select: &Select) -> bool {
    if matches!(key, Expr::Value(_)) || is_of_given_names(key, select) {
        return true;
    }
    select.projection.iter().any(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } => {
            expr == key
                || matches!(key, Expr::Identifier(name) if folded(&name.value) == folded(&alias.value))
        }
        SelectItem::UnnamedExpr(expr) => expr == key,
        // Of a star that has it.
        _ => matches!(key, Expr::Identifier(_) | Expr::CompoundIdentifier(_)),
    })
}
