//! `FROM t, unnest(t.a)`: what is to the left of an `unnest` of its columns comes into brackets with it, as `FROM (t CROSS JOIN
//! unnest(t.a))`, which the planner knows as one relation (`plan/lateral_unnest.rs`).

use super::nested_calls::unnest_table;
use crate::walk::visit_expressions;
use sqlparser::ast::{
    Expr, Join, JoinConstraint, JoinOperator, Select, TableFactor, TableWithJoins, Value,
};
use std::ops::ControlFlow;

/// Brackets every such `unnest` of a FROM.
pub(super) fn bracket(select: &mut Select) {
    let mut tables: Vec<TableWithJoins> = vec![];
    for mut table in std::mem::take(&mut select.from) {
        unnest_table(&mut table.relation);
        let joins = std::mem::take(&mut table.joins);
        if is_lateral(&table.relation) && !tables.is_empty() {
            let first = tables.remove(0);
            let left = crossed(first, std::mem::take(&mut tables));
            table = bracketed(left, cross(table.relation));
        }
        for mut join in joins {
            unnest_table(&mut join.relation);
            if is_lateral(&join.relation) && is_cross(&join.join_operator) {
                table = bracketed(table, cross(join.relation));
            } else {
                table.joins.push(join);
            }
        }
        tables.push(table);
    }
    select.from = tables;
}

/// Whether a relation is an `unnest` of something that is in no query of its own.
fn is_lateral(relation: &TableFactor) -> bool {
    let TableFactor::UNNEST { array_exprs, .. } = relation else {
        return false;
    };
    let found = visit_expressions(array_exprs, |expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(true),
        Expr::Subquery(_) => ControlFlow::Break(false),
        _ => ControlFlow::Continue(()),
    });
    matches!(found, ControlFlow::Break(true))
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
