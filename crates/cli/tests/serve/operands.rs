//! What operands and arguments of PostgreSQL make of one another, over the wire: numbers that are written beside `smallint`, numerics of many
//! digits, texts without a type; and values that functions show.

use crate::client::Client;
use crate::instance::{PASSWORD, Running, made};
use crate::numbers::shown;

/// Statements over the table of the test, and what they give.
const STATEMENTS: &[(&str, &str)] = &[
    // A number that is written is an integer.
    (
        "SELECT s + 1, 1 + s, s * 2, pg_typeof(s + 1) FROM q WHERE i = 1",
        "32768 32768 65534 integer",
    ),
    ("SELECT s + 1::smallint FROM q WHERE i = 1", "22003"),
    ("SELECT s + '1' FROM q WHERE i = 1", "22003"),
    (
        "SELECT s + '1', pg_typeof(s + '1') FROM q WHERE i = 2",
        "2 smallint",
    ),
    // A numeric has the digits that it takes.
    (
        "SELECT n + 1, n * 2, m * m FROM q WHERE i = 1",
        "1000000000000000.999 1999999999999999.998 99999999999800000000.0001",
    ),
    (
        "SELECT sum(n * m) FROM q",
        "9999999999989999990000000.00001",
    ),
    (
        "SELECT n + '1.5555', '0.5' * n FROM q WHERE i = 1",
        "1000000000000001.5545 499999999999999.9995",
    ),
    ("UPDATE q SET n = n + 1 WHERE i = 1", "22003"),
    // A text without a type has that of what it stands beside.
    (
        "SELECT i + '1', '2' * i, i / '2', f + '1' FROM q WHERE i = 1",
        "2 2 0 2.5",
    ),
    ("SELECT i + '4.5' FROM q", "22P02"),
    (
        "SELECT n + '1e2', n + '  -0.5 ', n + '.5' FROM q WHERE i = 1",
        "1000000000000099.999 999999999999999.499 1000000000000000.499",
    ),
    ("SELECT n + 'abc' FROM q", "22P02"),
    ("SELECT n + '' FROM q", "22P02"),
    (
        "SELECT t + '1 day', '1 hour' + t, c + '1 hour' FROM q WHERE i = 1",
        "2020-01-03 03:04:05 2020-01-02 04:04:05 04:04:05",
    ),
    (
        "SELECT y || 'ab', 'ab' || y, y || '\\x00', y || 'x'::text FROM q WHERE i = 1",
        "\\x61ff6162 \\x616261ff \\x61ff00 \\x61ffx",
    ),
    (
        "SELECT 0.1::real = ANY (ARRAY[0.1]), 0.1::real <> ALL (ARRAY[0.1, 0.2]), r = ANY (ARRAY[0.5, 1.5]) FROM q WHERE i = 1",
        "f t t",
    ),
    // What values are shown as.
    (
        "SELECT format('%s|%s|%s|%s|%s|%s|%s', b, d, t, z, c, u, v) FROM q WHERE i = 1",
        "t|2020-01-02|2020-01-02 03:04:05|2020-01-02 03:04:05+00|03:04:05|00000000-0000-0000-0000-00000000000a|1 day 02:00:00",
    ),
    (
        "SELECT format('%L|%s|%s|%s|%I', f, r, y, n, x) FROM q WHERE i = 1",
        "'1.5'|1.5|\\x61ff|999999999999999.999|\"a \"\"b\"\",c\"",
    ),
    (
        "SELECT format('%s %s', b, d) FROM q WHERE i = 2",
        "f infinity",
    ),
    (
        "SELECT format('%*s|%-*s|', i + 3, 'ab', 5, b) FROM q WHERE i = 1",
        "  ab|t    |",
    ),
    (
        "SELECT concat(b, d, f, NULL, true), concat_ws('-', b, i, NULL, r) FROM q WHERE i = 1",
        "t2020-01-021.5t t-1-1.5",
    ),
    (
        "SELECT (i, x)::text, (b, NULL, f)::text, (i, (s, x))::text FROM q WHERE i = 1",
        "(1,\"a \"\"b\"\",c\") (t,,1.5) (1,\"(32767,\"\"a \"\"\"\"b\"\"\"\",c\"\")\")",
    ),
    (
        "SELECT ('', 'a b', 'p(q)', 'x\\y')::text, (d, v, y)::text FROM q WHERE i = 1",
        "(\"\",\"a b\",\"p(q)\",\"x\\\\y\") (2020-01-02,\"1 day 02:00:00\",\"\\\\x61ff\")",
    ),
];

#[test]
fn operands_and_arguments_are_those_of_postgresql() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.run("SET TimeZone = 'UTC'").unwrap();
    for sql in [TABLE, ROWS] {
        client.run(sql).unwrap();
    }
    for (sql, wanted) in STATEMENTS {
        assert_eq!(shown(&mut client, sql), *wanted, "{sql}");
    }
    // What has more digits than there is room for is refused, or rounded to what there is.
    for digits in [37, 38, 39, 300, 70_000] {
        for text in ["0.".to_owned() + &"1".repeat(digits), "1".repeat(digits)] {
            for sql in [
                format!("SELECT n + '{text}' FROM q"),
                format!("SELECT '{text}' * 1.5"),
            ] {
                let shown = shown(&mut client, &sql);
                assert!(
                    ["22", "42883", "0.1666", "1666"]
                        .iter()
                        .any(|start| shown.starts_with(start)),
                    "{digits}: {shown}"
                );
            }
        }
    }
    client
        .run("CREATE VIEW w AS SELECT concat(b, i) AS c, format('%s %s', b, f) AS g FROM q WHERE i = 1")
        .unwrap();
    assert_eq!(shown(&mut client, "SELECT * FROM w"), "t1 t 1.5");
    let text = shown(&mut client, "SELECT pg_get_viewdef('w'::regclass)");
    assert!(
        text.contains("concat(b, i)") && text.contains("format('%s %s', b, f)"),
        "{text}"
    );
    client.close();
    server.stop();
}

/// Statements of a session in New York, whose clocks were put forward on 10 March.
const ACROSS_SUMMER: &[(&str, &str)] = &[
    (
        "SELECT z - timestamptz '2024-03-08 13:00:00-05' FROM q",
        "3 days 22:00:00",
    ),
    (
        "SELECT timestamptz '2024-03-08 13:00:00-05' - z, z - '2024-03-08 13:00:00-05' FROM q",
        "-3 days -22:00:00 3 days 22:00:00",
    ),
    (
        "SELECT extract(epoch FROM z - timestamptz '2024-03-08 13:00:00-05') FROM q",
        "338400.000000",
    ),
    (
        "SELECT sum(z - '2024-03-08 13:00:00-05'::timestamptz) FROM q",
        "3 days 22:00:00",
    ),
    (
        "SELECT z::timestamp - timestamp '2024-03-08 13:00:00' FROM q",
        "3 days 23:00:00",
    ),
    (
        "SELECT age(z, timestamptz '2024-03-08 13:00:00-05') FROM q",
        "3 days 23:00:00",
    ),
    (
        "SELECT z - interval '2 days', z - interval '48 hours' FROM q",
        "2024-03-10 12:00:00-04 2024-03-10 12:00:00-04",
    ),
    (
        "SELECT to_char(z, 'YYYY-MM-DD HH24:MI:SS TZ OF tz TZH:TZM') FROM q",
        "2024-03-12 12:00:00 EDT -04 edt -04:00",
    ),
    (
        "SELECT to_char(timestamptz '2024-03-08 23:30:00-05', 'DD HH12 AM TZ Day') FROM q",
        "08 11 PM EST Friday   ",
    ),
    (
        "SELECT to_char(z::timestamp, 'HH24 TZ OF') FROM q",
        "12  +00",
    ),
    (
        "SELECT count(*) OVER (ORDER BY v RANGE interval '1 day' PRECEDING) FROM (VALUES (timestamptz '2024-03-09 12:00:00-05'), ('2024-03-10 12:00:00-04'), ('2024-03-10 12:30:00-04'), ('infinity')) t(v)",
        "1 2 2 1",
    ),
];

#[test]
fn instants_are_apart_by_the_time_that_passes() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.run("SET TimeZone = 'America/New_York'").unwrap();
    client.run("CREATE TABLE q (z TIMESTAMPTZ)").unwrap();
    client
        .run("INSERT INTO q VALUES ('2024-03-12 12:00:00-04')")
        .unwrap();
    for (sql, wanted) in ACROSS_SUMMER {
        assert_eq!(shown(&mut client, sql), *wanted, "{sql}");
    }
    client.run("SET TimeZone = 'Asia/Kolkata'").unwrap();
    let shown = shown(&mut client, "SELECT to_char(z, 'HH24:MI TZ OF') FROM q");
    assert_eq!(shown, "21:30 IST +05:30");
    client.close();
    server.stop();
}

const TABLE: &str = "CREATE TABLE q (i INT, s SMALLINT, b BOOLEAN, d DATE, t TIMESTAMP, z TIMESTAMPTZ, c TIME, u UUID, v INTERVAL, \
    f FLOAT8, r REAL, y BYTEA, n NUMERIC(18, 3), m NUMERIC(12, 2), x TEXT)";
const ROWS: &str = "INSERT INTO q VALUES (1, 32767, true, '2020-01-02', '2020-01-02 03:04:05', '2020-01-02 03:04:05+00', '03:04:05', \
    '00000000-0000-0000-0000-00000000000a', '1 day 2 hours', 1.5, 1.5, '\\x61ff', 999999999999999.999, 9999999999.99, 'a \"b\",c'), \
    (2, 1, false, 'infinity', NULL, NULL, NULL, NULL, NULL, 'inf', NULL, NULL, NULL, NULL, '')";
