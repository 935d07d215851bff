//! `strftime(moment, format)`, with the letters that DuckDB has.

use super::room::Room;
use super::text::calendar;
use super::whole::{Call, Whole, registered};
use super::zone::{Zone, offset_text};
use datafusion::arrow::array::{ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Date32Type, Int64Type, TimeUnit};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::fmt::Write;
use std::sync::Arc;

const DAY: i128 = 86_400_000_000_000;
pub(super) const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// No letter with its `%` becomes more bytes than these for each of the two.
const MOST_PER_BYTE: usize = 13;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 1] = [(&["strftime"], takes, |_, _| Some(DataType::Utf8View), shown)];
    registered(functions, memory)
}

/// A moment and a format, in either order.
fn takes(types: &[DataType]) -> Option<Vec<DataType>> {
    let text = |t: &DataType| t.is_string() || t.is_null();
    let moment = |t: &DataType| match t {
        DataType::Null => Some(DataType::Date32),
        DataType::Date32 | DataType::Timestamp(..) => Some(t.clone()),
        _ => None,
    };
    let [first, second] = types else { return None };
    match (moment(first), moment(second)) {
        (Some(moment), _) if text(second) => Some(vec![moment, DataType::Utf8View]),
        (_, Some(moment)) if text(first) => Some(vec![DataType::Utf8View, moment]),
        _ => None,
    }
}

fn shown(call: &Call<'_>, room: &mut Room) -> Result<ArrayRef> {
    let [first, second] = call.take()?;
    let (moments, formats) = match first.data_type().is_string() {
        true => (second, first),
        false => (first, second),
    };
    let zone = Zone::of(moments.data_type());
    let formats = cast(formats, &DataType::Utf8View)?;
    let mut out = StringViewBuilder::with_capacity(call.rows());
    for (moment, format) in nanoseconds(moments)?
        .into_iter()
        .zip(formats.as_string_view())
    {
        let (Some(moment), Some(format)) = (moment, format) else {
            out.append_null();
            continue;
        };
        room.take(format.len() as u128 * MOST_PER_BYTE as u128)?;
        let text = match moment {
            Moment::Infinity => "infinity".to_owned(),
            Moment::MinusInfinity => "-infinity".to_owned(),
            Moment::At(at) => {
                let zone = zone.map(|zone| (zone, zone.offset((at / 1_000) as i64)));
                Shown::new(at, zone).text(format)?
            }
        };
        out.try_append_value(text)?;
    }
    Ok(Arc::new(out.finish()))
}

enum Moment {
    Infinity,
    MinusInfinity,
    /// Nanoseconds since 1970.
    At(i128),
}

fn nanoseconds(moments: &ArrayRef) -> Result<Vec<Option<Moment>>> {
    let moment = |value: i64, most: i64, unit: i128| match value {
        v if v == most => Moment::Infinity,
        v if v == -most => Moment::MinusInfinity,
        v => Moment::At(i128::from(v) * unit),
    };
    let unit = match moments.data_type() {
        DataType::Date32 => {
            let days = moments.as_primitive::<Date32Type>().iter();
            let day = |day: i32| moment(day.into(), i32::MAX.into(), DAY);
            return Ok(days.map(|d| d.map(day)).collect());
        }
        DataType::Timestamp(TimeUnit::Second, _) => 1_000_000_000,
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1_000_000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1_000,
        _ => 1,
    };
    let values = cast(moments, &DataType::Int64)?;
    let values = values.as_primitive::<Int64Type>().iter();
    Ok(values
        .map(|v| v.map(|v| moment(v, i64::MAX, unit)))
        .collect())
}

/// The parts of a moment.
struct Shown {
    year: i64,
    month: i64,
    day: i64,
    /// Days since 1 January.
    day_of_year: i64,
    /// From Sunday, 0.
    weekday: i64,
    nanoseconds: i128,
    /// Of an instant, and how far its clocks are from UTC, in microseconds.
    zone: Option<(Zone, i64)>,
}

/// Days from 1970 to 1 January of a year.
pub(super) fn new_year(year: i64) -> i64 {
    let before = year - 1;
    before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400) - 719_162
}

impl Shown {
    /// Of what clocks of the zone show at a time, in nanoseconds.
    fn new(at: i128, zone: Option<(Zone, i64)>) -> Self {
        let at = at + zone.map_or(0, |(_, offset)| i128::from(offset) * 1_000);
        let days = at.div_euclid(DAY) as i64;
        let (year, month, day) = calendar(days);
        Self {
            year,
            month,
            day,
            day_of_year: days - new_year(year),
            weekday: (days + 4).rem_euclid(7),
            nanoseconds: at.rem_euclid(DAY),
            zone,
        }
    }

    fn text(&self, format: &str) -> Result<String> {
        let invalid = |what: &str| Error::new(ErrorKind::InvalidInput, what);
        if format.is_empty() {
            return Err(invalid("Failed to parse format specifier: Empty format string").into());
        }
        let mut text = String::with_capacity(format.len() * 2);
        let mut letters = format.chars();
        while let Some(c) = letters.next() {
            if c != '%' {
                text.push(c);
                continue;
            }
            let letter = letters.next();
            let known = match letter {
                None => {
                    let what = "Failed to parse format specifier: Trailing format character %";
                    return Err(invalid(what).into());
                }
                Some('-') => letters
                    .next()
                    .and_then(|letter| self.bare_number(letter, &mut text)),
                Some(letter) => self
                    .name(letter, &mut text)
                    .or_else(|| self.number(letter, &mut text)),
            };
            if known.is_none() {
                let what = "Failed to parse format specifier: Unrecognized format for strftime";
                return Err(invalid(what).into());
            }
        }
        Ok(text)
    }

    /// What is a word or is made of several parts; `None` for another letter.
    fn name(&self, letter: char, out: &mut String) -> Option<()> {
        let weekday = WEEKDAYS.get(self.weekday as usize)?;
        let month = MONTHS.get(self.month as usize - 1)?;
        let several = match letter {
            'a' => return out.write_str(weekday.get(..3)?).ok(),
            'A' => return out.write_str(weekday).ok(),
            'b' | 'h' => return out.write_str(month.get(..3)?).ok(),
            'B' => return out.write_str(month).ok(),
            'p' => {
                return out
                    .write_str(if self.hour() < 12 { "AM" } else { "PM" })
                    .ok();
            }
            'z' => {
                let offset = self.zone.map_or(0, |(_, offset)| offset);
                let seconds = offset.abs() / 1_000_000 % 60;
                out.write_str(&offset_text(offset)).ok()?;
                return match seconds {
                    0 => Some(()),
                    seconds => write!(out, ":{seconds:02}").ok(),
                };
            }
            'Z' => {
                return out
                    .write_str(self.zone.map_or("", |(zone, _)| zone.name()))
                    .ok();
            }
            '%' => return out.write_str("%").ok(),
            'c' => "%Y-%m-%d %H:%M:%S",
            'x' => "%Y-%m-%d",
            'X' | 'T' => "%H:%M:%S",
            _ => return None,
        };
        out.write_str(&self.text(several).ok()?).ok()
    }

    fn hour(&self) -> i64 {
        (self.nanoseconds / 3_600_000_000_000) as i64
    }

    /// What `%-d` and `%d` have in common; `None` for another letter.
    fn part(&self, letter: char) -> Option<i64> {
        let hour = self.hour();
        Some(match letter {
            'd' => self.day,
            'm' => self.month,
            'y' => self.year.abs() % 100,
            'H' => hour,
            'I' => (hour + 11) % 12 + 1,
            'M' => (self.nanoseconds / 60_000_000_000 % 60) as i64,
            'S' => (self.nanoseconds / 1_000_000_000 % 60) as i64,
            'j' => self.day_of_year + 1,
            _ => return None,
        })
    }

    fn bare_number(&self, letter: char, out: &mut String) -> Option<()> {
        write!(out, "{}", self.part(letter)?).ok()
    }

    fn number(&self, letter: char, out: &mut String) -> Option<()> {
        let fraction = self.nanoseconds % 1_000_000_000;
        match letter {
            'w' => write!(out, "{}", self.weekday),
            'u' => write!(out, "{}", (self.weekday + 6) % 7 + 1),
            'Y' if self.year < 0 => write!(out, "{}", self.year),
            'Y' => write!(out, "{:04}", self.year),
            'f' => write!(out, "{:06}", fraction / 1_000),
            'g' => write!(out, "{:03}", fraction / 1_000_000),
            'n' => write!(out, "{fraction:09}"),
            'j' => write!(out, "{:03}", self.day_of_year + 1),
            // Weeks from the first Sunday or Monday.
            'U' => write!(out, "{:02}", (self.day_of_year + 7 - self.weekday) / 7),
            'W' => write!(
                out,
                "{:02}",
                (self.day_of_year + 7 - (self.weekday + 6) % 7) / 7
            ),
            'G' => write!(out, "{:04}", self.iso_week().0),
            'V' => write!(out, "{:02}", self.iso_week().1),
            letter => {
                let part = self.part(letter)?;
                write!(out, "{part:02}")
            }
        }
        .ok()
    }

    /// The year that the week's Thursday is in, and the number of the week in it.
    fn iso_week(&self) -> (i64, i64) {
        let thursday = self.day_of_year + 3 - (self.weekday + 6) % 7;
        let days = |year: i64| new_year(year + 1) - new_year(year);
        if thursday < 0 {
            return (self.year - 1, (thursday + days(self.year - 1)) / 7 + 1);
        }
        if thursday >= days(self.year) {
            return (self.year + 1, (thursday - days(self.year)) / 7 + 1);
        }
        (self.year, thursday / 7 + 1)
    }
}
