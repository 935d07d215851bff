//! `updates` in a wide database: an UPDATE by key beside many tables, and in a table of many row groups, against few.

use std::path::Path;
use std::time::Instant;

use hushdb::{DatabaseOptions, Isolation, Value};
use serde_json::json;

use crate::failure::Result;
use crate::report::Report;
use crate::samples::Samples;
use crate::tpcb::fresh_with;

/// Updates of each measurement.
const UPDATES: i64 = 5000;
/// Rows of a row group, where there are to be many.
const GROUP_ROWS: usize = 100;

/// Microseconds of an UPDATE by key with one table and 1,000, and with 10 row groups and 10,000.
///
/// # Errors
/// When a statement fails.
pub(crate) fn measure(dir: &Path, runs: u32) -> Result<Report> {
    let conditions = json!({"updates": UPDATES, "rounds": runs, "encrypted": true});
    let subjects = vec!["few", "many"];
    let mut report = Report::new("updates by key", conditions, subjects, vec![(1, 0)]);
    let cases = [
        ("1 and 1,000 tables", [(1, 10), (1000, 10)]),
        ("10 and 10,000 row groups", [(1, 10), (1, 10_000)]),
    ];
    for (name, sizes) in cases {
        let mut samples = vec![Samples::default(); sizes.len()];
        for round in 0..=runs {
            for ((tables, groups), samples) in sizes.into_iter().zip(&mut samples) {
                eprintln!("{tables} tables, {groups} row groups, round {round} of {runs}");
                let took = one(dir, tables, groups)?;
                if round > 0 {
                    samples.push(took);
                }
            }
        }
        report.add(name, "us", samples);
    }
    Ok(report)
}

fn one(dir: &Path, tables: i64, groups: i64) -> Result<f64> {
    let options = DatabaseOptions {
        row_group_rows: GROUP_ROWS,
        ..DatabaseOptions::default()
    };
    let (database, first) = fresh_with(dir, options)?;
    let rows = groups * GROUP_ROWS as i64;
    first.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")?;
    first.execute(&format!("INSERT INTO t SELECT range, 0 FROM range({rows})"))?;
    for n in 1..tables {
        first.execute(&format!(
            "CREATE TABLE t{n} (id INTEGER PRIMARY KEY, a INTEGER)"
        ))?;
    }
    // Neither a sync nor a checkpoint hides what an update takes.
    first.execute("CHECKPOINT; SET wal_autocheckpoint = '4GB'; SET synchronous = 'off'")?;
    let connection = database.connect_with(Isolation::ReadCommitted)?;
    let update = connection.prepare("UPDATE t SET a = a + 1 WHERE id = ?")?;
    let mut took = 0.0;
    // The first half is to have read what the second finds in memory.
    for n in 0..2 * UPDATES {
        let before = Instant::now();
        update.execute(&[Value::from(n % UPDATES * 7919 % rows)])?;
        if n >= UPDATES {
            took += before.elapsed().as_secs_f64() * 1e6;
        }
    }
    Ok(took / UPDATES as f64)
}
