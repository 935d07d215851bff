//! `InTurnExec`: very many partitions to as many as there are threads, each of which reads its own one after the other, so that a
//! query of ten thousand files has few of them open, and a few batches in memory.
//!
//! What must hold: partitions keep their order.

use crate::heed::heeding;
use crate::plan_node::{no_expressions, one_input};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, Statistics, internal_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::{StreamExt, TryStreamExt};
use std::fmt;
use std::sync::Arc;

/// Partitions that a union may have before some are read behind others.
const MOST: usize = 64;

/// The partitions of its input, in fewer.
#[derive(Debug)]
struct InTurnExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl InTurnExec {
    fn new(input: Arc<dyn ExecutionPlan>, partitions: usize) -> Self {
        let of_input = input.properties();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(partitions.max(1)),
            of_input.emission_type,
            of_input.boundedness,
        );
        Self {
            input,
            properties: Arc::new(properties),
        }
    }

    fn partitions(&self) -> usize {
        self.properties.output_partitioning().partition_count()
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self::new(input, self.partitions()))
    }
}

impl DisplayAs for InTurnExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InTurnExec: partitions={}", self.partitions())
    }
}

impl ExecutionPlan for InTurnExec {
    one_input!("InTurnExec");
    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let all = self.input.output_partitioning().partition_count();
        let begin = |partition: usize| {
            let begin = (all as u64).checked_mul(partition as u64);
            begin.map(|begin| (begin / self.partitions() as u64) as usize)
        };
        let next = begin(partition + 1);
        let (Some(from), Some(to)) = (begin(partition), next) else {
            return Err(internal_datafusion_err!("a plan has too many partitions"));
        };
        let input = Arc::clone(&self.input);
        let given = Arc::clone(&context);
        let streams = futures::stream::iter(from..to)
            .map(move |partition| input.execute(partition, Arc::clone(&given)));
        let rows = RecordBatchStreamAdapter::new(self.input.schema(), streams.try_flatten());
        Ok(heeding(Box::pin(rows), &context))
    }

    fn child_stats_requests(&self, _: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(None)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match (inputs, args.partition()) {
            ([all], None) => Ok(Arc::clone(all)),
            _ => Ok(Arc::new(Statistics::new_unknown(&self.schema()))),
        }
    }
}

/// Puts an [`InTurnExec`] over each union of very many partitions that are read and no more.
#[derive(Debug)]
pub(super) struct FewerReaders;

impl PhysicalOptimizerRule for FewerReaders {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let threads = options.execution.target_partitions;
        plan.transform_up(|node| {
            let partitions = node.output_partitioning().partition_count();
            if partitions <= MOST.max(threads) || !node.is::<UnionExec>() || !is_read_alone(&node) {
                return Ok(Transformed::no(node));
            }
            let fewer: Arc<dyn ExecutionPlan> = Arc::new(InTurnExec::new(node, threads));
            Ok(Transformed::yes(fewer))
        })
        .map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "fewer_readers"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether the partitions of a node have nothing to do with one another.
fn is_read_alone(node: &Arc<dyn ExecutionPlan>) -> bool {
    let children = node.children();
    let passes = node.is::<UnionExec>()
        || node.is::<InTurnExec>()
        || node.is::<ProjectionExec>()
        || node.is::<FilterExec>();
    children.is_empty() || passes && children.into_iter().all(is_read_alone)
}
