//! `WantedOrder`: keeps the ORDER BY of a query within another where its order is seen: by windows, by aggregates such as `list` and
//! `first`, by LIMIT, by a UNION ALL, and by whoever reads the rows.
//!
//! What must hold: the library drops a sort where the operators above it do without an order. It does not know that numbers of rows
//! follow it, so that under a join or a group these would number rows as they are stored.

use crate::memory::over;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr::{Distribution, LexOrdering, OrderingRequirements, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan,
    InputDistributionRequirements, PlanProperties, ReplaceChildrenOptions, StatisticsArgs,
};
use hushdb_sql::stack::with_room;
use hushdb_sql::{POSTGRES_AVG, POSTGRES_SUM};
use std::fmt;
use std::sync::Arc;

/// Aggregates whose value does not depend on the order of rows.
const OF_ANY_ORDER: [&str; 30] = [
    POSTGRES_SUM,
    POSTGRES_AVG,
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "$min",
    "$max",
    "bool_and",
    "bool_or",
    "bit_and",
    "bit_or",
    "bit_xor",
    "stddev",
    "stddev_pop",
    "var",
    "var_pop",
    "corr",
    "covar_samp",
    "covar_pop",
    "regr_slope",
    "regr_intercept",
    "regr_count",
    "regr_r2",
    "regr_avgx",
    "regr_avgy",
    "regr_sxx",
    "regr_syy",
    "regr_sxy",
];

/// Whether an aggregate of that name has another value where its rows come in another order.
pub(super) fn depends_on_order(name: &str) -> bool {
    !OF_ANY_ORDER.contains(&name)
}

/// Puts a [`KeptOrder`] over each sort whose order is seen. A first rule: those after it drop sorts.
#[derive(Debug)]
pub(super) struct WantedOrder;

impl PhysicalOptimizerRule for WantedOrder {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(kept(&plan, true)?.unwrap_or(plan))
    }

    fn name(&self) -> &str {
        "wanted_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Takes the ORDER BY of a LATERAL query away, of which the library makes a join that knows none.
#[derive(Debug)]
pub(super) struct LateralOrder;

impl AnalyzerRule for LateralOrder {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let unsorted = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Subquery(mut subquery) => {
                let plan = subquery.subquery.as_ref().clone();
                let plan = plan.transform_down(|plan| {
                    Ok(match plan {
                        LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
                            Transformed::yes(Arc::unwrap_or_clone(sort.input))
                        }
                        plan @ (LogicalPlan::Projection(_)
                        | LogicalPlan::Filter(_)
                        | LogicalPlan::SubqueryAlias(_)) => Transformed::no(plan),
                        plan => Transformed::new(plan, false, TreeNodeRecursion::Stop),
                    })
                })?;
                subquery.subquery = Arc::new(plan.data);
                let plan_again = LogicalPlan::Subquery(subquery);
                Ok(Transformed::new(
                    plan_again,
                    plan.transformed,
                    TreeNodeRecursion::Continue,
                ))
            }
            other => Ok(Transformed::no(other)),
        });
        Ok(unsorted?.data)
    }

    fn name(&self) -> &str {
        "lateral_order"
    }
}

/// Takes the nodes away again when sorts are dropped no more.
#[derive(Debug)]
pub(super) struct KeptOrders;

impl PhysicalOptimizerRule for KeptOrders {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = plan.transform_up(|node| {
            Ok(match node.downcast_ref::<KeptOrder>() {
                Some(kept) => Transformed::yes(Arc::clone(&kept.input)),
                None => Transformed::no(node),
            })
        });
        Ok(plan?.data)
    }

    fn name(&self) -> &str {
        "kept_orders"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan with its sorts kept, where the order of its rows is seen, or by nodes of it; nothing where it stays as it is.
fn kept(plan: &Arc<dyn ExecutionPlan>, is_seen: bool) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let below = sees_order(plan) || is_seen && hands_on_order(plan);
    let children = plan.children().into_iter();
    let changed = children
        .clone()
        .map(|child| with_room(|| kept(child, below)));
    let changed = changed.collect::<Result<Vec<_>>>()?;
    let changed = match changed.iter().any(Option::is_some) {
        false => None,
        true => {
            let children = changed.into_iter().zip(children);
            let children = children.map(|(new, old)| new.unwrap_or_else(|| Arc::clone(old)));
            Some(over(plan, children.collect())?)
        }
    };
    let Some(sort) = plan.downcast_ref::<SortExec>().filter(|_| is_seen) else {
        return Ok(changed);
    };
    let order = sort.expr().clone();
    let sorted = changed.unwrap_or_else(|| Arc::clone(plan));
    Ok(Some(Arc::new(KeptOrder::new(sorted, order))))
}

/// Whether what a node makes depends on the order of its rows: also of those that its own order takes for equal.
pub(super) fn sees_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if plan.is::<WindowAggExec>() || plan.is::<BoundedWindowAggExec>() {
        return true;
    }
    plan.downcast_ref::<AggregateExec>().is_some_and(|groups| {
        let mut calls = groups.aggr_expr().iter();
        calls.any(|call| !OF_ANY_ORDER.contains(&call.fun().name()))
    })
}

/// Whether the rows of a node come as those of its inputs do.
fn hands_on_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<ProjectionExec>()
        || plan.is::<FilterExec>()
        || plan.is::<GlobalLimitExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<UnionExec>()
        || plan.is::<WindowAggExec>()
        || plan.is::<BoundedWindowAggExec>()
}

/// Gives the rows of its input, and asks for their order.
#[derive(Debug)]
struct KeptOrder {
    input: Arc<dyn ExecutionPlan>,
    order: LexOrdering,
}

impl KeptOrder {
    fn new(input: Arc<dyn ExecutionPlan>, order: LexOrdering) -> Self {
        Self { input, order }
    }
}

impl DisplayAs for KeptOrder {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptOrder: {}", self.order)
    }
}

impl ExecutionPlan for KeptOrder {
    fn name(&self) -> &'static str {
        "KeptOrder"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![Some(OrderingRequirements::from(self.order.clone()))]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let order = self.order.clone();
        Ok(Arc::new(Self::new(children.swap_remove(0), order)))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(match inputs {
            [all] => Arc::clone(all),
            _ => Arc::new(Statistics::new_unknown(&self.schema())),
        })
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
}
