//! A Parquet file as a table.
//!
//! What must hold: errors of Parquet files repeat no values.

use super::copy_options::open_error;
use super::copy_rows::without_huge;
use super::numbered_rows::{NAME, NumberedRows};
use datafusion::arrow::datatypes::{DataType, FieldRef, Fields, Schema, SchemaRef};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::TableSource;
use datafusion::object_store::ObjectStoreExt;
use hushdb_query::functions::{Zone, shown_field};
use hushdb_query::plan::{Planner, check_parquet, reading};
use hushdb_sql::type_names::{arrow_field, is_called_uuid};
use hushdb_sql::{Error, ErrorKind, Result, with_blobs, without_values};
use hushdb_storage::{ColumnType, input_path, is_called_json, open_input, plain_item, same_name};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::LogicalType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::HashSet;
use std::sync::Arc;

fn listing(path: &str, format: Arc<dyn FileFormat>, schema: SchemaRef) -> Result<ListingTable> {
    let config = ListingTableConfig::new(url(path)?)
        .with_listing_options(ListingOptions::new(format).with_file_extension(""))
        .with_schema(schema);
    Ok(ListingTable::try_new(config)?)
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

/// A Parquet file as a table, whose rows have their numbers if that `is_numbered`.
pub(crate) fn parquet_source(
    planner: &Planner<'_>,
    path: &str,
    is_numbered: bool,
) -> Result<Arc<dyn TableSource>> {
    let format = ParquetFormat::default().with_force_view_types(true);
    let schema = infer(planner, path, &format)?;
    let differs = |field: &FieldRef| {
        matches!(field.data_type(), DataType::FixedSizeBinary(_)) || &read_as(field) != field
    };
    let schema = match schema.fields().iter().any(differs) {
        true => Arc::new(without_fixed_bytes(&schema, &uuids(path)?)),
        false => schema,
    };
    let has_number = |field: &FieldRef| same_name(field.name(), NAME);
    if is_numbered && schema.fields().iter().any(has_number) {
        return Err(Error::binder(format!(
            "Failed to read Parquet file \"{path}\": Using {NAME} option on file with column named {NAME} is not supported"
        )));
    }
    let file = listing(path, Arc::new(format), schema)?;
    Ok(match is_numbered {
        true => provider_as_source(Arc::new(NumberedRows::new(file))),
        false => provider_as_source(Arc::new(file)),
    })
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

/// Bytes of a fixed length as BLOBs, but for UUIDs, and the others as [`read_as`].
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
        _ => read_as(field),
    });
    Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone())
}

/// A field as it is read: instants in UTC, whatever zone the writer was in; and, as in DuckDB, decimals that are wider than any DECIMAL as DOUBLEs,
/// since a HUGEINT holds less than they may, and bytes as [`with_blobs`].
fn read_as(field: &FieldRef) -> FieldRef {
    let shown = shown_field(field, Zone::UTC).unwrap_or_else(|| Arc::clone(field));
    without_json(&with_blobs(&without_huge(&shown)))
}

/// A field in which nothing says that texts are JSON: a file may say so of any.
fn without_json(field: &FieldRef) -> FieldRef {
    let within = match field.data_type() {
        DataType::List(item) => {
            let item = plain_item(&without_json(item));
            DataType::List(without_json(&Arc::new(item)))
        }
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(without_json).collect()),
        DataType::Map(entries, is_sorted) => DataType::Map(without_json(entries), *is_sorted),
        _ if is_called_json(field) => {
            return Arc::new(field.as_ref().clone().with_metadata([].into()));
        }
        _ => return Arc::clone(field),
    };
    match within == *field.data_type() {
        true => Arc::clone(field),
        false => Arc::new(field.as_ref().clone().with_data_type(within)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::Field;
    use hushdb_storage::{called_json, list_item};

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

    #[test]
    fn no_text_of_a_file_is_json() {
        let json = called_json(Field::new("a", DataType::Utf8, true));
        let texts = Field::new("a", DataType::Utf8, true);
        let nested = |of: &Field| {
            let item = Arc::new(list_item(of.clone()));
            let fields = Fields::from(vec![
                Field::new("l", DataType::List(item), true),
                of.clone(),
            ]);
            Arc::new(Field::new("s", DataType::Struct(fields), true))
        };
        assert_ne!(nested(&json), nested(&texts));
        assert_eq!(without_json(&nested(&json)), nested(&texts));
        assert_eq!(without_json(&Arc::new(json)).as_ref(), &texts);
    }
}
