//! Numbers as PostgreSQL computes them, over the wire: what is divided by zero fails, and a numeric keeps what is written.

use crate::client::Client;
use crate::instance::{PASSWORD, Running, made};

const BY_ZERO: &str = "22012";

/// Statements over the table of the first test, and what they give.
const DIVISIONS: &[(&str, &str)] = &[
    ("SELECT 1 / 0", BY_ZERO),
    ("SELECT 1 % 0", BY_ZERO),
    ("SELECT mod(5, 0)", BY_ZERO),
    ("SELECT div(5, 0)", BY_ZERO),
    ("SELECT 1.5 / 0", BY_ZERO),
    ("SELECT 1.5 % 0.0", BY_ZERO),
    ("SELECT 1::float8 / 0", BY_ZERO),
    ("SELECT 'NaN'::float8 / 0", "NaN"),
    ("SELECT NULL::int / 0", "NULL"),
    ("SELECT NULL::float8 / 0", "NULL"),
    ("SELECT div(7, 2), 7 % 3, -7 / 2, mod(-7, 3)", "3 1 -3 -1"),
    ("SELECT 100 / a FROM t ORDER BY id", BY_ZERO),
    ("SELECT 100 / x FROM t ORDER BY id", BY_ZERO),
    ("SELECT n % n FROM t ORDER BY id", BY_ZERO),
    ("SELECT sum(100 / nullif(a, 0)) FROM t", "10"),
    // What stands before decides which rows divide.
    (
        "SELECT CASE WHEN a = 0 THEN 0 ELSE 100 / a END FROM t ORDER BY id",
        "10 0 NULL",
    ),
    (
        "SELECT CASE WHEN a = 0 THEN false ELSE 100 / a > 5 END FROM t ORDER BY id",
        "t f NULL",
    ),
    ("SELECT id FROM t WHERE a <> 0 AND 100 / a > 5", "1"),
    (
        "SELECT id FROM t WHERE (a <> 0 AND x <> 0) AND 100 / a > 5 AND 1 / x > 0",
        "1",
    ),
    (
        "SELECT id FROM t WHERE a = 0 OR 100 / a > 5 ORDER BY id",
        "1 2",
    ),
    ("SELECT id FROM t WHERE NOT (a <> 0 AND 100 / a > 5)", "2"),
    ("SELECT a = 0 OR 100 % a = 0 FROM t ORDER BY id", "t t NULL"),
    (
        "SELECT coalesce(a, 1 / 0) FROM t WHERE id < 3 ORDER BY id",
        "10 0",
    ),
    ("SELECT coalesce(a, 1 / 0) FROM t", BY_ZERO),
    (
        "SELECT q FROM (SELECT 100 / a AS q FROM t WHERE a <> 0) s WHERE q > 5",
        "10",
    ),
    (
        "SELECT a FROM t GROUP BY a HAVING count(*) > 0 AND a <> 0 AND 100 / a > 1",
        "10",
    ),
    (
        "SELECT t.id FROM t JOIN t u ON u.id = t.id AND t.a <> 0 AND u.id / t.a >= 0",
        "1",
    ),
    ("SELECT id FROM t WHERE b AND 1 / a = 0", "1"),
    ("INSERT INTO t (id, a) VALUES (9, 1 / 0)", BY_ZERO),
    ("UPDATE t SET a = 1 / a WHERE id = 2", BY_ZERO),
    ("SELECT count(*) FROM t", "3"),
];

/// The values that a statement gives, or the SQLSTATE with which it fails.
pub(crate) fn shown(client: &mut Client, sql: &str) -> String {
    let table = match client.table(sql, false) {
        Ok(table) => table,
        Err(refusal) => return refusal.sqlstate,
    };
    let cells = table.rows.into_iter().flatten();
    let cells = cells.map(|cell| cell.unwrap_or("NULL".into()));
    cells.collect::<Vec<_>>().join(" ")
}

#[test]
fn nothing_is_divided_by_zero() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (id INT PRIMARY KEY, a INT, x FLOAT, n NUMERIC(10, 2), b BOOLEAN)")
        .unwrap();
    client
        .run("INSERT INTO t VALUES (1, 10, 1.5, 12.5, true), (2, 0, 0, 0, false), (3, NULL, NULL, NULL, NULL)")
        .unwrap();
    for (sql, wanted) in DIVISIONS {
        assert_eq!(shown(&mut client, sql), *wanted, "{sql}");
    }
    // What is stored keeps its meaning, in the other dialect too, whose own NULL stays.
    client
        .run("CREATE VIEW v AS SELECT id, 100 / a AS q, 100 % a AS r FROM t WHERE a <> 0 OR id = 3")
        .unwrap();
    client
        .run("CREATE VIEW w AS SELECT 100 % a AS r FROM t")
        .unwrap();
    client.run("SET sql_dialect = 'duckdb'").unwrap();
    for (sql, wanted) in [
        ("SELECT 1 // 0, 1 % 0", "NULL NULL"),
        ("SELECT q, r FROM v WHERE id = 1", "10 0"),
        ("SELECT r FROM w", BY_ZERO),
    ] {
        assert_eq!(shown(&mut client, sql), wanted, "{sql}");
    }
    client.close();
    server.stop();
}

#[test]
fn a_numeric_keeps_what_is_written_or_refuses_it() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (a NUMERIC PRIMARY KEY, f FLOAT, l DECIMAL[])")
        .unwrap();
    let too_many = "22003";
    for (sql, wanted) in [
        (
            "SELECT 1.5::numeric * 1.25, '0.00001'::numeric, '12e3'::decimal",
            "1.875 0.00001 12000",
        ),
        (
            "SELECT 1.2345678::numeric, 5::numeric, (2::float8 / 3)::numeric",
            "1.2345678 5 0.666666666666667",
        ),
        (
            "SELECT 12345678901234567890.123456789::numeric",
            "12345678901234567890.123456789",
        ),
        ("SELECT true::numeric", "42000"),
        ("SELECT 0.1::float + 0.2::float", "0.30000000000000004"),
        (
            "INSERT INTO t VALUES (1.23456789, 0.1, '{1.5,2.25}'), (1e20, 1, NULL)",
            "",
        ),
        ("INSERT INTO t (a) VALUES (1.123456789012)", too_many),
        ("INSERT INTO t (a) VALUES ('1.123456789012')", too_many),
        ("INSERT INTO t (a) SELECT 1.123456789012", too_many),
        ("INSERT INTO t (a) VALUES (1e28)", too_many),
        ("UPDATE t SET a = a * 0.00001 WHERE a < 2", too_many),
        (
            "UPDATE t SET a = a + 0.1000000000 WHERE a < 2 RETURNING a",
            "1.33456789",
        ),
        (
            "SELECT a, f, l FROM t ORDER BY a",
            "1.33456789 0.1 {1.5,2.25} 100000000000000000000 1 NULL",
        ),
        (
            "SELECT a::text, a * 2, round(a, 2) FROM t WHERE a < 2",
            "1.33456789 2.66913578 1.33",
        ),
        ("SELECT a FROM t WHERE a = 1.33456789", "1.33456789"),
        (
            "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum",
            "numeric double precision numeric[]",
        ),
    ] {
        assert_eq!(shown(&mut client, sql), wanted, "{sql}");
    }
    let copied = client.copy_in("COPY t (a) FROM STDIN", &[b"7.5\n7.12345678901\n"]);
    assert_eq!(copied.unwrap_err().sqlstate, too_many);
    client
        .copy_in("COPY t (a) FROM STDIN", &[b"7.50\n"])
        .unwrap();
    assert_eq!(
        client.copy_out("COPY (SELECT a FROM t WHERE a = 7.5) TO STDOUT"),
        "7.5\n"
    );
    client.close();
    server.stop();
}

#[test]
fn parameters_have_the_types_of_what_they_meet() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (a INT, b BIGINT, n numeric, s text, d DATE)")
        .unwrap();
    let (bool, int8, int4, text, date, numeric) = (16, 20, 23, 25, 1082, 1700);
    for (sql, types) in [
        ("SELECT $1 + 1", vec![int4]),
        ("SELECT $1 / 2 FROM t", vec![int4]),
        ("SELECT a FROM t WHERE a % $1 = $2", vec![int4, int4]),
        ("SELECT $1 || 'x', $2 LIKE s FROM t", vec![text, text]),
        (
            "SELECT a FROM t WHERE b IN ($1, $2) LIMIT $3",
            vec![int8, int8, int8],
        ),
        (
            "SELECT CASE WHEN $1 THEN a ELSE $2 END FROM t",
            vec![bool, int4],
        ),
        (
            "SELECT CASE a WHEN $1 THEN d ELSE $2 END FROM t",
            vec![int4, date],
        ),
        (
            "SELECT coalesce($1, b), nullif(s, $2) FROM t",
            vec![int8, text],
        ),
        ("VALUES (1, 'x'), ($1, $2)", vec![int4, text]),
        (
            "INSERT INTO t (d, n) VALUES (coalesce($1, $2), $3)",
            vec![date, date, numeric],
        ),
        (
            "UPDATE t SET b = CASE WHEN a = $1 THEN $2 ELSE b END",
            vec![int4, int8],
        ),
        (
            "SELECT $1 = $2, $3::numeric, NOT $4",
            vec![text, text, numeric, bool],
        ),
    ] {
        assert_eq!(client.describe(sql).expect(sql).0, types, "{sql}");
    }
    for sql in [
        "SELECT $1 + $2",
        "SELECT $1 * ($2)",
        "SELECT a FROM t WHERE $1 - $2 > 1",
    ] {
        let refusal = client.describe(sql).map(drop).unwrap_err();
        assert_eq!(refusal.sqlstate, "42725", "{sql}");
    }
    client.close();
    server.stop();
}

/// Statements, and the types of their parameters in PostgreSQL 15.
const TAKEN: &[(&str, &[u32])] = &[
    (
        "SELECT left(s, $1), lpad(s, $2, $3), split_part(s, $4, $5) FROM t",
        &[INT4, INT4, TEXT, TEXT, INT4],
    ),
    (
        "SELECT round(n, $1), round($2), abs($3), power(a, $4), ceil($5) FROM t",
        &[INT4, FLOAT8, FLOAT8, FLOAT8, FLOAT8],
    ),
    (
        "SELECT pg_advisory_lock($1), pg_try_advisory_lock($2, $3), pg_sleep($4)",
        &[INT8, INT4, INT4, FLOAT8],
    ),
    (
        "SELECT lag(a, $1, $2) OVER (ORDER BY d), ntile($3) OVER () FROM t",
        &[INT4, INT4, INT4],
    ),
    (
        "SELECT make_date($1, 1, 1), make_interval(days => $2), mod(b, $3) FROM t",
        &[INT4, INT4, INT8],
    ),
    (
        "SELECT array_append('{1}'::int[], $1), array_position('{a}'::text[], $2)",
        &[INT4, TEXT],
    ),
    ("SELECT a FROM t WHERE length(s) > $1", &[INT4]),
    (
        "SELECT s FROM t GROUP BY s HAVING count(*) > $1 AND max(d) < $2 AND sum(b) > $3 AND sum(a) < $4",
        &[INT8, DATE, NUMERIC, INT8],
    ),
    (
        "SELECT x.q FROM (SELECT b AS q, s FROM t) x WHERE x.q = $1 AND x.s = $2",
        &[INT8, TEXT],
    ),
    (
        "SELECT a FROM (SELECT a::text AS a FROM t) x WHERE a = $1",
        &[TEXT],
    ),
    (
        "WITH x AS (SELECT * FROM t), y (q, c) AS (SELECT x.d, count(*) FROM x GROUP BY 1)
             SELECT q FROM y AS z WHERE z.q = $1 AND c > $2",
        &[DATE, INT8],
    ),
    (
        "SELECT a FROM t WHERE (a, b) = ($1, $2) OR (a, d) IN (($3, $4))",
        &[INT4, INT8, INT4, DATE],
    ),
    (
        "SELECT a FROM t WHERE (SELECT max(b) FROM t) < $1 AND $2 IN (SELECT d FROM t)",
        &[INT8, DATE],
    ),
    (
        "SELECT a, d FROM t UNION ALL SELECT $1, $2 UNION ALL SELECT $3, $4",
        &[INT4, DATE, INT4, DATE],
    ),
    (
        "SELECT bool_or(a = $1), count(b = $2), $3 = ANY(ARRAY[d]) FROM t GROUP BY d",
        &[INT4, INT8, DATE],
    ),
    (
        "UPDATE t SET (b, d) = ($1, $2) WHERE d + interval '1 day' > $3",
        &[INT8, DATE, TIMESTAMP],
    ),
];

#[test]
fn parameters_have_the_types_that_functions_take_and_queries_give() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (a INT, b BIGINT, n numeric, s text, d DATE)")
        .unwrap();
    for (sql, types) in TAKEN {
        assert_eq!(client.describe(sql).expect(sql).0, *types, "{sql}");
    }
    client.close();
    server.stop();
}

/// What statements over the table of the next test give, with the types of their columns.
const EXACT: &[(&str, &str, &[u32])] = &[
    (
        "SELECT 10::numeric / 4, 7 / 2.0, -1.0 / 3",
        "2.5000000000000000 3.5000000000000000 -0.3333333333333333",
        &[NUMERIC, NUMERIC, NUMERIC],
    ),
    (
        "SELECT avg(a), sum(a), avg(b), sum(b), avg(n), sum(n), avg(x), sum(x) FROM t",
        "1.6666666666666667 5 20.0000000000000000 60 0.3333333333333333 1.00 0.5 1.5",
        &[
            NUMERIC, INT8, NUMERIC, NUMERIC, NUMERIC, NUMERIC, FLOAT8, FLOAT8,
        ],
    ),
    // Whole numbers of eight bytes, which `/` cuts.
    ("SELECT sum(a) / count(*) FROM t", "1", &[INT8]),
    (
        "SELECT sum(b) / count(*) FROM t",
        "20.0000000000000000",
        &[NUMERIC],
    ),
    ("SELECT n / x FROM t WHERE x > 0", "1 0.25", &[FLOAT8]),
    (
        "SELECT sum(DISTINCT a), avg(DISTINCT a) FROM t",
        "3 1.5000000000000000",
        &[INT8, NUMERIC],
    ),
    (
        "SELECT id, sum(a) OVER (ORDER BY id), avg(a) OVER (ORDER BY id ROWS 1 PRECEDING) FROM t ORDER BY id",
        "1 1 1.0000000000000000 2 3 1.5000000000000000 3 5 2.0000000000000000",
        &[INT4, INT8, NUMERIC],
    ),
    (
        "SELECT id % 2, sum(a), avg(a) FROM t GROUP BY 1 ORDER BY 1",
        "0 2 2.0000000000000000 1 3 1.5000000000000000",
        &[INT4, INT8, NUMERIC],
    ),
    (
        "SELECT sum(a), avg(a) FROM t WHERE false",
        "NULL NULL",
        &[INT8, NUMERIC],
    ),
    (
        "SELECT round(100.0 * count(*) / 7, 1) FROM t",
        "42.9",
        &[NUMERIC],
    ),
    // A column of it keeps ten digits, as of a float.
    (
        "UPDATE t SET m = 2 / 3.0 WHERE id = 1 RETURNING m",
        "0.6666666667",
        &[NUMERIC],
    ),
    (
        "SELECT extract(year FROM d), extract(epoch FROM d), extract(second FROM d), date_part('second', d) FROM t WHERE id = 1",
        "2024 1706696430.500000 30.500000 30.5",
        &[NUMERIC, NUMERIC, NUMERIC, FLOAT8],
    ),
    (
        "SELECT length('abc'), position('b' IN 'abc'), octet_length('äb'), width_bucket(5.35, 0.024, 10.06, 5)",
        "3 2 3 3",
        &[INT4, INT4, INT4, INT4],
    ),
    (
        "SELECT 10::numeric ^ 2, 1e30 / 1e-30",
        "100.0000000000000000 1e+60",
        &[NUMERIC, FLOAT8],
    ),
    (
        "SELECT 100000000000::numeric / 0.00000000001::numeric",
        "22003",
        &[],
    ),
    (
        "SELECT 'abc'::varchar(2), 12345::varchar(3)",
        "ab 123",
        &[TEXT, TEXT],
    ),
];
const INT4: u32 = 23;
const INT8: u32 = 20;
const TEXT: u32 = 25;
const FLOAT8: u32 = 701;
const NUMERIC: u32 = 1700;
const DATE: u32 = 1082;
const TIMESTAMP: u32 = 1114;

#[test]
fn quotients_means_and_sums_have_postgresqls_types() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (id INT, a INT, b BIGINT, n NUMERIC(10, 2), x FLOAT, m NUMERIC, d TIMESTAMP)")
        .unwrap();
    client
        .run("INSERT INTO t VALUES (1, 1, 10, 0.5, 0.5, 1, '2024-01-31 10:20:30.5'), (2, 2, 20, 0.25, 0, 1, NULL), (3, 2, 30, 0.25, 1, 1, NULL)")
        .unwrap();
    client
        .run("DELETE FROM t WHERE x = 1; INSERT INTO t VALUES (3, 2, 30, 0.25, 1, 1, NULL)")
        .unwrap();
    for (sql, wanted, types) in EXACT {
        if let Ok(table) = client.table(sql, false) {
            assert_eq!(table.oids.as_deref(), Some(*types), "{sql}");
        }
        assert_eq!(shown(&mut client, sql), *wanted, "{sql}");
    }
    // What is stored means the same in the other dialect.
    client
        .run("CREATE VIEW v AS SELECT sum(a) AS s, avg(a) AS m, sum(a) / count(*) AS q FROM t")
        .unwrap();
    client.run("SET sql_dialect = 'duckdb'").unwrap();
    for (sql, wanted) in [
        ("SELECT s, m, q FROM v", "5 1.6666666666666667 1"),
        ("SELECT avg(a), 1 / 4 FROM t", "1.6666666666666667 0.25"),
    ] {
        assert_eq!(shown(&mut client, sql), wanted, "{sql}");
    }
    client.close();
    server.stop();
}
