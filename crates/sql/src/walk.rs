//! How a walk over parsed SQL ends.

use crate::error::{Error, Result};
use std::ops::ControlFlow;

/// The error with which a visitor broke off, if it did.
pub(super) fn finish(flow: ControlFlow<Box<Error>>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}
