//! Ctrl-C: the signal that a terminal sends ends the statement, and a script with it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::place::Place;

/// Far more than it takes on a busy machine.
const SOON: Duration = Duration::from_secs(8);

/// The program, once it has run what comes before a statement and has begun with that.
fn running(place: &Place, before: &str, statement: &str) -> Child {
    let mut child = place
        .command(&["--csv", "--key-env", "KEY_A", "x.hushdb"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut input = child.stdin.take().expect("its input");
    writeln!(input, "{before}\nSELECT 'ready';\n{statement};").expect("sent");
    let mut output = BufReader::new(child.stdout.as_mut().expect("its output"));
    let mut line = String::new();
    while line != "ready\n" {
        line.clear();
        assert!(output.read_line(&mut line).expect("a line") > 0);
    }
    std::thread::sleep(Duration::from_millis(400));
    child
}

/// Sends SIGINT; what the program says until it has ended, and its exit code.
fn interrupted(mut child: Child) -> (String, Option<i32>) {
    let sent = Instant::now();
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("it is sent").success());
    let mut said = String::new();
    let mut errors = child.stderr.take().expect("its errors");
    errors.read_to_string(&mut said).expect("text");
    let code = child.wait().expect("it ends").code();
    let taken = sent.elapsed();
    let _ = writeln!(std::io::stderr(), "ended after {} ms", taken.as_millis());
    assert!(taken < SOON, "{said}");
    (said, code)
}

#[test]
fn a_signal_ends_the_statement_and_the_script() {
    let rows = "SELECT i, j, random() AS r FROM range(10000) a(i), range(10000) b(j)";
    let place = Place::new();
    let joins: Vec<String> = (1..400)
        .map(|i| format!("JOIN t t{i} ON t{}.i = t{i}.i", i - 1))
        .collect();
    for statement in [
        // While it is planned.
        format!("SELECT count(*) FROM t t0 {}", joins.join(" ")),
        "SELECT sum(len(list_transform(range(20000), x -> md5((x + i)::VARCHAR)))) FROM t"
            .to_owned(),
        format!("SELECT * FROM ({rows}) ORDER BY r"),
        "SELECT count(*) FROM t a, t b WHERE a.i + b.i < 0".to_owned(),
        format!("CREATE TABLE u AS {rows}"),
        format!("COPY ({rows}) TO 'x.parquet'"),
        "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT max(i) FROM r"
            .to_owned(),
    ] {
        let before = "CREATE OR REPLACE TABLE t AS SELECT i FROM range(100000) r(i);";
        let (said, code) = interrupted(running(&place, before, &statement));
        assert_eq!(code, Some(1), "{statement}: {said}");
        assert_eq!(said, "Error: Interrupted: the statement was cancelled\n");
    }
    assert!(!place.path("x.parquet").exists());
    let left = place.hush(&["--csv", "--key-env", "KEY_A", "x.hushdb", "SHOW TABLES"]);
    assert_eq!(left.ok(), "name\nt\n");
}
