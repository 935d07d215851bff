//! `SharedRowsExec`: the rows of one plan, which is run once, for all that read them.
//!
//! What must hold: whoever of the readers is asked for rows runs the plan on, so that none waits for another that nobody asks; when nobody
//! reads any more before all rows are there, the plan ends, and begins anew for the next reader.

use super::{KeepRows, KeptRows};
use crate::heed::heeding;
use crate::plan_node::{no_expressions, no_input};
use datafusion::arrow::datatypes::Schema;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning};
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, execute_stream,
};
use futures::future::{BoxFuture, Shared, WeakShared};
use futures::{FutureExt, StreamExt, TryStreamExt};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

type Run = BoxFuture<'static, std::result::Result<KeptRows, Arc<DataFusionError>>>;

/// What a plan gives, for several that read it.
#[derive(Debug)]
pub(crate) struct SharedRows {
    plan: Arc<dyn ExecutionPlan>,
    state: Mutex<State>,
}

enum State {
    NotBegun,
    Running(WeakShared<Run>),
    Done(KeptRows),
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::NotBegun => "NotBegun",
            State::Running(_) => "Running",
            State::Done(_) => "Done",
        })
    }
}

impl SharedRows {
    pub(crate) fn of(plan: Arc<dyn ExecutionPlan>) -> Self {
        Self {
            plan,
            state: Mutex::new(State::NotBegun),
        }
    }

    async fn rows(self: Arc<Self>, context: Arc<TaskContext>) -> Result<KeptRows> {
        let rows = match self.done_or_running(&context) {
            Ok(done) => return Ok(done),
            Err(running) => running.await.map_err(DataFusionError::Shared)?,
        };
        *self.state.lock() = State::Done(rows.clone());
        Ok(rows)
    }

    /// The rows, or what they come of.
    fn done_or_running(
        &self,
        context: &Arc<TaskContext>,
    ) -> std::result::Result<KeptRows, Shared<Run>> {
        let mut state = self.state.lock();
        match &*state {
            State::Done(rows) => return Ok(rows.clone()),
            State::Running(run) => {
                if let Some(run) = run.upgrade() {
                    return Err(run);
                }
            }
            State::NotBegun => {}
        }
        let run = run(Arc::clone(&self.plan), Arc::clone(context));
        let run: Run = run.map(|rows| rows.map_err(Arc::new)).boxed();
        let run = run.shared();
        *state = run.downgrade().map_or(State::NotBegun, State::Running);
        Err(run)
    }
}

async fn run(plan: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Result<KeptRows> {
    let plan = plan.reset_state()?;
    let mut kept = KeepRows::new(plan.schema(), &context);
    let mut rows = execute_stream(plan, context)?;
    while let Some(batch) = rows.next().await {
        kept.push(batch?)?;
    }
    kept.finish()
}

/// One reader of shared rows.
#[derive(Debug)]
pub(crate) struct SharedRowsExec {
    rows: Arc<SharedRows>,
    columns: Vec<usize>,
    properties: Arc<PlanProperties>,
}

impl SharedRowsExec {
    /// A reader of some columns, or of all.
    pub(crate) fn new(rows: Arc<SharedRows>, columns: Option<&Vec<usize>>) -> Result<Self> {
        let schema: &Schema = &rows.plan.schema();
        let all = || (0..schema.fields().len()).collect();
        let columns: Vec<usize> = columns.cloned().unwrap_or_else(all);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::new(schema.project(&columns)?)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Ok(Self {
            rows,
            columns,
            properties: Arc::new(properties),
        })
    }
}

impl DisplayAs for SharedRowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = DisplayableExecutionPlan::new(self.rows.plan.as_ref());
        write!(
            f,
            "SharedRowsExec: {}",
            plan.one_line().to_string().trim_end()
        )
    }
}

impl ExecutionPlan for SharedRowsExec {
    no_input!("SharedRowsExec");
    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = Arc::clone(&self.rows).rows(Arc::clone(&context));
        let columns = self.columns.clone();
        let rows = async move { Ok::<_, DataFusionError>(rows.await?.project(&columns)?.stream()) };
        let rows = futures::stream::once(rows).try_flatten();
        let rows = RecordBatchStreamAdapter::new(self.schema(), rows);
        Ok(heeding(Box::pin(rows), &context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::rows::RowsExec;
    use datafusion::arrow::array::{Int64Array, RecordBatch};
    use datafusion::arrow::datatypes::{DataType, Field};
    use futures::FutureExt;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Poll;

    /// A plan of two batches that waits before each of them, and counts how often it runs.
    fn plan(runs: &Arc<AtomicUsize>) -> Arc<dyn ExecutionPlan> {
        let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, false)]));
        let of_batches = Arc::clone(&schema);
        let runs = Arc::clone(runs);
        let make = move || {
            runs.fetch_add(1, Ordering::Relaxed);
            let batches = [vec![1, 2], vec![3]].map(|values| {
                let values = Arc::new(Int64Array::from(values));
                RecordBatch::try_new(Arc::clone(&of_batches), vec![values]).map_err(Into::into)
            });
            let batches = futures::stream::iter(batches).then(|batch| async {
                tokio::task::yield_now().await;
                batch
            });
            let rows = RecordBatchStreamAdapter::new(Arc::clone(&of_batches), batches);
            Ok(Box::pin(rows) as SendableRecordBatchStream)
        };
        Arc::new(RowsExec::new(schema, Box::new(make)))
    }

    async fn count(mut rows: SendableRecordBatchStream) -> usize {
        let mut count = 0;
        while let Some(batch) = rows.next().await {
            count += batch.unwrap().num_rows();
        }
        count
    }

    fn readers(runs: &Arc<AtomicUsize>) -> (SharedRowsExec, SharedRowsExec, Arc<TaskContext>) {
        let rows = Arc::new(SharedRows::of(plan(runs)));
        let one = SharedRowsExec::new(Arc::clone(&rows), None).unwrap();
        let other = SharedRowsExec::new(rows, Some(&vec![0])).unwrap();
        (one, other, Arc::new(TaskContext::default()))
    }

    #[tokio::test]
    async fn a_reader_goes_on_with_what_another_has_begun_and_left_waiting() {
        let runs = Arc::default();
        let (one, other, context) = readers(&runs);
        let mut begun = one.execute(0, Arc::clone(&context)).unwrap();
        let first = futures::future::poll_fn(|task| Poll::Ready(begun.next().poll_unpin(task)));
        assert!(first.await.is_pending());
        let second = other.execute(0, context).unwrap();
        assert_eq!(count(second).await, 3);
        assert_eq!(count(begun).await, 3);
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn what_nobody_waits_for_ends_and_begins_anew() {
        let runs = Arc::default();
        let (one, other, context) = readers(&runs);
        let mut begun = one.execute(0, Arc::clone(&context)).unwrap();
        let first = futures::future::poll_fn(|task| Poll::Ready(begun.next().poll_unpin(task)));
        assert!(first.await.is_pending());
        drop(begun);
        assert_eq!(
            count(other.execute(0, Arc::clone(&context)).unwrap()).await,
            3
        );
        assert_eq!(count(one.execute(0, context).unwrap()).await, 3);
        assert_eq!(runs.load(Ordering::Relaxed), 2);
    }
}
