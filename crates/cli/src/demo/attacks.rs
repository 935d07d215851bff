//! What someone may try with the file: change it, open it with another key, open it without one.
//!
//! A refusal is shown as the library words it. If one does not come, or is of another kind, the demo fails.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use hushdb::maintenance::DatabaseFile;
use hushdb::{Database, DatabaseOptions, ErrorKind, Freshness, KeySource};

use super::files::DemoFiles;
use super::line;
use crate::failure::Failure;
use crate::output::Sink;

const TABLE: &str = "lineitem";
const COLUMN: &str = "l_extendedprice";

/// Copies the encrypted file, flips one bit in the middle of a column's data, and reads that column.
///
/// # Errors
/// When the change goes unnoticed.
pub(super) fn flip_one_bit(out: &mut Sink, files: &DemoFiles) -> Result<(), Failure> {
    let target = &files.tampered;
    fs::copy(&files.encrypted, target).map_err(|error| Failure::file(target, error))?;
    let query = format!("SELECT max({COLUMN}), sum({COLUMN}) FROM {TABLE}");
    line(out, &format!("  before: {query}"))?;
    line(out, &format!("    -> {}", ask(target, &files.key, &query)?))?;

    let offset = middle_of_column(target, &files.key)?;
    flip(target, offset).map_err(|error| Failure::file(target, error))?;
    line(
        out,
        &format!(
            "  flipped the lowest bit of byte {offset} of {}",
            target.display()
        ),
    )?;

    line(out, &format!("  after:  {query}"))?;
    let refusal = ask(target, &files.key, &query);
    expect(
        out,
        refusal,
        &[ErrorKind::Tampered, ErrorKind::Corrupted],
        "the flipped bit went unnoticed",
    )?;

    let report = open_file(target, &files.key)?.check(&mut |_| {})?;
    let findings = report.damage.len();
    line(
        out,
        &format!("  hush check finds {findings} damaged block in that copy"),
    )?;
    if findings == 1 {
        Ok(())
    } else {
        Err(Failure::Message(format!(
            "one block was damaged, {findings} were found"
        )))
    }
}

/// Opens the encrypted file with another random key and without one.
///
/// # Errors
/// When it opens.
pub(super) fn wrong_key(out: &mut Sink, files: &DemoFiles) -> Result<(), Failure> {
    for (what, key, kind) in [
        (
            "another random key",
            Some(KeySource::File(files.wrong_key.clone())),
            ErrorKind::WrongKey,
        ),
        ("no key", None, ErrorKind::KeyRequired),
    ] {
        line(
            out,
            &format!("  opening {} with {what}", files.encrypted.display()),
        )?;
        let options = DatabaseOptions {
            key,
            read_only: true,
            ..DatabaseOptions::default()
        };
        let opened = Database::open_with(Some(&files.encrypted), options).map(|_| String::new());
        expect(
            out,
            opened.map_err(Failure::from),
            &[kind],
            &format!("the file opened with {what}"),
        )?;
    }
    Ok(())
}

fn expect(
    out: &mut Sink,
    got: Result<String, Failure>,
    kinds: &[ErrorKind],
    otherwise: &str,
) -> Result<(), Failure> {
    match got {
        Err(Failure::Library(error)) if kinds.contains(&error.kind()) => {
            line(out, &format!("    -> {error}"))
        }
        Err(failure) => Err(failure),
        Ok(_) => Err(Failure::Message(otherwise.to_owned())),
    }
}

/// One row, as text.
fn ask(path: &Path, key: &Path, sql: &str) -> Result<String, Failure> {
    let key = Some(KeySource::File(key.to_owned()));
    let options = DatabaseOptions {
        key,
        read_only: true,
        ..DatabaseOptions::default()
    };
    let database = Database::open_with(Some(path), options)?;
    let batches = database.connect()?.execute(sql)?.collect_batches()?;
    let mut texts = Vec::new();
    for batch in batches.iter().filter(|batch| batch.num_rows() > 0) {
        texts.extend(crate::output::texts(batch, 0)?.into_iter().flatten());
    }
    Ok(texts.join(", "))
}

fn open_file(path: &Path, key: &Path) -> Result<DatabaseFile, Failure> {
    let provider = KeySource::File(key.to_owned()).provider();
    let file = DatabaseFile::open_read_only(path, Some(&*provider), Freshness::default())?;
    Ok(file)
}

/// A byte in the middle of the column's middle segment.
fn middle_of_column(path: &Path, key: &Path) -> Result<u64, Failure> {
    let blocks = open_file(path, key)?.column_blocks("main", TABLE, COLUMN)?;
    let blocks = blocks.unwrap_or_default();
    let block = blocks.get(blocks.len() / 2);
    let block =
        block.ok_or_else(|| Failure::Message(format!("{TABLE}.{COLUMN} is not where it was")))?;
    Ok(block.offset + block.payload_bytes / 2)
}

fn flip(path: &Path, offset: u64) -> std::io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset)?;
    byte[0] ^= 1;
    file.write_all_at(&byte, offset)
}
