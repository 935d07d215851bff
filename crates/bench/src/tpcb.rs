//! `tpcb`: the transactions of TPC-B as pgbench has them, from threads of this process under READ COMMITTED; `updates`: one key,
//! changed again and again, and many keys in one transaction. Each on an encrypted file, every commit synced, statements prepared.

use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hushdb::{
    Connection, Database, DatabaseOptions, Isolation, KeySource, PreparedStatement, Value,
};
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::report::Report;
use crate::samples::Samples;

/// Connections at once, and whether locks go when a commit is queued.
const CASES: [(usize, bool); 3] = [(4, true), (64, true), (64, false)];
/// Updates that make one measurement of `updates`.
const THOUSAND: u32 = 1000;

/// What happened to the transactions of all connections.
#[derive(Default)]
struct Seen {
    /// Milliseconds of each that committed.
    times: Vec<f64>,
    /// Those that failed with 40001, and with 40P01.
    failed: [u32; 2],
    /// Microseconds of processors that all took together, where the system counts them.
    busy: f64,
}

/// Runs transactions for `seconds` at a time, on one branch and on `scale` of them.
///
/// # Errors
/// When a statement fails with anything but 40001 or 40P01, and when the balances do not agree at the end.
pub(crate) fn measure(dir: &Path, scale: i64, seconds: u64, runs: u32) -> Result<Report> {
    let conditions = json!({"scale": scale, "seconds": seconds, "rounds": runs, "encrypted": true});
    let subjects = vec![
        "4 connections",
        "64 connections",
        "64 connections, early_release off",
    ];
    let mut report = Report::new("tpcb", conditions, subjects, vec![(1, 0), (1, 2)]);
    let mut scales = vec![1, scale];
    scales.dedup();
    for scale in scales {
        let none = vec![Samples::default(); CASES.len()];
        let mut figures: [Vec<Samples>; 5] = std::array::from_fn(|_| none.clone());
        for round in 0..runs {
            for (at, case) in CASES.into_iter().enumerate() {
                eprintln!("tpcb, scale {scale}, {case:?}, round {round}");
                let seen = one_round(dir, scale, case, Duration::from_secs(seconds))?;
                let committed = seen.times.len() as f64;
                let values = [
                    committed / seconds as f64,
                    seen.busy / committed,
                    percentile(seen.times, 0.99),
                    f64::from(seen.failed[0]),
                    f64::from(seen.failed[1]),
                ];
                for (figure, value) in figures.iter_mut().zip(values) {
                    figure[at].push(value);
                }
            }
        }
        let [rates, busy, p99, conflicts, deadlocks] = figures;
        report.add(format!("scale {scale}"), "1/s", rates);
        report.add_detail("processors, for each", "us", busy);
        report.add_detail("99 in 100 within", "ms", p99);
        report.add_detail("failed with 40001", "", conflicts);
        report.add_detail("failed with 40P01", "", deadlocks);
    }
    Ok(report)
}

/// The time within which a share of all ended; NaN for none.
pub(crate) fn percentile(mut times: Vec<f64>, share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    let at = (times.len() as f64 * share) as usize;
    times.get(at).copied().unwrap_or(f64::NAN)
}

/// A new encrypted database, and a connection that makes its tables.
pub(crate) fn fresh(dir: &Path) -> Result<(Database, Connection)> {
    fresh_with(dir, DatabaseOptions::default())
}

/// The same with options, but for the key.
pub(crate) fn fresh_with(dir: &Path, options: DatabaseOptions) -> Result<(Database, Connection)> {
    std::fs::create_dir_all(dir)?;
    let path = dir.join("tpcb.hushdb");
    for suffix in ["", ".wal", ".wal.next"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
    }
    let options = DatabaseOptions {
        key: Some(KeySource::Text(format!("hex:{}", "5a".repeat(32)).into())),
        ..options
    };
    let database = Database::open_with(Some(&path), options)?;
    let connection = database.connect()?;
    Ok((database, connection))
}

fn one_round(
    dir: &Path,
    scale: i64,
    (connections, is_early): (usize, bool),
    length: Duration,
) -> Result<Seen> {
    let (database, first) = fresh(dir)?;
    first.execute(&format!("SET early_release = {is_early}"))?;
    for sql in [
        "CREATE TABLE branches (bid INTEGER PRIMARY KEY, bbalance INTEGER)",
        "CREATE TABLE tellers (tid INTEGER PRIMARY KEY, bid INTEGER, tbalance INTEGER)",
        "CREATE TABLE accounts (aid INTEGER PRIMARY KEY, bid INTEGER, abalance INTEGER, filler VARCHAR)",
        "CREATE TABLE history (tid INTEGER, bid INTEGER, aid INTEGER, delta INTEGER)",
        &format!("INSERT INTO branches SELECT range, 0 FROM range({scale})"),
        &format!(
            "INSERT INTO tellers SELECT range, range // 10, 0 FROM range({})",
            scale * 10
        ),
        &format!(
            "INSERT INTO accounts SELECT range, range // 100000, 0, repeat(' ', 84) FROM range({})",
            scale * 100_000
        ),
        "CHECKPOINT",
    ] {
        first.execute(sql)?;
    }
    let begin = Barrier::new(connections);
    let before = processor_time();
    let mut seen = std::thread::scope(|scope| {
        let clients = (0..connections).map(|client| {
            let (database, begin) = (&database, &begin);
            scope.spawn(move || {
                let connection = database.connect_with(Isolation::ReadCommitted)?;
                let client = Client::new(&connection, scale, client as u64)?;
                begin.wait();
                client.run(length)
            })
        });
        let clients: Vec<_> = clients.collect();
        let mut all = Seen::default();
        for client in clients {
            let seen = client
                .join()
                .map_err(|_| Failure("a client panicked".into()))??;
            all.times.extend(seen.times);
            for (sum, failed) in all.failed.iter_mut().zip(seen.failed) {
                *sum += failed;
            }
        }
        Ok::<_, Failure>(all)
    })?;
    let busy = processor_time().zip(before).map(|(now, then)| now - then);
    seen.busy = busy.unwrap_or(f64::NAN);
    agree(&first, seen.times.len())?;
    Ok(seen)
}

/// The balances of all three tables and of the history are one sum, and each transaction has left one row there.
fn agree(connection: &Connection, transactions: usize) -> Result<()> {
    let sql = "SELECT (SELECT sum(abalance) FROM accounts) = (SELECT sum(delta) FROM history)
                  AND (SELECT sum(tbalance) FROM tellers) = (SELECT sum(delta) FROM history)
                  AND (SELECT sum(bbalance) FROM branches) = (SELECT sum(delta) FROM history), count(*)
               FROM history";
    let batches = connection.execute(sql)?.collect_batches()?;
    let batch = batches.iter().find(|batch| batch.num_rows() > 0);
    let batch = batch.ok_or_else(|| Failure("no sums".into()))?;
    let text = |column| {
        hushdb::value_text(batch.column(column), 0).map_err(|error| Failure(error.to_string()))
    };
    match (text(0)?.as_deref(), text(1)?) {
        (Some("true"), Some(rows)) if rows == transactions.to_string() => Ok(()),
        other => Err(Failure(format!(
            "{transactions} transactions left {other:?}"
        ))),
    }
}

/// Microseconds of processors that this process has had, which Linux counts in hundredths of a second.
fn processor_time() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the program's name, in which anything may stand.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) * 10_000.0)
}

/// One connection with its statements.
struct Client<'a> {
    connection: &'a Connection,
    statements: [PreparedStatement; 5],
    scale: i64,
    seed: u64,
}

impl<'a> Client<'a> {
    fn new(connection: &'a Connection, scale: i64, seed: u64) -> Result<Self> {
        let prepare = |sql| connection.prepare(sql);
        Ok(Self {
            connection,
            statements: [
                prepare("UPDATE accounts SET abalance = abalance + $1 WHERE aid = $2")?,
                prepare("SELECT abalance FROM accounts WHERE aid = $1")?,
                prepare("UPDATE tellers SET tbalance = tbalance + $1 WHERE tid = $2")?,
                prepare("UPDATE branches SET bbalance = bbalance + $1 WHERE bid = $2")?,
                prepare("INSERT INTO history VALUES ($1, $2, $3, $4)")?,
            ],
            scale,
            seed,
        })
    }

    fn run(mut self, length: Duration) -> Result<Seen> {
        let mut seen = Seen::default();
        let began = Instant::now();
        while began.elapsed() < length {
            let before = Instant::now();
            let keys = [
                self.below(100_000 * self.scale),
                self.below(10 * self.scale),
                self.below(self.scale),
                self.below(10_001) - 5000,
            ];
            match self.transaction(keys) {
                Ok(()) => seen.times.push(before.elapsed().as_secs_f64() * 1000.0),
                Err(error) => {
                    match error.sqlstate() {
                        "40001" => seen.failed[0] += 1,
                        "40P01" => seen.failed[1] += 1,
                        _ => return Err(error.into()),
                    }
                    if self.connection.in_transaction() {
                        self.connection.execute("ROLLBACK")?;
                    }
                }
            }
        }
        Ok(seen)
    }

    fn transaction(&self, [aid, tid, bid, delta]: [i64; 4]) -> hushdb::Result<()> {
        let [account, select, teller, branch, history] = &self.statements;
        let values = |values: &[i64]| values.iter().map(|n| Value::from(*n)).collect::<Vec<_>>();
        self.connection.run("BEGIN")?;
        account.execute(&values(&[delta, aid]))?;
        for batch in select.execute(&values(&[aid]))? {
            batch?;
        }
        teller.execute(&values(&[delta, tid]))?;
        branch.execute(&values(&[delta, bid]))?;
        history.execute(&values(&[tid, bid, aid, delta]))?;
        self.connection.run("COMMIT").map(drop)
    }

    /// Knuth's MMIX generator, its upper half.
    fn below(&mut self, end: i64) -> i64 {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.seed >> 33) as i64) % end
    }
}

/// Updates one key `count` times: microseconds of an update in the first thousand and in the last.
///
/// # Errors
/// When a statement fails.
pub(crate) fn updates(dir: &Path, count: u32, runs: u32) -> Result<Report> {
    let conditions = json!({"updates": count, "rounds": runs, "encrypted": true});
    let subjects = vec!["first 1,000", "last 1,000"];
    let mut report = Report::new("updates", conditions, subjects, vec![(1, 0)]);
    let mut samples = vec![Samples::default(); 2];
    for round in 0..=runs {
        eprintln!("updates, round {round} of {runs}");
        let (_database, connection) = fresh(dir)?;
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")?;
        connection.execute("INSERT INTO t SELECT range, 0 FROM range(1000)")?;
        // A checkpoint would heal what is measured, and a sync hide it.
        connection.execute("SET wal_autocheckpoint = '4GB'; SET synchronous = 'off'")?;
        let update = connection.prepare("UPDATE t SET a = ? WHERE id = 7")?;
        let thousand = |from: u32| -> Result<f64> {
            let before = Instant::now();
            for value in from..from + THOUSAND {
                update.execute(&[i64::from(value).into()])?;
            }
            Ok(before.elapsed().as_secs_f64() * 1e6 / f64::from(THOUSAND))
        };
        let first = thousand(0)?;
        let mut last = first;
        for from in 1..count / THOUSAND {
            last = thousand(from * THOUSAND)?;
        }
        if round > 0 {
            samples[0].push(first);
            samples[1].push(last);
        }
    }
    report.add("update by key", "us", samples);
    let mut samples = vec![Samples::default(); 2];
    for round in 0..=runs {
        eprintln!("updates in one transaction, round {round} of {runs}");
        let [first, last] = in_one_transaction(dir)?;
        if round > 0 {
            samples[0].push(first);
            samples[1].push(last);
        }
    }
    report.add(
        "the same in one transaction of 10,000, beside commits",
        "us",
        samples,
    );
    Ok(report)
}

/// Microseconds of an update in the first and in the last thousand of a transaction that changes 10,000 rows, one after the other,
/// while another connection commits changes of other rows.
fn in_one_transaction(dir: &Path) -> Result<[f64; 2]> {
    let (database, first) = fresh(dir)?;
    first.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")?;
    first.execute("INSERT INTO t SELECT range, 0 FROM range(100000)")?;
    first.execute("SET synchronous = 'off'")?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| -> Result<()> {
            let connection = database.connect_with(Isolation::ReadCommitted)?;
            let update = connection.prepare("UPDATE t SET a = a + 1 WHERE id = ?")?;
            for n in (0..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                update.execute(&[Value::from(50_000 + n % 50_000)])?;
            }
            Ok(())
        });
        let work = || -> Result<[f64; 2]> {
            let connection = database.connect_with(Isolation::ReadCommitted)?;
            let update = connection.prepare("UPDATE t SET a = a + 1 WHERE id = ?")?;
            connection.execute("BEGIN")?;
            let mut times = Vec::new();
            for thousand in 0..10 {
                let before = Instant::now();
                for n in 0..i64::from(THOUSAND) {
                    // Scattered, each once.
                    update.execute(&[Value::from((thousand * 1000 + n) * 7919 % 50_000)])?;
                }
                times.push(before.elapsed().as_secs_f64() * 1e6 / f64::from(THOUSAND));
            }
            connection.execute("COMMIT")?;
            Ok([times[0], times[9]])
        };
        let times = work();
        is_over.store(true, Ordering::Relaxed);
        beside
            .join()
            .map_err(|_| Failure("who commits beside it panicked".into()))??;
        times
    })
}
