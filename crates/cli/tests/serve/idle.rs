//! What a session takes whose client is quiet after it has done something.

use crate::client::Client;
use crate::instance::{PASSWORD, Running, made};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What each client runs: it is planned, with all that a stack is used for.
const SQL: &str = "SELECT a, sum(b) FROM (VALUES (1, 2), (3, 4)) t (a, b) GROUP BY a ORDER BY a";

/// Holds many sessions to the memory that each may take, in KiB; `open` makes one.
fn each_takes_at_most<T>(server: &Running, limit: u64, sessions: u64, open: impl Fn() -> T) {
    // What is there once for all of them.
    let early: Vec<T> = (0..10).map(|_| open()).collect();
    std::thread::sleep(Duration::from_secs(3));
    let before = server.resident_kib();
    let many: Vec<T> = (0..sessions).map(|_| open()).collect();
    let began = Instant::now();
    loop {
        let each = server.resident_kib().saturating_sub(before) / sessions;
        if each <= limit {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{each} KiB each");
        std::thread::sleep(Duration::from_millis(200));
    }
    drop((early, many));
}

#[test]
fn a_quiet_session_takes_little_and_goes_on_as_it_was() {
    let place = made();
    let server = Running::start(place.path());
    let open = || {
        let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
        client.rows(SQL);
        client
    };
    each_takes_at_most(&server, 150, 100, open);
    let mut client = open();
    client.rows(
        "BEGIN; CREATE TEMP TABLE kept AS SELECT 7 AS a; DECLARE c CURSOR FOR SELECT a FROM kept",
    );
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(client.status, b'T');
    assert_eq!(client.rows("FETCH c"), [["7"]]);
    std::thread::sleep(Duration::from_millis(2500));
    client.rows("COMMIT");
    assert_eq!(client.rows("SELECT a FROM kept"), [["7"]]);
    client.close();
    server.stop();
}

/// psql, which waits for more when it is dropped.
struct Psql(Child);

impl Drop for Psql {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn over_tls(server: &Running) -> Option<Psql> {
    let mut psql = Command::new("psql");
    psql.args(["-X", "-A", "-t"]);
    psql.arg(server.url("hush", "hush", "sslmode=require"));
    psql.env("PGPASSWORD", PASSWORD);
    psql.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut psql = Psql(psql.spawn().ok()?);
    writeln!(psql.0.stdin.as_mut()?, "{SQL};").ok()?;
    let mut line = String::new();
    let mut said = BufReader::new(psql.0.stdout.as_mut()?);
    said.read_line(&mut line).ok()?;
    assert_eq!(line, "1|2\n");
    Some(psql)
}

#[test]
fn a_quiet_session_over_tls_takes_little() {
    let place = made();
    let server = Running::start(place.path());
    if over_tls(&server).is_none() {
        let said = "skipped: psql is not installed (Debian: postgresql-client)";
        let _ = writeln!(std::io::stderr(), "{said}");
        return;
    }
    each_takes_at_most(&server, 250, 60, || over_tls(&server).unwrap());
    server.stop();
}
