//! Rows that are gone take no space: neither in what a checkpoint writes nor, for long, in what was written before.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringViewArray};
use hushdb_storage::*;

use super::fixture::*;
use super::logged::*;

/// Text that does not compress, another for each number.
fn text(number: u64, len: usize) -> String {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'0' + (state % 75) as u8)
    };
    (0..len).map(|_| letter()).collect()
}

fn rows(numbers: std::ops::Range<i64>, len: usize) -> [ArrayRef; 2] {
    let texts = numbers.clone().map(|n| text(n as u64, len));
    let texts = StringViewArray::from_iter_values(texts);
    [int64s(numbers), Arc::new(texts)]
}

/// An empty table `d` of numbers and texts.
fn create(files: &Files) -> Arc<Store> {
    let store = files.create();
    let columns = vec![def("n", ColumnType::Int64), def("s", ColumnType::Varchar)];
    let mut txn = store.begin().unwrap();
    txn.create_table("main", "d", columns, vec![]).unwrap();
    txn.commit().unwrap();
    store
}

fn add(store: &Arc<Store>, rows: &[ArrayRef]) -> u64 {
    let mut txn = store.begin().unwrap();
    let first = txn
        .catalog()
        .table("main", "d")
        .unwrap()
        .next_row_id
        .number();
    txn.insert("main", "d", rows).unwrap();
    txn.commit().unwrap();
    first
}

fn remove(store: &Arc<Store>, ids: std::ops::Range<u64>) {
    let mut txn = store.begin().unwrap();
    let ids: Vec<u64> = ids.collect();
    let deleted = txn.delete_rows("main", "d", &ids).unwrap();
    assert_eq!(deleted, ids.len() as u64);
    txn.commit().unwrap();
}

fn used_bytes(store: &Arc<Store>) -> u64 {
    let info = store.info();
    let free = info.free_sectors.unwrap() + info.retired_sectors;
    info.total_sectors.saturating_sub(free) * SECTOR_BYTES as u64
}

fn sound(store: &Arc<Store>) {
    let report = store.check(&mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn a_checkpoint_writes_no_value_of_a_row_that_is_gone() {
    let files = Files::new(false);
    let store = create(&files);
    let first = add(&store, &rows(0..1000, 500));
    remove(&store, first..first + 999);
    store.checkpoint().unwrap();
    assert!(used_bytes(&store) < 200_000, "{}", used_bytes(&store));
    let bytes = files.files.get("").unwrap().to_bytes();
    let holds = |n| {
        let text = text(n, 500);
        bytes.windows(60).any(|w| w == &text.as_bytes()[..60])
    };
    assert!(!(0..999).step_by(37).any(holds));
    let snapshot = store.snapshot();
    assert_eq!(integers(&store, &snapshot, "d", "n"), [Some(999)]);
    let group = &snapshot.table("main", "d").unwrap().row_groups().unwrap()[0];
    let numbers = group.segment(ColumnId::new(0)).unwrap();
    assert_eq!(numbers.min, numbers.max, "bounds of what lives");
    assert_eq!((group.rows, group.visible_rows()), (1000, 1));
    sound(&store);
    drop((snapshot, store));
    let store = files.open();
    assert_eq!(integers(&store, &store.snapshot(), "d", "n"), [Some(999)]);
    remove(&store, first + 999..first + 1000);
}

#[test]
fn a_row_group_is_written_anew_when_most_of_its_rows_are_gone() {
    let files = Files::new(true);
    let store = create(&files);
    let first = add(&store, &rows(0..1000, 500));
    store.checkpoint().unwrap();
    let segment = |store: &Arc<Store>| {
        let snapshot = store.snapshot();
        let group = &snapshot.table("main", "d").unwrap().row_groups().unwrap()[0];
        group.segment(ColumnId::new(1)).unwrap().block
    };
    let whole = (segment(&store), used_bytes(&store));
    assert!(whole.1 > 450_000);
    let mut before = segment(&store);
    // Half of them stay: not yet. Then at less than a half, less than a quarter and so on, and not between.
    let mut rewrites = Vec::new();
    for gone in (0..1000).step_by(25) {
        remove(
            &store,
            first + gone..first + gone + if gone == 975 { 24 } else { 25 },
        );
        store.checkpoint().unwrap();
        let now = segment(&store);
        if now != before {
            rewrites.push(gone + 25);
            before = now;
        }
    }
    assert_eq!(rewrites[..3], [525, 775, 900]);
    assert!(rewrites.len() <= 6, "{rewrites:?}");
    assert_eq!(integers(&store, &store.snapshot(), "d", "n"), [Some(999)]);
    // Commits to have what was given up released.
    for n in 0..3 {
        add(&store, &rows(n..n + 1, 1));
        store.checkpoint().unwrap();
    }
    assert!(used_bytes(&store) < 200_000, "{}", used_bytes(&store));
    sound(&store);
    drop(store);
    sound(&files.open());
}

#[test]
fn a_table_that_is_updated_for_ever_does_not_grow() {
    let files = Files::new(true);
    let store = create(&files);
    add(&store, &rows(0..1000, 200));
    store.checkpoint().unwrap();
    let mut largest = 0;
    let mut id = 17;
    for round in 0..300 {
        let mut txn = store.begin().unwrap();
        let next = txn
            .catalog()
            .table("main", "d")
            .unwrap()
            .next_row_id
            .number();
        assert_eq!(txn.delete_rows("main", "d", &[id]).unwrap(), 1);
        txn.insert("main", "d", &rows(round..round + 1, 200))
            .unwrap();
        txn.commit().unwrap();
        id = next;
        if round % 3 == 0 {
            store.checkpoint().unwrap();
        }
        let bytes = store.info().file_bytes;
        match round {
            0..50 => largest = largest.max(bytes),
            _ => assert!(bytes <= largest, "round {round}: {bytes} of {largest}"),
        }
    }
    sound(&store);
}

#[test]
fn rows_that_come_and_go_but_for_a_few_take_the_space_of_the_few() {
    for checkpoint_between in [false, true] {
        let files = Files::new(true);
        let store = create(&files);
        for round in 0..40 {
            let first = add(&store, &rows(round * 500..(round + 1) * 500, 500));
            if checkpoint_between {
                store.checkpoint().unwrap();
            }
            remove(&store, first + 1..first + 500);
            store.checkpoint().unwrap();
        }
        let bytes = store.info().file_bytes;
        assert!(bytes < 2_500_000, "{bytes} for 40 rows, of 10 MB that came");
        sound(&store);
        drop(store);
        let store = files.open();
        let numbers = integers(&store, &store.snapshot(), "d", "n");
        let expected: Vec<_> = (0..40).map(|n| Some(n * 500)).collect();
        assert_eq!(numbers, expected);
    }
}

#[test]
fn a_redefinition_that_meets_a_rewritten_row_group_takes_it_as_it_is() {
    for drops in [false, true] {
        let files = Files::new(true);
        let store = create(&files);
        let first = add(&store, &rows(0..1000, 500));
        store.checkpoint().unwrap();
        remove(&store, first..first + 900);
        let mut redefines = store.begin().unwrap();
        let ids: Vec<u64> = (first + 900..first + 950).collect();
        redefines.delete_rows("main", "d", &ids).unwrap();
        redefines
            .add_column("main", "d", def("k", ColumnType::Int64), Some(int64s([7])))
            .unwrap();
        match drops {
            true => redefines.drop_column("main", "d", "s").unwrap(),
            false => redefines.rename_table("main", "d", "e").unwrap(),
        }
        store.checkpoint().unwrap();
        redefines.commit().unwrap();
        let name = if drops { "d" } else { "e" };
        for _ in 0..2 {
            store.blocks().pool().clear();
            let snapshot = store.snapshot();
            let numbers = integers(&store, &snapshot, name, "n");
            assert!(numbers.into_iter().flatten().eq(950..1000));
            assert_eq!(integers(&store, &snapshot, name, "k"), [Some(7); 50]);
            sound(&store);
            fill(
                &store,
                "another",
                vec![def("n", ColumnType::Int64)],
                &[int64s(0..10)],
            );
            let mut txn = store.begin().unwrap();
            txn.drop_table("main", "another").unwrap();
            txn.commit().unwrap();
        }
        drop(store);
        sound(&files.open());
    }
}
