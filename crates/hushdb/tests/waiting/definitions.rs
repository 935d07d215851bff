//! Definitions: who waits for whom where tables are made, changed, emptied and written anew.

use super::{
    RR, accounts, connect, database, nothing_is_locked, run, state_of, until_waiting, value,
    while_waiting,
};

#[test]
fn definitions_that_have_nothing_in_common_do_not_conflict() {
    let database = accounts();
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let connection = connect(&database);
            scope.spawn(move || {
                for round in 0..3 {
                    let name = format!("t{thread}_{round}");
                    let make = format!("CREATE TABLE {name} (a INTEGER); CREATE INDEX i{name} ON {name} (a)");
                    run(&connection, &make).unwrap();
                    let fill = format!("BEGIN; INSERT INTO {name} VALUES (1); ALTER TABLE {name} ADD COLUMN b INTEGER; COMMIT");
                    run(&connection, &fill).unwrap();
                }
            });
        }
    });
    let connection = connect(&database);
    let made = "SELECT count(*) FROM duckdb_columns() WHERE table_name LIKE 't%\\_%' ESCAPE '\\'";
    assert_eq!(value(&connection, made), 36);
    nothing_is_locked(&database);
}

#[test]
fn a_definition_waits_for_another_and_goes_on_from_it() {
    let database = accounts();
    let (one, two) = (connect(&database), connect(&database));
    for (held, end, waiting, state) in [
        (
            "CREATE TABLE u (a INTEGER)",
            "ROLLBACK",
            "CREATE TABLE u (a INTEGER)",
            "00000",
        ),
        ("DROP TABLE u", "COMMIT", "DROP TABLE u", "42P01"),
        (
            "CREATE TABLE v (a INTEGER)",
            "COMMIT",
            "CREATE TABLE v (a INTEGER)",
            "42P07",
        ),
        (
            "CREATE TABLE w (a INTEGER)",
            "COMMIT",
            "CREATE TABLE IF NOT EXISTS w (a INTEGER)",
            "00000",
        ),
        (
            "DROP TABLE w",
            "COMMIT",
            "BEGIN; ALTER TABLE w ADD COLUMN b INTEGER",
            "42P01",
        ),
        (
            "CREATE SCHEMA s",
            "COMMIT",
            "BEGIN; CREATE SCHEMA s2; COMMIT",
            "00000",
        ),
        (
            "CREATE VIEW x AS SELECT 1",
            "COMMIT",
            "DROP SCHEMA s CASCADE",
            "00000",
        ),
    ] {
        run(&one, &format!("BEGIN; {held}")).unwrap();
        let shown =
            "SELECT count(*) FROM locks() WHERE kind = 'definitions' AND table_name IS NULL";
        assert_eq!(value(&two, shown), 1);
        let done = while_waiting(&database, &one, end, &two, waiting);
        assert_eq!(state_of(done), state, "{held}; {end} | {waiting}");
        if two.in_transaction() {
            run(&two, "ROLLBACK").unwrap();
        }
    }
    assert_eq!(value(&two, "SELECT count(*) FROM duckdb_tables()"), 2);
    nothing_is_locked(&database);
}

#[test]
fn what_takes_a_table_as_a_whole_waits_for_its_writers_and_misses_none_of_their_rows() {
    for (waiting, rows, after) in [
        (
            "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 5",
            9,
            "SELECT count(*) FROM t WHERE c = 5",
        ),
        (
            "ALTER TABLE t ALTER a TYPE BIGINT",
            9,
            "SELECT count(*) FROM t WHERE a + 2 > 0",
        ),
        (
            "CREATE INDEX i ON t (a)",
            9,
            "SELECT count(*) FROM t WHERE a IN (7, 100)",
        ),
        ("TRUNCATE t", 0, "SELECT count(*) FROM t"),
        ("BEGIN; TRUNCATE t; COMMIT", 0, "SELECT count(*) FROM t"),
        ("VACUUM t", 9, "SELECT count(*) FROM t"),
        ("VACUUM", 9, "SELECT count(*) FROM t"),
    ] {
        let database = accounts();
        let (one, two, other) = (connect(&database), connect(&database), connect(&database));
        run(
            &other,
            "CREATE TABLE u (a INTEGER PRIMARY KEY); INSERT INTO u VALUES (1)",
        )
        .unwrap();
        run(&one, "DELETE FROM t WHERE id = 7").unwrap();
        run(&other, "BEGIN; UPDATE u SET a = 2").unwrap();
        run(
            &one,
            "BEGIN; INSERT INTO t VALUES (20, 7, 20), (21, 7, 21); UPDATE t SET a = 7 WHERE id = 2",
        )
        .unwrap();
        let end = if waiting == "VACUUM" {
            "COMMIT"
        } else {
            "UPDATE t SET a = 7 WHERE id = 3; COMMIT"
        };
        if waiting == "VACUUM" {
            run(&other, "COMMIT").unwrap();
        }
        while_waiting(&database, &one, end, &two, waiting).unwrap();
        assert_eq!(value(&two, "SELECT count(*) FROM t"), rows, "{waiting}");
        assert_eq!(value(&two, after), rows, "{waiting}");
        if other.in_transaction() {
            run(&other, "COMMIT").unwrap();
        }
        assert_eq!(value(&two, "SELECT a FROM u"), 2);
        nothing_is_locked(&database);
    }
}

#[test]
fn who_writes_waits_for_who_defines_and_finds_what_there_is_then() {
    for (held, waiting, end) in [
        (
            "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 3",
            "UPDATE t SET a = a + 3 WHERE id = 1 RETURNING a",
            Ok(103),
        ),
        (
            "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 3",
            "UPDATE t SET a = a + 1 WHERE id = 1 RETURNING a",
            Ok(101),
        ),
        (
            "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 3",
            "INSERT INTO t (id, a, b) VALUES (30, 1, 30) RETURNING a",
            Ok(1),
        ),
        (
            "DROP TABLE t",
            "UPDATE t SET a = a + 1 WHERE id = 1",
            Err("42P01"),
        ),
        ("TRUNCATE t", "UPDATE t SET a = a + 1 WHERE id = 1", Ok(0)),
        (
            "TRUNCATE t",
            "INSERT INTO t VALUES (1, 2, 1001) RETURNING a",
            Ok(2),
        ),
        (
            "DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)",
            "INSERT INTO t (id, a) VALUES (1, 5) RETURNING a",
            Ok(5),
        ),
    ] {
        let database = accounts();
        let (one, two) = (connect(&database), connect(&database));
        run(&one, &format!("BEGIN; {held}")).unwrap();
        let done = while_waiting(&database, &one, "COMMIT", &two, waiting);
        let done = done
            .map(|count| count.unwrap_or(0))
            .map_err(|error| error.sqlstate());
        assert_eq!(done, end, "{held} | {waiting}");
        nothing_is_locked(&database);
    }
}

#[test]
fn a_deadlock_through_a_definition_is_found() {
    let database = accounts();
    let (one, two) = (connect(&database), connect(&database));
    run(&one, "BEGIN; UPDATE t SET a = 0 WHERE id = 1").unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            state_of(run(
                &two,
                "BEGIN; ALTER TABLE t ADD COLUMN c INTEGER; COMMIT",
            ))
        });
        until_waiting(&database, 1);
        let mine = state_of(run(&one, "CREATE TABLE u (a INTEGER); COMMIT"));
        if mine != "00000" {
            run(&one, "ROLLBACK").unwrap();
        }
        let theirs = waiting.join().unwrap();
        if theirs != "00000" {
            run(&two, "ROLLBACK").unwrap();
        }
        let mut both = [mine, theirs];
        both.sort_unstable();
        assert_eq!(both, ["00000", "40P01"]);
    });
    nothing_is_locked(&database);
}

#[test]
fn rows_that_a_program_adds_wait_for_who_has_the_table() {
    let database = database(
        "CREATE TABLE t (a INTEGER); CREATE TABLE u (a INTEGER); INSERT INTO u VALUES (1), (2)",
    );
    let (one, two) = (connect(&database), connect(&database));
    let rows = one
        .execute("SELECT a FROM u")
        .unwrap()
        .collect_batches()
        .unwrap();
    let rows = rows.into_iter().find(|rows| rows.num_rows() == 2).unwrap();
    for begin in ["", "BEGIN"] {
        run(&one, "BEGIN; LOCK TABLE t").unwrap();
        if !begin.is_empty() {
            run(&two, begin).unwrap();
        }
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| two.append(&["t".into()], &[], rows.clone()).map(drop));
            until_waiting(&database, 1);
            run(&one, "ALTER TABLE t ALTER a TYPE BIGINT; COMMIT").unwrap();
            waiting.join().unwrap().unwrap();
        });
        if two.in_transaction() {
            run(&two, "COMMIT").unwrap();
        }
    }
    let many = "INSERT INTO t SELECT range FROM range(10000)";
    run(&one, "BEGIN; LOCK TABLE t").unwrap();
    while_waiting(&database, &one, "COMMIT", &two, many).unwrap();
    assert_eq!(value(&one, "SELECT count(*) FROM t"), 10_004);
    nothing_is_locked(&database);
}

#[test]
fn what_does_not_wait_and_what_cannot() {
    let database = accounts();
    let (one, two) = (connect(&database), database.connect_with(RR).unwrap());
    assert_eq!(state_of(run(&one, "BEGIN; VACUUM")), "25001");
    run(&one, "ROLLBACK").unwrap();
    // A transaction that looked before cannot go on from another's definitions.
    run(&two, "BEGIN; SELECT 1 FROM t").unwrap();
    run(&one, "CREATE TABLE u (a INTEGER)").unwrap();
    assert_eq!(state_of(run(&two, "CREATE TABLE v (a INTEGER)")), "40001");
    run(&two, "ROLLBACK").unwrap();
    run(&one, "BEGIN; CREATE TABLE w (a INTEGER)").unwrap();
    run(&two, "SET lock_timeout = 10").unwrap();
    assert_eq!(state_of(run(&two, "DROP TABLE u")), "55P03");
    run(&one, "COMMIT").unwrap();
    nothing_is_locked(&database);
}

#[test]
fn a_foreign_key_is_not_defined_over_rows_that_come_meanwhile() {
    let setup = "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER);
                 CREATE INDEX by_p ON c (p); INSERT INTO p VALUES (1); INSERT INTO c VALUES (1, 1)";
    for change in ["INSERT INTO c VALUES (2, 999)", "UPDATE c SET p = 999"] {
        let database = database(setup);
        // The other waits for nobody.
        let (one, other) = (connect(&database), database.connect().unwrap());
        run(
            &one,
            "BEGIN; ALTER TABLE c ADD FOREIGN KEY (p) REFERENCES p (id)",
        )
        .unwrap();
        run(&other, change).unwrap();
        let error = run(&one, "COMMIT").unwrap_err();
        assert_eq!(error.sqlstate(), "40001", "{change}: {error}");
        let again = "ALTER TABLE c ADD FOREIGN KEY (p) REFERENCES p (id)";
        assert!(run(&one, again).is_err(), "{change}");
        nothing_is_locked(&database);
    }
}
