//! Where results go: standard output, or the file that `.output` named.
//!
//! What must hold: a reader that went away ends the program quietly (`Failure::ClosedPipe`), never with a panic; and
//! every statement's output is out before the next one runs, because the caller flushes between them.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use crate::failure::Failure;

/// A buffered writer with a name for its errors.
pub(crate) enum Sink {
    /// Standard output.
    Standard(BufWriter<io::Stdout>),
    /// A file, written from its beginning.
    File(BufWriter<File>),
}

impl Sink {
    /// Standard output.
    pub(crate) fn standard() -> Self {
        Self::Standard(BufWriter::with_capacity(1 << 16, io::stdout()))
    }

    /// The file at `path`, created or emptied.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(crate) fn file(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| Failure::file(path, error))?;
        Ok(Self::File(BufWriter::with_capacity(1 << 16, file)))
    }

    /// The width to keep to, in columns: the terminal's, or none for files and pipes.
    pub(crate) fn width(&self) -> Option<usize> {
        match self {
            Self::Standard(_) if io::stdout().is_terminal() => {
                Some(terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0)))
            }
            Self::Standard(_) | Self::File(_) => None,
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Standard(writer) => writer.write(bytes),
            Self::File(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Standard(writer) => writer.flush(),
            Self::File(writer) => writer.flush(),
        }
    }
}
