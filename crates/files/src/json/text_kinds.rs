//! What texts of JSON are taken for: times, dates and points in time, UUIDs, and integers where it is asked for.
//!
//! What must hold: a date whose day and month could be exchanged is a text, and so are dates of several formats in one place.

use chrono::NaiveTime;
use hushdb_query::functions::MomentForm;
use hushdb_sql::Result;

/// Formats of dates. Of two that fit, it is not known which is meant.
const DATES: [&str; 6] = [
    "%Y-%m-%d", "%d-%m-%Y", "%m-%d-%Y", "%y-%m-%d", "%d-%m-%y", "%m-%d-%y",
];

/// Formats of points in time.
const MOMENTS: [&str; 12] = [
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%dT%H:%M:%S.%fZ",
    "%Y-%m-%dT%H:%M:%S%z",
    "%Y-%m-%dT%H:%M:%S.%f%z",
    "%y-%m-%d %H:%M:%S",
    "%d-%m-%Y %H:%M:%S",
    "%d-%m-%y %H:%M:%S",
    "%m-%d-%Y %I:%M:%S %p",
    "%m-%d-%y %I:%M:%S %p",
];
/// Formats for which nothing is taken: they tell that another may not be the one that is meant.
const OTHER_MOMENTS: [&str; 4] = [
    "%m-%d-%Y %H:%M:%S",
    "%m-%d-%y %H:%M:%S",
    "%d-%m-%Y %I:%M:%S %p",
    "%d-%m-%y %I:%M:%S %p",
];

/// No text of a time or a date is longer.
const LONGEST: usize = 40;

/// What a text may be beside a text, a bit for each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Fits(u32);

const TIME: u32 = 1;
const UUID: u32 = 2;
const INTEGER: u32 = 4;
const FIRST_FORM: u32 = 3;

impl Fits {
    /// What two texts may both be.
    pub(super) fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// What all texts in a place are.
pub(super) enum TextKind {
    Time,
    Date(MomentForm),
    Timestamp(MomentForm),
    Integer,
    Uuid,
    Text,
}

/// The kinds that are looked for.
pub(super) struct TextKinds {
    forms: Vec<Form>,
    finds_integers: bool,
}

struct Form {
    form: MomentForm,
    is_date: bool,
    /// It is not taken for what it is.
    is_other: bool,
    /// How many digits the parts of a day have; of a format that was given, whatever it takes.
    digits: Option<Digits>,
}

#[derive(Clone, Copy, PartialEq)]
enum Digits {
    YearFirst,
    YearLast,
    Few,
}

impl Digits {
    fn of(form: &str) -> Self {
        match (form.starts_with("%Y"), form.contains("%Y")) {
            (true, _) => Self::YearFirst,
            (_, true) => Self::YearLast,
            _ => Self::Few,
        }
    }

    /// Those of a text that begins with a day.
    fn in_text(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-');
        let mut next = || {
            let part = parts.next().unwrap_or_default();
            part.bytes().take_while(u8::is_ascii_digit).count()
        };
        match (next(), next(), next()) {
            (4, 1 | 2, 1 | 2) => Some(Self::YearFirst),
            (1 | 2, 1 | 2, 4) => Some(Self::YearLast),
            (1 | 2, 1 | 2, 1 | 2) => Some(Self::Few),
            _ => None,
        }
    }
}

impl TextKinds {
    /// Those that are looked for where nothing is said, with other formats of dates and points in time if these were given.
    ///
    /// # Errors
    /// `InvalidInput` for what is no format.
    pub(super) fn new(
        date: Option<&MomentForm>,
        moment: Option<&MomentForm>,
        finds_integers: bool,
    ) -> Result<Self> {
        let mut forms = vec![];
        let mut add =
            |given: Option<&MomentForm>, usual: &[&str], others: &[&str], is_date| -> Result<()> {
                if let Some(form) = given {
                    forms.push(Form {
                        form: form.clone(),
                        is_date,
                        is_other: false,
                        digits: None,
                    });
                    return Ok(());
                }
                let all = usual.iter().map(|form| (form, false));
                for (form, is_other) in all.chain(others.iter().map(|form| (form, true))) {
                    forms.push(Form {
                        form: MomentForm::new(form)?,
                        is_date,
                        is_other,
                        digits: Some(Digits::of(form)),
                    });
                }
                Ok(())
            };
        add(date, &DATES, &[], true)?;
        add(moment, &MOMENTS, &OTHER_MOMENTS, false)?;
        Ok(Self {
            forms,
            finds_integers,
        })
    }

    /// What a text may be.
    pub(super) fn fits(&self, text: &str) -> Fits {
        let mut fits = 0;
        let inner = text.trim();
        let is_short = inner.len() <= LONGEST && inner.starts_with(|c: char| c.is_ascii_digit());
        let digits = Digits::in_text(inner).filter(|_| is_short);
        for (form, bit) in self.forms.iter().zip(FIRST_FORM..) {
            let is_like = form.digits.is_none_or(|own| Some(own) == digits);
            let is_one = is_like
                && match form.is_date {
                    true => form.form.day(text).is_some(),
                    false => form.form.moment(text).is_some(),
                };
            fits |= u32::from(is_one) << bit;
        }
        if is_short && is_time(inner) {
            fits |= TIME;
        }
        if is_uuid(text) {
            fits |= UUID;
        }
        if self.finds_integers && is_integer(inner) {
            fits |= INTEGER;
        }
        Fits(fits)
    }

    /// What texts are that may all be this.
    pub(super) fn found(&self, fits: Fits) -> TextKind {
        let is = |bit: u32| fits.0 & bit != 0;
        if is(TIME) {
            return TextKind::Time;
        }
        let fitting = |is_date: bool| {
            let forms = self.forms.iter().zip(FIRST_FORM..);
            let mut forms = forms.filter(|(form, bit)| form.is_date == is_date && is(1 << bit));
            (forms.next().map(|(form, _)| form), forms.next().is_some())
        };
        match (fitting(true), fitting(false)) {
            ((Some(form), false), _) => TextKind::Date(form.form.clone()),
            ((None, _), (Some(form), false)) if !form.is_other => {
                TextKind::Timestamp(form.form.clone())
            }
            ((None, _), (None, _)) if is(INTEGER) => TextKind::Integer,
            ((None, _), (None, _)) if is(UUID) => TextKind::Uuid,
            _ => TextKind::Text,
        }
    }
}

/// `10:00`, `1:02:03` or `10:00:00.5`, up to 24:00:00.
fn is_time(text: &str) -> bool {
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (text, None),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = clock.split(':').collect();
    let is_long = match parts.as_slice() {
        [hour, minute] => hour.len() == 2 && minute.len() == 2 && fraction.is_none(),
        [_, _, _] => parts.iter().all(|part| matches!(part.len(), 1 | 2)),
        _ => false,
    };
    if !is_long || !parts.iter().all(|part| is_digits(part)) || !fraction.is_none_or(is_digits) {
        return false;
    }
    let mut numbers = parts.iter().map(|part| part.parse().unwrap_or(u32::MAX));
    let mut next = || numbers.next().unwrap_or(0);
    match (next(), next(), next()) {
        (24, 0, 0) => fraction.is_none_or(|digits| digits.bytes().all(|byte| byte == b'0')),
        (hour, minute, second) => NaiveTime::from_hms_opt(hour, minute, second).is_some(),
    }
}

/// A UUID as it is usually written.
fn is_uuid(text: &str) -> bool {
    let is_its = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_its)
}

/// A BIGINT that is shown as it is written.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && (digits.len() == 1 || !digits.starts_with('0')) && text.parse::<i64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(finds_integers: bool) -> TextKinds {
        TextKinds::new(None, None, finds_integers).expect("formats")
    }

    fn kind(texts: &[&str], finds_integers: bool) -> String {
        let kinds = kinds(finds_integers);
        let fits = texts.iter().map(|text| kinds.fits(text));
        match kinds.found(fits.reduce(Fits::both).unwrap_or_default()) {
            TextKind::Time => "time".to_owned(),
            TextKind::Date(form) | TextKind::Timestamp(form) => format!("{form:?}"),
            TextKind::Integer => "integer".to_owned(),
            TextKind::Uuid => "uuid".to_owned(),
            TextKind::Text => "text".to_owned(),
        }
    }

    #[test]
    fn texts_tell_what_they_are() {
        let form = |form: &str| format!("{:?}", MomentForm::new(form).expect("a format"));
        for (texts, expected) in [
            (&["2020-01-31", " 2020-1-1"][..], form("%Y-%m-%d")),
            (&["01-02-2020", "13-02-2020"], form("%d-%m-%Y")),
            (&["01-02-2020", "01-13-2020"], form("%m-%d-%Y")),
            (&["99-12-31"], form("%y-%m-%d")),
            (&["2020-01-31 10:00:00"], form("%Y-%m-%d %H:%M:%S")),
            (&["2020-01-31T10:00:00Z"], form("%Y-%m-%dT%H:%M:%SZ")),
            (&["2020-01-31T10:00:00+02"], form("%Y-%m-%dT%H:%M:%S%z")),
            (&["31-01-2020 10:00:00"], form("%d-%m-%Y %H:%M:%S")),
            (&["10:00", "1:2:3", "24:00:00", "1:00:00."], "time".into()),
            (&["ffffffff-FFFF-ffff-ffff-0123456789ab"], "uuid".into()),
        ] {
            assert_eq!(kind(texts, false), expected, "{texts:?}");
        }
    }

    #[test]
    fn what_could_be_something_else_is_text() {
        for texts in [
            &["01-02-2020"][..],
            &["20-01-31"],
            &["01-02-2020 10:00:00"],
            &["01-31-2020 10:00:00"],
            &["2020-01-31", "31-01-2020"],
            &["2020-01-31", "2020-01-31 10:00:00"],
            &["2020-01-31 10:00:00", "2020-01-31 10:00:00.5"],
            &["2020-01-31T10:00:00", "2020-01-31T10:00:00Z"],
            &["10:00:00", "2020-01-31"],
            &["25:00:00"],
            &["24:00:00.5"],
            &["1:2"],
            &["2021-02-29"],
            &["infinity"],
            &["epoch"],
            &["12"],
            &[""],
            &["ffffffff-ffff-ffff-ffff-ffffffffffff", "x"],
            &["{ffffffff-ffff-ffff-ffff-ffffffffffff}"],
        ] {
            assert_eq!(kind(texts, false), "text", "{texts:?}");
        }
    }

    #[test]
    fn integers_are_found_where_they_are_asked_for() {
        assert_eq!(kind(&["12", " -5", "0"], true), "integer");
        for texts in [
            &["007"][..],
            &["+5"],
            &["1.5"],
            &["9223372036854775808"],
            &["12", "2020-01-31"],
            &["12", ""],
        ] {
            assert_eq!(kind(texts, true), "text", "{texts:?}");
        }
    }
}
