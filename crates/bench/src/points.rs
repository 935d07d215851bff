//! The benchmarks of statements by key, on a table with a primary key and two more columns, one of them text: `points`
//! selects, `mixed` also updates and inserts. Encrypted, plain, plain again and in rivals' files, which take turns.

use serde_json::json;

use crate::failure::Result;
use crate::report::Report;
use crate::samples::Samples;
use crate::stage::{Stage, fresh, turns};

/// Measures `count` selects at a time, in `runs` rounds after one that warms up.
///
/// # Errors
/// When a subject fails.
pub(crate) fn points(stage: &Stage, rows: u64, count: u32, runs: u32) -> Result<Report> {
    let subjects = stage.subjects();
    fill(stage, "points", rows)?;
    let mut rates = vec![Samples::default(); subjects.len()];
    for round in 0..=runs as usize {
        eprintln!("points, round {round} of {runs}");
        for at in turns(subjects.len(), round) {
            let mut child = stage.start(subjects[at])?;
            child.attach(&stage.file(subjects[at], "points"), subjects[at])?;
            let rate = child.points(rows, count)?;
            child.detach()?;
            if round > 0 {
                rates[at].push(rate);
            }
        }
    }
    remove(stage, "points")?;
    let conditions =
        json!({"rows": rows, "statements": count, "rounds": runs, "threads": stage.threads});
    let mut report = stage.report("points", conditions);
    report.add("SELECT by key", "1/s", rates);
    Ok(report)
}

/// Measures `count` statements at a time, in `runs` rounds after one that warms up.
///
/// # Errors
/// When a subject fails.
pub(crate) fn mixed(
    stage: &Stage,
    connections: u32,
    rows: u64,
    count: u32,
    runs: u32,
) -> Result<Report> {
    let subjects = stage.subjects();
    fill(stage, "mixed", rows)?;
    let mut rates = vec![Samples::default(); subjects.len()];
    let mut base = rows;
    for round in 0..=runs as usize {
        eprintln!("mixed, round {round} of {runs}");
        for at in turns(subjects.len(), round) {
            let mut child = stage.start(subjects[at])?;
            child.attach(&stage.file(subjects[at], "mixed"), subjects[at])?;
            let rate = child.mixed(connections, count, rows, base)?;
            child.detach()?;
            if round > 0 {
                rates[at].push(rate);
            }
        }
        base += u64::from(count);
    }
    remove(stage, "mixed")?;
    let conditions = json!({
        "rows": rows, "statements": count, "connections": connections, "rounds": runs, "threads": stage.threads,
    });
    let mut report = stage.report("mixed", conditions);
    report.add("80 % SELECT, 10 % UPDATE, 10 % INSERT", "1/s", rates);
    Ok(report)
}

fn fill(stage: &Stage, content: &str, rows: u64) -> Result<()> {
    for subject in stage.subjects() {
        eprintln!("{content}: {rows} rows for {}", subject.name);
        let path = stage.file(subject, content);
        fresh(&path)?;
        let mut child = stage.start(subject)?;
        child.attach(&path, subject)?;
        child.fill_points(rows)?;
        child.detach()?;
    }
    Ok(())
}

fn remove(stage: &Stage, content: &str) -> Result<()> {
    let mut subjects = stage.subjects().into_iter();
    subjects.try_for_each(|subject| fresh(&stage.file(subject, content)))
}
