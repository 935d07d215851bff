//! `Child`: a subject of the benchmark in a process of its own, so that its memory is its own. One JSON line goes to its
//! standard input, one comes back.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{self, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::engines::{Engine, Subject, attach};
use crate::failure::{Failure, Result};

/// A running subject. Dropping it closes its input, upon which it ends.
pub(crate) struct Child {
    name: &'static str,
    process: process::Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Child {
    /// Starts `command` as the subject `name`, with so many threads for its queries and `directory` for what it spills.
    pub(crate) fn start(
        name: &'static str,
        mut command: Command,
        threads: usize,
        directory: &Path,
    ) -> Result<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Failure(format!("{name} has no pipes")));
        };
        let mut child = Self {
            name,
            process,
            input: Some(input),
            output: BufReader::new(output),
        };
        child.ask(&json!({"op": "start", "threads": threads, "directory": directory}))?;
        Ok(child)
    }

    /// Runs one SQL text to its end. Returns milliseconds, taken inside the subject.
    pub(crate) fn sql(&mut self, sql: &str) -> Result<f64> {
        self.number(&json!({"op": "sql", "sql": sql}), "ms")
    }

    /// Attaches a subject's file as `target`, and makes it if it is not there.
    pub(crate) fn attach(&mut self, path: &Path, subject: Subject) -> Result<()> {
        match subject.engine {
            // It has one database for each connection, opened by a call.
            Engine::Sqlcipher => {
                let request = json!({"op": "open", "path": path, "key": subject.key});
                self.ask(&request).map(drop)
            }
            _ => self
                .sql(&attach(path, "target", subject.key, false))
                .map(drop),
        }
    }

    /// Closes what `attach` opened.
    pub(crate) fn detach(&mut self) -> Result<()> {
        self.sql("DETACH target").map(drop)
    }

    /// Ends it in the midst of whatever it does, as a crash of the process would.
    pub(crate) fn kill(mut self) -> Result<()> {
        Ok(self.process.kill()?)
    }

    /// Makes `target.main.points` with a primary key and so many rows, and a checkpoint.
    pub(crate) fn fill_points(&mut self, rows: u64) -> Result<()> {
        self.ask(&json!({"op": "fill", "rows": rows})).map(drop)
    }

    /// Commits `count` rows one by one into `target.main.t`, from so many connections at once. Returns commits per second.
    pub(crate) fn commits(&mut self, connections: u32, count: u32) -> Result<f64> {
        self.commits_from(1, connections, count)
    }

    /// The same with rows whose numbers begin with `first`; the rivals' begin anew each time.
    pub(crate) fn commits_from(&mut self, first: u64, connections: u32, count: u32) -> Result<f64> {
        let request = json!({
            "op": "commits", "first": first, "connections": connections, "count": count,
        });
        Ok(f64::from(count) * 1000.0 / self.number(&request, "ms")?)
    }

    /// Selects rows of `target.main.points` by random keys, from one connection, after some to warm up. Returns how many
    /// in a second.
    pub(crate) fn points(&mut self, rows: u64, count: u32) -> Result<f64> {
        let request = json!({"op": "points", "rows": rows, "count": count});
        Ok(f64::from(count) * 1000.0 / self.number(&request, "ms")?)
    }

    /// Of ten statements by key, eight select, one updates and one inserts, each a transaction. `base` is a key from
    /// which on none is there. Returns statements per second.
    pub(crate) fn mixed(
        &mut self,
        connections: u32,
        count: u32,
        rows: u64,
        base: u64,
    ) -> Result<f64> {
        let request = json!({
            "op": "mixed", "connections": connections, "count": count, "rows": rows, "base": base,
        });
        Ok(f64::from(count) * 1000.0 / self.number(&request, "ms")?)
    }

    /// Makes pgbench's accounts at so many branches. Returns how many were loaded in a second.
    pub(crate) fn fill_accounts(&mut self, scale: u32) -> Result<f64> {
        let request = json!({"op": "fill_accounts", "scale": scale});
        Ok(f64::from(scale) * 100_000.0 * 1000.0 / self.number(&request, "ms")?)
    }

    /// Transactions on random accounts, which select, or change too. Returns how many in a second.
    pub(crate) fn accounts(
        &mut self,
        connections: u32,
        count: u32,
        scale: u32,
        changes: bool,
    ) -> Result<f64> {
        let request = json!({
            "op": "accounts", "connections": connections, "count": count, "scale": scale, "changes": changes,
        });
        Ok(f64::from(count) * 1000.0 / self.number(&request, "ms")?)
    }

    /// Runs TPC-H query `query` and holds the answer at scale factor `sf` against the official one, where the subject can.
    pub(crate) fn checked_query(&mut self, query: u32, sql: &str, sf: f64) -> Result<f64> {
        self.number(
            &json!({"op": "sql", "sql": sql, "check": {"query": query, "sf": sf}}),
            "ms",
        )
    }

    /// The most memory that the subject ever held, in MiB; `None` where the system does not tell.
    pub(crate) fn peak_mib(&mut self) -> Result<Option<f64>> {
        let answer = self.ask(&json!({"op": "peak"}))?;
        Ok(answer["kib"].as_f64().map(|kib| kib / 1024.0))
    }

    fn number(&mut self, request: &Value, member: &str) -> Result<f64> {
        let answer = self.ask(request)?;
        answer[member]
            .as_f64()
            .ok_or_else(|| Failure(format!("{}: {answer} has no {member}", self.name)))
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        let gone = || Failure(format!("{} has ended", self.name));
        writeln!(self.input.as_mut().ok_or_else(gone)?, "{request}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.is_empty() {
            return Err(gone());
        }
        let answer: Value = serde_json::from_str(&line)
            .map_err(|error| Failure(format!("{}: {error}", self.name)))?;
        match answer["error"].as_str() {
            Some(error) => Err(Failure(format!(
                "{}: {error}\n{}",
                self.name,
                request["sql"].as_str().unwrap_or_default()
            ))),
            None => Ok(answer),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.input = None;
        // It ends by itself; its exit code says nothing that its answers did not.
        let _ = self.process.wait();
    }
}
