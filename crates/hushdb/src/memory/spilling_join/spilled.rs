//! `SpilledExec`: rows that were written to spill files, as an input of a join.

use super::scatter::Spilled;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
    SpillManager,
};
use futures::TryStreamExt;
use std::fmt;
use std::sync::Arc;

/// One partition: the files one after the other.
pub(super) struct SpilledExec {
    schema: SchemaRef,
    files: Vec<Spilled>,
    properties: Arc<PlanProperties>,
}

impl SpilledExec {
    pub(super) fn new(schema: SchemaRef, files: Vec<Spilled>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            schema,
            files,
            properties: Arc::new(properties),
        }
    }
}

impl fmt::Debug for SpilledExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpilledExec({} files)", self.files.len())
    }
}

impl DisplayAs for SpilledExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpilledExec: files={}", self.files.len())
    }
}

impl ExecutionPlan for SpilledExec {
    fn name(&self) -> &'static str {
        "SpilledExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        _partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let metrics = SpillMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
        let reader = SpillManager::new(context.runtime_env(), metrics, Arc::clone(&self.schema));
        let files = self.files.clone().into_iter();
        let streams = files.map(move |file| reader.read_spill_as_stream_unbuffered(file, None));
        let rows = futures::stream::iter(streams).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            rows,
        )))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
}
