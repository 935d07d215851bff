//! RETURNING: the rows that a statement added, changed or removed, as its result; and what may stand there and among new values.

use crate::exec::query;
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{self, Ident, SelectItem, SetExpr};
use hushdb_query::memory::KeptRows;
use hushdb_query::plan::DML_TARGET;
use hushdb_sql as sql;
use hushdb_sql::{Error, Result};

/// `SELECT ... FROM from`, with what `fill` puts there: parsed SQL is never made text and read again.
pub(in crate::exec) fn select(
    from: &str,
    fill: impl FnOnce(&mut ast::Select),
) -> Result<ast::Query> {
    let statement = sql::parse_one(&format!("SELECT 1 FROM {from}"))?;
    if let ast::Statement::Query(mut query) = statement
        && let SetExpr::Select(select) = query.body.as_mut()
    {
        fill(select);
        return Ok(*query);
    }
    Err(Error::internal("a SELECT was parsed as something else"))
}

/// Refuses expressions of a plan that are not about one row: what a statement changes and returns comes row by row.
pub(in crate::exec) fn row_by_row(plan: &LogicalPlan) -> Result<()> {
    let mut plan = plan;
    loop {
        plan = match plan {
            LogicalPlan::Projection(projection) => &projection.input,
            LogicalPlan::Filter(filter) => &filter.input,
            LogicalPlan::Aggregate(_) => {
                return Err(Error::binder(
                    "Aggregate functions are not supported here: take them from a subquery",
                ));
            }
            LogicalPlan::Window(_) => {
                return Err(Error::binder(
                    "Window functions are not supported here: take them from a subquery",
                ));
            }
            LogicalPlan::Unnest(_) => {
                return Err(Error::binder(
                    "UNNEST not supported here: one row is changed or returned for each that is there",
                ));
            }
            _ => return Ok(()),
        };
    }
}

/// What gives RETURNING of rows.
pub(super) fn returning_plan(
    statement: &Statement<'_>,
    alias: &Ident,
    items: &[SelectItem],
    rows: &KeptRows,
) -> Result<LogicalPlan> {
    let query = select(&format!("\"{DML_TARGET}\" AS {alias}"), |select| {
        select.projection = items.to_vec();
    })?;
    let planner = statement.planner().with_rows(DML_TARGET, rows.source()?);
    let plan = planner.plan_query(query)?;
    row_by_row(&plan)?;
    Ok(plan)
}

/// `SELECT items` over rows of the table's columns, which the items know by the alias.
pub(in crate::exec) fn returning(
    statement: &Statement<'_>,
    alias: &Ident,
    items: &[SelectItem],
    rows: &KeptRows,
) -> Result<QueryResult> {
    let plan = returning_plan(statement, alias, items, rows)?;
    query::stream(statement, &plan)?.read(&statement.session.engine().context())
}
