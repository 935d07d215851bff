//! Intervals from text, as DuckDB reads them: `1 year 2 days -03:04:05.6`, `3 decades ago`, and seconds without a unit.

use crate::error::{Error, ErrorKind};
use arrow::datatypes::IntervalMonthDayNano;

const BLANKS: [char; 3] = [' ', '\t', '\n'];
/// A fraction is counted in millionths.
const WHOLE: i64 = 1_000_000;
const DAY_MICROS: i64 = 86_400_000_000;
const MONTH_DAYS: i64 = 30;

/// One of a unit.
#[derive(Clone, Copy)]
enum Unit {
    Months(i64),
    Days(i64),
    Micros(i64),
}

/// Units by their names.
const UNITS: [(&[&str], Unit); 13] = [
    (
        &[
            "millennium",
            "millennia",
            "millenniums",
            "millenium",
            "mil",
            "mils",
        ],
        Unit::Months(12_000),
    ),
    (&["century", "centuries", "cent", "c"], Unit::Months(1200)),
    (&["decade", "decades", "dec", "decs"], Unit::Months(120)),
    (&["year", "years", "yr", "yrs", "y"], Unit::Months(12)),
    (&["quarter", "quarters"], Unit::Months(3)),
    (&["month", "months", "mon", "mons"], Unit::Months(1)),
    (&["week", "weeks", "w"], Unit::Days(7)),
    (&["day", "days", "dayofmonth", "d"], Unit::Days(1)),
    (
        &["hour", "hours", "hr", "hrs", "h"],
        Unit::Micros(3_600_000_000),
    ),
    (
        &["minute", "minutes", "min", "mins", "m"],
        Unit::Micros(60_000_000),
    ),
    (
        &["second", "seconds", "sec", "secs", "s"],
        Unit::Micros(WHOLE),
    ),
    (
        &[
            "millisecond",
            "milliseconds",
            "msecond",
            "mseconds",
            "msec",
            "msecs",
            "ms",
        ],
        Unit::Micros(1000),
    ),
    (
        &[
            "microsecond",
            "microseconds",
            "usecond",
            "useconds",
            "usec",
            "usecs",
            "us",
        ],
        Unit::Micros(1),
    ),
];

/// Months, days and microseconds that were read so far.
#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    micros: i64,
}

impl Sum {
    /// Adds `number` and `fraction` millionths of a unit.
    fn add(&mut self, unit: Unit, number: i64, fraction: i64) -> Option<()> {
        let (months, days, micros) = match unit {
            Unit::Months(size) => {
                let part = fraction * size;
                // What is left of a month is days; of longer units nothing is.
                let rest = if size <= 3 { part % WHOLE } else { 0 };
                let months = number.checked_mul(size)?.checked_add(part / WHOLE)?;
                (months, rest * MONTH_DAYS / WHOLE, 0)
            }
            Unit::Days(size) => {
                let part = fraction * size;
                let days = number.checked_mul(size)?.checked_add(part / WHOLE)?;
                (0, days, part % WHOLE * (DAY_MICROS / WHOLE))
            }
            Unit::Micros(1) => {
                let rounded = (fraction + fraction.signum() * WHOLE / 2) / WHOLE;
                (0, 0, number.checked_add(rounded)?)
            }
            Unit::Micros(size) => {
                let part = i128::from(fraction) * i128::from(size) / i128::from(WHOLE);
                let part = i64::try_from(part).ok()?;
                (0, 0, number.checked_mul(size)?.checked_add(part)?)
            }
        };
        self.months = self.months.checked_add(months)?;
        self.days = self.days.checked_add(days)?;
        self.micros = self.micros.checked_add(micros)?;
        Some(())
    }

    fn interval(&self, sign: i64) -> Option<IntervalMonthDayNano> {
        Some(IntervalMonthDayNano::new(
            i32::try_from(self.months.checked_mul(sign)?).ok()?,
            i32::try_from(self.days.checked_mul(sign)?).ok()?,
            self.micros.checked_mul(sign)?.checked_mul(1000)?,
        ))
    }
}

/// The interval that a text stands for.
pub fn interval(text: &str) -> Option<IntervalMonthDayNano> {
    let mut rest = text.trim_matches(BLANKS);
    rest = rest.strip_prefix('@').unwrap_or(rest);
    let mut sum = Sum::default();
    let mut is_first = true;
    loop {
        rest = rest.trim_start_matches(BLANKS);
        if rest.is_empty() || rest.eq_ignore_ascii_case("ago") {
            let sign = if rest.is_empty() { 1 } else { -1 };
            return (!is_first).then(|| sum.interval(sign))?;
        }
        let (sign, digits) = rest.strip_prefix('-').map_or((1, rest), |rest| (-1, rest));
        let (whole, after) = split(digits, |c| c.is_ascii_digit());
        if after.starts_with(':') {
            sum.add(Unit::Micros(1), sign * clock(whole, after)?, 0)?;
            return sum.interval(1);
        }
        let number: i64 = whole.parse().ok()?;
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => split(after, |c| c.is_ascii_digit()),
            None => ("", after),
        };
        let (word, after) = split(after.trim_start_matches(BLANKS), |c| {
            c.is_ascii_alphabetic()
        });
        let unit = match word {
            "" if is_first && after.is_empty() => Unit::Micros(WHOLE),
            word => unit(word)?,
        };
        sum.add(unit, sign * number, sign * millionths(fraction))?;
        is_first = false;
        rest = after;
    }
}

/// A text's beginning of such characters, and the rest.
fn split(text: &str, is_in: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !is_in(c)).unwrap_or(text.len()))
}

fn unit(word: &str) -> Option<Unit> {
    let is_named = |names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
    let found = UNITS.iter().find(|(names, _)| is_named(names));
    found.map(|(_, unit)| *unit)
}

/// The first six digits of a fraction.
fn millionths(digits: &str) -> i64 {
    let digits = digits.bytes().chain(std::iter::repeat(b'0')).take(6);
    digits.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
}

/// Microseconds of `hours` and what follows them, `:minutes[:seconds[.fraction]]`.
fn clock(hours: &str, rest: &str) -> Option<i64> {
    let (clock, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let sixtieths = |text: &str| match text.len() {
        1 | 2 if is_number(text) => text.parse().ok().filter(|n: &i64| *n < 60),
        _ => None,
    };
    let mut parts = clock.split(':').skip(1);
    let minutes = sixtieths(parts.next()?)?;
    let seconds = parts.next().map_or(Some(0), sixtieths)?;
    if parts.next().is_some() || !is_number(fraction) {
        return None;
    }
    let hours: i64 = hours.parse().ok()?;
    let seconds = hours
        .checked_mul(3600)?
        .checked_add(minutes * 60 + seconds)?;
    seconds
        .checked_mul(WHOLE)?
        .checked_add(millionths(fraction))
}

/// Says how an interval reads, and nothing of what stood there.
pub fn unreadable_interval() -> Error {
    Error::new(
        ErrorKind::Conversion,
        "Could not convert the string to an INTERVAL: it reads like '2 days 03:04:05' or '3 decades ago', with units from \
         microsecond to millennium, and a month count that fits 32 bits",
    )
    .with_sqlstate("22007")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_read_as_duckdb_does() {
        for (text, months, days, micros) in [
            ("42", 0, 0, 42_000_000),
            ("1.5", 0, 0, 1_500_000),
            ("1 year 2 months 3 days 04:05:06", 14, 3, 14_706_000_000),
            ("1day2hours", 0, 1, 7_200_000_000),
            ("-1 day 2 hours ago", 0, 1, -7_200_000_000),
            ("3 DECADES", 360, 0, 0),
            ("1.99 years", 23, 0, 0),
            ("1.55 quarters", 4, 19, 0),
            ("-1.5 months", -1, -15, 0),
            ("0.3 weeks", 0, 2, 8_640_000_000),
            ("1.23456789 days", 0, 1, 20_266_588_800),
            ("-1.5 microseconds", 0, 0, -2),
            ("1.0005 milliseconds", 0, 0, 1000),
            ("1:2:3.1234567", 0, 0, 3_723_123_456),
            ("-0:30", 0, 0, -1_800_000_000),
            ("  @ 1   mon  ", 1, 0, 0),
        ] {
            let expected = IntervalMonthDayNano::new(months, days, micros * 1000);
            assert_eq!(interval(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_interval_is_refused() {
        for text in [
            "",
            "ago",
            "day",
            "3 foo",
            "1 day 2",
            "+3 days",
            "- 3 days",
            "1 day, 2 hours",
            "P1Y2M",
            "1e2 days",
            "1:60",
            "1:2:60",
            "1:2:3:4",
            "1:2:3 ago",
            ".5 days",
            "1 day ago 2 days",
            "99999999999 years",
            "9223372036854775807 hours",
        ] {
            assert_eq!(interval(text), None, "{text}");
        }
    }
}
