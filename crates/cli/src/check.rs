//! `hush check`: opens every block and decodes every segment of a file, and says what is wrong.
//!
//! Where there is damage to blocks or the log, it says what `hush salvage` could save. Nothing is written, nothing is repaired. Exit code 1 when there is any damage, also when it is in one of two copies
//! and the file still opens; a log that says what the file has not yet is no damage.

use std::io::Write;
use std::process::ExitCode;

use hushdb::maintenance::{FileNotice, SECTOR_BYTES};

use crate::arguments::FileArguments;
use crate::cpu_time;
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
    let started = cpu_time::now();
    let freshness = arguments.freshness.freshness(false)?;
    let file = match inspect::open_read_only(&arguments.file, &arguments.key, freshness) {
        Ok(file) => file,
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
    let notices = [file.notices(), file.key_notices()].concat();
    let bytes = file.facts().sectors.saturating_mul(SECTOR_BYTES).max(1);
    let bar = progress::bar("{bar:40} {percent:>3} % of the file");
    let mut seen = 0;
    let report = file.check(&mut |block| {
        seen += block.disk_bytes;
        bar.set_position(progress::position(seen as f64 / bytes as f64));
    });
    bar.finish_and_clear();
    let report = report?;
    let mut out = Sink::standard();
    let (damaged, others): (Vec<FileNotice>, Vec<_>) =
        notices.into_iter().partition(|notice| notice.is_damage);
    for notice in others {
        writeln!(out, "note: {}", notice.text)?;
    }
    for notice in &damaged {
        writeln!(out, "damage: {}", notice.text)?;
    }
    for line in &report.damage {
        writeln!(out, "damage: {line}")?;
    }
    let damage = damaged.len() + report.damage.len();
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
    drop(file);
    if !report.damage.is_empty() {
        salvage::survey(&mut out, arguments)?;
    }
    out.flush()?;
    Ok(if damage == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
