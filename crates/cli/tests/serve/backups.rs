//! `hush backup` and `hush rotate`: copies that are put back and compared, and keys that change at whatever moment it ends.

use crate::client::Client;
use crate::instance::{self, PASSWORD, Running, databases, hush};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const MARKER: &str = "marker-that-is-backed-up";

/// An instance that opens fast, and its key.
pub(crate) fn with_raw_key() -> (TempDir, String) {
    let (place, key) = (
        tempfile::tempdir().unwrap(),
        format!("hex:{}", "5a".repeat(32)),
    );
    let mut command = hush(&["init", place.path().to_str().unwrap()]);
    command.args(["--key-env", "K", "--password-env", "P"]);
    let done = command
        .envs([("K", &*key), ("P", PASSWORD)])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", said(&done));
    (place, key)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn command(what: &str, directory: &Path, key: &str) -> Command {
    let mut command = hush(&[what, directory.to_str().unwrap(), "--key-env", "K"]);
    command.env("K", key);
    command
}

fn done(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

/// Files of a directory, with those below it, into another one.
pub(crate) fn copy(from: &Path, to: &Path) {
    for file in instance::files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(file, target).unwrap();
    }
}

pub(crate) const FILLED: [&str; 6] = [
    "CREATE TABLE a (id INTEGER PRIMARY KEY, n BIGINT, t TEXT)",
    "CREATE TABLE b (n BIGINT)",
    "INSERT INTO a SELECT i, i * i, 'marker-that-is-backed-up' FROM range(5000) r(i)",
    "INSERT INTO b SELECT sum(n) FROM a",
    "CREATE INDEX a_n ON a (n)",
    "CREATE VIEW v AS SELECT count(*) AS n FROM a",
];
pub(crate) const COMPARED: &str =
    "SELECT count(*), sum(n), min(t), max(t) FROM a UNION ALL SELECT n, NULL, NULL, NULL FROM v";

/// Makes a backup while somebody writes both tables or none in each transaction. No key is needed: the server has them.
fn back_up_beside_a_writer(client: &mut Client, directory: &Path, to: &Path) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for id in 5000.. {
                let add = format!("INSERT INTO a VALUES ({id}, {id}, '{MARKER}')");
                let sum = format!("UPDATE b SET n = n + {id}");
                for sql in ["BEGIN", &add, &sum, "COMMIT"] {
                    client.run(sql).unwrap();
                }
                if stop.load(Ordering::Acquire) {
                    break;
                }
            }
        });
        let backup = hush(&["backup", directory.to_str().unwrap(), "--to"])
            .arg(to)
            .output();
        stop.store(true, Ordering::Release);
        let backup = backup.unwrap();
        assert!(backup.status.success(), "{}", said(&backup));
        assert!(said(&backup).contains("2 databases"), "{}", said(&backup));
        let again = hush(&["backup", directory.to_str().unwrap(), "--to"])
            .arg(to)
            .output();
        assert_eq!(
            again.unwrap().status.code(),
            Some(2),
            "a directory that is not empty"
        );
    });
}

#[test]
fn a_backup_that_is_put_back_has_what_there_was() {
    let (place, key) = with_raw_key();
    let out = tempfile::tempdir().unwrap();
    let server = Running::start_by(place.path(), &key, &[]);
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.run("CREATE USER alice PASSWORD 'of alice'").unwrap();
    client.run("CREATE DATABASE hers OWNER alice").unwrap();
    let mut alice = Client::connect(&server, "alice", "hers", "of alice");
    for sql in FILLED {
        client.run(sql).unwrap();
        alice.run(sql).unwrap();
    }
    back_up_beside_a_writer(&mut client, place.path(), &out.path().join("running"));
    alice.close();
    server.stop();
    let to = out.path().join("stopped");
    done(command("backup", place.path(), &key).arg("--to").arg(&to));
    let mut whole = vec![];
    for directory in [place.path(), &to, &out.path().join("running")] {
        assert_eq!(databases(directory), 2);
        let server = Running::start_by(directory, &key, &[]);
        let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
        whole.push(client.rows(COMPARED));
        assert_eq!(
            client.rows("SELECT (SELECT sum(n) FROM a) = (SELECT n FROM b)"),
            [["t"]]
        );
        assert_eq!(
            client
                .run("INSERT INTO a VALUES (7, 7, '')")
                .unwrap_err()
                .sqlstate,
            "23505"
        );
        let mut alice = Client::connect(&server, "alice", "hers", "of alice");
        assert_eq!(alice.rows("SELECT count(*) FROM a WHERE n = 49"), [["1"]]);
        server.stop();
    }
    assert_eq!(whole[0], whole[1]);
    assert_ne!(
        whole[0], whole[2],
        "the backup was made while rows were added"
    );
    for file in instance::files(out.path()) {
        let bytes = std::fs::read(&file).unwrap();
        let mut windows = bytes.windows(MARKER.len());
        assert!(
            !windows.any(|window| window == MARKER.as_bytes()),
            "{}",
            file.display()
        );
    }
    let wrong = command("serve", &to, &format!("hex:{}", "5b".repeat(32)))
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(3));
}

#[test]
fn the_catalog_alone_opens_the_databases_that_are_there() {
    let (place, key) = with_raw_key();
    let out = tempfile::tempdir().unwrap();
    let server = Running::start_by(place.path(), &key, &[]);
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for sql in FILLED {
        client.run(sql).unwrap();
    }
    let rows = client.rows(COMPARED);
    let to = out.path().join("catalog");
    done(
        command("backup", place.path(), &key)
            .arg("--instance")
            .arg("--to")
            .arg(&to),
    );
    client.run("CREATE DATABASE later").unwrap();
    client.close();
    server.stop();
    assert!(databases(&to) == 0 && to.join("instance.hushdb").is_file());
    std::fs::write(place.path().join("instance.hushdb"), "lost").unwrap();
    let lost = command("serve", place.path(), &key).output().unwrap();
    assert!(!lost.status.success());
    copy(&to, place.path());
    let server = Running::start_by(place.path(), &key, &[]);
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    assert_eq!(client.rows(COMPARED), rows);
    assert!(
        client
            .rows("SELECT 1 FROM pg_database WHERE datname = 'later'")
            .is_empty()
    );
    server.stop();
    // Without its file, a database is not made anew.
    let server = Running::start_by(&to, &key, &[]);
    let error = Client::try_connect(&server, "hush", "hush", PASSWORD).unwrap_err();
    assert!(error.message.contains("backup"), "{error:?}");
    assert_eq!(databases(&to), 0);
    server.stop();
}

#[test]
fn a_key_that_was_rotated_opens_nothing_that_is_written_later() {
    let (place, key) = with_raw_key();
    let out = tempfile::tempdir().unwrap();
    let server = Running::start_by(place.path(), &key, &[]);
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for sql in FILLED {
        client.run(sql).unwrap();
    }
    let rows = client.rows(COMPARED);
    let refused = command("rotate", place.path(), &key).output().unwrap();
    assert_eq!(refused.status.code(), Some(6), "a server runs");
    server.stop();
    let old = out.path().join("old");
    copy(place.path(), &old);
    let nobody = command("rotate", place.path(), &key)
        .args(["--database", "nobody"])
        .output();
    assert_eq!(nobody.unwrap().status.code(), Some(2));
    done(command("rotate", place.path(), &key).args(["--database", "hush"]));
    done(&mut command("rotate", place.path(), &key));
    let look = |directory: &Path| {
        let server = Running::start_by(directory, &key, &[]);
        let seen = Client::try_connect(&server, "hush", "hush", PASSWORD);
        let seen = seen.map(|mut client| client.rows(COMPARED));
        server.stop();
        seen.map_err(|error| error.message)
    };
    assert_eq!(look(place.path()).unwrap(), rows);
    assert_eq!(look(&old).unwrap(), rows);
    // The old catalog, with the old key, over the new file.
    copy(&place.path().join("db"), &old.join("db"));
    let error = look(&old).unwrap_err();
    assert!(error.contains("key"), "{error}");
}

#[test]
fn a_rotation_that_is_killed_leaves_one_key_that_opens_all() {
    let (place, key) = with_raw_key();
    let server = Running::start_by(place.path(), &key, &[]);
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    for sql in FILLED {
        client.run(sql).unwrap();
    }
    let rows = client.rows(COMPARED);
    server.stop();
    let rotate = |round| {
        let mut rotate = command("rotate", place.path(), &key);
        if round % 4 != 3 {
            rotate.args(["--database", "hush"]);
        }
        rotate.spawn().unwrap()
    };
    // How long it takes on this machine, of which each round waits for a part more.
    let began = Instant::now();
    assert!(rotate(0).wait().unwrap().success());
    let step = began.elapsed() / 16;
    let (mut wait, mut ended) = (Duration::ZERO, 0);
    for round in 0.. {
        let mut child = rotate(round);
        std::thread::sleep(wait);
        let _ = child.kill();
        ended += i32::from(child.wait().unwrap().success());
        wait += step;
        let server = Running::start_by(place.path(), &key, &[]);
        let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
        assert_eq!(client.rows(COMPARED), rows, "round {round}");
        client.run("UPDATE a SET t = t WHERE id = 1").unwrap();
        client.close();
        server.stop();
        if ended >= 4 {
            assert!(round > 8, "most were killed");
            break;
        }
    }
}
