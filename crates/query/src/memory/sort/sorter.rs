//! `Sorter`: gathers rows, and writes them out as sorted runs when it gets no more memory.

use super::run::{PLACE_BYTES, SortedRun};
use crate::heed::check;
use crate::memory::{Claim, limit_of, row_bytes};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::SpillManager;
use datafusion::physical_plan::metrics::Time;
use datafusion::physical_plan::sorts::streaming_merge::SortedSpillFile;

/// Bytes that a batch of a run has at most, if its rows allow it: a merge holds two batches of each run.
const BATCH_BYTES: usize = 2 << 20;
/// And this share of the memory limit: merges of sixteen runs, as they come and decrypted, go on at once.
const BATCH_SHARE: usize = 384;

/// Rows of one input partition.
pub(super) struct Sorter {
    order: LexOrdering,
    converter: RowConverter,
    batches: Vec<RecordBatch>,
    keys: Vec<Rows>,
    reservation: MemoryReservation,
    spills: SpillManager,
    compute: Time,
    batch_bytes: usize,
    done: Runs,
}

/// What a [`Sorter`] leaves: runs that are in files, or one in memory.
pub(super) struct Runs {
    pub(super) files: Vec<SortedSpillFile>,
    pub(super) in_memory: Option<SortedRun>,
    /// Rows that a batch of them has at most.
    pub(super) batch_rows: usize,
}

impl Sorter {
    pub(super) fn try_new(
        order: &LexOrdering,
        schema: &SchemaRef,
        partition: usize,
        context: &TaskContext,
        spills: SpillManager,
        compute: Time,
    ) -> Result<Self> {
        let fields = order.iter().map(|by| {
            let ty = by.expr.data_type(schema)?;
            Ok(SortField::new_with_options(ty, by.options))
        });
        Ok(Self {
            order: order.clone(),
            converter: RowConverter::new(fields.collect::<Result<_>>()?)?,
            batches: vec![],
            keys: vec![],
            reservation: Claim::SortedRows
                .register(format!("Sort[{partition}]"), context.memory_pool()),
            spills,
            compute,
            batch_bytes: BATCH_BYTES.min(limit_of(context.memory_pool().as_ref()) / BATCH_SHARE),
            done: Runs {
                files: vec![],
                in_memory: None,
                batch_rows: context.session_config().batch_size(),
            },
        })
    }

    pub(super) fn add(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let keys = self.order.iter().map(|by| {
            let values = by.expr.evaluate(&batch)?;
            values.into_array(batch.num_rows())
        });
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let keys = self.converter.convert_columns(&keys)?;
        let rows = row_bytes(&batch)?;
        let bytes = rows + keys.size() + batch.num_rows() * PLACE_BYTES;
        if self.reservation.try_grow(bytes).is_err() {
            self.spill()?;
            self.reservation.try_grow(bytes)?;
        }
        let fit = self.batch_bytes / (rows / batch.num_rows()).max(1);
        self.done.batch_rows = self.done.batch_rows.min(fit.max(1));
        self.batches.push(batch);
        self.keys.push(keys);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Runs> {
        match self.done.files.is_empty() {
            true => self.done.in_memory = self.sorted()?,
            false => self.spill()?,
        }
        Ok(self.done)
    }

    fn sorted(&mut self) -> Result<Option<SortedRun>> {
        let _timer = self.compute.timer();
        let (batches, keys) = (
            std::mem::take(&mut self.batches),
            std::mem::take(&mut self.keys),
        );
        match batches.is_empty() {
            true => Ok(None),
            false => SortedRun::new(batches, keys, self.reservation.take()).map(Some),
        }
    }

    /// Writes what was gathered as a run.
    fn spill(&mut self) -> Result<()> {
        let Some(run) = self.sorted()? else {
            return Ok(());
        };
        let mut file = self.spills.create_in_progress_file("sort")?;
        let mut max_record_batch_memory = 0;
        for batch in run.into_batches(self.done.batch_rows) {
            check()?;
            let bytes = file.append_batch(&batch?)?;
            // What is read back at once.
            file.flush()?;
            // Decoded, and as decrypted bytes beside that.
            max_record_batch_memory = max_record_batch_memory.max(2 * bytes);
        }
        let file = file.finish()?.map(|file| SortedSpillFile {
            file,
            max_record_batch_memory,
        });
        self.done.files.extend(file);
        Ok(())
    }
}
