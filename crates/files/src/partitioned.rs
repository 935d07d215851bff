//! COPY TO into a directory: a file for each value of PARTITION_BY, one after the other with FILE_SIZE_BYTES and ROW_GROUPS_PER_FILE, or one
//! file with PER_THREAD_OUTPUT, which one thread writes.
//!
//! What must hold: a name of a directory tells its value to whoever reads it back, whatever characters are in it; no more files are
//! open at once than [`OPEN_FILES`]. A directory that has files in it is written to only by OVERWRITE_OR_IGNORE or APPEND.

use super::copy_options::{Options, Spread};
use super::copy_rows::CopyRows;
use super::csv::CsvForm;
use datafusion::arrow::array::UInt32Array;
use datafusion::arrow::compute::take_record_batch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use hushdb_query::functions::value_text;
use hushdb_sql::{Error, ErrorKind, Result, position_of};
use hushdb_storage::{create_directory, has_entries};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// Files that are written at once; of others the next file is begun.
const OPEN_FILES: usize = 100;
/// Rows after which is looked whether a file is full.
const LOOK_ROWS: usize = 2048;
/// Bytes of a group of rows of a Parquet file, of which there is one in memory for each open file.
const GROUP_BYTES: usize = 8 << 20;
/// What NULL is called among the names of directories.
const NULL_NAME: &str = "__HIVE_DEFAULT_PARTITION__";

/// Writes all rows; says how many, and to which files.
pub(crate) fn write(
    schema: &SchemaRef,
    rows: impl Iterator<Item = Result<RecordBatch>>,
    directory: &str,
    options: &Options,
    spread: &Spread,
) -> Result<(u64, Vec<String>)> {
    let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
    let columns = spread.columns(&names)?;
    let is_kept = |at: &usize| spread.writes_columns || !columns.contains(at);
    let kept: Vec<usize> = (0..names.len()).filter(is_kept).collect();
    if kept.is_empty() {
        return Err(Error::unsupported(
            "No column to write as all columns are specified as partition columns. WRITE_PARTITION_COLUMNS option can be \
             used to write partition columns.",
        ));
    }
    let failed = |error: std::io::Error| {
        Error::new(
            ErrorKind::Io,
            format!("Cannot write to \"{directory}\": {error}"),
        )
    };
    create_directory(directory).map_err(failed)?;
    if !spread.adds && has_entries(directory).map_err(failed)? {
        return Err(Error::new(
            ErrorKind::Io,
            format!(
                "Directory \"{directory}\" is not empty! Enable OVERWRITE_OR_IGNORE or APPEND to add files to it"
            ),
        ));
    }
    let form = options.csv_form();
    let mut files = Files {
        directory,
        options,
        spread,
        form: &form,
        schema: Arc::new(schema.project(&kept)?),
        open: BTreeMap::new(),
        begun: HashMap::new(),
        paths: vec![],
        time: 0,
    };
    let mut count = 0;
    for batch in rows {
        let batch = batch?;
        count += batch.num_rows() as u64;
        for (name, places) in parts(&batch, &names, &columns, spread)? {
            let part = match places.len() == batch.num_rows() {
                true => batch.clone(),
                false => take_record_batch(&batch, &UInt32Array::from(places))?,
            };
            let part = part.project(&kept)?;
            match spread.full.comes() {
                true => files.add_until_full(&part)?,
                false => files.add(&name, &part)?,
            }
        }
    }
    if columns.is_empty() && count == 0 && !options.skips_empty {
        files.add("", &RecordBatch::new_empty(Arc::clone(&files.schema)))?;
    }
    files.finish()?;
    Ok((count, files.paths))
}

/// The rows of a batch by the directory that they belong into, in the order in which these come.
fn parts(
    batch: &RecordBatch,
    names: &[String],
    columns: &[usize],
    spread: &Spread,
) -> Result<Vec<(String, Vec<u32>)>> {
    let mut found: Vec<(String, Vec<u32>)> = vec![];
    let mut known = HashMap::new();
    for row in 0..batch.num_rows() {
        let mut name = String::new();
        for column in columns {
            let text = value_text(batch.column(*column).as_ref(), row)?;
            let value = text.map_or_else(|| NULL_NAME.to_owned(), |text| encoded(&text));
            match spread.hive {
                true => write!(name, "{}={value}/", encoded(&names[*column])),
                false => write!(name, "{value}/"),
            }
            .map_err(|error| Error::internal(error.to_string()))?;
        }
        let at = *known.entry(name).or_insert_with_key(|name| {
            found.push((name.clone(), vec![]));
            found.len() - 1
        });
        found[at].1.push(row as u32);
    }
    Ok(found)
}

/// A text in which all but letters, digits and a few signs of ASCII is written by its bytes.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    // Else they would lead out of the directory.
    match out.as_str() {
        "." | ".." => out.replace('.', "%2E"),
        _ => out,
    }
}

struct Files<'a> {
    directory: &'a str,
    options: &'a Options,
    spread: &'a Spread,
    form: &'a CsvForm,
    schema: SchemaRef,
    /// By the directory's name, with when it was written to last.
    open: BTreeMap<String, (u64, CopyRows<'a>)>,
    /// How many files a directory has already; all of them together where there are no directories.
    begun: HashMap<String, usize>,
    paths: Vec<String>,
    time: u64,
}

impl Files<'_> {
    fn add(&mut self, name: &str, rows: &RecordBatch) -> Result<()> {
        self.time += 1;
        if !self.open.contains_key(name) {
            if self.open.len() >= OPEN_FILES {
                self.finish_oldest()?;
            }
            let path = self.next_path(name)?;
            let file = CopyRows::begin(&path, self.options, self.form, &self.schema)?;
            self.paths.push(path);
            self.open.insert(name.to_owned(), (self.time, file));
        }
        if let Some((time, file)) = self.open.get_mut(name) {
            *time = self.time;
            file.batch(rows)?;
            // Those that are counted are as large as is said.
            if self.spread.full.groups.is_none() {
                file.end_group_of(GROUP_BYTES)?;
            }
        }
        Ok(())
    }

    /// Adds rows to the one file that is open, and to those behind it.
    fn add_until_full(&mut self, rows: &RecordBatch) -> Result<()> {
        let full = self.spread.full;
        let mut added = 0;
        while added < rows.num_rows() {
            let file = self.open.get("").map(|(_, file)| file);
            let in_group = file.map_or(0, |file| file.groups().1);
            let group_rest = self.options.parquet.group_rows().saturating_sub(in_group);
            let count = (rows.num_rows() - added)
                .min(LOOK_ROWS)
                .min(group_rest.max(1));
            self.add("", &rows.slice(added, count))?;
            added += count;
            let is_full = |(_, file): &(u64, CopyRows<'_>)| {
                let bytes = full.bytes.is_some_and(|most| file.written() >= most);
                bytes || full.groups.is_some_and(|most| file.groups().0 >= most)
            };
            if self.open.get("").is_some_and(is_full) {
                self.finish_oldest()?;
            }
        }
        Ok(())
    }

    fn next_path(&mut self, name: &str) -> Result<String> {
        let directory = match self.spread.hive {
            true => name,
            false => "",
        };
        let number = self.begun.entry(directory.to_owned()).or_default();
        let file = self.spread.file_name(*number);
        *number += 1;
        let inner = format!("{}/{directory}", self.directory);
        create_directory(&inner).map_err(|error| {
            Error::new(
                ErrorKind::Io,
                format!("Cannot write to \"{}\": {error}", self.directory),
            )
        })?;
        let extension = self.spread.extension.clone();
        let extension = extension.unwrap_or_else(|| self.options.extension());
        Ok(format!("{inner}{file}.{extension}"))
    }

    fn finish_oldest(&mut self) -> Result<()> {
        let oldest = self.open.iter().min_by_key(|(_, (time, _))| *time);
        let Some(name) = oldest.map(|(name, _)| name.clone()) else {
            return Ok(());
        };
        match self.open.remove(&name) {
            Some((_, file)) => file.finish(),
            None => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<()> {
        while !self.open.is_empty() {
            self.finish_oldest()?;
        }
        Ok(())
    }
}

impl Spread {
    /// The places of the columns that divide rows.
    fn columns(&self, names: &[String]) -> Result<Vec<usize>> {
        if self.by.iter().any(|name| name == "*") {
            return Ok((0..names.len()).collect());
        }
        let mut columns = vec![];
        for name in &self.by {
            let at = position_of(names.iter().map(String::as_str), name).ok_or_else(|| {
                Error::binder(format!(
                    "\"partition_by\" expected to find {name}, but it was not found in the table"
                ))
            })?;
            if columns.contains(&at) {
                return Err(Error::binder(format!("\"partition_by\" has {name} twice")));
            }
            columns.push(at);
        }
        Ok(columns)
    }

    /// The name of a directory's file, by its number.
    fn file_name(&self, number: usize) -> String {
        let pattern = self.pattern.as_str();
        let has_number = pattern.contains("{i}");
        let has_id = pattern.contains("{uuid}") || pattern.contains("{uuidv4}");
        let mut name = pattern.replace("{i}", &number.to_string());
        if has_id {
            let id = random_id();
            name = name.replace("{uuid}", &id).replace("{uuidv4}", &id);
        }
        match has_number || has_id {
            true => name,
            false => format!("{name}{number}"),
        }
    }
}

/// A random UUID (RFC 9562, version 4).
fn random_id() -> String {
    let bits = |n: u8| u128::from(RandomState::new().hash_one(n));
    let bits = bits(0) << 64 | bits(1);
    let bits = bits & !(0xF000_u128 << 64) | 0x4000_u128 << 64;
    let bits = bits & !(0xC000_u128 << 48) | 0x8000_u128 << 48;
    let hex = format!("{bits:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
    let parts = parts.map(|part| hex.get(part).unwrap_or_default());
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_directory() {
        for (text, name) in [
            ("a b/c=d", "a%20b%2Fc%3Dd"),
            ("ä%", "%C3%A4%25"),
            ("..", "%2E%2E"),
            (".", "%2E"),
            ("a.b", "a.b"),
            ("", ""),
        ] {
            assert_eq!(encoded(text), name);
        }
    }

    #[test]
    fn random_ids_are_of_version_four() {
        let id = random_id();
        assert_eq!((id.len(), &id[14..15]), (36, "4"));
        assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"));
        assert_ne!(id, random_id());
    }
}
