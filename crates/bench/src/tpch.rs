//! The TPC-H benchmark: the same statements on the same data, encrypted, plain, plain again and in a rival's file.
//!
//! Phases, in each of which the subjects take turns, every round beginning with another one:
//! 1. `CREATE TABLE lineitem AS` from an attached plain database of the subject's own engine, in a fresh process and to a
//!    fresh file; the file's size once it is closed; the most memory the process held.
//! 2. Opening the file (`ATTACH`).
//! 3. A scan of all columns of lineitem by a process that has just opened the file. (The operating system's page cache is
//!    warm: what is cold is the subject's own.)
//! 4. The 22 queries in processes that stay, after a round that warms up and checks the answers; the same scan, warm; the
//!    most memory that such a process held.

use std::fs;

use hushdb::tpch::{QUERIES, query};
use serde_json::json;

use crate::engines::{Subject, attach};
use crate::failure::Result;
use crate::report::Report;
use crate::samples::Samples;
use crate::stage::{Stage, fresh, turns};
use crate::tables::{self, SCAN};

/// What to measure, and where.
pub(crate) struct Plan {
    /// Scale factor.
    pub(crate) sf: f64,
    /// Measured rounds.
    pub(crate) runs: u32,
    /// Where, and against whom.
    pub(crate) stage: Stage,
}

impl Plan {
    /// Runs all phases. What was measured before one failed is in the report all the same.
    ///
    /// # Errors
    /// Beside the report: when a subject fails, or gives a wrong answer.
    pub(crate) fn measure(&self) -> (Report, Result<()>) {
        let subjects = self.stage.subjects();
        let conditions =
            json!({"scale factor": self.sf, "rounds": self.runs, "threads": self.stage.threads});
        let mut report = self.stage.report("tpch", conditions);
        let done = self.phases(&subjects, &mut report);
        (report, done)
    }

    fn phases(&self, subjects: &[Subject], report: &mut Report) -> Result<()> {
        tables::make_sources(&self.stage, self.sf)?;
        self.load(subjects, report)?;
        tables::make_databases(&self.stage)?;
        self.open(subjects, report)?;
        self.scan_cold(subjects, report)?;
        self.query(subjects, report)
    }

    fn load(&self, subjects: &[Subject], report: &mut Report) -> Result<()> {
        let mut times = vec![Samples::default(); subjects.len()];
        let mut sizes = times.clone();
        let mut peaks = times.clone();
        for round in 0..self.runs as usize {
            eprintln!("load, round {} of {}", round + 1, self.runs);
            for at in turns(subjects.len(), round) {
                let subject = subjects[at];
                let path = self.stage.file(subject, "lineitem");
                fresh(&path)?;
                let mut child = self.stage.start(subject)?;
                child.sql(&attach(
                    &tables::source(&self.stage, subject.engine),
                    "source",
                    None,
                    true,
                ))?;
                child.sql(&attach(&path, "target", subject.key, false))?;
                times[at].push(
                    child.sql("CREATE TABLE target.main.lineitem AS FROM source.main.lineitem")?,
                );
                child.sql("DETACH target")?;
                sizes[at].push(fs::metadata(&path)?.len() as f64 / (1 << 20) as f64);
                peaks[at].push(child.peak_mib()?.unwrap_or(f64::NAN));
                drop(child);
                fresh(&path)?;
            }
        }
        report.add("CREATE TABLE lineitem AS", "ms", times);
        report.add("lineitem on disk", "MiB", sizes);
        report.add("peak memory, load", "MiB", peaks);
        Ok(())
    }

    fn open(&self, subjects: &[Subject], report: &mut Report) -> Result<()> {
        let mut times = vec![Samples::default(); subjects.len()];
        let mut children = subjects
            .iter()
            .map(|&subject| self.stage.start(subject))
            .collect::<Result<Vec<_>>>()?;
        for round in 0..=4 * self.runs as usize {
            for at in turns(subjects.len(), round) {
                let path = self.stage.file(subjects[at], tables::CONTENT);
                let ms = children[at].sql(&attach(&path, "target", subjects[at].key, true))?;
                children[at].sql("DETACH target")?;
                if round > 0 {
                    times[at].push(ms);
                }
            }
        }
        report.add("open by raw key", "ms", times);
        Ok(())
    }

    fn scan_cold(&self, subjects: &[Subject], report: &mut Report) -> Result<()> {
        let mut times = vec![Samples::default(); subjects.len()];
        for round in 0..=self.runs as usize {
            eprintln!("cold scan, round {round} of {}", self.runs);
            for at in turns(subjects.len(), round) {
                let mut child = self.stage.start(subjects[at])?;
                // Threads and allocator come to life before the clock runs.
                child.sql("SELECT sum(value) FROM range(1000000) AS t(value)")?;
                child.sql(&attach(
                    &self.stage.file(subjects[at], tables::CONTENT),
                    "target",
                    subjects[at].key,
                    true,
                ))?;
                child.sql("USE target")?;
                let ms = child.sql(SCAN)?;
                if round > 0 {
                    times[at].push(ms);
                }
            }
        }
        report.add("scan lineitem, cold pool", "ms", times);
        Ok(())
    }

    fn query(&self, subjects: &[Subject], report: &mut Report) -> Result<()> {
        let none = vec![Samples::default(); subjects.len()];
        let (mut sums, mut scans, mut peaks) = (none.clone(), none.clone(), none.clone());
        let texts: Vec<&str> = (1..=QUERIES).filter_map(query).collect();
        let mut queries = vec![none; texts.len()];
        let mut children = Vec::new();
        for &subject in subjects {
            let mut child = self.stage.start(subject)?;
            child.sql(&attach(
                &self.stage.file(subject, tables::CONTENT),
                "target",
                subject.key,
                true,
            ))?;
            child.sql("USE target")?;
            for (number, sql) in (1..).zip(&texts) {
                child.checked_query(number, sql, self.sf)?;
            }
            child.sql(SCAN)?;
            children.push(child);
        }
        for round in 0..self.runs as usize {
            eprintln!("queries, round {} of {}", round + 1, self.runs);
            let mut sum = vec![0.0; subjects.len()];
            for (number, sql) in texts.iter().enumerate() {
                for at in turns(subjects.len(), round + number) {
                    let ms = children[at].sql(sql)?;
                    queries[number][at].push(ms);
                    sum[at] += ms;
                }
            }
            for at in turns(subjects.len(), round) {
                scans[at].push(children[at].sql(SCAN)?);
                sums[at].push(sum[at]);
            }
        }
        for (samples, child) in peaks.iter_mut().zip(&mut children) {
            samples.push(child.peak_mib()?.unwrap_or(f64::NAN));
        }
        report.add("scan lineitem, warm pool", "ms", scans);
        report.add("peak memory, queries", "MiB", peaks);
        report.add("22 queries, warm", "ms", sums);
        for (number, samples) in (1..).zip(queries) {
            report.add_detail(format!("Q{number}"), "ms", samples);
        }
        Ok(())
    }
}
