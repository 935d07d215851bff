//! Floats of PostgreSQL, over the wire: they do not leave their range, and `real` meets numerics as `double precision`.

use crate::client::Client;
use crate::instance::{PASSWORD, Running, made};
use crate::numbers::shown;

const OUT_OF_RANGE: &str = "22003";

/// Statements over the table of the test, and what they give.
const STATEMENTS: &[(&str, &str)] = &[
    // What is infinite or nothing, though no operand is.
    ("SELECT x * x FROM f WHERE i = 1", OUT_OF_RANGE),
    ("SELECT x * x FROM f WHERE i = 2", OUT_OF_RANGE),
    (
        "SELECT x * x, x + 1, x - x FROM f WHERE i = 3",
        "Infinity Infinity NaN",
    ),
    ("SELECT x / 1e-300::float8 FROM f WHERE i = 1", OUT_OF_RANGE),
    ("SELECT x / r FROM f WHERE i = 1", "9.99999984952534e+269"),
    ("SELECT r * r FROM f WHERE i = 1", OUT_OF_RANGE),
    ("SELECT r * r FROM f WHERE i = 2", OUT_OF_RANGE),
    (
        "SELECT r * 1e30 FROM f WHERE i = 1",
        "1.0000000150474663e+60",
    ),
    ("SELECT r + r FROM f WHERE i IN (3, 5) ORDER BY i", "NaN 3"),
    (
        "SELECT x + 1.7e308::float8 + 1e308::float8 FROM f WHERE i = 1",
        OUT_OF_RANGE,
    ),
    (
        "SELECT CASE WHEN x < 1 THEN x ELSE x * x END FROM f WHERE i = 2",
        "1e-300",
    ),
    ("SELECT x * 0, 0 * x FROM f WHERE i = 2", "0 0"),
    ("SELECT '1e400'::float8", OUT_OF_RANGE),
    ("SELECT '1e-400'::float8", OUT_OF_RANGE),
    ("SELECT float4 '1e40'", OUT_OF_RANGE),
    // A numeric there; here it has no type.
    ("SELECT 1e400", OUT_OF_RANGE),
    ("SELECT 1e40::float8::real", OUT_OF_RANGE),
    (
        "SELECT '0e500'::float8, '-inf'::real, 'NaN'::float8",
        "0 -Infinity NaN",
    ),
    ("INSERT INTO f (x) VALUES ('1e400')", OUT_OF_RANGE),
    ("INSERT INTO f (r) VALUES ('1e40')", OUT_OF_RANGE),
    (
        "INSERT INTO f (r) SELECT x FROM f WHERE i = 1",
        OUT_OF_RANGE,
    ),
    ("UPDATE f SET r = '1e-60' WHERE i = 1", OUT_OF_RANGE),
    // Sums.
    (
        "SELECT sum(r), pg_typeof(sum(r)) FROM f WHERE i <> 3",
        "1e+30 real",
    ),
    ("SELECT sum(x), sum(r), avg(r) FROM f", "Infinity NaN NaN"),
    (
        "SELECT sum(v) FROM (VALUES (1e308::float8), (1e308)) t(v)",
        OUT_OF_RANGE,
    ),
    (
        "SELECT avg(v) FROM (VALUES (1e308::float8), (1e308)) t(v)",
        OUT_OF_RANGE,
    ),
    (
        "SELECT sum(v) FROM (VALUES (3e38::real), (3e38::real)) t(v)",
        OUT_OF_RANGE,
    ),
    (
        "SELECT sum(v) FROM (VALUES (3e38::real), (3e38::real)) t(v) GROUP BY v",
        OUT_OF_RANGE,
    ),
    (
        "SELECT sum(r) FROM f GROUP BY i % 2 ORDER BY i % 2",
        "1e-30 NaN",
    ),
    (
        "SELECT sum(DISTINCT r), sum(r) FILTER (WHERE i = 5) FROM f WHERE i <> 3",
        "1e+30 1.5",
    ),
    (
        "SELECT sum(x) OVER (ORDER BY i ROWS 1 PRECEDING) FROM f",
        "1e+300 1e+300 Infinity Infinity 2.5",
    ),
    (
        "SELECT sum(r) OVER (ORDER BY i ROWS 1 PRECEDING) FROM f",
        "1e+30 1e+30 NaN NaN 1.5",
    ),
    (
        "SELECT sum(v) OVER (ORDER BY v ROWS 1 PRECEDING) FROM (VALUES (1e308::float8), (1.1e308)) t(v)",
        OUT_OF_RANGE,
    ),
    // `real` beside numerics.
    (
        "SELECT 0.1::real = 0.1, 0.1::real IN (0.1), 0.1::real NOT IN (0.1)",
        "f f t",
    ),
    (
        "SELECT 0.1::real IN (0.1, 0.2), 1.5::real IN (1.5), 0.1::real IN ((-0.1))",
        "t t f",
    ),
    (
        "SELECT 0.1::real BETWEEN 0.1 AND 0.2, 0.1::real NOT BETWEEN 0.05 AND 0.1",
        "t t",
    ),
    (
        "SELECT CASE 0.1::real WHEN 0.1 THEN 'same' ELSE 'other' END",
        "other",
    ),
    (
        "SELECT CASE 1.5::real WHEN 0.1 THEN 'other' WHEN 1.5 THEN 'same' END",
        "same",
    ),
    // A text without a type is a number beside one.
    (
        "SELECT 1.5::real * '2', '2.5' + 1.5::float8, '3' / 2::float8",
        "3 4 1.5",
    ),
    ("SELECT 'abc' + 1.5::float8", "22P02"),
    // What has an exponent is a numeric.
    (
        "SELECT 1e5, 1.50e1, 1.5e-3, -1e3, pg_typeof(1e0)",
        "100000 15.0 0.0015 -1000 numeric",
    ),
    (
        "SELECT k * 1e-1, 3e0 * 1e-1, 25e-1::int, 7e0 / 2 = 3.5 FROM f WHERE i = 1",
        "1.0 0.3 3 t",
    ),
];

#[test]
fn floats_stay_in_their_range() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE f (i INT, x FLOAT8, r REAL, k BIGINT)")
        .unwrap();
    client
        .run(
            "INSERT INTO f VALUES (1, 1e300, 1e30, 10), (2, 1e-300, 1e-30, 20), (3, 'Infinity', 'NaN', 30), \
             (4, NULL, NULL, NULL), (5, 2.5, 1.5, 50)",
        )
        .unwrap();
    for (sql, wanted) in STATEMENTS {
        assert_eq!(shown(&mut client, sql), *wanted, "{sql}");
    }
    // A long sum is one function of all its operands, each of which is looked at.
    let long = vec!["x"; 60].join(" + ");
    let sum = format!("SELECT {long} FROM f WHERE i = 5");
    assert_eq!(shown(&mut client, &sum), "150");
    let sum = format!("SELECT {long} + 1.797e308::float8 + 1.797e308::float8 FROM f WHERE i = 5");
    assert_eq!(shown(&mut client, &sum), OUT_OF_RANGE);
    assert_eq!(shown(&mut client, "SELECT count(*) FROM f"), "5");
    client.run("SET sql_dialect = 'duckdb'").unwrap();
    let ours = "SELECT x * x, sum(x) FROM f WHERE i = 1 GROUP BY x";
    assert_eq!(shown(&mut client, ours), "Infinity 1e+300");
    client.close();
    server.stop();
}
