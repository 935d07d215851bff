//! `Theirs`: DuckDB in a process of its own, started again when it dies.

use crate::failure::{Failure, Result};
use crate::rival::Rival;
use hushdb_querygen::{Answer, World};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A running DuckDB.
pub(super) struct Theirs {
    rival: Rival,
    process: Process,
}

struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// An answer, or the first line of an error.
pub(super) type Reply = std::result::Result<Answer, String>;

impl Theirs {
    pub(super) fn start(rival: Rival) -> Result<Self> {
        let process = Process::start(&rival)?;
        Ok(Self { rival, process })
    }

    /// Makes the world's tables in an empty database; says which statements failed.
    pub(super) fn fill(&mut self, world: &World) -> Result<Vec<(String, Reply)>> {
        self.run_anew(world.statements())
    }

    /// As `fill`, with tables that have the rows of the views.
    pub(super) fn fill_with_tables(&mut self, world: &World) -> Result<()> {
        let statements = world.statements().into_iter();
        let statements = statements.map(|sql| match sql.strip_prefix("CREATE VIEW ") {
            Some(view) => format!("CREATE TABLE {view}"),
            None => sql,
        });
        self.run_anew(statements.collect()).map(|_| ())
    }

    /// Runs statements in an empty database.
    fn run_anew(&mut self, statements: Vec<String>) -> Result<Vec<(String, Reply)>> {
        if self.process.ask(&json!({"op": "reset"})).is_err() {
            self.process = Process::start(&self.rival)?;
        }
        let run = statements.into_iter().map(|sql| {
            let reply = self.run(&sql)?;
            Ok((sql, reply))
        });
        run.collect()
    }

    /// Runs a statement. A process that dies of it is an error of the statement, and the tables are gone.
    pub(super) fn run(&mut self, sql: &str) -> Result<Reply> {
        self.reply("sql", sql)
    }

    /// Runs a statement that changes rows and shows none; the answer is how many.
    pub(super) fn count(&mut self, sql: &str) -> Result<Reply> {
        self.reply("count", sql)
    }

    fn reply(&mut self, op: &str, sql: &str) -> Result<Reply> {
        match self.process.ask(&json!({"op": op, "sql": sql})) {
            Ok(reply) => Ok(reply_of(&reply)),
            Err(_) => {
                self.process = Process::start(&self.rival)?;
                Ok(Err("INTERNAL Error: the process died".to_owned()))
            }
        }
    }

    /// Name, kind and types of parameters of the functions that it has.
    pub(super) fn functions(&mut self) -> Result<Vec<(String, String, Vec<String>)>> {
        let reply = self.process.ask(&json!({"op": "functions"}))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let rows = reply["rows"].as_array().into_iter().flatten();
        let rows = rows.map(|row| {
            let types = row[2].as_array().into_iter().flatten();
            (text(&row[0]), text(&row[1]), types.map(text).collect())
        });
        Ok(rows.collect())
    }

    /// What somebody may call.
    pub(super) fn callables(&mut self) -> Result<Vec<Callable>> {
        let reply = self.process.ask(&json!({"op": "coverage"}))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect();
        let rows = reply["rows"].as_array().into_iter().flatten();
        let rows = rows.map(|row| {
            let counts: Vec<String> = texts(&row[2]);
            Callable {
                name: text(&row[0]),
                kind: text(&row[1]),
                counts: counts
                    .iter()
                    .filter_map(|count| count.parse().ok())
                    .collect(),
                examples: texts(&row[3]),
            }
        });
        Ok(rows.collect())
    }
}

/// A function, or a macro.
pub(super) struct Callable {
    pub(super) name: String,
    /// `scalar`, `aggregate`, `table`, `macro` or `table_macro`.
    pub(super) kind: String,
    /// The numbers of its parameters.
    pub(super) counts: Vec<usize>,
    /// Expressions that its documentation has.
    pub(super) examples: Vec<String>,
}

fn reply_of(reply: &Value) -> Reply {
    if let Some(error) = reply["error"].as_str() {
        return Err(error.to_owned());
    }
    let texts = |member: &str| {
        let all = reply[member].as_array().into_iter().flatten();
        let all = all.map(|one| one.as_str().unwrap_or_default().to_owned());
        all.collect()
    };
    let rows = reply["rows"].as_array().into_iter().flatten();
    let rows = rows.map(|row| {
        let values = row.as_array().into_iter().flatten();
        values
            .map(|value| value.as_str().map(str::to_owned))
            .collect()
    });
    Ok(Answer {
        names: texts("names"),
        types: texts("types"),
        rows: rows.collect(),
    })
}

impl Process {
    fn start(rival: &Rival) -> Result<Self> {
        let mut command = rival.command();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure("the rival has no pipes".to_owned()));
        };
        Ok(Self {
            child,
            input: Some(input),
            output: BufReader::new(output),
        })
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        let gone = || Failure("the rival has ended".to_owned());
        writeln!(self.input.as_mut().ok_or_else(gone)?, "{request}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.is_empty() {
            return Err(gone());
        }
        serde_json::from_str(&line).map_err(|error| Failure(error.to_string()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}
