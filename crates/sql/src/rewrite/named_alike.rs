//! Columns that a select list gives their own name: `SELECT t.a AS a`. The planner takes the column and what is called like it for two
//! where it has both at once, beside an `unnest` or in ORDER BY.

use crate::folded;
use crate::walk::visit_expressions;
use sqlparser::ast::{Expr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, Value};
use std::ops::ControlFlow;

/// The column behind an item whose name is the column's own but for the case of letters.
fn own_name(item: &SelectItem) -> Option<(&[Ident], &Ident)> {
    let SelectItem::ExprWithAlias {
        expr: Expr::CompoundIdentifier(parts),
        alias,
    } = item
    else {
        return None;
    };
    let last = parts.last()?;
    last.value
        .eq_ignore_ascii_case(&alias.value)
        .then_some((parts.as_slice(), alias))
}

fn same(one: &[Ident], other: &[Ident]) -> bool {
    let pairs = || one.iter().zip(other);
    one.len() == other.len() && pairs().all(|(a, b)| a.value.eq_ignore_ascii_case(&b.value))
}

/// `SELECT t.a AS "A" FROM t ORDER BY t.a` orders by the item.
pub(super) fn order_by_names(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return;
    };
    let Some(order_by) = &mut query.order_by else {
        return;
    };
    let OrderByKind::Expressions(order) = &mut order_by.kind else {
        return;
    };
    for key in order {
        if let Expr::Identifier(name) = &key.expr
            && let Some(place) = place_of_last(select, name)
        {
            key.expr = Expr::Value(Value::Number(place.to_string(), false).into());
        }
        let Expr::CompoundIdentifier(parts) = &key.expr else {
            continue;
        };
        let mut named = select.projection.iter().filter_map(own_name);
        if let Some((_, alias)) = named.find(|(column, _)| same(column, parts)) {
            key.expr = Expr::Identifier(alias.clone());
        }
    }
}

/// `SELECT a, -a AS a FROM t ORDER BY a` orders by the last item that is given the name. Its place in the list, from 1, if several items
/// are called so, and no `*` before it has a number of columns that is not known here.
fn place_of_last(select: &Select, name: &Ident) -> Option<usize> {
    let is_named = |own: &Ident| folded(&own.value) == folded(&name.value);
    let is_called = |item: &&SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => is_named(alias),
        SelectItem::UnnamedExpr(Expr::Identifier(column)) => is_named(column),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            parts.last().is_some_and(is_named)
        }
        _ => false,
    };
    if select.projection.iter().filter(is_called).count() < 2 {
        return None;
    }
    let given = |item: &SelectItem| matches!(item, SelectItem::ExprWithAlias { alias, .. } if is_named(alias));
    let at = select.projection.iter().rposition(given)?;
    let before = &select.projection[..at];
    let is_single = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::ExprWithAlias { .. } | SelectItem::UnnamedExpr(_)
        )
    };
    before.iter().all(is_single).then_some(at + 1)
}

/// `SELECT t.a AS a, unnest(...)` does without the name, which the column has by itself.
pub(super) fn leave_out_names(select: &mut Select) {
    let unnests = |expr: &Expr| match expr {
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("unnest") => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    if visit_expressions(&select.projection, unnests).is_continue() {
        return;
    }
    for item in &mut select.projection {
        let is_own = own_name(item)
            .is_some_and(|(column, alias)| column.last().is_some_and(|c| c.value == alias.value));
        if let SelectItem::ExprWithAlias { expr, .. } = item
            && is_own
        {
            *item = SelectItem::UnnamedExpr(expr.clone());
        }
    }
}
