//! `hush salvage`: copies what still opens of a damaged file into a new one, and lists what does not.
//!
//! The damaged file is only read, and the new one must not be there yet. Exit code 1 when anything was lost. What is said
//! names tables, rows by number, and places; never a value.

use std::io::Write;
use std::process::ExitCode;

use hushdb::keys::KeyProvider;
use hushdb::maintenance::{Salvage, SalvageReport};

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
        true => Some(arguments.new_key.source()?.provider_of_new_key()),
        false => None,
    };
    let salvage = open(&arguments.file, key.as_deref())?;
    let key = new_key.as_deref().or(key.as_deref());
    let report = salvage.copy_to(&arguments.out, key)?;
    let mut sink = Sink::standard();
    for lost in &report.lost {
        writeln!(sink, "lost: {lost}")?;
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

fn open(arguments: &FileArguments, key: Option<&dyn KeyProvider>) -> Result<Salvage, Failure> {
    let freshness = arguments.freshness.freshness(false)?;
    Ok(Salvage::open(&arguments.file, key, freshness)?)
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
