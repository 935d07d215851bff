//! Checkpoints by somebody who is woken for them: commits make none, and wait only where the log is far too long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use hushdb_storage::*;

use super::fixture::*;
use super::logged::*;

const LONG: u64 = 4 << 10;

/// A store whose commits wake somebody who counts.
fn woken(files: &Files) -> (Arc<Store>, Arc<AtomicUsize>) {
    let store = files.create();
    store.set_autocheckpoint_bytes(LONG);
    let times = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&times);
    let wake = move || {
        count.fetch_add(1, SeqCst);
    };
    store.wake_for_checkpoints(Some(Arc::new(wake)));
    (store, times)
}

/// Commits until somebody is woken; gives what was added.
fn until_woken(store: &Arc<Store>, times: &AtomicUsize) -> i64 {
    let mut sum = 0;
    while times.load(SeqCst) == 0 {
        insert(store, 1..2);
        sum += 1;
    }
    sum
}

#[test]
fn a_commit_wakes_and_makes_no_checkpoint() {
    let files = Files::new(true);
    let (store, times) = woken(&files);
    let added = until_woken(&store, &times);
    let generation = store.info().generation;
    assert!(store.log_bytes() >= LONG);
    assert!(store.checkpoint_if_long().unwrap());
    assert!(store.info().generation > generation);
    assert_eq!(store.log_bytes(), 0);
    assert!(!store.checkpoint_if_long().unwrap(), "it is short");
    // One that is under way is not waited for.
    insert(&store, 5..6);
    let checkpoint = store.begin_checkpoint().unwrap().unwrap();
    assert!(!store.checkpoint_if_long().unwrap());
    checkpoint.finish().unwrap();
    // Commits make them again when nobody is woken.
    store.wake_for_checkpoints(None);
    store.set_autocheckpoint_bytes(1);
    insert(&store, 7..8);
    assert_eq!(store.log_bytes(), 0);
    drop(store);
    assert_eq!(sum(&files.open()), 45 + added + 5 + 7);
}

#[test]
fn commits_wait_where_the_log_is_far_too_long_and_go_on_behind_the_checkpoint() {
    let files = Files::new(false);
    let (store, times) = woken(&files);
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let commits = scope.spawn(|| {
            for n in 0..400 {
                insert(&store, n..n + 1);
                done.fetch_add(1, SeqCst);
            }
        });
        let mut before = usize::MAX;
        // Nobody makes a checkpoint: they come to a stop.
        while done.load(SeqCst) != before {
            before = done.load(SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        assert!(before < 400, "they did not wait");
        assert!(store.log_bytes() > 4 * LONG);
        // Who waits can be interrupted, and asks again and again.
        let interrupt = Arc::new(Interrupt::default());
        interrupt.ask();
        let mut txn = store.begin().unwrap();
        txn.insert("main", "t", &[int64s(0..1)]).unwrap();
        let given_up = interrupt.watch(|| txn.commit());
        assert!(matches!(given_up, Err(Error::Interrupted)));
        assert!(times.load(SeqCst) > 2);
        while !commits.is_finished() {
            store.checkpoint_if_long().unwrap();
            std::thread::yield_now();
        }
    });
    assert_eq!(sum(&store), 45 + 399 * 400 / 2);
    drop(store);
    assert_eq!(sum(&files.open()), 45 + 399 * 400 / 2);
}

#[test]
fn who_waits_goes_on_when_nobody_is_woken_any_more() {
    let files = Files::new(false);
    let (store, _) = woken(&files);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (0..400).for_each(|n| insert(&store, n..n + 1));
            is_over.store(true, SeqCst);
        });
        while store.log_bytes() <= 4 * LONG {
            std::thread::yield_now();
        }
        store.wake_for_checkpoints(None);
    });
    assert!(is_over.into_inner());
    assert_eq!(sum(&store), 45 + 399 * 400 / 2);
}

/// Commits until they wait, has something done, and sees them go on.
fn go_on_after(files: &Files, act: impl FnOnce(&Store)) -> Arc<Store> {
    let (store, times) = woken(files);
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..400 {
                let mut txn = store.begin().unwrap();
                txn.insert("main", "t", &[int64s(n..n + 1)]).unwrap();
                if txn.commit().is_err() {
                    break;
                }
                done.fetch_add(1, SeqCst);
            }
            done.store(usize::MAX, SeqCst);
        });
        let mut before = usize::MAX;
        while done.load(SeqCst) != before {
            before = done.load(SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        assert!(before < 400, "they did not wait");
        assert!(times.load(SeqCst) > 0);
        act(&store);
    });
    assert_eq!(done.into_inner(), usize::MAX);
    store
}

#[test]
fn who_waits_goes_on_when_the_log_may_be_longer() {
    let files = Files::new(false);
    let store = go_on_after(&files, |store| store.set_autocheckpoint_bytes(1 << 30));
    assert_eq!(sum(&store), 45 + 399 * 400 / 2);
}

#[test]
fn who_waits_is_refused_when_the_keys_are_gone() {
    let files = Files::new(true);
    drop(go_on_after(&files, Store::withdraw_keys));
    assert!(sum(&files.open()) > 45);
}

#[test]
fn commits_wait_where_there_is_no_memory_for_the_rows_of_the_log() {
    let files = Files::new(false);
    let store = go_on_after(&files, |store| {
        // It waited at four times as much until now.
        let before = store.log_bytes();
        store.set_most_log_bytes(LONG);
        assert!(store.checkpoint_if_long().unwrap());
        assert!(before > 4 * LONG);
        std::thread::sleep(std::time::Duration::from_millis(500));
        let behind = store.log_bytes();
        assert!((LONG..4 * LONG).contains(&behind), "{behind}");
        store.wake_for_checkpoints(None);
    });
    assert_eq!(sum(&store), 45 + 399 * 400 / 2);
}

#[test]
fn a_log_grows_where_a_checkpoint_would_write_many_leaves() {
    let files = Files::new(true);
    let store = files.create();
    let mut txn = store.begin().unwrap();
    append(&mut txn, "t", &[int64s((0..200_000).map(|n| n * 10))]);
    let key = IndexDef {
        name: "by_n".into(),
        kind: IndexKind::Plain,
        columns: vec!["n".into()],
    };
    txn.create_index("main", "t", key).unwrap();
    txn.commit().unwrap();
    store.set_autocheckpoint_bytes(LONG);
    let room = Arc::new(LogRoom::default());
    room.set_most(1 << 30);
    store.let_log_grow(Some(&room));
    let times = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&times);
    store.wake_for_checkpoints(Some(Arc::new(move || {
        count.fetch_add(1, SeqCst);
    })));
    // Each row belongs into another leaf.
    let scattered = |from: i64| {
        for n in from..from + 100 {
            insert(&store, n * 7919 % 2_000_000..n * 7919 % 2_000_000 + 1);
        }
    };
    scattered(0);
    assert!(store.log_bytes() > LONG && room.used() == store.log_bytes());
    assert_eq!(times.load(SeqCst), 0);
    assert!(!store.checkpoint_if_long().unwrap());
    // Without room it is as long as asked for.
    room.set_most(1);
    scattered(100);
    assert!(times.load(SeqCst) > 0);
    assert!(store.checkpoint_if_long().unwrap());
    assert_eq!((store.log_bytes(), room.used()), (0, 0));
    // What the checkpoint wrote is known now.
    room.set_most(1 << 30);
    times.store(0, SeqCst);
    scattered(200);
    assert!(store.log_bytes() > LONG);
    assert_eq!(times.load(SeqCst), 0);
    // Rows that follow one another are in few leaves: that checkpoint writes little, and the next one comes soon.
    store.checkpoint().unwrap();
    insert(&store, 3_000_000..3_000_001);
    store.checkpoint().unwrap();
    (3_000_001..3_001_500).for_each(|n| insert(&store, n..n + 1));
    assert!(times.load(SeqCst) > 0);
    drop(store);
    assert_eq!(room.used(), 0);
}
