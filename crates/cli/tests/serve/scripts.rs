//! The scripts of `tests/slt` a second time, over the wire, in DuckDB's dialect, each in a database of its own: its statements are simple
//! and extended queries in turns. `HUSHDB_WIRE=both` runs each script once more, with the turns changed.
//!
//! Those that differ stand in `differs.txt`, by why, and that list may only shrink. Values come in PostgreSQL's text, which
//! `script_values.rs` brings to that of the scripts.

use crate::client::{Client, Refusal};
use crate::instance::{PASSWORD, Running, made};
use crate::script_values::{is_unclear, shown};
use sqllogictest::{DB, DBOutput, DefaultColumnType as Letter, Runner};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Scripts that run at once.
const WORKERS: usize = 4;

#[derive(Debug)]
struct Failed(Refusal);

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The kind of the error, as the scripts have it, is not on the wire but for its SQLSTATE.
        let kind = match self.0.sqlstate.as_str() {
            "22003" => "Out of Range Error: ",
            "22023" => "Invalid Input Error: ",
            "42703" | "42883" => "Binder Error: ",
            "0A000" => "Not implemented Error: ",
            state if state.starts_with("23") => "Constraint Error: ",
            _ => "",
        };
        write!(out, "{}: {kind}{}", self.0.sqlstate, self.0.message)
    }
}

impl std::error::Error for Failed {}

/// A session under test.
struct Engine {
    client: Client,
    /// Whether the next statement is an extended query.
    extended: bool,
}

impl Engine {
    /// Names of the types of a query's columns, where those of the wire are unclear; else nothing.
    fn types(&mut self, sql: &str, oids: &[u32]) -> Vec<String> {
        let none = vec![String::new(); oids.len()];
        let first = sql.split_whitespace().next().unwrap_or_default();
        let is_query =
            ["select", "from", "values", "with"].contains(&first.to_lowercase().as_str());
        if !is_query || !oids.iter().any(|oid| is_unclear(*oid)) {
            return none;
        }
        match self.client.table(&format!("DESCRIBE {sql}"), false) {
            Ok(table) if table.rows.len() == oids.len() => {
                let names = table
                    .rows
                    .into_iter()
                    .map(|row| row.into_iter().nth(1).flatten());
                names.map(Option::unwrap_or_default).collect()
            }
            _ => none,
        }
    }
}

impl DB for Engine {
    type Error = Failed;
    type ColumnType = Letter;

    fn run(&mut self, sql: &str) -> Result<DBOutput<Letter>, Failed> {
        let extended = self.extended;
        self.extended = !extended;
        let table = self.client.table(sql, extended).map_err(Failed)?;
        let count = table.tag.rsplit(' ').next().unwrap_or_default();
        let Some(oids) = table.oids else {
            return Ok(DBOutput::StatementComplete(count.parse().unwrap_or(0)));
        };
        let types = self.types(sql, &oids);
        let rows = table.rows.into_iter().map(|row| {
            let cells = row.into_iter().zip(oids.iter().zip(&types));
            cells
                .map(|(cell, (oid, of))| shown(*oid, cell.as_deref(), of))
                .collect()
        });
        Ok(DBOutput::Rows {
            types: oids.iter().map(|_| Letter::Any).collect(),
            rows: rows.collect(),
        })
    }

    fn engine_name(&self) -> &str {
        "hushdb"
    }
}

fn scripts(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => scripts(&path, found),
            false if path.extension().is_some_and(|is| is == "slt") => found.push(path),
            false => {}
        }
    }
}

/// Runs a script in a new database. Its first statement is an extended query, or a simple one.
fn run(server: &Running, path: &Path, database: &str, extended: bool) -> Result<(), String> {
    let made = Client::connect(server, "hush", "hush", PASSWORD)
        .run(&format!("CREATE DATABASE {database}"));
    made.map_err(|refusal| refusal.message)?;
    // The scripts call the database they begin in by its name.
    let text = std::fs::read_to_string(path).unwrap();
    let text = text
        .replace("memory", database)
        .replace(&format!(":{database}:"), ":memory:");
    let mut runner = Runner::new(|| async {
        let mut client = Client::try_connect(server, "hush", database, PASSWORD).map_err(Failed)?;
        for set in [
            "SET sql_dialect = 'duckdb'",
            "SET search_path = main",
            "SET lock_timeout = 50",
        ] {
            client.run(set).map_err(Failed)?;
        }
        Ok(Engine { client, extended })
    });
    for label in ["waiting", "read_committed"] {
        runner.add_label(label);
    }
    runner.with_column_validator(|actual, expected| actual.len() == expected.len());
    let done = runner.run_script_with_name(&text, path.to_string_lossy());
    done.map_err(|error| error.display(false).to_string())?;
    drop(runner);
    let drop = format!("DROP DATABASE {database} WITH (FORCE)");
    let _ = Client::connect(server, "hush", "hush", PASSWORD).run(&drop);
    Ok(())
}

/// The scripts that fail, each with why.
fn failing(server: &Running, root: &Path, paths: &[PathBuf]) -> BTreeMap<String, String> {
    let both = std::env::var("HUSHDB_WIRE").is_ok_and(|which| which == "both");
    let next = AtomicUsize::new(0);
    let failing = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = paths.get(at) else { return };
                    let name = path.strip_prefix(root).unwrap().with_extension("");
                    let name = name.display().to_string();
                    // Of its own name, so that a script beside it changes nothing.
                    let first = name.len() % 2 == 0;
                    let mut why = run(server, path, &format!("first_{at}"), first).err();
                    if both && why.is_none() {
                        why = run(server, path, &format!("second_{at}"), !first).err();
                    }
                    let found = why.map(|why| (name, why));
                    failing.lock().unwrap().extend(found);
                }
            });
        }
    });
    failing.into_inner().unwrap()
}

#[test]
fn scripts_give_the_same_over_the_wire() {
    let place = made();
    let server = Running::start(place.path());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/slt");
    let mut paths = vec![];
    scripts(&root, &mut paths);
    paths.sort();
    let only = std::env::var("SLT").unwrap_or_default();
    paths.retain(|path| path.to_string_lossy().contains(&only));
    let failing = failing(&server, &root, &paths);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/differs.txt");
    let differs = std::fs::read_to_string(own).unwrap();
    let lines = differs.lines().filter(|line| !line.starts_with('#'));
    let listed: BTreeSet<&str> = lines.collect();
    let new = failing
        .iter()
        .filter(|(name, _)| !listed.contains(name.as_str()));
    let new: Vec<String> = new.map(|(name, why)| format!("== {name}\n{why}")).collect();
    assert!(new.is_empty(), "{}", new.join("\n"));
    let same = listed.iter().filter(|name| !failing.contains_key(**name));
    let same: Vec<&&str> = same.collect();
    assert!(
        same.is_empty() || !only.is_empty(),
        "these do not differ any more, take them off the list: {same:?}"
    );
    server.stop();
}
