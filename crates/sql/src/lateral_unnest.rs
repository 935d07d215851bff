//! `FROM t, unnest(t.a)`: what is to the left of an `unnest` of its columns comes into brackets with it, as `FROM (t CROSS JOIN
//! unnest(t.a))`, which the planner knows as one relation (`plan/lateral_unnest.rs`). With nothing to its left it is of an outer
//! query's columns, and becomes a query of its own. `range` and `generate_series` of columns are an `unnest` of their lists.

use super::calls::{all_unnamed, call, in_from};
use super::nested_calls::unnest_table;
use super::reading::query_of;
use crate::error::Result;
use crate::walk::visit_expressions;
use sqlparser::ast::{
    Expr, Ident, Join, JoinConstraint, JoinOperator, Select, SelectItem, TableAlias,
    TableAliasColumnDef, TableFactor, TableWithJoins, Value,
};
use std::ops::ControlFlow;

/// The functions of one column that are lists, too.
const SERIES: [&str; 2] = ["range", "generate_series"];

/// Brackets every such `unnest` of a FROM.
///
/// # Errors
/// `Internal` if a query that is made here is none.
pub(super) fn bracket(select: &mut Select) -> Result<()> {
    let mut tables: Vec<TableWithJoins> = vec![];
    for mut table in std::mem::take(&mut select.from) {
        unnest_table(&mut table.relation);
        unnest_series(&mut table.relation);
        let joins = std::mem::take(&mut table.joins);
        if tables.is_empty() {
            in_query(&mut table.relation)?;
        } else if is_lateral(&table.relation) {
            let first = tables.remove(0);
            let left = crossed(first, std::mem::take(&mut tables));
            table = bracketed(left, cross(table.relation));
        }
        for mut join in joins {
            unnest_table(&mut join.relation);
            unnest_series(&mut join.relation);
            if is_lateral(&join.relation) && is_cross(&join.join_operator) {
                table = bracketed(table, cross(join.relation));
            } else {
                table.joins.push(join);
            }
        }
        tables.push(table);
    }
    select.from = tables;
    Ok(())
}

/// `unnest(list) AS t(x)` of columns as `(SELECT unnest(list)) AS t(x)`.
fn in_query(relation: &mut TableFactor) -> Result<()> {
    if !is_lateral(relation) {
        return Ok(());
    }
    let TableFactor::UNNEST {
        alias: Some(alias),
        array_exprs,
        with_ordinality: false,
        ..
    } = relation
    else {
        return Ok(());
    };
    // The lists that `json_each` stands for have several columns.
    let ([list], [_]) = (array_exprs.as_slice(), alias.columns.as_slice()) else {
        return Ok(());
    };
    let item = SelectItem::ExprWithAlias {
        expr: call("unnest", vec![list.clone()]),
        alias: Ident::new("unnest"),
    };
    *relation = TableFactor::Derived {
        lateral: false,
        subquery: query_of(vec![], item)?,
        alias: Some(alias.clone()),
        sample: None,
    };
    Ok(())
}

/// `range(t.a)` in FROM as an `unnest` of its list.
fn unnest_series(factor: &mut TableFactor) {
    let Some((name, alias, args)) = in_from(factor) else {
        return;
    };
    let called = name.to_string().to_lowercase();
    let Some(args) = all_unnamed(args).filter(|_| SERIES.contains(&called.as_str())) else {
        return;
    };
    if !names_columns(&args) {
        return;
    }
    let mut alias = alias.take().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::new(called.as_str()),
        columns: vec![],
        at: None,
    });
    if alias.columns.is_empty() {
        alias.columns = vec![TableAliasColumnDef::from_name(called.as_str())];
    }
    *factor = TableFactor::UNNEST {
        alias: Some(alias),
        array_exprs: vec![call(&called, args)],
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: false,
    };
}

/// Whether a relation is an `unnest` of something that is in no query of its own.
fn is_lateral(relation: &TableFactor) -> bool {
    match relation {
        TableFactor::UNNEST { array_exprs, .. } => names_columns(array_exprs),
        _ => false,
    }
}

fn names_columns(exprs: &[Expr]) -> bool {
    exprs.iter().any(|expr| {
        let found = visit_expressions(expr, |expr| match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(true),
            Expr::Subquery(_) => ControlFlow::Break(false),
            _ => ControlFlow::Continue(()),
        });
        matches!(found, ControlFlow::Break(true))
    })
}

fn is_cross(operator: &JoinOperator) -> bool {
    match operator {
        JoinOperator::CrossJoin(_) => true,
        JoinOperator::Join(JoinConstraint::On(on))
        | JoinOperator::Inner(JoinConstraint::On(on)) => {
            matches!(on, Expr::Value(value) if value.value == Value::Boolean(true))
        }
        _ => false,
    }
}

fn cross(relation: TableFactor) -> Join {
    Join {
        relation,
        global: false,
        join_operator: JoinOperator::CrossJoin(JoinConstraint::None),
    }
}

/// The tables of a list in one.
fn crossed(first: TableWithJoins, others: Vec<TableWithJoins>) -> TableWithJoins {
    let joins = others.into_iter().map(|table| cross(factor(table)));
    TableWithJoins {
        relation: factor(first),
        joins: joins.collect(),
    }
}

fn bracketed(left: TableWithJoins, unnest: Join) -> TableWithJoins {
    let both = TableWithJoins {
        relation: factor(left),
        joins: vec![unnest],
    };
    TableWithJoins {
        relation: TableFactor::NestedJoin {
            table_with_joins: Box::new(both),
            alias: None,
        },
        joins: vec![],
    }
}

fn factor(table: TableWithJoins) -> TableFactor {
    match table.joins.is_empty() {
        true => table.relation,
        false => TableFactor::NestedJoin {
            table_with_joins: Box::new(table),
            alias: None,
        },
    }
}
