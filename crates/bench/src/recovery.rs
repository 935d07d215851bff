//! The benchmark of recovery: how long opening takes where a process was killed that left a log of so many bytes, of appends of many
//! rows, of commits of one row each, and of updates. What opening makes of the log, it stores.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::child::Child;
use crate::engines::{ENCRYPTED, PLAIN, Subject, attach};
use crate::failure::Result;
use crate::report::Report;
use crate::samples::Samples;
use crate::stage::{Stage, fresh, turns};

/// The most rows that a commit leaves to the log.
const ROWS: u64 = 8000;
/// Rows that are updated, so many at a time.
const UPDATED: u64 = 400_000;
const AT_ONCE: u64 = 4000;
/// One-row commits between two looks at the length of the log.
const COMMITS: u32 = 20_000;
const CONNECTIONS: u32 = 16;

/// What a log is made of.
#[derive(Clone, Copy)]
enum Kind {
    Appends,
    AppendsWithKey,
    Commits,
    CommitsWithKey,
    Updates,
}

const KINDS: [(&str, Kind); 5] = [
    ("appends of 8,000 rows", Kind::Appends),
    ("the same with a primary key", Kind::AppendsWithKey),
    ("commits of one row", Kind::Commits),
    ("such commits with a primary key", Kind::CommitsWithKey),
    ("updates of 4,000 rows", Kind::Updates),
];

/// Measures, `runs` times, how long opening takes with a log of so many bytes. Only kinds whose name contains `only`.
///
/// # Errors
/// When a subject fails.
pub(crate) fn measure(stage: &Stage, bytes: u64, only: &str, runs: u32) -> Result<Report> {
    let subjects = [ENCRYPTED, PLAIN];
    let conditions = json!({"log bytes": bytes, "rounds": runs, "threads": stage.threads});
    let names = subjects.iter().map(|subject| subject.name).collect();
    let mut report = Report::new("recovery", conditions, names, vec![(0, 1)]);
    for (name, kind) in KINDS.iter().filter(|(name, _)| name.contains(only)) {
        let mut samples = vec![Samples::default(); subjects.len()];
        for subject in subjects {
            eprintln!("recovery, {name}, {}: writing the log", subject.name);
            write(stage, subject, *kind, bytes)?;
        }
        for round in 0..runs as usize {
            for at in turns(subjects.len(), round) {
                samples[at].push(open(stage, subjects[at])?);
            }
        }
        for subject in subjects {
            fresh(&stage.file(subject, "killed"))?;
        }
        report.add(*name, "ms", samples);
    }
    Ok(report)
}

/// Has a process write the log, and kills it.
fn write(stage: &Stage, subject: Subject, kind: Kind, bytes: u64) -> Result<()> {
    let path = stage.file(subject, "killed");
    fresh(&path)?;
    let mut child = stage.start(subject)?;
    child.attach(&path, subject)?;
    child.sql("SET wal_autocheckpoint = '1TB'; SET synchronous = 'off'")?;
    let key = match kind {
        Kind::AppendsWithKey | Kind::CommitsWithKey => " PRIMARY KEY",
        _ => "",
    };
    child.sql(&format!(
        "CREATE TABLE target.main.t (n BIGINT{key}, s VARCHAR, x DOUBLE)"
    ))?;
    if let Kind::Updates = kind {
        child.sql(&rows(0, UPDATED))?;
        child.sql("CHECKPOINT target")?;
    }
    let log = log_of(&path);
    let mut step = 0;
    while fs::metadata(&log).map_or(0, |file| file.len()) < bytes {
        grow(&mut child, kind, step)?;
        step += 1;
    }
    child.kill()
}

/// Makes the log longer.
fn grow(child: &mut Child, kind: Kind, step: u64) -> Result<()> {
    match kind {
        Kind::Appends | Kind::AppendsWithKey => child.sql(&rows(step * ROWS, ROWS)).map(drop),
        Kind::Commits | Kind::CommitsWithKey => {
            let first = 1 + step * u64::from(COMMITS);
            let rate = child.commits_from(first, CONNECTIONS, COMMITS);
            rate.map(drop)
        }
        Kind::Updates => {
            let parts = UPDATED / AT_ONCE;
            let update = format!(
                "UPDATE target.main.t SET x = x + 1 WHERE x::BIGINT % {parts} = {}",
                step % parts
            );
            child.sql(&update).map(drop)
        }
    }
}

/// Adds rows, whose keys are in no order.
fn rows(first: u64, count: u64) -> String {
    let end = first + count;
    format!(
        "INSERT INTO target.main.t SELECT i * 7919 % 1000000007, md5(i::VARCHAR), i FROM range({first}, {end}) r(i)"
    )
}

/// Milliseconds of opening a copy of the file and the log.
fn open(stage: &Stage, subject: Subject) -> Result<f64> {
    let (killed, copy) = (stage.file(subject, "killed"), stage.file(subject, "opened"));
    fresh(&copy)?;
    fs::copy(&killed, &copy)?;
    fs::copy(log_of(&killed), log_of(&copy))?;
    let mut child = stage.start(subject)?;
    let ms = child.sql(&attach(&copy, "target", subject.key, false))?;
    child.detach()?;
    drop(child);
    fresh(&copy)?;
    Ok(ms)
}

fn log_of(path: &Path) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(".wal");
    path.into()
}
