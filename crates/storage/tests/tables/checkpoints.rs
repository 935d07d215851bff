//! Checkpoints with commits beside them, and what opening makes of the two logs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use hushdb_storage::*;

use super::fixture::*;
use super::logged::*;

fn remove(store: &Arc<Store>, rows: &[u64]) {
    let mut txn = store.begin().unwrap();
    assert_eq!(
        txn.delete_rows("main", "t", rows).unwrap(),
        rows.len() as u64
    );
    txn.commit().unwrap();
}

fn sound(store: &Arc<Store>) {
    let report = store.check(&mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

/// Ten rows in the file, three in its log, and behind a checkpoint's cut one in the next log.
fn between(files: &Files) -> (Arc<Store>, i64) {
    let store = files.create();
    insert(&store, 100..103);
    (store, 45 + 303)
}

fn log_error(error: Error) -> LogError {
    match error {
        Error::Log(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn what_is_committed_beside_a_checkpoint_is_there_whatever_becomes_of_it() {
    for encrypted in [false, true] {
        let files = Files::new(encrypted);
        let (store, mut expected) = between(&files);
        let early = store.begin().unwrap();
        let mut images = Vec::new();
        let mut note = |expected: i64| images.push((files.all(), expected));

        let mut checkpoint = store.begin_checkpoint().unwrap().unwrap();
        note(expected);
        insert(&store, 1000..1001);
        // A row of the file, one of the log, and one of the next log.
        remove(&store, &[3, 10, 13]);
        insert(&store, 2000..2002);
        expected += 4001 - 3 - 100;
        note(expected);
        checkpoint.store().unwrap();
        note(expected);
        let mut late = store.begin().unwrap();
        late.insert("main", "t", &[int64s(5000..5001)]).unwrap();
        late.delete_rows("main", "t", &[4]).unwrap();
        insert(&store, 3000..3001);
        expected += 3000;
        note(expected);
        checkpoint.finish().unwrap();
        assert_eq!(sum(&store), expected);
        note(expected);
        assert!(files.files.get(".wal.next").is_none(), "it has its name");
        late.commit().unwrap();
        expected += 5000 - 4;
        assert_eq!(sum(&store), expected);
        sound(&store);
        note(expected);
        // Read at the end what was begun at the beginning.
        let seen = integers(&store, early.catalog(), "t", "n");
        assert_eq!(seen.into_iter().flatten().sum::<i64>(), 45 + 303);
        store.checkpoint().unwrap();
        assert_eq!(sum(&store), expected);
        assert!(files.files.get(".wal").is_none());
        note(expected);
        sound(&store);
        drop((early, store));
        for (number, (image, expected)) in images.iter().enumerate() {
            let files = files.with(image);
            let reader = StoreOptions {
                read_only: true,
                ..StoreOptions::default()
            };
            let store = files.try_open(&reader).unwrap();
            assert_eq!(sum(&store), *expected, "image {number} read");
            assert_eq!(files.all(), *image, "reading changes nothing");
            drop(store);
            for _ in 0..2 {
                let store = files.open();
                assert_eq!(sum(&store), *expected, "image {number}");
                sound(&store);
                assert!(files.files.get(".wal").is_none());
                assert!(files.files.get(".wal.next").is_none());
            }
        }
    }
}

#[test]
fn a_checkpoint_that_is_given_up_loses_nothing_and_the_next_takes_both_logs() {
    for stored in [false, true] {
        let files = Files::new(true);
        let (store, expected) = between(&files);
        let mut checkpoint = store.begin_checkpoint().unwrap().unwrap();
        insert(&store, 1000..1001);
        if stored {
            checkpoint.store().unwrap();
        }
        drop(checkpoint);
        insert(&store, 2000..2001);
        remove(&store, &[0, 1]);
        let expected = expected + 3000 - 1;
        assert_eq!(sum(&store), expected);
        let image = files.all();
        assert!(image[2].is_some(), "two logs");
        assert_eq!(sum(&files.with(&image).open()), expected);
        // Done at once.
        assert!(store.begin_checkpoint().unwrap().is_none());
        assert!(files.all()[1..].iter().all(Option::is_none));
        insert(&store, 5000..5001);
        assert_eq!(sum(&store), expected + 5000);
        sound(&store);
        drop(store);
        assert_eq!(sum(&files.open()), expected + 5000);
    }
}

#[test]
fn a_definition_closes_the_two_logs_of_a_checkpoint_that_was_given_up() {
    let files = Files::new(true);
    let (store, expected) = between(&files);
    let checkpoint = store.begin_checkpoint().unwrap().unwrap();
    insert(&store, 1000..1001);
    drop(checkpoint);
    let (_, old_log, old_next) = files.all().into();
    fill(
        &store,
        "u",
        vec![def("n", ColumnType::Int64)],
        &[int64s(0..10)],
    );
    assert!(files.all()[1..].iter().all(Option::is_none));
    // As if both had not been removed.
    let image = [files.all()[0].clone(), old_log, old_next];
    let again = files.with(&image);
    assert_eq!(sum(&again.open()), expected + 1000);
    assert!(again.all()[1..].iter().all(Option::is_none));
    insert(&store, 2000..2001);
    drop(store);
    // The log after them is neither.
    let image = [
        files.all()[0].clone(),
        files.all()[1].clone(),
        image[2].clone(),
    ];
    assert_eq!(sum(&files.with(&image).open()), expected + 3000);
}

#[test]
fn the_log_that_is_named_is_found_under_either_name() {
    let files = Files::new(true);
    let (store, expected) = between(&files);
    let checkpoint = store.begin_checkpoint().unwrap().unwrap();
    insert(&store, 1000..1001);
    let [_, old, _] = files.all();
    checkpoint.finish().unwrap();
    let [main, log, _] = files.all();
    for before in [None, old.clone(), Some(vec![]), Some(b"HUSW".to_vec())] {
        let files = files.with(&[main.clone(), before, log.clone()]);
        assert_eq!(sum(&files.open()), expected + 1000);
        assert!(files.all()[1..].iter().all(Option::is_none));
    }
    // Neither of them.
    let missing = files.with(&[main.clone(), None, None]).refusal();
    assert!(matches!(
        log_error(missing),
        LogError::Missing { sequence: 2 }
    ));
    let older = files.with(&[main, old, None]).refusal();
    assert!(matches!(
        log_error(older),
        LogError::OtherSequence {
            expected: 2,
            found: 1
        }
    ));
}

/// A database whose checkpoint has been cut, with records in both logs.
fn two_logs(encrypted: bool) -> (Files, [Option<Vec<u8>>; 3]) {
    let files = Files::new(encrypted);
    let (store, _) = between(&files);
    let checkpoint = store.begin_checkpoint().unwrap().unwrap();
    insert(&store, 1000..1001);
    drop(checkpoint);
    drop(store);
    let image = files.all();
    (files, image)
}

#[test]
fn the_named_log_must_be_there_beside_its_next_one() {
    let (files, [main, _, next]) = two_logs(true);
    let error = files.with(&[main.clone(), None, next.clone()]).refusal();
    assert!(matches!(
        log_error(error),
        LogError::Missing { sequence: 1 }
    ));
    // Nor does the next one do in its place.
    let error = files.with(&[main, next, None]).refusal();
    assert!(matches!(log_error(error), LogError::OtherSequence { .. }));
}

#[test]
fn a_log_that_lost_its_end_is_refused_where_another_goes_on() {
    for encrypted in [false, true] {
        let (files, [main, log, next]) = two_logs(encrypted);
        let whole = without_zeros(log.unwrap());
        // Cut between records, spoilt in its last record, cut within it.
        let cut = whole[..128].to_vec();
        let error = files
            .with(&[main.clone(), Some(cut), next.clone()])
            .refusal();
        assert!(matches!(
            log_error(error),
            LogError::NextDoesNotFollow { lsn, next: 2 } if lsn == Lsn::new(128)
        ));
        let mut spoilt = whole.clone();
        *spoilt.last_mut().unwrap() ^= 1;
        for torn in [spoilt, whole[..200].to_vec()] {
            let error = files
                .with(&[main.clone(), Some(torn), next.clone()])
                .refusal();
            assert!(matches!(
                log_error(error),
                LogError::EndDamaged { lsn, next: 2 } if lsn == Lsn::new(128)
            ));
        }
        // What a record that found no room left behind its end harms nothing.
        let mut longer = whole.clone();
        longer.extend([7; 100]);
        let files = files.with(&[main.clone(), Some(longer), next.clone()]);
        assert_eq!(sum(&files.open()), 45 + 303 + 1000);
    }
}

#[test]
fn a_next_log_that_does_not_belong_there_is_refused() {
    let (files, [main, log, next]) = two_logs(true);
    let refusal = |next: &Option<Vec<u8>>| {
        let image = [main.clone(), log.clone(), next.clone()];
        log_error(files.with(&image).refusal())
    };
    // Of another history of this database: from before the cut on it went on otherwise.
    let other = files.with(&[main.clone(), log.clone(), None]);
    let store = other.open();
    insert(&store, 7000..7001);
    let checkpoint = store.begin_checkpoint().unwrap().unwrap();
    insert(&store, 8000..8001);
    drop(checkpoint);
    drop(store);
    assert!(matches!(
        refusal(&other.all()[2]),
        LogError::OtherSequence {
            expected: 2,
            found: 3
        }
    ));
    // Of another database, and a plain one.
    let (_, [_, _, foreign]) = two_logs(true);
    assert!(matches!(refusal(&foreign), LogError::OtherDatabase));
    let (_, [_, _, plain]) = two_logs(false);
    assert!(matches!(refusal(&plain), LogError::PlainBesideEncrypted));
    // Its header harmed, with records behind it: these were acknowledged.
    let whole = next.unwrap();
    for at in [0, 4, 6, 20, 90] {
        let mut harmed = whole.clone();
        harmed[at] ^= 1;
        let error = refusal(&Some(harmed));
        let named = matches!(
            error,
            LogError::HeaderDamaged(_)
                | LogError::HeaderEdited
                | LogError::OtherDatabase
                | LogError::NewerFormat { .. }
        );
        assert!(named, "{at}: {error}");
    }
}

#[test]
fn a_next_log_of_the_same_sequence_and_another_history_is_refused() {
    let files = Files::new(true);
    let (store, _) = between(&files);
    let [main, log, _] = files.all();
    let fork = |numbers: std::ops::Range<i64>| {
        // What a machine that was copied while it ran would write.
        let store = &store;
        let checkpoint = store.begin_checkpoint().unwrap().unwrap();
        insert(store, numbers);
        drop(checkpoint);
    };
    insert(&store, 5000..5001);
    fork(6000..6001);
    let [_, longer, next] = files.all();
    assert_eq!(
        sum(&files.with(&[main.clone(), longer, next.clone()]).open()),
        45 + 303 + 11_000
    );
    let error = files.with(&[main, log, next]).refusal();
    assert!(matches!(
        log_error(error),
        LogError::NextDoesNotFollow { .. }
    ));
}

#[test]
fn a_next_log_that_a_crash_left_before_its_first_record_is_removed() {
    let (files, [main, log, next]) = two_logs(true);
    let next = next.unwrap();
    let header = next[..128].to_vec();
    let mut zeros = header.clone();
    zeros.resize(4096, 0);
    let mut harmed = header.clone();
    harmed[90] ^= 1;
    for left in [
        vec![],
        vec![0; 4096],
        header[..50].to_vec(),
        header,
        zeros,
        harmed,
    ] {
        let files = files.with(&[main.clone(), log.clone(), Some(left)]);
        assert_eq!(sum(&files.open()), 45 + 303);
        assert!(files.all()[1..].iter().all(Option::is_none));
    }
}

#[test]
fn an_anchor_shows_that_the_next_log_was_taken_away_or_cut() {
    let files = Files::new(true);
    let (store, expected) = between(&files);
    let before = store.anchor().unwrap();
    let checkpoint = store.begin_checkpoint().unwrap().unwrap();
    assert_eq!(store.anchor().unwrap(), before);
    insert(&store, 1000..1001);
    let first = store.anchor().unwrap();
    let [main, log, shorter] = files.all();
    insert(&store, 2000..2001);
    let second = store.anchor().unwrap();
    let image = files.all();
    assert_eq!(first.log_sequence, before.log_sequence + 1);
    for anchor in [before, first, second] {
        let opened = files.with(&image).try_open_at(anchor).unwrap();
        assert_eq!(sum(&opened), expected + 3000);
        assert_eq!(opened.anchor().unwrap(), second);
    }
    let cut = files.with(&[main.clone(), log.clone(), shorter]);
    assert_eq!(sum(&cut.try_open_at(first).unwrap()), expected + 1000);
    let gone = files.with(&[main, log, None]);
    gone.try_open_at(before).unwrap();
    for (files, anchor) in [(&cut, second), (&gone, first), (&gone, second)] {
        let error = files.try_open_at(anchor).unwrap_err();
        assert!(matches!(error, Error::LogCut { .. }), "{error}");
    }
    checkpoint.finish().unwrap();
    let third = store.anchor().unwrap();
    assert!(third.generation > second.generation);
    assert_eq!(third.log_end, second.log_end);
    for anchor in [before, first, second, third] {
        assert_eq!(sum(&files.try_open_at(anchor).unwrap()), expected + 3000);
    }
    let error = files.with(&image).try_open_at(third).unwrap_err();
    assert!(matches!(error, Error::RolledBack { .. }), "{error}");
}

#[test]
fn commits_go_on_beside_a_checkpoint_and_definitions_wait() {
    let files = Files::new(true);
    let (store, expected) = between(&files);
    let checkpoint = store.begin_checkpoint().unwrap().unwrap();
    let defined = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let definition = scope.spawn(|| {
            fill(
                &store,
                "u",
                vec![def("n", ColumnType::Int64)],
                &[int64s(0..10)],
            );
            defined.store(true, SeqCst);
        });
        let commits = scope.spawn(|| (0..100).for_each(|n| insert(&store, n..n + 1)));
        commits.join().unwrap();
        assert!(!defined.load(SeqCst), "it waits for the root");
        checkpoint.finish().unwrap();
        definition.join().unwrap();
    });
    assert_eq!(sum(&store), expected + 4950);
    drop(store);
    let store = files.open();
    assert_eq!(sum(&store), expected + 4950);
    assert!(store.snapshot().table("main", "u").is_some());
}

#[test]
fn threads_that_commit_checkpoint_and_define_lose_nothing() {
    let files = Files::new(true);
    let store = files.create();
    store.set_autocheckpoint_bytes(8 << 10);
    std::thread::scope(|scope| {
        for thread in 0..4i64 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..100 {
                    insert(store, n..n + 1);
                    // Another thread may define something else first.
                    if n % 40 != thread {
                        continue;
                    }
                    loop {
                        let mut txn = store.begin().unwrap();
                        let name = format!("t{thread}n{n}");
                        let columns = vec![def("n", ColumnType::Int64)];
                        txn.create_table("main", &name, columns, vec![]).unwrap();
                        match txn.commit() {
                            Ok(_) => break,
                            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict),
                        }
                    }
                }
            });
        }
        scope.spawn(|| (0..20).for_each(|_| store.checkpoint().unwrap()));
    });
    assert_eq!(sum(&store), 45 + 4 * 4950);
    sound(&store);
    drop(store);
    let store = files.open();
    assert_eq!(sum(&store), 45 + 4 * 4950);
    sound(&store);
    assert_eq!(
        store.snapshot().schema("main").unwrap().tables.len(),
        1 + 12
    );
}

#[test]
fn a_row_that_went_beside_a_checkpoint_conflicts_afterwards() {
    let files = Files::new(false);
    let (store, _) = between(&files);
    let mut txn = store.begin().unwrap();
    txn.delete_rows("main", "t", &[10, 3]).unwrap();
    let checkpoint = store.begin_checkpoint().unwrap().unwrap();
    remove(&store, &[10]);
    checkpoint.finish().unwrap();
    assert_eq!(txn.commit().unwrap_err().kind(), ErrorKind::Conflict);
    remove(&store, &[3]);
    assert_eq!(sum(&store), 45 - 3 + 101 + 102);
    drop(store);
    assert_eq!(sum(&files.open()), 45 - 3 + 101 + 102);
}

#[test]
fn a_definition_on_a_state_from_before_conflicts_with_rows_that_came_beside() {
    let files = Files::new(false);
    let (store, _) = between(&files);
    let mut drops = store.begin().unwrap();
    drops.drop_table("main", "t").unwrap();
    let checkpoint = store.begin_checkpoint().unwrap().unwrap();
    insert(&store, 7..8);
    checkpoint.finish().unwrap();
    assert_eq!(drops.commit().unwrap_err().kind(), ErrorKind::Conflict);
    let mut drops = store.begin().unwrap();
    drops.drop_table("main", "t").unwrap();
    store.checkpoint().unwrap();
    drops.commit().unwrap();
}

/// Does work that was asked to stop before it began.
fn interrupted<T>(work: impl FnOnce() -> T) -> T {
    let interrupt = Arc::new(Interrupt::default());
    interrupt.ask();
    interrupt.watch(work)
}

#[test]
fn who_waits_for_a_checkpoint_can_be_interrupted() {
    let files = Files::new(true);
    let (store, _) = between(&files);
    let checkpoint = store.begin_checkpoint().unwrap().unwrap();
    // On another thread: this one holds what it waits for.
    let waits = |work: &(dyn Fn() -> Result<()> + Sync)| {
        let waiting = || std::thread::scope(|scope| scope.spawn(work).join().unwrap());
        assert!(matches!(waiting(), Err(Error::Interrupted)));
    };
    waits(&|| {
        let mut txn = store.begin().unwrap();
        txn.create_schema("s").unwrap();
        interrupted(|| txn.commit().map(drop))
    });
    waits(&|| interrupted(|| store.checkpoint()));
    waits(&|| interrupted(|| store.vacuum(None)));
    checkpoint.finish().unwrap();
    let mut txn = store.begin().unwrap();
    txn.create_schema("s").unwrap();
    txn.commit().unwrap();
    sound(&store);
}

#[test]
fn an_interrupt_ends_a_checkpoint_and_not_a_commit() {
    let files = Files::new(true);
    let (store, expected) = between(&files);
    assert!(matches!(
        interrupted(|| store.checkpoint()),
        Err(Error::Interrupted)
    ));
    // A commit that need not wait for anybody becomes durable; the checkpoint that it brings about does not come about.
    store.set_autocheckpoint_bytes(1);
    interrupted(|| {
        let mut txn = store.begin().unwrap();
        txn.insert("main", "t", &[int64s(1000..1001)]).unwrap();
        txn.commit().unwrap();
    });
    assert!(store.log_bytes() > 0);
    assert_eq!(sum(&store), expected + 1000);
    // The next one makes it.
    insert(&store, 2000..2001);
    assert_eq!(store.log_bytes(), 0);
    assert_eq!(sum(&store), expected + 3000);
    sound(&store);
}

/// How many threads have helped to open databases.
static HELPED: AtomicUsize = AtomicUsize::new(0);

const THREE: LentThreads = LentThreads {
    count: 3,
    beside: |count, there, here| {
        std::thread::scope(|scope| {
            (0..count).for_each(|_| drop(scope.spawn(there)));
            HELPED.fetch_add(count, SeqCst);
            here(count);
        });
    },
};

#[test]
fn opening_stores_rows_in_their_order_whoever_helps() {
    let files = Files::new(true);
    let store = files.create();
    for at in 0..40 {
        insert(&store, 10 + at * 100..110 + at * 100);
    }
    // One piece is gone as a whole, of others a part.
    remove(&store, &(500..1200).chain([3000]).collect::<Vec<u64>>());
    let expected = integers(&store, &store.snapshot(), "t", "n");
    drop(store);
    let killed = files.all();
    for threads in [LentThreads::default(), THREE] {
        let files = files.with(&killed);
        let options = StoreOptions {
            threads,
            row_group_rows: 300,
            ..StoreOptions::default()
        };
        let store = files.try_open(&options).unwrap();
        assert!(files.files.get(".wal").is_none(), "it was stored");
        let state = store.snapshot();
        assert_eq!(integers(&store, &state, "t", "n"), expected);
        let groups = state.table("main", "t").unwrap().row_groups().unwrap();
        assert!(groups.len() > 10);
        assert!(groups.is_sorted_by_key(|group| group.first_row_id));
        sound(&store);
    }
    assert!(HELPED.load(SeqCst) >= 3);
}

#[test]
fn a_log_that_is_read_ahead_says_what_it_does_to_one_thread() {
    let files = Files::new(true);
    let store = files.create();
    for at in 0..12 {
        insert(&store, at * 60_000..(at + 1) * 60_000);
    }
    drop(store);
    let [main, log, _] = files.all();
    let log = without_zeros(log.unwrap());
    assert!(log.len() > 5 << 20);
    let edited = |at: usize| {
        let mut log = log.clone();
        log[at] ^= 1;
        log
    };
    let opened = |log: &[u8], threads| {
        let files = files.with(&[main.clone(), Some(log.to_vec()), None]);
        let options = StoreOptions {
            threads,
            ..StoreOptions::default()
        };
        let store = files
            .try_open(&options)
            .map_err(|error| error.to_string())?;
        Ok::<_, String>((sum(&store), format!("{:?}", store.notices())))
    };
    let mut outcomes = vec![];
    for log in [
        log.clone(),
        log[..log.len() - 100].to_vec(),
        edited(log.len() / 2),
        edited(log.len() - 1000),
    ] {
        let alone = opened(&log, LentThreads::default());
        assert_eq!(opened(&log, THREE), alone);
        outcomes.push(alone);
    }
    assert_ne!(outcomes[0], outcomes[1], "the last record is torn");
    assert!(outcomes[2].is_err() && outcomes[3].is_ok(), "{outcomes:?}");
    // Nobody helps, whatever was promised.
    let nobody = LentThreads {
        count: 1,
        beside: |_, _, here| here(0),
    };
    assert_eq!(opened(&log, nobody), outcomes[0]);
    assert!(HELPED.load(SeqCst) > 0);
}
