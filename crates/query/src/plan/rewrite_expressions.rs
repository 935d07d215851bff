//! `rewrite_expressions`: how our analyzer rules change the expressions of one plan node.
//!
//! What must hold: the node's output columns keep their names, since nodes above know them by these.

use crate::heed;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};
use std::cell::Cell;

/// Rewrites a plan node by node, from the leaves up. Above a node that changed, schemas are made anew, since the types of its
/// columns may be others.
pub(super) fn rewrite_plan(
    plan: LogicalPlan,
    rewrite: impl Fn(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
) -> Result<LogicalPlan> {
    let changed = Cell::new(false);
    let rewritten = plan.transform_up_with_subqueries(|plan| {
        let plan = match changed.get() {
            true => plan.recompute_schema()?,
            false => plan,
        };
        let rewritten = rewrite(plan)?;
        changed.set(changed.get() || rewritten.transformed);
        Ok(rewritten)
    });
    rewritten.map(|rewritten| rewritten.data)
}

/// Rewrites every expression of `plan`, from the leaves up. `rewrite` also gets the columns that they may name.
pub(super) fn rewrite_expressions(
    plan: LogicalPlan,
    rewrite: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        schema.merge(&scan.projected_schema);
    }
    let names = NamePreserver::new(&plan);
    let plan = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let rewritten = expr.transform_up(|e| {
            heed::check()?;
            rewrite(e, &schema)
        })?;
        Ok(rewritten.update_data(|e| name.restore(e)))
    })?;
    if plan.transformed {
        plan.map_data(LogicalPlan::recompute_schema)
    } else {
        Ok(plan)
    }
}
