//! Sound databases to go for: small, all made of the same rows; but for ids, salts and nonces, which are random, always
//! the same bytes.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Decimal128Array, Float64Array, Int32Array, Int64Array, IntervalMonthDayNanoArray,
    ListArray, StringViewArray, StructArray, TimestampMicrosecondArray,
    types::IntervalMonthDayNanoType,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, TimeUnit};
use hushdb_keys::providers::KeyText;
use hushdb_keys::{KeyProvider, Suite};
use hushdb_storage::{
    BlockRef, BlockStore, Check, ColumnDef, ColumnType, IndexDef, IndexKind, MemFile, MemFiles,
    Role, Store, StoreOptions, Transaction, View,
};

const KEY: &str = "hex:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const SECOND_KEY: &str = "hex:ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff";

pub(crate) fn key() -> KeyText {
    KeyText::new(KEY)
}

/// A database's bytes.
pub(crate) struct Sample {
    pub(crate) file: Vec<u8>,
    /// The log beside it, without the zeros ahead.
    pub(crate) log: Option<Vec<u8>>,
    /// All blocks in the order in which a check comes by them.
    pub(crate) parts: Vec<(Role, BlockRef)>,
}

/// All samples.
pub(crate) struct Samples {
    /// Four tables, one of them with indexes, two views, no log.
    pub(crate) tables: Sample,
    /// The same some commits earlier.
    pub(crate) before: Sample,
    /// The same after a second key was added and removed again.
    pub(crate) rekeyed: Sample,
    /// Another database with the same content and key.
    pub(crate) other: Sample,
    /// The same in a database of suite 2.
    pub(crate) ctr: Sample,
    pub(crate) plain: Sample,
    /// A table whose rows are in the log, in [`LOGGED`] records.
    pub(crate) logged: Sample,
    /// The same with the log that came after that one.
    pub(crate) logged_next: Sample,
    pub(crate) other_logged: Sample,
    pub(crate) plain_logged: Sample,
    /// A database that was opened to write more often than a superblock has room for.
    pub(crate) runs: Sample,
    /// A plain one whose third table has lists and structs, in a row group and in the log.
    pub(crate) nested: Sample,
}

/// Rows of table `x`.
pub(crate) const INDEXED: i64 = 200;
/// Records in the log of a sample.
pub(crate) const LOGGED: usize = 4;

impl Samples {
    pub(crate) fn new() -> Self {
        let (before, sound) = tables(Some(&key()), Suite::Gcm);
        let rekeyed = rekeyed(&sound);
        let [in_log, in_next_log] = logged(Some(&key()));
        let [other_logged, _] = logged(Some(&key()));
        let [plain_logged, _] = logged(None);
        Self {
            rekeyed,
            before,
            tables: sound,
            other: tables(Some(&key()), Suite::Gcm).1,
            ctr: tables(Some(&key()), Suite::Ctr).1,
            plain: tables(None, Suite::Gcm).1,
            logged: in_log,
            logged_next: in_next_log,
            other_logged,
            plain_logged,
            runs: runs(),
            nested: nested(),
        }
    }
}

fn sample(file: Vec<u8>, log: Option<Vec<u8>>, key: Option<&dyn KeyProvider>) -> Sample {
    let files = MemFiles::new();
    files.put("", Arc::new(MemFile::from_bytes(&file)));
    if let Some(log) = &log {
        files.put(".wal", Arc::new(MemFile::from_bytes(log)));
    }
    let options = StoreOptions {
        read_only: true,
        ..StoreOptions::default()
    };
    let store = Store::open_in(Arc::new(files), key, &options).unwrap();
    let mut parts = Vec::new();
    let report = store.check(&mut |role, block| parts.push((role, *block)));
    assert!(report.unwrap().findings.is_empty());
    Sample { file, log, parts }
}

fn def(name: &str, ty: ColumnType) -> ColumnDef {
    ColumnDef {
        name: name.into(),
        ty,
        nullable: true,
        default: None,
        generated: None,
        declared: None,
    }
}

fn append(txn: &mut Transaction, schema: &str, name: &str, arrays: &[ArrayRef]) {
    let columns = txn.catalog().table(schema, name).unwrap().columns.clone();
    let pending = txn.store().write_row_group(&columns, arrays).unwrap();
    txn.append(schema, name, vec![pending]).unwrap();
}

/// Columns of table `t`; the third has a NULL.
fn rows(from: i64, count: i64) -> Vec<ArrayRef> {
    let numbers = from..from + count;
    let texts = numbers.clone().map(|n| format!("text number {n} of t"));
    let decimals =
        Decimal128Array::from_iter(numbers.clone().map(|n| (n != 3).then_some(n.into())));
    let intervals = numbers
        .clone()
        .map(|n| IntervalMonthDayNanoType::make_value(1, n as i32, n));
    vec![
        Arc::new(Int64Array::from_iter_values(numbers.clone())),
        Arc::new(StringViewArray::from_iter_values(texts)),
        Arc::new(decimals.with_precision_and_scale(20, 2).unwrap()),
        Arc::new(IntervalMonthDayNanoArray::from_iter_values(intervals)),
        Arc::new(TimestampMicrosecondArray::from_iter_values(numbers)),
    ]
}

/// Before and after its last commits.
fn tables(key: Option<&dyn KeyProvider>, suite: Suite) -> (Sample, Sample) {
    let file = Arc::new(MemFile::new());
    let options = StoreOptions {
        suite,
        ..StoreOptions::default()
    };
    let store = Store::create(file.clone(), key, &options).unwrap();
    let number = |name| vec![def(name, ColumnType::Int64)];
    let numbers = |n| -> Vec<ArrayRef> { vec![Arc::new(Int64Array::from_iter_values(0..n))] };

    let mut txn = store.begin().unwrap();
    let mut columns = vec![
        def("a1", ColumnType::Int64),
        def("a2", ColumnType::Varchar),
        def(
            "d1",
            ColumnType::Decimal {
                precision: 20,
                scale: 2,
            },
        ),
        def("i1", ColumnType::Interval),
        def("m1", ColumnType::Timestamp(TimeUnit::Microsecond, false)),
    ];
    columns[0].nullable = false;
    columns[1].default = Some("'dflt'".into());
    let checks = vec![Check {
        name: Some("c1".into()),
        sql: "a1 >= 0".into(),
    }];
    txn.create_schema("s1").unwrap();
    txn.create_schema("s2").unwrap();
    txn.create_table("main", "t", columns, checks).unwrap();
    txn.create_table("main", "u", number("n"), vec![]).unwrap();
    txn.create_table("s1", "w", number("n"), vec![]).unwrap();
    append(&mut txn, "main", "t", &rows(0, 10));
    append(&mut txn, "main", "u", &numbers(20));
    append(&mut txn, "s1", "w", &numbers(30));
    for (name, sql) in [("v1", "SELECT 1"), ("v2", "SELECT 2")] {
        let (name, sql, columns) = (name.into(), sql.into(), vec!["x".into()]);
        txn.create_view("main", View { name, sql, columns })
            .unwrap();
    }
    indexed(&mut txn);
    txn.commit().unwrap();
    let before = file.to_bytes();

    let mut txn = store.begin().unwrap();
    append(&mut txn, "main", "t", &rows(10, 8));
    txn.delete_rows("main", "t", &[2, 5]).unwrap();
    txn.commit().unwrap();
    // Blocks of the first commit are written over.
    for _ in 0..3 {
        let mut txn = store.begin().unwrap();
        append(&mut txn, "main", "u", &numbers(5));
        txn.truncate("s1", "w").unwrap();
        append(&mut txn, "s1", "w", &numbers(30));
        txn.commit().unwrap();
    }
    drop(store);
    let after = sample(file.to_bytes(), None, key);
    (sample(before, None, key), after)
}

/// Table `x`, with a primary key and an index of two leaves.
fn indexed(txn: &mut Transaction) {
    let mut columns = vec![
        def("n", ColumnType::Int64),
        def("s", ColumnType::Varchar),
        def("i", ColumnType::Interval),
    ];
    columns[0].nullable = false;
    txn.create_table("s2", "x", columns, vec![]).unwrap();
    for (name, kind, column) in [
        ("p1", IndexKind::Primary, "n"),
        ("p2", IndexKind::Plain, "s"),
    ] {
        let (name, columns) = (name.into(), vec![column.into()]);
        let index = IndexDef {
            name,
            kind,
            columns,
        };
        txn.create_index("s2", "x", index).unwrap();
    }
    let texts = (0..INDEXED).map(|n| format!("{n:03}{}", "-".repeat(97)));
    let interval = IntervalMonthDayNanoType::make_value(1, 2, 3);
    let rows: [ArrayRef; 3] = [
        Arc::new(Int64Array::from_iter_values(0..INDEXED)),
        Arc::new(StringViewArray::from_iter_values(texts)),
        Arc::new(IntervalMonthDayNanoArray::from(vec![
            interval;
            INDEXED as usize
        ])),
    ];
    append(txn, "s2", "x", &rows);
}

fn rekeyed(from: &Sample) -> Sample {
    let file = Arc::new(MemFile::from_bytes(&from.file));
    let store = BlockStore::open(file.clone(), Some(&key()), &StoreOptions::default()).unwrap();
    let second = KeyText::new(SECOND_KEY);
    let slot = store.change_header(|header, crypto, keys| {
        header.add_slot(crypto, keys, &second, &Default::default())
    });
    let slot = slot.unwrap();
    let removed =
        store.change_header(|header, crypto, keys| header.remove_slot(crypto, keys, slot));
    removed.unwrap();
    drop(store);
    sample(file.to_bytes(), None, Some(&key()))
}

/// Openings of [`runs`], of which 64 are in the tree.
const RUNS: usize = 70;

fn runs() -> Sample {
    let files = Arc::new(MemFiles::new());
    let options = StoreOptions::default;
    drop(Store::create_in(files.clone(), Some(&key()), &options()).unwrap());
    for run in 0..RUNS {
        let store = Store::open_in(files.clone(), Some(&key()), &options()).unwrap();
        let mut txn = store.begin().unwrap();
        match run % 2 {
            0 => txn.create_schema("s").unwrap(),
            _ => txn.drop_schema("s").unwrap(),
        }
        txn.commit().unwrap();
    }
    sample(files.get("").unwrap().to_bytes(), None, Some(&key()))
}

/// A table with its rows in the log, and the same a log later.
fn logged(key: Option<&dyn KeyProvider>) -> [Sample; 2] {
    let files = Arc::new(MemFiles::new());
    let store = Store::create_in(files.clone(), key, &StoreOptions::default()).unwrap();
    store.set_checkpoint_on_close(false);
    let mut txn = store.begin().unwrap();
    let mut columns = vec![def("n", ColumnType::Int64), def("s", ColumnType::Varchar)];
    columns.push(def("b", ColumnType::Boolean));
    txn.create_table("main", "t", columns, vec![]).unwrap();
    txn.commit().unwrap();
    let now = |expected: usize| {
        for n in 0..expected as i64 {
            let mut txn = store.begin().unwrap();
            let row: [ArrayRef; 3] = [
                Arc::new(Int64Array::from(vec![n, n + 100])),
                Arc::new(StringViewArray::from(vec![Some("first text"), None])),
                Arc::new(arrow_array::BooleanArray::from(vec![true, false])),
            ];
            txn.insert("main", "t", &row).unwrap();
            txn.commit().unwrap();
        }
        let [file, log] = ["", ".wal"].map(|name| files.get(name).unwrap().to_bytes());
        let used = log.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        let log = log[..used.next_multiple_of(64)].to_vec();
        sample(file, Some(log), key)
    };
    let first = now(LOGGED);
    store.checkpoint().unwrap();
    [first, now(LOGGED)]
}

/// The tables that the decoder of log records knows (`decoders::change`), and rows of lists and structs.
fn nested() -> Sample {
    let files = Arc::new(MemFiles::new());
    let store = Store::create_in(files.clone(), None, &StoreOptions::default()).unwrap();
    store.set_checkpoint_on_close(false);
    let point = ColumnType::Struct(vec![
        ("x".into(), ColumnType::Double),
        ("y".into(), ColumnType::Varchar),
    ]);
    let list = |item: &ColumnType| ColumnType::List(Box::new(item.clone()));
    let types = [list(&ColumnType::Int32), point.clone(), list(&point)];
    let mut txn = store.begin().unwrap();
    for name in ["a", "b"] {
        let columns = vec![def("n", ColumnType::Int64)];
        txn.create_table("main", name, columns, vec![]).unwrap();
    }
    let columns = ["x", "y", "z"].into_iter().zip(&types);
    let columns = columns.map(|(name, ty)| def(name, ty.clone()));
    txn.create_table("main", "c", columns.collect(), vec![])
        .unwrap();
    append(&mut txn, "main", "c", &nested_rows(&types, 40));
    txn.commit().unwrap();
    let mut txn = store.begin().unwrap();
    txn.insert("main", "c", &nested_rows(&types, 5)).unwrap();
    txn.commit().unwrap();
    let [file, log] = ["", ".wal"].map(|name| files.get(name).unwrap().to_bytes());
    let used = log.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let log = log[..used.next_multiple_of(64)].to_vec();
    sample(file, Some(log), None)
}

/// Values of a list of numbers, a struct, and a list of structs; every third is NULL.
fn nested_rows(types: &[ColumnType; 3], rows: usize) -> Vec<ArrayRef> {
    let nulls = || Some(NullBuffer::from_iter((0..rows).map(|row| row % 3 > 0)));
    let [
        DataType::List(number),
        DataType::Struct(fields),
        DataType::List(point),
    ] = types.each_ref().map(ColumnType::arrow)
    else {
        unreachable!("the types of the sample")
    };
    let points = |count: usize| {
        let numbers = (0..count).map(|n| n as f64 / 4.0);
        let texts = (0..count).map(|n| format!("point number {n}"));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Float64Array::from_iter_values(numbers)),
            Arc::new(StringViewArray::from_iter_values(texts)),
        ];
        columns
    };
    let lengths = |row: usize| if !row.is_multiple_of(3) { row % 5 } else { 0 };
    let total: usize = (0..rows).map(lengths).sum();
    let offsets = || OffsetBuffer::from_lengths((0..rows).map(lengths));
    let numbers = Arc::new(Int32Array::from_iter_values(0..total as i32));
    let structs = Arc::new(StructArray::new(fields.clone(), points(total), None));
    vec![
        Arc::new(ListArray::new(number, offsets(), numbers, nulls())),
        Arc::new(StructArray::new(fields, points(rows), nulls())),
        Arc::new(ListArray::new(point, offsets(), structs, nulls())),
    ]
}
