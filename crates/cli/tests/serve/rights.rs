//! What a role may do changes while it is connected, and counts from the next statement on, as in PostgreSQL.

use crate::client::Client;
use crate::instance::{PASSWORD, Running, made};

fn sqlstate(client: &mut Client, sql: &str) -> String {
    client
        .run(sql)
        .map_or_else(|error| error.sqlstate, |_| "00000".into())
}

#[test]
fn rights_are_those_of_now() {
    let place = made();
    let server = Running::start(place.path());
    let mut hush = Client::connect(&server, "hush", "hush", PASSWORD);
    for sql in [
        "CREATE TABLE t (i INT)",
        "CREATE USER alice PASSWORD 'of alice' CREATEDB",
        "CREATE DATABASE a OWNER alice",
        "CREATE USER boss PASSWORD 'of boss' SUPERUSER",
    ] {
        hush.run(sql).unwrap();
    }
    let mut alice = Client::connect(&server, "alice", "a", "of alice");
    assert_eq!(sqlstate(&mut alice, "CREATE DATABASE b"), "00000");
    hush.run("ALTER ROLE alice NOCREATEDB").unwrap();
    assert_eq!(sqlstate(&mut alice, "CREATE DATABASE c"), "42501");
    assert_eq!(sqlstate(&mut alice, "SELECT 1"), "00000");
    // NOLOGIN keeps nobody from going on, as in PostgreSQL, but from coming in.
    hush.run("ALTER ROLE alice NOLOGIN CREATEDB").unwrap();
    assert_eq!(sqlstate(&mut alice, "CREATE DATABASE c"), "00000");
    let again = Client::try_connect(&server, "alice", "a", "of alice");
    assert_eq!(again.unwrap_err().sqlstate, "28000");

    let mut boss = Client::connect(&server, "boss", "hush", "of boss");
    boss.run("BEGIN").unwrap();
    boss.run("INSERT INTO t VALUES (1)").unwrap();
    hush.run("ALTER ROLE boss NOSUPERUSER").unwrap();
    assert_eq!(sqlstate(&mut boss, "SELECT * FROM t"), "42501");
    assert_eq!(boss.run("ROLLBACK").unwrap(), ["ROLLBACK"]);
    assert_eq!(sqlstate(&mut boss, "CREATE USER x"), "42501");
    assert_eq!(
        sqlstate(&mut boss, "SELECT pid FROM pg_stat_activity"),
        "42501"
    );
    hush.run("ALTER ROLE boss SUPERUSER").unwrap();
    assert_eq!(sqlstate(&mut boss, "CREATE USER x"), "00000");
    hush.run("DROP ROLE boss").unwrap();
    for sql in [
        "SELECT * FROM t",
        "CREATE USER y",
        "COPY t TO STDOUT",
        "DROP USER x",
    ] {
        assert_eq!(sqlstate(&mut boss, sql), "42501", "{sql}");
    }
    assert_eq!(sqlstate(&mut hush, "DROP ROLE hush"), "55006");
    assert_eq!(hush.rows("SELECT count(*) FROM t"), [["0"]]);
    server.stop();
}
