//! tokio-postgres: types that it asks for, values in binary, COPY, portals, transactions, a query that is cancelled.

use futures_util::SinkExt;
use std::time::{Duration, SystemTime};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, NoTls};
use uuid::Uuid;

type Done = Result<(), Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done {
    let variable = |name: &str| std::env::var(name);
    let mut config = Config::new();
    // Over the Unix socket, where TLS is not asked for.
    config.host_path(variable("HUSH_SOCKETS")?);
    config.port(variable("PGPORT")?.parse()?);
    config.user(variable("PGUSER")?).password(variable("PGPASSWORD")?);
    config.dbname(variable("PGDATABASE")?);
    let (mut client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    client
        .batch_execute(
            "DROP TABLE IF EXISTS tk;
             CREATE TABLE tk (id BIGINT PRIMARY KEY, name TEXT, f FLOAT8, at TIMESTAMPTZ, b BYTEA, tags TEXT[], u UUID, ok BOOLEAN, i INT)",
        )
        .await?;
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let (u, tags) = (Uuid::from_u128(7), vec!["x", "y"]);
    let insert = client
        .prepare("INSERT INTO tk VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)")
        .await?;
    for id in 0..10_i64 {
        let name = (id % 2 == 0).then_some("even");
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 9] =
            [&id, &name, &1.5, &at, &&[0_u8, 255][..], &tags, &u, &true, &7_i32];
        assert_eq!(client.execute(&insert, &values).await?, 1);
    }
    let row = client.query_one("SELECT * FROM tk WHERE id = $1", &[&3_i64]).await?;
    assert_eq!(row.get::<_, Option<&str>>("name"), None);
    assert_eq!((row.get::<_, f64>("f"), row.get::<_, SystemTime>("at")), (1.5, at));
    assert_eq!(row.get::<_, &[u8]>("b"), [0, 255]);
    assert_eq!((row.get::<_, Vec<&str>>("tags"), row.get::<_, Uuid>("u")), (tags, u));
    let found = client
        .query("SELECT id FROM tk WHERE id = ANY($1) ORDER BY id", &[&vec![1_i64, 2, 99]])
        .await?;
    assert_eq!(found.len(), 2);
    let sink = client.copy_in("COPY tk (id, name) FROM STDIN").await?;
    let mut sink = std::pin::pin!(sink);
    sink.send(bytes::Bytes::from_static(b"100\tc\n101\t\\N\n")).await?;
    assert_eq!(sink.finish().await?, 2);
    let transaction = client.transaction().await?;
    let portal = transaction.bind("SELECT id FROM tk ORDER BY id", &[]).await?;
    assert_eq!(transaction.query_portal(&portal, 5).await?.len(), 5);
    assert_eq!(transaction.query_portal(&portal, 100).await?.len(), 7);
    let twice = transaction.execute("INSERT INTO tk (id) VALUES (1)", &[]).await;
    assert_eq!(twice.unwrap_err().code(), Some(&SqlState::UNIQUE_VIOLATION));
    transaction.rollback().await?;
    let cancel = client.cancel_token();
    let endless = "SELECT sum(a.i * b.i % 7) FROM generate_series(1, 100000000) a(i), generate_series(1, 1000) b(i)";
    let wait = async {
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_millis(100));
        cancel.cancel_query(NoTls).await
    };
    let (ended, cancelled) = futures_util::join!(client.batch_execute(endless), wait);
    cancelled?;
    assert_eq!(ended.unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
    client.batch_execute("DROP TABLE tk").await?;
    Ok(())
}
