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
    /// The character of the text that it is about, from 1.
    pub(crate) position: Option<usize>,
}

impl SqlError {
    pub(crate) fn new(sqlstate: &str, message: impl Into<String>) -> Self {
        Self {
            sqlstate: sqlstate.to_owned(),
            message: message.into(),
            hint: None,
            context: None,
            subject: None,
            position: None,
        }
    }

    /// An error of the engine's in a statement, with its place there.
    pub(crate) fn placed(error: hushdb::Error, statement: &str) -> Self {
        let plain = statement.trim_start();
        let blanks = statement.chars().count() - plain.chars().count();
        let position = error.position_in(plain.trim_end().trim_end_matches(';'));
        Self {
            position: position.map(|at| at + blanks),
            ..error.into()
        }
    }

    /// The same error, whose statement is a part of a text: `None` for one that was run in other words.
    pub(crate) fn within(mut self, text: &str, statement: Option<&str>) -> Self {
        let before = statement.and_then(|statement| {
            let at = (statement.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
            text.get(..at).map(|before| before.chars().count())
        });
        self.position = self.position.zip(before).map(|(at, before)| at + before);
        self
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
