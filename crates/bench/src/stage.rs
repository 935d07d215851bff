//! `Stage`: the databases that are measured side by side, their processes and files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::child::Child;
use crate::engines::{CONTROL, ENCRYPTED, PLAIN, Subject, engine_name};
use crate::failure::Result;
use crate::report::Report;
use crate::rival::Rival;

/// Where subjects are run.
pub(crate) struct Stage {
    /// Threads of each subject.
    pub(crate) threads: usize,
    /// Where files are made; absolute.
    pub(crate) directory: PathBuf,
    /// Whom to measure against.
    pub(crate) rivals: Vec<Rival>,
}

impl Stage {
    /// Who is measured: HushDB encrypted, plain, plain again as control, and the rivals.
    pub(crate) fn subjects(&self) -> Vec<Subject> {
        let rivals = self.rivals.iter().map(|rival| rival.subject);
        [ENCRYPTED, PLAIN, CONTROL]
            .into_iter()
            .chain(rivals)
            .collect()
    }

    /// An empty report over the subjects.
    pub(crate) fn report(&self, name: &'static str, conditions: Value) -> Report {
        let names: Vec<_> = self.subjects().iter().map(|subject| subject.name).collect();
        let against_rivals = (names.len() - self.rivals.len()..names.len()).map(|at| (0, at));
        let ratios = [(0, 1), (2, 1)].into_iter().chain(against_rivals).collect();
        Report::new(name, conditions, names, ratios)
    }

    /// A process of a subject.
    pub(crate) fn start(&self, subject: Subject) -> Result<Child> {
        let mut rivals = self.rivals.iter();
        let command = match rivals.find(|rival| rival.subject.engine == subject.engine) {
            Some(rival) => rival.command(),
            None => {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg("subject");
                command
            }
        };
        Child::start(subject.name, command, self.threads, &self.directory)
    }

    /// A subject's database file for some content.
    pub(crate) fn file(&self, subject: Subject, content: &str) -> PathBuf {
        self.directory.join(format!(
            "{content}-{}.{}",
            subject.name,
            engine_name(subject.engine)
        ))
    }
}

/// Removes a database file and what stands beside it.
pub(crate) fn fresh(path: &Path) -> Result<()> {
    for end in ["", ".wal", "-wal", "-shm"] {
        let mut path = path.as_os_str().to_owned();
        path.push(end);
        match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error.into());
            }
            _ => {}
        }
    }
    Ok(())
}

/// The subjects' indices, beginning with another one each round.
pub(crate) fn turns(subjects: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..subjects).map(move |turn| (turn + round) % subjects)
}
