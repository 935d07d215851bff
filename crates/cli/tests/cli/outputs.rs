//! Files that are written because their names were given: never a database, and whole or as they were.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::place::Place;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

/// An encrypted database, a plain one with a log, and names that lead to them.
fn databases(place: &Place) {
    let key = ["--key-env", "KEY_A", "c.hush"];
    place
        .hush(&[&key[..], &["CREATE TABLE t AS SELECT 7 AS n"]].concat())
        .ok();
    let logged = "CREATE TABLE u AS SELECT 8 AS n; CHECKPOINT; PRAGMA disable_checkpoint_on_shutdown; INSERT INTO u VALUES (9)";
    place.hush(&["d.hush", logged]).ok();
    assert!(place.path("d.hush.wal").exists());
    symlink("c.hush", place.path("soft.csv")).expect("a link");
    fs::hard_link(place.path("c.hush"), place.path("hard.csv")).expect("a link");
    fs::create_dir(place.path("export")).expect("a directory");
    symlink("../c.hush", place.path("export/t.csv")).expect("a link");
    symlink("../d.hush", place.path("export/schema.sql")).expect("a link");
}

#[test]
fn no_name_that_is_given_overwrites_a_database_or_its_log() {
    let place = Place::new();
    databases(&place);
    let names = [
        "c.hush",
        "c.hush.wal",
        "c.hush.wal.next",
        "./x/../c.hush",
        "soft.csv",
        "hard.csv",
        "d.hush",
        "d.hush.wal",
        "d.hush.wal.next",
    ];
    fs::create_dir(place.path("x")).expect("a directory");
    let open = ["--key-env", "KEY_A", "c.hush"];
    for name in names {
        for statement in [
            format!("INSERT INTO t VALUES (1); COPY t TO '{name}' (FORMAT csv)"),
            format!("COPY t TO '{name}' (FORMAT parquet)"),
            format!("COPY t TO '{name}' (FORMAT json)"),
            format!(".output {name}"),
            format!("ATTACH '{name}' AS other (ENCRYPTION_KEY 'one that nothing has')"),
        ] {
            if statement.starts_with("ATTACH") && !name.contains(".wal") {
                continue;
            }
            let said = place
                .hush(&[&open[..], &["-c", &statement]].concat())
                .refused();
            // The log of the other database is there and is opened, and is none.
            let is_log = statement.starts_with("ATTACH") && name == "d.hush.wal";
            assert!(
                is_log || said.contains("give another name"),
                "{name}: {said}"
            );
        }
        let picture = place.hush(&["inspect", "--picture", name, "d.hush"]);
        assert!(picture.refused().contains("another name"));
    }
    for out in ["c.hush.wal", "d.hush.wal.next"] {
        let salvaged = place.hush(&["salvage", "--key-env", "KEY_A", "c.hush", out]);
        assert!(salvaged.refused().contains("give another name"));
    }
    let export = place.hush(&[&open[..], &["EXPORT DATABASE 'export'"]].concat());
    assert!(export.refused().contains("give another name"));
    fs::remove_file(place.path("export/schema.sql")).expect("removed");
    let export = place.hush(&[&open[..], &["EXPORT DATABASE 'export'"]].concat());
    assert!(export.refused().contains("give another name"));
    let both = "ATTACH 'd.hush' AS d; SELECT min(n) AS a, max(n) AS b FROM t; FROM d.u ORDER BY n";
    let run = place.hush(&[&["--csv"], &open[..], &[both]].concat());
    assert_eq!(run.ok(), "a,b\n1,7\nn\n8\n9\n");
}

#[test]
fn a_file_is_whole_or_as_it_was_and_its_owners() {
    let place = Place::new();
    place.write("old.csv", "old");
    fs::set_permissions(place.path("old.csv"), fs::Permissions::from_mode(0o644)).expect("set");
    // Where the name of a file that is being written used to be.
    place.write("tmp_old.csv", "mine");
    let failing = "COPY (SELECT CAST(CASE WHEN range < 90000 THEN '1' ELSE 'x' END AS INT) AS k FROM range(100000)) TO";
    for name in ["old.csv", "none.csv"] {
        place
            .hush(&["-c", &format!("{failing} '{name}'")])
            .refused();
    }
    assert_eq!(fs::read(place.path("old.csv")).expect("there"), b"old");
    let names = || {
        let entries = fs::read_dir(place.path("")).expect("a directory");
        let names = entries.map(|entry| entry.expect("a name").file_name());
        let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["old.csv", "tmp_old.csv"]);
    for name in ["old.csv", "new.csv"] {
        place
            .hush(&["-c", &format!("COPY (SELECT 1 AS n) TO '{name}'")])
            .ok();
        assert_eq!(fs::read(place.path(name)).expect("there"), b"n\n1\n");
    }
    assert_eq!(mode(&place.path("old.csv")), 0o644);
    assert_eq!(mode(&place.path("new.csv")), 0o600);
    place
        .hush(&[
            "-c",
            ".output printed.csv\n.mode csv\nSELECT 1 AS n;\nSELECT nothing;",
        ])
        .refused();
    assert_eq!(
        fs::read(place.path("printed.csv")).expect("there"),
        b"n\n1\n"
    );
    assert_eq!(mode(&place.path("printed.csv")), 0o600);
    assert_eq!(
        names(),
        ["new.csv", "old.csv", "printed.csv", "tmp_old.csv"]
    );
    assert_eq!(fs::read(place.path("tmp_old.csv")).expect("there"), b"mine");
}

#[test]
fn what_is_killed_leaves_nothing_that_others_can_read_or_that_looks_whole() {
    let place = Place::new();
    place.write("out.csv", "old");
    let copy = "COPY (SELECT a.range AS n FROM range(30000) a, range(30000) b) TO 'out.csv'";
    let mut child = place.command(&["-c", copy]).spawn().expect("it runs");
    std::thread::sleep(Duration::from_millis(700));
    assert!(
        child.try_wait().expect("asked").is_none(),
        "it still writes"
    );
    child.kill().expect("killed");
    assert!(
        !child.wait().expect("ended").success(),
        "it was killed while it wrote"
    );
    assert_eq!(fs::read(place.path("out.csv")).expect("there"), b"old");
    for entry in fs::read_dir(place.path("")).expect("a directory") {
        let entry = entry.expect("a name");
        let name = entry.file_name().into_string().expect("a name");
        if name != "out.csv" {
            assert!(
                name.starts_with("hush-output-") && name.ends_with(".tmp"),
                "{name}"
            );
            assert_eq!(mode(&entry.path()), 0o600);
        }
    }
}

#[test]
fn two_that_write_to_one_name_leave_one_whole_file() {
    let place = Place::new();
    let copy = |value: char| {
        let sql = format!("COPY (SELECT '{value}' AS v FROM range(400000)) TO 'out.csv'");
        place.command(&["-c", &sql]).spawn().expect("it runs")
    };
    for mut child in [copy('a'), copy('b')] {
        assert!(child.wait().expect("ended").success());
    }
    let text = fs::read_to_string(place.path("out.csv")).expect("there");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("v"));
    let first = lines.next().expect("a line");
    assert!(lines.all(|line| line == first));
    assert_eq!(text.lines().count(), 400_001);
}

#[test]
fn pipes_and_standard_output_are_written_to() {
    let place = Place::new();
    let sql = "SELECT 1 AS a; COPY (SELECT 2 AS b) TO '/dev/stdout' (FORMAT csv); SELECT 3 AS c";
    assert_eq!(place.hush(&["--csv", "-c", sql]).ok(), "a\n1\nb\n2\nc\n3\n");
    let file = fs::File::create(place.path("redirected")).expect("made");
    let mut command = place.command(&["--csv", "-c", sql]);
    let status = command.stdout(file).status().expect("it runs");
    assert!(status.success());
    let text = fs::read_to_string(place.path("redirected")).expect("there");
    assert_eq!(text, "a\n1\nb\n2\nc\n3\n");
    let commands = [
        "-c",
        "COPY (SELECT 1 AS n) TO '/dev/null'",
        "-c",
        ".output /dev/stdout\nSELECT 4 AS d;",
    ];
    let printed = place.hush(&[&["--csv"], &commands[..]].concat());
    assert_eq!(printed.ok(), "d\n4\n");
    let pipe = place.path("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    for command in [
        "COPY (SELECT 5 AS e) TO 'pipe'",
        ".mode csv\n.output pipe\nSELECT 5 AS e;",
    ] {
        let mut child = place
            .command(&["-c", command])
            .stdout(Stdio::null())
            .spawn()
            .expect("it runs");
        let mut text = String::new();
        let mut reader = fs::File::open(&pipe).expect("opened");
        reader.read_to_string(&mut text).expect("read");
        assert_eq!(text, "e\n5\n");
        assert!(child.wait().expect("ended").success());
    }
}

#[test]
fn a_log_that_is_replayed_is_no_damage() {
    let place = Place::new();
    databases(&place);
    let run = place.hush(&["check", "d.hush"]);
    let said = run.ok();
    assert!(
        said.starts_with("note: the database was not closed: 1 transactions"),
        "{said}"
    );
    assert!(said.contains("\nno damage: "), "{said}");
}
