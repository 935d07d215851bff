//! How long the process has computed, in user mode and in the kernel, as far as the system tells without being called:
//! `/proc/self/stat` of Linux, in hundredths of a second.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the program's clock, and a room of /proc"
)]

use std::fs;
use std::time::Instant;

/// Ticks in a second, which Linux has fixed for programs.
const TICKS: f64 = 100.0;

/// An instant to measure from.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Seconds since the process began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CpuTime {
    pub(crate) user: f64,
    pub(crate) system: f64,
}

impl CpuTime {
    /// Until now; `None` where there is no such file.
    pub(crate) fn now() -> Option<Self> {
        Self::of_stat(&fs::read_to_string("/proc/self/stat").ok()?)
    }

    /// The name of the program, in brackets, may have blanks and brackets in it.
    fn of_stat(stat: &str) -> Option<Self> {
        let (_, behind_name) = stat.rsplit_once(')')?;
        let mut fields = behind_name.split_whitespace().skip(11);
        let mut seconds = || Some(fields.next()?.parse::<f64>().ok()? / TICKS);
        Some(Self {
            user: seconds()?,
            system: seconds()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_are_the_fields_14_and_15() {
        let stat = "1 (a) b) R 1 2 3 4 5 6 7 8 9 10 150 25 0 0 20 0";
        let expected = CpuTime {
            user: 1.5,
            system: 0.25,
        };
        assert_eq!(CpuTime::of_stat(stat), Some(expected));
        assert_eq!(CpuTime::of_stat("1 (a) R 1"), None);
    }
}
