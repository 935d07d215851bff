//! `RowFile`: rows in a spill file that are read from the first on, or from the last on.
//!
//! ```text
//! file    frames | frames | ...      of one batch each, which can be opened by themselves
//! memory  which frames each batch has
//! ```

use super::spill_files::external;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions, UInt32Array};
use datafusion::arrow::compute::{BatchCoalescer, take_arrays};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::SpillMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use hushdb_storage::{SpillFile, SpillSpace};
use std::io::Cursor;
use std::ops::Range;
use std::sync::Arc;

/// Rows that are written together.
const BATCH_ROWS: usize = 4096;

/// Rows that are written.
pub(super) struct RowFile {
    schema: SchemaRef,
    file: SpillFile,
    batches: Vec<Range<usize>>,
    rows: usize,
    /// Copies text, so that what other rows have of it is not written.
    gathered: BatchCoalescer,
    metrics: SpillMetrics,
}

impl RowFile {
    pub(super) fn create(
        schema: SchemaRef,
        context: &TaskContext,
        metrics: &SpillMetrics,
    ) -> Result<Self> {
        let space = context.session_config().get_extension::<SpillSpace>();
        let space = space.ok_or_else(|| internal_datafusion_err!("no place for spill files"))?;
        let file = space.create().map_err(external)?;
        metrics.spill_file_count.add(1);
        Ok(Self {
            gathered: BatchCoalescer::new(Arc::clone(&schema), BATCH_ROWS),
            schema,
            file,
            batches: vec![],
            rows: 0,
            metrics: metrics.clone(),
        })
    }

    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.gathered.push_batch(batch)?;
        self.write()
    }

    pub(super) fn finish(mut self) -> Result<StoredRows> {
        self.gathered.finish_buffered_batch()?;
        self.write()?;
        self.file.finish().map_err(external)?;
        let bytes = usize::try_from(self.file.len()).unwrap_or(usize::MAX);
        self.metrics.spilled_bytes.add(bytes);
        Ok(StoredRows {
            schema: self.schema,
            file: Arc::new(self.file),
            batches: self.batches.into(),
            rows: self.rows,
        })
    }

    fn write(&mut self) -> Result<()> {
        while let Some(batch) = self.gathered.next_completed_batch() {
            let mut writer = StreamWriter::try_new(vec![], &self.schema)?;
            writer.write(&batch)?;
            let first = self.file.frames();
            self.file.write(&writer.into_inner()?).map_err(external)?;
            self.file.flush().map_err(external)?;
            self.batches.push(first..self.file.frames());
            self.rows += batch.num_rows();
            self.metrics.spilled_rows.add(batch.num_rows());
        }
        Ok(())
    }
}

/// Rows that were written.
#[derive(Clone)]
pub(super) struct StoredRows {
    schema: SchemaRef,
    file: Arc<SpillFile>,
    batches: Arc<[Range<usize>]>,
    rows: usize,
}

impl StoredRows {
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The rows as they were written.
    pub(super) fn forward(&self) -> SendableRecordBatchStream {
        let stored = self.clone();
        let batches = (0..stored.batches.len()).map(move |at| stored.batch(at));
        self.stream(futures::stream::iter(batches))
    }

    /// The rows from the last to the first.
    pub(super) fn backward(&self) -> SendableRecordBatchStream {
        let stored = self.clone();
        let batches = (0..stored.batches.len()).rev();
        let batches = batches.map(move |at| reversed(&stored.batch(at)?));
        self.stream(futures::stream::iter(batches))
    }

    fn stream(
        &self,
        batches: impl futures::Stream<Item = Result<RecordBatch>> + Send + 'static,
    ) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        Box::pin(RecordBatchStreamAdapter::new(schema, batches))
    }

    fn batch(&self, at: usize) -> Result<RecordBatch> {
        let gone = || internal_datafusion_err!("a spill file has no batch {at}");
        let mut bytes = vec![];
        let frames = self.batches.get(at).cloned().ok_or_else(gone)?;
        let mut frame = frames.start;
        while frame < frames.end {
            let read = self.file.read(frame).map_err(external)?;
            let (more, next) = read.ok_or_else(gone)?;
            bytes.extend_from_slice(&more);
            frame = next;
        }
        let mut batches = StreamReader::try_new(Cursor::new(bytes), None)?;
        Ok(batches.next().ok_or_else(gone)??)
    }
}

fn reversed(batch: &RecordBatch) -> Result<RecordBatch> {
    let rows = batch.num_rows();
    let last_first = UInt32Array::from_iter_values((0..rows as u32).rev());
    let columns = take_arrays(batch.columns(), &last_first, None)?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        batch.schema(),
        columns,
        &options,
    )?)
}
