//! PostgreSQL's operators and functions of JSON over the wire, with the answers that PostgreSQL 15 gives.

use crate::client::Client;
use crate::instance::{PASSWORD, Running, made};

/// Statements, and what they show.
const SHOWN: &[(&str, &str)] = &[
    (
        "SELECT data FROM t WHERE id = 1",
        r#"{"a": {"c": [1, 2]}, "b": 2}"#,
    ),
    ("SELECT kept FROM t WHERE id = 1", r#"{"b":2,"a":1}"#),
    ("SELECT data FROM t WHERE id = 2", r#"{"b": 3, "z": 1}"#),
    ("SELECT id FROM t WHERE data -> 'a' ->> 'c' = '[1, 2]'", "1"),
    ("SELECT data -> 'a' -> 'c' -> -1 FROM t WHERE id = 1", "2"),
    ("SELECT data #>> '{a,c,0}' FROM t WHERE id = 1", "1"),
    ("SELECT data #> '{a,c}' FROM t WHERE id = 1", "[1, 2]"),
    ("SELECT id FROM t WHERE data ? 'z'", "2"),
    ("SELECT count(*) FROM t WHERE data ?| array['a', 'z']", "2"),
    ("SELECT count(*) FROM t WHERE data ?& array['a', 'b']", "1"),
    (
        "SELECT id FROM t WHERE data @> '{\"a\": {\"c\": [2]}}'",
        "1",
    ),
    ("SELECT id FROM t WHERE '{\"b\": 3}' <@ data", "2"),
    ("SELECT data - 'a' FROM t WHERE id = 1", r#"{"b": 2}"#),
    (
        "SELECT data #- '{a,c,0}' FROM t WHERE id = 1",
        r#"{"a": {"c": [2]}, "b": 2}"#,
    ),
    (
        "SELECT jsonb_set(data, '{b}', '\"x\"') FROM t WHERE id = 2",
        r#"{"b": "x", "z": 1}"#,
    ),
    ("SELECT '[1]'::jsonb || '2'", "[1, 2]"),
    ("SELECT '{\"a\":1}' || 'x'", "{\"a\":1}x"),
    ("SELECT c FROM v", "[1, 2]"),
    (
        "SELECT row_to_json(r) FROM (SELECT 1 AS a, 'x' AS b) r",
        r#"{"a":1,"b":"x"}"#,
    ),
    (
        "SELECT to_jsonb(t) FROM t WHERE id = 2",
        r#"{"id": 2, "data": {"b": 3, "z": 1}, "kept": null}"#,
    ),
    (
        "SELECT jsonb_agg(r ORDER BY r.id DESC) FROM (SELECT id FROM t) r",
        r#"[{"id": 2}, {"id": 1}]"#,
    ),
    (
        "SELECT string_agg(key || '=' || value, ',' ORDER BY key) FROM jsonb_each('{\"b\":1,\"a\":\"x\"}')",
        "a=\"x\",b=1",
    ),
    (
        "SELECT string_agg(e, ',') FROM t, jsonb_array_elements_text(t.data -> 'a' -> 'c') e WHERE id = 1",
        "1,2",
    ),
    (
        "SELECT sum((e ->> 'n')::int) FROM jsonb_array_elements('[{\"n\": 1}, {\"n\": 2}]') AS e",
        "3",
    ),
    ("SELECT id FROM t WHERE ARRAY[id, 7] @> ARRAY[2]", "2"),
    (
        "SELECT jsonb_build_object('b', 1, 'a', ARRAY[1, 2])",
        r#"{"a": [1, 2], "b": 1}"#,
    ),
];

#[test]
fn json_is_read_and_changed_as_in_postgresql() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY, data JSONB, kept JSON)",
        "INSERT INTO t VALUES (1, '{\"b\":2,\"a\":{\"c\":[1,2]}}', '{\"b\":2,\"a\":1}'), (2, '{\"b\":3}', NULL)",
        "UPDATE t SET data = data || '{\"z\": 1}' WHERE id = 2",
        "CREATE VIEW v AS SELECT id, data -> 'a' ->> 'c' AS c FROM t WHERE data @> '{\"b\": 2}'",
    ] {
        client.run(sql).unwrap();
    }
    for (sql, shown) in SHOWN {
        assert_eq!(client.rows(sql), [[*shown]], "{sql}");
    }
    for (sql, sqlstate) in [
        ("SELECT '{'::jsonb", "22P02"),
        ("SELECT jsonb_set('[1]', '{a}', '2')", "22P02"),
        ("SELECT '1'::jsonb - 'a'", "22023"),
    ] {
        assert_eq!(client.run(sql).unwrap_err().sqlstate, sqlstate, "{sql}");
    }
    server.stop();
}
