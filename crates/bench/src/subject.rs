//! The child's side: runs HushDB for a parent that sends one JSON request per line (see `child`).

use std::io::{BufRead, Write};
use std::time::Instant;

use arrow::array::RecordBatch;
use hushdb::{Connection, Database, DatabaseOptions};
use serde_json::{Value, json};

use crate::failure::{Failure, Result};
use crate::workload;

/// Answers requests until the input ends.
pub(crate) fn serve() -> Result<()> {
    let mut running = None;
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value =
            serde_json::from_str(&line?).map_err(|error| Failure(error.to_string()))?;
        let answer =
            answer(&mut running, &request).unwrap_or_else(|failure| json!({"error": failure.0}));
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(running: &mut Option<(Database, Connection)>, request: &Value) -> Result<Value> {
    let member = |name: &str| request[name].as_str().unwrap_or_default();
    let number = |name: &str| request[name].as_u64().unwrap_or(1).max(1);
    match (member("op"), running.as_ref()) {
        ("start", _) => {
            let threads = request["threads"]
                .as_u64()
                .and_then(|threads| usize::try_from(threads).ok());
            let options = DatabaseOptions {
                threads,
                owns_process: true,
                ..DatabaseOptions::default()
            };
            let database = Database::open_with(None, options)?;
            let connection = database.connect()?;
            *running = Some((database, connection));
            Ok(json!({}))
        }
        ("sql", Some((_, connection))) => run(connection, member("sql"), &request["check"]),
        ("fill", Some((_, connection))) => {
            workload::fill(connection, number("rows"))?;
            Ok(json!({}))
        }
        ("commits", Some((database, _))) => {
            let (connections, count) = (number("connections"), number("count"));
            let ms = workload::commits(database, connections, number("first"), count)?;
            Ok(json!({"ms": ms}))
        }
        ("points", Some((_, connection))) => {
            let ms = workload::points(connection, number("rows"), number("count"))?;
            Ok(json!({"ms": ms}))
        }
        ("mixed", Some((database, _))) => {
            let (connections, count) = (number("connections"), number("count"));
            let ms = workload::mixed(database, connections, count, number("rows"), number("base"))?;
            Ok(json!({"ms": ms}))
        }
        ("fill_accounts", Some((_, connection))) => {
            Ok(json!({"ms": workload::fill_accounts(connection, number("scale"))?}))
        }
        ("accounts", Some((database, _))) => {
            let (connections, count) = (number("connections"), number("count"));
            let changes = request["changes"] == true;
            let ms = workload::accounts(database, connections, count, number("scale"), changes)?;
            Ok(json!({"ms": ms}))
        }
        ("peak", _) => Ok(json!({"kib": peak_kib()})),
        (op, _) => Err(Failure(format!("no such request now: {op}"))),
    }
}

fn run(connection: &Connection, sql: &str, check: &Value) -> Result<Value> {
    let before = Instant::now();
    let batches = connection.execute(sql)?.collect_batches()?;
    let ms = before.elapsed().as_secs_f64() * 1000.0;
    if let (Some(query), Some(sf)) = (check["query"].as_u64(), check["sf"].as_f64()) {
        let query = u32::try_from(query).unwrap_or(u32::MAX);
        match hushdb::tpch::check_answer(sf, query, &batches) {
            Ok(()) | Err(hushdb::tpch::Mismatch::NoAnswer { .. }) => {}
            Err(mismatch) => return Err(Failure(format!("wrong answer: {mismatch}"))),
        }
    }
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    Ok(json!({"ms": ms, "rows": rows}))
}

/// The most memory this process ever held, in KiB, as the kernel counts it.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
