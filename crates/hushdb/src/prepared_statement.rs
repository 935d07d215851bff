//! `PreparedStatement`: a statement that is parsed once and run many times, with values for its parameters.

use crate::exec::{self, Argument};
use crate::prepared::Prepared;
use crate::result::{QueryResult, called};
use crate::running::Running;
use crate::session::Session;
use crate::value::Value;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::sql::sqlparser::ast;
use hushdb_sql::{ColumnName, Result, Statement as Parsed, changes_within};
use hushdb_storage::ColumnType;
use std::fmt;
use std::sync::Arc;

/// A statement of one connection with `?` or `$1`, `$2`... where values go; made by [`crate::Connection::prepare`].
///
/// Each execution binds and runs it anew, on what the connection sees then: tables may be made, changed and dropped
/// between two executions. A SELECT, UPDATE or DELETE by the columns of a key or index, and an INSERT of values, are run
/// without being planned.
pub struct PreparedStatement {
    session: Arc<Session>,
    prepared: Arc<Prepared>,
    /// What its text says of the names of its columns, in a dialect that names them itself.
    names: Vec<ColumnName>,
    text: Arc<str>,
}

impl PreparedStatement {
    pub(crate) fn new(
        session: &Arc<Session>,
        prepared: Prepared,
        names: Vec<ColumnName>,
        text: &str,
    ) -> Self {
        Self {
            session: Arc::clone(session),
            prepared: Arc::new(prepared),
            names,
            text: text.into(),
        }
    }

    /// Runs the statement with these values: the first for `$1` or the first `?`, and so on.
    ///
    /// # Errors
    /// `Binder` when there are more or fewer values than parameters, and whatever is wrong with the statement; nothing of
    /// it has taken effect then.
    pub fn execute(&self, values: &[Value]) -> Result<QueryResult> {
        let arguments: Vec<Argument<'_>> = values.iter().map(Argument::Value).collect();
        let session = &self.session;
        session.in_turn(|progress| {
            session.begins(&self.text);
            let result = exec::run_prepared(session, &self.prepared, &arguments, progress)?;
            Ok(result.called(&self.names))
        })
    }

    /// Has the statement run with these values, and does not wait; see [`crate::Connection::start`].
    ///
    /// # Errors
    /// None while the database has threads: what `execute` fails with comes with the rows.
    pub fn start(&self, values: Vec<Value>) -> Result<Running> {
        let prepared = Arc::clone(&self.prepared);
        let text = Arc::clone(&self.text);
        Running::start(&self.session, move |session, progress| {
            let arguments: Vec<Argument<'_>> = values.iter().map(Argument::Value).collect();
            session.begins(&text);
            exec::run_prepared(session, &prepared, &arguments, progress)
        })
    }

    /// What the statement takes and gives, without running it: types of its parameters, of which some may be given, and the columns of
    /// its result. Types that nothing tells are VARCHAR.
    ///
    /// # Errors
    /// What is wrong with the statement as tables are now.
    pub fn describe(&self, given: &[Option<ColumnType>]) -> Result<Description> {
        let session = &self.session;
        let (parameters, columns) =
            session.in_turn(|progress| exec::describe(session, &self.prepared, given, progress))?;
        Ok(Description {
            parameters,
            columns: columns.map(|columns| called(columns, &self.names)),
        })
    }

    /// The statement's first words; see [`QueryResult::command`].
    pub fn command(&self) -> &'static str {
        self.prepared.statement.command()
    }

    /// Whether it is a query, of which no part changes rows.
    pub fn is_query(&self) -> bool {
        match &self.prepared.statement {
            Parsed::Sql(ast) => {
                matches!(**ast, ast::Statement::Query(_)) && matches!(changes_within(ast), Ok(None))
            }
            _ => false,
        }
    }

    /// How many values the statement takes.
    pub fn parameter_count(&self) -> usize {
        self.prepared.parameters()
    }
}

/// What a prepared statement takes and gives; see [`PreparedStatement::describe`].
#[derive(Clone, Debug)]
pub struct Description {
    /// The type of each parameter.
    pub parameters: Vec<ColumnType>,
    /// Names and types of the result's columns; `None` when no rows come back.
    pub columns: Option<SchemaRef>,
}

impl fmt::Debug for PreparedStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedStatement")
            .field("parameters", &self.parameter_count())
            .finish_non_exhaustive()
    }
}
