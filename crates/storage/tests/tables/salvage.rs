//! Salvage: each kind of block damaged in turn, and what is then left, against what must be.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, StringViewArray};
use hushdb_keys::KeyProvider;
use hushdb_keys::providers::KeyText;
use hushdb_storage::*;

use super::fixture::{append, def, int64s};

fn key(encrypted: bool) -> Option<KeyText> {
    encrypted.then(|| KeyText::new(format!("hex:{}", "5a".repeat(32))))
}

fn given(key: &Option<KeyText>) -> Option<&dyn KeyProvider> {
    key.as_ref().map(|key| key as &dyn KeyProvider)
}

fn rows(numbers: std::ops::Range<i64>) -> [ArrayRef; 2] {
    let texts = numbers.clone().map(|n| format!("the text of row {n}"));
    [
        int64s(numbers),
        Arc::new(StringViewArray::from_iter_values(texts)),
    ]
}

/// Files of a database: tables `t`, of three row groups, and `u`, with a primary key; then what a log has.
fn files(encrypted: bool, logged: bool) -> Arc<MemFiles> {
    let files = Arc::new(MemFiles::new());
    let key = key(encrypted);
    let store = Store::create_in(files.clone(), given(&key), &StoreOptions::default()).unwrap();
    store.set_checkpoint_on_close(false);
    let mut txn = store.begin().unwrap();
    let mut columns = vec![def("n", ColumnType::Int64), def("s", ColumnType::Varchar)];
    columns[0].nullable = false;
    let check = Check {
        name: Some("c".into()),
        sql: "n >= 0".into(),
    };
    txn.create_schema("other").unwrap();
    txn.create_table("main", "t", columns.clone(), vec![check])
        .unwrap();
    txn.create_table("other", "u", columns, vec![]).unwrap();
    let index = IndexDef {
        name: "pk".into(),
        kind: IndexKind::Primary,
        columns: vec!["n".into()],
    };
    txn.create_index("other", "u", index).unwrap();
    let view = View {
        name: "v".into(),
        sql: "SELECT 1".into(),
        columns: vec![],
    };
    txn.create_view("main", view).unwrap();
    append(&mut txn, "t", &rows(0..10));
    append(&mut txn, "t", &rows(10..18));
    append(&mut txn, "t", &rows(18..25));
    let columns = txn.catalog().table("other", "u").unwrap().columns.clone();
    let group = store.write_row_group(&columns, &rows(0..50)).unwrap();
    txn.append("other", "u", vec![group]).unwrap();
    txn.commit().unwrap();
    let mut txn = store.begin().unwrap();
    txn.delete_rows("main", "t", &[2, 5]).unwrap();
    txn.commit().unwrap();
    store.checkpoint().unwrap();
    if logged {
        for n in 0..4 {
            let mut txn = store.begin().unwrap();
            txn.insert("main", "t", &rows(100 + n..101 + n)).unwrap();
            txn.delete_rows("main", "t", &[10 + n as u64]).unwrap();
            txn.commit().unwrap();
        }
    }
    drop(store);
    files
}

fn salvage(files: &Arc<MemFiles>, encrypted: bool) -> Result<(Arc<Store>, SalvageReport), Error> {
    let key = key(encrypted);
    let options = StoreOptions::default();
    let before: Vec<_> = ["", ".wal"]
        .map(|n| files.get(n).map(|f| f.to_bytes()))
        .into();
    let surveyed = Salvage::open_in(files.clone(), given(&key), &options)?.survey()?;
    let opened = Salvage::open_in(files.clone(), given(&key), &options)?;
    let out = Store::create(Arc::new(MemFile::new()), given(&key), &options)?;
    let report = opened.copy_to(&out)?;
    assert_eq!(report.tables, surveyed.tables);
    assert_eq!(report.lost.len(), surveyed.lost.len());
    let after: Vec<_> = ["", ".wal"]
        .map(|n| files.get(n).map(|f| f.to_bytes()))
        .into();
    assert!(before == after, "the damaged files are untouched");
    assert!(out.check(&mut |_, _| {}).unwrap().findings.is_empty());
    Ok((out, report))
}

/// The numbers of a table's rows, in order; the texts must be theirs.
fn numbers(store: &Store, schema: &str, name: &str) -> Option<Vec<i64>> {
    let catalog = store.snapshot();
    let table = catalog.table(schema, name)?;
    let mut all = Vec::new();
    for group in table.row_groups().unwrap() {
        let read = |at: usize| {
            let visible = group.visible();
            let column = &table.columns[at];
            store.read_column(group, column, visible.as_ref()).unwrap()
        };
        let (numbers, texts) = (read(0), read(1));
        for (n, text) in numbers
            .as_primitive::<Int64Type>()
            .values()
            .iter()
            .zip(texts.as_string_view().iter())
        {
            assert_eq!(text, Some(format!("the text of row {n}").as_str()));
            all.push(*n);
        }
    }
    Some(all)
}

fn t_without(lost: std::ops::Range<i64>) -> Vec<i64> {
    let there = |n: &i64| ![2, 5].contains(n) && !lost.contains(n);
    (0..25).filter(there).collect()
}

fn flip(file: &MemFile, at: u64) {
    let mut byte = [0];
    file.read_exact_at(at, &mut byte).unwrap();
    file.write_all_at(at, &[byte[0] ^ 1]).unwrap();
}

#[test]
fn each_kind_of_block_takes_with_it_what_it_must() {
    for encrypted in [true, false] {
        let files = files(encrypted, false);
        let key = key(encrypted);
        let options = StoreOptions {
            read_only: true,
            ..StoreOptions::default()
        };
        let store = Store::open_in(files.clone(), given(&key), &options).unwrap();
        let mut blocks = Vec::new();
        store
            .check(&mut |role, block| blocks.push((role, *block)))
            .unwrap();
        drop(store);
        let mut seen = std::collections::BTreeMap::<Role, usize>::new();
        let all_of_u: Vec<i64> = (0..50).collect();
        for (role, block) in blocks {
            let nth = seen.entry(role).or_default();
            let at = block.sector * SECTOR_BYTES as u64 + 64 + u64::from(block.payload_len / 2);
            flip(&files.get("").unwrap(), at);
            let salvaged = salvage(&files, encrypted);
            flip(&files.get("").unwrap(), at);
            // Rows of t that are lost; `None`: the table.
            let (t, u, lost) = match (role, *nth) {
                (Role::Metadata, 0) => {
                    assert!(salvaged.is_err(), "nothing without the root");
                    *nth += 1;
                    continue;
                }
                (Role::Metadata, 1) => (None, Some(0..0), 1),
                (Role::Metadata, 2) => (Some(0..25), Some(0..0), 1),
                (Role::Metadata, 3) => (Some(0..10), Some(0..0), 1),
                (Role::Metadata, 4) => (Some(0..0), None, 1),
                (Role::Metadata, 5) => (Some(0..0), Some(0..50), 1),
                (Role::ColumnData, 0 | 1) => (Some(0..10), Some(0..0), 1),
                (Role::ColumnData, 2 | 3) => (Some(10..18), Some(0..0), 1),
                (Role::ColumnData, 4 | 5) => (Some(18..25), Some(0..0), 1),
                (Role::ColumnData, _) => (Some(0..0), Some(0..50), 1),
                (Role::FreeList | Role::Statistics | Role::Index, _) => (Some(0..0), Some(0..0), 0),
                other => panic!("{other:?}"),
            };
            *nth += 1;
            let (out, report) = salvaged.unwrap();
            assert_eq!(report.lost.len(), lost, "{role} {:?}", report.lost);
            assert_eq!(numbers(&out, "main", "t"), t.map(t_without), "{role}");
            let left = u.map(|lost: std::ops::Range<i64>| {
                let there = all_of_u.iter().filter(|n| !lost.contains(n));
                there.copied().collect::<Vec<_>>()
            });
            assert_eq!(numbers(&out, "other", "u"), left, "{role}");
            let catalog = out.snapshot();
            assert!(catalog.schema("main").unwrap().views.contains_key("v"));
            if let Some(t) = catalog.table("main", "t") {
                assert_eq!(t.checks[0].sql, "n >= 0");
                assert!(!t.columns[0].nullable);
            }
            if let Some(u) = catalog.table("other", "u") {
                assert_eq!(u.indexes()[0].kind(), IndexKind::Primary);
            }
        }
        assert!(seen.len() >= 5, "{seen:?}");
    }
}

#[test]
fn a_damaged_log_is_replayed_up_to_the_damage() {
    for encrypted in [true, false] {
        let all = [(100, 10), (101, 11), (102, 12), (103, 13)];
        let state = |replayed: usize| {
            let mut rows = t_without(0..0);
            for (added, deleted) in &all[..replayed] {
                rows.retain(|n| n != deleted);
                rows.push(*added);
            }
            rows
        };
        let files = files(encrypted, true);
        let (out, report) = salvage(&files, encrypted).unwrap();
        assert_eq!(numbers(&out, "main", "t").unwrap(), state(4));
        assert!(report.lost.is_empty());
        let log = files.get(".wal").unwrap();
        let mut at = 128;
        for replayed in 0..3 {
            flip(&log, at + 50);
            let (out, report) = salvage(&files, encrypted).unwrap();
            flip(&log, at + 50);
            assert_eq!(numbers(&out, "main", "t").unwrap(), state(replayed));
            assert!(matches!(
                &report.lost[..],
                [Lost {
                    table: None,
                    error: Error::Log(_),
                    ..
                }]
            ));
            let mut len = [0; 4];
            log.read_exact_at(at, &mut len).unwrap();
            at += u64::from(u32::from_le_bytes(len)) + 56;
        }
        files.remove(".wal").unwrap();
        let (out, report) = salvage(&files, encrypted).unwrap();
        assert_eq!(numbers(&out, "main", "t").unwrap(), state(0));
        let missing = Error::Log(LogError::Missing { sequence: 0 }).kind();
        assert_eq!(report.lost[0].error.kind(), missing);
    }
}

#[test]
fn a_log_goes_on_without_the_table_and_the_rows_that_are_lost() {
    let files = files(true, true);
    let key = key(true);
    let options = StoreOptions {
        read_only: true,
        ..StoreOptions::default()
    };
    // Where its blocks stand: as in one without a log.
    let same = self::files(true, false);
    let store = Store::open_in(same, given(&key), &options).unwrap();
    let mut metadata = Vec::new();
    let note = &mut |role, block: &BlockRef| {
        if role == Role::Metadata {
            metadata.push(*block);
        }
    };
    store.check(note).unwrap();
    drop(store);
    let at = |block: &BlockRef| block.sector * SECTOR_BYTES as u64 + 70;
    // The page: only the rows of the log are left.
    flip(&files.get("").unwrap(), at(&metadata[2]));
    let (out, report) = salvage(&files, true).unwrap();
    assert_eq!(numbers(&out, "main", "t").unwrap(), [100, 101, 102, 103]);
    assert_eq!(report.lost.len(), 1);
    assert_eq!(report.tables[0].rows, 4);
    assert!(report.tables[0].total_rows > 20);
    flip(&files.get("").unwrap(), at(&metadata[2]));
    flip(&files.get("").unwrap(), at(&metadata[1]));
    let (out, report) = salvage(&files, true).unwrap();
    assert_eq!(numbers(&out, "main", "t"), None);
    assert_eq!(numbers(&out, "other", "u").unwrap().len(), 50);
    assert_eq!(report.lost.len(), 1);
}
