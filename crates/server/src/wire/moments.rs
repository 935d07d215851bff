//! Dates and times of clients: days and microseconds, and the ISO texts that drivers send.

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL's binary values begin.
const EPOCH_DAYS: i32 = 10_957;
/// The same in microseconds.
const EPOCH_MICROS: i64 = 946_684_800_000_000;
const DAY: i64 = 86_400_000_000;

/// A day as PostgreSQL counts it, whose infinite ones are the greatest and the least number.
pub(crate) fn days_since_2000(days: i32) -> i32 {
    match days {
        i32::MAX => i32::MAX,
        days if days <= -i32::MAX => i32::MIN,
        days => days.saturating_sub(EPOCH_DAYS),
    }
}

/// The same of microseconds.
pub(crate) fn micros_since_2000(micros: i64) -> i64 {
    match micros {
        i64::MAX => i64::MAX,
        micros if micros <= -i64::MAX => i64::MIN,
        micros => micros.saturating_sub(EPOCH_MICROS),
    }
}

/// A day as the engine counts it, whose infinite ones are the greatest number and its negative; `None` where it ends before.
pub(crate) fn days_since_1970(days: i32) -> Option<i32> {
    match days {
        i32::MAX => Some(i32::MAX),
        i32::MIN => Some(-i32::MAX),
        days => {
            let found = days.checked_add(EPOCH_DAYS);
            found.filter(|days| days.abs() < i32::MAX)
        }
    }
}

/// The same of microseconds.
pub(crate) fn micros_since_1970(micros: i64) -> Option<i64> {
    match micros {
        i64::MAX => Some(i64::MAX),
        i64::MIN => Some(-i64::MAX),
        micros => {
            let found = micros.checked_add(EPOCH_MICROS);
            found.filter(|micros| micros.abs() < i64::MAX)
        }
    }
}

/// Whether a text says that a moment is infinitely far, and in the past.
fn infinite(text: &str) -> Option<bool> {
    let (sign, word) = match text.strip_prefix('-') {
        Some(word) => (true, word),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    word.eq_ignore_ascii_case("infinity").then_some(sign)
}

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar, if there is such a date.
fn days_of(year: i64, month: i64, day: i64) -> Option<i32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [
        31,
        28 + i64::from(leap),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let length = lengths.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    (1..=*length).contains(&day).then_some(())?;
    // March is the first month of a year that ends with the leap day.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    i32::try_from(days).ok()
}

/// `YYYY-MM-DD`. A time or a zone behind it says nothing, as in PostgreSQL; pgjdbc and pgx send them.
pub(crate) fn date(text: &str) -> Option<i32> {
    let text = text.trim();
    if let Some(past) = infinite(text) {
        return Some(if past { -i32::MAX } else { i32::MAX });
    }
    let (text, before) = without_era(text);
    let Some((day, rest)) = text.split_once(['T', ' ']) else {
        return day_of(text, before);
    };
    match rest.trim() {
        zone if zone.starts_with(['+', '-']) => offset(zone).map(drop)?,
        _ => timestamp(text).map(drop)?,
    }
    day_of(day, before)
}

/// A text without the `BC` at its end, and whether it had one.
fn without_era(text: &str) -> (&str, bool) {
    let at = text.len().saturating_sub(3);
    match text.split_at_checked(at) {
        Some((rest, era)) if era.eq_ignore_ascii_case(" bc") => (rest.trim_end(), true),
        _ => (text, false),
    }
}

/// A day; of the year 1 before Christ is that of the year 0.
fn day_of(text: &str, before: bool) -> Option<i32> {
    let mut parts = text.splitn(3, '-').map(digits);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let year = match before {
        true if year < 1 => return None,
        true => 1 - year,
        false => year,
    };
    days_of(year, month, day)
}

/// `HH:MM[:SS[.ffffff]]`, in microseconds.
pub(crate) fn time(text: &str) -> Option<i64> {
    let (clock, fraction) = match text.trim().split_once('.') {
        Some((clock, fraction)) => (clock, micros_of(fraction)?),
        None => (text.trim(), 0),
    };
    let mut parts = clock.split(':').map(digits);
    let (hours, minutes) = (parts.next()??, parts.next()??);
    let seconds = match parts.next() {
        None => 0,
        Some(seconds) => seconds?,
    };
    let is_time = hours <= 24 && minutes < 60 && seconds <= 60 && parts.next().is_none();
    let micros = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction;
    (is_time && micros <= DAY).then_some(micros)
}

/// A date, and a time behind a blank or a `T`; and what the time zone adds to UTC, if one is said, in microseconds.
pub(crate) fn timestamp(text: &str) -> Option<(i64, Option<i64>)> {
    let text = text.trim();
    if let Some(past) = infinite(text) {
        return Some((if past { -i64::MAX } else { i64::MAX }, None));
    }
    let (text, before) = without_era(text);
    let Some((day, rest)) = text.split_once(['T', ' ']) else {
        return Some((i64::from(day_of(text, before)?).checked_mul(DAY)?, None));
    };
    let rest = rest.trim();
    let at = rest.find(['+', '-', 'Z', 'z']);
    let (clock, zone) = match at {
        None => (rest, None),
        Some(at) => (rest.get(..at)?, Some(offset(rest.get(at..)?)?)),
    };
    let micros = i64::from(day_of(day, before)?).checked_mul(DAY)?;
    Some((micros.checked_add(time(clock)?)?, zone))
}

/// A time in microseconds, and the seconds that its zone adds to UTC, if one is said.
pub(crate) fn time_with_zone(text: &str) -> Option<(i64, Option<i32>)> {
    let text = text.trim();
    let Some(at) = text.find(['+', '-', 'Z', 'z']) else {
        return Some((time(text)?, None));
    };
    let zone = offset(text.get(at..)?)? / 1_000_000;
    Some((
        time(text.get(..at)?.trim())?,
        Some(i32::try_from(zone).ok()?),
    ))
}

/// `Z`, `+02`, `-0330`, `+05:30`, in microseconds.
fn offset(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let rest: String = text.get(1..)?.chars().filter(|c| *c != ':').collect();
    let (hours, rest) = rest.split_at_checked(2)?;
    let (minutes, seconds) = match rest.len() {
        0 => (0, 0),
        2 => (digits(rest)?, 0),
        4 => (digits(rest.get(..2)?)?, digits(rest.get(2..)?)?),
        _ => return None,
    };
    Some(sign * ((digits(hours)? * 60 + minutes) * 60 + seconds) * 1_000_000)
}

/// `1 year 2 mons -3 days 04:05:06.7`: months, days and microseconds.
pub(crate) fn interval(text: &str) -> Option<(i32, i32, i64)> {
    let (mut months, mut days, mut micros) = (0_i32, 0_i32, 0_i64);
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let (negative, bare) = match word.strip_prefix('-') {
            Some(bare) => (true, bare),
            None => (false, word.strip_prefix('+').unwrap_or(word)),
        };
        if bare.contains(':') {
            let clock = time(bare)?;
            micros = micros.checked_add(if negative { -clock } else { clock })?;
            continue;
        }
        let number = i32::try_from(digits(bare)?).ok()?;
        let number = if negative { -number } else { number };
        match words.next()? {
            "year" | "years" => months = months.checked_add(number.checked_mul(12)?)?,
            "mon" | "mons" | "month" | "months" => months = months.checked_add(number)?,
            "day" | "days" => days = days.checked_add(number)?,
            _ => return None,
        }
    }
    (!text.trim().is_empty()).then_some((months, days, micros))
}

fn digits(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.len() <= 7 && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// Digits behind the point, rounded to microseconds.
fn micros_of(fraction: &str) -> Option<i64> {
    let is_number = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some(())?;
    let padded: String = fraction.chars().chain("0000000".chars()).take(7).collect();
    Some((padded.parse::<i64>().ok()? + 5) / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_before_the_first_and_what_is_infinitely_far_are_read() {
        assert_eq!(date("0001-01-01 BC"), date("0000-01-01"));
        assert_eq!(date("0044-03-15 bc"), Some(-735_160));
        assert_eq!(date("0000-03-15 BC"), None);
        assert_eq!(date(" BC"), None);
        let ides = i64::from(-735_160) * DAY;
        assert_eq!(
            timestamp("0044-03-15 00:00:01 BC"),
            Some((ides + 1_000_000, None))
        );
        let read = interval("1 year 2 mons -3 days 04:05:06.7");
        assert_eq!(read, Some((14, -3, 14_706_700_000)));
        assert_eq!(interval("-1 days -00:00:01"), Some((0, -1, -1_000_000)));
        for other in ["", "1", "1 day ago", "99999999999 days", "2147483 years x"] {
            assert_eq!(interval(other), None, "{other}");
        }
        assert_eq!(date("Infinity"), Some(i32::MAX));
        assert_eq!(timestamp("-infinity"), Some((-i64::MAX, None)));
        assert_eq!(days_since_1970(days_since_2000(-i32::MAX)), Some(-i32::MAX));
        assert_eq!(
            micros_since_1970(micros_since_2000(i64::MAX)),
            Some(i64::MAX)
        );
    }

    #[test]
    fn texts_of_drivers_are_read() {
        assert_eq!(date("1970-01-01"), Some(0));
        assert_eq!(date("2000-01-01"), Some(EPOCH_DAYS));
        assert_eq!(date("2024-02-29"), Some(19_782));
        assert_eq!(date("1600-03-01"), Some(-135_080));
        assert_eq!(date("2024-02-29 +02"), Some(19_782));
        assert_eq!(date("2024-02-29 00:00:00Z"), Some(19_782));
        assert_eq!(date("2024-02-29 x"), None);
        assert_eq!(time("01:02:03.5"), Some(3_723_500_000));
        assert_eq!(timestamp("2000-01-01 00:00:00"), Some((EPOCH_MICROS, None)));
        let zoned = timestamp("2000-01-01T02:00:00.000001+02:00");
        assert_eq!(
            zoned,
            Some((EPOCH_MICROS + 7_200_000_001, Some(7_200_000_000)))
        );
    }

    #[test]
    fn others_are_not() {
        for text in [
            "",
            "2023-02-29",
            "2023-13-01",
            "x",
            "2023-1",
            "99999999-01-01",
            "2023-01-01 25:00:00",
            "2023-01-01 +x",
        ] {
            assert_eq!(timestamp(text), None, "{text}");
        }
        for text in ["", "1", "24:00:01", "00:60:00", "1:2:3:4", "00:00:00.x"] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
