//! `Connection`: a session as a program sees it, with calls that wait.

use crate::exec;
use crate::host::Host;
use crate::instance::Instance;
use crate::maintenance::KeySlot;
use crate::prepared::Prepared;
use crate::prepared_statement::PreparedStatement;
use crate::result::{QueryResult, ResultKind};
use crate::running::Running;
use crate::session::Session;
use crate::transaction::Isolation;
use datafusion::arrow::record_batch::RecordBatch;
use hushdb_keys::SlotPlan;
use hushdb_query::scan::ScanProgress;
use hushdb_sql::{self as sql, Error, Result, caught};
use parking_lot::Mutex;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A session: current database and schema, settings, prepared statements. Blocking; run one statement at a time. Dropped, it
/// rolls back the transaction that is open.
pub struct Connection {
    session: Arc<Session>,
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
    pub(crate) fn new(instance: Arc<Instance>, isolation: Isolation) -> Self {
        Self {
            session: Arc::new(Session::new(instance, isolation)),
        }
    }

    pub(crate) fn seeing(
        instance: Arc<Instance>,
        isolation: Isolation,
        database: String,
        schema: &str,
    ) -> Self {
        let session = Session::seeing(instance, isolation, Some(database), schema);
        Self {
            session: Arc::new(session),
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
        let session = &self.session;
        let result = session.in_turn(|progress| {
            session.begins(statement);
            let (parsed, names) = self.parsed(statement)?;
            Ok(exec::run(session, parsed, progress)?.called(&names))
        });
        result.map_err(|error| self.placed(error, statement))
    }

    /// The error with its place in the text; PostgreSQL's clients have sentences alone.
    fn placed(&self, error: Error, statement: &str) -> Error {
        match self.session.settings.lock().postgres {
            true => error,
            false => error.shown_in(statement.trim().trim_end_matches(';')),
        }
    }

    /// Has exactly one statement run, and does not wait: the database's own threads run it, and its rows are awaited. Works
    /// within any runtime. It takes its turn among the connection's statements; dropped, it is cancelled.
    ///
    /// # Errors
    /// `Parser` when it is not well formed. All else comes with the rows.
    pub fn start(&self, statement: &str) -> Result<Running> {
        let (parsed, _) = caught(|| self.parsed(statement))?;
        let text = statement.to_owned();
        Running::start(&self.session, move |session, progress| {
            session.begins(&text);
            exec::run(session, parsed, progress)
        })
    }

    /// Parses one statement, with `?` or `$1`, `$2`... where values go, to be run many times.
    ///
    /// # Errors
    /// `Parser` when it is not well formed. Whether it fits the tables that there are shows when it is executed.
    pub fn prepare(&self, statement: &str) -> Result<PreparedStatement> {
        let (prepared, names) = caught(|| {
            let (parsed, names) = self.parsed(statement)?;
            Ok((Prepared::new(parsed)?, names))
        })
        .map_err(|error| self.placed(error, statement))?;
        Ok(PreparedStatement::new(
            &self.session,
            prepared,
            names,
            statement,
        ))
    }

    /// Adds rows to a table: columns of text are read as literals are, others must be of the columns' types or go into them. Part of
    /// the open transaction, if there is one. Gives the number of rows.
    ///
    /// # Errors
    /// `Catalog` and `Binder` when there is no such table or column, and as an INSERT; nothing is added then.
    pub fn append(&self, table: &[String], columns: &[String], rows: RecordBatch) -> Result<u64> {
        let session = &self.session;
        let result =
            session.in_turn(|progress| exec::append(session, table, columns, rows, progress))?;
        match result.kind() {
            ResultKind::Count(rows) => Ok(rows),
            _ => Ok(0),
        }
    }

    /// The columns of a table that rows give values for, where others of it are generated; `None` where none is, or it is no table.
    pub fn given_columns(&self, table: &[String]) -> Option<Vec<String>> {
        exec::given_columns(&self.session.snapshot(None), table)
    }

    /// Copies all of an attached database into another one, as COPY FROM DATABASE does; but what is in schema `main` goes to the
    /// schema `main_as` of the copy. Neither of them has to be reached by statements.
    ///
    /// # Errors
    /// `Catalog` where one of them is not there, or a name is taken; and as SELECT and INSERT. Nothing is copied then.
    pub fn copy_database(&self, from: &str, to: &str, main_as: &str) -> Result<()> {
        let session = &self.session;
        session
            .in_turn(|progress| exec::copy_database(session, from, to, main_as, progress).map(drop))
    }

    /// Takes in a directory with a `schema.sql`, in one transaction: what EXPORT DATABASE has written, or, without a `load.sql`, a CSV
    /// file with a header or a Parquet file for each table, under its name. Bare names are of the schema `main_as`.
    ///
    /// # Errors
    /// `Io` of files; `InvalidInput` for a statement that defines nothing, a table without a file, a file without a table; and as
    /// CREATE and INSERT. Nothing is taken in then.
    pub fn import_directory(&self, directory: &Path, main_as: &str) -> Result<()> {
        let session = &self.session;
        session.in_turn(|progress| {
            exec::import_directory(session, directory, main_as, progress).map(drop)
        })
    }

    /// The key slots in use of an attached database, which does not have to be reached by statements.
    ///
    /// # Errors
    /// `Catalog` where it is not there; `InvalidInput` for one that is plain or read only.
    pub fn key_slots(&self, database: &str) -> Result<Vec<KeySlot>> {
        let session = &self.session;
        session.in_turn(|_| exec::key_slots(session, database))
    }

    /// Gives an attached database another master key, which is in the key slots that `plan` says, or without one another data key. From
    /// now on those keys open it, and what is written is sealed under the new key; [`Self::seal_anew`] does the same to what is there.
    /// Outside of transactions. The database does not have to be reached by statements. Where the slot that
    /// opened it is not kept, its key is not asked for again (`key_recheck`) until it is attached anew.
    ///
    /// # Errors
    /// `Catalog` where it is not there; `InvalidInput` for one that is plain or read only, for a plan that leaves a slot out, and while an
    /// earlier change cannot end; what the places of keys refuse; `Io`, after which the keys before or the new ones open the file.
    pub fn begin_rekey(&self, database: &str, plan: Option<&[SlotPlan<'_>]>) -> Result<()> {
        let session = &self.session;
        session.in_turn(|_| exec::begin_rekey(session, database, plan))
    }

    /// Seals anew what is under an older data key, until nothing is, or for as long as nobody interrupts it: the next call goes on. `false`:
    /// transactions or results that are older keep it from ending.
    ///
    /// # Errors
    /// `Interrupted`, `Io`, and of a block that is damaged; as [`Self::begin_rekey`].
    pub fn seal_anew(&self, database: &str) -> Result<bool> {
        let session = &self.session;
        session.in_turn(|_| exec::seal_anew(session, database))
    }

    /// A number that grows whenever anybody commits a change of what there is in the connection's database, while that is open: what was
    /// described at another number may be different now.
    ///
    /// # Errors
    /// `Catalog` when the database was detached.
    pub fn definitions(&self) -> Result<u64> {
        let database = self.session.current_database();
        let store = Arc::clone(&self.session.instance.database(&database)?.store);
        Ok(store.snapshot().definitions())
    }

    /// The one statement of a text, in the session's dialect, and what that says of the names of its columns.
    fn parsed(&self, statement: &str) -> Result<(sql::Statement, Vec<sql::ColumnName>)> {
        let text = statement.trim().trim_end_matches(';');
        if self.session.settings.lock().postgres {
            let mut parsed = sql::parse_postgres(text)?;
            let names = sql::as_postgres(&mut parsed)?;
            return Ok((parsed, names));
        }
        let mut parsed = sql::parse(text)?;
        sql::name_columns_of_values(&mut parsed)?;
        Ok((parsed, vec![]))
    }

    /// Drops all temporary tables, views, sequences and macros of the connection, as DISCARD TEMP.
    ///
    /// # Errors
    /// `Transaction` within a transaction.
    pub fn drop_temporary(&self) -> Result<()> {
        self.session.in_turn(|_| {
            if self.session.in_transaction() {
                return Err(Error::transaction(
                    "what is temporary is not dropped within a transaction",
                ));
            }
            self.session.drop_temporary();
            Ok(())
        })
    }

    /// Lets go of all advisory locks of the connection but for those of its transaction, as `pg_advisory_unlock_all()`.
    pub fn let_go_of_advisory_locks(&self) {
        self.session.advisory.let_go_of_all();
    }

    /// Says which server the connection is a session of: its statements find it in `pg_catalog`.
    pub fn set_host(&self, host: Arc<dyn Host>) {
        *self.session.host.lock() = Some(host);
    }

    /// Whether a transaction over several statements is open, also one that an error has aborted.
    pub fn in_transaction(&self) -> bool {
        self.session.in_transaction()
    }

    /// Aborts the open transaction, if there is one, for an error that was none of its own statements': as after one of theirs, others
    /// need not wait until it is rolled back, unless it has a savepoint to go back to. Returns once what it has seen is durable.
    ///
    /// # Errors
    /// `Conflict` when that never will be: what it has seen is not so.
    pub fn abort(&self) -> Result<()> {
        self.session.in_turn(|_| self.session.abort())
    }

    /// A handle that cancels this connection's statements.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(Arc::clone(&self.session.running))
    }

    /// A handle that watches this connection's statements.
    pub fn progress_handle(&self) -> ProgressHandle {
        ProgressHandle(Arc::clone(&self.session.running))
    }

    /// Whether `SET enable_progress_bar` asks whoever shows results to show progress too.
    pub fn shows_progress(&self) -> bool {
        self.session.settings.lock().progress_bar
    }

    /// What statements of this connection had to say beside their results since this was last asked, such as what attaching a
    /// file found and could bear: sentences for a person to read. Whoever may have changed a file shows here, so they should be
    /// shown or logged.
    pub fn take_notices(&self) -> Vec<String> {
        self.session.take_notices()
    }

    /// Name of the database that unqualified names are looked for in.
    pub fn current_database(&self) -> String {
        self.session.current_database()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Prepared statements may still hold the session.
        drop(self.session.transaction.lock().take());
    }
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
        database.instance.change_state(|state| {
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
