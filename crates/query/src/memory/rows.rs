//! `RowsExec`: rows that are there already, as a plan of one partition.

use crate::plan_node::{no_expressions, no_input};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

type Make = Box<dyn Fn() -> Result<SendableRecordBatchStream> + Send + Sync>;

pub(super) struct RowsExec {
    make: Make,
    properties: Arc<PlanProperties>,
}

impl RowsExec {
    /// Rows of which nothing is known, as often as they are asked for.
    pub(super) fn new(schema: SchemaRef, make: Make) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            make,
            properties: Arc::new(properties),
        }
    }

    /// Rows of which nothing is known, once.
    pub(super) fn once(rows: SendableRecordBatchStream) -> Self {
        Self::new(rows.schema(), only_once(rows))
    }

    /// Rows of one partition of `plan`, in its order, once.
    pub(super) fn of_partition(rows: SendableRecordBatchStream, plan: &dyn ExecutionPlan) -> Self {
        let properties = plan.properties().as_ref().clone();
        let properties = properties.with_partitioning(Partitioning::UnknownPartitioning(1));
        Self {
            make: only_once(rows),
            properties: Arc::new(properties),
        }
    }
}

fn only_once(rows: SendableRecordBatchStream) -> Make {
    let rows = Mutex::new(Some(rows));
    let gone = || internal_datafusion_err!("rows that are there once were asked for again");
    Box::new(move || rows.lock().take().ok_or_else(gone))
}

impl fmt::Debug for RowsExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowsExec")
    }
}

impl DisplayAs for RowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowsExec")
    }
}

impl ExecutionPlan for RowsExec {
    no_input!("RowsExec");
    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        (self.make)()
    }
}
