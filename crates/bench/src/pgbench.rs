//! `pgbench`: `hush serve` and PostgreSQL's own server, plain, under PostgreSQL's benchmark in turns: prepared statements over a Unix socket,
//! every commit synced by both, no transaction tried twice.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::failure::{Failure, Result};
use crate::report::Report;
use crate::samples::Samples;
use crate::servers::{Hush, Postgres, Server};

/// pgbench's own names of its transactions.
const WORKLOADS: [&str; 3] = ["select-only", "simple-update", "tpcb-like"];
/// Of a hundred transactions so many are logged, for the slowest of them.
const LOGGED: &str = "--sampling-rate=0.2";

/// How much is measured.
pub(crate) struct Plan {
    /// The shipped program.
    pub(crate) hush: PathBuf,
    /// Where `pgbench`, `initdb` and `postgres` are.
    pub(crate) postgres: PathBuf,
    /// Branches; each has 100,000 accounts.
    pub(crate) scale: u32,
    /// Clients at once, one measurement each.
    pub(crate) clients: Vec<u32>,
    /// Of each measurement.
    pub(crate) seconds: u32,
    /// Measured rounds, after one that warms up.
    pub(crate) runs: u32,
    /// Minutes of TPC-B in one go, whose last is compared with the first; 0 for none.
    pub(crate) minutes: u32,
}

/// What pgbench said of one run.
struct Run {
    /// Transactions a second.
    rate: f64,
    /// Milliseconds within which 99 of 100 ended; NaN where none was logged.
    p99: f64,
    /// Transactions that failed.
    failed: f64,
    /// Transactions a second in each minute.
    minutes: Vec<f64>,
}

/// Starts both servers in `dir`, fills them, and measures in turns.
///
/// # Errors
/// When a server or pgbench cannot be started or fails.
pub(crate) fn measure(dir: &Path, plan: &Plan) -> Result<Report> {
    let subjects = vec!["hushdb", "postgresql"];
    let conditions = json!({"scale": plan.scale, "seconds": plan.seconds, "rounds": plan.runs, "mode": "prepared"});
    let mut report = Report::new("pgbench", conditions, subjects, vec![(0, 1)]);
    std::fs::create_dir_all(dir)?;
    let dir = dir.canonicalize()?;
    let hush = Hush::start(&dir.join("instance"), &plan.hush)?;
    let postgres = Postgres::start(&dir.join("cluster"), &plan.postgres)?;
    let servers: [&dyn Server; 2] = [&hush, &postgres];
    for server in servers {
        let scale = plan.scale.to_string();
        run(server, plan, &["-q", "-i", "-I", "dtgvp", "-s", &scale])?;
    }
    for workload in WORKLOADS {
        for clients in &plan.clients {
            add(&mut report, plan, servers, &dir, workload, *clients)?;
        }
    }
    if plan.minutes > 0 {
        add_minutes(&mut report, plan, servers, &dir)?;
    }
    Ok(report)
}

fn add(
    report: &mut Report,
    plan: &Plan,
    servers: [&dyn Server; 2],
    dir: &Path,
    workload: &str,
    clients: u32,
) -> Result<()> {
    let mut figures: [Vec<Samples>; 4] = std::array::from_fn(|_| vec![Samples::default(); 2]);
    for round in 0..=plan.runs as usize {
        eprintln!("pgbench, {workload}, {clients} clients, round {round}");
        for at in crate::stage::turns(servers.len(), round) {
            let before = servers[at].cpu_seconds()?;
            let seen = one(servers[at], plan, dir, workload, clients, plan.seconds)?;
            let cpu = servers[at].cpu_seconds()? - before;
            let transactions = seen.rate * f64::from(plan.seconds);
            let values = [seen.rate, seen.p99, seen.failed, cpu * 1e6 / transactions];
            if round > 0 {
                for (figure, value) in figures.iter_mut().zip(values) {
                    figure[at].push(value);
                }
            }
        }
    }
    let [rates, p99, failed, cpu] = figures;
    report.add(format!("{workload}, {clients} clients"), "1/s", rates);
    report.add_detail("99 in 100 within", "ms", p99);
    report.add_detail("failed", "", failed);
    report.add_detail("the server's processor time of one", "us", cpu);
    Ok(())
}

/// TPC-B from 64 clients for minutes: what the last minute has of the first.
fn add_minutes(
    report: &mut Report,
    plan: &Plan,
    servers: [&dyn Server; 2],
    dir: &Path,
) -> Result<()> {
    let mut figures: [Vec<Samples>; 4] = std::array::from_fn(|_| vec![Samples::default(); 2]);
    for (at, server) in servers.into_iter().enumerate() {
        eprintln!("pgbench, {} minutes", plan.minutes);
        let before = server.resident_mib()?;
        let seen = one(server, plan, dir, "tpcb-like", 64, plan.minutes * 60)?;
        let (Some(first), Some(last)) = (seen.minutes.first(), seen.minutes.last()) else {
            return Err(Failure("pgbench reported no minute".to_owned()));
        };
        let values = [
            seen.rate,
            last / first,
            seen.failed,
            server.resident_mib()? - before,
        ];
        for (figure, value) in figures.iter_mut().zip(values) {
            figure[at].push(value);
        }
    }
    let [rates, last, failed, memory] = figures;
    let name = format!("tpcb-like, 64 clients, {} minutes", plan.minutes);
    report.add(name, "1/s", rates);
    report.add_detail("last minute against the first", "", last);
    report.add_detail("failed", "", failed);
    report.add_detail("memory that the server gained", "MiB", memory);
    Ok(())
}

/// One run of a workload.
fn one(
    server: &dyn Server,
    plan: &Plan,
    dir: &Path,
    workload: &str,
    clients: u32,
    seconds: u32,
) -> Result<Run> {
    let log = dir.join("transactions");
    let prefix = format!("--log-prefix={}", log.display());
    let (clients, seconds) = (clients.to_string(), seconds.to_string());
    let arguments = [
        "-n",
        "-M",
        "prepared",
        "-b",
        workload,
        "-c",
        &clients,
        "-j",
        "2",
        "-T",
        &seconds,
        "-P",
        "60",
        "--max-tries=1",
        "-l",
        LOGGED,
        &prefix,
    ];
    let said = run(server, plan, &arguments);
    let times = take_logged(dir)?;
    let said = said?;
    let number = |before: &str, after: &str| {
        let line = said.lines().find(|line| line.starts_with(before))?;
        let text = line[before.len()..].split(after).next()?;
        text.trim().parse::<f64>().ok()
    };
    let rate = number("tps = ", "(").ok_or_else(|| Failure(format!("pgbench said: {said}")))?;
    Ok(Run {
        rate,
        p99: crate::tpcb::percentile(times, 0.99),
        failed: number("number of failed transactions:", "(").unwrap_or(f64::NAN),
        minutes: said.lines().filter_map(rate_of_progress).collect(),
    })
}

/// The rate of a line like `progress: 60.0 s, 1245.3 tps, lat 51.3 ms stddev 3.1, 0 failed`.
fn rate_of_progress(line: &str) -> Option<f64> {
    let (_, rest) = line.strip_prefix("progress: ")?.split_once(" s, ")?;
    rest.split_once(" tps")?.0.parse().ok()
}

/// Milliseconds of the transactions that pgbench has logged, whose files are removed: the third number of each line is microseconds.
fn take_logged(dir: &Path) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if !name.is_some_and(|name| name.starts_with("transactions.")) {
            continue;
        }
        let text = std::fs::read_to_string(&path)?;
        let time = |line: &str| line.split(' ').nth(2)?.parse::<f64>().ok();
        times.extend(text.lines().filter_map(time).map(|us| us / 1000.0));
        std::fs::remove_file(&path)?;
    }
    Ok(times)
}

/// Runs pgbench against a server, and returns what it said; progress comes first.
fn run(server: &dyn Server, plan: &Plan, arguments: &[&str]) -> Result<String> {
    let mut command = std::process::Command::new(plan.postgres.join("pgbench"));
    server.address(&mut command);
    let done = command.args(arguments).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match done.status.success() {
        true => Ok(text(&done.stderr) + &text(&done.stdout)),
        false => Err(Failure(format!("pgbench: {}", text(&done.stderr)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read() {
        let line = "progress: 60.0 s, 1245.3 tps, lat 51.328 ms stddev 3.100, 0 failed";
        assert_eq!(rate_of_progress(line), Some(1245.3));
        assert_eq!(rate_of_progress("tps = 12 (without)"), None);
    }
}
