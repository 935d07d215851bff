//! The files that a statement names: paths, lists of them, and patterns with `*`, `?`, `[..]` and `**`.

use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::matching_files;

/// A path of this machine may be written as a URL.
const SCHEME: &str = "file://";

/// The files that a path or pattern stands for, at least one.
///
/// # Errors
/// `Io` when there is none, or a directory cannot be listed.
pub(crate) fn files_of(pattern: &str) -> Result<Vec<String>> {
    let files = matching(pattern)?;
    match files.is_empty() {
        false => Ok(files),
        true => Err(Error::new(
            ErrorKind::Io,
            format!("No files found that match the pattern \"{pattern}\""),
        )),
    }
}

/// The files that a path or pattern stands for.
///
/// # Errors
/// `Io` when a directory cannot be listed.
pub fn matching(pattern: &str) -> Result<Vec<String>> {
    matching_files(local(pattern)).map_err(|error| match error {
        hushdb_storage::Error::Io(error) => {
            Error::new(ErrorKind::Io, format!("Cannot list \"{pattern}\": {error}"))
        }
        error => error.into(),
    })
}

/// The path that a URL of a file of this machine has (RFC 8089, 2), or the text itself.
fn local(path: &str) -> &str {
    let Some(url) = path.strip_prefix(SCHEME) else {
        return path;
    };
    let url = url.strip_prefix("localhost").unwrap_or(url);
    match url.starts_with('/') {
        true => url,
        false => path,
    }
}

#[cfg(test)]
mod tests {
    use super::local;

    #[test]
    fn a_url_of_this_machine_is_a_path() {
        for (url, path) in [
            ("file:///a/b.csv", "/a/b.csv"),
            ("file://localhost/a", "/a"),
            ("file://other/a", "file://other/a"),
            ("s3://a/b", "s3://a/b"),
            ("a.csv", "a.csv"),
        ] {
            assert_eq!(local(url), path, "{url}");
        }
    }
}
