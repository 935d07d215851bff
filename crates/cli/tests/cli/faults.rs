//! A disk that takes no more: the statement fails and says why, and what was committed before stays.

use std::io::{self, Write};
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

/// Runs `hush` where the directory is mounted read-only; `None` where this user may not mount.
fn on_a_read_only_file_system(place: &Place, arguments: &[&str]) -> Option<Run> {
    let hush = place.command(arguments);
    let script =
        "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && cd \"$0\" && exec \"$@\"";
    let inside = |what: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
            .arg(place.path(""))
            .args(what)
            .stdin(Stdio::null());
        for (name, value) in hush.get_envs() {
            value.map(|value| command.env(name, value));
        }
        command
    };
    let mounts = inside(&["true"])
        .output()
        .is_ok_and(|run| run.status.success());
    let program = hush.get_program().to_str()?;
    let run = mounts.then(|| inside(&[&[program], arguments].concat()).output());
    Some(Run(run?.expect("the shell runs")))
}

#[test]
fn a_read_only_file_system_is_read_and_refuses_the_rest() {
    let place = Place::new();
    let key = ["--csv", "--key-env", "KEY_A"];
    let sql = "PRAGMA disable_checkpoint_on_shutdown; CREATE TABLE t AS SELECT 1 AS i; INSERT INTO t VALUES (2)";
    place.hush(&[&key[..], &["r.hush", sql]].concat()).ok();
    assert!(place.path("r.hush.wal").exists());
    let files = || {
        let names = ["r.hush", "r.hush.wal"];
        names.map(|name| std::fs::read(place.path(name)).expect("there"))
    };
    let before = files();
    let there =
        |arguments: &[&str]| on_a_read_only_file_system(&place, &[&key[..], arguments].concat());
    let Some(run) = there(&["r.hush", "INSERT INTO t VALUES (3)"]) else {
        let why = "skipped: this user may not mount; the simulated disk still shows failing writes";
        return writeln!(io::stderr(), "{why}").expect("said");
    };
    let said = run.refused();
    assert!(
        said.contains("Read-only file system") && said.contains("--read-only"),
        "{said}"
    );
    let count = there(&["--read-only", "r.hush", "SELECT count(*), sum(i) FROM t"]);
    assert_eq!(count.expect("mounted").ok(), "count_star(),sum(i)\n2,3\n");
    let said = there(&["new.hush", "CREATE TABLE t (i INTEGER)"]).expect("mounted");
    assert!(said.refused().contains("Read-only file system"));
    assert_eq!(files(), before);
    assert!(!place.path("new.hush").exists());
    let count = place.hush(&[&key[..], &["r.hush", "SELECT count(*) FROM t"]].concat());
    assert_eq!(count.ok(), "count_star()\n2\n");
}
