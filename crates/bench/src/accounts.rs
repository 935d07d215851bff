//! `accounts`: the five workloads that Cybertec measured for its encryption of PostgreSQL, in one process: loading pgbench's tables, then its
//! select-only and simple-update, in memory and beyond it; encrypted, plain and plain again, which take turns.

use serde_json::json;

use crate::child::Child;
use crate::failure::Result;
use crate::report::Report;
use crate::samples::Samples;
use crate::stage::{Stage, fresh, turns};

/// Connections at once.
const CONNECTIONS: u32 = 8;
/// Under which the tables are beyond memory at the scales that this is for.
const SMALL: &str = "SET memory_limit = '64MB'";

/// How much is measured.
pub(crate) struct Plan {
    /// Branches; each has 100,000 accounts.
    pub(crate) scale: u32,
    /// Updates in each measurement; of selects, which take a fraction of their time, ten times as many.
    pub(crate) count: u32,
    /// Measured rounds, after one that warms up.
    pub(crate) runs: u32,
}

/// Measures on files that are removed in the end.
///
/// # Errors
/// When a subject fails.
pub(crate) fn measure(stage: &Stage, plan: &Plan) -> Result<Report> {
    let subjects = stage.subjects();
    let mut figures: [Vec<Samples>; 5] =
        std::array::from_fn(|_| vec![Samples::default(); subjects.len()]);
    for round in 0..=plan.runs as usize {
        for at in turns(subjects.len(), round) {
            let subject = subjects[at];
            eprintln!("accounts, {}, round {round} of {}", subject.name, plan.runs);
            let path = stage.file(subject, "accounts");
            fresh(&path)?;
            let mut child = stage.start(subject)?;
            child.attach(&path, subject)?;
            let values = five(&mut child, plan)?;
            child.detach()?;
            drop(child);
            fresh(&path)?;
            if round > 0 {
                for (figure, value) in figures.iter_mut().zip(values) {
                    figure[at].push(value);
                }
            }
        }
    }
    let conditions = json!({
        "scale": plan.scale, "transactions": plan.count, "connections": CONNECTIONS, "rounds": plan.runs, "threads": stage.threads,
    });
    let mut report = stage.report("accounts", conditions);
    let names = [
        "loading",
        "select-only",
        "simple-update",
        "select-only, beyond memory",
        "simple-update, beyond memory",
    ];
    for (name, figure) in names.into_iter().zip(figures) {
        report.add(name, "1/s", figure);
    }
    Ok(report)
}

/// Accounts loaded in a second, and transactions a second of each other kind.
fn five(child: &mut Child, plan: &Plan) -> Result<[f64; 5]> {
    let run = |child: &mut Child, changes| {
        let count = if changes { plan.count } else { plan.count * 10 };
        // Threads and pool come to life, or shrink, before it counts.
        child.accounts(CONNECTIONS, count / 4, plan.scale, changes)?;
        child.accounts(CONNECTIONS, count, plan.scale, changes)
    };
    let load = child.fill_accounts(plan.scale)?;
    let select = run(child, false)?;
    let update = run(child, true)?;
    child.sql(SMALL)?;
    let select_beyond = run(child, false)?;
    let update_beyond = run(child, true)?;
    Ok([load, select, update, select_beyond, update_beyond])
}
