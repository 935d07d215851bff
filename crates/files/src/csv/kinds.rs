//! What the values of a CSV column are taken for: the one kind that all of them have, or text.
//!
//! What must hold: a number whose text is not what the number would be shown as (`030`, `+1`, more digits than a BIGINT has) is text, so that
//! nothing of it is lost; so is a date whose day and month could be exchanged.

use chrono::format::{Item, StrftimeItems};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};
use datafusion::arrow::array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, PrimitiveBuilder, StringViewArray,
};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int64Type, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType,
};
use hushdb_storage::ColumnType;
use std::sync::Arc;

/// Texts of times: without a day, and behind one.
const TIMES: [&str; 2] = ["%H:%M:%S%.f", "%H:%M"];
const ISO_DATE: &str = "%Y-%m-%d";
/// Dates that tell by their numbers what is what, if these are large enough.
const DATES: [&str; 9] = [
    "%Y/%m/%d", "%Y.%m.%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%m.%d.%Y", "%d-%m-%Y", "%m-%d-%Y",
    "%Y %m %d",
];

/// A kind of values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Boolean,
    Integer,
    Double,
    /// One of these, written in another form.
    Number(Number, NumberForm),
    Time,
    /// In this form.
    Date(String),
    /// In this form, or where none is given, in that of ISO 8601.
    Timestamp(Option<String>),
    TimestampTz,
    /// Whatever it says; without blanks around it if it is to be cast.
    Text {
        trimmed: bool,
    },
}

/// What a number is read as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer,
    Double,
    /// As text with a point, to be cast.
    Text,
}

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NumberForm {
    /// Before what is behind the point.
    pub(super) point: u8,
    /// Between thousands, and wherever else it stands among digits.
    pub(super) thousands: Option<u8>,
}

impl Default for NumberForm {
    fn default() -> Self {
        Self {
            point: b'.',
            thousands: None,
        }
    }
}

impl NumberForm {
    /// The number with a point and without marks of thousands; `None` where a point stands that is not one.
    fn plain(self, text: &str) -> Option<String> {
        let mut plain = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                c if c == char::from(self.point) => plain.push('.'),
                c if self.thousands.map(char::from) == Some(c) => {}
                '.' => return None,
                c => plain.push(c),
            }
        }
        Some(plain)
    }

    fn integer(self, text: &str) -> Option<i64> {
        integer(&self.plain(text)?)
    }

    fn double(self, text: &str) -> Option<f64> {
        double(&self.plain(text)?)
    }
}

pub(super) const TEXT: Kind = Kind::Text { trimmed: false };

impl Kind {
    /// The type of a column of this kind.
    pub(super) fn column_type(&self) -> ColumnType {
        match self {
            Self::Boolean => ColumnType::Boolean,
            Self::Integer | Self::Number(Number::Integer, _) => ColumnType::Int64,
            Self::Double | Self::Number(Number::Double, _) => ColumnType::Double,
            Self::Time => ColumnType::Time,
            Self::Date(_) => ColumnType::Date,
            Self::Timestamp(_) => ColumnType::Timestamp(TimeUnit::Microsecond, false),
            Self::TimestampTz => ColumnType::Timestamp(TimeUnit::Microsecond, true),
            Self::Number(Number::Text, _) | Self::Text { .. } => ColumnType::Varchar,
        }
    }

    /// Whether a value is of this kind.
    pub(super) fn fits(&self, text: &str) -> bool {
        let text = text.trim();
        match self {
            Self::Boolean => boolean(text).is_some(),
            Self::Integer => integer(text).is_some(),
            Self::Double => double(text).is_some(),
            Self::Number(Number::Integer, form) => form.integer(text).is_some(),
            Self::Number(Number::Double, form) => form.double(text).is_some(),
            Self::Number(Number::Text, _) => true,
            Self::Time => time(text).is_some(),
            Self::Date(form) => date(text, form).is_some(),
            Self::Timestamp(form) => timestamp(text, form.as_deref()).is_some(),
            Self::TimestampTz => timestamp_tz(text).is_some(),
            Self::Text { .. } => true,
        }
    }

    /// The values as an array of the column's type.
    ///
    /// # Errors
    /// The position of the first one that is not of this kind.
    pub(super) fn array<'a>(
        &self,
        values: impl ExactSizeIterator<Item = Option<&'a str>>,
    ) -> Result<ArrayRef, usize> {
        Ok(match self {
            Self::Boolean => Arc::new(booleans(values)?),
            Self::Integer => Arc::new(all::<Int64Type>(values, integer)?),
            Self::Double => Arc::new(all::<Float64Type>(values, double)?),
            Self::Number(Number::Integer, form) => {
                Arc::new(all::<Int64Type>(values, |text| form.integer(text))?)
            }
            Self::Number(Number::Double, form) => {
                Arc::new(all::<Float64Type>(values, |text| form.double(text))?)
            }
            Self::Number(Number::Text, form) => {
                let plain = |text: &str| form.plain(trimmed(text)).unwrap_or_else(|| text.into());
                let values = values.map(|value| value.map(plain));
                Arc::new(values.collect::<StringViewArray>())
            }
            Self::Time => Arc::new(all::<Time64MicrosecondType>(values, time)?),
            Self::Date(form) if form == ISO_DATE => Arc::new(all::<Date32Type>(values, any_iso)?),
            Self::Date(form) => Arc::new(all::<Date32Type>(values, |text| date(text, form))?),
            Self::Timestamp(form) => {
                let parse = |text: &str| timestamp(text, form.as_deref());
                Arc::new(all::<TimestampMicrosecondType>(values, parse)?)
            }
            Self::TimestampTz => {
                let array = all::<TimestampMicrosecondType>(values, timestamp_tz)?;
                match self.column_type().arrow() {
                    DataType::Timestamp(_, Some(zone)) => Arc::new(array.with_timezone(zone)),
                    _ => Arc::new(array),
                }
            }
            Self::Text { trimmed: true } => {
                let values = values.map(|value| value.map(trimmed));
                Arc::new(values.collect::<StringViewArray>())
            }
            Self::Text { trimmed: false } => Arc::new(values.collect::<StringViewArray>()),
        })
    }
}

/// Values as an array of numbers.
fn all<'a, T: ArrowPrimitiveType>(
    values: impl ExactSizeIterator<Item = Option<&'a str>>,
    parse: impl Fn(&str) -> Option<T::Native>,
) -> Result<PrimitiveArray<T>, usize> {
    let mut numbers = PrimitiveBuilder::<T>::with_capacity(values.len());
    for (at, value) in values.enumerate() {
        match value {
            None => numbers.append_null(),
            Some(text) => numbers.append_value(parse(trimmed(text)).ok_or(at)?),
        }
    }
    Ok(numbers.finish())
}

fn booleans<'a>(values: impl Iterator<Item = Option<&'a str>>) -> Result<BooleanArray, usize> {
    let all = values.enumerate().map(|(at, value)| match value {
        None => Ok(None),
        Some(text) => boolean(trimmed(text)).map(Some).ok_or(at),
    });
    all.collect()
}

/// A text without the blanks around it.
fn trimmed(text: &str) -> &str {
    let is_dark = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    let bytes = text.as_bytes();
    match is_dark(bytes.first()) && is_dark(bytes.last()) {
        true => text,
        false => text.trim(),
    }
}

/// The kinds that the values of a column may be of.
pub(super) struct Kinds {
    /// Those that all values so far are of, the first one best.
    all: Vec<Kind>,
    is_empty: bool,
}

impl Kinds {
    /// Those of no values yet; `date` and `timestamp` are the forms that were given for them.
    pub(super) fn new(
        date: Option<&str>,
        timestamp: Option<&str>,
        numbers: Option<NumberForm>,
        candidates: Option<&[ColumnType]>,
    ) -> Self {
        let dates = match date {
            Some(form) => vec![form],
            None => [&[ISO_DATE][..], &DATES[..]].concat(),
        };
        let numbers = match numbers {
            None => [Kind::Integer, Kind::Double],
            Some(form) => [Number::Integer, Number::Double].map(|of| Kind::Number(of, form)),
        };
        let mut kinds = vec![Kind::Boolean];
        kinds.extend(numbers);
        kinds.push(Kind::Time);
        kinds.extend(dates.into_iter().map(|form| Kind::Date(form.into())));
        kinds.push(Kind::Timestamp(timestamp.map(str::to_string)));
        kinds.push(Kind::TimestampTz);
        if let Some(candidates) = candidates {
            kinds.retain(|kind| candidates.contains(&kind.column_type()));
        }
        Self {
            all: kinds,
            is_empty: true,
        }
    }

    /// Takes a value in; `false` where it can be nothing but text.
    pub(super) fn take(&mut self, value: &str) -> bool {
        self.is_empty = false;
        self.all.retain(|kind| kind.fits(value));
        !self.all.is_empty()
    }

    pub(super) fn is_without_values(&self) -> bool {
        self.is_empty
    }

    /// The kind of all values.
    pub(super) fn found(self) -> Kind {
        let is_date = |kind: &&Kind| matches!(kind, Kind::Date(_));
        let dates = self.all.iter().filter(is_date).count();
        match self.all.into_iter().next() {
            _ if self.is_empty => TEXT,
            // Day and month could be either.
            Some(Kind::Date(form)) if form != ISO_DATE && dates > 1 => TEXT,
            Some(kind) => kind,
            None => TEXT,
        }
    }
}

/// Whether values may be taken for such a type.
pub(super) fn could_be_found(ty: &ColumnType) -> bool {
    let kinds = [
        Kind::Boolean,
        Kind::Integer,
        Kind::Double,
        Kind::Time,
        Kind::Date(ISO_DATE.into()),
        Kind::Timestamp(None),
        Kind::TimestampTz,
    ];
    kinds.iter().any(|kind| kind.column_type() == *ty)
}

/// Whether a form of dates or timestamps is one.
pub(crate) fn is_form(form: &str) -> bool {
    !form.is_empty() && StrftimeItems::new(form).all(|item| !matches!(item, Item::Error))
}

fn boolean(text: &str) -> Option<bool> {
    let is = |words: [&str; 3]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match (is(["true", "t", "yes"]), is(["false", "f", "no"])) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

fn digit(byte: &u8) -> Option<i64> {
    byte.is_ascii_digit().then(|| i64::from(byte - b'0'))
}

/// Whether digits are those that a number begins with.
fn is_whole(digits: &str) -> bool {
    let is_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && (digits.len() < 2 || !digits.starts_with('0'))
}

fn integer(text: &str) -> Option<i64> {
    // So many digits are in its range.
    if let [b'1'..=b'9', rest @ ..] = text.as_bytes()
        && rest.len() < 18
    {
        return rest
            .iter()
            .try_fold(digit(text.as_bytes().first()?)?, |number, byte| {
                Some(number * 10 + digit(byte)?)
            });
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && is_whole(digits);
    is_number.then(|| text.parse().ok()).flatten()
}

/// A number of few digits with a point behind the first of them, which is what most numbers with a fraction are.
fn decimal(text: &str) -> Option<f64> {
    /// Numbers of as many digits are exact, and so are the powers of ten that divide them: the quotient is the nearest double.
    const EXACT: usize = 15;
    const POWERS: [f64; EXACT + 1] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ];
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if !matches!(digits, [b'0', b'.', ..] | [b'1'..=b'9', ..]) || digits.len() > EXACT + 1 {
        return None;
    }
    let (mut number, mut places) = (0_u64, None);
    for byte in digits {
        match (byte.wrapping_sub(b'0'), places) {
            (digit @ 0..=9, _) => {
                number = number * 10 + u64::from(digit);
                places = places.map(|places: usize| places + 1);
            }
            _ if *byte == b'.' && places.is_none() => places = Some(0),
            _ => return None,
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "it has 15 digits")]
    let value = number as f64 / POWERS.get(places?)?;
    Some(if negative { -value } else { value })
}

/// A number with a fraction or an exponent, or a whole one that is a BIGINT.
fn double(text: &str) -> Option<f64> {
    if let Some(number) = decimal(text) {
        return Some(number);
    }
    if text.eq_ignore_ascii_case("nan") {
        return Some(f64::NAN);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if ["inf", "infinity"]
        .iter()
        .any(|word| digits.eq_ignore_ascii_case(word))
    {
        return text.parse().ok();
    }
    let (number, exponent) = match digits.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (digits, None),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_exponent = |text: &str| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        !digits.is_empty() && all_digits(digits)
    };
    let is_number = is_whole(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(is_exponent)
        && (number.contains('.') || exponent.is_some() || integer(text).is_some());
    let value: f64 = is_number.then(|| text.parse().ok()).flatten()?;
    value.is_finite().then_some(value)
}

fn time(text: &str) -> Option<i64> {
    let mut forms = TIMES.iter();
    let time = forms.find_map(|form| NaiveTime::parse_from_str(text, form).ok())?;
    let since = time.signed_duration_since(NaiveTime::MIN);
    since.num_microseconds()
}

/// Days since 1970.
fn date(text: &str, form: &str) -> Option<i32> {
    let is_ours = form == ISO_DATE || DATES.contains(&form);
    if form == ISO_DATE
        && let Some(days) = iso_date(text)
    {
        return Some(days);
    }
    if is_ours && !has_long_year(text) {
        return None;
    }
    let date = NaiveDate::parse_from_str(text, form).ok()?;
    let days = date.signed_duration_since(NaiveDate::default()).num_days();
    i32::try_from(days).ok()
}

fn any_iso(text: &str) -> Option<i32> {
    date(text, ISO_DATE)
}

/// Days since 1970 of `2021-01-02`, all ten characters of it.
fn iso_date(text: &str) -> Option<i32> {
    let text: &[u8; 10] = text.as_bytes().try_into().ok()?;
    let digit = |at: usize| {
        text.get(at)
            .map_or(u32::MAX, |byte| u32::from(byte.wrapping_sub(b'0')))
    };
    let digits = [0, 1, 2, 3, 5, 6, 8, 9].map(digit);
    if digits.iter().any(|digit| *digit > 9) || text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    let [y1, y2, y3, y4, m1, m2, d1, d2] = digits;
    let (year, month, day) = (
        y1 * 1000 + y2 * 100 + y3 * 10 + y4,
        m1 * 10 + m2,
        d1 * 10 + d2,
    );
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        _ => return None,
    };
    if day == 0 || day > days {
        return None;
    }
    // Years begin in March here, so that the day of a leap year is the last one (Hinnant, "Low-Level Date Algorithms", 2013).
    let (years, months) = match month {
        ..3 => (year + 400 - 1, month + 9),
        _ => (year + 400, month - 3),
    };
    let of_year = (153 * months + 2) / 5 + day - 1;
    let since = years * 365 + years / 4 - years / 100 + years / 400 + of_year;
    // The first of March 400 years before year 0 is as many days before 1970.
    i32::try_from(since).ok().map(|since| since - 865_565)
}

/// Whether one of the numbers in a text has four digits, and the others two at most.
fn has_long_year(text: &str) -> bool {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let (mut years, mut others) = (0, 0);
    let is_known = numbers.all(|number| {
        match number.len() {
            4 => years += 1,
            1 | 2 => others += 1,
            _ => return false,
        }
        true
    });
    is_known && (years, others) == (1, 2)
}

/// Microseconds since 1970.
fn timestamp(text: &str, form: Option<&str>) -> Option<i64> {
    if let Some(form) = form {
        let moment = NaiveDateTime::parse_from_str(text, form).ok()?;
        return Some(moment.and_utc().timestamp_micros());
    }
    let (day, clock) = match text.split_once([' ', 'T']) {
        Some((day, clock)) => (day, time(clock)?),
        None => (text, 0),
    };
    let days = i64::from(date(day, ISO_DATE)?);
    Some(days * 86_400_000_000 + clock)
}

/// Microseconds since 1970 of a moment with its distance from UTC.
fn timestamp_tz(text: &str) -> Option<i64> {
    let text = text.replacen(' ', "T", 1);
    let whole = match text.rfind(['+', '-']).filter(|at| *at > 10) {
        Some(at) if text.len() - at == 3 => format!("{text}:00"),
        _ => text,
    };
    let moment = DateTime::parse_from_rfc3339(&whole).ok()?;
    Some(moment.timestamp_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(values: &[&str]) -> Kind {
        let mut kinds = Kinds::new(None, None, None, None);
        for value in values {
            kinds.take(value);
        }
        kinds.found()
    }

    #[test]
    fn values_tell_their_kind() {
        let date = |form: &str| Kind::Date(form.into());
        for (values, expected) in [
            (&["true", "F", "Yes"][..], Kind::Boolean),
            (&["0", "1", "-9223372036854775808"], Kind::Integer),
            (&["1", "2.50", ".5", "5.", "-3e-4", "NaN"], Kind::Double),
            (&["12:30", "01:02:03.5"], Kind::Time),
            (&["2021-01-02", "2021-1-2"], date("%Y-%m-%d")),
            (&["13/10/2021", "01/02/2021"], date("%d/%m/%Y")),
            (&["01/02/2021", "10/13/2021"], date("%m/%d/%Y")),
            (&["13.10.2021"], date("%d.%m.%Y")),
            (&["2021/01/02"], date("%Y/%m/%d")),
            (
                &["0001-01-01", "9999-12-31", "2020-02-29"],
                date("%Y-%m-%d"),
            ),
            (&["0.5", "-12.", "123456.789", "-0.0"], Kind::Double),
            (
                &["2021-01-02 12:30:00", "2021-01-02", "2021-01-02T01:02"],
                Kind::Timestamp(None),
            ),
            (
                &["2021-01-02 12:30:00+02", "2021-01-02T12:30:00Z"],
                Kind::TimestampTz,
            ),
        ] {
            assert_eq!(kind(values), expected, "{values:?}");
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for year in (0..=9999).step_by(7).chain(1896..=2104) {
            for (month, day) in [(1, 1), (2, 28), (2, 29), (3, 1), (4, 30), (4, 31), (12, 31)] {
                let text = format!("{year:04}-{month:02}-{day:02}");
                let expected = NaiveDate::from_ymd_opt(year, month, day);
                let expected = expected.map(|date| date.to_epoch_days());
                assert_eq!(iso_date(&text), expected, "{text}");
            }
        }
    }

    #[test]
    fn what_could_be_something_else_is_text() {
        for values in [
            &["030", "31"][..],
            &["+1"],
            &["99999999999999999999"],
            &["1_000"],
            &["1e999"],
            &["01/02/2021", "03/04/2021"],
            &["2021-01-02", "2021-13-01"],
            &["2021-01-02", "13/10/2021"],
            &["12021-01-02"],
            &["1", "x"],
            &["1", ""],
            &["1", "2021-01-02"],
            &["13/10/21"],
            &["2021-02-29"],
            &["2021-0a-01"],
            &["00.5"],
            &["1.2.3"],
            &[],
        ] {
            assert_eq!(kind(values), TEXT, "{values:?}");
        }
    }
}
