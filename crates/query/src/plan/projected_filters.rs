//! `ProjectedFilters`: DataFusion's rule that pushes projections down, which takes the columns that a filter's condition reads for those
//! that the filter gives, where that gives only some of them: of two columns with one name and place it took the other. It also computes
//! parts of a join's condition below the join, for which it takes a lambda that names columns of one side.
//!
//! What must hold: the rule meets no filter that has a projection within it, but those that it makes, and no join with a lambda.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::expressions::{Column, LambdaExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::joins::NestedLoopJoinExec;
use datafusion::physical_plan::projection::{
    ProjectionExec, ProjectionExpr, remove_unnecessary_projections,
};
use std::sync::Arc;

/// The rule, over plans whose filters have their projections above them.
#[derive(Debug)]
pub(super) struct ProjectedFilters(pub(super) Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for ProjectedFilters {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plain = plan.transform_up(|node| {
            let apart = node.downcast_ref::<FilterExec>().map(taken_apart);
            match apart.transpose()?.flatten() {
                Some(apart) => Ok(Transformed::yes(apart)),
                None => Ok(Transformed::no(node)),
            }
        })?;
        match has_lambda(&plain.data)? {
            // All else that the rule does.
            true => Ok(plain
                .data
                .transform_down(remove_unnecessary_projections)?
                .data),
            false => self.0.optimize(plain.data, options),
        }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Whether the condition of a join has a lambda.
fn has_lambda(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    plan.exists(|node| {
        let join = node.downcast_ref::<NestedLoopJoinExec>();
        let filter = join.and_then(NestedLoopJoinExec::filter);
        filter.map_or(Ok(false), |filter| {
            filter
                .expression()
                .exists(|expr| Ok(expr.is::<LambdaExpr>()))
        })
    })
}

/// The filter, and above it the projection that it has.
fn taken_apart(filter: &FilterExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(columns) = filter.projection() else {
        return Ok(None);
    };
    let schema = filter.input().schema();
    let shown = columns.iter().map(|at| {
        let name = schema.field(*at).name();
        ProjectionExpr {
            expr: Arc::new(Column::new(name, *at)),
            alias: name.clone(),
        }
    });
    let shown: Vec<ProjectionExpr> = shown.collect();
    let whole = FilterExecBuilder::from(filter).apply_projection(None)?;
    let whole = Arc::new(whole.build()?);
    Ok(Some(Arc::new(ProjectionExec::try_new(shown, whole)?)))
}
