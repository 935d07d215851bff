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
            r#"{"a" : 7, "b" : "seven"}"#,
        ),
        (
            "SELECT json_agg(x ORDER BY x DESC) FROM generate_series(1, 2) g(x)",
            "[2, 1]",
        ),
        (
            "SELECT jsonb_agg(json_build_object('x', x)) FROM generate_series(1, 1) g(x)",
            r#"[{"x": 1}]"#,
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
            "SELECT count(*) FROM (VALUES ('abc'), ('axc'), ('a.c'), ('d')) v(s) WHERE s SIMILAR TO '(a|b)_c'",
            "3",
        ),
        ("SELECT 'a%b' SIMILAR TO 'a#%_' ESCAPE '#'", "t"),
        ("SELECT 0.25::numeric(2, 2)", "0.25"),
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
fn values_cast_to_text_are_written_as_postgresql_writes_them() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (b BYTEA, f FLOAT8, l TEXT[], i INTERVAL, n NUMERIC(4, 2), d DATE, o BOOLEAN)")
        .unwrap();
    client
        .run("INSERT INTO t VALUES ('\\x00ff', 1, '{a,\"b c\",NULL}', '1 year 2 mons 3 days 04:05:06.5', 1.5, '2024-02-29', 't')")
        .unwrap();
    for (sql, shown) in [
        ("SELECT b::text FROM t", "\\x00ff"),
        (
            "SELECT f::text || '|' || (f * 1e20)::text FROM t",
            "1|1e+20",
        ),
        ("SELECT CAST(l AS TEXT) FROM t", "{a,\"b c\",NULL}"),
        (
            "SELECT i::varchar FROM t",
            "1 year 2 mons 3 days 04:05:06.5",
        ),
        (
            "SELECT n::text || d::text || o::text FROM t",
            "1.502024-02-29true",
        ),
        (
            "SELECT count(*) FROM t WHERE f::text = '1' AND NULL::text IS NULL",
            "1",
        ),
    ] {
        assert_eq!(client.rows(sql), [[shown]], "{sql}");
    }
    server.stop();
}

/// Two workers that take from a queue at the same time never take the same row.
#[test]
fn work_is_taken_from_a_queue_by_one_worker_each() {
    let place = made();
    let server = Running::start(place.path());
    let mut one = Client::connect(&server, "hush", "hush", PASSWORD);
    let mut other = Client::connect(&server, "hush", "hush", PASSWORD);
    one.run("CREATE TABLE q (id INT PRIMARY KEY, state TEXT DEFAULT 'new')")
        .unwrap();
    one.run("INSERT INTO q SELECT g FROM generate_series(1, 6) g(g)")
        .unwrap();
    let next = "SELECT id FROM q WHERE state = 'new' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1";
    let take = format!("UPDATE q SET state = 'run' WHERE id = ({next}) RETURNING id");
    let with = format!(
        "WITH n AS ({next}) UPDATE q SET state = 'run' FROM n WHERE q.id = n.id RETURNING q.id"
    );
    let gone = format!("DELETE FROM q WHERE id IN ({next}) RETURNING id");
    one.run("BEGIN").unwrap();
    assert_eq!(one.rows(&take), [["1"]]);
    assert_eq!(other.rows(&take), [["2"]]);
    other.run("BEGIN").unwrap();
    assert_eq!(other.rows(&with), [["3"]]);
    assert_eq!(one.rows(&gone), [["4"]]);
    one.run("ROLLBACK").unwrap();
    other.run("COMMIT").unwrap();
    assert_eq!(one.rows(&take), [["1"]]);
    let rest = "SELECT string_agg(id || state, ',' ORDER BY id) FROM q";
    assert_eq!(one.rows(rest), [["1run,2run,3run,4new,5new,6new"]]);
    one.run("UPDATE q SET state = 'done'").unwrap();
    assert!(one.rows(&take).is_empty());
    let refused = one.run("SELECT (SELECT id FROM q x WHERE x.id = q.id FOR UPDATE) FROM q");
    assert!(refused.is_err());
    server.stop();
}

#[test]
fn errors_say_what_they_are_about() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL CONSTRAINT low CHECK (n < 9), CONSTRAINT one UNIQUE (n))")
        .unwrap();
    client.run("INSERT INTO t VALUES (1, 1)").unwrap();
    for (sql, sqlstate, names) in [
        ("INSERT INTO t VALUES (1, 2)", "23505", "n=t_pkey"),
        ("INSERT INTO t VALUES (2, 1)", "23505", "n=one"),
        ("INSERT INTO t VALUES (2, NULL)", "23502", "t=t c=n"),
        ("INSERT INTO t VALUES (2, 10)", "23514", "t=t n=low"),
    ] {
        let refusal = client.run(sql).unwrap_err();
        assert_eq!(
            (refusal.sqlstate.as_str(), refusal.names.as_str()),
            (sqlstate, names),
            "{sql}"
        );
    }
    for (sql, shown) in [
        (
            "INSERT INTO t AS old VALUES (7, 1) ON CONFLICT ON CONSTRAINT one DO UPDATE SET n = old.n + excluded.n RETURNING old.n",
            "2",
        ),
        (
            "INSERT INTO t VALUES (1, 3) ON CONFLICT ON CONSTRAINT t_pkey DO UPDATE SET n = 4 RETURNING n",
            "4",
        ),
        ("SELECT to_date('29.02.2024', 'DD.MM.YYYY')", "2024-02-29"),
        (
            "SELECT to_timestamp('2024-02-29 10:11:12', 'YYYY-MM-DD HH24:MI:SS')",
            "2024-02-29 10:11:12+00",
        ),
    ] {
        assert_eq!(client.rows(sql), [[shown]], "{sql}");
    }
    let unknown =
        client.run("INSERT INTO t VALUES (1, 3) ON CONFLICT ON CONSTRAINT none DO NOTHING");
    assert_eq!(unknown.unwrap_err().sqlstate, "42704");
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
    for sql in [
        "CREATE TABLE d (id BIGINT NOT NULL, i INT GENERATED BY DEFAULT AS IDENTITY (CYCLE START WITH 3 MAXVALUE 4))",
        "ALTER TABLE public.d ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME public.d_id_seq START WITH 5 INCREMENT BY 2 \
         NO MINVALUE NO MAXVALUE CACHE 1)",
        "INSERT INTO d DEFAULT VALUES",
        "INSERT INTO d (i) VALUES (DEFAULT), (DEFAULT)",
    ] {
        client.run(sql).unwrap();
    }
    let both = "SELECT string_agg(id || ':' || i, ',' ORDER BY id) FROM d";
    assert_eq!(client.rows(both), [["5:3,7:4,9:1"]]);
    let twice = "CREATE TABLE e (id INT GENERATED ALWAYS AS IDENTITY (START 1 START 2))";
    assert_eq!(client.run(twice).unwrap_err().sqlstate, "42601");
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

#[test]
fn errors_say_where_they_are() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.run("CREATE TABLE t (id INT)").unwrap();
    for (sql, position) in [
        ("SELECT nothing FROM t", "P=8"),
        ("SELECT 'é', 1;  SELECT id\n FROM none", "P=33"),
        ("SELECT id FROM t WHERE nofunc(id)", "P=24"),
        ("INSERT INTO t VALUES (1/0, 2)", ""),
    ] {
        let refusal = client.run(sql).unwrap_err();
        assert_eq!(refusal.names, position, "{sql}: {}", refusal.message);
    }
    let refusal = client.describe("  SELECT nothing FROM t").unwrap_err();
    assert_eq!(refusal.names, "P=10");
    server.stop();
}

#[test]
fn generated_columns_are_left_out_of_copies() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE g (a INT, b INT GENERATED ALWAYS AS (a * 2) STORED, c TEXT)")
        .unwrap();
    let rows: &[u8] = b"1\tx\n2\ty\n";
    assert_eq!(
        client.copy_in("COPY g FROM STDIN", &[rows]).unwrap(),
        "COPY 2"
    );
    assert_eq!(client.copy_out("COPY g TO STDOUT"), "1\tx\n2\ty\n");
    assert_eq!(client.rows("SELECT sum(b) FROM g"), [["6"]]);
    server.stop();
}

/// What was parsed before is described as things are now, also where another session has changed them.
#[test]
fn a_text_that_is_parsed_again_is_described_again() {
    let place = made();
    let server = Running::start(place.path());
    let mut one = Client::connect(&server, "hush", "hush", PASSWORD);
    let mut other = Client::connect(&server, "hush", "hush", PASSWORD);
    let query = "SELECT * FROM t";
    let answer = |client: &mut Client| client.table(query, true).unwrap().rows[0][0].clone();
    one.run("CREATE TABLE t AS SELECT 7 AS x").unwrap();
    assert_eq!(answer(&mut one).as_deref(), Some("7"));
    other
        .run("CREATE OR REPLACE TABLE t AS SELECT 'text' AS x")
        .unwrap();
    assert_eq!(answer(&mut one).as_deref(), Some("text"));
    one.run("BEGIN").unwrap();
    one.run("CREATE OR REPLACE TABLE t AS SELECT true AS x")
        .unwrap();
    assert_eq!(answer(&mut one).as_deref(), Some("t"));
    one.run("ROLLBACK").unwrap();
    assert_eq!(answer(&mut one).as_deref(), Some("text"));
    one.pipeline(&["PREPARE p AS SELECT $1::int + x FROM (SELECT 1 AS x) q"])
        .unwrap();
    let named = one.table("EXECUTE p(41)", true).unwrap();
    assert_eq!(named.rows, [[Some("42".to_owned())]]);
    // A statement that is kept has the columns that it had.
    let parse = crate::client::message(b'P', b"kept\0SELECT * FROM t\0\0\0");
    one.synced(&parse).unwrap();
    other
        .run("CREATE OR REPLACE TABLE t AS SELECT 1 AS x, 2 AS y")
        .unwrap();
    let run = [
        crate::client::message(b'B', b"\0kept\0\0\0\0\0\0\0"),
        crate::client::message(b'E', b"\0\0\0\0\0"),
    ];
    let refused = one.synced(&run.concat()).unwrap_err();
    assert_eq!(refused.sqlstate, "0A000");
    server.stop();
}

/// Columns of FROM in RETURNING, parts within WITH, and their tags, as PostgreSQL 15 gives them.
#[test]
fn changes_give_what_is_beside_them_and_within_with() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run(
            "CREATE TABLE t (id INT PRIMARY KEY, x INT); INSERT INTO t SELECT i, i * 10 FROM generate_series(1, 6) i; \
             CREATE TABLE s (key INT, y TEXT); INSERT INTO s VALUES (1, 'a'), (2, NULL), (3, 'c')",
        )
        .unwrap();
    for (sql, answer, tag) in [
        (
            "UPDATE t SET x = t.x + 1 FROM s WHERE t.id = s.key AND y = 'a' RETURNING *",
            "1|11|1|a",
            "UPDATE 1",
        ),
        (
            "UPDATE t AS o SET x = 5 FROM s AS q WHERE o.id = q.key AND y IS NULL RETURNING q.*, o.x, upper(q.y) || '!', q.key + o.x",
            "2|NULL|5|NULL|7",
            "UPDATE 1",
        ),
        (
            "DELETE FROM t USING s WHERE t.id = s.key AND s.y = 'c' RETURNING *",
            "3|30|3|c",
            "DELETE 1",
        ),
        (
            "WITH gone AS (DELETE FROM t USING s WHERE id = key RETURNING t.id, s.y) INSERT INTO s SELECT id + 10, y FROM gone WHERE id = 1 RETURNING *",
            "11|a",
            "INSERT 0 1",
        ),
        (
            "WITH up AS (UPDATE t SET x = 1 RETURNING id) SELECT count(*), max(id), (SELECT sum(x) FROM t) FROM up",
            "3|6|150",
            "SELECT 1",
        ),
        (
            "WITH a AS (INSERT INTO s VALUES (20, 'b')) DELETE FROM t WHERE id > 4",
            "",
            "DELETE 2",
        ),
    ] {
        client.run("BEGIN; SAVEPOINT before").unwrap();
        let described = client.describe(sql).unwrap().1.len();
        for extended in [false, true] {
            let table = client.table(sql, extended);
            let table = table.unwrap_or_else(|refusal| panic!("{sql}: {}", refusal.sqlstate));
            let cells = table.rows.into_iter().flatten();
            let cells: Vec<String> = cells.map(|cell| cell.unwrap_or("NULL".into())).collect();
            assert_eq!(cells.join("|"), answer, "{sql}");
            assert_eq!(cells.len(), described, "{sql}");
            assert_eq!(table.tag, tag, "{sql}");
            if !extended {
                client.run("ROLLBACK TO before").unwrap();
            }
        }
        client.run("COMMIT").unwrap();
    }
    let nested = "UPDATE t SET x = 0 FROM (s JOIN (SELECT 1 AS k) AS r ON k = key) WHERE id = key RETURNING *";
    assert_eq!(client.run(nested).unwrap_err().sqlstate, "0A000");
    client.run("BEGIN").unwrap();
    let declared =
        "DECLARE c CURSOR FOR WITH gone AS (DELETE FROM s RETURNING *) SELECT * FROM gone";
    assert_eq!(client.run(declared).unwrap_err().sqlstate, "0A000");
    client.run("ROLLBACK").unwrap();
    assert_eq!(client.rows("SELECT count(*) > 0 FROM s"), [["t"]]);
    server.stop();
}

#[test]
fn a_session_may_speak_duckdbs_dialect() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    let half = "SELECT 7 / 2";
    assert_eq!(client.rows(half), [["3"]]);
    client
        .run("BEGIN; SET LOCAL sql_dialect = 'duckdb'")
        .unwrap();
    assert_eq!(client.rows(half), [["3.5"]]);
    client.run("COMMIT").unwrap();
    assert_eq!(client.rows(half), [["3"]]);
    client.run("SET sql_dialect TO duckdb").unwrap();
    client
        .run("SET default_null_order = 'nulls_first'")
        .unwrap();
    let ordered = "SELECT x FROM (VALUES (1), (NULL)) v(x) ORDER BY x LIMIT 1";
    assert_eq!(client.rows(ordered), [[""]]);
    let outside = client.run("SET threads = 1").unwrap_err();
    assert_eq!(outside.sqlstate, "42501");
    client.run("RESET sql_dialect").unwrap();
    assert_eq!(client.rows(ordered), [["1"]]);
    assert_eq!(
        client
            .run("SET default_null_order = 'x'")
            .unwrap_err()
            .sqlstate,
        "42704"
    );
    assert_eq!(
        client.run("SET sql_dialect = 'x'").unwrap_err().sqlstate,
        "22023"
    );
    server.stop();
}

#[test]
fn functions_of_postgresql_give_what_they_give_there() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for (sql, shown) in [
        (
            "SELECT array_to_string(ARRAY[1, NULL, 3], ',') || array_to_string(ARRAY[1, NULL], ',', '*')",
            "1,31,*",
        ),
        ("SELECT array_remove(ARRAY[1, 2, 1], 1)", "{2}"),
        ("SELECT string_to_array('a,,c', ',', '')", "{a,NULL,c}"),
        ("SELECT string_to_array('', ',')", "{}"),
        (
            "SELECT jsonb_typeof('{\"a\": 1}') || json_typeof('1.5') || json_typeof('null')",
            "objectnumbernull",
        ),
        (
            "SELECT pg_size_pretty(123456789::bigint) || pg_size_pretty(10240::bigint) || pg_size_pretty(1023::bigint)",
            "118 MB10 kB1023 bytes",
        ),
        (
            "SELECT extract(second FROM TIMESTAMP '2024-01-31 10:20:30.5')",
            "30.500000",
        ),
        ("SELECT date_part('second', TIME '10:20:30.25')", "30.25"),
        (
            "SELECT regexp_count('abab', 'a') || coalesce(regexp_substr('abc12', '[0-9]+'), '') || regexp_like('abc', 'B', 'i')",
            "212true",
        ),
        (
            "SELECT lpad('7', 3) || rpad('x', 2) || to_hex(255) || quote_nullable(NULL)",
            "  7x ffNULL",
        ),
        (
            "SELECT pg_typeof(date_part('year', DATE '2024-01-31'))",
            "double precision",
        ),
        ("SELECT every(x > 0) FROM unnest(ARRAY[1, 2]) u(x)", "t"),
    ] {
        assert_eq!(client.rows(sql), [[shown]], "{sql}");
    }
    client.close();
    server.stop();
}

#[test]
fn series_and_parts_of_texts_are_those_of_postgresql() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.run("CREATE TABLE t (a INT)").unwrap();
    client.run("INSERT INTO t VALUES (1)").unwrap();
    for (sql, shown) in [
        (
            "SELECT string_agg(g::text, ',') FROM generate_series('2024-01-30'::date, '2024-02-01'::date, '1 day') g",
            "2024-01-30 00:00:00+00,2024-01-31 00:00:00+00,2024-02-01 00:00:00+00",
        ),
        (
            "SELECT max(g)::text FROM t, generate_series(timestamp '2024-01-01', timestamp '2024-01-01' + interval '3 hours', '1 hour') g",
            "2024-01-01 03:00:00",
        ),
        (
            "SELECT sum(i) FROM generate_series(1, array_upper(string_to_array('a,b,c', ','), 1)) AS i",
            "6",
        ),
        (
            "SELECT substring('foobar' FROM 'o(.)b') || substring('foobar' FROM 'b.r')",
            "obar",
        ),
    ] {
        assert_eq!(client.rows(sql), [[shown]], "{sql}");
    }
    client.close();
    server.stop();
}
