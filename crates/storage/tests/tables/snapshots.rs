//! Versions: old ones stay readable, space comes back, transactions are all or nothing.

use std::sync::Arc;

use hushdb_storage::*;

use super::fixture::*;

/// Makes a table of one column `n` of 64-bit integers.
fn fill_n(store: &Arc<Store>, table: &str, values: arrow_array::ArrayRef) {
    fill(store, table, vec![def("n", ColumnType::Int64)], &[values]);
}

fn sound(store: &Arc<Store>) {
    let report = store.check(&mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn appended_rows_are_seen_after_commit_only() {
    let fixture = Fixture::new("aws-lc-rs");
    let store = fixture.create();
    fill_n(&store, "t", int64s(0..1000));
    let before = store.snapshot();
    let mut txn = store.begin().unwrap();
    assert_eq!(append(&mut txn, "t", &[int64s(1000..1500)]), 500);
    assert_eq!(
        store.snapshot().table("main", "t").unwrap().row_count(),
        1000
    );
    assert_eq!(txn.catalog().table("main", "t").unwrap().row_count(), 1500);
    let after = txn.commit().unwrap();
    assert_eq!(integers(&store, &before, "t", "n").len(), 1000);
    let expected: Vec<_> = (0..1500).map(Some).collect();
    assert_eq!(integers(&store, &after, "t", "n"), expected);
    drop(store);
    let store = fixture.open();
    assert_eq!(integers(&store, &store.snapshot(), "t", "n"), expected);
    sound(&store);
}

#[test]
fn a_dropped_transaction_leaves_nothing_behind() {
    let store = Fixture::new("aws-lc-rs").create();
    fill_n(&store, "t", int64s(0..1000));
    let free = store.info().free_sectors;
    let total = store.info().total_sectors;
    for _ in 0..5 {
        let mut txn = store.begin().unwrap();
        append(&mut txn, "t", &[int64s(0..100_000)]);
        txn.delete_rows("main", "t", &[1, 2, 3]).unwrap();
        txn.create_table("main", "u", vec![def("n", ColumnType::Int64)], vec![])
            .unwrap();
        append(&mut txn, "u", &[int64s(0..100)]);
        txn.drop_table("main", "u").unwrap();
        drop(txn);
    }
    assert_eq!(
        store.snapshot().table("main", "t").unwrap().row_count(),
        1000
    );
    fill_n(&store, "v", int64s(0..10));
    assert!(
        store.info().total_sectors <= total + 8,
        "{free:?} of {total} sectors were free"
    );
    sound(&store);
}

#[test]
fn a_row_group_that_is_not_appended_gives_its_space_back() {
    let store = Fixture::new("aws-lc-rs").create();
    fill_n(&store, "t", int64s(0..1000));
    let columns = store.snapshot().table("main", "t").unwrap().columns.clone();
    let total = store.info().total_sectors;
    for _ in 0..50 {
        let pending = store
            .write_row_group(&columns, &[int64s((0..100_000).map(|n| n * n))])
            .unwrap();
        assert_eq!(pending.rows(), 100_000);
    }
    fill_n(&store, "u", int64s(0..10));
    // Room for one of them, not for fifty.
    assert!(store.info().total_sectors <= total + 200);
    sound(&store);
}

#[test]
fn deleted_rows_are_gone_and_empty_row_groups_with_them() {
    let fixture = Fixture::new("aws-lc-rs");
    let store = fixture.create();
    fill_n(&store, "t", int64s(0..1000));
    let mut txn = store.begin().unwrap();
    append(&mut txn, "t", &[int64s(1000..2000)]);
    append(&mut txn, "t", &[int64s(2000..3000)]);
    txn.commit().unwrap();
    let before = store.snapshot();

    let mut txn = store.begin().unwrap();
    let evens: Vec<u64> = (0..1000).rev().map(|n| 2 * n).collect();
    assert_eq!(txn.delete_rows("main", "t", &evens).unwrap(), 1000);
    assert_eq!(
        txn.delete_rows("main", "t", &[0, 2, 2, 5000, u64::MAX])
            .unwrap(),
        0
    );
    assert_eq!(txn.delete_rows("main", "t", &[1, 1]).unwrap(), 1);
    txn.commit().unwrap();
    let mut txn = store.begin().unwrap();
    let second: Vec<u64> = (1000..2000).collect();
    assert_eq!(txn.delete_rows("main", "t", &second).unwrap(), 500);
    txn.commit().unwrap();

    let expected: Vec<_> = (3..1000).step_by(2).chain(2000..3000).map(Some).collect();
    let check = |store: &Arc<Store>| {
        let snapshot = store.snapshot();
        let table = snapshot.table("main", "t").unwrap();
        assert_eq!(table.row_count(), expected.len() as u64);
        assert_eq!(table.row_groups().unwrap().len(), 2);
        assert_eq!(table.next_row_id, RowId::new(3000));
        assert_eq!(integers(store, &snapshot, "t", "n"), expected);
        sound(store);
    };
    check(&store);
    assert_eq!(integers(&store, &before, "t", "n").len(), 3000);
    drop((before, store));
    check(&fixture.open());
}

#[test]
fn truncate_counts_visible_rows_and_keeps_counting_row_ids() {
    let store = Fixture::new("plain").create();
    fill_n(&store, "t", int64s(0..10));
    let mut txn = store.begin().unwrap();
    assert_eq!(txn.delete_rows("main", "t", &[3]).unwrap(), 1);
    assert_eq!(txn.truncate("main", "t").unwrap(), 9);
    assert_eq!(txn.truncate("main", "t").unwrap(), 0);
    append(&mut txn, "t", &[int64s(0..1)]);
    let after = txn.commit().unwrap();
    let groups = after.table("main", "t").unwrap().row_groups().unwrap();
    assert_eq!(groups[0].first_row_id, RowId::new(10));
    sound(&store);
}

#[test]
fn an_old_snapshot_reads_on_while_others_commit() {
    let store = Fixture::new("aws-lc-rs").create();
    let numbers = |round: i64| int64s((0..20_000).map(move |n| n * n * 31 + round));
    fill_n(&store, "t", numbers(0));
    let old = store.snapshot();
    for round in 1..15 {
        let mut txn = store.begin().unwrap();
        txn.truncate("main", "t").unwrap();
        append(&mut txn, "t", &[numbers(round)]);
        txn.commit().unwrap();
        store.blocks().pool().clear();
        let expected: Vec<_> = (0..20_000).map(|n| Some(n * n * 31)).collect();
        assert_eq!(
            integers(&store, &old, "t", "n"),
            expected,
            "after {round} commits"
        );
    }
    sound(&store);
}

#[test]
fn dropping_and_making_a_table_again_does_not_grow_the_file_without_bound() {
    let store = Fixture::new("aws-lc-rs").create();
    let mut largest_early = 0;
    for round in 0..20 {
        let columns = vec![def("n", ColumnType::Int64), def("s", ColumnType::Varchar)];
        let text = (0..50_000).map(|n| format!("{:x}", (n * 7919 + round) * 104_729));
        let text = std::sync::Arc::new(arrow_array::StringViewArray::from_iter_values(text));
        fill(
            &store,
            "t",
            columns,
            &[int64s((0..50_000).map(|n| n * n)), text],
        );
        let mut txn = store.begin().unwrap();
        txn.drop_table("main", "t").unwrap();
        txn.commit().unwrap();
        if round < 4 {
            largest_early = largest_early.max(store.info().total_sectors);
        }
    }
    assert!(
        store.info().total_sectors <= largest_early,
        "grew past {largest_early} sectors"
    );
    sound(&store);
}

#[test]
fn many_small_appends_stay_in_order_over_pages() {
    let fixture = Fixture::new("plain");
    let store = fixture.create();
    fill_n(&store, "t", int64s(0..1));
    for n in 1..200 {
        let mut txn = store.begin().unwrap();
        append(&mut txn, "t", &[int64s(n..n + 1)]);
        txn.commit().unwrap();
    }
    drop(store);
    let store = fixture.open();
    let expected: Vec<_> = (0..200).map(Some).collect();
    assert_eq!(integers(&store, &store.snapshot(), "t", "n"), expected);
    let groups = store
        .snapshot()
        .table("main", "t")
        .unwrap()
        .row_groups()
        .unwrap()
        .len();
    assert_eq!(groups, 200);
    sound(&store);
}

#[test]
fn an_append_to_one_table_leaves_the_blocks_of_others_alone() {
    let store = Fixture::new("aws-lc-rs").create();
    for name in ["a", "b"] {
        fill_n(&store, name, int64s(0..100_000));
    }
    let before = store.blocks().info().seals;
    let mut txn = store.begin().unwrap();
    append(&mut txn, "a", &[int64s(0..1)]);
    txn.commit().unwrap();
    // Segment, sketches, page, table record, catalog root, free list, superblock.
    assert!(store.blocks().info().seals - before <= 8);
}

#[test]
fn writers_that_add_rows_do_not_hinder_each_other() {
    let store = Fixture::new("plain").create();
    fill_n(&store, "t", int64s(0..1));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let mut txn = store.begin().unwrap();
                    append(&mut txn, "t", &[int64s(0..1)]);
                    txn.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(store.snapshot().table("main", "t").unwrap().row_count(), 41);
    sound(&store);
}

#[test]
fn row_groups_are_written_from_many_threads() {
    let store = Fixture::new("aws-lc-rs").create();
    let mut txn = store.begin().unwrap();
    txn.create_table("main", "t", vec![def("n", ColumnType::Int64)], vec![])
        .unwrap();
    let columns = txn.catalog().table("main", "t").unwrap().columns.clone();
    let pending: Vec<_> = std::thread::scope(|scope| {
        let write = |from: i64| {
            let (store, columns) = (&store, &columns);
            scope.spawn(move || {
                store
                    .write_row_group(columns, &[int64s(from..from + 10_000)])
                    .unwrap()
            })
        };
        let threads: Vec<_> = (0..8).map(|n| write(n * 10_000)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(txn.append("main", "t", pending).unwrap(), 80_000);
    let after = txn.commit().unwrap();
    let expected: Vec<_> = (0..80_000).map(Some).collect();
    assert_eq!(integers(&store, &after, "t", "n"), expected);
    sound(&store);
}
