//! Statements that have others within WITH which change rows.

use super::{accounts, connect, nothing_is_locked, run, value, while_waiting};

const COUNTED: &str = "WITH up AS (UPDATE t SET a = a + 1 WHERE id = 1 RETURNING a), kept AS (INSERT INTO seen SELECT a FROM up RETURNING a) \
                       SELECT a FROM kept";

#[test]
fn who_waited_does_all_parts_again_and_each_once() {
    let database = accounts();
    run(&connect(&database), "CREATE TABLE seen (a INTEGER)").unwrap();
    let before = value(&connect(&database), "SELECT a FROM t WHERE id = 1");
    std::thread::scope(|scope| {
        for of in 0..16 {
            let connection = connect(&database);
            let sql = match of % 2 {
                0 => COUNTED.to_owned(),
                _ => format!("BEGIN; {COUNTED}; COMMIT"),
            };
            scope.spawn(move || {
                for _ in 0..4 {
                    run(&connection, &sql).unwrap();
                }
            });
        }
    });
    let connection = connect(&database);
    let after = value(&connection, "SELECT a FROM t WHERE id = 1");
    assert_eq!(after - before, 64);
    // Each has seen a number of its own.
    let distinct = "SELECT count(DISTINCT a) FROM seen WHERE a > 0";
    assert_eq!(value(&connection, distinct), 64);
    assert_eq!(value(&connection, "SELECT count(*) FROM seen"), 64);
    nothing_is_locked(&database);
}

#[test]
fn a_later_part_that_waited_leaves_nothing_of_the_first_attempt() {
    let database = accounts();
    let (holder, waiter) = (connect(&database), connect(&database));
    run(&holder, "CREATE TABLE seen (a INTEGER)").unwrap();
    for whole in [false, true] {
        run(&holder, "BEGIN; UPDATE t SET a = 5 WHERE id = 1").unwrap();
        if whole {
            run(&waiter, "BEGIN; INSERT INTO seen VALUES (-1)").unwrap();
        }
        let sql = "WITH one AS (INSERT INTO seen SELECT a FROM t WHERE id = 1), two AS (UPDATE t SET a = a + 1 WHERE id = 1 RETURNING a) \
                   SELECT a FROM two";
        let got = while_waiting(&database, &holder, "COMMIT", &waiter, sql);
        assert_eq!(got.unwrap(), Some(6));
        if whole {
            run(&waiter, "COMMIT").unwrap();
        }
    }
    assert_eq!(value(&waiter, "SELECT count(*) FROM seen"), 3);
    assert_eq!(value(&waiter, "SELECT count(*) FROM seen WHERE a = 5"), 2);
    nothing_is_locked(&database);
}

#[test]
fn a_queue_is_worked_off_by_many() {
    let database = accounts();
    let connection = connect(&database);
    run(
        &connection,
        "CREATE TABLE jobs (id INTEGER PRIMARY KEY); CREATE TABLE done (id INTEGER); INSERT INTO jobs SELECT range FROM range(60)",
    )
    .unwrap();
    let next = "WITH next AS (SELECT id FROM jobs ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED), \
                taken AS (DELETE FROM jobs WHERE id IN (SELECT id FROM next) RETURNING id) INSERT INTO done SELECT id FROM taken";
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let connection = connect(&database);
            scope.spawn(move || {
                while value(&connection, "SELECT count(*) FROM jobs") > 0 {
                    run(&connection, next).unwrap();
                }
            });
        }
    });
    assert_eq!(value(&connection, "SELECT count(*) FROM done"), 60);
    assert_eq!(
        value(&connection, "SELECT count(DISTINCT id) FROM done"),
        60
    );
    nothing_is_locked(&database);
}
