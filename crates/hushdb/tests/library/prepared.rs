//! Prepared statements, and statements about a key, which need no plan.
//!
//! What must hold: run by its shape or planned, a statement gives the same rows under the same schema, the same count or the
//! same error.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use hushdb::{Connection, Database, ErrorKind, ResultKind, Value};

/// Everything that a statement gives.
#[derive(Debug, PartialEq)]
struct Outcome {
    schema: SchemaRef,
    kind: ResultKind,
    rows: Vec<Vec<Option<String>>>,
}

fn outcome(result: hushdb::Result<hushdb::QueryResult>) -> Result<Outcome, String> {
    let result = result.map_err(|error| error.to_string())?;
    let (schema, kind) = (result.schema(), result.kind());
    let batches: Vec<RecordBatch> = result.collect_batches().map_err(|e| e.to_string())?;
    let mut rows = vec![];
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let columns = batch.columns().iter();
            rows.push(
                columns
                    .map(|c| hushdb::value_text(c, row).unwrap())
                    .collect(),
            );
        }
    }
    Ok(Outcome { schema, kind, rows })
}

fn connect() -> Connection {
    Database::open_in_memory().unwrap().connect().unwrap()
}

/// Tables with a key of each kind, with rows that a checkpoint stored and rows since.
const TABLES: &str = "
    CREATE TABLE t (k BIGINT PRIMARY KEY, s VARCHAR, d DECIMAL(10,2), f DOUBLE NOT NULL, b BOOLEAN DEFAULT true);
    INSERT INTO t SELECT range, 'row ' || range, range / 4, range * 0.5, range % 2 = 0 FROM range(20000);
    CHECKPOINT;
    INSERT INTO t VALUES (-5, 'minus', -1.25, 0, NULL), (100000, NULL, NULL, -0.5, false);
    CREATE TABLE two (a INTEGER, s VARCHAR, n UTINYINT, PRIMARY KEY (s, a));
    INSERT INTO two VALUES (1, 'it''s', 1), (2, 'it''s', 2), (1, '', 3), (1, 'zwölf', 4);
    CREATE TABLE kinds (u UUID UNIQUE, d DATE UNIQUE, w TIMESTAMP UNIQUE, b BLOB UNIQUE, x DECIMAL(30,3) UNIQUE,
        y DOUBLE UNIQUE, z BOOLEAN UNIQUE, n TINYINT UNIQUE);
    INSERT INTO kinds VALUES ('123e4567-e89b-12d3-a456-426614174000', '2024-02-29', '2024-02-29 12:34:56.789',
        '\\x00a', 12.345, 0.5, true, -7);
    CREATE TABLE many (g INTEGER, v INTEGER CHECK (v <> 13));
    CREATE INDEX by_g ON many (g);
    INSERT INTO many SELECT range % 10, range + 100 FROM range(1000);";

/// Statements with the values of their parameters; each is run by its shape where it has one.
fn cases() -> Vec<Case> {
    [
        one_number(),
        other_keys(),
        updates(),
        deletes_and_inserts(),
        what_is_there_then(),
    ]
    .concat()
}

type Case = (&'static str, Vec<Value>);

fn none() -> Vec<Value> {
    vec![]
}

/// Rows by a key of one whole number.
fn one_number() -> Vec<Case> {
    vec![
        ("SELECT * FROM t WHERE k = 17", none()),
        ("SELECT * FROM t WHERE k = ?", vec![17.into()]),
        ("SELECT s, K AS key FROM T WHERE ? = k", vec![19_999.into()]),
        ("SELECT s FROM t WHERE k = ?", vec![(-5).into()]),
        ("SELECT s FROM main.t WHERE (k = $1)", vec![100_000.into()]),
        ("SELECT s FROM t WHERE k = ?", vec![123_456.into()]),
        ("SELECT s FROM t WHERE k = ?", vec![Value::Null]),
        ("SELECT s FROM t WHERE k = ?", vec!["17".into()]),
        ("SELECT s FROM t WHERE k = ?", vec!["x".into()]),
        ("SELECT s FROM t WHERE k = ?", vec![17.0.into()]),
        ("SELECT s FROM t WHERE k = ?", vec![17.5.into()]),
        ("SELECT s FROM t WHERE k = ?", vec![true.into()]),
        ("SELECT s FROM t WHERE k = ?", vec![u64::MAX.into()]),
        ("SELECT s FROM t WHERE k = ?", vec![i64::MIN.into()]),
        ("SELECT s FROM t WHERE k = ?", vec![i128::MAX.into()]),
        (
            "SELECT s FROM t WHERE k = ?",
            vec![Value::Decimal("17.0".into())],
        ),
        (
            "SELECT s FROM t WHERE k = ?",
            vec![Value::Decimal("nine".into())],
        ),
        ("SELECT s FROM t WHERE k = ?", none()),
        ("SELECT s FROM t WHERE k = ?", vec![1.into(), 2.into()]),
        ("SELECT s FROM t WHERE k = $2", vec![1.into(), 2.into()]),
        ("SELECT nothing FROM t WHERE k = ?", vec![1.into()]),
        ("SELECT s FROM nothing WHERE k = ?", vec![1.into()]),
        ("SELECT s FROM t WHERE s = ?", vec!["row 5".into()]),
        ("SELECT s FROM t WHERE k = 5 AND s = 'row 5'", none()),
        ("SELECT s FROM t WHERE k + 1 = ?", vec![5.into()]),
    ]
}

/// Rows by keys of other kinds, and of several columns.
fn other_keys() -> Vec<Case> {
    vec![
        (
            "SELECT * FROM two WHERE a = ? AND s = ?",
            vec![2.into(), "it's".into()],
        ),
        (
            "SELECT n FROM two WHERE s = ? AND a = ?",
            vec!["".into(), 1.into()],
        ),
        (
            "SELECT n FROM two WHERE s = ? AND a = ?",
            vec!["zwölf".into(), 1.into()],
        ),
        (
            "SELECT n FROM two WHERE s = ? AND a = ?",
            vec!["' OR ''='".into(), 1.into()],
        ),
        ("SELECT n FROM two WHERE s = ?", vec!["it's".into()]),
        (
            "SELECT n FROM kinds WHERE u = ?",
            vec!["123e4567-e89b-12d3-a456-426614174000".into()],
        ),
        ("SELECT * FROM kinds WHERE d = ?", vec!["2024-02-29".into()]),
        ("SELECT * FROM kinds WHERE d = ?", vec![Value::Date(19_782)]),
        (
            "SELECT n FROM kinds WHERE w = ?",
            vec![Value::Timestamp(1_709_210_096_789_000)],
        ),
        (
            "SELECT n FROM kinds WHERE b = ?",
            vec![vec![0u8, b'a'].into()],
        ),
        (
            "SELECT n FROM kinds WHERE x = ?",
            vec![Value::Decimal("12.345".into())],
        ),
        (
            "SELECT n FROM kinds WHERE x = ?",
            vec![Value::Decimal("12.3450".into())],
        ),
        ("SELECT n FROM kinds WHERE x = ?", vec![12.into()]),
        ("SELECT n FROM kinds WHERE y = ?", vec![0.5.into()]),
        ("SELECT n FROM kinds WHERE z = ?", vec![true.into()]),
        ("SELECT n FROM kinds WHERE n = ?", vec![(-7).into()]),
        ("SELECT n FROM kinds WHERE n = ?", vec![1000.into()]),
        ("SELECT v FROM many WHERE g = ?", vec![3.into()]),
    ]
}

fn updates() -> Vec<Case> {
    vec![
        (
            "UPDATE t SET s = ?, d = 1.5 WHERE k = ?",
            vec!["it''s \\' new".into(), 17.into()],
        ),
        ("UPDATE t SET s = NULL WHERE k = ?", vec![18.into()]),
        ("UPDATE t SET f = ? WHERE k = 18", vec![Value::Null]),
        (
            "UPDATE t SET d = ? WHERE k = 19",
            vec![Value::Decimal("123456789.99".into())],
        ),
        ("UPDATE t SET d = ? WHERE k = 19", vec![12.345.into()]),
        ("UPDATE t SET d = d + ? WHERE k = 19", vec![1.into()]),
        ("UPDATE t SET b = DEFAULT WHERE k = 19", none()),
        ("UPDATE t SET k = 20 WHERE k = 19", none()),
        ("UPDATE t SET k = 1000000 WHERE k = 21", none()),
        ("UPDATE t SET s = 'x' WHERE k = 123456", none()),
        ("UPDATE t SET s = 'x', s = 'y' WHERE k = 1", none()),
        ("UPDATE t SET nothing = 'x' WHERE k = 1", none()),
        ("UPDATE t SET s = 5 WHERE k = 22", none()),
        ("UPDATE many SET v = ? WHERE g = 4", vec![7.into()]),
        ("UPDATE many SET v = 13 WHERE g = 4", none()),
        ("UPDATE many SET g = ? WHERE g = 5", vec![6.into()]),
    ]
}

fn deletes_and_inserts() -> Vec<Case> {
    vec![
        ("DELETE FROM t WHERE k = ?", vec![23.into()]),
        ("DELETE FROM t WHERE k = ?", vec![23.into()]),
        ("DELETE FROM many WHERE g = 7", none()),
        (
            "DELETE FROM two WHERE s = 'it''s' AND a = ?",
            vec![1.into()],
        ),
        (
            "INSERT INTO t VALUES (?, ?, ?, ?, ?)",
            vec![
                23.into(),
                "again".into(),
                Value::Decimal("-0.01".into()),
                1.into(),
                Value::Null,
            ],
        ),
        (
            "INSERT INTO t VALUES (?, ?, ?, ?, ?)",
            vec![
                23.into(),
                "twice".into(),
                Value::Null,
                1.into(),
                Value::Null,
            ],
        ),
        (
            "INSERT INTO t (f, k) VALUES (0.25, ?), (0.5, ?)",
            vec![200_000.into(), 200_001.into()],
        ),
        (
            "INSERT INTO t (k, f) VALUES (?, ?)",
            vec![Value::Null, 1.into()],
        ),
        (
            "INSERT INTO t (k, f) VALUES (300000, 1), (300000, 2)",
            none(),
        ),
        ("INSERT INTO t (k) VALUES (300000)", none()),
        ("INSERT INTO t VALUES (1, 2)", none()),
        (
            "INSERT INTO kinds (d, w, b, y) VALUES (?, ?, ?, ?)",
            vec![
                Value::Date(-1),
                Value::Timestamp(-1),
                vec![255u8].into(),
                f64::NAN.into(),
            ],
        ),
        ("INSERT INTO kinds (d) VALUES (?)", vec![Value::Date(-1)]),
    ]
}

fn what_is_there_then() -> Vec<Case> {
    vec![
        (
            "SELECT count(*), sum(k), sum(d), sum(f), count(s) FROM t",
            none(),
        ),
        (
            "SELECT * FROM t WHERE k >= 15 AND k < 25 ORDER BY k",
            none(),
        ),
        ("SELECT * FROM kinds ORDER BY d", none()),
        (
            "SELECT g, count(*), sum(v) FROM many GROUP BY g ORDER BY g",
            none(),
        ),
    ]
}

/// The same statement, in words that give it no shape.
fn planned(sql: &str) -> String {
    if let Some(rest) = sql.strip_prefix("INSERT INTO t ") {
        return format!("INSERT INTO t {rest} RETURNING 1");
    }
    let more = if sql.contains(" WHERE ") && !sql.contains("ORDER BY") {
        " AND true"
    } else {
        ""
    };
    format!("{sql}{more}")
}

#[test]
fn shapes_give_what_plans_give() {
    let (short, long) = (connect(), connect());
    short.execute(TABLES).unwrap();
    long.execute(TABLES).unwrap();
    for (sql, values) in cases() {
        let by_shape = short.prepare(sql).map_err(|e| e.to_string());
        let by_shape = by_shape.and_then(|s| outcome(s.execute(&values)));
        let by_plan = long.prepare(&planned(sql)).map_err(|e| e.to_string());
        let mut by_plan = by_plan.and_then(|s| outcome(s.execute(&values)));
        if sql.starts_with("INSERT INTO t ")
            && let (Ok(a), Ok(b)) = (&by_shape, &mut by_plan)
        {
            assert_eq!(a.kind, ResultKind::Count(b.rows.len() as u64), "{sql}");
            continue;
        }
        assert_eq!(by_shape, by_plan, "{sql} {values:?}");
    }
}

#[test]
fn values_are_never_read_as_sql() {
    let connection = connect();
    connection
        .execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR DEFAULT 'it''''s \\''' CHECK (s <> 'a''''b'))")
        .unwrap();
    let texts = ["'", "''", "\\'", "'; DROP TABLE t; --", "a'b", "\0", "\\"];
    let insert = connection.prepare("INSERT INTO t VALUES ($1, $2)").unwrap();
    let update = connection
        .prepare("UPDATE t SET s = ? WHERE k = ? OR false")
        .unwrap();
    let select = connection.prepare("SELECT s FROM t WHERE s = ?").unwrap();
    for (k, text) in texts.into_iter().enumerate() {
        insert.execute(&[k.into(), "none".into()]).unwrap();
        update.execute(&[text.into(), k.into()]).unwrap();
        let found = outcome(select.execute(&[text.into()])).unwrap();
        assert_eq!(found.rows, [[Some(text.to_string())]], "{text}");
    }
    assert!(insert.execute(&[50.into(), "a''b".into()]).is_err());
    connection.execute("INSERT INTO t (k) VALUES (60)").unwrap();
    let found = outcome(connection.execute("SELECT s FROM t WHERE k = 60")).unwrap();
    assert_eq!(found.rows, [[Some("it''s \\'".to_string())]]);
}

#[test]
fn a_prepared_statement_follows_the_table() {
    let connection = connect();
    connection
        .execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR)")
        .unwrap();
    connection
        .execute("INSERT INTO t VALUES (1, 'one')")
        .unwrap();
    let select = connection.prepare("SELECT * FROM t WHERE k = ?").unwrap();
    assert_eq!(select.parameter_count(), 1);
    let rows = || outcome(select.execute(&[1.into()])).map(|o| (o.schema.fields().len(), o.rows));
    let one = |cells: &[&str]| {
        let cells = cells
            .iter()
            .map(|cell| (!cell.is_empty()).then(|| cell.to_string()));
        Ok((cells.len(), vec![cells.collect::<Vec<_>>()]))
    };
    assert_eq!(rows(), one(&["1", "one"]));
    for (change, cells) in [
        ("ALTER TABLE t ADD COLUMN x INTEGER", &["1", "one", ""][..]),
        ("UPDATE t SET x = 5 WHERE k = 1", &["1", "one", "5"]),
        ("ALTER TABLE t RENAME COLUMN s TO r", &["1", "one", "5"]),
        ("ALTER TABLE t DROP COLUMN r", &["1", "5"]),
        ("ALTER TABLE t DROP CONSTRAINT t_pkey", &["1", "5"]),
        ("CREATE UNIQUE INDEX i ON t (k)", &["1", "5"]),
        (
            "DROP TABLE t; CREATE TABLE t (x VARCHAR, k BIGINT PRIMARY KEY); INSERT INTO t VALUES ('new', 1)",
            &["new", "1"],
        ),
        ("BEGIN; UPDATE t SET x = 'own' WHERE k = 1", &["own", "1"]),
        ("ROLLBACK", &["new", "1"]),
        (
            "CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS k; USE s",
            &["1"],
        ),
    ] {
        connection.execute(change).unwrap();
        assert_eq!(rows(), one(cells), "{change}");
    }
    connection.execute("DROP TABLE s.t").unwrap();
    assert!(rows().is_err());
}

#[test]
fn any_statement_can_be_prepared() {
    let connection = connect();
    let run = |sql: &str, values: &[Value]| connection.prepare(sql)?.execute(values).map(drop);
    run("CREATE TABLE t (a INTEGER)", &[]).unwrap();
    run("BEGIN", &[]).unwrap();
    run("INSERT INTO t BY NAME SELECT ? AS a", &[5.into()]).unwrap();
    assert!(run("INSERT INTO t VALUES (CAST(? AS INTEGER))", &["x".into()]).is_err());
    assert_eq!(
        run("SELECT 1", &[]).unwrap_err().kind(),
        ErrorKind::Transaction
    );
    run("ROLLBACK", &[]).unwrap();
    assert_eq!(
        run("ROLLBACK", &[1.into()]).unwrap_err().kind(),
        ErrorKind::Binder
    );
    let named = connection.prepare("SELECT $b::INTEGER - $a, $B").unwrap();
    assert_eq!(named.parameter_count(), 2);
    assert_eq!(
        outcome(named.execute(&[7.into(), 2.into()])).unwrap().rows,
        [[Some("5".to_string()), Some("7".to_string())]]
    );
    let mixed = connection.prepare("SELECT $name, ?").map(drop);
    assert_eq!(mixed.unwrap_err().kind(), ErrorKind::Unsupported);
    let broken = connection.prepare("SELEC 1").map(drop).unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::Parser);
    let sum = connection.prepare("SELECT ?::INTEGER + $2").unwrap();
    assert_eq!(sum.parameter_count(), 2);
    assert_eq!(
        outcome(sum.execute(&[1.into(), 2.into()])).unwrap().rows,
        [[Some("3".to_string())]]
    );
}

/// What a plan reads of a table, as EXPLAIN shows it.
fn explained(connection: &Connection, sql: &str) -> String {
    let plan = outcome(connection.execute(&format!("EXPLAIN {sql}"))).unwrap();
    let physical = plan
        .rows
        .last()
        .and_then(|row| row.last().cloned().flatten());
    physical.unwrap_or_default()
}

#[test]
fn plans_use_the_index_that_a_filter_fixes() {
    let connection = connect();
    connection.execute(TABLES).unwrap();
    for (sql, index, rows) in [
        ("SELECT * FROM t WHERE k = 5 LIMIT 1", "t_pkey", 1),
        (
            "SELECT s FROM t WHERE k IN (5, 6, 7, 8, 123456) AND s <> 'x'",
            "t_pkey",
            4,
        ),
        ("SELECT s FROM t WHERE k = 5 OR k = 6", "t_pkey", 2),
        ("SELECT s FROM t WHERE k = NULL", "", 0),
        ("SELECT s FROM t WHERE k = '17'", "t_pkey", 1),
        ("SELECT s FROM t WHERE k > 5", "", 0),
        (
            "SELECT n + 1 FROM two WHERE a = 1 AND s = 'zwölf'",
            "two_pkey",
            1,
        ),
        ("SELECT n + 1 FROM two WHERE a = 1", "", 0),
        ("SELECT n + 1 FROM kinds WHERE x = 12.345", "kinds_x_key", 1),
        (
            "SELECT n + 1 FROM kinds WHERE d = '2024-02-29'",
            "kinds_d_key",
            1,
        ),
        (
            "SELECT n + 1 FROM kinds WHERE b = '\\x00a'::BLOB",
            "kinds_b_key",
            1,
        ),
        ("SELECT n + 1 FROM kinds WHERE y = 0.5", "", 0),
        ("SELECT v + 1 FROM many WHERE g = 3", "by_g", 100),
    ] {
        let plan = explained(&connection, sql);
        let wanted = format!("index={index}, rows={rows}");
        match index {
            "" => assert!(!plan.contains("index="), "{sql}: {plan}"),
            _ => assert!(plan.contains(&wanted), "{sql}: {plan}"),
        }
    }
    // Own changes of a transaction are found, and what it deleted is not.
    connection
        .execute("BEGIN; DELETE FROM t WHERE k = 5; INSERT INTO t VALUES (5, 'own', NULL, 1, NULL); DELETE FROM t WHERE k = 6")
        .unwrap();
    let own = outcome(connection.execute("SELECT s FROM t WHERE k IN (5, 6) AND true")).unwrap();
    assert_eq!(own.rows, [[Some("own".to_string())]]);
}

#[test]
fn a_statement_outlives_its_connection_and_what_that_left_open_is_rolled_back() {
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (i INTEGER)").unwrap();
    let insert = connection.prepare("INSERT INTO t VALUES (?)").unwrap();
    connection.execute("BEGIN").unwrap();
    insert.execute(&[1.into()]).unwrap();
    drop(connection);
    insert.execute(&[2.into()]).unwrap();
    let rows = outcome(database.connect().unwrap().execute("FROM t")).unwrap();
    assert_eq!(rows.rows, [[Some("2".to_owned())]]);
}

/// Values with the types of columns that hold them.
fn every_kind() -> Vec<(&'static str, Value)> {
    let struct_of =
        |value: Value| Value::Struct(vec![("a".into(), 1.into()), ("it's".into(), value)]);
    let interval = |months, days, microseconds| Value::Interval {
        months,
        days,
        microseconds,
    };
    vec![
        ("INTEGER", Value::Null),
        ("BOOLEAN", true.into()),
        ("UBIGINT", u64::MAX.into()),
        ("DOUBLE", f64::MIN_POSITIVE.into()),
        (
            "DECIMAL(38,10)",
            Value::Decimal("-9999999999999999999999999999.0123456789".into()),
        ),
        ("VARCHAR", "it's \u{1F600} $1 -- ?".into()),
        ("BLOB", Value::Blob(vec![0, 39, 92, 255])),
        ("DATE", Value::Date(-719_528)),
        ("TIMESTAMP", Value::Timestamp(-1)),
        ("TIMESTAMP", Value::Timestamp(-62_167_219_200_000_001)),
        ("TIMESTAMPTZ", Value::TimestampTz(1_700_000_000_123_456)),
        ("TIME", Value::Time(86_399_999_999)),
        ("INTERVAL", interval(-14, 3, -3_723_000_001)),
        ("INTERVAL", interval(0, 0, 0)),
        ("UUID", Value::Uuid(*b"\x80\x00abcdefghijkl\x00\xff")),
        (
            "INTEGER[]",
            Value::List(vec![1.into(), Value::Null, 3.into()]),
        ),
        (
            "DATE[][]",
            Value::List(vec![Value::List(vec![Value::Date(0)]), Value::Null]),
        ),
        (
            "STRUCT(a INTEGER, \"it's\" TIME)",
            struct_of(Value::Time(1)),
        ),
        (
            "STRUCT(a INTEGER, \"it's\" VARCHAR[])",
            struct_of(Value::List(vec!["'".into()])),
        ),
        (
            "MAP(VARCHAR, INTEGER[])",
            Value::Map(vec![
                ("it's".into(), Value::List(vec![1.into(), Value::Null])),
                ("".into(), Value::Null),
            ]),
        ),
        ("MAP(DATE, VARCHAR)", Value::Map(vec![])),
        (
            "UNION(num INTEGER, \"s t\" VARCHAR)",
            Value::Union("s t".into(), Box::new("it's".into())),
        ),
        (
            "UNION(num INTEGER, \"s t\" VARCHAR)",
            Value::Union("num".into(), Box::new(Value::Null)),
        ),
        (
            "INTEGER[3]",
            Value::Array(vec![1.into(), Value::Null, 3.into()]),
        ),
        (
            "VARCHAR[][2]",
            Value::Array(vec![Value::List(vec!["it's".into()]), Value::Null]),
        ),
    ]
}

#[test]
fn values_of_every_kind_come_back_as_they_were_bound() {
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect().unwrap();
    for (ty, value) in &every_kind() {
        connection
            .execute(&format!("CREATE OR REPLACE TABLE t (v {ty})"))
            .unwrap();
        let insert = connection.prepare("INSERT INTO t VALUES (?)").unwrap();
        insert.execute(std::slice::from_ref(value)).unwrap();
        let batches = connection
            .execute("FROM t")
            .unwrap()
            .collect_batches()
            .unwrap();
        assert_eq!(&Value::of(batches[0].column(0), 0).unwrap(), value, "{ty}");
        assert!(Value::of(batches[0].column(0), 1).is_err());
        // In an expression it has the type by itself.
        let same = connection
            .prepare("SELECT count(*) FROM t WHERE v IS NOT DISTINCT FROM ?")
            .unwrap();
        let batches = same
            .execute(std::slice::from_ref(value))
            .unwrap()
            .collect_batches()
            .unwrap();
        assert_eq!(
            Value::of(batches[0].column(0), 0).unwrap(),
            1.into(),
            "{ty}"
        );
    }
}

/// A condition that always holds keeps a table's updates from being computed without a plan.
#[test]
fn what_is_computed_from_a_row_is_what_the_plan_computes() {
    let connection = connect();
    for (name, check) in [("kept", ""), ("planned", ", CHECK (true)")] {
        let sql = format!(
            "CREATE TABLE {name} (k INTEGER PRIMARY KEY, i INTEGER, b BIGINT NOT NULL, t TINYINT, d DOUBLE, \"Mixed\" INTEGER{check});
             INSERT INTO {name} VALUES (1, 5, 7, 3, 0.5, 4), (2, NULL, 9223372036854775807, 127, NULL, 1),
                (3, 2147483647, -9223372036854775808, -128, 1e300, -2147483648)"
        );
        connection.execute(&sql).unwrap();
    }
    let integer = |n: i64| Value::from(n);
    let values = [
        integer(0),
        integer(1),
        integer(-1),
        integer(2_147_483_647),
        integer(2_147_483_648),
        integer(i64::MAX),
        Value::Integer(i128::MAX),
        Value::Null,
        Value::Double(1.5),
        Value::Text("2".into()),
        Value::Decimal("2.5".into()),
    ];
    let sets = [
        "i = i + $1",
        "i = $1 - i * 2, b = b + 1",
        "b = b + i",
        "i = b - $1, b = 3",
        "b = (b - $1) * (i + 1)",
        "t = t + $1",
        "d = d + $1",
        "i = d * $1",
        "\"Mixed\" = mixed * $1, i = -5",
        "i = i / $1",
        "b = i + $1 + $1",
        "k = k + $1",
    ];
    for set in sets {
        for value in &values {
            for k in 1..=3_i64 {
                let run = |table: &str| {
                    connection.execute("BEGIN").unwrap();
                    let sql = format!("UPDATE {table} SET {set} WHERE k = {k}");
                    // Bound twice, so that what was planned the first time is used.
                    let update = connection.prepare(&sql).unwrap();
                    let first = outcome(update.execute(std::slice::from_ref(value)));
                    let second = first
                        .is_ok()
                        .then(|| outcome(update.execute(std::slice::from_ref(value))));
                    let read = format!("SELECT * FROM {table} ORDER BY ALL");
                    let rows = first.is_ok() && second.as_ref().is_none_or(Result::is_ok);
                    let rows = rows.then(|| outcome(connection.execute(&read)).unwrap().rows);
                    connection.execute("ROLLBACK").unwrap();
                    let plain = |error: String| error.replace("planned", "kept");
                    (
                        first.map_err(plain),
                        second.map(|second| second.map_err(plain)),
                        rows,
                    )
                };
                assert_eq!(run("kept"), run("planned"), "{set}, {value:?}, {k}");
            }
        }
    }
}
