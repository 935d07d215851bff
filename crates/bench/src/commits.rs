//! The benchmark of commits: transactions that add one row each by a prepared statement, each durable before the next of its
//! connection; on a fresh file, encrypted, plain, plain again and in rivals' files, which take turns.

use serde_json::json;

use crate::failure::Result;
use crate::report::Report;
use crate::samples::Samples;
use crate::stage::{Stage, fresh, turns};

/// Connections of the second figure.
const CONNECTIONS: u32 = 16;

/// Measures `count` commits at a time, in `runs` rounds after one that warms up.
///
/// # Errors
/// When a subject fails.
pub(crate) fn measure(stage: &Stage, count: u32, runs: u32) -> Result<Report> {
    let subjects = stage.subjects();
    let none = vec![Samples::default(); subjects.len()];
    let (mut alone, mut together, mut gain) = (none.clone(), none.clone(), none);
    for round in 0..=runs as usize {
        eprintln!("commits, round {round} of {runs}");
        for at in turns(subjects.len(), round) {
            let subject = subjects[at];
            let path = stage.file(subject, "commits");
            fresh(&path)?;
            let mut child = stage.start(subject)?;
            child.attach(&path, subject)?;
            child.sql("CREATE TABLE target.main.t (n BIGINT, s VARCHAR, x DOUBLE)")?;
            let one = child.commits(1, count)?;
            let many = child.commits(CONNECTIONS, count)?;
            child.detach()?;
            drop(child);
            fresh(&path)?;
            if round > 0 {
                alone[at].push(one);
                together[at].push(many);
                gain[at].push(many / one);
            }
        }
    }
    let conditions = json!({"commits": count, "rounds": runs, "threads": stage.threads});
    let mut report = stage.report("commits", conditions);
    report.add("one connection", "1/s", alone);
    report.add(format!("{CONNECTIONS} connections"), "1/s", together);
    report.add(format!("{CONNECTIONS} connections against one"), "x", gain);
    Ok(report)
}
