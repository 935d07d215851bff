//! The clock: whoever sets a limit of time, or waits for one, asks here.
#![expect(clippy::disallowed_methods, reason = "this is the clock's room")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// An instant of the clock that is never put back, to measure from.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The time since 1970-01-01 00:00:00 UTC, for people to read.
pub(crate) fn wall() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default()
}
