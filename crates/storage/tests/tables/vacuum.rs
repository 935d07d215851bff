//! VACUUM: rows come together, the file becomes shorter, and nobody takes one row for another.

use std::sync::Arc;

use hushdb_storage::*;

use super::fixture::*;
use super::logged::*;

fn vacuum(store: &Arc<Store>) {
    store.vacuum(Some(("main", "t"))).unwrap();
}

fn sound(store: &Arc<Store>) {
    let report = store.check(&mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

fn remove(store: &Arc<Store>, ids: impl IntoIterator<Item = u64>) {
    let ids: Vec<u64> = ids.into_iter().collect();
    let mut txn = store.begin().unwrap();
    txn.delete_rows("main", "t", &ids).unwrap();
    txn.commit().unwrap();
}

fn groups(store: &Arc<Store>) -> Vec<(u64, u32)> {
    let snapshot = store.snapshot();
    let groups = snapshot.table("main", "t").unwrap().row_groups().unwrap();
    groups
        .iter()
        .map(|g| (g.first_row_id.number(), g.rows))
        .collect()
}

/// Integers that do not compress.
fn noise(from: i64, count: i64) -> impl Iterator<Item = i64> {
    (from..from + count).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64))
}

#[test]
fn live_rows_come_together_under_new_ids_and_keep_their_order() {
    for encrypted in [false, true] {
        let files = Files::new(encrypted);
        let store = files.create();
        for n in 1..5 {
            insert(&store, n * 100..n * 100 + 10);
            store.checkpoint().unwrap();
        }
        remove(&store, (0..50).step_by(3));
        insert(&store, 900..905);
        let expected = integers(&store, &store.snapshot(), "t", "n");
        assert!(groups(&store).len() > 4);
        vacuum(&store);
        assert_eq!(integers(&store, &store.snapshot(), "t", "n"), expected);
        assert_eq!(groups(&store), [(55, 38)]);
        sound(&store);
        // There is nothing more to do.
        let generation = store.info().generation;
        vacuum(&store);
        assert_eq!(groups(&store), [(55, 38)]);
        assert!(store.info().generation.number() <= generation.number() + 1);
        insert(&store, 1..2);
        assert_eq!(
            store.snapshot().table("main", "t").unwrap().next_row_id,
            RowId::new(94)
        );
        drop(store);
        let store = files.open();
        assert_eq!(integers(&store, &store.snapshot(), "t", "n").len(), 39);
        sound(&store);
    }
}

#[test]
fn a_transaction_from_before_conflicts_and_hits_no_other_row() {
    let store = Files::new(true).create();
    remove(&store, [0]);
    let mut deletes = store.begin().unwrap();
    deletes.delete_rows("main", "t", &[3]).unwrap();
    let mut inserts = store.begin().unwrap();
    inserts.insert("main", "t", &[int64s(70..71)]).unwrap();
    let reader = store.snapshot();
    vacuum(&store);
    assert_eq!(deletes.commit().unwrap_err().kind(), ErrorKind::Conflict);
    inserts.commit().unwrap();
    assert_eq!(sum(&store), 45 + 70);
    let seen = integers(&store, &reader, "t", "n");
    assert_eq!(seen.into_iter().flatten().sum::<i64>(), 45);
    // And the other way round.
    let mut vacuums = store.begin().unwrap();
    remove(&store, [12]);
    vacuums.vacuum_table("main", "t", false).unwrap();
    assert_eq!(vacuums.commit().unwrap_err().kind(), ErrorKind::Conflict);
    sound(&store);
}

#[test]
fn the_file_becomes_shorter_when_nobody_needs_its_end() {
    for encrypted in [false, true] {
        let files = Files::new(encrypted);
        let store = files.create();
        let columns = || vec![def("n", ColumnType::Int64)];
        fill(&store, "other", columns(), &[int64s(noise(0, 20_000))]);
        let mut txn = store.begin().unwrap();
        for n in 0..10 {
            append(&mut txn, "t", &[int64s(noise(n * 20_000, 20_000))]);
        }
        txn.commit().unwrap();
        fill(&store, "last", columns(), &[int64s(noise(0, 20_000))]);
        let before = store.info().file_bytes;
        assert!(before > 1_800_000);
        remove(&store, 0..180_010);
        let rows = integers(&store, &store.snapshot(), "t", "n");
        assert_eq!(rows.len(), 20_000);
        let reader = store.snapshot();
        store.vacuum(None).unwrap();
        assert_eq!(integers(&store, &reader, "t", "n"), rows);
        assert_eq!(integers(&store, &store.snapshot(), "t", "n"), rows);
        drop(reader);
        store.vacuum(None).unwrap();
        let after = store.info().file_bytes;
        assert!(after < 900_000, "{after} of {before}");
        assert_eq!(after, files.files.get("").unwrap().len().unwrap());
        store.blocks().pool().clear();
        assert_eq!(integers(&store, &store.snapshot(), "t", "n"), rows);
        sound(&store);
        insert(&store, 5..6);
        drop(store);
        let store = files.open();
        assert_eq!(integers(&store, &store.snapshot(), "t", "n").len(), 20_001);
        sound(&store);
    }
}

#[test]
fn indexes_lead_to_the_rows_in_their_new_places() {
    let files = Files::new(true);
    let store = files.create();
    let mut txn = store.begin().unwrap();
    let index = IndexDef {
        name: "i".into(),
        kind: IndexKind::Unique,
        columns: vec!["n".into()],
    };
    txn.create_index("main", "t", index).unwrap();
    txn.commit().unwrap();
    insert(&store, 100..200);
    store.checkpoint().unwrap();
    remove(&store, (0..110).step_by(2));
    vacuum(&store);
    let find = |store: &Arc<Store>, n: i64| {
        let snapshot = store.snapshot();
        let table = snapshot.table("main", "t").unwrap();
        let found = table.find(&table.indexes()[0], &[int64s([n])], 0).unwrap();
        assert!(found.iter().all(|id| *id >= 110));
        found.len()
    };
    for _ in 0..2 {
        assert_eq!(
            (find(&store, 101), find(&store, 100), find(&store, 5)),
            (1, 0, 1)
        );
        sound(&store);
        store.checkpoint().unwrap();
    }
    let mut txn = store.begin().unwrap();
    let inserted = txn.insert("main", "t", &[int64s(101..102)]);
    assert!(
        inserted.is_err() || txn.commit().is_err(),
        "the key is there"
    );
    drop(store);
    let store = files.open();
    assert_eq!((find(&store, 199), find(&store, 198)), (1, 0));
}

#[test]
fn vacuums_beside_commits_lose_nothing() {
    let files = Files::new(true);
    let store = files.create();
    std::thread::scope(|scope| {
        for thread in 0..3i64 {
            let store = &store;
            scope.spawn(move || (0..100).for_each(|n| insert(store, thread * n..thread * n + 1)));
        }
        scope.spawn(|| {
            for _ in 0..10 {
                match store.vacuum(None) {
                    Ok(()) => {}
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict),
                }
            }
        });
    });
    assert_eq!(sum(&store), 45 + 3 * 4950);
    vacuum(&store);
    assert_eq!(sum(&store), 45 + 3 * 4950);
    sound(&store);
    drop(store);
    assert_eq!(sum(&files.open()), 45 + 3 * 4950);
}

#[test]
fn a_table_that_is_not_there_is_an_error() {
    let store = Files::new(false).create();
    let error = store.vacuum(Some(("main", "no"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    store.vacuum(None).unwrap();
}
