//! More functions, casts and operators of PostgreSQL that DuckDB has with another meaning, or not: the answers are those of PostgreSQL 15.

use crate::client::Client;
use crate::instance::{PASSWORD, Running, made};

/// What is selected, and the rows that come back, all their columns apart by a stroke.
const ANSWERS: &[(&str, &str)] = &[
    (
        "SELECT 0.1::real * 3, pg_typeof(0.1::real * 3)",
        "0.30000000447034836|double precision",
    ),
    (
        "SELECT 0.1::real + 1, 0.1::real - 1.5, 1 / 3::real, 2 * 0.1::real, 0.1::real + 0.2::real",
        "1.1000000014901161|-1.3999999985098839|0.3333333333333333|0.20000000298023224|0.3",
    ),
    (
        "SELECT 0.1::real = 0.1, 0.1::real < 0.1, 0.1 = 0.1::real, 0.5::real = 0.5, 1::real = 1, 16777217 = 16777217::real",
        "f|f|f|t|t|f",
    ),
    (
        "SELECT pg_typeof(1::real + 1::bigint), pg_typeof(1::real / 2.5), pg_typeof(1::real * 1::real), pg_typeof(1::real + 1::float8)",
        "double precision|double precision|real|double precision",
    ),
    (
        "SELECT 5::bit(4), 5::bit(8), (-5)::bit(8), 5::bit, 44::bit(3), 5::bigint::bit(70)",
        "0101|00000101|11111011|1|100|0000000000000000000000000000000000000000000000000000000000000000000101",
    ),
    (
        "SELECT X'1F', B'101', '101'::bit(5), B'10101'::bit(3), '10101'::varbit(3), B'1'::bit(4), x'ff'",
        "00011111|101|10100|101|101|1000|11111111",
    ),
    ("SELECT B'101'::bit(3) & B'110'", "100"),
    ("SELECT B'101'::int, 5::bit(8)::int, X'FF'::int", "5|5|255"),
    (
        "SELECT timestamp '2020-01-01 10:00:00.123456'::timestamp(1), '2020-01-01 10:00:00.987654'::timestamp(0), '10:11:12.5678'::time(2), time '23:59:59.9'::time(0)",
        "2020-01-01 10:00:00.1|2020-01-01 10:00:01|10:11:12.57|24:00:00",
    ),
    (
        "SELECT '1999-12-31 23:59:59.999999'::timestamp(3), time(1) '10:00:00.26', 'infinity'::timestamp(1)",
        "2000-01-01 00:00:00|10:00:00.3|infinity",
    ),
    (
        "SELECT cardinality(ARRAY[[1,2],[3,4]]), array_dims(ARRAY[[1,2,3],[4,5,6]]), array_length(ARRAY[[1,2,3],[4,5,6]], 2), array_upper(ARRAY[[1,2]],2), array_lower(ARRAY[[1,2]],2), array_ndims(ARRAY[[1,2]])",
        "4|[1:2][1:3]|3|2|1|2",
    ),
    (
        "SELECT cardinality(ARRAY[]::int[]), array_dims(ARRAY[]::int[]), array_length(ARRAY[]::int[],1), cardinality(NULL::int[]), array_length(ARRAY[1,2],3), array_length(ARRAY[1],0)",
        "0|NULL|NULL|NULL|NULL|NULL",
    ),
    ("SELECT cardinality('{{1,2},{3,4}}'::int[])", "4"),
    (
        "SELECT json_object('{a, b}', '{1,2}'), json_object('{a,1,b,2}'), json_object('{{a,1},{b,NULL}}'), jsonb_object('{a,1,b,2}'), json_object(ARRAY['x','y'], ARRAY['1','z'])",
        "{\"a\" : \"1\", \"b\" : \"2\"}|{\"a\" : \"1\", \"b\" : \"2\"}|{\"a\" : \"1\", \"b\" : null}|{\"a\": \"1\", \"b\": \"2\"}|{\"x\" : \"1\", \"y\" : \"z\"}",
    ),
    (
        "SELECT json_object('{a,b}'::text[], '{1,NULL}'::text[]), json_object('{}')",
        "{\"a\" : \"1\", \"b\" : null}|{}",
    ),
    (
        "SELECT exp(1::float8), exp('Infinity'::float8), exp('-Infinity'::float8), exp(1.0), exp(0)",
        "2.718281828459045|Infinity|0|2.7182818284590452|1",
    ),
    (
        "SELECT 1.1::real::numeric, 1.1::float8::numeric, 123456.789::real::numeric, 1e10::real::numeric",
        "1.1|1.1|123457|10000000000",
    ),
    (
        "SELECT width_bucket(5.35, 0.024, 10.06, 5), width_bucket(5, ARRAY[1, 3, 5, 10]), width_bucket(0, ARRAY[1,3]), width_bucket(99, ARRAY[1,3]), width_bucket(NULL, ARRAY[1,2])",
        "3|3|0|2|NULL",
    ),
    (
        "SELECT * FROM jsonb_to_recordset('[{\"a\":1,\"b\":\"x\"},{\"a\":2,\"c\":1}]') AS t(a int, b text)",
        "1|x|2|NULL",
    ),
    (
        "SELECT * FROM json_to_record('{\"a\":1,\"b\":[1,2],\"c\":{\"d\":1},\"d\":null}') AS t(a int, b int[], c jsonb, d text, e boolean)",
        "1|{1,2}|{\"d\": 1}|NULL|NULL",
    ),
    (
        "SELECT t.i, r.a, r.b FROM (VALUES (1, '[{\"a\":1,\"b\":\"x\"},{\"a\":2}]'::jsonb), (2, '[]')) t(i, j), jsonb_to_recordset(t.j) AS r(a int, b varchar(3))",
        "1|1|x|1|2|NULL",
    ),
    (
        "SELECT t.i, r.a FROM (VALUES (1, '{\"a\":1}'::jsonb), (2, '{\"a\":7}')) t(i, j), LATERAL jsonb_to_record(t.j) AS r(a int)",
        "1|1|2|7",
    ),
    (
        "SELECT bool_and((r.a IS NULL) = (r.b IS NULL)) FROM generate_series(1, 60) g, \
         LATERAL json_to_record(CASE WHEN random() < 0.5 AND g > 0 THEN '{\"a\":1,\"b\":1}' ELSE '{}' END::json) AS r(a int, b int)",
        "t",
    ),
    (
        "SELECT sum(a) FROM jsonb_to_recordset('[{\"a\":1},{\"a\":2}]'::jsonb) AS x(a numeric)",
        "3",
    ),
    (
        "SELECT d >= '20200101', d = '20200131', '20200131' = d, d < 'Jan 31, 2020', d BETWEEN '20200101' AND '20201231' FROM (VALUES (date '2020-01-31')) t(d)",
        "t|t|t|f|t",
    ),
    (
        "SELECT t >= '20200101', t < '1/31/2021' FROM (VALUES (timestamp '2020-01-31 10:00')) t(t)",
        "t|t",
    ),
    (
        "SELECT i = 'P1D', i < '1-2', i = '1 day' FROM (VALUES (interval '1 day')) t(i)",
        "t|t|t",
    ),
    (
        "SELECT substring(x from p), substring(x from n), substring(x from n for 2), substring(x, p) FROM (VALUES ('foobar', 'o(.)b', 3)) t(x, p, n)",
        "o|obar|ob|o",
    ),
    (
        "SELECT substring('foobar' from -1), substring('foobar' from 0 for 3), substring('foobar' from 2), substring('foobar' from 'o.b'), substring('foobar', 'b(..)')",
        "foobar|fo|oobar|oob|ar",
    ),
    (
        "SELECT substring('foobar' similar '%#\"o_b#\"%' escape '#'), substring('foobar' from '%#\"o_b#\"%' for '#'), substring('foobar' similar '#\"o_b#\"%' escape '#')",
        "oob|oob|NULL",
    ),
    (
        "SELECT format('%-10s|', 'a'), format('%10s|', 'a'), format('|%-*s|', 5, 'x'), format('%2$s %1$s', 'a', 'b'), format('%%'), format('%I.%L', 'A', 'b')",
        "a         ||         a|||x    ||b a|%|\"A\".'b'",
    ),
    (
        "SELECT format('%s', NULL), format('Hello %s, %1$s', 'World'), format('|%*2$s|', 'a', 10, 'b')",
        "|Hello World, World||         b|",
    ),
    (
        "SELECT array_fill(7, ARRAY[3]), array_fill(0, ARRAY[2,3]), array_fill('x'::text, ARRAY[0]), array_fill(NULL::int, ARRAY[2])",
        "{7,7,7}|{{0,0,0},{0,0,0}}|{}|{NULL,NULL}",
    ),
    (
        "SELECT substring('\\x0102030405'::bytea from 2 for 3), substr('\\x0102030405'::bytea, 2), substring('\\x0102'::bytea from -1), position('\\x03'::bytea in '\\x010203'::bytea), overlay('\\x0102030405'::bytea placing '\\xff'::bytea from 2 for 3), trim('\\x00'::bytea from '\\x000100'::bytea)",
        "\\x020304|\\x02030405|\\x0102|3|\\x01ff05|\\x01",
    ),
    (
        "SELECT btrim('\\x000100'::bytea, '\\x00'::bytea), ltrim('\\x000100'::bytea, '\\x00'::bytea), rtrim('\\x000100'::bytea, '\\x00'::bytea), overlay('Txxxxas' placing 'hom' from 2 for 4), overlay('abc' placing 'X' from 2), overlay('abcdef' placing 'XY' from 5 for 0)",
        "\\x01|\\x0100|\\x0001|Thomas|aXc|abcdXYef",
    ),
    (
        "SELECT position('b' in 'abc'), position('' in 'abc'), position(''::bytea in 'abc'::bytea)",
        "2|1|1",
    ),
    (
        "SELECT length('\\xc3a9'::bytea, 'UTF8'), length('abc'::bytea)",
        "1|3",
    ),
    (
        "SELECT rank(2) WITHIN GROUP (ORDER BY x), dense_rank(2) WITHIN GROUP (ORDER BY x), percent_rank(2) WITHIN GROUP (ORDER BY x), cume_dist(2) WITHIN GROUP (ORDER BY x) FROM (VALUES (1), (1), (2), (3), (NULL)) t(x)",
        "3|2|0.4|0.6666666666666666",
    ),
    (
        "SELECT rank(2) WITHIN GROUP (ORDER BY x DESC), dense_rank(2) WITHIN GROUP (ORDER BY x DESC), percent_rank(2) WITHIN GROUP (ORDER BY x DESC), cume_dist(2) WITHIN GROUP (ORDER BY x DESC), rank(2) WITHIN GROUP (ORDER BY x) FILTER (WHERE x > 1) FROM (VALUES (1), (1), (2), (3), (NULL)) t(x)",
        "3|3|0.4|0.6666666666666666|1",
    ),
    (
        "SELECT g, rank(2) WITHIN GROUP (ORDER BY x) FROM (VALUES ('a', 1), ('a', 3), ('b', 5)) t(g, x) GROUP BY g ORDER BY g",
        "a|2|b|1",
    ),
    (
        "SELECT rank(2) WITHIN GROUP (ORDER BY x), percent_rank(2) WITHIN GROUP (ORDER BY x) FROM (VALUES (1)) t(x) WHERE false",
        "1|0",
    ),
    (
        "SELECT * FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY['a','b'])) AS t(a, b)",
        "1|a|2|b|3|NULL",
    ),
    (
        "SELECT * FROM ROWS FROM (unnest(ARRAY[1,2], ARRAY['x','y','z'])) t",
        "1|x|2|y|NULL|z",
    ),
    (
        "SELECT i, a, b FROM (VALUES (2), (1)) v(i), ROWS FROM (generate_series(1, v.i), string_to_table('x,y', ',')) AS t(a, b)",
        "2|1|x|2|2|y|1|1|x|1|NULL|y",
    ),
    (
        "SELECT * FROM unnest(ARRAY[1,2], ARRAY['x','y','z']) AS t(a, b)",
        "1|x|2|y|NULL|z",
    ),
    ("SELECT string_to_table('a,b,c', ','), 1", "a|1|b|1|c|1"),
    (
        "SELECT * FROM string_to_table('a,b,NULL', ',', 'NULL') AS t(x)",
        "a|b|NULL",
    ),
    ("SELECT count(*) FROM string_to_table('', ',')", "0"),
    ("SELECT x FROM string_to_table('abc', NULL) AS x", "a|b|c"),
    (
        "SELECT scale(8.41), scale(8.4100), scale(5), min_scale(8.4100), trim_scale(8.4100), trim_scale(5.00), min_scale(100::numeric), scale(NULL::numeric)",
        "2|4|0|2|8.41|5|0|NULL",
    ),
    (
        "SELECT acosd(0.5), asind(0.5), atand(1), atan2d(1, 1), cosd(60), sind(30), tand(45), cotd(45), acosd(-1), sind(-30), tand(180), sind(450)",
        "60|30|45|45|0.5|0.5|1|1|180|-0.5|0|1",
    ),
    (
        "SELECT sind(12.3), cosd(77.7), tand(33.3), cotd(33.3), asind(0.77), acosd(0.77), atand(0.3), acosd(-0.3), asind(-0.2)",
        "0.2130303862749766|0.21303038627497653|0.6568772224012792|1.5223545068961317|50.353888853026284|39.646111146973716|16.69924423399362|107.4576031237221|-11.536959032815487",
    ),
    (
        "SELECT to_json(t.*), row_to_json(t.*) FROM (VALUES (1, 'a')) t(x, y)",
        "{\"x\":1,\"y\":\"a\"}|{\"x\":1,\"y\":\"a\"}",
    ),
    (
        "SELECT regexp_replace('abcabc', 'b', 'X'), regexp_replace('abcabc', 'b', 'X', 'g'), regexp_replace('ABC', 'b', 'x', 'i'), regexp_replace('abcabc', 'b', 'X', 3)",
        "aXcabc|aXcaXc|AxC|abcaXc",
    ),
    ("SELECT pg_typeof('1'::bit(3)), pg_typeof(X'1F')", "bit|bit"),
    (
        "SELECT x, x * 2, x > 0.1, x >= 1 FROM (VALUES (0.1::real), (1::real)) t(x) ORDER BY x",
        "0.1|0.20000000298023224|t|f|1|2|t|t",
    ),
    (
        "SELECT sum(x * 2), avg(x + 1) FROM (VALUES (0.1::real), (1::real)) t(x)",
        "2.2000000029802322|1.550000000745058",
    ),
    (
        "SELECT -x + 1, abs(x) * 2.0 FROM (VALUES (0.3::real)) t(x)",
        "0.699999988079071|0.6000000238418579",
    ),
    (
        "SELECT substring(x, n, 2), substr(x, n), substr(x, -1, 3) FROM (VALUES ('héllo', 2)) t(x, n)",
        "él|éllo|h",
    ),
    (
        "SELECT 1.5::real + 1::smallint, pg_typeof(1.5::real + 1::smallint), pg_typeof(-(1.5::real)), 1.5::real + NULL, pg_typeof(1.5::real + NULL::int)",
        "2.5|double precision|real|NULL|double precision",
    ),
    (
        "SELECT r FROM (VALUES (0.1::real), (0.7)) t(r) WHERE r > 0.7",
        "",
    ),
    (
        "SELECT r FROM (VALUES (0.1::real), (0.7)) t(r) WHERE r * 10 = 7",
        "",
    ),
    (
        "SELECT coalesce(0.1::real, 1), pg_typeof(coalesce(0.1::real, 1)), CASE WHEN true THEN 0.1::real ELSE 2.5 END",
        "0.1|real|0.1",
    ),
    (
        "SELECT '2020-01-01 00:00:00.5'::timestamp(0), '2020-01-01 00:00:01.5'::timestamp(0), '1900-01-01 00:00:00.25'::timestamp(1)",
        "2020-01-01 00:00:01|2020-01-01 00:00:02|1900-01-01 00:00:00.2",
    ),
    (
        "SELECT extract(timezone FROM timestamptz '2020-01-01 10:00:00+00'), extract(microseconds FROM time '10:00:00.5')",
        "0|500000",
    ),
    (
        "SELECT extract(dow FROM date '2020-01-01'), extract(quarter FROM date '2020-05-01'), extract(isoyear FROM date '2021-01-01')",
        "3|2|2020",
    ),
    (
        "SELECT cardinality('{{1,2},{3,4}}'::int[]), '{{1,2},{3,4}}'::int[], '{{a,b}}'::text[][], ARRAY[[1,2],[3,4]]",
        "4|{{1,2},{3,4}}|{{a,b}}|{{1,2},{3,4}}",
    ),
    (
        "SELECT array_length(a, 1), cardinality(a) FROM (VALUES (ARRAY['a','b']), (NULL), ('{}')) t(a)",
        "2|2|NULL|NULL|NULL|0",
    ),
    (
        "SELECT count(*) FROM jsonb_to_recordset(NULL) AS t(a int)",
        "0",
    ),
    (
        "SELECT * FROM jsonb_to_record('{\"a\":\"2020-01-01\",\"b\":1.5,\"n\":null}') AS r(a date, b numeric, n text)",
        "2020-01-01|1.5|NULL",
    ),
    (
        "SELECT r.* FROM json_to_recordset('[{\"a\":1,\"B\":2}]') AS r(a int, \"B\" int)",
        "1|2",
    ),
    (
        "SELECT a.x, b.y FROM json_to_recordset('[{\"x\":1},{\"x\":2}]') AS a(x int) JOIN json_to_recordset('[{\"y\":2}]') AS b(y int) ON a.x = b.y",
        "2|2",
    ),
    (
        "SELECT d FROM (VALUES (date '2020-01-31'), (date '2021-01-31')) t(d) WHERE d > '20200601'",
        "2021-01-31",
    ),
    (
        "SELECT d FROM (VALUES (date '2020-01-31'), (date '2021-01-31')) t(d) WHERE d BETWEEN 'Jan 1, 2020' AND '20201231'",
        "2020-01-31",
    ),
    (
        "SELECT x FROM (VALUES ('20200131'), ('abc')) t(x) WHERE x = '20200131' AND x BETWEEN '20200101' AND '20201231'",
        "20200131",
    ),
    (
        "SELECT x BETWEEN 'P' AND 'P1D' FROM (VALUES ('P1')) t(x)",
        "t",
    ),
    (
        "SELECT string_to_table('a,b', NULL), string_to_table(NULL, ',')",
        "a|NULL|,|NULL|b|NULL",
    ),
    ("SELECT string_to_table('a,,b', ',', '')", "a|NULL|b"),
    (
        "SELECT rank('b') WITHIN GROUP (ORDER BY x) FROM (VALUES ('a'), ('b'), ('c')) t(x)",
        "2",
    ),
    (
        "SELECT rank(NULL) WITHIN GROUP (ORDER BY x), dense_rank(NULL) WITHIN GROUP (ORDER BY x), cume_dist(NULL) WITHIN GROUP (ORDER BY x) FROM (VALUES (1), (2), (NULL)) t(x)",
        "3|3|1",
    ),
    (
        "SELECT rank(1) WITHIN GROUP (ORDER BY x NULLS FIRST), dense_rank(1) WITHIN GROUP (ORDER BY x NULLS FIRST) FROM (VALUES (1), (2), (NULL), (NULL)) t(x)",
        "3|2",
    ),
    (
        "SELECT format('%s %s', d, b) FROM (VALUES (date '2020-01-01', true)) t(d, b)",
        "2020-01-01 t",
    ),
    (
        "SELECT format('%5s|%-5s|%05s', 1, 2, 3)",
        "    1|2    |    3",
    ),
    (
        "SELECT scale(x), min_scale(x), trim_scale(x) FROM (VALUES (1.500), (2.000)) t(x)",
        "3|1|1.5|3|0|2",
    ),
    (
        "SELECT trim_scale(1.0 / 4), scale(1.10::numeric), scale(0.00), trim_scale(0.00), min_scale(1.10 * 2)",
        "0.25|2|2|0|1",
    ),
    (
        "SELECT decode('\\\\000', 'escape'), encode(decode('a\\\\000b', 'escape'), 'escape')",
        "\\x5c303030|a\\\\000b",
    ),
    (
        "SELECT overlay('héllo' placing 'XY' from 2 for 1), overlay(NULL placing 'a' from 1)",
        "hXYllo|NULL",
    ),
    (
        "SELECT trim(both 'x' from 'xxaxx'), trim('  a '), btrim('xxaxx', 'x'), ltrim('  a'), rtrim('axx', 'x')",
        "a|a|a|a|a",
    ),
    (
        "SELECT array_fill(n, ARRAY[n]) FROM (VALUES (2), (3)) t(n)",
        "{2,2}|{3,3,3}",
    ),
    ("SELECT array_fill('a'::text, '{2}')", "{a,a}"),
    (
        "SELECT jsonb_object(ARRAY['b','a'], ARRAY['1','2']), json_object(NULL::text[])",
        "{\"a\": \"2\", \"b\": \"1\"}|NULL",
    ),
    (
        "SELECT json_object(k, v) FROM (VALUES (ARRAY['a'], ARRAY['x']), (ARRAY['b','c'], ARRAY[NULL,'y'])) t(k, v)",
        "{\"a\" : \"x\"}|{\"b\" : null, \"c\" : \"y\"}",
    ),
    (
        "SELECT B'1010'::text, X'1F'::text, length(B'1010'), B'1010' || B'11', 10::bit(8)::text",
        "1010|00011111|4|101011|00001010",
    ),
    ("SELECT 5::bit(4)::int, B'0101'::bit(4) = 5::bit(4)", "5|t"),
    (
        "SELECT sum(x) FROM ROWS FROM (generate_series(1, 3)) AS t(x)",
        "6",
    ),
    (
        "SELECT * FROM ROWS FROM (json_array_elements('[1,2]'), generate_series(5, 7)) AS t",
        "1|5|2|6|NULL|7",
    ),
    (
        "SELECT count(*) FROM generate_series(1, 3) AS rows, ROWS FROM (unnest(ARRAY[1])) AS t(x)",
        "3",
    ),
    ("SELECT rows FROM (VALUES (1)) t(rows)", "1"),
    (
        "SELECT acosd(NULL), sind(0), cosd(0), cosd(-60), tand(225), cotd(90), atan2d(0, -1), atand(0.5)",
        "NULL|0|1|0.5|1|0|180|26.565051177077986",
    ),
    (
        "SELECT pg_typeof(scale(1.5)), pg_typeof(rank(1) WITHIN GROUP (ORDER BY 1)), pg_typeof(cume_dist(1) WITHIN GROUP (ORDER BY 1)), pg_typeof(sind(1)), pg_typeof(array_length(ARRAY[1],1)), pg_typeof(array_lower(ARRAY[1],1))",
        "integer|bigint|double precision|double precision|integer|integer",
    ),
    (
        "SELECT t.x FROM (VALUES ('ab')) t(x) WHERE t.x SIMILAR TO 'a%' ESCAPE '#'",
        "ab",
    ),
    (
        "SELECT substring(substring('foobar' similar '%#\"o_b#\"%' escape '#') from 2)",
        "ob",
    ),
    (
        "SELECT jsonb_agg(t.* ORDER BY x DESC) FROM (VALUES (1), (2)) t(x)",
        "[{\"x\": 2}, {\"x\": 1}]",
    ),
    (
        "SELECT json_agg(s.*) FROM (SELECT 1 AS a, 'x' AS b) s",
        "[{\"a\":1,\"b\":\"x\"}]",
    ),
    (
        "SELECT to_jsonb(s.*), row_to_json(s.*) FROM (SELECT 1 AS a, 'x' AS b) s",
        "{\"a\": 1, \"b\": \"x\"}|{\"a\":1,\"b\":\"x\"}",
    ),
    (
        "SELECT width_bucket(3, ARRAY[]::int[]), width_bucket(3, ARRAY[3]), width_bucket('c'::text, ARRAY['a','d'])",
        "0|1|1",
    ),
];

/// What is refused, and the SQLSTATE.
const REFUSALS: &[(&str, &str)] = &[
    ("SELECT json_object('{a,b,c}')", "2202E"),
    ("SELECT json_object('{a,b}', '{1}')", "2202E"),
    ("SELECT exp(1000)", "22003"),
    ("SELECT exp(-1000)", "22003"),
    ("SELECT extract(hour FROM date '2020-01-01')", "0A000"),
    ("SELECT extract(second FROM date '2020-01-01')", "0A000"),
    ("SELECT 12345.678::numeric(4,2)", "22003"),
    ("SELECT '12345.678'::numeric(4,2)", "22003"),
    ("SELECT '12345.678'::text::numeric(4,2)", "22003"),
    ("SELECT width_bucket(5, 1, 1, 5)", "2201G"),
    ("SELECT width_bucket(5, 1, 10, 0)", "2201G"),
    ("SELECT substring('abc' from 1 for -1)", "22011"),
    ("SELECT format('%s')", "22023"),
    (
        "SELECT decode('a\\\\b\\001', 'escape'), decode('abc', 'escape'), decode('\\x61', 'escape')",
        "22P02",
    ),
    ("SELECT acosd(2)", "22003"),
    ("SELECT sind('Infinity'::float8)", "22003"),
    ("SELECT trim_array(ARRAY[1], 2)", "2202E"),
    ("SELECT substr('abc', 2, -1)", "22011"),
    ("SELECT power(10::float8, 400)", "22003"),
    ("SELECT decode('\\0', 'escape')", "22P02"),
    ("SELECT overlay('abc' placing 'X' from 0)", "22011"),
    ("SELECT json_object(ARRAY['a','b'], ARRAY['1']), 1", "2202E"),
    ("SELECT 'abc'::numeric(4,2)", "22P02"),
    ("SELECT 99.999::numeric(4,2)", "22003"),
    ("SELECT power(10::float8, 400)", "22003"),
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
    for (sql, sqlstate) in REFUSALS {
        let refusal = client.table(sql, false).err();
        let said = refusal.map(|refusal| refusal.sqlstate);
        assert_eq!(said.as_deref(), Some(*sqlstate), "{sql}");
    }
    client.close();
    server.stop();
}
