//! `hush salvage`, and what `hush check` says could be saved.

use std::fs;
use std::os::unix::fs::FileExt;

use super::place::Place;

const SETUP: &str = "CREATE TABLE t (a INTEGER CHECK (a >= 0), b VARCHAR DEFAULT 'x');
INSERT INTO t SELECT range::INTEGER, 'secret ' || range FROM range(1000);
CREATE TABLE u (a INTEGER);
INSERT INTO u VALUES (1), (2), (3);
CREATE VIEW v AS SELECT count(*) AS n FROM u;";

/// A file whose first block, of the values of `u`, has a bit flipped.
fn damaged(place: &Place, arguments: &[&str]) -> Vec<u8> {
    place.hush(&[arguments, &["a.hush", SETUP]].concat()).ok();
    let path = place.path("a.hush");
    let file = fs::OpenOptions::new().read(true).write(true).open(&path);
    let file = file.expect("the file is there");
    let mut byte = [0];
    let at = 65_536 + 64;
    file.read_exact_at(&mut byte, at).expect("a block");
    file.write_all_at(&[byte[0] ^ 1], at).expect("written");
    fs::read(path).expect("readable")
}

#[test]
fn salvage_copies_what_opens_and_lists_what_does_not() {
    for key in [&[][..], &["--key-env", "KEY_A"]] {
        let place = Place::new();
        let before = damaged(&place, key);
        let checked = place.hush(&[&["check", "a.hush"], key].concat());
        assert_eq!(checked.0.status.code(), Some(1));
        for line in [
            "main.t, 1000 of 1000 rows",
            "main.u, 0 of 3 rows",
            "1 views",
        ] {
            let line = format!("could be saved: {line}\n");
            assert!(checked.out().contains(&line), "{}", checked.out());
        }
        let run = place.hush(&[&["salvage", "a.hush", "b.hush"], key].concat());
        assert_eq!(run.0.status.code(), Some(1), "{}", run.err());
        let out = run.out();
        assert!(out.contains("lost: main.u, rows 0 to 2, a: "), "{out}");
        assert!(out.contains("saved: main.t, 1000 of 1000 rows\n"), "{out}");
        assert!(!out.contains("secret"), "{out}");
        assert!(fs::read(place.path("a.hush")).ok() == Some(before));
        let saved = "SELECT * FROM v; SELECT count(*) AS n FROM t; INSERT INTO t VALUES (1, 'y')";
        let read = place.hush(&[key, &["--csv", "b.hush", saved]].concat());
        assert_eq!(read.ok(), "n\n0\nn\n1000\n");
        place
            .hush(&[key, &["b.hush", "INSERT INTO t VALUES (-1, 'y')"]].concat())
            .refused();
        let again = place.hush(&[&["salvage", "a.hush", "b.hush"], key].concat());
        assert!(again.refused().contains("b.hush is there already"));
    }
}

#[test]
fn salvage_of_a_sound_file_is_a_copy_under_the_key_that_is_given() {
    let place = Place::new();
    place.hush(&["--key-env", "KEY_A", "a.hush", SETUP]).ok();
    let key = ["--key-env", "KEY_A", "--new-key-env", "KEY_B"];
    let run = place.hush(&[&["salvage", "a.hush", "b.hush"], &key[..]].concat());
    assert!(run.ok().contains("saved: main.t, 1000 of 1000 rows\n"));
    let sum = "SELECT sum(a) AS s, max(b) AS m FROM t";
    let read = place.hush(&["--key-env", "KEY_B", "--csv", "b.hush", sum]);
    assert_eq!(read.ok(), "s,m\n499500,secret 999\n");
    place
        .hush(&["--key-env", "KEY_A", "b.hush", "SELECT 1"])
        .refused();
    place.hush(&["salvage", "missing.hush", "c.hush"]).refused();
    assert!(!place.path("c.hush").exists());
}
