//! Aggregates in a subquery without FROM whose arguments are columns of the query outside: `(SELECT sum(t.i)) FROM t` is the sum over that query's
//! rows, which is not there yet.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};
use hushdb_sql::{Error, Result};

/// Refuses them.
///
/// # Errors
/// `Unsupported` when there is one.
pub(super) fn refuse(plan: &LogicalPlan) -> Result<()> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Aggregate(aggregate) = node
            && is_of_nothing(&aggregate.input)
        {
            for expr in &aggregate.aggr_expr {
                found |= is_of_outer(expr)?;
            }
        }
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    match found {
        true => Err(Error::unsupported(
            "an aggregate of a column of the outer query is not there yet: compute it in the outer query",
        )),
        false => Ok(()),
    }
}

/// Whether a query has no FROM.
fn is_of_nothing(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::EmptyRelation(_) => true,
        LogicalPlan::Filter(filter) => is_of_nothing(&filter.input),
        _ => false,
    }
}

/// Whether an aggregate has columns, all of them of the outer query.
fn is_of_outer(expr: &Expr) -> datafusion::common::Result<bool> {
    let (mut outer, mut own) = (false, false);
    expr.apply(|part| {
        outer |= matches!(part, Expr::OuterReferenceColumn(..));
        own |= matches!(part, Expr::Column(_));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(outer && !own)
}
