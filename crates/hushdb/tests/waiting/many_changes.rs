//! Transactions that have changed many rows, whose statements about one key look whether others have changed that one alone.
//!
//! What must hold: they see what others have committed as all statements under READ COMMITTED do.

use super::*;

/// A transaction that has changed rows 0 to 199 of 500, each by a statement of its own, and another connection.
fn large(directory: Option<&tempfile::TempDir>) -> (Database, Connection, Connection) {
    let database = match directory {
        Some(directory) => Database::open(directory.path().join("t.hushdb")).unwrap(),
        None => database("SELECT 1"),
    };
    let setup = "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER); CREATE TABLE u (id INTEGER PRIMARY KEY);
                 CREATE INDEX by_a ON t (a); INSERT INTO t SELECT range, 100 FROM range(500); CHECKPOINT";
    run(&database.connect().unwrap(), setup).unwrap();
    let (one, other) = (connect(&database), connect(&database));
    run(&one, "BEGIN").unwrap();
    for id in 0..200 {
        let sql = format!("UPDATE t SET a = a + 1 WHERE id = {id}");
        assert_eq!(value(&one, &sql), 1);
    }
    (database, one, other)
}

#[test]
fn statements_by_key_see_what_others_commit_and_their_own_changes() {
    let directory = tempfile::tempdir().unwrap();
    for directory in [None, Some(&directory)] {
        let (database, one, other) = large(directory);
        let of = |id: i64| value(&one, &format!("SELECT a FROM t WHERE id = {id}"));
        let count = |sql: &str| value(&one, sql);
        run(&other, "UPDATE t SET a = 7 WHERE id = 300").unwrap();
        assert_eq!(of(300), 7);
        assert_eq!((of(5), of(299)), (101, 100));
        run(&other, "INSERT INTO t VALUES (1000, 1)").unwrap();
        assert_eq!(count("UPDATE t SET a = a + 1 WHERE id = 1000"), 1);
        assert_eq!(of(1000), 2);
        run(&other, "DELETE FROM t WHERE id = 301").unwrap();
        assert_eq!(count("UPDATE t SET a = 0 WHERE id = 301"), 0);
        assert_eq!(count("DELETE FROM t WHERE id = 301"), 0);
        // What nobody else has changed, beside others' commits.
        run(
            &other,
            "UPDATE t SET a = a + 1 WHERE id BETWEEN 400 AND 499",
        )
        .unwrap();
        assert_eq!(count("UPDATE t SET a = a + 1 WHERE id = 302"), 1);
        assert_eq!(count("UPDATE t SET a = a + 1 WHERE id = 5"), 1);
        assert_eq!(count("DELETE FROM t WHERE id = 6"), 1);
        assert_eq!((of(5), of(302)), (102, 101));
        assert_eq!(count("SELECT count(*) FROM t WHERE id = 6"), 0);
        // A key that is not unique.
        run(&other, "UPDATE t SET a = 55 WHERE id IN (310, 311)").unwrap();
        assert_eq!(count("UPDATE t SET a = 56 WHERE a = 55"), 2);
        // Others define something, and rows move into the file.
        run(&other, "ALTER TABLE u ADD COLUMN b INTEGER").unwrap();
        assert_eq!(count("UPDATE t SET a = a + 1 WHERE id = 303"), 1);
        run(&other, "CHECKPOINT").unwrap();
        assert_eq!(count("UPDATE t SET a = a + 1 WHERE id = 304"), 1);
        // Statements that need a plan.
        run(&other, "UPDATE t SET a = 1000 WHERE id = 305").unwrap();
        assert_eq!(count("SELECT max(a) FROM t"), 1000);
        assert_eq!(count("UPDATE t SET a = 2000 WHERE a + 0 = 1000"), 1);
        run(&one, "COMMIT").unwrap();
        let sum = "SELECT sum(a) FROM t WHERE id < 200";
        assert_eq!(value(&other, sum), 200 * 101 + 1 - 101);
        assert_eq!(value(&other, "SELECT a FROM t WHERE id = 305"), 2000);
        assert_eq!(
            value(&other, "SELECT sum(a) FROM t WHERE id IN (302, 303, 304)"),
            303
        );
        nothing_is_locked(&database);
    }
}

#[test]
fn a_row_that_another_holds_is_waited_for_and_looked_at_again() {
    let (database, one, other) = large(None);
    run(&other, "BEGIN; UPDATE t SET a = 10 WHERE id = 400").unwrap();
    let sql = "UPDATE t SET a = a + 1 WHERE id = 400";
    let done = while_waiting(&database, &other, "COMMIT", &one, sql);
    assert_eq!(done.unwrap(), Some(1));
    assert_eq!(value(&one, "SELECT a FROM t WHERE id = 400 FOR UPDATE"), 11);
    run(&other, "BEGIN; DELETE FROM t WHERE id = 401").unwrap();
    let sql = "SELECT a FROM t WHERE id = 401 FOR UPDATE";
    let done = while_waiting(&database, &other, "COMMIT", &one, sql);
    assert_eq!(done.unwrap(), None);
    run(&one, "COMMIT").unwrap();
    assert_eq!(value(&other, "SELECT a FROM t WHERE id = 400"), 11);
    nothing_is_locked(&database);
}

#[test]
fn two_large_transactions_and_many_small_ones_lose_nothing() {
    let database = database(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER); INSERT INTO t SELECT range, 0 FROM range(1000)",
    );
    let failed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for client in 0..4 {
            let (database, failed) = (&database, &failed);
            scope.spawn(move || {
                let connection = connect(database);
                // In ascending order: nobody waits in a circle.
                let keys: Vec<i64> = (0..1000).filter(|id| id % (client + 2) == 0).collect();
                for part in keys.chunks(if client < 2 { 150 } else { 1 }) {
                    let work = || {
                        run(&connection, "BEGIN")?;
                        for id in part {
                            run(
                                &connection,
                                &format!("UPDATE t SET a = a + 1 WHERE id = {id}"),
                            )?;
                        }
                        run(&connection, "COMMIT")
                    };
                    failed.fetch_add(usize::from(work().is_err()), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(failed.into_inner(), 0);
    let expected: usize = (2..6)
        .map(|n| (0..1000).filter(|id| id % n == 0).count())
        .sum();
    let sum = value(&database.connect().unwrap(), "SELECT sum(a) FROM t");
    assert_eq!(sum, expected as i64);
    nothing_is_locked(&database);
}

#[test]
fn foreign_keys_are_held_against_what_others_commit_by_the_statement() {
    let setup = "CREATE TABLE p (id INTEGER PRIMARY KEY, a INTEGER); CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id));
                 CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER); INSERT INTO t VALUES (1, 1); INSERT INTO p VALUES (1, 1), (2, 2), (3, 3);
                 INSERT INTO c VALUES (1, 1)";
    let database = database(setup);
    let (one, other) = (connect(&database), connect(&database));
    run(&one, "BEGIN; UPDATE t SET a = 2 WHERE id = 1").unwrap();
    run(
        &other,
        "DELETE FROM c WHERE id = 1; INSERT INTO c VALUES (2, 2)",
    )
    .unwrap();
    // Nothing names it any more, which the older state does not know.
    assert_eq!(value(&one, "DELETE FROM p WHERE id = 1"), 1);
    run(&other, "INSERT INTO p VALUES (4, 4)").unwrap();
    assert_eq!(value(&one, "UPDATE c SET p = 4 WHERE id = 2"), 1);
    run(&one, "COMMIT").unwrap();
    run(&one, "BEGIN; UPDATE t SET a = 3 WHERE id = 1").unwrap();
    run(&other, "INSERT INTO c VALUES (3, 3)").unwrap();
    // The statement is told, not the commit.
    let error = run(&one, "DELETE FROM p WHERE id = 3").unwrap_err();
    assert_eq!(error.sqlstate(), "23503", "{error}");
    run(&one, "ROLLBACK").unwrap();
    nothing_is_locked(&database);
}
