//! `SpillingSort`: a planned sort of all rows, by runs that spill.

use super::sorter::{Runs, Sorter};
use crate::heed::{heeding, heeding_work, interrupt_of, of_task};
use crate::memory::Claim;
use crate::plan_node::one_input;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, Statistics};
use datafusion::execution::memory_pool::{MemoryPool, UnboundedMemoryPool};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::common::spawn_buffered;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, SpillMetrics,
};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::sorts::streaming_merge::StreamingMergeBuilder;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    SpillManager,
};
use futures::{StreamExt, TryStreamExt};
use std::fmt;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Puts our sort in the place of each that gives all of its rows. A last rule: those before it look for sorts by their type.
#[derive(Debug)]
pub struct SpillingSorts;

impl PhysicalOptimizerRule for SpillingSorts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let spilling = plan.transform_up(|node| {
            if let Some(any_order) = without_columns(&node) {
                return Ok(Transformed::yes(any_order));
            }
            let sort = if let Some(sort) = node.downcast_ref::<SortExec>()
                && sort.fetch().is_none()
            {
                SpillingSort::new(sort.expr().clone(), Arc::clone(sort.input()))
            } else if let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>()
                && merge.fetch().is_none()
                && let Some(sort) = merge.input().downcast_ref::<SpillingSort>()
                && merge.expr() == &sort.order
            {
                sort.merging()
            } else {
                return Ok(Transformed::no(node));
            };
            Ok(Transformed::yes(Arc::new(sort) as Arc<dyn ExecutionPlan>))
        });
        Ok(spilling?.data)
    }

    fn name(&self) -> &str {
        "spilling_sorts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Rows without a column, sorted by `random()`, are so many in any order: what a sort or merge of them stands over.
fn without_columns(node: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    if !node.schema().fields().is_empty() || node.fetch().is_some() {
        return None;
    }
    if let Some(sort) = node.downcast_ref::<SortExec>() {
        return Some(Arc::clone(sort.input()));
    }
    let merge = node.downcast_ref::<SortPreservingMergeExec>()?;
    Some(Arc::new(CoalescePartitionsExec::new(Arc::clone(
        merge.input(),
    ))))
}

pub(in crate::memory) struct SpillingSort {
    order: LexOrdering,
    input: Arc<dyn ExecutionPlan>,
    /// Whether all partitions of the input become one.
    merges: bool,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SpillingSort {
    /// Sorts each partition of `input`.
    pub(in crate::memory) fn new(order: LexOrdering, input: Arc<dyn ExecutionPlan>) -> Self {
        let planned = SortExec::new(order.clone(), Arc::clone(&input));
        let planned = planned.with_preserve_partitioning(true);
        Self {
            order,
            input,
            merges: false,
            properties: Arc::clone(planned.properties()),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Sorts all partitions of the input as one.
    fn merging(&self) -> Self {
        let parts = Self::new(self.order.clone(), Arc::clone(&self.input));
        let order = parts.order.clone();
        let merge = SortPreservingMergeExec::new(order.clone(), Arc::new(parts));
        Self {
            order,
            input: Arc::clone(&self.input),
            merges: true,
            properties: Arc::clone(merge.properties()),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Reads and sorts one partition of the input.
    fn runs(
        &self,
        partition: usize,
        spills: SpillManager,
        metrics: &BaselineMetrics,
        context: &Arc<TaskContext>,
    ) -> Result<impl Future<Output = Result<Runs>> + Send + use<>> {
        let mut rows = self.input.execute(partition, Arc::clone(context))?;
        let compute = metrics.elapsed_compute().clone();
        let schema = self.schema();
        let mut sorter =
            Sorter::try_new(&self.order, &schema, partition, context, spills, compute)?;
        let work = async move {
            while let Some(batch) = rows.next().await {
                sorter.add(batch?)?;
            }
            drop(rows);
            sorter.finish()
        };
        Ok(heeding_work(work, interrupt_of(context)))
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let sort = Self::new(self.order.clone(), input);
        Arc::new(match self.merges {
            true => sort.merging(),
            false => sort,
        })
    }
}

/// One stream of what was sorted in parts.
fn merged(
    parts: Vec<Runs>,
    order: &LexOrdering,
    spills: SpillManager,
    metrics: &BaselineMetrics,
    context: &TaskContext,
) -> Result<SendableRecordBatchStream> {
    let schema = Arc::clone(spills.schema());
    let rows = parts.iter().map(|part| part.batch_rows).min();
    let rows = rows.unwrap_or_default().max(1);
    let mut files = vec![];
    let mut in_memory: Vec<SendableRecordBatchStream> = vec![];
    for part in parts {
        files.extend(part.files);
        in_memory.extend(part.in_memory.map(|run| {
            let batches = futures::stream::iter(run.into_batches(rows));
            Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&schema), batches)) as _
        }));
    }
    if files.is_empty() && in_memory.len() <= 1 {
        let none = || RecordBatchStreamAdapter::new(schema, futures::stream::empty());
        return Ok(in_memory.pop().unwrap_or_else(|| Box::pin(none())));
    }
    // Batches of runs in memory point into rows that are counted already.
    let uncounted: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
    let pool = match files.is_empty() {
        true => &uncounted,
        false => context.memory_pool(),
    };
    let in_memory = in_memory.into_iter().map(|run| spawn_buffered(run, 1));
    StreamingMergeBuilder::new()
        .with_streams(in_memory.collect())
        .with_sorted_spill_files(files)
        .with_spill_manager(spills)
        .with_schema(schema)
        .with_expressions(order)
        .with_metrics(metrics.intermediate())
        .with_batch_size(rows)
        .with_reservation(Claim::Merge.register("SortMerge", pool))
        .with_round_robin_tie_breaker(false)
        .build()
}

impl fmt::Debug for SpillingSort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpillingSort({})", self.order)
    }
}

impl DisplayAs for SpillingSort {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SortExec: expr=[{}]", self.order)
    }
}

impl ExecutionPlan for SpillingSort {
    one_input!("SortExec");

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let spilled = SpillMetrics::new(&self.metrics, partition);
        let spills = SpillManager::new(context.runtime_env(), spilled, self.schema());
        let partitions = match self.merges {
            true => 0..self.input.output_partitioning().partition_count(),
            false => partition..partition + 1,
        };
        let parts = partitions
            .map(|partition| self.runs(partition, spills.clone(), &metrics, &context))
            .collect::<Result<Vec<_>>>()?;
        let order = self.order.clone();
        let schema = self.schema();
        let heeds = Arc::clone(&context);
        let rows = async move {
            let mut sorted = vec![];
            let mut tasks = JoinSet::new();
            for (at, part) in parts.into_iter().enumerate() {
                tasks.spawn(async move { Ok::<_, DataFusionError>((at, part.await?)) });
            }
            while let Some(part) = tasks.join_next().await {
                sorted.push(part.map_err(|e| of_task(&e))??);
            }
            sorted.sort_by_key(|(at, _)| *at);
            let sorted = sorted.into_iter().map(|(_, runs)| runs).collect();
            let rows = merged(sorted, &order, spills, &metrics, &context)?;
            Ok::<_, DataFusionError>(rows.inspect_ok(move |batch| {
                metrics.record_output(batch.num_rows());
            }))
        };
        let rows = futures::stream::once(rows).try_flatten();
        let rows = RecordBatchStreamAdapter::new(schema, rows);
        Ok(heeding(Box::pin(rows), &heeds))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn partition_statistics(&self, _partition: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(Arc::new(Statistics::new_unknown(&self.schema())))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let mut recursion = TreeNodeRecursion::Continue;
        for by in &self.order {
            recursion = recursion.visit_sibling(|| f(&by.expr))?;
        }
        Ok(recursion)
    }
}
