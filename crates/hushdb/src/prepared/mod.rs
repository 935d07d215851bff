//! `Prepared`: a parsed statement and what was found out about it, for PREPARE and for the library's prepared statements.
//!
//! What must hold: there is one way to bind. An execution gives what the statement would with its values spelled out.

mod computed;
mod conditions;
mod derived_columns;
mod function_parameters;
mod parameter_types;
mod resolved;
mod shape;

use hushdb_sql::Result;
use hushdb_sql::{self as sql, Numbered, Statement};
use parking_lot::Mutex;
use std::sync::Arc;

pub(crate) use computed::Computed;
pub(crate) use conditions::Conditions;
pub(crate) use parameter_types::parameter_types;
pub(crate) use resolved::Resolved;
pub(crate) use shape::{Item, Place, Shape, insert_values, recognise};

/// A statement with numbered parameters.
pub(crate) struct Prepared {
    pub(crate) statement: Statement,
    parameters: usize,
    names: Vec<String>,
    /// How it can be run without a plan.
    pub(crate) shape: Option<Shape>,
    /// The shape against the table as it was last seen.
    pub(crate) resolved: Mutex<Option<Arc<Resolved>>>,
    /// What its SET computes, likewise.
    pub(crate) computed: Mutex<Option<Arc<Computed>>>,
    /// The CHECKs of its table, likewise.
    pub(crate) conditions: Mutex<Option<Arc<Conditions>>>,
}

impl Prepared {
    /// # Errors
    /// `Unsupported` for parameters with names beside others.
    pub(crate) fn new(mut statement: Statement) -> Result<Self> {
        let Numbered { used, names } = sql::number_parameters(&mut statement)?;
        let shape = match &statement {
            Statement::Sql(statement) if !used.contains(&false) => recognise(statement),
            _ => None,
        };
        Ok(Self {
            statement,
            parameters: used.len(),
            names,
            shape,
            resolved: Mutex::default(),
            computed: Mutex::default(),
            conditions: Mutex::default(),
        })
    }

    /// The names of its parameters in lower case, if they have names.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// How many values it takes.
    pub(crate) fn parameters(&self) -> usize {
        self.parameters
    }

    /// Whether it may run in a transaction that an error has aborted.
    pub(crate) fn ends_transaction(&self) -> bool {
        self.statement.ends_transaction()
    }
}
