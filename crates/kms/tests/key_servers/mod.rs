//! The servers and tools that tests of places for keys ask, if they are installed: `key_servers/install` does that.
#![allow(dead_code, clippy::print_stderr)]

pub(crate) mod moto;
pub(crate) mod pykmip;
pub(crate) mod softhsm;

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What is there of some programs or files; otherwise the test says why it is skipped, or fails where they must be there.
pub(crate) fn missing(what: &[&str]) -> bool {
    let absent = what.iter().find(|name| !is_there(name));
    let Some(name) = absent else {
        return false;
    };
    let required = std::env::var("HUSHDB_REQUIRE_KEY_SERVERS").is_ok_and(|value| value == "1");
    assert!(
        !required,
        "{name} is missing: run crates/kms/tests/key_servers/install"
    );
    skip(&format!(
        "{name} is missing: run crates/kms/tests/key_servers/install"
    ));
    true
}

/// Says why a test is skipped.
pub(crate) fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

fn is_there(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|place| place.join(name));
    name.starts_with('/') && PathBuf::from(name).exists() || places.any(|place| place.exists())
}

/// A program of the environment that `install` makes.
pub(crate) fn of_python(program: &str) -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    let xdg = std::env::var("XDG_CACHE_HOME").unwrap_or(format!("{home}/.cache"));
    let cache = std::env::var("HUSHDB_CI_CACHE").unwrap_or(format!("{xdg}/hushdb-ci"));
    format!("{cache}/key-servers/bin/{program}")
}

/// Runs a program, which must end well.
pub(crate) fn run(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&stderr).into_owned();
    assert!(status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&stdout).into_owned()
}

/// Starts what listens at the port that it is told; returns it and the port once it does.
pub(crate) fn listening(server: impl Fn(u16) -> Command) -> (Child, u16) {
    loop {
        let port = free_port();
        let mut child = server(port).spawn().expect("it starts");
        let started = Instant::now();
        let alive = loop {
            if child.try_wait().expect("it is ours").is_some() {
                break false;
            }
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                break true;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "it listens");
            std::thread::sleep(Duration::from_millis(50));
        };
        // Another process may have taken the port first: it has answered, and the server has given up.
        if alive && child.try_wait().expect("it is ours").is_none() {
            return (child, port);
        }
        assert!(started.elapsed() < Duration::from_secs(60), "it starts");
    }
}

/// A port that nobody listens at. It is below those that the kernel gives to connections and to who asks for any: one of these could be
/// taken again before the server has it, even by the connection that asks whether it listens.
fn free_port() -> u16 {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    loop {
        let asked = ASKED.fetch_add(1, Ordering::Relaxed);
        let seed = std::process::id().wrapping_mul(7919).wrapping_add(asked);
        let port = 12_000 + (seed % 20_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
