//! `FROM t, LATERAL (SELECT ... t.a ...) u`: the subquery is evaluated for all different values of the columns to its left at once,
//! and joined with the left side by them.
//!
//! What must hold: each row on the left meets the rows that the subquery has for its own values, those of NULL too.

use super::dependent_joins::{outer_columns, same};
use super::dependent_plans::{Dependent, Names};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DataFusionError, ExprSchema, JoinType, Result};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{
    Expr, Join, LogicalPlan, LogicalPlanBuilder, SubqueryAlias, utils::conjunction,
};
use hushdb_sql::stack::with_room;
use std::sync::Arc;

/// Joins a subquery in FROM with what it names of its left. A plan that is none of these stays as it was.
pub(super) fn join_lateral(plan: LogicalPlan, names: &Names) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(join) = &plan else {
        return Ok(Transformed::no(plan));
    };
    if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
        return Ok(Transformed::no(plan));
    }
    // The planner marks what names columns of its left itself, but not what subqueries in it name.
    let named = free_columns(&join.right)?;
    let is_of_left = |column: &Column| join.left.schema().field_from_column(column).is_ok();
    if !has_subquery(&join.right)? && !named.iter().any(is_of_left) {
        return Ok(Transformed::no(plan));
    }
    let inner = opened(join.right.as_ref().clone())?;
    let outer = outer_columns(&inner, join.left.schema())?;
    if outer.is_empty() {
        return alone(join, inner);
    }
    let dependent = Dependent {
        outer: &outer,
        of: &join.left,
        names,
    };
    let (right, keys) = match dependent.evaluated(&inner) {
        Err(DataFusionError::NotImplemented(_)) => return Ok(Transformed::no(plan)),
        other => other?,
    };
    let pairs = outer.into_iter().zip(keys);
    let mut on: Vec<Expr> = pairs
        .map(|(outer, key)| same(Expr::Column(outer), Expr::Column(key)))
        .collect();
    on.extend(conditions(join));
    let columns = join.schema.columns().into_iter().map(Expr::Column);
    let joined = LogicalPlanBuilder::from(join.left.as_ref().clone())
        .join_on(right, join.join_type, conjunction(on))?
        .project(columns)?;
    Ok(Transformed::yes(joined.build()?))
}

/// A join with a subquery that names columns of its own rows alone, as one within it does: it is any relation.
fn alone(join: &Join, inner: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut join = join.clone();
    let opened = has_subquery(&join.right)? && free_columns(&inner)?.is_empty();
    if opened {
        join.right = Arc::new(inner);
    }
    Ok(Transformed::new_transformed(
        LogicalPlan::Join(join),
        opened,
    ))
}

/// Columns of outer queries that a plan names, also in subqueries: but for those that are of the rows that such a subquery looks at.
fn free_columns(plan: &LogicalPlan) -> Result<Vec<Column>> {
    let mut free = vec![];
    plan.apply(|plan| {
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    Expr::OuterReferenceColumn(_, column) => free.push(column.clone()),
                    Expr::ScalarSubquery(subquery)
                    | Expr::Exists(Exists { subquery, .. })
                    | Expr::InSubquery(InSubquery { subquery, .. }) => {
                        let named = with_room(|| free_columns(&subquery.subquery))?.into_iter();
                        free.extend(named.filter(|column| {
                            let mut inputs = plan.inputs().into_iter();
                            inputs.all(|input| input.schema().field_from_column(column).is_err())
                        }));
                    }
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(free)
}

/// The join's own conditions.
fn conditions(join: &Join) -> impl Iterator<Item = Expr> + '_ {
    let on = join.on.iter().cloned();
    let on = on.map(|(left, right)| left.eq(right));
    on.chain(join.filter.clone())
}

/// Whether a relation is a subquery, under whatever names.
fn has_subquery(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply(|plan| {
        found |= matches!(plan, LogicalPlan::Subquery(_));
        Ok(match plan {
            LogicalPlan::SubqueryAlias(_) | LogicalPlan::Projection(_) => {
                TreeNodeRecursion::Continue
            }
            _ => TreeNodeRecursion::Stop,
        })
    })?;
    Ok(found)
}

/// The plans of subqueries in FROM in their place.
fn opened(plan: LogicalPlan) -> Result<LogicalPlan> {
    let opened = plan.transform_down(|plan| {
        Ok(match plan {
            LogicalPlan::Subquery(subquery) => {
                Transformed::yes(Arc::unwrap_or_clone(subquery.subquery))
            }
            LogicalPlan::SubqueryAlias(SubqueryAlias { .. }) | LogicalPlan::Projection(_) => {
                Transformed::no(plan)
            }
            plan => Transformed::new(plan, false, TreeNodeRecursion::Jump),
        })
    })?;
    Ok(opened.data)
}
