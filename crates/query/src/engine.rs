//! `Engine`: the threads that run queries, and the session that plans for as many.
//!
//! What must hold: another number of threads gets another engine over the same memory limit and spill files; statements that
//! run keep theirs to their end.

use crate::memory::MemoryBudget;
use crate::plan::session_state;
use datafusion::execution::SessionState;
use hushdb_sql::stack::{THREAD_STACK, guard_libraries};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::SpillSpace;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::task::JoinError;

/// Threads, and the session whose plans they run.
pub struct Engine {
    /// Functions, rules and the memory that operators share.
    pub state: SessionState,
    /// The threads.
    pub runtime: Arc<Runtime>,
    /// How many they are.
    pub threads: usize,
}

impl Engine {
    /// An engine of so many threads over a memory limit and the place of spill files.
    ///
    /// # Errors
    /// `Io` when the system gives no thread.
    pub fn new(threads: usize, memory: Arc<MemoryBudget>, spill: Arc<SpillSpace>) -> Result<Self> {
        guard_libraries();
        Ok(Self {
            state: session_state(threads, memory, spill)?,
            runtime: runtime(threads)?,
            threads,
        })
    }

    /// The same with another number of threads.
    pub fn with_threads(&self, threads: usize) -> Result<Self> {
        let mut state = self.state.clone();
        let options = state.config_mut().options_mut();
        options.execution.target_partitions = threads;
        Ok(Self {
            state,
            runtime: runtime(threads)?,
            threads,
        })
    }
}

fn runtime(threads: usize) -> Result<Arc<Runtime>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("hushdb")
        .thread_stack_size(THREAD_STACK)
        .enable_time()
        .build();
    let failed = |e| Error::new(ErrorKind::Io, format!("threads could not be started: {e}"));
    runtime.map(Arc::new).map_err(failed)
}

/// As many threads as the machine has cores.
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Of a part of a statement that ended without an answer.
pub fn of_task(error: &JoinError) -> Error {
    match error.is_panic() {
        true => Error::of_panic(),
        false => Error::internal("a part of the statement was given up"),
    }
}
