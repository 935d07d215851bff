//! Cursors in SQL, by the client of the tests.

use crate::client::Client;
use crate::instance::{PASSWORD, Running, made};

#[test]
fn cursors_give_their_rows_piece_by_piece_and_end_with_their_transaction() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.run("CREATE TABLE n (i INT)").unwrap();
    client
        .run("INSERT INTO n SELECT i FROM generate_series(1, 5000) g(i)")
        .unwrap();
    let state = |client: &mut Client, sql: &str| client.run(sql).unwrap_err().sqlstate;
    let declare = "DECLARE c CURSOR FOR SELECT i FROM n ORDER BY i";
    assert_eq!(state(&mut client, declare), "25P01");
    client.run("BEGIN").unwrap();
    assert_eq!(client.run(declare).unwrap(), ["DECLARE CURSOR"]);
    assert_eq!(client.rows("FETCH 2 FROM c"), [["1"], ["2"]]);
    assert_eq!(client.run("FETCH NEXT FROM c").unwrap(), ["FETCH 1"]);
    assert_eq!(client.run("MOVE 4000 IN c").unwrap(), ["MOVE 4000"]);
    // What is changed meanwhile, it does not see.
    client.run("DELETE FROM n WHERE i > 4100").unwrap();
    assert_eq!(client.rows("FETCH c"), [["4004"]]);
    assert_eq!(client.run("FETCH ALL FROM c").unwrap(), ["FETCH 996"]);
    assert_eq!(client.run("FETCH ALL FROM c").unwrap(), ["FETCH 0"]);
    assert_eq!(client.run("CLOSE c").unwrap(), ["CLOSE CURSOR"]);
    client.run(declare).unwrap();
    client.run("ROLLBACK").unwrap();
    client.run("BEGIN").unwrap();
    assert_eq!(state(&mut client, "FETCH 1 FROM c"), "34000");
    client.run("ROLLBACK").unwrap();
    client.run("BEGIN; SAVEPOINT s").unwrap();
    client.run(declare).unwrap();
    assert_eq!(state(&mut client, declare), "42P03");
    client.run("ROLLBACK TO s").unwrap();
    assert_eq!(state(&mut client, "FETCH 1 FROM c"), "34000");
    client.run("ROLLBACK").unwrap();
    server.stop();
}

#[test]
fn cursors_with_hold_outlive_a_commit_and_no_rollback() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.run("CREATE TABLE n (i INT)").unwrap();
    client.run("INSERT INTO n VALUES (1), (2), (3)").unwrap();
    let declare = "DECLARE h CURSOR WITH HOLD FOR SELECT i FROM n ORDER BY i";
    client.run("BEGIN").unwrap();
    client.run("INSERT INTO n VALUES (4)").unwrap();
    client.run(declare).unwrap();
    assert_eq!(client.rows("FETCH h"), [["1"]]);
    client.run("COMMIT").unwrap();
    client.run("DELETE FROM n").unwrap();
    assert_eq!(client.rows("FETCH ALL FROM h"), [["2"], ["3"], ["4"]]);
    assert_eq!(client.run("CLOSE ALL").unwrap(), ["CLOSE CURSOR ALL"]);
    client.run("BEGIN").unwrap();
    client.run(declare).unwrap();
    client.run("ROLLBACK").unwrap();
    assert_eq!(client.run("FETCH 1 FROM h").unwrap_err().sqlstate, "34000");
    client.run(declare).unwrap();
    client.run("DISCARD ALL").unwrap();
    assert_eq!(client.run("CLOSE h").unwrap_err().sqlstate, "34000");
    server.stop();
}

#[test]
fn drivers_declare_with_parameters_and_fetch_prepared() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.run("CREATE TABLE n (i INT)").unwrap();
    client
        .run("INSERT INTO n SELECT i FROM generate_series(1, 9) g(i)")
        .unwrap();
    client.run("BEGIN").unwrap();
    let sql = "DECLARE c CURSOR FOR SELECT i FROM n WHERE i <= $1";
    let (rows, tag) = client.extended(sql, &[Some("7")], 0, false).unwrap();
    assert_eq!((rows.len(), tag.as_str()), (0, "DECLARE CURSOR"));
    let fetch = "FETCH FORWARD 3 FROM c";
    for (count, said) in [
        (3, "FETCH 3"),
        (3, "FETCH 3"),
        (1, "FETCH 1"),
        (0, "FETCH 0"),
    ] {
        let (rows, tag) = client.extended(fetch, &[], 0, false).unwrap();
        assert_eq!((rows.len(), tag.as_str()), (count, said));
    }
    client.run("COMMIT").unwrap();
    // Another cursor of the name has other columns.
    client.run("BEGIN").unwrap();
    client
        .run("DECLARE c CURSOR FOR SELECT 'a' AS a, 2 AS b")
        .unwrap();
    let (rows, _) = client.extended(fetch, &[], 0, false).unwrap();
    assert_eq!(rows[0].len(), 2);
    client.run("COMMIT").unwrap();
    server.stop();
}
