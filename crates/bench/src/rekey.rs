//! The benchmark of a new master key: what goes on beside `ALTER DATABASE ... REKEY` against the same alone, and REKEY against a copy into a
//! new encrypted file. TPC-H tables in one encrypted file, in this process; every commit synced, nothing throttled.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hushdb::tpch::{QUERIES, query};
use hushdb::{Connection, Database, DatabaseOptions, KeySource, Value};
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::report::Report;
use crate::samples::Samples;

/// A raw key, so that nothing is stretched. It protects nothing: the data is public.
const KEY: &str = "hex:5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";
/// Between two looks at the sizes of files.
const LOOK: Duration = Duration::from_millis(5);
const MIB: f64 = (1 << 20) as f64;

/// How much is measured.
pub(crate) struct Plan {
    /// Scale factor of TPC-H.
    pub(crate) sf: f64,
    /// Of each measurement of commits.
    pub(crate) seconds: u64,
    /// Rounds.
    pub(crate) runs: u32,
}

/// Measures, in a file in `dir` that is removed in the end.
///
/// # Errors
/// When a statement fails.
pub(crate) fn measure(dir: &Path, plan: &Plan) -> Result<[Report; 2]> {
    std::fs::create_dir_all(dir)?;
    let (path, copy) = (dir.join("sealed.hushdb"), dir.join("copied.hushdb"));
    remove(&path);
    let options = DatabaseOptions {
        key: Some(KeySource::Text(KEY.into())),
        ..DatabaseOptions::default()
    };
    let database = Database::open_with(Some(&path), options)?;
    let connection = database.connect()?;
    eprintln!("rekey: generating scale factor {}", plan.sf);
    connection.execute(&format!("CALL dbgen(sf = {})", plan.sf))?;
    connection.execute("CREATE TABLE added (n BIGINT, s VARCHAR)")?;
    connection.execute("CHECKPOINT")?;
    let before = length_of(&path);
    // The file has no room in it yet.
    let (done, most) = longest_while(&path, || rekey(&connection));
    if !done? {
        return Err(Failure("something keeps REKEY from ending".into()));
    }
    let first_space = most.saturating_sub(before) as f64 / MIB;
    // Threads, allocator and buffer pool come to life before the clock runs.
    all_queries(&connection)?;
    let conditions = json!({"scale factor": plan.sf, "rounds": plan.runs, "seconds": plan.seconds,
        "file MiB": (length_of(&path) as f64 / MIB).round(), "encrypted": true});
    let subjects = vec!["alone", "beside REKEY"];
    let mut beside = Report::new("rekey", conditions.clone(), subjects, vec![(1, 0)]);
    measure_beside(&database, &connection, plan, &mut beside)?;
    let subjects = vec!["copy", "REKEY"];
    let mut against = Report::new("rekey against a copy", conditions, subjects, vec![(1, 0)]);
    measure_against_copy(&connection, [&path, &copy], plan, &mut against)?;
    let first_space = [f64::NAN, first_space].map(|space| Samples::from_iter([space]));
    against.add_detail("the same, the first time", "MiB", first_space.to_vec());
    drop((connection, database));
    remove(&path);
    Ok([beside, against])
}

/// Queries and commits, alone and while the database is sealed anew again and again.
fn measure_beside(
    database: &Database,
    connection: &Connection,
    plan: &Plan,
    report: &mut Report,
) -> Result<()> {
    let mut figures: [Vec<Samples>; 5] = std::array::from_fn(|_| vec![Samples::default(); 2]);
    for round in 0..plan.runs {
        eprintln!("rekey: round {} of {}", round + 1, plan.runs);
        for with_rekey in [false, true] {
            let queries = || all_queries(connection);
            let commits = || one_row_commits(connection, Duration::from_secs(plan.seconds));
            let ((seconds, sealed), (times, sealed_beside_commits)) = match with_rekey {
                false => ((queries()?, f64::NAN), (commits()?, f64::NAN)),
                true => (
                    beside_rekey(database, queries)?,
                    beside_rekey(database, commits)?,
                ),
            };
            let values = [
                seconds,
                sealed,
                times.len() as f64 / plan.seconds as f64,
                percentile(times, 0.99),
                sealed_beside_commits,
            ];
            for (figure, value) in figures.iter_mut().zip(values) {
                figure[usize::from(with_rekey)].push(value);
            }
        }
    }
    let [queries, sealed, rates, p99, sealed_beside_commits] = figures;
    report.add("22 queries", "s", queries);
    report.add_detail("times that all was sealed anew", "", sealed);
    report.add("one-row commits", "1/s", rates);
    report.add_detail("99 in 100 within", "ms", p99);
    report.add_detail("times that all was sealed anew", "", sealed_beside_commits);
    Ok(())
}

/// REKEY with nothing beside it, against COPY FROM DATABASE, and what the files grow by meanwhile.
fn measure_against_copy(
    connection: &Connection,
    [path, copy]: [&PathBuf; 2],
    plan: &Plan,
    report: &mut Report,
) -> Result<()> {
    let (mut times, mut space) = (vec![Samples::default(); 2], vec![Samples::default(); 2]);
    for round in 0..plan.runs {
        eprintln!(
            "rekey: against a copy, round {} of {}",
            round + 1,
            plan.runs
        );
        remove(copy);
        let began = Instant::now();
        connection.execute(&format!(
            "ATTACH '{}' AS copied (ENCRYPTION_KEY '{KEY}')",
            copy.display()
        ))?;
        connection.execute("COPY FROM DATABASE sealed TO copied")?;
        connection.execute("DETACH copied")?;
        times[0].push(began.elapsed().as_secs_f64());
        remove(copy);
        connection.execute("CHECKPOINT")?;
        let before = length_of(path);
        let began = Instant::now();
        let (done, most) = longest_while(path, || rekey(connection));
        if !done? {
            return Err(Failure("something keeps REKEY from ending".into()));
        }
        times[1].push(began.elapsed().as_secs_f64());
        space[1].push(most.saturating_sub(before) as f64 / MIB);
        space[0].push(f64::NAN);
    }
    report.add("all of the database", "s", times);
    report.add_detail("space beyond the file", "MiB", space);
    Ok(())
}

/// Seconds of all 22 queries, one after the other.
fn all_queries(connection: &Connection) -> Result<f64> {
    let began = Instant::now();
    for sql in (1..=QUERIES).filter_map(query) {
        connection.execute(sql)?.collect_batches()?;
    }
    Ok(began.elapsed().as_secs_f64())
}

/// Milliseconds of each commit of one row.
fn one_row_commits(connection: &Connection, length: Duration) -> Result<Vec<f64>> {
    let insert =
        connection.prepare("INSERT INTO added VALUES (?, 'a row of some length, as rows are')")?;
    let (mut times, began) = (Vec::new(), Instant::now());
    while began.elapsed() < length {
        let before = Instant::now();
        insert.execute(&[Value::from(times.len() as i64)])?;
        times.push(before.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(times)
}

/// Does something while another connection seals the database anew under one master key after the other; and how often it ended that.
fn beside_rekey<T>(database: &Database, work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let over = AtomicBool::new(false);
    let connection = database.connect()?;
    std::thread::scope(|scope| {
        let rekeys = scope.spawn(|| {
            let mut ended = 0.0;
            while !over.load(Ordering::Acquire) {
                ended += f64::from(u8::from(rekey(&connection)?));
            }
            Ok::<_, Failure>(ended)
        });
        let done = work();
        over.store(true, Ordering::Release);
        let ended = rekeys.join();
        let ended = ended.map_err(|_| Failure("REKEY panicked".into()))??;
        Ok((done?, ended))
    })
}

/// Gives the database another master key, and seals all of it anew. `false`: others keep that from ending, or the one before.
fn rekey(connection: &Connection) -> Result<bool> {
    let sql = format!("ALTER DATABASE sealed REKEY (KEEP SLOT 0 (ENCRYPTION_KEY '{KEY}'))");
    match connection
        .execute(&sql)
        .and_then(|rows| rows.collect_batches())
    {
        Ok(_) => {}
        Err(error) if error.to_string().contains("the data key is being changed") => {
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    }
    let sql = "SELECT 1 FROM rekey_progress() WHERE state <> 'done'";
    let left = connection.execute(sql)?.collect_batches()?;
    Ok(left.iter().all(|batch| batch.num_rows() == 0))
}

/// The most bytes that a database and its logs have while something is done.
fn longest_while<T>(path: &Path, work: impl FnOnce() -> T) -> (T, u64) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let mut most = length_of(path);
            while !over.load(Ordering::Acquire) {
                std::thread::sleep(LOOK);
                most = most.max(length_of(path));
            }
            most
        });
        let done = work();
        over.store(true, Ordering::Release);
        let most = looks.join().unwrap_or(u64::MAX);
        (done, most)
    })
}

/// Bytes of a database and its logs.
fn length_of(path: &Path) -> u64 {
    let lengths = files(path).map(|file| std::fs::metadata(file).map_or(0, |file| file.len()));
    lengths.iter().sum()
}

fn remove(path: &Path) {
    for file in files(path) {
        let _ = std::fs::remove_file(file);
    }
}

fn files(path: &Path) -> [PathBuf; 3] {
    ["", ".wal", ".wal.next"].map(|end| PathBuf::from(format!("{}{end}", path.display())))
}

fn percentile(mut times: Vec<f64>, share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    let at = (times.len() as f64 * share) as usize;
    times.get(at).copied().unwrap_or(f64::NAN)
}
