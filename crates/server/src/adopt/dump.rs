//! What `pg_dump` writes as text, into a new database: definitions, and rows between `COPY ... FROM stdin` and `\.`.
//!
//! What must hold: the text defines things and adds rows, and does nothing else; what HushDB has not is refused by the number of its
//! line, or left out and listed where that is asked for, but never rows. Who owns what, comments and grants are left out.
#![expect(clippy::disallowed_methods, reason = "it reads the dump")]

use crate::failure::{Result, ServeError};
use crate::instance::{Instance, PUBLIC};
use crate::session::command::{self, Command, Copy};
use crate::sql_error::SqlError;
use crate::wire::copy_rows::{Copied, Gathered};
use crate::words::{Kind, Token, Words, tokens};
use hushdb::{Connection, Isolation, ResultKind, split_statements};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The longest line, and the longest statement.
const MOST_BYTES: usize = 64 << 20;
/// What custom and directory formats of `pg_dump` begin with.
const CUSTOM: &[u8] = b"PGDMP";

/// What came of a dump.
#[derive(Default)]
pub(super) struct Dumped {
    pub(super) rows: u64,
    /// A line for each statement that was left out since HushDB has not what it defines.
    pub(super) left_out: Vec<String>,
}

/// A dump that is being read.
struct Dump<R> {
    lines: BufReader<R>,
    /// The number of the line that was read last, from 1.
    line: u64,
}

impl<R: Read> Dump<R> {
    /// The next line without its end; `None` behind the last.
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let mut line = vec![];
        let mut limited = (&mut self.lines).take(MOST_BYTES as u64);
        let read = limited.read_until(b'\n', &mut line);
        let read =
            read.map_err(|error| ServeError::other(format!("the dump cannot be read: {error}")))?;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        match line.pop() {
            Some(b'\n') if line.last() == Some(&b'\r') => drop(line.pop()),
            Some(b'\n') | None => {}
            Some(last) => line.push(last),
        }
        match line.len() + 1 >= MOST_BYTES {
            true => Err(self.failed("a line is too long")),
            false => Ok(Some(line)),
        }
    }

    fn failed(&self, message: &str) -> ServeError {
        ServeError::other(format!("line {} of the dump: {message}", self.line))
    }
}

impl Instance {
    /// Runs a dump in a new database.
    pub(super) fn run_dump(&self, name: &str, path: &Path, leave_out: bool) -> Result<Dumped> {
        let file = File::open(path);
        let file =
            file.map_err(|error| ServeError::other(format!("the dump cannot be opened: {error}")))?;
        let level = Isolation::ReadCommitted;
        let connection = self.databases.connect_to(name, PUBLIC, level)?;
        connection.execute("SET default_null_order = 'postgres'; SET sql_dialect = 'postgres'")?;
        let lines = BufReader::with_capacity(1 << 18, file);
        run(&connection, Dump { lines, line: 0 }, leave_out)
    }
}

fn run<R: Read>(connection: &Connection, mut dump: Dump<R>, leave_out: bool) -> Result<Dumped> {
    let mut dumped = Dumped::default();
    let mut text = String::new();
    while let Some(line) = dump.next()? {
        if dump.line == 1 && line.starts_with(CUSTOM) {
            return Err(dump.failed("this is not text: have pg_restore -f make text of it"));
        }
        let Ok(line) = std::str::from_utf8(&line) else {
            return Err(
                dump.failed("this is no UTF-8 text: have pg_dump write it with --encoding=UTF8")
            );
        };
        if text.is_empty() && is_empty_or_ignored(line) {
            continue;
        }
        if text.is_empty() && line.starts_with('\\') {
            return Err(dump
                .failed("a command of psql: a dump of one database is adopted, made by pg_dump"));
        }
        text.push_str(line);
        text.push('\n');
        if text.len() > MOST_BYTES {
            return Err(dump.failed("a statement is too long"));
        }
        if !line.trim_end().ends_with(';') {
            continue;
        }
        let split = split_statements(&text);
        if split.open_quote || !split.rest.trim().is_empty() {
            continue;
        }
        let statements: Vec<String> = split
            .statements
            .iter()
            .map(|sql| (*sql).to_owned())
            .collect();
        text.clear();
        for sql in statements {
            let failed = |error: SqlError, line: u64| {
                ServeError::other(format!("line {line} of the dump: {}", error.message))
            };
            match statement(connection, &mut dump, &sql) {
                Ok(rows) => dumped.rows += rows,
                Err(Stop::Sql(error)) if leave_out && error.sqlstate == "0A000" => {
                    dumped
                        .left_out
                        .push(format!("line {}: {}", dump.line, error.message));
                }
                Err(Stop::Sql(error)) => return Err(failed(error, dump.line)),
                Err(Stop::Rows(error)) => return Err(failed(error, dump.line)),
                Err(Stop::Read(error)) => return Err(error),
            }
        }
    }
    match text.trim().is_empty() {
        true => Ok(dumped),
        false => Err(dump.failed("the last statement has no end: the dump is cut off")),
    }
}

/// Comments, and what newer releases put around a dump so that psql runs nothing but it.
fn is_empty_or_ignored(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line.starts_with("--")
        || line.starts_with("\\restrict ")
        || line.starts_with("\\unrestrict ")
}

/// Why a statement of a dump ends.
enum Stop {
    Sql(SqlError),
    /// Of rows, which are never left out.
    Rows(SqlError),
    Read(ServeError),
}

impl<E: Into<SqlError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Sql(error.into())
    }
}

/// Runs a statement, with the rows behind it; gives how many.
fn statement<R: Read>(
    connection: &Connection,
    dump: &mut Dump<R>,
    sql: &str,
) -> std::result::Result<u64, Stop> {
    let words = tokens(sql).ok_or_else(|| SqlError::syntax("a quote has no end"))?;
    if is_of_no_use_here(&words) {
        return Ok(0);
    }
    match command::read(sql)? {
        None => Ok(0),
        Some(Command::Set { name, value, .. }) => {
            let value = value.unwrap_or_default();
            match (name.as_str(), value.to_lowercase().as_str()) {
                ("client_encoding", "utf8" | "utf-8" | "unicode")
                | ("standard_conforming_strings", "on") => Ok(0),
                ("client_encoding", _) => {
                    Err(SqlError::new("22023", "another encoding than UTF-8").into())
                }
                ("standard_conforming_strings", _) => Err(SqlError::new(
                    "22023",
                    "texts with escapes: dump it with standard_conforming_strings on",
                )
                .into()),
                // What else a dump sets says how PostgreSQL is to go about it.
                _ => Ok(0),
            }
        }
        Some(Command::SetConfig { .. }) => Ok(0),
        Some(Command::CopyIn(copy)) if !copy.options.binary => rows(connection, dump, &copy),
        Some(Command::Engine { sql, .. }) if may_stand(&words) => {
            let mut result = connection.run(&sql)?;
            for batch in &mut result {
                batch?;
            }
            match result.kind() {
                ResultKind::Count(rows) => Ok(rows),
                _ => Ok(0),
            }
        }
        Some(_) => {
            Err(SqlError::new("42601", "a statement that no dump of one database has").into())
        }
    }
}

fn word(tokens: &[Token], at: usize) -> &str {
    match tokens.get(at).map(|token| &token.kind) {
        Some(Kind::Word(word)) => word,
        _ => "",
    }
}

/// Who owns what, comments, grants; and what every database has.
fn is_of_no_use_here(tokens: &[Token]) -> bool {
    let mut words = Words::new(tokens);
    let says = |wanted: &[&str]| {
        let at = (0..tokens.len()).find(|at| word(tokens, *at) == wanted[0]);
        at.is_some_and(|at| (0..wanted.len()).all(|more| word(tokens, at + more) == wanted[more]))
    };
    match word(tokens, 0) {
        "comment" | "grant" | "revoke" => true,
        "alter" => words.take(&["alter", "default", "privileges"]) || says(&["owner", "to"]),
        "create" => {
            tokens.len() == 3 && word(tokens, 1) == "schema" && word(tokens, 2) == PUBLIC
                || word(tokens, 1) == "extension" && says(&["plpgsql"])
        }
        _ => false,
    }
}

/// What a dump has the engine do: define things, add rows, set sequences.
fn may_stand(tokens: &[Token]) -> bool {
    match (word(tokens, 0), word(tokens, 1)) {
        ("create", "table" | "view" | "index" | "unique" | "schema" | "sequence" | "unlogged") => {
            true
        }
        ("alter", "table" | "sequence" | "view" | "index") | ("insert", _) => true,
        // SELECT pg_catalog.setval(...).
        ("select", "pg_catalog") => word(tokens, 3) == "setval",
        _ => false,
    }
}

/// Adds the rows up to `\.`.
fn rows<R: Read>(
    connection: &Connection,
    dump: &mut Dump<R>,
    copy: &Copy,
) -> std::result::Result<u64, Stop> {
    let described = connection.prepare(&copy.select())?.describe(&[])?.columns;
    let schema = described.ok_or_else(|| SqlError::missing("COPY into what is no table"))?;
    let mut gathered = Gathered::new(&schema);
    let (mut copied, mut added) = (Copied::default(), 0);
    loop {
        let line = dump.next().map_err(Stop::Read)?;
        let at_end = line.as_deref().is_none_or(|line| line == b"\\.");
        if let Some(line) = line.as_deref().filter(|_| !at_end) {
            copied
                .line(line, &copy.options, &mut gathered)
                .map_err(Stop::Rows)?;
        }
        if gathered.is_full() || at_end && gathered.rows() > 0 {
            let batch = gathered.take()?;
            let done = connection.append(&copy.table, &copy.columns, batch);
            added += done.map_err(|error| Stop::Rows(error.into()))?;
        }
        match (at_end, line.is_some()) {
            (true, true) => return Ok(added),
            (true, false) => {
                return Err(Stop::Read(
                    dump.failed("the rows have no end: the dump is cut off"),
                ));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_told_from_what_is_run() {
        let of_no_use = |sql: &str| is_of_no_use_here(&tokens(sql).unwrap());
        for sql in [
            "ALTER TABLE public.t OWNER TO postgres",
            "ALTER TABLE public.\"owner\" OWNER TO \"o\"",
            "COMMENT ON SCHEMA public IS 'x'",
            "GRANT ALL ON TABLE t TO a",
            "ALTER DEFAULT PRIVILEGES FOR ROLE a GRANT SELECT ON TABLES TO b",
            "CREATE SCHEMA public",
            "CREATE EXTENSION IF NOT EXISTS plpgsql WITH SCHEMA pg_catalog",
        ] {
            assert!(of_no_use(sql), "{sql}");
        }
        for sql in [
            "CREATE SCHEMA other",
            "ALTER TABLE ONLY public.t ADD CONSTRAINT p PRIMARY KEY (i)",
            "CREATE TABLE public.t (owner text, \"to\" text)",
            "CREATE EXTENSION hstore",
        ] {
            assert!(!of_no_use(sql), "{sql}");
        }
        let may = |sql: &str| may_stand(&tokens(sql).unwrap());
        assert!(may("SELECT pg_catalog.setval('public.s', 3, true)"));
        for sql in [
            "SELECT 1",
            "DROP TABLE t",
            "ATTACH 'x'",
            "UPDATE t SET i = 1",
            "DELETE FROM t",
            "SELECT pg_catalog.x()",
        ] {
            assert!(!may(sql), "{sql}");
        }
    }
}
