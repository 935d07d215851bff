//! Histories of clients that wait for each other, at every level, with the machine going down in their midst.
//!
//! `HUSHDB_HISTORIES_SEED` and `HUSHDB_HISTORIES` choose other seeds, or more of them; of `HUSHDB_HISTORIES_THROUGH` seeds each write is
//! one that the machine goes down with.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

use hushdb_sim::{Dice, Done, End, History, HistoryReport, anomaly};

/// Histories in the test command, each with a crash and without.
const HISTORIES: u64 = 400;
/// Those of which each write is tried.
const THROUGH: u64 = 4;
/// A crash that comes by the dice comes within so many writes.
const WRITES: u64 = 150;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => default,
    }
}

fn run(seed: u64, crash_at: Option<u64>) -> HistoryReport {
    let history = History { seed, crash_at };
    history
        .run()
        .unwrap_or_else(|what| panic!("{history:?}: {what}"))
}

#[test]
fn histories_are_as_their_levels_promise() {
    let first = setting("HUSHDB_HISTORIES_SEED", 1);
    let histories = setting("HUSHDB_HISTORIES", HISTORIES);
    let (began, mut sum) = (Instant::now(), HistoryReport::default());
    for seed in first..first + histories {
        sum += run(seed, None);
        sum += run(seed, Some(Dice::new(seed).between(1, WRITES)));
    }
    let _ = writeln!(
        std::io::stdout(),
        "seeds {first} to {}: {:.0} histories a second: {sum:?}",
        first + histories - 1,
        2.0 * histories as f64 / began.elapsed().as_secs_f64()
    );
    if histories >= HISTORIES {
        // Those in which nothing happens would hold as well.
        assert!(sum.commits > histories && sum.waits > histories && sum.again > 0);
        assert!(sum.deadlocks > 0 && sum.cancelled > 0 && sum.conflicts > 0);
        assert!(sum.crashes > histories / 4 && sum.found_in_flight > 0);
        assert!(sum.skipped > 0 && sum.tables > 0);
        assert!(sum.full > 0 && sum.taken_back > 0);
    }
}

#[test]
fn a_history_holds_whatever_write_the_machine_goes_down_with() {
    let first = setting("HUSHDB_HISTORIES_SEED", 1);
    for seed in first..first + setting("HUSHDB_HISTORIES_THROUGH", THROUGH) {
        let mut writes = 0;
        while run(seed, Some(writes + 1)).crashes > 0 {
            writes += 1;
        }
        assert!(writes > 10, "seed {seed} writes {writes} times");
    }
}

#[test]
fn a_seed_replays() {
    for seed in 1..20 {
        for crash_at in [None, Some(20)] {
            assert_eq!(run(seed, crash_at), run(seed, crash_at), "{seed}");
        }
    }
}

/// A transaction for the checker.
fn done(appends: &[(u64, u64)], reads: &[(u64, &[u64])]) -> Done {
    let reads = reads.iter().map(|(key, read)| (*key, read.to_vec()));
    Done {
        end: End::Committed,
        sees_one_state: true,
        appends: appends.to_vec(),
        reads: reads.collect(),
    }
}

/// What must be said, transactions, and the lists in the end.
type Case = (&'static str, Vec<Done>, BTreeMap<u64, Vec<u64>>);

fn ending(end: End, done: Done) -> Done {
    Done { end, ..done }
}

#[test]
fn the_checker_finds_each_anomaly() {
    let lists = |a: &[u64], b: &[u64]| BTreeMap::from([(0, a.to_vec()), (1, b.to_vec())]);
    let two = || done(&[(0, 1), (1, 2)], &[]);
    let missing = done(&[], &[(0, &[]), (1, &[2])]);
    let sees_many = Done {
        sees_one_state: false,
        ..missing.clone()
    };
    let cases: [Case; 10] = [
        (
            "lost",
            vec![done(&[(0, 1)], &[]), done(&[(0, 2)], &[])],
            lists(&[2], &[]),
        ),
        (
            "G1a",
            vec![ending(End::Undone, done(&[(0, 1)], &[]))],
            lists(&[1], &[]),
        ),
        ("lost", vec![ending(End::Unknown, two())], lists(&[1], &[])),
        ("", vec![ending(End::Unknown, two())], lists(&[], &[])),
        ("", vec![ending(End::Unknown, two())], lists(&[1], &[2])),
        (
            "G0 or G1a",
            vec![two(), ending(End::Undone, done(&[], &[(0, &[3])]))],
            lists(&[1], &[2]),
        ),
        (
            "G1b",
            vec![done(&[(0, 1), (0, 2)], &[]), done(&[], &[(0, &[1])])],
            lists(&[1, 2], &[]),
        ),
        (
            "G1c",
            vec![two(), done(&[(0, 3), (1, 4)], &[])],
            lists(&[1, 3], &[4, 2]),
        ),
        ("G-single", vec![two(), missing], lists(&[1], &[2])),
        ("", vec![two(), sees_many], lists(&[1], &[2])),
    ];
    for (name, all, lists) in cases {
        let found = anomaly(&all, &lists);
        match name {
            "" => assert!(found.is_none(), "{found:?}"),
            _ => assert!(
                found.as_ref().is_some_and(|found| found.contains(name)),
                "{name}: {found:?}"
            ),
        }
    }
}
