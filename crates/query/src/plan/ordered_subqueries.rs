//! `(SELECT list(x) FROM (SELECT ... ORDER BY y))` where it depends on the query around it: the order becomes the aggregate's own, since
//! the join that the library makes of such a subquery knows none.
//!
//! What must hold: the aggregate keeps its name, by which it is found above.

use super::wanted_order::depends_on_order;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Projection, SubqueryAlias,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct OrderedSubqueries;

impl AnalyzerRule for OrderedSubqueries {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let ordered = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Aggregate(aggregate) => ordered(aggregate),
            other => Ok(Transformed::no(other)),
        });
        Ok(ordered?.data)
    }

    fn name(&self) -> &str {
        "ordered_subqueries"
    }
}

fn ordered(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let sees_order = aggregate.aggr_expr.iter().any(takes_order);
    if !sees_order || !has_outer_columns(&aggregate.input)? {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let Some((input, keys)) = with_keys(&aggregate.input)? else {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    };
    let functions = aggregate.aggr_expr.into_iter().map(|expr| {
        let name = expr.schema_name().to_string();
        match expr {
            Expr::AggregateFunction(mut function) if depends_on_order(function.func.name()) => {
                if function.params.order_by.is_empty() {
                    function.params.order_by.clone_from(&keys);
                }
                Expr::AggregateFunction(function).alias(name)
            }
            other => other,
        }
    });
    let functions = functions.collect();
    let aggregate = Aggregate::try_new(Arc::new(input), aggregate.group_expr, functions)?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
}

/// Whether an aggregate's value depends on an order that it does not say itself.
fn takes_order(expr: &Expr) -> bool {
    match expr {
        Expr::AggregateFunction(function) => {
            function.params.order_by.is_empty() && depends_on_order(function.func.name())
        }
        _ => false,
    }
}

/// Whether a plan has columns of a query around it.
fn has_outer_columns(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        node.apply_expressions(|expr| {
            found |= expr.contains_outer();
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(found)
}

/// The plan without the ORDER BY on its top, and that order, by columns of it.
fn with_keys(plan: &LogicalPlan) -> Result<Option<(LogicalPlan, Vec<Sort>)>> {
    Ok(match plan {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
            let columns = sort.input.schema().columns().into_iter().map(Expr::Column);
            Some(with_columns(&sort.input, columns.collect(), &sort.expr)?)
        }
        LogicalPlan::Projection(projection) => match with_keys(&projection.input)? {
            Some((input, keys)) => Some(with_columns(&input, projection.expr.clone(), &keys)?),
            None => None,
        },
        LogicalPlan::Filter(filter) => match with_keys(&filter.input)? {
            Some((input, keys)) => {
                let filter = Filter::try_new(filter.predicate.clone(), Arc::new(input))?;
                Some((LogicalPlan::Filter(filter), keys))
            }
            None => None,
        },
        LogicalPlan::SubqueryAlias(alias) => match with_keys(&alias.input)? {
            Some((input, keys)) => {
                let below = input.schema().columns();
                let alias = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone())?;
                let above = alias.schema.columns();
                let renamed = keys.into_iter().map(|key| Sort {
                    expr: in_columns(&key.expr, &below, &above),
                    ..key
                });
                let keys = renamed.collect();
                Some((LogicalPlan::SubqueryAlias(alias), keys))
            }
            None => None,
        },
        _ => None,
    })
}

/// A key, which is a column, by its name above.
fn in_columns(key: &Expr, below: &[Column], above: &[Column]) -> Expr {
    let place = match key {
        Expr::Column(column) => below.iter().position(|own| own == column),
        _ => None,
    };
    match place.and_then(|at| above.get(at)) {
        Some(column) => Expr::Column(column.clone()),
        None => key.clone(),
    }
}

/// These expressions of a plan, and behind them the keys as columns.
fn with_columns(
    input: &LogicalPlan,
    mut exprs: Vec<Expr>,
    keys: &[Sort],
) -> Result<(LogicalPlan, Vec<Sort>)> {
    let mut columns = vec![];
    for (n, key) in keys.iter().enumerate() {
        let name = format!("$order {n}");
        exprs.push(key.expr.clone().alias(&name));
        columns.push(Sort {
            expr: Expr::Column(Column::new_unqualified(name)),
            ..key.clone()
        });
    }
    let projection = Projection::try_new(exprs, Arc::new(input.clone()))?;
    let plan = LogicalPlanBuilder::from(LogicalPlan::Projection(projection)).build()?;
    Ok((plan, columns))
}
