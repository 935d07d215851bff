//! `Running`: a statement whose caller does not wait.
//!
//! What must hold: it runs on the database's own threads, whichever runtime asks for its rows; dropped, it is cancelled.

use crate::result::{QueryResult, ResultKind};
use crate::session::Session;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use hushdb_query::engine::Threads;
use hushdb_query::scan::ScanProgress;
use hushdb_sql::{Error, Result};
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// A statement that was started; see [`crate::Connection::start`]. Its rows are awaited, by any runtime.
pub struct Running {
    progress: Arc<ScanProgress>,
    parts: Receiver<Result<Part>>,
    head: Option<Head>,
}

/// What a result begins with.
#[derive(Clone)]
struct Head {
    schema: SchemaRef,
    kind: ResultKind,
    command: &'static str,
}

enum Part {
    Head(Head),
    Rows(RecordBatch),
}

impl Running {
    /// Has a statement run when those before it in its session are done.
    pub(crate) fn start(
        session: &Arc<Session>,
        run: impl FnOnce(&Session, &Arc<ScanProgress>) -> Result<QueryResult> + Send + 'static,
    ) -> Result<Self> {
        let progress = Arc::new(ScanProgress::default());
        // The rows that come next are made while a caller has these.
        let (to_caller, parts) = channel(1);
        let threads = Arc::clone(&session.engine().runtime);
        let (session, of_statement) = (Arc::clone(session), Arc::clone(&progress));
        let rows_on = Arc::clone(&threads);
        threads.spawn_blocking(move || {
            let result = session.in_turn_with(of_statement, |progress| run(&session, progress));
            send(&rows_on, result, to_caller);
        })?;
        Ok(Self {
            progress,
            parts,
            head: None,
        })
    }

    /// Names and types of the columns, once the statement has got so far.
    ///
    /// # Errors
    /// Whatever stops the statement before its first rows.
    pub async fn schema(&mut self) -> Result<SchemaRef> {
        Ok(self.head().await?.schema)
    }

    /// Whether rows, a count or nothing comes back, once the statement has got so far.
    ///
    /// # Errors
    /// As `schema`.
    pub async fn kind(&mut self) -> Result<ResultKind> {
        Ok(self.head().await?.kind)
    }

    /// What the statement is called, once it has got so far; see [`QueryResult::command`].
    ///
    /// # Errors
    /// As `schema`.
    pub async fn command(&mut self) -> Result<&'static str> {
        Ok(self.head().await?.command)
    }

    /// The next rows; `None` after the last. It may be given up while it is awaited, and asked again.
    pub async fn next(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            match self.parts.recv().await? {
                Ok(Part::Head(head)) => self.head = Some(head),
                Ok(Part::Rows(rows)) => return Some(Ok(rows)),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Share of the work that is done, 0 to 1; `None` when it cannot be told.
    pub fn progress(&self) -> Option<f64> {
        self.progress.fraction()
    }

    async fn head(&mut self) -> Result<Head> {
        if let Some(head) = &self.head {
            return Ok(head.clone());
        }
        match self.parts.recv().await {
            Some(Ok(Part::Head(head))) => Ok(self.head.insert(head).clone()),
            Some(Ok(Part::Rows(_))) => Err(Error::internal("a result has no beginning")),
            Some(Err(error)) => Err(error),
            None => Err(Error::internal("the statement has ended before")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.progress.interrupt();
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

/// Gives a result to whoever awaits it. Nobody may, any more: then it is dropped.
fn send(threads: &Threads, result: Result<QueryResult>, to_caller: Sender<Result<Part>>) {
    let parts = async move {
        let mut result = match result {
            Ok(result) => result,
            Err(error) => {
                let _ = to_caller.send(Err(error)).await;
                return;
            }
        };
        let head = Head {
            schema: result.schema(),
            kind: result.kind(),
            command: result.command(),
        };
        let mut part = Ok(Part::Head(head));
        while to_caller.send(part).await.is_ok() {
            part = match result.next_batch().await {
                None => return,
                Some(rows) => rows.map(Part::Rows),
            };
        }
    };
    // Without threads there is nobody who awaits it.
    drop(threads.spawn(parts));
}
