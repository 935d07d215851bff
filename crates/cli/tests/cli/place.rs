//! A directory of its own for each test, and the program in it.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

pub(crate) const KEY_A: &str =
    "hex:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const KEY_B: &str = "hex:ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// A directory of its own, and the program in it.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).expect("written");
        self.path(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hush"));
        command
            .current_dir(self.directory.path())
            .args(arguments)
            .env("XDG_STATE_HOME", self.path("state"));
        command
            .env("KEY_A", KEY_A)
            .env("KEY_B", KEY_B)
            .env("PASSPHRASE", "correct horse battery staple");
        command
    }

    pub(crate) fn hush(&self, arguments: &[&str]) -> Run {
        Run(self
            .command(arguments)
            .stdin(Stdio::null())
            .output()
            .expect("the program runs"))
    }

    pub(crate) fn piped(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = self.command(arguments);
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.expect("the program runs");
        // A program that stops at an error closes its input early.
        let _ = child
            .stdin
            .take()
            .expect("its input")
            .write_all(input.as_bytes());
        Run(child.wait_with_output().expect("the program ends"))
    }
}

pub(crate) struct Run(pub(crate) Output);

impl Run {
    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).expect("UTF-8")
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).expect("UTF-8")
    }

    /// What it printed; it must have ended well.
    #[track_caller]
    pub(crate) fn ok(&self) -> String {
        assert_eq!(
            self.0.status.code(),
            Some(0),
            "stdout: {}\nstderr: {}",
            self.out(),
            self.err()
        );
        self.out()
    }

    /// What it said; it must have ended with exit code 1 and an error.
    #[track_caller]
    pub(crate) fn refused(&self) -> String {
        assert_eq!(
            self.0.status.code(),
            Some(1),
            "stdout: {}\nstderr: {}",
            self.out(),
            self.err()
        );
        assert!(self.err().starts_with("Error: "), "{}", self.err());
        self.err()
    }
}
