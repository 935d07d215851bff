//! `Partitions`: a window operator that needs its partitions whole, fed with a few of them at a time.

use super::one_value::{OneValue, SpilledPartition};
use crate::memory::rows::RowsExec;
use crate::memory::{over, row_bytes};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::utils::{evaluate_partition_ranges, get_row_at_idx};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::SpillMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::WindowAggExec;
use futures::StreamExt;
use std::sync::Arc;

/// Rows of whole partitions after which the operator is run over them.
const ENOUGH_ROWS: usize = 1 << 16;
/// Rows are kept, and concatenated, and their values are beside them.
const COPIES: usize = 2;
/// Taken at the beginning, before sorts below have all that there is.
const LEAST_BYTES: usize = 2 << 20;

pub(super) struct Partitions {
    window: Arc<dyn ExecutionPlan>,
    input_plan: Arc<dyn ExecutionPlan>,
    input: SendableRecordBatchStream,
    /// In the order of the input, those of PARTITION BY.
    keys: Vec<PhysicalSortExpr>,
    /// How a partition is done that outgrows memory.
    one_value: Option<OneValue>,
    spilling: Option<SpilledPartition>,
    held: Vec<RecordBatch>,
    /// As many of the held batches are of partitions that have ended.
    whole: usize,
    last_key: Vec<ScalarValue>,
    reservation: MemoryReservation,
    /// Bytes of it that are wanted; it is never less than the least.
    reserved: usize,
    /// What was read and not held yet.
    waiting: Option<RecordBatch>,
    output: Option<SendableRecordBatchStream>,
    ended: bool,
    context: Arc<TaskContext>,
    metrics: SpillMetrics,
}

impl Partitions {
    pub(super) fn try_new(
        planned: &WindowAggExec,
        window: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
        metrics: SpillMetrics,
    ) -> Result<Self> {
        let name = format!("WindowAggExec[{partition}]");
        let reservation = MemoryConsumer::new(name).register(context.memory_pool());
        reservation.grow(LEAST_BYTES);
        Ok(Self {
            window: Arc::clone(window),
            input_plan: Arc::clone(planned.input()),
            input: planned.input().execute(partition, Arc::clone(&context))?,
            keys: planned.partition_by_sort_keys()?,
            one_value: OneValue::of(planned),
            spilling: None,
            held: vec![],
            whole: 0,
            last_key: vec![],
            reservation,
            reserved: 0,
            waiting: None,
            output: None,
            ended: false,
            context,
            metrics,
        })
    }

    pub(super) fn stream(self) -> SendableRecordBatchStream {
        let schema = self.window.schema();
        let rows = futures::stream::try_unfold(self, |mut partitions| async move {
            let next = partitions.next().await?;
            Ok(next.map(|batch| (batch, partitions)))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(output) = &mut self.output {
                if let Some(batch) = output.next().await {
                    return batch.map(Some);
                }
                self.output = None;
                let held = self.held.iter().map(row_bytes).sum::<Result<usize>>()?;
                self.reserve(held * COPIES)?;
            }
            let batch = match self.waiting.take() {
                Some(batch) => Some(batch),
                None if self.ended => return Ok(None),
                None => self.input.next().await.transpose()?,
            };
            match batch {
                Some(batch) if batch.num_rows() == 0 => {}
                Some(batch) => self.take(batch)?,
                None => {
                    self.ended = true;
                    self.whole = self.held.len();
                    self.output = match self.spilling.take() {
                        Some(spilled) => Some(spilled.finish()?),
                        None => self.run_whole()?,
                    };
                }
            }
        }
    }

    /// Holds a batch, or has something done first that makes room for it.
    fn take(&mut self, batch: RecordBatch) -> Result<()> {
        let begin = self.last_begin(&batch)?;
        if self.spilling.is_some() {
            let end = self.first_end(&batch)?;
            if let Some(spilling) = &mut self.spilling {
                spilling.push(&batch.slice(0, end))?;
            }
            if end < batch.num_rows() {
                let spilled = self.spilling.take();
                self.output = spilled.map(SpilledPartition::finish).transpose()?;
                self.waiting = Some(batch.slice(end, batch.num_rows() - end));
                self.last_key = vec![];
            }
            return Ok(());
        }
        if begin == Some(0) {
            self.whole = self.held.len();
        }
        if let Err(refused) = self.reserve(self.reserved + row_bytes(&batch)? * COPIES) {
            self.waiting = Some(batch);
            return self.make_room(refused);
        }
        if let Some(begin) = begin {
            if begin > 0 {
                self.held.push(batch.slice(0, begin));
            }
            self.whole = self.held.len();
            self.held.push(batch.slice(begin, batch.num_rows() - begin));
        } else {
            self.held.push(batch.clone());
        }
        self.last_key = self.key_at(&batch, batch.num_rows() - 1)?;
        let whole = self.held.iter().take(self.whole);
        if whole.map(RecordBatch::num_rows).sum::<usize>() >= ENOUGH_ROWS {
            self.output = self.run_whole()?;
        }
        Ok(())
    }

    fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.reservation.try_resize(bytes.max(LEAST_BYTES))?;
        self.reserved = bytes;
        Ok(())
    }

    fn make_room(&mut self, refused: DataFusionError) -> Result<()> {
        if self.whole > 0 {
            self.output = self.run_whole()?;
            return Ok(());
        }
        let (Some(one_value), false) = (&self.one_value, self.held.is_empty()) else {
            return Err(match refused {
                DataFusionError::ResourcesExhausted(text) => DataFusionError::ResourcesExhausted(
                    format!("{text}; all rows of one partition of this window are needed at once"),
                ),
                other => other,
            });
        };
        let mut spilling =
            one_value.begin(&self.window, &self.input_plan, &self.context, &self.metrics)?;
        for batch in self.held.drain(..) {
            spilling.push(&batch)?;
        }
        self.reserve(0)?;
        self.spilling = Some(spilling);
        Ok(())
    }

    /// Runs the operator over the partitions that are whole.
    fn run_whole(&mut self) -> Result<Option<SendableRecordBatchStream>> {
        let whole: Vec<RecordBatch> = self.held.drain(..self.whole).collect();
        self.whole = 0;
        if whole.is_empty() {
            return Ok(None);
        }
        let rows = futures::stream::iter(whole.into_iter().map(Ok));
        let rows = Box::pin(RecordBatchStreamAdapter::new(
            self.input_plan.schema(),
            rows,
        ));
        let once = RowsExec::of_partition(rows, self.input_plan.as_ref());
        let window = over(&self.window, vec![Arc::new(once)])?;
        let rows = window.execute(0, Arc::clone(&self.context))?;
        let most = self.context.session_config().batch_size();
        let rows = rows.flat_map(move |batch| {
            let pieces: Vec<Result<RecordBatch>> = match batch {
                Err(error) => vec![Err(error)],
                Ok(batch) => {
                    let rows = batch.num_rows();
                    let starts = (0..rows).step_by(most);
                    let pieces = starts.map(|start| batch.slice(start, most.min(rows - start)));
                    pieces.map(Ok).collect()
                }
            };
            futures::stream::iter(pieces)
        });
        Ok(Some(Box::pin(RecordBatchStreamAdapter::new(
            self.window.schema(),
            rows,
        ))))
    }

    /// Where in a batch the last partition begins; `None` if it is that of the rows before.
    fn last_begin(&self, batch: &RecordBatch) -> Result<Option<usize>> {
        let last = self.ranges(batch)?.pop().map_or(0, |range| range.start);
        Ok((last > 0 || self.begins_another(batch)?).then_some(last))
    }

    /// Where in a batch the partition of the rows before ends.
    fn first_end(&self, batch: &RecordBatch) -> Result<usize> {
        if self.begins_another(batch)? {
            return Ok(0);
        }
        let ranges = self.ranges(batch)?;
        Ok(ranges.first().map_or(0, |range| range.end))
    }

    fn begins_another(&self, batch: &RecordBatch) -> Result<bool> {
        Ok(!self.keys.is_empty() && self.last_key != self.key_at(batch, 0)?)
    }

    fn ranges(&self, batch: &RecordBatch) -> Result<Vec<std::ops::Range<usize>>> {
        let columns = self
            .keys
            .iter()
            .map(|key| key.evaluate_to_sort_column(batch));
        evaluate_partition_ranges(batch.num_rows(), &columns.collect::<Result<Vec<_>>>()?)
    }

    fn key_at(&self, batch: &RecordBatch, row: usize) -> Result<Vec<ScalarValue>> {
        if row >= batch.num_rows() {
            return internal_err!("a batch has no row {row}");
        }
        let one = batch.slice(row, 1);
        let columns = self
            .keys
            .iter()
            .map(|key| key.expr.evaluate(&one)?.into_array(1));
        get_row_at_idx(&columns.collect::<Result<Vec<_>>>()?, 0)
    }
}
