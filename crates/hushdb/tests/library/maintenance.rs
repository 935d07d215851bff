//! Looking after files through the library alone: headers, key slots by the library and by ALTER DATABASE, checks, salvage.

use hushdb::keys::KeyProvider;
use hushdb::maintenance::{
    DatabaseFile, FileHeader, KEY_SLOTS, SECTOR_BYTES, Salvage, verify_slot,
};
use hushdb::{Connection, Database, DatabaseOptions, ErrorKind, Freshness, KeySource, Value};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FIRST: &str = "hex:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const SECOND: &str = "hex:ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff";

fn key(text: &str) -> Arc<dyn KeyProvider> {
    KeySource::Text(text.into()).provider()
}

fn open(path: &Path, text: &str) -> hushdb::Result<Database> {
    let key = Some(KeySource::Text(text.into()));
    let options = DatabaseOptions {
        key,
        ..DatabaseOptions::default()
    };
    Database::open_with(Some(path), options)
}

/// A new encrypted database of 30,000 rows in a table, with a view.
fn make(directory: &Path) -> PathBuf {
    let path = directory.join("sales.hushdb");
    let connection = open(&path, FIRST).unwrap().connect().unwrap();
    for statement in [
        "CREATE TABLE orders AS SELECT i, 'customer ' || i AS who FROM range(30000) r(i)",
        "CREATE VIEW recent AS SELECT who FROM orders WHERE i > 29000",
    ] {
        connection.run(statement).unwrap();
    }
    path
}

fn look(path: &Path, text: &str) -> hushdb::Result<DatabaseFile> {
    DatabaseFile::open_read_only(path, Some(&*key(text)), Freshness::default())
}

#[test]
fn a_file_is_looked_at_without_a_query() {
    let directory = tempfile::tempdir().unwrap();
    let path = make(directory.path());
    let header = FileHeader::read(&path).unwrap();
    assert!(header.is_encrypted);
    assert_eq!((header.format_version, header.slots.len()), (1, 1));
    assert_eq!(header.file_bytes, fs::metadata(&path).unwrap().len());
    assert_eq!(header.slots[0].to_string(), "0: raw key, given by text");

    let file = look(&path, FIRST).unwrap();
    assert_eq!(file.facts().sectors * SECTOR_BYTES, header.file_bytes);
    let relations = file.relations().unwrap();
    let [table, view] = relations.as_slice() else {
        panic!("{relations:?}")
    };
    let facts = table.table.unwrap();
    assert_eq!(
        (table.name.as_str(), facts.columns, facts.rows),
        ("orders", 2, 30_000)
    );
    assert!(facts.stored_bytes > 0 && facts.stored_bytes < facts.raw_bytes);
    assert!(view.name == "recent" && view.table.is_none());
    let mut seen = 0;
    let report = file.check(&mut |_| seen += 1).unwrap();
    assert_eq!((report.rows, report.damage.len()), (30_000, 0));
    assert_eq!(report.blocks, seen);
    let by_role: u64 = report.by_role.iter().map(|total| total.blocks).sum();
    assert_eq!(by_role, seen);

    drop(file);
    assert_eq!(look(&path, SECOND).unwrap_err().kind(), ErrorKind::WrongKey);
    let none = DatabaseFile::open_read_only(&path, None, Freshness::default());
    assert_eq!(none.unwrap_err().kind(), ErrorKind::KeyRequired);
    fs::write(directory.path().join("text"), "no database").unwrap();
    assert!(FileHeader::read(&directory.path().join("text")).is_err());
}

#[test]
fn slots_are_changed_in_a_closed_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = make(directory.path());
    let open_for_keys =
        |text: &str| DatabaseFile::open_for_keys(&path, &*key(text), Freshness::default());
    let file = open_for_keys(FIRST).unwrap();
    assert_eq!(file.add_slot(&*key(SECOND), "spare").unwrap().slot, 1);
    drop(file);
    assert_eq!(verify_slot(&path, None, &*key(SECOND)).unwrap().slot, 1);
    let other = verify_slot(&path, Some(0), &*key(SECOND)).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::WrongKey);
    let none = verify_slot(&path, Some(2), &*key(SECOND)).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::InvalidInput);
    let file = open_for_keys(FIRST).unwrap();
    // Which of them is not said.
    assert!(file.change_slot(None, &*key("pass:x")).is_err());
    let before = file.anchor().unwrap();
    assert_eq!(file.remove_slot(0).unwrap().slot, 0);
    assert_ne!(file.anchor().unwrap(), before);
    assert!(file.remove_slot(1).is_err(), "it is the last");
    drop(file);
    assert_eq!(
        open_for_keys(FIRST).unwrap_err().kind(),
        ErrorKind::WrongKey
    );
    let file = open_for_keys(SECOND).unwrap();
    file.change_slot(None, &*key(FIRST)).unwrap();
    drop(file);
    assert_eq!(FileHeader::read(&path).unwrap().slots[0].label, "spare");
    drop(look(&path, FIRST).unwrap());
    assert_eq!(look(&path, SECOND).unwrap_err().kind(), ErrorKind::WrongKey);
}

/// Number and label of each slot.
fn slots(connection: &Connection) -> Vec<Vec<Value>> {
    let result = connection.execute("SELECT slot, label FROM key_slots() ORDER BY slot");
    let mut rows = vec![];
    for batch in &result.unwrap().collect_batches().unwrap() {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter();
            rows.push(cells.map(|cell| Value::of(cell, row).unwrap()).collect());
        }
    }
    rows
}

#[test]
fn slots_are_changed_in_an_attached_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = make(directory.path());
    let database = open(&path, FIRST).unwrap();
    let connection = database.connect().unwrap();
    let run = |sql: &str| connection.execute(sql).map(drop);
    let slots = || slots(&connection);
    let slot =
        |number: i64, label: &str| vec![Value::Integer(number.into()), Value::Text(label.into())];
    assert_eq!(slots(), [slot(0, "")]);

    run(&format!(
        "ALTER DATABASE Sales ADD SLOT (ENCRYPTION_KEY '{SECOND}', LABEL 'spare')"
    ))
    .unwrap();
    assert_eq!(slots(), [slot(0, ""), slot(1, "spare")]);
    let notices = connection.take_notices();
    assert!(notices[0].contains("key slot 1 was added"));
    let add = connection
        .prepare("ALTER DATABASE sales ADD SLOT (ENCRYPTION_KEY ?, LABEL ?)")
        .unwrap();
    add.execute(&[
        Value::Text("pass:typed".into()),
        Value::Text("third".into()),
    ])
    .unwrap();
    run(&format!(
        "ALTER DATABASE sales CHANGE SLOT 0 (ENCRYPTION_KEY = $${FIRST}$$)"
    ))
    .unwrap();
    run(&format!(
        "ALTER DATABASE sales VERIFY SLOT 1 (ENCRYPTION_KEY '{SECOND}')"
    ))
    .unwrap();
    let other = run(&format!(
        "ALTER DATABASE sales VERIFY SLOT 0 (ENCRYPTION_KEY '{SECOND}')"
    ));
    let other = other.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::WrongKey);
    let said = "wrong key: key slot 0 does not open with it; others may";
    assert_eq!(other.message(), said);
    run("ALTER DATABASE sales DROP SLOT 0").unwrap();
    assert_eq!(slots(), [slot(1, "spare"), slot(2, "third")]);
    assert!(
        connection
            .take_notices()
            .last()
            .unwrap()
            .contains("copies of the file")
    );

    drop((add, connection, database));
    assert_eq!(open(&path, FIRST).unwrap_err().kind(), ErrorKind::WrongKey);
    drop(open(&path, SECOND).unwrap());
    open(&path, "pass:typed")
        .unwrap()
        .connect()
        .unwrap()
        .run("FROM orders")
        .unwrap();
}

#[test]
fn a_change_that_is_refused_repeats_no_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = make(directory.path());
    let connection = open(&path, FIRST).unwrap().connect().unwrap();
    let run = |sql: &str| connection.execute(sql).map(drop);
    for (sql, kind) in [
        ("ALTER DATABASE sales DROP SLOT 1", ErrorKind::InvalidInput),
        ("ALTER DATABASE sales DROP SLOT 8", ErrorKind::InvalidInput),
        ("ALTER DATABASE none DROP SLOT 1", ErrorKind::Catalog),
        (
            "ALTER DATABASE memory ADD SLOT (ENCRYPTION_KEY 'sesame')",
            ErrorKind::NotEncrypted,
        ),
        (
            "ALTER DATABASE sales ADD SLOT (LABEL 'sesame')",
            ErrorKind::Binder,
        ),
        (
            "ALTER DATABASE sales ADD SLOT (SESAME 'sesame')",
            ErrorKind::Binder,
        ),
        (
            "ALTER DATABASE sales ADD SLOT (ENCRYPTION_KEY 'sesame', ENCRYPTION_KEY_ENV 'A')",
            ErrorKind::Binder,
        ),
        (
            "ALTER DATABASE sales ADD SLOT (ENCRYPTION_KEY_ENV 'HUSHDB_IS_NOT_SET_sesame')",
            ErrorKind::InvalidInput,
        ),
        (
            "ALTER DATABASE sales CHANGE SLOT 0 (ENCRYPTION_KEY 'sesame', LABEL 'x')",
            ErrorKind::Binder,
        ),
        (
            "ALTER DATABASE sales ADD SLOT (ENCRYPTION_KEY_FILE 'hex:sesame')",
            ErrorKind::Binder,
        ),
    ] {
        let error = run(sql).unwrap_err();
        assert_eq!(error.kind(), kind, "{sql}: {error}");
        let names_a_place = sql.contains("KEY_ENV 'HUSHDB");
        assert!(
            names_a_place || !error.to_string().contains("sesame"),
            "{error}"
        );
    }
    run("ALTER DATABASE IF EXISTS none DROP SLOT 1").unwrap();
    run("BEGIN").unwrap();
    let error = run("ALTER DATABASE sales ADD SLOT (ENCRYPTION_KEY 'pass:x')").unwrap_err();
    assert_eq!(error.sqlstate(), "25001");
    run("ROLLBACK").unwrap();
    drop(connection);
    assert_eq!(FileHeader::read(&path).unwrap().slots.len(), 1);
}

#[test]
fn slots_of_a_file_that_is_attached_read_only_stay() {
    let directory = tempfile::tempdir().unwrap();
    let path = make(directory.path());
    let connection = Database::open_in_memory().unwrap().connect().unwrap();
    let attach = format!(
        "ATTACH '{}' AS s (ENCRYPTION_KEY '{FIRST}', READ_ONLY)",
        path.display()
    );
    connection.run(&attach).unwrap();
    for change in [
        "DROP SLOT 0",
        "ADD SLOT (ENCRYPTION_KEY 'pass:more')",
        "CHANGE SLOT 0 (ENCRYPTION_KEY 'pass:x')",
    ] {
        let sql = format!("ALTER DATABASE s {change}");
        let error = connection.run(&sql).unwrap_err();
        assert_eq!(error.sqlstate(), "25006", "{sql}: {error}");
    }
    let error = FileHeader::read(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "it is open here");
    drop(connection);
    assert_eq!(FileHeader::read(&path).unwrap().slots.len(), 1);
}

#[test]
fn all_slots_but_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let path = make(directory.path());
    let file = DatabaseFile::open_for_keys(&path, &*key(FIRST), Freshness::default()).unwrap();
    for number in 1..KEY_SLOTS {
        let text = FIRST.replace("00", &format!("{number:02x}"));
        assert_eq!(file.add_slot(&*key(&text), "").unwrap().slot, number);
    }
    let error = file.add_slot(&*key(SECOND), "").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn what_still_opens_of_a_damaged_file_is_copied() {
    let directory = tempfile::tempdir().unwrap();
    let path = make(directory.path());
    let blocks = look(&path, FIRST)
        .unwrap()
        .column_blocks("main", "orders", "who");
    let block = blocks.unwrap().unwrap().swap_remove(0);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[0xa5], block.offset + block.payload_bytes / 2)
        .unwrap();
    drop(file);
    let damage = look(&path, FIRST)
        .unwrap()
        .check(&mut |_| {})
        .unwrap()
        .damage;
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert!(
        damage[0].starts_with("column data block at byte"),
        "{damage:?}"
    );

    let salvage = || Salvage::open(&path, Some(&*key(FIRST)), Freshness::default()).unwrap();
    let surveyed = salvage().survey().unwrap();
    assert!(!surveyed.lost.is_empty());
    let out = directory.path().join("saved.hushdb");
    let report = salvage().copy_to(&out, Some(&*key(SECOND))).unwrap();
    assert_eq!(report.lost, surveyed.lost);
    assert_eq!(report.tables[0].total_rows, 30_000);
    let connection = open(&out, SECOND).unwrap().connect().unwrap();
    let batches = connection.execute("SELECT count(*) FROM orders").unwrap();
    let batches = batches.collect_batches().unwrap();
    let rows = Value::of(batches[0].column(0), 0).unwrap();
    assert_eq!(rows, Value::Integer(report.tables[0].rows.into()));
    assert!(
        salvage().copy_to(&out, None).is_err(),
        "it is there already"
    );
    assert!(out.exists(), "and stays");
}
