//! What a statement says of a CSV file, with DuckDB's names; what it leaves open is found out from the file.

use super::super::encodings::Encoding;
use super::super::option_values::{flag, pairs, text, texts};
use super::super::packed_files::{Packing, Unpacked};
use super::super::rejects::RejectTables;
use super::kinds::{NumberForm, could_be_found, is_form};
use super::long_delimiter::{DELIMITER, MOST_BYTES, Marks, OneByte};
use hushdb_sql::OptionValue;
use hushdb_sql::type_names::named_type;
use hushdb_sql::{Error, Result};
use hushdb_storage::ColumnType;

/// How a CSV file is to be read.
#[derive(Clone, Default)]
pub(super) struct Options {
    pub(super) header: Option<bool>,
    pub(super) delimiter: Option<u8>,
    /// One of several bytes, for which `delimiter` stands.
    pub(super) long_delimiter: Option<String>,
    /// `Some(None)`: there are none.
    pub(super) quote: Option<Option<u8>>,
    pub(super) escape: Option<Option<u8>>,
    pub(super) comment: Option<Option<u8>>,
    pub(super) nulls: Vec<String>,
    /// A text that stands for NULL does so in quotes, too.
    pub(super) quoted_nulls: bool,
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
    pub(super) encoding: Encoding,
    /// Bytes of a record at most, where it is said.
    pub(super) most_bytes: Option<usize>,
    /// Records that tell the types of columns, where it is said; none for all of them.
    pub(super) sampled: Option<Option<usize>>,
    /// How numbers are written, where it is said.
    pub(super) numbers: Option<NumberForm>,
    /// Names of columns become plain words.
    pub(super) normalizes_names: bool,
    /// Where records that are none are kept.
    pub(super) rejects: Option<RejectOptions>,
    /// What is not said is found out.
    detects: bool,
}

impl Options {
    pub(super) fn new(path: &str, given: &[(String, OptionValue)]) -> Result<Self> {
        let (packing, path) = Packing::of_name(path);
        let mut options = Self {
            nulls: vec![String::new()],
            quoted_nulls: true,
            detects: true,
            packing,
            ..Self::default()
        };
        if path.to_ascii_lowercase().ends_with(".tsv") {
            options.delimiter = Some(b'\t');
        }
        options.rejects = RejectOptions::of(given)?;
        for (name, value) in given
            .iter()
            .filter(|(name, _)| !REJECTS.contains(&name.as_str()))
        {
            options.take(name, value)?;
        }
        options.ignore_errors |= options.rejects.is_some();
        options.fix_long_delimiter()?;
        if given.iter().any(|(name, _)| name == "auto_detect") {
            options.leave_nothing_open()?;
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
            "format" | "csv" | "parallel" | "buffer_size" => {}
            "auto_detect" => self.detects = flag(name, value)?,
            "sample_size" => self.sampled = Some(sampled(text(name, value)?)?),
            "header" => self.header = Some(flag(name, value)?),
            "delimiter" | "delim" | "sep" => self.take_delimiter(name, value)?,
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
            // Any end of a line is known.
            "new_line" => only(name, value, &["\n", "\r\n", "\r", "\\n", "\\r\\n", "\\r"])?,
            "allow_quoted_nulls" => self.quoted_nulls = flag(name, value)?,
            "max_line_size" | "maximum_line_size" => {
                let wrong = |_| Error::binder(format!("the option {name} takes a number of bytes"));
                self.most_bytes = Some(text(name, value)?.parse().map_err(wrong)?);
            }
            "encoding" => self.encoding = encoding(text(name, value)?)?,
            "decimal_separator" => self.number_form().point = mark(name, value)?,
            "thousands" => self.number_form().thousands = byte(name, value)?,
            "normalize_names" => self.normalizes_names = flag(name, value)?,
            // What is wrong with a record is an error still.
            "strict_mode" => drop(flag(name, value)?),
            "union_by_name" | "filename" => only(name, value, &["false", "0"])?,
            other => {
                return Err(Error::binder(format!(
                    "Unrecognized option for a CSV file: \"{other}\""
                )));
            }
        }
        Ok(())
    }

    fn take_delimiter(&mut self, name: &str, value: &OptionValue) -> Result<()> {
        let text = text(name, value)?.replace("\\t", "\t");
        if text.len() < 2 {
            self.long_delimiter = None;
            self.delimiter = Some(required(name, value)?);
            return Ok(());
        }
        if text.len() > MOST_BYTES {
            return Err(Error::invalid(format!(
                "The delimiter option cannot exceed a size of {MOST_BYTES} bytes."
            )));
        }
        if text.contains(['\n', '\r']) {
            return Err(Error::binder(format!(
                "the option {name} takes characters that end no line"
            )));
        }
        self.long_delimiter = Some(text);
        Ok(())
    }

    /// What is not to be found out beside a delimiter of several bytes, which is looked for before all else.
    fn fix_long_delimiter(&mut self) -> Result<()> {
        let Some(delimiter) = self.long_delimiter.as_ref().map(String::as_bytes) else {
            return Ok(());
        };
        let quote = *self.quote.get_or_insert(Some(b'"'));
        let escape = *self.escape.get_or_insert(quote);
        let comment = *self.comment.get_or_insert(None);
        let marks = [("QUOTE", quote), ("ESCAPE", escape), ("COMMENT", comment)];
        let is_in = |mark: Option<u8>| mark.is_some_and(|mark| delimiter.contains(&mark));
        if let Some((name, _)) = marks.into_iter().find(|(_, mark)| is_in(*mark)) {
            return Err(Error::binder(format!(
                "{name} must not appear in the DELIMITER specification and vice versa"
            )));
        }
        if self.rejects.is_some() {
            return Err(Error::unsupported(
                "store_rejects of files with delimiters of several characters is not there yet",
            ));
        }
        self.delimiter = Some(DELIMITER);
        Ok(())
    }

    /// A text whose delimiter is one byte.
    pub(super) fn with_one_byte(&self, text: Unpacked) -> Unpacked {
        let Some(delimiter) = &self.long_delimiter else {
            return text;
        };
        let marks = Marks {
            delimiter: delimiter.clone().into_bytes(),
            quote: self.quote.flatten(),
            escape: self.escape.flatten(),
            comment: self.comment.flatten(),
            skip: self.skip,
        };
        text.through(|text| Box::new(OneByte::new(text, marks)))
    }

    /// What is said where nothing is to be found out.
    fn leave_nothing_open(&mut self) -> Result<()> {
        if self.detects {
            return Ok(());
        }
        if self.columns.is_empty() {
            return Err(Error::binder(
                "read_csv requires columns to be specified through the 'columns' option. Use read_csv_auto or set read_csv(..., \
                 AUTO_DETECT=TRUE) to automatically guess columns.",
            ));
        }
        self.delimiter.get_or_insert(b',');
        self.quote.get_or_insert(Some(b'"'));
        self.escape.get_or_insert(self.quote.flatten());
        self.comment.get_or_insert(None);
        self.header.get_or_insert(false);
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

/// Options of records that are none.
const REJECTS: [&str; 4] = [
    "store_rejects",
    "rejects_table",
    "rejects_scan",
    "rejects_limit",
];

/// Where records that are none are kept.
#[derive(Clone, Debug)]
pub(super) struct RejectOptions {
    pub(super) tables: RejectTables,
    /// So many of a file, if not all.
    pub(super) most: Option<u64>,
}

impl RejectOptions {
    fn of(given: &[(String, OptionValue)]) -> Result<Option<Self>> {
        let find = |wanted: &str| given.iter().find(|(name, _)| name == wanted);
        let is_on = |name: &str| {
            let given = find(name).map(|(name, value)| flag(name, value));
            given.transpose()
        };
        let named = |name: &str, usual: &str| match find(name) {
            Some((name, value)) => text(name, value).map(str::to_owned),
            None => Ok(usual.to_owned()),
        };
        let is_stored = is_on("store_rejects")?;
        let others = REJECTS.iter().skip(1).find(|name| find(name).is_some());
        if let (Some(false), Some(name)) = (is_stored, others) {
            return Err(Error::binder(format!(
                "{} option is only supported when store_rejects is not manually set to false",
                name.to_uppercase()
            )));
        }
        if is_stored != Some(true) && others.is_none() {
            return Ok(None);
        }
        if is_on("ignore_errors")? == Some(false) {
            return Err(Error::binder(
                "STORE_REJECTS option is only supported when IGNORE_ERRORS is not manually set to false",
            ));
        }
        if find("comment").is_some() {
            return Err(Error::unsupported(
                "store_rejects of files with comments is not there yet",
            ));
        }
        let tables = RejectTables {
            scans: named("rejects_scan", "reject_scans")?,
            errors: named("rejects_table", "reject_errors")?,
        };
        if tables.scans.eq_ignore_ascii_case(&tables.errors) {
            return Err(Error::binder(
                "The names of the rejects scan and rejects error tables can't be the same. Use different names for these tables.",
            ));
        }
        let limit = find("rejects_limit").map(|(name, value)| {
            let limit = text(name, value)?.parse::<u64>();
            limit.map_err(|_| {
                Error::binder("Unsupported parameter for REJECTS_LIMIT: cannot be negative")
            })
        });
        let most = limit.transpose()?.filter(|limit| *limit > 0);
        Ok(Some(Self { tables, most }))
    }
}

/// How many records `sample_size` says, in steps of DuckDB's vectors; `None` for all.
fn sampled(text: &str) -> Result<Option<usize>> {
    const STEP: usize = 2048;
    match text.parse::<i64>() {
        Ok(-1) => Ok(None),
        Ok(rows) if rows > 0 => Ok(usize::try_from(rows)
            .ok()
            .and_then(|rows| rows.checked_next_multiple_of(STEP))),
        _ => Err(Error::binder(
            "Unsupported parameter for SAMPLE_SIZE: cannot be smaller than 1",
        )),
    }
}

fn encoding(name: &str) -> Result<Encoding> {
    let wrong = || Error::unsupported("the option encoding is utf-8, utf-16 or latin-1");
    Encoding::named(name).ok_or_else(wrong)
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
