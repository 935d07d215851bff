//! What real clients were recorded to send, statement by statement, against the server: those that do not pass yet are listed in
//! `not_yet.txt` by file and number, and that list may only shrink.
//!
//! The recordings are other people's texts and lie outside of the repository, in the folder that `HUSH_RECORDED_CLIENTS` names. Where
//! that names none the test says so and passes.

use crate::client::{Client, Refusal};
use crate::instance::{PASSWORD, Running, made};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

/// Statements that do not pass yet, a line each. Take lines off when they do, never add one.
const NOT_YET: &str = include_str!("not_yet.txt");

/// pgbench's tables, which some of the recordings drop.
const PGBENCH: [&str; 6] = [
    "CREATE TABLE IF NOT EXISTS pgbench_accounts (aid INT NOT NULL PRIMARY KEY, bid INT, abalance INT, filler CHAR(84))",
    "CREATE TABLE IF NOT EXISTS pgbench_branches (bid INT NOT NULL PRIMARY KEY, bbalance INT, filler CHAR(88))",
    "CREATE TABLE IF NOT EXISTS pgbench_tellers (tid INT NOT NULL PRIMARY KEY, bid INT, tbalance INT, filler CHAR(84))",
    "CREATE TABLE IF NOT EXISTS pgbench_history (tid INT, bid INT, aid INT, delta INT, mtime TIMESTAMP, filler CHAR(22))",
    // Foreign keys ask for them.
    "INSERT INTO pgbench_branches (bid, bbalance) SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM pgbench_branches)",
    "INSERT INTO pgbench_tellers (tid, bid, tbalance) SELECT g, 1, 0 FROM generate_series(1, 10) t(g)
        WHERE NOT EXISTS (SELECT 1 FROM pgbench_tellers)",
];

/// What the recordings speak of besides, as far as it can be made here.
const OBJECTS: [&str; 8] = [
    "CREATE TABLE clubs (id INT PRIMARY KEY, name TEXT)",
    "CREATE SCHEMA shop",
    "CREATE TABLE shop.customer (id SERIAL PRIMARY KEY, name VARCHAR(40) NOT NULL, created TIMESTAMPTZ DEFAULT now())",
    "INSERT INTO shop.customer SELECT i, 'n' || i, now() FROM generate_series(1, 20) g(i)",
    "SELECT setval('shop.customer_id_seq', 20)",
    "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, customer INT, total NUMERIC(10, 2) CHECK (total >= 0), placed DATE, at TIME,
        placed_at TIMESTAMP, seen TIMESTAMPTZ, took INTERVAL, token UUID, body BYTEA, tags TEXT[], meta TEXT, mood TEXT)",
    "CREATE INDEX orders_customer ON shop.orders (customer)",
    "CREATE VIEW shop.big_orders AS SELECT id, total FROM shop.orders WHERE total > 100",
];

/// A statement as it was recorded.
struct Recorded {
    number: usize,
    /// Which of the sessions it was sent in.
    action: usize,
    extended: bool,
    parameters: Vec<Option<String>>,
    /// PostgreSQL refused it.
    fails: bool,
    sql: String,
}

fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("HUSH_RECORDED_CLIENTS").map(PathBuf::from);
    named.filter(|folder| folder.is_dir())
}

/// The statements of a file.
fn read(text: &str) -> Vec<Recorded> {
    let mut all: Vec<Recorded> = vec![];
    let mut action = 0;
    let mut open = false;
    for line in text.lines() {
        if line.starts_with("-- action:") {
            (action, open) = (action + 1, false);
        } else if line.starts_with("-- simple") || line.starts_with("-- extended (") {
            all.push(Recorded {
                number: all.len() + 1,
                action,
                extended: line.starts_with("-- extended"),
                parameters: parameters(line),
                fails: line.contains("error in PostgreSQL"),
                sql: String::new(),
            });
            // The rest of a portal is no statement of its own, and nobody is here to cancel one.
            open = !line.contains("(fetch from") && !line.contains("canceling statement");
        } else if open && let Some(last) = all.last_mut() {
            last.sql.push_str(line);
            last.sql.push('\n');
        }
    }
    all
}

/// `; parameters: $1 = 'a', $2 = NULL`.
fn parameters(line: &str) -> Vec<Option<String>> {
    let mut values = vec![];
    let mut rest = line;
    while let Some((_, after)) = rest.split_once(&format!("${} = ", values.len() + 1)) {
        let Some(quoted) = after.strip_prefix('\'') else {
            values.push(None);
            rest = after;
            continue;
        };
        let mut value = String::new();
        let mut letters = quoted.char_indices().peekable();
        let mut end = quoted.len();
        while let Some((at, letter)) = letters.next() {
            match (letter, letters.peek()) {
                ('\'', Some((_, '\''))) => {
                    letters.next();
                    value.push('\'');
                }
                ('\'', _) => {
                    end = at + 1;
                    break;
                }
                _ => value.push(letter),
            }
        }
        values.push(Some(value));
        rest = quoted.get(end..).unwrap_or_default();
    }
    values
}

fn send(client: &mut Client, statement: &Recorded) -> Result<(), Refusal> {
    match statement.extended {
        false => client.query_or_copy(&statement.sql),
        true => {
            let sql = statement.sql.trim();
            let mut values: Vec<Option<&str>> =
                statement.parameters.iter().map(Option::as_deref).collect();
            // One that was only prepared was recorded without its values.
            if values.is_empty() {
                values.resize(client.describe(sql)?.0.len(), None);
            }
            client.extended(sql, &values, 0, false).map(drop)
        }
    }
}

/// Names of statements that do not pass, with why.
fn failing(server: &Running, name: &str, text: &str) -> Vec<(String, String)> {
    let database = name.replace('.', "_");
    let mut first = Client::connect(server, "hush", "hush", PASSWORD);
    first.run(&format!("CREATE DATABASE {database}")).unwrap();
    let mut maker = Client::connect(server, "hush", &database, PASSWORD);
    for sql in OBJECTS {
        maker.run(sql).unwrap();
    }
    let mut failing = vec![];
    let mut session: Option<(usize, Client)> = None;
    for statement in read(text) {
        if statement.sql.trim().is_empty() {
            continue;
        }
        let action = statement.action;
        let (_, client) = match &mut session {
            Some(open) if open.0 == action => open,
            other => {
                let mut client = Client::connect(server, "hush", &database, PASSWORD);
                for sql in PGBENCH {
                    client.run(sql).unwrap();
                }
                client.run("SET statement_timeout = '60s'").unwrap();
                other.insert((action, client))
            }
        };
        let done = send(client, &statement);
        let why = match (done, statement.fails) {
            (Ok(()), false) | (Err(_), true) => continue,
            (Ok(()), true) => "PostgreSQL refuses it".to_owned(),
            (Err(refusal), false) => format!("{}: {}", refusal.sqlstate, refusal.message),
        };
        failing.push((format!("{name} {}", statement.number), why));
    }
    failing
}

#[test]
fn what_clients_were_recorded_to_send_passes_or_is_listed() {
    let Some(folder) = folder() else {
        let said = "skipped: HUSH_RECORDED_CLIENTS names no folder of recorded statements";
        let _ = writeln!(std::io::stderr(), "{said}");
        return;
    };
    let place = made();
    let server = Running::start(place.path());
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|is| is == "sql"))
        .collect();
    files.sort();
    let mut found = vec![];
    for path in &files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        found.extend(failing(&server, name, &text));
    }
    let listed: BTreeSet<&str> = NOT_YET.lines().collect();
    let known: BTreeSet<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let mut faults = vec![];
    for (name, why) in &found {
        let line = format!("{name}: {why}");
        match listed.contains(name.as_str()) {
            true => drop(writeln!(std::io::stderr(), "not yet: {line}")),
            false => faults.push(line),
        }
    }
    let passing = listed.difference(&known);
    faults.extend(passing.map(|name| format!("{name} passes: take it off the list")));
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    server.stop();
}

#[test]
fn recordings_are_read_as_they_are_written() {
    let text = "-- a head\n\n-- action: one\n-- simple\n-- ping;\n\n-- extended (S_1); parameters: $1 = 'it''s', $2 = NULL, $3 = ''\n\
                select $1,\n  $2;\n-- extended (fetch from a/b)\nselect 1;\n-- action: two\n-- simple; error in PostgreSQL 15: no\nx;";
    let all = read(text);
    let texts: Vec<&str> = all.iter().map(|one| one.sql.trim()).collect();
    assert_eq!(texts, ["-- ping;", "select $1,\n  $2;", "", "x;"]);
    let values = [Some("it's".to_owned()), None, Some(String::new())];
    assert_eq!(all[1].parameters, values);
    assert!(all[1].extended && !all[0].extended && all[3].fails);
    assert_eq!((all[0].action, all[3].action), (1, 2));
}
