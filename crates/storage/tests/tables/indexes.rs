//! Indexes: found by key what a model has, under changes of every kind; no key twice, whoever is faster.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::*;
use hushdb_storage::*;
use proptest::prelude::*;

use super::fixture::*;

fn index(name: &str, kind: IndexKind, columns: &[&str]) -> IndexDef {
    IndexDef {
        name: name.into(),
        kind,
        columns: columns.iter().map(|c| (*c).into()).collect(),
    }
}

/// A table `t` of a key, a text that several rows share, and a number, with an index on each but the number.
fn keyed(store: &Arc<Store>) {
    let mut txn = store.begin().unwrap();
    let mut key = def("k", ColumnType::Int64);
    key.nullable = false;
    let columns = vec![
        key,
        def("s", ColumnType::Varchar),
        def("n", ColumnType::Int64),
    ];
    txn.create_table("main", "t", columns, vec![]).unwrap();
    txn.create_index("main", "t", index("by_text", IndexKind::Plain, &["s", "k"]))
        .unwrap();
    txn.create_index("main", "t", index("t_pkey", IndexKind::Primary, &["k"]))
        .unwrap();
    txn.commit().unwrap();
}

fn text_of(key: i64) -> Option<String> {
    (key % 5 != 0).then(|| format!("text \0 {}", key % 7))
}

fn arrays(rows: &[(i64, i64)]) -> Vec<ArrayRef> {
    let texts: Vec<_> = rows.iter().map(|(key, _)| text_of(*key)).collect();
    vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.0))),
        Arc::new(StringViewArray::from_iter(texts)),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.1))),
    ]
}

fn table(catalog: &CatalogVersion) -> &Arc<TableVersion> {
    catalog.table("main", "t").unwrap()
}

fn find(catalog: &CatalogVersion, key: i64) -> Vec<u64> {
    let table = table(catalog);
    let key: ArrayRef = Arc::new(Int64Array::from(vec![key]));
    table.find(&table.indexes()[0], &[key], 0).unwrap()
}

/// The number that stands beside a key.
fn number(store: &Store, catalog: &CatalogVersion, key: i64) -> Option<i64> {
    let rows = find(catalog, key);
    assert!(rows.len() <= 1, "a key twice");
    let table = table(catalog);
    let columns: Vec<&Column> = [0, 2].iter().map(|at| &table.columns[*at]).collect();
    let values = store.read_rows(table, &columns, &rows).unwrap();
    let values: Vec<_> = values
        .iter()
        .map(|a| a.as_primitive::<Int64Type>())
        .collect();
    rows.first().map(|_| {
        assert_eq!(values[0].value(0), key);
        values[1].value(0)
    })
}

fn assert_sound(store: &Store) {
    let report = store.check(&mut |_, _| ()).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[derive(Clone, Debug)]
enum Step {
    Put(i64, i64),
    Remove(i64),
    Load(Vec<i64>),
    Truncate,
    Savepoint,
    RollBack,
    Commit,
    Drop,
    Checkpoint,
    Reopen,
    Reindex,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0i64..60, 0i64..1000).prop_map(|(k, n)| Step::Put(k, n)),
        4 => (0i64..60).prop_map(Step::Remove),
        2 => prop::collection::vec(0i64..500, 1..200).prop_map(Step::Load),
        1 => Just(Step::Truncate),
        1 => Just(Step::Savepoint),
        1 => Just(Step::RollBack),
        6 => Just(Step::Commit),
        1 => Just(Step::Drop),
        2 => Just(Step::Checkpoint),
        1 => Just(Step::Reopen),
        1 => Just(Step::Reindex),
    ]
}

type Model = BTreeMap<i64, i64>;

fn run(steps: Vec<Step>) {
    let files: Arc<dyn StorageFiles> = Arc::new(MemFiles::new());
    let mut store = Store::create_in(Arc::clone(&files), None, &StoreOptions::default()).unwrap();
    keyed(&store);
    let mut committed = Model::new();
    let mut txn: Option<Transaction> = None;
    let mut model = Model::new();
    let mut saved: Option<(Savepoint, Model)> = None;
    for step in steps {
        let open = txn.get_or_insert_with(|| store.begin().unwrap());
        match step {
            Step::Put(key, value) => {
                let before = open.savepoint();
                let inserted = open.insert("main", "t", &arrays(&[(key, value)]));
                if let Some(old) = model.insert(key, value) {
                    assert!(matches!(inserted, Err(Error::Duplicate { .. })), "{old}");
                    open.rollback_to(&before);
                    let rows = find(open.catalog(), key);
                    assert_eq!(open.delete_rows("main", "t", &rows).unwrap(), 1);
                    open.insert("main", "t", &arrays(&[(key, value)])).unwrap();
                } else {
                    assert_eq!(inserted.unwrap(), 1);
                }
            }
            Step::Remove(key) => {
                let rows = find(open.catalog(), key);
                assert_eq!(rows.len(), usize::from(model.remove(&key).is_some()));
                open.delete_rows("main", "t", &rows).unwrap();
            }
            Step::Load(keys) => {
                let rows: Vec<_> = keys.iter().map(|key| (*key, key * 2)).collect();
                let columns = table(open.catalog()).columns.clone();
                let write =
                    |part: &[(i64, i64)]| store.write_row_group(&columns, &arrays(part)).unwrap();
                let groups: Vec<_> = rows.chunks(50).map(write).collect();
                let mut after = model.clone();
                after.extend(rows.iter().copied());
                let before = open.savepoint();
                match open.append("main", "t", groups) {
                    Ok(_) => {
                        assert_eq!(after.len(), model.len() + rows.len());
                        model = after;
                    }
                    Err(Error::Duplicate { .. }) => {
                        assert!(after.len() < model.len() + rows.len());
                        open.rollback_to(&before);
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            Step::Truncate => {
                assert_eq!(open.truncate("main", "t").unwrap(), model.len() as u64);
                model.clear();
            }
            Step::Savepoint => saved = Some((open.savepoint(), model.clone())),
            Step::RollBack => {
                if let Some((savepoint, then)) = &saved {
                    open.rollback_to(savepoint);
                    model = then.clone();
                }
            }
            Step::Commit => {
                txn.take().unwrap().commit().unwrap();
                committed = model.clone();
                saved = None;
            }
            Step::Drop => {
                txn = None;
                model = committed.clone();
                saved = None;
            }
            // What is in the transaction is to be brought onto what the checkpoint stored.
            Step::Checkpoint => store.checkpoint().unwrap(),
            Step::Reopen => {
                txn = None;
                model = committed.clone();
                saved = None;
                store.set_checkpoint_on_close(committed.len().is_multiple_of(2));
                drop(store);
                store = Store::open_in(Arc::clone(&files), None, &StoreOptions::default()).unwrap();
            }
            Step::Reindex => {
                open.drop_index("main", "t", "by_text").unwrap();
                open.create_index("main", "t", index("by_text", IndexKind::Plain, &["s", "k"]))
                    .unwrap();
            }
        }
        let snapshot = store.snapshot();
        let states = [(&*snapshot, &committed)].into_iter();
        for (catalog, model) in states.chain(txn.as_ref().map(|txn| (txn.catalog(), &model))) {
            for key in [0, 1, 7, 20, 35, 59, 100, 300] {
                assert_eq!(
                    number(&store, catalog, key),
                    model.get(&key).copied(),
                    "{key}"
                );
                let table = table(catalog);
                let texts: ArrayRef = Arc::new(StringViewArray::from(vec![text_of(key)]));
                let keys: ArrayRef = Arc::new(Int64Array::from(vec![key]));
                let by_text = table.find(&table.indexes()[1], &[texts, keys], 0).unwrap();
                let expected = model.contains_key(&key) && text_of(key).is_some();
                assert_eq!(by_text.len(), usize::from(expected));
            }
        }
    }
    drop(txn);
    assert_sound(&store);
    store.checkpoint().unwrap();
    assert_sound(&store);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn lookups_find_what_a_model_has(steps in prop::collection::vec(step(), 1..60)) {
        run(steps);
    }
}

#[test]
fn a_large_tree_has_every_key_after_loads_updates_and_deletes() {
    for kind in KINDS {
        let fixture = Fixture::new(kind);
        let store = fixture.create();
        keyed(&store);
        let mut rows: Vec<(i64, i64)> = (0..40_000).map(|k| ((k * 7919) % 40_009, k)).collect();
        let columns = table(&store.snapshot()).columns.clone();
        for part in rows.chunks(20_000) {
            let mut txn = store.begin().unwrap();
            let groups = part.chunks(6000);
            let groups = groups.map(|g| store.write_row_group(&columns, &arrays(g)).unwrap());
            txn.append("main", "t", groups.collect()).unwrap();
            txn.commit().unwrap();
        }
        assert_sound(&store);
        // Every third row goes, half of these come back with another number.
        let mut txn = store.begin().unwrap();
        let mut gone = Vec::new();
        for (key, _) in rows.iter().step_by(3) {
            gone.extend(find(txn.catalog(), *key));
        }
        txn.delete_rows("main", "t", &gone).unwrap();
        let back: Vec<_> = rows.iter().step_by(6).map(|(k, _)| (*k, -1)).collect();
        txn.insert("main", "t", &arrays(&back)).unwrap();
        txn.commit().unwrap();
        for (at, row) in rows.iter_mut().enumerate() {
            row.1 = if at % 6 == 0 { -1 } else { row.1 };
        }
        let store = {
            drop(store);
            fixture.open()
        };
        assert_sound(&store);
        let snapshot = store.snapshot();
        for (at, (key, value)) in rows.iter().enumerate().step_by(97) {
            let expected = (at % 3 != 0 || at % 6 == 0).then_some(*value);
            assert_eq!(number(&store, &snapshot, *key), expected, "{key}");
        }
        let mut txn = store.begin().unwrap();
        txn.truncate("main", "t").unwrap();
        txn.commit().unwrap();
        assert_sound(&store);
        assert_eq!(number(&store, &store.snapshot(), 7919), None);
    }
}

#[test]
fn a_log_of_many_small_commits_gives_the_index_all_its_keys() {
    let files: Arc<dyn StorageFiles> = Arc::new(MemFiles::new());
    let options = StoreOptions::default();
    let store = Store::create_in(Arc::clone(&files), None, &options).unwrap();
    store.set_autocheckpoint_bytes(u64::MAX);
    store.set_checkpoint_on_close(false);
    keyed(&store);
    // Enough rows that follow each other for their keys to be sorted together, in no order, then some that are gone again.
    let key_of = |row: i64| row * 7919 % 10_007;
    for first in (0..3000).step_by(3) {
        let rows: Vec<_> = (first..first + 3).map(|row| (key_of(row), row)).collect();
        let mut txn = store.begin().unwrap();
        txn.insert("main", "t", &arrays(&rows)).unwrap();
        txn.commit().unwrap();
    }
    let mut txn = store.begin().unwrap();
    let gone = find(txn.catalog(), key_of(1234));
    txn.delete_rows("main", "t", &gone).unwrap();
    txn.commit().unwrap();
    drop(store);
    let read_only = StoreOptions {
        read_only: true,
        ..StoreOptions::default()
    };
    for options in [read_only, options] {
        let store = Store::open_in(Arc::clone(&files), None, &options).unwrap();
        for row in (0..3000).step_by(7).chain([1234]) {
            let expected = (row != 1234).then_some(row);
            assert_eq!(number(&store, &store.snapshot(), key_of(row)), expected);
        }
        assert_sound(&store);
        if !options.read_only {
            let mut txn = store.begin().unwrap();
            let twice = txn.insert("main", "t", &arrays(&[(key_of(17), 0)]));
            assert!(matches!(twice, Err(Error::Duplicate { .. })));
        }
    }
}

#[test]
fn of_two_that_add_one_key_the_first_wins() {
    let files: Arc<dyn StorageFiles> = Arc::new(MemFiles::new());
    let store = Store::create_in(files, None, &StoreOptions::default()).unwrap();
    keyed(&store);
    let mut first = store.begin().unwrap();
    let mut second = store.begin().unwrap();
    first.insert("main", "t", &arrays(&[(1, 10)])).unwrap();
    second
        .insert("main", "t", &arrays(&[(2, 20), (1, 11)]))
        .unwrap();
    first.commit().unwrap();
    let error = second.commit().unwrap_err();
    assert!(matches!(error, Error::Duplicate { ref index, .. } if index == "t_pkey"));
    assert_eq!(error.kind(), ErrorKind::Constraint);
    assert_eq!(number(&store, &store.snapshot(), 1), Some(10));
    assert_eq!(number(&store, &store.snapshot(), 2), None);
    // Rows that were loaded meet the same check.
    let mut third = store.begin().unwrap();
    let columns = table(&store.snapshot()).columns.clone();
    let group = store
        .write_row_group(&columns, &arrays(&[(3, 1), (4, 1)]))
        .unwrap();
    third.append("main", "t", vec![group]).unwrap();
    let mut fourth = store.begin().unwrap();
    fourth.insert("main", "t", &arrays(&[(4, 2)])).unwrap();
    fourth.commit().unwrap();
    assert!(matches!(third.commit(), Err(Error::Duplicate { .. })));
    assert_sound(&store);
}

#[test]
fn a_transaction_that_failed_on_a_key_does_not_commit_it() {
    let store = Store::open_in_memory(&StoreOptions::default()).unwrap();
    keyed(&store);
    let mut txn = store.begin().unwrap();
    let twice = txn.insert("main", "t", &arrays(&[(1, 1), (1, 2)]));
    assert!(matches!(twice, Err(Error::Duplicate { .. })));
    assert!(txn.commit().is_err());
    assert_eq!(number(&store, &store.snapshot(), 1), None);
}

#[test]
fn indexes_that_cannot_be_are_refused() {
    let store = Store::open_in_memory(&StoreOptions::default()).unwrap();
    keyed(&store);
    let mut txn = store.begin().unwrap();
    txn.insert("main", "t", &arrays(&[(1, 5), (8, 5)])).unwrap();
    let mut refused = |def| {
        let error = txn.create_index("main", "t", def).unwrap_err();
        error.kind()
    };
    let unique = IndexKind::Unique;
    assert_eq!(refused(index("i", unique, &["n"])), ErrorKind::Constraint);
    assert_eq!(refused(index("i", unique, &["x"])), ErrorKind::InvalidInput);
    assert_eq!(refused(index("i", unique, &[])), ErrorKind::InvalidInput);
    assert_eq!(
        refused(index("t_pkey", unique, &["k"])),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        refused(index("i", IndexKind::Primary, &["k"])),
        ErrorKind::InvalidInput
    );
    assert!(txn.drop_column("main", "t", "k").is_err());
    assert!(txn.drop_index("main", "t", "nothing").is_err());
    txn.create_index("main", "t", index("i", unique, &["k", "n"]))
        .unwrap();
    txn.drop_index("main", "t", "i").unwrap();
    txn.commit().unwrap();
    assert_eq!(table(&store.snapshot()).indexes().len(), 2);
}
