//! SELECT ... FOR UPDATE and FOR SHARE, and LOCK TABLE.

use super::{
    RC, RR, accounts, connect, database, nothing_is_locked, run, state_of, until_waiting, value,
    while_waiting,
};
use hushdb::{Connection, Database};

fn values(connection: &Connection, sql: &str) -> Vec<String> {
    let batches = connection.execute(sql).unwrap().collect_batches().unwrap();
    let rows = batches.iter().flat_map(|batch| {
        (0..batch.num_rows()).map(|row| {
            let columns = batch.columns().iter();
            let texts = columns.map(|column| {
                let text = hushdb::value_text(column, row).unwrap();
                text.unwrap_or_else(|| "NULL".into())
            });
            texts.collect::<Vec<_>>().join(" ")
        })
    });
    rows.collect()
}

#[test]
fn a_locked_row_is_waited_for_and_read_as_it_is_then() {
    let database = accounts();
    let (one, two) = (connect(&database), connect(&database));
    for select in [
        "SELECT a FROM t WHERE id = 1 FOR UPDATE",
        "SELECT a FROM t AS u WHERE u.id < 2 AND id > 0 ORDER BY b FOR UPDATE OF u",
        "SELECT a FROM t WHERE id = 1 FOR SHARE",
        "SELECT a, b FROM t WHERE b = (SELECT 1001) FOR UPDATE",
        "SELECT a FROM t WHERE id IN (SELECT 1) LIMIT 1 FOR UPDATE",
    ] {
        let before = value(&one, "SELECT a FROM t WHERE id = 1");
        assert_eq!(value(&two, select), before, "{select}");
        run(&one, "BEGIN; UPDATE t SET a = a + 1 WHERE id = 1").unwrap();
        run(&two, "BEGIN").unwrap();
        let read = while_waiting(&database, &one, "COMMIT", &two, select);
        assert_eq!(read.unwrap(), Some(before + 1), "{select}");
        // It stays until the transaction ends, also when it is said before a savepoint is gone back to.
        let changed = while_waiting(
            &database,
            &two,
            "COMMIT",
            &one,
            "UPDATE t SET a = a + 1 WHERE id = 1",
        );
        assert_eq!(changed.unwrap(), Some(1));
        nothing_is_locked(&database);
    }
}

#[test]
fn what_was_read_for_update_is_not_lost() {
    let database = accounts();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let connection = database
                .connect_with(if thread % 2 == 0 { RC } else { RR })
                .unwrap();
            scope.spawn(move || {
                let mut done = 0;
                while done < 5 {
                    run(&connection, "BEGIN").unwrap();
                    let read = run(&connection, "SELECT a FROM t WHERE id = 1 FOR UPDATE");
                    let changed = read.and_then(|read| {
                        let set = read.unwrap() + 1;
                        let sql = format!("UPDATE t SET a = {set} WHERE id = 1; COMMIT");
                        run(&connection, &sql)
                    });
                    match changed {
                        Ok(_) => done += 1,
                        Err(error) => {
                            assert_eq!((error.sqlstate(), thread % 2), ("40001", 1));
                            run(&connection, "ROLLBACK").unwrap();
                        }
                    }
                }
            });
        }
    });
    assert_eq!(
        value(&connect(&database), "SELECT a FROM t WHERE id = 1"),
        140
    );
    nothing_is_locked(&database);
}

#[test]
fn many_share_a_row_and_none_changes_it() {
    let database = accounts();
    let (one, two, three) = (connect(&database), connect(&database), connect(&database));
    let share = "BEGIN; SELECT a FROM t WHERE id = 1 FOR SHARE";
    run(&one, share).unwrap();
    run(&two, share).unwrap();
    assert_eq!(
        state_of(run(&three, "SELECT a FROM t FOR UPDATE NOWAIT")),
        "55P03"
    );
    std::thread::scope(|scope| {
        let change = "UPDATE t SET a = a + 1 WHERE id = 1";
        let waiting = scope.spawn(|| run(&three, change));
        until_waiting(&database, 1);
        run(&two, "COMMIT").unwrap();
        // Who has its share is before those who wait.
        assert_eq!(run(&one, change).unwrap(), Some(1));
        run(&one, "COMMIT").unwrap();
        assert_eq!(waiting.join().unwrap().unwrap(), Some(1));
    });
    assert_eq!(value(&one, "SELECT a FROM t WHERE id = 1"), 102);
    nothing_is_locked(&database);
}

#[test]
fn nowait_fails_at_once_and_skip_locked_takes_what_is_free() {
    let database = accounts();
    let (one, two) = (connect(&database), connect(&database));
    run(
        &one,
        "BEGIN; SELECT * FROM t WHERE id IN (0, 2) FOR UPDATE; SAVEPOINT s; DELETE FROM t WHERE id = 4; ROLLBACK TO s",
    )
    .unwrap();
    for select in [
        "SELECT id FROM t WHERE id = 2 FOR UPDATE NOWAIT",
        "SELECT id FROM t WHERE id + 0 = 2 FOR SHARE NOWAIT",
    ] {
        assert_eq!(state_of(run(&two, select)), "55P03", "{select}");
    }
    let free = |rest: &str| {
        let select = format!("SELECT id FROM t {rest} FOR UPDATE SKIP LOCKED");
        values(&two, &select)
    };
    assert_eq!(free("ORDER BY id"), ["1", "3", "5", "6", "7"]);
    assert_eq!(free("ORDER BY id DESC LIMIT 2"), ["7", "6"]);
    assert_eq!(free("ORDER BY id LIMIT 2 OFFSET 1"), ["3", "5"]);
    assert_eq!(free("WHERE id = 2"), [""; 0]);
    assert_eq!(free("WHERE id = 3"), ["3"]);
    assert_eq!(free("ORDER BY id LIMIT 0"), [""; 0]);
    run(&two, "BEGIN").unwrap();
    assert_eq!(free("ORDER BY id LIMIT 2"), ["1", "3"]);
    let three = connect(&database);
    let select = "SELECT id FROM t ORDER BY id LIMIT 9 FOR SHARE SKIP LOCKED";
    assert_eq!(values(&three, select), ["5", "6", "7"]);
    run(&two, "INSERT INTO t VALUES (8, 1, 8)").unwrap();
    assert_eq!(free("WHERE id >= 7 ORDER BY 1"), ["7", "8"]);
}

#[test]
fn each_job_of_a_queue_is_done_once() {
    let database = database(
        "CREATE TABLE jobs (id INTEGER PRIMARY KEY, state VARCHAR, by_whom INTEGER);
              INSERT INTO jobs SELECT range, 'new', NULL FROM range(300)",
    );
    std::thread::scope(|scope| {
        for worker in 0..6 {
            let connection = connect(&database);
            scope.spawn(move || {
                loop {
                    let next = "BEGIN; SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
                    let Some(id) = run(&connection, next).unwrap() else {
                        return run(&connection, "ROLLBACK").unwrap();
                    };
                    let done = format!(
                        "UPDATE jobs SET state = 'done', by_whom = coalesce(by_whom, 0) + 100 + {worker} WHERE id = {id}; COMMIT"
                    );
                    run(&connection, &done).unwrap();
                }
            });
        }
    });
    let connection = connect(&database);
    let once = "SELECT count(*) FROM jobs WHERE state = 'done' AND by_whom BETWEEN 100 AND 105";
    assert_eq!(value(&connection, once), 300);
    nothing_is_locked(&database);
}

#[test]
fn a_table_without_a_key_is_locked_as_a_whole() {
    let database = database("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2)");
    let (one, two) = (connect(&database), connect(&database));
    run(&one, "BEGIN; SELECT * FROM t WHERE a = 1 FOR UPDATE").unwrap();
    assert_eq!(
        state_of(run(&two, "SELECT * FROM t WHERE a = 2 FOR UPDATE NOWAIT")),
        "55P03"
    );
    let skips = "SELECT * FROM t WHERE a = 2 FOR UPDATE SKIP LOCKED";
    assert_eq!(run(&two, skips).unwrap(), None);
    run(&two, "INSERT INTO t VALUES (3)").unwrap();
    run(&one, "COMMIT").unwrap();
    assert_eq!(run(&two, skips).unwrap(), Some(2));
    nothing_is_locked(&database);
}

#[test]
fn a_repeatable_read_fails_where_the_row_is_another_by_now() {
    let database = accounts();
    let (one, two) = (connect(&database), database.connect_with(RR).unwrap());
    let select = "SELECT a FROM t WHERE id = 1 FOR UPDATE";
    run(&two, "BEGIN; SELECT 1 FROM t").unwrap();
    run(&one, "UPDATE t SET a = 7 WHERE id = 1").unwrap();
    assert_eq!(state_of(run(&two, select)), "40001");
    run(&two, "ROLLBACK; BEGIN").unwrap();
    assert_eq!(value(&two, select), 7);
    run(&two, "ROLLBACK").unwrap();
    nothing_is_locked(&database);
}

#[test]
fn what_has_no_rows_of_one_table_is_refused_by_name() {
    let database = accounts();
    run(&connect(&database), "CREATE VIEW v AS SELECT * FROM t").unwrap();
    let connection = connect(&database);
    for (select, word) in [
        ("SELECT count(*) FROM t", "aggregates"),
        ("SELECT a FROM t GROUP BY a", "GROUP BY"),
        ("SELECT DISTINCT a FROM t", "DISTINCT"),
        ("SELECT row_number() OVER () FROM t", "window"),
        ("SELECT a FROM t UNION SELECT a FROM t", "UNION"),
        ("SELECT 1 WHERE true", "no table"),
        ("SELECT * FROM t, t AS u", "several"),
        ("SELECT * FROM t JOIN t AS u USING (id)", "joins"),
        ("SELECT * FROM (SELECT * FROM t)", "subqueries"),
        ("WITH t AS (SELECT 1) SELECT * FROM t", "WITH"),
        ("SELECT * FROM range(3)", "functions"),
        ("SELECT unnest([1, 2]) FROM t", "unnest"),
    ] {
        let sql = format!("{select} FOR UPDATE");
        let error = run(&connection, &sql).unwrap_err();
        assert_eq!(error.sqlstate(), "0A000", "{sql}: {error}");
        assert!(error.to_string().contains(word), "{sql}: {error}");
    }
    for (sql, state) in [
        ("SELECT * FROM v FOR UPDATE", "42809"),
        ("SELECT * FROM nothing FOR UPDATE", "42P01"),
        ("SELECT * FROM t FOR UPDATE OF u", "42P01"),
        (
            "BEGIN READ ONLY; SELECT * FROM t WHERE id = 1 FOR UPDATE",
            "25006",
        ),
    ] {
        assert_eq!(state_of(run(&connection, sql)), state, "{sql}");
    }
    let does_not_wait = database.connect().unwrap();
    for sql in [
        "SELECT a FROM t WHERE id = 1 FOR UPDATE",
        "SELECT a FROM t FOR SHARE",
        "BEGIN; LOCK TABLE t",
    ] {
        let error = run(&does_not_wait, sql).unwrap_err();
        assert_eq!(error.sqlstate(), "0A000", "{sql}");
        assert!(error.to_string().contains("snapshot isolation"), "{error}");
    }
}

/// Whether the lock of `two` waits for that of `one`.
fn waits(database: &Database, one: &str, two: &str) -> bool {
    let (a, b) = (connect(database), connect(database));
    run(&a, &format!("BEGIN; {one}")).unwrap();
    let state = state_of(run(&b, &format!("BEGIN; SET lock_timeout = 1; {two}")));
    assert!(["00000", "55P03"].contains(&state), "{one} {two}: {state}");
    state == "55P03"
}

#[test]
fn lock_table_keeps_out_what_its_mode_says() {
    let database = accounts();
    let modes = [
        "ACCESS SHARE",
        "ROW SHARE",
        "ROW EXCLUSIVE",
        "SHARE UPDATE EXCLUSIVE",
        "SHARE",
        "SHARE ROW EXCLUSIVE",
        "EXCLUSIVE",
        "ACCESS EXCLUSIVE",
    ];
    // Those that keep each other out in PostgreSQL, "Table-Level Locks".
    let known = [
        ".......x", "......xx", "....xxxx", "...xxxxx", "..xx.xxx", "..xxxxxx", ".xxxxxxx",
        "xxxxxxxx",
    ];
    for (at, one) in modes.iter().enumerate() {
        for (to, two) in modes.iter().enumerate() {
            let lock = |mode: &str| format!("LOCK TABLE t IN {mode} MODE");
            let must = known[at].as_bytes()[to] == b'x';
            let does = waits(&database, &lock(one), &lock(two));
            assert!(does || !must, "{one} and {two}");
        }
    }
    let write = "UPDATE t SET a = 0 WHERE id = 1";
    for (mode, does) in [
        ("ROW EXCLUSIVE", false),
        ("SHARE UPDATE EXCLUSIVE", false),
        ("SHARE", true),
        ("EXCLUSIVE", true),
    ] {
        let lock = format!("LOCK TABLE t IN {mode} MODE");
        assert_eq!(waits(&database, &lock, write), does, "{mode}");
        assert_eq!(waits(&database, write, &lock), does, "{mode}");
        assert!(!waits(&database, &lock, "SELECT * FROM t"), "{mode}");
    }
    nothing_is_locked(&database);
}

#[test]
fn lock_table_stands_in_a_transaction_that_sees_what_comes_before_it() {
    let database = accounts();
    let (one, two) = (connect(&database), database.connect_with(RR).unwrap());
    assert_eq!(state_of(run(&one, "LOCK TABLE t")), "25P01");
    for (sql, state) in [
        ("LOCK TABLE nothing", "42P01"),
        ("LOCK TABLE t IN NO MODE", "42601"),
    ] {
        assert_eq!(state_of(run(&one, &format!("BEGIN; {sql}"))), state);
        if one.in_transaction() {
            run(&one, "ROLLBACK").unwrap();
        }
    }
    run(&one, "BEGIN; LOCK t; UPDATE t SET a = 1 WHERE id = 1").unwrap();
    assert_eq!(
        state_of(run(&two, "BEGIN; LOCK TABLE ONLY t NOWAIT")),
        "55P03"
    );
    run(&two, "ROLLBACK; BEGIN").unwrap();
    while_waiting(&database, &one, "COMMIT", &two, "LOCK TABLE t").unwrap();
    assert_eq!(value(&two, "SELECT a FROM t WHERE id = 1"), 1);
    run(&two, "UPDATE t SET a = a + 1 WHERE id = 1; COMMIT").unwrap();
    // The timeout that is set within a transaction is that of its next waits.
    run(&one, "BEGIN; UPDATE t SET a = 0 WHERE id = 3").unwrap();
    let sql = "BEGIN; UPDATE t SET a = 0 WHERE id = 2; SET lock_timeout = 20; LOCK TABLE t";
    assert_eq!(state_of(run(&two, sql)), "55P03");
}
