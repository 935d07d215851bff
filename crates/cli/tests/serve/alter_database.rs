//! ALTER DATABASE while others read and write: another key, also when the server is killed within it; another name and another owner.

use crate::backups::{COMPARED, FILLED, copy, with_raw_key};
use crate::client::Client;
use crate::instance::{PASSWORD, Running};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

fn sqlstate(client: &mut Client, sql: &str) -> String {
    client
        .run(sql)
        .map_or_else(|error| error.sqlstate, |_| "00000".into())
}

#[test]
fn a_database_gets_another_key_while_others_read_and_write() {
    let (place, key) = with_raw_key();
    let out = tempfile::tempdir().unwrap();
    let server = Running::start_by(place.path(), &key, &[]);
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for sql in FILLED {
        client.run(sql).unwrap();
    }
    client.run("CREATE TABLE w (i INT PRIMARY KEY)").unwrap();
    client.run("CHECKPOINT").unwrap();
    let rows = client.rows(COMPARED);
    let (old, new) = (out.path().join("old"), out.path().join("new"));
    copy(place.path(), &old);
    let ended = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut writer = Client::connect(&server, "hush", "hush", PASSWORD);
            let mut inserts = (0..).take_while(|_| !ended.load(Ordering::Acquire));
            let failed = inserts.find(|i| {
                let insert = writer.run(&format!("INSERT INTO w VALUES ({i})"));
                insert.is_err()
            });
            assert_eq!(failed, None::<u64>);
            writer.rows("SELECT count(*) FROM w")
        });
        let changes = ["ROTATE KEY", "rotate data key", "ROTATE KEY"];
        let done = changes.map(|change| {
            let done = client.run(&format!("ALTER DATABASE hush {change}"));
            (done.map_err(|error| error.message), client.rows(COMPARED))
        });
        ended.store(true, Ordering::Release);
        for (done, seen) in done {
            assert_eq!(done.unwrap(), ["ALTER DATABASE"]);
            assert_eq!(seen, rows);
        }
        writer.join().unwrap()
    });
    assert_ne!(written, [["0"]]);
    server.stop();
    let look = |directory, sql| {
        let server = Running::start_by(directory, &key, &[]);
        let seen = Client::try_connect(&server, "hush", "hush", PASSWORD);
        let seen = seen.map(|mut client| client.rows(sql));
        server.stop();
        seen.map_err(|error| error.message)
    };
    assert_eq!(
        look(place.path(), "SELECT count(*) FROM w").unwrap(),
        written
    );
    assert_eq!(look(place.path(), COMPARED).unwrap(), rows);
    // The old instance opens its own file, and not the new one.
    assert_eq!(look(&old, COMPARED).unwrap(), rows);
    copy(&old, &new);
    copy(&place.path().join("db"), &new.join("db"));
    let error = look(&new, COMPARED).unwrap_err();
    assert!(error.contains("key"), "{error}");
}

#[test]
fn a_server_that_is_killed_while_a_key_changes_opens_the_database_again() {
    let (place, key) = with_raw_key();
    let server = Running::start_by(place.path(), &key, &[]);
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for sql in FILLED {
        client.run(sql).unwrap();
    }
    let rows = client.rows(COMPARED);
    server.stop();
    for round in 0..12 {
        let server = Running::start_by(place.path(), &key, &[]);
        let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
        assert_eq!(client.rows(COMPARED), rows, "round {round}");
        let mut rotates = Client::connect(&server, "hush", "hush", PASSWORD);
        thread::scope(|scope| {
            let rotation =
                scope.spawn(|| while rotates.run("ALTER DATABASE hush ROTATE KEY").is_ok() {});
            thread::sleep(Duration::from_millis(17 * round));
            server.kill();
            rotation.join().unwrap();
        });
    }
    let server = Running::start_by(place.path(), &key, &[]);
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    assert_eq!(client.rows(COMPARED), rows);
    let again = client.run("ALTER DATABASE hush ROTATE KEY");
    assert_eq!(again.unwrap(), ["ALTER DATABASE"]);
    server.stop();
}

#[test]
fn a_database_gets_another_name_and_another_owner() {
    let (place, key) = with_raw_key();
    let server = Running::start_by(place.path(), &key, &[]);
    let mut hush = Client::connect(&server, "hush", "hush", PASSWORD);
    for sql in [
        "CREATE USER alice PASSWORD 'of alice'",
        "CREATE USER bob PASSWORD 'of bob'",
        "CREATE DATABASE a OWNER alice",
        "CREATE DATABASE b",
    ] {
        hush.run(sql).unwrap();
    }
    let mut alice = Client::connect(&server, "alice", "a", "of alice");
    alice.run("CREATE TABLE t AS SELECT 7 AS i").unwrap();
    for (sql, expected) in [
        ("ALTER DATABASE a RENAME TO c", "42501"),
        ("ALTER DATABASE a OWNER TO bob", "42501"),
        ("ALTER DATABASE b ROTATE KEY", "42501"),
        ("ALTER DATABASE b RENAME TO c", "42501"),
        ("ALTER DATABASE nobody ROTATE KEY", "3D000"),
        ("ALTER DATABASE a ROTATE KEY now", "42601"),
        ("ALTER DATABASE a SET x = 1", "0A000"),
        ("BEGIN; ALTER DATABASE a ROTATE KEY", "25001"),
        ("ALTER DATABASE a ROTATE KEY", "00000"),
        ("SELECT * FROM t", "00000"),
    ] {
        assert_eq!(sqlstate(&mut alice, sql), expected, "{sql}");
        let _ = alice.run("ROLLBACK");
    }
    for (sql, expected) in [
        ("ALTER DATABASE a RENAME TO c", "55006"),
        ("ALTER DATABASE b RENAME TO a", "42P04"),
        ("ALTER DATABASE b RENAME TO temp", "42602"),
        ("ALTER DATABASE hush RENAME TO x", "0A000"),
        ("ALTER DATABASE b OWNER TO nobody", "42704"),
        ("ALTER DATABASE a OWNER TO bob", "00000"),
    ] {
        assert_eq!(sqlstate(&mut hush, sql), expected, "{sql}");
    }
    // Her session is one that may not be any more.
    assert_eq!(sqlstate(&mut alice, "SELECT * FROM t"), "42501");
    alice.close();
    let renamed = (0..50).find(|_| {
        thread::sleep(Duration::from_millis(100));
        sqlstate(&mut hush, "ALTER DATABASE a RENAME TO c") == "00000"
    });
    assert!(renamed.is_some());
    let gone = Client::try_connect(&server, "bob", "a", "of bob");
    assert_eq!(gone.unwrap_err().sqlstate, "3D000");
    let mut bob = Client::connect(&server, "bob", "c", "of bob");
    assert_eq!(bob.rows("SELECT * FROM t"), [["7"]]);
    server.kill();
    let server = Running::start_by(place.path(), &key, &[]);
    let mut bob = Client::connect(&server, "bob", "c", "of bob");
    assert_eq!(bob.rows("SELECT * FROM t"), [["7"]]);
    server.stop();
}
