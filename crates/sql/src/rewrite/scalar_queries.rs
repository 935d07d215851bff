//! Queries that stand for a value: `(SELECT sum(t.a))` of a query outside is that query's aggregate, and where a setting says so, the
//! first of several rows is the value.

use crate::error::Result;
use crate::macros::by_known_name;
use crate::reading::query_of;
use crate::walk::visit_expressions;
use sqlparser::ast::{
    Expr, Function, GroupByExpr, LimitClause, Query, Select, SelectItem, SetExpr, TableFactor,
    TableWithJoins, Value, WildcardAdditionalOptions,
};
use std::ops::ControlFlow;

/// What a query without FROM stands for, if it is an aggregate of a query outside: all columns that it names are of that one.
pub(super) fn outer_aggregate(expr: &Expr, is_aggregate: &dyn Fn(&str) -> bool) -> Option<Expr> {
    let Expr::Subquery(query) = expr else {
        return None;
    };
    let item = only_item(query)?;
    let (mut aggregates, mut others) = (0, false);
    let _ = visit_expressions(item, |part| {
        match part {
            Expr::Function(call) if call.over.is_none() && is_aggregate(&called(call)) => {
                aggregates += 1;
                others |= !has_columns(call);
            }
            Expr::Function(call) => others |= call.over.is_some(),
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => others = true,
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    (aggregates > 0 && !others).then(|| Expr::Nested(Box::new(item.clone())))
}

fn called(call: &Function) -> String {
    let mut call = call.clone();
    by_known_name(&mut call);
    call.name.to_string().to_ascii_lowercase()
}

fn has_columns(call: &Function) -> bool {
    visit_expressions(&call.args, |part| match part {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .is_break()
}

/// The expression of a query that says nothing else.
fn only_item(query: &Query) -> Option<&Expr> {
    let is_plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    let select = match query.body.as_ref() {
        SetExpr::Select(select) if is_plain && is_of_nothing(select) => select,
        _ => return None,
    };
    match select.projection.as_slice() {
        [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] => {
            Some(item)
        }
        _ => None,
    }
}

fn is_of_nothing(select: &Select) -> bool {
    let grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
    };
    let chosen = [&select.selection, &select.having, &select.qualify];
    select.from.is_empty()
        && !grouped
        && select.distinct.is_none()
        && chosen.iter().all(|condition| condition.is_none())
}

/// Takes the first of the rows of a query that stands for a value.
pub(super) fn first_row(expr: &mut Expr) -> Result<()> {
    let Expr::Subquery(query) = expr else {
        return Ok(());
    };
    if query.limit_clause.is_some() || query.fetch.is_some() {
        let limited = TableFactor::Derived {
            lateral: false,
            subquery: query.clone(),
            alias: None,
            sample: None,
        };
        let from = TableWithJoins {
            relation: limited,
            joins: vec![],
        };
        let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
        *query = query_of(vec![from], all)?;
    }
    query.limit_clause = Some(LimitClause::LimitOffset {
        limit: Some(Expr::value(Value::Number("1".into(), false))),
        offset: None,
        limit_by: vec![],
    });
    Ok(())
}
