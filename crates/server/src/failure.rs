//! `ServeError`: why an instance was not made, or is not served.

use hushdb::ErrorKind;
use std::fmt;

/// What kind of failure it is, for exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// What was asked for is not possible.
    Usage,
    /// The key does not open the instance.
    WrongKey,
    /// No key was given, or its place does not give one.
    KeyUnavailable,
    /// A file is damaged or was changed.
    Damaged,
    /// Another process serves the instance.
    Busy,
    /// Anything else.
    Other,
}

/// A failure, with a sentence for a person that holds no secret.
#[derive(Debug)]
pub struct ServeError {
    kind: FailureKind,
    message: String,
}

pub(crate) type Result<T> = std::result::Result<T, ServeError>;

impl ServeError {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Other, message)
    }

    /// What kind it is.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// What a process that it ends exits with: 2 for a usage that is wrong, 3 for a wrong key, 4 for one that cannot be had, 5 for
    /// damage, 6 while another process holds the instance, 1 for all else.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            FailureKind::Other => 1,
            FailureKind::Usage => 2,
            FailureKind::WrongKey => 3,
            FailureKind::KeyUnavailable => 4,
            FailureKind::Damaged => 5,
            FailureKind::Busy => 6,
        }
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ServeError {}

impl From<hushdb::Error> for ServeError {
    fn from(error: hushdb::Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::WrongKey => FailureKind::WrongKey,
            ErrorKind::KeyRequired | ErrorKind::MalformedKey => FailureKind::KeyUnavailable,
            ErrorKind::Tampered | ErrorKind::Corrupted => FailureKind::Damaged,
            ErrorKind::Busy => FailureKind::Busy,
            _ => FailureKind::Other,
        };
        Self::new(kind, error.to_string())
    }
}
