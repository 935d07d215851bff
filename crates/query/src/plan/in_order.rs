//! `InOrderExec`: many partitions to one, in partition order, so that rows come out in insertion order.
//!
//! Partitions run at once; each may be a few batches ahead of the reader.

use super::wanted_order::sees_order;
use crate::heed::{heeding, of_task};
use crate::plan_node::{no_expressions, one_input};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::Partitioning;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    PlanProperties, ReplaceChildrenOptions,
};
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Batches that a partition may be ahead.
const AHEAD: usize = 4;

/// One partition of all, each of which begins where the one before it ends.
#[derive(Debug)]
pub struct InOrderExec {
    input: Arc<dyn ExecutionPlan>,
    fetch: Option<usize>,
    properties: Arc<PlanProperties>,
}

impl InOrderExec {
    fn new(input: Arc<dyn ExecutionPlan>, fetch: Option<usize>) -> Self {
        let properties = input
            .properties()
            .as_ref()
            .clone()
            .with_partitioning(Partitioning::UnknownPartitioning(1));
        Self {
            input,
            fetch,
            properties: Arc::new(properties),
        }
    }

    /// Puts the node on top, so that the engine's threads do the work, and whoever reads waits and can stop waiting.
    pub fn aside(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self::new(input, None))
    }

    /// Puts the node on top when there is more than one partition.
    pub fn over(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        if input.output_partitioning().partition_count() > 1 {
            Arc::new(Self::new(input, None))
        } else {
            input
        }
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self::new(input, self.fetch))
    }
}

impl DisplayAs for InOrderExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InOrderExec")?;
        if let Some(fetch) = self.fetch {
            write!(f, ": fetch={fetch}")?;
        }
        Ok(())
    }
}

impl ExecutionPlan for InOrderExec {
    one_input!("InOrderExec");
    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("InOrderExec has one partition");
        }
        let partitions = self.input.output_partitioning().partition_count();
        let mut tasks = JoinSet::new();
        let mut receivers = Vec::with_capacity(partitions);
        for partition in 0..partitions {
            let stream = self.input.execute(partition, Arc::clone(&context))?;
            let mut stream = heeding(stream, &context);
            let (sender, receiver) = tokio::sync::mpsc::channel::<Result<RecordBatch>>(AHEAD);
            tasks.spawn(async move {
                while let Some(batch) = stream.next().await {
                    let failed = batch.is_err();
                    if sender.send(batch).await.is_err() || failed {
                        break;
                    }
                }
            });
            receivers.push(receiver);
        }
        receivers.reverse();
        let state = (receivers, tasks, self.fetch.unwrap_or(usize::MAX));
        let stream =
            futures::stream::unfold(state, |(mut receivers, mut tasks, left)| async move {
                if left == 0 {
                    return None;
                }
                while let Some(receiver) = receivers.last_mut() {
                    match receiver.recv().await {
                        Some(Ok(batch)) => {
                            let rows = batch.num_rows().min(left);
                            return Some((
                                Ok(batch.slice(0, rows)),
                                (receivers, tasks, left - rows),
                            ));
                        }
                        Some(Err(error)) => return Some((Err(error), (vec![], tasks, 0))),
                        None => drop(receivers.pop()),
                    }
                }
                // All senders are gone: a panic in a partition must not pass for its end.
                while let Some(joined) = tasks.join_next().await {
                    if let Err(error) = joined {
                        let failed = of_task(&error).into();
                        return Some((Err(failed), (vec![], tasks, 0)));
                    }
                }
                None
            });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.input.schema(),
            stream,
        )))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }
}

/// Makes LIMIT without ORDER BY take the first rows, and windows without ORDER BY and aggregates such as `list` see all rows, in insertion
/// order, as DuckDB does. Of groups this is so where one thread has read them all.
#[derive(Debug)]
pub(crate) struct InsertionOrder;

impl PhysicalOptimizerRule for InsertionOrder {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| {
            if let Some(coalesce) = node.downcast_ref::<CoalescePartitionsExec>()
                && coalesce.fetch().is_some()
            {
                let input = Arc::clone(coalesce.input());
                return Ok(Transformed::yes(Arc::new(InOrderExec::new(
                    input,
                    coalesce.fetch(),
                ))));
            }
            if let Some(limit) = node.downcast_ref::<GlobalLimitExec>()
                && let Some(coalesce) = limit.input().downcast_ref::<CoalescePartitionsExec>()
            {
                let input: Arc<dyn ExecutionPlan> = Arc::new(InOrderExec::new(
                    Arc::clone(coalesce.input()),
                    coalesce.fetch(),
                ));
                let limit = GlobalLimitExec::new(input, limit.skip(), limit.fetch());
                return Ok(Transformed::yes(Arc::new(limit) as Arc<dyn ExecutionPlan>));
            }
            if sees_order(&node)
                && let [input] = node.children().as_slice()
                && let Some(coalesce) = input.downcast_ref::<CoalescePartitionsExec>()
                && coalesce.fetch().is_none()
            {
                let input = InOrderExec::over(Arc::clone(coalesce.input()));
                let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
                let node = Arc::clone(&node).replace_children(vec![input], options)?;
                return Ok(Transformed::yes(node));
            }
            Ok(Transformed::no(node))
        })
        .map(|t| t.data)
    }

    fn name(&self) -> &str {
        "insertion_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
