//! Everything that ends a command: what is said on standard error and with which exit code.
//!
//! What must hold: a reader that went away is not an error to talk about, and no text here carries a key.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use arrow::error::ArrowError;
use hushdb::files::storage::Error as StorageError;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library refused or failed.
    Library(hushdb::Error),
    /// Said in full here.
    Message(String),
    /// Standard output was closed by its reader.
    ClosedPipe,
    /// `.quit`: not a failure, but it stops everything in the same way.
    Quit,
}

impl Failure {
    /// A failure on a file that the user named.
    pub(crate) fn file(path: &Path, error: io::Error) -> Self {
        Self::Message(format!("IO Error: {}: {error}", path.display()))
    }

    /// Whether a file is to blame that is damaged or was changed.
    pub(crate) fn is_damage(&self) -> bool {
        use hushdb::ErrorKind::{Corrupted, Tampered};
        matches!(self, Self::Library(error) if matches!(error.kind(), Corrupted | Tampered))
    }

    /// Says it on standard error and gives the exit code that goes with it.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Quit => ExitCode::SUCCESS,
            // What a shell shows for a program that SIGPIPE ended: some statements may not have run.
            Self::ClosedPipe => ExitCode::from(141),
            Self::Library(_) | Self::Message(_) => {
                say(&format!("Error: {self}"));
                ExitCode::FAILURE
            }
        }
    }
}

/// One line on standard error; nothing can be done when that is closed too.
pub(crate) fn say(line: &str) {
    use io::Write;
    let _ = writeln!(io::stderr().lock(), "{line}");
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => write!(f, "{error}"),
            Self::Message(message) => f.write_str(message),
            Self::ClosedPipe => f.write_str("the reader of the output went away"),
            Self::Quit => f.write_str("quit"),
        }
    }
}

impl From<hushdb::Error> for Failure {
    fn from(error: hushdb::Error) -> Self {
        Self::Library(error)
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        Self::Library(error.into())
    }
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        Self::Library(error.into())
    }
}

/// Only writers of results give bare I/O errors; whoever opens a file says its name with [`Failure::file`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::Message(format!("IO Error: cannot write the output: {error}"))
        }
    }
}
