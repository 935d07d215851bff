//! The benchmark of queries that outgrow memory: TPC-H tables under a limit far below what queries would take, the same
//! statements encrypted, plain, plain again and in a rival's encrypted file with encrypted temporary files.
//!
//! Each row is measured in processes of its own, which stay for all its rounds, so that the most memory that a process held is
//! that row's. Sort and join write their rows to a table: nothing less makes every engine produce them all.

use hushdb::tpch::{QUERIES, query};
use serde_json::json;

use crate::child::Child;
use crate::engines::{Engine, Subject, attach};
use crate::failure::Result;
use crate::report::Report;
use crate::samples::Samples;
use crate::stage::{Stage, turns};
use crate::tables::{self, SCAN};

/// One line of the report.
struct Row {
    name: &'static str,
    limit: &'static str,
    /// `None` for the 22 queries of TPC-H.
    sql: Option<&'static str>,
}

const ROWS: [Row; 6] = [
    Row {
        name: "22 queries",
        limit: "256MB",
        sql: None,
    },
    Row {
        name: "sort of lineitem into a table",
        limit: "500MB",
        sql: Some(
            "CREATE OR REPLACE TABLE made AS SELECT * FROM lineitem ORDER BY l_shipdate, l_partkey",
        ),
    },
    Row {
        name: "self join of lineitem into a table",
        limit: "500MB",
        sql: Some(
            "CREATE OR REPLACE TABLE made AS SELECT l1.*, l2.* FROM lineitem l1 JOIN lineitem l2 \
             USING (l_orderkey, l_linenumber)",
        ),
    },
    Row {
        name: "self join of lineitem, aggregated",
        limit: "500MB",
        sql: Some(
            "SELECT count(*), max(l1.l_comment), max(l2.l_comment), sum(l1.l_extendedprice), sum(l2.l_tax), \
             max(l1.l_shipinstruct), max(l2.l_shipmode) FROM lineitem l1 JOIN lineitem l2 \
             USING (l_orderkey, l_linenumber)",
        ),
    },
    Row {
        name: "SUMMARIZE of lineitem",
        limit: "200MB",
        sql: Some("SUMMARIZE lineitem"),
    },
    Row {
        name: "scan of all columns of lineitem",
        limit: "200MB",
        sql: Some(SCAN),
    },
];

/// Measures the rows whose name contains `only`, in `runs` rounds after one that warms up. What was measured before one failed
/// is in the report all the same.
///
/// # Errors
/// Beside the report: when a subject fails, or gives a wrong answer.
pub(crate) fn measure(stage: &Stage, sf: f64, runs: u32, only: &str) -> (Report, Result<()>) {
    let conditions = json!({"scale factor": sf, "rounds": runs, "threads": stage.threads});
    let mut report = stage.report("outofcore", conditions);
    let done = rows(stage, sf, runs, only, &mut report);
    (report, done)
}

fn rows(stage: &Stage, sf: f64, runs: u32, only: &str, report: &mut Report) -> Result<()> {
    tables::make_sources(stage, sf)?;
    tables::make_databases(stage)?;
    for row in ROWS.iter().filter(|row| row.name.contains(only)) {
        row.measure(stage, sf, runs, report)?;
    }
    Ok(())
}

impl Row {
    fn measure(&self, stage: &Stage, sf: f64, runs: u32, report: &mut Report) -> Result<()> {
        let subjects = stage.subjects();
        let mut times = vec![Samples::default(); subjects.len()];
        let mut peaks = times.clone();
        let mut children = subjects
            .iter()
            .map(|&subject| self.start(stage, subject))
            .collect::<Result<Vec<_>>>()?;
        let statements = self.statements();
        for round in 0..=runs as usize {
            eprintln!("{}, round {round} of {runs}", self.name);
            let mut sums = vec![0.0; subjects.len()];
            for (number, sql) in (1..).zip(&statements) {
                for at in turns(subjects.len(), round + number as usize) {
                    let child = &mut children[at];
                    sums[at] += match self.sql {
                        None if round == 0 => child.checked_query(number, sql, sf)?,
                        _ => child.sql(sql)?,
                    };
                    if sql.starts_with("CREATE") {
                        child.sql("DROP TABLE made")?;
                        child.sql("CHECKPOINT")?;
                    }
                }
            }
            if round > 0 {
                for (samples, ms) in times.iter_mut().zip(sums) {
                    samples.push(ms);
                }
            }
        }
        for (samples, mut child) in peaks.iter_mut().zip(children) {
            samples.push(child.peak_mib()?.unwrap_or(f64::NAN));
        }
        report.add(format!("{}, {}", self.name, self.limit), "ms", times);
        report.add_detail("peak memory", "MiB", peaks);
        Ok(())
    }

    /// A process with the subject's tables, and little memory.
    fn start(&self, stage: &Stage, subject: Subject) -> Result<Child> {
        let mut child = stage.start(subject)?;
        if subject.engine == Engine::Duckdb {
            child.sql("SET temp_file_encryption = true")?;
        }
        child.sql(&format!("SET memory_limit = '{}'", self.limit))?;
        let path = stage.file(subject, tables::CONTENT);
        child.sql(&attach(&path, "target", subject.key, false))?;
        child.sql("USE target")?;
        Ok(child)
    }

    /// What one round runs.
    fn statements(&self) -> Vec<&'static str> {
        match self.sql {
            Some(sql) => vec![sql],
            None => (1..=QUERIES).filter_map(query).collect(),
        }
    }
}
