//! `Running`: functions that need a few rows at a time, over the rows of one partition.
//!
//! What must hold: rows that no frame to come has in it are let go, and their text with them. The library's operator slices
//! what it keeps, so that it has the text of all rows that it ever saw.

use super::peers::{Peers, may_filter, until_row};
use crate::memory::{Claim, row_bytes};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, NullArray, RecordBatch, RecordBatchOptions, new_empty_array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::window_state::{PartitionBatchState, WindowAggState};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::window::{
    PartitionBatches, PartitionWindowAggStates, WindowEvalContext, WindowExpr,
};
use datafusion::physical_plan::metrics::SpillMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// Text that is kept although no row has it.
const UNUSED_BYTES: usize = 256 << 10;

pub(super) struct Running {
    functions: Vec<Arc<dyn WindowExpr>>,
    states: Vec<PartitionWindowAggStates>,
    /// One partition: its rows that functions may still look at, without the columns that they do not.
    seen: PartitionBatches,
    /// Its columns.
    seen_schema: SchemaRef,
    /// Rows without all of their values.
    waiting: VecDeque<RecordBatch>,
    /// Of rows with values.
    schema: SchemaRef,
    /// Where these then wait for their last peers.
    peers: Option<Peers>,
    reservation: MemoryReservation,
}

impl Running {
    /// Gives rows of `schema`, which are those of `input` with the values of the functions.
    pub(super) fn new(
        functions: &[Arc<dyn WindowExpr>],
        input: &SchemaRef,
        schema: SchemaRef,
        context: &Arc<TaskContext>,
        metrics: &SpillMetrics,
    ) -> Self {
        let (mut of_peers, mut running) = (vec![], vec![]);
        for (at, function) in functions.iter().enumerate() {
            let until_row = until_row(function);
            if until_row.is_some() {
                of_peers.push(input.fields().len() + at);
            }
            running.push(until_row.unwrap_or_else(|| Arc::clone(function)));
        }
        let order_by = functions.first().map(|function| function.order_by());
        let peers = order_by.filter(|_| !of_peers.is_empty());
        let peers = peers
            .map(|order_by| Peers::new(order_by, of_peers, Arc::clone(&schema), context, metrics));
        Self {
            peers,
            functions: running,
            states: functions
                .iter()
                .map(|_| PartitionWindowAggStates::default())
                .collect(),
            seen: PartitionBatches::default(),
            seen_schema: seen_schema(functions, input),
            waiting: VecDeque::new(),
            schema,
            reservation: Claim::Held.register("BoundedWindowAggExec", context.memory_pool()),
        }
    }

    /// Takes rows; gives those that have their values now.
    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<Vec<SendableRecordBatchStream>> {
        if batch.num_rows() == 0 {
            return Ok(vec![]);
        }
        let seen = self.seen_of(&batch)?;
        match self.seen.values_mut().next() {
            Some(rows) => rows.extend(&seen)?,
            None => drop(
                self.seen
                    .insert(vec![], PartitionBatchState::new_with_batch(seen)),
            ),
        }
        self.waiting.push_back(batch);
        let mut bytes = self.waiting.iter().map(row_bytes).sum::<Result<usize>>()?;
        for rows in self.seen.values() {
            bytes += row_bytes(&rows.record_batch)?;
        }
        let reserved = self.reservation.try_resize(bytes);
        reserved.map_err(|refused| match refused {
            DataFusionError::ResourcesExhausted(text) => DataFusionError::ResourcesExhausted(
                format!("{text}; a frame or an offset of a window is of too many rows"),
            ),
            other => other,
        })?;
        self.advance()
    }

    /// The rest of the rows.
    pub(super) fn finish(mut self) -> Result<Vec<SendableRecordBatchStream>> {
        for rows in self.seen.values_mut() {
            rows.is_end = true;
        }
        let mut ready = self.advance()?;
        if let Some(peers) = self.peers {
            ready.extend(peers.finish()?);
        }
        Ok(ready)
    }

    fn seen_of(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let fields = self.seen_schema.fields().iter();
        let columns = fields.zip(batch.columns()).map(|(field, column)| {
            let is_left_out = field.data_type().is_null() && !column.data_type().is_null();
            match is_left_out {
                true => Arc::new(NullArray::new(rows)),
                false => Arc::clone(column),
            }
        });
        record_batch(&self.seen_schema, columns.collect(), rows)
    }

    fn advance(&mut self) -> Result<Vec<SendableRecordBatchStream>> {
        let context = WindowEvalContext::default();
        for (function, states) in self.functions.iter().zip(&mut self.states) {
            function.evaluate_stateful(&self.seen, states, &context)?;
        }
        let states = || self.states.iter().flat_map(|states| states.values());
        let ready = states().map(|state| state.state.out_col.len());
        let ready = ready.min().unwrap_or(0);
        let mut values = vec![];
        let states = self.states.iter_mut();
        for state in states.flat_map(|states| states.values_mut()) {
            values.push(state.state.out_col.slice(0, ready));
            let rest = state.state.out_col.len() - ready;
            state.state.out_col = match rest {
                0 => new_empty_array(state.state.out_col.data_type()),
                rest => without_unused(&state.state.out_col.slice(ready, rest)),
            };
        }
        self.let_go()?;
        let batches = self.give(&values, ready)?;
        if let Some(peers) = &mut self.peers {
            let ready = batches.iter().map(|batch| peers.push(batch));
            return Ok(ready
                .collect::<Result<Vec<_>>>()?
                .into_iter()
                .flatten()
                .collect());
        }
        let batches = futures::stream::iter(batches.into_iter().map(Ok));
        let schema = Arc::clone(&self.schema);
        Ok(vec![Box::pin(RecordBatchStreamAdapter::new(
            schema, batches,
        ))])
    }

    /// Forgets the rows that no function will look at again.
    fn let_go(&mut self) -> Result<()> {
        let done = |state: &WindowAggState| {
            let begin = state.window_frame_range.start;
            begin.min(state.last_calculated_index)
        };
        let states = self.states.iter().flat_map(|states| states.values());
        let Some(done) = states.map(|state| done(&state.state)).min() else {
            return Ok(());
        };
        if done == 0 {
            return Ok(());
        }
        for rows in self.seen.values_mut() {
            let batch = &rows.record_batch;
            let left = batch.num_rows() - done;
            let batch = batch.slice(done, left);
            let columns = batch.columns().iter().map(without_unused);
            rows.record_batch = record_batch(&self.seen_schema, columns.collect(), left)?;
        }
        let states = self.states.iter_mut();
        for state in states.flat_map(|states| states.values_mut()) {
            state.state.prune_state(done);
        }
        Ok(())
    }

    /// The first rows that wait, with their values.
    fn give(&mut self, values: &[ArrayRef], ready: usize) -> Result<Vec<RecordBatch>> {
        let missing = || internal_datafusion_err!("a window has more values than rows");
        let (mut given, mut batches) = (0, vec![]);
        while given < ready {
            let batch = self.waiting.pop_front().ok_or_else(missing)?;
            let rows = batch.num_rows().min(ready - given);
            if rows < batch.num_rows() {
                let rest = batch.slice(rows, batch.num_rows() - rows);
                self.waiting.push_front(rest);
            }
            let values = values.iter().map(|values| values.slice(given, rows));
            let columns = batch.columns().iter().map(|column| column.slice(0, rows));
            let columns = columns.chain(values).collect();
            batches.push(record_batch(&self.schema, columns, rows)?);
            given += rows;
        }
        Ok(batches)
    }
}

pub(super) fn record_batch(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let schema = Arc::clone(schema);
    Ok(RecordBatch::try_new_with_options(
        schema, columns, &options,
    )?)
}

/// The columns in their places; those that no function reads have no values.
fn seen_schema(functions: &[Arc<dyn WindowExpr>], input: &SchemaRef) -> SchemaRef {
    if functions.iter().any(may_filter) {
        return Arc::clone(input);
    }
    let mut read = HashSet::new();
    for function in functions {
        let all = function.all_expressions();
        let all = all.args.into_iter().chain(all.partition_by_exprs);
        let all = all.chain(function.order_by().iter().map(|by| Arc::clone(&by.expr)));
        read.extend(all.flat_map(|expr| collect_columns(&expr)));
    }
    let read: HashSet<usize> = read.iter().map(|column| column.index()).collect();
    let fields = input.fields().iter().enumerate();
    let fields = fields.map(|(at, field)| match read.contains(&at) {
        true => Arc::clone(field),
        false => Arc::new(Field::new(field.name(), DataType::Null, true)),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The same values, without text of others when that is much.
fn without_unused(column: &ArrayRef) -> ArrayRef {
    let is_much = |all: usize, used: usize| all > used.saturating_mul(2) + UNUSED_BYTES;
    match column.data_type() {
        DataType::Utf8View => {
            let text = column.as_string_view();
            let all = text.data_buffers().iter().map(|buffer| buffer.len()).sum();
            match is_much(all, text.total_buffer_bytes_used()) {
                true => Arc::new(text.gc()),
                false => Arc::clone(column),
            }
        }
        DataType::BinaryView => {
            let bytes = column.as_binary_view();
            let all = bytes.data_buffers().iter().map(|buffer| buffer.len()).sum();
            match is_much(all, bytes.total_buffer_bytes_used()) {
                true => Arc::new(bytes.gc()),
                false => Arc::clone(column),
            }
        }
        _ => Arc::clone(column),
    }
}
