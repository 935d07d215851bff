//! What is said on standard error beside results: errors, and what opening a file put right.

use super::flip;
use super::place::Place;

#[test]
fn an_error_says_its_kind_once() {
    let place = Place::new();
    place
        .hush(&["--key-env", "KEY_A", "a.hush", "SELECT 1"])
        .ok();
    place.write("bad.key", "hex:00");
    for (arguments, kind) in [
        (["--key-env", "KEY_B", "a.hush", "SELECT 1"], "wrong key"),
        (["check", "--key-env", "KEY_B", "a.hush"], "wrong key"),
        (
            ["--key-file", "bad.key", "a.hush", "SELECT 1"],
            "malformed key",
        ),
        (
            ["--csv", "--read-only", "a.hush", "SELECT 1"],
            "key required",
        ),
    ] {
        let said = place.hush(&arguments).refused().to_lowercase();
        assert_eq!(said.matches(kind).count(), 1, "{said}");
    }
}

#[test]
fn what_opening_put_right_is_said_once() {
    let place = Place::new();
    let key = ["--key-env", "KEY_A"];
    let make = "CREATE TABLE t AS SELECT 7 AS a";
    place.hush(&[&key[..], &["a.hush", make]].concat()).ok();
    let attach = "ATTACH 'a.hush' AS x (ENCRYPTION_KEY_ENV 'KEY_A'); SELECT a FROM x.t";
    let opened = [&key[..], &["--csv", "a.hush", "SELECT a FROM t"]].concat();
    let attached = vec!["--csv", "-c", attach];
    let switched = vec![
        "--csv",
        "-c",
        ".open --key-env KEY_A a.hush\nSELECT a FROM t;",
    ];
    // FORMAT.md "File map": a byte in each superblock slot and in each copy of the header.
    for (at, what) in [
        (32_768 + 200, "superblock slot 0"),
        (49_152 + 200, "superblock slot 1"),
        (100, "file header copy A"),
        (16_384 + 100, "file header copy B"),
    ] {
        for arguments in [&opened, &attached, &switched] {
            flip(&place.path("a.hush"), at);
            let reader = [&["--read-only"], &opened[..]].concat();
            for (arguments, end) in [
                (&reader, "to have it put right"),
                (arguments, "has been put right"),
            ] {
                let run = place.hush(arguments);
                assert_eq!(run.ok(), "a\n7\n");
                let said = run.err();
                assert_eq!(said.lines().count(), 1, "{said}");
                assert!(
                    said.starts_with("Notice: ")
                        && ["a.hush", what, end].iter().all(|part| said.contains(part)),
                    "{said}"
                );
            }
            let run = place.hush(arguments);
            assert_eq!((run.ok().as_str(), run.err().as_str()), ("a\n7\n", ""));
        }
    }
    flip(&place.path("a.hush"), 49_152 + 200);
    let add = ["keys", "add", "--new-key-env", "KEY_B", "a.hush"];
    let said = place.hush(&[&add[..], &key[..]].concat());
    said.ok();
    assert!(said.err().contains("superblock slot 1"), "{}", said.err());
}

#[test]
fn a_data_key_that_is_due_and_a_change_that_has_not_ended_are_said_by_each_opening() {
    let place = Place::new();
    let open = |sql: &str| place.hush(&["--key-env", "KEY_A", "a.hush", sql]);
    let check = || place.hush(&["check", "--key-env", "KEY_A", "a.hush"]).ok();
    open("CREATE TABLE t AS SELECT 7 AS a").ok();
    assert_eq!(open("SELECT 1").err(), "");
    let set = open("ALTER DATABASE a SET (rekey_after = '90 days')");
    set.ok();
    assert!(
        set.err().contains("due at an age of 90 days"),
        "{}",
        set.err()
    );
    for sql in ["SELECT 1", "FROM t"] {
        let run = open(sql);
        run.ok();
        let said = run.err();
        assert!(said.contains("rekey_after is 90 days"), "{said}");
        assert!(!said.contains("put right"), "{said}");
    }
    assert!(check().contains("rekey_after is 90 days"));
    let suspend = "ALTER DATABASE a SET ENCRYPTION SUSPEND; ALTER DATABASE a ROTATE DATA KEY";
    open(suspend).ok();
    let said = open("SELECT 1").err();
    assert!(
        said.contains("data key 1 opens a part of the file still"),
        "{said}"
    );
    assert!(check().contains("has not ended"));
    place
        .hush(&["rekey", "--data", "--key-env", "KEY_A", "a.hush"])
        .ok();
    assert_eq!(open("SELECT 1").err(), "");
}
