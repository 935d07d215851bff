//! Statements within somebody else's runtime.
//!
//! What must hold: statements that are started run on the database's threads and end with whoever let them go; calls that wait
//! never panic, whichever runtime's thread they are made on.

use hushdb::{Connection, Database, ErrorKind, ResultKind};
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// Far more rows than anybody waits for.
const ENDLESS: &str = "SELECT a.i + b.j AS n FROM range(10000000) a(i), range(10000000) b(j)";

/// Both kinds of runtime, neither with what the database's own has.
fn runtimes() -> [Runtime; 2] {
    [Builder::new_current_thread(), Builder::new_multi_thread()]
        .map(|mut builder| builder.worker_threads(1).build().unwrap())
}

/// Does the same on a task of each.
fn in_each<T: Future<Output = ()> + Send + 'static>(work: impl Fn(Connection) -> T) {
    for runtime in runtimes() {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        connection
            .execute("CREATE TABLE t AS SELECT i FROM range(300000) r(i)")
            .unwrap();
        let task = runtime.spawn(work(connection));
        runtime.block_on(task).unwrap();
    }
}

#[test]
fn rows_are_awaited() {
    in_each(|connection| async move {
        let mut running = connection
            .start("SELECT i * 2 AS d FROM t ORDER BY d DESC")
            .unwrap();
        assert_eq!(running.schema().await.unwrap().field(0).name(), "d");
        let mut rows = 0;
        while let Some(batch) = running.next().await {
            rows += batch.unwrap().num_rows();
        }
        assert_eq!(rows, 300_000);
        let mut running = connection.start("DELETE FROM t WHERE i < 10").unwrap();
        assert_eq!(running.kind().await.unwrap(), ResultKind::Count(10));
        let insert = connection.prepare("INSERT INTO t VALUES (?)").unwrap();
        let mut running = insert.start(vec![7.into()]).unwrap();
        assert_eq!(running.kind().await.unwrap(), ResultKind::Count(1));
    });
}

#[test]
fn errors_are_awaited() {
    in_each(|connection| async move {
        let mut unknown = connection.start("FROM nothing").unwrap();
        let error = unknown.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Catalog);
        assert!(unknown.next().await.is_none());
        let sql = "SELECT CAST(CASE WHEN i = 250000 THEN 'x' ELSE '1' END AS INTEGER) FROM t";
        let mut running = connection.start(sql).unwrap();
        let error = loop {
            match running.next().await {
                Some(Ok(_)) => {}
                other => break other.unwrap().unwrap_err(),
            }
        };
        assert_eq!(error.kind(), ErrorKind::Conversion);
        assert!(running.next().await.is_none());
        assert!(connection.start("SELEC 1").is_err());
    });
}

#[test]
fn what_is_let_go_is_cancelled() {
    in_each(|connection| async move {
        let began = Instant::now();
        let mut running = connection.start(ENDLESS).unwrap();
        running.next().await.unwrap().unwrap();
        // One that has its turn, and one that has not had it yet.
        let sorting = connection.start(&format!("{ENDLESS} ORDER BY n")).unwrap();
        let waiting = connection.start("CREATE TABLE never AS FROM t").unwrap();
        drop((waiting, sorting, running));
        let mut after = connection.start("SELECT count(*) FROM t").unwrap();
        assert_eq!(after.next().await.unwrap().unwrap().num_rows(), 1);
        let never = connection.start("FROM never").unwrap().next().await;
        assert!(never.unwrap().is_err());
        assert!(began.elapsed() < Duration::from_secs(20));
    });
}

#[test]
fn calls_that_wait_do_not_panic_there() {
    in_each(|connection| async move {
        let sum = connection
            .execute("SELECT sum(i) FROM (SELECT i FROM t ORDER BY random()) GROUP BY i % 3")
            .unwrap();
        assert_eq!(sum.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 3);
        connection.execute("UPDATE t SET i = i + 1").unwrap();
        let mut rows = connection.execute(ENDLESS).unwrap();
        rows.next().unwrap().unwrap();
        drop(rows);
        drop(connection);
        let database = Database::open_in_memory().unwrap();
        database.connect().unwrap().execute("SELECT 1").unwrap();
    });
}
