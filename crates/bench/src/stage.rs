//! `Stage`: the databases that are measured side by side, their processes and files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::child::Child;
use crate::failure::Result;
use crate::report::Report;
use crate::rival::Rival;

/// A raw key, so that opening costs no key derivation from a passphrase. It protects nothing: the data is public.
const KEY: &str = "hex:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
/// DuckDB takes base64 text for a raw key.
const DUCKDB_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// And SQLCipher a blob.
const SQLCIPHER_KEY: &str = "x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'";

/// One that is measured.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) engine: Engine,
    pub(crate) key: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Hush,
    Duckdb,
    Sqlcipher,
}

pub(crate) const ENCRYPTED: Subject = Subject {
    name: "encrypted",
    engine: Engine::Hush,
    key: Some(KEY),
};
pub(crate) const PLAIN: Subject = Subject {
    name: "plain",
    engine: Engine::Hush,
    key: None,
};
const CONTROL: Subject = Subject {
    name: "control",
    engine: Engine::Hush,
    key: None,
};
pub(crate) const DUCKDB: Subject = Subject {
    name: "duckdb",
    engine: Engine::Duckdb,
    key: Some(DUCKDB_KEY),
};
pub(crate) const SQLCIPHER: Subject = Subject {
    name: "sqlcipher",
    engine: Engine::Sqlcipher,
    key: Some(SQLCIPHER_KEY),
};

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

/// What an engine's files end with.
pub(crate) fn engine_name(engine: Engine) -> &'static str {
    match engine {
        Engine::Hush => "hushdb",
        Engine::Duckdb => "duckdb",
        Engine::Sqlcipher => "sqlite",
    }
}

/// The statement that attaches a file.
pub(crate) fn attach(path: &Path, name: &str, key: Option<&str>, read_only: bool) -> String {
    let mut options = Vec::new();
    if let Some(key) = key {
        options.push(format!("ENCRYPTION_KEY '{key}', ENCRYPTION_CIPHER 'GCM'"));
    }
    if read_only {
        options.push("READ_ONLY".to_owned());
    }
    let options = if options.is_empty() {
        String::new()
    } else {
        format!(" ({})", options.join(", "))
    };
    format!(
        "ATTACH '{}' AS {name}{options}",
        path.display().to_string().replace('\'', "''")
    )
}
