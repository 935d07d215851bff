//! Keys that come by standard input or by a script leave nothing in the shell's memory.

#[path = "../../../../tests/memory_scan.rs"]
mod memory_scan;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::place::Place;
use memory_scan::{Needle, scan};

const PASSPHRASE: &str = "nowhere but in this test, Wq4-heron";

/// The shell at the other end of a pipe.
struct Shell {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut command = place.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the program runs");
        Self {
            input: process.stdin.take().expect("its input"),
            output: BufReader::new(process.stdout.take().expect("its output")),
            process,
        }
    }

    /// Sends statements and waits until they are done.
    fn run(&mut self, text: &str) {
        writeln!(self.input, "{text}\nSELECT 'it is done' AS v;").expect("sent");
        let mut line = String::new();
        while !line.contains("it is done") {
            line.clear();
            let read = self.output.read_line(&mut line).expect("an answer");
            assert!(read > 0, "the shell ended");
        }
    }

    /// How often the passphrase is in the shell's memory.
    fn found(&self) -> usize {
        let needle = Needle {
            name: "passphrase".to_owned(),
            bytes: PASSPHRASE.into(),
        };
        scan(self.process.id(), &[needle])
            .expect("the memory of a child can be read")
            .iter()
            .inspect(|found| eprint_found(found))
            .count()
    }
}

fn eprint_found(found: &memory_scan::Found) {
    let where_it_is = format!("{found:?}\n");
    let _ = std::io::stderr().write_all(where_it_is.as_bytes());
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_key_that_was_piped_in_or_read_from_a_script_is_nowhere() {
    let place = Place::new();
    let attach = format!(
        "ATTACH 'v.hush' AS v (\n  ENCRYPTION_KEY '{PASSPHRASE}');\nCREATE TABLE v.t AS SELECT 1 AS a;"
    );
    let again = format!(
        "SELECT 1; ATTACH 'v.hush' AS v (ENCRYPTION_KEY = '{PASSPHRASE}'); SELECT * FROM v.t;"
    );
    place.write("again.sql", &again);
    let mut shell = Shell::start(&place, &["--csv"]);
    // Else only root may read the memory.
    shell.run("SET disable_core_dumps = false;");
    shell.run(&attach);
    assert_eq!(shell.found(), 0, "while attached");
    shell.run("DETACH v;");
    shell.run(".read again.sql");
    shell.run("DETACH v;");
    assert_eq!(shell.found(), 0, "after a script");
    // What the shell must remember, the scan finds.
    shell.run(&format!("CREATE TABLE t AS SELECT '{PASSPHRASE}' AS s;"));
    assert!(shell.found() > 0);
}

#[test]
fn core_dumps_are_off_from_the_beginning_and_with_each_key_option() {
    let place = Place::new();
    let at_first = place.hush(&["--csv", "-c", "SELECT core_dumps FROM key_memory()"]);
    assert_eq!(at_first.ok(), "core_dumps\nfalse\n");
    // Where the hard limit forbids dumps nothing can be switched.
    let switch = "SET disable_core_dumps = false; SELECT core_dumps FROM key_memory();";
    let possible = place.hush(&["--csv", "-c", switch]).ok();
    let sql = "SELECT core_dumps, bytes > 0 AND used_bytes > 0 AS kept FROM key_memory()";
    let with_key = place.hush(&["--csv", "--key-env", "KEY_A", "v.hush", sql]);
    assert_eq!(with_key.ok(), "core_dumps,kept\nfalse,true\n");
    let key = ["--csv", "--key-env", "KEY_A", "v.hush", switch];
    assert_eq!(place.hush(&key).ok(), possible, "on again");
    let opened = [
        "--csv",
        "-c",
        switch,
        "-c",
        ".open --key-env KEY_A v.hush",
        "-c",
        sql,
    ];
    let opened = place.hush(&opened).ok();
    assert_eq!(opened, format!("{possible}core_dumps,kept\nfalse,true\n"));
    let off = "SET disable_core_dumps = true; SELECT core_dumps FROM key_memory();";
    let off = place.hush(&["--csv", "-c", switch, "-c", off]).ok();
    assert_eq!(off, format!("{possible}core_dumps\nfalse\n"));
}
