//! COPY FROM and COPY TO: rows of a file into a table, rows of a query into files.

use super::columns::generated;
use super::query;
use super::rows::dml::position;
use super::rows::load::{self, RowRules};
use super::variables;
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::arrow::array::{ArrayRef, Int64Array, ListBuilder, StringBuilder};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::sql::sqlparser::ast::{self, ObjectName};
use hushdb_files::copy_options::options;
use hushdb_files::copy_source::copy_source;
use hushdb_files::{copy_target, written_stats};
use hushdb_query::functions::Zone;
use hushdb_query::plan::named;
use hushdb_sql::name_parts;
use hushdb_sql::{self as sql, CopyPath, CopyTarget, OptionValue};
use hushdb_sql::{Error, ErrorKind, Result};
use std::sync::Arc;

pub(in crate::exec) fn copy_from(
    statement: &Statement<'_>,
    table: &ObjectName,
    columns: &[String],
    path: &CopyPath,
    given: &[(String, OptionValue)],
) -> Result<QueryResult> {
    let path = &file_of(statement, path)?;
    let (name, mut write) = statement.resolve_for_write(table)?;
    let (_, version) = statement.snapshot().table(&[
        name.database.clone(),
        name.schema.clone(),
        name.name.clone(),
    ])?;
    let targets = columns.iter().map(|column| position(&version, column));
    let mut targets = targets.collect::<Result<Vec<usize>>>()?;
    generated::refuse_values(&version, &targets)?;
    if targets.is_empty() {
        targets = generated::given(&version);
    }
    let planner = statement.planner();
    let read = targets.iter().filter_map(|t| version.columns.get(*t));
    let Some(source) = copy_source(&planner, path, given, &read.collect::<Vec<_>>())? else {
        return Ok(QueryResult::count(0));
    };
    let given = source.schema().fields().len();
    if given != targets.len() {
        return Err(Error::binder(format!(
            "table {} takes {} columns and \"{path}\" has {given}",
            name.name,
            targets.len()
        )));
    }
    let plan = LogicalPlanBuilder::scan("file", source, None)?.build()?;
    let mut sources = vec![None; version.columns.len()];
    for (i, target) in targets.iter().enumerate() {
        sources[*target] = Some(i);
    }
    let plan = load::project(&planner, plan, &name, &version.columns, &sources)?;
    let rules = RowRules::new(&planner, &name.name, &version.columns, &version.checks)?;
    let rows = load::load(statement, &mut write, &name, &plan, rules);
    let rows = rows.map_err(|error| match error.kind() {
        ErrorKind::Conversion => named(path, error),
        _ => error,
    })?;
    write.commit()?;
    Ok(QueryResult::count(rows))
}

pub(in crate::exec) fn copy_to(
    statement: &Statement<'_>,
    what: CopyTarget,
    path: &CopyPath,
    given: &[(String, OptionValue)],
) -> Result<QueryResult> {
    let zone = statement.session.time_zone();
    let path = file_of(statement, path)?;
    write(statement, what, &path, given, zone)
}

/// The file that is written, or that a value names.
fn file_of(statement: &Statement<'_>, path: &CopyPath) -> Result<String> {
    let value = match path {
        CopyPath::Written(path) => return Ok(path.clone()),
        CopyPath::Value(value) => value.as_ref().clone(),
    };
    match variables::value_of(statement, value)? {
        ScalarValue::Utf8(Some(path))
        | ScalarValue::Utf8View(Some(path))
        | ScalarValue::LargeUtf8(Some(path)) => Ok(path),
        _ => Err(Error::binder("the file of a COPY is a text")),
    }
}

/// The same of rows whose instants are written as clocks of a zone show them, where they are written as text; `None`: as those of UTC.
pub(in crate::exec) fn write(
    statement: &Statement<'_>,
    what: CopyTarget,
    path: &str,
    given: &[(String, OptionValue)],
    zone: Option<Zone>,
) -> Result<QueryResult> {
    let options = options(path, given)?;
    let query = match what {
        CopyTarget::Query(query) => *query,
        CopyTarget::Table(name, columns) => {
            name_parts(&name)?;
            let items = match columns.as_slice() {
                [] => "*".to_string(),
                some => some
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            match sql::parse_one(&format!("SELECT {items} FROM {name}"))? {
                ast::Statement::Query(query) => *query,
                _ => return Err(Error::internal("a SELECT was parsed as something else")),
            }
        }
    };
    let plan = statement.planner().plan_query(query)?;
    let zone = zone.filter(|_| options.writes_texts());
    let result = query::stream(statement, &plan)?.shown_in(zone);
    let (rows, files) = copy_target::write(&result.schema(), result, path, &options)?;
    match (options.returns_files, options.returns_stats) {
        (true, _) => counted_files(rows, files),
        (_, true) => Ok(one_batch(written_stats::stats(path, &files, &options)?)),
        _ => Ok(QueryResult::count(rows)),
    }
}

/// What RETURN_FILES gives: how many rows, and the files that they are in.
fn counted_files(rows: u64, files: Vec<String>) -> Result<QueryResult> {
    let count = Int64Array::from(vec![i64::try_from(rows).unwrap_or(i64::MAX)]);
    let mut list = ListBuilder::new(StringBuilder::new());
    files
        .iter()
        .for_each(|file| list.values().append_value(file));
    list.append(true);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("Count", Arc::new(count)),
        ("Files", Arc::new(list.finish())),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    Ok(one_batch(batch))
}

fn one_batch(batch: RecordBatch) -> QueryResult {
    QueryResult::rows(batch.schema(), vec![batch])
}
