//! `hushdb-sim [--seed N] [--crashes M] [--threads T]`: crashes a database on a simulated disk and says what did not hold.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use hushdb_sim::{Breakage, Campaign};

const USAGE: &str = "usage: hushdb-sim [--seed N] [--crashes M] [--threads T]";

fn main() -> ExitCode {
    let (mut seed, mut crashes, mut threads) = (1, 10_000, 2);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().and_then(|text| text.parse::<u64>().ok());
        match (name.as_str(), value) {
            ("--seed", Some(value)) => seed = value,
            ("--crashes", Some(value)) => crashes = value,
            ("--threads", Some(value)) => threads = value as usize,
            _ => return say(io::stderr(), USAGE, ExitCode::from(2)),
        }
    }
    let campaign = Campaign {
        seed,
        crashes,
        breakage: Breakage::Sound,
    };
    let started = Instant::now();
    match campaign.run(threads) {
        Ok(report) => {
            let seconds = started.elapsed().as_secs_f64();
            let (worlds, sum) = (report.worlds, report.sum);
            let text = format!(
                "{} crashes in {worlds} worlds from seed {seed}: {seconds:.1} s, {:.0} crashes/s\n\
                 {} commits and {} key changes acknowledged; in flight: {} found, {} lost; {} openings, {} snapshots read \
                 again, {} faults, {} disk operations, trace {:016x}",
                sum.disk.crashes,
                sum.disk.crashes as f64 / seconds,
                sum.commits,
                sum.key_changes,
                sum.found_in_flight,
                sum.lost_in_flight,
                sum.openings,
                sum.snapshots,
                sum.disk.faults,
                sum.disk.operations,
                sum.disk.trace,
            );
            say(io::stdout(), &text, ExitCode::SUCCESS)
        }
        Err(failure) => say(io::stderr(), &failure.to_string(), ExitCode::FAILURE),
    }
}

/// Prints a line; who cannot be told is not told.
fn say(mut to: impl Write, text: &str, code: ExitCode) -> ExitCode {
    let _ = writeln!(to, "{text}");
    code
}
