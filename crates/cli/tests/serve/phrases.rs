//! What PostgreSQL's users write and DuckDB's SQL lacks, over the wire.

use crate::client::Client;
use crate::instance::{PASSWORD, Running, made};

#[test]
fn phrases_of_postgresql_mean_what_they_mean_there() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (id SERIAL PRIMARY KEY, name TEXT, tags TEXT[])")
        .unwrap();
    // The other columns have their defaults.
    client.run("INSERT INTO t VALUES (7, 'seven')").unwrap();
    for (sql, shown) in [
        (
            "SELECT json_build_object('a', id, 'b', name) FROM t",
            r#"{"a":7,"b":"seven"}"#,
        ),
        (
            "SELECT json_agg(x ORDER BY x DESC) FROM generate_series(1, 2) g(x)",
            "[2,1]",
        ),
        (
            "SELECT jsonb_agg(json_build_object('x', x)) FROM generate_series(1, 1) g(x)",
            r#"[{"x":1}]"#,
        ),
        ("SELECT '{\"a\": {\"b\": 5}}'::jsonb -> 'a' ->> 'b'", "5"),
        ("SELECT '{\"a,b\",NULL,c}'::text[]", "{\"a,b\",NULL,c}"),
        ("SELECT sum(x) FROM unnest('{1,2,3}'::int[]) u(x)", "6"),
        ("SELECT tableoid::regclass FROM t", "t"),
        (
            "SELECT string_agg(x || n, ',' ORDER BY n) FROM unnest(ARRAY['a', 'b']) WITH ORDINALITY AS u(x, n)",
            "a1,b2",
        ),
        (
            "SELECT (information_schema._pg_expandarray(ARRAY[8])).n",
            "1",
        ),
        (
            "SELECT to_char(TIMESTAMP '2024-02-03 14:05:06.789', 'YYYY-MM-DD HH24:MI:SS.MS \"at\" AM')",
            "2024-02-03 14:05:06.789 at PM",
        ),
        ("SELECT array_upper(ARRAY[4, 5], 1)", "2"),
        (
            "SELECT sum(s) FROM (SELECT generate_subscripts(ARRAY['a', 'b'], 1) AS s) q",
            "3",
        ),
        ("SELECT '\\x00ff41'::bytea", "\\x00ff41"),
        ("SELECT set_config('my.own', 'x' || 'y', false)", "xy"),
        (
            "SELECT format('%I = %L, %s', 'A b', 'it''s', 1)",
            "\"A b\" = 'it''s', 1",
        ),
        (
            "SELECT s.a AS \"A\" FROM (SELECT 1 AS a) s ORDER BY s.a",
            "1",
        ),
    ] {
        assert_eq!(client.rows(sql), [[shown]], "{sql}");
    }
    server.stop();
}

#[test]
fn texts_without_a_type_are_read_by_what_they_meet() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY, b BYTEA DEFAULT '\\x0a0b', l INT[], s TEXT[], x TEXT DEFAULT '{}')",
        "INSERT INTO t (id, b, l, s) VALUES (1, '\\x00ff', '{1,2}', '{a,\"b c\",NULL}')",
        "INSERT INTO t (id, b, x) VALUES (2, '\\000\\\\a', '\\x00ff'), (3, 'abc', '{\"a\":1}')",
        "INSERT INTO t (id, b, l) SELECT 4, '\\xdeadbeef', '{4}'",
        "INSERT INTO t (id, l) VALUES (5, '{}')",
        "INSERT INTO t (id, b) VALUES (4, '\\x01') ON CONFLICT (id) DO UPDATE SET b = '\\xbeef'",
        "UPDATE t SET b = '\\x7777', l = '{7,8}' WHERE id = 3",
        "CREATE VIEW v AS SELECT id FROM t WHERE b <> '\\x00ff'",
    ] {
        client.run(sql).unwrap();
    }
    for (sql, shown) in [
        (
            "SELECT string_agg(id || encode(b, 'hex'), ',' ORDER BY id) FROM t",
            "100ff,2005c61,37777,4beef,50a0b",
        ),
        ("SELECT length(b) FROM t WHERE id = 1", "2"),
        ("SELECT encode('\\x00ff', 'base64')", "AP8="),
        ("SELECT decode('AP8=', 'base64')", "\\x00ff"),
        ("SELECT length(sha256('\\x00ff'))", "32"),
        ("SELECT id FROM t WHERE b = '\\x00ff'", "1"),
        (
            "SELECT count(*) FROM t WHERE b IN ('\\x00ff', '\\x7777')",
            "2",
        ),
        (
            "SELECT count(*) FROM t WHERE b BETWEEN '\\x00' AND '\\x01'",
            "2",
        ),
        ("SELECT coalesce(NULL::bytea, '\\x0102')", "\\x0102"),
        ("SELECT b || '\\x01' FROM t WHERE id = 1", "\\x00ff01"),
        (
            "SELECT min(b) FROM (SELECT b FROM t WHERE id = 3 UNION ALL SELECT '\\x0102') u",
            "\\x0102",
        ),
        ("SELECT id FROM t WHERE l = '{1,2}'", "1"),
        ("SELECT id FROM t WHERE s @> '{a}'", "1"),
        ("SELECT l || '{9}' FROM t WHERE id = 3", "{7,8,9}"),
        ("SELECT s[2] || '{}' FROM t WHERE id = 1", "b c{}"),
        (
            "SELECT x || '{\"a\":1}' FROM t WHERE id = 2",
            "\\x00ff{\"a\":1}",
        ),
        ("SELECT count(*) FROM t WHERE x = '{}'", "3"),
        ("SELECT count(*) FROM v", "4"),
    ] {
        assert_eq!(client.rows(sql), [[shown]], "{sql}");
    }
    server.stop();
}

#[test]
fn texts_that_are_no_value_of_what_they_meet_are_refused() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.run("CREATE TABLE t (id INT, b BYTEA)").unwrap();
    client.run("INSERT INTO t VALUES (1, '\\x00ff')").unwrap();
    for bad in ["'\\x0'", "'\\xzz'", "'\\9'"] {
        let refused = client.run(&format!("INSERT INTO t (id, b) VALUES (9, {bad})"));
        assert_eq!(refused.unwrap_err().sqlstate, "22P02", "{bad}");
    }
    // A CHECK reads them so, too.
    client
        .run("CREATE TABLE c (b BYTEA CHECK (b <> '\\x00ff'))")
        .unwrap();
    client.run("INSERT INTO c VALUES ('\\x00')").unwrap();
    for bad in ["VALUES ('\\x00ff')", "SELECT b FROM t WHERE id = 1"] {
        let refused = client.run(&format!("INSERT INTO c {bad}"));
        assert_eq!(refused.unwrap_err().sqlstate, "23514", "{bad}");
    }
    server.stop();
}

#[test]
fn statements_of_postgresql_do_what_they_do_there() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (id SERIAL PRIMARY KEY, name TEXT)")
        .unwrap();
    client
        .run("ALTER SEQUENCE t_id_seq RESTART WITH 40")
        .unwrap();
    assert_eq!(
        client.rows("SELECT last_value, is_called FROM t_id_seq"),
        [["40", "f"]]
    );
    let id = "INSERT INTO t (name) VALUES ('x') RETURNING id";
    assert_eq!(client.rows(id), [["40"]]);
    client.run("TRUNCATE t RESTART IDENTITY").unwrap();
    assert_eq!(client.rows(id), [["1"]]);
    client.run("BEGIN").unwrap();
    let refused = client.run("TRUNCATE t RESTART IDENTITY").unwrap_err();
    assert_eq!(refused.sqlstate, "0A000");
    client.run("ROLLBACK").unwrap();
    client
        .run("PREPARE p(pg_catalog.oid, int) AS SELECT $1 + $2")
        .unwrap();
    assert_eq!(client.rows("EXECUTE p('6', 1)"), [["7"]]);
    client.run("ALTER TABLE t OWNER TO hush").unwrap();
    let other = client.run("ALTER TABLE t OWNER TO somebody").unwrap_err();
    assert_eq!(other.sqlstate, "0A000");
    server.stop();
}

#[test]
fn a_block_is_what_its_first_words_say() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.run("CREATE TABLE t (i INT)").unwrap();
    let level = "SHOW transaction_isolation";
    assert_eq!(client.rows(level), [["read committed"]]);
    client.run("BEGIN").unwrap();
    client
        .run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        .unwrap();
    assert_eq!(client.rows(level), [["repeatable read"]]);
    let refused = client.run("INSERT INTO t VALUES (1)").unwrap_err();
    assert_eq!(refused.sqlstate, "25006");
    client.run("ROLLBACK").unwrap();
    assert_eq!(client.rows(level), [["read committed"]]);
    client.run("BEGIN").unwrap();
    client.run("INSERT INTO t VALUES (1)").unwrap();
    let late = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";
    assert_eq!(client.run(late).unwrap_err().sqlstate, "25001");
    client.run("ROLLBACK").unwrap();
    assert_eq!(client.rows("SELECT count(*) FROM t"), [["0"]]);
    server.stop();
}
