//! How COPY TO writes Parquet files: DuckDB's options of them.

use super::option_values::truth;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use hushdb_sql::settings_text::memory_size;
use hushdb_sql::{Error, OptionValue, Result, position_of};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::sync::Arc;

/// Rows of a group at most: they are in memory until it is written.
const MAX_GROUP_ROWS: usize = 1 << 20;
/// And if nothing is said of them, as DuckDB has it.
const GROUP_ROWS: usize = 122_880;
/// Bytes of a dictionary of texts at most, as DuckDB has it.
const MAX_DICTIONARY: usize = 1 << 30;

/// What is said of Parquet files.
#[derive(Default)]
pub(crate) struct ParquetForm {
    codec: Option<String>,
    level: Option<i64>,
    /// What is written into a file's footer beside its columns.
    metadata: Vec<(String, String)>,
    group_rows: Option<usize>,
    group_bytes: Option<usize>,
    version: Option<WriterVersion>,
    dictionary_bytes: Option<usize>,
    /// Whether columns have filters that say which values they have not.
    has_filters: bool,
    /// How many of the values that are not there a filter lets pass.
    passed: Option<f64>,
    ids: Option<FieldIds>,
}

/// Numbers of columns, by which other programs find them.
enum FieldIds {
    /// From 0 on.
    All,
    /// By the names of columns.
    Some(Vec<(String, i32)>),
}

impl ParquetForm {
    /// Takes an option that is of Parquet files alone, if it is one.
    ///
    /// # Errors
    /// `Binder` for a value that it does not take.
    pub(crate) fn take(&mut self, name: &str, value: &OptionValue) -> Result<bool> {
        match name {
            "kv_metadata" => self.metadata = footer_texts(value)?,
            "field_ids" => self.ids = Some(field_ids(value)?),
            _ => return self.take_one(name, value),
        }
        Ok(true)
    }

    /// Takes an option of one value.
    fn take_one(&mut self, name: &str, value: &OptionValue) -> Result<bool> {
        let text = match value {
            OptionValue::Text(text) => Some(text.as_str()),
            OptionValue::None => None,
            OptionValue::List(_) | OptionValue::Pairs(_) => return Ok(false),
        };
        let wants = |what: &str| Error::binder(format!("the option {name} takes {what}"));
        let number = || text.and_then(|text| text.parse::<usize>().ok());
        match name {
            "compression_level" => {
                let level = text.and_then(|text| text.parse().ok());
                self.level = Some(level.ok_or_else(|| wants("a number"))?);
            }
            "row_group_size" | "chunk_size" => {
                let rows = number().filter(|rows| (1..=MAX_GROUP_ROWS).contains(rows));
                let most = || wants(&format!("a number of rows, {MAX_GROUP_ROWS} at most"));
                self.group_rows = Some(rows.ok_or_else(most)?);
            }
            "row_group_size_bytes" => {
                let bytes = memory_size(text.unwrap_or_default())?;
                let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes > 0);
                self.group_bytes = Some(bytes.ok_or_else(|| wants("a size such as '2MB'"))?);
            }
            "parquet_version" => {
                let version = text.unwrap_or_default().to_ascii_lowercase();
                self.version = Some(match version.as_str() {
                    "v1" => WriterVersion::PARQUET_1_0,
                    "v2" => WriterVersion::PARQUET_2_0,
                    _ => return Err(Error::binder("Expected parquet_version 'V1' or 'V2'")),
                });
            }
            "string_dictionary_page_size_limit" => {
                let bytes = number().filter(|bytes| (1..=MAX_DICTIONARY).contains(bytes));
                let most = || wants(&format!("a number of bytes, {MAX_DICTIONARY} at most"));
                self.dictionary_bytes = Some(bytes.ok_or_else(most)?);
            }
            "write_bloom_filter" => {
                let is_on = text.map_or(Some(true), truth);
                self.has_filters = is_on.ok_or_else(|| wants("true or false"))?;
            }
            "bloom_filter_false_positive_ratio" => {
                let share = text.and_then(|text| text.parse::<f64>().ok());
                let share = share.filter(|share| *share > 0.0 && *share < 1.0);
                self.passed = Some(share.ok_or_else(|| wants("a share between 0 and 1"))?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Rows of a group.
    pub(crate) fn group_rows(&self) -> usize {
        self.group_rows.unwrap_or(GROUP_ROWS)
    }

    /// What packs values.
    pub(crate) fn pack_by(&mut self, codec: String) {
        self.codec = Some(codec);
    }

    /// Whether nothing was said that other files do not have.
    pub(crate) fn is_usual(&self) -> bool {
        self.level.is_none()
            && self.metadata.is_empty()
            && self.group_rows.is_none()
            && self.group_bytes.is_none()
            && self.version.is_none()
            && self.dictionary_bytes.is_none()
            && !self.has_filters
            && self.passed.is_none()
            && self.ids.is_none()
    }

    /// Columns with their numbers.
    ///
    /// # Errors
    /// `Binder` for a column that is not there.
    pub(crate) fn numbered(&self, schema: &Schema) -> Result<Schema> {
        let fields = match &self.ids {
            None => return Ok(schema.clone()),
            Some(FieldIds::All) => {
                let mut next = 0;
                let fields = schema.fields().iter();
                fields.map(|field| all_numbered(field, &mut next)).collect()
            }
            Some(FieldIds::Some(ids)) => {
                let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
                for (name, id) in ids {
                    let found = position_of(fields.iter().map(|field| field.name().as_str()), name);
                    let field = found.and_then(|at| fields.get_mut(at)).ok_or_else(|| {
                        Error::binder(format!(
                            "Column name \"{name}\" specified in FIELD_IDS not found"
                        ))
                    })?;
                    *field = with_id(field.as_ref().clone(), *id);
                }
                fields
            }
        };
        Ok(Schema::new(fields))
    }

    /// How the library writes them.
    ///
    /// # Errors
    /// `Binder` for a level that the codec has not, `NotSupported` for another codec.
    pub(crate) fn properties(&self) -> Result<WriterProperties> {
        let metadata = self.metadata.iter();
        let metadata = metadata.map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
        let metadata: Vec<KeyValue> = metadata.collect();
        let mut all = WriterProperties::builder()
            .set_key_value_metadata((!metadata.is_empty()).then_some(metadata))
            .set_compression(self.compression()?)
            .set_max_row_group_row_count(Some(self.group_rows()))
            .set_max_row_group_bytes(self.group_bytes);
        if let Some(version) = self.version {
            all = all.set_writer_version(version);
        }
        if let Some(bytes) = self.dictionary_bytes {
            all = all.set_dictionary_page_size_limit(bytes);
        }
        if self.has_filters {
            all = all.set_bloom_filter_enabled(true);
        }
        if let Some(passed) = self.passed {
            all = all.set_bloom_filter_fpp(passed);
        }
        Ok(all.build())
    }

    fn compression(&self) -> Result<Compression> {
        let codec = self.codec.as_deref().unwrap_or("snappy");
        if self.level.is_some() && codec != "zstd" {
            return Err(Error::binder(
                "Compression level is only supported for the ZSTD compression codec",
            ));
        }
        Ok(match codec {
            "snappy" => Compression::SNAPPY,
            "zstd" => Compression::ZSTD(match self.level {
                None => ZstdLevel::default(),
                Some(level) => {
                    let level = i32::try_from(level).ok();
                    let level = level.and_then(|level| ZstdLevel::try_new(level).ok());
                    level.ok_or_else(|| {
                        Error::binder("Compression level must be between 1 and 22")
                    })?
                }
            }),
            "gzip" => Compression::GZIP(GzipLevel::default()),
            "brotli" => Compression::BROTLI(BrotliLevel::default()),
            "lz4" | "lz4_raw" => Compression::LZ4_RAW,
            "uncompressed" | "none" => Compression::UNCOMPRESSED,
            other => {
                return Err(Error::unsupported(format!(
                    "compression {other} is not supported"
                )));
            }
        })
    }
}

fn with_id(field: Field, id: i32) -> FieldRef {
    let mut metadata = field.metadata().clone();
    metadata.insert(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string());
    Arc::new(field.with_metadata(metadata))
}

/// A field with the next number, and what is within it with those behind.
fn all_numbered(field: &FieldRef, next: &mut i32) -> FieldRef {
    let id = *next;
    *next += 1;
    let ty = match field.data_type() {
        DataType::List(item) => DataType::List(all_numbered(item, next)),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| all_numbered(field, next));
            DataType::Struct(fields.collect())
        }
        ty => ty.clone(),
    };
    with_id(field.as_ref().clone().with_data_type(ty), id)
}

/// What FIELD_IDS says.
fn field_ids(value: &OptionValue) -> Result<FieldIds> {
    let wrong =
        || Error::binder("the option field_ids takes numbers of columns, as in {i: 1}, or 'auto'");
    match value {
        OptionValue::Text(all) if all.eq_ignore_ascii_case("auto") => Ok(FieldIds::All),
        OptionValue::Pairs(pairs) => {
            let ids = pairs.iter();
            let ids = ids.map(|(name, id)| Ok((name.clone(), id.parse().map_err(|_| wrong())?)));
            Ok(FieldIds::Some(ids.collect::<Result<Vec<_>>>()?))
        }
        OptionValue::Text(_) | OptionValue::List(_) | OptionValue::None => Err(wrong()),
    }
}

/// What KV_METADATA says.
fn footer_texts(value: &OptionValue) -> Result<Vec<(String, String)>> {
    match value {
        OptionValue::Pairs(pairs) => Ok(pairs.clone()),
        _ => Err(Error::binder(
            "the option kv_metadata takes names and values, as in {author: 'somebody'}",
        )),
    }
}
