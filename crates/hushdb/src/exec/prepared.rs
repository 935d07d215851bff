//! `Prepared`: a parsed statement and what was found out about it, for PREPARE and for the library's prepared statements.
//!
//! What must hold: there is one way to bind. An execution gives what the statement would with its values spelled out.

use super::literal::Argument;
use super::point::{self, Resolved, Shape};
use crate::connection::Connection;
use crate::result::QueryResult;
use hushdb_query::scan::ScanProgress;
use hushdb_sql::Result;
use hushdb_sql::stack::with_room;
use hushdb_sql::{self as sql, Statement};
use parking_lot::Mutex;
use std::sync::Arc;

/// A statement with numbered parameters.
pub(crate) struct Prepared {
    statement: Statement,
    parameters: usize,
    /// How it can be run without a plan.
    shape: Option<Shape>,
    /// The shape against the table as it was last seen.
    resolved: Mutex<Option<Arc<Resolved>>>,
}

impl Prepared {
    /// # Errors
    /// `Unsupported` for a parameter with a name.
    pub(crate) fn new(mut statement: Statement) -> Result<Self> {
        let used = sql::number_parameters(&mut statement)?;
        let shape = match &statement {
            Statement::Sql(statement) if !used.contains(&false) => point::recognise(statement),
            _ => None,
        };
        Ok(Self {
            statement,
            parameters: used.len(),
            shape,
            resolved: Mutex::default(),
        })
    }

    /// How many values it takes.
    pub(crate) fn parameters(&self) -> usize {
        self.parameters
    }

    /// Whether it may run in a transaction that an error has aborted.
    pub(super) fn ends_transaction(&self) -> bool {
        self.statement.ends_transaction()
    }

    /// Binds and runs it.
    pub(super) fn execute(
        &self,
        connection: &Connection,
        arguments: &[Argument<'_>],
        progress: &Arc<ScanProgress>,
    ) -> Result<QueryResult> {
        if let (Some(shape), Statement::Sql(statement)) = (&self.shape, &self.statement)
            && arguments.len() == self.parameters
            && let Some(result) = point::run(
                connection,
                statement,
                shape,
                arguments,
                Some(&self.resolved),
            )?
        {
            return Ok(result);
        }
        let values = arguments.iter().map(Argument::to_expr);
        let values = values.collect::<Result<Vec<_>>>()?;
        with_room(|| {
            let mut statement = self.statement.clone();
            sql::substitute_parameters(&mut statement, &values)?;
            super::dispatch(connection, statement, progress)
        })
    }
}
