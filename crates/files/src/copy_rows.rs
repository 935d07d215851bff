//! One file of COPY TO, batch by batch: CSV, JSON or Parquet, packed or not.

use super::copy_options::{self, Format, Options};
use super::csv::{CsvForm, CsvWriter};
use super::json::JsonWriter;
use super::packed_files::Packed;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use hushdb_query::functions::{field_without_enums, without_enums};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::OutputFile;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{LogicalType, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::schema::types::{SchemaDescriptor, Type};
use std::io::{BufWriter, Write};
use std::sync::Arc;

/// A file that is written.
pub(crate) struct CopyRows<'a> {
    path: String,
    rows: Rows<'a>,
}

enum Rows<'a> {
    Csv(CsvWriter<'a, Packed>),
    Json(JsonWriter<'a, Packed>),
    Parquet(Box<ArrowWriter<BufWriter<OutputFile>>>),
}

fn failed(error: impl ToString) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
}

impl<'a> CopyRows<'a> {
    /// Begins a file, which has its name when it is finished.
    ///
    /// # Errors
    /// Those of [`OutputFile::create`].
    pub(crate) fn begin(
        path: &str,
        options: &Options,
        form: &'a CsvForm,
        schema: &SchemaRef,
    ) -> Result<Self> {
        let file = BufWriter::new(copy_options::output_file(path)?);
        let packed = |file| options.packing.begin(file).map_err(failed);
        let rows = match options.format {
            Format::Csv => Rows::Csv(form.writer(schema, packed(file)?)?),
            Format::Json => Rows::Json(JsonWriter::begin(
                schema,
                packed(file)?,
                form,
                options.array,
            )?),
            Format::Parquet => {
                let schema = for_parquet(schema);
                Rows::Parquet(Box::new(parquet(file, options, &schema)?))
            }
        };
        let path = path.to_owned();
        Ok(Self { path, rows })
    }

    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        match &mut self.rows {
            Rows::Csv(rows) => rows.batch(batch),
            Rows::Json(rows) => rows.batch(batch),
            Rows::Parquet(rows) => {
                let schema = for_parquet(&batch.schema());
                let columns = batch.columns().iter().zip(schema.fields());
                let columns = columns.map(|(column, field)| {
                    let plain = without_enums(column)?;
                    match plain.data_type() == field.data_type() {
                        true => Ok(plain),
                        false => Ok(cast(&plain, field.data_type())?),
                    }
                });
                let columns = columns.collect::<datafusion::common::Result<Vec<_>>>()?;
                rows.write(&RecordBatch::try_new(schema, columns)?)
                    .map_err(failed)
            }
        }
    }

    /// Has a Parquet file end its group of rows, which is in memory until then, if it has as many bytes.
    pub(crate) fn end_group_of(&mut self, bytes: usize) -> Result<()> {
        match &mut self.rows {
            Rows::Parquet(rows) if rows.in_progress_size() >= bytes => rows.flush().map_err(failed),
            _ => Ok(()),
        }
    }

    /// Bytes of the file so far, but for a group of rows of a Parquet file that has not ended.
    pub(crate) fn written(&self) -> u64 {
        match &self.rows {
            Rows::Csv(rows) => rows.out().written(),
            Rows::Json(rows) => rows.out().written(),
            Rows::Parquet(rows) => rows.bytes_written() as u64,
        }
    }

    /// Groups of rows that a Parquet file has so far, and how many rows are in the one that has not ended; none in other files.
    pub(crate) fn groups(&self) -> (usize, usize) {
        match &self.rows {
            Rows::Parquet(rows) => (rows.flushed_row_groups().len(), rows.in_progress_rows()),
            Rows::Csv(_) | Rows::Json(_) => (0, 0),
        }
    }

    /// Gives the file its name.
    pub(crate) fn finish(self) -> Result<()> {
        let file = match self.rows {
            Rows::Csv(rows) => rows.finish()?.finish().map_err(failed)?,
            Rows::Json(rows) => rows.finish()?.finish().map_err(failed)?,
            Rows::Parquet(rows) => rows.into_inner().map_err(failed)?,
        };
        let mut file = file.into_inner().map_err(|error| failed(error.error()))?;
        file.flush().map_err(failed)?;
        copy_options::commit(file, &self.path)
    }
}

/// The schema with texts for ENUMs, and DOUBLEs for HUGEINTs, which a Parquet file has: as in DuckDB.
fn for_parquet(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(field_without_enums);
    let fields: Vec<FieldRef> = fields.map(|field| without_huge(&field)).collect();
    Arc::new(Schema::new(fields))
}

/// A field with DOUBLEs for what no DECIMAL is as wide as, HUGEINTs, also within lists, structs and maps.
pub(crate) fn without_huge(field: &FieldRef) -> FieldRef {
    let plain = match field.data_type() {
        DataType::Decimal256(..) => DataType::Float64,
        DataType::List(item) => DataType::List(without_huge(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(without_huge).collect()),
        DataType::Map(entry, is_sorted) => DataType::Map(without_huge(entry), *is_sorted),
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(plain))
}

fn parquet(
    out: BufWriter<OutputFile>,
    options: &Options,
    schema: &SchemaRef,
) -> Result<ArrowWriter<BufWriter<OutputFile>>> {
    let numbered = options.parquet.numbered(schema)?;
    let options = ArrowWriterOptions::new()
        .with_properties(options.parquet.properties()?)
        .with_parquet_schema(parquet_schema(&numbered).map_err(failed)?);
    ArrowWriter::try_new_with_options(out, Arc::clone(schema), options).map_err(failed)
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
            .with_length(16)
            .with_id(
                column
                    .get_basic_info()
                    .has_id()
                    .then(|| column.get_basic_info().id()),
            );
        uuid.build().map(Arc::new)
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let root = Type::group_type_builder(plain.root_schema().name()).with_fields(columns);
    Ok(SchemaDescriptor::new(Arc::new(root.build()?)))
}
