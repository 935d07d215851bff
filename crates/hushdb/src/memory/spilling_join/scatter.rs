//! Dividing rows among spill files by a hash of their keys.
//!
//! What must hold: rows of equal keys get to files of the same number, whichever side they are of; each level of division
//! uses another hash.

use datafusion::arrow::array::{RecordBatch, UInt32Array};
use datafusion::arrow::compute::{BatchCoalescer, take_record_batch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::common::Result;
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::execution::spill_file::{SpillFile, SpillWriter};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::SpillMetrics;
use futures::StreamExt;
use std::sync::Arc;

/// Files that rows are divided among.
pub(super) const FILES: usize = 16;
/// Rows that are written together.
const WRITTEN_ROWS: usize = 4096;

/// Rows on disk.
pub(super) type Spilled = Arc<dyn SpillFile>;

/// Writes rows to files by a hash of `keys`; `None` for a file that would have no rows.
pub(super) async fn scatter(
    rows: (Vec<RecordBatch>, Option<SendableRecordBatchStream>),
    schema: &SchemaRef,
    keys: &[Arc<dyn PhysicalExpr>],
    level: usize,
    context: &TaskContext,
    metrics: &SpillMetrics,
) -> Result<Vec<Option<Spilled>>> {
    let mut scatter = Scatter {
        keys,
        hash: RandomState::with_seed(0x6875_7368 + level as u64),
        lanes: (0..FILES).map(|_| Lane::new(schema)).collect(),
        context,
        metrics,
    };
    let (kept, rest) = rows;
    for batch in kept {
        scatter.push(&batch)?;
    }
    if let Some(mut rest) = rest {
        while let Some(batch) = rest.next().await {
            scatter.push(&batch?)?;
        }
    }
    let lanes = scatter.lanes.into_iter();
    lanes.map(|lane| lane.finish(context, metrics)).collect()
}

struct Scatter<'a> {
    keys: &'a [Arc<dyn PhysicalExpr>],
    hash: RandomState,
    lanes: Vec<Lane>,
    context: &'a TaskContext,
    metrics: &'a SpillMetrics,
}

impl Scatter<'_> {
    fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let keys = self.keys.iter();
        let keys = keys.map(|key| key.evaluate(batch)?.into_array(rows));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let mut hashes = vec![0; rows];
        create_hashes(&keys, &self.hash, &mut hashes)?;
        let mut picked: Vec<Vec<u32>> = vec![vec![]; FILES];
        for (row, hash) in (0_u32..).zip(&hashes) {
            // The low bits choose places in hash tables.
            if let Some(rows) = picked.get_mut((hash >> 32) as usize % FILES) {
                rows.push(row);
            }
        }
        for (lane, rows) in self.lanes.iter_mut().zip(picked) {
            if !rows.is_empty() {
                let rows = take_record_batch(batch, &UInt32Array::from(rows))?;
                lane.push(rows, self.context, self.metrics)?;
            }
        }
        Ok(())
    }
}

/// The way to one file.
struct Lane {
    schema: SchemaRef,
    /// Gathers rows, and copies text so that what other rows have of it is not written.
    gathered: BatchCoalescer,
    open: Option<(Spilled, StreamWriter<Box<dyn SpillWriter>>)>,
}

impl Lane {
    fn new(schema: &SchemaRef) -> Self {
        Self {
            schema: Arc::clone(schema),
            gathered: BatchCoalescer::new(Arc::clone(schema), WRITTEN_ROWS),
            open: None,
        }
    }

    fn push(
        &mut self,
        rows: RecordBatch,
        context: &TaskContext,
        metrics: &SpillMetrics,
    ) -> Result<()> {
        self.gathered.push_batch(rows)?;
        self.write(context, metrics)
    }

    fn write(&mut self, context: &TaskContext, metrics: &SpillMetrics) -> Result<()> {
        while let Some(batch) = self.gathered.next_completed_batch() {
            if self.open.is_none() {
                let file = context
                    .runtime_env()
                    .disk_manager
                    .create_tmp_file("hash join")?;
                let writer = StreamWriter::try_new(file.open_writer()?, &self.schema)?;
                metrics.spill_file_count.add(1);
                self.open = Some((file, writer));
            }
            if let Some((_, writer)) = &mut self.open {
                writer.write(&batch)?;
                metrics.spilled_rows.add(batch.num_rows());
            }
        }
        Ok(())
    }

    fn finish(mut self, context: &TaskContext, metrics: &SpillMetrics) -> Result<Option<Spilled>> {
        self.gathered.finish_buffered_batch()?;
        self.write(context, metrics)?;
        let Some((file, writer)) = self.open else {
            return Ok(None);
        };
        writer.into_inner()?.finish()?;
        let bytes = file.size().unwrap_or_default();
        metrics
            .spilled_bytes
            .add(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(Some(file))
    }
}
