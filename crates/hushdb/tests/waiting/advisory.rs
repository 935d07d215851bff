//! Advisory locks: what sessions have agreed on by numbers.

use super::{
    accounts, connect, nothing_is_locked, run, state_of, until_waiting, value, while_waiting,
};
use hushdb::{Connection, Database};

/// Whether another session could take a lock; it has let go of it then.
fn is_free(database: &Database, lock: &str) -> bool {
    let other = connect(database);
    is_true(&other, &format!("SELECT pg_try_advisory_{lock}"))
}

fn is_true(connection: &Connection, sql: &str) -> bool {
    value(connection, &format!("SELECT ({sql})::INTEGER")) == 1
}

#[test]
fn a_session_holds_a_lock_until_it_has_let_go_as_often_as_it_took_it() {
    let database = accounts();
    let one = connect(&database);
    run(&one, "SELECT pg_advisory_lock(7), pg_advisory_lock(7)").unwrap();
    run(&one, "BEGIN; SELECT pg_advisory_lock(7); ROLLBACK").unwrap();
    for held in [true, true, true, false] {
        assert_eq!(is_free(&database, "lock(7)"), !held);
        assert_eq!(is_true(&one, "SELECT pg_advisory_unlock(7)"), held);
    }
    // Each row of a query takes it once, and NULL takes nothing.
    run(
        &one,
        "SELECT pg_advisory_lock(8), pg_advisory_lock(NULL) FROM t",
    )
    .unwrap();
    let let_go = "SELECT count(*) FROM range(20) WHERE pg_advisory_unlock(8)";
    assert_eq!(value(&one, let_go), 8);
    nothing_is_locked(&database);
}

#[test]
fn one_number_is_not_what_two_are_and_sharing_ends_with_all_who_share() {
    let database = accounts();
    let (one, two) = (connect(&database), connect(&database));
    assert!(is_true(&one, "SELECT pg_try_advisory_lock(0, 1)"));
    for (lock, free) in [
        ("lock(1)", true),
        ("lock(0, 1)", false),
        ("lock(1, 0)", true),
    ] {
        assert_eq!(is_free(&database, lock), free, "{lock}");
    }
    for connection in [&one, &two] {
        assert!(is_true(
            connection,
            "SELECT pg_try_advisory_lock_shared(-5)"
        ));
    }
    assert!(!is_true(&one, "SELECT pg_try_advisory_lock(-5)"));
    assert!(is_true(&two, "SELECT pg_advisory_unlock_shared(-5)"));
    assert!(!is_true(&two, "SELECT pg_advisory_unlock_shared(-5)"));
    // Who shares it alone can have it alone, and share it again.
    assert!(is_true(&one, "SELECT pg_try_advisory_lock(-5)"));
    assert!(!is_free(&database, "lock_shared(-5)"));
    assert!(is_true(&one, "SELECT pg_advisory_unlock(-5)"));
    assert!(is_free(&database, "lock_shared(-5)"));
    assert!(!is_free(&database, "lock(-5)"));
    run(&one, "SELECT pg_advisory_unlock_all()").unwrap();
    nothing_is_locked(&database);
    run(&one, "SELECT pg_advisory_lock(1)").unwrap();
    drop(one);
    nothing_is_locked(&database);
}

#[test]
fn what_a_transaction_takes_goes_with_it_or_with_its_savepoint() {
    let database = accounts();
    let one = connect(&database);
    run(&one, "BEGIN; SELECT pg_advisory_xact_lock(1); SAVEPOINT s").unwrap();
    run(
        &one,
        "SELECT pg_advisory_xact_lock(2), pg_advisory_xact_lock(1)",
    )
    .unwrap();
    assert!(!is_free(&database, "lock(2)"));
    assert!(!is_true(&one, "SELECT pg_advisory_unlock(2)"));
    run(&one, "SELECT pg_advisory_lock(3); ROLLBACK TO s").unwrap();
    for (lock, free) in [("lock(1)", false), ("lock(2)", true), ("lock(3)", false)] {
        assert_eq!(is_free(&database, lock), free, "{lock}");
    }
    run(&one, "COMMIT").unwrap();
    assert!(is_free(&database, "lock(1)"));
    run(&one, "SELECT pg_advisory_unlock_all()").unwrap();
    nothing_is_locked(&database);
    // One that an error has ended holds nothing; nor does a statement that stands alone and is done.
    run(&one, "BEGIN; SELECT pg_advisory_xact_lock(1)").unwrap();
    run(&one, "SELECT 1 / (SELECT count(*) FROM nowhere)").unwrap_err();
    one.abort().unwrap();
    nothing_is_locked(&database);
    run(&one, "ROLLBACK; SELECT pg_advisory_xact_lock(1)").unwrap();
    run(
        &one,
        "UPDATE t SET a = 1 WHERE pg_try_advisory_xact_lock(id)",
    )
    .unwrap();
    nothing_is_locked(&database);
}

#[test]
fn who_gets_a_lock_sees_what_was_done_under_it() {
    let database = accounts();
    let rounds = 5;
    std::thread::scope(|scope| {
        for _ in 0..16 {
            let connection = connect(&database);
            scope.spawn(move || {
                for _ in 0..rounds {
                    run(&connection, "BEGIN; SELECT pg_advisory_xact_lock(42)").unwrap();
                    let a = value(&connection, "SELECT a FROM t WHERE id = 1") + 1;
                    let insert = format!("INSERT INTO t VALUES ({a} * 100, 0, 0 - {a}); COMMIT");
                    run(
                        &connection,
                        &format!("UPDATE t SET a = {a} WHERE id = 1; {insert}"),
                    )
                    .unwrap();
                }
            });
        }
    });
    let connection = connect(&database);
    assert_eq!(value(&connection, "SELECT a FROM t WHERE id = 1"), 180);
    nothing_is_locked(&database);
}

#[test]
fn a_circle_of_an_advisory_lock_and_a_row_is_found() {
    let database = accounts();
    for taken_before in [true, false] {
        let (one, two) = (connect(&database), connect(&database));
        let (before, within) = match taken_before {
            true => ("SELECT pg_advisory_lock(1); BEGIN", "SELECT 1"),
            false => ("BEGIN", "SELECT pg_advisory_xact_lock(1)"),
        };
        run(&one, &format!("{before}; {within}")).unwrap();
        run(&two, "BEGIN; UPDATE t SET a = a + 1 WHERE id = 1").unwrap();
        let mut states = std::thread::scope(|scope| {
            let change = "UPDATE t SET a = a + 1 WHERE id = 1; ROLLBACK";
            let change = scope.spawn(move || {
                let changed = state_of(run(&one, change));
                // An error takes from a session nothing that is its own.
                drop(one);
                changed
            });
            until_waiting(&database, 1);
            let locked = state_of(run(&two, "SELECT pg_advisory_lock(1); ROLLBACK"));
            drop(two);
            let changed = change.join().unwrap();
            [locked, changed]
        });
        states.sort_unstable();
        assert_eq!(states, ["00000", "40P01"]);
        nothing_is_locked(&database);
    }
}

#[test]
fn waits_end_by_time_by_handing_over_and_by_cancelling() {
    let database = accounts();
    let (one, two) = (connect(&database), connect(&database));
    run(&one, "SELECT pg_advisory_lock(1)").unwrap();
    let shared = "SELECT pg_advisory_lock_shared(1)::VARCHAR = '', 1";
    let handed = while_waiting(
        &database,
        &one,
        "SELECT pg_advisory_unlock(1)",
        &two,
        shared,
    );
    handed.unwrap();
    run(&one, "SET lock_timeout = '50ms'").unwrap();
    let timeout = run(&one, "SELECT pg_advisory_lock(1)");
    assert_eq!(state_of(timeout), "55P03");
    run(&one, "RESET lock_timeout").unwrap();
    let handle = one.interrupt_handle();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| run(&one, "SELECT pg_advisory_xact_lock(1)"));
        until_waiting(&database, 1);
        handle.interrupt();
        assert_eq!(state_of(waiting.join().unwrap()), "57014");
    });
    // Many who wait keep nobody from letting go.
    std::thread::scope(|scope| {
        for _ in 0..32 {
            let connection = connect(&database);
            let sql =
                "SELECT max(pg_advisory_lock(1)), pg_advisory_unlock(1) FROM range(3) GROUP BY ALL";
            scope.spawn(move || run(&connection, sql).unwrap());
        }
        until_waiting(&database, 32);
        let busy = "SELECT count(DISTINCT a) FROM (SELECT range % 7 AS a FROM range(100000)) GROUP BY a % 3";
        run(&two, busy).unwrap();
        run(&two, "SELECT pg_advisory_unlock_shared(1)").unwrap();
    });
    nothing_is_locked(&database);
}

#[test]
fn where_nobody_waits_and_for_what_is_no_number_there_are_none() {
    let database = accounts();
    let alone = database.connect().unwrap();
    let refused = run(&alone, "SELECT pg_advisory_lock(1)").unwrap_err();
    assert!(refused.to_string().contains("READ COMMITTED"), "{refused}");
    let one = connect(&database);
    for wrong in ["'x'", "1.5", "1, 3000000000", "true"] {
        let wrong = run(&one, &format!("SELECT pg_try_advisory_lock({wrong})"));
        assert_eq!(state_of(wrong), "42883");
    }
    nothing_is_locked(&database);
}

#[test]
fn what_is_prepared_locks_for_the_transaction_that_runs_it() {
    let database = accounts();
    let one = connect(&database);
    run(&one, "PREPARE p AS SELECT pg_advisory_xact_lock($1)").unwrap();
    let prepared = one.prepare("SELECT pg_advisory_xact_lock(2)").unwrap();
    for _ in 0..2 {
        run(&one, "BEGIN; EXECUTE p(1)").unwrap();
        prepared.execute(&[]).unwrap().collect_batches().unwrap();
        for lock in ["lock(1)", "lock(2)"] {
            assert!(!is_free(&database, lock), "{lock}");
        }
        run(&one, "ROLLBACK").unwrap();
        nothing_is_locked(&database);
        // Beside, so that nothing of the first transaction is kept.
        run(&one, "EXECUTE p(1)").unwrap();
        nothing_is_locked(&database);
    }
}
