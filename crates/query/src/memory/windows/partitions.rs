//! `Partitions`: a window operator that is fed with a few whole partitions at a time, and does large ones by itself.

use super::functions::Functions;
use super::running::Running;
use super::spilled_partition::SpilledPartition;
use crate::memory::rows::RowsExec;
use crate::memory::{Claim, MemoryBudget, over, row_bytes};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::utils::{evaluate_partition_ranges, get_row_at_idx};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_plan::metrics::SpillMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec, WindowExpr};
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};
use futures::StreamExt;
use std::sync::Arc;

/// Rows of whole partitions after which the operator is run over them, and of one after which it is large if it can be done
/// without a file.
const ENOUGH_ROWS: usize = 1 << 16;
/// Rows are kept, and concatenated, and their values are beside them.
const COPIES: usize = 2;
/// Taken at the beginning, before sorts below have all that there is.
const LEAST_BYTES: usize = 2 << 20;

/// A window as it was planned, over an input that is sorted by the keys of its partitions.
pub(super) struct Planned {
    functions: Vec<Arc<dyn WindowExpr>>,
    input: Arc<dyn ExecutionPlan>,
    /// In the order of the input.
    keys: Vec<PhysicalSortExpr>,
    /// Whether the functions need a few rows at a time.
    runs: bool,
}

impl Planned {
    /// `None` for what is no window.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        if let Some(window) = plan.downcast_ref::<WindowAggExec>() {
            return Ok(Some(Self {
                functions: window.window_expr().to_vec(),
                input: Arc::clone(window.input()),
                keys: window.partition_by_sort_keys()?,
                runs: false,
            }));
        }
        let window = plan.downcast_ref::<BoundedWindowAggExec>();
        let window = window.filter(|window| window.input_order_mode == InputOrderMode::Sorted);
        let planned = window.map(|window| {
            Ok(Self {
                functions: window.window_expr().to_vec(),
                input: Arc::clone(window.input()),
                keys: window.partition_by_sort_keys()?,
                runs: true,
            })
        });
        planned.transpose()
    }
}

/// A partition that is not held.
enum Large {
    Running(Box<Running>),
    Spilled(Box<SpilledPartition>),
}

impl Large {
    /// Takes rows; gives those that have their values now.
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<SendableRecordBatchStream>> {
        match self {
            Self::Running(running) => running.push(batch),
            Self::Spilled(spilled) => spilled.push(batch).map(|()| vec![]),
        }
    }
}

pub(super) struct Partitions {
    window: Arc<dyn ExecutionPlan>,
    planned: Planned,
    input: SendableRecordBatchStream,
    /// For partitions that outgrow memory, or the name of a function that cannot be had of those.
    functions: Result<Arc<Functions>, String>,
    /// Whether every partition is done as a large one: for tests, or because there is only one.
    always_large: bool,
    large: Option<Large>,
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
        planned: Planned,
        window: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
        metrics: SpillMetrics,
    ) -> Result<Self> {
        let name = format!("WindowAggExec[{partition}]");
        let reservation = Claim::Partition.register(name, context.memory_pool());
        reservation.grow(LEAST_BYTES);
        let functions = Functions::of(&planned.functions, &planned.input.schema())?.map(Arc::new);
        let memory = context.session_config().get_extension::<MemoryBudget>();
        let forced = memory.is_some_and(|memory| memory.forces_spilling());
        Ok(Self {
            window: Arc::clone(window),
            input: planned.input.execute(partition, Arc::clone(&context))?,
            always_large: forced && functions.is_ok() || planned.runs && planned.keys.is_empty(),
            planned,
            functions,
            large: None,
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
                    self.output = match self.large.take() {
                        Some(large) => Some(self.rest_of(large)?),
                        None => self.run_whole()?,
                    };
                }
            }
        }
    }

    /// Holds a batch, or has something done first that makes room for it.
    fn take(&mut self, batch: RecordBatch) -> Result<()> {
        if self.always_large && self.large.is_none() {
            self.begin_large(&batch)?;
        }
        if let Some(mut large) = self.large.take() {
            let end = self.first_end(&batch)?;
            let ready = large.push(batch.slice(0, end))?;
            let mut output = self.stream_of(ready);
            if end == batch.num_rows() {
                self.large = Some(large);
            } else {
                output = Box::pin(RecordBatchStreamAdapter::new(
                    self.window.schema(),
                    output.chain(self.rest_of(large)?),
                ));
                self.waiting = Some(batch.slice(end, batch.num_rows() - end));
                self.last_key = vec![];
            }
            self.output = Some(output);
            return Ok(());
        }
        let begin = self.last_begin(&batch)?;
        if begin == Some(0) {
            self.whole = self.held.len();
        }
        if let Err(refused) = self.reserve(self.reserved + row_bytes(&batch)? * COPIES) {
            self.make_room(&batch, refused)?;
            self.waiting = Some(batch);
            return Ok(());
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
        let rows = self.held.iter().map(RecordBatch::num_rows);
        if rows.clone().take(self.whole).sum::<usize>() >= ENOUGH_ROWS {
            self.output = self.run_whole()?;
        } else if self.planned.runs && rows.skip(self.whole).sum::<usize>() >= ENOUGH_ROWS {
            match self.whole {
                0 => self.begin_large(&batch)?,
                _ => self.output = self.run_whole()?,
            }
        }
        Ok(())
    }

    fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.reservation.try_resize(bytes.max(LEAST_BYTES))?;
        self.reserved = bytes;
        Ok(())
    }

    /// Has rows that are held go on, so that there is room for a batch.
    fn make_room(&mut self, batch: &RecordBatch, refused: DataFusionError) -> Result<()> {
        if self.whole > 0 {
            self.output = self.run_whole()?;
            return Ok(());
        }
        match (&self.functions, refused) {
            (Err(function), DataFusionError::ResourcesExhausted(text)) => {
                Err(DataFusionError::ResourcesExhausted(format!(
                    "{text}; {function} needs all rows of one partition of its window at once"
                )))
            }
            (Err(_), other) => Err(other),
            (Ok(_), _) => self.begin_large(batch),
        }
    }

    /// Has the rows of the last partition done as they come: those that are held, or that of which a batch has the first.
    fn begin_large(&mut self, batch: &RecordBatch) -> Result<()> {
        let Ok(functions) = &self.functions else {
            return internal_err!("a window that must be held");
        };
        let (input, schema) = (self.planned.input.schema(), self.window.schema());
        let mut large = match self.planned.runs {
            true => {
                let functions = &self.planned.functions;
                let (context, metrics) = (&self.context, &self.metrics);
                let running = Running::new(functions, &input, schema, context, metrics);
                Large::Running(Box::new(running))
            }
            false => {
                let (context, metrics) = (&self.context, &self.metrics);
                let spilled = SpilledPartition::begin(functions, input, schema, context, metrics)?;
                Large::Spilled(Box::new(spilled))
            }
        };
        if self.held.is_empty() {
            self.last_key = self.key_at(batch, 0)?;
        }
        let mut ready = vec![];
        for batch in std::mem::take(&mut self.held) {
            ready.extend(large.push(batch)?);
        }
        self.large = Some(large);
        self.output = Some(self.stream_of(ready));
        self.reserve(0)
    }

    fn rest_of(&self, large: Large) -> Result<SendableRecordBatchStream> {
        Ok(match large {
            Large::Running(running) => self.stream_of(running.finish()?),
            Large::Spilled(spilled) => spilled.finish(),
        })
    }

    fn stream_of(&self, ready: Vec<SendableRecordBatchStream>) -> SendableRecordBatchStream {
        let ready = futures::stream::iter(ready).flatten();
        Box::pin(RecordBatchStreamAdapter::new(self.window.schema(), ready))
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
            self.planned.input.schema(),
            rows,
        ));
        let once = RowsExec::of_partition(rows, self.planned.input.as_ref());
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
        Ok(!self.planned.keys.is_empty() && self.last_key != self.key_at(batch, 0)?)
    }

    fn ranges(&self, batch: &RecordBatch) -> Result<Vec<std::ops::Range<usize>>> {
        let columns = self
            .planned
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
            .planned
            .keys
            .iter()
            .map(|key| key.expr.evaluate(&one)?.into_array(1));
        get_row_at_idx(&columns.collect::<Result<Vec<_>>>()?, 0)
    }
}
