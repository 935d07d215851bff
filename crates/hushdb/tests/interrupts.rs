//! Statements that would go on for very long, interrupted from another thread: each ends with `Interrupted` soon.
//!
//! Not held yet: sorts of very many rows, joins without keys that find next to nothing, and files that are read or written go on in
//! the threads of the engine until the step that they are in is done.

use hushdb::{Connection, Database, ErrorKind, Result};
use std::time::{Duration, Instant};

/// What is let go by before the interrupt, so that the statement is in the midst of its work.
const BEFORE: Duration = Duration::from_millis(400);
/// Far more than an interrupt takes on a busy machine, and far less than the statements would.
const SOON: Duration = Duration::from_secs(8);

/// A hundred million rows.
const ROWS: &str = "SELECT (i * 7919 + j) % 10007 AS x, i, random() AS r FROM range(10000) a(i), range(10000) b(j)";

/// Holds that a statement ends soon after it was interrupted.
fn ends(connection: &Connection, sql: &str) {
    let handle = connection.interrupt_handle();
    let (begun, began) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let statement = scope.spawn(move || -> Result<()> {
            begun.send(()).unwrap();
            connection
                .execute(sql)?
                .try_for_each(|batch| batch.map(drop))
        });
        began.recv().unwrap();
        std::thread::sleep(BEFORE);
        let asked = Instant::now();
        // Until it began there is nothing to interrupt.
        while !statement.is_finished() {
            handle.interrupt();
            std::thread::sleep(Duration::from_millis(20));
            assert!(asked.elapsed() < SOON, "{}", &sql[..sql.len().min(100)]);
        }
        let error = statement.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
    });
}

fn connection() -> Connection {
    Database::open_in_memory().unwrap().connect().unwrap()
}

#[test]
fn a_recursive_query_without_end() {
    ends(
        &connection(),
        "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r",
    );
}

#[test]
fn a_table_that_is_made_of_a_query() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("x.hushdb")).unwrap();
    let connection = database.connect().unwrap();
    ends(&connection, &format!("CREATE TABLE t AS {ROWS}"));
    connection.execute("CREATE TABLE t (i INTEGER)").unwrap();
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
    ends(
        &connection,
        &format!("SELECT count(*) FROM t t0 {}", joins.join(" ")),
    );
}
