//! Values that no column of their type has, from a program and from a file of others: refused, or read as another type; the database opens again.

use arrow::array::{
    ArrayRef, Decimal256Array, FixedSizeBinaryArray, ListArray, RecordBatch, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, i256};
use hushdb::{Database, Value};
use parquet::arrow::ArrowWriter;
use std::path::Path;
use std::sync::Arc;

/// Twice the greatest HUGEINT and more, with the Arrow type of a HUGEINT.
fn too_wide() -> RecordBatch {
    let values = Decimal256Array::from(vec![i256::from_parts(7, 1)]);
    let values = values.with_precision_and_scale(39, 0).unwrap();
    RecordBatch::try_from_iter([("h", Arc::new(values) as ArrayRef)]).unwrap()
}

/// Eight bytes that are no time of day, within a list and a struct: the Arrow type of TIME WITH TIME ZONE.
fn eight_bytes() -> RecordBatch {
    let bytes = || FixedSizeBinaryArray::try_from_iter([[0xff_u8; 8]].into_iter()).unwrap();
    let field = |name| Arc::new(Field::new(name, DataType::FixedSizeBinary(8), true));
    let list = ListArray::new(
        field("item"),
        OffsetBuffer::from_lengths([1]),
        Arc::new(bytes()),
        None,
    );
    let fields = StructArray::from(vec![(field("x"), Arc::new(bytes()) as ArrayRef)]);
    RecordBatch::try_from_iter([
        ("a", Arc::new(bytes()) as ArrayRef),
        ("l", Arc::new(list) as ArrayRef),
        ("s", Arc::new(fields) as ArrayRef),
    ])
    .unwrap()
}

fn write_parquet(path: &Path, rows: &RecordBatch) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
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
    write_parquet(&rows, &too_wide());
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

#[test]
fn bytes_that_are_no_times() {
    let directory = tempfile::tempdir().unwrap();
    let [path, rows] = ["t.hushdb", "rows.parquet"].map(|name| directory.path().join(name));
    write_parquet(&rows, &eight_bytes());
    let database = Database::open(&path).unwrap();
    let connection = database.connect().unwrap();
    for table in [
        "CREATE TABLE t (a TIMETZ, l TIMETZ[], s STRUCT(x TIMETZ))",
        &format!("CREATE TABLE b AS FROM '{}'", rows.display()),
    ] {
        connection.execute(table).unwrap();
    }
    assert!(
        connection
            .append(&["t".into()], &[], eight_bytes())
            .is_err()
    );
    let added = connection.append(&["b".into()], &[], eight_bytes());
    assert_eq!(added.unwrap(), 1);
    let into = format!("INSERT INTO t FROM '{}'", rows.display());
    assert!(connection.execute(&into).is_err());
    drop((connection, database));
    let database = Database::open(&path).unwrap();
    assert_eq!(texts_of(&database, "FROM t"), []);
    let types = texts_of(
        &database,
        "SELECT typeof(a) || typeof(l) || typeof(s) FROM b",
    );
    let twice = |text: &str| vec![Value::Text(text.into()); 2];
    assert_eq!(types, twice("BLOBBLOB[]STRUCT(x BLOB)"));
    let kept = texts_of(&database, "SELECT hex(a) || hex(l[1]) || hex(s.x) FROM b");
    assert_eq!(kept, twice(&"FF".repeat(24)));
}
