//! Anchors on the command line: what a file is held against when it is opened, and the file that keeps the anchor.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::place::{Place, Run};

const KEY: [&str; 2] = ["--key-env", "KEY_A"];

fn hush(place: &Place, arguments: &[&str]) -> Run {
    place.hush(&[&KEY[..], arguments].concat())
}

fn command(place: &Place, command: &[&str], arguments: &[&str]) -> Run {
    place.hush(&[command, &KEY[..], arguments].concat())
}

fn copy(place: &Place, from: &str, to: &str) {
    for end in ["", ".wal"] {
        let (from, to) = (format!("{from}{end}"), format!("{to}{end}"));
        let _ = fs::remove_file(place.path(&to));
        if place.path(&from).exists() {
            fs::copy(place.path(&from), place.path(&to)).expect("copied");
        }
    }
}

/// Commits that stay in the log.
const IN_LOG: &str = "PRAGMA disable_checkpoint_on_shutdown; INSERT INTO t VALUES (2)";

#[test]
fn every_command_holds_a_file_against_an_anchor() {
    let place = Place::new();
    hush(&place, &["a.hush", "CREATE TABLE t AS SELECT 1 AS a"]).ok();
    copy(&place, "a.hush", "old.hush");
    hush(
        &place,
        &["a.hush", "DELETE FROM t; CREATE TABLE u AS SELECT 3 AS a"],
    )
    .ok();
    let anchor = command(&place, &["inspect"], &["--anchor", "a.hush"]).ok();
    let insist = ["--min-anchor", anchor.trim()];
    for file in ["a.hush", "old.hush"] {
        for (what, arguments) in [
            (vec![], vec![file, "FROM t"]),
            (vec![], vec!["--read-only", file, "FROM t"]),
            (vec!["check"], vec![file]),
            (vec!["inspect"], vec![file]),
            (vec!["inspect", "--entropy"], vec![file]),
            (vec!["salvage"], vec![file, "saved.hush"]),
            (vec!["keys", "add", "--new-key-env", "KEY_B"], vec![file]),
        ] {
            let run = command(&place, &[&what[..], &insist].concat(), &arguments);
            match file {
                "a.hush" => drop(run.ok()),
                _ => assert!(run.refused().contains("rolled back"), "{what:?}"),
            }
            let _ = fs::remove_file(place.path("saved.hush"));
        }
    }
    hush(&place, &[&insist[..], &["none.hush", "SELECT 1"]].concat()).refused();
    assert!(!place.path("none.hush").exists());
}

#[test]
fn every_command_holds_a_file_against_a_root_digest() {
    let place = Place::new();
    hush(&place, &["a.hush", "CREATE TABLE t AS SELECT 1 AS a"]).ok();
    let anchor = command(&place, &["inspect"], &["--anchor", "a.hush"]).ok();
    let digest = anchor.split(':').nth(3).expect("a root digest").to_owned();
    let insist = ["--expected-root", digest.as_str()];
    command(&place, &["check"], &[&insist[..], &["a.hush"]].concat()).ok();
    hush(&place, &["a.hush", IN_LOG]).ok();
    let anchor = command(&place, &["inspect"], &["--anchor", "a.hush"]).ok();
    let named = anchor.split(':').nth(3).expect("a root digest").to_owned();
    let refused = command(&place, &["check"], &[&insist[..], &["a.hush"]].concat());
    assert!(refused.refused().contains("not the expected state"));
    let open = command(&place, &["check"], &["--expected-root", &named, "a.hush"]);
    assert!(open.refused().contains("CHECKPOINT"));
}

#[test]
fn an_anchor_file_is_made_checked_and_replaced() {
    let place = Place::new();
    let kept = ["--anchor-file", "kept/anchor"];
    let with = |arguments: &[&str]| hush(&place, &[&kept[..], arguments].concat());
    fs::create_dir(place.path("kept")).expect("made");
    let first = with(&["a.hush", "CREATE TABLE t AS SELECT 1 AS a"]);
    first.ok();
    assert!(
        first.err().contains("there is no anchor yet"),
        "{}",
        first.err()
    );
    let read = || fs::read_to_string(place.path("kept/anchor")).expect("an anchor");
    let mode = fs::metadata(place.path("kept/anchor"))
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = read();
    copy(&place, "a.hush", "old.hush");
    // Also where a statement fails, what came before it is kept.
    with(&["a.hush", "INSERT INTO t VALUES (2); SELECT nothing"]).refused();
    assert_ne!(read(), before);
    assert_eq!(fs::read_dir(place.path("kept")).expect("there").count(), 1);
    let now = read();
    command(&place, &["check"], &[&kept[..], &["a.hush"]].concat()).ok();
    with(&["--read-only", "a.hush", "FROM t"]).ok();
    assert_eq!(read(), now, "who only reads writes none");
    let add = ["keys", "add", "--new-key-env", "KEY_B"];
    command(&place, &add, &[&kept[..], &["a.hush"]].concat()).ok();
    assert_ne!(read(), now);
    let now = read();

    copy(&place, "old.hush", "a.hush");
    let refused = with(&["a.hush", "FROM t"]);
    assert!(
        refused.refused().contains("rolled back"),
        "{}",
        refused.err()
    );
    assert_eq!(read(), now);
    place.write("kept/anchor", "no anchor");
    assert!(
        with(&["a.hush", "FROM t"])
            .refused()
            .contains("this is no anchor file")
    );
    let missing = ["--anchor-file", "kept/none"];
    command(&place, &["check"], &[&missing[..], &["a.hush"]].concat()).refused();
    hush(&place, &[&missing[..], &["a.hush", "FROM t"]].concat()).ok();
    assert!(place.path("kept/none").exists());
}

#[test]
fn the_shell_keeps_the_anchor_of_what_it_opens_later() {
    let place = Place::new();
    let script = ".open --key-env KEY_A --anchor-file b.anchor b.hush\nCREATE TABLE t AS SELECT 1 AS a;\n\
                  .open :memory:\nSELECT 1;\n";
    place.piped(&["--csv"], script).ok();
    let kept = fs::read_to_string(place.path("b.anchor")).expect("an anchor");
    hush(&place, &["--min-anchor", kept.trim(), "b.hush", "FROM t"]).ok();
}
