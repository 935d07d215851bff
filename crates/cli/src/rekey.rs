//! `hush rekey --data`: seals all blocks of an encrypted file anew, under another data key. The master key and the key slots stay.
//!
//! Each step is durable by itself: whoever interrupts it begins again with the same command, which goes on. What old copies of
//! the file hold is out of reach, and so is who can derive the master key; both are said at the end.

use std::io::Write;
use std::process::ExitCode;

use crate::arguments::FileArguments;
use crate::cpu_time;
use crate::failure::Failure;
use crate::keys;
use crate::output::Sink;
use crate::progress;

const LEFT: &str = "Copies of the file made before hold the data under the old key still, and the old master key opens the new \
    data key: who knows a removed password and has an old copy is not locked out by this.";

/// Runs it.
///
/// # Errors
/// What keeps the file from opening or from being written; what was sealed anew stays so.
pub(crate) fn run(arguments: &FileArguments) -> Result<ExitCode, Failure> {
    let started = cpu_time::now();
    let opened = keys::open(arguments)?;
    let bar = progress::bar("{bar:40} {percent:>3} % sealed anew");
    let done = opened.rotate_data_key(&mut |share| bar.set_position(progress::position(share)));
    bar.finish_and_clear();
    let change = done?;
    arguments.freshness.keep(&opened.anchor()?)?;
    let mut out = Sink::standard();
    let what = match change.began {
        true => "All blocks are under a new data key",
        false => "What an earlier run left is done: all blocks are under the new data key",
    };
    writeln!(
        out,
        "{what}: {:.1} MiB in {:.1} s.",
        change.bytes as f64 / f64::from(1 << 20),
        started.elapsed().as_secs_f64()
    )?;
    writeln!(out, "{LEFT}")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
