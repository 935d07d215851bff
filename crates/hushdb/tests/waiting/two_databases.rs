//! Circles of waits that go through two attached databases.

use super::{accounts, connect, nothing_is_locked, run, state_of, value};

#[test]
fn of_two_that_wait_for_each_other_in_two_databases_one_fails() {
    let database = accounts();
    let connection = database.connect().unwrap();
    let other =
        "ATTACH ':memory:' AS other; CREATE TABLE other.t (id INTEGER PRIMARY KEY, a INTEGER);
                 INSERT INTO other.t VALUES (1, 100)";
    run(&connection, other).unwrap();
    let (one, two) = (connect(&database), connect(&database));
    // Locks in the first database, and changes in the second.
    let first = format!("{}.t", super::name());
    let here = format!("BEGIN; SELECT a FROM {first} WHERE id = 1 FOR UPDATE");
    let there = "BEGIN; SELECT a FROM other.t WHERE id = 1 FOR UPDATE";
    assert_eq!(run(&one, &here).unwrap(), Some(100));
    assert_eq!(run(&two, there).unwrap(), Some(100));
    let change = |connection, table: &str| {
        let sql = format!("UPDATE {table} SET a = a + 1 WHERE id = 1; COMMIT");
        state_of(run(connection, &sql))
    };
    let mut states = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| change(&one, "other.t"));
        [change(&two, &first), waiting.join().unwrap()]
    });
    states.sort_unstable();
    assert_eq!(states, ["00000", "40P01"]);
    for connection in [&one, &two] {
        if connection.in_transaction() {
            run(connection, "ROLLBACK").unwrap();
        }
    }
    let sum = format!("SELECT (SELECT a FROM {first} WHERE id = 1) + (SELECT a FROM other.t)");
    assert_eq!(value(&connection, &sum), 201);
    nothing_is_locked(&database);
}
