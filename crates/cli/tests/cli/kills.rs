//! A writer that is killed, again and again: what it had said was done is there, and at most the one statement more that
//! was under way.
//!
//! `HUSHDB_KILLS` asks for more rounds, `HUSHDB_KILL_SEED` for others.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use super::place::Place;

/// Rounds in the test command.
const ROUNDS: u64 = 60;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => default,
    }
}

/// SplitMix64: numbers that follow from the seed.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One statement for each number: it adds a row, and says so by giving the number. Some checkpoint, some add by bulk.
fn statements(from: u64, count: u64) -> String {
    let mut text = String::from("PRAGMA wal_autocheckpoint='20kB';\n");
    for n in from..from + count {
        if n % 37 == 36 {
            text.push_str("CHECKPOINT;\n");
        }
        text.push_str(&format!(
            "INSERT INTO t VALUES ({n}, 'row number {n}') RETURNING n;\n"
        ));
    }
    text
}

#[test]
fn a_killed_writer_keeps_what_it_acknowledged() {
    let place = Place::new();
    let database = ["--csv", "--key-env", "KEY_A", "k.hush"];
    let run = |sql: &str| place.hush(&[&database[..], &[sql]].concat()).ok();
    run("CREATE TABLE t (n BIGINT, s VARCHAR)");
    let mut dice = setting("HUSHDB_KILL_SEED", 1);
    let mut there = 0;
    let mut in_flight = 0;
    for round in 0..setting("HUSHDB_KILLS", ROUNDS) {
        let mut writer = place
            .command(&database)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        let mut input = writer.stdin.take().expect("its input");
        let text = statements(there, 300);
        let feeder = std::thread::spawn(move || {
            // It is killed before it has read everything.
            let _ = input.write_all(text.as_bytes());
            input
        });
        let mut output = BufReader::new(writer.stdout.take().expect("its output")).lines();
        let mut acknowledged = there;
        let mut take = |line: std::io::Result<String>| {
            if let Ok(n) = line.unwrap_or_default().parse::<u64>() {
                assert_eq!(n, acknowledged, "round {round}");
                acknowledged += 1;
            }
        };
        for line in output.by_ref().take(2 * (next(&mut dice) % 60) as usize) {
            take(line);
        }
        std::thread::sleep(Duration::from_micros(next(&mut dice) % 3000));
        writer.kill().expect("it can be killed");
        writer.wait().expect("it is gone");
        output.for_each(&mut take);
        drop(feeder.join());
        let found = run("SELECT count(*), count(DISTINCT n), coalesce(max(n) + 1, 0) FROM t");
        let found = found.lines().nth(1).expect("a row").to_owned();
        let counts: Vec<u64> = found
            .split(',')
            .map(|n| n.parse().expect("a number"))
            .collect();
        let [rows, distinct, end] = counts[..] else {
            panic!("round {round}: {found}");
        };
        assert!(rows == distinct && rows == end, "round {round}: {found}");
        assert!(
            rows == acknowledged || rows == acknowledged + 1,
            "round {round}: {acknowledged} acknowledged, {rows} there"
        );
        in_flight += rows - acknowledged;
        there = rows;
    }
    let said = format!("{there} rows, {in_flight} of them in flight at a kill\n");
    let _ = std::io::stdout().write_all(said.as_bytes());
    assert!(there > 0);
    place.hush(&["check", "--key-env", "KEY_A", "k.hush"]).ok();
}
