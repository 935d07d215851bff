//! What statements may take: memory by functions of large arguments, and work by planning as a statement grows.
//!
//! What must hold: all memory and all processor time of this process belong to the statement that is looked at, so one test runs at
//! a time, alone in its process.

use hushdb::{Connection, Database};
use peak_alloc::PeakAlloc;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, mpsc};
use std::time::Duration;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn connection() -> Connection {
    Database::open_in_memory().unwrap().connect().unwrap()
}

fn texts(connection: &Connection, sql: &str) -> Vec<String> {
    let batches = connection.execute(sql).unwrap().collect_batches().unwrap();
    let rows = batches
        .iter()
        .flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)));
    rows.map(|(batch, row)| hushdb::value_text(batch.column(0), row).unwrap())
        .map(Option::unwrap_or_default)
        .collect()
}

/// The limit, and what a statement may have at once beside it: the argument that it reads, and what it makes before that is counted.
const LIMIT: usize = 64_000_000;
const BESIDE: usize = 96_000_000;
/// What takes longer is interrupted: it is memory that is looked at.
const LONG: Duration = Duration::from_millis(300);

/// Arguments that are large, or say how large a result is.
const ARGUMENTS: [&[&str]; 20] = [
    &["TEXT"],
    &["LIST"],
    &["TEXTS"],
    &["TEXT", "TEXT"],
    &["TEXT", "MANY"],
    &["MANY", "TEXT"],
    &["LIST", "MANY"],
    &["LIST", "LIST"],
    &["TEXTS", "MANY"],
    &["TEXTS", "TEXT"],
    &["TEXTS", "LIST"],
    &["LIST", "TEXTS"],
    &["FORMAT", "MANY"],
    &["BRACES", "MANY"],
    &["DAYS", "TEXT"],
    &["TEXT", "MANY", "TEXT"],
    &["TEXT", "'a'", "TEXT"],
    &["TEXTS", "MANY", "TEXT"],
    &["TEXT", "TEXT", "MANY"],
    &["LIST", "LIST", "LIST"],
];

/// What stands for each.
const MEANINGS: [(&str, &str); 7] = [
    ("TEXTS", "list_resize(['a'], 100000, repeat('x', 100))"),
    ("TEXT", "repeat('a,%c', 1000000)"),
    ("LIST", "range(500000)"),
    ("MANY", "50000000"),
    ("FORMAT", "repeat('%9999d', 10000)"),
    ("BRACES", "repeat('{:9999}', 10000)"),
    ("DAYS", "TIMESTAMP '2024-02-29 12:34:56'"),
];

/// Functions that make much of little, which are tried each time; those of a prefix in `FUNCTIONS`, or all, when it is set.
const GROWING: [&str; 37] = [
    "array_to_string",
    "bar",
    "bin",
    "concat",
    "concat_ws",
    "currval",
    "flatten",
    "format",
    "generate_series",
    "hex",
    "list",
    "list_concat",
    "list_distinct",
    "list_reverse",
    "list_resize",
    "list_select",
    "list_slice",
    "list_sort",
    "list_zip",
    "lpad",
    "map",
    "parse_path",
    "printf",
    "range",
    "regexp_extract_all",
    "regexp_replace",
    "repeat",
    "replace",
    "reverse",
    "rpad",
    "strftime",
    "string_agg",
    "string_split",
    "to_base64",
    "to_json",
    "translate",
    "upper",
];

fn call(name: &str, arguments: &[&str]) -> String {
    let mut call = format!("\"{name}\"({})", arguments.join(", "));
    for (word, meaning) in MEANINGS {
        call = call.replace(word, meaning);
    }
    call
}

/// Runs a statement, which may fail, and interrupts it when it takes long; the most memory that it had at once.
fn memory_of(connection: &Connection, sql: &str) -> usize {
    let handle = connection.interrupt_handle();
    let (done, waits) = mpsc::channel::<()>();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut wait = LONG;
            while let Err(mpsc::RecvTimeoutError::Timeout) = waits.recv_timeout(wait) {
                handle.interrupt();
                wait = Duration::from_millis(20);
            }
        });
        let ran = connection
            .execute(sql)
            .and_then(|mut rows| rows.try_for_each(|batch| batch.map(drop)));
        drop((ran, done));
    });
    MEMORY.peak_usage().saturating_sub(before)
}

#[test]
fn what_makes_much_of_little_stays_near_the_limit() {
    let _alone = alone();
    let connection = connection();
    connection
        .execute(&format!("SET memory_limit = '{LIMIT}B'"))
        .unwrap();
    connection.execute("SET threads = 1").unwrap();
    let functions = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro') ORDER BY ALL";
    let names = texts(&connection, functions);
    let wanted = std::env::var("FUNCTIONS");
    let is_wanted = |name: &&String| match &wanted {
        Ok(prefix) => name.starts_with(prefix),
        Err(_) => GROWING.contains(&name.as_str()),
    };
    let names: Vec<&String> = names.iter().filter(is_wanted).collect();
    assert!(wanted.is_ok() || names.len() == GROWING.len(), "{names:?}");
    let mut faults = vec![];
    for name in names {
        for arguments in ARGUMENTS {
            let call = call(name, arguments);
            // The value itself is of no interest, but it is made.
            let sql = format!("SELECT count(x) FROM (SELECT {call} AS x FROM range(1))");
            let taken = memory_of(&connection, &sql);
            if taken > LIMIT + BESIDE {
                let fault = format!("{} MB: {call}", taken / 1_000_000);
                let _ = writeln!(std::io::stderr(), "{fault}");
                faults.push(fault);
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Terms of a statement, and of one four times as long, whose planning takes 4 times the work where that grows with the terms, 16
/// times with their square, 64 times with their cube.
const TERMS: usize = 60;
const TIMES: usize = 4;
const AT_MOST: f64 = 12.0;
/// Plannings of a statement that are measured together: some systems count the time of processors by ticks of 4 ms.
const TOGETHER: u32 = 8;
/// What else the machine does makes a measurement worse, never better: the best one counts.
const ATTEMPTS: usize = 4;

/// Nanoseconds of processors that each thread of this process has had.
fn processor_times() -> HashMap<OsString, u64> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let times = tasks.filter_map(|task| {
        let task = task.ok()?;
        let times = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        Some((task.file_name(), times.split(' ').next()?.parse().ok()?))
    });
    times.collect()
}

/// What its threads have had since. One that has ended meanwhile was idle: it took none of it along.
fn processor_time_since(before: &HashMap<OsString, u64>) -> u64 {
    let now = processor_times().into_iter();
    let had = |thread: &OsString| before.get(thread).copied().unwrap_or(0);
    now.map(|(thread, time)| time.saturating_sub(had(&thread)))
        .sum()
}

fn terms(between: &str, n: usize, term: impl Fn(usize) -> String) -> String {
    (0..n).map(term).collect::<Vec<_>>().join(between)
}

/// Statements that grow by terms, as machines write them.
fn statements(n: usize) -> [String; 12] {
    let filter = |between, term: fn(usize) -> String| {
        format!("SELECT count(*) FROM t WHERE {}", terms(between, n, term))
    };
    let columns = |term: fn(usize) -> String| format!("SELECT {} FROM t", terms(", ", n, term));
    [
        filter(" AND ", |i| format!("i <> {i}")),
        filter(" OR ", |i| format!("i = {i} AND j = 1")),
        filter(" AND ", |i| format!("i + {i} >= 0")),
        filter(" AND ", |i| format!("NOT (i = {i} OR j = {i})")),
        format!("SELECT {} FROM t", terms(" + ", n, |_| "i".into())),
        format!("SELECT {} FROM t", terms(" || ", n, |_| "s".into())),
        columns(|i| format!("i + {i}")),
        columns(|i| format!("sum(i + {i})")),
        columns(|i| format!("sum(i + {i}) OVER ()")),
        format!(
            "SELECT sum(CASE {} END) FROM t",
            terms(" ", n, |i| format!("WHEN i = {i} THEN j + {i}"))
        ),
        format!(
            "SELECT count(*) FROM ({})",
            terms(" UNION ALL ", n, |i| format!(
                "SELECT i FROM t WHERE i = {i}"
            ))
        ),
        format!(
            "SELECT count(*) FROM t WHERE i IN ({})",
            terms(", ", n, |i| i.to_string())
        ),
    ]
}

#[test]
fn planning_grows_slower_than_the_square_of_a_statement() {
    let _alone = alone();
    if processor_times().is_empty() {
        let _ = writeln!(std::io::stderr(), "skipped: no thread says its time");
        return;
    }
    let connection = connection();
    connection
        .execute("CREATE TABLE t AS SELECT 1 AS i, 1 AS j, 's' AS s")
        .unwrap();
    let planned = |sql: &str| {
        let before = processor_times();
        for _ in 0..TOGETHER {
            texts(&connection, &format!("EXPLAIN {sql}"));
        }
        processor_time_since(&before).max(1) as f64
    };
    for (short, long) in statements(TERMS).iter().zip(statements(TERMS * TIMES)) {
        let once = || planned(&long) / planned(short);
        let ratio = (1..ATTEMPTS)
            .map(|_| once())
            .find(|ratio| *ratio < AT_MOST)
            .unwrap_or_else(once);
        let shown = &short[..short.len().min(60)];
        let _ = writeln!(std::io::stderr(), "{ratio:.1} times: {shown}");
        assert!(
            ratio < AT_MOST,
            "{TIMES} times as long takes {ratio:.1} times the time: {shown}"
        );
    }
}
