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
    (
        "SELECT i / n, j / n, j % n, mod(j, n) FROM (VALUES (NULL::interval, NULL::int, 0)) t(i, j, n)",
        "NULL|NULL|NULL|NULL",
    ),
    (
        "SELECT interval '1 day' / 2, i / n FROM (VALUES (interval '1 month', 4)) t(i, n)",
        "12:00:00|7 days 12:00:00",
    ),
    (
        "SELECT time '10:00' - time '08:30', t - u, pg_typeof(t - u) FROM (VALUES (time '10:00', time '23:30:15.5')) v(t, u)",
        "01:30:00|-13:30:15.5|interval",
    ),
    (
        "SELECT 5 # 3, 17 # 5, 1 + 2 # 3, B'1010', B'1010' | B'0101', B'1010' # B'0110', ~ B'1010'",
        "6|20|0|1010|1111|1100|0101",
    ),
    (
        "SELECT |/ 4, |/ 2.25, |/ 4 + 5, @ -5.0, @ -5",
        "2|1.5|3|5.0|5",
    ),
    (
        "SELECT encode('\\x0041ff5c'::bytea, 'escape'), get_byte('\\x1234'::bytea, 1), set_byte('\\x1234'::bytea, 1, 64), get_bit('\\x1234'::bytea, 3), set_bit('\\x1234'::bytea, 3, 1), bit_count('\\x1234567890'::bytea)",
        "\\000A\\377\\\\|52|\\x1240|0|\\x1a34|15",
    ),
    (
        "SELECT extract(century FROM DATE '0001-01-01 BC'), extract(century FROM DATE '0101-01-01 BC'), extract(millennium FROM TIMESTAMP '1001-01-01 BC'), DATE '0044-03-15 BC'",
        "-1|-2|-2|0044-03-15 BC",
    ),
    (
        "SELECT extract(julian FROM TIMESTAMP '2006-01-01 12:00')::float8, date_trunc('day', TIMESTAMPTZ '2001-02-16 20:38:40+00', 'Australia/Sydney')",
        "2453737.5|2001-02-16 13:00:00+00",
    ),
    (
        "SELECT sum(i), avg(i), pg_typeof(sum(i)) FROM (VALUES (INTERVAL '1 month'), (INTERVAL '2 days 3 hours'), (NULL)) t(i)",
        "1 mon 2 days 03:00:00|16 days 01:30:00|interval",
    ),
    (
        "SELECT avg(i), sum(DISTINCT n) FROM (VALUES (INTERVAL '1 day', 1), (INTERVAL '2 hours', 1), (INTERVAL '1 second', 2)) t(i, n)",
        "08:40:00.333333|3",
    ),
    (
        "SELECT 5 BETWEEN SYMMETRIC 7 AND 3, 5 NOT BETWEEN SYMMETRIC 7 AND 3, 5 BETWEEN ASYMMETRIC 3 AND 7, 5 BETWEEN SYMMETRIC 3 AND NULL, 2 BETWEEN SYMMETRIC 3 AND NULL",
        "t|f|t|NULL|NULL",
    ),
    (
        "SELECT x LIKE ANY (ARRAY['a%', 'b%']), x NOT LIKE ALL (ARRAY['a%', 'b%']), x ILIKE ANY ('{A%,B%}'), x ~ ANY (ARRAY['^a', 'x']), x LIKE ANY (l) FROM (VALUES ('abc', ARRAY['x', '%c'])) t(x, l)",
        "t|f|t|t|t",
    ),
    (
        "SELECT x LIKE ANY (ARRAY['z', NULL]), x LIKE ALL (l) FROM (VALUES ('abc', ARRAY[]::text[])) t(x, l)",
        "NULL|t",
    ),
    (
        "SELECT (DATE '2001-02-16', DATE '2001-12-21') OVERLAPS (DATE '2001-10-30', DATE '2002-10-30'), (DATE '2001-02-16', INTERVAL '100 days') OVERLAPS (DATE '2001-10-30', DATE '2002-10-30'), (DATE '2001-10-29', DATE '2001-10-30') OVERLAPS (DATE '2001-10-30', DATE '2001-10-31')",
        "t|f|f",
    ),
    (
        "SELECT ROW(1, NULL) IS NULL, ROW(NULL, NULL) IS NULL, (1, NULL) IS NOT NULL, ROW(1, 2) IS NOT NULL",
        "f|t|f|t",
    ),
    (
        "SELECT regexp_matches('foobarbequebaz', '(b.)(.)', 'g')",
        "{ba,r}|{be,q}|{ba,z}",
    ),
    (
        "SELECT regexp_matches('foobarbequebaz', 'ba.'), regexp_match('Ab', '(a)(b)', 'i')",
        "{bar}|{A,b}",
    ),
    (
        "SELECT m[1] FROM regexp_matches('a1b2', '([a-z])(\\d)', 'g') AS m",
        "a|b",
    ),
    (
        "SELECT regexp_replace('A PostgreSQL function', 'a|e|i|o|u', 'X', 1, 0, 'i'), regexp_replace('A PostgreSQL function', 'a|e|i|o|u', '<\\&>', 1, 3, 'i'), regexp_replace('abc', '(b)(c)', '\\2\\1', 2, 1)",
        "X PXstgrXSQL fXnctXXn|A Postgr<e>SQL function|acb",
    ),
    (
        "SELECT regexp_count('123456789012', '\\d\\d\\d', 2), regexp_instr('number of your street, town zip, FR', '[^,]+', 1, 2), regexp_substr('number of your street, town zip, FR', '[^,]+', 1, 2), regexp_substr('abc', 'z', 1, 1)",
        "3|23| town zip|NULL",
    ),
    (
        "SELECT trim(leading from '  a '), trim(from '  a '), trim(trailing from ' a '), trim(both 'x' from 'xax')",
        "a |a| a|a",
    ),
    (
        "SELECT quote_literal(42), quote_nullable(1.5), quote_literal('O''Reilly'), quote_nullable(NULL), to_hex(-1), to_hex(-1::bigint), to_hex(255)",
        "'42'|'1.5'|'O''Reilly'|NULL|ffffffff|ffffffffffffffff|ff",
    ),
    (
        "SELECT string_to_array('abc', NULL), string_to_array('abc', ''), string_to_array('a,b', ','), string_to_array('axb', NULL, 'x')",
        "{a,b,c}|{abc}|{a,b}|{a,NULL,b}",
    ),
    (
        "SELECT convert_from('\\x616263'::bytea, 'UTF8'), convert_to('abc', 'UTF8'), pg_client_encoding()",
        "abc|\\x616263|UTF8",
    ),
    (
        "SELECT ARRAY[1, 2] @> ARRAY[2], ARRAY[1] @> ARRAY[NULL]::int[], NULL::int[] @> ARRAY[1], ARRAY[1, NULL] @> ARRAY[]::int[]",
        "t|f|NULL|t",
    ),
    (
        "SELECT interval '2 hours' - interval '1 day', '-1 days +02:00:00'::interval, interval '-1 mon 5 days', (interval '2 hours' - interval '1 day')::text",
        "-1 days +02:00:00|-1 days +02:00:00|-1 mons +5 days|-1 days +02:00:00",
    ),
    (
        "SELECT DATE 'today' = current_date, 'tomorrow'::date - current_date, TIMESTAMPTZ 'now' = now(), DATE 'Jan 8, 1999', timestamp '19990108', '1/8/1999'::date, date '08-Jan-1999'",
        "t|1|t|1999-01-08|1999-01-08 00:00:00|1999-01-08|1999-01-08",
    ),
    (
        "SELECT interval '1-2', interval '1 2:03:04', 'P1Y2M3DT4H5M6S'::interval",
        "1 year 2 mons|1 day 02:03:04|1 year 2 mons 3 days 04:05:06",
    ),
    (
        "SELECT 'é' ~ '[[:alpha:]]', 'foo bar' ~ '\\yfoo\\y', 'abc' ~ '\\ma', regexp_replace('foo bar', '\\m.', 'X', 'g'), 'a]b' ~ '[]]', '^' ~ '[^a]', regexp_match('x1', '[[:alnum:]]+'), regexp_replace('foobar', 'o', '[\\&]')",
        "t|t|t|Xoo Xar|t|t|{x1}|f[o]obar",
    ),
    (
        "SELECT regexp_replace('abc', 'b', '\\\\&'), regexp_replace('abc', 'b', '\\\\\\&')",
        "a\\&c|a\\bc",
    ),
    (
        "SELECT 5 - floor(random()) BETWEEN SYMMETRIC 7 AND 3, floor(random())::text LIKE ANY (ARRAY['x', '0'])",
        "t|t",
    ),
];

/// What is refused, and the SQLSTATE.
const REFUSALS: &[(&str, &str)] = &[
    ("SELECT date_trunc('week', INTERVAL '5 months')", "0A000"),
    (
        "SELECT nth_value(x, 0) OVER (ORDER BY x) FROM (VALUES (1)) t(x)",
        "22016",
    ),
    (
        "SELECT ntile(0) OVER (ORDER BY x) FROM (VALUES (1)) t(x)",
        "22014",
    ),
    ("SELECT '99999999999'::text::int", "22003"),
    ("SELECT '99999999999'::int", "22003"),
    ("SELECT 'nope'::text::date", "22007"),
    ("SELECT 'nope'::date", "22007"),
    ("SELECT '2020-02-30'::text::date", "22008"),
    ("SELECT 'nope'::text::timestamp", "22007"),
    ("SELECT 'nope'::interval", "22007"),
    ("SELECT '12:99'::time", "22008"),
    ("SELECT make_date(0, 1, 1)", "22008"),
    ("SELECT make_date(2020, 13, 1)", "22008"),
    ("SELECT make_time(25, 1, 1)", "22008"),
    (
        "SELECT date_bin('1 month', TIMESTAMP '2020-01-01', TIMESTAMP '2020-01-01')",
        "0A000",
    ),
    (
        "SELECT date_bin('-1 day', TIMESTAMP '2020-01-01', TIMESTAMP '2020-01-01')",
        "22008",
    ),
    ("SELECT get_byte('\\x1234'::bytea, 5)", "2202E"),
    ("SELECT set_bit('\\x1234'::bytea, 3, 2)", "22023"),
    (
        "SELECT i / n FROM (VALUES (interval '1 day', 0)) t(i, n)",
        "22012",
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
    for (sql, sqlstate) in REFUSALS {
        let refusal = client.table(sql, false).err();
        let said = refusal.map(|refusal| refusal.sqlstate);
        assert_eq!(said.as_deref(), Some(*sqlstate), "{sql}");
    }
    client.close();
    server.stop();
}
