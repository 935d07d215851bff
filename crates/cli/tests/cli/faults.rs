//! A disk that takes no more: the statement fails and says why, and what was committed before stays.

use std::process::{Command, Stdio};

use crate::place::{Place, Run};

/// Runs SQL in a shell that lets no file grow past some blocks of 512 or 1024 bytes.
fn under_limit(place: &Place, blocks: u32, sql: &[&str]) -> Run {
    place.write("limited.sql", &sql.join(";\n"));
    let hush = place.command(&["--csv", "--key-env", "KEY_A", "l.hush", "-f", "limited.sql"]);
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("ulimit -f {blocks}; exec \"$0\" \"$@\""))
        .arg(hush.get_program())
        .args(hush.get_args());
    for (name, value) in hush.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    if let Some(directory) = hush.get_current_dir() {
        shell.current_dir(directory);
    }
    let output = shell.stdin(Stdio::null()).output();
    Run(output.expect("the shell runs"))
}

#[test]
fn a_file_size_limit_fails_the_statement_and_nothing_else() {
    let place = Place::new();
    let hush = |sql: &str| place.hush(&["--csv", "--key-env", "KEY_A", "l.hush", "-c", sql]);
    hush("CREATE TABLE t AS SELECT i FROM range(1000) r(i)").ok();
    // A load goes to the file, small commits to the log beside it.
    let load = "INSERT INTO t SELECT (i * 7919) % 1000003 FROM range(3000000) r(i)";
    let limited = under_limit(&place, 2000, &["INSERT INTO t VALUES (-1)", load]);
    assert!(!limited.0.status.success());
    let said = String::from_utf8_lossy(&limited.0.stderr).into_owned();
    assert!(said.contains("Full") && said.contains("no room"), "{said}");
    let counted = hush("SELECT count(*), min(i) FROM t").ok();
    assert_eq!(counted, "count_star(),min(i)\n1001,-1\n");
    assert_eq!(
        place
            .hush(&["check", "--key-env", "KEY_A", "l.hush"])
            .0
            .status
            .code(),
        Some(0)
    );
}

#[test]
fn a_log_that_cannot_grow_keeps_what_it_has() {
    let place = Place::new();
    let hush = |sql: &str| place.hush(&["--csv", "--key-env", "KEY_A", "l.hush", "-c", sql]);
    hush("CREATE TABLE t (i BIGINT, s VARCHAR)").ok();
    let row = format!("INSERT INTO t VALUES (1, '{}')", "long".repeat(20_000));
    let statements: Vec<&str> = std::iter::repeat_n(row.as_str(), 40).collect();
    let limited = under_limit(&place, 1000, &statements);
    assert!(!limited.0.status.success());
    let counted = hush("SELECT count(*) > 2 AND count(*) < 40, min(length(s)) FROM t").ok();
    assert!(counted.ends_with("true,80000\n"), "{counted}");
}
