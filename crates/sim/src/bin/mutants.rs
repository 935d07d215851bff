//! `mutants [--only TEXT] [--list]`: takes each check of the list out, one at a time, and shows that a test fails.
//!
//! Works on a copy of what is committed or changed in the repository, in `target/mutants`, with a build cache of its own beside it: the
//! sources are never touched. Without `--only` it takes hours.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use hushdb_sim::{MUTANTS, Mutant};

type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let chosen = |text: &str| -> Vec<&Mutant> {
        let all = MUTANTS.iter();
        all.filter(|mutant| mutant.name.contains(text) || mutant.file.contains(text))
            .collect()
    };
    let outcome = match words.as_slice() {
        ["--list"] => {
            for mutant in MUTANTS {
                say(&format!("{}: {}", mutant.file, mutant.name));
            }
            Ok(Vec::new())
        }
        [] => try_all(&chosen("")),
        ["--only", text] => try_all(&chosen(text)),
        _ => Err("usage: mutants [--only TEXT] [--list]".into()),
    };
    match outcome {
        Ok(survivors) if survivors.is_empty() => ExitCode::SUCCESS,
        Ok(survivors) => {
            say(&format!("not noticed: {}", survivors.join("; ")));
            ExitCode::FAILURE
        }
        Err(error) => {
            say(&error);
            ExitCode::from(2)
        }
    }
}

/// Tries mutants one after the other; gives the names of those that no test noticed.
fn try_all(mutants: &[&Mutant]) -> Result<Vec<String>> {
    let copy = Copy::make()?;
    let mut survivors = Vec::new();
    for mutant in mutants {
        let outcome = copy.with(mutant, || copy.noticed(mutant))?;
        say(&format!(
            "{}: {}",
            if outcome { "noticed" } else { "NOT NOTICED" },
            mutant.name
        ));
        if !outcome {
            survivors.push(mutant.name.to_owned());
        }
    }
    Ok(survivors)
}

/// A copy of the repository in which checks are taken out.
struct Copy {
    root: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn make() -> Result<Self> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let base = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(directory) => PathBuf::from(directory),
            None => repository.join("target"),
        }
        .join("mutants");
        let (root, target) = (base.join("copy"), base.join("target"));
        let _ = fs::remove_dir_all(&root);
        let listed = Command::new("git")
            .args(["ls-files", "-z"])
            .current_dir(&repository)
            .output()
            .map_err(|error| format!("git ls-files: {error}"))?;
        for name in listed.stdout.split(|&byte| byte == 0) {
            let name = str::from_utf8(name).map_err(|error| error.to_string())?;
            let (from, to) = (repository.join(name), root.join(name));
            if name.is_empty() || !from.is_file() {
                continue;
            }
            let parent = to.parent().unwrap_or(&root);
            fs::create_dir_all(parent)
                .and_then(|()| fs::copy(&from, &to))
                .map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(Self { root, target })
    }

    /// Does something while a check is out.
    fn with<T>(&self, mutant: &Mutant, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let path = self.root.join(mutant.file);
        let failed = |error: io::Error| format!("{}: {error}", mutant.file);
        let source = fs::read_to_string(&path).map_err(failed)?;
        if source.matches(mutant.from).count() != 1 {
            return Err(format!(
                "{}: what \"{}\" takes out is not there once",
                mutant.file, mutant.name
            ));
        }
        fs::write(&path, source.replacen(mutant.from, mutant.to, 1)).map_err(failed)?;
        let outcome = work();
        fs::write(&path, source).map_err(failed)?;
        outcome
    }

    /// Whether a test fails. What does not compile proves nothing.
    fn noticed(&self, mutant: &Mutant) -> Result<bool> {
        for tests in mutant.tests.commands() {
            if !self.cargo(tests, true)? {
                return Err(format!("{}: does not compile", mutant.name));
            }
            if !self.cargo(tests, false)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn cargo(&self, tests: &[&str], build_only: bool) -> Result<bool> {
        let mut command = Command::new("cargo");
        command.args(["test", "--release", "--quiet"]).args(tests);
        if build_only {
            command.arg("--no-run");
        }
        let status = command
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        Ok(status
            .map_err(|error| format!("cargo test: {error}"))?
            .success())
    }
}

fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}
