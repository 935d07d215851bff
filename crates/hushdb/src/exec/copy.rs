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
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{self, ObjectName};
use hushdb_files::copy_options::options;
use hushdb_files::copy_source::copy_source;
use hushdb_files::{copy_target, written_stats};
use hushdb_query::functions::Zone;
use hushdb_query::plan::{TableName, named};
use hushdb_sql::name_parts;
use hushdb_sql::{self as sql, CopyPath, CopyTarget, OptionValue, Statement as Parsed};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::TableVersion;
use std::sync::Arc;

/// COPY FROM a file and COPY TO one.
pub(in crate::exec) fn run(statement: &Statement<'_>, parsed: Parsed) -> Result<QueryResult> {
    match parsed {
        Parsed::CopyFrom {
            table,
            columns,
            path,
            options,
        } => copy_from(statement, &table, &columns, &path, &options),
        Parsed::CopyTo {
            what,
            path,
            options,
        } => write(
            statement,
            what,
            &file_of(statement, &path)?,
            &options,
            statement.session.time_zone(),
        ),
        _ => Err(Error::internal("a statement that is no COPY")),
    }
}

fn copy_from(
    statement: &Statement<'_>,
    table: &ObjectName,
    columns: &[String],
    path: &CopyPath,
    given: &[(String, OptionValue)],
) -> Result<QueryResult> {
    let path = &file_of(statement, path)?;
    let (name, mut write) = statement.resolve_for_write(table)?;
    let Some((plan, version)) = read(statement, &name, columns, path, given)? else {
        return Ok(QueryResult::count(0));
    };
    let planner = statement.planner();
    let rules = RowRules::new(&planner, &name.name, &version.columns, &version.checks)?;
    let rows = load::load(statement, &mut write, &name, &plan, rules);
    let rows = rows.map_err(|error| match error.kind() {
        ErrorKind::Conversion => named(path, error),
        _ => error,
    })?;
    write.commit()?;
    Ok(QueryResult::count(rows))
}

/// The plan of the rows that COPY FROM reads; nothing where there are none.
pub(in crate::exec) fn rows_read(
    statement: &Statement<'_>,
    table: &ObjectName,
    columns: &[String],
    path: &CopyPath,
    given: &[(String, OptionValue)],
) -> Result<Option<LogicalPlan>> {
    let path = &file_of(statement, path)?;
    let name = statement.snapshot().resolve(&name_parts(table)?)?;
    let read = read(statement, &name, columns, path, given)?;
    Ok(read.map(|(plan, _)| plan))
}

/// The rows of a file as a table has them.
fn read(
    statement: &Statement<'_>,
    name: &TableName,
    columns: &[String],
    path: &str,
    given: &[(String, OptionValue)],
) -> Result<Option<(LogicalPlan, Arc<TableVersion>)>> {
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
        return Ok(None);
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
    let plan = load::project(&planner, plan, name, &version.columns, &sources)?;
    Ok(Some((plan, version)))
}

/// The file that is written, or that a value names.
pub(in crate::exec) fn file_of(statement: &Statement<'_>, path: &CopyPath) -> Result<String> {
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

/// Writes rows whose instants are written as clocks of a zone show them, where they are written as text; `None`: as those of UTC.
pub(in crate::exec) fn write(
    statement: &Statement<'_>,
    what: CopyTarget,
    path: &str,
    given: &[(String, OptionValue)],
    zone: Option<Zone>,
) -> Result<QueryResult> {
    let options = options(path, given)?;
    let plan = rows_of(statement, what)?;
    let zone = zone.filter(|_| options.writes_texts());
    let result = query::stream(statement, &plan)?.shown_in(zone);
    let (rows, files) = copy_target::write(&result.schema(), result, path, &options)?;
    match (options.returns_files, options.returns_stats) {
        (true, _) => counted_files(rows, files),
        (_, true) => Ok(one_batch(written_stats::stats(path, &files, &options)?)),
        _ => Ok(QueryResult::count(rows)),
    }
}

/// The plan of the rows that COPY TO writes.
pub(in crate::exec) fn rows_of(statement: &Statement<'_>, what: CopyTarget) -> Result<LogicalPlan> {
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
    statement.planner().plan_query(query)
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
