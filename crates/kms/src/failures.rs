//! The errors of places, each by what it says about the key.

use hushdb_keys::KeyError;

/// A kind of place and its host, path or program, as errors call it.
#[derive(Clone, Debug)]
pub(crate) struct PlaceName(pub(crate) String);

impl PlaceName {
    /// The key is refused.
    pub(crate) fn refuses(&self, why: impl Into<String>) -> KeyError {
        KeyError::Refused {
            place: self.0.clone(),
            why: why.into(),
        }
    }

    /// Who asks is not known there.
    pub(crate) fn does_not_accept(&self, why: impl Into<String>) -> KeyError {
        KeyError::CredentialsRefused {
            place: self.0.clone(),
            why: why.into(),
        }
    }

    /// Nothing is known yet.
    pub(crate) fn is_unavailable(&self, why: impl Into<String>) -> KeyError {
        KeyError::Unavailable {
            place: self.0.clone(),
            why: why.into(),
        }
    }
}
