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
