//! Subqueries beside groups: columns of the query outside that are in no group there, and aggregates in a subquery without FROM whose arguments are columns of the query outside: `(SELECT sum(t.i)) FROM t` is the sum over that query's
//! rows, which is not there yet.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{Expr, LogicalPlan};
use hushdb_sql::{self as sql, Error, Result};

/// Refuses them.
///
/// # Errors
/// `Binder` for such a column, `Unsupported` for such an aggregate.
pub(super) fn refuse(plan: &LogicalPlan) -> Result<()> {
    let (mut found, mut ungrouped) = (false, None);
    plan.apply_with_subqueries(|node| {
        if ungrouped.is_none() {
            ungrouped = in_no_group(node)?;
        }
        if let LogicalPlan::Aggregate(aggregate) = node
            && is_of_nothing(&aggregate.input)
        {
            for expr in &aggregate.aggr_expr {
                found |= is_of_outer(expr)?;
            }
        }
        Ok(match found || ungrouped.is_some() {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    if let Some(name) = ungrouped {
        return Err(Error::binder(sql::in_no_group(&name)));
    }
    match found {
        true => Err(Error::unsupported(
            "an aggregate of a column of the outer query is not there yet: compute it in the outer query",
        )),
        false => Ok(()),
    }
}

/// A column that a subquery over groups names, of the rows that the groups are of.
fn in_no_group(node: &LogicalPlan) -> datafusion::common::Result<Option<String>> {
    let inputs = node.inputs();
    let [input] = inputs.as_slice() else {
        return Ok(None);
    };
    let Some(rows) = rows_of_groups(input) else {
        return Ok(None);
    };
    let mut found = None;
    for expr in node.expressions() {
        expr.apply(|part| {
            let (Expr::ScalarSubquery(subquery)
            | Expr::Exists(Exists { subquery, .. })
            | Expr::InSubquery(InSubquery { subquery, .. })) = part
            else {
                return Ok(TreeNodeRecursion::Continue);
            };
            found = subquery
                .outer_ref_columns
                .iter()
                .find_map(|outer| match outer {
                    Expr::OuterReferenceColumn(_, column)
                        if !input.schema().has_column(column)
                            && rows.schema().has_column(column) =>
                    {
                        Some(column.name.clone())
                    }
                    _ => None,
                });
            Ok(match found {
                Some(_) => TreeNodeRecursion::Stop,
                None => TreeNodeRecursion::Continue,
            })
        })?;
    }
    Ok(found)
}

/// What the groups are of that a part of a query is about.
fn rows_of_groups(plan: &LogicalPlan) -> Option<&LogicalPlan> {
    match plan {
        LogicalPlan::Aggregate(aggregate) => Some(&aggregate.input),
        LogicalPlan::Filter(filter) => rows_of_groups(&filter.input),
        LogicalPlan::Projection(projection) => rows_of_groups(&projection.input),
        LogicalPlan::Window(window) => rows_of_groups(&window.input),
        _ => None,
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
