//! `(SELECT ...)` as a value is NULL where the subquery has no row, also of a column that is never NULL, or becomes a constant. DataFusion
//! takes the value for as nullable as that column, and makes `(SELECT 1 FROM t) IS NULL` false.
//!
//! What must hold: it comes before all rules that ask whether an expression may be NULL.

use super::rewrite_expressions::{rewrite_expressions, rewrite_plan};
use crate::functions::or_null;
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Subquery};
use datafusion::optimizer::AnalyzerRule;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct NullableSubqueries;

impl AnalyzerRule for NullableSubqueries {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_plan(plan, |plan| {
            rewrite_expressions(plan, |expr, _| Ok(nullable(expr)))
        })
    }

    fn name(&self) -> &str {
        "nullable_subqueries"
    }
}

fn nullable(expr: Expr) -> Transformed<Expr> {
    match &expr {
        Expr::ScalarSubquery(Subquery { subquery, .. }) if !has_a_row(subquery) => {
            Transformed::yes(or_null(expr))
        }
        _ => Transformed::no(expr),
    }
}

/// Whether a plan has a row whatever tables hold.
fn has_a_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        LogicalPlan::Values(_) => true,
        LogicalPlan::Projection(Projection { input, .. }) => has_a_row(input),
        LogicalPlan::SubqueryAlias(alias) => has_a_row(&alias.input),
        _ => false,
    }
}
