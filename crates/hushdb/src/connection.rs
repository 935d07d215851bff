//! `Connection`: runs statements one at a time, each against one snapshot.

use crate::database::Shared;
use crate::exec::{self, ExplainOutput, Prepared};
use crate::prepared_statement::PreparedStatement;
use crate::result::QueryResult;
use crate::transaction::OpenTransaction;
use hushdb_query::engine::Engine;
use hushdb_query::plan::{OrderDefaults, Planner, Snapshot};
use hushdb_query::scan::ScanProgress;
use hushdb_sql::{self as sql, Error, Result, caught, folded, sqlstate};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A session: current database and schema, settings, prepared statements. Blocking; run one statement at a time.
pub struct Connection {
    pub(crate) shared: Arc<Shared>,
    pub(crate) session: Mutex<Session>,
    /// The transaction between BEGIN and COMMIT. Dropped with the connection, which rolls it back.
    pub(crate) transaction: Mutex<Option<OpenTransaction>>,
    /// Held while a statement runs: one after the other, whichever threads they come from.
    turn: Mutex<()>,
    running: Arc<Mutex<Arc<ScanProgress>>>,
}

/// What belongs to one connection.
pub(crate) struct Session {
    pub(crate) database: String,
    pub(crate) schema: String,
    pub(crate) prepared: HashMap<String, Arc<Prepared>>,
    pub(crate) order: OrderDefaults,
    pub(crate) explain: ExplainOutput,
    /// Whether a shell should show how far long statements have come.
    pub(crate) progress_bar: bool,
}

/// Cancels a connection's running statement from another thread.
#[derive(Clone)]
pub struct InterruptHandle(Arc<Mutex<Arc<ScanProgress>>>);

impl InterruptHandle {
    /// Asks the running statement to stop; it ends with an `Interrupted` error.
    pub fn interrupt(&self) {
        self.0.lock().interrupt();
    }
}

/// Watches a connection's running statement from another thread.
#[derive(Clone)]
pub struct ProgressHandle(Arc<Mutex<Arc<ScanProgress>>>);

impl ProgressHandle {
    /// Share of the running statement's work that is done, 0 to 1; `None` when it cannot be told.
    pub fn progress(&self) -> Option<f64> {
        self.0.lock().fraction()
    }
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let session = Session {
            database: shared.default_database.clone(),
            schema: "main".into(),
            prepared: HashMap::new(),
            order: OrderDefaults::default(),
            explain: ExplainOutput::default(),
            progress_bar: true,
        };
        Self {
            shared,
            session: Mutex::new(session),
            transaction: Mutex::default(),
            turn: Mutex::default(),
            running: Arc::new(Mutex::new(Arc::default())),
        }
    }

    /// Runs all statements of a text and gives the last one's result; earlier results are read and dropped.
    ///
    /// # Errors
    /// The first statement's error that comes up; statements before it have taken effect.
    pub fn execute(&self, sql: &str) -> Result<QueryResult> {
        let split = sql::split_statements(sql);
        let mut last = QueryResult::done();
        let rest = (!split.rest.is_empty()).then_some(split.rest);
        for statement in split.statements.into_iter().chain(rest) {
            for batch in &mut last {
                batch?;
            }
            last = self.run(statement)?;
        }
        Ok(last)
    }

    /// Runs exactly one statement.
    ///
    /// # Errors
    /// Whatever is wrong with it; nothing of it has taken effect then.
    pub fn run(&self, statement: &str) -> Result<QueryResult> {
        self.in_turn(|progress| exec::run(self, parsed(statement)?, progress))
    }

    /// Parses one statement, with `?` or `$1`, `$2`... where values go, to be run many times.
    ///
    /// # Errors
    /// `Parser` when it is not well formed. Whether it fits the tables that there are shows when it is executed.
    pub fn prepare(&self, statement: &str) -> Result<PreparedStatement<'_>> {
        let prepared = caught(|| Prepared::new(parsed(statement)?))?;
        Ok(PreparedStatement::new(self, prepared))
    }

    /// Does a statement's work when no other statement of the connection runs. A panic is its error, and leaves an open
    /// transaction to be rolled back.
    pub(crate) fn in_turn<T>(
        &self,
        work: impl FnOnce(&Arc<ScanProgress>) -> Result<T>,
    ) -> Result<T> {
        let _turn = self.turn.lock();
        let progress = Arc::new(ScanProgress::default());
        *self.running.lock() = Arc::clone(&progress);
        let mut is_through = false;
        let result = caught(|| {
            let result = progress.heeds().watch(|| work(&progress));
            is_through = true;
            result
        });
        if !is_through && let Some(open) = self.transaction.lock().as_ref() {
            open.aborted().store(true, Ordering::Release);
        }
        result
    }

    /// Whether a transaction over several statements is open, also one that an error has aborted.
    pub fn in_transaction(&self) -> bool {
        self.transaction.lock().is_some()
    }

    /// A handle that cancels this connection's statements.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(Arc::clone(&self.running))
    }

    /// A handle that watches this connection's statements.
    pub fn progress_handle(&self) -> ProgressHandle {
        ProgressHandle(Arc::clone(&self.running))
    }

    /// Whether `SET enable_progress_bar` asks whoever shows results to show progress too.
    pub fn shows_progress(&self) -> bool {
        self.session.lock().progress_bar
    }

    /// Name of the database that unqualified names are looked for in.
    pub fn current_database(&self) -> String {
        self.session.lock().database.clone()
    }

    /// What a statement that begins now sees.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let newest = {
            let session = self.session.lock();
            self.shared.snapshot(&session.database, &session.schema)
        };
        match self.transaction.lock().as_mut() {
            Some(open) => open.view(newest),
            None => newest,
        }
    }

    /// Whether the open transaction has changes that are not committed.
    pub(crate) fn has_changes(&self) -> bool {
        let open = self.transaction.lock();
        open.as_ref()
            .is_some_and(|open| open.changed_database().is_some())
    }

    pub(crate) fn planner<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        progress: &Arc<ScanProgress>,
    ) -> Planner<'a> {
        Planner::new(self, snapshot, Arc::clone(progress))
    }

    /// What plans and runs a statement that begins now.
    pub(crate) fn engine(&self) -> Arc<Engine> {
        self.shared.engine()
    }

    /// Runs a future of this statement to its end, or until someone cancels it.
    pub(crate) fn block_on<T>(
        &self,
        progress: &ScanProgress,
        future: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        self.engine().runtime.block_on(async {
            tokio::select! {
                biased;
                () = progress.interrupted() => Err(Error::interrupted()),
                result = future => result,
            }
        })
    }

    /// Keeps what PREPARE names.
    pub(crate) fn keep_prepared(&self, name: &str, prepared: Prepared) {
        let prepared = Arc::new(prepared);
        self.session.lock().prepared.insert(folded(name), prepared);
    }

    pub(crate) fn prepared(&self, name: &str) -> Result<Arc<Prepared>> {
        self.session
            .lock()
            .prepared
            .get(&folded(name))
            .cloned()
            .ok_or_else(|| {
                Error::binder(format!("Prepared statement \"{name}\" does not exist"))
                    .with_sqlstate(sqlstate::UNKNOWN_STATEMENT)
            })
    }

    pub(crate) fn deallocate(&self, name: &str) -> Result<()> {
        match self.session.lock().prepared.remove(&folded(name)) {
            Some(_) => Ok(()),
            None => Err(
                Error::binder(format!("Prepared statement \"{name}\" does not exist"))
                    .with_sqlstate(sqlstate::UNKNOWN_STATEMENT),
            ),
        }
    }
}

/// The one statement of a text.
fn parsed(statement: &str) -> Result<sql::Statement> {
    sql::parse(statement.trim().trim_end_matches(';'))
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("database", &self.current_database())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Connection, Database};
    use crate::{ErrorKind, Result};
    use datafusion::arrow::array::AsArray;
    use datafusion::arrow::datatypes::{DataType, Int64Type};
    use datafusion::common::ScalarValue;
    use datafusion::execution::FunctionRegistry;
    use datafusion::logical_expr::{ColumnarValue, Volatility, create_udf};
    use std::sync::Arc;

    /// A connection to a database that has a function which panics over 20,000.
    fn with_panics(volatility: Volatility) -> Connection {
        let function = |args: &[ColumnarValue]| {
            let panics = match &args[0] {
                ColumnarValue::Array(array) => {
                    array.as_primitive::<Int64Type>().values().contains(&20_000)
                }
                ColumnarValue::Scalar(value) => *value == ScalarValue::Int64(Some(20_000)),
            };
            assert!(!panics, "a secret of 20,000");
            Ok(args[0].clone())
        };
        let integer = DataType::Int64;
        let function = create_udf(
            "odd",
            vec![integer.clone()],
            integer,
            volatility,
            Arc::new(function),
        );
        let database = Database::open_in_memory().unwrap();
        database.shared.change_state(|state| {
            state.register_udf(Arc::new(function)).unwrap();
        });
        database.connect().unwrap()
    }

    fn rows(connection: &Connection, sql: &str) -> Result<usize> {
        let batches = connection.execute(sql)?;
        batches.map(|batch| Ok(batch?.num_rows())).sum()
    }

    fn fails(connection: &Connection, sql: &str) {
        let error = rows(connection, sql).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
        assert!(!error.to_string().contains("20,000"), "{error}");
    }

    #[test]
    fn a_panic_while_rows_are_read_ends_the_statement_alone() {
        let connection = with_panics(Volatility::Volatile);
        let mut result = connection
            .execute("SELECT odd(i) FROM range(50000) r(i)")
            .unwrap();
        assert!(result.next().unwrap().is_ok());
        let error = result.find_map(Result::err).unwrap();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(result.next().is_none());
        // Where other threads do the work.
        fails(
            &connection,
            "SELECT odd(i) AS o FROM range(50000) r(i) ORDER BY o",
        );
        fails(
            &connection,
            "SELECT odd(i) AS o, count(*) FROM range(50000) r(i) GROUP BY o",
        );
        let join = "SELECT * FROM range(50000) a(i) JOIN range(50000) b(i) ON odd(a.i) = odd(b.i)";
        fails(&connection, join);
        assert_eq!(
            rows(&connection, "SELECT odd(i) FROM range(9) r(i)").unwrap(),
            9
        );
    }

    #[test]
    fn a_panic_while_a_statement_runs_changes_nothing() {
        let connection = with_panics(Volatility::Volatile);
        let create = "CREATE TABLE t AS SELECT odd(i) AS i FROM range(50000) r(i)";
        fails(&connection, create);
        connection.execute("CREATE TABLE t (i BIGINT)").unwrap();
        fails(
            &connection,
            "INSERT INTO t SELECT odd(i) FROM range(50000) r(i)",
        );
        assert_eq!(rows(&connection, "FROM t").unwrap(), 0);

        connection
            .execute("BEGIN; INSERT INTO t VALUES (1)")
            .unwrap();
        fails(&connection, "UPDATE t SET i = odd(i + 19999)");
        let aborted = connection.execute("SELECT 1").unwrap_err();
        assert_eq!(aborted.kind(), ErrorKind::Transaction);
        connection.execute("ROLLBACK").unwrap();
        assert_eq!(rows(&connection, "FROM t").unwrap(), 0);
    }

    #[test]
    fn a_panic_while_a_statement_is_planned_ends_it_alone() {
        let connection = with_panics(Volatility::Immutable);
        fails(&connection, "SELECT odd(20000)");
        connection.execute("BEGIN").unwrap();
        fails(&connection, "SELECT odd(20000)");
        connection.execute("ROLLBACK").unwrap();
        assert_eq!(rows(&connection, "SELECT odd(1)").unwrap(), 1);
    }
}
