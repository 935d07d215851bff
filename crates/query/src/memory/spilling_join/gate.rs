//! `Gate`: stands between a join and one of its inputs, so that the input can be taken back while nothing was done with it.

use crate::plan_node::{no_expressions, one_input};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{Result, resources_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::Stream;
use parking_lot::Mutex;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// One input of a join.
pub(super) struct Gate {
    input: Arc<dyn ExecutionPlan>,
    slots: Arc<[Mutex<Slot>]>,
    /// The other gate of the join, if batches are kept there until somebody reads here.
    kept_at: Option<Arc<Gate>>,
}

/// One partition of the input.
#[derive(Default)]
pub(super) struct Slot {
    stream: Option<SendableRecordBatchStream>,
    /// What came out, as long as it may be wanted again.
    kept: Vec<RecordBatch>,
    is_open: bool,
    is_released: bool,
    failed: bool,
    was_read: bool,
}

impl Gate {
    /// Keeps what passes until `release`.
    pub(super) fn keeping(input: Arc<dyn ExecutionPlan>) -> Self {
        Self::new(input, None)
    }

    /// Releases what `other` keeps when it is first read from.
    pub(super) fn releasing(input: Arc<dyn ExecutionPlan>, other: Arc<Self>) -> Self {
        Self::new(input, Some(other))
    }

    fn new(input: Arc<dyn ExecutionPlan>, kept_at: Option<Arc<Self>>) -> Self {
        let partitions = input.output_partitioning().partition_count();
        let slots = (0..partitions).map(|_| Mutex::default());
        Self {
            slots: slots.collect(),
            input,
            kept_at,
        }
    }

    pub(super) fn partitions(&self) -> usize {
        self.slots.len()
    }

    fn slot(&self, partition: usize) -> Option<&Mutex<Slot>> {
        self.slots.get(partition)
    }

    /// Whether the input itself reported an error.
    pub(super) fn failed(&self, partition: usize) -> bool {
        self.slot(partition).is_some_and(|slot| slot.lock().failed)
    }

    /// Whether anything was asked of the input.
    pub(super) fn was_read(&self, partition: usize) -> bool {
        self.slot(partition)
            .is_some_and(|slot| slot.lock().was_read)
    }

    /// What came out of a partition, and what is still to come.
    pub(super) fn take_back(
        &self,
        partition: usize,
    ) -> (Vec<RecordBatch>, Option<SendableRecordBatchStream>) {
        match self.slot(partition) {
            Some(slot) => {
                let mut slot = slot.lock();
                (std::mem::take(&mut slot.kept), slot.stream.take())
            }
            None => (vec![], None),
        }
    }

    /// What passed is not wanted again.
    fn release(&self, partition: usize) {
        // A build side that all partitions share has one.
        let partition = if self.slots.len() == 1 { 0 } else { partition };
        if let Some(slot) = self.slot(partition) {
            let mut slot = slot.lock();
            slot.kept = vec![];
            slot.is_released = true;
        }
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self::new(input, self.kept_at.clone()))
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gate({})", self.input.name())
    }
}

impl DisplayAs for Gate {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gate")
    }
}

impl ExecutionPlan for Gate {
    one_input!("Gate");
    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let is_kept = self.kept_at.is_none();
        if is_kept && self.slot(partition).is_some_and(|slot| slot.lock().is_open) {
            // The library's nested loop join would run its input again, which not every input can.
            return resources_err!("the rows of this side are kept");
        }
        let stream = self.input.execute(partition, context)?;
        if let Some(slot) = self.slot(partition) {
            *slot.lock() = Slot {
                is_open: true,
                stream: Some(stream),
                is_released: self.kept_at.is_some(),
                ..Slot::default()
            };
        }
        Ok(Box::pin(GateStream {
            schema: self.input.schema(),
            slots: Arc::clone(&self.slots),
            partition,
            kept_at: self.kept_at.clone(),
        }))
    }
}

struct GateStream {
    schema: SchemaRef,
    slots: Arc<[Mutex<Slot>]>,
    partition: usize,
    kept_at: Option<Arc<Gate>>,
}

impl Stream for GateStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(other) = self.kept_at.take() {
            other.release(self.partition);
        }
        let Some(slot) = self.slots.get(self.partition) else {
            return Poll::Ready(None);
        };
        let mut slot = slot.lock();
        slot.was_read = true;
        let Some(stream) = &mut slot.stream else {
            return Poll::Ready(None);
        };
        let polled = stream.as_mut().poll_next(context);
        match &polled {
            Poll::Ready(Some(Ok(batch))) if !slot.is_released => slot.kept.push(batch.clone()),
            Poll::Ready(Some(Err(_))) => slot.failed = true,
            _ => {}
        }
        polled
    }
}

impl RecordBatchStream for GateStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
