//! Commits beside checkpoints that come by themselves: how long the slowest take, against the median.

use std::path::Path;
use std::time::Instant;

use hushdb::Database;
use serde_json::json;

use crate::failure::Result;
use crate::report::Report;
use crate::samples::Samples;
use crate::tpcb::fresh;

/// Connections that commit at once in the second figure of each kind.
const CONNECTIONS: u32 = 8;

/// Measures `count` commits of one row at a time, with a checkpoint after each `megabytes` of log and with none, in `runs` rounds
/// after one that warms up.
///
/// # Errors
/// When a statement fails.
pub(crate) fn measure(dir: &Path, count: u32, megabytes: u32, runs: u32) -> Result<Report> {
    let conditions = json!({
        "commits": count, "rounds": runs, "encrypted": true, "checkpoint after MB": megabytes,
    });
    let subjects = vec!["median", "99.9 in 100", "slowest"];
    let mut report = Report::new("tails", conditions, subjects, vec![(1, 0), (2, 0)]);
    let cases = [
        ("one connection, no checkpoint", 1, "4GB".to_owned()),
        ("one connection, checkpoints", 1, format!("{megabytes}MB")),
        (
            "8 connections, no checkpoint",
            CONNECTIONS,
            "4GB".to_owned(),
        ),
        (
            "8 connections, checkpoints",
            CONNECTIONS,
            format!("{megabytes}MB"),
        ),
    ];
    let mut samples = vec![vec![Samples::default(); 3]; cases.len()];
    for round in 0..=runs {
        eprintln!("tails, round {round} of {runs}");
        for ((_, connections, log), samples) in cases.iter().zip(&mut samples) {
            let (database, connection) = fresh(dir)?;
            connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, s VARCHAR, x DOUBLE)")?;
            connection.execute(&format!("SET wal_autocheckpoint = '{log}'"))?;
            let mut took = commits(&database, *connections, count)?;
            took.sort_by(f64::total_cmp);
            let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
            if round > 0 {
                samples[0].push(at(0.5));
                samples[1].push(at(0.999));
                samples[2].push(at(1.0));
            }
        }
    }
    for ((name, ..), samples) in cases.into_iter().zip(samples) {
        report.add(name, "us", samples);
    }
    Ok(report)
}

/// Commits rows one by one, dealt out to so many connections. Returns microseconds of each.
fn commits(database: &Database, connections: u32, count: u32) -> Result<Vec<f64>> {
    std::thread::scope(|scope| {
        let threads = (0..connections).map(|worker| {
            scope.spawn(move || -> Result<Vec<f64>> {
                let connection = database.connect()?;
                let insert = connection.prepare("INSERT INTO t VALUES (?, ?, ?)")?;
                let mut took = vec![];
                for n in (worker..count).step_by(connections as usize) {
                    let values = [i64::from(n).into(), format!("row {n}").into(), 0.5.into()];
                    let before = Instant::now();
                    insert.execute(&values)?;
                    took.push(before.elapsed().as_secs_f64() * 1e6);
                }
                Ok(took)
            })
        });
        let threads: Vec<_> = threads.collect();
        let mut all = vec![];
        for thread in threads {
            all.extend(thread.join().expect("a thread that commits panicked")?);
        }
        Ok(all)
    })
}
