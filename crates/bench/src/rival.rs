//! `Rival`: another database to measure against, run from a Python virtual environment that is made here. It is a
//! process of its own; nothing of it is linked in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::engines::{DUCKDB, SQLCIPHER, Subject};
use crate::failure::{Failure, Result};

/// Another database, ready to be started.
pub(crate) struct Rival {
    pub(crate) subject: Subject,
    python: PathBuf,
    script: PathBuf,
}

impl Rival {
    /// DuckDB.
    ///
    /// # Errors
    /// When Python 3 or its `venv` is missing, or the packages cannot be installed.
    pub(crate) fn duckdb(directory: &Path) -> Result<Self> {
        let packages = [
            "duckdb==1.5.5",
            "duckdb-extension-httpfs==1.5.5",
            "duckdb-extension-tpch==1.5.5",
        ];
        let imports = "import duckdb, duckdb_extension_httpfs, duckdb_extension_tpch; assert duckdb.__version__ == '1.5.5'";
        let script = include_str!("rival_duckdb.py");
        Self::prepare(DUCKDB, directory, &packages, imports, script)
    }

    /// DuckDB, to ask for answers.
    ///
    /// # Errors
    /// As for [`Rival::duckdb`].
    pub(crate) fn duckdb_answers(directory: &Path) -> Result<Self> {
        let subject = Subject {
            name: "duckdb-answers",
            ..DUCKDB
        };
        let imports = "import duckdb; assert duckdb.__version__ == '1.5.5'";
        let script = include_str!("rival_answers.py");
        Self::prepare(subject, directory, &["duckdb==1.5.5"], imports, script)
    }

    /// SQLCipher.
    ///
    /// # Errors
    /// As for [`Rival::duckdb`].
    pub(crate) fn sqlcipher(directory: &Path) -> Result<Self> {
        let packages = ["sqlcipher3-wheels==0.5.7"];
        let script = include_str!("rival_sqlcipher.py");
        Self::prepare(SQLCIPHER, directory, &packages, "import sqlcipher3", script)
    }

    /// Makes the virtual environment in `directory`, or takes the one that is there.
    fn prepare(
        subject: Subject,
        directory: &Path,
        packages: &[&str],
        imports: &str,
        script: &str,
    ) -> Result<Self> {
        let environment = directory.join(format!("{}-venv", subject.name));
        let rival = Self {
            subject,
            python: environment.join("bin/python"),
            script: directory.join(format!("rival_{}.py", subject.name)),
        };
        fs::write(&rival.script, script)?;
        fs::write(
            directory.join("rival_subject.py"),
            include_str!("rival_subject.py"),
        )?;
        if !rival.has(imports) {
            eprintln!("making a Python environment with {}", packages.join(", "));
            succeed(
                Command::new("python3")
                    .args(["-m", "venv", "--clear"])
                    .arg(&environment),
            )?;
            let pip = [
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ];
            succeed(Command::new(&rival.python).args(pip).args(packages))?;
        }
        Ok(rival)
    }

    /// The command that starts one process of the rival.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(&self.script);
        command
    }

    fn has(&self, imports: &str) -> bool {
        let status = Command::new(&self.python)
            .args(["-c", imports])
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    }
}

fn succeed(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .map_err(|error| Failure(format!("{program} does not start: {error}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure(format!("{program} ended with {status}")))
    }
}
