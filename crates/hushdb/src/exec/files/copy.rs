//! COPY FROM and COPY TO, CSV, Parquet and JSON, and the same files in FROM.
//!
//! What must hold: errors of Parquet files repeat no values.

use super::copy_options::{Format, Options, format_of, open_error, options};
use super::copy_rows::CopyRows;
use super::csv;
use super::json;
use super::partitioned;
use super::written_stats;
use crate::exec::columns::generated;
use crate::exec::query;
use crate::exec::rows::dml::position;
use crate::exec::rows::load::{self, RowRules};
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::arrow::array::{ArrayRef, Int64Array, ListBuilder, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{LogicalPlanBuilder, TableSource};
use datafusion::object_store::ObjectStoreExt;
use datafusion::sql::sqlparser::ast::{self, ObjectName};
use hushdb_query::plan::{Planner, check_parquet, named, reading};
use hushdb_sql::name_parts;
use hushdb_sql::type_names::{arrow_field, is_called_uuid};
use hushdb_sql::without_values;
use hushdb_sql::{self as sql, CopyTarget, OptionValue};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::{ColumnType, input_path, open_input};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::LogicalType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::HashSet;
use std::sync::Arc;

fn listing(
    path: &str,
    format: Arc<dyn FileFormat>,
    schema: SchemaRef,
) -> Result<Arc<dyn TableSource>> {
    let config = ListingTableConfig::new(url(path)?)
        .with_listing_options(ListingOptions::new(format).with_file_extension(""))
        .with_schema(schema);
    Ok(provider_as_source(Arc::new(ListingTable::try_new(config)?)))
}

fn url(path: &str) -> Result<ListingTableUrl> {
    let full = input_path(path).map_err(|e| open_error(path, &e))?;
    if !full.is_file() {
        return Err(Error::new(
            ErrorKind::Io,
            format!("\"{path}\" is not a file"),
        ));
    }
    Ok(ListingTableUrl::parse(full.to_string_lossy())?)
}

fn infer(planner: &Planner<'_>, path: &str, format: &dyn FileFormat) -> Result<SchemaRef> {
    let url = url(path)?;
    reading(path, || check_parquet(path))?;
    let state = planner.state();
    let inferred = async {
        let store = state.runtime_env().object_store(&url)?;
        let meta = store
            .head(url.prefix())
            .await
            .map_err(datafusion::error::DataFusionError::from)?;
        Ok(format.infer_schema(state, &store, &[meta]).await?)
    };
    // Reading a local file needs no runtime: the object store falls back to plain calls outside of one. A thread of its
    // own keeps out of an executor that the caller may be in.
    std::thread::scope(|scope| {
        scope
            .spawn(|| reading(path, || futures::executor::block_on(inferred)))
            .join()
            .unwrap_or_else(|_| Err(Error::internal("the file's schema could not be read")))
    })
}

/// A Parquet file as a table.
pub(in crate::exec) fn parquet_source(
    planner: &Planner<'_>,
    path: &str,
) -> Result<Arc<dyn TableSource>> {
    let format = ParquetFormat::default().with_force_view_types(true);
    let schema = infer(planner, path, &format)?;
    let fixed = |field: &Arc<Field>| matches!(field.data_type(), DataType::FixedSizeBinary(_));
    let schema = match schema.fields().iter().any(fixed) {
        true => Arc::new(without_fixed_bytes(&schema, &uuids(path)?)),
        false => schema,
    };
    listing(path, Arc::new(format), schema)
}

/// The columns of a Parquet file that its schema calls UUIDs, which the reader does not tell.
fn uuids(path: &str) -> Result<HashSet<String>> {
    let invalid = |e: ParquetError| Error::invalid(without_values(&e.to_string()));
    let file = open_input(path).map_err(|e| invalid(e.into()))?;
    let reader = SerializedFileReader::new(file).map_err(invalid)?;
    let metadata = reader.metadata().file_metadata();
    let schema = metadata.schema_descr();
    // Files of before had it in the schema of their writer alone.
    let of_writer = parquet_to_arrow_schema(schema, metadata.key_value_metadata());
    let of_writer = of_writer.map_err(invalid)?;
    let of_writer = of_writer
        .fields()
        .iter()
        .filter(|field| is_called_uuid(field));
    let columns = schema.root_schema().get_fields().iter();
    let columns = columns.map(|column| column.get_basic_info());
    let uuids = columns.filter(|column| column.logical_type_ref() == Some(&LogicalType::Uuid));
    let uuids = uuids.map(|column| column.name().to_owned());
    Ok(uuids
        .chain(of_writer.map(|field| field.name().clone()))
        .collect())
}

/// Bytes of a fixed length as BLOBs, but for UUIDs.
fn without_fixed_bytes(schema: &Schema, uuids: &HashSet<String>) -> Schema {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::FixedSizeBinary(16) if uuids.contains(field.name()) || is_called_uuid(field) => {
            Arc::new(arrow_field(
                field.name(),
                &ColumnType::Uuid,
                field.is_nullable(),
            ))
        }
        // As in DuckDB: no DECIMAL is as wide, and HUGEINTs do not come as decimals.
        DataType::Decimal256(..) => {
            Arc::new(field.as_ref().clone().with_data_type(DataType::Float64))
        }
        DataType::FixedSizeBinary(_) => {
            Arc::new(field.as_ref().clone().with_data_type(DataType::BinaryView))
        }
        _ => Arc::clone(field),
    });
    Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone())
}

pub(in crate::exec) fn copy_from(
    statement: &Statement<'_>,
    table: &ObjectName,
    columns: &[String],
    path: &str,
    given: &[(String, OptionValue)],
) -> Result<QueryResult> {
    let format = format_of(path, given)?;
    if format != Format::Csv {
        options(path, given)?;
    }
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
    let source = match format {
        Format::Parquet => parquet_source(&planner, path)?,
        Format::Json => {
            let columns = targets.iter().filter_map(|t| version.columns.get(*t));
            json::source_for(path, &columns.collect::<Vec<_>>())?
        }
        Format::Csv => {
            let columns = targets.iter().filter_map(|t| version.columns.get(*t));
            match csv::source_for(path, given, &columns.collect::<Vec<_>>())? {
                Some(source) => source,
                None => return Ok(QueryResult::count(0)),
            }
        }
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
    path: &str,
    given: &[(String, OptionValue)],
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
    let result = query::stream(statement, &plan)?;
    let (rows, files) = match &options.spread {
        Some(spread) => partitioned::write(result, path, &options, spread)?,
        None => (one_file(result, path, &options)?, vec![path.to_owned()]),
    };
    let parted = options
        .spread
        .as_ref()
        .is_some_and(|spread| spread.hive && !spread.by.is_empty());
    match (options.returns_files, options.returns_stats) {
        (true, _) => counted_files(rows, files),
        (_, true) => written_stats::stats(path, &files, parted),
        _ => Ok(QueryResult::count(rows)),
    }
}

fn one_file(rows: QueryResult, path: &str, options: &Options) -> Result<u64> {
    let form = options.csv_form();
    let mut file = CopyRows::begin(path, options, &form, &rows.schema())?;
    let mut count = 0;
    for batch in rows {
        let batch = batch?;
        count += batch.num_rows() as u64;
        file.batch(&batch)?;
    }
    file.finish()?;
    Ok(count)
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
    Ok(QueryResult::rows(batch.schema(), vec![batch]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bytes_are_a_uuid_only_where_the_file_says_so() {
        let bytes = |name: &str, length| Field::new(name, DataType::FixedSizeBinary(length), true);
        let schema = Schema::new(vec![
            bytes("id", 16),
            bytes("digest", 16),
            bytes("short", 4),
        ]);
        let uuids = HashSet::from(["id".to_owned()]);
        let read = without_fixed_bytes(&schema, &uuids);
        let types = read.fields().iter().map(|field| field.data_type().clone());
        let blob = DataType::BinaryView;
        let expected = [DataType::FixedSizeBinary(16), blob.clone(), blob];
        assert_eq!(types.collect::<Vec<_>>(), expected);
    }
}
