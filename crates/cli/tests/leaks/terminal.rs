//! A person at a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::pty::openpty;

/// Types into a program that has a terminal, waits until it has shown `last`, and ends its input. Gives what it showed.
pub(crate) fn type_into(command: &mut Command, text: &str, last: &str) -> String {
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
    let shown = std::thread::spawn(move || {
        let (mut shown, mut bytes) = (Vec::new(), [0; 4096]);
        // The terminal is gone once the program is.
        while let Ok(count @ 1..) = screen.read(&mut bytes) {
            shown.extend_from_slice(&bytes[..count]);
        }
        String::from_utf8_lossy(&shown).into_owned()
    });
    keyboard.write_all(text.as_bytes()).expect("typed");
    keyboard.write_all(b".quit\r").expect("typed");
    let began = Instant::now();
    while child.try_wait().expect("its state").is_none() {
        if began.elapsed() > Duration::from_secs(60) {
            child.kill().expect("killed");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let shown = shown.join().expect("the reader");
    assert!(shown.contains(last), "{shown}");
    shown
}
