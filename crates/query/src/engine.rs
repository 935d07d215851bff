//! `Engine`: the threads that run queries, and the session that plans for as many.
//!
//! What must hold: another number of threads gets another engine over the same memory limit and spill files; statements that
//! run keep theirs to their end.

use crate::heed;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::prelude::SessionConfig;
use hushdb_sql::stack::{THREAD_STACK, guard_libraries};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::{Interrupt, LentThreads};
use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{Builder, Thread};
use std::time::Duration;
use tokio::runtime::{EnterGuard, Handle, Runtime};
use tokio::task::JoinHandle;

/// Threads, and the session whose plans they run.
pub struct Engine {
    /// Functions, rules and the memory that operators share.
    pub state: SessionState,
    /// The threads.
    pub runtime: Arc<Threads>,
    /// How many they are.
    pub threads: usize,
}

impl Engine {
    /// An engine of this many threads for a session that plans for as many.
    ///
    /// # Errors
    /// `Io` when the system gives no thread.
    pub fn new(threads: usize, state: SessionState) -> Result<Self> {
        guard_libraries();
        Ok(Self {
            state,
            runtime: runtime(threads)?,
            threads,
        })
    }

    /// What operators get: settings and memory. Functions stand in the plans; the library's own way would copy the names of all.
    pub fn context(&self) -> Arc<TaskContext> {
        self.context_with(self.state.config().clone())
    }

    /// The same for a statement, or a part of it, that can be let go by itself.
    pub fn task_context(&self, interrupt: Arc<Interrupt>) -> Arc<TaskContext> {
        self.context_with(self.state.config().clone().with_extension(interrupt))
    }

    fn context_with(&self, config: SessionConfig) -> Arc<TaskContext> {
        Arc::new(TaskContext::new(
            None,
            self.state.session_id().to_owned(),
            config,
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            Arc::clone(self.state.runtime_env()),
        ))
    }

    /// The same, for a session in which instants are shown in the time zone of a name.
    pub fn in_zone(&self, zone: &str) -> Self {
        Self {
            state: in_zone(&self.state, Some(zone)),
            runtime: Arc::clone(&self.runtime),
            threads: self.threads,
        }
    }

    /// The name of that time zone, if it is not for sessions in UTC.
    pub fn time_zone(&self) -> Option<&str> {
        self.state.config_options().execution.time_zone.as_deref()
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

/// The same session in which instants are shown in the time zone of a name; `None`: in UTC.
pub(crate) fn in_zone(state: &SessionState, zone: Option<&str>) -> SessionState {
    let mut state = state.clone();
    state.config_mut().options_mut().execution.time_zone = zone.map(str::to_owned);
    let options = Arc::clone(state.config().options());
    state.execution_props_mut().config_options = Some(options);
    state
}

/// Threads that run queries. When nobody needs them any more they are waited for, but not for long: a step of a library that does
/// not end soon ends by itself, and holds its database until then.
pub struct Threads(Option<Runtime>);

/// Statements that may wait at once for somebody else, each with a thread that is made when it waits: as many as a server has
/// sessions. One more holds up all others until one of these goes on.
const MOST_WAITING: usize = 16_384;

/// What a step may take that has seen that nobody waits for it.
const LAST_STEPS: Duration = Duration::from_millis(150);

impl Threads {
    /// Runs a future to its end on this thread, its parts on the others; also on a thread of somebody else's runtime, which lets
    /// nobody but itself wait there.
    ///
    /// # Errors
    /// The future's.
    pub fn block_on<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let runtime = self.running()?;
        if Handle::try_current().is_err() {
            return runtime.block_on(work);
        }
        let _entered = runtime.enter();
        // The turn of the task that waits here is not the future's: it would never begin anew.
        wait_for(tokio::task::unconstrained(work))
    }

    /// Runs blocking work on a thread beside those of queries.
    ///
    /// # Errors
    /// None while there are threads.
    pub fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<T>> {
        Ok(self.running()?.spawn_blocking(work))
    }

    /// Runs a future on the threads.
    ///
    /// # Errors
    /// None while there are threads.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<JoinHandle<T>> {
        Ok(self.running()?.spawn(work))
    }

    /// Has what is spawned here run on these threads.
    ///
    /// # Errors
    /// None while there are threads.
    pub fn enter(&self) -> Result<EnterGuard<'_>> {
        Ok(self.running()?.enter())
    }

    fn running(&self) -> Result<&Runtime> {
        let running = self.0.as_ref();
        running.ok_or_else(|| Error::internal("the threads have ended"))
    }
}

/// Polls a future on this thread, which sleeps in between.
fn wait_for<T>(work: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut work = std::pin::pin!(work);
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    loop {
        match work.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let Some(runtime) = self.0.take() else {
            return;
        };
        match Handle::try_current() {
            // Whoever is called by a runtime must not wait.
            Ok(_) => runtime.shutdown_background(),
            Err(_) => runtime.shutdown_timeout(LAST_STEPS),
        }
    }
}

fn runtime(threads: usize) -> Result<Arc<Threads>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("hushdb")
        .thread_stack_size(THREAD_STACK)
        .max_blocking_threads(MOST_WAITING)
        .on_thread_start(heed::is_of_queries)
        .enable_time()
        .build();
    let failed = |e| Error::new(ErrorKind::Io, format!("threads could not be started: {e}"));
    let runtime = runtime.map_err(failed)?;
    Ok(Arc::new(Threads(Some(runtime))))
}

/// Of so many threads, those beside the one that opens a database. They are there while it has them work.
pub fn lent_threads(threads: usize) -> LentThreads {
    LentThreads {
        count: threads.saturating_sub(1),
        beside: |count, there, here| {
            std::thread::scope(|scope| {
                let thread = || Builder::new().stack_size(THREAD_STACK);
                let start = || thread().name("hushdb".into()).spawn_scoped(scope, there);
                here((0..count).take_while(|_| start().is_ok()).count());
            });
        },
    }
}

/// As many threads as the machine has cores.
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
