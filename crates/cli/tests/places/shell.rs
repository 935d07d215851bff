//! The program at the other end of a pipe, which is told statements and asked whether it goes on.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use crate::place::Place;

/// Longest wait for what must come soon.
const SOON: Duration = Duration::from_secs(60);

/// Until something holds.
pub(crate) fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < SOON, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Names and values.
pub(crate) type Variables<'a> = &'a [(&'a str, String)];

pub(crate) struct Shell {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Shell {
    pub(crate) fn start(place: &Place, variables: Variables<'_>, arguments: &[&str]) -> Self {
        let mut command = place.command(&["--csv"]);
        command
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        Self {
            input: process.stdin.take(),
            output: BufReader::new(process.stdout.take().expect("its output")),
            process,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// What statements print; `None` when the program has ended, as it does at an error.
    pub(crate) fn try_run(&mut self, text: &str) -> Option<String> {
        let sent = writeln!(
            self.input.as_mut()?,
            "{text}\nSELECT 'it is done' AS is_done;"
        );
        sent.ok()?;
        let mut printed = String::new();
        while !printed.ends_with("it is done\n") {
            if self.output.read_line(&mut printed).ok()? == 0 {
                return None;
            }
        }
        let printed = printed.strip_suffix("is_done\nit is done\n");
        Some(printed.expect("the header").to_owned())
    }

    #[track_caller]
    pub(crate) fn run(&mut self, text: &str) -> String {
        match self.try_run(text) {
            Some(printed) => printed,
            None => panic!("{text}: {}", self.said()),
        }
    }

    /// Whether it goes on as if nothing had been: reads, commits and checkpoints.
    #[track_caller]
    pub(crate) fn goes_on(&mut self) {
        self.run("INSERT INTO t VALUES (43); CHECKPOINT;");
        let counted = self.run("SELECT count(*) > 1 AS v FROM t;");
        assert_eq!(counted, "v\ntrue\n");
    }

    /// Waits until a statement finds that the database was ended; what is said of it.
    #[track_caller]
    pub(crate) fn ends_soon(mut self) -> String {
        soon("the database goes on", || self.try_run("FROM t;").is_none());
        self.said()
    }

    /// What it said on standard error until its end.
    fn said(&mut self) -> String {
        self.input = None;
        let mut said = String::new();
        let errors = self.process.stderr.take();
        let _ = errors.map(|mut errors| errors.read_to_string(&mut said));
        let _ = self.process.wait();
        said
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
