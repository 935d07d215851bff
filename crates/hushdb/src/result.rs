//! `QueryResult`: what a statement gives back, as a stream of Arrow batches.

use datafusion::arrow::array::{ArrayRef, Int64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use futures::{FutureExt, StreamExt};
use hushdb_query::engine::Threads;
use hushdb_query::functions::{Zone, shown_as, shown_field};
use hushdb_query::heed::AskOnDrop;
use hushdb_query::memory::KeepRows;
use hushdb_query::scan::ScanProgress;
use hushdb_sql::{ColumnName, Error, Result, postgres_columns};
use std::collections::VecDeque;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// What kind of statement gave the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// Rows of a query.
    Rows,
    /// A statement that changed this many rows; the result has one row, `Count`.
    Count(u64),
    /// A statement without a result.
    Done,
}

enum Source {
    Batches(VecDeque<RecordBatch>),
    /// One row, which is made when somebody asks for it.
    Count(u64),
    Stream {
        /// What makes the rows, while it may go on. The first to go: what is dropped behind it waits for threads.
        running: Option<AskOnDrop>,
        stream: SendableRecordBatchStream,
        runtime: Arc<Threads>,
        progress: Arc<ScanProgress>,
        /// Of the transaction that it is read in.
        within: Option<Arc<AtomicBool>>,
    },
}

static NO_COLUMNS: LazyLock<SchemaRef> = LazyLock::new(|| Arc::new(Schema::empty()));
static COUNT: LazyLock<SchemaRef> = LazyLock::new(|| {
    let count = Field::new("Count", DataType::Int64, false);
    Arc::new(Schema::new(vec![count]))
});

/// Rows, batch by batch. Dropping it cancels what is still running.
pub struct QueryResult {
    schema: SchemaRef,
    kind: ResultKind,
    command: &'static str,
    source: Source,
    /// In which instants are shown, if that is another than UTC.
    zone: Option<Zone>,
}

/// The columns, whose types say in which time zone their instants are shown.
fn shown_schema(schema: &SchemaRef, zone: Zone) -> SchemaRef {
    let fields = schema.fields().iter();
    let fields = fields.map(|field| shown_field(field, zone).unwrap_or_else(|| Arc::clone(field)));
    let metadata = schema.metadata().clone();
    Arc::new(Schema::new_with_metadata(
        fields.collect::<Vec<_>>(),
        metadata,
    ))
}

/// Columns under the names that the text of their query gives them.
pub(crate) fn called(schema: SchemaRef, names: &[ColumnName]) -> SchemaRef {
    if names.is_empty() {
        return schema;
    }
    let planned = schema.fields().iter().map(|field| field.name().clone());
    let names = postgres_columns(names, &planned.collect::<Vec<_>>());
    let all = schema.fields().iter();
    if all
        .clone()
        .zip(&names)
        .all(|(field, name)| field.name() == name)
    {
        return schema;
    }
    let fields = all.zip(names);
    let fields = fields.map(|(field, name)| field.as_ref().clone().with_name(name));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

impl QueryResult {
    /// The same rows; their columns are called as the text of the query says.
    pub(crate) fn called(mut self, names: &[ColumnName]) -> Self {
        self.schema = called(self.schema, names);
        self
    }

    pub(crate) fn done() -> Self {
        Self {
            schema: Arc::clone(&NO_COLUMNS),
            kind: ResultKind::Done,
            command: "",
            source: Source::Batches(VecDeque::new()),
            zone: None,
        }
    }

    pub(crate) fn count(rows: u64) -> Self {
        Self {
            schema: Arc::clone(&COUNT),
            kind: ResultKind::Count(rows),
            command: "",
            source: Source::Count(rows),
            zone: None,
        }
    }

    pub(crate) fn rows(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self {
            schema,
            kind: ResultKind::Rows,
            command: "",
            source: Source::Batches(batches.into()),
            zone: None,
        }
    }

    pub(crate) fn stream(
        stream: SendableRecordBatchStream,
        runtime: Arc<Threads>,
        progress: Arc<ScanProgress>,
        running: Option<AskOnDrop>,
    ) -> Self {
        Self {
            schema: stream.schema(),
            kind: ResultKind::Rows,
            command: "",
            source: Source::Stream {
                stream,
                runtime,
                progress,
                running,
                within: None,
            },
            zone: None,
        }
    }

    /// The same rows, whose types say in which time zone their instants are shown.
    pub(crate) fn shown_in(mut self, zone: Option<Zone>) -> Self {
        self.zone = zone;
        if let Some(zone) = zone {
            self.schema = shown_schema(&self.schema, zone);
        }
        self
    }

    fn shown(&self, batch: RecordBatch) -> Result<RecordBatch> {
        match self.zone {
            None => Ok(batch),
            Some(zone) => {
                let schema = shown_schema(&batch.schema(), zone);
                let columns = batch.columns().iter().zip(schema.fields());
                let columns = columns.map(|(column, field)| shown_as(column, field.data_type()));
                let columns = columns.collect::<std::result::Result<_, _>>()?;
                let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                Ok(RecordBatch::try_new_with_options(schema, columns, &rows)?)
            }
        }
    }

    /// The result of a statement within a transaction, which an error while it is read aborts. With uncommitted changes it
    /// is read at once: rolling back takes away what it would read.
    pub(crate) fn within(
        mut self,
        aborted: Arc<AtomicBool>,
        has_changes: bool,
        context: impl FnOnce() -> Arc<TaskContext>,
    ) -> Result<Self> {
        if let Source::Stream { within, .. } = &mut self.source {
            *within = Some(aborted);
            if has_changes {
                return self.read(&context());
            }
        }
        Ok(self)
    }

    /// The same result, read already: what does not fit into memory lies in a spill file.
    pub(crate) fn read(mut self, context: &Arc<TaskContext>) -> Result<Self> {
        if !matches!(self.source, Source::Stream { .. }) {
            return Ok(self);
        }
        let mut kept = KeepRows::new(self.schema(), context);
        for batch in self.by_ref() {
            kept.push(batch?)?;
        }
        let rows = kept.finish()?.stream();
        if let Source::Stream {
            stream, running, ..
        } = &mut self.source
        {
            (*stream, *running) = (rows, None);
        }
        Ok(self)
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Whether rows, a count or nothing comes back.
    pub fn kind(&self) -> ResultKind {
        self.kind
    }

    /// The statement's first words as PostgreSQL's command tags have them, such as `SELECT`, `INSERT`, `CREATE TABLE`; those of what it
    /// stands for if it was EXECUTE.
    pub fn command(&self) -> &'static str {
        self.command
    }

    /// Says which statement gave the result, unless it is known.
    pub(crate) fn of_command(mut self, command: &'static str) -> Self {
        if self.command.is_empty() {
            self.command = command;
        }
        self
    }

    /// Reads the rest of the result into memory.
    ///
    /// # Errors
    /// Whatever stops the statement while it runs.
    pub fn collect_batches(self) -> Result<Vec<RecordBatch>> {
        self.collect()
    }
}

impl QueryResult {
    /// The next rows of a result that is not a stream.
    fn next_ready(&mut self) -> Option<Result<RecordBatch>> {
        match &mut self.source {
            Source::Batches(batches) => batches.pop_front().map(Ok),
            Source::Count(rows) => {
                let column: ArrayRef = Arc::new(Int64Array::from(vec![*rows as i64]));
                self.source = Source::Batches(VecDeque::new());
                let batch = RecordBatch::try_new(Arc::clone(&COUNT), vec![column]);
                Some(batch.map_err(Error::from))
            }
            Source::Stream { .. } => None,
        }
    }

    /// The next rows, as they come.
    pub(crate) async fn next_batch(&mut self) -> Option<Result<RecordBatch>> {
        let Source::Stream {
            stream,
            progress,
            within,
            ..
        } = &mut self.source
        else {
            let next = self.next_ready()?;
            return Some(next.and_then(|batch| self.shown(batch)));
        };
        let next = async {
            tokio::select! {
                biased;
                () = progress.interrupted() => Err(Error::interrupted()),
                next = stream.next() => Ok(next.transpose()?),
            }
        };
        // A panic, as in `caught`.
        let next = AssertUnwindSafe(next).catch_unwind().await;
        let next = next.unwrap_or_else(|_| Err(Error::of_panic())).transpose();
        if let Some(Err(error)) = &next {
            if let Some(aborted) = within.as_ref().filter(|_| error.aborts()) {
                aborted.store(true, Ordering::Release);
            }
            // Nothing comes after an error, and what still runs is dropped.
            self.source = Source::Batches(VecDeque::new());
        }
        Some(next?.and_then(|batch| self.shown(batch)))
    }
}

impl Iterator for QueryResult {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let runtime = match &mut self.source {
            Source::Stream { runtime, .. } => Arc::clone(runtime),
            _ => {
                let next = self.next_ready()?;
                return Some(next.and_then(|batch| self.shown(batch)));
            }
        };
        let next = runtime.block_on(async { Ok(self.next_batch().await) });
        next.unwrap_or_else(|error| Some(Err(error)))
    }
}

impl fmt::Debug for QueryResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryResult")
            .field("schema", &self.schema)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
