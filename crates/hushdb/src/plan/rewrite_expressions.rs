//! `rewrite_expressions`: how our analyzer rules change the expressions of one plan node.
//!
//! What must hold: the node's output columns keep their names, since nodes above know them by these.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};

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
        let rewritten = expr.transform_up(|e| rewrite(e, &schema))?;
        Ok(rewritten.update_data(|e| name.restore(e)))
    })?;
    if plan.transformed {
        plan.map_data(LogicalPlan::recompute_schema)
    } else {
        Ok(plan)
    }
}
