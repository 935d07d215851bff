//! Moments and intervals by a format.

use super::patterns::{Case, Node, Pattern, nodes};
use crate::functions::strftime::{MONTHS, WEEKDAYS, new_year};
use crate::functions::text::calendar;
use crate::functions::zone::Zone;

pub(super) const MICROS_PER_DAY: i64 = 86_400_000_000;
const MICROS_PER_MINUTE: i64 = 60_000_000;
/// The day of 1970-01-01 in days since 4714-11-24 BC.
const JULIAN_OF_1970: i64 = 2_440_588;
const ROMAN: [&str; 12] = [
    "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII",
];

/// What there is of a moment, or of an interval.
pub(super) struct Moment {
    /// Of an interval its years, months and days.
    year: i64,
    month: i64,
    day: i64,
    /// Since 1970; nothing of an interval.
    days: Option<i64>,
    micros: i64,
    /// What the time is called in a time zone, and how far its clocks are before those of UTC, in minutes.
    zone: Option<(String, i64)>,
}

impl Moment {
    /// A point in time in microseconds since 1970, as the clocks of a time zone show it if there is one.
    pub(super) fn at(instant: i64, zone: Option<Zone>) -> Self {
        let micros = zone.and_then(|zone| zone.local(instant)).unwrap_or(instant);
        let zone = zone.map(|zone| {
            let minutes = zone.offset(instant) / MICROS_PER_MINUTE;
            (zone.abbreviation(instant), minutes)
        });
        let days = micros.div_euclid(MICROS_PER_DAY);
        let (year, month, day) = calendar(days);
        let is_finite = micros != i64::MAX && micros != -i64::MAX;
        Self {
            year,
            month,
            day,
            days: is_finite.then_some(days),
            micros: if is_finite {
                micros.rem_euclid(MICROS_PER_DAY)
            } else {
                micros
            },
            zone,
        }
    }

    pub(super) fn span(months: i32, days: i32, micros: i64) -> Self {
        Self {
            year: (months / 12).into(),
            month: (months % 12).into(),
            day: days.into(),
            days: None,
            micros,
            zone: None,
        }
    }

    /// The moment as the format says; `None` where it is infinitely far, as in PostgreSQL.
    pub(super) fn text(&self, format: &str) -> Option<String> {
        if self.micros.abs() == i64::MAX {
            return None;
        }
        let mut text = String::new();
        for node in nodes(format) {
            match node {
                Node::Text(own, _) => text.push_str(&own),
                Node::Pattern(pattern) => {
                    let shown = self.shown(&pattern);
                    text.push_str(&shown);
                    if let Some(upper) = pattern.ordinal.filter(|_| shown.ends_with(is_digit)) {
                        let th = ordinal(&shown);
                        text.push_str(&if upper {
                            th.to_uppercase()
                        } else {
                            th.to_owned()
                        });
                    }
                }
            }
        }
        Some(text)
    }

    fn shown(&self, pattern: &Pattern) -> String {
        self.name(pattern)
            .or_else(|| self.of_day(pattern))
            .unwrap_or_else(|| self.number(pattern))
    }

    fn hour(&self) -> i64 {
        self.micros / 3_600_000_000
    }

    /// Names; `None` for another pattern.
    fn name(&self, pattern: &Pattern) -> Option<String> {
        let weekday = || WEEKDAYS.get(usize::try_from(self.weekday()).ok()?).copied();
        let month = || {
            let at = usize::try_from(self.month).ok()?.checked_sub(1)?;
            MONTHS.get(at).copied()
        };
        let short = |name: &'static str| name.get(..3).unwrap_or(name);
        let is_morning = self.hour().rem_euclid(24) < 12;
        let is_bc = self.days.is_some() && self.year <= 0;
        let (name, width) = match pattern.key {
            "MONTH" => (month().unwrap_or_default(), 9),
            "MON" => (month().map(short).unwrap_or_default(), 0),
            "DAY" => (weekday()?, 9),
            "DY" => (short(weekday()?), 0),
            "RM" => {
                let at = self.month.rem_euclid(12);
                let at = if at == 0 { 12 } else { at };
                (*ROMAN.get(usize::try_from(at - 1).ok()?)?, 4)
            }
            "AM" | "PM" => (if is_morning { "AM" } else { "PM" }, 0),
            "A.M." | "P.M." => (if is_morning { "A.M." } else { "P.M." }, 0),
            "AD" | "BC" => (if is_bc { "BC" } else { "AD" }, 0),
            "A.D." | "B.C." => (if is_bc { "B.C." } else { "A.D." }, 0),
            "TZ" => (self.zone.as_ref().map_or("", |(name, _)| name), 0),
            _ => return None,
        };
        let name = match pattern.case {
            Case::Upper => name.to_uppercase(),
            Case::Lower => name.to_lowercase(),
            // The halves of a day and the eras are written as they are.
            Case::Title => name.to_owned(),
        };
        Some(match pattern.bare {
            true => name,
            false => format!("{name:<width$}"),
        })
    }

    /// How many minutes the clocks of its time zone are before those of UTC.
    fn minutes_ahead(&self) -> i64 {
        self.zone.as_ref().map_or(0, |(_, minutes)| *minutes)
    }

    fn weekday(&self) -> i64 {
        (self.days.unwrap_or(self.day) + 4).rem_euclid(7)
    }

    /// Days since 1 January, from 1.
    fn day_of_year(&self) -> i64 {
        match self.days {
            Some(days) => days - new_year(self.year) + 1,
            None => (self.year * 12 + self.month) * 30 + self.day,
        }
    }

    /// The year of the week, its number, and the days since that year began.
    fn iso(&self) -> (i64, i64, i64) {
        let day = self.days.unwrap_or(0);
        let from_monday = (self.weekday() + 6) % 7;
        let thursday = day - from_monday + 3;
        let (year, ..) = calendar(thursday);
        let week = (thursday - new_year(year)) / 7;
        (year, week + 1, week * 7 + from_monday + 1)
    }

    /// The year as it is written: there is none of number 0.
    fn written(&self, year: i64) -> i64 {
        match self.days {
            Some(_) if year <= 0 => 1 - year,
            _ => year,
        }
    }

    /// Times of the day, and what is not a plain number; `None` for another pattern.
    fn of_day(&self, pattern: &Pattern) -> Option<String> {
        let fraction = self.micros % 1_000_000;
        Some(match pattern.key {
            "Y,YYY" => {
                let year = self.written(self.year);
                format!("{},{:03}", year / 1000, (year % 1000).abs())
            }
            "OF" => match self.minutes_ahead() {
                minutes if minutes % 60 == 0 => hours(minutes),
                minutes => format!("{}:{:02}", hours(minutes), minutes.abs() % 60),
            },
            "TZH" => hours(self.minutes_ahead()),
            "TZM" => format!("{:02}", self.minutes_ahead().abs() % 60),
            "MS" => format!("{:03}", fraction / 1_000),
            "US" => format!("{fraction:06}"),
            "FF1" => format!("{:01}", fraction / 100_000),
            "FF2" => format!("{:02}", fraction / 10_000),
            "FF3" => format!("{:03}", fraction / 1_000),
            "FF4" => format!("{:04}", fraction / 100),
            "FF5" => format!("{:05}", fraction / 10),
            "FF6" => format!("{fraction:06}"),
            _ => return None,
        })
    }

    fn number(&self, pattern: &Pattern) -> String {
        let (year, iso) = (self.written(self.year), self.iso());
        let iso_year = self.written(iso.0);
        let (value, width) = match pattern.key {
            "HH24" => (self.hour(), 2),
            "HH12" | "HH" => match self.hour() % 12 {
                0 => (12, 2),
                hour => (hour, 2),
            },
            "MI" => (self.micros / 60_000_000 % 60, 2),
            "SS" => (self.micros / 1_000_000 % 60, 2),
            "SSSS" | "SSSSS" => (self.micros / 1_000_000, 0),
            "YYYY" => (year, 4),
            "YYY" => (year % 1000, 3),
            "YY" => (year % 100, 2),
            "Y" => (year % 10, 1),
            "IYYY" => (iso_year, 4),
            "IYY" => (iso_year % 1000, 3),
            "IY" => (iso_year % 100, 2),
            "I" => (iso_year % 10, 1),
            "MM" => (self.month, 2),
            "DD" => (self.day, 2),
            "DDD" => (self.day_of_year(), 3),
            "IDDD" => (iso.2, 3),
            "D" => (self.weekday() + 1, 0),
            "ID" => ((self.weekday() + 6) % 7 + 1, 0),
            "W" => ((self.day - 1) / 7 + 1, 0),
            "WW" => ((self.day_of_year() - 1) / 7 + 1, 2),
            "IW" => (iso.1, 2),
            "CC" => match self.days {
                Some(_) if self.year > 0 => ((self.year - 1) / 100 + 1, 2),
                Some(_) => (self.year / 100 - 1, 2),
                None => (self.year / 100, 2),
            },
            "Q" => ((self.month - 1) / 3 + 1, 0),
            "J" => (self.days.unwrap_or(0) + JULIAN_OF_1970, 0),
            _ => return String::new(),
        };
        let width = match value < 0 {
            true => width + 1,
            false => width,
        };
        match pattern.bare {
            true => value.to_string(),
            false => format!("{value:0width$}"),
        }
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// What stands behind a number that counts.
pub(super) fn ordinal(digits: &str) -> &'static str {
    let mut last = digits.chars().rev().filter(char::is_ascii_digit);
    match (last.next(), last.next()) {
        (_, Some('1')) => "th",
        (Some('1'), _) => "st",
        (Some('2'), _) => "nd",
        (Some('3'), _) => "rd",
        _ => "th",
    }
}

/// The hours of an offset, with its sign.
fn hours(minutes: i64) -> String {
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{sign}{:02}", minutes.abs() / 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As PostgreSQL 15 shows it.
    #[test]
    fn moments_are_shown_as_in_postgresql() {
        // 2024-03-05 15:04:09.012345, a Tuesday.
        let moment = Moment::at(1_709_651_049_012_345, Some(Zone::UTC));
        for (format, wanted) in [
            (
                "YYYY-MM-DD HH24:MI:SS.US TZ",
                "2024-03-05 15:04:09.012345 UTC",
            ),
            ("FMDay, DDth FMMonth YYYY", "Tuesday, 05th March 2024"),
            ("Day|Month|MON|dy|D|ID", "Tuesday  |March    |MAR|tue|3|2"),
            ("HH12:MI AM pm a.m.", "03:04 PM pm p.m."),
            ("FMHH12 FMMM FMDD", "3 3 5"),
            ("IYYY-IW WW W Q CC J DDD", "2024-10 10 1 1 21 2460375 065"),
            (
                "Y,YYY YYY YY Y BC RM MS SSSS",
                "2,024 024 24 4 AD III  012 54249",
            ),
            ("\"it is\" HH24\"h\"", "it is 15h"),
        ] {
            assert_eq!(moment.text(format).as_deref(), Some(wanted), "{format}");
        }
        let span = Moment::span(14, 3, 100 * 3_600_000_000 + 61_000_000);
        let shown = span.text("YYYY MM DD HH24:MI:SS HH12");
        assert_eq!(shown.as_deref(), Some("0001 02 03 100:01:01 04"));
        assert_eq!(Moment::at(i64::MAX, None).text("YYYY"), None);
    }
}
