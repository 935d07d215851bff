//! Histories from a seed: transactions on threads that append to lists and read them, and what is wrong with what they saw.
//!
//! What must hold: what `anomalies.rs` says, which the simulator has too.

#[path = "../../../sim/src/histories/anomalies.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is a part of the simulator")]
mod anomalies;

use self::anomalies::{Done, End, anomaly};
use super::{RC, RR, nothing_is_locked, run, value};
use hushdb::{Connection, Database, Error, Isolation};
use std::collections::BTreeMap;
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
                    let mut done = Done {
                        sees_one_state: isolation == RR,
                        ..Done::default()
                    };
                    let begun = transaction(&connection, &mut dice, ids, &mut done);
                    let ended = begun.and_then(|commits| {
                        if commits {
                            done.end = End::Committed;
                        }
                        let end = if commits { "COMMIT" } else { "ROLLBACK" };
                        run(&connection, end)
                    });
                    if let Err(error) = ended {
                        done.end = End::Undone;
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
            let committed = all.iter().filter(|done| done.end == End::Committed).count() as u64;
            assert!(committed > THREADS * TRANSACTIONS / 8, "{committed}");
            let found = anomaly(&all, &lists);
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
