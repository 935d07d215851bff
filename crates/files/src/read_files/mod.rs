//! Files as a table: one, a list, or those that a pattern matches, with what `filename`, `union_by_name` and `hive_partitioning` ask
//! for.

mod combine;
mod hive;

use self::combine::{FileTable, Layout, combined, fields_of};
pub(crate) use self::hive::{HiveColumn, HiveOptions};
use super::copy_options::Format;
use super::file_paths::files_of;
use super::option_values::{flag, text, truth};
use super::parquet_source::parquet_source;
use super::rejects::{RejectPlace, Rejects};
use super::{csv, json};
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::TableSource;
use hushdb_query::plan::{Planner, column_type};
use hushdb_sql::type_names::arrow_field;
use hushdb_sql::{Error, OptionValue, Result, folded};
use std::collections::HashSet;
use std::sync::Arc;

/// What is said of files of any format.
#[derive(Default)]
struct Options {
    /// The column of the files' names.
    filename: Option<String>,
    union_by_name: bool,
    hive: HiveOptions,
}

impl Options {
    /// Takes those out of what a statement says; what is left is of the format.
    fn take(given: Vec<(String, OptionValue)>) -> Result<(Self, Vec<(String, OptionValue)>)> {
        let mut options = Self::default();
        let mut rest = vec![];
        for (name, value) in given {
            match name.as_str() {
                "filename" => {
                    let text = match &value {
                        OptionValue::None => "true",
                        value => text(&name, value)?,
                    };
                    options.filename = match truth(text) {
                        Some(true) => Some(name),
                        Some(false) => None,
                        None => Some(text.to_owned()),
                    };
                }
                "union_by_name" => options.union_by_name = flag(&name, &value)?,
                // All are looked at.
                "files_to_sniff" | "maximum_sample_files" => {}
                _ if options.hive.take(&name, &value)? => {}
                _ => rest.push((name, value)),
            }
        }
        Ok((options, rest))
    }
}

/// The files that some paths and patterns stand for, as one table.
///
/// # Errors
/// `Io` when there are none, and what is wrong with one of them, by name.
pub fn source(
    planner: &Planner<'_>,
    format: Format,
    patterns: &[String],
    given: Vec<(String, OptionValue)>,
    rejects: &Arc<Rejects>,
) -> Result<Arc<dyn TableSource>> {
    let (options, given) = Options::take(given)?;
    let paths = patterns.iter().map(|pattern| files_of(pattern));
    let mut paths: Vec<String> = paths.collect::<Result<Vec<_>>>()?.concat();
    let by_all = options.union_by_name;
    let (tables, fields) = match format {
        Format::Csv => {
            let place = RejectPlace {
                rejects,
                pool: &planner.state().runtime_env().memory_pool,
                scan: rejects.scan(),
                file: 0,
            };
            let tables = csv_tables(&mut paths, &given, by_all, place)?;
            let fields = fields_of(&tables, by_all, common_of_csv);
            (tables, fields)
        }
        Format::Parquet => {
            let mut is_numbered = false;
            for (name, value) in &given {
                match name.as_str() {
                    "file_row_number" => is_numbered = flag(name, value)?,
                    _ => parquet_option(name, value)?,
                }
            }
            let tables = paths.iter().map(|path| {
                let source = parquet_source(planner, path, is_numbered)?;
                Ok(FileTable::new(path, source))
            });
            let tables = tables.collect::<Result<Vec<_>>>()?;
            let common = |types: &[DataType]| match by_all {
                true => common_of(types),
                false => types.first().cloned().unwrap_or(DataType::Null),
            };
            let fields = fields_of(&tables, by_all, common);
            (tables, fields)
        }
        Format::Json => {
            let given = json::JsonOptions::new(&given)?;
            let sources = json::sources(&paths, &given, by_all)?;
            let tables = paths.iter().zip(sources);
            let tables = tables.map(|(path, source)| FileTable::new(path, source));
            let tables: Vec<FileTable> = tables.collect();
            let declared = given.columns.iter();
            let declared = declared.map(|(name, ty)| Arc::new(arrow_field(name, ty, true)));
            let fields = match given.columns.is_empty() {
                true => fields_of(&tables, false, common_of),
                false => declared.collect(),
            };
            (tables, fields)
        }
    };
    let layout = Layout {
        fields,
        by_all,
        filename: options.filename,
        hive: options.hive.columns(&paths)?,
    };
    match tables.as_slice() {
        [only] if layout.is_of(only) => Ok(Arc::clone(&only.source)),
        _ => combined(tables, &layout),
    }
}

/// An option of Parquet files: those that change nothing of what is read, and those that are refused.
fn parquet_option(name: &str, value: &OptionValue) -> Result<()> {
    let is_wanted = match name {
        "binary_as_string" | "can_have_nan" => flag(name, value)?,
        // What the file says is what counts.
        "compression" | "parquet_version" | "explicit_cardinality" => false,
        "encryption_config" | "schema" => true,
        _ => {
            return Err(Error::binder(format!(
                "Invalid named parameter \"{name}\" for function read_parquet"
            )));
        }
    };
    match is_wanted && name != "can_have_nan" {
        false => Ok(()),
        true => Err(Error::unsupported(format!(
            "the option {name} of Parquet files is not there yet"
        ))),
    }
}

/// CSV files, of which those without a byte are left out if there are others. What is text in one of them is read as text in all.
fn csv_tables(
    paths: &mut Vec<String>,
    given: &[(String, OptionValue)],
    by_all: bool,
    place: RejectPlace<'_>,
) -> Result<Vec<FileTable>> {
    let read = paths.iter().zip(0..);
    let read = read.map(|(path, file)| csv::source(path, given, RejectPlace { file, ..place }));
    let read = read.collect::<Result<Vec<_>>>()?;
    let has_others = read.iter().any(|table| !table.is_empty);
    let read = paths.drain(..).zip(read);
    let read = read.filter(|(_, table)| !(table.is_empty && has_others));
    let tables = read.map(|(path, table)| FileTable {
        path,
        source: table.source,
        without_values: table.without_values,
    });
    let mut tables: Vec<FileTable> = tables.collect();
    *paths = tables.iter().map(|table| table.path.clone()).collect();
    if tables.len() < 2 {
        return Ok(tables);
    }
    let fields = fields_of(&tables, by_all, common_of_csv);
    let texts = fields.iter().filter(|field| field.data_type().is_string());
    let texts: HashSet<String> = texts.map(|field| folded(field.name())).collect();
    for (table, file) in tables.iter_mut().zip(0..) {
        let schema = table.source.schema();
        let other = schema.fields().iter().filter(|field| {
            texts.contains(&folded(field.name())) && !field.data_type().is_string()
        });
        let other = other.map(|field| (field.name().clone(), "VARCHAR".to_owned()));
        let other: Vec<(String, String)> = other.collect();
        if !other.is_empty() {
            let types = ("types".to_owned(), OptionValue::Pairs(other));
            let given: Vec<_> = given.iter().cloned().chain([types]).collect();
            let place = RejectPlace { file, ..place };
            table.source = csv::source(&table.path, &given, place)?.source;
        }
    }
    Ok(tables)
}

/// The type of a column of CSV files: that of all, a number, or text.
fn common_of_csv(types: &[DataType]) -> DataType {
    let known: Vec<DataType> = types.iter().filter(|ty| !ty.is_null()).cloned().collect();
    match known.as_slice() {
        [first, rest @ ..] if rest.iter().all(|ty| ty == first) => first.clone(),
        known if known.iter().all(DataType::is_numeric) && !known.is_empty() => common_of(known),
        _ => DataType::Utf8View,
    }
}

/// The type of a column that files have in several: what it is in a UNION of them, or text.
fn common_of(types: &[DataType]) -> DataType {
    let text = types.iter().find(|ty| ty.is_string());
    let common = || column_type(types).filter(|ty| !ty.is_null());
    match text {
        Some(text) if types.iter().all(|ty| ty == text) => text.clone(),
        Some(_) => DataType::Utf8View,
        None => common().unwrap_or(DataType::Utf8View),
    }
}
