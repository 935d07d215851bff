//! `OneValue`: windows whose functions have one value for all rows of a partition, such as `sum(x) OVER (PARTITION BY k)`: the
//! rows go to a spill file while accumulators read them, and come back with the values.

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::spill_file::SpillFile;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Accumulator, WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::physical_plan::metrics::SpillMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::{PlainAggregateWindowExpr, WindowAggExec, WindowExpr};
use datafusion::physical_plan::{ExecutionPlan, SpillManager};
use futures::StreamExt;
use std::sync::Arc;

/// The functions of such a window.
pub(super) struct OneValue(Vec<Arc<dyn WindowExpr>>);

impl OneValue {
    /// `None` for a window with another function among its own.
    pub(super) fn of(window: &WindowAggExec) -> Option<Self> {
        let functions = window.window_expr().to_vec();
        functions
            .iter()
            .all(has_one_value)
            .then_some(Self(functions))
    }

    /// Begins a partition.
    pub(super) fn begin(
        &self,
        window: &Arc<dyn ExecutionPlan>,
        input: &Arc<dyn ExecutionPlan>,
        context: &TaskContext,
        metrics: &SpillMetrics,
    ) -> Result<SpilledPartition> {
        let accumulators = self.0.iter().filter_map(|function| {
            let aggregate = function
                .as_any()
                .downcast_ref::<PlainAggregateWindowExpr>()?;
            Some(aggregate.get_aggregate_expr().create_accumulator())
        });
        let spilled = SpillManager::new(context.runtime_env(), metrics.clone(), input.schema());
        let file = spilled.create_in_progress_file("window")?;
        Ok(SpilledPartition {
            functions: self.0.clone(),
            accumulators: accumulators.collect::<Result<_>>()?,
            schema: window.schema(),
            append: Box::new({
                let mut file = file;
                move |batch| match batch {
                    Some(batch) => file.append_batch(batch).map(|_| None),
                    None => file.finish(),
                }
            }),
            spilled,
        })
    }
}

/// Whether a function is an aggregate whose frame is the whole partition.
fn has_one_value(function: &Arc<dyn WindowExpr>) -> bool {
    let is_aggregate = function
        .as_any()
        .downcast_ref::<PlainAggregateWindowExpr>()
        .is_some();
    let frame: &WindowFrame = function.get_window_frame();
    let is_whole = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::CurrentRow => {
            frame.units == WindowFrameUnits::Range && function.order_by().is_empty()
        }
        bound => bound.is_unbounded(),
    };
    // Its FILTER cannot be had, only be seen.
    let has_no_filter = || format!("{function:?}").ends_with("filter: None }");
    is_aggregate && is_whole(&frame.start_bound) && is_whole(&frame.end_bound) && has_no_filter()
}

/// Appends a batch, or ends the file.
type Append = Box<dyn FnMut(Option<&RecordBatch>) -> Result<Option<Arc<dyn SpillFile>>> + Send>;

/// A partition that is read.
pub(super) struct SpilledPartition {
    functions: Vec<Arc<dyn WindowExpr>>,
    accumulators: Vec<Box<dyn Accumulator>>,
    schema: SchemaRef,
    append: Append,
    spilled: SpillManager,
}

impl SpilledPartition {
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        for (function, accumulator) in self.functions.iter().zip(&mut self.accumulators) {
            accumulator.update_batch(&function.evaluate_args(batch)?)?;
        }
        (self.append)(Some(batch)).map(drop)
    }

    /// The rows with their values.
    pub(super) fn finish(mut self) -> Result<SendableRecordBatchStream> {
        let values = self.accumulators.iter_mut().map(|a| a.evaluate());
        let values = values.collect::<Result<Vec<ScalarValue>>>()?;
        let schema = Arc::clone(&self.schema);
        let Some(file) = (self.append)(None)? else {
            let none = futures::stream::empty();
            return Ok(Box::pin(RecordBatchStreamAdapter::new(schema, none)));
        };
        let rows = self.spilled.read_spill_as_stream_unbuffered(file, None)?;
        let rows = rows.map(move |batch| {
            let batch = batch?;
            let number = batch.num_rows();
            let mut columns = batch.columns().to_vec();
            for value in &values {
                columns.push(value.to_array_of_size(number)?);
            }
            let options = RecordBatchOptions::new().with_row_count(Some(number));
            Ok(RecordBatch::try_new_with_options(
                Arc::clone(&schema),
                columns,
                &options,
            )?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema, rows)))
    }
}
