//! `SELECT unnest(a) FROM t ORDER BY b`, by what is not selected: the planner sorts what an `unnest` gave, which has no `b`; so that
//! it is selected, too, and left out again.

use crate::error::Result;
use crate::folded;
use crate::reading::query_of;
use crate::walk::visit_expressions;
use sqlparser::ast::{
    ExcludeSelectItem, Expr, Function, GroupByExpr, Ident, ObjectName, OrderByKind, Query, Select,
    SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins, Value, WildcardAdditionalOptions,
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
    let has_unnest = select.projection.iter().any(has_unnest);
    if !has_unnest || !ungrouped || select.distinct.is_some() {
        return Ok(());
    }
    let mut hidden = vec![];
    for key in keys
        .iter_mut()
        .filter(|key| !is_selected(&key.expr, select))
    {
        let name = Ident::with_quote('"', format!("{HIDDEN}{}", hidden.len()));
        let expr = std::mem::replace(&mut key.expr, Expr::Identifier(name.clone()));
        hidden.push((name, expr));
    }
    if hidden.is_empty() {
        return Ok(());
    }
    let names = hidden
        .iter()
        .map(|(name, _)| ObjectName::from(vec![name.clone()]));
    let names = names.collect();
    for (alias, expr) in hidden {
        select
            .projection
            .push(SelectItem::ExprWithAlias { expr, alias });
    }
    let all = SelectItem::Wildcard(WildcardAdditionalOptions {
        opt_exclude: Some(ExcludeSelectItem::Multiple(names)),
        ..WildcardAdditionalOptions::default()
    });
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
    Ok(())
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

/// Whether a key is a place or a name of the select list, or stands in it.
fn is_selected(key: &Expr, select: &Select) -> bool {
    if matches!(key, Expr::Value(_)) {
        return true;
    }
    select.projection.iter().any(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } => {
            expr == key
                || matches!(key, Expr::Identifier(name) if folded(&name.value) == folded(&alias.value))
        }
        SelectItem::UnnamedExpr(expr) => expr == key,
        _ => false,
    })
}
