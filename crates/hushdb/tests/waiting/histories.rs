//! Histories from a seed: transactions on threads that append to lists and read them, and what Adya calls anomalies in what they saw
//! (Adya, Liskov and O'Neil, "Generalized Isolation Level Definitions", 2000; lists as in Kingsbury and Alvaro, "Elle", 2020).
//!
//! What must hold: each append is of one transaction and one place, so a list tells the order of those who wrote it. Appends of
//! transactions that were rolled back are in no list (G1a), a read sees all or none that another appended to it (G1b), what is read
//! is the beginning of what is there in the end, and an acknowledged append is there once (G0, lost update); who saw or followed
//! whom makes no circle (G1c), for REPEATABLE READ also not with one read that missed what came (G-single).

use super::{RC, RR, nothing_is_locked, run, value};
use hushdb::{Connection, Database, Error, Isolation};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const KEYS: u64 = 5;
const THREADS: u64 = 4;
const TRANSACTIONS: u64 = 25;

/// Numbers from a seed (SplitMix64; Steele, Lea, Flood 2014).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// What a transaction did: appends by key, in order, and the lists that it read, without what it had appended itself by then.
#[derive(Default)]
struct Done {
    committed: bool,
    appends: Vec<(u64, u64)>,
    reads: Vec<(u64, Vec<u64>)>,
}

fn list(connection: &Connection, sql: &str) -> Result<Vec<u64>, Error> {
    let batches = connection.execute(sql)?.collect_batches()?;
    let batch = batches.iter().find(|batch| batch.num_rows() == 1);
    let text = hushdb::value_text(batch.unwrap().column(0), 0)?.unwrap();
    let ids = text.split(' ').filter(|id| !id.is_empty());
    Ok(ids.map(|id| id.parse().unwrap()).collect())
}

/// One transaction; `Err` when it failed and is to be rolled back.
fn transaction(
    connection: &Connection,
    dice: &mut Dice,
    ids: &AtomicU64,
    done: &mut Done,
) -> Result<bool, Error> {
    run(connection, "BEGIN")?;
    for _ in 0..=dice.below(4) {
        let key = dice.below(KEYS);
        let id = ids.fetch_add(1, Ordering::SeqCst);
        let append = format!("UPDATE t SET v = v || ' {id}' WHERE k = {key}");
        let lock = ["", "", " FOR UPDATE", " FOR SHARE"][dice.below(4) as usize];
        match dice.below(10) {
            0..=3 => {
                let mut read = list(
                    connection,
                    &format!("SELECT v FROM t WHERE k = {key}{lock}"),
                )?;
                let own = |id: &u64| done.appends.iter().any(|(_, own)| own == id);
                read.retain(|id| !own(id));
                done.reads.push((key, read));
            }
            // A part that is undone: what it appended counts as never said.
            4 => {
                run(connection, "SAVEPOINT s")?;
                run(connection, &append)?;
                run(connection, "ROLLBACK TO s")?;
            }
            5 => {
                run(connection, &format!("INSERT INTO u VALUES ({id})"))?;
            }
            _ => {
                assert_eq!(run(connection, &append)?, Some(1));
                done.appends.push((key, id));
            }
        }
    }
    Ok(dice.below(8) > 0)
}

/// Runs a history; gives what was done and the lists in the end.
fn history(
    database: &Database,
    seed: u64,
    isolation: Isolation,
) -> (Vec<Done>, BTreeMap<u64, Vec<u64>>) {
    let (ids, all) = (AtomicU64::new(1), Mutex::new(vec![]));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let connection = database.connect_with(isolation).unwrap();
            // Circles end by it, in less than the second after which they are looked for.
            run(&connection, "SET lock_timeout = 100").unwrap();
            let (ids, all) = (&ids, &all);
            scope.spawn(move || {
                let mut dice = Dice(seed * 1000 + thread);
                for _ in 0..TRANSACTIONS {
                    let mut done = Done::default();
                    let begun = transaction(&connection, &mut dice, ids, &mut done);
                    let ended = begun.and_then(|commits| {
                        done.committed = commits;
                        let end = if commits { "COMMIT" } else { "ROLLBACK" };
                        run(&connection, end)
                    });
                    if let Err(error) = ended {
                        done.committed = false;
                        let state = error.sqlstate();
                        let expected = state == "55P03" || isolation == RR && state == "40001";
                        assert!(expected, "seed {seed}: {error}");
                        if connection.in_transaction() {
                            run(&connection, "ROLLBACK").unwrap();
                        }
                    }
                    all.lock().unwrap().push(done);
                }
            });
        }
    });
    let connection = database.connect().unwrap();
    let lists = (0..KEYS).map(|key| {
        let sql = format!("SELECT v FROM t WHERE k = {key}");
        (key, list(&connection, &sql).unwrap())
    });
    (all.into_inner().unwrap(), lists.collect())
}

/// What is wrong with a history; nothing if it is as its level promises.
fn anomaly(all: &[Done], lists: &BTreeMap<u64, Vec<u64>>, isolation: Isolation) -> Option<String> {
    let mut writer = BTreeMap::new();
    for (number, done) in all.iter().enumerate() {
        for (key, id) in &done.appends {
            writer.insert(*id, number);
            let there = lists[key].iter().filter(|known| *known == id).count();
            if there != usize::from(done.committed) {
                return Some(format!("lost update or G1a: {id} is there {there} times"));
            }
        }
    }
    // Edges from one transaction to another that must come after it; those of reads that missed what came.
    let (mut after, mut missed) = (BTreeSet::new(), BTreeSet::new());
    for ids in lists.values() {
        for pair in ids.windows(2) {
            let Some((before, next)) = writer.get(&pair[0]).zip(writer.get(&pair[1])) else {
                return Some(format!(
                    "G1a: a list has an append that was undone: {pair:?}"
                ));
            };
            after.insert((*before, *next));
        }
    }
    for (number, done) in all.iter().enumerate().filter(|(_, done)| done.committed) {
        for (key, read) in &done.reads {
            // Its own are in the list in the end, and were taken out of what it read.
            let ids = lists[key].iter().filter(|id| writer[id] != number);
            let ids: Vec<u64> = ids.copied().collect();
            if !ids.starts_with(read) {
                return Some(format!("G0 or G1a: {read:?} was read, {ids:?} came of it"));
            }
            let next = ids.get(read.len()).map(|id| writer[id]);
            let Some(last) = read.last().map(|id| writer[id]) else {
                missed.extend(next.map(|next| (number, next)));
                continue;
            };
            if next == Some(last) {
                return Some(format!("G1b: {read:?} ends within a transaction"));
            }
            after.insert((last, number));
            missed.extend(next.map(|next| (number, next)));
        }
    }
    after.retain(|(before, next)| before != next);
    let all = all.len();
    let follows = |from: usize| {
        let (mut seen, mut next) = (vec![false; all], vec![from]);
        while let Some(at) = next.pop() {
            for (_, to) in after.range((at, 0)..(at + 1, 0)) {
                if !std::mem::replace(&mut seen[*to], true) {
                    next.push(*to);
                }
            }
        }
        seen
    };
    let reach: Vec<Vec<bool>> = (0..all).map(follows).collect();
    if let Some(at) = (0..all).find(|at| reach[*at][*at]) {
        return Some(format!("G1c: transaction {at} comes after itself"));
    }
    let mut single = missed.iter().filter(|_| isolation == RR);
    let single = single.find(|(reader, writer)| reader != writer && reach[*writer][*reader]);
    single.map(|(reader, writer)| format!("G-single: {reader} missed {writer} and came after it"))
}

fn database() -> Database {
    let setup = format!(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR); INSERT INTO t SELECT range, '' FROM range({KEYS});
         CREATE TABLE u (a INTEGER PRIMARY KEY)"
    );
    super::database(&setup)
}

#[test]
fn histories_have_no_anomaly_that_their_level_excludes() {
    let seeds: u64 = std::env::var("SEEDS").map_or(4, |text| text.parse().unwrap());
    for seed in 0..seeds {
        for isolation in [RC, RR] {
            let database = database();
            let (all, lists) = history(&database, seed, isolation);
            let committed = all.iter().filter(|done| done.committed).count() as u64;
            assert!(committed > THREADS * TRANSACTIONS / 8, "{committed}");
            let found = anomaly(&all, &lists, isolation);
            assert!(
                found.is_none(),
                "seed {seed}, {isolation:?}: {}",
                found.unwrap()
            );
            nothing_is_locked(&database);
            assert!(value(&database.connect().unwrap(), "SELECT count(*) FROM u") >= 0);
        }
    }
}

/// A transaction for the checker.
fn done(appends: &[(u64, u64)], reads: &[(u64, &[u64])]) -> Done {
    Done {
        committed: true,
        appends: appends.to_vec(),
        reads: reads
            .iter()
            .map(|(key, read)| (*key, read.to_vec()))
            .collect(),
    }
}

#[test]
fn the_checker_finds_each_anomaly() {
    let lists = |a: &[u64], b: &[u64]| BTreeMap::from([(0, a.to_vec()), (1, b.to_vec())]);
    let mut undone = done(&[(0, 1)], &[]);
    undone.committed = false;
    let cases: [(&str, Vec<Done>, _, Isolation); 7] = [
        (
            "lost update",
            vec![done(&[(0, 1)], &[]), done(&[(0, 2)], &[])],
            lists(&[2], &[]),
            RC,
        ),
        ("G1a", vec![undone], lists(&[1], &[]), RC),
        (
            "G0 or G1a",
            vec![
                done(&[(0, 1)], &[]),
                done(&[(0, 2)], &[]),
                done(&[], &[(0, &[2])]),
            ],
            lists(&[1, 2], &[]),
            RC,
        ),
        (
            "G1b",
            vec![done(&[(0, 1), (0, 2)], &[]), done(&[], &[(0, &[1])])],
            lists(&[1, 2], &[]),
            RC,
        ),
        (
            "G1c",
            vec![done(&[(0, 1), (1, 2)], &[]), done(&[(0, 3), (1, 4)], &[])],
            lists(&[1, 3], &[4, 2]),
            RC,
        ),
        (
            "G-single",
            vec![
                done(&[(0, 1), (1, 2)], &[]),
                done(&[], &[(0, &[]), (1, &[2])]),
            ],
            lists(&[1], &[2]),
            RR,
        ),
        (
            "",
            vec![
                done(&[(0, 1), (1, 2)], &[]),
                done(&[], &[(0, &[]), (1, &[2])]),
            ],
            lists(&[1], &[2]),
            RC,
        ),
    ];
    for (name, all, lists, isolation) in cases {
        let found = anomaly(&all, &lists, isolation);
        match name {
            "" => assert!(found.is_none(), "{found:?}"),
            _ => assert!(
                found.as_ref().is_some_and(|found| found.contains(name)),
                "{name}: {found:?}"
            ),
        }
    }
}
