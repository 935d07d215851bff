//! The built program from the outside: what it prints where, and with which exit code it ends.

mod anchors;
mod bytes;
mod deep;
mod faults;
mod interrupts;
mod key_places;
mod key_recheck;
#[path = "../../../kms/tests/key_servers/mod.rs"]
mod key_servers;
mod kills;
mod memory;
mod notices;
mod outputs;
mod place;
mod printing;
mod resident;
mod salvage;
mod session_as_told;
#[path = "../../../kms/tests/vault_stub/mod.rs"]
mod vault_stub;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Stdio;

use place::{KEY_A, Place};

#[test]
fn sql_as_arguments_and_by_c_and_f() {
    let place = Place::new();
    assert_eq!(
        place
            .hush(&["--csv", ":memory:", "SELECT 1 AS a", "SELECT 2 AS b;"])
            .ok(),
        "a\n1\nb\n2\n"
    );
    assert_eq!(
        place
            .hush(&["--csv", "-c", "SELECT 1 AS a", "-c", "SELECT 2 AS b"])
            .ok(),
        "a\n1\nb\n2\n"
    );
    place.write(
        "s.sql",
        "CREATE TABLE t AS SELECT 7 AS x;\n-- a comment\nSELECT x\n  FROM t",
    );
    assert_eq!(place.hush(&["--csv", "-f", "s.sql"]).ok(), "x\n7\n");
    assert_eq!(place.hush(&["--csv", "-c", ".read s.sql"]).ok(), "x\n7\n");
}

#[test]
fn every_output_mode() {
    let place = Place::new();
    let sql = "SELECT 1 AS n, 'a|b' AS t UNION ALL SELECT 2, NULL ORDER BY n";
    let run = |mode: &str| place.hush(&[mode, "-c", sql]).ok();
    assert_eq!(run("--csv"), "n,t\n1,a|b\n2,NULL\n");
    assert_eq!(
        run("--json"),
        "[{\"n\":1,\"t\":\"a|b\"},\n{\"n\":2,\"t\":null}]\n"
    );
    assert_eq!(
        run("--line"),
        "    n = 1\n    t = a|b\n\n    n = 2\n    t = NULL\n"
    );
    assert_eq!(
        run("--markdown"),
        "| n |  t   |\n|--:|------|\n| 1 | a\\|b |\n| 2 | NULL |\n"
    );
    let boxed = run("--box");
    assert!(
        boxed.contains("│   n   │    t    │\n") && boxed.contains("│ varchar │\n"),
        "{boxed}"
    );
    assert!(
        boxed.contains("│ a|b     │\n") && boxed.contains("│ NULL    │\n"),
        "{boxed}"
    );
    assert_eq!(
        boxed,
        place.hush(&["-c", sql]).ok(),
        "the box is the default"
    );
    let switched = place.hush(&["-c", ".mode csv\nSELECT 1 AS a;\n.mode"]).ok();
    assert_eq!(switched, "a\n1\ncurrent output mode: csv\n");
}

#[test]
fn a_long_result_is_cut_and_counted() {
    let text = Place::new()
        .hush(&["-c", "SELECT range AS n, range * 2 AS m FROM range(1000)"])
        .ok();
    assert!(
        text.contains("1000 rows (40 shown)") && text.contains("2 columns") && text.contains('·'),
        "{text}"
    );
}

#[test]
fn standard_input_is_run_statement_by_statement() {
    let place = Place::new();
    let mut command = place.command(&["--csv"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut input = child.stdin.take().expect("its input");
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    let mut line = String::new();
    for number in 0..3 {
        // Each answer must arrive while the input is still open.
        writeln!(input, "SELECT {number} AS n;").expect("sent");
        for expected in ["n\n".to_owned(), format!("{number}\n")] {
            line.clear();
            output.read_line(&mut line).expect("an answer");
            assert_eq!(line, expected);
        }
    }
    write!(input, ".mode line\nSELECT 9 AS last").expect("sent");
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the rest");
    assert_eq!(rest, " last = 9\n");
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn the_first_error_stops_with_exit_code_1() {
    let run = Place::new().piped(
        &["--csv"],
        "SELECT 1 AS a;\nSELECT * FROM nowhere;\nSELECT 2 AS b;\n",
    );
    assert_eq!(run.out(), "a\n1\n");
    assert!(run.refused().contains("nowhere"));
    for arguments in [
        ["-c", "SELEC 1"],
        ["-c", ".unknown"],
        ["-f", "missing.sql"],
        ["-c", ".read missing.sql"],
    ] {
        Place::new().hush(&arguments).refused();
    }
    let run = Place::new().hush(&["--csv", "-c", "SELEC 1", "-c", "SELECT 2 AS b"]);
    run.refused();
    assert_eq!(run.out(), "");
    assert_eq!(
        Place::new().hush(&["--no-such-option"]).0.status.code(),
        Some(1)
    );
    assert_eq!(Place::new().hush(&["--help"]).0.status.code(), Some(0));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::new();
    let mut command = place.command(&["--csv", "-c", "SELECT range AS n FROM range(1000000)"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    drop(output);
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    assert_eq!(ended.status.code(), Some(141));
}

#[test]
fn dot_commands() {
    let place = Place::new();
    let setup = "CREATE TABLE orders (a INTEGER NOT NULL, \"B b\" VARCHAR DEFAULT 'x'); CREATE VIEW v AS SELECT a FROM orders;";
    let run = |command: &str| {
        place
            .piped(&["--csv"], &format!("{setup}\n{command}\n"))
            .ok()
    };
    assert_eq!(run(".tables"), "orders\nv\n");
    assert_eq!(run(".tables ord%"), "orders\n");
    let schema = run(".schema orders");
    assert!(
        schema.starts_with("CREATE TABLE orders(a INTEGER NOT NULL, \"B b\" VARCHAR DEFAULT "),
        "{schema}"
    );
    let keys = "CREATE TABLE k (a INTEGER PRIMARY KEY, \"B b\" INTEGER UNIQUE); CREATE INDEX i ON k (\"B b\", a);";
    assert_eq!(
        run(&format!("{keys}\n.indexes k")),
        "k_pkey\n\"k_B b_key\"\ni\n"
    );
    let schema = run(&format!("{keys}\n.schema k"));
    let table = "CREATE TABLE k(a INTEGER NOT NULL, \"B b\" INTEGER, CONSTRAINT k_pkey PRIMARY KEY(a), CONSTRAINT \"k_B b_key\" UNIQUE(\"B b\"));";
    assert_eq!(
        schema,
        format!("{table}\nCREATE INDEX i ON k(\"B b\", a);\n")
    );
    assert!(run(".databases").contains("memory"));
    assert!(run(".help").contains(".schema"));
    assert_eq!(run(".quit\nSELECT 1;"), "");
    assert!(run(".timer on\nSELECT 1 AS a;").contains("Run Time (s): real "));
    assert_eq!(
        run(".output out.csv\nSELECT 1 AS a;\n.output\nSELECT 2 AS b;"),
        "b\n2\n"
    );
    assert_eq!(
        fs::read_to_string(place.path("out.csv")).expect("written"),
        "a\n1\n"
    );
    assert!(
        place
            .hush(&["-c", ".mode fancy"])
            .refused()
            .contains("csv, html")
    );
    place.hush(&["-c", ".timer maybe"]).refused();
}

#[test]
fn open_changes_the_database() {
    let place = Place::new();
    let script = "CREATE TABLE here (a INTEGER);\n.open --key-env KEY_A other.hush\nCREATE TABLE there (a INTEGER);\n.tables\n";
    assert_eq!(place.piped(&[], script).ok(), "there\n");
    assert_eq!(
        place
            .hush(&["--key-env", "KEY_A", "other.hush", ".tables"])
            .ok(),
        "there\n"
    );
    place
        .hush(&["-c", ".open --key-env KEY_B other.hush"])
        .refused();
}

#[test]
fn a_fresh_file_with_a_key_is_encrypted() {
    let place = Place::new();
    let key_file = place.write("a.key", &format!("{KEY_A}\n"));
    fs::set_permissions(&key_file, fs::Permissions::from_mode(0o600)).expect("closed to others");
    place
        .hush(&[
            "--key-env",
            "KEY_A",
            "e.hush",
            "CREATE TABLE secret_name AS SELECT 'secret-value-secret-value' AS v",
        ])
        .ok();
    let bytes = fs::read(place.path("e.hush")).expect("there");
    for marker in ["secret_name", "secret-value"] {
        assert!(
            !bytes
                .windows(marker.len())
                .any(|window| window == marker.as_bytes()),
            "{marker} is in the clear"
        );
    }
    for key in [
        ["--key-env", "KEY_A"],
        ["--key-file", "a.key"],
        ["--key-command", "cat a.key"],
    ] {
        let text = place
            .hush(&[
                key[0],
                key[1],
                "--csv",
                "e.hush",
                "SELECT v FROM secret_name",
            ])
            .ok();
        assert_eq!(text, "v\nsecret-value-secret-value\n");
    }
    assert!(
        place
            .hush(&["e.hush", "SELECT 1"])
            .refused()
            .contains("--key-env")
    );
    assert!(
        place
            .hush(&["--key-env", "KEY_B", "e.hush", "SELECT 1"])
            .refused()
            .contains("Wrong Key")
    );
    place
        .hush(&["--key-env", "NOT_SET", "e.hush", "SELECT 1"])
        .refused();
    place
        .hush(&["--key-env", "KEY_A", "-c", "SELECT 1"])
        .refused();

    plain(&place, "p.hush");
    assert!(
        place
            .hush(&["--key-env", "KEY_A", "p.hush", "SELECT 1"])
            .refused()
            .contains("Not Encrypted")
    );
}

#[test]
fn read_only_writes_nothing() {
    let place = Place::new();
    plain(&place, "a.hush");
    let before = fs::read(place.path("a.hush")).expect("there");
    assert_eq!(
        place
            .hush(&["--read-only", "--csv", "a.hush", "SELECT a FROM t"])
            .ok(),
        "a\n1\n"
    );
    place
        .hush(&["--read-only", "a.hush", "INSERT INTO t VALUES (2)"])
        .refused();
    assert_eq!(fs::read(place.path("a.hush")).expect("there"), before);
    place
        .hush(&["--read-only", "missing.hush", "SELECT 1"])
        .refused();
    assert!(!place.path("missing.hush").exists());
}

#[test]
fn a_file_named_like_a_command() {
    let place = Place::new();
    plain(&place, "./check");
    assert!(place.path("check").exists());
    assert!(place.hush(&["check", "check"]).ok().contains("no damage"));
}

fn plain(place: &Place, name: &str) {
    place.hush(&[name, "CREATE TABLE t AS SELECT 1 AS a"]).ok();
}

fn encrypted(place: &Place) {
    let sql = "CREATE TABLE t AS SELECT range AS a, range * 3 AS b FROM range(10000)";
    place.hush(&["--key-env", "KEY_A", "e.hush", sql]).ok();
}

#[test]
fn inspect_with_and_without_the_key() {
    let place = Place::new();
    encrypted(&place);
    let outside = place.hush(&["inspect", "e.hush"]).ok();
    for expected in [
        "format version   1",
        "AES-256-GCM",
        "database id",
        "1 of 8 in use",
        "raw key, given by environment",
    ] {
        assert!(outside.contains(expected), "{expected}: {outside}");
    }
    assert!(
        !outside.contains("main.t") && !outside.contains("generation"),
        "{outside}"
    );
    let inside = place
        .hush(&["inspect", "--key-env", "KEY_A", "e.hush"])
        .ok();
    for expected in [
        "generation",
        "root digest",
        "main.t",
        "10000",
        "column data",
        "metadata",
    ] {
        assert!(inside.contains(expected), "{expected}: {inside}");
    }
    assert!(
        place
            .hush(&["inspect", "--key-env", "KEY_B", "e.hush"])
            .refused()
            .contains("Wrong Key")
    );
    plain(&place, "p.hush");
    assert!(place.hush(&["inspect", "p.hush"]).ok().contains("main.t"));
    place.write("text.txt", "this is no database");
    place.hush(&["inspect", "text.txt"]).refused();
    place.hush(&["inspect", "missing"]).refused();
}

fn flip(path: &Path, offset: u64) {
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .expect("opened");
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).expect("read");
    byte[0] ^= 1;
    file.write_all_at(&byte, offset).expect("written");
}

#[test]
fn check_finds_a_flipped_bit() {
    let place = Place::new();
    encrypted(&place);
    let sound = place.hush(&["check", "--key-env", "KEY_A", "e.hush"]).ok();
    assert!(
        sound.starts_with("no damage: ") && sound.contains("10000 rows"),
        "{sound}"
    );
    place.hush(&["check", "e.hush"]).refused();
    // The first block lies behind the fixed part of the file.
    fs::copy(place.path("e.hush"), place.path("block.hush")).expect("copied");
    flip(&place.path("block.hush"), 65536 + 200);
    let run = place.hush(&["check", "--key-env", "KEY_A", "block.hush"]);
    assert_eq!(run.0.status.code(), Some(1), "{}{}", run.out(), run.err());
    assert!(
        run.out().contains("damage: ") && run.out().contains("at byte 65536"),
        "{}",
        run.out()
    );
    // One of two copies: the file opens, and the damage is reported all the same.
    for (name, offset) in [("header.hush", 100), ("superblock.hush", 32768 + 300)] {
        fs::copy(place.path("e.hush"), place.path(name)).expect("copied");
        flip(&place.path(name), offset);
        let run = place.hush(&["check", "--key-env", "KEY_A", name]);
        assert_eq!(
            run.0.status.code(),
            Some(1),
            "{name}: {}{}",
            run.out(),
            run.err()
        );
        assert!(run.out().contains("damage: "), "{name}: {}", run.out());
    }
}

#[test]
fn keys_are_added_changed_and_removed() {
    let place = Place::new();
    encrypted(&place);
    let keys = |line: &str| {
        let words = std::iter::once("keys").chain(line.split(' '));
        place.hush(&words.collect::<Vec<_>>())
    };
    let list = || keys("list e.hush").ok();
    let opens = |key: &str| {
        place
            .hush(&[
                "--key-env",
                key,
                "--csv",
                "e.hush",
                "SELECT count(*) AS n FROM t",
            ])
            .0
            .status
            .success()
    };
    assert!(
        list().starts_with("1 of 8 key slots in use\n  slot 0: raw key"),
        "{}",
        list()
    );

    let last = keys("remove --key-env KEY_A --slot 0 e.hush").refused();
    assert!(last.contains("last"), "{last}");
    let added = keys("add e.hush --key-env KEY_A --new-key-env PASSPHRASE --label mine").ok();
    assert!(
        added.starts_with("Added key slot 1 in ") && added.contains(" ms"),
        "{added}"
    );
    assert!(list().contains(
        "slot 1: passphrase, Argon2id (m = 64 MiB, t = 3, p = 4), given by environment, \"mine\""
    ));
    assert!(opens("KEY_A") && opens("PASSPHRASE") && !opens("KEY_B"));

    let which = keys("change e.hush --key-env KEY_A --new-key-env KEY_B").refused();
    assert!(which.contains("--slot"), "{which}");
    keys("change e.hush --key-env KEY_A --new-key-env KEY_B --slot 0").ok();
    assert!(!opens("KEY_A") && opens("PASSPHRASE") && opens("KEY_B"));
    keys("remove e.hush --key-env KEY_B --slot 1").ok();
    assert!(opens("KEY_B") && !opens("PASSPHRASE"));
    keys("remove e.hush --key-env KEY_B --slot 5").refused();
    keys("add e.hush --key-env KEY_A --new-key-env KEY_B").refused();
    keys("add e.hush --key-env KEY_B").refused();

    plain(&place, "p.hush");
    assert!(keys("list p.hush").refused().contains("Not Encrypted"));
}

#[test]
fn a_key_file_beside_a_passphrase_is_needed_with_it() {
    let place = Place::new();
    place.write("factor", &"f".repeat(40));
    place.write("other", &"o".repeat(40));
    place.write("short", "f");
    let hush = |line: &str| place.hush(&line.split(' ').collect::<Vec<_>>());
    let sql = |key: &str, sql: &str| {
        let words = key.split(' ').chain(["--csv", "two.hush", sql]);
        place.hush(&words.collect::<Vec<_>>())
    };
    let both = "--key-env PASSPHRASE --with-key-file factor";
    sql(both, "CREATE TABLE t AS SELECT 7 AS n").ok();
    assert!(sql(both, "FROM t").ok().contains('7'));
    let list = hush("keys list two.hush").ok();
    assert!(
        list.contains("given by environment, with a key file"),
        "{list}"
    );
    let alone = sql("--key-env PASSPHRASE", "FROM t").refused();
    assert!(alone.contains("--with-key-file"), "{alone}");
    for other in [
        "--key-env PASSPHRASE --with-key-file other",
        "--key-env KEY_A --with-key-file factor",
        "--key-env PASSPHRASE --with-key-file short",
        "--key-env PASSPHRASE --with-key-file missing",
    ] {
        sql(other, "FROM t").refused();
    }
    hush(&format!(
        "keys add {both} --new-key-env KEY_A --new-with-key-file other two.hush"
    ))
    .ok();
    assert!(
        sql("--key-env KEY_A --with-key-file other", "FROM t")
            .ok()
            .contains('7')
    );
    hush(&format!(
        "keys change {both} --slot 0 --new-key-env KEY_B two.hush"
    ))
    .ok();
    assert!(sql("--key-env KEY_B", "FROM t").ok().contains('7'));
    sql(both, "FROM t").refused();
    hush("rekey --slot 1 --drop-slot 0 --key-env KEY_A --with-key-file other two.hush").ok();
    assert!(
        sql("--key-env KEY_A --with-key-file other", "FROM t")
            .ok()
            .contains('7')
    );
    sql("--key-env KEY_B", "FROM t").refused();
    let attach = format!(
        "ATTACH '{}' AS two (ENCRYPTION_KEY_ENV 'KEY_A', KEY_FILE '{}'); FROM two.t",
        place.path("two.hush").display(),
        place.path("other").display()
    );
    assert!(
        place
            .hush(&["--csv", ":memory:", &attach])
            .ok()
            .contains('7')
    );
    let refused = "ATTACH 'two.hush' AS two (KEY_FILE 'other')";
    let refused = place.hush(&[":memory:", refused]).refused();
    assert!(refused.contains("ENCRYPTION_KEY"), "{refused}");
}

#[test]
fn a_rekey_locks_out_who_knew_the_old_keys() {
    let place = Place::new();
    encrypted(&place);
    let hush = |line: &str| place.hush(&line.split(' ').collect::<Vec<_>>());
    let opens = |key: &str| {
        let count = [
            "--key-env",
            key,
            "--csv",
            "e.hush",
            "SELECT count(*) AS n FROM t",
        ];
        place.hush(&count).0.status.success()
    };
    hush("keys add e.hush --key-env KEY_A --new-key-env PASSPHRASE --label mine").ok();
    let old = std::fs::read(place.path("e.hush")).expect("the file");
    let which = hush("rekey e.hush --key-env KEY_A").refused();
    assert!(
        which.contains("--slot") && which.contains("--drop-slot"),
        "{which}"
    );
    let unnamed = hush("rekey e.hush --key-env KEY_A --slot 0").refused();
    assert!(unnamed.contains("key slot 1 would be lost"), "{unnamed}");
    hush("rekey e.hush --key-env KEY_A --slot 1 --drop-slot 0").refused();
    let both = hush("rekey --data e.hush --key-env KEY_A --slot 0");
    assert!(!both.0.status.success(), "they contradict each other");
    assert!(opens("KEY_A") && opens("PASSPHRASE"));

    let said = hush("rekey e.hush --key-env KEY_A --new-key-env KEY_B --slot 0 --drop-slot 1").ok();
    assert!(
        said.starts_with("All blocks are under a new master key"),
        "{said}"
    );
    assert!(opens("KEY_B") && !opens("KEY_A") && !opens("PASSPHRASE"));
    let commitment = said.split("--expected-key: ").nth(1).expect("said");
    let commitment = commitment.split('\n').next().expect("a line");
    let expected = ["--key-env", "KEY_B", "--expected-key", commitment];
    let count = [&expected[..], &["e.hush", "SELECT count(*) FROM t"]].concat();
    place.hush(&count).ok();
    let list = hush("keys list e.hush").ok();
    assert!(list.starts_with("1 of 8 key slots"), "{list}");

    // The old header in the place of the new one, in both copies, opens nothing.
    let rekeyed = std::fs::read(place.path("e.hush")).expect("the file");
    let mut edited = rekeyed.clone();
    for at in [0, 16_384] {
        edited[at..at + 4096].copy_from_slice(&old[at..at + 4096]);
    }
    std::fs::write(place.path("e.hush"), &edited).expect("written");
    assert!(!opens("KEY_A") && !opens("KEY_B") && !opens("PASSPHRASE"));
    std::fs::write(place.path("e.hush"), &rekeyed).expect("written");
    // A kept slot opens on.
    hush("rekey e.hush --key-env KEY_B").ok();
    assert!(opens("KEY_B"));
    hush("check --key-env KEY_B e.hush").ok();
}

#[test]
fn a_second_writer_is_told_who_is_there() {
    let place = Place::new();
    let mut command = place.command(&["--csv", "a.hush"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut input = child.stdin.take().expect("its input");
    writeln!(input, "SELECT 1 AS ready;").expect("sent");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("its output"))
        .read_line(&mut line)
        .expect("ready");
    let refusal = place.hush(&["a.hush", "SELECT 1"]).refused();
    assert!(
        refusal.contains("Busy") && refusal.contains(&child.id().to_string()),
        "{refusal}"
    );
    drop(input);
    child.wait().expect("it ends");
    place.hush(&["a.hush", "SELECT 1"]).ok();
}

#[test]
fn the_demo_runs() {
    let place = Place::new();
    let text = place.hush(&["demo", "--sf", "0.01", "--dir", "d"]).ok();
    assert_eq!(text.matches("official").count(), 22, "{text}");
    for expected in [
        "bits of entropy per byte",
        "Wrong Key",
        "Key Required",
        "hush check finds 1 damaged block",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(
        fs::metadata(place.path("d/demo.key"))
            .expect("there")
            .permissions()
            .mode()
            & 0o777,
        0o600
    );
    assert!(
        fs::read(place.path("d/bytes.png"))
            .expect("there")
            .starts_with(b"\x89PNG")
    );
    let count = place
        .hush(&[
            "--key-file",
            "d/demo.key",
            "--csv",
            "d/encrypted.hush",
            "SELECT count(*) AS n FROM orders",
        ])
        .ok();
    assert_eq!(count, "n\n15000\n");
    // A second run replaces the first; a directory with someone's database is left alone.
    assert!(
        place
            .hush(&["demo", "--sf", "0.002", "--dir", "d"])
            .ok()
            .contains("Replacing")
    );
    fs::create_dir(place.path("mine")).expect("made");
    plain(&place, "mine/plain.hush");
    place
        .hush(&["demo", "--sf", "0.002", "--dir", "mine"])
        .refused();
    assert_eq!(
        place
            .hush(&["--csv", "mine/plain.hush", "SELECT a FROM t"])
            .ok(),
        "a\n1\n"
    );
}
