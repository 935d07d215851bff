//! `SELECT DISTINCT ON (a) ... ORDER BY b`: of the rows that agree on `a` the first by `b`, whatever `b` is. The planner wants `a`
//! first in ORDER BY, so that the rows are numbered instead.

use crate::error::Result;
use crate::template::template;
use crate::{calls, folded};
use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, OrderByExpr, OrderByKind, OrderByOptions, Query, Select,
    SelectItem, SetExpr, Value, WindowSpec, WindowType,
};

/// Numbers the rows, where a query says both.
pub(super) fn number_rows(query: &mut Query) -> Result<()> {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Ok(());
    };
    let (Some(Distinct::On(_)), Some(order_by)) = (&select.distinct, &query.order_by) else {
        return Ok(());
    };
    let mut order = match &order_by.kind {
        OrderByKind::Expressions(order) => order.clone(),
        OrderByKind::All(options) => match by_all(select, *options) {
            Some(order) => order,
            None => return Ok(()),
        },
    };
    for item in &mut order {
        item.expr = meant(&item.expr, select);
    }
    let Some(Distinct::On(keys)) = select.distinct.take() else {
        return Ok(());
    };
    let keys: Vec<Expr> = keys.iter().map(|key| meant(key, select)).collect();
    let mut number = calls::call("row_number", vec![]);
    if let Expr::Function(function) = &mut number {
        function.over = Some(WindowType::WindowSpec(WindowSpec {
            window_name: None,
            partition_by: keys,
            order_by: order,
            window_frame: None,
        }));
    }
    let first = Expr::BinaryOp {
        left: Box::new(number),
        op: BinaryOperator::Eq,
        right: Box::new(Expr::value(Value::Number("1".into(), false))),
    };
    select.qualify = Some(match select.qualify.take() {
        None => first,
        Some(other) => template("($1 AND $2)", &[other, first])?,
    });
    Ok(())
}

/// All items of a select list; `None` where there is a star among them.
fn by_all(select: &Select, options: OrderByOptions) -> Option<Vec<OrderByExpr>> {
    let items = select.projection.iter().map(|item| match item {
        SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) => {
            Some(OrderByExpr {
                expr: expr.clone(),
                options,
                with_fill: None,
            })
        }
        _ => None,
    });
    items.collect()
}

/// What a name or a place of the select list stands for.
fn meant(expr: &Expr, select: &Select) -> Expr {
    let item = match expr {
        Expr::Identifier(name) => select.projection.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias }
                if folded(&alias.value) == folded(&name.value) =>
            {
                Some(expr)
            }
            _ => None,
        }),
        Expr::Value(value) => match &value.value {
            Value::Number(place, _) => {
                let place = place.parse::<usize>().ok();
                let item = place.and_then(|place| select.projection.get(place.checked_sub(1)?));
                item.and_then(|item| match item {
                    SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) => {
                        Some(expr)
                    }
                    _ => None,
                })
            }
            _ => None,
        },
        _ => None,
    };
    item.unwrap_or(expr).clone()
}
