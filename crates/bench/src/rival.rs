//! `Rival`: another database to measure against, run from a Python virtual environment that is made here. It is a
//! process of its own; nothing of it is linked in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, Result};

const PACKAGES: [&str; 3] = [
    "duckdb==1.5.5",
    "duckdb-extension-httpfs==1.5.5",
    "duckdb-extension-tpch==1.5.5",
];
const SCRIPT: &str = include_str!("rival_duckdb.py");

/// DuckDB, ready to be started.
pub(crate) struct Rival {
    python: PathBuf,
    script: PathBuf,
}

impl Rival {
    /// Makes the virtual environment in `directory`, or takes the one that is there.
    ///
    /// # Errors
    /// When Python 3 or its `venv` is missing, or the packages cannot be installed.
    pub(crate) fn prepare(directory: &Path) -> Result<Self> {
        let environment = directory.join("duckdb-venv");
        let rival = Self {
            python: environment.join("bin/python"),
            script: directory.join("rival_duckdb.py"),
        };
        fs::write(&rival.script, SCRIPT)?;
        if !rival.is_installed() {
            eprintln!("making a Python environment with {}", PACKAGES.join(", "));
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
            succeed(Command::new(&rival.python).args(pip).args(PACKAGES))?;
        }
        Ok(rival)
    }

    /// The command that starts one process of the rival.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(&self.script);
        command
    }

    fn is_installed(&self) -> bool {
        let imports = "import duckdb, duckdb_extension_httpfs, duckdb_extension_tpch; assert duckdb.__version__ == '1.5.5'";
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
