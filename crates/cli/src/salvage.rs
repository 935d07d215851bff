//! `hush salvage`: copies what still opens of a damaged file into a new one, and lists what does not.
//!
//! The damaged file is only read, and the new one must not be there yet. Exit code 1 when anything was lost. What is said
//! names tables, rows by number, and places; never a value.

use std::io::Write;
use std::process::ExitCode;

use hushdb::files::keys::Suite;
use hushdb::files::storage::{
    Lost, OsFiles, Salvage, SalvageReport, StorageFiles, Store, StoreOptions,
};

use crate::arguments::{FileArguments, SalvageArguments};
use crate::failure::Failure;
use crate::inspect;
use crate::output::Sink;

/// Runs it.
///
/// # Errors
/// What keeps the file from opening at all, a new file that is there already or cannot be written.
pub(crate) fn run(arguments: &SalvageArguments) -> Result<ExitCode, Failure> {
    if arguments.out.exists() {
        return Err(Failure::Message(format!(
            "{} is there already: name a new file",
            arguments.out.display()
        )));
    }
    let key = inspect::key_of(&arguments.file.file, &arguments.file.key)?;
    let new_key = match arguments.new_key.is_given() {
        true => Some(arguments.new_key.source()?.provider()),
        false => None,
    };
    // While nobody has it open.
    let suite = inspect::readable(&inspect::header_copies(&arguments.file.file)?)?.suite();
    let options = StoreOptions {
        suite: match suite {
            Suite::Plain => Suite::Gcm,
            suite => suite,
        },
        ..StoreOptions::default()
    };
    let salvage = open(&arguments.file, key.as_deref())?;
    let key = new_key.as_deref().or(key.as_deref());
    let files = OsFiles::beside(&arguments.out)?;
    let out = Store::create_path(files.path(), key, &options)?;
    let copied = salvage.copy_to(&out);
    drop(out);
    if copied.is_err() {
        // A part of what could be saved would look like all of it.
        for name in [".wal.next", ".wal", ""] {
            let _ = files.remove(name);
        }
    }
    let report = copied?;
    let mut sink = Sink::standard();
    for lost in &report.lost {
        writeln!(sink, "lost: {}", place_of(lost))?;
    }
    list(&mut sink, "saved", &report)?;
    sink.flush()?;
    Ok(match report.lost.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// What could be saved of a file that is damaged; nothing is said where not even that can be told.
///
/// # Errors
/// The writer's.
pub(crate) fn survey(sink: &mut Sink, arguments: &FileArguments) -> Result<(), Failure> {
    let key = inspect::key_of(&arguments.file, &arguments.key)?;
    let surveyed = open(arguments, key.as_deref()).and_then(|salvage| Ok(salvage.survey()?));
    match surveyed {
        Ok(report) => list(sink, "could be saved", &report),
        Err(_) => Ok(writeln!(sink, "nothing could be saved")?),
    }
}

fn open(
    arguments: &FileArguments,
    key: Option<&dyn hushdb::files::keys::KeyProvider>,
) -> Result<Salvage, Failure> {
    let options = StoreOptions {
        freshness: arguments.freshness.freshness(false)?,
        ..StoreOptions::default()
    };
    Ok(Salvage::open_path(&arguments.file, key, &options)?)
}

fn list(sink: &mut Sink, done: &str, report: &SalvageReport) -> Result<(), Failure> {
    for table in &report.tables {
        let (name, rows, total) = (&table.name, table.rows, table.total_rows);
        writeln!(sink, "{done}: {name}, {rows} of {total} rows")?;
    }
    if report.views > 0 {
        writeln!(sink, "{done}: {} views", report.views)?;
    }
    Ok(())
}

fn place_of(lost: &Lost) -> String {
    let mut text = match (&lost.table, &lost.rows) {
        (Some(table), Some(rows)) => {
            // Of those row ids, some may have been deleted.
            format!(
                "{table}, rows {} to {}",
                rows.start,
                rows.end.saturating_sub(1)
            )
        }
        (Some(schema), None) if lost.part.is_none() => format!("a table of schema {schema}"),
        (Some(table), None) => table.clone(),
        (None, _) => "the end of the log".to_owned(),
    };
    if let Some(part) = &lost.part {
        text.push_str(", ");
        text.push_str(part);
    }
    format!("{text}: {}", lost.error)
}
