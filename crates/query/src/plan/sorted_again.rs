//! `SortedAgain`: DataFusion's rule that looks whether all rows come as they must, which asks for the sorts again where they do not.
//!
//! A sort is left out where what is sorted by has one value for all rows: that of an aggregate without groups, or one that is written, in a
//! join. Rules that come later merge projections into that join or exchange its sides, and then it says no more that it is one.

use super::plain_rows::PlainRows;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DataFusionError, Result};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use hushdb_sql::Error;
use std::sync::Arc;

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// The rule that looks, and the one that sorts.
#[derive(Debug)]
pub(super) struct SortedAgain {
    pub(super) looks: Rule,
    pub(super) sorts: Option<Rule>,
}

impl PhysicalOptimizerRule for SortedAgain {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (self.looks.optimize(Arc::clone(&plan), options), &self.sorts) {
            (Err(_), Some(sorts)) => {
                let sorted = sorts.optimize(with_no_known_values(plan)?, options)?;
                // The rule's own words are the whole plan, with the values that the statement has.
                self.looks
                    .optimize(sorted, options)
                    .map_err(|_| not_in_order())
            }
            (looked, _) => looked,
        }
    }

    fn name(&self) -> &str {
        self.looks.name()
    }

    fn schema_check(&self) -> bool {
        self.looks.schema_check()
    }
}

fn not_in_order() -> DataFusionError {
    Error::unsupported(
        "the rows of this query cannot be brought into the order that it asks for: where it sorts by what has another value each time, such \
         as random(), name that in a subquery and sort by the name",
    )
    .into()
}

/// The plan where nothing is said of columns with one value: of the one row of an aggregate without groups, and of what is written.
fn with_no_known_values(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let unknown = plan.transform_up(|node| {
        let aggregate = node.downcast_ref::<AggregateExec>();
        let has_one_row =
            aggregate.is_some_and(|aggregate| aggregate.group_expr().expr().is_empty());
        match has_one_row || !node.equivalence_properties().constants().is_empty() {
            true => Ok(Transformed::yes(PlainRows::of(node))),
            false => Ok(Transformed::no(node)),
        }
    });
    unknown.map(|unknown| unknown.data)
}
