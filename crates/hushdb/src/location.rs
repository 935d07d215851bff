//! `Location`: where an attached database lies, and `FileSources`, the places for files that a program adds.
//!
//! What must hold: two locations are equal when they are the same files; a text that names a scheme is never taken for a path.

use crate::ErrorKind;
use hushdb_sql::{Error, Result};
use hushdb_storage::{OsFiles, StorageFiles};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What stands for a path where a database is to live in memory.
const MEMORY_PATH: &str = ":memory:";
/// What stands between a scheme and what it is told.
const BEHIND_SCHEME: &str = "://";

/// Where an attached database lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// In this process alone.
    Memory,
    /// In a file: absolute and without links, as it was when it was opened.
    File(PathBuf),
    /// Where a source of the program's has it: the whole text, its scheme in small letters.
    Source(String),
}

impl Location {
    /// Where a text leads that ATTACH or a program gives.
    ///
    /// # Errors
    /// `Io` when there is no such directory, or no source for the scheme.
    pub(crate) fn of(text: &Path, sources: &FileSources) -> Result<Self> {
        if is_in_memory(text) {
            return Ok(Self::Memory);
        }
        if let Some((scheme, place)) = scheme_of(text) {
            return match sources.0.contains_key(&scheme) {
                true => Ok(Self::Source(format!("{scheme}{BEHIND_SCHEME}{place}"))),
                false => Err(no_source(&scheme)),
            };
        }
        let files = OsFiles::beside(text).map_err(|error| {
            let text = format!("Cannot open file \"{}\": {error}", text.display());
            Error::new(ErrorKind::Io, text)
        })?;
        Ok(Self::File(files.path().to_path_buf()))
    }
}

impl Location {
    /// What catalogs show of it; nothing of a database in memory.
    pub(crate) fn shown(&self) -> Option<String> {
        (*self != Self::Memory).then(|| self.to_string())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str(MEMORY_PATH),
            Self::File(path) => path.display().fmt(f),
            Self::Source(url) => f.write_str(url),
        }
    }
}

/// Whether a text stands for a database in memory.
pub(crate) fn is_in_memory(text: &Path) -> bool {
    text.as_os_str() == MEMORY_PATH
}

/// The path that a text is, if it is one: where else a file lies, temporary files have no place beside it.
pub(crate) fn file_path(text: &Path) -> Option<&Path> {
    (!is_in_memory(text) && scheme_of(text).is_none()).then_some(text)
}

/// The scheme in small letters and what follows it, if a text has one as RFC 3986, 3.1 has it.
fn scheme_of(text: &Path) -> Option<(String, &str)> {
    let (scheme, place) = text.to_str()?.split_once(BEHIND_SCHEME)?;
    is_scheme(scheme).then(|| (scheme.to_ascii_lowercase(), place))
}

fn is_scheme(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

fn no_source(scheme: &str) -> Error {
    Error::new(
        ErrorKind::Io,
        format!(
            "there is no source of files called \"{scheme}\": give a path, or have the program register one"
        ),
    )
}

/// Finds the files of one database from what follows the scheme.
type FindFiles = dyn Fn(&str) -> Result<Arc<dyn StorageFiles>> + Send + Sync;

/// Places for files by scheme: a source `box` is asked by `ATTACH 'box://place'`, and by [`Database::attach`](crate::Database::attach)
/// and [`Database::open_with`](crate::Database::open_with) for such a path.
#[derive(Clone, Default)]
pub struct FileSources(BTreeMap<String, Arc<FindFiles>>);

impl FileSources {
    /// Adds a source, or puts it in the place of the one that has the scheme. `find` is given what follows `scheme://`, and opens
    /// nothing yet; a source that can only be read fails in `create` of what it gives.
    ///
    /// # Errors
    /// `InvalidInput` for a name that is no scheme: a letter, then letters, digits, `+`, `-` and `.`.
    pub fn register(
        &mut self,
        scheme: &str,
        find: impl Fn(&str) -> Result<Arc<dyn StorageFiles>> + Send + Sync + 'static,
    ) -> Result<()> {
        if !is_scheme(scheme) {
            return Err(Error::invalid(
                "a source of files is called by a letter, then letters, digits, +, - and .",
            ));
        }
        self.0.insert(scheme.to_ascii_lowercase(), Arc::new(find));
        Ok(())
    }

    /// The files of the database at a path, or where a source has it that the text names. Nothing is opened yet.
    ///
    /// # Errors
    /// `Io` when there is no such directory, or no source for the scheme.
    pub fn find(&self, path: &Path) -> Result<Arc<dyn StorageFiles>> {
        match path.to_str().filter(|_| scheme_of(path).is_some()) {
            Some(url) => self.files(url),
            None => Ok(Arc::new(OsFiles::beside(path)?)),
        }
    }

    /// The files of a database at a text that names a scheme.
    pub(crate) fn files(&self, url: &str) -> Result<Arc<dyn StorageFiles>> {
        let (scheme, place) =
            scheme_of(Path::new(url)).ok_or_else(|| Error::internal("a source has a scheme"))?;
        let find = self.0.get(&scheme).ok_or_else(|| no_source(&scheme))?;
        find(place)
    }
}

impl fmt::Debug for FileSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_scheme_is_a_path() {
        for path in [
            "a.hushdb", "/a/b", "://a", "1a://b", "a b://c", "a:/b", "ä://b", "",
        ] {
            assert_eq!(file_path(Path::new(path)), Some(Path::new(path)), "{path}");
        }
        for other in [":memory:", "s3://bucket/a", "S3://a", "a+b.c-1://", "x:///"] {
            assert_eq!(file_path(Path::new(other)), None, "{other}");
        }
        let none = FileSources::default();
        let error = Location::of(Path::new("S3://bucket/a"), &none).unwrap_err();
        assert!(error.to_string().contains("\"s3\""), "{error}");
    }
}
