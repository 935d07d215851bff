//! `LargeLimits`: ORDER BY with a LIMIT so large that the rows it wants would fill memory.
//!
//! A heap of the first rows cannot spill, a sort of all rows can.

use super::MemoryBudget;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// The share of the limit that a heap may take by estimate.
const SHARE: usize = 8;
/// What a row takes in a heap beside its values.
const HEAP_ROW_BYTES: usize = 64;
/// What a value takes that may be of any length.
const TEXT_BYTES: usize = 64;

/// A physical rule.
#[derive(Debug)]
pub struct LargeLimits(pub Arc<MemoryBudget>);

impl PhysicalOptimizerRule for LargeLimits {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let most = self.0.limit() / SHARE;
        let sorted = plan.transform_up(|node| {
            let sort = node.downcast_ref::<SortExec>();
            let Some((sort, fetch)) = sort.and_then(|sort| Some((sort, sort.fetch()?))) else {
                return Ok(Transformed::no(node));
            };
            let partitions = node.output_partitioning().partition_count();
            let heaps = fetch.saturating_mul(row_bytes(&node.schema()));
            if heaps.saturating_mul(partitions) <= most {
                return Ok(Transformed::no(node));
            }
            let all = Arc::new(sort.with_fetch(None));
            let first: Arc<dyn ExecutionPlan> = Arc::new(LocalLimitExec::new(all, fetch));
            Ok(Transformed::yes(first))
        });
        Ok(sorted?.data)
    }

    fn name(&self) -> &str {
        "large_limits"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn row_bytes(schema: &Schema) -> usize {
    let value = |ty: &DataType| ty.primitive_width().unwrap_or(TEXT_BYTES);
    let values = schema.fields().iter().map(|field| value(field.data_type()));
    values.sum::<usize>() + HEAP_ROW_BYTES
}
