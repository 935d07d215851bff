//! RETURNING: the rows that a statement added, changed or removed, as its result.

use super::query;
use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::plan::{DML_TARGET, Snapshot};
use crate::result::QueryResult;
use crate::scan::ScanProgress;
use crate::sql;
use crate::sql::type_names::arrow_field;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::MemTable;
use datafusion::datasource::provider_as_source;
use datafusion::sql::sqlparser::ast::{self, Ident, SelectItem, SetExpr};
use hushdb_storage::TableVersion;
use std::sync::Arc;

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

/// `SELECT items` over rows with the table's columns, which the items know by the alias.
pub(super) fn returning(
    connection: &Connection,
    snapshot: &Snapshot,
    table: &TableVersion,
    alias: &Ident,
    items: &[SelectItem],
    rows: &[RecordBatch],
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    let fields = table.columns.iter();
    let fields: Vec<_> = fields.map(|c| arrow_field(&c.name, &c.ty, true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let typed = |batch: &RecordBatch| {
        let columns = batch.columns().iter().zip(&table.columns);
        let columns = columns.map(|(array, column)| cast(array, &column.ty.arrow()));
        RecordBatch::try_new(Arc::clone(&schema), columns.collect::<Result<_, _>>()?)
    };
    let batches = rows.iter().map(typed).collect::<Result<Vec<_>, _>>()?;
    let source = provider_as_source(Arc::new(MemTable::try_new(
        Arc::clone(&schema),
        vec![batches],
    )?));

    let query = select(&format!("\"{DML_TARGET}\" AS {alias}"), |select| {
        select.projection = items.to_vec();
    })?;
    let planner = connection
        .planner(snapshot, progress)
        .with_rows(DML_TARGET, source);
    let plan = planner.plan_query(query)?;
    let result = query::stream(connection, &plan, progress)?;
    let schema = result.schema();
    Ok(QueryResult::rows(schema, result.collect_batches()?))
}
