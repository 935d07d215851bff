//! `SqlError`: what a client is told of a statement that failed.

use crate::instance::Refused;
use arrow::error::ArrowError;
use hushdb::Subject;

/// An error that ends a statement, not the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SqlError {
    pub(crate) sqlstate: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) context: Option<String>,
    /// What it is about, where that is known.
    pub(crate) subject: Option<Box<Subject>>,
}

impl SqlError {
    pub(crate) fn new(sqlstate: &str, message: impl Into<String>) -> Self {
        Self {
            sqlstate: sqlstate.to_owned(),
            message: message.into(),
            hint: None,
            context: None,
            subject: None,
        }
    }

    pub(crate) fn syntax(message: &str) -> Self {
        Self::new("42601", format!("syntax error: {message}"))
    }

    /// `feature_not_supported`, by its name.
    pub(crate) fn missing(what: &str) -> Self {
        Self::new("0A000", format!("{what} is not there yet"))
    }

    pub(crate) fn denied(message: impl Into<String>) -> Self {
        Self::new("42501", message)
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn with_context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into());
        self
    }
}

impl From<hushdb::Error> for SqlError {
    fn from(error: hushdb::Error) -> Self {
        Self {
            subject: error.subject().cloned().map(Box::new),
            ..Self::new(error.sqlstate(), error.message())
        }
    }
}

impl From<ArrowError> for SqlError {
    fn from(error: ArrowError) -> Self {
        hushdb::Error::from(error).into()
    }
}

impl From<Refused> for SqlError {
    fn from((sqlstate, message): Refused) -> Self {
        Self::new(&sqlstate, message)
    }
}
