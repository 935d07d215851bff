//! `strftime(moment, format)`, with the letters that DuckDB has.

use super::plain::called;
use super::text::calendar;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Date32Type, Int64Type, TimeUnit};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{Error, ErrorKind};
use std::fmt::Write;

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

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Strftime {
    signature: Signature,
}

impl Strftime {
    pub(super) fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

fn is_moment(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Timestamp(..))
}

impl ScalarUDFImpl for Strftime {
    fn name(&self) -> &str {
        "strftime"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let text = |t: &DataType| t.is_string() || t.is_null();
        match types {
            [moment, format] if is_moment(moment) && text(format) => {
                Ok(vec![moment.clone(), DataType::Utf8View])
            }
            [format, moment] if is_moment(moment) && text(format) => {
                Ok(vec![DataType::Utf8View, moment.clone()])
            }
            [moment, format] if moment.is_null() && text(format) => {
                Ok(vec![DataType::Date32, DataType::Utf8View])
            }
            [format, moment] if moment.is_null() && text(format) => {
                Ok(vec![DataType::Utf8View, DataType::Date32])
            }
            _ => plan_err!(
                "No function matches the given name and argument types '{}'; strftime takes a date or timestamp and a format",
                called("strftime", types)
            ),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalar = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if scalar { 1 } else { args.number_rows };
        let mut arrays = Vec::with_capacity(2);
        for arg in &args.args {
            arrays.push(arg.to_array(rows)?);
        }
        if arrays
            .first()
            .is_some_and(|array| array.data_type().is_string())
        {
            arrays.reverse();
        }
        let [moments, formats] = arrays.as_slice() else {
            return plan_err!("strftime takes a date or timestamp and a format");
        };
        let zone = matches!(moments.data_type(), DataType::Timestamp(_, Some(_)));
        let formats = cast(formats, &DataType::Utf8View)?;
        let mut out = StringViewBuilder::with_capacity(rows);
        let moments = nanoseconds(moments)?;
        for (moment, format) in moments.into_iter().zip(formats.as_string_view()) {
            let (Some(moment), Some(format)) = (moment, format) else {
                out.append_null();
                continue;
            };
            let text = match moment {
                Moment::Infinity => "infinity".to_owned(),
                Moment::MinusInfinity => "-infinity".to_owned(),
                Moment::At(at) => Shown::new(at, zone).text(format)?,
            };
            out.try_append_value(text)?;
        }
        let out = std::sync::Arc::new(out.finish()) as ArrayRef;
        if scalar {
            return ScalarValue::try_from_array(&out, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(out))
    }
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
    zone: bool,
}

/// Days from 1970 to 1 January of a year.
fn new_year(year: i64) -> i64 {
    let before = year - 1;
    before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400) - 719_162
}

impl Shown {
    fn new(at: i128, zone: bool) -> Self {
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
            'b' => return out.write_str(month.get(..3)?).ok(),
            'B' => return out.write_str(month).ok(),
            'p' => {
                return out
                    .write_str(if self.hour() < 12 { "AM" } else { "PM" })
                    .ok();
            }
            // Moments are shown in UTC.
            'z' => return out.write_str("+00").ok(),
            'Z' => return out.write_str(if self.zone { "UTC" } else { "" }).ok(),
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
