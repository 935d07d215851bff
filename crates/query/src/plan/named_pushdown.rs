//! Filters that physical plans push down, and only past nodes whose columns have different names: DataFusion finds a column that
//! it pushes by name, and of two tables' columns of one name takes the first.
//!
//! What must hold: below a node with two columns of one name comes no filter of a node above it, whether it is known when the
//! plan is made or filled in by joins and sorts later.

use crate::plan_node::{no_expressions, no_input};
use datafusion::arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions,
};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// One of DataFusion's rules, for each part of a plan by itself.
#[derive(Debug)]
pub(super) struct NamedPushdown(pub(super) Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for NamedPushdown {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let parted = plan.transform_down(|node| {
            let part = |child: &Arc<dyn ExecutionPlan>| match is_ambiguous(&child.schema()) {
                true => Arc::new(Part(Arc::clone(child))) as Arc<dyn ExecutionPlan>,
                false => Arc::clone(child),
            };
            let children = node.children();
            if !children.iter().any(|child| is_ambiguous(&child.schema())) {
                return Ok(Transformed::no(node));
            }
            let children = children.into_iter().map(part).collect();
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            node.replace_children(children, options)
                .map(Transformed::yes)
        })?;
        let plan = self.0.optimize(parted.data, options)?;
        if !parted.transformed {
            return Ok(plan);
        }
        let whole = plan.transform_down(|node| match node.downcast_ref::<Part>() {
            None => Ok(Transformed::no(node)),
            Some(part) => {
                let plan = self.optimize(Arc::clone(&part.0), options)?;
                Ok(Transformed::new(plan, true, TreeNodeRecursion::Jump))
            }
        })?;
        Ok(whole.data)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn is_ambiguous(schema: &Schema) -> bool {
    let mut names = HashSet::new();
    let mut fields = schema.fields().iter();
    !fields.all(|field| names.insert(field.name()))
}

/// A part that is left out for now: a leaf, past which nothing is pushed.
#[derive(Debug)]
struct Part(Arc<dyn ExecutionPlan>);

impl DisplayAs for Part {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Part")
    }
}

impl ExecutionPlan for Part {
    no_input!("Part");
    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        self.0.properties()
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("a part of a plan was not put back")
    }
}
