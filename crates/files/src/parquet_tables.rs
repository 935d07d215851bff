//! What Parquet files say of themselves: `parquet_schema`, `parquet_file_metadata`, `parquet_kv_metadata` and `parquet_metadata`.
//!
//! What must hold: a file's footer is looked at before the library is given it, as for reading.

use super::file_paths::files_of;
use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Int64Array, StringArray, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use hushdb_query::functions::value_text;
use hushdb_query::plan::{check_parquet, reading};
use hushdb_sql::type_names::type_name;
use hushdb_sql::{Error, Result, without_values};
use hushdb_storage::open_input;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::Type;
use std::sync::Arc;

/// A table's columns.
pub type Columns = Vec<(&'static str, ArrayRef)>;

/// The functions that are here.
pub const NAMES: [&str; 4] = [
    "parquet_schema",
    "parquet_file_metadata",
    "parquet_kv_metadata",
    "parquet_metadata",
];

/// What one of the functions says of some files.
///
/// # Errors
/// `Io` where there are none, `InvalidInput` for a file that is damaged, by name.
pub fn named(name: &str, patterns: &[String]) -> Result<Columns> {
    let mut files = vec![];
    for pattern in patterns {
        for path in files_of(pattern)? {
            let metadata = reading(&path, || metadata(&path))?;
            files.push((path, metadata));
        }
    }
    match name {
        "parquet_schema" => Ok(schema(&files)),
        "parquet_file_metadata" => file_metadata(&files),
        "parquet_kv_metadata" => Ok(key_values(&files)),
        _ => row_groups(&files),
    }
}

pub(crate) fn metadata(path: &str) -> Result<ParquetMetaData> {
    check_parquet(path)?;
    let file = open_input(path).map_err(|error| invalid(&error.into()))?;
    let reader = SerializedFileReader::new(file).map_err(|error| invalid(&error))?;
    Ok(reader.metadata().clone())
}

pub(crate) fn invalid(error: &ParquetError) -> Error {
    Error::invalid(without_values(&error.to_string()))
}

fn texts(values: impl Iterator<Item = Option<String>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

fn numbers(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}

/// An element of a schema.
struct Element<'a> {
    file: &'a str,
    id: usize,
    ty: &'a Type,
    /// The type that a leaf is read as.
    read_as: Option<String>,
}

fn schema(files: &[(String, ParquetMetaData)]) -> Columns {
    let mut all = vec![];
    for (path, metadata) in files {
        let about = metadata.file_metadata();
        let mut leaves = leaf_types(metadata).into_iter();
        let mut elements = vec![];
        flatten(about.schema(), &mut elements);
        all.extend(elements.into_iter().enumerate().map(|(id, ty)| {
            Element {
                file: path,
                id,
                ty,
                read_as: leaf(ty)
                    .then(|| leaf_name(ty, leaves.next().flatten()))
                    .flatten(),
            }
        }));
    }
    let text = |of: fn(&Element<'_>) -> Option<String>| texts(all.iter().map(of));
    let number = |of: fn(&Type) -> Option<i64>| numbers(all.iter().map(|element| of(element.ty)));
    let decimal =
        |ty: &Type| leaf(ty) && ty.get_basic_info().converted_type() == ConvertedType::DECIMAL;
    vec![
        ("file_name", text(|e| Some(e.file.to_owned()))),
        ("name", text(|e| Some(e.ty.name().to_owned()))),
        (
            "type",
            text(|e| leaf(e.ty).then(|| e.ty.get_physical_type().to_string())),
        ),
        (
            "type_length",
            text(|e| length(e.ty).map(|bytes| bytes.to_string())),
        ),
        ("repetition_type", text(|e| Some(repetition(e.ty)))),
        (
            "num_children",
            number(|ty| (!leaf(ty)).then(|| ty.get_fields().len() as i64)),
        ),
        ("converted_type", text(|e| converted(e.ty))),
        (
            "scale",
            numbers(
                all.iter()
                    .map(|e| decimal(e.ty).then(|| i64::from(e.ty.get_scale()))),
            ),
        ),
        (
            "precision",
            numbers(
                all.iter()
                    .map(|e| decimal(e.ty).then(|| i64::from(e.ty.get_precision()))),
            ),
        ),
        (
            "field_id",
            number(|ty| {
                let info = ty.get_basic_info();
                info.has_id().then(|| i64::from(info.id()))
            }),
        ),
        (
            "logical_type",
            text(|e| e.ty.get_basic_info().logical_type_ref().map(logical)),
        ),
        ("duckdb_type", text(|e| e.read_as.clone())),
        ("column_id", numbers(all.iter().map(|e| Some(e.id as i64)))),
    ]
}

/// A schema and all in it, each before what is within it.
fn flatten<'a>(ty: &'a Type, all: &mut Vec<&'a Type>) {
    all.push(ty);
    if !leaf(ty) {
        for field in ty.get_fields() {
            flatten(field, all);
        }
    }
}

fn leaf(ty: &Type) -> bool {
    ty.is_primitive()
}

fn length(ty: &Type) -> Option<i32> {
    match ty {
        Type::PrimitiveType { type_length, .. } if *type_length > 0 => Some(*type_length),
        _ => None,
    }
}

fn repetition(ty: &Type) -> String {
    let info = ty.get_basic_info();
    match info.has_repetition() {
        true => info.repetition().to_string(),
        false => "REQUIRED".to_owned(),
    }
}

fn converted(ty: &Type) -> Option<String> {
    let converted = ty.get_basic_info().converted_type();
    (converted != ConvertedType::NONE).then(|| converted.to_string())
}

/// A logical type as DuckDB writes it.
fn logical(ty: &LogicalType) -> String {
    let of_time = |name: &str, adjusted: bool, unit: &TimeUnit| {
        let unit_is = |is: bool, name: &str| match is {
            true => format!("{name}()"),
            false => "<null>".to_owned(),
        };
        format!(
            "{name}(isAdjustedToUTC={}, unit=TimeUnit(MILLIS={}, MICROS={}, NANOS={}))",
            u8::from(adjusted),
            unit_is(matches!(unit, TimeUnit::MILLIS), "MilliSeconds"),
            unit_is(matches!(unit, TimeUnit::MICROS), "MicroSeconds"),
            unit_is(matches!(unit, TimeUnit::NANOS), "NanoSeconds"),
        )
    };
    match ty {
        LogicalType::Decimal(of) => {
            format!(
                "DecimalType(scale={}, precision={})",
                of.scale, of.precision
            )
        }
        LogicalType::Timestamp(of) => of_time("TimestampType", of.is_adjusted_to_u_t_c, &of.unit),
        LogicalType::Time(of) => of_time("TimeType", of.is_adjusted_to_u_t_c, &of.unit),
        LogicalType::Integer(of) => format!(
            "IntType(bitWidth={}, isSigned={})",
            of.bit_width,
            u8::from(of.is_signed)
        ),
        LogicalType::Uuid => "UUIDType()".to_owned(),
        LogicalType::String => "StringType()".to_owned(),
        LogicalType::Map => "MapType()".to_owned(),
        LogicalType::List => "ListType()".to_owned(),
        LogicalType::Enum => "EnumType()".to_owned(),
        LogicalType::Date => "DateType()".to_owned(),
        LogicalType::Unknown => "NullType()".to_owned(),
        LogicalType::Json => "JsonType()".to_owned(),
        LogicalType::Bson => "BsonType()".to_owned(),
        LogicalType::Float16 => "Float16Type()".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The types that the leaves of a file's schema are read as; none where the library cannot tell.
pub(crate) fn leaf_types(metadata: &ParquetMetaData) -> Vec<Option<FieldRef>> {
    fn walk(field: &FieldRef, all: &mut Vec<Option<FieldRef>>) {
        match field.data_type() {
            DataType::Struct(fields) => fields.iter().for_each(|field| walk(field, all)),
            DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
                walk(item, all);
            }
            _ => all.push(Some(Arc::clone(field))),
        }
    }
    let descriptor = metadata.file_metadata().schema_descr();
    let mut all = vec![];
    if let Ok(schema) = parquet_to_arrow_schema(descriptor, None) {
        schema
            .fields()
            .iter()
            .for_each(|field| walk(field, &mut all));
    }
    match all.len() == descriptor.num_columns() {
        true => all,
        false => vec![None; descriptor.num_columns()],
    }
}

fn leaf_name(ty: &Type, read_as: Option<FieldRef>) -> Option<String> {
    match (ty.get_basic_info().logical_type_ref(), read_as?.data_type()) {
        (Some(LogicalType::Uuid), _) => Some("UUID".to_owned()),
        (_, DataType::FixedSizeBinary(_)) => Some("BLOB".to_owned()),
        (_, read_as) => Some(type_name(read_as)),
    }
}

fn key_values(files: &[(String, ParquetMetaData)]) -> Columns {
    let all = files.iter().flat_map(|(path, metadata)| {
        let pairs = metadata.file_metadata().key_value_metadata();
        pairs.into_iter().flatten().map(move |pair| (path, pair))
    });
    let all: Vec<_> = all.collect();
    let keys = all.iter().map(|(_, pair)| Some(pair.key.as_bytes()));
    let values = all
        .iter()
        .map(|(_, pair)| pair.value.as_deref().map(str::as_bytes));
    vec![
        (
            "file_name",
            texts(all.iter().map(|(path, _)| Some((*path).clone()))),
        ),
        ("key", Arc::new(keys.collect::<BinaryArray>())),
        ("value", Arc::new(values.collect::<BinaryArray>())),
    ]
}

fn file_metadata(files: &[(String, ParquetMetaData)]) -> Result<Columns> {
    let about = || files.iter().map(|(_, metadata)| metadata.file_metadata());
    let mut sizes = vec![];
    for (path, _) in files {
        let size = open_input(path).and_then(|file| file.metadata());
        sizes.push(size.map_err(|error| invalid(&error.into()))?.len());
    }
    let groups = files
        .iter()
        .map(|(_, metadata)| Some(metadata.num_row_groups() as i64));
    Ok(vec![
        (
            "file_name",
            texts(files.iter().map(|(path, _)| Some(path.clone()))),
        ),
        (
            "created_by",
            texts(about().map(|about| about.created_by().map(str::to_owned))),
        ),
        (
            "num_rows",
            numbers(about().map(|about| Some(about.num_rows()))),
        ),
        ("num_row_groups", numbers(groups)),
        (
            "format_version",
            numbers(about().map(|about| Some(i64::from(about.version())))),
        ),
        ("encryption_algorithm", texts(files.iter().map(|_| None))),
        (
            "footer_signing_key_metadata",
            texts(files.iter().map(|_| None)),
        ),
        ("file_size_bytes", Arc::new(UInt64Array::from(sizes))),
    ])
}

/// A column of a row group.
struct Chunk<'a> {
    file: &'a str,
    group: usize,
    column: usize,
    rows: i64,
    columns: usize,
    bytes: i64,
    compressed: i64,
    about: &'a ColumnChunkMetaData,
    least: Option<String>,
    greatest: Option<String>,
}

fn row_groups(files: &[(String, ParquetMetaData)]) -> Result<Columns> {
    let mut all = vec![];
    for (file, metadata) in files {
        let leaves = leaf_types(metadata);
        for (group, about) in metadata.row_groups().iter().enumerate() {
            for (column, chunk) in about.columns().iter().enumerate() {
                let leaf = leaves.get(column).and_then(Option::as_ref);
                let (least, greatest) = match leaf {
                    Some(leaf) => bounds(metadata, group, column, leaf)?,
                    None => (None, None),
                };
                all.push(Chunk {
                    file,
                    group,
                    column,
                    rows: about.num_rows(),
                    columns: about.num_columns(),
                    bytes: about.total_byte_size(),
                    compressed: about.compressed_size(),
                    about: chunk,
                    least,
                    greatest,
                });
            }
        }
    }
    Ok(chunk_columns(&all))
}

/// The least and the greatest value of a column of a row group, as far as the file says, as text.
fn bounds(
    metadata: &ParquetMetaData,
    group: usize,
    column: usize,
    leaf: &FieldRef,
) -> Result<(Option<String>, Option<String>)> {
    let descriptor = metadata.file_metadata().schema_descr();
    let Ok(converter) = StatisticsConverter::from_column_index(column, leaf, descriptor) else {
        return Ok((None, None));
    };
    let of = || metadata.row_groups().get(group);
    let least = converter
        .row_group_mins(of())
        .map_err(|error| invalid(&error))?;
    let greatest = converter
        .row_group_maxes(of())
        .map_err(|error| invalid(&error))?;
    Ok((
        value_text(least.as_ref(), 0)?,
        value_text(greatest.as_ref(), 0)?,
    ))
}

fn chunk_columns(all: &[Chunk<'_>]) -> Columns {
    let text = |of: fn(&Chunk<'_>) -> Option<String>| texts(all.iter().map(of));
    let number = |of: fn(&Chunk<'_>) -> Option<i64>| numbers(all.iter().map(of));
    let exact = |of: fn(&Chunk<'_>) -> Option<bool>| -> ArrayRef {
        Arc::new(all.iter().map(of).collect::<BooleanArray>())
    };
    vec![
        ("file_name", text(|c| Some(c.file.to_owned()))),
        ("row_group_id", number(|c| Some(c.group as i64))),
        ("row_group_num_rows", number(|c| Some(c.rows))),
        ("row_group_num_columns", number(|c| Some(c.columns as i64))),
        ("row_group_bytes", number(|c| Some(c.bytes))),
        ("column_id", number(|c| Some(c.column as i64))),
        ("file_offset", number(|c| Some(c.about.file_offset()))),
        ("num_values", number(|c| Some(c.about.num_values()))),
        (
            "path_in_schema",
            text(|c| Some(c.about.column_path().parts().join(", "))),
        ),
        ("type", text(|c| Some(c.about.column_type().to_string()))),
        ("stats_null_count", number(|c| c.nulls())),
        ("stats_distinct_count", number(|c| c.distinct())),
        ("stats_min_value", text(|c| c.least.clone())),
        ("stats_max_value", text(|c| c.greatest.clone())),
        (
            "compression",
            text(|c| Some(c.about.compression_codec().to_string())),
        ),
        ("encodings", text(|c| Some(c.encodings()))),
        ("index_page_offset", number(|c| c.about.index_page_offset())),
        (
            "dictionary_page_offset",
            number(|c| c.about.dictionary_page_offset()),
        ),
        (
            "data_page_offset",
            number(|c| Some(c.about.data_page_offset())),
        ),
        (
            "total_compressed_size",
            number(|c| Some(c.about.compressed_size())),
        ),
        (
            "total_uncompressed_size",
            number(|c| Some(c.about.uncompressed_size())),
        ),
        (
            "bloom_filter_offset",
            number(|c| c.about.bloom_filter_offset()),
        ),
        (
            "bloom_filter_length",
            number(|c| c.about.bloom_filter_length().map(i64::from)),
        ),
        ("min_is_exact", exact(|c| c.is_least_exact())),
        ("max_is_exact", exact(|c| c.is_greatest_exact())),
        ("row_group_compressed_bytes", number(|c| Some(c.compressed))),
    ]
}

impl Chunk<'_> {
    fn nulls(&self) -> Option<i64> {
        let nulls = self.about.statistics()?.null_count_opt()?;
        i64::try_from(nulls).ok()
    }

    fn distinct(&self) -> Option<i64> {
        let distinct = self.about.statistics()?.distinct_count_opt()?;
        i64::try_from(distinct).ok()
    }

    fn is_least_exact(&self) -> Option<bool> {
        self.least.as_ref()?;
        Some(self.about.statistics()?.min_is_exact())
    }

    fn is_greatest_exact(&self) -> Option<bool> {
        self.greatest.as_ref()?;
        Some(self.about.statistics()?.max_is_exact())
    }

    fn encodings(&self) -> String {
        let names = self.about.encodings().map(|encoding| encoding.to_string());
        names.collect::<Vec<_>>().join(", ")
    }
}
