//! `hush check`: opens every block and decodes every segment of a file, and says what is wrong.
//!
//! Where there is damage to blocks or the log, it says what `hush salvage` could save. Nothing is written, nothing is repaired. Exit code 1 when there is any damage, also when it is in one of two copies
//! and the file still opens; a log that says what the file has not yet is no damage.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use hushdb::files::storage::{Notice, SECTOR_BYTES};

use crate::arguments::FileArguments;
use crate::failure::Failure;
use crate::inspect;
use crate::output::Sink;
use crate::progress;
use crate::salvage;

/// Runs it.
///
/// # Errors
/// What keeps the file from opening at all.
pub(crate) fn run(arguments: &FileArguments) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    let freshness = arguments.freshness.freshness(false)?;
    let store = match inspect::open_read_only(&arguments.file, &arguments.key, freshness) {
        Ok(store) => store,
        Err(failure) => {
            // What another state than the expected one holds is no question of what is left.
            if failure.is_damage() && !arguments.freshness.is_given() {
                let mut out = Sink::standard();
                salvage::survey(&mut out, arguments)?;
                out.flush()?;
            }
            return Err(failure);
        }
    };
    let notices = store.notices();
    let sectors = store.info().total_sectors;
    let bar = progress::bar("{bar:40} {percent:>3} % of the file");
    let mut seen = 0;
    let report = store.check(&mut |_, block| {
        seen += block.sectors().map_or(0, u64::from);
        bar.set_position(progress::position(seen as f64 / sectors.max(1) as f64));
    });
    bar.finish_and_clear();
    let report = report?;
    let mut out = Sink::standard();
    let (damaged, others): (Vec<_>, Vec<_>) = notices.into_iter().partition(Notice::is_damage);
    for notice in others {
        writeln!(out, "note: {notice}")?;
    }
    for notice in &damaged {
        writeln!(out, "damage: {notice}")?;
    }
    for finding in &report.findings {
        let offset = finding.sector * SECTOR_BYTES as u64;
        writeln!(
            out,
            "damage: {} block at byte {offset}: {}",
            finding.role, finding.error
        )?;
    }
    let damage = damaged.len() + report.findings.len();
    let verdict = if damage == 0 {
        "no damage".to_owned()
    } else {
        format!("{damage} damaged")
    };
    writeln!(
        out,
        "{verdict}: {} blocks opened, {} column segments decoded, {} rows, {:.2} s",
        report.blocks,
        report.segments,
        report.rows,
        started.elapsed().as_secs_f64()
    )?;
    // A file is open once in a process.
    drop(store);
    if !report.findings.is_empty() {
        salvage::survey(&mut out, arguments)?;
    }
    out.flush()?;
    Ok(if damage == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
