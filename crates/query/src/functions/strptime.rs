//! `strptime` and `try_strptime`: text in a given format as a point in time.
//!
//! What must hold: no error repeats a text or a format.

use super::make_moment::day_of;
use super::plain::{Columns, Form, Kind, Run, plain};
use super::strftime::{MONTHS, WEEKDAYS};
use super::zone::Zone;
use datafusion::arrow::array::{ArrayRef, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{
    Error, ErrorKind, STRPTIME_NANOS, STRPTIME_ZONED, TRY_STRPTIME_NANOS, TRY_STRPTIME_ZONED,
};
use std::sync::Arc;

const MICROS_PER_DAY: i64 = 86_400_000_000;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let of = |name: &'static [&'static str], reading: Reading, run| {
        const TEXTS: &[Kind] = &[Kind::Text, Kind::Text];
        let form = Form::new(TEXTS, Run::Whole((reading.ty)(), run));
        plain(name, vec![form], memory)
    };
    vec![
        of(&["strptime"], MOMENT, |c, _| read(c, MOMENT, false)),
        of(&["try_strptime"], MOMENT, |c, _| read(c, MOMENT, true)),
        of(&[STRPTIME_ZONED], INSTANT, |c, _| read(c, INSTANT, false)),
        of(&[TRY_STRPTIME_ZONED], INSTANT, |c, _| {
            read(c, INSTANT, true)
        }),
        of(&[STRPTIME_NANOS], NANOS, |c, _| read(c, NANOS, false)),
        of(&[TRY_STRPTIME_NANOS], NANOS, |c, _| read(c, NANOS, true)),
    ]
}

/// A format in which files have their dates or points in time, read as `strptime` reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct MomentForm {
    format: String,
    /// What stands between a day and a clock, and behind it, in a format of which most texts are as long as can be.
    plain: Option<(&'static str, &'static str)>,
}

impl MomentForm {
    /// # Errors
    /// `InvalidInput` for what is no format.
    pub fn new(format: &str) -> Result<Self, Error> {
        Parts::read("", format)?;
        let plain = match format {
            "%Y-%m-%d %H:%M:%S" => Some((" ", "")),
            "%Y-%m-%dT%H:%M:%S" => Some(("T", "")),
            "%Y-%m-%dT%H:%M:%SZ" => Some(("T", "Z")),
            _ => None,
        };
        Ok(Self {
            format: format.to_owned(),
            plain,
        })
    }

    /// Microseconds since 1970, of UTC where the text has a zone; `None` for a text in another format.
    pub fn moment(&self, text: &str) -> Option<i64> {
        let plain = self.plain.and_then(|(between, behind)| {
            let (day, clock) = text.strip_suffix(behind)?.split_once(between)?;
            i64::from(plain_day(day)?)
                .checked_mul(MICROS_PER_DAY)?
                .checked_add(plain_clock(clock)?)
        });
        if plain.is_some() {
            return plain;
        }
        let parts = Parts::read(text, &self.format).ok()??;
        parts.instant().ok()?
    }

    /// Days since 1970.
    pub fn day(&self, text: &str) -> Option<i32> {
        if self.format == "%Y-%m-%d"
            && let Some(day) = plain_day(text)
        {
            return Some(day);
        }
        let days = self.moment(text)?.div_euclid(MICROS_PER_DAY);
        i32::try_from(days).ok()
    }
}

/// Digits, each of them.
fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |number, byte| {
        let is_digit = byte.is_ascii_digit();
        is_digit.then(|| number * 10 + i64::from(byte - b'0'))
    })
}

/// The day of `2020-01-31`, all ten characters of it.
fn plain_day(text: &str) -> Option<i32> {
    match text.as_bytes() {
        [year @ .., b'-', m, n, b'-', d, e] if year.len() == 4 => {
            day_of(digits(year)?, digits(&[*m, *n])?, digits(&[*d, *e])?)
        }
        _ => None,
    }
}

/// The microseconds of `10:00:00`, all eight characters of it.
fn plain_clock(text: &str) -> Option<i64> {
    match text.as_bytes() {
        [h, i, b':', m, n, b':', s, t] => {
            let parts = [digits(&[*h, *i])?, digits(&[*m, *n])?, digits(&[*s, *t])?];
            let [hour, minute, second] = parts;
            let is_one = hour < 24 && minute < 60 && second < 60;
            is_one.then(|| (hour * 3600 + minute * 60 + second) * 1_000_000)
        }
        _ => None,
    }
}

/// What is made of the parts of a text: a type of points in time, and the count of its unit, where an unknown zone is an error or nothing.
struct Reading {
    ty: fn() -> DataType,
    count: fn(&Parts<'_>, bool) -> Result<Option<i64>, Error>,
}

const MOMENT: Reading = Reading {
    ty: || DataType::Timestamp(TimeUnit::Microsecond, None),
    count: |parts, _| match parts.is_plain() {
        true => Ok(parts.moment()),
        false => Err(Error::unsupported(
            "%n, %z and %Z in a format of strptime that is computed are not there yet: write the format out",
        )),
    },
};

/// A format with `%z` or `%Z`.
const INSTANT: Reading = Reading {
    ty: || DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    count: |parts, lenient| match parts.instant() {
        Err(_) if lenient => Ok(None),
        instant => instant,
    },
};

/// A format with `%n`.
const NANOS: Reading = Reading {
    ty: || DataType::Timestamp(TimeUnit::Nanosecond, None),
    count: |parts, _| Ok(parts.nanos_since_1970()),
};

fn read(columns: &Columns, reading: Reading, lenient: bool) -> Result<ArrayRef> {
    let moments = columns.rows().map(|row| {
        if row.has_null() {
            // What is no format is told of whatever the text is.
            if !row.is_null(1) {
                Parts::read("", row.text(1))?;
            }
            return Ok(None);
        }
        if !lenient && let Some(special) = special(row.text(0)) {
            Parts::read("", row.text(1))?;
            return Ok(Some(special));
        }
        let parts = Parts::read(row.text(0), row.text(1))?;
        let found = parts.map_or(Ok(None), |parts| (reading.count)(&parts, lenient));
        match (found, lenient) {
            (Ok(None), false) => Err(Error::new(
                ErrorKind::InvalidInput,
                "Could not parse string according to format specifier; try_strptime gives NULL instead",
            )),
            (found, _) => found,
        }
    });
    let moments = moments.collect::<Result<Int64Array, Error>>()?;
    Ok(cast(&moments, &(reading.ty)())?)
}

/// A point in time that has a name in every format.
fn special(text: &str) -> Option<i64> {
    let named = [
        ("infinity", i64::MAX),
        ("-infinity", -i64::MAX),
        ("epoch", 0),
    ];
    let text = text.trim_matches(is_space);
    let found = named
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|(_, micros)| *micros)
}

/// What a text says, and what stands where it says nothing.
struct Parts<'a> {
    rest: &'a str,
    year: i64,
    month: i64,
    day: i64,
    counted: Counted,
    hour: i64,
    /// The hour is one of twelve, of this half of the day.
    half: Option<i64>,
    is_of_twelve: bool,
    minute: i64,
    second: i64,
    nanos: i64,
    /// How far before UTC its clock is, in seconds.
    offset: Option<i64>,
    /// The time zone of its clock, or what is none.
    zone: Option<&'a str>,
    has_nanos: bool,
}

impl<'a> Parts<'a> {
    /// The parts of a text, or nothing if the format does not fit it.
    fn read(text: &'a str, format: &str) -> Result<Option<Self>, Error> {
        let mut parts = Self {
            rest: text.trim_start_matches(is_space),
            year: 1900,
            month: 1,
            day: 1,
            counted: Counted::default(),
            hour: 0,
            half: None,
            is_of_twelve: false,
            minute: 0,
            second: 0,
            nanos: 0,
            offset: None,
            zone: None,
            has_nanos: false,
        };
        if format.is_empty() {
            return Err(unreadable("Empty format string"));
        }
        let fits = parts.take_all(format)?;
        let is_all = parts.rest.trim_start_matches(is_space).is_empty();
        Ok((fits && is_all).then_some(parts))
    }

    fn take_all(&mut self, format: &str) -> Result<bool, Error> {
        let mut letters = format.chars().peekable();
        let mut fits = true;
        while let Some(c) = letters.next() {
            let taken = match c {
                '%' => {
                    let _ = letters.next_if_eq(&'-');
                    let letter = letters.next();
                    self.take(letter.ok_or_else(|| unreadable("Trailing format character %"))?)?
                }
                c if is_space(c) => {
                    while letters.next_if(|c| is_space(*c)).is_some() {}
                    let after = self.rest.trim_start_matches(is_space);
                    let has_space = after.len() < self.rest.len();
                    self.rest = after;
                    has_space.then_some(())
                }
                c => self.rest.strip_prefix(c).map(|rest| self.rest = rest),
            };
            // The rest of the format is read, too: it may be none.
            fits &= taken.is_some();
        }
        Ok(fits)
    }

    /// Takes what a letter stands for; `None` if it is not there.
    fn take(&mut self, letter: char) -> Result<Option<()>, Error> {
        Ok(match letter {
            'Y' => self.number(4).map(|v| self.of_year(v)),
            'y' => self
                .number(2)
                .map(|v| self.of_year(if v < 69 { 2000 + v } else { 1900 + v })),
            'm' => self.number(2).map(|v| self.of_month(v)),
            'd' => self.number(2).map(|v| {
                self.day = v;
                self.counted.by = By::Month;
            }),
            'j' | 'G' | 'U' | 'V' | 'W' | 'u' | 'w' => {
                let digits = match letter {
                    'j' => 3,
                    'G' => 4,
                    'u' | 'w' => 1,
                    _ => 2,
                };
                self.number(digits)
                    .and_then(|v| self.counted.take(letter, v))
            }
            'H' => self.number(2).map(|v| self.hour = v),
            'I' => self.number(2).map(|v| {
                self.hour = v;
                self.is_of_twelve = true;
            }),
            'M' => self.number(2).map(|v| self.minute = v),
            'S' => self.number(2).map(|v| self.second = v),
            'f' => self.fraction(6),
            'g' => self.fraction(3),
            'p' => self.name(&["AM", "PM"]).map(|at| self.half = Some(at)),
            'a' => self.name(&WEEKDAYS.map(|name| &name[..3])).map(|_| ()),
            'A' => self.name(&WEEKDAYS).map(|_| ()),
            'b' => self
                .name(&MONTHS.map(|name| &name[..3]))
                .map(|at| self.of_month(at + 1)),
            'B' => self.name(&MONTHS).map(|at| self.of_month(at + 1)),
            '%' => self.rest.strip_prefix('%').map(|rest| self.rest = rest),
            'c' => self.take_all("%Y-%m-%d %H:%M:%S")?.then_some(()),
            'x' => self.take_all("%Y-%m-%d")?.then_some(()),
            'X' | 'T' => self.take_all("%H:%M:%S")?.then_some(()),
            'n' => {
                self.has_nanos = true;
                self.fraction(9)
            }
            'z' => self.offset(),
            'Z' => self.zone(),
            _ => return Err(unreadable("Unrecognized format for strptime")),
        })
    }

    fn of_year(&mut self, year: i64) {
        self.year = year;
        if matches!(self.counted.by, By::Nothing | By::IsoYear | By::IsoWeek) {
            self.counted.by = By::Year;
        }
    }

    fn of_month(&mut self, month: i64) {
        self.month = month;
        self.counted.by = By::Month;
    }

    /// At most so many digits.
    fn number(&mut self, most: usize) -> Option<i64> {
        let digits = self.rest.bytes().take(most);
        let digits = digits.take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        number.parse().ok()
    }

    /// The digits of a fraction of a second, of which the first is tenths.
    fn fraction(&mut self, most: usize) -> Option<()> {
        let before = self.rest.len();
        let value = self.number(most)?;
        let taken = u32::try_from(before - self.rest.len()).ok()?;
        self.nanos = value * 10_i64.checked_pow(9_u32.checked_sub(taken)?)?;
        Some(())
    }

    /// `+HH`, `+HHMM`, `+HH:MM` or `+HH:MM:SS`, before UTC or behind it.
    fn offset(&mut self) -> Option<()> {
        let sign = match self.rest.as_bytes().first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        self.rest = &self.rest[1..];
        let mut seconds = self.two_digits()? * 3600;
        for unit in [60, 1] {
            let before = self.rest;
            self.rest = before.strip_prefix(':').unwrap_or(before);
            let has_colon = self.rest.len() < before.len();
            let is_next = self.rest.as_bytes().first().is_some_and(u8::is_ascii_digit);
            match has_colon || is_next && unit == 60 {
                true => seconds += self.two_digits()? * unit,
                false => break,
            }
        }
        self.offset = Some(sign * seconds);
        Some(())
    }

    fn two_digits(&mut self) -> Option<i64> {
        let before = self.rest.len();
        let number = self.number(2)?;
        (before - self.rest.len() == 2).then_some(number)
    }

    /// The name of a time zone, up to a space.
    fn zone(&mut self) -> Option<()> {
        let end = self.rest.find(is_space).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.zone = Some(name).filter(|name| !name.is_empty());
        self.zone.map(|_| ())
    }

    /// Whether there is no more to it than a point in time without a zone in microseconds.
    fn is_plain(&self) -> bool {
        self.offset.is_none() && self.zone.is_none() && !self.has_nanos
    }

    /// Microseconds since 1970 of UTC.
    fn instant(&self) -> Result<Option<i64>, Error> {
        let Some(moment) = self.moment() else {
            return Ok(None);
        };
        Ok(match (self.offset, self.zone) {
            (Some(offset), _) => moment.checked_sub(offset * 1_000_000),
            (None, Some(zone)) => Zone::known(zone)?.instant(moment),
            (None, None) => Some(moment),
        })
    }

    /// Nanoseconds since 1970.
    fn nanos_since_1970(&self) -> Option<i64> {
        let micros = self.day_and_clock()?;
        micros.checked_mul(1000)?.checked_add(self.nanos)
    }

    /// The place of the name that comes next.
    fn name(&mut self, names: &[&str]) -> Option<i64> {
        let begins = |name: &&str| {
            let start = self.rest.get(..name.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        let at = names.iter().position(begins)?;
        self.rest = &self.rest[names[at].len()..];
        i64::try_from(at).ok()
    }

    /// Microseconds since 1970.
    fn moment(&self) -> Option<i64> {
        self.day_and_clock()?.checked_add((self.nanos + 500) / 1000)
    }

    /// Microseconds since 1970, without fractions of a second.
    fn day_and_clock(&self) -> Option<i64> {
        let days = match self.counted.by {
            By::Nothing | By::Year | By::Month => day_of(self.year, self.month, self.day)?,
            _ => self.counted.day(self.year)?,
        };
        if self.is_of_twelve && self.hour == 0 || self.half.is_some() && self.hour > 12 {
            return None;
        }
        let hour = match self.half {
            None if self.is_of_twelve && self.hour > 12 => return None,
            None => self.hour,
            Some(half) => self.hour % 12 + half * 12,
        };
        if hour > 23 || self.minute > 59 || self.second > 59 {
            return None;
        }
        let micros = (hour * 3600 + self.minute * 60 + self.second) * 1_000_000;
        i64::from(days)
            .checked_mul(MICROS_PER_DAY)?
            .checked_add(micros)
    }
}

/// What a day is counted by, of which what comes last in a format tells, as far as it goes with what came before.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Nothing,
    Year,
    Month,
    DayOfYear,
    IsoYear,
    IsoWeek,
    /// Weeks from a Sunday on, or from a Monday.
    Week {
        from_sunday: bool,
    },
}

/// Years, weeks and days that are counted otherwise than by months.
struct Counted {
    by: By,
    day_of_year: i64,
    week: i64,
    /// From the first of a week.
    weekday: Option<i64>,
    iso_year: i64,
    iso_week: i64,
    iso_weekday: i64,
}

impl Default for Counted {
    fn default() -> Self {
        Self {
            by: By::Nothing,
            day_of_year: 1,
            week: 0,
            weekday: None,
            iso_year: 1900,
            iso_week: 1,
            iso_weekday: 1,
        }
    }
}

impl Counted {
    /// Takes the number of a letter; `None` if it is out of its range, or says what another has said otherwise.
    fn take(&mut self, letter: char, number: i64) -> Option<()> {
        let (least, most) = match letter {
            'j' => (1, 366),
            'G' => (0, 9999),
            'V' => (1, 53),
            'u' => (1, 7),
            'w' => (0, 6),
            _ => (0, 53),
        };
        if !(least..=most).contains(&number) {
            return None;
        }
        let by = match letter {
            'j' => By::DayOfYear,
            'G' => By::IsoYear,
            'V' => By::IsoWeek,
            'u' => {
                self.iso_weekday = number;
                return Some(());
            }
            'w' => {
                self.weekday = Some(number);
                return Some(());
            }
            letter => By::Week {
                from_sunday: letter == 'U',
            },
        };
        self.by = match (self.by, by) {
            (By::Month, _) => By::Month,
            (By::Year, By::IsoYear) => By::Year,
            (By::Nothing, by) | (By::Year, by @ (By::DayOfYear | By::Week { .. })) => by,
            (By::IsoYear, By::IsoWeek) | (By::IsoWeek, By::IsoYear) => by,
            _ => return None,
        };
        match letter {
            'j' => self.day_of_year = number,
            'G' => self.iso_year = number,
            'V' => self.iso_week = number,
            _ => self.week = number,
        }
        Some(())
    }

    /// Days since 1970 of what is counted, weeks and days of a year perhaps.
    fn day(&self, year: i64) -> Option<i32> {
        // Weeks begin on Monday.
        let monday = |day: i64| day - (day + 3).rem_euclid(7);
        let first = |year: i64| day_of(year, 1, 1).map(i64::from);
        let day = match self.by {
            By::DayOfYear => first(year)? + self.day_of_year - 1,
            By::Week { from_sunday } => {
                let january = first(year)?;
                let begins = monday(january) - i64::from(from_sunday);
                // What is before the first whole week is of week 0.
                let begins = begins - 7 * i64::from(begins >= january);
                let weekday = self.weekday.map_or(0, |day| match from_sunday {
                    true => day,
                    false => (day + 6) % 7,
                });
                begins + self.week * 7 + weekday
            }
            // The first week is that of 4 January.
            _ => monday(first(self.iso_year)? + 3) + (self.iso_week - 1) * 7 + self.iso_weekday - 1,
        };
        i32::try_from(day).ok()
    }
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

fn unreadable(what: &str) -> Error {
    Error::new(
        ErrorKind::InvalidInput,
        format!("Failed to parse format specifier: {what}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_are_read_as_others() {
        for (format, texts) in [
            (
                "%Y-%m-%d",
                &[
                    "2020-02-29",
                    "2021-02-29",
                    "0001-01-01",
                    "2020-2-9",
                    "2020-1a-01",
                    "9999-12-31",
                ][..],
            ),
            (
                "%Y-%m-%d %H:%M:%S",
                &[
                    "2020-02-29 23:59:59",
                    "2020-01-01 24:00:00",
                    "2020-01-01 1:02:03",
                    "1969-12-31 00:00:01",
                ],
            ),
            (
                "%Y-%m-%dT%H:%M:%SZ",
                &[
                    "2020-02-29T10:00:00Z",
                    "2020-02-29T10:00:00",
                    "2020-02-29T10:00:60Z",
                ],
            ),
        ] {
            let form = MomentForm::new(format).unwrap();
            for text in texts {
                let parts = Parts::read(text, format).unwrap();
                let expected = parts.and_then(|parts| parts.moment());
                assert_eq!(form.moment(text), expected, "{text}");
                let days = expected.map(|micros| micros.div_euclid(MICROS_PER_DAY));
                assert_eq!(form.day(text).map(i64::from), days, "{text}");
            }
        }
    }

    #[test]
    fn texts_are_read_in_their_format() {
        let micros = |text, format| {
            let parts = Parts::read(text, format).unwrap();
            parts.and_then(|parts| parts.moment())
        };
        for (text, format, value) in [
            (
                "1970-01-02 03:04:05",
                "%Y-%m-%d %H:%M:%S",
                Some(97_445_000_000),
            ),
            ("02/01/70", "%d/%m/%y", Some(MICROS_PER_DAY)),
            (
                "Jan 2, 1970 12:00 AM",
                "%b %-d, %Y %-I:%M %p",
                Some(MICROS_PER_DAY),
            ),
            (" 1970-1-2 ", "%Y-%m-%d", Some(MICROS_PER_DAY)),
            ("1970 002", "%Y %j", Some(MICROS_PER_DAY)),
            (
                "1970-01-01 00:00:00.5",
                "%Y-%m-%d %H:%M:%S.%f",
                Some(500_000),
            ),
            ("friday 2 january 1970", "%A %d %B %Y", Some(MICROS_PER_DAY)),
            ("19700102", "%Y%m%d", Some(MICROS_PER_DAY)),
            ("1970-13-01", "%Y-%m-%d", None),
            ("1970-01-02x", "%Y-%m-%d", None),
            ("24", "%H", None),
            ("1970 0 5", "%Y %U %w", Some(MICROS_PER_DAY)),
            ("1970 1 5", "%G %V %u", Some(MICROS_PER_DAY)),
            ("1970 0 5 1", "%Y %U %w %V", None),
        ] {
            assert_eq!(micros(text, format), value, "{text}");
        }
        assert!(Parts::read("x", "%q").is_err());
        assert!(Parts::read("1970", "%Y%").is_err());
    }
}
