//! Files that a user has named, to be read: what COPY, IMPORT and the table functions of files open.
//!
//! What must hold: what is handed out is a file, never a directory, a pipe or a device.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Opens a file that a user has named, to read it.
///
/// # Errors
/// What the operating system says, and `Other` for what is no file.
pub fn open_input(path: impl AsRef<Path>) -> io::Result<File> {
    let file = File::open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a file")),
    }
}

/// All that is in a file that a user has named.
///
/// # Errors
/// As [`open_input`], and `InvalidData` for what is not UTF-8.
pub fn read_input(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::new();
    open_input(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Where a file that a user has named is: absolute, without links.
///
/// # Errors
/// What the operating system says, so where nothing has the name.
pub fn input_path(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// Makes a directory that a user has named, and those above it that are not there.
///
/// # Errors
/// What the operating system says.
pub fn create_directory(path: impl AsRef<Path>) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Whether a directory has anything in it.
///
/// # Errors
/// Those of the operating system.
pub fn has_entries(path: impl AsRef<Path>) -> io::Result<bool> {
    Ok(std::fs::read_dir(path)?.next().is_some())
}
