//! Statements that would go on for very long, interrupted from another thread: each ends with `Interrupted` soon, leaves nothing, and
//! gives the threads of the engine back.
//!
//! What is soon here is what holds on a busy machine in a build without optimisation; with `--nocapture` each test says what it took.

use hushdb::{Connection, Database, ErrorKind, Result};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// What is let go by before the interrupt, so that the statement is in the midst of its work.
const BEFORE: Duration = Duration::from_millis(400);
/// The same for statements that do not go on for long.
const SHORTLY_BEFORE: Duration = Duration::from_millis(60);
/// Far more than an interrupt takes on a busy machine, and far less than the statements would.
const SOON: Duration = Duration::from_secs(8);

/// A hundred million rows.
const ROWS: &str = "SELECT (i * 7919 + j) % 10007 AS x, i, random() AS r FROM range(10000) a(i), range(10000) b(j)";
/// Takes some milliseconds for a thousand rows.
const SLOW: &str = "length(md5(repeat('x', 4000 + x::INTEGER)))";

/// Holds that a statement ends soon after it was interrupted.
fn ends(connection: &Connection, sql: &str) {
    ends_after(connection, sql, BEFORE);
}

fn ends_after(connection: &Connection, sql: &str, before: Duration) {
    assert!(is_ended_after(connection, sql, before), "it was faster");
}

/// Whether the statement was still at work when it was interrupted; what was done before that is not asked.
fn is_ended_after(connection: &Connection, sql: &str, before: Duration) -> bool {
    let handle = connection.interrupt_handle();
    let (begun, began) = std::sync::mpsc::channel();
    let ended = std::thread::scope(|scope| {
        let statement = scope.spawn(move || -> Result<()> {
            begun.send(()).unwrap();
            connection
                .execute(sql)?
                .try_for_each(|batch| batch.map(drop))
        });
        began.recv().unwrap();
        std::thread::sleep(before);
        let asked = Instant::now();
        // Until it began there is nothing to interrupt.
        while !statement.is_finished() {
            handle.interrupt();
            std::thread::sleep(Duration::from_millis(5));
            assert!(asked.elapsed() < SOON, "{}", &sql[..sql.len().min(100)]);
        }
        let Err(error) = statement.join().unwrap() else {
            return false;
        };
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
        said("ended", asked, sql);
        true
    });
    if !ended {
        return false;
    }
    // Every thread of the engine is free again.
    let began = Instant::now();
    rows(
        connection,
        "SELECT sum(i) FROM range(100000) r(i) GROUP BY i % 7",
    );
    assert!(began.elapsed() < SOON);
    said("went on", began, sql);
    true
}

fn said(what: &str, since: Instant, sql: &str) {
    let taken = since.elapsed().as_millis();
    let shown = &sql[..sql.len().min(60)];
    let _ = writeln!(std::io::stderr(), "{what} after {taken} ms: {shown}");
}

fn rows(connection: &Connection, sql: &str) -> usize {
    let batches = connection.execute(sql).unwrap();
    batches.map(|batch| batch.unwrap().num_rows()).sum()
}

fn connection() -> Connection {
    Database::open_in_memory().unwrap().connect().unwrap()
}

/// With a table `t` of so many rows in a file.
fn with_table(directory: &Path, count: usize) -> (Database, Connection) {
    let database = Database::open(directory.join("x.hushdb")).unwrap();
    let connection = database.connect().unwrap();
    connection
        .execute(&format!(
            "CREATE TABLE t AS SELECT i % 1009 AS x, i, random() AS r, 'text ' || i AS s FROM range({count}) r(i)"
        ))
        .unwrap();
    (database, connection)
}

#[test]
fn a_recursive_query_without_end() {
    let connection = connection();
    for step in ["i + 1", "i + 1 WHERE i < 0 OR true"] {
        let (value, condition) = step.split_once(" WHERE ").unwrap_or((step, "true"));
        let sql = format!(
            "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT {value} FROM r WHERE {condition}) SELECT count(*) FROM r"
        );
        ends(&connection, &sql);
    }
    ends(
        &connection,
        "WITH RECURSIVE r(i) AS (SELECT i FROM range(100000) s(i) UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r",
    );
}

#[test]
fn a_table_that_is_made_of_a_query() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("x.hushdb")).unwrap();
    let connection = database.connect().unwrap();
    ends(&connection, &format!("CREATE TABLE t AS {ROWS}"));
    connection
        .execute("CREATE TABLE t (x BIGINT, i BIGINT, r DOUBLE)")
        .unwrap();
    ends(&connection, &format!("INSERT INTO t {ROWS}"));
    connection
        .execute("CREATE TABLE k (i BIGINT PRIMARY KEY, n BIGINT)")
        .unwrap();
    let many = "SELECT i, 1 FROM range(100000000) r(i)";
    ends(&connection, &format!("INSERT INTO k {many}"));
    let again = format!(
        "INSERT INTO k SELECT i % 1000, 1 FROM ({ROWS}) ON CONFLICT DO UPDATE SET n = excluded.n"
    );
    ends(&connection, &again);
    ends(&connection, "CALL dbgen(sf = 10)");
    assert_eq!(rows(&connection, "SELECT * FROM t"), 0);
    assert_eq!(rows(&connection, "SELECT * FROM k"), 0);
}

#[test]
fn planning() {
    let connection = connection();
    connection
        .execute("CREATE TABLE t AS SELECT i AS a, i AS b FROM range(100) r(i)")
        .unwrap();
    let joins: Vec<String> = (1..400)
        .map(|i| format!("JOIN t t{i} ON t{}.a = t{i}.a", i - 1))
        .collect();
    let sql = format!("SELECT count(*) FROM t t0 {}", joins.join(" "));
    ends(&connection, &sql);
    let tables: Vec<String> = (0..400).map(|i| format!("t t{i}")).collect();
    let keys: Vec<String> = (1..400).map(|i| format!("t{}.a = t{i}.a", i - 1)).collect();
    let (tables, keys) = (tables.join(", "), keys.join(" AND "));
    ends(
        &connection,
        &format!("SELECT count(*) FROM {tables} WHERE {keys}"),
    );
}

#[test]
fn sorts() {
    let connection = connection();
    // While rows are gathered, and while they are sorted.
    let all = format!("SELECT * FROM ({ROWS}) ORDER BY r OFFSET 99999990");
    ends(&connection, &all);
    let some = format!("SELECT * FROM ({ROWS} LIMIT 3000000) ORDER BY r OFFSET 2999990");
    // How long that takes depends on the machine, and what comes late in it is the sort.
    let mut times = [3000, 1500, 700, 300, 100]
        .map(Duration::from_millis)
        .into_iter();
    assert!(times.any(|before| is_ended_after(&connection, &some, before)));
    let of_text =
        "SELECT md5(i::VARCHAR) AS m FROM range(100000000) r(i) ORDER BY m OFFSET 99999990";
    ends(&connection, of_text);
    connection.execute("SET memory_limit = '100MB'").unwrap();
    ends_after(&connection, &all, Duration::from_secs(2));
}

#[test]
fn joins() {
    let connection = connection();
    connection
        .execute("CREATE TABLE t AS SELECT i, i % 2 AS k, i % 1000 AS x FROM range(300000) r(i)")
        .unwrap();
    for sql in [
        // Without keys: all pairs, next to none, and rows that find nobody.
        "SELECT count(*) FROM range(1000000) a(i), range(1000000) b(j) WHERE i % 3 = 0",
        "SELECT count(*) FROM t a, t b WHERE a.i + b.i < 0",
        "SELECT count(*) FROM t a LEFT JOIN t b ON a.i + b.i < 0",
        // By keys that are there very often.
        "SELECT sum(a.i) FROM t a JOIN t b ON a.k = b.k",
        "SELECT count(*) FROM t a JOIN t b ON a.k = b.k AND a.i + b.i < 0",
        "SELECT count(*) FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE a.k = b.k AND a.i + b.i < 0)",
        "SELECT count(*) FROM range(100000000) a(i) JOIN range(100000000) b(i) ON a.i = b.i + 1",
    ] {
        ends(&connection, sql);
    }
    connection.execute("SET memory_limit = '64MB'").unwrap();
    for sql in [
        "SELECT count(*) FROM range(100000000) a(i) JOIN range(100000000) b(i) ON a.i = b.i + 1",
        "SELECT count(*) FROM t a JOIN range(10000000) b(i) ON a.i + b.i < 0",
    ] {
        ends_after(&connection, sql, Duration::from_secs(1));
    }
}

#[test]
fn aggregations_and_windows() {
    let connection = connection();
    for sql in [
        "SELECT r, count(*) FROM ALL_ROWS GROUP BY r",
        "SELECT count(DISTINCT r) FROM ALL_ROWS",
        "SELECT x, list(r) FROM ALL_ROWS GROUP BY x",
        "SELECT sum(n) FROM (SELECT row_number() OVER (ORDER BY r) AS n FROM ALL_ROWS)",
        "SELECT sum(n) FROM (SELECT sum(i) OVER (PARTITION BY x ORDER BY r) AS n FROM ALL_ROWS)",
        "SELECT sum(n) FROM (SELECT sum(i) OVER (ORDER BY i ROWS 100 PRECEDING) AS n FROM ALL_ROWS)",
        "SELECT sum(n) FROM (SELECT median(r) OVER (ORDER BY i ROWS 20000 PRECEDING) AS n FROM ALL_ROWS)",
    ] {
        ends(&connection, &sql.replace("ALL_ROWS", &format!("({ROWS})")));
    }
    connection.execute("SET memory_limit = '100MB'").unwrap();
    let groups = format!("SELECT r, count(*) FROM ({ROWS}) GROUP BY r");
    ends_after(&connection, &groups, Duration::from_secs(2));
}

#[test]
fn files_that_are_written_and_read() {
    let directory = tempfile::tempdir().unwrap();
    let connection = connection();
    for name in ["x.csv", "x.parquet", "x.json"] {
        let path = directory.path().join(name);
        let path = path.display();
        ends(&connection, &format!("COPY ({ROWS}) TO '{path}'"));
        // Nothing is left of it, under whichever name.
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
    let path = |name: &str| directory.path().join(name).display().to_string();
    for name in ["y.csv", "y.parquet", "y.json"] {
        let path = path(name);
        connection
            .execute(&format!("COPY ({ROWS} LIMIT 100000) TO '{path}'"))
            .unwrap();
        ends(
            &connection,
            &format!("SELECT count(a.r + b.i) FROM '{path}' a, range(100000) b(i)"),
        );
        let union = vec![format!("SELECT i, r FROM '{path}'"); 300];
        ends(
            &connection,
            &format!("CREATE TABLE t AS {}", union.join(" UNION ALL ")),
        );
    }
}

#[test]
fn rows_that_are_changed() {
    let directory = tempfile::tempdir().unwrap();
    let (_database, connection) = with_table(directory.path(), 1_000_000);
    ends(&connection, &format!("UPDATE t SET x = {SLOW}"));
    ends(&connection, &format!("DELETE FROM t WHERE {SLOW} > 0"));
    ends(
        &connection,
        &format!("ALTER TABLE t ALTER x TYPE BIGINT USING {SLOW}"),
    );
    let merge = "INSERT INTO t SELECT a.* FROM t a, t b WHERE a.r + b.r < 0";
    ends(&connection, merge);
    assert_eq!(
        rows(&connection, "SELECT s FROM t WHERE x < 2000"),
        1_000_000
    );
}

#[test]
fn what_the_storage_does() {
    let directory = tempfile::tempdir().unwrap();
    let (database, connection) = with_table(directory.path(), 2_000_000);
    ends_after(&connection, "CREATE INDEX x ON t (r, s)", SHORTLY_BEFORE);
    ends_after(
        &connection,
        "CREATE UNIQUE INDEX x ON t (s)",
        SHORTLY_BEFORE,
    );
    ends_after(
        &connection,
        "ALTER TABLE t ADD PRIMARY KEY (i)",
        SHORTLY_BEFORE,
    );
    connection.execute("DELETE FROM t WHERE i % 3 = 0").unwrap();
    ends_after(&connection, "VACUUM t", SHORTLY_BEFORE);
    ends_after(
        &connection,
        "SUMMARIZE SELECT md5(s) FROM t",
        SHORTLY_BEFORE,
    );
    let other = directory.path().join("y.hushdb");
    connection
        .execute(&format!("ATTACH '{}' AS y", other.display()))
        .unwrap();
    ends_after(&connection, "COPY FROM DATABASE x TO y", SHORTLY_BEFORE);
    connection
        .execute("SET wal_autocheckpoint = '10GB'")
        .unwrap();
    connection
        .execute("CREATE TABLE small (i BIGINT, s VARCHAR)")
        .unwrap();
    for _ in 0..150 {
        connection
            .execute("INSERT INTO small SELECT i, md5(i::VARCHAR) FROM range(8000) r(i)")
            .unwrap();
    }
    ends_after(&connection, "CHECKPOINT", SHORTLY_BEFORE);
    // All of it is there, and can be stored; who waits for that is ended, too.
    let other = database.connect().unwrap();
    std::thread::scope(|scope| {
        let stores = scope.spawn(move || other.execute("CHECKPOINT").map(drop));
        std::thread::sleep(SHORTLY_BEFORE);
        ends_after(&connection, "CHECKPOINT", SHORTLY_BEFORE);
        stores.join().unwrap().unwrap();
    });
    assert_eq!(rows(&connection, "SELECT s FROM small"), 1_200_000);
}

#[test]
fn a_result_that_is_let_go_and_a_database_that_is_closed() {
    let directory = tempfile::tempdir().unwrap();
    let (database, connection) = with_table(directory.path(), 100_000);
    let long = [
        format!("SELECT * FROM ({ROWS}) ORDER BY r"),
        "SELECT count(*) FROM t a, t b WHERE a.r + b.r < 0".to_string(),
    ];
    for sql in &long {
        let result = connection.execute(sql).unwrap();
        std::thread::sleep(BEFORE);
        let began = Instant::now();
        drop(result);
        rows(&connection, "SELECT sum(i) FROM t GROUP BY x");
        said("let go", began, sql);
        assert!(began.elapsed() < SOON);
    }
    let result = connection.execute(&long[1]).unwrap();
    std::thread::sleep(BEFORE);
    let began = Instant::now();
    drop((connection, database, result));
    said("closed", began, &long[1]);
    assert!(began.elapsed() < SOON);
    // Whoever comes next gets the file soon.
    let path = directory.path().join("x.hushdb");
    while let Err(error) = Database::open(&path) {
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        assert!(began.elapsed() < SOON);
        std::thread::sleep(Duration::from_millis(10));
    }
}
