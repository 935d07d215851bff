//! `SpilledPartition`: a partition that outgrows memory. Its rows go to a file, and come back with the values of the functions.
//!
//! ```text
//! while rows come    file of rows; aggregates over all of them
//! backward           rows from the last on -> `Running` -> file of values
//! forward            rows from the first on -> `Running`, beside the values of that file from its end on
//! ```
//!
//! The backward pass is left out where no function needs it.

use super::functions::{Functions, Value};
use super::running::{Running, record_batch};
use crate::memory::row_file::{RowFile, StoredRows};
use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{Schema, SchemaRef, UInt64Type};
use datafusion::common::{Result, ScalarValue, internal_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::window_state::{PartitionBatchState, WindowAggState};
use datafusion::physical_expr::window::{
    PartitionBatches, PartitionWindowAggStates, WindowEvalContext,
};
use datafusion::physical_plan::metrics::SpillMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::WindowExpr;
use futures::{StreamExt, TryStreamExt};
use std::sync::Arc;

pub(super) struct SpilledPartition {
    functions: Arc<Functions>,
    of_all: Vec<OfAll>,
    rows: RowFile,
    /// Of the rows with their values.
    schema: SchemaRef,
    context: Arc<TaskContext>,
    metrics: SpillMetrics,
}

impl SpilledPartition {
    pub(super) fn begin(
        functions: &Arc<Functions>,
        input: SchemaRef,
        schema: SchemaRef,
        context: &Arc<TaskContext>,
        metrics: &SpillMetrics,
    ) -> Result<Self> {
        let of_all = functions.of_all.iter();
        Ok(Self {
            of_all: of_all
                .map(|function| OfAll::new(Arc::clone(function)))
                .collect(),
            functions: Arc::clone(functions),
            rows: RowFile::create(input, context, metrics)?,
            schema,
            context: Arc::clone(context),
            metrics: metrics.clone(),
        })
    }

    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        for function in &mut self.of_all {
            function.push(&batch)?;
        }
        self.rows.push(batch)
    }

    /// The rows with their values.
    pub(super) fn finish(self) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let rows = futures::stream::once(self.evaluate()).try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }

    async fn evaluate(self) -> Result<SendableRecordBatchStream> {
        let rows = self.rows.finish()?;
        let input = rows.forward().schema().fields().len();
        let functions = Arc::clone(&self.functions);
        let (backward, ends) = match functions.backward.is_empty() {
            true => (None, vec![]),
            false => {
                let values = pass(
                    &functions.backward,
                    rows.backward(),
                    &self.context,
                    &self.metrics,
                )?;
                let kept: Vec<usize> = (0..functions.backward.len()).map(|at| input + at).collect();
                let (stored, ends) = store(values, &kept, &self.context, &self.metrics).await?;
                (Some(stored.backward()), ends)
            }
        };
        let forward = match functions.forward.is_empty() {
            true => rows.forward(),
            false => pass(
                &functions.forward,
                rows.forward(),
                &self.context,
                &self.metrics,
            )?,
        };
        let joined = Joined {
            values: functions.values.clone(),
            of_all: self
                .of_all
                .into_iter()
                .map(|function| function.value)
                .collect(),
            ends,
            input,
            forward,
            backward,
            waiting: [None, None],
            rows: rows.rows() as u64,
            given: 0,
            schema: Arc::clone(&self.schema),
        };
        let joined = futures::stream::try_unfold(joined, |mut joined| async move {
            let next = joined.next().await?;
            Ok(next.map(|batch| (batch, joined)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema, joined)))
    }
}

/// An aggregate over all rows.
struct OfAll {
    function: Arc<dyn WindowExpr>,
    states: PartitionWindowAggStates,
    value: ScalarValue,
}

impl OfAll {
    fn new(function: Arc<dyn WindowExpr>) -> Self {
        Self {
            function,
            states: PartitionWindowAggStates::default(),
            value: ScalarValue::Null,
        }
    }

    /// Has the function see a batch as if it were all, which takes its FILTER along; its accumulator keeps what it has seen.
    fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut all = PartitionBatchState::new_with_batch(batch.clone());
        all.is_end = true;
        let mut batches = PartitionBatches::default();
        batches.insert(vec![], all);
        let context = WindowEvalContext::default();
        self.function
            .evaluate_stateful(&batches, &mut self.states, &context)?;
        for state in self.states.values_mut() {
            self.value = ScalarValue::try_from_array(&state.state.out_col, 0)?;
            state.state = WindowAggState::new(self.function.field()?.data_type())?;
        }
        Ok(())
    }
}

/// Runs functions over rows of one partition, a few at a time.
fn pass(
    functions: &[Arc<dyn WindowExpr>],
    rows: SendableRecordBatchStream,
    context: &Arc<TaskContext>,
    metrics: &SpillMetrics,
) -> Result<SendableRecordBatchStream> {
    let values = functions.iter().map(|function| function.field());
    let input = rows.schema();
    let fields = input.fields().iter().cloned().map(Ok).chain(values);
    let schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?));
    let running = Running::new(functions, &input, Arc::clone(&schema), context, metrics);
    let passed = futures::stream::try_unfold((rows, Some(running)), |(mut rows, running)| async {
        let Some(mut running) = running else {
            return Ok(None);
        };
        let (ready, rest) = match rows.next().await.transpose()? {
            Some(batch) => (running.push(batch)?, Some(running)),
            None => (running.finish()?, None),
        };
        let ready = futures::stream::iter(ready).flatten();
        Result::<_>::Ok(Some((ready, (rows, rest))))
    });
    let passed = passed.try_flatten();
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, passed)))
}

/// Writes some columns to a file; with them the last value of each.
async fn store(
    mut rows: SendableRecordBatchStream,
    columns: &[usize],
    context: &TaskContext,
    metrics: &SpillMetrics,
) -> Result<(StoredRows, Vec<ScalarValue>)> {
    let schema: &Schema = &rows.schema();
    let mut file = RowFile::create(Arc::new(schema.project(columns)?), context, metrics)?;
    let mut last = vec![];
    while let Some(batch) = rows.next().await {
        let batch = batch?.project(columns)?;
        if let Some(row) = batch.num_rows().checked_sub(1) {
            let values = batch.columns().iter();
            let values = values.map(|column| ScalarValue::try_from_array(column, row));
            last = values.collect::<Result<_>>()?;
        }
        file.push(batch)?;
    }
    Ok((file.finish()?, last))
}

/// Rows, and what was computed of them in both directions, side by side.
struct Joined {
    values: Vec<Value>,
    of_all: Vec<ScalarValue>,
    ends: Vec<ScalarValue>,
    /// Columns of the rows.
    input: usize,
    forward: SendableRecordBatchStream,
    backward: Option<SendableRecordBatchStream>,
    /// What was read of the two and not given yet.
    waiting: [Option<RecordBatch>; 2],
    rows: u64,
    given: u64,
    schema: SchemaRef,
}

impl Joined {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let [left, right] = &mut self.waiting;
        let Some(forward) = read(left, &mut self.forward).await? else {
            return Ok(None);
        };
        let Some(backward) = &mut self.backward else {
            return self.with_values(&forward, None).map(Some);
        };
        let missing = || internal_datafusion_err!("a window has fewer values than rows");
        let backward = read(right, backward).await?.ok_or_else(missing)?;
        let together = forward.num_rows().min(backward.num_rows());
        let rest = |batch: &RecordBatch| {
            let rest = batch.num_rows() - together;
            (rest > 0).then(|| batch.slice(together, rest))
        };
        self.waiting = [rest(&forward), rest(&backward)];
        let backward = backward.slice(0, together);
        self.with_values(&forward.slice(0, together), Some(&backward))
            .map(Some)
    }

    fn with_values(
        &mut self,
        forward: &RecordBatch,
        backward: Option<&RecordBatch>,
    ) -> Result<RecordBatch> {
        let number = forward.num_rows();
        let missing = || internal_datafusion_err!("a function of a window has no values");
        let ends = self.given + number as u64;
        let columns = forward.columns();
        let of_forward = |at: usize| columns.get(self.input + at).ok_or_else(missing);
        let of_backward = |at: usize| {
            let column = backward.and_then(|backward| backward.columns().get(at));
            column.ok_or_else(missing)
        };
        let mut all: Vec<ArrayRef> = columns.iter().take(self.input).cloned().collect();
        for value in &self.values {
            let one = |values: &[ScalarValue], at: usize| {
                let value = values.get(at).ok_or_else(missing)?;
                value.to_array_of_size(number)
            };
            all.push(match *value {
                Value::OfAll(at) => one(&self.of_all, at)?,
                Value::EndOfBackward(at) => one(&self.ends, at)?,
                Value::Forward(at) => Arc::clone(of_forward(at)?),
                Value::Backward(at) => Arc::clone(of_backward(at)?),
                Value::Ntile(buckets) => {
                    let bucket = |row| bucket(row, self.rows, buckets);
                    Arc::new(UInt64Array::from_iter_values(
                        (self.given..ends).map(bucket),
                    ))
                }
                Value::PercentRank(at) => {
                    let others = self.rows.saturating_sub(1).max(1) as f64;
                    of_rank(of_forward(at)?, |rank| (rank - 1) as f64 / others)
                }
                Value::CumeDist(at) => {
                    let rows = self.rows;
                    // As many rows are behind the row's peers.
                    of_rank(of_backward(at)?, |rank| {
                        (rows + 1).saturating_sub(rank) as f64 / rows as f64
                    })
                }
            });
        }
        self.given = ends;
        record_batch(&self.schema, all, number)
    }
}

/// What is left of a batch, or the next that has rows.
async fn read(
    waiting: &mut Option<RecordBatch>,
    rows: &mut SendableRecordBatchStream,
) -> Result<Option<RecordBatch>> {
    if let Some(batch) = waiting.take() {
        return Ok(Some(batch));
    }
    while let Some(batch) = rows.next().await.transpose()? {
        if batch.num_rows() > 0 {
            return Ok(Some(batch));
        }
    }
    Ok(None)
}

fn of_rank(ranks: &ArrayRef, value: impl Fn(u64) -> f64) -> ArrayRef {
    let ranks = ranks.as_primitive::<UInt64Type>().values().iter();
    Arc::new(Float64Array::from_iter_values(
        ranks.map(|rank| value(*rank)),
    ))
}

/// Which of `buckets` the `row`-th of `rows` is in: the first ones have a row more where they cannot be equal.
fn bucket(row: u64, rows: u64, buckets: u64) -> u64 {
    let (least, larger) = (rows / buckets, rows % buckets);
    let in_larger = larger * (least + 1);
    match row.checked_sub(in_larger) {
        None => row / (least + 1) + 1,
        Some(row) => larger + row / least.max(1) + 1,
    }
}
