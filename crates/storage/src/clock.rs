//! The clock: what measures a time, or writes one down, asks here.
#![expect(clippy::disallowed_methods, reason = "this is the clock's room")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// An instant of the clock that is never put back, to measure from.
pub fn now() -> Instant {
    Instant::now()
}

/// Microseconds since 1970-01-01 00:00:00 UTC as the system's clock has it, negative before; the nearest `i64` out of range.
pub fn unix_micros() -> i64 {
    let signed = |elapsed: Duration| i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => signed(since),
        Err(before) => -signed(before.duration()),
    }
}

/// Whole seconds since 1970-01-01 00:00:00 UTC, 0 before.
pub fn unix_seconds() -> i64 {
    unix_micros().max(0) / 1_000_000
}
