//! `AccountedWindow`: a planned window operator, run so that its memory is reserved.

use super::partitions::{Partitions, Planned};
use crate::heed::heeding;
use crate::plan_node::new_children_recomputed;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, SpillMetrics,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;

/// Puts every window operator of a plan under the memory limit. A last rule: those before it look for windows by their type.
#[derive(Debug)]
pub struct AccountedWindows;

impl PhysicalOptimizerRule for AccountedWindows {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let accounted = plan.transform_up(|node| {
            Ok(match Planned::of(&node)? {
                Some(_) => Transformed::yes(Arc::new(AccountedWindow::new(node)) as _),
                None => Transformed::no(node),
            })
        });
        Ok(accounted?.data)
    }

    fn name(&self) -> &str {
        "accounted_windows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

struct AccountedWindow {
    /// As planned.
    window: Arc<dyn ExecutionPlan>,
    metrics: ExecutionPlanMetricsSet,
}

impl AccountedWindow {
    fn new(window: Arc<dyn ExecutionPlan>) -> Self {
        Self {
            window,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl fmt::Debug for AccountedWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccountedWindow({})", self.window.name())
    }
}

impl DisplayAs for AccountedWindow {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.window.fmt_as(t, f)
    }
}

impl ExecutionPlan for AccountedWindow {
    new_children_recomputed!();

    fn name(&self) -> &str {
        self.window.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.window.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.window.children()
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let window = Arc::clone(&self.window).replace_children(children, options)?;
        Ok(Arc::new(Self::new(window)))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let metrics = SpillMetrics::new(&self.metrics, partition);
        let rows = match Planned::of(&self.window)? {
            Some(planned) => {
                let context = Arc::clone(&context);
                Partitions::try_new(planned, &self.window, partition, context, metrics)?.stream()
            }
            None => Arc::clone(&self.window).execute(partition, Arc::clone(&context))?,
        };
        let counted = rows.map(move |batch| {
            if let Ok(batch) = &batch {
                baseline.record_output(batch.num_rows());
            }
            batch
        });
        let rows = RecordBatchStreamAdapter::new(self.schema(), counted);
        Ok(heeding(Box::pin(rows), &context))
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
        self.window.apply_expressions(f)
    }
}
