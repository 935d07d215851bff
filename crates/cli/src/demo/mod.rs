//! `hush demo`: a whole life of an encrypted database, on TPC-H data.
//!
//! Everything that is printed was just done or measured. A wrong answer, a missing refusal or a refusal of the wrong
//! kind ends the demo with exit code 1.
#![expect(clippy::disallowed_methods, reason = "it attacks files from outside")]

mod attacks;
mod files;
mod queries;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use hushdb::{Connection, Database, DatabaseOptions, KeySource};

use self::files::DemoFiles;
use crate::arguments::DemoArguments;
use crate::byte_view::{self, BLOCKS_BEGIN, ByteCounts, Panel};
use crate::failure::Failure;
use crate::inspect;
use crate::interrupt::Interrupts;
use crate::output::Sink;
use crate::progress;

const TABLES: [&str; 8] = [
    "region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem",
];

/// Runs it.
///
/// # Errors
/// Anything that did not go as it must.
pub(crate) fn run(arguments: &DemoArguments) -> Result<ExitCode, Failure> {
    let interrupts = Interrupts::install(false)?;
    let started = Instant::now();
    let mut out = Sink::standard();
    let files = DemoFiles::prepare(&arguments.dir)?;
    if files.replaced {
        let directory = arguments.dir.display();
        let text = format!("Replacing the files of an earlier demo in {directory}.");
        line(&mut out, &text)?;
    }
    let wrong = data_and_queries(&mut out, &interrupts, &files, arguments.sf)?;
    noise(&mut out, &files)?;

    step(&mut out, "One bit flipped in a copy")?;
    attacks::flip_one_bit(&mut out, &files)?;
    step(&mut out, "Another key, and none")?;
    attacks::wrong_key(&mut out, &files)?;

    farewell(&mut out, &files, started)?;
    if wrong.is_empty() {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(Failure::Message(format!(
            "wrong answers: queries {wrong:?}"
        )))
    }
}

/// Fills an encrypted and a plain database and runs the queries on both. Gives the numbers of those that did not answer rightly; both
/// databases are closed then.
fn data_and_queries(
    out: &mut Sink,
    interrupts: &Interrupts,
    files: &DemoFiles,
    sf: f64,
) -> Result<Vec<u32>, Failure> {
    let options = DatabaseOptions {
        key: Some(KeySource::File(files.key.clone())),
        owns_process: true,
        ..DatabaseOptions::default()
    };
    let database = Database::open_with(Some(&files.encrypted), options)?;
    let encrypted = database.connect()?;
    let _watch = interrupts.watch(encrypted.interrupt_handle());

    let title = format!("TPC-H at scale factor {sf}, into an encrypted file");
    step(out, &title)?;
    let key = files.key.display();
    let text = format!("  key:  {key} (32 random bytes, readable by you alone)");
    line(out, &text)?;
    let begun = Instant::now();
    generate(&encrypted, sf)?;
    let rows = row_count(&encrypted)?;
    filled(out, &files.encrypted, &format!("{rows} rows, "), begun)?;

    step(out, "The same data in a plain database, to compare with")?;
    let begun = Instant::now();
    let plain = copy_plain(&database, &encrypted, &files.plain)?;
    filled(out, &files.plain, "", begun)?;

    step(out, "The 22 queries")?;
    queries::run(out, sf, &encrypted, &plain)
}

/// Says what a file has taken.
fn filled(out: &mut Sink, path: &Path, rows: &str, begun: Instant) -> Result<(), Failure> {
    let (shown, size) = (path.display(), inspect::size(file_size(path)?));
    let seconds = begun.elapsed().as_secs_f64();
    line(
        out,
        &format!("  file: {shown}, {rows}{size} in {seconds:.1} s"),
    )
}

/// Counts the bytes of both files and draws them.
fn noise(out: &mut Sink, files: &DemoFiles) -> Result<(), Failure> {
    step(out, "What the files look like to someone without the key")?;
    let (noise, data) = (count(&files.encrypted)?, count(&files.plain)?);
    for (name, counts) in [("encrypted", &noise), ("plain", &data)] {
        let text = format!(
            "  {name:9}  {:.6} bits of entropy per byte (8 is noise), headers left out",
            counts.bits_per_byte()
        );
        line(out, &text)?;
    }
    let panel = |path, name: &str, counts: &ByteCounts| Panel {
        path,
        label: format!("{name}  {:.4} BITS/BYTE", counts.bits_per_byte()),
        regions: &[],
    };
    let panels = [
        panel(&files.encrypted, "ENCRYPTED", &noise),
        panel(&files.plain, "PLAIN", &data),
    ];
    byte_view::write(&files.picture, &panels)?;
    let picture = files.picture.display();
    let text = format!("  picture:   {picture} (a pixel a byte: encrypted left, plain right)");
    line(out, &text)
}

/// Says how to look around in what is left.
fn farewell(out: &mut Sink, files: &DemoFiles, started: Instant) -> Result<(), Failure> {
    let seconds = started.elapsed().as_secs_f64();
    step(
        out,
        &format!("Done in {seconds:.0} s. To look around in it:"),
    )?;
    let (key, file) = (shown(&files.key), shown(&files.encrypted));
    let command = format!("  {} --key-file {key} {file}", program());
    line(out, &command)?;
    line(
        out,
        "  hush> SELECT l_shipmode, count(*) FROM lineitem GROUP BY l_shipmode;",
    )
}

fn step(out: &mut Sink, title: &str) -> Result<(), Failure> {
    line(out, &format!("\n{title}"))
}

fn line(out: &mut Sink, text: &str) -> Result<(), Failure> {
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Generates the data while a bar shows how far it is.
fn generate(connection: &Connection, sf: f64) -> Result<(), Failure> {
    let progress = connection.progress_handle();
    let bar = progress::bar("  {bar:40} {percent:>3} %  {elapsed}");
    let done = std::sync::atomic::AtomicBool::new(false);
    let generated = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Acquire) {
                bar.set_position(progress::position(progress.progress().unwrap_or(0.0)));
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            bar.finish_and_clear();
        });
        let generated = connection
            .execute(&format!("CALL dbgen(sf = {sf})"))
            .and_then(|result| result.collect_batches());
        done.store(true, std::sync::atomic::Ordering::Release);
        generated
    });
    generated?;
    Ok(())
}

/// A connection to a plain database with the same tables.
fn copy_plain(
    database: &Database,
    encrypted: &Connection,
    path: &Path,
) -> Result<Connection, Failure> {
    let path = path.display().to_string().replace('\'', "''");
    encrypted
        .execute(&format!("ATTACH '{path}' AS plain"))?
        .collect_batches()?;
    for table in TABLES {
        encrypted
            .execute(&format!(
                "CREATE TABLE plain.{table} AS SELECT * FROM {table}"
            ))?
            .collect_batches()?;
    }
    let plain = database.connect()?;
    plain.execute("USE plain")?.collect_batches()?;
    Ok(plain)
}

fn row_count(connection: &Connection) -> Result<i64, Failure> {
    use arrow::array::AsArray;
    use arrow::datatypes::Int64Type;
    let mut rows = 0;
    for table in TABLES {
        let batches = connection
            .execute(&format!("SELECT count(*) FROM {table}"))?
            .collect_batches()?;
        let count = batches.iter().find_map(|batch| {
            batch
                .column(0)
                .as_primitive_opt::<Int64Type>()?
                .iter()
                .next()?
        });
        rows += count.unwrap_or(0);
    }
    Ok(rows)
}

fn file_size(path: &Path) -> Result<u64, Failure> {
    Ok(std::fs::metadata(path)
        .map_err(|error| Failure::file(path, error))?
        .len())
}

fn count(path: &Path) -> Result<ByteCounts, Failure> {
    ByteCounts::of_file(path, BLOCKS_BEGIN).map_err(|error| Failure::file(path, error))
}

/// This program as it can be called from here.
fn program() -> String {
    let Ok(path) = std::env::current_exe() else {
        return "hush".to_owned();
    };
    let here = std::env::current_dir()
        .ok()
        .and_then(|here| Some(path.strip_prefix(here).ok()?.to_owned()));
    shown(&here.unwrap_or(path))
}

/// A path as a shell takes it.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+".contains(character);
    if text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
