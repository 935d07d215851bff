//! What a statement says of a CSV file, with DuckDB's names; what it leaves open is found out from the file.

use super::super::option_values::{flag, pairs, text, texts};
use super::super::packed_files::Packing;
use super::kinds::{NumberForm, could_be_found, is_form};
use hushdb_sql::OptionValue;
use hushdb_sql::type_names::named_type;
use hushdb_sql::{Error, Result};
use hushdb_storage::ColumnType;

/// How a CSV file is to be read.
#[derive(Clone, Default)]
pub(super) struct Options {
    pub(super) header: Option<bool>,
    pub(super) delimiter: Option<u8>,
    /// `Some(None)`: there are none.
    pub(super) quote: Option<Option<u8>>,
    pub(super) escape: Option<Option<u8>>,
    pub(super) comment: Option<Option<u8>>,
    pub(super) nulls: Vec<String>,
    /// The types that values are taken for, if not all.
    pub(super) candidates: Option<Vec<ColumnType>>,
    /// Columns in which what reads as NULL is an empty text.
    pub(super) not_null: Vec<String>,
    /// Lines before the first record.
    pub(super) skip: u64,
    /// All columns, named and typed.
    pub(super) columns: Vec<(String, ColumnType)>,
    /// Types of some columns, by name or from the first on.
    pub(super) types: Vec<(Option<String>, ColumnType)>,
    /// Names of the first columns.
    pub(super) names: Vec<String>,
    pub(super) all_varchar: bool,
    pub(super) date_form: Option<String>,
    pub(super) timestamp_form: Option<String>,
    /// Records may end early.
    pub(super) null_padding: bool,
    /// Records that are none are left out.
    pub(super) ignore_errors: bool,
    pub(super) packing: Packing,
    /// How numbers are written, where it is said.
    pub(super) numbers: Option<NumberForm>,
    /// Names of columns become plain words.
    pub(super) normalizes_names: bool,
}

impl Options {
    pub(super) fn new(path: &str, given: &[(String, OptionValue)]) -> Result<Self> {
        let (packing, path) = Packing::of_name(path);
        let mut options = Self {
            nulls: vec![String::new()],
            packing,
            ..Self::default()
        };
        if path.to_ascii_lowercase().ends_with(".tsv") {
            options.delimiter = Some(b'\t');
        }
        for (name, value) in given {
            options.take(name, value)?;
        }
        if options
            .numbers
            .is_some_and(|form| form.thousands == Some(form.point))
        {
            return Err(Error::binder(
                "thousands and decimal_separator are not the same character",
            ));
        }
        let others = !options.types.is_empty() || !options.names.is_empty();
        if !options.columns.is_empty() && others {
            return Err(Error::binder(
                "the option columns says names and types: leave out names and types",
            ));
        }
        Ok(options)
    }

    fn take(&mut self, name: &str, value: &OptionValue) -> Result<()> {
        match name {
            "format" | "csv" | "auto_detect" | "sample_size" | "parallel" | "buffer_size" => {}
            "header" => self.header = Some(flag(name, value)?),
            "delimiter" | "delim" | "sep" => self.delimiter = Some(required(name, value)?),
            "quote" => self.quote = Some(byte(name, value)?),
            "escape" => self.escape = Some(byte(name, value)?),
            "comment" => self.comment = Some(byte(name, value)?),
            "null" | "nullstr" => self.nulls = texts(name, value)?,
            "force_not_null" => self.not_null = texts(name, value)?,
            "skip" => {
                let lines = text(name, value)?.parse::<u64>();
                let wrong = |_| Error::binder("the option skip takes a number of lines");
                self.skip = lines.map_err(wrong)?;
            }
            "columns" => {
                for (column, ty) in pairs(name, value)? {
                    self.columns.push((column.clone(), named_type(ty)?));
                }
            }
            "types" | "dtypes" | "column_types" => match value {
                OptionValue::Pairs(types) => {
                    for (column, ty) in types {
                        self.types.push((Some(column.clone()), named_type(ty)?));
                    }
                }
                _ => {
                    for ty in texts(name, value)? {
                        self.types.push((None, named_type(&ty)?));
                    }
                }
            },
            "names" | "column_names" => self.names = texts(name, value)?,
            "auto_type_candidates" => self.candidates = Some(candidates(&texts(name, value)?)?),
            "all_varchar" => self.all_varchar = flag(name, value)?,
            "dateformat" | "date_format" => self.date_form = Some(form(name, value)?),
            "timestampformat" | "timestamp_format" => {
                self.timestamp_form = Some(form(name, value)?);
            }
            "null_padding" => self.null_padding = flag(name, value)?,
            "compression" | "codec" => {
                self.packing = Packing::named(name, value)?.unwrap_or(self.packing);
            }
            "ignore_errors" => self.ignore_errors = flag(name, value)?,
            // Any end of a line is known, and a quoted NULL is one.
            "new_line" => only(name, value, &["\n", "\r\n", "\r", "\\n", "\\r\\n", "\\r"])?,
            "allow_quoted_nulls" => only(name, value, &["true", "1"])?,
            "max_line_size" | "maximum_line_size" => {
                let wrong = |_| Error::binder(format!("the option {name} takes a number of bytes"));
                text(name, value)?.parse::<u64>().map(drop).map_err(wrong)?;
            }
            "encoding" => only(name, value, &["utf-8", "utf8"])?,
            "decimal_separator" => self.number_form().point = mark(name, value)?,
            "thousands" => self.number_form().thousands = byte(name, value)?,
            "normalize_names" => self.normalizes_names = flag(name, value)?,
            "strict_mode" => only(name, value, &["true", "1"])?,
            "union_by_name" | "filename" | "store_rejects" => {
                only(name, value, &["false", "0"])?;
            }
            other => {
                return Err(Error::binder(format!(
                    "Unrecognized option for a CSV file: \"{other}\""
                )));
            }
        }
        Ok(())
    }

    fn number_form(&mut self) -> &mut NumberForm {
        self.numbers.get_or_insert_default()
    }

    /// Whether a column's NULLs are empty texts.
    pub(super) fn is_not_null(&self, column: &str) -> bool {
        self.not_null
            .iter()
            .any(|name| name.eq_ignore_ascii_case(column))
    }
}

/// Types that values may be taken for.
fn candidates(names: &[String]) -> Result<Vec<ColumnType>> {
    if names.is_empty() {
        return Err(Error::binder(
            "auto_type_candidates requires at least one type",
        ));
    }
    let mut types = vec![];
    for name in names {
        if name.eq_ignore_ascii_case("NULL") {
            continue;
        }
        let ty = named_type(name)?;
        let is_known = ty == ColumnType::Varchar || could_be_found(&ty);
        if !is_known {
            return Err(Error::unsupported(format!(
                "Auto Type Candidate of type {name} is not there yet; values are taken for BOOLEAN, BIGINT, DOUBLE, TIME, DATE, \
                 TIMESTAMP, TIMESTAMPTZ and VARCHAR"
            )));
        }
        types.push(ty);
    }
    Ok(types)
}

/// A point or a comma.
fn mark(name: &str, value: &OptionValue) -> Result<u8> {
    match text(name, value)?.as_bytes() {
        [mark @ (b'.' | b',')] => Ok(*mark),
        _ => Err(Error::binder(format!("the option {name} is '.' or ','"))),
    }
}

/// One character, or none for an empty text.
fn byte(name: &str, value: &OptionValue) -> Result<Option<u8>> {
    match text(name, value)?.as_bytes() {
        [] => Ok(None),
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(Some(*byte)),
        b"\\t" => Ok(Some(b'\t')),
        _ => Err(Error::binder(format!(
            "the option {name} takes one ASCII character"
        ))),
    }
}

fn required(name: &str, value: &OptionValue) -> Result<u8> {
    byte(name, value)?
        .ok_or_else(|| Error::binder(format!("the option {name} takes one ASCII character")))
}

fn form(name: &str, value: &OptionValue) -> Result<String> {
    let form = text(name, value)?;
    match is_form(form) {
        true => Ok(form.to_string()),
        false => Err(Error::binder(format!(
            "the option {name} takes a format such as '%d.%m.%Y'"
        ))),
    }
}

/// An option of which there are only these values.
fn only(name: &str, value: &OptionValue, values: &[&str]) -> Result<()> {
    let text = match value {
        OptionValue::None => "true",
        value => text(name, value)?,
    };
    match values.iter().any(|known| known.eq_ignore_ascii_case(text)) {
        true => Ok(()),
        false => Err(Error::unsupported(format!(
            "the option {name} of CSV files is not supported but for {}",
            values.join(", ")
        ))),
    }
}
