//! Files that a statement names to be read: what is wrong with one is an error that names it, also where the library that
//! reads it panics.
//!
//! What must hold: the bytes are a stranger's. No text of theirs, and no text of a panic, is repeated.

use super::sound_parquet::SoundReaders;
use crate::functions::one_nan;
use crate::heed::heeding;
use crate::memory::MemoryBudget;
use crate::plan_node::{no_expressions, one_input};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DataFusionError, Result as DfResult};
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{Stream, StreamExt};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::expect_panics;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Reads a file, or what its head says.
///
/// # Errors
/// What `read` says, with the file's name.
pub fn reading<T>(path: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    match expect_panics(read) {
        Some(result) => result.map_err(|error| named(path, error)),
        None => Err(damaged(path)),
    }
}

fn damaged(path: &str) -> Error {
    Error::invalid(format!("cannot read \"{path}\": the file is damaged"))
}

/// The error with the file's name, if it is about the file.
pub fn named(path: &str, error: Error) -> Error {
    match error.kind() {
        ErrorKind::Interrupted | ErrorKind::OutOfMemory | ErrorKind::Full => error,
        kind if kind != ErrorKind::Internal && error.message().contains(path) => error,
        ErrorKind::Internal => Error::invalid(format!(
            "cannot read \"{path}\": the file is damaged: {}",
            error.message()
        )),
        kind => Error::new(kind, format!("cannot read \"{path}\": {}", error.message())),
    }
}

/// Puts [`GivenFileExec`] over all reading of files; the last of the rules, since others look for what it covers.
#[derive(Debug)]
pub(crate) struct GivenFiles(pub(crate) Arc<MemoryBudget>);

impl PhysicalOptimizerRule for GivenFiles {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> DfResult<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some(scan) = node.downcast_ref::<DataSourceExec>() else {
                return Ok(Transformed::no(node));
            };
            let Some(files) = scan.data_source().downcast_ref::<FileScanConfig>() else {
                return Ok(Transformed::no(node));
            };
            let names = files.file_groups.iter().flat_map(|group| group.files());
            let mut names = names.map(|file| format!("/{}", file.object_meta.location));
            let first = names.next().unwrap_or_default();
            let name = match names.all(|name| name == first) {
                true => first,
                false => format!("{first} and others"),
            };
            let input = self.read_with_care(files).unwrap_or(Arc::clone(&node));
            Ok(Transformed::yes(Arc::new(GivenFileExec {
                input,
                name: name.into(),
            })))
        })
        .map(|t| t.data)
    }

    fn name(&self) -> &str {
        "given_files"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

impl GivenFiles {
    /// The same, with pages looked at before they are unpacked, where a file has pages.
    fn read_with_care(&self, files: &FileScanConfig) -> Option<Arc<dyn ExecutionPlan>> {
        let source = files.file_source().downcast_ref::<ParquetSource>()?;
        let readers = SoundReaders {
            readers: Arc::clone(source.parquet_file_reader_factory()?),
            memory: Arc::clone(&self.0),
        };
        let source = source.clone();
        let source = source.with_parquet_file_reader_factory(Arc::new(readers));
        let files = FileScanConfigBuilder::from(files.clone()).with_source(Arc::new(source));
        Some(DataSourceExec::from_data_source(files.build()))
    }
}

/// Reading a file, of which every error says which one it was.
#[derive(Debug)]
struct GivenFileExec {
    input: Arc<dyn ExecutionPlan>,
    name: Arc<str>,
}

impl GivenFileExec {
    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let name = Arc::clone(&self.name);
        Arc::new(Self { input, name })
    }
}

impl DisplayAs for GivenFileExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GivenFileExec")
    }
}

impl ExecutionPlan for GivenFileExec {
    one_input!("GivenFileExec");
    no_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        Ok(Box::pin(GivenFileStream {
            input: Some(heeding(input, &context)),
            schema: self.input.schema(),
            name: Arc::clone(&self.name),
        }))
    }
}

/// Batches of a file, up to the first error.
struct GivenFileStream {
    input: Option<SendableRecordBatchStream>,
    schema: SchemaRef,
    name: Arc<str>,
}

impl Stream for GivenFileStream {
    type Item = DfResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(input) = &mut self.input else {
            return Poll::Ready(None);
        };
        let error = match expect_panics(|| input.poll_next_unpin(context)) {
            Some(Poll::Ready(Some(Err(error)))) => named(&self.name, Error::from(error)),
            Some(Poll::Ready(Some(Ok(batch)))) => {
                return Poll::Ready(Some(plain_floats(batch)));
            }
            Some(poll) => return poll,
            None => damaged(&self.name),
        };
        self.input = None;
        Poll::Ready(Some(Err(DataFusionError::from(error))))
    }
}

/// The batch with NaNs of one sign, as columns are to have them.
fn plain_floats(batch: RecordBatch) -> DfResult<RecordBatch> {
    let columns: Vec<_> = batch.columns().iter().map(one_nan).collect();
    if columns.iter().all(Option::is_none) {
        return Ok(batch);
    }
    let columns = columns.into_iter().zip(batch.columns());
    let columns = columns.map(|(new, old)| new.unwrap_or_else(|| Arc::clone(old)));
    Ok(RecordBatch::try_new(batch.schema(), columns.collect())?)
}

impl RecordBatchStream for GivenFileStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
