//! `Patience`: how long a place may take, and how often it is asked again.
#![expect(clippy::disallowed_methods, reason = "this is the crate's clock")]

use std::io;
use std::time::{Duration, Instant};

use hushdb_keys::KeyError;

use crate::PlaceError;
use crate::key_url::KeyUrl;

const CONNECT: Duration = Duration::from_secs(5);
const REQUEST: Duration = Duration::from_secs(15);
const TOTAL_SECONDS: u64 = 30;
/// Between three tries.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];

/// How long one key may take, with all that it takes to be let in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    total: Duration,
}

impl Patience {
    /// The URL's `timeout`, in seconds, or 30.
    pub(crate) fn of(url: &mut KeyUrl) -> Result<Self, PlaceError> {
        Self::of_with_default(url, TOTAL_SECONDS)
    }

    /// The same, with another default.
    pub(crate) fn of_with_default(url: &mut KeyUrl, seconds: u64) -> Result<Self, PlaceError> {
        let seconds = match url.take("timeout")? {
            None => Some(seconds),
            Some(text) => text.parse().ok().filter(|it| (1..=600).contains(it)),
        };
        let seconds = seconds.ok_or(PlaceError::InvalidParameter {
            parameter: "timeout",
            expected: "a number of seconds from 1 to 600",
        })?;
        Ok(Self {
            total: Duration::from_secs(seconds),
        })
    }

    /// Begins to count.
    pub(crate) fn begin(self) -> Waiting {
        Waiting {
            until: Instant::now() + self.total,
        }
    }
}

/// How one call went wrong, and whether another try may go better.
pub(crate) struct Trouble {
    pub(crate) error: KeyError,
    pub(crate) again: bool,
}

/// A key that is being asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    until: Instant,
}

impl Waiting {
    /// What is left; at least a millisecond, since no time at all means no limit to some libraries.
    pub(crate) fn left(&self) -> Duration {
        let left = self.until.saturating_duration_since(Instant::now());
        left.max(Duration::from_millis(1))
    }

    /// What is left, or that it is over.
    pub(crate) fn in_time(&self) -> io::Result<Duration> {
        let left = self.until.checked_duration_since(Instant::now());
        let left = left.filter(|left| !left.is_zero());
        left.ok_or(io::ErrorKind::TimedOut.into())
    }

    /// The same key, asked for at a place that has to answer within this time.
    pub(crate) fn at_most(&self, limit: Duration) -> Self {
        Self {
            until: self.until.min(Instant::now() + limit),
        }
    }

    /// What one connection may take.
    pub(crate) fn connect(&self) -> Duration {
        self.left().min(CONNECT)
    }

    /// What one request may take.
    pub(crate) fn request(&self) -> Duration {
        self.left().min(REQUEST)
    }

    /// Calls up to three times, with a longer pause each time, as long as another try makes sense and there is time.
    pub(crate) fn call<T>(
        &self,
        mut call: impl FnMut() -> Result<T, Trouble>,
    ) -> Result<T, KeyError> {
        for pause in PAUSES {
            match call() {
                Ok(answer) => return Ok(answer),
                Err(trouble) if !trouble.again || self.left() <= pause => {
                    return Err(trouble.error);
                }
                Err(_) => std::thread::sleep(pause),
            }
        }
        call().map_err(|trouble| trouble.error)
    }
}
