//! An instance in a directory of its own, a server over it, and psql.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tempfile::TempDir;

pub(crate) const KEY: &str = "pass:the key of the instance";
pub(crate) const PASSWORD: &str = "correct horse";

/// The built program.
pub(crate) fn hush(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hush"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// A new instance.
pub(crate) fn made() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().to_str().unwrap();
    let done = hush(&["init", directory, "--key-env", "K", "--password-env", "P"])
        .envs([("K", KEY), ("P", PASSWORD)])
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    place
}

/// All files of an instance.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = vec![];
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false if path.is_file() => files.push(path),
            false => {}
        }
    }
    files
}

/// How many databases lie in an instance.
pub(crate) fn databases(directory: &Path) -> usize {
    let files = files(&directory.join("db"));
    files
        .iter()
        .filter(|path| path.extension().is_some_and(|is| is == "hushdb"))
        .count()
}

/// A server that runs.
pub(crate) struct Running {
    child: Child,
    port: u16,
    sockets: TempDir,
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start(directory: &Path) -> Self {
        Self::start_with(directory, &[])
    }

    pub(crate) fn start_with(directory: &Path, more: &[&str]) -> Self {
        Self::start_by(directory, KEY, more)
    }

    pub(crate) fn start_by(directory: &Path, key: &str, more: &[&str]) -> Self {
        let sockets = tempfile::tempdir().unwrap();
        let mut child = hush(&[
            "serve",
            directory.to_str().unwrap(),
            "--key-env",
            "K",
            "--listen",
            "127.0.0.1:0",
        ])
        .arg("--socket-dir")
        .arg(sockets.path())
        .args(["--threads", "2", "--memory-limit", "512"])
        .args(more)
        .envs([("K", key), ("P", PASSWORD)])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (mut port, kept) = (0, Arc::new(Mutex::new(vec![])));
        loop {
            let line = lines
                .next()
                .expect("the server is ready some time")
                .unwrap();
            if let Some((_, number)) = line.split_once("listening on 127.0.0.1:") {
                port = number.trim_end_matches("\"}").parse().unwrap();
            }
            let is_ready = line.ends_with(": ready") || line.ends_with("\"ready\"}");
            kept.lock().unwrap().push(line);
            if is_ready {
                break;
            }
        }
        let later = Arc::clone(&kept);
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                later.lock().unwrap().push(line);
            }
        });
        Self {
            child,
            port,
            sockets,
            lines: kept,
            reader: Some(reader),
        }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.sockets.path().join(format!(".s.PGSQL.{}", self.port))
    }

    /// What it has written to standard error.
    pub(crate) fn log(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// What psql takes.
    pub(crate) fn url(&self, user: &str, database: &str, options: &str) -> String {
        format!(
            "host=127.0.0.1 port={} user={user} dbname={database} {options}",
            self.port
        )
    }

    /// Without a word.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// By SIGTERM, after which it has stored everything. Gives all that it has written.
    pub(crate) fn stop(mut self) -> Vec<String> {
        let kill = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        assert!(self.child.wait().unwrap().success());
        // What it wrote last may still be on its way when it has ended.
        let reader = self.reader.take().unwrap();
        reader.join().unwrap();
        self.log()
    }

    /// How many threads it has.
    pub(crate) fn threads(&self) -> usize {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        tasks.map_or(0, Iterator::count)
    }

    /// Memory of it that is resident, in MiB.
    pub(crate) fn resident_mib(&self) -> u64 {
        self.resident_kib() / 1024
    }

    /// The same in KiB.
    pub(crate) fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.unwrap_or_default()
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What psql said.
pub(crate) struct Said(std::process::Output);

impl Said {
    pub(crate) fn ok(&self) -> String {
        assert!(self.0.status.success(), "{}", self.error());
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub(crate) fn error(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }
}

/// Runs statements with psql; `None`, and a sentence, where it is not installed.
pub(crate) fn psql(url: &str, password: &str, statements: &[&str]) -> Option<Said> {
    let mut command = Command::new("psql");
    command.args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", url]);
    for sql in statements {
        command.args(["-c", sql]);
    }
    match command.env("PGPASSWORD", password).output() {
        Ok(output) => Some(Said(output)),
        Err(_) => {
            let said = "skipped: psql is not installed (Debian: postgresql-client)";
            let _ = writeln!(std::io::stderr(), "{said}");
            None
        }
    }
}
