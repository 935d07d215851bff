//! A window operator that gives rows while it reads: what it keeps are the rows that it read and has not given yet.

use crate::memory::rows::RowsExec;
use crate::memory::{over, row_bytes};
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use parking_lot::Mutex;
use std::sync::Arc;

/// Rows are kept in the operator's input and in their partition's.
const COPIES: usize = 2;

/// What is between the input and the output.
struct Inside {
    reservation: MemoryReservation,
    rows: usize,
    bytes: usize,
}

impl Inside {
    fn enter(&mut self, rows: usize, bytes: usize) -> Result<()> {
        self.rows += rows;
        self.bytes += bytes;
        self.reservation.try_resize(self.bytes * COPIES)
    }

    fn leave(&mut self, rows: usize) {
        let left = self.rows.saturating_sub(rows);
        self.bytes = match self.rows {
            0 => 0,
            before => (self.bytes as u128 * left as u128 / before as u128) as usize,
        };
        self.rows = left;
        self.reservation.resize(self.bytes * COPIES);
    }
}

/// Runs one partition of `window` over what its input gives.
pub(super) fn run(
    window: &Arc<dyn ExecutionPlan>,
    partition: usize,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let Some(&input) = window.children().first() else {
        return Arc::clone(window).execute(partition, context);
    };
    let name = format!("{}[{partition}]", window.name());
    let inside = Inside {
        reservation: MemoryConsumer::new(name).register(context.memory_pool()),
        rows: 0,
        bytes: 0,
    };
    let inside = Arc::new(Mutex::new(inside));
    let entering = Arc::clone(&inside);
    let rows = input.execute(partition, Arc::clone(&context))?;
    let rows = rows.map(move |batch| {
        let batch = batch?;
        entering
            .lock()
            .enter(batch.num_rows(), row_bytes(&batch)?)?;
        Ok(batch)
    });
    let rows = Box::pin(RecordBatchStreamAdapter::new(input.schema(), rows));
    let once: Arc<dyn ExecutionPlan> = Arc::new(RowsExec::of_partition(rows, input.as_ref()));
    let rows = over(window, vec![once])?.execute(0, context)?;
    let rows = rows.map(move |batch| {
        let batch = batch?;
        inside.lock().leave(batch.num_rows());
        Ok(batch)
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(
        window.schema(),
        rows,
    )))
}
