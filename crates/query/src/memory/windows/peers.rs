//! `Peers`: values that all rows of equal ORDER BY values have from the last of them, such as those of a running `sum(x) OVER
//! (ORDER BY y)`.
//!
//! What must hold: rows wait for the last of their peers in memory while there is some, then in a file.

use super::running::record_batch;
use crate::memory::row_file::RowFile;
use crate::memory::{Claim, MemoryBudget, row_bytes};
use datafusion::arrow::array::{RecordBatch, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::utils::{evaluate_partition_ranges, get_row_at_idx};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::window::PlainAggregateWindowExpr;
use datafusion::physical_plan::metrics::SpillMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::{StandardWindowExpr, WindowExpr};
use futures::{Stream, StreamExt};
use std::sync::Arc;

/// The function with a frame that ends at each row, if its value at the last of some peers is then that of all of them.
pub(super) fn until_row(function: &Arc<dyn WindowExpr>) -> Option<Arc<dyn WindowExpr>> {
    let frame = function.get_window_frame();
    let ends_with_peers = frame.units != WindowFrameUnits::Rows
        && frame.start_bound.is_unbounded()
        && frame.end_bound == WindowFrameBound::CurrentRow;
    ends_with_peers
        .then(|| with_rows_until_current(function))
        .flatten()
}

/// The function over all rows of the partition until each row.
pub(super) fn with_rows_until_current(
    function: &Arc<dyn WindowExpr>,
) -> Option<Arc<dyn WindowExpr>> {
    let frame = Arc::new(WindowFrame::new_bounds(
        WindowFrameUnits::Rows,
        WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
        WindowFrameBound::CurrentRow,
    ));
    let (partition_by, order_by) = (function.partition_by(), function.order_by());
    if let Some(standard) = function.as_any().downcast_ref::<StandardWindowExpr>() {
        let called = Arc::clone(standard.get_standard_func_expr());
        let uses_frame = called.create_evaluator().ok()?.uses_window_frame();
        let until_row = StandardWindowExpr::new(called, partition_by, order_by, frame);
        return uses_frame.then(|| Arc::new(until_row) as _);
    }
    let aggregate = function
        .as_any()
        .downcast_ref::<PlainAggregateWindowExpr>()?;
    let called = Arc::new(aggregate.get_aggregate_expr().clone());
    let until_row = PlainAggregateWindowExpr::new(called, partition_by, order_by, frame, None);
    (!may_filter(function)).then(|| Arc::new(until_row) as _)
}

/// Whether a function has a FILTER, which cannot be had, only be seen.
pub(super) fn may_filter(function: &Arc<dyn WindowExpr>) -> bool {
    let text = format!("{function:?}");
    text.contains("filter:") && !text.ends_with("filter: None }")
}

pub(super) struct Peers {
    order_by: Vec<PhysicalSortExpr>,
    /// The columns of such values.
    columns: Vec<usize>,
    /// Rows whose last peer is not there yet: in the file first.
    file: Option<RowFile>,
    held: Vec<RecordBatch>,
    /// What they have in ORDER BY, and the values of the last of them.
    key: Vec<ScalarValue>,
    values: Vec<ScalarValue>,
    /// Whether all rows wait in files, for tests.
    forced: bool,
    schema: SchemaRef,
    reservation: MemoryReservation,
    context: Arc<TaskContext>,
    metrics: SpillMetrics,
}

impl Peers {
    pub(super) fn new(
        order_by: &[PhysicalSortExpr],
        columns: Vec<usize>,
        schema: SchemaRef,
        context: &Arc<TaskContext>,
        metrics: &SpillMetrics,
    ) -> Self {
        let memory = context.session_config().get_extension::<MemoryBudget>();
        Self {
            order_by: order_by.to_vec(),
            columns,
            file: None,
            held: vec![],
            key: vec![],
            values: vec![],
            forced: memory.is_some_and(|memory| memory.forces_spilling()),
            schema,
            reservation: Claim::Partition.register("WindowAggExec[peers]", context.memory_pool()),
            context: Arc::clone(context),
            metrics: metrics.clone(),
        }
    }

    /// Takes rows; gives those whose last peer is there.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<Vec<SendableRecordBatchStream>> {
        let rows = batch.num_rows();
        let order_by = self.order_by.iter();
        let sorted = order_by.map(|by| by.evaluate_to_sort_column(batch));
        let sorted = sorted.collect::<Result<Vec<_>>>()?;
        let keys: Vec<_> = sorted
            .iter()
            .map(|column| Arc::clone(&column.values))
            .collect();
        let mut groups = evaluate_partition_ranges(rows, &sorted)?;
        let Some(last) = groups.pop() else {
            return Ok(vec![]);
        };
        let mut ready = vec![];
        let holds = self.file.is_some() || !self.held.is_empty();
        let goes_on = holds && self.key == get_row_at_idx(&keys, 0)?;
        if holds && !goes_on {
            ready.extend(self.give()?);
        } else if let Some(first) = groups.first().filter(|_| goes_on) {
            self.values = self.values_at(batch, first.end - 1)?;
            ready.extend(self.give()?);
        }
        if last.start > 0 {
            let ends = groups.iter();
            let ends = ends.flat_map(|group| group.clone().map(|_| group.end as u32 - 1));
            let ends = UInt32Array::from_iter_values(ends);
            let whole = batch.slice(0, last.start);
            let mut columns = whole.columns().to_vec();
            for &at in &self.columns {
                if let Some(column) = columns.get_mut(at) {
                    *column = take(column.as_ref(), &ends, None)?;
                }
            }
            let whole = record_batch(&self.schema, columns, last.start)?;
            ready.push(self.stream(futures::stream::iter([Ok(whole)])));
        }
        self.key = get_row_at_idx(&keys, last.start)?;
        self.values = self.values_at(batch, rows - 1)?;
        self.hold(batch.slice(last.start, rows - last.start))?;
        Ok(ready)
    }

    /// The rest of the rows.
    pub(super) fn finish(mut self) -> Result<Vec<SendableRecordBatchStream>> {
        self.give()
    }

    fn hold(&mut self, batch: RecordBatch) -> Result<()> {
        if let Some(file) = &mut self.file {
            return file.push(batch);
        }
        let bytes = row_bytes(&batch)?;
        self.held.push(batch);
        if self.reservation.try_grow(bytes).is_err() || self.forced {
            let schema = Arc::clone(&self.schema);
            let mut file = RowFile::create(schema, &self.context, &self.metrics)?;
            for batch in self.held.drain(..) {
                file.push(batch)?;
            }
            self.reservation.free();
            self.file = Some(file);
        }
        Ok(())
    }

    /// The rows that wait, with the values of the last of them.
    fn give(&mut self) -> Result<Vec<SendableRecordBatchStream>> {
        let stored = self.file.take().map(RowFile::finish).transpose()?;
        let held = std::mem::take(&mut self.held);
        self.reservation.free();
        let held = self.stream(futures::stream::iter(held.into_iter().map(Ok)));
        let waiting = stored.map(|stored| stored.forward()).into_iter();
        let (columns, values) = (self.columns.clone(), self.values.clone());
        let schema = Arc::clone(&self.schema);
        let waiting = waiting.chain([held]).map(|rows| {
            let (at, values) = (columns.clone(), values.clone());
            let schema = Arc::clone(&schema);
            let rows = rows.map(move |batch| {
                let batch = batch?;
                let rows = batch.num_rows();
                let mut columns = batch.columns().to_vec();
                for (&at, value) in at.iter().zip(&values) {
                    if let Some(column) = columns.get_mut(at) {
                        *column = value.to_array_of_size(rows)?;
                    }
                }
                record_batch(&schema, columns, rows)
            });
            self.stream(rows)
        });
        Ok(waiting.collect())
    }

    fn values_at(&self, batch: &RecordBatch, row: usize) -> Result<Vec<ScalarValue>> {
        let columns = self
            .columns
            .iter()
            .filter_map(|&at| batch.columns().get(at));
        columns
            .map(|column| ScalarValue::try_from_array(column, row))
            .collect()
    }

    fn stream(
        &self,
        rows: impl Stream<Item = Result<RecordBatch>> + Send + 'static,
    ) -> SendableRecordBatchStream {
        Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            rows,
        ))
    }
}
