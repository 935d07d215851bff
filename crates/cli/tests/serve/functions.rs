//! Functions and operators of PostgreSQL that DuckDB has under the same name with another meaning, or not: the answers are those of
//! PostgreSQL 15.

use crate::client::Client;
use crate::instance::{PASSWORD, Running, made};

/// What is selected, and the row that comes back, its columns apart by a stroke.
const ANSWERS: &[(&str, &str)] = &[
    (
        "SELECT round(2.5::float8), round(-2.5::float8), round(0.5::float8), round(1.5::float8), round(2.5), round(-0.5), round(7)",
        "2|-2|0|2|3|-1|7",
    ),
    (
        "SELECT round(2.345, 2), round(123456.789), round('NaN'::float8), round(NULL::numeric)",
        "2.35|123457|NaN|NULL",
    ),
    (
        "SELECT substr('hello', -1), substr('hello', 0), substr('hello', 2), substring('hello', -1, 4), substr('hello', 0, 2), substr('hello', 2, 3)",
        "hello|hello|ello|he|h|ell",
    ),
    (
        "SELECT substring('hello' from -1 for 4), substring('hello' from 2 for 3), substring('hello' from 3), substr('hello', 9), substr('hello', -5, 2)",
        "he|ell|llo||",
    ),
    (
        "SELECT substr(NULL, 1), substr('a', NULL), substr('é€x', -1, 3)",
        "NULL|NULL|é",
    ),
    (
        "SELECT ARRAY[1, 2] || NULL::int[], NULL::int[] || ARRAY[1, 2], NULL::int[] || 3, 3 || NULL::int[], ARRAY[1] || ARRAY[2, 3], ARRAY[1] || 2",
        "{1,2}|{1,2}|{3}|{3}|{1,2,3}|{1,2}",
    ),
    (
        "SELECT array_cat(NULL::int[], NULL::int[]), array_cat(ARRAY[1], NULL), array_cat(NULL, ARRAY[1]), array_cat(ARRAY[1], ARRAY[2])",
        "NULL|{1}|{1}|{1,2}",
    ),
    (
        "SELECT 'a' || 'Infinity'::float8, 'a' || interval '1 month 2 days', interval '36 hours' || 'b', 'a' || 0.1::real, 'x' || 5, 'x' || 1.50",
        "aInfinity|a1 mon 2 days|36:00:00b|a0.1|x5|x1.50",
    ),
    (
        "SELECT justify_days(interval '65 days'), justify_days(interval '-65 days'), justify_days(interval '1 month -1 day'), justify_days(interval '36 hours')",
        "2 mons 5 days|-2 mons -5 days|29 days|36:00:00",
    ),
    (
        "SELECT justify_hours(interval '50 hours'), justify_hours(interval '-50 hours'), justify_hours(interval '1 day -1 hour'), justify_hours(interval '1 mon')",
        "2 days 02:00:00|-2 days -02:00:00|23:00:00|1 mon",
    ),
    (
        "SELECT justify_interval(interval '1 mon -1 hour'), justify_interval(interval '65 days 50 hours'), justify_interval(interval '-1 mon 1 day'), justify_interval(NULL)",
        "29 days 23:00:00|2 mons 7 days 02:00:00|-29 days|NULL",
    ),
    (
        "SELECT split_part('a,b,c', ',', 2), split_part('a,b,c', ',', -1), split_part('a', ',', 3)",
        "b|c|",
    ),
    (
        "SELECT trim_array(ARRAY[1, 2, 3], 1), trim_array(ARRAY[1, 2, 3], 3), trim_array(ARRAY[1], 0)",
        "{1,2}|{}|{1}",
    ),
    (
        "SELECT array_dims(ARRAY[4, 5]), array_dims(ARRAY[]::int[]), sign(-3), sign(0), sign(2.5), sign(NULL::int)",
        "[1:2]|NULL|-1|0|1|NULL",
    ),
    (
        "SELECT pg_typeof(sign(2.5)), pg_typeof(sign(2)), sign(-2.5), sign('NaN'::float8), ' 42 '::int, '-7'::bigint",
        "numeric|double precision|-1|NaN|42|-7",
    ),
    (
        "SELECT date_trunc('month', DATE '2020-02-15'), pg_typeof(date_trunc('day', DATE '2020-02-15')), date_trunc('week', d) FROM (VALUES (DATE '2020-02-15')) t(d)",
        "2020-02-01 00:00:00+00|timestamp with time zone|2020-02-10 00:00:00+00",
    ),
    (
        "SELECT date_trunc('century', TIMESTAMP '2000-12-31'), date_trunc('millennium', TIMESTAMP '2001-01-01'), date_trunc('century', TIMESTAMPTZ '2020-02-15 00:00:00+00'), date_trunc('decade', TIMESTAMP '2025-02-15')",
        "1901-01-01 00:00:00|2001-01-01 00:00:00|2001-01-01 00:00:00+00|2020-01-01 00:00:00",
    ),
    (
        "SELECT date_trunc('century', INTERVAL '123 years'), date_trunc('hour', INTERVAL '3 days 02:47:33'), date_trunc('century', DATE '1900-06-01')",
        "100 years|3 days 02:00:00|1801-01-01 00:00:00+00",
    ),
    (
        "SELECT date_bin('15 minutes', TIMESTAMP '2020-02-11 15:44:17', TIMESTAMP '2001-01-01'), pg_typeof(date_bin('1 day', TIMESTAMP '2020-02-11 15:44:17', TIMESTAMP '2001-01-01'))",
        "2020-02-11 15:30:00|timestamp without time zone",
    ),
    (
        "SELECT make_date(-44, 3, 15), make_date(2020, 2, 29), make_timestamp(-1, 7, 15, 8, 15, 23.5)",
        "0044-03-15 BC|2020-02-29|0001-07-15 08:15:23.5 BC",
    ),
    (
        "SELECT 1 << 31, 1 << 32, 1 << 33, -1 >> 33, 1::int8 << 63, 1::int8 << 64, 1::int2 << 15, 1::int2 << 20, (-8)::int2 >> 1",
        "-2147483648|1|2|-1|-9223372036854775808|1|-32768|0|-4",
    ),
    (
        "SELECT a << b, a >> b, a::int8 << b FROM (VALUES (1, 40), (NULL, 1)) t(a, b) WHERE a IS NOT NULL",
        "256|0|1099511627776",
    ),
    (
        "SELECT ARRAY[1, NULL] @> ARRAY[NULL]::int[], ARRAY[1, NULL] @> ARRAY[1], ARRAY[1, 2] @> ARRAY[1, NULL], ARRAY[1, 2] <@ ARRAY[2, 1, NULL], NULL::int[] @> ARRAY[NULL]::int[], ARRAY[1] @> NULL::int[]",
        "f|t|f|t|NULL|NULL",
    ),
    (
        "SELECT x::int, x::int8, 4.5::int FROM (VALUES (' +42 '::text)) t(x)",
        "42|42|5",
    ),
];

const ERRORS: &[&str] = &[
    "SELECT split_part('a', ',', 0)",
    "SELECT substr('hello', 1, -1)",
    "SELECT trim_array(ARRAY[1], 2)",
    "SELECT trim_array(ARRAY[1], -1)",
    "SELECT '4.5'::int",
    "SELECT CAST('1e3' AS bigint)",
    "SELECT ''::smallint",
    "SELECT x::int FROM (VALUES ('4.5'::text)) t(x)",
    "SELECT x::bigint FROM (VALUES ('1e3'::text)) t(x)",
    "SELECT '0x10'::text::int",
    "SELECT interval '1 day' / 0",
    "SELECT i / n FROM (VALUES (interval '1 day', 0)) t(i, n)",
    "SELECT make_date(0, 1, 1)",
    "SELECT date_bin('1 month', timestamp '2020-02-11', timestamp '2001-01-01')",
    "SELECT date_bin('0 days', timestamp '2020-02-11', timestamp '2001-01-01')",
];

#[test]
fn functions_answer_as_in_postgresql() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for (sql, answer) in ANSWERS {
        let table = client.table(sql, false);
        let table = table.unwrap_or_else(|refusal| panic!("{sql}: {}", refusal.sqlstate));
        let cells = table.rows.into_iter().flatten();
        let cells = cells.map(|cell| cell.unwrap_or("NULL".into()));
        assert_eq!(cells.collect::<Vec<_>>().join("|"), *answer, "{sql}");
    }
    for sql in ERRORS {
        assert!(client.table(sql, false).is_err(), "{sql}");
    }
    client.close();
    server.stop();
}
