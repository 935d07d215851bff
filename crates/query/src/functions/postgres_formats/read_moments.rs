//! Moments read from texts by a format, as `to_timestamp` and `to_date` do.

use super::moments::MICROS_PER_DAY;
use super::patterns::{Node, Pattern, nodes};
use crate::functions::make_moment::day_of;
use crate::functions::strftime::{MONTHS, WEEKDAYS, new_year};
use hushdb_sql::{Error, ErrorKind};

/// The moment that a text says, in microseconds since 1970, in UTC.
///
/// # Errors
/// `Conversion` when the text does not fit the format, or is no moment.
pub(super) fn micros(text: &str, format: &str) -> Result<i64, Error> {
    let mut reading = Reading {
        rest: text,
        ..Reading::default()
    };
    let nodes = nodes(format);
    for (at, node) in nodes.iter().enumerate() {
        match node {
            Node::Text(text, quoted) => reading.skip(text, *quoted),
            Node::Pattern(pattern) => {
                let is_before_digits = matches!(nodes.get(at + 1), Some(Node::Pattern(_)));
                reading.take(pattern, is_before_digits)?;
            }
        }
    }
    reading.moment()
}

/// What a text has said so far.
#[derive(Default)]
struct Reading<'a> {
    rest: &'a str,
    year: Option<i64>,
    is_bc: bool,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    julian: Option<i64>,
    hour: i64,
    is_of_twelve: bool,
    is_afternoon: bool,
    minute: i64,
    second: i64,
    micros: i64,
    zone: i64,
}

fn wrong(key: &str) -> Error {
    let what = format!("invalid value for \"{key}\"");
    Error::new(ErrorKind::Conversion, what).with_sqlstate("22007")
}

fn out_of_range() -> Error {
    let what = "date/time field value out of range";
    Error::new(ErrorKind::Conversion, what).with_sqlstate("22008")
}

impl Reading<'_> {
    /// Skips what stands for itself: in quotes as many letters, else anything that is neither letter nor digit.
    fn skip(&mut self, text: &str, quoted: bool) {
        for wanted in text.chars() {
            let next = self.rest.chars().next();
            let fits = match next {
                None => false,
                Some(next) => {
                    quoted || !wanted.is_alphanumeric() && !next.is_alphanumeric() || next == wanted
                }
            };
            // A sign belongs to the number behind it.
            if let Some(next) = next.filter(|next| fits && !(wanted == ' ' && *next == '-')) {
                self.rest = self.rest.get(next.len_utf8()..).unwrap_or_default();
            }
        }
    }

    fn number(&mut self, key: &str, most: usize, is_before_digits: bool) -> Result<i64, Error> {
        self.rest = self.rest.trim_start();
        let (negative, digits) = match self.rest.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, self.rest.strip_prefix('+').unwrap_or(self.rest)),
        };
        let length = digits
            .bytes()
            .take(if is_before_digits { most } else { 12 })
            .take_while(u8::is_ascii_digit)
            .count();
        let (number, rest) = digits.split_at_checked(length).unwrap_or((digits, ""));
        let number: i64 = number.parse().map_err(|_| wrong(key))?;
        self.rest = rest;
        Ok(if negative { -number } else { number })
    }

    /// Which of some names comes next, in any case.
    fn name(&mut self, key: &str, names: &[&str]) -> Result<i64, Error> {
        self.rest = self.rest.trim_start();
        let rest = self.rest;
        let begins = |name: &&str| {
            let begin = rest.get(..name.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(name))
        };
        let found = names.iter().position(begins);
        let at = found.ok_or_else(|| wrong(key))?;
        let length = names.get(at).map_or(0, |name| name.len());
        self.rest = rest.get(length..).unwrap_or_default();
        Ok(at as i64)
    }

    fn take(&mut self, pattern: &Pattern, is_before_digits: bool) -> Result<(), Error> {
        let key = pattern.key;
        let tight = is_before_digits && !pattern.bare;
        match key {
            "MONTH" => self.month = Some(self.name(key, &MONTHS)? + 1),
            "MON" => self.month = Some(self.name(key, &MONTHS.map(|name| &name[..3]))? + 1),
            // Nothing follows from these.
            "DAY" => self.name(key, &WEEKDAYS).map(|_| ())?,
            "DY" => self
                .name(key, &WEEKDAYS.map(|name| &name[..3]))
                .map(|_| ())?,
            "AM" | "PM" | "A.M." | "P.M." => {
                let at = self.name(key, &["a.m.", "p.m.", "am", "pm"])?;
                self.is_afternoon = at % 2 == 1;
                self.is_of_twelve = true;
            }
            "AD" | "BC" | "A.D." | "B.C." => {
                let at = self.name(key, &["a.d.", "b.c.", "ad", "bc"])?;
                self.is_bc = at % 2 == 1;
            }
            "RM" => {
                let names = [
                    "VIII", "VII", "III", "XII", "VI", "IV", "IX", "XI", "II", "V", "X", "I",
                ];
                let months = [8, 7, 3, 12, 6, 4, 9, 11, 2, 5, 10, 1];
                let at = usize::try_from(self.name(key, &names)?).unwrap_or(0);
                self.month = months.get(at).copied();
            }
            "TZ" => {
                let names = ["UTC", "GMT", "Z"];
                self.name(key, &names).map(|_| ())?;
            }
            "TZH" => {
                let hours = self.number(key, 2, true)?;
                self.zone += hours * 3_600;
            }
            "TZM" => {
                let minutes = self.number(key, 2, true)?;
                self.zone += if self.zone < 0 { -minutes } else { minutes } * 60;
            }
            "MS" => self.micros = self.fraction(key, 3)?,
            "US" | "FF6" => self.micros = self.fraction(key, 6)?,
            "FF1" => self.micros = self.fraction(key, 1)?,
            "FF2" => self.micros = self.fraction(key, 2)?,
            "FF3" => self.micros = self.fraction(key, 3)?,
            "FF4" => self.micros = self.fraction(key, 4)?,
            "FF5" => self.micros = self.fraction(key, 5)?,
            _ => self.plain(key, tight)?,
        }
        if pattern.ordinal.is_some() {
            self.rest = self.rest.get(2..).unwrap_or_default();
        }
        Ok(())
    }

    /// Digits behind the point of a second.
    fn fraction(&mut self, key: &str, most: usize) -> Result<i64, Error> {
        let length = self
            .rest
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        let (digits, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        let digits = format!("{digits:0<6}");
        if length == 0 {
            return Err(wrong(key));
        }
        self.rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        digits.parse().map_err(|_| wrong(key))
    }

    fn plain(&mut self, key: &str, tight: bool) -> Result<(), Error> {
        let year_of = |year: i64, digits: usize| match digits {
            // As PostgreSQL has them, nearest to 2020.
            3 if year < 520 => year + 2000,
            3 => year + 1000,
            _ if year < 70 => year + 2000,
            _ => year + 1900,
        };
        match key {
            "YYYY" | "IYYY" => {
                let year = self.number(key, 4, tight)?;
                self.set_year(key, year);
            }
            "Y,YYY" => {
                let thousands = self.number(key, 9, false)?;
                self.skip(",", false);
                let rest = self.number(key, 3, true)?;
                self.set_year(key, thousands * 1000 + rest);
            }
            "YYY" | "IYY" | "YY" | "IY" | "Y" | "I" => {
                let digits = key.len();
                let before = self.rest.len();
                let year = self.number(key, digits, tight)?;
                let read = before - self.rest.len();
                let year = if read > digits {
                    year
                } else {
                    year_of(year, digits)
                };
                self.set_year(key, year);
            }
            "MM" => self.month = Some(self.number(key, 2, tight)?),
            "DD" => self.day = Some(self.number(key, 2, tight)?),
            "DDD" => self.day_of_year = Some(self.number(key, 3, tight)?),
            "IW" => self.iso_week = Some(self.number(key, 2, tight)?),
            "ID" => self.iso_day = Some(self.number(key, 1, true)?),
            "WW" => {
                let week = self.number(key, 2, tight)?;
                self.day_of_year = Some((week - 1) * 7 + 1);
            }
            "W" => {
                let week = self.number(key, 1, true)?;
                self.day = Some((week - 1) * 7 + 1);
            }
            "J" => self.julian = Some(self.number(key, 9, false)?),
            "HH24" => self.hour = self.number(key, 2, tight)?,
            "HH12" | "HH" => {
                self.hour = self.number(key, 2, tight)?;
                self.is_of_twelve = true;
            }
            "MI" => self.minute = self.number(key, 2, tight)?,
            "SS" => self.second = self.number(key, 2, tight)?,
            "SSSS" | "SSSSS" => {
                let seconds = self.number(key, 5, tight)?;
                (self.hour, self.minute, self.second) =
                    (seconds / 3_600, seconds / 60 % 60, seconds % 60);
            }
            // Nothing follows from these alone.
            _ => self.number(key, 2, tight).map(|_| ())?,
        }
        Ok(())
    }

    fn set_year(&mut self, key: &str, year: i64) {
        match key.starts_with('I') {
            true => self.iso_year = Some(year),
            false => self.year = Some(year),
        }
    }

    fn day(&self) -> Result<i64, Error> {
        if let Some(julian) = self.julian {
            return Ok(julian - 2_440_588);
        }
        let year = match self.year {
            Some(year) if self.is_bc => 1 - year,
            Some(year) if year < 0 => year + 1,
            Some(year) => year,
            // The year 1 BC, as in PostgreSQL.
            None => 0,
        };
        if !(-4_713..=294_276).contains(&year) {
            return Err(out_of_range());
        }
        if let (Some(year), Some(week)) = (self.iso_year, self.iso_week) {
            let fourth = new_year(year.clamp(-4_713, 294_276)) + 3;
            let monday = fourth - (fourth + 3).rem_euclid(7);
            let day = self.iso_day.unwrap_or(1);
            return match (1..=53).contains(&week) && (1..=7).contains(&day) {
                true => Ok(monday + (week - 1) * 7 + day - 1),
                false => Err(out_of_range()),
            };
        }
        if let Some(day) = self.day_of_year {
            return match (1..=366).contains(&day) {
                true => Ok(new_year(year) + day - 1),
                false => Err(out_of_range()),
            };
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        day_of(year, month, day)
            .map(i64::from)
            .ok_or_else(out_of_range)
    }

    fn moment(&self) -> Result<i64, Error> {
        let hour = match self.is_of_twelve {
            true if !(1..=12).contains(&self.hour) => {
                let what = "the hour is invalid for the 12-hour clock";
                return Err(Error::new(ErrorKind::Conversion, what).with_sqlstate("22007"));
            }
            true => self.hour % 12 + if self.is_afternoon { 12 } else { 0 },
            false => self.hour,
        };
        let is_time = (0..=24).contains(&hour)
            && (0..60).contains(&self.minute)
            && (0..=60).contains(&self.second);
        if !is_time {
            return Err(out_of_range());
        }
        let seconds = hour * 3_600 + self.minute * 60 + self.second - self.zone;
        let micros = self.day()?.checked_mul(MICROS_PER_DAY);
        let micros = micros.and_then(|day| day.checked_add(seconds * 1_000_000 + self.micros));
        micros.ok_or_else(out_of_range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::postgres_formats::moments::Moment;

    #[test]
    fn moments_are_read_by_their_format() {
        for (text, format, wanted) in [
            ("2024-03-05", "YYYY-MM-DD", "2024-03-05 00:00:00.000000"),
            ("05 Dec 2000", "DD Mon YYYY", "2000-12-05 00:00:00.000000"),
            (
                "20240305 150409",
                "YYYYMMDD HH24MISS",
                "2024-03-05 15:04:09.000000",
            ),
            (
                "2024-03-05 03:04:09.5 PM",
                "YYYY-MM-DD HH12:MI:SS.MS PM",
                "2024-03-05 15:04:09.500000",
            ),
            ("3/5/24", "MM/DD/YY", "2024-03-05 00:00:00.000000"),
            (
                "12 march 2024",
                "DD Month YYYY",
                "2024-03-12 00:00:00.000000",
            ),
            ("2024-10-2", "IYYY-IW-ID", "2024-03-05 00:00:00.000000"),
            ("2024 065", "YYYY DDD", "2024-03-05 00:00:00.000000"),
            (
                "2024-03-05 12:00+02",
                "YYYY-MM-DD HH24:MITZH",
                "2024-03-05 10:00:00.000000",
            ),
            ("2460375", "J", "2024-03-05 00:00:00.000000"),
        ] {
            let micros = micros(text, format).unwrap();
            let shown = Moment::at(micros, None).text("YYYY-MM-DD HH24:MI:SS.US");
            assert_eq!(shown.as_deref(), Some(wanted), "{text} {format}");
        }
        for (text, format) in [
            ("2024-13-05", "YYYY-MM-DD"),
            ("2024-02-30", "YYYY-MM-DD"),
            ("abc", "YYYY"),
            ("13:00", "HH12:MI"),
            ("", "YYYY"),
        ] {
            assert!(micros(text, format).is_err(), "{text}");
        }
    }
}
