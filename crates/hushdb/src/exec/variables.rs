//! SET VARIABLE and RESET VARIABLE: values of a session, which `getvariable('name')` gives.

use super::query;
use crate::result::QueryResult;
use crate::session::Session;
use crate::statement::Statement;
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{Expr, SelectItem};
use hushdb_sql::{self as sql, Error, Result, folded};
use std::sync::Arc;

/// `SET VARIABLE name = value`. A name alone is a text, as for settings.
pub(super) fn set(statement: &Statement<'_>, name: &str, value: Expr) -> Result<QueryResult> {
    let value = match value {
        Expr::Identifier(text) => ScalarValue::from(text.value),
        value => value_of(statement, value)?,
    };
    let mut variables = statement.session.variables.lock();
    Arc::make_mut(&mut variables).insert(folded(name), value);
    Ok(QueryResult::done())
}

/// The value of an expression that names no column.
pub(super) fn value_of(statement: &Statement<'_>, value: Expr) -> Result<ScalarValue> {
    let query = sql::query_of(vec![], SelectItem::UnnamedExpr(value))?;
    let plan = statement.planner().plan_query(*query)?;
    let batches = query::collect(statement, &plan)?;
    let row = batches.iter().find(|batch| batch.num_rows() == 1);
    let row = row.filter(|row| row.num_columns() == 1);
    let row = row.ok_or_else(|| Error::binder("one value is wanted here"))?;
    Ok(ScalarValue::try_from_array(row.column(0), 0)?)
}

/// `RESET VARIABLE name`, which may not be there.
pub(super) fn reset(session: &Session, name: &str) -> QueryResult {
    let mut variables = session.variables.lock();
    Arc::make_mut(&mut variables).remove(&folded(name));
    QueryResult::done()
}
