//! The clock: whoever sets a limit of time, or waits for one, asks here.
#![expect(clippy::disallowed_methods, reason = "this is the clock's room")]

use std::time::Instant;

/// An instant of the clock that is never put back, to measure from.
pub(crate) fn now() -> Instant {
    Instant::now()
}
