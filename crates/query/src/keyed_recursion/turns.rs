//! `TurnTable`: what a recursive part reads of its own query: the rows of the last turn, or the last rows of all keys.

use super::keyed_rows::{KeyedRows, with_rows};
use crate::plan_node::{no_expressions, no_input};
use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// How the name of such a query begins in a plan.
const NAMED: &str = "$using_key";

/// The name in a plan of a query that has a number, and columns as its key.
pub(crate) fn recursion_name(number: u64, of_key: &[usize]) -> String {
    let of_key: Vec<String> = of_key.iter().map(usize::to_string).collect();
    format!("{NAMED} {number} {}", of_key.join(","))
}

/// The number and the columns of the key, by the name in a plan.
pub(super) fn read_name(name: &str) -> Option<(u64, Vec<usize>)> {
    let parts: Vec<&str> = name.split(' ').collect();
    let [NAMED, number, of_key] = parts.as_slice() else {
        return None;
    };
    let of_key = of_key.split(',').map(|at| at.parse().ok());
    Some((number.parse().ok()?, of_key.collect::<Option<_>>()?))
}

/// What a query with a number reads of itself.
#[derive(Debug)]
pub(crate) struct TurnTable {
    /// The number of the query.
    pub(crate) number: u64,
    /// Whether it is the last rows of all keys.
    pub(crate) of_all: bool,
    /// Its columns.
    pub(crate) schema: SchemaRef,
}

#[async_trait]
impl TableProvider for TurnTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all = || (0..self.schema.fields().len()).collect();
        let columns: Vec<usize> = projection.cloned().unwrap_or_else(all);
        let schema = Arc::new(self.schema.project(&columns)?);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Arc::new(TurnExec {
            number: self.number,
            of_all: self.of_all,
            columns,
            properties: Arc::new(properties),
            turn: None,
        }))
    }
}

/// What one turn reads.
pub(super) struct Turn {
    pub(super) last: Mutex<Arc<Vec<RecordBatch>>>,
    pub(super) all: Mutex<KeyedRows>,
}

impl Turn {
    /// Has the next turn read these rows.
    pub(super) fn give(&self, rows: Vec<RecordBatch>) -> Result<()> {
        let mut all = self.all.lock();
        rows.iter().try_for_each(|batch| all.put(batch))?;
        *self.last.lock() = Arc::new(rows);
        Ok(())
    }
}

/// Reads it.
pub(super) struct TurnExec {
    pub(super) number: u64,
    of_all: bool,
    columns: Vec<usize>,
    properties: Arc<PlanProperties>,
    /// Given when its query is run.
    turn: Option<Arc<Turn>>,
}

impl TurnExec {
    /// The same of a query that runs.
    pub(super) fn reading(&self, turn: &Arc<Turn>) -> Self {
        Self {
            number: self.number,
            of_all: self.of_all,
            columns: self.columns.clone(),
            properties: Arc::clone(&self.properties),
            turn: Some(Arc::clone(turn)),
        }
    }
}

impl fmt::Debug for TurnExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TurnExec")
    }
}

impl DisplayAs for TurnExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = match self.of_all {
            true => "all keys",
            false => "the last turn",
        };
        write!(f, "TurnExec: rows of {of}")
    }
}

impl ExecutionPlan for TurnExec {
    no_input!("TurnExec");
    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let missing = || internal_datafusion_err!("rows of a turn outside of their query");
        let turn = Arc::clone(self.turn.as_ref().ok_or_else(missing)?);
        let schema = self.schema();
        let columns = self.columns.clone();
        if self.of_all {
            let size = context.session_config().batch_size();
            let end = turn.all.lock().len();
            let batches = (0..end).step_by(size).map({
                let schema = Arc::clone(&schema);
                move |from| {
                    let all = turn.all.lock().rows(from, size)?;
                    let read = columns.iter().filter_map(|at| all.get(*at).cloned());
                    with_rows(&schema, &read.collect::<Vec<_>>(), size.min(end - from))
                }
            });
            let batches = futures::stream::iter(batches).boxed();
            return Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)));
        }
        let last = Arc::clone(&turn.last.lock());
        let batches = (0..last.len()).map({
            let schema = Arc::clone(&schema);
            move |at| {
                let batch = last[at].project(&columns)?;
                with_rows(&schema, batch.columns(), batch.num_rows())
            }
        });
        let batches = futures::stream::iter(batches).boxed();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
