//! Options of COPY, formats of files, and files that are written: what reading and writing of them share.
//!
//! What must hold: files are written as [`OutputFile`], which is never a database's.

use super::csv::{self, CsvForm, Quoted};
use super::option_values::text;
use super::packed_files::Packing;
use super::parquet_form::ParquetForm;
use hushdb_sql::settings_text::memory_size;
use hushdb_sql::{Error, ErrorKind, OptionValue, Result};
use hushdb_storage::OutputFile;

/// A format of files.
#[derive(Clone, Copy, PartialEq)]
pub enum Format {
    /// Lines of values, in whatever dialect.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Records one after the other, or in one array.
    Json,
}

impl Format {
    /// The format that a file's name tells, if any.
    pub fn of_name(path: &str) -> Option<Self> {
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

/// Options of COPY, with DuckDB's names.
pub struct Options {
    pub(crate) format: Format,
    header: Option<bool>,
    delimiter: Option<u8>,
    /// `None` writes no quotes.
    quote: Option<u8>,
    /// Before a quote that belongs to a value; the quote itself where nothing is said.
    escape: Option<u8>,
    null: String,
    /// Of Parquet files.
    pub(crate) parquet: ParquetForm,
    /// Of files of text.
    pub(crate) packing: Packing,
    date_form: Option<String>,
    timestamp_form: Option<String>,
    /// JSON as one array.
    pub(crate) array: bool,
    quoted: Quoted,
    prefix: Option<String>,
    suffix: Option<String>,
    /// Several files, in a directory.
    pub(crate) spread: Option<Spread>,
    /// No file is written where there is no row.
    pub(crate) skips_empty: bool,
    /// COPY gives the names of its files.
    pub returns_files: bool,
    /// What the footers of Parquet files say of their columns.
    pub returns_stats: bool,
}

/// The options that a statement gives, beside what the file's name tells.
///
/// # Errors
/// `Binder` for what is no option, or not for such a file.
pub fn options(path: &str, given: &[(String, OptionValue)]) -> Result<Options> {
    let mut compression = None;
    let mut options = Options::usual(path);
    for (name, value) in given {
        if options.parquet.take(name, value)? {
            continue;
        }
        let text = match value {
            OptionValue::Text(text) => Some(text.as_str()),
            OptionValue::None => None,
            OptionValue::List(_) | OptionValue::Pairs(_)
                if matches!(
                    name.as_str(),
                    "partition_by" | "force_quote" | "encryption_config"
                ) =>
            {
                None
            }
            OptionValue::List(_) | OptionValue::Pairs(_) => {
                return Err(Error::binder(format!("the option {name} takes one value")));
            }
        };
        let required =
            || text.ok_or_else(|| Error::binder(format!("the option {name} needs a value")));
        match name.as_str() {
            "format" => options.format = format_named(required()?)?,
            "csv" => options.format = Format::Csv,
            "header" => options.header = Some(is_on(text)),
            "array" => options.array = is_on(text),
            "delimiter" | "delim" | "sep" => options.delimiter = Some(one_byte(name, required()?)?),
            "quote" if text == Some("") => options.quote = None,
            "quote" => options.quote = Some(one_byte(name, required()?)?),
            "prefix" => options.prefix = Some(required()?.to_string()),
            "suffix" => options.suffix = Some(required()?.to_string()),
            "force_quote" => options.quoted = quoted(value)?,
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
        (Some(name), Format::Parquet) => options.parquet.pack_by(name),
        (Some(name), Format::Csv | Format::Json) => {
            let name = OptionValue::Text(name);
            options.packing = Packing::named("compression", &name)?.unwrap_or(options.packing);
        }
    }
    if options.returns_stats && options.format != Format::Parquet {
        return Err(Error::unsupported(
            "RETURN_STATS is for Parquet files: files of text say nothing of themselves",
        ));
    }
    options.spread = Spread::read(given, options.format)?;
    options.check_forms()?;
    Ok(options)
}

impl Options {
    /// Whether values are written as texts.
    pub fn writes_texts(&self) -> bool {
        self.format != Format::Parquet
    }

    /// Those of a file about which nothing is said but its name.
    fn usual(path: &str) -> Self {
        let (packing, name) = Packing::of_name(path);
        let lower = name.to_ascii_lowercase();
        Self {
            format: Format::of_name(path).unwrap_or(Format::Csv),
            header: None,
            delimiter: lower.ends_with(".tsv").then_some(b'\t'),
            quote: Some(b'"'),
            quoted: Quoted::AsNeeded,
            prefix: None,
            suffix: None,
            spread: None,
            skips_empty: false,
            returns_files: false,
            returns_stats: false,
            escape: None,
            null: String::new(),
            parquet: ParquetForm::default(),
            packing,
            date_form: None,
            timestamp_form: None,
            array: false,
        }
    }

    fn check_forms(&self) -> Result<()> {
        let has_form = self.date_form.is_some() || self.timestamp_form.is_some();
        let has_ends = self.prefix.is_some() || self.suffix.is_some();
        let is_forced = !matches!(self.quoted, Quoted::AsNeeded);
        if self.format == Format::Parquet && has_form {
            return Err(Error::unsupported(
                "the options dateformat and timestampformat are for CSV and JSON files",
            ));
        }
        if self.format != Format::Csv && (has_ends || is_forced) {
            return Err(Error::binder(
                "the options prefix, suffix and force_quote are for CSV files",
            ));
        }
        match self.format {
            Format::Parquet => drop(self.parquet.properties()?),
            Format::Csv | Format::Json if self.parquet.is_usual() => {}
            Format::Csv | Format::Json => {
                return Err(Error::binder(
                    "options of row groups, dictionaries, filters, levels and footers are for Parquet files",
                ));
            }
        }
        if has_ends && self.header == Some(true) {
            return Err(Error::binder(
                "COPY ... (FORMAT CSV)'s HEADER cannot be combined with PREFIX/SUFFIX",
            ));
        }
        Ok(())
    }

    /// What the names of files end with.
    pub(crate) fn extension(&self) -> String {
        let format = match self.format {
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Parquet => return "parquet".into(),
        };
        format!("{format}{}", self.packing.ending())
    }

    pub(crate) fn csv_form(&self) -> CsvForm {
        let has_ends = self.prefix.is_some() || self.suffix.is_some();
        let ends = |end: &Option<String>| end.clone().unwrap_or_default();
        CsvForm {
            header: self.header.unwrap_or(!has_ends),
            delimiter: self.delimiter.unwrap_or(b','),
            quote: self.quote,
            escape: self.escape.or(self.quote).unwrap_or(b'"'),
            null: self.null.clone(),
            quoted: self.quoted.clone(),
            date: self.date_form.clone(),
            timestamp: self.timestamp_form.clone(),
            around: has_ends.then(|| (ends(&self.prefix), ends(&self.suffix))),
        }
    }

    /// Takes an option of COPY TO, if it is one of these.
    fn take_of_writers(&mut self, name: &str, text: Option<&str>) -> Result<bool> {
        match name {
            "dateformat" | "date_format" => self.date_form = Some(written_form(name, text)?),
            "timestampformat" | "timestamp_format" => {
                self.timestamp_form = Some(written_form(name, text)?);
            }
            "return_files" => self.returns_files = is_on(text),
            "return_stats" => self.returns_stats = is_on(text),
            "write_empty_file" => self.skips_empty = !is_on(text),
            // A file is always written as a whole, from a temporary one, and its rows are in order.
            "use_tmp_file" | "preserve_order" => {}
            _ if SPREAD_OPTIONS.contains(&name) => {}
            "dictionary_size_limit" => {
                return Err(Error::unsupported(format!(
                    "this value of the option {name} of COPY is not there yet"
                )));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Options of several files, which [`Spread`] reads.
const SPREAD_OPTIONS: [&str; 11] = [
    "partition_by",
    "file_size_bytes",
    "row_groups_per_file",
    "per_thread_output",
    "write_partition_columns",
    "filename_pattern",
    "file_extension",
    "hive_file_pattern",
    "overwrite",
    "overwrite_or_ignore",
    "append",
];

/// When a file takes no more rows; it may take a few beyond that.
#[derive(Clone, Copy, Default)]
pub(crate) struct Full {
    pub(crate) bytes: Option<u64>,
    /// Groups of rows of a Parquet file.
    pub(crate) groups: Option<usize>,
}

impl Full {
    fn read(bytes: Option<&OptionValue>, groups: Option<&OptionValue>) -> Result<Self> {
        let bytes = bytes.map(|value| {
            let name = "file_size_bytes";
            let bytes = memory_size(text(name, value)?)?;
            let some = || {
                Error::binder(format!(
                    "the option {name} takes a size such as '100MB', more than 0"
                ))
            };
            (bytes > 0).then_some(bytes).ok_or_else(some)
        });
        let groups = groups.map(|value| {
            let name = "row_groups_per_file";
            let groups = text(name, value)?.parse().ok();
            let some = || Error::binder(format!("the option {name} takes a number, 1 at least"));
            groups.filter(|groups| *groups > 0).ok_or_else(some)
        });
        Ok(Self {
            bytes: bytes.transpose()?,
            groups: groups.transpose()?,
        })
    }

    /// Whether there is a bound at all.
    pub(crate) fn comes(self) -> bool {
        self.bytes.is_some() || self.groups.is_some()
    }
}

/// How rows are spread over the files of a directory.
pub(crate) struct Spread {
    /// Columns, or `*`; none with PER_THREAD_OUTPUT.
    pub(crate) by: Vec<String>,
    /// When the next file is begun.
    pub(crate) full: Full,
    pub(crate) writes_columns: bool,
    /// Names of files, with `{i}` and `{uuid}`.
    pub(crate) pattern: String,
    pub(crate) extension: Option<String>,
    /// Directories are called `column=value`; else there are none.
    pub(crate) hive: bool,
    /// Files may be there already.
    pub(crate) adds: bool,
}

impl Spread {
    fn read(given: &[(String, OptionValue)], format: Format) -> Result<Option<Self>> {
        let find = |wanted: &str| {
            given
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, v)| v)
        };
        let text = |name: &str| match find(name) {
            Some(OptionValue::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let on = |name: &str| find(name).is_some() && is_on(text(name));
        let by = match find("partition_by") {
            Some(OptionValue::List(names)) => names.clone(),
            Some(OptionValue::Text(name)) => vec![name.clone()],
            Some(_) => {
                return Err(Error::binder(
                    "the option partition_by takes names of columns",
                ));
            }
            None => vec![],
        };
        let full = Full::read(find("file_size_bytes"), find("row_groups_per_file"))?;
        if full.comes() && !by.is_empty() {
            return Err(Error::unsupported(
                "Can't combine FILE_SIZE_BYTES or ROW_GROUPS_PER_FILE and PARTITION_BY for COPY",
            ));
        }
        if full.groups.is_some() && format != Format::Parquet {
            return Err(Error::binder(
                "the option row_groups_per_file is for Parquet files",
            ));
        }
        if by.is_empty() && !full.comes() && !on("per_thread_output") {
            return Ok(None);
        }
        if on("overwrite") {
            return Err(Error::unsupported(
                "OVERWRITE of a directory, which removes the files in it, is not there yet; remove them first, or use \
                 OVERWRITE_OR_IGNORE",
            ));
        }
        let usual = if on("append") { "{uuid}" } else { "data_{i}" };
        let pattern = text("filename_pattern").unwrap_or(usual);
        let extension = text("file_extension");
        let leads_away = |name: &str| name.contains('/') || name.starts_with('.');
        if leads_away(pattern) || extension.is_some_and(|name| name.contains('/')) {
            return Err(Error::binder(
                "filename_pattern and file_extension are parts of a file's name, without / and without a dot at its beginning",
            ));
        }
        if pattern.contains("{uuidv7}") {
            return Err(Error::unsupported(
                "{uuidv7} in filename_pattern is not there yet; use {uuid}",
            ));
        }
        Ok(Some(Self {
            by,
            full,
            writes_columns: on("write_partition_columns"),
            pattern: pattern.to_owned(),
            extension: extension.map(str::to_owned),
            hive: find("hive_file_pattern").is_none() || on("hive_file_pattern"),
            adds: on("overwrite_or_ignore") || on("append"),
        }))
    }
}

/// What FORCE_QUOTE says: names, or `*`.
fn quoted(value: &OptionValue) -> Result<Quoted> {
    match value {
        OptionValue::Text(all) if all == "*" => Ok(Quoted::All),
        OptionValue::Text(name) => Ok(Quoted::Some(vec![name.clone()])),
        OptionValue::List(names) => Ok(Quoted::Some(names.clone())),
        _ => Err(Error::binder(
            "the option force_quote takes names of columns, or *",
        )),
    }
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
pub(crate) fn format_of(path: &str, given: &[(String, OptionValue)]) -> Result<Format> {
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

/// A file that has its name when it is whole, and is no database.
///
/// # Errors
/// `Io` where it cannot be made, and those of [`OutputFile::create`].
pub fn output_file(path: &str) -> Result<OutputFile> {
    OutputFile::create(path).map_err(|error| not_written(path, error))
}

/// Gives it its name.
///
/// # Errors
/// `Io` where what was written cannot be kept.
pub fn commit(file: OutputFile, path: &str) -> Result<()> {
    file.commit().map_err(|error| not_written(path, error))
}

fn not_written(path: &str, error: hushdb_storage::Error) -> Error {
    match error {
        hushdb_storage::Error::Io(error) => open_error(path, &error),
        error => error.into(),
    }
}

pub(crate) fn open_error(path: &str, error: &std::io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("Cannot open file \"{path}\": {error}"),
    )
}
