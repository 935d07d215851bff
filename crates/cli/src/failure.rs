//! Everything that ends a command: what is said on standard error and with which exit code.
//!
//! What must hold: a reader that went away is not an error to talk about, and no text here carries a key.

use std::fmt;
use std::io;
use std::panic::PanicHookInfo;
use std::path::Path;
use std::process::ExitCode;

use arrow::error::ArrowError;
use hushdb::maintenance::is_panic_expected;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library refused or failed.
    Library(hushdb::Error),
    /// An instance was not made, or is not served.
    Server(hushdb_server::ServeError),
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

    /// The same with the exit code that a server has for it.
    pub(crate) fn of_server(self) -> Self {
        match self {
            Self::Library(error) => Self::Server(error.into()),
            other => other,
        }
    }

    /// A failure on a file that results were to be written to.
    pub(crate) fn output(path: &Path, error: hushdb::Error) -> Self {
        match error.kind() {
            hushdb::ErrorKind::Io => {
                Self::Message(format!("IO Error: {}: {}", path.display(), error.message()))
            }
            _ => error.into(),
        }
    }

    /// Whether a file is to blame that is damaged or was changed.
    pub(crate) fn is_damage(&self) -> bool {
        use hushdb::ErrorKind::{Corrupted, Tampered};
        matches!(self, Self::Library(error) if matches!(error.kind(), Corrupted | Tampered))
    }

    /// Whether it is of one statement or dot command, so that the next can run: nobody asked to stop, and somebody reads.
    pub(crate) fn is_of_statement(&self) -> bool {
        match self {
            Self::Library(error) => error.kind() != hushdb::ErrorKind::Interrupted,
            Self::Message(_) => true,
            Self::Server(_) | Self::ClosedPipe | Self::Quit => false,
        }
    }

    /// Says it on standard error and gives the exit code that goes with it.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Quit => ExitCode::SUCCESS,
            // What a shell shows for a program that SIGPIPE ended: some statements may not have run.
            Self::ClosedPipe => ExitCode::from(141),
            Self::Server(error) => {
                say(&format!("Error: {error}"));
                ExitCode::from(error.exit_code())
            }
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

/// Has panics say where they happened and nothing more: what a library says of its own mistakes may have values in it. Of one
/// that becomes an error of its own, nothing is said here.
pub(crate) fn withhold_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if !is_panic_expected() {
            say(&panic_line(panic));
        }
    }));
}

fn panic_line(panic: &PanicHookInfo<'_>) -> String {
    let place = panic.location().map_or_else(String::new, |place| {
        let file = Path::new(place.file()).file_name().unwrap_or_default();
        format!(" at {}:{}", file.to_string_lossy(), place.line())
    });
    format!("Internal Error: something failed{place}: please report this")
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => write!(f, "{error}"),
            Self::Server(error) => write!(f, "{error}"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_panic_is_told_without_its_message() {
        let line = Arc::new(Mutex::new(String::new()));
        let (heard, this) = (Arc::clone(&line), std::thread::current().id());
        let before = Arc::new(std::panic::take_hook());
        let others = Arc::clone(&before);
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().id() == this {
                *heard.lock().unwrap() = panic_line(panic);
            } else {
                others(panic);
            }
        }));
        let failed = std::panic::catch_unwind(|| panic!("patient 4711 has no bed"));
        std::panic::set_hook(Box::new(move |panic| before(panic)));
        assert!(failed.is_err());
        let line = line.lock().unwrap();
        assert!(line.contains(" at failure.rs:"), "{line}");
        assert!(!line.contains("4711"), "{line}");
    }
}
