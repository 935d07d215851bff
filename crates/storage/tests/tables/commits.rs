//! Commits side by side, the log, what opening makes of it, and anchors.

use std::sync::Arc;

use hushdb_storage::*;

use super::fixture::*;
use super::logged::*;

#[test]
fn what_was_committed_comes_back_from_the_log() {
    for encrypted in [false, true] {
        let files = Files::new(encrypted);
        let store = files.create();
        insert(&store, 100..103);
        let mut txn = store.begin().unwrap();
        assert_eq!(txn.delete_rows("main", "t", &[0, 1, 11]).unwrap(), 3);
        txn.insert("main", "t", &[int64s(1000..1001)]).unwrap();
        txn.commit().unwrap();
        let expected = sum(&store);
        assert_eq!(expected, 45 - 1 + 100 + 102 + 1000);
        drop(store);
        assert!(!files.log().is_empty());
        let read_only = StoreOptions {
            read_only: true,
            ..StoreOptions::default()
        };
        let before = files.copy();
        assert_eq!(sum(&files.try_open(&read_only).unwrap()), expected);
        assert_eq!(files.copy(), before, "reading changes nothing");
        let store = files.open();
        assert_eq!(sum(&store), expected);
        let replayed = Notice::LogReplayed { transactions: 2 };
        assert_eq!(store.notices(), [replayed]);
        assert!(files.files.get(".wal").is_none(), "moved into the file");
        let report = store.check(&mut |_, _| {}).unwrap();
        assert!(report.findings.is_empty() && report.rows == 11);
        drop(store);
        let store = files.open();
        assert_eq!((sum(&store), store.notices().len()), (expected, 0));
    }
}

#[test]
fn closing_moves_the_log_into_the_file() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 100..103);
    store.set_checkpoint_on_close(true);
    drop(store);
    assert!(files.files.get(".wal").is_none());
    assert_eq!(sum(&files.open()), 45 + 303);
}

#[test]
fn a_checkpoint_ends_the_log_and_the_next_commit_begins_another() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 0..1);
    let first = files.log();
    store.checkpoint().unwrap();
    assert!(files.files.get(".wal").is_none());
    insert(&store, 5..6);
    assert_ne!(files.log()[..128], first[..128]);
    // The older log in the place of the newer one.
    drop(store);
    files.put_log(&first);
    let error = files.try_open(&StoreOptions::default()).unwrap_err();
    assert!(
        matches!(error, Error::Log(LogError::OtherSequence { .. })),
        "{error}"
    );
}

#[test]
fn a_missing_log_is_refused() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 0..1);
    drop(store);
    files.files.remove(".wal").unwrap();
    let error = files.try_open(&StoreOptions::default()).unwrap_err();
    assert!(
        matches!(error, Error::Log(LogError::Missing { .. })),
        "{error}"
    );
}

#[test]
fn a_log_of_another_database_is_refused() {
    let (files, other) = (Files::new(true), Files::new(true));
    for files in [&files, &other] {
        let store = files.create();
        insert(&store, 0..1);
    }
    let before = files.copy();
    files.put_log(&other.log());
    let error = files.try_open(&StoreOptions::default()).unwrap_err();
    assert!(
        matches!(error, Error::Log(LogError::OtherDatabase)),
        "{error}"
    );
    files.restore(&before);
    assert_eq!(sum(&files.open()), 45);
    // Also where the superblock names none.
    files.put_log(&other.log());
    let error = files.try_open(&StoreOptions::default()).unwrap_err();
    assert!(
        matches!(error, Error::Log(LogError::OtherDatabase)),
        "{error}"
    );
}

#[test]
fn a_plain_log_beside_an_encrypted_file_is_refused() {
    let (files, plain) = (Files::new(true), Files::new(false));
    for files in [&files, &plain] {
        let store = files.create();
        insert(&store, 0..1);
    }
    files.put_log(&plain.log());
    let error = files.try_open(&StoreOptions::default()).unwrap_err();
    assert!(
        matches!(error, Error::Log(LogError::PlainBesideEncrypted)),
        "{error}"
    );
}

#[test]
fn a_log_that_is_left_over_from_a_crash_is_removed() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 100..103);
    let log = files.log();
    store.checkpoint().unwrap();
    drop(store);
    for leftover in [&log[..], &log[..50], &[]] {
        files.put_log(leftover);
        let store = files.open();
        assert_eq!(sum(&store), 45 + 303);
        assert!(files.files.get(".wal").is_none());
    }
}

#[test]
fn a_torn_tail_is_left_out_and_reported() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 100..101);
    let one = without_zeros(files.log()).len();
    insert(&store, 1000..1001);
    drop(store);
    let whole = without_zeros(files.log());
    let main = files.copy().0;
    for len in one + 1..whole.len() {
        files.restore(&(main.clone(), Some(whole[..len].to_vec())));
        let store = files.open();
        assert_eq!(sum(&store), 145, "cut to {len} bytes");
        assert!(
            store
                .notices()
                .iter()
                .any(|n| matches!(n, Notice::LogTornTail { .. }))
                || whole[one..len].iter().all(|b| *b == 0)
        );
    }
}

#[test]
fn an_anchor_shows_a_rolled_back_file() {
    let files = Files::new(true);
    let store = files.create();
    let old = store.anchor().unwrap();
    drop(store);
    let copy = files.copy();
    let store = files.open();
    fill(
        &store,
        "u",
        vec![def("n", ColumnType::Int64)],
        &[int64s(0..10)],
    );
    let new = store.anchor().unwrap();
    assert_ne!(old, new);
    drop(store);
    let insist = |anchor: Anchor| StoreOptions {
        freshness: Freshness {
            min_anchor: Some(anchor),
            ..Freshness::default()
        },
        ..StoreOptions::default()
    };
    files.try_open(&insist(old)).unwrap();
    files.try_open(&insist(new)).unwrap();
    files.restore(&copy);
    files.try_open(&insist(old)).unwrap();
    let error = files.try_open(&insist(new)).unwrap_err();
    assert!(matches!(error, Error::RolledBack { .. }), "{error}");
    let error = Files::new(true);
    let other = error.create().anchor().unwrap();
    let error = files.try_open(&insist(other)).unwrap_err();
    assert!(matches!(error, Error::AnchorOfOther), "{error}");
}

#[test]
fn an_anchor_shows_a_cut_log_tail() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 100..101);
    let (first, shorter) = (store.anchor().unwrap(), without_zeros(files.log()));
    insert(&store, 1000..1001);
    let second = store.anchor().unwrap();
    drop(store);
    let whole = files.copy();
    let insist = |anchor: Anchor| StoreOptions {
        read_only: true,
        freshness: Freshness {
            min_anchor: Some(anchor),
            ..Freshness::default()
        },
        ..StoreOptions::default()
    };
    for anchor in [first, second] {
        assert_eq!(
            files.try_open(&insist(anchor)).unwrap().anchor().unwrap(),
            second
        );
    }
    files.put_log(&shorter);
    assert_eq!(sum(&files.try_open(&insist(first)).unwrap()), 145);
    let error = files.try_open(&insist(second)).unwrap_err();
    assert!(matches!(error, Error::LogCut { .. }), "{error}");
    files.restore(&whole);
    assert_eq!(sum(&files.try_open(&insist(second)).unwrap()), 1145);
}

#[test]
fn an_expected_root_is_that_root_and_no_other() {
    let files = Files::new(true);
    let store = files.create();
    let digest = store.root_digest();
    drop(store);
    let insist = |digest| StoreOptions {
        freshness: Freshness {
            expected_root: Some(digest),
            ..Freshness::default()
        },
        ..StoreOptions::default()
    };
    files.try_open(&insist(digest)).unwrap();
    let error = files.try_open(&insist([7; 32])).unwrap_err();
    assert!(matches!(error, Error::NotExpectedRoot), "{error}");
}

#[test]
fn an_expected_root_speaks_for_all_rows_or_is_refused() {
    let files = Files::new(true);
    let store = files.create();
    store.set_checkpoint_on_close(false);
    insert(&store, 100..103);
    let freshness = Freshness {
        expected_root: Some(store.root_digest()),
        ..Freshness::default()
    };
    drop(store);
    let options = StoreOptions {
        freshness,
        ..StoreOptions::default()
    };
    let error = files.try_open(&options).unwrap_err();
    assert!(matches!(error, Error::ExpectedRootHasLog), "{error}");
}

#[test]
fn the_log_of_an_open_database_must_have_come_as_far_as_the_anchor() {
    let store = Files::new(true).create();
    insert(&store, 100..103);
    let anchor = store.anchor().unwrap();
    let holds = |log_end| {
        store.holds(&Freshness {
            min_anchor: Some(Anchor { log_end, ..anchor }),
            ..Freshness::default()
        })
    };
    let end = anchor.log_end.number();
    assert!(end > 1);
    holds(Lsn::new(end - 1)).unwrap();
    holds(anchor.log_end).unwrap();
    let error = holds(Lsn::new(end + 1)).unwrap_err();
    assert!(matches!(error, Error::LogCut { .. }), "{error}");
}

#[test]
fn the_second_to_change_a_row_conflicts() {
    let store = Files::new(false).create();
    let (mut first, mut second) = (store.begin().unwrap(), store.begin().unwrap());
    first.delete_rows("main", "t", &[3]).unwrap();
    second.delete_rows("main", "t", &[3, 4]).unwrap();
    first.commit().unwrap();
    assert_eq!(second.commit().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(sum(&store), 45 - 3);
}

#[test]
fn rows_added_by_two_transactions_are_both_there() {
    let store = Files::new(false).create();
    let (mut first, mut second) = (store.begin().unwrap(), store.begin().unwrap());
    first.insert("main", "t", &[int64s(100..102)]).unwrap();
    second.insert("main", "t", &[int64s(1000..1001)]).unwrap();
    second.delete_rows("main", "t", &[9]).unwrap();
    first.commit().unwrap();
    second.commit().unwrap();
    assert_eq!(sum(&store), 45 - 9 + 201 + 1000);
    let snapshot = store.snapshot();
    assert_eq!(
        snapshot.table("main", "t").unwrap().next_row_id,
        RowId::new(13)
    );
}

#[test]
fn rows_and_definitions_of_one_table_conflict() {
    let store = Files::new(false).create();
    let (mut rows, mut drops) = (store.begin().unwrap(), store.begin().unwrap());
    rows.insert("main", "t", &[int64s(100..102)]).unwrap();
    drops.drop_table("main", "t").unwrap();
    rows.commit().unwrap();
    assert_eq!(drops.commit().unwrap_err().kind(), ErrorKind::Conflict);
    let (mut rows, mut drops) = (store.begin().unwrap(), store.begin().unwrap());
    rows.insert("main", "t", &[int64s(100..102)]).unwrap();
    drops.drop_table("main", "t").unwrap();
    drops.commit().unwrap();
    assert_eq!(rows.commit().unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn a_savepoint_takes_back_what_came_after_it() {
    let store = Files::new(true).create();
    let mut txn = store.begin().unwrap();
    txn.insert("main", "t", &[int64s(100..101)]).unwrap();
    let savepoint = txn.savepoint();
    txn.delete_rows("main", "t", &[5]).unwrap();
    append(&mut txn, "t", &[int64s(0..5000)]);
    txn.drop_table("main", "t").unwrap();
    txn.rollback_to(&savepoint);
    txn.commit().unwrap();
    assert_eq!(sum(&store), 145);
}

#[test]
fn many_threads_commit_at_once_and_share_records() {
    let files = Files::new(true);
    let store = files.create();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..50 {
                    insert(store, thread * 50 + n..thread * 50 + n + 1);
                }
            });
        }
    });
    let expected = 45 + (0..400).sum::<i64>();
    assert_eq!(sum(&store), expected);
    drop(store);
    assert_eq!(sum(&files.open()), expected);
}

#[test]
fn a_redefinition_that_meets_a_checkpoint_names_no_page_that_is_gone() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 100..103);
    let mut redefines = store.begin().unwrap();
    redefines.delete_rows("main", "t", &[10, 11, 12]).unwrap();
    redefines.rename_table("main", "t", "u").unwrap();
    // Stores `t` anew: the page that the transaction still has is replaced.
    store.checkpoint().unwrap();
    redefines.commit().unwrap();
    for round in 0..20 {
        let name = format!("v{round}");
        fill(
            &store,
            &name,
            vec![def("n", ColumnType::Int64)],
            &[int64s(0..10)],
        );
    }
    store.blocks().pool().clear();
    let found = integers(&store, &store.snapshot(), "u", "n");
    assert_eq!(found.into_iter().flatten().sum::<i64>(), 45);
    let report = store.check(&mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    drop(store);
    let store = files.open();
    assert_eq!(integers(&store, &store.snapshot(), "u", "n").len(), 10);
}

#[test]
fn rows_in_memory_that_are_large_are_cut_into_row_groups() {
    let files = Files::new(false);
    let store = files.create();
    store.set_autocheckpoint_bytes(u64::MAX);
    let mut txn = store.begin().unwrap();
    txn.create_table("main", "b", vec![def("b", ColumnType::Blob)], vec![])
        .unwrap();
    txn.commit().unwrap();
    // Noise, so that no encoding makes a column of it fit one block.
    let mut state = 1u64;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    for _ in 0..24 {
        let values: Vec<Vec<u8>> = (0..3)
            .map(|_| (0..(1 << 20) / 8).flat_map(|_| noise()).collect())
            .collect();
        let array = arrow_array::BinaryViewArray::from_iter_values(values);
        let mut txn = store.begin().unwrap();
        txn.insert("main", "b", &[Arc::new(array)]).unwrap();
        txn.commit().unwrap();
    }
    let mut txn = store.begin().unwrap();
    assert_eq!(txn.delete_rows("main", "b", &[0, 40, 71]).unwrap(), 3);
    txn.commit().unwrap();
    store.checkpoint().unwrap();
    drop(store);
    let store = files.open();
    let snapshot = store.snapshot();
    let table = snapshot.table("main", "b").unwrap();
    assert_eq!((table.row_count(), table.next_row_id), (69, RowId::new(72)));
    assert!(table.row_groups().unwrap().len() > 4);
    let report = store.check(&mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn an_anchor_shows_a_cut_log_tail_also_after_a_key_change() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 100..101);
    let shorter = without_zeros(files.log());
    insert(&store, 1000..1001);
    let anchor = store.anchor().unwrap();
    let another = hushdb_keys::providers::KeyText::new(format!("hex:{}", "5b".repeat(32)));
    let slot = hushdb_keys::SlotOptions::default();
    let added = store
        .blocks()
        .change_header(|header, crypto, keys| header.add_slot(crypto, keys, &another, &slot));
    added.unwrap();
    drop(store);
    let insist = StoreOptions {
        read_only: true,
        freshness: Freshness {
            min_anchor: Some(anchor),
            ..Freshness::default()
        },
        ..StoreOptions::default()
    };
    assert_eq!(sum(&files.try_open(&insist).unwrap()), 1145);
    files.put_log(&shorter);
    let error = files.try_open(&insist).unwrap_err();
    assert!(matches!(error, Error::LogCut { .. }), "{error}");
}

#[test]
fn a_log_with_records_beside_an_older_file_is_refused_and_kept() {
    let files = Files::new(true);
    let store = files.create();
    let (older, _) = files.copy();
    insert(&store, 100..101);
    drop(store);
    let (newer, log) = files.copy();
    files.restore(&(older, log.clone()));
    let error = files.try_open(&StoreOptions::default()).unwrap_err();
    assert!(
        matches!(error, Error::Log(LogError::OtherSequence { .. })),
        "{error}"
    );
    assert_eq!(files.copy().1, log);
    files.restore(&(newer, log));
    assert_eq!(sum(&files.open()), 145);
}
