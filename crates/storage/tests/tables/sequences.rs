//! Sequences: what a crash, a checkpoint and closing leave of them.

use std::sync::Arc;

use hushdb_storage::*;

use super::logged::*;

const COUNTING: SequenceOptions = SequenceOptions {
    start: 1,
    increment: 1,
    min: 1,
    max: i64::MAX,
    cycle: false,
};

fn def(name: &str) -> SequenceDef {
    SequenceDef {
        name: name.into(),
        options: COUNTING,
        point: None,
    }
}

fn with_sequence(files: &Files) -> Arc<Store> {
    let store = files.create();
    let mut txn = store.begin().unwrap();
    txn.create_sequence("main", def("s")).unwrap();
    txn.commit().unwrap();
    store
}

fn sequence(store: &Store, name: &str) -> Arc<Sequence> {
    Arc::clone(&store.snapshot().schema("main").unwrap().sequences[name])
}

fn next(store: &Store, count: usize) -> Vec<i64> {
    store.next_values(&sequence(store, "s"), count).unwrap()
}

/// The number that a copy goes on with, made of the files as a crash would leave them.
fn after_crash(files: &Files) -> i64 {
    next(&files.with(&files.all()).open(), 1)[0]
}

#[test]
fn after_a_crash_no_number_comes_twice() {
    for encrypted in [true, false] {
        let files = Files::new(encrypted);
        let store = with_sequence(&files);
        assert_eq!(next(&store, 1), [1]);
        // 33 were put aside for the first.
        assert_eq!(after_crash(&files), 34);
        for last in 2..=100 {
            assert_eq!(next(&store, 1), [last]);
            let next = after_crash(&files);
            assert!(next > last && next <= last + 34, "{next} after {last}");
        }
        assert_eq!(next(&store, 1000).last(), Some(&1100));
        assert!(after_crash(&files) > 1100);
    }
}

#[test]
fn a_checkpoint_and_closing_leave_no_number_out() {
    let files = Files::new(true);
    let store = with_sequence(&files);
    assert_eq!(next(&store, 2), [1, 2]);
    store.checkpoint().unwrap();
    assert_eq!(after_crash(&files), 3);
    assert_eq!(next(&store, 2), [3, 4]);
    store.set_checkpoint_on_close(true);
    drop(store);
    let store = files.open();
    assert_eq!(next(&store, 1), [5]);
}

#[test]
fn beside_a_checkpoint_no_number_comes_twice() {
    let files = Files::new(true);
    let store = with_sequence(&files);
    insert(&store, 10..20);
    assert_eq!(next(&store, 2), [1, 2]);
    let mut checkpoint = store.begin_checkpoint().unwrap().unwrap();
    assert_eq!(next(&store, 2), [3, 4]);
    checkpoint.store().unwrap();
    assert_eq!(next(&store, 60).last(), Some(&64));
    assert!(after_crash(&files) > 64);
    checkpoint.finish().unwrap();
    assert!(after_crash(&files) > 64);
    assert_eq!(next(&store, 1), [65]);
    assert!(after_crash(&files) > 65);
    // One that is given up.
    drop(store.begin_checkpoint().unwrap());
    assert_eq!(next(&store, 1), [66]);
    assert!(after_crash(&files) > 66);
}

#[test]
fn a_transaction_that_defines_things_leaves_numbers_where_they_are() {
    let files = Files::new(true);
    let store = with_sequence(&files);
    assert_eq!(next(&store, 5).last(), Some(&5));
    let mut txn = store.begin().unwrap();
    txn.create_sequence("main", def("other")).unwrap();
    let own = Arc::clone(&txn.catalog().schema("main").unwrap().sequences["other"]);
    assert_eq!(store.next_values(&own, 3).unwrap(), [1, 2, 3]);
    // Beside it, and before it commits.
    assert_eq!(next(&store, 1), [6]);
    txn.commit().unwrap();
    assert_eq!(next(&store, 1), [7]);
    let other = sequence(&store, "other");
    assert_eq!(store.next_values(&other, 1).unwrap(), [4]);
    let copy = files.with(&files.all()).open();
    let other = sequence(&copy, "other");
    assert!(copy.next_values(&other, 1).unwrap()[0] > 4);
    assert!(next(&copy, 1)[0] > 7);
}

#[test]
fn a_sequence_that_is_gone_gives_no_numbers() {
    let files = Files::new(true);
    let store = with_sequence(&files);
    let dropped = sequence(&store, "s");
    let mut txn = store.begin().unwrap();
    txn.drop_sequence("main", "s").unwrap();
    txn.create_sequence("main", def("s")).unwrap();
    txn.commit().unwrap();
    let error = store.next_values(&dropped, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(next(&store, 1), [1]);
    drop(store);
    let reader = files.open_read_only();
    let error = reader.next_values(&sequence(&reader, "s"), 1).unwrap_err();
    assert!(matches!(error, Error::ReadOnly), "{error}");
}

#[test]
fn a_sequence_goes_with_what_owns_it() {
    let files = Files::new(true);
    let store = with_sequence(&files);
    let names = |store: &Store| -> Vec<String> {
        let version = store.snapshot();
        version
            .schema("main")
            .unwrap()
            .sequences
            .keys()
            .cloned()
            .collect()
    };
    let mut txn = store.begin().unwrap();
    let bigint = || ColumnDef {
        name: "m".into(),
        ty: ColumnType::Int64,
        nullable: true,
        default: None,
        generated: None,
        declared: None,
    };
    txn.add_column("main", "t", bigint(), None).unwrap();
    for (name, column) in [("column", Some("m")), ("table", None)] {
        txn.create_sequence("main", def(name)).unwrap();
        txn.set_sequence_owner("main", name, Some(("t", column)), SequenceUse::Owned)
            .unwrap();
    }
    assert!(
        txn.set_sequence_owner("main", "s", Some(("t", Some("nope"))), SequenceUse::Owned)
            .is_err()
    );
    txn.commit().unwrap();
    drop(store);
    let store = files.open();
    let version = store.snapshot();
    let main = version.schema("main").unwrap();
    let (table, column) = main.sequences["column"].owner_in(main).unwrap();
    assert_eq!(
        (table.name.as_str(), column.unwrap().name.as_str()),
        ("t", "m")
    );
    let mut txn = store.begin().unwrap();
    txn.drop_column("main", "t", "m").unwrap();
    txn.commit().unwrap();
    assert_eq!(names(&store), ["s", "table"]);
    let mut txn = store.begin().unwrap();
    txn.drop_table("main", "t").unwrap();
    txn.commit().unwrap();
    assert_eq!(names(&store), ["s"]);
}

#[test]
fn a_salvage_goes_on_behind_what_was_given_out() {
    let files = Files::new(false);
    let store = with_sequence(&files);
    assert_eq!(next(&store, 7).last(), Some(&7));
    drop(store);
    let all = Arc::clone(&files.files) as Arc<dyn StorageFiles>;
    let salvage = Salvage::open_in(all, None, &StoreOptions::default()).unwrap();
    let out = Store::open_in_memory(&StoreOptions::default()).unwrap();
    salvage.copy_to(&out).unwrap();
    assert!(next(&out, 1)[0] > 7);
}
