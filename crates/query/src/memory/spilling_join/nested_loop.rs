//! `SpillingNestedLoop`: runs a join without keys as planned, and in parts of its left side when that does not fit.
//!
//! What must hold: where rows of the left side come out because nothing matched them, one partition alone looks at all of the
//! right side. The library's own way for a left side that does not fit does not keep to that, and runs the left input again,
//! which inputs that deal out rows cannot bear; so it gets one partition, and a left side that is in a file.

use super::gate::Gate;
use super::promised_order::PromisedOrder;
use super::scatter::{Division, Scattered, Spilled};
use super::spilled::spilled;
use crate::heed::{heeding, heeding_filter};
use crate::memory::over;
use crate::memory::rows::RowsExec;
use crate::plan_node::new_children_recomputed;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, JoinType, Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::joins::{
    CrossJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet, SpillMetrics};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use tokio::sync::OnceCell;

pub(super) struct SpillingNestedLoop {
    /// The planned join over the gates.
    planned: Arc<dyn ExecutionPlan>,
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
    left_gate: Arc<Gate>,
    right_gate: Arc<Gate>,
    shared: Arc<Shared>,
    metrics: ExecutionPlanMetricsSet,
}

/// What the partitions know of each other when the left side did not fit.
#[derive(Default)]
struct Shared {
    left: OnceCell<Scattered>,
    /// The right sides of partitions that leave their work to the last one.
    right: Mutex<Vec<SendableRecordBatchStream>>,
}

impl SpillingNestedLoop {
    /// `None` if the plan is no such join.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let is_one = plan.downcast_ref::<NestedLoopJoinExec>().is_some()
            || plan.downcast_ref::<CrossJoinExec>().is_some();
        let children = plan.children();
        let (true, [left, right]) = (is_one, children.as_slice()) else {
            return Ok(None);
        };
        let (left, right) = (Arc::clone(left), Arc::clone(right));
        let left_gate = Arc::new(Gate::keeping(Arc::clone(&left)));
        let right_gate = Gate::releasing(Arc::clone(&right), Arc::clone(&left_gate));
        let right_gate = Arc::new(right_gate);
        let gates: Vec<Arc<dyn ExecutionPlan>> = vec![left_gate.clone(), right_gate.clone()];
        Ok(Some(Self {
            planned: over(&with_heeding_filter(plan)?, gates)?,
            left,
            right,
            left_gate,
            right_gate,
            shared: Arc::default(),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn with_inputs(&self, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let planned = Arc::clone(&self.planned).reset_state()?;
        let join = over(&planned, children)?;
        Ok(match Self::of(&join)? {
            Some(join) => Arc::new(join),
            None => join,
        })
    }
}

/// The join as it is planned, which sees during a long batch that nobody waits for it.
fn with_heeding_filter(plan: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() else {
        return Ok(Arc::clone(plan));
    };
    let (left, right) = (Arc::clone(join.left()), Arc::clone(join.right()));
    let heeding = NestedLoopJoinExecBuilder::new(left, right, *join.join_type())
        .with_projection_ref(join.projection().clone())
        .with_filter(join.filter().map(heeding_filter))
        .build()?;
    Ok(Arc::new(heeding))
}

impl fmt::Debug for SpillingNestedLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpillingNestedLoop({})", self.planned.name())
    }
}

impl DisplayAs for SpillingNestedLoop {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.planned.fmt_as(t, f)
    }
}

impl ExecutionPlan for SpillingNestedLoop {
    new_children_recomputed!();

    fn name(&self) -> &str {
        self.planned.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.planned.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.left, &self.right]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.with_inputs(children)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        self.with_inputs(vec![Arc::clone(&self.left), Arc::clone(&self.right)])
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let mut planned = self.planned.execute(partition, Arc::clone(&context))?;
        let parts = InParts {
            join: Arc::clone(&self.planned).reset_state()?,
            order: PromisedOrder::of(self.properties()),
            left_gate: Arc::clone(&self.left_gate),
            right_gate: Arc::clone(&self.right_gate),
            shared: Arc::clone(&self.shared),
            partition,
            metrics: SpillMetrics::new(&self.metrics, partition),
            context: Arc::clone(&context),
        };
        let rows = async move {
            let first = planned.next().await;
            if let Some(Err(error)) = &first
                && parts.can_begin(error)
            {
                drop(planned);
                return parts.rows().await;
            }
            let rows = futures::stream::iter(first).chain(planned);
            let schema = parts.join.schema();
            Ok::<SendableRecordBatchStream, DataFusionError>(Box::pin(
                RecordBatchStreamAdapter::new(schema, rows),
            ))
        };
        let rows = futures::stream::once(rows).try_flatten();
        let rows = RecordBatchStreamAdapter::new(self.schema(), rows);
        Ok(heeding(Box::pin(rows), &context))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let mut all = self.planned.metrics()?;
        for metric in self.metrics.clone_inner().iter() {
            all.push(Arc::clone(metric));
        }
        Some(all)
    }

    fn partition_statistics(&self, _partition: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(Arc::new(Statistics::new_unknown(&self.schema())))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.planned.apply_expressions(f)
    }
}

/// One partition of a join whose left side did not fit.
struct InParts {
    join: Arc<dyn ExecutionPlan>,
    order: PromisedOrder,
    left_gate: Arc<Gate>,
    right_gate: Arc<Gate>,
    shared: Arc<Shared>,
    partition: usize,
    metrics: SpillMetrics,
    context: Arc<TaskContext>,
}

impl InParts {
    fn can_begin(&self, error: &DataFusionError) -> bool {
        matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
            && !self.left_gate.failed(0)
            && !self.right_gate.was_read(self.partition)
    }

    async fn rows(self) -> Result<SendableRecordBatchStream> {
        let left = self
            .shared
            .left
            .get_or_try_init(|| self.spill_left())
            .await?;
        let left: Vec<Spilled> = left.files.iter().flatten().cloned().collect();
        let left = spilled(self.left_gate.schema(), left, &self.context);
        let mut right = self.take_right();
        if self.needs_all_of_right() {
            let mut all = self.shared.right.lock();
            all.push(right);
            if all.len() < self.right_gate.partitions() {
                let none = futures::stream::empty();
                return Ok(Box::pin(RecordBatchStreamAdapter::new(
                    self.join.schema(),
                    none,
                )));
            }
            let all = futures::stream::select_all(std::mem::take(&mut *all));
            right = Box::pin(RecordBatchStreamAdapter::new(self.right_gate.schema(), all));
        }
        let children: [Arc<dyn ExecutionPlan>; 2] =
            [Arc::new(left), Arc::new(RowsExec::once(right))];
        let [left, right] = children;
        let join = match self.join.downcast_ref::<NestedLoopJoinExec>() {
            Some(_) => over(&self.join, vec![left, right])?,
            // Which can do without a condition.
            None => Arc::new(NestedLoopJoinExec::try_new(
                left,
                right,
                None,
                &JoinType::Inner,
                None,
            )?),
        };
        let rows = join.execute(0, Arc::clone(&self.context))?;
        self.order.restore(rows, self.context)
    }

    /// What came out of the right side's gate is nothing yet.
    fn take_right(&self) -> SendableRecordBatchStream {
        let schema = self.right_gate.schema();
        match self.right_gate.take_back(self.partition).1 {
            Some(rows) => rows,
            None => Box::pin(RecordBatchStreamAdapter::new(
                schema,
                futures::stream::empty(),
            )),
        }
    }

    /// Whether a row of the left side may come out because nothing at all matched it, or once however much did.
    fn needs_all_of_right(&self) -> bool {
        let join = self.join.downcast_ref::<NestedLoopJoinExec>();
        join.is_some_and(|join| {
            matches!(
                join.join_type(),
                JoinType::Left
                    | JoinType::Full
                    | JoinType::LeftSemi
                    | JoinType::LeftAnti
                    | JoinType::LeftMark
            )
        })
    }

    async fn spill_left(&self) -> Result<Scattered> {
        let division = Division {
            schema: &self.left_gate.schema(),
            keys: &[],
            level: 0,
            nulls_apart: false,
            context: &self.context,
            metrics: &self.metrics,
        };
        division.scatter(self.left_gate.take_back(0)).await
    }
}
