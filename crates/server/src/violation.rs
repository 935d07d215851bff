//! `Violation`: what a client sent that the protocol does not allow; the connection ends after it.

use std::fmt;

/// A break of the protocol, with the SQLSTATE that the client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Five characters, mostly `08P01`.
    pub(crate) sqlstate: &'static str,
    /// What is wrong; never a part of what was sent.
    pub(crate) message: &'static str,
}

impl Violation {
    /// `protocol_violation`.
    pub(crate) const fn new(message: &'static str) -> Self {
        Self {
            sqlstate: "08P01",
            message,
        }
    }

    /// `character_not_in_repertoire`: text that is not UTF-8, or has a zero byte.
    pub(crate) const fn not_text() -> Self {
        Self {
            sqlstate: "22021",
            message: "text must be valid UTF-8 without zero bytes",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}
