//! Transactions of connections that run at the same time, and what ends them without a word of SQL.
//!
//! What must hold: whatever the threads do, sums agree, and who gets `Conflict` has changed nothing.

use hushdb::{Connection, Database, Error, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};

const WRITERS: usize = 4;
const ROUNDS: usize = 25;
const ACCOUNTS: usize = 8;

fn database(directory: &tempfile::TempDir) -> Database {
    Database::open(directory.path().join("t.hushdb")).unwrap()
}

/// The one value that a query gives.
fn value(connection: &Connection, sql: &str) -> hushdb::Result<i64> {
    let batches = connection.execute(sql)?.collect_batches()?;
    let batch = batches.iter().find(|batch| batch.num_rows() > 0).unwrap();
    let text = hushdb::value_text(batch.column(0), 0)?;
    Ok(text.map_or(0, |text| text.parse().unwrap()))
}

/// Does `work` in a transaction, again after each conflict; returns the number of conflicts.
fn transact(
    connection: &Connection,
    mut work: impl FnMut() -> hushdb::Result<()>,
) -> hushdb::Result<usize> {
    for conflicts in 0.. {
        connection.execute("BEGIN")?;
        work()?;
        match connection.execute("COMMIT") {
            Ok(_) => return Ok(conflicts),
            Err(error) if error.kind() == ErrorKind::Conflict => {
                assert_eq!(error.sqlstate(), "40001");
                assert!(!connection.in_transaction());
            }
            Err(error) => return Err(error),
        }
    }
    unreachable!("an endless loop ends by its returns")
}

/// Moves money between accounts from several threads, while a reader holds the total against what it must be.
fn move_money(database: &Database) {
    let connection = database.connect().unwrap();
    connection
        .execute("CREATE TABLE account AS SELECT range AS id, 100 AS balance FROM range(8)")
        .unwrap();
    connection
        .execute("CREATE TABLE moved (writer INTEGER, amount INTEGER)")
        .unwrap();
    let writing = AtomicUsize::new(WRITERS);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let writing = &writing;
            let connection = database.connect().unwrap();
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let from = (writer + round) % ACCOUNTS;
                    let to = (from + 1 + writer) % ACCOUNTS;
                    let run = |sql: String| connection.execute(&sql).map(drop);
                    transact(&connection, || {
                        let had = format!("SELECT balance FROM account WHERE id = {from}");
                        let had = value(&connection, &had)?;
                        run(format!(
                            "UPDATE account SET balance = {had} - 3 WHERE id = {from}"
                        ))?;
                        run(format!(
                            "UPDATE account SET balance = balance + 3 WHERE id = {to}"
                        ))?;
                        run(format!("INSERT INTO moved VALUES ({writer}, 3)"))
                    })
                    .unwrap();
                }
                writing.fetch_sub(1, Ordering::Release);
            });
        }
        let reader = database.connect().unwrap();
        scope.spawn(|| {
            let reader = reader;
            while writing.load(Ordering::Acquire) > 0 {
                reader.execute("BEGIN").unwrap();
                let total = "SELECT sum(balance) FROM account";
                assert_eq!(value(&reader, total).unwrap(), 800);
                let moved = value(&reader, "SELECT count(*) FROM moved").unwrap();
                std::thread::yield_now();
                assert_eq!(value(&reader, total).unwrap(), 800);
                let again = value(&reader, "SELECT count(*) FROM moved").unwrap();
                assert_eq!(moved, again, "a transaction reads one state");
                reader.execute("COMMIT").unwrap();
            }
        });
    });
    let moves = (WRITERS * ROUNDS) as i64;
    assert_eq!(
        value(&connection, "SELECT count(*) FROM moved").unwrap(),
        moves
    );
    assert_eq!(
        value(&connection, "SELECT sum(balance) FROM account").unwrap(),
        800
    );
    assert_eq!(
        value(&connection, "SELECT count(*) FROM account").unwrap(),
        8
    );
}

#[test]
fn sums_agree_in_memory() {
    move_money(&Database::open_in_memory().unwrap());
}

#[test]
fn sums_agree_in_a_file_also_when_it_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    move_money(&database(&directory));
    let connection = database(&directory).connect().unwrap();
    let total = value(&connection, "SELECT sum(balance) FROM account").unwrap();
    assert_eq!(total, 800);
}

#[test]
fn a_connection_that_goes_away_rolls_back() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(&directory);
    let connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a INTEGER)").unwrap();
    let gone = database.connect().unwrap();
    gone.execute(
        "BEGIN; INSERT INTO t VALUES (1); CREATE TABLE u AS SELECT range FROM range(20000)",
    )
    .unwrap();
    assert!(gone.in_transaction());
    drop(gone);
    assert_eq!(value(&connection, "SELECT count(*) FROM t").unwrap(), 0);
    let error = connection.execute("SELECT * FROM u").map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Catalog);
    connection.execute("INSERT INTO t VALUES (2)").unwrap();
}

#[test]
fn a_statement_that_is_cancelled_aborts_its_transaction() {
    let connection = Database::open_in_memory().unwrap().connect().unwrap();
    connection
        .execute("CREATE TABLE t (a BIGINT); BEGIN; INSERT INTO t VALUES (1)")
        .unwrap();
    let handle = connection.interrupt_handle();
    let running = AtomicUsize::new(1);
    let endless = "INSERT INTO t SELECT count(*) FROM range(10000000) x, range(10000000) y \
                   WHERE x.range + y.range = -1";
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while running.load(Ordering::Acquire) > 0 {
                std::thread::sleep(std::time::Duration::from_millis(20));
                handle.interrupt();
            }
        });
        let error = connection.execute(endless).map(drop).unwrap_err();
        running.store(0, Ordering::Release);
        assert_eq!(error.kind(), ErrorKind::Interrupted);
    });
    let error = value(&connection, "SELECT count(*) FROM t").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transaction);
    let error = connection.execute("COMMIT").map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transaction);
    assert!(!connection.in_transaction());
    assert_eq!(value(&connection, "SELECT count(*) FROM t").unwrap(), 0);
}

/// A transaction that has only read a database lets go of its file.
#[test]
fn a_database_that_was_read_can_be_detached_within_a_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let connection = Database::open_in_memory().unwrap().connect().unwrap();
    let attach = format!(
        "ATTACH '{}' AS b",
        directory.path().join("b.hushdb").display()
    );
    connection.execute(&attach).unwrap();
    connection
        .execute("CREATE TABLE b.t AS SELECT 1 AS a; BEGIN")
        .unwrap();
    assert_eq!(value(&connection, "SELECT a FROM b.t").unwrap(), 1);
    connection.execute("DETACH b").unwrap();
    connection.execute(&attach).unwrap();
    connection
        .execute("INSERT INTO b.t VALUES (2); COMMIT")
        .unwrap();
    assert_eq!(value(&connection, "SELECT sum(a) FROM b.t").unwrap(), 3);
}

/// Rows that are read late are those of the state that the query saw, whatever became of its transaction.
#[test]
fn a_result_outlives_its_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let connection = database(&directory).connect().unwrap();
    connection
        .execute("CREATE TABLE t AS SELECT range AS a FROM range(300000)")
        .unwrap();
    let sum = |batches: Result<Vec<_>, Error>| -> usize {
        batches
            .unwrap()
            .iter()
            .map(|b: &arrow::record_batch::RecordBatch| b.num_rows())
            .sum()
    };
    connection.execute("BEGIN").unwrap();
    let before = connection.execute("SELECT a FROM t").unwrap();
    connection
        .execute("INSERT INTO t SELECT * FROM range(200000)")
        .unwrap();
    let within = connection.execute("SELECT a FROM t").unwrap();
    connection.execute("ROLLBACK").unwrap();
    connection
        .execute("CREATE TABLE u AS SELECT range + 7 AS a FROM range(200000)")
        .unwrap();
    assert_eq!(sum(within.collect_batches()), 500_000);
    assert_eq!(sum(before.collect_batches()), 300_000);
}

/// Two statements at once on one connection run one after the other, in its transaction.
#[test]
fn one_connection_on_two_threads() {
    let connection = Database::open_in_memory().unwrap().connect().unwrap();
    connection
        .execute("CREATE TABLE t (a INTEGER); BEGIN")
        .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..20 {
                    connection.execute("INSERT INTO t VALUES (1)").unwrap();
                }
            });
        }
    });
    assert_eq!(value(&connection, "SELECT sum(a) FROM t").unwrap(), 40);
    connection.execute("ROLLBACK").unwrap();
    assert_eq!(value(&connection, "SELECT count(*) FROM t").unwrap(), 0);
}

/// Threads that add and change the same few keys: nobody sees a key twice, and no addition to a counter is lost.
#[test]
fn upserts_side_by_side_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(&directory);
    let connection = database.connect().unwrap();
    connection
        .execute("CREATE TABLE hits (page VARCHAR PRIMARY KEY, n INTEGER)")
        .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            let connection = database.connect().unwrap();
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let sql = format!(
                        "INSERT INTO hits VALUES ('page {}', 1) ON CONFLICT (page) DO UPDATE SET n = n + excluded.n",
                        round % 5
                    );
                    connection.execute(&sql).unwrap();
                    connection
                        .execute("INSERT OR IGNORE INTO hits VALUES ('first', 0)")
                        .unwrap();
                }
            });
        }
    });
    let hits = (WRITERS * ROUNDS) as i64;
    assert_eq!(value(&connection, "SELECT sum(n) FROM hits").unwrap(), hits);
    assert_eq!(value(&connection, "SELECT count(*) FROM hits").unwrap(), 6);
}

/// Of those who add one key at once, one wins; the others are told by a code that programs act upon.
#[test]
fn one_key_is_added_once() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(&directory);
    let connection = database.connect().unwrap();
    connection
        .execute(
            "CREATE TABLE t (k INTEGER PRIMARY KEY, writer INTEGER NOT NULL, CHECK (writer >= 0))",
        )
        .unwrap();
    let won = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (won, connection) = (&won, database.connect().unwrap());
            scope.spawn(move || {
                let insert = connection.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
                for k in 0..ROUNDS {
                    match insert.execute(&[k.into(), writer.into()]) {
                        Ok(_) => drop(won.fetch_add(1, Ordering::Relaxed)),
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
                            assert_eq!(error.sqlstate(), "23505");
                        }
                    }
                }
            });
        }
    });
    assert_eq!(won.into_inner(), ROUNDS);
    drop(connection);
    drop(database);
    let connection = self::database(&directory).connect().unwrap();
    let found = value(&connection, "SELECT count(*) FROM t").unwrap();
    assert_eq!(found, ROUNDS as i64);
    for (sql, state) in [
        ("INSERT INTO t VALUES (0, 0)", "23505"),
        ("INSERT INTO t VALUES (-1, NULL)", "23502"),
        ("INSERT INTO t VALUES (-1, -1)", "23514"),
        (
            "INSERT INTO t VALUES (0, 1), (0, 2) ON CONFLICT (k) DO UPDATE SET writer = 0",
            "21000",
        ),
    ] {
        let error = connection.execute(sql).map(drop).unwrap_err();
        assert_eq!(error.sqlstate(), state, "{sql}: {error}");
    }
}
