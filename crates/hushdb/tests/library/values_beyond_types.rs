//! Values that no column of their type has, from a program and from a file of others: refused, or read as another type; the database opens again.

use arrow::array::{ArrayRef, Decimal256Array, RecordBatch};
use arrow::datatypes::i256;
use hushdb::{Database, Value};
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

/// Twice the greatest HUGEINT and more, with the Arrow type of a HUGEINT.
fn too_wide() -> RecordBatch {
    let values = Decimal256Array::from(vec![i256::from_parts(7, 1)]);
    let values = values.with_precision_and_scale(39, 0).unwrap();
    RecordBatch::try_from_iter([("h", Arc::new(values) as ArrayRef)]).unwrap()
}

fn texts_of(database: &Database, sql: &str) -> Vec<Value> {
    let rows = database.connect().unwrap().execute(sql).unwrap();
    let batches = rows.collect_batches().unwrap();
    let of_batch = |batch: &RecordBatch| {
        let column = Arc::clone(batch.column(0));
        (0..batch.num_rows()).map(move |row| Value::of(&column, row).unwrap())
    };
    batches.iter().flat_map(of_batch).collect()
}

#[test]
fn values_of_a_program() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.hushdb");
    let database = Database::open(&path).unwrap();
    let connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (h HUGEINT)").unwrap();
    connection.execute("INSERT INTO t VALUES (1)").unwrap();
    assert!(connection.append(&["t".into()], &[], too_wide()).is_err());
    connection.execute("INSERT INTO t VALUES (2)").unwrap();
    drop((connection, database));
    let database = Database::open(&path).unwrap();
    let kept = texts_of(&database, "SELECT h::VARCHAR FROM t ORDER BY h");
    assert_eq!(kept, ["1", "2"].map(|text| Value::Text(text.into())));
}

#[test]
fn values_of_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let [path, rows] = ["t.hushdb", "rows.parquet"].map(|name| directory.path().join(name));
    let file = std::fs::File::create(&rows).unwrap();
    let mut writer = ArrowWriter::try_new(file, too_wide().schema(), None).unwrap();
    writer.write(&too_wide()).unwrap();
    writer.close().unwrap();
    let rows = rows.display();
    let database = Database::open(&path).unwrap();
    let connection = database.connect().unwrap();
    connection
        .execute(&format!("CREATE TABLE t AS FROM '{rows}'"))
        .unwrap();
    connection.execute("CREATE TABLE u (h HUGEINT)").unwrap();
    let added = connection.execute(&format!("INSERT INTO u FROM '{rows}'"));
    assert!(added.is_err());
    drop((connection, database));
    let database = Database::open(&path).unwrap();
    let types = texts_of(&database, "SELECT typeof(h) FROM t");
    assert_eq!(types, [Value::Text("DOUBLE".into())]);
    assert_eq!(texts_of(&database, "FROM u"), []);
}
