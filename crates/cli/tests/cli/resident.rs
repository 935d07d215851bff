//! The most memory that the program takes, as the system counts it, for statements over more rows than the limit holds.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use super::place::Place;

const LIMIT_MIB: usize = 100;
/// What it may take beside the limit: a fifth of it, and this.
const BESIDE_MIB: usize = 128;

/// The table alone, as rows, is twice the limit.
const ROWS: usize = 3_000_000;

const STATEMENTS: [&str; 15] = [
    "SELECT count(*) FROM (SELECT k, sum(r) OVER () AS t, s FROM a) WHERE t > k AND s > 'b'",
    "SELECT sum(n), max(d) FROM (SELECT s, ntile(7) OVER w AS n, cume_dist() OVER w AS d FROM a WINDOW w AS (ORDER BY r)) WHERE s > 'b'",
    "SELECT max(x), max(l) FROM (SELECT sum(r) OVER w AS x, last_value(s) OVER w AS l, s FROM a \
     WINDOW w AS (ORDER BY k ROWS BETWEEN 3 PRECEDING AND UNBOUNDED FOLLOWING)) WHERE s > 'b'",
    "SELECT sum(x) FROM (SELECT sum(r) OVER (PARTITION BY g ORDER BY k) AS x, s FROM a) WHERE x > 0",
    "SELECT count(*), max(n) FROM (SELECT s, count(*) AS n FROM a GROUP BY s)",
    "SELECT count(DISTINCT s) FROM a",
    "SELECT count(*) FROM (SELECT DISTINCT ON (r) r, s FROM a)",
    "SELECT count(*), max(x.s), max(y.s) FROM a x JOIN a y ON x.k = y.r",
    "SELECT count(*) FROM a WHERE k NOT IN (SELECT r FROM a)",
    "SELECT k FROM a ORDER BY s LIMIT 1 OFFSET 2999990",
    "CREATE TABLE b AS SELECT * FROM a ORDER BY r",
    "UPDATE a SET s = s || 'x', r = r + 1",
    "DELETE FROM a WHERE k % 3 <> 0",
    "INSERT INTO a SELECT * FROM b WHERE k % 3 <> 0",
    // Last: an index's keys are not counted, and later statements would add to them.
    "CREATE INDEX i ON a(k)",
];

#[test]
fn statements_stay_within_the_limit_and_what_is_allowed_beside_it() {
    let place = Place::new();
    let make = format!(
        "CREATE TABLE a AS SELECT i AS k, i * 7919 % 3000017 AS r, i % 11 AS g, 'a text that is not short ' || i AS s \
         FROM range({ROWS}) t(i)"
    );
    place.hush(&["--key-env", "KEY_A", "a.hushdb", &make]).ok();
    let mut over = vec![];
    for statement in STATEMENTS {
        let peak = peak_mib(&place, statement);
        if peak > LIMIT_MIB + LIMIT_MIB / 5 + BESIDE_MIB {
            over.push(format!("{peak} MiB: {statement}"));
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}

/// The most memory that the program has held when the statement is done.
fn peak_mib(place: &Place, statement: &str) -> usize {
    let mut command = place.command(&["--csv", "--key-env", "KEY_A", "a.hushdb"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let mut input = child.stdin.take().expect("its input");
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    writeln!(
        input,
        "SET memory_limit = '{LIMIT_MIB}MiB';\n{statement};\nSELECT 'done' AS done;"
    )
    .expect("sent");
    let mut lines = vec![];
    while lines.last().is_none_or(|line: &String| line != "done\n") || lines.len() < 2 {
        let mut line = String::new();
        output.read_line(&mut line).expect("an answer");
        assert!(!line.is_empty(), "it ended: {statement}: {lines:?}");
        lines.push(line);
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("a status");
    drop(input);
    assert!(child.wait().expect("it ends").success());
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<usize>().ok());
    kib.expect("a peak") / 1024
}
