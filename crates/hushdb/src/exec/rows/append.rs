//! Rows that a program has, into a table: what COPY FROM STDIN is made of.

use super::load::{self, RowRules};
use crate::exec::columns::generated;
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{Fields, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::MemTable;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use hushdb_sql::type_names::arrow_field;
use hushdb_sql::{self as sql, Error, Result, sqlstate};
use hushdb_storage::Column;
use std::sync::Arc;

/// Adds rows to the columns that are named, all when none are; others get their defaults.
pub(in crate::exec) fn append(
    statement: &Statement<'_>,
    table: &[String],
    columns: &[String],
    rows: RecordBatch,
) -> Result<QueryResult> {
    let parts = table.iter().map(|part| Ident::with_quote('"', part));
    let table = ObjectName(parts.map(ObjectNamePart::Identifier).collect());
    let (name, mut write) = statement.resolve_for_write(&table)?;
    let parts = [&name.database, &name.schema, &name.name].map(String::clone);
    let (_, version) = statement.snapshot().table(&parts)?;
    let mut sources = vec![None; version.columns.len()];
    let mut targets = generated::given(&version);
    if !columns.is_empty() {
        let position = |column: &String| {
            let names = version.columns.iter().map(|column| column.name.as_str());
            sql::position_of(names, column).ok_or_else(|| {
                Error::binder(format!(
                    "Table \"{}\" does not have a column with name \"{column}\"",
                    name.name
                ))
                .with_sqlstate(sqlstate::UNDEFINED_COLUMN)
            })
        };
        targets = columns.iter().map(position).collect::<Result<_>>()?;
        generated::refuse_values(&version, &targets)?;
    }
    if targets.len() != rows.num_columns() {
        return Err(Error::binder(format!(
            "table {} takes {} columns and {} were given",
            name.name,
            targets.len(),
            rows.num_columns()
        )));
    }
    for (at, target) in targets.iter().enumerate() {
        if sources
            .get_mut(*target)
            .is_none_or(|source| source.replace(at).is_some())
        {
            return Err(
                Error::binder("a column is named twice").with_sqlstate(sqlstate::DUPLICATE_COLUMN)
            );
        }
    }
    let rows = with_blobs_in(
        &rows,
        targets.iter().map(|target| &version.columns[*target]),
    )?;
    let source = Arc::new(MemTable::try_new(rows.schema(), vec![vec![rows]])?);
    let plan = LogicalPlanBuilder::scan("rows", provider_as_source(source), None)?.build()?;
    let planner = statement.planner();
    let plan = load::project(&planner, plan, &name, &version.columns, &sources)?;
    let rules = RowRules::new(&planner, &name.name, &version.columns, &version.checks)?;
    let added = load::load(statement, &mut write, &name, &plan, rules)?;
    write.commit()?;
    Ok(QueryResult::count(added))
}

/// Rows with BLOBs for bytes whose Arrow type is that of another type here, where the columns that they are for have none of these.
fn with_blobs_in<'a>(
    rows: &RecordBatch,
    targets: impl Iterator<Item = &'a Column>,
) -> Result<RecordBatch> {
    let schema = rows.schema();
    let columns = schema.fields().iter().zip(targets);
    let fields = columns.map(|(field, target)| {
        let own = Arc::new(arrow_field(&target.name, &target.ty, true));
        match sql::with_blobs(&own) == own {
            true => sql::with_blobs(field),
            false => Arc::clone(field),
        }
    });
    let fields: Fields = fields.collect();
    let arrays = rows.columns().iter().zip(&fields);
    let arrays = arrays.map(|(array, field)| cast(array, field.data_type()));
    let arrays = arrays.collect::<std::result::Result<_, _>>()?;
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}
