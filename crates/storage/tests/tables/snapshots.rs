//! Versions: old ones stay readable, space comes back, transactions are all or nothing.

use hushdb_storage::*;

use super::fixture::*;

#[test]
fn appended_rows_are_seen_after_commit_only() {
    let fixture = Fixture::new("aws-lc-rs");
    let store = fixture.create();
    fill(
        &store,
        "t",
        vec![def("n", ColumnType::Int64)],
        &[int64s(0..1000)],
    );
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
}
