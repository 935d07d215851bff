//! Dividing rows among spill files by a hash of their keys.
//!
//! What must hold: rows of equal keys get to files of the same number, whichever side they are of; each level of division
//! uses another hash.

use crate::memory::{Claim, compact, limit_of};
use datafusion::arrow::array::{Array, RecordBatch, RecordBatchOptions, UInt32Array};
use datafusion::arrow::compute::{concat_batches, take_record_batch};
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
/// Rows that are written together at most.
const WRITTEN_ROWS: usize = 4096;
/// The share of the memory limit that rows may take before they are written, of all threads together. Fewer are written together when
/// they would take more.
const GATHERED_SHARE: usize = 16;
/// But not so few that they are fewer bytes.
const LEAST_BYTES: usize = 16 << 10;
/// What a file that is written keeps until it is a frame.
const FRAME_BYTES: usize = 256 << 10;

/// Rows on disk.
pub(super) type Spilled = Arc<dyn SpillFile>;

/// The rows of one side.
#[derive(Clone)]
pub(super) struct Scattered {
    /// `None` for a file that would have no rows.
    pub(super) files: Vec<Option<Spilled>>,
    /// Rows with NULL in the key, if these were to be kept apart.
    pub(super) null_keys: Option<Spilled>,
}

/// What is divided how.
pub(super) struct Division<'a> {
    pub(super) schema: &'a SchemaRef,
    pub(super) keys: &'a [Arc<dyn PhysicalExpr>],
    pub(super) level: usize,
    /// Whether rows with NULL in the key go to a file of their own.
    pub(super) nulls_apart: bool,
    pub(super) context: &'a TaskContext,
    pub(super) metrics: &'a SpillMetrics,
}

impl Division<'_> {
    /// Writes rows to files by a hash of their keys: those that were read before, and those to come.
    pub(super) async fn scatter(
        &self,
        (kept, rest): (Vec<RecordBatch>, Option<SendableRecordBatchStream>),
    ) -> Result<Scattered> {
        // The last lane is that of NULL.
        let pool = self.context.memory_pool();
        let threads = self.context.session_config().target_partitions();
        let share = limit_of(pool.as_ref()) / GATHERED_SHARE / threads / (FILES + 1);
        let most = share.max(LEAST_BYTES);
        // Taken without asking: it has to be before less is held.
        let reservation = Claim::Held.register("HashJoinDivision", pool);
        let mut lanes: Vec<Lane> = (0..=FILES).map(|_| Lane::new(self.schema, most)).collect();
        for batch in kept {
            self.push(&mut lanes, &batch)?;
            reservation.resize(held_bytes(&lanes));
        }
        if let Some(mut rest) = rest {
            while let Some(batch) = rest.next().await {
                self.push(&mut lanes, &batch?)?;
                reservation.resize(held_bytes(&lanes));
            }
        }
        let files = lanes.into_iter().map(|lane| lane.finish(self));
        let mut files = files.collect::<Result<Vec<_>>>()?;
        let null_keys = files.pop().flatten();
        Ok(Scattered { files, null_keys })
    }

    fn push(&self, lanes: &mut [Lane], batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let keys = self.keys.iter();
        let keys = keys.map(|key| key.evaluate(batch)?.into_array(rows));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let mut hashes = vec![0; rows];
        let hash = RandomState::with_seed(0x6875_7368 + self.level as u64);
        create_hashes(&keys, &hash, &mut hashes)?;
        let has_null = |row: usize| self.nulls_apart && keys.iter().any(|key| key.is_null(row));
        let mut picked: Vec<Vec<u32>> = vec![vec![]; lanes.len()];
        for (row, hash) in (0_u32..).zip(&hashes) {
            // The low bits choose places in hash tables.
            let lane = match has_null(row as usize) {
                true => FILES,
                false => (hash >> 32) as usize % FILES,
            };
            if let Some(rows) = picked.get_mut(lane) {
                rows.push(row);
            }
        }
        for (lane, rows) in lanes.iter_mut().zip(picked) {
            if !rows.is_empty() {
                lane.push(taken(batch, rows)?, self)?;
            }
        }
        Ok(())
    }
}

/// Some rows of a batch, which may have no columns: a side whose key is a constant has none.
fn taken(batch: &RecordBatch, rows: Vec<u32>) -> Result<RecordBatch> {
    if batch.num_columns() > 0 {
        return Ok(take_record_batch(batch, &UInt32Array::from(rows))?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    Ok(RecordBatch::try_new_with_options(
        batch.schema(),
        vec![],
        &options,
    )?)
}

/// The same rows, texts in buffers of their own.
fn compacted(rows: &RecordBatch) -> Result<RecordBatch> {
    let columns = rows.columns().iter().map(|array| compact(array.clone()));
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    let columns = columns.collect();
    Ok(RecordBatch::try_new_with_options(
        rows.schema(),
        columns,
        &options,
    )?)
}

/// What all that is on its way to files takes.
fn held_bytes(lanes: &[Lane]) -> usize {
    let held = lanes.iter().map(|lane| {
        let frame = lane.open.as_ref().map_or(0, |_| FRAME_BYTES);
        lane.bytes + frame
    });
    held.sum()
}

/// The way to one file.
struct Lane {
    schema: SchemaRef,
    /// Rows in buffers of their own.
    gathered: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
    /// Bytes of rows after which they are written.
    most: usize,
    open: Option<(Spilled, StreamWriter<Box<dyn SpillWriter>>)>,
}

impl Lane {
    fn new(schema: &SchemaRef, most: usize) -> Self {
        Self {
            schema: Arc::clone(schema),
            gathered: vec![],
            rows: 0,
            bytes: 0,
            most,
            open: None,
        }
    }

    fn push(&mut self, rows: RecordBatch, division: &Division<'_>) -> Result<()> {
        // What other rows have of a text's buffer is not kept.
        let rows = compacted(&rows)?;
        self.rows += rows.num_rows();
        self.bytes += rows.get_array_memory_size();
        self.gathered.push(rows);
        match self.rows >= WRITTEN_ROWS || self.bytes >= self.most {
            true => self.write(division),
            false => Ok(()),
        }
    }

    fn write(&mut self, division: &Division<'_>) -> Result<()> {
        (self.rows, self.bytes) = (0, 0);
        let batch = concat_batches(&self.schema, &std::mem::take(&mut self.gathered))?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        // Whoever reads it gets one buffer for each column of text, not one for each batch that was pushed.
        let batch = compacted(&batch)?;
        if self.open.is_none() {
            let file = division
                .context
                .runtime_env()
                .disk_manager
                .create_tmp_file("hash join")?;
            let writer = StreamWriter::try_new(file.open_writer()?, &self.schema)?;
            division.metrics.spill_file_count.add(1);
            self.open = Some((file, writer));
        }
        if let Some((_, writer)) = &mut self.open {
            writer.write(&batch)?;
            division.metrics.spilled_rows.add(batch.num_rows());
        }
        Ok(())
    }

    fn finish(mut self, division: &Division<'_>) -> Result<Option<Spilled>> {
        self.write(division)?;
        let Some((file, writer)) = self.open else {
            return Ok(None);
        };
        writer.into_inner()?.finish()?;
        let bytes = file.size().unwrap_or_default();
        division
            .metrics
            .spilled_bytes
            .add(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(Some(file))
    }
}
