//! `mutants [--only TEXT] [--list]`: takes each check of the list out, one at a time, and shows that a test fails.
//!
//! Works on a copy of what is committed or changed in the repository, in `target/mutants`: the sources are never touched. The copy
//! shares the build cache, and so whatever of dependencies is built there. Without `--only` the tests are run first with nothing taken
//! out, since a test that always fails would notice everything.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use hushdb_sim::{MUTANTS, Mutant};

type Result<T> = std::result::Result<T, String>;

/// Crates that are built again for each check, with little optimisation: tests of a few seconds are not worth a long build.
const CHANGED: [&str; 6] = ["pages", "crypto", "keys", "kms", "storage", "sim"];
/// Tests that take longer without a check hang: they have noticed.
const MAX_DURATION: Duration = Duration::from_secs(15 * 60);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["--list"] => {
            for mutant in MUTANTS {
                say(&format!("{}: {}", mutant.file, mutant.name));
            }
            Ok(Vec::new())
        }
        [] => Copy::make().and_then(|copy| {
            copy.expect_sound()?;
            copy.try_all(MUTANTS.iter())
        }),
        ["--only", text] => Copy::make().and_then(|copy| {
            let is_meant = |mutant: &&Mutant| [mutant.name, mutant.file].concat().contains(text);
            copy.try_all(MUTANTS.iter().filter(is_meant))
        }),
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

/// What tests say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Pass,
    Fail,
    /// They did not end in time.
    Hang,
}

/// A copy of the repository in which checks are taken out.
struct Copy {
    root: PathBuf,
    target: PathBuf,
}

impl Copy {
    /// What has not changed since the last time stays as it is, and need not be built again.
    fn make() -> Result<Self> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(directory) => PathBuf::from(directory),
            None => repository.join("target"),
        };
        let target = std::path::absolute(&target)
            .map_err(|error| format!("{}: {error}", target.display()))?;
        let root = target.join("mutants");
        let listed = Command::new("git")
            .args(["ls-files", "-z"])
            .current_dir(&repository)
            .output()
            .map_err(|error| format!("git ls-files: {error}"))?;
        let mut kept = Vec::new();
        for name in listed.stdout.split(|&byte| byte == 0) {
            let name = str::from_utf8(name).map_err(|error| error.to_string())?;
            let (from, to) = (repository.join(name), root.join(name));
            if name.is_empty() || !from.is_file() {
                continue;
            }
            bring(&from, &to).map_err(|error| format!("{name}: {error}"))?;
            kept.push(to);
        }
        kept.sort();
        remove_others(&root, &kept).map_err(|error| format!("{}: {error}", root.display()))?;
        Ok(Self { root, target })
    }

    /// Runs all tests with nothing taken out.
    fn expect_sound(&self) -> Result<()> {
        let mut commands: Vec<_> = MUTANTS.iter().flat_map(|m| m.tests.commands()).collect();
        commands.sort();
        commands.dedup();
        for tests in commands {
            if self.cargo(&tests, None)? != Outcome::Pass {
                return Err(format!(
                    "nothing is taken out, and this fails: cargo test {}",
                    tests.join(" ")
                ));
            }
        }
        Ok(())
    }

    /// Tries mutants one after the other; gives the names of those that no test noticed.
    fn try_all<'a>(&self, mutants: impl Iterator<Item = &'a Mutant>) -> Result<Vec<String>> {
        let mut survivors = Vec::new();
        for mutant in mutants {
            let began = Instant::now();
            let outcome = self.with(mutant, || self.noticed(mutant))?;
            let said = match &outcome {
                Some(by) => format!("noticed by {by}"),
                None => "NOT NOTICED".into(),
            };
            let seconds = began.elapsed().as_secs();
            say(&format!("{said}: {} ({seconds} s)", mutant.name));
            if outcome.is_none() {
                survivors.push(mutant.name.to_owned());
            }
        }
        Ok(survivors)
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

    /// The tests of which one fails, if one does. What does not compile proves nothing.
    fn noticed(&self, mutant: &Mutant) -> Result<Option<String>> {
        for tests in mutant.tests.commands() {
            let by = match self.cargo(&tests, Some(MAX_DURATION))? {
                Outcome::Pass => continue,
                Outcome::Fail => tests.join(" "),
                Outcome::Hang => format!("{}, which does not end", tests.join(" ")),
            };
            return Ok(Some(by));
        }
        Ok(None)
    }

    /// Builds and runs tests.
    fn cargo(&self, tests: &[&str], limit: Option<Duration>) -> Result<Outcome> {
        let errors = self.target.join("mutants.txt");
        let failed = |error: io::Error| format!("cargo test: {error}");
        let mut command = Command::new("cargo");
        for name in CHANGED {
            let level = format!("profile.release.package.hushdb-{name}.opt-level=1");
            command.args(["--config", &level]);
        }
        let mut child = command
            .args(["test", "--release", "--quiet"])
            .args(tests)
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "1")
            .stdout(Stdio::null())
            .stderr(File::create(&errors).map_err(failed)?)
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let Some(status) = wait(&mut child, limit).map_err(failed)? else {
            return Ok(Outcome::Hang);
        };
        if status.success() {
            return Ok(Outcome::Pass);
        }
        let said = fs::read_to_string(&errors).map_err(failed)?;
        match said.contains("test failed, to rerun") {
            true => Ok(Outcome::Fail),
            false => Err(format!("cargo test {}: {said}", tests.join(" "))),
        }
    }
}

/// Waits for a process that leads its group; `None`: it took too long, and the group was killed.
fn wait(child: &mut Child, limit: Option<Duration>) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if limit.is_some_and(|limit| began.elapsed() > limit) {
            let group = format!("-{}", child.id());
            Command::new("kill")
                .args(["-KILL", "--", &group])
                .status()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Copies a file, unless the copy is the same.
fn bring(from: &Path, to: &Path) -> io::Result<()> {
    let bytes = fs::read(from)?;
    if fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(to, bytes)
}

/// Removes files that are not among `kept`, which is in order.
fn remove_others(directory: &Path, kept: &[PathBuf]) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            remove_others(&path, kept)?;
        } else if kept.binary_search(&path).is_err() {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}
