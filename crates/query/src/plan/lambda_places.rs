//! Variables of lambdas in physical plans: they stand behind the columns of a row. Where a projection becomes one with that below it, the row
//! has other columns, and the library leaves the variables where they were.
//!
//! What must hold: it comes behind all rules that join projections.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRewriter};
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{LambdaExpr, LambdaVariable};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use std::sync::Arc;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct LambdaPlaces;

impl PhysicalOptimizerRule for LambdaPlaces {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let placed = plan.transform_up(|node| match node.downcast_ref::<ProjectionExec>() {
            Some(projection) => {
                let placed = placed(projection)?;
                Ok(placed.map_or_else(|| Transformed::no(node), Transformed::yes))
            }
            None => Ok(Transformed::no(node)),
        })?;
        Ok(placed.data)
    }

    fn name(&self) -> &str {
        "lambda_places"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn placed(projection: &ProjectionExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let columns = projection.input().schema().fields().len();
    let mut changed = false;
    let exprs = projection.expr().iter().map(|item| {
        let mut places = Places {
            columns,
            scopes: vec![],
        };
        let placed = Arc::clone(&item.expr).rewrite(&mut places)?;
        changed |= placed.transformed;
        Ok(ProjectionExpr {
            expr: placed.data,
            alias: item.alias.clone(),
        })
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    if !changed {
        return Ok(None);
    }
    let placed = ProjectionExec::try_new(exprs, Arc::clone(projection.input()))?;
    Ok(Some(Arc::new(placed)))
}

struct Places {
    columns: usize,
    /// The parameters of the lambdas around, from the outermost on.
    scopes: Vec<Vec<String>>,
}

impl Places {
    fn of(&self, variable: &str) -> Option<usize> {
        let mut end: usize = self.columns + self.scopes.iter().map(Vec::len).sum::<usize>();
        for scope in self.scopes.iter().rev() {
            end -= scope.len();
            if let Some(at) = scope.iter().position(|parameter| parameter == variable) {
                return Some(end + at);
            }
        }
        None
    }
}

impl TreeNodeRewriter for Places {
    type Node = Arc<dyn PhysicalExpr>;

    fn f_down(&mut self, node: Self::Node) -> Result<Transformed<Self::Node>> {
        if let Some(lambda) = node.downcast_ref::<LambdaExpr>() {
            self.scopes.push(lambda.params().to_vec());
        }
        let Some(variable) = node.downcast_ref::<LambdaVariable>() else {
            return Ok(Transformed::no(node));
        };
        match self.of(variable.name()) {
            Some(place) if place != variable.index() => {
                let moved = LambdaVariable::new(place, Arc::clone(variable.field()));
                Ok(Transformed::yes(Arc::new(moved)))
            }
            _ => Ok(Transformed::no(node)),
        }
    }

    fn f_up(&mut self, node: Self::Node) -> Result<Transformed<Self::Node>> {
        if node.is::<LambdaExpr>() {
            self.scopes.pop();
        }
        Ok(Transformed::no(node))
    }
}
