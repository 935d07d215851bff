//! `Failure`: why a benchmark could not be finished, in words for the person who started it.

use std::fmt;

/// The benchmark's only error: it is printed, and nothing is measured.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

/// A result of the benchmark.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<hushdb::Error> for Failure {
    fn from(error: hushdb::Error) -> Self {
        Self(error.to_string())
    }
}
