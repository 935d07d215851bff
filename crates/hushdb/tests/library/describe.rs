//! What statements take and give before they run, and rows of a program that are appended.

use hushdb::{Connection, Database};

/// A statement, the types of its parameters, and its columns.
type Case = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const CASES: &[Case] = &[
    (
        "SELECT name FROM t WHERE id = $1",
        &["Int64"],
        &["name VARCHAR"],
    ),
    (
        "SELECT u.n FROM t AS u WHERE u.n + $1 > $2",
        &["Int16", "Int16"],
        &["n SMALLINT"],
    ),
    (
        "SELECT $1 AS a, $2::DATE AS b",
        &["Varchar", "Date"],
        &["a VARCHAR", "b DATE"],
    ),
    (
        "SELECT id FROM t WHERE at < $1 AND d IN ($2, $3)",
        &["Timestamp(Microsecond, false)", "Date", "Date"],
        &["id BIGINT"],
    ),
    (
        "SELECT id FROM t WHERE d BETWEEN $1 AND $2 + 7",
        &["Date", "Int32"],
        &["id BIGINT"],
    ),
    (
        "SELECT id FROM t LIMIT $1 OFFSET $2",
        &["Int64", "Int64"],
        &["id BIGINT"],
    ),
    (
        "UPDATE t SET n = $1, name = $2 WHERE id = $3",
        &["Int16", "Varchar", "Int64"],
        &[],
    ),
    (
        "INSERT INTO t (name, id) VALUES ($1, $2), ($3, $4)",
        &["Varchar", "Int64", "Varchar", "Int64"],
        &[],
    ),
    (
        "INSERT INTO t (id) SELECT $1 RETURNING id + 1 AS next",
        &["Int64"],
        &["next BIGINT"],
    ),
    (
        "DELETE FROM t WHERE id = $1 RETURNING *",
        &["Int64"],
        &[
            "id BIGINT",
            "name VARCHAR",
            "n SMALLINT",
            "d DATE",
            "at TIMESTAMP",
        ],
    ),
    (
        "WITH gone AS (DELETE FROM t WHERE id = $1 RETURNING id, n), more AS (SELECT n + $2 AS m FROM gone) \
         INSERT INTO t (id, d) SELECT m, $3 FROM more RETURNING id, d",
        &["Int64", "Int16", "Date"],
        &["id BIGINT", "d DATE"],
    ),
    (
        "WITH new AS (INSERT INTO t (id, name) VALUES ($1, $2) RETURNING id AS key) SELECT key, name FROM new, t WHERE n = $3",
        &["Int64", "Varchar", "Int16"],
        &["key BIGINT", "name VARCHAR"],
    ),
    (
        "UPDATE t SET n = o.n FROM t AS o WHERE o.id = t.id + $1 RETURNING t.id, o.d, o.n + $2 AS more",
        &["Int64", "Int16"],
        &["id BIGINT", "d DATE", "more SMALLINT"],
    ),
    ("CREATE TABLE u (i INTEGER)", &[], &[]),
    (
        "WITH w AS (SELECT name FROM t WHERE id = $1) SELECT * FROM w",
        &["Int64"],
        &["name VARCHAR"],
    ),
];

/// Names of the types of parameters, and of the columns.
fn described(connection: &Connection, sql: &str) -> (Vec<String>, Vec<String>) {
    let description = connection.prepare(sql).unwrap().describe(&[]).unwrap();
    let types = description.parameters.iter().map(|ty| format!("{ty:?}"));
    let columns = description.columns.map_or_else(Vec::new, |schema| {
        let fields = schema.fields().iter();
        fields
            .map(|field| format!("{} {}", field.name(), hushdb::display_type(field)))
            .collect()
    });
    (types.collect(), columns)
}

#[test]
fn parameters_have_types_before_anything_runs() {
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect().unwrap();
    connection
        .execute("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR, n SMALLINT, d DATE, at TIMESTAMP)")
        .unwrap();
    for (sql, types, columns) in CASES {
        let (found, shown) = described(&connection, sql);
        assert_eq!(
            (&found[..], &shown[..]),
            (&own(types)[..], &own(columns)[..]),
            "{sql}"
        );
    }
    let given = connection.prepare("SELECT $1 AS a").unwrap();
    let given = given.describe(&[Some(hushdb::ColumnType::Uuid)]).unwrap();
    assert_eq!(given.parameters, [hushdb::ColumnType::Uuid]);
    assert!(
        connection
            .prepare("SELECT * FROM nowhere")
            .unwrap()
            .describe(&[])
            .is_err()
    );
    let rows = connection.execute("SELECT count(*) FROM t").unwrap();
    let rows = rows.collect_batches().unwrap();
    assert_eq!(
        hushdb::Value::of(rows[0].column(0), 0).unwrap(),
        hushdb::Value::Integer(0)
    );
}

fn own(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

#[test]
fn rows_of_a_program_are_appended_as_literals_are_read() {
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect().unwrap();
    connection
        .execute("CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE, n INTEGER DEFAULT 7)")
        .unwrap();
    let table = own(&["t"]);
    let append = |columns: &[&str], values: &[&[Option<&str>]]| {
        connection.append(&table, &own(columns), rows_of(values))
    };
    assert_eq!(
        append(
            &["d", "id"],
            &[&[Some("2024-02-29"), None], &[Some("1"), Some("2")]]
        )
        .unwrap(),
        2
    );
    let kept = connection
        .execute("SELECT n FROM t WHERE id = 1 AND d = DATE '2024-02-29'")
        .unwrap();
    assert_eq!(kept.collect_batches().unwrap()[0].num_rows(), 1);
    for (columns, values) in [
        (&["id"][..], &[&[Some("x")][..]][..]),
        (&["id"], &[&[Some("1")]]),
        (&["id"], &[&[None]]),
        (&["id", "id"], &[&[Some("3")], &[Some("3")]]),
        (&["nowhere"], &[&[Some("3")]]),
        (&[], &[&[Some("3")]]),
    ] {
        assert!(append(columns, values).is_err(), "{columns:?}");
    }
    let count = connection
        .execute("FROM t")
        .unwrap()
        .collect_batches()
        .unwrap();
    assert_eq!(count.iter().map(|rows| rows.num_rows()).sum::<usize>(), 2);
}

/// A batch of columns of text.
fn rows_of(columns: &[&[Option<&str>]]) -> arrow::array::RecordBatch {
    use arrow::array::{ArrayRef, RecordBatch, StringArray};
    let arrays = columns.iter().enumerate().map(|(at, values)| {
        let array: ArrayRef = std::sync::Arc::new(StringArray::from(values.to_vec()));
        (format!("c{at}"), array)
    });
    RecordBatch::try_from_iter(arrays).unwrap()
}
