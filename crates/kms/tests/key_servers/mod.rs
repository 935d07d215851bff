//! The servers and tools that tests of places for keys ask, if they are installed: `key_servers/install` does that.
#![allow(dead_code, clippy::print_stderr)]

pub(crate) mod moto;
pub(crate) mod pykmip;
pub(crate) mod softhsm;

use std::path::PathBuf;
use std::process::{Command, Output};

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
