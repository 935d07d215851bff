//! RETURNING: the rows that a statement added, changed or removed, as its result.

use super::query;
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::sql::sqlparser::ast::{self, Ident, SelectItem, SetExpr};
use hushdb_query::memory::KeptRows;
use hushdb_query::plan::DML_TARGET;
use hushdb_sql as sql;
use hushdb_sql::{Error, Result};

/// `SELECT ... FROM from`, with what `fill` puts there: parsed SQL is never made text and read again.
pub(super) fn select(from: &str, fill: impl FnOnce(&mut ast::Select)) -> Result<ast::Query> {
    let statement = sql::parse_one(&format!("SELECT 1 FROM {from}"))?;
    if let ast::Statement::Query(mut query) = statement
        && let SetExpr::Select(select) = query.body.as_mut()
    {
        fill(select);
        return Ok(*query);
    }
    Err(Error::internal("a SELECT was parsed as something else"))
}

/// `SELECT items` over rows of the table's columns, which the items know by the alias.
pub(super) fn returning(
    statement: &Statement<'_>,
    alias: &Ident,
    items: &[SelectItem],
    rows: &KeptRows,
) -> Result<QueryResult> {
    let query = select(&format!("\"{DML_TARGET}\" AS {alias}"), |select| {
        select.projection = items.to_vec();
    })?;
    let planner = statement.planner().with_rows(DML_TARGET, rows.source()?);
    let plan = planner.plan_query(query)?;
    query::stream(statement, &plan)?.read(&statement.session.engine().context())
}
