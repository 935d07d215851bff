//! Libraries that panic over what a damaged file says: the statement fails with `Corrupted`, whoever reads its rows or waits for its
//! end, nobody sees the panic, and the connection goes on.

use hushdb::{Connection, Database, ErrorKind};
use hushdb_storage::{
    BlockRef, ColumnDef, ColumnType, MemFile, MemFiles, Role, Store, StoreOptions,
};
use std::sync::Arc;

/// What [`panicking`] makes segments of.
mod arrays {
    pub(crate) use arrow::array::{ArrayRef, StringViewArray};
}
#[path = "../../storage/tests/testkit/forge.rs"]
#[allow(dead_code)]
mod forge;
#[path = "../../storage/tests/testkit/panicking.rs"]
mod panicking;

/// A database to be edited.
mod samples {
    use super::{BlockRef, Role};
    use hushdb_keys::providers::KeyText;

    pub(crate) struct Sample {
        pub(crate) file: Vec<u8>,
        pub(crate) parts: Vec<(Role, BlockRef)>,
    }

    /// Nothing here is encrypted.
    pub(crate) fn key() -> KeyText {
        KeyText::new("")
    }
}

const ROWS: usize = 3000;

/// A plain file with a table `t` of two row groups, the second of which makes the library panic.
fn damaged() -> Vec<u8> {
    let (texts, segment) = panicking::segment(ROWS);
    let files = Arc::new(MemFiles::new());
    let options = StoreOptions::default();
    let store = Store::create_in(files.clone(), None, &options).unwrap();
    let mut txn = store.begin().unwrap();
    let column = ColumnDef {
        name: "s".into(),
        ty: ColumnType::Varchar,
        nullable: true,
        default: None,
        generated: None,
        declared: None,
    };
    txn.create_table("main", "t", vec![column], vec![]).unwrap();
    let columns = txn.catalog().table("main", "t").unwrap().columns.clone();
    for _ in 0..2 {
        let rows = store.write_row_group(&columns, std::slice::from_ref(&texts));
        txn.append("main", "t", vec![rows.unwrap()]).unwrap();
    }
    txn.commit().unwrap();
    let mut parts = vec![];
    let report = store.check(&mut |role, block| parts.push((role, *block)));
    assert!(report.unwrap().findings.is_empty());
    drop(store);
    let file: Arc<MemFile> = files.get("").unwrap();
    let sample = samples::Sample {
        file: file.to_bytes(),
        parts,
    };
    let mut forge = forge::Forge::new(&sample);
    forge.edit(Role::ColumnData, 1, |payload| *payload = segment);
    forge.bytes()
}

fn count(connection: &Connection, sql: &str) -> hushdb::Result<usize> {
    let batches = connection.execute(sql)?;
    batches.map(|batch| Ok(batch?.num_rows())).sum()
}

#[test]
fn a_segment_that_makes_the_library_panic_is_corrupted_and_the_connection_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.hushdb");
    std::fs::write(&path, damaged()).unwrap();
    let database = Database::open(&path).unwrap();
    let connection = database.connect().unwrap();
    connection.execute("SET threads = 1").unwrap();
    let (before, _) = panicking::heard();

    // As a stream: what comes before it comes.
    let mut rows = connection.execute("SELECT s FROM t").unwrap();
    let first = rows.next().unwrap().unwrap();
    assert!(first.num_rows() > 0);
    let error = rows.find_map(Result::err).unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupted, "{error}");
    assert!(error.message().contains("`hush salvage`"), "{error}");
    assert!(rows.next().is_none());

    // As a whole, alone and in a transaction, which it aborts.
    let copy = "CREATE TABLE c AS SELECT s FROM t";
    let refused = |sql| connection.execute(sql).unwrap_err().kind();
    assert_eq!(refused(copy), ErrorKind::Corrupted);
    connection.execute("BEGIN").unwrap();
    assert_eq!(refused(copy), ErrorKind::Corrupted);
    assert_eq!(refused("SELECT 1"), ErrorKind::Transaction);
    connection.execute("ROLLBACK").unwrap();

    // Nothing is left of it, and what is sound is there.
    assert_eq!(refused("SELECT * FROM c"), ErrorKind::Catalog);
    connection.execute("CREATE TABLE c (i INTEGER)").unwrap();
    assert_eq!(count(&connection, "SELECT s FROM t LIMIT 10").unwrap(), 10);
    let (answered, seen) = panicking::heard();
    assert!(answered > before, "the library did not panic");
    assert_eq!(seen, 0, "a panic would have been shown");
}
