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
        line(
            &mut out,
            &format!(
                "Replacing the files of an earlier demo in {}.",
                arguments.dir.display()
            ),
        )?;
    }
    let database = Database::open_with(
        Some(&files.encrypted),
        DatabaseOptions {
            key: Some(KeySource::File(files.key.clone())),
            owns_process: true,
            ..DatabaseOptions::default()
        },
    )?;
    let encrypted = database.connect()?;
    let watch = interrupts.watch(encrypted.interrupt_handle());

    step(
        &mut out,
        &format!(
            "TPC-H at scale factor {}, into an encrypted file",
            arguments.sf
        ),
    )?;
    line(
        &mut out,
        &format!(
            "  key:  {} (32 random bytes, readable by you alone)",
            files.key.display()
        ),
    )?;
    let begun = Instant::now();
    generate(&encrypted, arguments.sf)?;
    let rows = row_count(&encrypted)?;
    let size = file_size(&files.encrypted)?;
    let seconds = begun.elapsed().as_secs_f64();
    let text = format!(
        "  file: {}, {rows} rows, {} in {seconds:.1} s",
        files.encrypted.display(),
        inspect::size(size)
    );
    line(&mut out, &text)?;

    step(
        &mut out,
        "The same data in a plain database, to compare with",
    )?;
    let begun = Instant::now();
    let plain = copy_plain(&database, &encrypted, &files.plain)?;
    let text = format!(
        "  file: {}, {} in {:.1} s",
        files.plain.display(),
        inspect::size(file_size(&files.plain)?),
        begun.elapsed().as_secs_f64()
    );
    line(&mut out, &text)?;

    step(&mut out, "The 22 queries")?;
    let wrong = queries::run(&mut out, arguments.sf, &encrypted, &plain)?;
    drop((encrypted, plain, watch));
    drop(database);

    step(
        &mut out,
        "What the files look like to someone without the key",
    )?;
    let (noise, data) = (count(&files.encrypted)?, count(&files.plain)?);
    for (name, counts) in [("encrypted", &noise), ("plain", &data)] {
        let text = format!(
            "  {name:9}  {:.6} bits of entropy per byte (8 is noise), headers left out",
            counts.bits_per_byte()
        );
        line(&mut out, &text)?;
    }
    let label = |name: &str, counts: &ByteCounts| {
        format!("{name}  {:.4} BITS/BYTE", counts.bits_per_byte())
    };
    let panels = [
        Panel {
            path: &files.encrypted,
            label: label("ENCRYPTED", &noise),
            regions: &[],
        },
        Panel {
            path: &files.plain,
            label: label("PLAIN", &data),
            regions: &[],
        },
    ];
    byte_view::write(&files.picture, &panels)?;
    let text = format!(
        "  picture:   {} (a pixel a byte: encrypted left, plain right)",
        files.picture.display()
    );
    line(&mut out, &text)?;

    step(&mut out, "One bit flipped in a copy")?;
    attacks::flip_one_bit(&mut out, &files)?;
    step(&mut out, "Another key, and none")?;
    attacks::wrong_key(&mut out, &files)?;

    step(
        &mut out,
        &format!(
            "Done in {:.0} s. To look around in it:",
            started.elapsed().as_secs_f64()
        ),
    )?;
    line(
        &mut out,
        &format!(
            "  {} --key-file {} {}",
            program(),
            shown(&files.key),
            shown(&files.encrypted)
        ),
    )?;
    line(
        &mut out,
        "  hush> SELECT l_shipmode, count(*) FROM lineitem GROUP BY l_shipmode;",
    )?;
    if wrong.is_empty() {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(Failure::Message(format!(
            "wrong answers: queries {wrong:?}"
        )))
    }
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
