//! Values of each type, both ways, in text and in binary; and what clients are told before they have any.

use crate::client::Client;
use crate::instance::{PASSWORD, Running, made};

/// OIDs of PostgreSQL, and values as it writes them.
const VALUES: [(u32, &[&str]); 28] = [
    (16, &["t", "f"]),
    (17, &["\\x00ff", "\\x"]),
    (20, &["9223372036854775807", "-1"]),
    (21, &["-32768"]),
    (23, &["7"]),
    (25, &["it's", ""]),
    (700, &["1.5", "NaN", "-Infinity"]),
    (701, &["0.1", "Infinity"]),
    (
        1082,
        &["2024-02-29", "infinity", "-infinity", "0044-03-15 BC"],
    ),
    (1083, &["23:59:59.123456"]),
    (
        1114,
        &[
            "2024-02-29 12:00:00.5",
            "infinity",
            "-infinity",
            "0044-03-15 01:02:03 BC",
        ],
    ),
    (1184, &["2024-02-29 12:00:00+00", "infinity", "-infinity"]),
    (1186, &["1 year 2 mons 3 days 04:05:06.7", "-1 days"]),
    (1266, &["10:00:00+02", "23:59:59.123456-05:30"]),
    (1562, &["101", "000000001"]),
    (1700, &["1.50", "-0.001", "123456789012345678.5"]),
    (2950, &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    (1000, &["{t,f}"]),
    (1007, &["{1,NULL,3}", "{}"]),
    (1009, &["{a,\"b c\",NULL}"]),
    (1016, &["{1}"]),
    (1022, &["{1.5}"]),
    (1115, &["{\"2024-01-01 00:00:00\",infinity}"]),
    (1182, &["{2024-01-01,-infinity}"]),
    (1231, &["{1.5,2.0}"]),
    (1270, &["{10:00:00+02,NULL}"]),
    (1563, &["{101,NULL}"]),
    (2951, &["{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"]),
];

#[test]
fn each_type_goes_both_ways_in_text_and_in_binary() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for (oid, values) in VALUES {
        for value in values {
            let context = format!("{oid} {value}");
            let (found, text) = client
                .echo(oid, value.as_bytes(), false, false)
                .expect(&context);
            assert_eq!(found, oid, "{context}");
            assert_eq!(String::from_utf8_lossy(&text), *value, "{context}");
            let (found, binary) = client
                .echo(oid, value.as_bytes(), false, true)
                .expect(&context);
            assert_eq!(found, oid, "{context}");
            let (_, again) = client.echo(oid, &binary, true, true).expect(&context);
            assert_eq!(again, binary, "{context}");
            let (_, text) = client.echo(oid, &binary, true, false).expect(&context);
            assert_eq!(String::from_utf8_lossy(&text), *value, "{context}");
        }
    }
    // The infinite ones are PostgreSQL's own numbers.
    let (_, far) = client.echo(1082, b"infinity", false, true).unwrap();
    assert_eq!(far, i32::MAX.to_be_bytes());
    let (_, far) = client.echo(1114, b"-infinity", false, true).unwrap();
    assert_eq!(far, i64::MIN.to_be_bytes());
    client.close();
    server.stop();
}

#[test]
fn moments_of_other_units_and_eras_are_what_they_are() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for unit in ["s", "ms", "ns"] {
        let rows = client.rows(&format!(
            "SELECT 'infinity'::timestamp_{unit}, '-infinity'::timestamp_{unit}, '2024-02-29'::timestamp_{unit}"
        ));
        assert_eq!(
            rows,
            [["infinity", "-infinity", "2024-02-29 00:00:00"]],
            "{unit}"
        );
    }
    let rows = client.rows("SELECT '0044-03-15 BC'::date, ('0044-03-15 01:02:03 BC')::timestamp");
    assert_eq!(rows, [["0044-03-15 BC", "0044-03-15 01:02:03 BC"]]);
    client.run("CREATE TABLE m (d DATE, t TIMESTAMP)").unwrap();
    let line = "0044-03-15 BC\t0044-03-15 01:02:03 BC\ninfinity\t-infinity\n";
    client
        .copy_in("COPY m FROM STDIN", &[line.as_bytes()])
        .unwrap();
    assert_eq!(client.copy_out("COPY m TO STDOUT"), line);
    client.close();
    server.stop();
}

#[test]
fn parameters_and_columns_are_described_as_postgresql_does() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for (sql, parameter, column) in [
        ("SELECT $1 + 1", 23, 23),
        ("SELECT now() - $1", 1184, 1186),
        ("SELECT now() + $1", 1186, 1184),
        ("SELECT current_date - $1", 1082, 20),
        ("SELECT interval '1 day' + $1", 1186, 1186),
        ("SELECT DATE '2024-01-01' + $1", 23, 1082),
    ] {
        let (types, columns) = client.describe(sql).unwrap();
        assert_eq!((types[0], columns[0].1), (parameter, column), "{sql}");
    }
    client
        .run("CREATE TABLE m (a INT PRIMARY KEY, b TEXT)")
        .unwrap();
    let merge = "MERGE INTO m USING (VALUES (1, 'x')) v(a, b) ON m.a = v.a
        WHEN MATCHED THEN UPDATE SET b = v.b WHEN NOT MATCHED THEN INSERT VALUES (v.a, v.b)
        RETURNING m.a, merge_action AS what";
    let (_, columns) = client.describe(merge).unwrap();
    assert_eq!(columns, [("a".to_owned(), 23), ("what".to_owned(), 25)]);
    for action in ["INSERT", "UPDATE"] {
        let given = client.table(merge, true).unwrap();
        let row = vec![Some("1".to_owned()), Some(action.to_owned())];
        assert_eq!(given.rows, [row]);
    }
    client.close();
    server.stop();
}

#[test]
fn what_is_set_in_a_block_ends_as_the_block_does() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for (sql, shown) in [
        ("BEGIN; SET statement_timeout = '5s'; ROLLBACK", "0"),
        ("BEGIN; SET statement_timeout = '5s'; COMMIT", "5s"),
        (
            "BEGIN; SET LOCAL statement_timeout = '9s'; SET statement_timeout = 8000; COMMIT",
            "8s",
        ),
        (
            "BEGIN; SET statement_timeout = '3s'; SET LOCAL statement_timeout = '9s'; COMMIT",
            "3s",
        ),
        (
            "BEGIN; SET statement_timeout = '2s'; SAVEPOINT a; SET statement_timeout = '7s'; ROLLBACK TO a; COMMIT",
            "2s",
        ),
    ] {
        client.run(sql).unwrap();
        assert_eq!(client.rows("SHOW statement_timeout"), [[shown]], "{sql}");
    }
    client
        .run("CREATE SCHEMA other; CREATE TABLE other.there (a INT)")
        .unwrap();
    client
        .run("BEGIN; SET search_path = other; SELECT * FROM there; ROLLBACK")
        .unwrap();
    assert_eq!(client.rows("SHOW search_path"), [["\"$user\", public"]]);
    assert_eq!(
        client.run("SELECT * FROM there").unwrap_err().sqlstate,
        "42P01"
    );
    client.close();
    server.stop();
}

#[test]
fn a_foreign_key_has_no_index_of_its_own_for_clients() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE p (a INT PRIMARY KEY); CREATE TABLE c (a INT REFERENCES p(a), b INT); CREATE INDEX i ON c (b)")
        .unwrap();
    let indexes =
        "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid ORDER BY 1";
    assert_eq!(client.rows(indexes), [["i"], ["p_pkey"]]);
    // As psql's \d asks.
    let referenced = "SELECT conname FROM pg_catalog.pg_constraint c WHERE confrelid IN
        (SELECT pg_catalog.pg_partition_ancestors('p'::regclass) UNION ALL VALUES ('p'::pg_catalog.regclass)) AND contype = 'f'";
    assert_eq!(client.rows(referenced).len(), 1);
    client.close();
    server.stop();
}

#[test]
fn columns_of_jsonb_are_of_json() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE t (id INT, j JSONB NOT NULL DEFAULT '{}')")
        .unwrap();
    let insert = "INSERT INTO t VALUES ($1, $2)";
    assert_eq!(client.describe(insert).unwrap().0, [23, 114]);
    let (_, columns) = client.describe("SELECT j, j -> 'a' AS a FROM t").unwrap();
    assert_eq!(columns, [("j".to_owned(), 114), ("a".to_owned(), 114)]);
    let values = [Some("1"), Some("{\"a\": [7]}")];
    client.extended(insert, &values, 0, false).unwrap();
    let wrong = client.extended(insert, &[Some("2"), Some("{a")], 0, false);
    assert_eq!(wrong.unwrap_err().sqlstate, "22P02");
    client.run("INSERT INTO t (id) VALUES (3)").unwrap();
    client
        .copy_in("COPY t FROM STDIN", &[b"4\t[1, 2]\n"])
        .unwrap();
    let wrong = client.copy_in("COPY t FROM STDIN", &[b"5\tno json\n"]);
    assert_eq!(wrong.unwrap_err().sqlstate, "22P02");
    assert_eq!(
        client.rows("SELECT id, j, coalesce(j -> 'a' ->> 0, '-') FROM t ORDER BY id"),
        [
            ["1", "{\"a\": [7]}", "7"],
            ["3", "{}", "-"],
            ["4", "[1, 2]", "-"]
        ]
    );
    client.close();
    server.stop();
}

#[test]
fn instants_are_those_of_the_sessions_time_zone() {
    let place = made();
    let server = Running::start(place.path());
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.run("SET TIME ZONE 'europe/berlin'").unwrap();
    let asked = "SELECT current_setting('TimeZone'), TIMESTAMPTZ '2024-07-01 10:00:00', \
                 TIMESTAMPTZ '2024-07-01 10:00:00' AT TIME ZONE 'UTC', '2024-07-01 10:00:00+00'::timestamptz::date::text";
    let shown = [
        "Europe/Berlin",
        "2024-07-01 10:00:00+02",
        "2024-07-01 08:00:00",
        "2024-07-01",
    ];
    assert_eq!(client.rows(asked), [shown]);
    // What says no zone is read in the session's, and goes back in it.
    let (_, text) = client
        .echo(1184, b"2024-07-01 10:00:00", false, false)
        .unwrap();
    assert_eq!(text, b"2024-07-01 10:00:00+02");
    let (_, text) = client
        .echo(1184, b"2024-07-01 10:00:00Z", false, false)
        .unwrap();
    assert_eq!(text, b"2024-07-01 12:00:00+02");
    let (_, text) = client
        .echo(1185, b"{\"2024-07-01 10:00:00\"}", false, false)
        .unwrap();
    assert_eq!(text, b"{\"2024-07-01 10:00:00+02\"}");
    client.run("CREATE TABLE m (i TIMESTAMPTZ)").unwrap();
    client
        .copy_in("COPY m FROM STDIN", &[b"2024-07-01 10:00:00\n"])
        .unwrap();
    assert_eq!(
        client.copy_out("COPY m TO STDOUT"),
        "2024-07-01 10:00:00+02\n"
    );
    client
        .run("BEGIN; SET LOCAL TimeZone = 'Asia/Tokyo'")
        .unwrap();
    assert_eq!(client.rows("TABLE m"), [["2024-07-01 17:00:00+09"]]);
    client.run("ROLLBACK").unwrap();
    assert_eq!(client.rows("SHOW TimeZone"), [["Europe/Berlin"]]);
    assert_eq!(client.rows("TABLE m"), [["2024-07-01 10:00:00+02"]]);
    let unknown = client.run("SET TimeZone = 'Nowhere'").unwrap_err();
    assert_eq!(unknown.sqlstate, "22023");
    client.run("RESET TimeZone").unwrap();
    assert_eq!(client.rows("TABLE m"), [["2024-07-01 08:00:00+00"]]);
    client.close();
    server.stop();
}
