//! `Surroundings`: what a plan asks of the session that it is made for.

use super::order::OrderDefaults;
use super::planner::Planner;
use super::sequence_functions::Taken;
use crate::engine::Engine;
use crate::functions::{Random, Variables};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::logical_expr::{Expr, LogicalPlan, ScalarUDF, TableSource};
use datafusion::sql::sqlparser::ast;
use hushdb_sql::Result;
use std::sync::Arc;

/// A session, as its planner sees it.
pub trait Surroundings {
    /// What plans and runs a statement that begins now.
    fn engine(&self) -> Arc<Engine>;

    /// How rows are sorted where ORDER BY does not say.
    fn order(&self) -> OrderDefaults;

    /// A setting's value as a literal.
    ///
    /// # Errors
    /// `Catalog` when there is none of that name.
    fn setting(&self, name: &str) -> Result<ast::Expr>;

    /// What SET VARIABLE has set.
    fn variables(&self) -> Variables;

    /// What the session draws random numbers from.
    fn random(&self) -> Arc<Random>;

    /// When the statement began, in microseconds since 1970-01-01 00:00:00 UTC: the same wherever it is asked.
    fn began(&self) -> i64;

    /// What the session has taken of sequences.
    fn taken(&self) -> Arc<Taken>;

    /// Whether texts mean what they do in PostgreSQL.
    fn is_postgres(&self) -> bool;

    /// The rows of a plan, where another plan depends on them.
    ///
    /// # Errors
    /// What running it gives.
    fn rows(&self, plan: &LogicalPlan) -> Result<Vec<RecordBatch>>;

    /// The table that a call in FROM stands for.
    ///
    /// # Errors
    /// `Catalog` when there is no function of that name, `Binder` for wrong arguments, and what reading files gives.
    fn table_function(
        &self,
        planner: &Planner<'_>,
        name: &str,
        args: Vec<Expr>,
    ) -> Result<Arc<dyn TableSource>>;

    /// The table that a file's name stands for, if it looks like one.
    ///
    /// # Errors
    /// What reading the file gives.
    fn file(&self, planner: &Planner<'_>, name: &str) -> Result<Option<Arc<dyn TableSource>>>;

    /// The table of the system's catalog that a name of several parts stands for, if it does.
    ///
    /// # Errors
    /// What making its rows gives.
    fn system_table(
        &self,
        planner: &Planner<'_>,
        parts: &[String],
    ) -> Result<Option<Arc<dyn TableSource>>>;

    /// The function of the session itself of that name, if it is one.
    fn function(&self, planner: &Planner<'_>, name: &str) -> Option<Arc<ScalarUDF>>;
}
