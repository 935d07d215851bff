//! COPY FROM and COPY TO, CSV, Parquet and JSON, and the same files in FROM.
//!
//! What must hold: files are written as [`OutputFile`], which is never a database's; errors of Parquet files repeat no values.

use super::csv;
use super::dml::position;
use super::generated;
use super::json;
use super::load::{self, RowRules};
use super::packed_files::Packing;
use super::query;
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{LogicalPlanBuilder, TableSource};
use datafusion::object_store::ObjectStoreExt;
use datafusion::sql::sqlparser::ast::{self, ObjectName};
use hushdb_query::functions::{format_blob, format_uuid, value_text};
use hushdb_query::plan::{Planner, check_parquet, named, reading};
use hushdb_sql::name_parts;
use hushdb_sql::type_names::{arrow_field, is_called_uuid};
use hushdb_sql::without_values;
use hushdb_sql::{self as sql, CopyTarget, OptionValue};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::{ColumnType, OutputFile, input_path, open_input};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter, parquet_to_arrow_schema};
use parquet::basic::{Compression, GzipLevel, LogicalType, Type as PhysicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::{SchemaDescriptor, Type};
use std::collections::HashSet;
use std::io::{BufWriter, Write};
use std::sync::Arc;

/// A format of files.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Format {
    Csv,
    Parquet,
    Json,
}

impl Format {
    /// The format that a file's name tells, if any.
    pub(super) fn of_name(path: &str) -> Option<Self> {
        let lower = Packing::of_name(path).1.to_ascii_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|ending| lower.ends_with(ending));
        if ends(&[".csv", ".tsv"]) {
            Some(Self::Csv)
        } else if ends(&[".parquet"]) {
            Some(Self::Parquet)
        } else if ends(&[".json", ".jsonl", ".ndjson"]) {
            Some(Self::Json)
        } else {
            None
        }
    }
}

/// Rows of a group of a Parquet file at most: they are in memory until it is written.
const MAX_GROUP_ROWS: usize = 1 << 20;

/// Options of COPY, with DuckDB's names.
struct Options {
    format: Format,
    header: Option<bool>,
    delimiter: Option<u8>,
    quote: u8,
    /// Before a quote that belongs to a value; the quote itself where nothing is said.
    escape: Option<u8>,
    null: String,
    compression: Compression,
    /// Rows of a group of a Parquet file.
    group_rows: Option<usize>,
    /// Of files of text.
    packing: Packing,
    date_form: Option<String>,
    timestamp_form: Option<String>,
    /// JSON as one array.
    array: bool,
}

fn options(path: &str, given: &[(String, OptionValue)]) -> Result<Options> {
    let (packing, name) = Packing::of_name(path);
    let lower = name.to_ascii_lowercase();
    let mut compression = None;
    let mut options = Options {
        format: Format::of_name(path).unwrap_or(Format::Csv),
        header: None,
        delimiter: lower.ends_with(".tsv").then_some(b'\t'),
        quote: b'"',
        escape: None,
        null: String::new(),
        compression: Compression::SNAPPY,
        packing,
        group_rows: None,
        date_form: None,
        timestamp_form: None,
        array: false,
    };
    for (name, value) in given {
        let text = match value {
            OptionValue::Text(text) => Some(text.as_str()),
            OptionValue::None => None,
            OptionValue::List(_) | OptionValue::Pairs(_) if name == "partition_by" => None,
            OptionValue::List(_) | OptionValue::Pairs(_) => {
                return Err(Error::binder(format!("the option {name} takes one value")));
            }
        };
        let required =
            || text.ok_or_else(|| Error::binder(format!("the option {name} needs a value")));
        match name.as_str() {
            "format" => {
                options.format = format_named(required()?)?;
            }
            "csv" => options.format = Format::Csv,
            "header" => options.header = Some(is_on(text)),
            "array" => options.array = is_on(text),
            "delimiter" | "delim" | "sep" => options.delimiter = Some(one_byte(name, required()?)?),
            "quote" => options.quote = one_byte(name, required()?)?,
            "escape" => options.escape = Some(one_byte(name, required()?)?),
            "null" | "nullstr" => options.null = required()?.to_string(),
            "compression" | "codec" => compression = Some(required()?.to_ascii_lowercase()),
            _ if options.take_of_writers(name, text)? => {}
            "auto_detect" => {}
            "encryption_config" | "encryption_key" => {
                return Err(Error::unsupported(
                    "encrypted exports are not there yet; write to an attached encrypted database",
                ));
            }
            other => {
                return Err(Error::binder(format!(
                    "Unrecognized option for COPY: \"{other}\""
                )));
            }
        }
    }
    match (compression, options.format) {
        (None, _) => {}
        (Some(name), Format::Parquet) => options.compression = parquet_compression(&name)?,
        (Some(name), Format::Csv | Format::Json) => {
            let name = OptionValue::Text(name);
            options.packing = Packing::named("compression", &name)?.unwrap_or(packing);
        }
    }
    options.check_forms()?;
    Ok(options)
}

impl Options {
    fn check_forms(&self) -> Result<()> {
        let has_form = self.date_form.is_some() || self.timestamp_form.is_some();
        match has_form && self.format != Format::Csv {
            true => Err(Error::unsupported(
                "the options dateformat and timestampformat are for CSV files",
            )),
            false => Ok(()),
        }
    }

    /// Takes an option of COPY TO, if it is one of these.
    fn take_of_writers(&mut self, name: &str, text: Option<&str>) -> Result<bool> {
        match name {
            "row_group_size" => {
                let rows = text.and_then(|rows| rows.parse::<usize>().ok());
                let rows = rows.filter(|rows| (1..=MAX_GROUP_ROWS).contains(rows));
                self.group_rows = Some(rows.ok_or_else(|| {
                    Error::binder(format!(
                        "the option row_group_size takes a number of rows, {MAX_GROUP_ROWS} at most"
                    ))
                })?);
            }
            "dateformat" | "date_format" => self.date_form = Some(written_form(name, text)?),
            "timestampformat" | "timestamp_format" => {
                self.timestamp_form = Some(written_form(name, text)?);
            }
            // A file that is there is written over as a whole, from a temporary one.
            "overwrite" | "overwrite_or_ignore" | "use_tmp_file" if is_on(text) => {}
            "per_thread_output" | "return_files" | "return_stats" | "append"
                if text.is_some() && !is_on(text) => {}
            "overwrite"
            | "overwrite_or_ignore"
            | "use_tmp_file"
            | "per_thread_output"
            | "return_files"
            | "return_stats"
            | "append"
            | "partition_by" => {
                return Err(Error::unsupported(format!(
                    "this value of the option {name} of COPY is not there yet"
                )));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn parquet_compression(name: &str) -> Result<Compression> {
    Ok(match name {
        "snappy" => Compression::SNAPPY,
        "zstd" => Compression::ZSTD(ZstdLevel::default()),
        "gzip" => Compression::GZIP(GzipLevel::default()),
        "lz4" | "lz4_raw" => Compression::LZ4_RAW,
        "uncompressed" | "none" => Compression::UNCOMPRESSED,
        other => {
            return Err(Error::unsupported(format!(
                "compression {other} is not supported"
            )));
        }
    })
}

/// A format of dates as the writer has it, whose fractions have nine digits where DuckDB's have six.
fn written_form(name: &str, text: Option<&str>) -> Result<String> {
    let form = text.unwrap_or_default();
    match csv::is_form(form) {
        true => Ok(form.replace("%f", "%6f").replace("%n", "%9f")),
        false => Err(Error::binder(format!(
            "the option {name} takes a format such as '%d.%m.%Y'"
        ))),
    }
}

/// The format that the options say, or the file's name.
fn format_of(path: &str, given: &[(String, OptionValue)]) -> Result<Format> {
    let mut format = Format::of_name(path).unwrap_or(Format::Csv);
    for (name, value) in given {
        match (name.as_str(), value) {
            ("format", OptionValue::Text(text)) => format = format_named(text)?,
            ("csv", _) => format = Format::Csv,
            _ => {}
        }
    }
    Ok(format)
}

fn format_named(name: &str) -> Result<Format> {
    match name.to_ascii_lowercase().as_str() {
        "csv" => Ok(Format::Csv),
        "parquet" => Ok(Format::Parquet),
        "json" => Ok(Format::Json),
        other => Err(Error::unsupported(format!(
            "COPY format {other} is not there; use csv, parquet or json"
        ))),
    }
}

/// What an option says that is on when it is named.
fn is_on(text: Option<&str>) -> bool {
    !text.is_some_and(|text| matches!(text.to_ascii_lowercase().as_str(), "false" | "0" | "off"))
}

fn one_byte(name: &str, text: &str) -> Result<u8> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        _ => Err(Error::binder(format!(
            "the option {name} takes one ASCII character"
        ))),
    }
}

fn open_error(path: &str, error: &std::io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("Cannot open file \"{path}\": {error}"),
    )
}

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
pub(super) fn parquet_source(planner: &Planner<'_>, path: &str) -> Result<Arc<dyn TableSource>> {
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
        DataType::FixedSizeBinary(_) => {
            Arc::new(field.as_ref().clone().with_data_type(DataType::BinaryView))
        }
        _ => Arc::clone(field),
    });
    Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone())
}

pub(super) fn copy_from(
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
                None => return QueryResult::count(0),
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
    QueryResult::count(rows)
}

pub(super) fn copy_to(
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

    let mut file = output_file(path)?;
    let out = BufWriter::new(&mut file);
    let rows = match options.format {
        Format::Csv => {
            let packed = options.packing;
            packed.write(out, |out| write_csv(result, out, &options))
        }
        Format::Parquet => write_parquet(result, out, &options),
        Format::Json => {
            let packed = options.packing;
            packed.write(out, |out| json::write(result, out, options.array))
        }
    };
    let rows = rows?;
    commit(file, path)?;
    QueryResult::count(rows)
}

/// A file that has its name when it is whole, and is no database.
pub(super) fn output_file(path: &str) -> Result<OutputFile> {
    OutputFile::create(path).map_err(|error| not_written(path, error))
}

/// Gives it its name.
pub(super) fn commit(file: OutputFile, path: &str) -> Result<()> {
    file.commit().map_err(|error| not_written(path, error))
}

fn not_written(path: &str, error: hushdb_storage::Error) -> Error {
    match error {
        hushdb_storage::Error::Io(error) => open_error(path, &error),
        error => error.into(),
    }
}

fn write_csv(result: QueryResult, out: impl Write, options: &Options) -> Result<u64> {
    let schema = result.schema();
    let or = |form: &Option<String>, usual: &str| form.clone().unwrap_or_else(|| usual.into());
    let escape = options.escape.unwrap_or(options.quote);
    let mut writer = WriterBuilder::new()
        .with_header(options.header.unwrap_or(true))
        .with_delimiter(options.delimiter.unwrap_or(b','))
        .with_quote(options.quote)
        .with_escape(escape)
        .with_double_quote(escape == options.quote)
        .with_null(options.null.clone())
        .with_date_format(or(&options.date_form, "%Y-%m-%d"))
        .with_time_format("%H:%M:%S%.f".into())
        .with_timestamp_format(or(&options.timestamp_form, "%Y-%m-%d %H:%M:%S%.f"))
        .with_timestamp_tz_format(or(&options.timestamp_form, "%Y-%m-%d %H:%M:%S%.f%:::z"))
        .build(out);
    let mut rows = 0;
    let mut wrote = false;
    for batch in result {
        let batch = text_batch(&batch?, &schema)?;
        rows += batch.num_rows() as u64;
        writer.write(&batch)?;
        wrote = true;
    }
    if !wrote {
        writer.write(&text_batch(
            &RecordBatch::new_empty(Arc::clone(&schema)),
            &schema,
        )?)?;
    }
    writer
        .into_inner()
        .flush()
        .map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?;
    Ok(rows)
}

/// Turns the columns that a CSV writer has no form for into text.
fn text_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let (mut fields, mut columns) = (vec![], vec![]);
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        let text: Option<ArrayRef> = match column.data_type() {
            DataType::FixedSizeBinary(16) => {
                let values = column
                    .as_fixed_size_binary()
                    .iter()
                    .map(|v| v.map(format_uuid));
                Some(Arc::new(values.collect::<StringArray>()))
            }
            DataType::FixedSizeBinary(_) => {
                let values = column
                    .as_fixed_size_binary()
                    .iter()
                    .map(|v| v.map(format_blob));
                Some(Arc::new(values.collect::<StringArray>()))
            }
            DataType::BinaryView => {
                let values = column.as_binary_view().iter().map(|v| v.map(format_blob));
                Some(Arc::new(values.collect::<StringArray>()))
            }
            DataType::Binary => {
                let values = column.as_binary::<i32>().iter().map(|v| v.map(format_blob));
                Some(Arc::new(values.collect::<StringArray>()))
            }
            DataType::Utf8View => Some(datafusion::arrow::compute::cast(column, &DataType::Utf8)?),
            nested if nested.is_nested() => {
                let texts = (0..column.len()).map(|row| value_text(column.as_ref(), row));
                Some(Arc::new(texts.collect::<Result<StringArray, _>>()?))
            }
            _ => None,
        };
        let column = text.unwrap_or_else(|| Arc::clone(column));
        fields.push(Field::new(field.name(), column.data_type().clone(), true));
        columns.push(column);
    }
    Ok(RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        columns,
    )?)
}

/// The Parquet schema of rows, in which a UUID is called one: the library leaves that out.
fn parquet_schema(schema: &Schema) -> Result<SchemaDescriptor, ParquetError> {
    let plain = ArrowSchemaConverter::new().convert(schema)?;
    let columns = plain.root_schema().get_fields().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| {
        if field.data_type() != &DataType::FixedSizeBinary(16) {
            return Ok(Arc::clone(column));
        }
        let uuid = Type::primitive_type_builder(column.name(), PhysicalType::FIXED_LEN_BYTE_ARRAY)
            .with_repetition(column.get_basic_info().repetition())
            .with_logical_type(Some(LogicalType::Uuid))
            .with_length(16);
        uuid.build().map(Arc::new)
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let root = Type::group_type_builder(plain.root_schema().name()).with_fields(columns);
    Ok(SchemaDescriptor::new(Arc::new(root.build()?)))
}

fn write_parquet(result: QueryResult, out: impl Write + Send, options: &Options) -> Result<u64> {
    let properties = WriterProperties::builder()
        .set_compression(options.compression)
        .set_max_row_group_row_count(Some(options.group_rows.unwrap_or(MAX_GROUP_ROWS)))
        .build();
    let failed = |e: parquet::errors::ParquetError| Error::new(ErrorKind::Io, e.to_string());
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_parquet_schema(parquet_schema(&result.schema()).map_err(failed)?);
    let mut writer =
        ArrowWriter::try_new_with_options(out, result.schema(), options).map_err(failed)?;
    let mut rows = 0;
    for batch in result {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        writer.write(&batch).map_err(failed)?;
    }
    writer
        .into_inner()
        .map_err(failed)?
        .flush()
        .map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?;
    Ok(rows)
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
