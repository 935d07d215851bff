//! How operators and expressions heed the interrupt of the statement that they run for.
//!
//! ```text
//! statement   `ScanProgress`        its `Interrupt` is asked by `InterruptHandle`
//! stream      part of it            asked when the reader drops the rows; kept by the context that operators get
//! operator    `heeding(rows)`       looks before each batch, lets others of the thread run, and has the thread work for the part
//! waits       `aside(wait)`         what an expression waits for holds up no other statement
//! inside      `check()`             where one batch may take long: sorts, conditions of joins, columns that are read or written
//! ```
//!
//! What must hold: a stream of ours that may give very many batches for one of its input, or none for long, is a heeding one.

use datafusion::arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::joins::utils::JoinFilter;
use futures::{Stream, StreamExt};
use hushdb_sql::Error;
use hushdb_storage::{Interrupt, check_interrupt};
use std::cell::Cell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::task::{JoinError, coop};

/// Of a part of a statement that ended without an answer.
pub fn of_task(error: &JoinError) -> Error {
    match error.is_panic() {
        true => Error::of_panic(),
        false => Error::internal("a part of the statement was given up"),
    }
}

thread_local! {
    static IS_OF_QUERIES: Cell<bool> = const { Cell::new(false) };
}

/// This thread is one of those that queries share.
pub(crate) fn is_of_queries() {
    IS_OF_QUERIES.set(true);
}

/// Does what waits for somebody else, for whose statement there is another thread meanwhile.
pub fn aside<T>(wait: impl FnOnce() -> T) -> T {
    match IS_OF_QUERIES.get() {
        true => tokio::task::block_in_place(wait),
        // A thread of whoever asked, which nobody else needs; its runtime may allow no such thing.
        false => wait(),
    }
}

/// # Errors
/// `Interrupted` once someone asked the statement to stop that this thread works for.
pub fn check() -> Result<()> {
    check_interrupt().map_err(|error| Error::from(error).into())
}

/// What is run in a context heeds this.
pub fn interrupt_of(context: &TaskContext) -> Arc<Interrupt> {
    let interrupt = context.session_config().get_extension::<Interrupt>();
    interrupt.unwrap_or_default()
}

/// Asks work to stop when who waits for it lets go.
pub struct AskOnDrop(Arc<Interrupt>);

impl AskOnDrop {
    /// For all that is run in a context.
    pub fn of(context: &TaskContext) -> Self {
        Self(interrupt_of(context))
    }
}

impl Drop for AskOnDrop {
    fn drop(&mut self) {
        self.0.ask();
    }
}

/// The same rows, up to an interrupt.
pub fn heeding(
    rows: SendableRecordBatchStream,
    context: &TaskContext,
) -> SendableRecordBatchStream {
    Box::pin(Heeding {
        schema: rows.schema(),
        rows: Some(rows),
        interrupt: interrupt_of(context),
    })
}

struct Heeding {
    /// `None` behind an error.
    rows: Option<SendableRecordBatchStream>,
    schema: SchemaRef,
    interrupt: Arc<Interrupt>,
}

impl Stream for Heeding {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Only batches that came are counted, not the levels that were asked on the way to one: of more than the 128 of a
        // thread's turn, none would ever be reached.
        if !coop::has_budget_remaining() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let this = &mut *self;
        let Some(rows) = &mut this.rows else {
            return Poll::Ready(None);
        };
        let polled = match this.interrupt.check() {
            Ok(()) => this.interrupt.watch(|| rows.poll_next_unpin(context)),
            Err(asked) => Poll::Ready(Some(Err(DataFusionError::from(Error::from(asked))))),
        };
        if let Poll::Ready(next) = &polled {
            if let Poll::Ready(counted) = coop::poll_proceed(context) {
                counted.made_progress();
            }
            if next.as_ref().is_some_and(Result::is_err) {
                this.rows = None;
            }
        }
        polled
    }
}

impl RecordBatchStream for Heeding {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Work that heeds an interrupt whenever it looks.
pub async fn heeding_work<T>(work: impl Future<Output = T> + Send, interrupt: Arc<Interrupt>) -> T {
    let mut work = Box::pin(work);
    std::future::poll_fn(|context| interrupt.watch(|| work.as_mut().poll(context))).await
}

/// The condition of a join, which may be asked very often before a row comes out.
pub(crate) fn heeding_filter(filter: &JoinFilter) -> JoinFilter {
    let condition = Arc::clone(filter.expression());
    if condition.is::<HeedingCondition>() {
        return filter.clone();
    }
    JoinFilter::new(
        Arc::new(HeedingCondition(condition)),
        filter.column_indices().to_vec(),
        Arc::clone(filter.schema()),
    )
}

#[derive(Debug)]
struct HeedingCondition(Arc<dyn PhysicalExpr>);

impl PartialEq for HeedingCondition {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq(&other.0)
    }
}

impl Eq for HeedingCondition {}

impl Hash for HeedingCondition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Display for HeedingCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PhysicalExpr for HeedingCondition {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.0.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.0.nullable(schema)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.0.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        check()?;
        self.0.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.0]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self(children.swap_remove(0))))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_sql(f)
    }
}
