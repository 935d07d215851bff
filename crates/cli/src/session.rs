//! A database, a connection and the settings of the shell: everything that statements and dot commands work on.
#![expect(clippy::disallowed_methods, reason = "it reads scripts")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use hushdb::{Cipher, Connection, Database, DatabaseOptions, ErrorKind, KeySource, ResultKind};

use crate::cpu_time::{self, CpuTime};
use crate::failure::{Failure, say};
use crate::freshness_options::FreshnessOptions;
use crate::interrupt::Interrupts;
use crate::key_options::{self, KeyOptions};
use crate::output::{self, Mode, Sink, Style};
use crate::progress::StatementProgress;
use crate::script::{Script, Step};
use crate::wiped::Lines;

/// Scripts that read scripts that read scripts: deeper than this is a circle.
const DEEPEST_SCRIPT: usize = 16;

/// What to open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Target {
    /// The file; `None` or `:memory:` is an in-memory database.
    pub(crate) file: Option<PathBuf>,
    /// Where its key is.
    pub(crate) key: KeyOptions,
    /// Which cipher a new file gets.
    pub(crate) cipher: Option<Cipher>,
    /// Refuse to write.
    pub(crate) read_only: bool,
    /// The least that it must have.
    pub(crate) freshness: FreshnessOptions,
}

impl Target {
    /// Opens the database, asking for the key when it turns out to need one and a person is there.
    ///
    /// # Errors
    /// The library's refusals; a key or read-only option without a file.
    pub(crate) fn open(&self) -> Result<Database, Failure> {
        let file = self
            .file
            .as_deref()
            .filter(|path| *path != Path::new(":memory:"));
        let key = self.key.source()?;
        if file.is_none() && (key.is_some() || self.read_only || self.freshness.is_given()) {
            return Err(Failure::Message(
                "a key, an anchor or --read-only needs a database file; give one".to_owned(),
            ));
        }
        let given = key.is_some();
        match (self.open_with(file, key), file) {
            (Err(error), Some(file)) if error.kind() == ErrorKind::KeyRequired && !given => {
                let key = Some(self.key.required()?);
                Ok(self.open_with(Some(file), key)?)
            }
            (opened, _) => Ok(opened?),
        }
    }

    fn open_with(&self, file: Option<&Path>, key: Option<KeySource>) -> hushdb::Result<Database> {
        Database::open_with(
            file,
            DatabaseOptions {
                read_only: self.read_only,
                key,
                key_services: key_options::services(),
                cipher: self.cipher,
                freshness: self.freshness.given(),
                anchor_file: self.freshness.anchor_file(),
                owns_process: true,
                ..DatabaseOptions::default()
            },
        )
    }
}

/// The state of one run of the shell.
pub(crate) struct Session {
    pub(crate) connection: Connection,
    pub(crate) style: Style,
    pub(crate) timer: bool,
    /// Whether a script ends at its first error.
    pub(crate) bail: bool,
    pub(crate) sink: Sink,
    /// Where results go again after the next statement.
    pub(crate) sink_later: Option<Sink>,
    /// A statement of a script that went on has failed.
    has_failed: bool,
    interrupts: Interrupts,
    depth: usize,
    // Last, so that the connection is gone before its database is.
    pub(crate) database: Database,
}

impl Session {
    /// Opens `target` and connects.
    ///
    /// # Errors
    /// What [`Target::open`] refuses.
    pub(crate) fn open(
        target: &Target,
        mode: Mode,
        interrupts: Interrupts,
    ) -> Result<Self, Failure> {
        let database = target.open()?;
        say_notices(database.take_notices());
        let connection = database.connect()?;
        Ok(Self {
            connection,
            style: Style::new(mode),
            timer: false,
            bail: true,
            sink: Sink::standard(),
            sink_later: None,
            has_failed: false,
            interrupts,
            depth: 0,
            database,
        })
    }

    /// Ends it with what came of its statements: also after an error, what was printed to a file is there, and the anchor is of
    /// what was committed before.
    ///
    /// # Errors
    /// That of `done`, or the file's.
    pub(crate) fn finish(self, done: Result<ExitCode, Failure>) -> Result<ExitCode, Failure> {
        let kept = self.keep_anchors();
        if matches!(&done, Err(Failure::Library(error)) if error.kind() == ErrorKind::Interrupted) {
            // Whoever asked to stop does not wait for more: what is in the log stays there.
            let _ = self.connection.run("PRAGMA disable_checkpoint_on_shutdown");
        }
        let later = self.sink_later.map_or(Ok(()), Sink::finish);
        let finished = self.sink.finish().and(later).and(kept);
        match done {
            Ok(_) | Err(Failure::Quit) if self.has_failed => finished.and(Ok(ExitCode::FAILURE)),
            Ok(_) | Err(Failure::Quit) => finished.and(done),
            failed => {
                if let Err(also) = finished {
                    also.report();
                }
                failed
            }
        }
    }

    /// Opens another database in the place of this one.
    ///
    /// # Errors
    /// What [`Target::open`] refuses, and [`Session::keep_anchors`].
    pub(crate) fn open_other(&mut self, target: &Target) -> Result<(), Failure> {
        // The old database stays open until the new one is: a typing error must not cost the session.
        let database = target.open()?;
        say_notices(database.take_notices());
        let connection = database.connect()?;
        self.keep_anchors()?;
        self.connection = connection;
        self.database = database;
        Ok(())
    }

    /// Writes the anchors of databases into their anchor files.
    ///
    /// # Errors
    /// When an anchor cannot be had, or not written: the file is as it was.
    pub(crate) fn keep_anchors(&self) -> Result<(), Failure> {
        Ok(self.database.keep_anchors()?)
    }

    /// Runs all of `text`; the first error stops it.
    ///
    /// # Errors
    /// The first statement's that failed.
    pub(crate) fn run_text(&mut self, text: &str) -> Result<(), Failure> {
        self.run_reader(text.as_bytes())
    }

    /// Runs the statements of the file at `path`.
    ///
    /// # Errors
    /// As [`Session::run_text`], and when the file cannot be read.
    pub(crate) fn run_file(&mut self, path: &Path) -> Result<(), Failure> {
        if self.depth == DEEPEST_SCRIPT {
            return Err(Failure::Message(format!(
                "{}: scripts are nested too deeply",
                path.display()
            )));
        }
        let file = File::open(path).map_err(|error| Failure::file(path, error))?;
        self.depth += 1;
        let result = self.run_reader(file);
        self.depth -= 1;
        result
    }

    /// Runs statements as they arrive, each one's output flushed before the next is read. Without `bail` an error is said, and the
    /// next statement runs.
    ///
    /// # Errors
    /// As [`Session::run_text`], and when reading fails.
    pub(crate) fn run_reader(&mut self, reader: impl Read) -> Result<(), Failure> {
        let unreadable = |error: io::Error| {
            let what = if error.kind() == io::ErrorKind::InvalidData {
                "not UTF-8"
            } else {
                "cannot be read"
            };
            Failure::Message(format!("IO Error: the input is {what}: {error}"))
        };
        let mut script = Script::default();
        let mut lines = Lines::of(reader);
        while let Some(line) = lines.next().map_err(unreadable)? {
            for step in script.line(line.as_str().map_err(unreadable)?) {
                self.step_or_go_on(&step)?;
            }
        }
        let last = script.finish();
        last.map_or(Ok(()), |step| self.step_or_go_on(&step))
    }

    fn step_or_go_on(&mut self, step: &Step) -> Result<(), Failure> {
        match self.step(step) {
            Err(failure) if !self.bail && failure.is_of_statement() => {
                failure.report();
                self.has_failed = true;
                Ok(())
            }
            done => done,
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), Failure> {
        let result = match step {
            Step::Statement(sql) => {
                let result = self.statement(sql);
                self.back_to_later(result)
            }
            Step::Dot(command) => self.dot_command(command),
        };
        let flushed = self.sink.flush();
        result?;
        Ok(flushed?)
    }

    /// After a statement, the end of `.once`: what failed leaves the file as it was.
    fn back_to_later(&mut self, result: Result<(), Failure>) -> Result<(), Failure> {
        match (self.sink_later.take(), result) {
            (Some(sink), Ok(())) => self.print_to(sink),
            (Some(sink), failed) => {
                self.sink = sink;
                failed
            }
            (None, result) => result,
        }
    }

    fn statement(&mut self, sql: &str) -> Result<(), Failure> {
        let started = self.timer.then(|| (cpu_time::now(), CpuTime::now()));
        // Both handles are shared with other threads and must not outlive the statement.
        let interrupts = self.interrupts.clone();
        let _watch = interrupts.watch(self.connection.interrupt_handle());
        let handle = self.connection.progress_handle();
        let shown = self.connection.shows_progress();
        let mut progress = StatementProgress::follow(shown.then_some(handle));
        let result = self.connection.run(sql)?;
        // An ATTACH may have found something.
        say_notices(self.connection.take_notices());
        if result.kind() == ResultKind::Rows {
            let schema = result.schema();
            if self.style.mode == Mode::Box && is_plan(sql, &schema) {
                let batches = result.collect_batches()?;
                progress.stop();
                self.plan(&batches)?;
            } else {
                let mut printer = output::printer(&self.style, schema, self.sink.width());
                for batch in result {
                    let batch = batch?;
                    // The box prints nothing before its last row, so the bar may stay until then.
                    if self.style.mode != Mode::Box {
                        progress.stop();
                    }
                    printer.batch(&batch, &mut self.sink)?;
                }
                progress.stop();
                printer.finish(&mut self.sink)?;
            }
        } else {
            for batch in result {
                batch?;
            }
            progress.stop();
        }
        if let Some((began, before)) = started {
            let real = began.elapsed().as_secs_f64();
            write!(self.sink, "Run Time (s): real {real:.3}")?;
            if let (Some(before), Some(now)) = (before, CpuTime::now()) {
                let (user, system) = (now.user - before.user, now.system - before.system);
                write!(self.sink, " user {user:.2} sys {system:.2}")?;
            }
            writeln!(self.sink)?;
        }
        Ok(())
    }

    /// A plan is a text of many lines: it is printed as it is, not inside a box.
    fn plan(&mut self, batches: &[RecordBatch]) -> Result<(), Failure> {
        for batch in batches {
            for row in 0..batch.num_rows() {
                let text = output::texts(batch, row)?
                    .into_iter()
                    .nth(1)
                    .flatten()
                    .unwrap_or_default();
                writeln!(self.sink, "{}", text.trim_end())?;
            }
        }
        Ok(())
    }

    /// All rows of a query that the shell itself asks, as texts; NULL is the empty text.
    pub(crate) fn ask(&self, sql: &str) -> Result<Vec<Vec<String>>, Failure> {
        let mut rows = Vec::new();
        for batch in self.connection.run(sql)?.collect_batches()? {
            for row in 0..batch.num_rows() {
                rows.push(
                    output::texts(&batch, row)?
                        .into_iter()
                        .map(Option::unwrap_or_default)
                        .collect(),
                );
            }
        }
        Ok(rows)
    }
}

/// Says on standard error what opening files found, and what statements have to say.
fn say_notices(notices: Vec<String>) {
    for notice in notices {
        say(&format!("Notice: {notice}"));
    }
}

fn is_plan(sql: &str, schema: &SchemaRef) -> bool {
    let explain = sql
        .trim_start()
        .get(..7)
        .is_some_and(|word| word.eq_ignore_ascii_case("explain"));
    explain && schema.fields().len() == 2
}
