//! What a statement says of a JSON file, with DuckDB's names.

use super::super::option_values::{pairs, text};
use super::super::packed_files::Packing;
use hushdb_sql::type_names::named_type;
use hushdb_sql::{Error, OptionValue, Result};
use hushdb_storage::ColumnType;

/// How records lie in a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    /// Where nothing is said, the file's name tells it.
    pub(super) packing: Option<Packing>,
    /// One behind the other, whatever the first is.
    pub(super) is_lines: bool,
}

/// How a JSON file is to be read.
#[derive(Default)]
pub(crate) struct JsonOptions {
    /// All columns, named and typed; none if they are to be found out.
    pub(crate) columns: Vec<(String, ColumnType)>,
    pub(super) layout: Layout,
    /// Whether records are objects, whose members are columns; where nothing is said, they tell it.
    pub(super) records: Option<bool>,
    /// Each record is one text.
    pub(super) as_objects: bool,
    /// Records of a file that tell its columns, where it is said; none for all of them.
    pub(super) sampled: Option<Option<usize>>,
    /// So deep are values taken apart; what is within these is JSON.
    pub(super) depth: Option<usize>,
}

/// What `read_json_objects` gives beside its options.
pub const AS_OBJECTS: &str = "$as_objects";

impl JsonOptions {
    /// # Errors
    /// `Binder` for an option that is none, `NotSupported` for a value that is not there yet.
    pub(crate) fn new(given: &[(String, OptionValue)]) -> Result<Self> {
        let mut options = Self::default();
        for (name, value) in given {
            match name.as_str() {
                "columns" => {
                    for (column, ty) in pairs(name, value)? {
                        options.columns.push((column.clone(), named_type(ty)?));
                    }
                }
                AS_OBJECTS => options.as_objects = true,
                "compression" => options.layout.packing = Packing::named(name, value)?,
                // Elsewhere both forms are told apart by their first character, and objects may have ends of lines in them.
                "format" => {
                    let lines = ["newline_delimited", "nd", "unstructured"];
                    only(name, value, &[&lines[..], &["auto", "array"]].concat())?;
                    let format = text(name, value)?;
                    options.layout.is_lines =
                        lines.iter().any(|lines| lines.eq_ignore_ascii_case(format));
                }
                "records" => options.records = records(text(name, value)?)?,
                "auto_detect" => only(name, value, &["true", "1"])?,
                "ignore_errors" | "convert_strings_to_integers" => {
                    only(name, value, &["false", "0"])?;
                }
                "maximum_depth" => {
                    options.depth = match text(name, value)?.parse::<i64>() {
                        Ok(-1) => None,
                        Ok(depth @ 1..) => usize::try_from(depth).ok(),
                        _ => {
                            return Err(Error::binder(
                                "the option maximum_depth is 1 or more, or -1 for all",
                            ));
                        }
                    }
                }
                "sample_size" => {
                    options.sampled = Some(match text(name, value)?.parse::<i64>() {
                        Ok(-1) => None,
                        Ok(rows @ 1..) => usize::try_from(rows).ok(),
                        _ => {
                            return Err(Error::binder(
                                "read_json \"sample_size\" parameter must be positive, or -1 to sample all input files entirely",
                            ));
                        }
                    });
                }
                "maximum_object_size" => {
                    let number = text(name, value)?.parse::<i64>();
                    number
                        .map(drop)
                        .map_err(|_| Error::binder(format!("the option {name} takes a number")))?;
                }
                other => {
                    return Err(Error::binder(format!(
                        "Invalid named parameter \"{other}\" for function read_json"
                    )));
                }
            }
        }
        Ok(options)
    }
}

/// Whether records are objects; `None` for what they tell themselves.
fn records(value: &str) -> Result<Option<bool>> {
    match value.to_ascii_lowercase().as_str() {
        "auto" => Ok(None),
        "true" | "1" => Ok(Some(true)),
        "false" | "0" => Ok(Some(false)),
        _ => Err(Error::binder(
            "the option records takes 'auto', true and false",
        )),
    }
}

/// An option of which there are only these values.
fn only(name: &str, value: &OptionValue, values: &[&str]) -> Result<()> {
    let text = text(name, value)?;
    match values.iter().any(|known| known.eq_ignore_ascii_case(text)) {
        true => Ok(()),
        false => Err(Error::unsupported(format!(
            "the option {name} of JSON files is not supported but for {}",
            values.join(", ")
        ))),
    }
}
