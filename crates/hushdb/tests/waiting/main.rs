//! Connections that wait for each other: READ COMMITTED and REPEATABLE READ, on threads.
//!
//! What must hold: what was added is there, once; nobody who waits fails with 40001 under READ COMMITTED; nothing stays locked.

mod advisory;
mod definitions;
mod histories;
mod many_changes;
mod queued;
mod row_locks;
mod two_databases;
mod with_changes;

use hushdb::{Connection, Database, Error, Isolation};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const RC: Isolation = Isolation::ReadCommitted;
const RR: Isolation = Isolation::RepeatableRead;

thread_local! {
    /// Where the databases of a test lie that are files; gone with its thread.
    static DIRECTORIES: RefCell<Vec<TempDir>> = const { RefCell::new(vec![]) };
}

/// What the databases of this suite are called: in memory, or files where it is part of `waiting_on_files.rs`.
fn name() -> &'static str {
    match module_path!() {
        "waiting" => "memory",
        _ => "on_file",
    }
}

fn database(tables: &str) -> Database {
    let database = match name() {
        "memory" => Database::open_in_memory().unwrap(),
        name => {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(format!("{name}.hushdb"));
            DIRECTORIES.with_borrow_mut(|all| all.push(directory));
            let database = Database::open(path).unwrap();
            // Checkpoints come between.
            run(
                &database.connect().unwrap(),
                "SET wal_autocheckpoint = '8KB'",
            )
            .unwrap();
            database
        }
    };
    run(&database.connect().unwrap(), tables).unwrap();
    database
}

/// A table of accounts with a primary key.
fn accounts() -> Database {
    database(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER UNIQUE);
              INSERT INTO t SELECT range, 100, range + 1000 FROM range(8)",
    )
}

fn connect(database: &Database) -> Connection {
    database.connect_with(RC).unwrap()
}

/// Runs statements; gives the last one's count or first value.
fn run(connection: &Connection, sql: &str) -> Result<Option<i64>, Error> {
    let batches = connection.execute(sql)?.collect_batches()?;
    let Some(batch) = batches.iter().find(|batch| batch.num_rows() > 0) else {
        return Ok(None);
    };
    let text = hushdb::value_text(batch.column(0), 0)?;
    Ok(text.and_then(|text| text.parse().ok()))
}

fn value(connection: &Connection, sql: &str) -> i64 {
    run(connection, sql).unwrap().unwrap()
}

fn state_of(result: Result<Option<i64>, Error>) -> &'static str {
    result.map_or_else(|error| error.sqlstate(), |_| "00000")
}

/// Until so many wait.
fn until_waiting(database: &Database, waiters: i64) {
    let connection = database.connect().unwrap();
    let began = Instant::now();
    while value(
        &connection,
        "SELECT count(*) FROM locks() WHERE NOT granted",
    ) < waiters
    {
        assert!(began.elapsed() < Duration::from_secs(60), "nobody waits");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn nothing_is_locked(database: &Database) {
    let connection = database.connect().unwrap();
    assert_eq!(value(&connection, "SELECT count(*) FROM locks()"), 0);
}

/// `waiter` runs `sql`; while it waits `meanwhile` is run on `holder`, which ends the wait.
fn while_waiting(
    database: &Database,
    holder: &Connection,
    meanwhile: &str,
    waiter: &Connection,
    sql: &str,
) -> Result<Option<i64>, Error> {
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| run(waiter, sql));
        until_waiting(database, 1);
        run(holder, meanwhile).unwrap();
        waiting.join().unwrap()
    })
}

fn add_side_by_side(database: &Database, threads: i64, rounds: i64, sql: &str) {
    let before = value(&database.connect().unwrap(), "SELECT a FROM t WHERE id = 1");
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let connection = connect(database);
            scope.spawn(move || {
                for _ in 0..rounds {
                    run(&connection, sql).unwrap();
                }
            });
        }
    });
    let after = value(&database.connect().unwrap(), "SELECT a FROM t WHERE id = 1");
    assert_eq!(after - before, threads * rounds);
    nothing_is_locked(database);
}

#[test]
fn sixty_four_add_to_one_row_and_nothing_is_lost() {
    let database = accounts();
    add_side_by_side(&database, 64, 4, "UPDATE t SET a = a + 1 WHERE id = 1");
    let whole = "BEGIN; UPDATE t SET a = a + 1 WHERE id = 1; COMMIT";
    add_side_by_side(&database, 64, 2, whole);
}

#[test]
fn sixty_four_add_to_one_row_of_a_file_that_checkpoints() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.hushdb");
    let database = Database::open(&path).unwrap();
    let connection = database.connect().unwrap();
    run(
        &connection,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER); INSERT INTO t VALUES (1, 0)",
    )
    .unwrap();
    run(&connection, "SET wal_autocheckpoint = '20KB'").unwrap();
    let whole = "BEGIN; UPDATE t SET a = a + 1 WHERE id = 1; INSERT INTO t SELECT max(id) + 1, 0 FROM t ON CONFLICT DO NOTHING; COMMIT";
    add_side_by_side(&database, 64, 2, whole);
    drop((connection, database));
    let database = Database::open(&path).unwrap();
    assert_eq!(
        value(&connect(&database), "SELECT a FROM t WHERE id = 1"),
        128
    );
}

#[test]
fn a_predicate_on_the_column_that_changes_is_looked_at_again() {
    let database = database(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER); INSERT INTO t VALUES (1, 0), (2, 5), (3, 0)",
    );
    let (one, two) = (connect(&database), connect(&database));
    run(
        &one,
        "BEGIN; UPDATE t SET a = 5 WHERE id = 1; UPDATE t SET a = 6 WHERE id = 2",
    )
    .unwrap();
    let changed = while_waiting(
        &database,
        &one,
        "COMMIT",
        &two,
        "UPDATE t SET a = a + 100 WHERE a = 5",
    );
    assert_eq!(changed.unwrap(), Some(1));
    assert_eq!(value(&one, "SELECT a FROM t WHERE id = 1"), 105);
    assert_eq!(value(&one, "SELECT a FROM t WHERE id = 2"), 6);
    nothing_is_locked(&database);
}

#[test]
fn money_is_conserved_and_only_deadlocks_fail() {
    let database = accounts();
    let deadlocks = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8_i64 {
            let connection = connect(&database);
            let deadlocks = &deadlocks;
            scope.spawn(move || {
                for round in 0..10_i64 {
                    let (from, to) = ((thread * 3 + round) % 8, (thread + round * 5 + 1) % 8);
                    let moved = run(
                        &connection,
                        &format!(
                            "BEGIN; UPDATE t SET a = a - 7 WHERE id = {from}; UPDATE t SET a = a + 7 WHERE id = {to}; COMMIT"
                        ),
                    );
                    if let Err(error) = moved {
                        assert_eq!(error.sqlstate(), "40P01", "{error}");
                        deadlocks.fetch_add(1, Ordering::Relaxed);
                        run(&connection, "ROLLBACK").unwrap();
                    }
                }
            });
        }
    });
    let connection = connect(&database);
    assert_eq!(value(&connection, "SELECT sum(a) FROM t"), 800);
    assert_eq!(value(&connection, "SELECT count(*) FROM t"), 8);
    assert!(deadlocks.into_inner() < 80);
    nothing_is_locked(&database);
}

/// Each of a circle has changed its own row, and changes the next one's.
fn circle(connections: &[Connection]) {
    let results: Vec<&str> = std::thread::scope(|scope| {
        let all = connections.len();
        for (at, connection) in connections.iter().enumerate() {
            run(
                connection,
                &format!("BEGIN; UPDATE t SET a = 0 WHERE id = {at}"),
            )
            .unwrap();
        }
        let started = connections.iter().enumerate().map(|(at, connection)| {
            scope.spawn(move || {
                let next = (at + 1) % all;
                let sql = format!("UPDATE t SET a = a + 1 WHERE id = {next}; COMMIT");
                state_of(run(connection, &sql))
            })
        });
        let started: Vec<_> = started.collect();
        started
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let failed = results.iter().filter(|state| **state == "40P01").count();
    assert_eq!(failed, 1, "{results:?}");
    let rest = results.iter().filter(|state| **state == "00000").count();
    assert_eq!(rest, connections.len() - 1, "{results:?}");
}

#[test]
fn of_two_and_of_three_that_wait_for_each_other_one_fails() {
    let database = accounts();
    circle(&[connect(&database), connect(&database)]);
    circle(&[connect(&database), connect(&database), connect(&database)]);
    nothing_is_locked(&database);
}

#[test]
fn a_wait_ends_by_cancel_by_timeout_and_when_the_holder_is_gone() {
    let database = accounts();
    let (holder, waiter) = (connect(&database), connect(&database));
    run(
        &holder,
        "BEGIN; UPDATE t SET a = 0 WHERE id = 1; UPDATE t SET b = 7 WHERE id = 3",
    )
    .unwrap();
    for sql in [
        "UPDATE t SET a = 1 WHERE id = 1",
        "DELETE FROM t WHERE a < 1000",
        "INSERT INTO t VALUES (1, 2, 3) ON CONFLICT (id) DO UPDATE SET a = 9",
        "INSERT INTO t VALUES (77, 0, 7)",
        "INSERT INTO t VALUES (1, 2, 3)",
        "BEGIN; DELETE FROM t WHERE id = 1",
    ] {
        let handle = waiter.interrupt_handle();
        let ended = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| state_of(run(&waiter, sql)));
            until_waiting(&database, 1);
            handle.interrupt();
            waiting.join().unwrap()
        });
        assert_eq!(ended, "57014", "{sql}");
        if waiter.in_transaction() {
            run(&waiter, "ROLLBACK").unwrap();
        }
    }
    run(&waiter, "SET lock_timeout = 50").unwrap();
    assert_eq!(
        state_of(run(&waiter, "UPDATE t SET a = 1 WHERE id = 1")),
        "55P03"
    );
    run(&waiter, "SET lock_timeout = 0").unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| run(&waiter, "UPDATE t SET a = a + 1 WHERE id = 1"));
        until_waiting(&database, 1);
        drop(holder);
        assert_eq!(waiting.join().unwrap().unwrap(), Some(1));
    });
    assert_eq!(value(&waiter, "SELECT a FROM t WHERE id = 1"), 101);
    nothing_is_locked(&database);
}

/// What one does, how it ends, what another waits for meanwhile, and its count or SQLSTATE.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    Result<i64, &'static str>,
);

const CASES: [Case; 14] = [
    (
        "UPDATE t SET a = 1 WHERE id = 1",
        "ROLLBACK",
        "UPDATE t SET a = a + 1 WHERE id = 1 RETURNING a",
        Ok(101),
    ),
    (
        "UPDATE t SET a = 1 WHERE id = 1",
        "COMMIT",
        "UPDATE t SET a = a + 1 WHERE id = 1 RETURNING a",
        Ok(2),
    ),
    (
        "DELETE FROM t WHERE id = 2",
        "COMMIT",
        "UPDATE t SET a = 0 WHERE id = 2",
        Ok(0),
    ),
    (
        "UPDATE t SET id = 30 WHERE id = 3",
        "COMMIT",
        "DELETE FROM t WHERE id = 3",
        Ok(0),
    ),
    (
        "DELETE FROM t WHERE id = 4",
        "COMMIT",
        "INSERT INTO t VALUES (4, 44, 4)",
        Ok(1),
    ),
    (
        "DELETE FROM t WHERE id = 5",
        "ROLLBACK",
        "INSERT INTO t VALUES (5, 55, 5)",
        Err("23505"),
    ),
    (
        "DELETE FROM t WHERE id = 5",
        "COMMIT",
        "INSERT INTO t VALUES (50, 1, 1005)",
        Ok(1),
    ),
    (
        "INSERT INTO t VALUES (60, 1, 60)",
        "COMMIT",
        "INSERT INTO t VALUES (60, 2, 61)",
        Err("23505"),
    ),
    (
        "INSERT INTO t VALUES (61, 1, 62)",
        "ROLLBACK",
        "INSERT INTO t VALUES (61, 2, 62)",
        Ok(1),
    ),
    (
        "INSERT INTO t VALUES (62, 1, 63)",
        "COMMIT",
        "INSERT INTO t VALUES (63, 2, 63)",
        Err("23505"),
    ),
    (
        "UPDATE t SET b = 90 WHERE id = 6",
        "COMMIT",
        "INSERT INTO t VALUES (64, 2, 1006)",
        Ok(1),
    ),
    (
        "INSERT INTO t VALUES (70, 1, 70)",
        "COMMIT",
        "INSERT INTO t VALUES (70, 2, 71) ON CONFLICT (id) DO UPDATE SET a = t.a + 10 RETURNING a",
        Ok(11),
    ),
    (
        "DELETE FROM t WHERE id = 7",
        "COMMIT",
        "INSERT INTO t VALUES (7, 2, 71) ON CONFLICT (id) DO UPDATE SET a = t.a + 10 RETURNING a",
        Ok(2),
    ),
    (
        "INSERT INTO t VALUES (71, 1, 72)",
        "COMMIT",
        "INSERT INTO t VALUES (71, 2, 73) ON CONFLICT DO NOTHING",
        Ok(0),
    ),
];

#[test]
fn what_the_holder_did_is_what_the_waiter_finds() {
    let database = accounts();
    let (one, two) = (connect(&database), connect(&database));
    for (held, end, waiting, answer) in CASES {
        for begin in ["", "BEGIN; "] {
            run(&one, "BEGIN; SAVEPOINT s").unwrap();
            run(&one, held).unwrap();
            let done = while_waiting(&database, &one, end, &two, &format!("{begin}{waiting}"));
            let done = done
                .map(|count| count.unwrap_or(0))
                .map_err(|error| error.sqlstate());
            assert_eq!(done, answer, "{held}; {end} | {begin}{waiting}");
            if two.in_transaction() {
                run(&two, "ROLLBACK").unwrap();
            }
            run(
                &one,
                "DELETE FROM t; INSERT INTO t SELECT range, 100, range + 1000 FROM range(8)",
            )
            .unwrap();
        }
    }
    nothing_is_locked(&database);
}

#[test]
fn a_table_without_a_key_has_one_changer_at_a_time_and_takes_inserts() {
    let database = database("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2)");
    let (one, two) = (connect(&database), connect(&database));
    run(&one, "BEGIN; UPDATE t SET a = 10 WHERE a = 1").unwrap();
    run(&two, "INSERT INTO t VALUES (3)").unwrap();
    let changed = while_waiting(&database, &one, "COMMIT", &two, "UPDATE t SET a = a + 1");
    assert_eq!(changed.unwrap(), Some(3));
    assert_eq!(value(&one, "SELECT sum(a) FROM t"), 18);
    nothing_is_locked(&database);
}

#[test]
fn repeatable_read_waits_and_fails_then() {
    let database = accounts();
    let (one, two) = (connect(&database), database.connect_with(RR).unwrap());
    for (end, state) in [("COMMIT", "40001"), ("ROLLBACK", "00000")] {
        run(&one, "BEGIN; UPDATE t SET a = a + 1 WHERE id = 1").unwrap();
        run(&two, "BEGIN; SELECT * FROM t").unwrap();
        let sql = "UPDATE t SET a = a + 1 WHERE id = 1";
        assert_eq!(
            state_of(while_waiting(&database, &one, end, &two, sql)),
            state
        );
        let before = value(&one, "SELECT sum(a) FROM t");
        run(&one, "UPDATE t SET a = a + 1 WHERE id = 2").unwrap();
        if state == "00000" {
            assert_eq!(
                value(&two, "SELECT sum(a) FROM t"),
                before + 1,
                "it sees one state"
            );
        }
        run(&two, "ROLLBACK").unwrap();
    }
    nothing_is_locked(&database);
}

#[test]
fn a_transaction_goes_on_from_what_others_did() {
    let database = accounts();
    let (one, two) = (connect(&database), connect(&database));
    run(
        &one,
        "BEGIN; INSERT INTO t VALUES (20, 1, 20), (21, 1, 21); SAVEPOINT early",
    )
    .unwrap();
    // Row groups of others, as small as its own and beside them.
    for id in 30..40 {
        run(&two, &format!("INSERT INTO t VALUES ({id}, 1, {id})")).unwrap();
        assert_eq!(value(&one, "SELECT count(*) FROM t"), id - 30 + 11);
        run(
            &one,
            &format!("INSERT INTO t VALUES ({}, 1, {})", id + 100, id + 100),
        )
        .unwrap();
        run(&one, &format!("DELETE FROM t WHERE id = {}", id + 100)).unwrap();
        run(
            &one,
            &format!("UPDATE t SET a = a + 1 WHERE id IN (20, {id})"),
        )
        .unwrap();
    }
    assert_eq!(value(&one, "SELECT a FROM t WHERE id = 20"), 11);
    run(&one, "SAVEPOINT late; DELETE FROM t WHERE id = 21").unwrap();
    run(
        &two,
        "DELETE FROM t WHERE id = 0; CREATE TABLE u (a INTEGER PRIMARY KEY)",
    )
    .unwrap();
    run(&one, "ROLLBACK TO late; INSERT INTO u VALUES (1)").unwrap();
    assert_eq!(value(&one, "SELECT count(*) FROM t"), 19);
    run(&one, "ROLLBACK TO early").unwrap();
    assert_eq!(value(&one, "SELECT a FROM t WHERE id = 20"), 1);
    assert_eq!(value(&one, "SELECT count(*) FROM t"), 19);
    assert_eq!(value(&one, "SELECT count(*) FROM u"), 0);
    run(&one, "UPDATE t SET a = 50 WHERE id = 20; COMMIT").unwrap();
    for connection in [&one, &two] {
        assert_eq!(value(connection, "SELECT count(*) FROM t"), 19);
        assert_eq!(
            value(connection, "SELECT count(*) FROM t WHERE id IN (20, 21)"),
            2
        );
        assert_eq!(
            value(connection, "SELECT sum(a) FROM t WHERE id < 100"),
            761
        );
    }
    nothing_is_locked(&database);
}

#[test]
fn definitions_and_rows_of_a_transaction_go_on_together() {
    let database = accounts();
    let (one, two) = (connect(&database), connect(&database));
    run(
        &one,
        "BEGIN; CREATE TABLE u (a INTEGER PRIMARY KEY); INSERT INTO u VALUES (1)",
    )
    .unwrap();
    run(&two, "UPDATE t SET a = 0 WHERE id = 1").unwrap();
    assert_eq!(value(&one, "SELECT sum(a) FROM t"), 700);
    run(&one, "UPDATE t SET a = a + 5 WHERE id = 1").unwrap();
    run(&two, "UPDATE t SET a = 0 WHERE id = 2").unwrap();
    run(&one, "INSERT INTO u SELECT a + 100 FROM t WHERE id = 2").unwrap();
    run(&one, "COMMIT").unwrap();
    assert_eq!(value(&two, "SELECT sum(a) FROM t"), 605);
    assert_eq!(value(&two, "SELECT sum(a) FROM u"), 101);
}

#[test]
fn an_error_lets_go_of_the_locks_unless_there_is_a_savepoint() {
    let database = accounts();
    let (one, two) = (connect(&database), connect(&database));
    run(&one, "BEGIN; UPDATE t SET a = 0 WHERE id = 1").unwrap();
    assert_eq!(
        state_of(run(&one, "INSERT INTO t VALUES (2, 0, 0)")),
        "23505"
    );
    run(&two, "UPDATE t SET a = a + 1 WHERE id = 1").unwrap();
    assert_eq!(state_of(run(&one, "SELECT 1")), "25P02");
    run(&one, "ROLLBACK").unwrap();
    assert_eq!(value(&one, "SELECT a FROM t WHERE id = 1"), 101);
    run(&one, "BEGIN; UPDATE t SET a = 0 WHERE id = 1; SAVEPOINT s").unwrap();
    assert_eq!(
        state_of(run(&one, "INSERT INTO t VALUES (2, 0, 0)")),
        "23505"
    );
    let changed = while_waiting(
        &database,
        &one,
        "ROLLBACK TO s; COMMIT",
        &two,
        "UPDATE t SET a = a + 1 WHERE id = 1",
    );
    assert_eq!(changed.unwrap(), Some(1));
    assert_eq!(value(&one, "SELECT a FROM t WHERE id = 1"), 1);
    // As a server does for what its client got wrong.
    run(&one, "BEGIN; UPDATE t SET a = 0 WHERE id = 1").unwrap();
    one.abort().unwrap();
    run(&two, "UPDATE t SET a = a + 1 WHERE id = 1").unwrap();
    assert_eq!(state_of(run(&one, "SELECT 1")), "25P02");
    run(&one, "ROLLBACK").unwrap();
    one.abort().unwrap();
    assert_eq!(value(&one, "SELECT a FROM t WHERE id = 1"), 2);
    nothing_is_locked(&database);
}

#[test]
fn those_who_do_not_wait_still_conflict_and_lose_nothing() {
    let database = accounts();
    let (waits, does_not) = (connect(&database), database.connect().unwrap());
    run(&does_not, "BEGIN; UPDATE t SET a = 1 WHERE id = 1").unwrap();
    run(&waits, "UPDATE t SET a = 2 WHERE id = 1").unwrap();
    assert_eq!(state_of(run(&does_not, "COMMIT")), "40001");
    run(&waits, "BEGIN; UPDATE t SET a = 3 WHERE id = 1").unwrap();
    run(&does_not, "UPDATE t SET a = 4 WHERE id = 1").unwrap();
    assert_eq!(state_of(run(&waits, "SELECT 1")), "40001");
    run(&waits, "ROLLBACK").unwrap();
    assert_eq!(value(&waits, "SELECT a FROM t WHERE id = 1"), 4);
}

#[test]
fn begin_takes_a_level_of_its_own() {
    let database = accounts();
    let (one, two) = (connect(&database), database.connect().unwrap());
    let sum = "SELECT sum(a) FROM t";
    for (level, seen) in [
        ("", 800),
        (" ISOLATION LEVEL READ COMMITTED", 802),
        (
            " TRANSACTION ISOLATION LEVEL READ UNCOMMITTED, READ WRITE",
            803,
        ),
        (" READ WRITE ISOLATION LEVEL REPEATABLE READ", 803),
        (" ISOLATION LEVEL SNAPSHOT READ ONLY", 804),
    ] {
        run(&two, &format!("BEGIN{level}; {sum}")).unwrap();
        run(&one, "UPDATE t SET a = a + 1 WHERE id = 1").unwrap();
        assert_eq!(value(&two, sum), seen, "{level}");
        run(&two, "COMMIT").unwrap();
    }
    assert_eq!(
        state_of(run(&two, "BEGIN ISOLATION LEVEL SERIALIZABLE")),
        "0A000"
    );
    assert_eq!(state_of(run(&two, "BEGIN ISOLATION LEVEL READ")), "42601");
    assert!(!two.in_transaction());
}

#[test]
fn the_level_is_set_by_its_name() {
    let database = accounts();
    let connection = database.connect().unwrap();
    let level = "SELECT current_setting('default_transaction_isolation') = 'read committed'";
    run(
        &connection,
        "SET default_transaction_isolation = 'READ COMMITTED'",
    )
    .unwrap();
    assert!(run(&connection, level).is_ok());
    for wrong in ["serializable", "", "read"] {
        let set = format!("SET default_transaction_isolation = '{wrong}'");
        assert_eq!(state_of(run(&connection, &set)), "22023");
    }
}
