//! A person at a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::pty::openpty;

/// What the line editor sends when it begins to read a line. It throws away what was typed before.
const READS: &[u8] = b"\x1b[?2004h";

/// Types lines into a program that has a terminal, each when it is asked for. Gives what was shown when it ended.
pub(crate) fn type_into(command: &mut Command, lines: &[String]) -> String {
    let pty = openpty(None, None).expect("a terminal");
    let slave = || Stdio::from(pty.slave.try_clone().expect("its other end"));
    let mut child = command
        .env("TERM", "xterm")
        .stdin(slave())
        .stdout(slave())
        .stderr(slave())
        .spawn()
        .expect("the program runs");
    // The screen ends with the last of these.
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    drop(pty.slave);
    let mut keyboard = File::from(pty.master);
    let mut screen = keyboard.try_clone().expect("the screen");
    let shown = Arc::new(Mutex::new(Vec::new()));
    let showing = Arc::clone(&shown);
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        // The terminal is gone once the program is.
        while let Ok(count @ 1..) = screen.read(&mut bytes) {
            let mut shown = showing.lock().expect("the screen");
            shown.extend_from_slice(&bytes[..count]);
        }
    });
    let text = || String::from_utf8_lossy(&shown.lock().expect("the screen")).into_owned();
    let wait_for = |what: &str, mut there: Box<dyn FnMut() -> bool + '_>| {
        let began = Instant::now();
        while !there() {
            let waited = began.elapsed();
            assert!(waited < Duration::from_secs(120), "{what}: {}", text());
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    for (at, line) in lines.iter().enumerate() {
        let asked = || {
            let shown = shown.lock().expect("the screen");
            shown.windows(READS.len()).filter(|w| *w == READS).count() > at
        };
        wait_for("no prompt", Box::new(asked));
        keyboard.write_all(line.as_bytes()).expect("typed");
        keyboard.write_all(b"\r").expect("typed");
    }
    let ended = || child.try_wait().expect("its state").is_some();
    wait_for("it does not end", Box::new(ended));
    reader.join().expect("the reader");
    text()
}
