//! What the child does for `commits`, `points`, `mixed` and `accounts`: prepared statements in loops, from one connection or many.

use std::sync::Barrier;
use std::time::Instant;

use arrow::array::AsArray;
use hushdb::{Connection, Database, ErrorKind, PreparedStatement, Value};

use crate::failure::{Failure, Result};

/// Makes `target.main.points` and fills it.
pub(crate) fn fill(connection: &Connection, rows: u64) -> Result<()> {
    connection
        .execute("CREATE TABLE target.main.points (k BIGINT PRIMARY KEY, s VARCHAR, x DOUBLE)")?;
    connection.execute(&format!(
        "INSERT INTO target.main.points SELECT range, 'row ' || range, range * 0.5 FROM range({rows})"
    ))?;
    connection.execute("CHECKPOINT target")?;
    Ok(())
}

/// Commits rows numbered from `first` to `first + count` one by one, dealt out to so many connections. Returns milliseconds.
pub(crate) fn commits(
    database: &Database,
    connections: u64,
    first: u64,
    count: u64,
) -> Result<f64> {
    together(database, connections, |connection, worker, begin| {
        let insert = connection.prepare("INSERT INTO target.main.t VALUES (?, ?, ?)");
        begin.wait();
        let insert = insert?;
        for n in (first + worker..first + count).step_by(connections as usize) {
            insert.execute(&[n.into(), format!("row {n}").into(), (n as f64 + 0.5).into()])?;
        }
        Ok(())
    })
}

/// Selects `count` rows by random keys. Returns milliseconds.
pub(crate) fn points(connection: &Connection, rows: u64, count: u64) -> Result<f64> {
    let select = connection.prepare("SELECT * FROM target.main.points WHERE k = ?")?;
    let mut keys = Keys::new(1, rows);
    for _ in 0..count / 4 {
        point(&select, keys.next())?;
    }
    let before = Instant::now();
    for _ in 0..count {
        point(&select, keys.next())?;
    }
    Ok(before.elapsed().as_secs_f64() * 1000.0)
}

/// Eight selects, one update, one insert, and again. Returns milliseconds.
pub(crate) fn mixed(
    database: &Database,
    connections: u64,
    count: u64,
    rows: u64,
    base: u64,
) -> Result<f64> {
    together(database, connections, |connection, worker, begin| {
        let prepared = [
            "SELECT * FROM target.main.points WHERE k = ?",
            "UPDATE target.main.points SET x = ? WHERE k = ?",
            "INSERT INTO target.main.points VALUES (?, ?, ?)",
        ];
        let prepared = prepared.map(|sql| connection.prepare(sql));
        begin.wait();
        let [select, update, insert] = prepared;
        let (select, update, insert) = (select?, update?, insert?);
        let mut keys = Keys::new(worker + 1, rows);
        for n in (worker..count).step_by(connections as usize) {
            let key = keys.next();
            match (n / connections) % 10 {
                8 => again_after_conflicts(&update, &[(n as f64).into(), key.into()])?,
                9 => {
                    let key = base + n;
                    let values = [key.into(), format!("row {key}").into(), 0.5.into()];
                    again_after_conflicts(&insert, &values)?;
                }
                _ => point(&select, key)?,
            }
        }
        Ok(())
    })
}

/// Makes pgbench's accounts and history, at so many branches. Returns milliseconds.
pub(crate) fn fill_accounts(connection: &Connection, scale: u64) -> Result<f64> {
    let before = Instant::now();
    for sql in [
        "CREATE TABLE target.main.accounts (aid BIGINT PRIMARY KEY, bid INTEGER, abalance BIGINT, filler VARCHAR)",
        "CREATE TABLE target.main.history (aid BIGINT, delta BIGINT)",
        &format!(
            "INSERT INTO target.main.accounts SELECT range, range // 100000, 0, repeat(' ', 84) FROM range({})",
            scale * 100_000
        ),
        "CHECKPOINT target",
    ] {
        connection.execute(sql)?;
    }
    Ok(before.elapsed().as_secs_f64() * 1000.0)
}

/// `count` transactions on random accounts: of a SELECT, or, where they are `changes`, of an UPDATE, a SELECT and an INSERT. Returns
/// milliseconds.
pub(crate) fn accounts(
    database: &Database,
    connections: u64,
    count: u64,
    scale: u64,
    changes: bool,
) -> Result<f64> {
    together(database, connections, |connection, worker, begin| {
        let prepared = [
            "UPDATE target.main.accounts SET abalance = abalance + $1 WHERE aid = $2",
            "SELECT abalance FROM target.main.accounts WHERE aid = $1",
            "INSERT INTO target.main.history VALUES ($1, $2)",
        ];
        // Who meets another on an account waits.
        let isolation = connection.run("SET default_transaction_isolation = 'read committed'");
        let prepared = prepared.map(|sql| connection.prepare(sql));
        begin.wait();
        isolation?;
        let [update, select, insert] = prepared;
        let (update, select, insert) = (update?, select?, insert?);
        let mut keys = Keys::new(worker + 1, scale * 100_000);
        for n in (worker..count).step_by(connections as usize) {
            let key = keys.next();
            if changes {
                connection.run("BEGIN")?;
                update.execute(&[n.into(), key.into()])?;
            }
            let mut rows = 0;
            for batch in select.execute(&[key.into()])? {
                rows += batch?.num_rows();
            }
            if rows != 1 {
                return Err(Failure(format!("account {key} has {rows} rows")));
            }
            if changes {
                insert.execute(&[key.into(), n.into()])?;
                connection.run("COMMIT")?;
            }
        }
        Ok(())
    })
}

fn again_after_conflicts(statement: &PreparedStatement, values: &[Value]) -> Result<()> {
    loop {
        match statement.execute(values) {
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            other => return Ok(other.map(drop)?),
        }
    }
}

fn point(select: &PreparedStatement, key: u64) -> Result<()> {
    for batch in select.execute(&[key.into()])? {
        let batch = batch?;
        let text = batch.column(1).as_string_view().value(0);
        if text.strip_prefix("row ").and_then(|n| n.parse().ok()) == Some(key) {
            return Ok(());
        }
    }
    Err(Failure(format!("key {key} does not have its row")))
}

/// Random keys below a number, the same for every subject.
struct Keys {
    state: u64,
    rows: u64,
}

impl Keys {
    fn new(seed: u64, rows: u64) -> Self {
        Self { state: seed, rows }
    }

    /// Knuth's MMIX generator, its upper half.
    fn next(&mut self) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % self.rows
    }
}

/// Does `work` on so many connections at once, each with its number. It prepares, waits for the others, and begins.
/// Returns milliseconds since all were ready.
fn together(
    database: &Database,
    connections: u64,
    work: impl Fn(&Connection, u64, &Barrier) -> Result<()> + Sync,
) -> Result<f64> {
    let begin = Barrier::new(connections as usize + 1);
    let all = (0..connections).map(|_| database.connect());
    let all: Vec<Connection> = all.collect::<std::result::Result<_, _>>()?;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..)
            .zip(&all)
            .map(|(worker, connection)| {
                let (begin, work) = (&begin, &work);
                scope.spawn(move || work(connection, worker, begin))
            })
            .collect();
        begin.wait();
        let before = Instant::now();
        for worker in workers {
            worker
                .join()
                .map_err(|_| Failure("a connection panicked".to_owned()))??;
        }
        Ok(before.elapsed().as_secs_f64() * 1000.0)
    })
}
