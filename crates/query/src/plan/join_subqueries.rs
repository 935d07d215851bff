//! Subqueries in conditions of joins: `a JOIN b ON EXISTS (SELECT ... WHERE c.x = b.x)`. DataFusion makes joins of subqueries for filters and
//! projections, so they are brought there.
//!
//! What must hold: the rows are the same. Of an inner join such a condition is a filter above it. Of another kind it says which rows match
//! and not which are kept: where it reads one side alone, its value is a column of that side.

use super::flat_plans::all_of;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DataFusionError, JoinType, NullEquality, Result};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{
    BinaryExpr, Expr, Filter, Join, LogicalPlan, LogicalPlanBuilder, Operator, Subquery,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct JoinSubqueries;

impl AnalyzerRule for JoinSubqueries {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(rewrite).map(|t| t.data)
    }

    fn name(&self) -> &'static str {
        "join_subqueries"
    }
}

fn rewrite(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(join) = plan else {
        return Ok(Transformed::no(plan));
    };
    let asks = |expr: &Expr| expr.exists(|expr| Ok(subquery_of(expr).is_some()));
    let mut asking = vec![];
    let mut on = vec![];
    for (left, right) in &join.on {
        match asks(left)? || asks(right)? {
            true => asking.push(equal(left.clone(), right.clone(), join.null_equality)),
            false => on.push((left.clone(), right.clone())),
        }
    }
    let mut others = vec![];
    for condition in join
        .filter
        .clone()
        .into_iter()
        .flat_map(split_conjunction_owned)
    {
        match asks(&condition)? {
            true => asking.push(condition),
            false => others.push(condition),
        }
    }
    if asking.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let plan = match join.join_type {
        JoinType::Inner => {
            let joined = LogicalPlan::Join(joined(&join, on, others)?);
            let predicate = all_of(asking).unwrap_or_default();
            LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(joined))?)
        }
        _ => with_values(join, on, others, asking)?,
    };
    Ok(Transformed::yes(plan))
}

/// The plan that a subquery asks, and the columns of the query around it that it names.
pub(super) fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery)
        | Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. }) => Some(subquery),
        _ => None,
    }
}

fn equal(left: Expr, right: Expr, nulls: NullEquality) -> Expr {
    let operator = match nulls {
        NullEquality::NullEqualsNothing => Operator::Eq,
        NullEquality::NullEqualsNull => Operator::IsNotDistinctFrom,
    };
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right)))
}

/// A join with other conditions.
fn joined(join: &Join, on: Vec<(Expr, Expr)>, filters: Vec<Expr>) -> Result<Join> {
    Join::try_new(
        Arc::clone(&join.left),
        Arc::clone(&join.right),
        on,
        all_of(filters),
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )
}

/// A join whose subqueries are columns of the side that they read.
fn with_values(
    mut join: Join,
    on: Vec<(Expr, Expr)>,
    mut others: Vec<Expr>,
    asking: Vec<Expr>,
) -> Result<LogicalPlan> {
    let columns = join.schema.columns();
    let (mut left, mut right) = (vec![], vec![]);
    for (i, condition) in asking.into_iter().enumerate() {
        let read = columns_read(&condition)?;
        let side = if read
            .iter()
            .all(|column| !join.right.schema().has_column(column))
        {
            &mut left
        } else if read
            .iter()
            .all(|column| !join.left.schema().has_column(column))
        {
            &mut right
        } else {
            return Err(DataFusionError::NotImplemented(format!(
                "a subquery in the ON of a {} JOIN that reads both sides: compute it in a subquery of one side, or in WHERE",
                join.join_type.to_string().to_uppercase()
            )));
        };
        let name = format!("$on{i}");
        others.push(Expr::Column(Column::new_unqualified(&name)));
        side.push(condition.alias(name));
    }
    join.left = with_columns(join.left, left)?;
    join.right = with_columns(join.right, right)?;
    let joined = LogicalPlan::Join(joined(&join, on, others)?);
    let columns = columns.into_iter().map(Expr::Column);
    LogicalPlanBuilder::from(joined).project(columns)?.build()
}

/// A plan with more columns.
fn with_columns(plan: Arc<LogicalPlan>, more: Vec<Expr>) -> Result<Arc<LogicalPlan>> {
    if more.is_empty() {
        return Ok(plan);
    }
    let columns = plan.schema().columns().into_iter().map(Expr::Column);
    let exprs: Vec<Expr> = columns.chain(more).collect();
    let plan = LogicalPlanBuilder::from(Arc::unwrap_or_clone(plan));
    plan.project(exprs)?.build().map(Arc::new)
}

/// The columns that a condition and its subqueries name of the query around them.
fn columns_read(condition: &Expr) -> Result<Vec<Column>> {
    let mut read = vec![];
    condition.apply(|expr| {
        if let Expr::Column(column) = expr {
            read.push(column.clone());
        }
        for outer in subquery_of(expr)
            .into_iter()
            .flat_map(|s| &s.outer_ref_columns)
        {
            if let Expr::OuterReferenceColumn(_, column) = outer {
                read.push(column.clone());
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(read)
}
