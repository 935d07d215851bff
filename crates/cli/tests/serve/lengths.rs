//! `varchar(n)` and `char(n)` of columns over the wire: no longer text comes in, whichever way rows are written.

use crate::client::Client;
use crate::instance::{PASSWORD, Running, made};

/// Statements that would have longer texts stored.
const REFUSED: [&str; 6] = [
    "INSERT INTO t VALUES (4, 'abcd', 'a', '', '')",
    "INSERT INTO t (id, c) VALUES (4, 'abcd')",
    "INSERT INTO t (id, v) SELECT 4, repeat('x', 4)",
    "UPDATE t SET v = 'abcd' WHERE id = 1",
    "UPDATE t SET v = v || 'd'",
    "ALTER TABLE t ALTER COLUMN w TYPE VARCHAR(5)",
];

#[test]
fn texts_longer_than_their_column_are_refused() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(3), c CHAR(3), w VARCHAR, x TEXT)",
        "INSERT INTO t VALUES (1, 'abc', 'ab', 'abcdef', 'abcdef')",
        "INSERT INTO t VALUES (2, 'äöü   ', 'a  ', '', '')",
        "INSERT INTO t (id, v) SELECT 3, 'ab '",
    ] {
        client.run(sql).unwrap();
    }
    let shown = client.rows("SELECT id, v || '|', c || '|', length(c) FROM t ORDER BY id");
    let expected = [
        ["1", "abc|", "ab|", "2"],
        ["2", "äöü|", "a|", "1"],
        ["3", "ab |", "", ""],
    ];
    assert_eq!(shown.len(), expected.len());
    for (shown, expected) in shown.iter().zip(expected) {
        assert_eq!(shown, &expected);
    }
    for sql in REFUSED {
        let refusal = client.run(sql).unwrap_err();
        assert_eq!(refusal.sqlstate, "22001", "{sql}");
        assert!(!refusal.message.contains("abcd"), "{}", refusal.message);
    }
    let parameter = client.extended(
        "INSERT INTO t (id, v) VALUES (4, $1)",
        &[Some("abcd")],
        0,
        false,
    );
    assert_eq!(parameter.map(drop).unwrap_err().sqlstate, "22001");
    let types = client.rows(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum",
    );
    let types: Vec<&str> = types.iter().map(|row| row[0].as_str()).collect();
    let expected = [
        "integer",
        "character varying(3)",
        "character(3)",
        "character varying",
        "text",
    ];
    assert_eq!(types, expected);
    client
        .run("ALTER TABLE t ALTER COLUMN v TYPE VARCHAR(10)")
        .unwrap();
    client
        .run("UPDATE t SET v = 'abcdef' WHERE id = 1")
        .unwrap();
    let lengths = "SELECT character_maximum_length FROM information_schema.columns WHERE table_name = 't' AND column_name = 'v'";
    assert_eq!(client.rows(lengths), [["10"]]);
    assert_eq!(
        client
            .run("CREATE TABLE u (a VARCHAR(0))")
            .unwrap_err()
            .sqlstate,
        "22023"
    );
    server.stop();
}

#[test]
fn what_was_defined_outlives_the_server_and_holds_in_the_other_dialect() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (id INT PRIMARY KEY, c CHAR(3))")
        .unwrap();
    server.stop();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.run("SET sql_dialect = 'duckdb'").unwrap();
    let refusal = client
        .run("INSERT INTO t (id, c) VALUES (5, 'abcd')")
        .unwrap_err();
    assert_eq!(refusal.sqlstate, "22001");
    client.run("CREATE TABLE d (a VARCHAR(2))").unwrap();
    client.run("INSERT INTO d VALUES ('abc')").unwrap();
    server.stop();
}
