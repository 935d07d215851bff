//! Where results go: standard output, or the file that `.output` named.
//!
//! What must hold: a reader that went away ends the program quietly (`Failure::ClosedPipe`), never with a panic; and
//! every statement's output is out before the next one runs, because the caller flushes between them. A file that is named has what
//! was printed once [`Sink::finish`] says so, and no database is ever written over.

use std::io::{self, BufWriter, IntoInnerError, IsTerminal, Write};
use std::path::{Path, PathBuf};

use hushdb::maintenance::OutputFile;

use crate::failure::Failure;

/// A buffered writer with a name for its errors.
pub(crate) enum Sink {
    /// Standard output.
    Standard(BufWriter<io::Stdout>),
    /// A file, and the name that it is to have.
    File(BufWriter<OutputFile>, PathBuf),
}

impl Sink {
    /// Standard output.
    pub(crate) fn standard() -> Self {
        Self::Standard(BufWriter::with_capacity(1 << 16, io::stdout()))
    }

    /// The file at `path`, anew.
    ///
    /// # Errors
    /// When it cannot be created, or is a database.
    pub(crate) fn file(path: &Path) -> Result<Self, Failure> {
        let file = OutputFile::create(path).map_err(|error| Failure::output(path, error.into()))?;
        let writer = BufWriter::with_capacity(1 << 16, file);
        Ok(Self::File(writer, path.to_owned()))
    }

    /// Ends it: everything is out, and a file has its name.
    ///
    /// # Errors
    /// When something could not be written; the file then is as it was before.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Standard(mut writer) => Ok(writer.flush()?),
            Self::File(writer, path) => {
                let file = writer.into_inner().map_err(IntoInnerError::into_error)?;
                let committed = file.commit();
                committed.map_err(|error| Failure::output(&path, error.into()))
            }
        }
    }

    /// The width to keep to, in columns: the terminal's, or none for files and pipes.
    pub(crate) fn width(&self) -> Option<usize> {
        match self {
            Self::Standard(_) if io::stdout().is_terminal() => {
                Some(terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0)))
            }
            Self::Standard(_) | Self::File(..) => None,
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Standard(writer) => writer.write(bytes),
            Self::File(writer, _) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Standard(writer) => writer.flush(),
            Self::File(writer, _) => writer.flush(),
        }
    }
}
