//! A program that looks for leaks: it gives markers to the shell as every kind of value and name, and searches what the shell
//! leaves and what it writes meanwhile: database, log, files without a name, history, standard error, and what a kill leaves.
//!
//! `HUSHDB_LEAK_SEED` draws other markers. The search itself is held against files in which the markers are planted, and
//! against the same work on a plain database, whose names it must find.

#[path = "../cli/place.rs"]
#[allow(dead_code, reason = "the other tests of the shell use all of it")]
mod place;

mod markers;
mod terminal;
mod watch;
mod workload;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use markers::{Dice, Markers, Search};
use place::{KEY_A, Place};
use watch::{Seen, Watch, files_in, search_files};
use workload::Workload;

fn seed() -> u64 {
    std::env::var("HUSHDB_LEAK_SEED").map_or(1, |text| text.parse().expect("a number"))
}

/// A directory with input for the workload.
fn place_with_input(workload: impl FnOnce(&std::path::Path) -> Workload) -> (Place, Workload) {
    let place = Place::new();
    fs::create_dir(place.path("input")).expect("made");
    fs::create_dir(place.path("spill")).expect("made");
    let mut workload = workload(&place.path(""));
    let rows =
        "n,s\n@int loaded value@,@text loaded value@\n@int loaded value 2@,@text loaded value 2@\n";
    let rows = workload.filled(rows, &mut Dice(seed() + 1));
    place.write("input/rows.csv", &rows);
    let bad = workload.filled("n,s\n@text in a bad row@,1\n", &mut Dice(seed() + 5));
    place.write("input/bad.csv", &bad);
    (place, workload)
}

/// The shell, told to spill into `spill`, with SQL on its standard input, which is closed only if it shall end.
fn start(place: &Place, arguments: &[&str], sql: &str, ends: bool) -> Child {
    let mut command = place.command(arguments);
    let mut child = command
        .env("RUST_BACKTRACE", "1")
        .env("RUST_LOG", "trace")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(fs::File::create(place.path("stderr.txt")).expect("made"))
        .spawn()
        .expect("the program runs");
    let mut input = child.stdin.take().expect("its input");
    let spill = place.path("spill").display().to_string();
    let sql = format!("SET temp_directory = '{spill}';\n{sql}");
    // Who is killed reads no more.
    let _ = input.write_all(sql.as_bytes());
    if !ends {
        child.stdin = Some(input);
    }
    child
}

/// Runs the workload to its end, and gives what was seen meanwhile and what is there then.
fn work(place: &Place, arguments: &[&str], sql: &str, search: &Arc<Search>) -> (Seen, Seen) {
    let mut child = start(place, arguments, sql, true);
    let watch = Watch::of(child.id(), &place.path(""), Arc::clone(search));
    let status = child.wait().expect("it ends");
    let seen = watch.end();
    let said = fs::read_to_string(place.path("stderr.txt")).expect("there");
    assert!(status.success(), "{said}");
    (seen, search_files(&place.path(""), search))
}

fn nothing(what: &str, hits: &BTreeSet<String>) {
    assert!(hits.is_empty(), "{what}: {hits:#?}");
}

#[test]
fn nothing_of_an_encrypted_database_is_in_the_clear() {
    let (place, mut workload) = place_with_input(|path| Workload::new(seed(), path));
    let raw: Vec<u8> = (0..32).collect();
    workload.markers.bytes("the raw key", &raw);
    workload.markers.text("the text of the raw key", KEY_A);
    let encrypted = ["--csv", "--key-env", "KEY_A", "e.hush"];
    let sql = workload.sql.clone();
    let killed = "CREATE TABLE k AS SELECT s || '@text in a sort that was killed@' AS s FROM big ORDER BY s DESC;\n";
    let killed = workload.filled(killed, &mut Dice(seed() + 2));
    let mut dice = Dice(seed() + 3);
    let mut failing = Vec::new();
    for statement in [
        "SELECT CAST('@text in a cast@' AS INTEGER)",
        "SELECT '@text in a cast@'::DATE",
        "SELECT CAST(s || '@text in a cast of a column@' AS INTEGER) FROM big",
        "SELECT s::INTEGER FROM big",
        "INSERT INTO big (n) VALUES ('@text of the wrong type@')",
        "INSERT INTO @name schema@.@name table@ (n, u) VALUES (@int value 2@, '@text of a duplicate@')",
        "INSERT INTO @name schema@.@name table@ (n, u) VALUES (1, '@text check@')",
        "SELECT 1 +* '@text in bad syntax@'",
        "SELECT '@text that does not end@",
        "ATTACH 'x.hush' AS x (ENCRYPTION_KEY '@text key in bad syntax@' '@text key in bad syntax@')",
        "ATTACH 'x.hush' AS x (ENCRYPTION_KEY '@text key with a bad option@', NO_SUCH_OPTION 1)",
        "ATTACH 'other.hush' AS x (ENCRYPTION_KEY '@text wrong key@')",
        "ATTACH 'y.hush' AS y (ENCRYPTION_KEY 'hex:@text malformed key@')",
        "SELECT regexp_matches('@text beside a bad pattern@', '(')",
        "SELECT to_timestamp('@text of no date@')",
        "SELECT CAST('@text of no hex@' AS UUID)",
        "SELECT '@text beside an overflow@', 9223372036854775807 + n FROM big",
        "SELECT @int too large@::TINYINT",
        "SELECT CAST(n + @int too large in rows@ AS INTEGER) FROM big",
        "COPY @name schema@.@name table@ (n, @name column@) FROM '@input@/bad.csv' (HEADER)",
    ] {
        failing.push(workload.filled(statement, &mut dice));
    }
    let typed = [
        "INSERT INTO big (n, s) VALUES (-1, '@text typed@');",
        "ATTACH 'third.hush' AS third (ENCRYPTION_KEY '@text typed key@');",
        "SELECT 'at the' || ' end';",
        ".quit",
    ];
    let typed = typed.map(|line| workload.filled(line, &mut dice));
    let search = Arc::new(std::mem::take(&mut workload.markers).search());

    let (meanwhile, after) = work(&place, &encrypted, &sql, &search);
    nothing("files without a name", &meanwhile.nameless);
    nothing("files while they are written", &meanwhile.named);
    nothing("files at the end", &after.named);
    assert!(
        meanwhile.nameless_bytes > 20 << 20,
        "it spilled {} bytes only",
        meanwhile.nameless_bytes
    );
    assert!(after.named_bytes > 1 << 20, "{} bytes", after.named_bytes);

    // Killed while it spills.
    let mut child = start(
        &place,
        &encrypted,
        &format!("SET disable_core_dumps = false;\nSET memory_limit = '100MB';\n{killed}"),
        false,
    );
    let watch = Watch::of(child.id(), &place.path(""), Arc::clone(&search));
    let began = Instant::now();
    while spilled(child.id()) < 4 << 20 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it does not spill"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("killed");
    child.wait().expect("it ends");
    let meanwhile = watch.end();
    nothing("files without a name, before a kill", &meanwhile.nameless);
    nothing(
        "what a kill leaves",
        &search_files(&place.path(""), &search).named,
    );
    assert!(files_in(&place.path("spill")).is_empty());

    // What is said of statements that fail. The names that were typed may be told, values and keys never.
    for statement in &failing {
        let run = place.hush(&["--csv", "--key-env", "KEY_A", "e.hush", statement]);
        let said = run.refused();
        let mut values = search.find(said.as_bytes());
        values.retain(|hit| !hit.starts_with("name "));
        assert!(values.is_empty(), "{said}: {values:?}");
    }
    nothing(
        "after statements that failed",
        &search_files(&place.path(""), &search).named,
    );

    // What the shell remembers of what was typed.
    let mut command = place.command(&["--key-env", "KEY_A", "e.hush"]);
    let shown = terminal::type_into(&mut command, &typed);
    assert!(shown.contains("at the end"), "{shown}");
    assert!(place.path("third.hush").exists(), "{shown}");
    nothing(
        "after the shell",
        &search_files(&place.path(""), &search).named,
    );
}

/// Bytes in files without a name that a process has.
fn spilled(process: u32) -> u64 {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd"));
    let files = descriptors.into_iter().flatten().flatten();
    let nameless = files.filter(|entry| {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        target.to_string_lossy().ends_with(" (deleted)")
    });
    let sizes = nameless.filter_map(|entry| Some(fs::metadata(entry.path()).ok()?.len()));
    sizes.sum()
}

#[test]
fn a_plain_database_shows_its_names_and_its_spill_files_nothing() {
    let (place, mut workload) = place_with_input(|path| Workload::new(seed(), path));
    let names: Vec<String> = workload.names().map(str::to_owned).collect();
    let sql = workload.sql.clone();
    let search = Arc::new(std::mem::take(&mut workload.markers).search());
    let (meanwhile, after) = work(&place, &["--csv", "p.hush"], &sql, &search);
    nothing("files without a name", &meanwhile.nameless);
    assert!(meanwhile.nameless_bytes > 20 << 20);
    // These are names of nothing that is in this file.
    let elsewhere = [
        "rolled back",
        "savepoint",
        "prepared",
        "database",
        "other table",
        "temporary",
    ];
    for name in names
        .iter()
        .filter(|name| !elsewhere.iter().any(|e| name.contains(e)))
    {
        let hit = |seen: &Seen| {
            seen.named
                .iter()
                .any(|hit| hit.contains(&format!("{name}, as it is")))
        };
        assert!(hit(&after) || hit(&meanwhile), "{name} is not found");
    }
    for value in [
        "text value in the second log",
        "int value in the second log",
    ] {
        let hit = |seen: &Seen| seen.named.iter().any(|hit| hit.contains(value));
        assert!(hit(&after) || hit(&meanwhile), "{value} is not found");
    }
}

#[test]
fn the_search_finds_what_is_planted() {
    let place = Place::new();
    let workload = Workload::new(seed(), &place.path(""));
    let planted: Vec<(String, Vec<u8>)> = workload
        .markers
        .needles()
        .map(|(what, needle)| (what.to_owned(), needle.to_vec()))
        .collect();
    let search = workload.markers.search();
    let mut dice = Dice(seed() + 4);
    let mut noise = Vec::new();
    for (_, needle) in &planted {
        noise.extend((0..dice.next() % 100).map(|_| dice.next() as u8));
        noise.extend_from_slice(needle);
    }
    fs::write(place.path("planted"), &noise).expect("written");
    let seen = search_files(&place.path(""), &search);
    for (what, _) in &planted {
        assert!(seen.named.contains(&format!("planted: {what}")), "{what}");
    }
    let clean: Vec<u8> = (0..1 << 20).map(|_| dice.next() as u8).collect();
    assert!(search.find(&clean).is_empty());
    assert!(Markers::default().search().find(&noise).is_empty());
}
