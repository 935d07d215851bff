//! `SpillingHashJoin`: runs a hash join as planned, and divides it when its build side does not fit.

use super::divided::{Divided, DividedJoin};
use super::gate::Gate;
use super::nested_loop::SpillingNestedLoop;
use super::promised_order::PromisedOrder;
use crate::heed::{heeding, heeding_filter};
use crate::memory::MemoryBudget;
use crate::plan_node::new_children_recomputed;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet, SpillMetrics};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt};
use std::fmt;
use std::sync::Arc;

/// Lets the joins of a plan spill. A last rule: those before it look for joins by their type.
#[derive(Debug)]
pub struct SpillingJoins;

impl PhysicalOptimizerRule for SpillingJoins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let spilling = plan.transform_up(|node| match node.downcast_ref::<HashJoinExec>() {
            Some(join) if can_be_divided(join) => {
                let join = SpillingHashJoin::try_new(join, 0)?;
                Ok(Transformed::yes(Arc::new(join) as Arc<dyn ExecutionPlan>))
            }
            _ => Ok(match SpillingNestedLoop::of(&node)? {
                Some(join) => Transformed::yes(Arc::new(join) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(node),
            }),
        });
        Ok(spilling?.data)
    }

    fn name(&self) -> &str {
        "spilling_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Not where rows of one partition would decide about those of others: one NULL on the other side of NOT IN decides about
/// every row.
fn can_be_divided(join: &HashJoinExec) -> bool {
    !join.null_aware
        || join.filter().is_none() && join.partition_mode() == &PartitionMode::CollectLeft
}

pub(super) struct SpillingHashJoin {
    /// The planned join over the gates.
    join: HashJoinExec,
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
    left_gate: Arc<Gate>,
    right_gate: Arc<Gate>,
    /// How often its rows were divided before.
    level: usize,
    divided: Arc<Divided>,
    metrics: ExecutionPlanMetricsSet,
}

impl SpillingHashJoin {
    pub(super) fn try_new(join: &HashJoinExec, level: usize) -> Result<Self> {
        let (left, right) = (Arc::clone(join.left()), Arc::clone(join.right()));
        let left_gate = Arc::new(Gate::keeping(Arc::clone(&left)));
        let right_gate = Gate::releasing(Arc::clone(&right), Arc::clone(&left_gate));
        let right_gate = Arc::new(right_gate);
        let gates: Vec<Arc<dyn ExecutionPlan>> = vec![left_gate.clone(), right_gate.clone()];
        Ok(Self {
            join: join
                .builder()
                .with_filter(join.filter().map(heeding_filter))
                .with_new_children(gates)?
                .build()?,
            left,
            right,
            left_gate,
            right_gate,
            level,
            divided: Arc::default(),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    fn shares_build_side(&self) -> bool {
        self.join.partition_mode() == &PartitionMode::CollectLeft
    }
}

impl fmt::Debug for SpillingHashJoin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpillingHashJoin({:?})", self.join.join_type())
    }
}

impl DisplayAs for SpillingHashJoin {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.join.fmt_as(t, f)
    }
}

impl ExecutionPlan for SpillingHashJoin {
    new_children_recomputed!();

    fn name(&self) -> &'static str {
        "HashJoinExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.join.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.left, &self.right]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let join = self.join.builder().with_new_children(children)?.build()?;
        Ok(Arc::new(Self::try_new(&join, self.level)?))
    }

    /// A recursive query runs its part again: the build side is another one then.
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let inputs = vec![Arc::clone(&self.left), Arc::clone(&self.right)];
        let join = self.join.builder().reset_state();
        let join = join.with_new_children(inputs)?.build()?;
        Ok(Arc::new(Self::try_new(&join, self.level)?))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let mut planned = self.join.execute(partition, Arc::clone(&context))?;
        let shared = self.shares_build_side();
        let template = self.join.builder().reset_state();
        let template = template.with_fetch(None).with_null_aware(false);
        let is_forced = self.level == 0
            && context
                .session_config()
                .get_extension::<MemoryBudget>()
                .is_some_and(|memory| memory.forces_spilling());
        let divided = DividedJoin {
            join: template.build()?,
            null_aware: self.join.null_aware,
            order: PromisedOrder::of(self.properties()),
            keeps_partitions: !matches!(
                self.properties().output_partitioning(),
                Partitioning::UnknownPartitioning(_)
            ),
            left_gate: Arc::clone(&self.left_gate),
            right_gate: Arc::clone(&self.right_gate),
            shared: shared.then(|| Arc::clone(&self.divided)),
            partition,
            level: self.level,
            metrics: SpillMetrics::new(&self.metrics, partition),
            context: Arc::clone(&context),
        };
        let fetch = self.join.fetch();
        let rows = async move {
            let first = if is_forced {
                None
            } else {
                planned.next().await
            };
            let is_too_large =
                |first: &Result<_, _>| first.as_ref().is_err_and(|e| divided.can_begin(e));
            if is_forced || first.as_ref().is_some_and(is_too_large) {
                drop(planned);
                let rows = divided.rows().await?;
                return Ok(first_rows(rows, fetch).boxed());
            }
            let first = futures::stream::iter(first);
            Ok::<_, DataFusionError>(first.chain(planned).boxed())
        };
        let rows = futures::stream::once(rows).try_flatten();
        let rows = RecordBatchStreamAdapter::new(self.schema(), rows);
        Ok(heeding(Box::pin(rows), &context))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let mut all = self.join.metrics()?;
        for metric in self.metrics.clone_inner().iter() {
            all.push(Arc::clone(metric));
        }
        Some(all)
    }

    fn fetch(&self) -> Option<usize> {
        self.join.fetch()
    }

    fn partition_statistics(&self, _partition: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(Arc::new(Statistics::new_unknown(&self.schema())))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.join.apply_expressions(f)
    }
}

/// The first rows of a stream, all without a number.
fn first_rows(
    rows: SendableRecordBatchStream,
    number: Option<usize>,
) -> impl futures::Stream<Item = Result<RecordBatch>> {
    let left = number.unwrap_or(usize::MAX);
    futures::stream::try_unfold((rows, left), |(mut rows, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        Ok(match rows.next().await.transpose()? {
            None => None,
            Some(batch) => {
                let batch = batch.slice(0, batch.num_rows().min(left));
                let left = left - batch.num_rows();
                Some((batch, (rows, left)))
            }
        })
    })
}
